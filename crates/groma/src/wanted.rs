//! What fails a run: failures of anything, and of what the user named also what this machine denies
//! or lacks. What a profile or a group chose cannot fail it: whoever types `groma run` did not ask
//! for io_uring, which most containers deny.

use groma_harness::model::{CpuLimit, Label, NoiseVerdict, Point, Record, RunHeader, State};
use groma_report::units;
use groma_runner::RunRequest;
use std::time::Duration;

/// What the user named.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The texts that select benchmarks, those that are no ids among them.
    pub(crate) select: Vec<String>,
    /// Whether what is denied fails the run even if it was not named.
    pub(crate) strict: bool,
}

/// What a run could not measure, in sentences.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Why the run fails.
    pub(crate) failure: Option<String>,
    /// What this machine denies and nobody named.
    pub(crate) excused: Option<String>,
}

impl Wanted {
    /// What a run of this request could not measure. The records are those of the points, in order.
    pub(crate) fn missing(&self, request: &RunRequest, points: &[Point], records: &[Record]) -> Missing {
        let of_points = by_point(points, records);
        let all = || of_points.iter().filter_map(|(point, own)| Some((*point, refusal(own)?)));
        let is_measured = |point: &Point| {
            let alike = of_points.iter().filter(|(other, _)| is_same_choice(request, point, other));
            alike.flat_map(|(_, own)| own.iter()).any(|record| is_determined(record.state))
        };
        let fails = |point: &Point, refused: &Record| {
            let named = self.select.contains(&point.bench) && !is_measured(point);
            named || (self.strict && refused.state == State::Denied)
        };
        let is_named = |point: &Point| self.strict && self.select.contains(&point.bench);
        let without_value = of_points.iter().filter(|(point, _)| is_named(point));
        let mut without_value = without_value.filter_map(|(point, own)| Some((*point, unresolved(own)?)));
        let failing = all().find(|(point, refused)| fails(point, refused)).or_else(|| without_value.next());
        if let Some((point, refused)) = failing {
            let (name, state) = (point.name(), refused.state.word());
            return Missing { failure: Some(format!("{name}: {state}: {}", refused.reason)), excused: None };
        }
        let of = |state: State| all().filter(|(_, refused)| refused.state == state).count();
        let first = all().find(|(_, refused)| refused.state == State::Denied);
        let excused = first.map(|(point, refused)| {
            let unsupported = match of(State::Unsupported) {
                0 => String::new(),
                n => format!(", and {n} are unsupported"),
            };
            let (denied, of_all) = (of(State::Denied), points.len());
            format!(
                "{denied} of {of_all} points are denied here{unsupported} ({}: {}); none was named, so the run does \
                 not fail for them (--strict)",
                point.bench, refused.reason
            )
        });
        Missing { failure: None, excused }
    }
}

/// The first metric of a point that the machine denies or lacks.
fn refusal(records: &[Record]) -> Option<&Record> {
    records.iter().find(|record| matches!(record.state, State::Denied | State::Unsupported))
}

/// Why a point has no value, if it was measured and has none.
fn unresolved(records: &[Record]) -> Option<&Record> {
    let first = records.iter().find(|record| record.state == State::Unresolved);
    first.filter(|_| records.iter().all(|record| record.state == State::Unresolved))
}

/// Points, and their records, which are in the same order.
fn by_point<'r>(points: &'r [Point], records: &'r [Record]) -> Vec<(&'r Point, &'r [Record])> {
    let mut rest = records;
    let with_records = |point: &'r Point| {
        let (own, others) = rest.split_at(point.metrics.len().min(rest.len()));
        rest = others;
        (point, own)
    };
    points.iter().map(with_records).collect()
}

/// What the authors of benchmarks other than groma's have to know: what these do in most of their
/// samples without declaring it, so that those are dropped, and that an operation is longer than
/// rounds are. A sentence for each benchmark.
pub(crate) fn hints(points: &[Point], records: &[Record]) -> Vec<String> {
    let of_groma = groma_benches::all();
    let mut told: Vec<(&str, String)> = Vec::new();
    for (point, own) in by_point(points, records) {
        let is_known = of_groma.iter().any(|one| one.info.id == point.bench)
            || told.iter().any(|(bench, _)| *bench == point.bench);
        if !is_known && let Some(hint) = hint(point, own) {
            told.push((&point.bench, format!("{}: {hint}", point.bench)));
        }
    }
    told.into_iter().map(|(_, hint)| hint).collect()
}

/// The most important hint for a point.
fn hint(point: &Point, records: &[Record]) -> Option<String> {
    /// Of the calibration, the warm-up, the check of scaling and the fewest samples.
    const ITERATIONS: u32 = 12;
    /// Disturbances that a benchmark may declare, and by which names.
    const DECLARED: [(Label, &str, &str, &str); 2] =
        [(Label::Faulted, "page faults", "FAULTS", "Faults"), (Label::Voluntary, "waiting", "BLOCKING", "Blocking")];
    if records.iter().any(|record| record.state == State::Timeout) {
        return Some(format!(
            "a round is {ITERATIONS} iterations or more: if one takes a second, name a longer --deadline and --budget, \
             such as --deadline 1m --budget 10m"
        ));
    }
    let is_dropped = |record: &&Record| record.state == State::Unresolved && record.samples > 0;
    let in_most = |label| {
        let mut dropped = records.iter().filter(is_dropped);
        point.drops.has(label) && dropped.any(|record| record.labels.count(label) * 2 > record.samples)
    };
    let (_, does, kind, name) = DECLARED.into_iter().find(|(label, ..)| in_most(*label))?;
    Some(format!(
        "{does} in most samples, which are dropped: if that belongs to the operation, say so (interference: \
         GROMA_{kind}, in C++ groma::{name}, in Rust Interference::{name}; of what creates processes or threads \
         GROMA_TASKS, Tasks)"
    ))
}

/// Whether something was measured, whatever came out.
fn is_determined(state: State) -> bool {
    matches!(state, State::Ok | State::Noisy | State::Unresolved)
}

/// Whether two points of a benchmark are one to whoever made this request: they differ only in what
/// was not named.
fn is_same_choice(request: &RunRequest, a: &Point, b: &Point) -> bool {
    a.bench == b.bench
        && (request.placement.is_none() || a.placement == b.placement)
        && (request.parallel.is_empty() || a.workers == b.workers)
        && request.params.iter().all(|setting| a.params.get(&setting.name) == b.params.get(&setting.name))
}

/// That a run took not one sample, why, and which budget would do; `None` if it took any, or if its
/// failures say why.
pub(crate) fn nothing_measured(
    request: &RunRequest,
    head: &RunHeader,
    limit: Option<CpuLimit>,
    records: &[Record],
) -> Option<String> {
    let failed = |record: &Record| matches!(record.state, State::Failed | State::Timeout);
    if records.is_empty() || records.iter().any(|record| record.samples > 0 || record.rounds > 0 || failed(record)) {
        return None;
    }
    let unreached = records.iter().find(|record| record.state == State::Unresolved);
    let Some(unreached) = unreached else {
        let first = records.first()?;
        return Some(format!("nothing was measured: {}: {}: {}", first.id, first.state.word(), first.reason));
    };
    let usual = RunRequest { budget: None, ..request.clone() }.total_budget().as_secs_f64();
    let limit = limit.or(head.cpu_limit).filter(CpuLimit::is_felt);
    let lost = head.noise_lost.filter(|lost| NoiseVerdict::of_lost(*lost) >= NoiseVerdict::Noisy);
    let why = match (limit, lost) {
        (Some(limit), _) => format!(", as {limit}"),
        (None, Some(lost)) => format!(", as {} of the time went to others", units::percent(lost)),
        (None, None) => String::new(),
    };
    // What is left of the time has to be as long as usual, and longer than it was.
    let left = 1.0 - limit.map_or(0.0, |limit| limit.held_back) - lost.unwrap_or(0.0);
    let enough = (usual.max(head.budget_s) / left.clamp(0.01, 1.0)).max(2.0 * head.budget_s);
    Some(format!(
        "nothing was measured: {} of {}{why}; --budget {} would do",
        unreached.reason,
        units::wall(head.budget_s),
        format_time(Duration::from_secs_f64(enough))
    ))
}

/// A time as `--budget` takes it, rounded up.
fn format_time(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil();
    if seconds <= 120.0 { format!("{seconds}s") } else { format!("{}m", (seconds / 60.0).ceil()) }
}
