//! `groma compare`: runs side by side.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::{Context, Result, anyhow, bail};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::relative::{Base, NoBase};
use groma_analysis::compare::{Gate, Pair, Unlike, Verdict, identity};
use groma_analysis::point::family;
use groma_harness::model::Record;
use groma_report::units::Scale;
use groma_report::{self as report, Compared, Relative};
use groma_runner::select::names_metric;

use super::sides::{Runs, all_of, beside, defined_anew};
use super::{existing_store, print, style, typical};
use crate::flags::CompareArgs;
use crate::message::name;
use crate::program::Program;

/// Compares runs.
pub(crate) fn compare(program: &Program, args: &CompareArgs) -> Result<u8> {
    if args.with.is_some() {
        return typical::typical(program, args);
    }
    let base = base(args)?;
    let is_asked = |id: &str| args.select.is_empty() || args.select.iter().any(|select| names_metric(select, id));
    let is_loaded = |id: &str| is_asked(id) || base.as_ref().is_some_and(|base| base.id() == id);
    let words = words(args)?;
    let load = |words| Runs::load(&args.store, words, args.all, is_loaded);
    let mut sides: Vec<Runs> = words.iter().map(load).collect::<Result<_>>()?;
    each_run_once(args, &sides)?;
    each_selects(args, &words, &sides)?;
    let scaled = args.relative.is_some();
    let in_turns = |a: &Runs, b: &Runs| !scaled && a.is_in_turns_with(b);
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
    let of = base.as_ref().map(|base| scale_to(base, args, &mut sides)).transpose()?;
    if scaled && of.is_none() {
        sides.iter_mut().for_each(|side| side.scale(None));
    }
    sides.iter_mut().for_each(|side| side.keep(is_asked));
    let relative = match &of {
        Some(of) => Relative::Metric(of),
        None if scaled => Relative::Cycles,
        None => Relative::Absolute,
    };
    let earlier = |record: &Record| {
        let key = identity(record);
        // In the unit that values are compared in.
        let scale = record.value.zip(absolute.get(&key)).map_or(1.0, |(now, then)| now / then);
        known.get(&key).into_iter().flatten().map(|value| value * scale).collect()
    };
    let (first, rest) = sides.split_first().context("there is no run to compare")?;
    let compared = |side| {
        let in_turns = in_turns(first, side);
        let sides = [first, side].map(|side| (&side.newest, &side.records[..]));
        let mut comparison = beside(sides, in_turns, &earlier);
        comparison.unscaled = first.unscaled(side);
        Compared { side: side.side(), differences: differences(first.head(), side.head()), comparison, in_turns }
    };
    let others: Vec<Compared<'_>> = rest.iter().map(compared).collect();
    for (side, other) in rest.iter().zip(&others) {
        has_pairs(args, [first, side], other)?;
    }
    print(&report::compare(program.known_families(), first.side(), &others, relative, args.format, &style(args.all)))?;
    Ok(gate(&others, args.gate))
}

/// The metric that values are to be multiples of; `None` for nothing and for cycles.
fn base(args: &CompareArgs) -> Result<Option<Base>> {
    let of = |text: &str| text.parse::<Base>().map_err(|e| anyhow!("--relative {text}: {e}"));
    args.relative.as_deref().filter(|text| *text != CYCLES).map(of).transpose()
}

/// The word that stands for the cycles of the core's clock.
const CYCLES: &str = "cycles";

/// Makes the records of all sides multiples of one point that all have; says of which, with its
/// value on each side.
fn scale_to(base: &Base, args: &CompareArgs, sides: &mut [Runs]) -> Result<String> {
    let asked = args.relative.as_deref().unwrap_or_default();
    let all: Vec<&[Record]> = sides.iter().map(|side| &side.records[..]).collect();
    let found = base.find(&all).map_err(|why| match why {
        NoBase::Nowhere(side) => anyhow!(
            "--relative {asked}: run {} has no time of it; expected {CYCLES}, or a metric that all sides hold, such as \
             syscall.getppid",
            sides[side].head().run
        ),
        why => anyhow!("--relative {asked}: {why}"),
    })?;
    let of = |side: &Runs| side.records.iter().find(|record| identity(record) == found).and_then(|of| of.value);
    let times = sides.iter().filter_map(of).map(|time| report::units::value(time, Scale::Time, None));
    let text = format!("{asked} ({})", times.collect::<Vec<_>>().join(", "));
    sides.iter_mut().for_each(|side| side.scale(Some(&found)));
    Ok(text)
}

/// Refuses a run that is on two sides, or twice on one: it would be held against itself. A baseline
/// beside a run that it was made of is a check of the file.
fn each_run_once(args: &CompareArgs, sides: &[Runs]) -> Result<()> {
    let mut seen = HashSet::new();
    let mut all = sides.iter().flat_map(|side| side.runs.iter().map(|run| (side.is_baseline(), run)));
    let Some((_, twice)) = all.find(|run| !seen.insert(*run)) else { return Ok(()) };
    let hint = match args.runs[..] {
        [_] => format!(": the other side of one run is the latest ({0} compare alone: the latest two)", name()),
        _ => String::new(),
    };
    bail!("run {twice} is named twice{hint}")
}

/// Refuses a selection that names nothing on any side, with what would.
fn each_selects(args: &CompareArgs, words: &[(String, Vec<String>)], sides: &[Runs]) -> Result<()> {
    let names = |text: &str, runs: &[Runs]| {
        runs.iter().flat_map(|side| &side.records).any(|record| names_metric(text, &record.id))
    };
    let Some(text) = args.select.iter().find(|text| !names(text, sides)) else { return Ok(()) };
    let whole: Vec<Runs> =
        words.iter().map(|words| Runs::load(&args.store, words, true, |_| true)).collect::<Result<_>>()?;
    if names(text, &whole) {
        bail!("--select {text}: only intermediate values, which need --all");
    }
    let ids = whole.iter().flat_map(|side| &side.records).map(|record| family(&record.id));
    let families: BTreeSet<&str> = ids.collect();
    let families = families.into_iter().collect::<Vec<_>>().join(", ");
    bail!("--select {text}: no side holds such a metric; the sides hold {families}")
}

/// Refuses sides without a metric that both have a value of.
fn has_pairs(args: &CompareArgs, [first, side]: [&Runs; 2], other: &Compared<'_>) -> Result<()> {
    let found = &other.comparison;
    if !found.pairs.is_empty() {
        return Ok(());
    }
    let anew = found.unlike.iter().filter(|(unlike, _)| *unlike == Unlike::Version).count();
    let older = if side.is_baseline() { side } else { first };
    defined_anew(older, [anew, found.without_value.len()])?;
    let select = if args.select.is_empty() { String::new() } else { format!("--select {}: ", args.select.join(",")) };
    bail!(
        "{select}runs {} and {} have no metric with a value in common ({} show --states RUN)",
        first.head().run,
        side.head().run,
        name()
    )
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

/// The exit code of a comparison, where one is asked for; `tolerated` is in percent. A code that is
/// not 0 comes with the sentence that says why, on standard error: programs read the other one.
fn gate(others: &[Compared<'_>], tolerated: Option<f64>) -> u8 {
    let Some(percent) = tolerated else { return 0 };
    let tolerance = percent / 100.0;
    let gates: Vec<Gate> = others.iter().map(|other| other.comparison.gate(tolerance)).collect();
    let worst = [Gate::Fails, Gate::Unclear].into_iter().find(|gate| gates.contains(gate)).unwrap_or(Gate::Passes);
    let code = exit_code(worst);
    let Some(found) = others.iter().zip(&gates).find(|(_, gate)| **gate == worst).map(|(other, _)| other) else {
        return code;
    };
    let (comparison, run) = (&found.comparison, &found.side.head.run);
    match worst {
        Gate::Passes => {}
        Gate::Fails => {
            let is_slower = |pair: &&Pair<'_>| pair.verdict == Verdict::Slower && pair.cost() > 1.0 + tolerance;
            let (slower, all) = (comparison.pairs.iter().filter(is_slower).count(), comparison.pairs.len());
            warn!(
                "--gate: {slower} of {all} metrics became slower in run {run} by more than {percent} % (exit \
                    code {code})"
            );
        }
        Gate::Unclear => {
            let [unclear, all] = comparison.untold();
            warn!("--gate: of {unclear} of {all} metrics of run {run} it cannot be told (exit code {code})");
        }
    }
    code
}

/// What was typed for each side, and the runs that it names.
fn words(args: &CompareArgs) -> Result<Vec<(String, Vec<String>)>> {
    // Not by clap: what an option requires it does not ask for where that conflicts with a run.
    if let (false, Some(run)) = (args.a.is_empty() && args.b.is_empty(), args.runs.first()) {
        bail!("'{run}' is a third side: with --a and --b all runs are named by these");
    }
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
