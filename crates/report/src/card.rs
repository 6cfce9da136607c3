//! The card of one metric: its value and how far to trust it, its rounds and samples, the effect of
//! a busy sibling thread, its proofs, its history, and how to measure it again.

use groma_model::{Flag, Proof, Record, RunHeader, WorkerKind};

use crate::document::Document;
use crate::format::Format;
use crate::machine::host;
use crate::point::{name, typed_params, typed_place};
use crate::rows::sparkline;
use crate::style::{Ink, Style, ink};
use crate::units::{self, Scale};
use crate::{export, json};

/// Context that a card shows next to its record.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Its values in earlier runs of the machine, the latest first.
    pub earlier: Vec<f64>,
    /// A description of what its benchmark measures.
    pub measures: String,
}

/// The cards of some records of a run. JSON and CSV are those of the records.
pub fn cards<'a>(run: &'a RunHeader, records: &'a [(&'a Record, Beside)], style: &Style) -> Document<'a> {
    let owned = move || records.iter().map(|(record, _)| (*record).clone()).collect::<Vec<Record>>();
    let title = records.first().map_or_else(|| "cards".to_owned(), |(record, _)| name(record));
    let mut out = Document::new(title)
        .written(Format::Json, move || json::json(run, &owned(), None))
        .written(Format::Csv, move || export::csv_records(run, &owned()));
    for (i, (record, beside)) in records.iter().enumerate() {
        if i > 0 {
            out.gap();
        }
        card(run, record, beside, style, &mut out);
    }
    out
}

/// The card of a record.
fn card(run: &RunHeader, record: &Record, beside: &Beside, style: &Style, out: &mut Document<'_>) {
    let scale = Scale::of(record);
    let value = |v: f64| units::value(v, scale, None);
    out.heading(name(record));
    out.say(record.summary.as_str());
    out.gap();
    let mut line = |label: &str, text: String| out.labelled(format!("  {label:<10}"), text);
    line("measures", beside.measures.clone());
    line("value", headline(record));
    let reason = if record.reason.is_empty() { String::new() } else { format!(": {}", record.reason) };
    let state = vec![(record.state.word().to_owned(), ink(record.state)), (reason, Ink::Plain)];
    out.parts(format!("  {:<10}", "state"), state);
    let mut line = |label: &str, text: String| out.labelled(format!("  {label:<10}"), text);
    for flag in &record.flags {
        line("", flag_in_units(flag, &value));
    }
    line("rounds", rounds(record, style));
    let quantiles =
        [("p10", record.p10), ("p50", record.p50), ("p90", record.p90), ("p99", record.p99), ("most", record.max)];
    let quantiles: Vec<String> =
        quantiles.iter().filter_map(|(name, v)| Some(format!("{name} {}", value((*v)?)))).collect();
    line("samples", samples(record, &quantiles));
    if let Some(shared) = &record.shared {
        let beside = shared.value.map(|v| format!("{} beside a busy sibling thread, ", value(v))).unwrap_or_default();
        line("shared", format!("{beside}{} of the samples", units::percent(shared.share)));
    }
    let (held, broken): (Vec<&Proof>, Vec<&Proof>) = record.proofs.iter().partition(|proof| proof.holds);
    for proof in broken {
        line("proof", self::proof(proof));
    }
    if !held.is_empty() {
        let shown = |p: &&Proof| format!("{} {} ({})", p.name, units::significant(p.seen, 4), p.expected);
        line("proofs", format!("hold: {}", held.iter().map(shown).collect::<Vec<_>>().join("; ")));
    }
    if let Some((least, most)) = ends(&beside.earlier) {
        let runs = beside.earlier.len();
        let range = if runs == 1 { value(least) } else { units::range(least, most, scale) };
        line("earlier", format!("{range} in {} of this machine", units::counted(runs, "run")));
    }
    line("repeats", groma_published::sources(&record.id).join(", "));
    line("machine", host(&run.environment));
    let noise = run.noise.map(|noise| format!(", host {}", noise.word())).unwrap_or_default();
    line("run", format!("{}, {}{noise}", run.run, run.profile.word()));
    line("again", command(record, style.program));
    let point = format!("{}{}{}", record.id, typed_params(record), typed_place(record));
    line("more", format!("{0} explain {1}; {0} plot {point} --histogram", style.program, record.id));
}

/// A flag as text: the modes it names are shown in the record's unit, as values are.
fn flag_in_units(flag: &str, value: &dyn Fn(f64) -> String) -> String {
    match (Flag::modes_of(flag), flag.split_once(", ")) {
        (Some(modes), Some((how, _))) => {
            let modes = modes.iter().map(|(share, at)| format!("{} at {}", units::percent(*share), value(*at)));
            format!("{how}, {}", modes.collect::<Vec<_>>().join(", "))
        }
        _ => flag.to_owned(),
    }
}

/// The value, its interval, and its cycles.
fn headline(record: &Record) -> String {
    let Some(text) = units::headline(record) else { return "none".to_owned() };
    let interval = units::interval(record).map(|half| format!(" ± {half}")).unwrap_or_default();
    let range = record.ci_display.map(|[low, high]| format!(" ({})", units::range(low, high, Scale::of(record))));
    let cycles = record.cycles.map(|cycles| format!(", {}", units::cycles(cycles))).unwrap_or_default();
    format!("{text}{interval}{}{cycles}", range.unwrap_or_default())
}

/// The values of the rounds, as a picture in order and by their extremes.
fn rounds(record: &Record, style: &Style) -> String {
    let values = &record.round_values;
    let Some((least, most)) = ends(values) else { return String::new() };
    let picture = sparkline(values, style.unicode);
    format!("{picture}  {} from {}", values.len(), units::range(least, most, Scale::of(record)).replace('–', " to "))
}

/// How many samples counted, what disturbed the others, and the quantiles.
pub(crate) fn samples(record: &Record, quantiles: &[String]) -> String {
    if record.samples == 0 {
        return String::new();
    }
    let labels: Vec<String> = record.labels.0.iter().map(|(letter, n)| format!("{letter} {n}")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!(" (labels: {})", labels.join(", ")) };
    let shape = if quantiles.is_empty() { String::new() } else { format!("; {}", quantiles.join(", ")) };
    format!("{} of {} undisturbed{labels}{shape}", record.clean, record.samples)
}

pub(crate) fn proof(proof: &Proof) -> String {
    let verdict = if proof.holds { "holds" } else { "broken" };
    format!("{verdict}: {} is {}, expected {}", proof.name, units::significant(proof.seen, 4), proof.expected)
}

/// The command that measures this point again.
fn command(record: &Record, program: &str) -> String {
    let threads = if record.workers > 1 && record.worker_kind == WorkerKind::Threads { " --threads" } else { "" };
    format!("{program} run {}{}{}{threads}", record.id, typed_params(record), typed_place(record))
}

/// The smallest and the largest of some values.
fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some((least, values.iter().copied().max_by(f64::total_cmp)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::style::columns;
    use groma_model::{Placement, SharedCore, State};

    fn shown(record: &Record, width: usize) -> String {
        let beside =
            Beside { earlier: vec![4.4e-6, 4.6e-6, 4.5e-6], measures: "A byte through a pipe and back.".to_owned() };
        cards(&fixtures::header(), &[(record, beside)], &Style::plain(width)).text(&Style::plain(width))
    }

    #[test]
    fn of_a_metric_with_everything() {
        let mut record = fixtures::sampled();
        record.round_values = vec![4.4e-6, 4.5e-6, 4.9e-6, 4.5e-6];
        record.shared = Some(SharedCore { value: Some(5.9e-6), share: 0.18, round_values: Vec::new() });
        record.proofs = vec![Proof { name: "bytes per trip".into(), expected: "2".into(), seen: 2.0, holds: true }];
        for width in [80, 100] {
            let text = shown(&record, width);
            assert!(text.lines().all(|line| columns(line) <= width && line.trim_end() == line), "{text}");
        }
        insta::assert_snapshot!(shown(&record, 100));
    }

    #[test]
    fn a_group_of_threads_is_measured_again_as_one() {
        let mut record = fixtures::record("mem.bandwidth", "op=read", groma_model::Quantity::Bandwidth, -1.0);
        (record.workers, record.worker_kind, record.placement) = (4, WorkerKind::Threads, Placement::Compact);
        let text = shown(&record, 100);
        assert!(
            text.contains("groma run mem.bandwidth --param op=read -P 4 --placement compact --threads\n"),
            "{text}"
        );
        assert_eq!(ends(&[-3.0, -1.0]), Some((-3.0, -1.0)));
    }

    #[test]
    fn of_a_metric_without_a_value() {
        let record = fixtures::without(fixtures::sampled(), State::Unsupported, "there is none here");
        let text = shown(&record, 80);
        assert!(text.contains("value     none") && text.contains("unsupported: there is none here"), "{text}");
    }
}
