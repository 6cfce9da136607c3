//! Every word of every parameter, tried once: proofs hold whatever a benchmark is asked for.
//!
//! The other parameters are those of the benchmark's first case in `units.txt`, whose sizes are
//! small, or the usual ones.

use crate::trial::{Seen, Trial};
use crate::units::Unit;
use groma_harness::Benchmark;
use groma_harness::model::{ParamKind, State};

/// A trial for each word that the cases of `units.txt` do not try.
pub(crate) fn trials(catalogue: &[&'static Benchmark], table: &[Unit]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for unit in table {
        let Some(bench) = catalogue.iter().find(|bench| bench.info.id == unit.id) else { continue };
        let cases: Vec<Trial> = unit.cases.iter().map(|case| case.trial(unit.id)).collect();
        let base = cases.first().cloned().unwrap_or_else(|| Trial::of(unit.id));
        for param in bench.info.params {
            let ParamKind::Word(words) = param.kind else { continue };
            for word in words.iter().filter(|word| **word != param.usual().unwrap_or_default()) {
                let chosen = format!("{}={word}", param.name);
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

/// Why a round is wrong.
pub(crate) fn fails(trial: &Trial, seen: &Seen) -> Option<String> {
    let Seen { result, .. } = seen;
    let why = match result.state {
        State::Ok => return None,
        State::Unsupported | State::Denied if !result.reason.is_empty() => return None,
        State::Unsupported | State::Denied => "no reason",
        _ => &result.reason,
    };
    Some(format!("{} {:?}: {}: {why}", trial.id, trial.params, result.state.word()))
}

/// The trials whose words need something that this machine has not.
pub(crate) fn not_here(trials: &[Trial], seen: &[Seen]) -> Vec<String> {
    let missing = |seen: &Seen| matches!(seen.result.state, State::Unsupported | State::Denied);
    let missing = trials.iter().zip(seen).filter(|(_, seen)| missing(seen));
    missing.map(|(trial, _)| format!("{} {}", trial.id, trial.params.last().map_or("", String::as_str))).collect()
}
