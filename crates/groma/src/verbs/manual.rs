//! `groma manual`.

use super::completions::{self, SHELLS};
use crate::features::Feature;
use crate::print::name;
use crate::program::Program;
use anyhow::{Context, Result};
use clap::Args;

const HELP: &str = "Examples:
  groma manual > groma.1
  groma manual run | man -l -           of one verb
  groma manual --completions bash > /etc/bash_completion.d/groma";

/// Print a manual page (troff), of groma or of one verb, or completions for a shell
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManualArgs {
    /// The verb
    verb: Option<String>,
    /// Print completions for this shell instead
    #[arg(long, value_name = "SHELL", value_parser = SHELLS, conflicts_with = "verb")]
    completions: Option<String>,
}

pub(super) fn run(program: &Program, args: &ManualArgs) -> Result<u8> {
    if let Some(shell) = &args.completions {
        return completions::print_for(program, shell);
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
