//! `groma compare`: compares runs, or one run with all reference machines.

use crate::args::{StoreArgs, selects};
use crate::exit;
use crate::parse::parse_percent;
use crate::print::name;
use crate::program::Program;
use crate::reference;
use crate::sides::{Runs, all_of, beside, require_same_version};
use crate::store::existing_store;
use crate::view::{ViewArgs, WithJunit};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::relative::{Base, NoBase};
use groma_analysis::compare::{Gate, Pair, Share, Unlike, Verdict, identity};
use groma_analysis::point::family;
use groma_harness::model::Record;
use groma_report::units::Scale;
use groma_report::{self as report, Compared, Format, Relative, Side};
use groma_runner::select::names_metric;
use groma_store::Baseline;
use std::collections::{BTreeSet, HashMap, HashSet};

const HELP: &str = "Examples:
  groma compare                         the latest run and the one before it
  groma compare before
      the latest run and the newest with this tag
  groma compare A B C                   three machines
  groma compare --a before --b after
      all runs of two tags: several runs on each side find smaller differences
  groma compare reference latest        this machine and a reference machine
  groma compare latest --with reference
      is this number good? where it lies among all reference machines
  groma compare A B --relative cycles   two clock rates
  groma compare A B --select ipc,net --all
      every metric of these groups, with intervals
  groma compare A B --format markdown   for a comment on a pull request
  groma compare base latest --gate=5
      exit code 1 if something is slower by more than 5 %

A metric is called slower or faster only where the rounds of the two runs differ beyond chance, \
for the whole comparison at once, and by more than other runs of the first side's machine do in \
the same state: the more of them the store holds, the smaller the differences that are found.";

/// Compare runs: what became slower or faster, and what differs between their machines
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompareArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, files of streams or
    /// baselines, or a reference machine; the others are compared with the first [default: the
    /// latest two]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The runs of the first side, taken as one; a tag stands for all of its runs
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "b")]
    a: Vec<String>,
    /// The runs of the second side
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "a")]
    b: Vec<String>,
    /// Beside one run the range of what all reference machines measured, and what lies outside of
    /// it
    #[arg(long, value_name = "WHAT", value_parser = ["reference"], conflicts_with_all = ["a", "b", "relative", "gate"])]
    with: Option<String>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    select: Vec<String>,
    /// Compare multiples of something instead of times: 'cycles', or a metric at one point such as
    /// syscall.getppid, mem.latency:size=16K or ipc.pipe_rtt:same-cpu
    #[arg(long, value_name = "WHAT")]
    relative: Option<String>,
    /// Every metric with its interval and verdict, controls too, and what is not compared
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    view: ViewArgs<WithJunit>,
    /// Exit with code 1 if something became slower (by more than this many percent), with 3 if more
    /// than half of the metrics are inconclusive; groma gate measures again before it fails
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "0", require_equals = true, value_parser = parse_percent)]
    gate: Option<f64>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Compares runs.
pub(super) fn run(program: &Program, args: &CompareArgs) -> Result<u8> {
    if args.with.is_some() {
        return with_reference(program, args);
    }
    let view = args.view.open(args.all)?;
    let base = base(args)?;
    let is_asked = |id: &str| selects(&args.select, id);
    let is_loaded = |id: &str| is_asked(id) || base.as_ref().is_some_and(|base| base.id() == id);
    let words = words(args)?;
    let load = |words| Runs::load(&args.store, words, args.all, is_loaded);
    let mut sides: Vec<Runs> = words.iter().map(load).collect::<Result<_>>()?;
    each_run_once(args, &sides)?;
    each_selects(args, &words, &sides)?;
    let scaled = args.relative.is_some();
    let in_turns = |a: &Runs, b: &Runs| !scaled && a.is_in_turns_with(b);
    let (first, rest) = sides.split_first_mut().context("there is no run to compare")?;
    // Other runs show by how much the newest run of the first side varies. Rounds in turns do not
    // need them, and two files of streams do not need a store.
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
        // In the unit of the comparison.
        let scale = record.value.zip(absolute.get(&key)).map_or(1.0, |(now, then)| now / then);
        known.get(&key).into_iter().flatten().map(|value| value * scale).collect()
    };
    let (first, rest) = sides.split_first().context("there is no run to compare")?;
    let compared = |side| {
        let in_turns = in_turns(first, side);
        let sides = [first, side].map(|side| (&side.newest, &side.records[..]));
        let mut comparison = beside(sides, in_turns, &earlier);
        comparison.unscaled = first.count_unscaled(side);
        Compared { side: side.side(), differences: differences(first.head(), side.head()), comparison, in_turns }
    };
    let others: Vec<Compared<'_>> = rest.iter().map(compared).collect();
    for (side, other) in rest.iter().zip(&others) {
        has_pairs(args, [first, side], other)?;
    }
    let document = report::compare(program.known_families(), first.side(), &others, relative, &view.style);
    view.show(&document)?;
    Ok(gate(&others, args.gate))
}

/// The metric of `--relative`; `None` without the option and for cycles.
fn base(args: &CompareArgs) -> Result<Option<Base>> {
    let of = |text: &str| text.parse::<Base>().map_err(|e| anyhow!("--relative {text}: {e}"));
    args.relative.as_deref().filter(|text| *text != CYCLES).map(of).transpose()
}

/// The value of `--relative` for cycles of the core clock.
const CYCLES: &str = "cycles";

/// Turns the records of all sides into multiples of a point that all have. Returns the name of the
/// point with its value on each side.
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

/// Refuses a run that is named twice: it would be compared with itself. A baseline may be compared
/// with a run that it was made from: that checks the file.
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

/// Refuses a selection that no metric on any side matches, and names what would match.
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

/// Refuses sides that have no metric with a value in common.
fn has_pairs(args: &CompareArgs, [first, side]: [&Runs; 2], other: &Compared<'_>) -> Result<()> {
    let found = &other.comparison;
    if !found.pairs.is_empty() {
        return Ok(());
    }
    let anew = found.unlike.iter().filter(|(unlike, _)| *unlike == Unlike::Version).count();
    let older = if side.is_baseline() { side } else { first };
    require_same_version(older, [anew, found.without_value.len()])?;
    let select = if args.select.is_empty() { String::new() } else { format!("--select {}: ", args.select.join(",")) };
    bail!(
        "{select}runs {} and {} have no metric with a value in common ({} show --states RUN)",
        first.head().run,
        side.head().run,
        name()
    )
}

/// The exit code of a gate.
pub(super) fn gate_exit_code(gate: Gate) -> u8 {
    match gate {
        Gate::Passes => 0,
        Gate::Fails => exit::REGRESSION,
        Gate::Unclear => exit::TOO_NOISY,
    }
}

/// The exit code with `--gate`, whose value in percent is `tolerated`. Explains a code other than 0
/// on standard error, because standard output may be read by a program.
fn gate(others: &[Compared<'_>], tolerated: Option<f64>) -> u8 {
    let Some(percent) = tolerated else { return 0 };
    let tolerance = percent / 100.0;
    let gates: Vec<Gate> = others.iter().map(|other| other.comparison.gate(tolerance)).collect();
    let worst = [Gate::Fails, Gate::Unclear].into_iter().find(|gate| gates.contains(gate)).unwrap_or(Gate::Passes);
    let code = gate_exit_code(worst);
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
            let Share { count: unclear, total: all } = comparison.inconclusive();
            warn!("--gate: of {unclear} of {all} metrics of run {run} it cannot be told (exit code {code})");
        }
    }
    code
}

/// The sides, each as typed and as the runs that it names.
fn words(args: &CompareArgs) -> Result<Vec<(String, Vec<String>)>> {
    // clap does not enforce `requires` where the required option conflicts with a given one.
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

/// Shows where the values of a run lie among those of the reference machines.
fn with_reference(program: &Program, args: &CompareArgs) -> Result<u8> {
    let run = match &args.runs[..] {
        [] => "latest",
        [one] => one,
        [_, second, ..] => bail!("--with reference takes one run, and '{second}' is another"),
    };
    let view = args.view.open(args.all)?;
    if view.format == Format::Junit {
        bail!("--format junit: --with reference has table, markdown, html, json and csv");
    }
    let is_asked = |id: &str| selects(&args.select, id);
    let side = Runs::load(&args.store, &(run.to_owned(), vec![run.to_owned()]), args.all, is_asked)?;
    if side.records.iter().all(|record| record.value.is_none()) {
        let select =
            if args.select.is_empty() { String::new() } else { format!("--select {}: ", args.select.join(",")) };
        bail!("{select}run {} has no such value", side.head().run);
    }
    let known: Vec<(&str, Baseline)> = reference::all()
        .map(|machine| Ok((machine.name(), machine.baseline().context(machine.name())?)))
        .collect::<Result<_>>()?;
    // A reference machine is not compared with itself.
    let others = known.iter().filter(|(_, machine)| !machine.runs.iter().any(|run| side.runs.contains(run)));
    let others: Vec<(Side<'_>, Vec<_>)> = others
        .map(|(name, machine)| {
            let records = machine.metrics.iter().map(|metric| metric.record.clone()).collect();
            (Side { name, head: &machine.head, runs: machine.runs.len(), like: 0 }, records)
        })
        .collect();
    let machines: Vec<(Side<'_>, &[_])> = others.iter().map(|(side, records)| (*side, &records[..])).collect();
    let families = program.known_families();
    let document = report::typical(families, side.side(), &side.records, &machines, &view.style);
    view.show(&document)?;
    Ok(0)
}
