//! `groma completions`.

use crate::features::Feature;
use crate::program::Program;
use anyhow::Result;
use clap::Args;

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub(super) fn run(program: &Program, args: &CompletionsArgs) -> Result<u8> {
    Feature::COMPLETIONS.require()?;
    generate(program, &args.shell)?;
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
    Ok(())
}
