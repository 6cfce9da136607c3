//! Text for Prometheus: gauges of a run, and the only writer of that format.
//!
//! The text is valid as OpenMetrics and as Prometheus' own text format, because node_exporter's
//! textfile collector reads only the latter. So there are gauges only (it has no `info` or
//! `stateset`), no timestamps (it refuses them), and no quotes in help texts (the two formats
//! escape them differently).
//!
//! A gauge keeps its labels from run to run, since new ones would start a new series: the run's id
//! is in `groma_run_info`.

use std::fmt::Write;

use groma_model::{Record, RunHeader, Unit, plain};

use crate::csv::number;
use crate::export::unix_seconds;

/// The text under construction.
#[derive(Default)]
pub(crate) struct OpenMetrics {
    out: String,
}

impl OpenMetrics {
    /// Adds a gauge, if it has any samples: labels (from [`labels`]) and a value each. The name
    /// ends in the unit, if any.
    pub(crate) fn gauge(&mut self, name: &str, unit: &str, help: &str, samples: &[(String, f64)]) {
        if samples.is_empty() {
            return;
        }
        let help = plain(help).replace('\\', "\\\\").replace('"', "'");
        let _ = writeln!(self.out, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(self.out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.out, "# HELP {name} {help}");
        for (labels, value) in samples {
            let _ = writeln!(self.out, "{name}{labels} {}", number(Some(*value)));
        }
    }

    /// The whole text, with its end marker.
    pub(crate) fn end(mut self) -> String {
        self.out.push_str("# EOF\n");
        self.out
    }
}

/// Labels as they follow a name: `{cpu="0"}`.
pub(crate) fn labels(pairs: &[(&str, &str)]) -> String {
    let escaped = |value: &str| plain(value).replace('\\', "\\\\").replace('"', "\\\"");
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// The records of runs as gauges: values, 95 % intervals, states. `runs` are of different hosts,
/// since a gauge has one value per host.
pub fn openmetrics(runs: &[(&RunHeader, &[Record])]) -> String {
    let mut out = OpenMetrics::default();
    run_gauges(&mut out, runs);
    let records: Vec<Located<'_>> = runs.iter().flat_map(|(head, records)| located(head, records)).collect();
    let state = |one: &Located<'_>| (labels(&[&one.pairs()[..], &[("state", one.record.state.word())]].concat()), 1.0);
    let help = "1; the label says how it ended: ok, noisy, unresolved, unsupported, denied, failed, timeout.";
    out.gauge("groma_record_state", "", help, &records.iter().map(state).collect::<Vec<_>>());
    let mut named: Vec<(String, Vec<&Located<'_>>)> = Vec::new();
    for one in &records {
        let stem = stem(&one.record.id);
        match named.iter_mut().find(|(name, of)| *name == stem && of[0].record.unit == one.record.unit) {
            Some((_, of)) => of.push(one),
            None => named.push((stem, vec![one])),
        }
    }
    for (stem, of) in named {
        let unit = unit(of[0].record.unit);
        let ending = if unit.is_empty() { String::new() } else { format!("_{unit}") };
        let summary = &of[0].record.summary;
        let mut gauge = |middle: &str, help: &str, value: &dyn Fn(&Record) -> Option<f64>| {
            let sample = |one: &&Located<'_>| {
                let value = value(one.record).filter(|value| value.is_finite())?;
                Some((labels(&one.pairs()), value))
            };
            let samples: Vec<_> = of.iter().filter_map(sample).collect();
            out.gauge(&format!("groma_{stem}{middle}{ending}"), unit, help, &samples);
        };
        gauge("", summary, &|record| record.value);
        gauge("_ci_low", &format!("95 % interval, from: {summary}"), &|record| record.ci.map(|ci| ci[0]));
        gauge("_ci_high", &format!("95 % interval, to: {summary}"), &|record| record.ci.map(|ci| ci[1]));
    }
    out.end()
}

/// When the runs were made, and which ones they are.
fn run_gauges(out: &mut OpenMetrics, runs: &[(&RunHeader, &[Record])]) {
    let started = |(head, _): &(&RunHeader, &[Record])| {
        Some((labels(&[("host", host(head))]), unix_seconds(&head.started)? as f64))
    };
    let help = "When the run began, seconds since 1970: alert on its age.";
    out.gauge("groma_run_start_time_seconds", "seconds", help, &runs.iter().filter_map(started).collect::<Vec<_>>());
    let info = |(head, _): &(&RunHeader, &[Record])| {
        let tags: Vec<&str> = head.tags.iter().map(|tag| tag.as_str()).collect();
        let fact = |key| head.environment.get(key).unwrap_or_default();
        let pairs = [
            ("host", host(head)),
            ("run", &head.run),
            ("groma", &head.groma),
            ("profile", head.profile.word()),
            ("noise", head.noise.map_or("", |noise| noise.word())),
            ("tags", &tags.join(" ")),
            ("kernel", fact("kernel.release")),
            ("cpu_model", fact("cpu.model")),
        ];
        (labels(&pairs), 1.0)
    };
    out.gauge("groma_run_info", "", "1; what the run was.", &runs.iter().map(info).collect::<Vec<_>>());
}

fn host(head: &RunHeader) -> &str {
    head.environment.get("host.name").unwrap_or_default()
}

/// A record with its label texts.
struct Located<'a> {
    record: &'a Record,
    host: &'a str,
    params: String,
    placement: String,
    workers: String,
}

fn located<'a>(head: &'a RunHeader, records: &'a [Record]) -> impl Iterator<Item = Located<'a>> {
    records.iter().map(|record| Located {
        record,
        host: host(head),
        params: record.params.to_string(),
        placement: record.placement.to_string(),
        workers: record.workers.to_string(),
    })
}

impl Located<'_> {
    fn pairs(&self) -> [(&str, &str); 6] {
        [
            ("host", self.host),
            ("id", &self.record.id),
            ("params", &self.params),
            ("placement", &self.placement),
            ("workers", &self.workers),
            ("crew", self.record.worker_kind.word()),
        ]
    }
}

/// An id as part of a metric name.
fn stem(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The suffix of a unit in metric names.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "seconds",
        Unit::SecondsPerGigabyte => "seconds_per_gigabyte",
        Unit::BytesPerSecond => "bytes_per_second",
        Unit::PerSecond => "per_second",
        Unit::Bytes => "bytes",
        Unit::Joules => "joules",
        Unit::Watts => "watts",
        Unit::One => "",
    }
}

#[cfg(test)]
mod tests;
