//! Every word and the small numbers of every parameter, each tried once: proofs hold with every
//! value.
//!
//! The sides of a two-sided benchmark are placed on one CPU, where their context switches are
//! proven too. The other parameters are those of the benchmark's first case in `units.txt`, whose
//! sizes are small, or the usual ones.

use crate::trial::{Outcome, Trial, bench, try_with_retries};
use crate::units::Unit;
use groma_harness::model::{Param, ParamKind, Placement, State, Tier, Value};

/// Parameters whose other values take seconds to a minute: trees of 15 MB are copied and compiled.
const LONG_PARAMS: [(&str, &str); 1] = [("mix.andrew", "tree")];
/// Parameters of benchmarks without a case in `units.txt` whose usual values take seconds, or much
/// memory.
const SHORT_VALUES: [(&str, &[&str]); 2] =
    [("mem.hammer_run", &["pages=64", "loops=33"]), ("mem.loaded_latency", &["level=l3"])];
/// The largest size in bytes that counts as small.
const SMALL_SIZE: u64 = 64 << 10;
/// The largest time in nanoseconds that counts as small.
const SMALL_TIME_NS: u64 = 1_000_000;
/// The largest count that counts as small.
const SMALL_COUNT: u64 = 100;

/// A trial for each word and for the least and the greatest of the small numbers that no case of
/// `units.txt` has.
pub(crate) fn trials(units: &[Unit]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for unit in units {
        let info = &bench(unit.id).info;
        let cases: Vec<Trial> = unit.trials().into_iter().map(|(trial, _)| trial).collect();
        let one_cpu = info.placements.contains(&Placement::SameCpu);
        let mut base = Trial { one_cpu, ..unit.base() };
        if let Some((_, params)) = SHORT_VALUES.iter().find(|(id, _)| *id == unit.id) {
            base.params = params.iter().map(|param| (*param).to_owned()).collect();
        }
        trials.extend(one_cpu.then(|| base.clone()));
        for param in info.params.iter().filter(|param| !LONG_PARAMS.contains(&(unit.id, param.name))) {
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

/// The values of a parameter to try. The usual one is left out: other rounds have it.
fn values(param: &Param) -> Vec<&'static str> {
    let mut values = match param.kind {
        ParamKind::Word(words) => words.to_vec(),
        ParamKind::Text => Vec::new(),
        kind => {
            let most = match kind {
                ParamKind::Time => SMALL_TIME_NS,
                kind if kind.is_size() => SMALL_SIZE,
                _ => SMALL_COUNT,
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

/// Runs the trials. Those that small sizes make impossible (a call longer than its buffer) run
/// again with the usual values of the other parameters.
pub(crate) fn try_values(trials: &[Trial]) -> Vec<Outcome> {
    let mut seen = try_with_retries(trials, |seen| seen.result.state == State::Failed);
    let refused: Vec<usize> = (0..seen.len()).filter(|i| seen[*i].result.state == State::Unsupported).collect();
    let usual = |i: &usize| {
        let chosen = trials[*i].params.last().cloned();
        Trial { params: chosen.into_iter().collect(), ..trials[*i].clone() }
    };
    let again: Vec<Trial> = refused.iter().map(usual).collect();
    let again = try_with_retries(&again, |seen| seen.result.state == State::Failed);
    for (i, again) in refused.into_iter().zip(again) {
        seen[i] = again;
    }
    seen
}

/// Why a round is wrong.
pub(crate) fn fails(trial: &Trial, seen: &Outcome) -> Option<String> {
    let result = &seen.result;
    let why = match result.state {
        State::Ok => return None,
        State::Unsupported | State::Denied if !result.reason.is_empty() => return None,
        State::Unsupported | State::Denied => "no reason",
        _ => &result.reason,
    };
    Some(format!("{} {:?}: {}: {why}", trial.id, trial.params, result.state.word()))
}

/// The values that need something that this machine lacks.
pub(crate) fn not_here(trials: &[Trial], seen: &[Outcome]) -> Vec<String> {
    let missing = |seen: &Outcome| matches!(seen.result.state, State::Unsupported | State::Denied);
    let missing = trials.iter().zip(seen).filter(|(_, seen)| missing(seen));
    missing.map(|(trial, _)| format!("{} {}", trial.id, trial.params.last().map_or("", String::as_str))).collect()
}
