//! What `groma merge` takes.

use super::StoreArgs;
use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "\
Files are stores (SQLite) or what groma run --out FILE --samples has written; they are not \
changed. A run that is there already is not taken twice, so merging again is safe. merge ends \
at the first error: the runs before it are kept, the run that holds the error is not.

Examples:
  groma merge db1.db db2.db               collect the runs of two machines
  groma merge run.ndjson --store all.db   into another store than the usual one";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Stores, and streams with samples
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
