//! `groma list` and `groma explain`: the catalogue, for people and for programs.

use super::{print, style};
use crate::flags::{ExplainArgs, ListArgs};
use crate::program::Program;
use anyhow::{Result, bail};
use groma_harness::model::{Info, Tier};
use groma_published::{REPEATS, Repeat};
use groma_report as report;
use std::collections::BTreeSet;

/// Lists benchmarks.
pub(crate) fn list(program: &Program, args: &ListArgs) -> Result<u8> {
    if let Some(source) = &args.lineage {
        return lineage(program, source);
    }
    let chosen = program.select(&args.select, Tier::Full)?;
    let infos: Vec<&Info> = chosen.iter().map(|b| &b.info).collect();
    print(&if args.json { report::list_json(&infos) } else { report::list(&infos, args.long, &style(false)) })?;
    Ok(0)
}

/// Lists what repeats a document, one of its rows, or a test of another tool.
fn lineage(program: &Program, text: &str) -> Result<u8> {
    let infos: Vec<&Info> = program.all().iter().map(|bench| &bench.info).collect();
    // A program of a user's own benchmarks need not have ours.
    let here = |repeat: &&Repeat| repeat.benchmarks().iter().all(|id| infos.iter().any(|info| info.id == *id));
    let all: Vec<&Repeat> = REPEATS.iter().filter(here).collect();
    let named: Vec<&Repeat> = all.iter().copied().filter(|repeat| repeat.is_of(text)).collect();
    if named.is_empty() {
        let known: BTreeSet<&str> = all.iter().map(|repeat| repeat.document()).collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        bail!("--lineage {text}: nothing repeats it (known: {known}; each lists its rows)");
    }
    print(&report::lineage(&named, &infos, &style(false)))?;
    Ok(0)
}

/// The page on how results are read: its tables say what each word means.
const READING: &str = include_str!("../../../../docs/reading.md");

/// The signs, states, flags and labels of a result, each with what it means: the rows of the tables
/// of [`READING`] whose first cell names one or several.
pub(super) fn meanings() -> impl Iterator<Item = (&'static str, String)> {
    let of_row = |line: &'static str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let names = cells.next()?.split(", ").map(|name| name.trim_matches('`'));
        let plain: String = cells.next()?.chars().filter(|c| !matches!(c, '`' | '*')).collect();
        // A link is its text.
        let plain = plain.split("](").enumerate().fold(String::new(), |text, (i, part)| match i {
            0 => part.to_owned(),
            _ => text + part.split_once(')').map_or(part, |(_, rest)| rest),
        });
        let plain = plain.replace('[', "");
        Some(names.map(move |name| (name, plain.clone())))
    };
    READING.lines().filter(|line| line.starts_with("| `")).filter_map(of_row).flatten()
}

/// What one of them means.
fn meaning(word: &str) -> Option<String> {
    meanings().find(|(name, _)| *name == word).map(|(_, text)| format!("{word}: {text}"))
}

/// Explains words of results, benchmarks, and values of a run.
pub(crate) fn explain(program: &Program, args: &ExplainArgs) -> Result<u8> {
    if let Some(run) = &args.run {
        return super::explain::in_run(program, args, run);
    }
    let style = style(false);
    let (words, ids): (Vec<String>, Vec<String>) =
        args.select.iter().cloned().partition(|text| meaning(text).is_some());
    let mut parts: Vec<String> = Vec::new();
    let meanings = words.iter().filter_map(|word| meaning(word)).map(|text| report::wrapped(&text, &style));
    parts.extend((!words.is_empty()).then(|| meanings.collect()));
    if !ids.is_empty() {
        let chosen = program.select(&ids, Tier::Full)?;
        parts.extend(chosen.iter().map(|bench| report::explain(&bench.info, &style)));
    }
    print(&parts.join("\n"))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{Label, State};

    /// Every word that a result may have can be looked up where it was read.
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
