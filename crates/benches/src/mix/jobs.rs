//! Several jobs started at once, as by a parallel make: the time until the last one is done.
//!
//! **Measures:** The makespan: the parent creates the jobs one after the other and waits for all. A
//! job computes in registers for a given time and exits. `ratio` is the makespan divided by the
//! ideal, in which the CPUs share the work without a gap and nothing else costs anything;
//! `slowdown` is how much longer each job took than alone, with its quantiles in the record.
//! Together they show what a CPU is worth when all are busy, how the scheduler handles more jobs
//! than CPUs, and what creating the jobs costs.
//!
//! **Does not measure:** Files or memory, which the jobs do not touch.
//!
//! **Method:** The length of the work is found in this process at this moment: a chain of dependent
//! additions is timed alone, the fastest of several probes counts, and a job does as many additions
//! as fill the given time. The probe is repeated at the end, and the change is stated. The
//! scheduler places the jobs. They are equal, or with `heavy` the n-th has an n-th of the work of
//! the first; then the longest job alone may bound the ideal. Every job leaves its result and its
//! time in shared memory, and the proof is that each did the whole chain.
//!
//! **Pitfalls:**
//! - lmbench `lat_pmake` takes the exit of its workers for the death of a helper process and never
//!   prints a value.
//! - Work calibrated at another clock speed has the wrong length.
//!
//! **Sources:** lmbench3 `lat_pmake`. See docs/methods/operating-system.md#mixes.

use crate::work::addition_ns;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{self, chain_ops};
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::topology::Topology;
use groma_harness::sys::{fork, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Makespan of several jobs that compute, started at once",
        about: about!("jobs.rs"),
        iteration: "all jobs created, run and waited for",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN,
            Output::named("ratio", "makespan against the ideal").quantity(Quantity::Ratio),
            Output::named("slowdown", "time of each job against the same job alone").quantity(Quantity::Ratio),
        ],
        params: &[
            Param::count("jobs", "number of jobs; auto: as many as CPUs, or as the quota of the control group allows")
                .or_auto(Auto::Cpus)
                .quick(&["auto"])
                .full(&["1", "2", "4", "8", "16", "32"]),
            Param::count("work_us", "microseconds of work in a job (the mean, if jobs differ)")
                .quick(&["1000"])
                .full(&["100", "10000"]),
            Param::word("kind", "what a job is", &["process", "thread"]).quick(&["process"]),
            Param::word("work", "equal jobs, or a few jobs with most of the work", &["equal", "heavy"])
                .quick(&["equal"]),
        ],
        scaling: Scaling::alone("it fills the CPUs by itself"),
        placements: &[Placement::Free],
        interference: Interference::Tasks,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("mix.jobs")
    },
    run: Run::Here(run),
};

/// The most jobs: enough for every CPU of a large machine, few enough for the limits of most users.
const MAX_JOBS: u64 = 1024;
/// Additions of the smallest job: one pass through the unrolled chain.
const MIN_ADDITIONS: u64 = arch::CHAIN_UNROLL;
/// Stack size of a job that is a thread: it makes no calls.
const STACK: usize = 128 << 10;

/// The work of each job, in units of the mean job.
fn parts(jobs: usize, heavy: bool) -> Vec<f64> {
    if !heavy {
        return vec![1.0; jobs];
    }
    let mut parts: Vec<f64> = (1..=jobs).map(|i| 1.0 / i as f64).collect();
    let total: f64 = parts.iter().sum();
    parts.iter_mut().for_each(|part| *part *= jobs as f64 / total);
    parts
}

/// The jobs: how many additions each is given, how many it has done, and how long the last ones
/// took.
struct Slots {
    additions: Vec<u64>,
    results: Shared<AtomicU64>,
}

impl Slots {
    fn work(&self, job: usize) {
        let additions = self.additions[job];
        let from = Monotonic.now_ns();
        arch::add_chain(additions);
        self.results[2 * job + 1].store(Monotonic.now_ns() - from, SeqCst);
        self.results[2 * job].fetch_add(chain_ops(additions), SeqCst);
    }

    fn done(&self, job: usize) -> u64 {
        self.results[2 * job].load(SeqCst)
    }

    fn took_ns(&self, job: usize) -> u64 {
        self.results[2 * job + 1].load(SeqCst)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (jobs, work_us) = (ctx.int("jobs"), ctx.int("work_us"));
    if jobs > MAX_JOBS {
        return Err(BenchError::Unsupported(format!("no more than {MAX_JOBS} jobs")));
    }
    let cpus = Topology::read().usable().len().max(1) as f64;
    let before = addition_ns();
    let parts = parts(jobs as usize, ctx.word("work") == "heavy");
    let additions: Vec<u64> =
        parts.iter().map(|part| ((part * work_us as f64 * 1e3 / before) as u64).max(MIN_ADDITIONS)).collect();
    let alone: Vec<f64> = additions.iter().map(|n| chain_ops(*n) as f64 * before).collect();
    let longest = alone.iter().copied().fold(0.0, f64::max);
    // The least that any scheduler can achieve. It may move jobs, so five equal ones on four CPUs
    // do not take two whole turns.
    let ideal = longest.max(alone.iter().sum::<f64>() / cpus);
    let jobs = additions.len();
    let slots = Arc::new(Slots { additions, results: Shared::new(2 * jobs).context("sharing memory")? });
    let threads = ctx.word("kind") == "thread";
    let of_jobs = Arc::clone(&slots);
    let work = move |job: usize| of_jobs.work(job);

    let (mut ratios, mut slowdowns) = (Vec::new(), Vec::new());
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            watch.start();
            let from = watch.now_ns();
            if threads {
                as_threads(jobs, &work)?
            } else {
                as_processes(jobs, &work)?
            }
            let took = watch.now_ns().saturating_sub(from);
            watch.stop();
            ratios.push(took as f64 / ideal);
            slowdowns.extend(alone.iter().enumerate().map(|(job, alone)| slots.took_ns(job) as f64 / alone));
        }
        Ok(())
    })?;
    let done: u64 = (0..jobs).map(|job| slots.done(job)).sum();
    let wanted = slots.additions.iter().map(|n| chain_ops(*n)).sum::<u64>() * ctx.iterations();
    ctx.prove("additions done, of those given out", "exactly 1", done as f64 / wanted as f64, 1.0..=1.0);
    ctx.fact("work.alone_ns", longest);
    ctx.fact("work.ideal_ns", ideal);
    ctx.fact("work.clock_after", addition_ns() / before);
    ratios.into_iter().for_each(|ratio| ctx.state_as("ratio", ratio));
    slowdowns.into_iter().for_each(|slowdown| ctx.state_as("slowdown", slowdown));
    Ok(())
}

fn as_processes(jobs: usize, work: &impl Fn(usize)) -> Outcome {
    let mut children = Vec::with_capacity(jobs);
    for job in 0..jobs {
        let child = fork::fork(|| {
            work(job);
            0
        });
        children.push(child.map_err(|e| too_many(&e))?);
    }
    for child in children {
        let exit = child.wait().context("waiting for a job")?;
        if !exit.success() {
            return Err(BenchError::Failed(format!("a job {exit}")));
        }
    }
    Ok(())
}

fn as_threads(jobs: usize, work: &(impl Fn(usize) + Clone + Send + 'static)) -> Outcome {
    let mut threads = Vec::with_capacity(jobs);
    let mut refused = None;
    for job in 0..jobs {
        let work = work.clone();
        match thread::spawn(STACK, move || work(job)) {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                refused = Some(too_many(&e));
                break;
            }
        }
    }
    for thread in threads {
        thread.join().map_err(|_| BenchError::Failed("a job panicked".to_owned()))?;
    }
    refused.map_or(Ok(()), Err)
}

/// The error for a job that could not be created.
fn too_many(error: &std::io::Error) -> BenchError {
    BenchError::no_task("making a job", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_job_does_all_of_its_work() {
        for (kind, work) in [("process", "equal"), ("thread", "equal"), ("process", "heavy")] {
            let chosen = [("jobs", "3"), ("work_us", "200"), ("kind", kind), ("work", work)];
            let tried = try_out(&BENCH, &chosen, None).expect("jobs");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("additions done, of those given out"), 1.0);
            let values = |name| tried.result.series(name).expect("stated").values.clone();
            assert_eq!(values("ratio").len() as u64, tried.iterations);
            assert_eq!(values("slowdown").len() as u64, 3 * tried.iterations);
        }
    }

    /// Each job stays until all have begun.
    #[test]
    fn all_jobs_run_at_once() {
        const JOBS: usize = 3;
        const PATIENCE_NS: u64 = 10_000_000_000;
        // How many have begun, and how many have waited in vain.
        let counts: Arc<Shared<AtomicU64>> = Arc::new(Shared::new(2).expect("memory"));
        let of_jobs = Arc::clone(&counts);
        let meet = move |_: usize| {
            of_jobs[0].fetch_add(1, SeqCst);
            let since = Monotonic.now_ns();
            while of_jobs[0].load(SeqCst) < JOBS as u64 {
                if Monotonic.now_ns() - since > PATIENCE_NS {
                    of_jobs[1].fetch_add(1, SeqCst);
                    return;
                }
                std::thread::yield_now();
            }
        };
        for threads in [false, true] {
            counts[0].store(0, SeqCst);
            let done = if threads { as_threads(JOBS, &meet) } else { as_processes(JOBS, &meet) };
            assert_eq!(done, Ok(()));
            assert_eq!([0, 1].map(|i: usize| counts[i].load(SeqCst)), [JOBS as u64, 0], "threads: {threads}");
        }
    }

    /// The work of a job is as long as was asked for, alone; beside others it lies within the
    /// makespan, and that within the time of the sample.
    #[test]
    fn times_are_told_of_what_they_are_compared_with() {
        for (work, shares) in [("equal", [1.0, 1.0, 1.0]), ("heavy", [1.0, 0.5, 1.0 / 3.0])] {
            let chosen = [("jobs", "3"), ("work_us", "200"), ("work", work)];
            let tried = try_out(&BENCH, &chosen, None).expect("jobs");
            let fact = |key: &str| tried.result.fact(key).and_then(|text| text.parse::<f64>().ok()).expect("stated");
            let (alone, ideal) = (fact("work.alone_ns"), fact("work.ideal_ns"));
            let mean = alone * shares.iter().sum::<f64>() / 3.0;
            assert!((mean / 200e3 - 1.0).abs() < 0.01, "{work}: {mean} ns");
            let values = |name| tried.result.series(name).expect("stated").values.clone();
            let makespans: Vec<f64> = values("ratio").iter().map(|ratio| ratio * ideal).collect();
            for (makespan, slowdowns) in makespans.iter().zip(values("slowdown").chunks(3)) {
                for (slowdown, share) in slowdowns.iter().zip(shares) {
                    let took = slowdown * share * alone;
                    assert!(took > 0.0 && took < 1.01 * makespan, "{work}: {took} ns of {makespan}");
                }
            }
            // The last ones are of the samples.
            let samples = tried.result.series("").expect("samples").samples.iter().rev();
            let parts: Vec<f64> = samples.zip(makespans.iter().rev()).map(|(s, m)| m / s.elapsed_ns as f64).collect();
            assert!(parts.iter().all(|part| *part < 1.000_001) && parts.iter().any(|part| *part > 0.9), "{parts:?}");
        }
    }

    #[test]
    fn the_heavy_job_has_as_much_as_many_of_the_light_ones() {
        for jobs in [2, 5, 16, 1024] {
            let parts = parts(jobs, true);
            assert!((parts.iter().sum::<f64>() - jobs as f64).abs() < 1e-9);
            assert!((parts[0] / parts[jobs - 1] - jobs as f64).abs() < 1e-9, "{parts:?}");
            assert!(parts.windows(2).all(|w| w[0] > w[1]));
        }
        assert_eq!(parts(1, true), [1.0]);
        assert_eq!(parts(4, false), [1.0; 4]);
    }

    #[test]
    fn too_many_are_refused() {
        assert!(matches!(try_out(&BENCH, &[("jobs", "5000")], None), Err(BenchError::Unsupported(_))));
    }

    #[test]
    fn one_job_cannot_be_done_in_less_than_its_own_time() {
        let tried = try_out(&BENCH, &[("jobs", "1"), ("work_us", "200")], None).expect("a job");
        let fact = |key: &str| tried.result.fact(key).map(str::to_owned).expect("stated");
        assert_eq!(fact("work.ideal_ns"), fact("work.alone_ns"));
    }

    #[test]
    fn equal_jobs_are_done_best_by_all_cpus_at_once() {
        let tried = try_out(&BENCH, &[("jobs", "16"), ("work_us", "100")], None).expect("jobs");
        let fact = |key: &str| tried.result.fact(key).and_then(|text| text.parse::<f64>().ok()).expect("stated");
        let cpus = Topology::read().usable().len().max(1) as f64;
        let expected = fact("work.alone_ns") * (16.0 / cpus).max(1.0);
        assert!((fact("work.ideal_ns") / expected - 1.0).abs() < 1e-9, "{} {expected}", fact("work.ideal_ns"));
    }
}
