//! One round in one fresh process: reads the job, runs the benchmark, says what happened.
//!
//! The process is single-threaded and small when it starts (the supervisor re-executes its own
//! program and this is called before anything else), dies with its supervisor, and is ended by it
//! at its deadline. What a benchmark prints goes to standard error; the results leave through a
//! descriptor that it cannot see.

use crate::benchmark::Benchmark;
use crate::ctx::Ctx;
use crate::error::{BenchError, panic_text};
use crate::model::{Info, Job, Phase, Remark, RoundResult, State};
use crate::round::{into_result, perform};
use crate::sampler::Samples;
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::{fork, io as sysio, process, signals, sigsys};
use crate::{preflight, protocol};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The argument with which the program starts itself as a worker.
pub const ARGUMENT: &str = "__worker";

/// The longest job that is read, in bytes; the supervisor writes none as long.
const LONGEST_JOB: u64 = 1 << 20;

/// Runs the round that standard input asks for and exits.
///
/// Exit code 0 whatever the result says; 2 when there is no readable job: a person called it by
/// hand.
pub fn main(benchmarks: &[&Benchmark]) -> ! {
    fork::enforce_one_thread();
    take_defaults();
    // Where memory runs out, the kernel ends a worker and not the supervisor, which has the rounds.
    // Where there is no /proc, or it cannot be written, the kernel chooses.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST_JOB).read_to_string(&mut text);
    let job = read.map_err(|e| e.to_string()).and_then(|_| protocol::read_job(&text));
    let (parent, job) = match job {
        Ok(job) => job,
        Err(why) => {
            eprintln!("groma: {ARGUMENT} is for groma's own use, and its standard input is not a job: {why}");
            fork::exit_now(2);
        }
    };
    // The supervisor has ended: nobody reads the result.
    if process::die_with_parent(expected_parent(parent)).is_err() {
        fork::exit_now(1);
    }
    let out = match take_stdout() {
        Ok(out) => out,
        Err(e) => {
            eprintln!("groma: a worker cannot keep its standard output: {e}");
            fork::exit_now(1);
        }
    };
    let result = round(benchmarks, &job);
    let text = protocol::write_result(&result);
    // The supervisor may be gone; then the worker goes as well.
    let _ = sysio::write_full(out.as_fd(), text.as_bytes());
    fork::exit_now(0)
}

/// Runs the round of a job in a fork of a program with a `main` of its own, and exits; the result
/// goes to `out`. Signals, standard streams and everything else are as the program left them.
pub fn forked(benchmarks: &[&Benchmark], job: &Job, out: &OwnedFd) -> ! {
    fork::enforce_one_thread();
    let result = round(benchmarks, job);
    let _ = sysio::write_full(out.as_fd(), protocol::write_result(&result).as_bytes());
    fork::exit_now(0)
}

/// Takes back what a worker or a session inherited. An ignored SIGCHLD would make the kernel reap
/// our children, and waiting for them fail; files without rights for their owner could not be
/// executed.
pub(crate) fn take_defaults() {
    /// The usual mask of the rights of new files.
    const RIGHTS: u32 = 0o022;
    signals::take_defaults();
    process::mask_rights(RIGHTS);
}

/// The process id that the parent must have. Behind a command, any parent is accepted.
fn expected_parent(told: i32) -> i32 {
    if told == protocol::BEHIND_A_COMMAND { process::parent_id() } else { told }
}

/// Keeps standard output for the results and lets everything that is printed go to standard error.
fn take_stdout() -> std::io::Result<OwnedFd> {
    let out = sysio::duplicate(1)?;
    sysio::redirect(std::io::stderr().as_fd(), 1)?;
    Ok(out)
}

fn round(benchmarks: &[&Benchmark], job: &Job) -> RoundResult {
    Monotonic::choose();
    if let Err(e) = process::adopt_orphans() {
        eprintln!("groma: orphans cannot be adopted: {e}");
    }
    let begun = Monotonic.now_ns();
    let outcome = catch_unwind(AssertUnwindSafe(|| attempt(benchmarks, job)));
    let spent = Monotonic.now_ns().saturating_sub(begun);
    let mut result = match outcome {
        Ok(Ok(samples)) => into_result(samples.output),
        Ok(Err(stop)) => {
            let state = match stop {
                BenchError::Unsupported(_) => State::Unsupported,
                BenchError::Denied(_) => State::Denied,
                BenchError::Failed(_) => State::Failed,
            };
            RoundResult::ended(state, stop.to_string())
        }
        Err(panic) => RoundResult::ended(State::Failed, format!("panicked: {}", panic_text(&*panic))),
    };
    let missing = sigsys::calls();
    if !missing.is_empty() {
        let calls = missing.join(", ");
        result.output.remarks.push(Remark::Note(format!("a filter refused system calls with SIGSYS: {calls}")));
    }
    result.pid = process::id() as u32;
    let phases = &mut result.output.phases;
    phases.add(Phase::SetUp, spent.saturating_sub(phases.total()));
    if let Some(left) = reap_descendants() {
        result.output.remarks.push(left);
    }
    result
}

/// What the benchmark left running has this long to end once it is killed. What then still does not
/// is the supervisor's.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ends and reaps whatever the benchmark left running; a remark when there was anything.
fn reap_descendants() -> Option<Remark> {
    let strays = process::end_descendants(PATIENCE, |_| false);
    (strays != process::Strays::default()).then_some(Remark::LeftProcesses {
        ended: strays.ended,
        running: strays.running,
        remaining: strays.left,
    })
}

fn attempt(benchmarks: &[&Benchmark], job: &Job) -> Result<Samples, BenchError> {
    if job.id == preflight::ID {
        static INFO: Info = Info::new(preflight::ID);
        let mut ctx = Ctx::new(job, &INFO, None);
        preflight::run(&mut ctx, &job.cpus, job.params.get(preflight::END_OF_CACHES).is_some())?;
        return Ok(Samples { output: ctx.output, ..Samples::default() });
    }
    let bench = benchmarks
        .iter()
        .find(|b| b.info.id == job.id)
        .ok_or_else(|| BenchError::Failed(format!("there is no benchmark '{}'", job.id)))?;
    perform(bench, job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WorkerKind;
    use crate::testing::{job, stating};

    #[test]
    fn the_parent_is_the_one_of_the_job_or_the_command_in_front() {
        let somebody_else = process::parent_id() + 1;
        assert_eq!(expected_parent(somebody_else), somebody_else);
        assert_eq!(expected_parent(protocol::BEHIND_A_COMMAND), process::parent_id());
    }

    /// Each says which it is.
    #[test]
    fn a_worker_runs_the_benchmark_of_its_job_and_no_other() {
        let named = |id, run: fn(&mut Ctx<'_>) -> crate::error::Outcome| {
            let mut bench = stating(run);
            bench.info.id = id;
            bench
        };
        let one = named("test.one", |ctx| {
            ctx.state(1.0);
            Ok(())
        });
        let two = named("test.two", |ctx| {
            ctx.state(2.0);
            Ok(())
        });
        let of = |bench| job(bench, &[], None, 1, WorkerKind::Processes);
        for (bench, value) in [(&one, 1.0), (&two, 2.0)] {
            let samples = attempt(&[&one, &two], &of(bench)).expect("it runs");
            assert_eq!(samples.output.series[0].values, [value]);
        }
        let stop = attempt(&[&one], &of(&two)).err();
        assert_eq!(stop, Some(BenchError::Failed("there is no benchmark 'test.two'".to_owned())));
    }
}
