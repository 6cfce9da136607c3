//! One round of a benchmark in this process, from the check of its needs to its result.

use crate::benchmark::{Benchmark, Run};
use crate::ctx::Ctx;
use crate::error::{BenchError, Outcome};
use crate::instruments::Real;
use crate::model::{Fact, Job, OF_PROCESS, OF_WORKER, Placement, RoundOutput, RoundResult, State};
use crate::sampler::Samples;
use crate::sys::facts::process_facts;
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
        affinity::pin(cpu)
            .map_err(|e| BenchError::from_io(&format!("pinning to CPU {cpu} (sched_setaffinity)"), &e))?;
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
    // Asked at the end of each round: a tracer may be attached at any time.
    let of_worker = |(key, value): (String, String)| Fact::new(key.replacen(OF_PROCESS, OF_WORKER, 1), value);
    output.facts.extend(process_facts().into_iter().map(of_worker));
    if let Some((resident, _)) = counters::resident() {
        output.facts.push(Fact::new("worker.resident", resident));
    }
    RoundResult { output, ..RoundResult::ended(state, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Proof, Remark, Series, WorkerKind};
    use crate::testing::{job, stating};

    fn proof(name: &str, holds: bool) -> Proof {
        Proof { name: name.to_owned(), expected: "7".to_owned(), seen: 6.5, holds }
    }

    fn ended(output: RoundOutput) -> (State, String) {
        let result = into_result(output);
        (result.state, result.reason)
    }

    #[test]
    fn a_round_without_a_value_or_with_a_broken_proof_has_failed() {
        let none = RoundOutput::default;
        let stated = || RoundOutput { series: vec![Series::stated("", vec![1.0])], ..none() };
        let well = (State::Ok, String::new());
        assert_eq!(ended(stated()), well);
        assert_eq!(ended(none()), (State::Failed, "took no samples".to_owned()));
        // A series without a sample is none.
        let bare = RoundOutput { series: vec![Series::default()], ..none() };
        assert_eq!(ended(bare), (State::Failed, "took no samples".to_owned()));
        // What says something else need not have a value.
        assert_eq!(ended(RoundOutput { facts: vec![Fact::new("a", 1)], ..none() }), well);
        let open = Remark::Unresolved { output: String::new(), reason: "nobody answered".to_owned() };
        assert_eq!(ended(RoundOutput { remarks: vec![open], ..none() }), well);
        // The first broken proof is reported, whatever was measured.
        let proofs = vec![proof("a", true), proof("b", false), proof("c", false)];
        let broken = (State::Failed, "proof broken: b is 6.5, not 7".to_owned());
        assert_eq!(ended(RoundOutput { proofs, ..stated() }), broken);
        assert_eq!(ended(RoundOutput { proofs: vec![proof("a", true)], ..stated() }), well);
    }

    #[test]
    fn a_result_has_the_number_of_threads_and_the_memory_of_the_worker() {
        let fact = |key| into_result(RoundOutput::default()).output.fact(key).and_then(|n| n.parse::<u64>().ok());
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        // Other tests come and go, and take their memory with them.
        assert!(fact("worker.threads").is_some_and(|n| (1..100_000).contains(&n)), "no threads");
        let Some(resident) = resident.and_then(|kib| kib.parse::<u64>().ok()) else { return };
        let told = fact("worker.resident").expect("it is known");
        assert!(told > resident * 1024 / 64 && told < resident * 1024 * 64, "{told} B, not about {resident} KiB");
    }

    /// The CPUs that a fresh thread may use before a round, and those seen by the benchmark within
    /// it.
    fn placed(placement: Placement, cpus: &[u32]) -> (Vec<u32>, Vec<u32>) {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let bench = stating(|ctx| {
                    let cpus = affinity::allowed()?;
                    cpus.iter().for_each(|&cpu| ctx.state_as("cpu", f64::from(cpu)));
                    Ok(())
                });
                let before = affinity::allowed().expect("known");
                let job = Job { placement, cpus: cpus.to_vec(), ..job(&bench, &[], None, 1, WorkerKind::Processes) };
                let samples = perform(&bench, &job).expect("it runs");
                let seen = samples.output.series.iter().flat_map(|series| &series.values).map(|&cpu| cpu as u32);
                (before, seen.collect())
            });
            asked.join().expect("it ends")
        })
    }

    #[test]
    fn a_worker_alone_is_on_the_first_cpu_of_its_job() {
        let allowed = affinity::allowed().expect("known");
        for &cpu in [allowed[0], allowed[allowed.len() - 1]].iter() {
            assert_eq!(placed(Placement::Pinned, &[cpu, allowed[0]]).1, [cpu]);
        }
        // A job that leaves it open: on one CPU, and anywhere where it is not to be pinned.
        let (before, open) = placed(Placement::Pinned, &[]);
        assert!(open.len() == 1 && before.contains(&open[0]), "{open:?} of {before:?}");
        let (before, free) = placed(Placement::Free, &[]);
        assert_eq!(free, before);
    }

    #[test]
    fn an_unsupported_benchmark_gives_a_reason() {
        let bench = Benchmark { info: crate::model::Info::new("test.absent"), run: Run::NotHere("not on this planet") };
        let job = job(&bench, &[], None, 1, WorkerKind::Processes);
        let why = BenchError::Unsupported("not on this planet".to_owned());
        assert_eq!(perform(&bench, &job).err(), Some(why.clone()));
        assert_eq!(perform_unchecked(&bench, &job).err(), Some(why));
    }
}
