//! `groma list` and `groma explain`: the catalogue, for people and for programs.

use super::{print, style};
use crate::flags::{ExplainArgs, ListArgs};
use crate::lineage::{DOCUMENTS, REPEATS};
use crate::program::Program;
use anyhow::{Result, bail};
use groma_harness::model::lineage::names;
use groma_harness::model::{Info, Repeat, Tier};
use groma_report as report;

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
    // A program of a user's own benchmarks need not have ours.
    let here = |repeat: &&Repeat| {
        let ids = repeat.benchmarks();
        ids.iter().all(|id| program.all().iter().any(|bench| bench.info.id == *id))
    };
    let repeats: Vec<&Repeat> = REPEATS.iter().filter(|repeat| repeat.is_of(text)).filter(here).collect();
    let ours = |source: &str| DOCUMENTS.iter().any(|(name, _)| source.split(':').next() == Some(*name));
    let claims = program.all().iter().flat_map(|bench| bench.info.lineage.iter().map(|source| (&bench.info, *source)));
    let others: Vec<(&Info, &str)> = claims.filter(|(_, source)| !ours(source) && names(text, source)).collect();
    if repeats.is_empty() && others.is_empty() {
        let claims = program.all().iter().flat_map(|bench| bench.info.lineage);
        let mut known: Vec<&str> = claims.filter_map(|source| source.split(':').next()).collect();
        known.sort_unstable();
        known.dedup();
        bail!("--lineage {text}: nothing repeats it (known: {}; each lists its rows)", known.join(", "));
    }
    print(&report::lineage(&repeats, &others, &style(false)))?;
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
