//! Runs a benchmark once, briefly, inside a test: for counts, identities and proofs, never for
//! times.
//!
//! The same code as in a worker, but in the test's own process, on its thread; `fork` is allowed
//! there although the test runner has threads, so closures given to it must be as careful as in C.

use crate::benchmark::{Benchmark, Run};
use crate::clock_properties::{self, ClockFacts};
use crate::ctx::Ctx;
use crate::error::{BenchError, Outcome};
use crate::model::{Host, Info, Job, Params, Placement, Proof, RoundResult, RunFile, State, Timing, WorkerKind};
use crate::mutation::MUTILATED;
pub use crate::mutation::Mutilation;
use crate::sampler::Samples;
use crate::sys::affinity;
use crate::sys::clock::Monotonic;
use crate::{needs, round};
use std::cell::OnceCell;
use std::ops::Bound;
use std::path::Path;

/// What a benchmark did in a test.
#[derive(Debug)]
pub struct Tried {
    /// The result as a worker would have reported it.
    pub result: RoundResult,
    /// Iterations that the measured loops have run, warm-up included.
    pub iterations: u64,
    /// What the benchmark's own proofs allow, which are the first of the result.
    pub allowed: Vec<(Bound<f64>, Bound<f64>)>,
}

impl Tried {
    /// What was seen for a proof.
    ///
    /// # Panics
    /// When there is no such proof, or it does not hold.
    pub fn proven(&self, name: &str) -> f64 {
        let proof = self.proof(name);
        assert!(proof.holds, "{name}: expected {}, saw {}", proof.expected, proof.seen);
        proof.seen
    }

    /// What a proof says, whether it holds or not.
    ///
    /// # Panics
    /// When there is no such proof.
    pub fn proof(&self, name: &str) -> &Proof {
        let proofs = &self.result.output.proofs;
        proofs.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no proof '{name}' among {proofs:?}"))
    }

    /// Which of the proofs hold whose names begin so, in the order in which they were made; of all
    /// with an empty one.
    pub fn proofs_held(&self, beginning: &str) -> Vec<bool> {
        let proofs = self.result.output.proofs.iter().filter(|p| p.name.starts_with(beginning));
        proofs.map(|p| p.holds).collect()
    }

    /// The first value that was stated for a series.
    pub fn stated(&self, series: &str) -> Option<f64> {
        self.result.series(series)?.values.first().copied()
    }

    /// Whether a remark holds this text.
    pub fn has_remark(&self, text: &str) -> bool {
        self.result.output.remarks.iter().any(|remark| remark.to_string().contains(text))
    }

    /// Why the output of that name has no value, where the round says so.
    pub fn unresolved(&self, output: &str) -> Option<String> {
        self.result.output.unresolved(output).map(|remark| remark.to_string())
    }

    /// How many samples a series has.
    pub fn samples(&self, series: &str) -> usize {
        self.result.series(series).map_or(0, |s| s.samples.len())
    }

    /// The least time of one iteration among the samples of a series, in nanoseconds: what others
    /// at work have held up least.
    ///
    /// # Panics
    /// When there is no such series.
    pub fn least_ns(&self, series: &str) -> f64 {
        let series = self.result.series(series).unwrap_or_else(|| panic!("no series '{series}'"));
        series.samples.iter().map(|s| s.elapsed_ns as f64 / s.iters as f64).fold(f64::INFINITY, f64::min)
    }
}

/// A benchmark that states its values, for tests of a part of one.
pub fn stating(run: fn(&mut Ctx<'_>) -> Outcome) -> Benchmark {
    Benchmark { info: Info { timing: Timing::Stated, ..Info::new("test.stated") }, run: Run::Here(run) }
}

/// Runs a benchmark for a moment with these parameters (the others at their first default).
///
/// # Errors
/// Why it stopped: `Unsupported` where this machine cannot do it, `Failed` when a proof is broken
/// or there are no samples, as in a worker.
pub fn try_out(bench: &Benchmark, chosen: &[(&str, &str)], dir: Option<&Path>) -> Result<Tried, BenchError> {
    try_group(bench, chosen, dir, 1, WorkerKind::Processes)
}

/// As [`try_out`], with the file that the rounds of a run share.
///
/// # Errors
/// As [`try_out`].
pub fn try_with(
    bench: &Benchmark,
    chosen: &[(&str, &str)],
    dir: &Path,
    run_file: RunFile,
) -> Result<Tried, BenchError> {
    let job = Job { run_file: Some(run_file), ..job(bench, chosen, Some(dir), 1, WorkerKind::Processes) };
    well(|| whatever(bench, &job))
}

/// As [`try_out`], with a worker group of that size.
///
/// # Errors
/// As [`try_out`].
pub fn try_group(
    bench: &Benchmark,
    chosen: &[(&str, &str)],
    dir: Option<&Path>,
    workers: u32,
    worker_kind: WorkerKind,
) -> Result<Tried, BenchError> {
    well(|| whatever(bench, &job(bench, chosen, dir, workers, worker_kind)))
}

/// As [`try_out`], whatever becomes of it: for tests of what must fail, whose result says `failed`
/// and why.
///
/// # Errors
/// Why it stopped by itself.
pub fn try_failing(bench: &Benchmark, chosen: &[(&str, &str)], dir: Option<&Path>) -> Result<Tried, BenchError> {
    whatever(bench, &job(bench, chosen, dir, 1, WorkerKind::Processes))
}

/// As [`try_out`], placed on these CPUs; the calling thread is where it was before afterwards.
///
/// # Errors
/// As [`try_out`].
pub fn try_placed(
    bench: &Benchmark,
    chosen: &[(&str, &str)],
    dir: Option<&Path>,
    placement: Placement,
    cpus: &[u32],
) -> Result<Tried, BenchError> {
    let job = Job { placement, cpus: cpus.to_vec(), ..job(bench, chosen, dir, 1, WorkerKind::Processes) };
    well(|| run_placed(bench, &job))
}

/// As [`try_failing`], placed on these CPUs.
///
/// # Errors
/// As [`try_failing`].
pub fn try_failing_at(bench: &Benchmark, placement: Placement, cpus: &[u32]) -> Result<Tried, BenchError> {
    run_placed(bench, &Job { placement, cpus: cpus.to_vec(), ..job(bench, &[], None, 1, WorkerKind::Processes) })
}

/// As [`try_out`], without a look at what this machine has room for: what happens when a disk fills
/// up in the middle.
///
/// # Errors
/// As [`try_out`].
pub fn try_unchecked(bench: &Benchmark, chosen: &[(&str, &str)], dir: Option<&Path>) -> Result<Tried, BenchError> {
    let job = job(bench, chosen, dir, 1, WorkerKind::Processes);
    well(|| round::perform_unchecked(bench, &job).map(into_tried))
}

fn run_placed(bench: &Benchmark, job: &Job) -> Result<Tried, BenchError> {
    let before = affinity::allowed()?;
    let tried = whatever(bench, job);
    affinity::restrict(&before)?;
    tried
}

/// The result as a worker would report it.
fn whatever(bench: &Benchmark, job: &Job) -> Result<Tried, BenchError> {
    round::perform(bench, job).map(into_tried)
}

fn into_tried(samples: Samples) -> Tried {
    let Samples { output, iterations, allowed, .. } = samples;
    Tried { result: round::into_result(output), iterations, allowed }
}

/// Rounds that a test may fail before it does. A busy machine breaks a proof about time now and
/// then (two of 350 tests beside 24 busy tasks: a clock's rate to 50 ppm, the cycles of an
/// addition); code that is wrong breaks it each time.
const CHANCES: u32 = 5;

/// The first of some rounds that ends well, or how the last one ended.
fn well(mut round: impl FnMut() -> Result<Tried, BenchError>) -> Result<Tried, BenchError> {
    let mut left = CHANCES;
    loop {
        let tried = round()?;
        left -= 1;
        match tried.result.state {
            State::Ok => return Ok(tried),
            _ if left == 0 => return Err(BenchError::Failed(tried.result.reason)),
            _ => {}
        }
    }
}

/// Asserts that the ratio of two loops exceeds the limit in one of some rounds: others may slow one
/// loop and not the other.
///
/// # Panics
/// With the ratios that were seen, when none exceeds it.
pub fn assert_exceeds(limit: f64, mut ratio: impl FnMut() -> f64) {
    let mut seen = Vec::new();
    let exceeds = (0..CHANCES).any(|_| {
        seen.push(ratio());
        seen.last() > Some(&limit)
    });
    assert!(exceeds, "{seen:?} and not above {limit}");
}

/// Whether the sizes of these parameters fit into this machine, as a worker asks before it sets
/// anything up.
///
/// # Errors
/// `Unsupported`, as the worker says it.
pub fn check_sizes(
    bench: &Benchmark,
    chosen: &[(&str, &str)],
    dir: Option<&Path>,
    workers: u32,
) -> Result<(), BenchError> {
    needs::check_sizes(&bench.info, &job(bench, chosen, dir, workers, WorkerKind::Processes))
}

/// Bytes of memory and of files that a worker takes these parameters to need.
pub fn sizes(bench: &Benchmark, chosen: &[(&str, &str)], workers: u32) -> (u64, u64) {
    needs::sizes(&bench.info, &job(bench, chosen, None, workers, WorkerKind::Processes))
}

/// The job of a test: three intervals in a few milliseconds.
pub(crate) fn job(
    bench: &Benchmark,
    chosen: &[(&str, &str)],
    dir: Option<&Path>,
    workers: u32,
    worker_kind: WorkerKind,
) -> Job {
    Job {
        id: bench.info.id.to_owned(),
        params: params(&bench.info, chosen),
        workers,
        group: workers > 1,
        worker_kind,
        work_dir: dir.map(Path::to_owned),
        ..idle_job()
    }
}

thread_local! {
    /// What the jobs of a test assume. Polling the clock takes milliseconds: once for all jobs of a
    /// test. Each thread polls by itself, because a test may ask in a child that it forked: there,
    /// a static that another test was just setting would stay half set for ever.
    static HOST: OnceCell<Host> = const { OnceCell::new() };
}

fn host() -> Host {
    HOST.with(|host| *host.get_or_init(|| of_tests(clock_properties::assumed_host(&Monotonic))))
}

fn of_tests(host: Host) -> Host {
    Host { interval_ns: 50_000.0, ..host }
}

/// The step and the cost of the clock in nanoseconds, as the jobs of this test assume them.
pub fn clock() -> (f64, f64) {
    (host().clock_step_ns, host().clock_cost_ns)
}

/// Makes the jobs of this thread assume what [`clock`] returned elsewhere, instead of polling the
/// clock: for a test that starts hundreds of processes.
pub fn assume_clock(step_ns: f64, cost_ns: f64) {
    let facts = ClockFacts { step_ns, cost_ns, cost_p999_ns: cost_ns, backwards: 0 };
    HOST.with(|host| _ = host.set(of_tests(clock_properties::assumed_with(&facts))));
}

/// The job of a test, for no benchmark yet.
pub(crate) fn idle_job() -> Job {
    Job {
        id: String::new(),
        params: Params::default(),
        placement: Placement::Free,
        cpus: Vec::new(),
        workers: 1,
        group: false,
        worker_kind: WorkerKind::Processes,
        round: 0,
        seed: 1,
        intervals: 3,
        time_limit_ns: 20_000_000,
        wait_ns: 0,
        warm_ns: 100_000,
        frozen: Vec::new(),
        work_dir: None,
        run_file: None,
        remote: None,
        host: host(),
    }
}

/// As [`try_failing`], but the loops of the benchmark (`only` the one of that number) do not do
/// what they are credited with, as if their author had lost or doubled iterations. Whatever the
/// harness counts stays as it is, so that only evidence of the work itself can differ: a benchmark
/// that ends well here would report a wrong number as `ok`.
///
/// # Errors
/// As [`try_failing`].
#[doc(hidden)]
pub fn try_mutilated(
    bench: &Benchmark,
    chosen: &[(&str, &str)],
    dir: Option<&Path>,
    mutilation: Mutilation,
    only: Option<usize>,
) -> Result<Tried, BenchError> {
    MUTILATED.set(Some((mutilation, only)));
    let tried = try_failing(bench, chosen, dir);
    MUTILATED.set(None);
    tried
}

/// The parameters of a job as a benchmark's author types them in a test.
fn params(info: &Info, chosen: &[(&str, &str)]) -> Params {
    let values = info.params.iter().map(|param| {
        let typed = chosen.iter().find(|(name, _)| *name == param.name).map(|(_, v)| *v);
        let text = typed.or(param.usual()).unwrap_or_default();
        match param.parse(text) {
            Ok(value) => (param.name.to_owned(), value),
            Err(why) => panic!("{}: parameter {}: {why}", info.id, param.name),
        }
    });
    Params(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::Run;
    use crate::error::Outcome;
    use crate::model::Timing;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    static RUNS: AtomicU32 = AtomicU32::new(0);

    static WELL_FROM: AtomicU32 = AtomicU32::new(0);

    static BENCH: Benchmark = Benchmark {
        info: Info { timing: Timing::Stated, ..Info::new("test.chances") },
        run: Run::Here(|ctx| {
            let run = RUNS.fetch_add(1, SeqCst) + 1;
            ctx.state(1.0);
            ctx.prove("run", "late", f64::from(run), f64::from(WELL_FROM.load(SeqCst))..);
            Ok(())
        }),
    };

    /// A round that measured nothing and said why is not failed; one that said nothing is.
    #[test]
    fn an_unresolved_round_is_no_failure() {
        fn open(ctx: &mut crate::ctx::Ctx) -> Outcome {
            ctx.unresolved("", "nobody answered");
            Ok(())
        }
        let info = Info { timing: Timing::Stated, ..Info::new("test.open") };
        let bench = |run| Benchmark { info, run: Run::Here(run) };
        assert!(try_out(&bench(open), &[], None).is_ok());
        assert_eq!(
            try_out(&bench(|_| Ok(())), &[], None).err(),
            Some(BenchError::Failed("took no samples".to_owned()))
        );
    }

    #[test]
    fn proofs_must_hold_in_one_of_several_tries() {
        let tried = |well_from: u32| {
            RUNS.store(0, SeqCst);
            WELL_FROM.store(well_from, SeqCst);
            (try_out(&BENCH, &[], None).map(|_| ()), RUNS.load(SeqCst))
        };
        assert_eq!(tried(1), (Ok(()), 1));
        assert_eq!(tried(2), (Ok(()), 2));
        assert_eq!(tried(CHANCES), (Ok(()), CHANCES));
        let why = format!("proof broken: run is {CHANCES}, not late");
        assert_eq!(tried(CHANCES + 1), (Err(BenchError::Failed(why)), CHANCES));
        // What is to fail has one chance.
        RUNS.store(0, SeqCst);
        let failing = try_failing(&BENCH, &[], None).expect("it runs");
        assert_eq!((failing.result.state, RUNS.load(SeqCst)), (State::Failed, 1));
    }
}
