//! `groma compare`: runs side by side.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::{Gate, identity};
use groma_harness::model::Record;
use groma_report::{self as report, Compared, Relative};
use groma_runner::select::names_metric;

use super::sides::{Runs, all_of, beside};
use super::{existing_store, print, style};
use crate::flags::CompareArgs;
use crate::message::name;
use crate::program::Program;

/// Compares runs.
pub(crate) fn compare(program: &Program, args: &CompareArgs) -> Result<u8> {
    let relative = match args.relative.as_deref() {
        None => Relative::Absolute,
        Some("cycles") => Relative::Cycles,
        Some(metric) => Relative::Metric(metric),
    };
    let is_selected = |id: &str| {
        let selected = args.select.is_empty() || args.select.iter().any(|select| names_metric(select, id));
        selected || relative == Relative::Metric(id)
    };
    let mut sides: Vec<Runs> = words(args)?
        .iter()
        .map(|words| Runs::load(&args.store, words, args.all, is_selected))
        .collect::<Result<_>>()?;
    let in_turns = |a: &Runs, b: &Runs| relative == Relative::Absolute && a.is_in_turns_with(b);
    let (first, rest) = sides.split_first_mut().context("there is no run to compare")?;
    // The newest run of a side is what the others tell of. Rounds in turns need no others, and two
    // files of streams no store.
    let newest = first.head().run.clone();
    let ids: Vec<String> = rest.iter().flat_map(|side| side.runs.clone()).chain([newest]).collect();
    let known = match existing_store(&args.store).ok() {
        store if !rest.iter().all(|side| in_turns(first, side)) => first.others(store.as_ref(), &ids),
        _ => HashMap::new(),
    };
    let absolute: HashMap<String, f64> =
        first.records.iter().filter_map(|record| Some((identity(record), record.value?))).collect();
    first.relative(relative)?;
    rest.iter_mut().try_for_each(|side| side.relative(relative))?;
    let earlier = |record: &Record| {
        let key = identity(record);
        // In the unit that values are compared in.
        let scale = record.value.zip(absolute.get(&key)).map_or(1.0, |(now, then)| now / then);
        known.get(&key).into_iter().flatten().map(|value| value * scale).collect()
    };
    let (first, rest) = (&*first, &*rest);
    let compared = |side| {
        let in_turns = in_turns(first, side);
        let sides = [first, side].map(|side| (&side.newest, &side.records[..]));
        let comparison = beside(sides, in_turns, &earlier);
        Compared { side: side.side(), differences: differences(first.head(), side.head()), comparison, in_turns }
    };
    let others: Vec<Compared<'_>> = rest.iter().map(compared).collect();
    if let Some(other) = others.iter().find(|other| other.comparison.pairs.is_empty()) {
        bail!(
            "runs {} and {} have no metric with a value in common ({} show --states RUN)",
            first.head().run,
            other.side.head.run,
            name()
        );
    }
    print(&report::compare(program.known_families(), first.side(), &others, relative, args.format, &style(args.all)))?;
    Ok(gate(&others, args.gate))
}

/// Something became slower.
const REGRESSION: u8 = 1;
/// Inconclusive.
pub(super) const TOO_NOISY: u8 = 3;

/// The exit code of a gate.
pub(super) fn exit_code(gate: Gate) -> u8 {
    match gate {
        Gate::Passes => 0,
        Gate::Fails => REGRESSION,
        Gate::Unclear => TOO_NOISY,
    }
}

/// The exit code of a comparison, where one is asked for; `tolerated` is in percent.
fn gate(others: &[Compared<'_>], tolerated: Option<f64>) -> u8 {
    let Some(percent) = tolerated else { return 0 };
    let gates: Vec<Gate> = others.iter().map(|other| other.comparison.gate(percent / 100.0)).collect();
    let worst = [Gate::Fails, Gate::Unclear].into_iter().find(|gate| gates.contains(gate));
    exit_code(worst.unwrap_or(Gate::Passes))
}

/// What was typed for each side, and the runs that it names.
fn words(args: &CompareArgs) -> Result<Vec<(String, Vec<String>)>> {
    if !args.a.is_empty() {
        let sides = [&args.a, &args.b].into_iter();
        return sides.map(|words| Ok((words.join(","), all_of(&args.store, words)?))).collect();
    }
    let typed: Vec<&str> = match &args.runs[..] {
        [] => vec!["latest~1", "latest"],
        [one] => vec![one, "latest"],
        several => several.iter().map(String::as_str).collect(),
    };
    Ok(typed.into_iter().map(|run| (run.to_owned(), vec![run.to_owned()])).collect())
}
