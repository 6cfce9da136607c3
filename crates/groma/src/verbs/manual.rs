//! `groma manual`.

use super::completions::{self, SHELLS};
use crate::features::Feature;
use crate::print::name;
use crate::program::Program;
use anyhow::{Context, Result};
use clap::Args;
use miniz_oxide::inflate::decompress_to_vec_zlib;

const HELP: &str = "Examples:
  groma manual > groma.1
  groma manual run | man -l -           of one verb
  groma manual --completions bash > /etc/bash_completion.d/groma
  groma manual licences                 of all that is linked into this program";

/// What `manual` takes beside the verbs.
const LICENCES: &str = "licences";

/// Print a manual page (troff), of groma or of one verb, completions for a shell, or licences
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManualArgs {
    /// The verb, or `licences`
    verb: Option<String>,
    /// Print completions for this shell instead
    #[arg(long, value_name = "SHELL", value_parser = SHELLS, conflicts_with = "verb")]
    completions: Option<String>,
}

pub(super) fn run(program: &Program, args: &ManualArgs) -> Result<u8> {
    if let Some(shell) = &args.completions {
        return completions::print_for(program, shell);
    }
    if args.verb.as_deref() == Some(LICENCES) {
        return licences();
    }
    Feature::MANUAL.require()?;
    let mut groma = program.command();
    // Only this fills in global arguments and usage lines.
    groma.build();
    let page = match &args.verb {
        None => groma,
        Some(verb) => {
            let found = groma.find_subcommand(verb).cloned();
            found.with_context(|| format!("there is no verb '{verb}' ({} --help lists them)", name()))?
        }
    };
    print_page(page)?;
    Ok(0)
}

/// Prints the licences, in every build: they go with the program.
fn licences() -> Result<u8> {
    let text = decompress_to_vec_zlib(include_bytes!(concat!(env!("OUT_DIR"), "/licences.z")));
    crate::print::print_own(&String::from_utf8_lossy(&text.expect("build.rs compressed it")))?;
    Ok(0)
}

#[cfg(feature = "manual")]
fn print_page(page: clap::Command) -> Result<()> {
    let mut out = Vec::new();
    let title = page.get_display_name().unwrap_or(name()).to_owned();
    clap_mangen::Man::new(page).title(title).render(&mut out)?;
    crate::print::print_own(&String::from_utf8_lossy(&out))
}

#[cfg(not(feature = "manual"))]
fn print_page(_: clap::Command) -> Result<()> {
    Err(Feature::MANUAL.missing())
}
