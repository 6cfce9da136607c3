//! What `groma baseline` takes.

use super::StoreArgs;
use clap::Subcommand;
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  groma run --tag main                several times: more runs, smaller changes
  groma baseline set base.ndjson main
      the runs with this tag as a file, small enough for version control
  groma baseline show base.ndjson     the smallest change it can detect
  groma baseline list
      the tags of the store that can serve as one
  groma gate --baseline base.ndjson   check this machine against it";

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineVerb {
    /// Write what runs found into a file
    Set {
        /// The file to write
        file: PathBuf,
        /// The runs: ids, tags (all of their runs), latest, host:NAME
        #[arg(value_name = "RUN", default_value = "latest")]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List the tags of the store, with how many runs each has
    List {
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Show a baseline, or runs that could be one: each metric, and the smallest change in it that
    /// can be detected
    Show {
        /// A file, a tag or a run
        #[arg(value_name = "RUN", default_value = "latest")]
        runs: Vec<String>,
        /// Every metric, not only those of the pages
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
}
