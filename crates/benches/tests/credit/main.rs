//! Whether what is credited was done: units, proofs and work.
//!
//! Every benchmark of the catalogue runs for a moment, each round in its own process:
//!
//! 1. unchanged, with the parameters of `units.txt`: its iterations hold what is written there, its
//!    outputs are those written there (`units.rs`), and all of its proofs hold;
//! 2. unchanged, with each word and the small numbers of each parameter in turn (`values.rs`): all
//!    of its proofs hold, each series has samples, and the work directory is empty afterwards. Of
//!    these rounds and those before, the proofs and facts are those that rules demand (`rules.rs`)
//!    and those of `proofs.txt` (`proofs.rs`);
//! 3. mutilated: its loops do half of what they are credited with, nothing, or twice as much. Each
//!    time a proof has to break. A benchmark that ends well without having worked proves nothing.
//!
//! Some loops leave nothing that could be counted: those of `clock.loop`, `cpu.call`, `mem.numa`
//! and `mem.bandwidth`, for example, run registers or read. They prove the number that their kernel
//! returns, and `crates/sys/tests` compares these kernels with references.
//!
//! `cargo test --test credit -- vm.fault` tries those whose id contains that, and prints the proofs
//! that broke.

mod proofs;
mod rules;
mod trial;
mod units;
mod values;

use groma_harness::model::State;
use groma_harness::testing::Mutilation;
use std::process::ExitCode;
use trial::{Outcome, Trial, try_with_retries};
use units::{Case, Iterations, Unit};

/// The mutilations of all loops of a benchmark.
const ALL_LOOPS: [Mutilation; 3] = [Mutilation::Halved, Mutilation::Idle, Mutilation::Doubled];
/// How often the unchanged rounds run before `proofs.txt` is rewritten, to see what is not proven
/// or told each time.
const PASSES_OF_UPDATE: usize = 3;

/// The unchanged rounds of one pass.
struct Pass<'a> {
    cases: Vec<(&'a Unit, Option<&'a Case>)>,
    trials: Vec<Trial>,
    outcomes: Vec<Outcome>,
    value_trials: Vec<Trial>,
    value_outcomes: Vec<Outcome>,
}

impl Pass<'_> {
    fn run(units: &[Unit]) -> Pass<'_> {
        let (mut cases, mut trials) = (Vec::new(), Vec::new());
        for unit in units {
            for (trial, case) in unit.trials() {
                cases.push((unit, case));
                trials.push(trial);
            }
        }
        let outcomes =
            try_with_retries(&trials, |seen| seen.result.state == State::Failed || seen.result.output.is_unresolved());
        let value_trials = values::trials(units);
        let value_outcomes = values::try_values(&value_trials);
        Pass { cases, trials, outcomes, value_trials, value_outcomes }
    }

    fn rounds(&self) -> impl Iterator<Item = (&Trial, &Outcome)> {
        self.trials.iter().zip(&self.outcomes).chain(self.value_trials.iter().zip(&self.value_outcomes))
    }

    /// The first round of a benchmark.
    fn first(&self, unit: &Unit) -> &Outcome {
        let first = self.trials.iter().position(|trial| trial.id == unit.id);
        &self.outcomes[first.expect("every benchmark has a round")]
    }

    /// What is wrong with its rounds, each by itself.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let ok = |outcome: &Outcome| outcome.result.state == State::Ok;
        let rounds = || self.trials.iter().zip(&self.outcomes);
        // Where one benchmark gets huge pages, so does every other that asks for them.
        let has_huge_pages = rounds().any(|(trial, outcome)| trial.id == "vm.fault_huge" && ok(outcome));
        for ((unit, case), (trial, outcome)) in self.cases.iter().zip(rounds()) {
            let what = match (case, &unit.iterations) {
                (None, Iterations::Stated(proof)) => units::states_wrongly(outcome, proof),
                (case, _) => case.and_then(|case| case.differs(outcome)),
            };
            wrong.extend(what.map(|what| format!("{} {:?}: {what}", trial.id, trial.params)));
            if has_huge_pages && trial.params.iter().any(|param| param == "pages=huge") && !ok(outcome) {
                wrong.push(format!("{} {:?}: {}", trial.id, trial.params, outcome.result.reason));
            }
        }
        let values = self.value_trials.iter().zip(&self.value_outcomes);
        wrong.extend(values.filter_map(|(trial, outcome)| values::fails(trial, outcome)));
        wrong
    }
}

/// The mutilations of a benchmark, with the parameters of its first round.
fn mutilations(unit: &Unit, first: &Outcome) -> Vec<Trial> {
    let loops = unit.cases().first().map(Case::loops);
    let mut all: Vec<(Mutilation, Option<usize>)> = Vec::new();
    // A benchmark that states its values has no loop that the harness runs, unless it has probes.
    if loops.is_some() || first.iterations > 0 {
        all.extend(ALL_LOOPS.map(|m| (m, None)));
    }
    if let Some(loops @ 2..) = loops {
        all.extend((0..loops).map(|i| (Mutilation::Halved, Some(i))));
    }
    all.into_iter().map(|m| Trial { mutilation: Some(m), ..unit.base() }).collect()
}

/// Runs mutilated benchmarks; returns those without a broken proof.
fn run_mutilated(trials: &[Trial], verbose: bool) -> Vec<String> {
    // A round that ends well is not tried again: no proof broke.
    let outcomes = try_with_retries(trials, |seen| {
        (seen.result.state != State::Ok || seen.gave_way()) && !seen.proof_broke() && !seen.has_panicked()
    });
    let mut wrong = Vec::new();
    for (trial, seen) in trials.iter().zip(&outcomes) {
        let what = trial.mutilation.map_or(String::new(), |(m, only)| match only {
            None => format!("{m:?}"),
            Some(i) => format!("{m:?}, loop {i} only"),
        });
        if verbose {
            println!("{} {what}: {:?} {}", trial.id, seen.broken_proofs(), seen.result.reason);
        }
        // Twice the most that a loop can do at a time may be more than it has room for.
        let too_many = matches!(trial.mutilation, Some((Mutilation::Doubled, _))) && seen.has_panicked();
        if !seen.proof_broke() && !too_many && !seen.gave_way() {
            let state = seen.result.state.word();
            wrong.push(format!("{} {what}: no proof broke; it ended '{state}' {}", trial.id, seen.result.reason));
        }
    }
    wrong
}

fn main() -> ExitCode {
    trial::serve();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let filter = args.iter().find(|arg| !arg.starts_with('-')).cloned().unwrap_or_default();
    let mut catalogue = groma_benches::all();
    // The benchmarks of this family fail on purpose.
    catalogue.retain(|bench| bench.info.family() != "selftest");
    let (mut units, mut wrong) = units::table(&catalogue);
    units.retain(|unit| unit.id.contains(&filter));

    let passes = if proofs::is_update() { PASSES_OF_UPDATE } else { 1 };
    let passes: Vec<Pass> = (0..passes).map(|_| Pass::run(&units)).collect();
    let pass = &passes[0];
    wrong.extend(pass.wrong());
    let rounds: Vec<(&Trial, &Outcome)> = passes.iter().flat_map(Pass::rounds).collect();
    wrong.extend(proofs::differences(&units, &rounds));

    let (here, not_here): (Vec<&Unit>, Vec<&Unit>) =
        units.iter().partition(|unit| pass.first(unit).result.state == State::Ok);
    let mutilated: Vec<Trial> = here.iter().flat_map(|unit| mutilations(unit, pass.first(unit))).collect();
    wrong.extend(run_mutilated(&mutilated, !filter.is_empty()));
    println!(
        "{} benchmarks: {} rounds unchanged, {} with each value, {} mutilated; not here: {:?}",
        units.len(),
        pass.trials.len(),
        pass.value_trials.len(),
        mutilated.len(),
        not_here.iter().map(|unit| unit.id).collect::<Vec<_>>()
    );
    let missing = values::not_here(&pass.value_trials, &pass.value_outcomes);
    println!("values that this machine does not offer: {missing:?}");
    for what in &wrong {
        eprintln!("{what}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
