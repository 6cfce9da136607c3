//! What benchmarks are credited with: units, and work.
//!
//! Every benchmark of the catalogue is run for a moment, each round in a process of its own:
//!
//! 1. as it is, with the parameters of `units.txt`: what its iterations hold and what its outputs
//!    are made of has to be what is written there (`units.rs`), and all of its proofs hold;
//!    together with the next point's, they are those of `proofs.txt` (`proofs.rs`);
//! 2. as it is, with each word and the small numbers of each parameter in turn (`values.rs`): all
//!    of its proofs hold, each series has samples, and the work directory is empty afterwards;
//! 3. mutilated: its loops are made to do half of what they are credited with, nothing, or twice as
//!    much. Every time a proof has to break. A benchmark that ends well without having worked has
//!    proofs that prove nothing.
//!
//! `cargo test --test credit -- vm.fault` tries those whose id contains that, and tells which
//! proofs broke.

mod proofs;
mod trial;
mod units;
mod values;

use groma_harness::model::State;
use groma_harness::testing::Mutilation;
use std::process::ExitCode;
use trial::{Seen, Trial, try_patiently};

/// Loops whose work leaves nothing behind that could be counted: what is proven is what the kernel
/// of the loop was told to do, by the number that it returns. That these kernels do so many is
/// tested beside them (`crates/sys/tests`), against references.
const TOLD: &[(&str, &str)] = &[
    ("clock.loop", "an empty loop"),
    ("cpu.call", "calls of empty functions"),
    ("cpu.operation", "registers of which every round begins anew; 256 turns are compared with the reference"),
    (
        "cpu.store_forward",
        "of some kinds the value stays the same from the second step on; the rest is compared in the end",
    ),
    ("cpu.split", "of stores the last one is left"),
    ("mem.numa", "streams read, and written with the same word again and again"),
    ("mem.bandwidth", "the same; that no part was left out is looked at in what was written"),
    ("mem.mix", "the same"),
    ("mem.flush", "lines that were dropped or written back hold what they held"),
];

/// The mutilations of all loops of a benchmark.
const ALL_LOOPS: [Mutilation; 3] = [Mutilation::Halved, Mutilation::Idle, Mutilation::Doubled];

#[expect(clippy::too_many_lines, reason = "what cargo asks of a test program, then each trial in order")]
fn main() -> ExitCode {
    trial::serve();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let filter = args.iter().find(|arg| !arg.starts_with('-')).cloned().unwrap_or_default();
    // The benchmarks of this family fail on purpose, each in its way.
    let mut catalogue = groma_benches::all();
    catalogue.retain(|bench| bench.info.family() != "selftest");

    let mut table = units::table();
    let mut wrong = units::differences(&table, &catalogue);
    for (id, why) in TOLD {
        if !table.iter().any(|unit| unit.id == *id) {
            wrong.push(format!("{id}: excused ('{why}') and not in the catalogue"));
        }
    }
    table.retain(|unit| unit.id.contains(&filter));

    let cases: Vec<_> = table.iter().flat_map(|unit| unit.cases.iter().map(move |case| (unit.id, case))).collect();
    let stated: Vec<_> = table.iter().filter_map(|unit| Some((unit.id, unit.stated?))).collect();
    let as_they_are: Vec<Trial> =
        cases.iter().map(|(id, case)| case.trial(id)).chain(stated.iter().map(|(id, _)| Trial::of(id))).collect();
    let seen =
        try_patiently(&as_they_are, |seen| seen.result.state == State::Failed || seen.result.output.is_unresolved());
    for (((id, case), trial), seen) in cases.iter().zip(&as_they_are).zip(&seen) {
        wrong.extend(units::differs(case, seen).map(|what| format!("{id} {:?}: {what}", trial.params)));
    }
    let valued = values::trials(&catalogue, &table);
    let of_values = values::try_values(&valued);
    wrong.extend(valued.iter().zip(&of_values).filter_map(|(trial, seen)| values::fails(trial, seen)));

    let tried: Vec<(&Trial, &Seen)> = as_they_are.iter().zip(&seen).chain(valued.iter().zip(&of_values)).collect();
    wrong.extend(proofs::differences(&tried));

    // Where one benchmark has huge pages, those that are asked for them have them, too.
    let runs_as = |seen: &Seen| seen.result.state == State::Ok;
    let there_are = as_they_are.iter().zip(&seen).any(|(trial, seen)| trial.id == "vm.fault_huge" && runs_as(seen));
    for (trial, seen) in as_they_are.iter().zip(&seen) {
        if there_are && trial.params.iter().any(|param| param == "pages=huge") && !runs_as(seen) {
            wrong.push(format!("{} {:?}: {}", trial.id, trial.params, seen.result.reason));
        }
    }
    for ((id, proof), seen) in stated.iter().zip(&seen[cases.len()..]) {
        wrong.extend(states_wrongly(seen, proof).map(|what| format!("{id}: {what}")));
    }

    // With the first parameters, where they can be had here.
    let first = |unit: &units::Unit| as_they_are.iter().position(|trial| trial.id == unit.id);
    let runs = |unit: &units::Unit| first(unit).is_some_and(|i| seen[i].result.state == State::Ok);
    let mut mutilated = Vec::new();
    let mut not_here = Vec::new();
    for unit in &table {
        if !runs(unit) {
            not_here.push(unit.id);
            continue;
        }
        let trial =
            |m| Trial { mutilation: Some(m), ..unit.cases.first().map_or(Trial::of(unit.id), |c| c.trial(unit.id)) };
        match unit.cases.first() {
            Some(case) => {
                mutilated.extend(ALL_LOOPS.map(|m| trial((m, None))));
                if case.loops() > 1 {
                    mutilated.extend((0..case.loops()).map(|i| trial((Mutilation::Halved, Some(i)))));
                }
            }
            // Those that search by probes; the others have no loop that the harness runs.
            None if first(unit).is_some_and(|i| seen[i].iterations > 0) => {
                mutilated.extend(ALL_LOOPS.map(|m| trial((m, None))));
            }
            None => {}
        }
    }
    // One that ended well will do: it is wrong.
    let broken = try_patiently(&mutilated, |seen| {
        (seen.result.state != State::Ok || seen.gave_way()) && !seen.proof_broke() && !seen.panicked()
    });
    for (trial, seen) in mutilated.iter().zip(&broken) {
        let what = trial.mutilation.map_or(String::new(), |(m, only)| match only {
            None => format!("{m:?}"),
            Some(i) => format!("{m:?}, loop {i} only"),
        });
        if !filter.is_empty() {
            println!("{} {what}: {:?} {}", trial.id, seen.broken(), seen.result.reason);
        }
        // Twice the most that a loop can do at a time may be more than it has room for.
        let too_many = matches!(trial.mutilation, Some((Mutilation::Doubled, _))) && seen.panicked();
        if !seen.proof_broke() && !too_many && !seen.gave_way() {
            let state = seen.result.state.word();
            wrong.push(format!("{} {what}: no proof broke; it ended '{state}' {}", trial.id, seen.result.reason));
        }
    }
    println!(
        "{} benchmarks: {} rounds as they are, {} with each value, {} mutilated; not here: {not_here:?}",
        table.len(),
        as_they_are.len(),
        valued.len(),
        mutilated.len()
    );
    println!("values that this machine does not offer: {:?}", values::not_here(&valued, &of_values));
    for what in &wrong {
        eprintln!("{what}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is wrong with a round of a benchmark that states its values.
fn states_wrongly(seen: &Seen, proof: &str) -> Option<String> {
    let result = &seen.result;
    match result.state {
        State::Unsupported | State::Denied => None,
        State::Ok if result.output.series.iter().any(|s| !s.samples.is_empty()) => {
            Some("it is in units.txt as one that states its values, and has samples".to_owned())
        }
        // Its probes break by themselves.
        State::Ok if proof == "probe" && seen.iterations > 0 => None,
        // Why it has none, which must be so.
        State::Ok if proof.starts_with("none: ") && result.output.proofs.is_empty() => None,
        State::Ok if result.output.proofs.iter().any(|p| p.name == proof) => None,
        // Without a value there is nothing to prove: a busy sibling thread can hide the clock for
        // minutes.
        State::Ok if result.output.is_unresolved() && result.output.series.is_empty() => None,
        State::Ok => Some(format!("it has no proof '{proof}' but {:?}", result.output.proofs)),
        state => Some(format!("{}: {}", state.word(), result.reason)),
    }
}
