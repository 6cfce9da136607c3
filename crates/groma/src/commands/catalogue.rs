//! `groma list` and `groma explain`: the catalogue, for people and for programs.

use super::{print, style};
use crate::flags::ListArgs;
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

/// Explains benchmarks.
pub(crate) fn explain(program: &Program, texts: &[String]) -> Result<u8> {
    let chosen = program.select(texts, Tier::Full)?;
    let texts: Vec<String> = chosen.iter().map(|b| report::explain(&b.info, &style(false))).collect();
    print(&texts.join("\n"))?;
    Ok(0)
}
