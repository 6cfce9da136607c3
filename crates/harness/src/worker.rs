//! One round in one fresh process: reads the job, runs the benchmark, says what happened.
//!
//! The process is single-threaded and small when it starts (the supervisor re-executes its own program and this is called
//! before anything else), dies with its supervisor, and is ended by it at its deadline. What a benchmark prints goes to
//! standard error; the results leave through a descriptor that it cannot see.

use crate::benchmark::{BenchError, Benchmark, Run};
use crate::ctx::Ctx;
use crate::instruments::Real;
use crate::model::{Fact, Info, Job, Params, Placement, Remark, RoundOutput, RoundResult, State};
use crate::sampler::Samples;
use crate::sys::clock::Monotonic;
use crate::sys::{affinity, counters, fork, io as sysio, process, signals, thread};
use crate::{needs, preflight, protocol, worker_group};
use std::any::Any;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The argument with which the program starts itself as a worker.
pub const ARGUMENT: &str = "__worker";

/// The longest job that is read; anything longer is no job of ours.
const LONGEST_JOB: u64 = 1 << 20;

/// Runs the round that standard input asks for and exits.
///
/// Exit code 0 whatever the result says; 2 when there is no readable job: a person called it by hand.
pub fn main(benchmarks: &[&Benchmark]) -> ! {
    fork::enforce_one_thread();
    // Whoever started us may ignore SIGCHLD; children would then be reaped by nobody and waited for in vain.
    signals::keep_children();
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST_JOB).read_to_string(&mut text);
    let job = read.map_err(|e| e.to_string()).and_then(|_| protocol::read_job(&text));
    let (parent, job) = match job {
        Ok(job) => job,
        Err(why) => {
            eprintln!("groma: {ARGUMENT} is for groma's own use, and its standard input is no job: {why}");
            fork::exit_now(2);
        }
    };
    // An orphan has nobody to tell.
    if process::die_with_parent(parent).is_err() {
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

/// Keeps standard output for the results and lets everything that is printed go to standard error.
fn take_stdout() -> std::io::Result<OwnedFd> {
    let out = sysio::duplicate(1)?;
    sysio::redirect(std::io::stderr().as_fd(), 1)?;
    Ok(out)
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

fn round(benchmarks: &[&Benchmark], job: &Job) -> RoundResult {
    Monotonic::choose();
    if let Err(e) = process::adopt_orphans() {
        eprintln!("groma: orphans cannot be adopted: {e}");
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| attempt(benchmarks, job)));
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
    result.pid = process::id() as u32;
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
        preflight::run(&mut ctx)?;
        return Ok(Samples { output: ctx.output, ..Samples::default() });
    }
    let bench = benchmarks
        .iter()
        .find(|b| b.info.id == job.id)
        .ok_or_else(|| BenchError::Failed(format!("there is no benchmark '{}'", job.id)))?;
    perform(bench, job)
}

/// Runs the benchmark as the job says; the calling thread stays pinned where the placement wants it.
pub(crate) fn perform(bench: &Benchmark, job: &Job) -> Result<Samples, BenchError> {
    if let Run::NotHere(why) = bench.run {
        return Err(BenchError::Unsupported(why.to_owned()));
    }
    needs::check(&bench.info, job)?;
    perform_unchecked(bench, job)
}

/// The same without a look at what this machine has.
pub(crate) fn perform_unchecked(bench: &Benchmark, job: &Job) -> Result<Samples, BenchError> {
    let run = match bench.run {
        Run::Here(run) => run,
        Run::NotHere(why) => return Err(BenchError::Unsupported(why.to_owned())),
    };
    if job.workers > 1 {
        return worker_group::run(&Real, bench, job);
    }
    let cpu = match (job.cpus.first(), &job.placement) {
        (Some(&cpu), _) => Some(cpu),
        // Alone and pinned: where the scheduler has just put us, which is where it found room.
        (None, Placement::Pinned | Placement::Remote) => Some(counters::current_cpu()),
        (None, _) => None,
    };
    if let Some(cpu) = cpu {
        affinity::pin(cpu).map_err(|e| BenchError::from_io(&format!("pinning to CPU {cpu}"), &e))?;
    }
    let mut ctx = Ctx::new(job, &bench.info, None);
    run(&mut ctx)?;
    Ok(ctx.conclude(&Real))
}

/// What a round brought becomes a result: no samples is a failure, and so is a broken proof.
pub(crate) fn into_result(mut output: RoundOutput) -> RoundResult {
    let broken = output.proofs.iter().find(|p| !p.holds);
    let empty = output.series.iter().all(|s| s.samples.is_empty() && s.values.is_empty());
    // What could not be told has no value and says why: that is no failure of the round.
    let unresolved = output.remarks.iter().any(|remark| matches!(remark, Remark::Unresolved { .. }));
    let (state, reason) = match broken {
        Some(p) => (State::Failed, format!("proof broken: {} is {}, not {}", p.name, p.seen, p.expected)),
        None if empty && output.facts.is_empty() && !unresolved => (State::Failed, "took no samples".to_owned()),
        None => (State::Ok, String::new()),
    };
    output.facts.push(Fact::new("worker.threads", thread::count()));
    if let Some((resident, _)) = counters::resident() {
        output.facts.push(Fact::new("worker.resident", resident));
    }
    RoundResult { output, ..RoundResult::ended(state, reason) }
}

/// The parameters of a job as a benchmark's author types them in a test.
pub(crate) fn params(info: &Info, chosen: &[(&str, &str)]) -> Params {
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
