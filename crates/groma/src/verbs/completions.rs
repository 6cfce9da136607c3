//! `groma completions`.

use crate::print::{name, print_own};
use crate::program::Program;
use anyhow::Result;
use clap::Args;

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

pub(super) fn run(program: &Program, args: &CompletionsArgs) -> Result<u8> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut program.for_completions(), name(), &mut out);
    print_own(&String::from_utf8_lossy(&out))?;
    Ok(0)
}
