//! A run of a result file as a run of groma: a round for each value.

use super::IMPORTED;
use crate::measure::count;
use crate::program::Program;
use anyhow::{Context, Result};
use groma_harness::model::{
    Better, Derivation, End, Fact, Host, Info, Labels, Machine, Metric, Params, Placement, Point, Profile, Quantity,
    Remark, Round, RoundOutput, RoundResult, RunHeader, SCHEMA, Series, State, Timing, Value as Param, WorkerKind,
    is_metric_of, size_text,
};
use groma_published::results::{Date, Form, Kind, Ours, Run, Tasks, Unit, Value};
use groma_report::LMBENCH_NAME;
use groma_runner::identity;
use groma_store::{HOST_NAME, RunStatus, StoredRun};
use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{Offset, TimeZone};
use std::collections::BTreeSet;

/// The keys of the head that become facts `lmbench.KEY`: how lmbench was set. Paths, users, mail
/// and networks stay out of the store.
const KEPT: [&str; 11] = [
    "OS",
    "MB",
    "SYNC_MAX",
    "LMBENCH_SCHED",
    "LMBENCH_VER",
    "LMBENCH VERSION",
    "ENOUGH",
    "TIMING_O",
    "LOOP_O",
    "FASTMEM",
    "SLOWFS",
];

/// The run, with an id that is made from its text.
///
/// # Errors
/// When its date is not one.
pub(in crate::verbs) fn stored(program: &Program, file: &str, run: &Run) -> Result<StoredRun> {
    let mut points: Vec<(Point, Vec<Round>)> = Vec::new();
    let first_remote = run.values.iter().find_map(|value| peer(run, value));
    for value in &run.values {
        let point = point(program, run, value, first_remote);
        let at = points.iter().position(|(known, _)| *known == point).unwrap_or_else(|| {
            points.push((point, Vec::new()));
            points.len() - 1
        });
        let (point, rounds) = &mut points[at];
        let number = rounds.len() as u32;
        rounds.push(Round { round: number, result: result(point, value) });
    }
    let mut remarks: Vec<String> = Vec::new();
    let header = header(file, run, &mut remarks)?;
    let records: Vec<_> =
        points.iter().flat_map(|(point, rounds)| groma_analysis::summarise(point, rounds, &header.host)).collect();
    let begun: Timestamp = header.started.parse().context("the date")?;
    let ended = run.dates.last().map(|date| moment(date, &mut Vec::new())).transpose()?;
    // Without a date of its beginning there is no time between the two.
    let ended = ended.filter(|_| begun != Timestamp::UNIX_EPOCH);
    let wall_s = ended.map_or(0.0, |ended| ended.duration_since(begun).as_secs_f64().max(0.0));
    let end = End { states: count(&records), wall_s, interrupted: false, cpu_limit: None, fewer_cpus: None };
    Ok(StoredRun { header, points, end: Some(end), status: RunStatus::Complete })
}

fn header(file: &str, run: &Run, remarks: &mut Vec<String>) -> Result<RunHeader> {
    let started = match (run.dates.first(), &run.unread_date) {
        (Some(date), _) => moment(date, remarks)?,
        (None, None) => {
            remarks.push("the file has no date".to_owned());
            Timestamp::UNIX_EPOCH
        }
        (None, Some(line)) => {
            remarks.push(format!("the file has no date that can be read: '{}'", line.text));
            Timestamp::UNIX_EPOCH
        }
    };
    if run.dates.len() < 2 {
        remarks.push("the file has no closing date: lmbench may not have ended".to_owned());
    }
    remarks.extend(run.unread.iter().map(|line| format!("line {} was not read: {}", line.number, line.text)));
    if run.unread_lines > run.unread.len() {
        remarks.push(format!("{} lines were not read", run.unread_lines));
    }
    let uname = |at: usize| run.uname.get(at).map(String::as_str);
    let host = uname(1).or(run.get("NODENAME")).or(run.get("HOSTNAME"));
    // lmbench's scripts take the name of the file for that of the host.
    let named = || file.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
    let mut facts = vec![Fact::new(HOST_NAME, host.unwrap_or_else(named))];
    let known = [
        ("host.machine", run.get("MACHINE")),
        ("kernel.name", uname(0).or(run.get("SYSNAME"))),
        ("kernel.release", uname(2).or(run.get("RELEASE"))),
        ("kernel.version", run.get("VERSION")),
    ];
    facts.extend(known.into_iter().filter_map(|(key, value)| Some(Fact::new(key, value.filter(|v| !v.is_empty())?))));
    let by_groma = run.get("LMBENCH_VER").filter(|version| version.starts_with("groma"));
    let by = by_groma.map(|version| format!(", written by {version}")).unwrap_or_default();
    facts.push(Fact::new(IMPORTED, format!("lmbench {}{by}", run.version)));
    facts.push(Fact::new("imported.file", file));
    let kept = KEPT.iter().filter_map(|key| Some((*key, run.get(key).filter(|value| !value.is_empty())?)));
    facts.extend(kept.map(|(key, value)| Fact::new(format!("lmbench.{key}"), value)));
    Ok(RunHeader {
        schema: SCHEMA,
        run: identity::run_id(started, hash(&run.text)),
        started: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        groma: env!("CARGO_PKG_VERSION").to_owned(),
        build: String::new(),
        args: vec!["import".to_owned(), file.to_owned()],
        tags: BTreeSet::new(),
        in_turns: None,
        seed: 0,
        profile: Profile::Standard,
        budget_s: 0.0,
        environment: Machine { facts },
        host: Host::UNKNOWN,
        noise: None,
        noise_lost: None,
        cpu_limit: None,
        remarks: remarks.drain(..).map(Remark::from).collect(),
    })
}

/// FNV-1a: the same text has the same id, on every machine and in every version.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    // An id has 16 bits of it.
    hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48)
}

/// A date in UTC. The abbreviation of a zone names several: it is taken for UTC, with a remark.
fn moment(date: &Date, remarks: &mut Vec<String>) -> Result<Timestamp> {
    let [hour, minute, second] = date.time;
    let zone = match date.zone.as_str() {
        "" | "UTC" | "GMT" | "Z" => TimeZone::UTC,
        zone => match offset(zone) {
            Some(offset) => TimeZone::fixed(offset),
            None => {
                remarks.push(format!("the time zone {zone} is taken for UTC"));
                TimeZone::UTC
            }
        },
    };
    let at = civil::DateTime::new(date.year, date.month, date.day, hour, minute, second.min(59), 0);
    let at = at
        .and_then(|at| at.to_zoned(zone))
        .with_context(|| format!("the date {}-{:02}-{:02} is not one", date.year, date.month, date.day))?;
    Ok(at.timestamp())
}

/// `+02`, `-0330`, `+02:00`, `UTC+0200`.
fn offset(zone: &str) -> Option<Offset> {
    let zone = zone.trim_start_matches("UTC").trim_start_matches("GMT").replace(':', "");
    let (sign, digits) =
        zone.strip_prefix('+').map(|rest| (1, rest)).or(zone.strip_prefix('-').map(|rest| (-1, rest)))?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) || ![2, 4].contains(&digits.len()) {
        return None;
    }
    let (hours, minutes) = digits.split_at(2);
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i32>().ok()? };
    Offset::from_seconds(sign * (hours.parse::<i32>().ok()? * 3600 + minutes * 60)).ok()
}

/// The name of the other machine that a value was measured with.
fn peer<'r>(run: &Run, value: &'r Value) -> Option<&'r str> {
    let name = value.name.as_deref()?;
    let is_peer = value.kind.tasks == Tasks::Several && !run.is_itself(name);
    is_peer.then_some(name)
}

/// The point of a value: of a benchmark of groma where the definition is the same, else of lmbench.
fn point(program: &Program, run: &Run, value: &Value, first_remote: Option<&str>) -> Point {
    let kind = value.kind;
    let remote = peer(run, value);
    // Several other machines would be one point.
    let is_further = remote.is_some() && remote != first_remote;
    let copies = if kind.takes_copies { run.copies() } else { 1 };
    let ours = kind.ours.as_ref().filter(|_| !is_further);
    let known = ours.and_then(|ours| Some((ours, info_of(program, ours)?)));
    let (bench, version, params, params_text, metric, half_width) = match known {
        Some((ours, info)) => {
            let (params, text) = params_of(info, ours, &value.keys);
            (info.id.to_owned(), info.version, params, text, metric_of(info, ours), info.target_half_width)
        }
        None => {
            let (params, text) = own_params(value, remote.filter(|_| is_further));
            let metric = own_metric(kind);
            (metric.id.clone(), 1, params, text, metric, WIDTH)
        }
    };
    Point {
        bench,
        version,
        params,
        params_text,
        placement: placement(run, kind, copies, remote.is_some()),
        workers: copies,
        worker_kind: WorkerKind::Processes,
        timing: Timing::Stated,
        drops: Labels::NONE,
        target_half_width: half_width,
        metrics: vec![metric],
    }
}

/// The half-width that a value of lmbench aims at. It has one round and no interval, so nothing
/// depends on it.
const WIDTH: f64 = 0.05;

fn info_of(program: &Program, ours: &Ours) -> Option<&'static Info> {
    let reports = |info: &&Info| info.outputs.iter().any(|output| info.metric(output) == ours.metric);
    program.all().iter().map(|bench| &bench.info).filter(|info| is_metric_of(ours.metric, info.id)).find(reports)
}

/// lmbench places nothing unless it is told to, and then its servers stay where they are.
fn placement(run: &Run, kind: &Kind, copies: u32, remote: bool) -> Placement {
    let policy = run.get("LMBENCH_SCHED").unwrap_or_default().to_ascii_uppercase();
    let on_one_cpu = ["SINGLE", "BALANCED", "BALANCED_SPREAD"].contains(&policy.as_str());
    let has_server = matches!(kind.form, Form::Named(_) | Form::NamedRow(..) | Form::Http);
    match kind.tasks {
        _ if remote => Placement::Remote,
        _ if copies > 1 => Placement::Free,
        Tasks::One => Placement::Pinned,
        Tasks::Several if on_one_cpu && !has_server => Placement::SameCpu,
        Tasks::Several => Placement::Free,
    }
}

/// The parameters of a benchmark: those of the line, else their usual values.
fn params_of(info: &Info, ours: &Ours, keys: &[u64]) -> (Params, String) {
    let mut params = Params::default();
    let mut texts = Vec::new();
    for param in info.params {
        let key = ours.keys.iter().zip(keys).find(|((name, _), _)| *name == param.name);
        let fixed = ours.params.iter().find(|(name, _)| *name == param.name).map(|(_, text)| *text);
        let value = match key {
            Some(((_, times), key)) => Some(Param::Int(key.saturating_mul(*times))),
            None => fixed.or(param.usual()).and_then(|text| param.parse(text).ok()),
        };
        if let Some(value) = value {
            texts.push(format!("{}={}", param.name, param.show(&value)));
            params.0.push((param.name.to_owned(), value));
        }
    }
    (params, texts.join(" "))
}

fn own_params(value: &Value, peer: Option<&str>) -> (Params, String) {
    let is_size = |key: &str| ["size", "working_set", "distance", "offset"].contains(&key);
    let mut params = Params::default();
    let mut texts = Vec::new();
    for (name, key) in value.kind.keys.iter().zip(&value.keys) {
        texts.push(if is_size(name) { format!("{name}={}", size_text(*key)) } else { format!("{name}={key}") });
        params.0.push(((*name).to_owned(), Param::Int(*key)));
    }
    let device = value.name.as_deref().filter(|_| matches!(value.kind.form, Form::NamedRow(..)));
    let device = device.filter(|_| value.kind.tasks == Tasks::One).map(|device| ("on", device));
    for (name, text) in device.into_iter().chain(peer.map(|peer| ("host", peer))) {
        texts.push(format!("{name}={text}"));
        params.0.push((name.to_owned(), Param::Word(text.to_owned())));
    }
    (params, texts.join(" "))
}

fn metric_of(info: &Info, ours: &Ours) -> Metric {
    let output = info.outputs.iter().find(|output| info.metric(output) == ours.metric);
    let quantity = output.map_or(info.quantity, |output| info.quantity_of(output));
    let is_main = output.is_none_or(|output| output.quantity.is_none());
    let summary = output.map(|output| output.summary).filter(|summary| !summary.is_empty()).unwrap_or(info.summary);
    Metric {
        id: ours.metric.to_owned(),
        summary: summary.to_owned(),
        quantity,
        better: if is_main { info.better() } else { quantity.better() },
        derivation: Derivation::Series(String::new()),
        detail: false,
    }
}

fn own_metric(kind: &Kind) -> Metric {
    let quantity = match kind.unit {
        Unit::Microseconds | Unit::Nanoseconds | Unit::Milliseconds => Quantity::Latency,
        Unit::Megabytes | Unit::Kilobytes => Quantity::Bandwidth,
        Unit::PerSecond | Unit::Megahertz => Quantity::Rate,
        Unit::Count => Quantity::Count,
        Unit::Bytes => Quantity::Size,
        Unit::Ratio => Quantity::Ratio,
    };
    // More operations that overlap are better, whatever a ratio is in general.
    let better = if quantity == Quantity::Ratio { Better::Higher } else { quantity.better() };
    let (id, summary) = (kind.id(), kind.what.to_owned());
    Metric { id, summary, quantity, better, derivation: Derivation::Series(String::new()), detail: false }
}

/// A round with the value, or with the reason why there is none.
fn result(point: &Point, value: &Value) -> RoundResult {
    let kind = value.kind;
    let ours = kind.ours.as_ref().filter(|ours| point.metrics.iter().any(|metric| metric.id == ours.metric));
    let mut facts = vec![Fact::new("lmbench.line", value.line), Fact::new("lmbench.printed", &value.printed)];
    // Names of files are those of a directory of lmbench's user.
    let name = value.name.as_ref().filter(|_| !(matches!(kind.form, Form::Named(_)) && kind.tasks == Tasks::One));
    facts.extend(name.map(|name| Fact::new(LMBENCH_NAME, name)));
    facts.extend(value.count.map(|count| Fact::new("lmbench.count", count)));
    facts.extend(
        ours.map(|ours| ours.note).filter(|note| !note.is_empty()).map(|note| Fact::new("lmbench.differs", note)),
    );
    let si = value.number.map(|_| ours.map_or(value.si, |ours| ours.value(value.si)));
    match si {
        Ok(si) => {
            RoundResult::ok(RoundOutput { series: vec![Series::stated("", vec![si])], facts, ..RoundOutput::default() })
        }
        Err(doubt) => {
            let printed = if value.printed.is_empty() { "the line" } else { &value.printed };
            let reason = format!("lmbench's result file, line {}: {printed} {}", value.line, doubt.reason());
            let output = RoundOutput { facts, ..RoundOutput::default() };
            RoundResult { output, ..RoundResult::ended(State::Unresolved, reason) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_published::results::KINDS;

    /// A kind with a metric of groma has all that the metric's point needs, in values that its
    /// benchmark accepts, and the unit of the benchmark.
    #[test]
    fn every_metric_of_a_kind_is_in_the_catalogue() {
        let all = groma_benches::all();
        let mut seen = 0;
        for kind in KINDS {
            for ours in kind.ours.iter().chain(kind.near) {
                let of = |info: &&Info| info.outputs.iter().any(|output| info.metric(output) == ours.metric);
                let info = all.iter().map(|bench| &bench.info).find(of).unwrap_or_else(|| panic!("{}", ours.metric));
                for (name, text) in ours.params {
                    let param = info.params.iter().find(|param| param.name == *name);
                    let param = param.unwrap_or_else(|| panic!("{} has no {name}", ours.metric));
                    param.parse(text).unwrap_or_else(|e| panic!("{} {name}: {e}", ours.metric));
                }
                for (name, _) in ours.keys.iter().filter(|(name, _)| !name.is_empty()) {
                    assert!(info.params.iter().any(|param| param.name == *name), "{} has no {name}", ours.metric);
                }
                let (ours_unit, theirs) = (metric_of(info, ours).quantity, own_metric(kind).quantity);
                let is_time = |quantity| quantity == Quantity::Latency;
                let inverse = ours.inverse && is_time(ours_unit) != is_time(theirs);
                assert!(inverse || ours_unit.unit() == theirs.unit(), "{}: {ours_unit:?} {theirs:?}", kind.name);
                seen += 1;
            }
        }
        assert!(seen > 60, "{seen}");
    }
}
