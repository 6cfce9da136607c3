//! Measures points silently, in a run of their own, and returns their records.
//!
//! `-N` are rounds (without it as many as the precision needs), `-P` is a worker group, `-W` the
//! warm-up of all rounds together, and `LMBENCH_SCHED` the placement. Rounds are stored only where
//! `GROMA_STORE` names a store: scripts call these programs hundreds of times.

use super::call::{Call, Stop};
use super::sched::Policy;
use crate::args::StoreArgs;
use crate::measure::{Outputs, measure};
use groma_harness::model::{Host, Label, Profile, Record, State, Tier, is_metric_of};
use groma_harness::sys::topology::Topology;
use groma_runner::{Planned, RunRequest, Setting, signals};
use std::fmt::Display;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The time that a program may take for each point, if its values are not precise enough before,
/// and the least for all: lmbench's driver calls 300 programs, which have to end in five minutes on
/// a busy machine (docs/lmbench.md). A start and its preflight take 0.4 s of it, and nine rounds of
/// 40 ms are shortened to fit.
const PER_POINT: Duration = Duration::from_millis(500);
const MIN_BUDGET: Duration = Duration::from_millis(700);
/// The cap: the time for all points, which lat_mem_rd with its 107 points for a stride reaches, or
/// for more than 200 points the time that each takes at least.
const MAX_BUDGET: Duration = Duration::from_secs(20);
const MAX_TIME_PER_POINT: Duration = Duration::from_millis(100);
/// From this number of points on rounds are short.
const MANY_POINTS: usize = 12;
/// The rounds of a standard run.
const DEFAULT_ROUNDS: u32 = 9;

/// The rounds of points that nine did not resolve.
const MORE_ROUNDS: u32 = 35;
/// How often a point without a row gets another round. Beside a load of 8 a curve of 107 sizes lost
/// 16 that were not reached, and one of 83 with `-N 1` lost 9 whose loads had not settled.
const LAST_ROUNDS: u32 = 6;

/// A point to measure: a benchmark with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Want {
    bench: &'static str,
    params: Vec<Setting>,
}

impl Want {
    pub(super) fn of(bench: &'static str) -> Want {
        Want { bench, params: Vec::new() }
    }

    /// With a value of a parameter. The others have their first usual value.
    pub(super) fn with(mut self, name: &str, value: impl Display) -> Want {
        self.params.push(Setting { of: None, name: name.to_owned(), values: vec![value.to_string()] });
        self
    }
}

/// The records of a point.
#[derive(Debug)]
pub(super) struct Found {
    bench: &'static str,
    pub(super) records: Vec<Record>,
}

/// All that a call measured.
pub(super) struct Measured {
    pub(super) found: Vec<Found>,
    pub(super) host: Host,
}

impl Found {
    /// The record of a metric, by what follows the benchmark's id; the main one by an empty text.
    pub(super) fn record(&self, metric: &str) -> Option<&Record> {
        self.records.iter().find(|record| is_metric_of(&record.id, self.bench) && suffix(record, self.bench) == metric)
    }

    /// The value of a metric, in SI units. Why there is none, or what is to be known of it, is told
    /// in one line.
    pub(super) fn value(&self, call: &Call<'_>, metric: &str) -> Option<f64> {
        let Some(record) = self.record(metric) else {
            call.absent(&format!("{}: was not measured", self.bench));
            return None;
        };
        let params = if record.params_text.is_empty() { String::new() } else { format!(" ({})", record.params_text) };
        // As there, what took samples has a line, however busy the machine: scripts expect it.
        let Some(value) = record.measured_value() else {
            let why = if record.reason.is_empty() { "there is no value" } else { &record.reason };
            call.absent(&format!("{}{params}: {why}", record.state.word()));
            return None;
        };
        if record.state == State::Unresolved {
            call.tell(&format!("disturbed{params}: {}", record.reason));
        } else if let Some(half) = record.precision().filter(|half| *half > IMPRECISE) {
            call.imprecise.borrow_mut().push((params.clone(), half));
        }
        if call.copies().is_ok_and(|n| n > 1) && not_parallel(record) {
            call.tell(&format!("not parallel{params}: in most samples some copy was not at work"));
        }
        Some(value)
    }
}

/// What is told: a value whose interval is wider than 5 % to either side, where the pages of a
/// survey put their sign.
const IMPRECISE: f64 = 0.05;

fn suffix<'r>(record: &'r Record, bench: &str) -> &'r str {
    record.id[bench.len()..].trim_start_matches('.')
}

fn not_parallel(record: &Record) -> bool {
    record.labels.count(Label::Overlap) * 2 > record.samples
}

/// Measures points; their records are in the same order.
///
/// # Errors
/// When nothing can be measured at all, or a signal came.
pub(super) fn points(call: &Call<'_>, wants: &[Want]) -> Result<Measured, Stop> {
    let started = Instant::now();
    let policy = Policy::of_environment().map_err(Stop::Usage)?;
    let topology = Topology::for_plan();
    let cap = MAX_BUDGET.max(MAX_TIME_PER_POINT * wants.len() as u32) + call.warm_up()? * wants.len() as u32;
    let mut request = request(call, wants.len(), cap)?;
    let copies = call.copies()?;
    let mut plan: Vec<Planned> = Vec::new();
    for want in wants {
        let benches = call.groma.select(&[want.bench.to_owned()], Tier::Full)?;
        request.params.clone_from(&want.params);
        request.placement = match &benches[..] {
            _ if request.remote.is_some() => None,
            [bench, ..] => policy.placement(&bench.info, copies, &topology).map_err(Stop::Unmeasured)?,
            [] => None,
        };
        // Of a machine with several classes of core, the first.
        plan.extend(groma_runner::plan(&benches, &request, &topology)?.into_iter().take(1));
    }
    let store = StoreArgs::of_environment();
    let outputs = Outputs::silent(&store);
    request.params.clear();
    let mut measured = of_plan(call, &request, &outputs, &plan, started)?;
    // On a busy machine, points that were not reached or not seen undisturbed get more rounds, in
    // what is left of the time. `-N` has said how many there are.
    let is_unresolved = |records: &[Record]| records.first().is_some_and(|main| main.state == State::Unresolved);
    let again: Vec<usize> = (0..plan.len()).filter(|i| is_unresolved(&measured.records[*i])).collect();
    if !again.is_empty() && request.rounds.is_none() {
        (request.budget, request.rounds) = (Some(cap), Some(MORE_ROUNDS));
        let rest: Vec<Planned> = again.iter().map(|i| plan[*i].clone()).collect();
        let more = of_plan(call, &request, &outputs, &rest, started)?;
        again.into_iter().zip(more.records).for_each(|(i, records)| measured.records[i] = records);
    }
    // A row of one round is still a row: points that were not reached, or whose round found out
    // nothing, get one round more, some times.
    let has_no_row = |records: &[Record]| is_unresolved(records) && records[0].measured_value().is_none();
    for _ in 0..LAST_ROUNDS {
        let last: Vec<usize> = (0..plan.len()).filter(|i| has_no_row(&measured.records[*i])).collect();
        if last.is_empty() {
            break;
        }
        (request.budget, request.rounds) = (Some(MIN_BUDGET.max(PER_POINT * last.len() as u32)), Some(1));
        let rest: Vec<Planned> = last.iter().map(|i| plan[*i].clone()).collect();
        let more = of_plan(call, &request, &outputs, &rest, Instant::now())?;
        last.into_iter().zip(more.records).for_each(|(i, records)| measured.records[i] = records);
    }
    let found = wants.iter().zip(measured.records).map(|(want, records)| Found { bench: want.bench, records });
    Ok(Measured { found: found.collect(), host: measured.host })
}

/// The records of each point of a plan.
struct Records {
    records: Vec<Vec<Record>>,
    host: Host,
}

fn of_plan(
    call: &Call<'_>,
    request: &RunRequest,
    outputs: &Outputs<'_>,
    plan: &[Planned],
    started: Instant,
) -> Result<Records, Stop> {
    let measured = match measure(call.groma, request, outputs, plan, started)? {
        ControlFlow::Continue(measured) => measured,
        ControlFlow::Break(code) => {
            let unbegun = || Stop::Unmeasured(format!("the run did not begin (exit code {code})"));
            return Err(signals::of_exit_code(code).map_or_else(unbegun, Stop::Signal));
        }
    };
    if let Some(signal) = measured.signal() {
        return Err(Stop::Signal(signal));
    }
    // What was asked to be kept and is not is told as in any run.
    if measured.is_incomplete() && measured.report_end(true) != 0 {
        call.failed.set(true);
    }
    let host = measured.head.host;
    let mut records = measured.records.into_iter();
    let of_point = |planned: &Planned| records.by_ref().take(planned.point.metrics.len()).collect();
    Ok(Records { records: plan.iter().map(of_point).collect(), host })
}

/// Measures one point.
pub(super) fn point(call: &Call<'_>, want: Want) -> Result<Found, Stop> {
    let mut all = points(call, &[want])?.found;
    all.pop().ok_or_else(|| Stop::Unmeasured("nothing was measured".to_owned()))
}

/// How the points are measured.
fn request(call: &Call<'_>, points: usize, cap: Duration) -> Result<RunRequest, Stop> {
    let profile = if points > MANY_POINTS { Profile::Quick } else { Profile::Standard };
    let mut request = RunRequest::new(profile);
    let copies = call.copies()?;
    let (warm_up, rounds) = (call.warm_up()?, call.repetitions()?);
    request.parallel = if copies > 1 { vec![copies] } else { Vec::new() };
    request.warm_up = Some(warm_up / rounds.unwrap_or(DEFAULT_ROUNDS)).filter(|time| !time.is_zero());
    request.rounds = rounds;
    request.work_dir.clone_from(&call.work_dir);
    request.remote.clone_from(&call.remote);
    let points = points as u32;
    // With a number of rounds the work is given, and only the cap may cut it.
    let wanted = match rounds {
        Some(_) => cap,
        None => MIN_BUDGET.max((PER_POINT + warm_up) * points),
    };
    request.budget = Some(wanted.min(cap));
    Ok(request)
}
