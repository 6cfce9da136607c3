//! `groma list` and `groma explain`: the catalogue, for people and for programs.

use super::{print, style};
use crate::flags::ListArgs;
use crate::program::Program;
use anyhow::Result;
use groma_harness::model::{Info, Tier};
use groma_report as report;

/// Lists benchmarks.
pub(crate) fn list(program: &Program, args: &ListArgs) -> Result<u8> {
    let chosen = program.select(&args.select, Tier::Full)?;
    let infos: Vec<&Info> = chosen.iter().map(|b| &b.info).collect();
    print(&if args.json { report::list_json(&infos) } else { report::list(&infos, args.long, &style(false)) })?;
    Ok(0)
}

/// Explains benchmarks.
pub(crate) fn explain(program: &Program, texts: &[String]) -> Result<u8> {
    let chosen = program.select(texts, Tier::Full)?;
    let texts: Vec<String> = chosen.iter().map(|b| report::explain(&b.info, &style(false))).collect();
    print(&texts.join("\n"))?;
    Ok(0)
}
