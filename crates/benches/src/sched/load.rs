//! Background load: busy tasks that never sleep, a given number per 100 CPUs.
//!
//! Unless a benchmark puts them on a CPU, the tasks are not pinned: as on a real system, the
//! scheduler moves them among the CPUs of the run. They are children that die with the worker,
//! however it ends, and they are ended and reaped when the load is dropped.

use super::cpus_of_the_run;
use groma_harness::prelude::*;
use groma_harness::sys::fork::Child;
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{affinity, sleep};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words between the counters of two tasks, so that no two share a cache line.
pub(crate) const STRIDE: usize = 16;
/// How long the last task may take to run for the first time.
const PATIENCE_NS: u64 = 5_000_000_000;
/// The interval between two checks whether all tasks run.
const LOOK_NS: u64 = 500_000;

/// What a task counts that may not become what it should.
const REFUSED: u64 = 1 << 63;

/// Whether each of so many tasks has counted.
fn are_at_work(turns: &[AtomicU64], tasks: usize) -> bool {
    turns.iter().step_by(STRIDE).take(tasks).all(|n| n.load(Relaxed) > 0)
}

/// Running busy tasks.
pub(super) struct Load {
    children: Vec<Child>,
    began_ns: u64,
}

impl Load {
    /// Starts `percent` busy tasks per 100 CPUs and waits until each has been seen to run.
    pub(super) fn start(ctx: &mut Ctx, percent: u64) -> Result<Load, BenchError> {
        let cpus = cpus_of_the_run()?;
        let tasks = (cpus.len() as u64 * percent).div_ceil(100) as usize;
        Load::on(ctx, &cpus, tasks, || Ok(()))
    }

    /// As [`Load::start`], so many tasks on these CPUs, each of which runs `prepare` first.
    pub(super) fn on(
        ctx: &mut Ctx,
        cpus: &[u32],
        tasks: usize,
        prepare: impl Fn() -> io::Result<()>,
    ) -> Result<Load, BenchError> {
        ctx.fact("load.tasks", tasks);
        let turns = Shared::<AtomicU64>::new(tasks * STRIDE).context("sharing counters with the load")?;
        let mut load = Load { children: Vec::with_capacity(tasks), began_ns: ctx.now_ns() };
        for i in 0..tasks {
            load.children.push(ctx.fork_peer(&[], || {
                let turns = &turns[i * STRIDE];
                if affinity::restrict(cpus).and_then(|()| prepare()).is_err() {
                    turns.store(REFUSED, Relaxed);
                    return 1;
                }
                loop {
                    turns.fetch_add(1, Relaxed);
                }
            })?);
        }
        while !are_at_work(&turns, tasks) {
            if ctx.now_ns() - load.began_ns > PATIENCE_NS {
                return Err(BenchError::Failed(format!("{tasks} busy tasks did not all get a CPU within 5 s")));
            }
            sleep::until(sleep::now_ns() + LOOK_NS).context("waiting for the load to begin")?;
        }
        if turns.iter().any(|n| n.load(Relaxed) >= REFUSED) {
            return Err(BenchError::Denied("busy tasks may not change their scheduling class here".to_owned()));
        }
        Ok(load)
    }

    /// Ends the load. States its CPU time as a fact and proves that all tasks ran to the end.
    /// Returns how often other tasks took the CPU from them.
    pub(super) fn stop(self, ctx: &mut Ctx) -> Result<u64, BenchError> {
        let tasks = self.children.len();
        let (mut busy_ns, mut ended, mut preempted) = (0, 0u32, 0);
        for child in self.children {
            let exit = child.stop().context("ending the load")?;
            // A task that had exited by itself would have an exit code instead.
            ended += u32::from(exit.signal().is_some());
            busy_ns += exit.usage.user_ns + exit.usage.system_ns;
            preempted += exit.usage.involuntary;
        }
        // While one task ends, another may have the CPU for its whole slice.
        let lived_ns = (ctx.now_ns() - self.began_ns).max(1);
        if tasks > 0 {
            ctx.fact("load.cpus", format!("{:.2}", busy_ns as f64 / lived_ns as f64));
            let all = tasks as f64;
            ctx.prove("busy tasks at work to the end", "all of them", f64::from(ended), all..=all);
        }
        Ok(preempted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::io::{pipe, read, write_full};
    use groma_harness::sys::{fork, process};
    use groma_harness::testing::try_out;
    use std::os::fd::AsFd;

    fn under_load(ctx: &mut Ctx) -> Outcome {
        let load = Load::start(ctx, 150)?;
        ctx.state(load.children.len() as f64);
        load.stop(ctx).map(drop)
    }

    static LOADED: Benchmark =
        Benchmark { info: Info { timing: Timing::Stated, ..Info::new("test.load") }, run: Run::Here(under_load) };

    fn under_a_little_load(ctx: &mut Ctx) -> Outcome {
        let load = Load::start(ctx, 1)?;
        ctx.state(load.children.len() as f64);
        load.stop(ctx).map(drop)
    }

    static HARDLY_LOADED: Benchmark = Benchmark {
        info: Info { timing: Timing::Stated, ..Info::new("test.little_load") },
        run: Run::Here(under_a_little_load),
    };

    #[test]
    fn the_load_is_there_when_the_last_task_has_run() {
        let turns: Vec<AtomicU64> = (0..3 * STRIDE).map(|_| AtomicU64::new(0)).collect();
        let has_run = |task: usize| {
            turns[task * STRIDE].store(1, Relaxed);
            are_at_work(&turns, 3)
        };
        assert_eq!([0, 2, 1].map(has_run), [false, false, true]);
    }

    #[test]
    fn a_load_of_less_than_a_task_is_one() {
        let tried = try_out(&HARDLY_LOADED, &[], None).expect("busy tasks");
        let cpus = cpus_of_the_run().expect("an affinity").len() as f64;
        assert_eq!(tried.proven("busy tasks at work to the end"), (cpus / 100.0).ceil());
    }

    #[test]
    fn there_are_as_many_as_asked_for_and_none_afterwards() {
        let tried = try_out(&LOADED, &[], None).expect("busy tasks");
        let tasks = tried.stated("").unwrap_or(0.0);
        let cpus = cpus_of_the_run().expect("an affinity").len() as f64;
        assert_eq!(tasks, (cpus * 1.5).ceil());
        assert_eq!(tried.proven("busy tasks at work to the end"), tasks);
    }

    /// A worker under load that then waits to be killed. The pipe ends when no process of it is
    /// left.
    fn hang_under_load(ctx: &mut Ctx) -> Outcome {
        let _load = Load::start(ctx, 100)?;
        loop {
            std::thread::park();
        }
    }

    static HANGS: Benchmark =
        Benchmark { info: Info { timing: Timing::Stated, ..Info::new("test.hang") }, run: Run::Here(hang_under_load) };

    #[test]
    fn a_killed_worker_leaves_no_load() {
        let (out, into) = pipe().expect("a pipe");
        // The load inherits copies of the pipe's end: the pipe ends with the last of them.
        let worker = fork::fork(|| {
            drop(write_full(into.as_fd(), b"1"));
            i32::from(try_out(&HANGS, &[], None).is_err())
        })
        .expect("fork");
        drop(into);
        let mut byte = [0];
        assert_eq!(read(out.as_fd(), &mut byte).expect("read"), 1);
        // Long enough for part of the load to exist, which is all that the test needs.
        let until = sleep::now_ns() + 300_000_000;
        sleep::until(until).expect("a sleep");
        process::kill(worker.pid());
        assert_eq!(worker.wait().expect("wait").signal(), Some(9));
        assert_eq!(read(out.as_fd(), &mut byte).expect("read"), 0);
    }

    fn pinned_beside_a_load(ctx: &mut Ctx) -> Outcome {
        let before = affinity::allowed()?;
        let cpus = cpus_of_the_run()?;
        affinity::pin(cpus[0])?;
        let load = Load::start(ctx, 100)?;
        let free = load.children.iter().filter(|child| affinity::allowed_to(child.pid()).is_ok_and(|may| may == cpus));
        ctx.state(free.count() as f64);
        affinity::restrict(&before)?;
        load.stop(ctx).map(drop)
    }

    static PINNED: Benchmark = Benchmark {
        info: Info { timing: Timing::Stated, ..Info::new("test.pinned_load") },
        run: Run::Here(pinned_beside_a_load),
    };

    /// Whoever starts the load may be pinned; the load is of all CPUs.
    #[test]
    fn busy_tasks_may_use_all_cpus() {
        let tried = try_out(&PINNED, &[], None).expect("busy tasks");
        let cpus = cpus_of_the_run().expect("an affinity").len();
        assert_eq!(tried.result.series("").map(|s| s.values.clone()), Some(vec![cpus as f64]));
    }
}
