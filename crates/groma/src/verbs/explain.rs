//! `groma explain`: benchmarks, words of results, and with `--run` the costs that a value of a run
//! is composed of.

use crate::args::{StoreArgs, selects};
use crate::earlier::Earlier;
use crate::print::name;
use crate::program::Program;
use crate::store::{existing_store, is_stream, read, records};
use crate::view::ViewArgs;
use anyhow::{Result, bail};
use clap::Args;
use groma_analysis::composition::{Explained, Known, explain};
use groma_harness::model::page::{On, Shown};
use groma_harness::model::{Composition, Info, Record, RunHeader, Tier};
use groma_report as report;
use std::collections::BTreeSet;

const HELP: &str = "Examples:
  groma explain ipc.pipe_rtt   what it measures, how, and its pitfalls
  groma explain noisy          a word of the results
  groma explain ipc.pipe_rtt --run latest
      break its value down into measured costs
  groma explain --run latest   all composed costs of a run, a line each

A composed cost is shown as in CSE 221: what the hardware alone would take, what the primitives \
that it consists of predict, what was measured, and the rest that nothing explains. The interval \
of a sum goes from the sum of the lower ends to that of the upper ends. Parts that the run lacks \
are taken from other runs of the same machine in the same state, and marked; where there are \
none, the command that measures them is named.";

/// Explain a benchmark: what it measures, how, and what can go wrong; or a word of the results,
/// such as noisy, drift or P; or break a value of a run down into measured costs
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ExplainArgs {
    /// Ids, groups or patterns; or states, flags and labels
    #[arg(required_unless_present = "run", value_name = "SELECT")]
    select: Vec<String>,
    /// A run, as for groma show: take its values apart into measured primitives
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Explains words of results, benchmarks, and values of a run.
pub(super) fn run(program: &Program, args: &ExplainArgs) -> Result<u8> {
    if let Some(run) = &args.run {
        return in_run(program, args, run);
    }
    let view = args.view.open(false)?;
    let (words, ids): (Vec<String>, Vec<String>) =
        args.select.iter().cloned().partition(|text| meaning(text).is_some());
    let meanings: Vec<String> = words.iter().filter_map(|word| meaning(word)).collect();
    let chosen = if ids.is_empty() { Vec::new() } else { program.select(&ids, Tier::Full)? };
    let infos: Vec<&Info> = chosen.iter().map(|bench| &bench.info).collect();
    let document = report::explanations(&meanings, &infos, &view.style);
    view.show(&document)?;
    Ok(0)
}

/// The page on reading results. Its tables define the words.
const READING: &str = include_str!("../../../../docs/reading.md");

/// The signs, states, flags and labels of results with their meanings, from the tables of
/// [`READING`]: each row whose first cell is one or several words in backquotes.
pub(super) fn meanings() -> impl Iterator<Item = (&'static str, String)> {
    let of_row = |line: &'static str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let names = cells.next()?.split(", ").map(|name| name.trim_matches('`'));
        let plain: String = cells.next()?.chars().filter(|c| !matches!(c, '`' | '*')).collect();
        // Of a link, keep its text.
        let plain = plain.split("](").enumerate().fold(String::new(), |text, (i, part)| match i {
            0 => part.to_owned(),
            _ => text + part.split_once(')').map_or(part, |(_, rest)| rest),
        });
        let plain = plain.replace('[', "");
        Some(names.map(move |name| (name, plain.clone())))
    };
    READING.lines().filter(|line| line.starts_with("| `")).filter_map(of_row).flatten()
}

/// The meaning of a word; `None` if it is none of results.
fn meaning(word: &str) -> Option<String> {
    meanings().find(|(name, _)| *name == word).map(|(_, text)| format!("{word}: {text}"))
}

/// Breaks values of a run down into measured costs.
fn in_run(program: &Program, args: &ExplainArgs, run: &str) -> Result<u8> {
    let wanted = |id: &str| selects(&args.select, id);
    let models = program.all().iter().flat_map(|bench| bench.info.composed_of).filter(|model| wanted(model.of.metric));
    let models: Vec<&Composition> = models.collect();
    if models.is_empty() {
        bail!("{}", unknown(program, &args.select));
    }
    let shown = read(&args.store, run)?;
    let own = Known { own: &shown.records, others: &[] };
    let missing = missing(&explain(&models, &own), &own);
    let others = if is_stream(run) { Vec::new() } else { elsewhere(&args.store, &shown.head, &missing)? };
    let known = Known { own: &shown.records, others: &others };
    let all = explain(&models, &known);
    if all.is_empty() {
        let ids: BTreeSet<&str> = models.iter().map(|model| model.of.metric).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        bail!("run {} holds no value of {} ({} run {})", shown.head.run, ids.join(", "), name(), ids.join(" "));
    }
    let mut document = if args.select.is_empty() { report::compositions(&all) } else { report::each_composition(&all) };
    if let Some(command) = command(&self::missing(&all, &known)) {
        document.note(format!("To measure what is missing: {command}"));
    }
    args.view.open(false)?.show(&document)?;
    Ok(0)
}

/// The error that no selected metric has a model, with the metrics that have one.
fn unknown(program: &Program, select: &[String]) -> String {
    if let Err(error) = program.select(select, Tier::Full) {
        return error.to_string();
    }
    let all = program.all().iter().flat_map(|bench| bench.info.composed_of).map(|model| model.of.metric);
    let all: BTreeSet<&str> = all.collect();
    let all: Vec<&str> = all.into_iter().collect();
    format!("{}: not composed of other costs that are measured (these are: {})", select.join(", "), all.join(", "))
}

/// The metrics that the explanations need and no run has.
fn missing(all: &[Explained<'_>], known: &Known<'_>) -> Vec<&'static Shown> {
    let mut missing: Vec<&Shown> = all.iter().flat_map(|one| one.missing(known)).collect();
    missing.sort_by_key(|shown| (shown.metric, shown.params));
    missing.dedup_by_key(|shown| (shown.metric, shown.params, shown.on == On::Two));
    missing
}

/// The records of these metrics in other runs of the machine in the same state, newest first.
pub(super) fn elsewhere(store: &StoreArgs, head: &RunHeader, missing: &[&Shown]) -> Result<Vec<(String, Vec<Record>)>> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let store = existing_store(store)?;
    let wanted = |metrics: &[groma_harness::model::Metric]| missing.iter().any(|shown| shown.is_of(metrics));
    let mut found = Vec::new();
    for run in Earlier::like(head, std::slice::from_ref(&head.run), &store).runs() {
        // Skip runs that cannot be read.
        let Ok(stored) = store.load_part(run, None, |point| wanted(&point.metrics)) else { continue };
        found.push((run.to_owned(), records(stored, false).records));
    }
    Ok(found)
}

/// The command that measures these metrics.
pub(super) fn command(missing: &[&Shown]) -> Option<String> {
    let ids: BTreeSet<&str> = missing.iter().map(|shown| shown.metric).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    (!ids.is_empty()).then(|| format!("{} run {}", name(), ids.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{Label, State};

    /// `groma explain` knows every word that a result may have.
    #[test]
    fn states_flags_and_labels_have_a_meaning() {
        let states = State::ALL.iter().map(|state| state.word().to_owned());
        let labels = Label::ALL.iter().map(|label| label.letter().to_string());
        let flags = ["2 modes", "drift", "contended", "clock cost", "contradicts", "quantised", "shared core"];
        let more = ["few rounds", "left processes", "unsteady", "short-interval", "cache", "timing-unverified"];
        let signs = ["~", "?", "≠", "–", "!"];
        let names = ["imprecise", "quiet", "fine", "hostile", "modes", "same-cpu", "same-llc", "cas1", "amortised"];
        let words = flags.iter().chain(&more).chain(&signs).chain(&names).map(|word| (*word).to_owned());
        for word in states.chain(labels).chain(words) {
            let text = meaning(&word).unwrap_or_else(|| panic!("nothing says what {word} is"));
            assert!(text.len() > word.len() + 10 && !text.contains(['`', '[', '*']), "{text}");
        }
        assert_eq!(meaning("mem.latency"), None);
        assert_eq!(meaning(""), None);
    }
}
