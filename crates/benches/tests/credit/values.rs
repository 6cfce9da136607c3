//! Every word and the small numbers of every parameter, each tried once: proofs hold whatever a
//! benchmark is asked for.
//!
//! Benchmarks with two sides are placed on one CPU, where their context switches are proven too.
//! The other parameters are those of the benchmark's first case in `units.txt`, whose sizes are
//! small, or the usual ones.

use crate::trial::{Seen, Trial, try_patiently};
use crate::units::Unit;
use groma_harness::Benchmark;
use groma_harness::model::{Param, ParamKind, Placement, State, Tier, Value};

/// Parameters whose other values take seconds to a minute: trees of 15 MB are copied and compiled.
const LONG: &[(&str, &str)] = &[("mix.andrew", "tree")];
/// The parameters of benchmarks whose usual ones take seconds and that have no case in `units.txt`.
const SHORT: &[(&str, &[&str])] = &[("mem.hammer_run", &["pages=64", "loops=33"])];
/// Sizes in bytes up to this are small, and counts up to [`FEW`].
const SMALL: u64 = 64 << 10;
/// Times in nanoseconds up to this are short.
const BRIEF: u64 = 1_000_000;
/// Counts up to this are small.
const FEW: u64 = 100;

/// A trial for each word and for the least and the greatest of the small numbers, where the cases
/// of `units.txt` do not try it.
pub(crate) fn trials(catalogue: &[&'static Benchmark], table: &[Unit]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for unit in table {
        let Some(bench) = catalogue.iter().find(|bench| bench.info.id == unit.id) else { continue };
        let cases: Vec<Trial> = unit.cases.iter().map(|case| case.trial(unit.id)).collect();
        let short = SHORT.iter().find(|(id, _)| *id == unit.id).map_or(&[][..], |(_, params)| params);
        let stated = Trial { params: short.iter().map(|param| (*param).to_owned()).collect(), ..Trial::of(unit.id) };
        let one_cpu = bench.info.placements.contains(&Placement::SameCpu);
        let base = Trial { one_cpu, ..cases.first().cloned().unwrap_or(stated) };
        trials.extend(one_cpu.then(|| base.clone()));
        for param in bench.info.params.iter().filter(|param| !LONG.contains(&(unit.id, param.name))) {
            for text in values(param) {
                let chosen = format!("{}={text}", param.name);
                if cases.iter().any(|case| case.params.contains(&chosen)) {
                    continue;
                }
                let mut trial = base.clone();
                trial.params.retain(|other| !other.starts_with(&format!("{}=", param.name)));
                trial.params.push(chosen);
                trials.push(trial);
            }
        }
    }
    trials
}

/// The values of a parameter that are tried, but for the usual one, which `units.txt` has.
fn values(param: &Param) -> Vec<&'static str> {
    let mut values = match param.kind {
        ParamKind::Word(words) => words.to_vec(),
        ParamKind::Text => Vec::new(),
        kind => {
            let most = match kind {
                ParamKind::Time => BRIEF,
                kind if kind.is_size() => SMALL,
                _ => FEW,
            };
            let mut values = param.values(Tier::Full);
            values.retain(|text| matches!(param.parse(text), Ok(Value::Int(n)) if n <= most));
            let mut values = match values[..] {
                [least, .., greatest] => vec![least, greatest],
                _ => values,
            };
            if let ParamKind::SizeOr(words) = kind {
                values.extend(words);
            }
            values
        }
    };
    values.retain(|text| Some(*text) != param.usual());
    values
}

/// Tries them; what the small sizes forbid (a call longer than its buffer) once more with the usual
/// ones.
pub(crate) fn try_values(trials: &[Trial]) -> Vec<Seen> {
    let mut seen = try_patiently(trials, |seen| seen.result.state == State::Failed);
    let refused: Vec<usize> = (0..seen.len()).filter(|i| seen[*i].result.state == State::Unsupported).collect();
    let usual = |i: &usize| {
        let chosen = trials[*i].params.last().cloned();
        Trial { params: chosen.into_iter().collect(), ..trials[*i].clone() }
    };
    let again: Vec<Trial> = refused.iter().map(usual).collect();
    let again = try_patiently(&again, |seen| seen.result.state == State::Failed);
    for (i, again) in refused.into_iter().zip(again) {
        seen[i] = again;
    }
    seen
}

/// Why a round is wrong.
pub(crate) fn fails(trial: &Trial, seen: &Seen) -> Option<String> {
    let result = &seen.result;
    let why = match result.state {
        State::Ok => return None,
        State::Unsupported | State::Denied if !result.reason.is_empty() => return None,
        State::Unsupported | State::Denied => "no reason",
        _ => &result.reason,
    };
    Some(format!("{} {:?}: {}: {why}", trial.id, trial.params, result.state.word()))
}

/// The values that need something that this machine has not.
pub(crate) fn not_here(trials: &[Trial], seen: &[Seen]) -> Vec<String> {
    let missing = |seen: &Seen| matches!(seen.result.state, State::Unsupported | State::Denied);
    let missing = trials.iter().zip(seen).filter(|(_, seen)| missing(seen));
    missing.map(|(trial, _)| format!("{} {}", trial.id, trial.params.last().map_or("", String::as_str))).collect()
}
