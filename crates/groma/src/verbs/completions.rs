//! `groma completions`.

use crate::features::Feature;
use crate::program::Program;
use anyhow::Result;
use clap::Args;

/// The shells that have completions.
pub(super) const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Print completions for a shell (groma manual --completions SHELL)
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = SHELLS)]
    shell: String,
}

pub(super) fn run(program: &Program, args: &CompletionsArgs) -> Result<u8> {
    print_for(program, &args.shell)
}

/// Prints the completions for a shell, one of [`SHELLS`].
pub(super) fn print_for(program: &Program, shell: &str) -> Result<u8> {
    Feature::COMPLETIONS.require()?;
    generate(program, shell)?;
    Ok(0)
}

#[cfg(feature = "completions")]
fn generate(program: &Program, shell: &str) -> Result<()> {
    let shell: clap_complete::Shell = shell.parse().map_err(anyhow::Error::msg)?;
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut program.for_completions(), crate::print::name(), &mut out);
    crate::print::print_own(&String::from_utf8_lossy(&out))
}

#[cfg(not(feature = "completions"))]
fn generate(_: &Program, _: &str) -> Result<()> {
    Err(Feature::COMPLETIONS.missing())
}
