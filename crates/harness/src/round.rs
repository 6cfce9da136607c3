//! One round of a benchmark in this process, from the check of its needs to its result.

use crate::benchmark::{Benchmark, Run};
use crate::ctx::Ctx;
use crate::error::{BenchError, Outcome};
use crate::instruments::Real;
use crate::model::{Fact, Job, Placement, RoundOutput, RoundResult, State};
use crate::sampler::Samples;
use crate::sys::{affinity, counters, thread};
use crate::{auto_size, needs, worker_group};

/// Runs the benchmark as the job says; the calling thread stays pinned where the placement wants
/// it.
pub(crate) fn perform(bench: &Benchmark, job: &Job) -> Result<Samples, BenchError> {
    if let Run::NotHere(why) = bench.run {
        return Err(BenchError::Unsupported(why.to_owned()));
    }
    let (job, facts) = auto_size::resolve(&bench.info, job)?;
    needs::check(&bench.info, &job)?;
    run_resolved(bench, &job, facts)
}

/// The same without a look at what this machine has.
pub(crate) fn perform_unchecked(bench: &Benchmark, job: &Job) -> Result<Samples, BenchError> {
    let (job, facts) = auto_size::resolve(&bench.info, job)?;
    run_resolved(bench, &job, facts)
}

/// Runs the benchmark; `facts` say which sizes `auto` became.
fn run_resolved(bench: &Benchmark, job: &Job, facts: Vec<Fact>) -> Result<Samples, BenchError> {
    let run = match bench.run {
        Run::Here(run) => run,
        Run::NotHere(why) => return Err(BenchError::Unsupported(why.to_owned())),
    };
    let mut samples = if job.group { worker_group::run(&Real, bench, job)? } else { run_alone(bench, job, run)? };
    samples.output.facts.extend(facts);
    Ok(samples)
}

fn run_alone(bench: &Benchmark, job: &Job, run: fn(&mut Ctx) -> Outcome) -> Result<Samples, BenchError> {
    let cpu = match (job.cpus.first(), &job.placement) {
        (Some(&cpu), _) => Some(cpu),
        // A job that leaves the CPU open (a test's): where the scheduler has just put us.
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
    let unresolved = output.is_unresolved();
    let (state, reason) = match broken {
        Some(p) => (State::Failed, format!("proof broken: {} is {}, not {}", p.name, p.seen, p.expected)),
        None if empty && output.facts.is_empty() && output.preflight.is_none() && !unresolved => {
            (State::Failed, "took no samples".to_owned())
        }
        None => (State::Ok, String::new()),
    };
    output.facts.push(Fact::new("worker.threads", thread::count()));
    if let Some((resident, _)) = counters::resident() {
        output.facts.push(Fact::new("worker.resident", resident));
    }
    RoundResult { output, ..RoundResult::ended(state, reason) }
}
