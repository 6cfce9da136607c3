//! What `groma forget` takes.

use super::StoreArgs;
use super::parse::parse_until;
use clap::Args;
use groma_model::Tag;

pub(super) const HELP: &str = "Examples:
  groma forget latest                   what would be removed
  groma forget latest --yes             remove it
  groma forget --tag trial --yes        all runs with this tag
  groma forget --host db1 --until 90d
      those of one machine that are older than 90 days

A run that is still being written stays.";

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The runs: ids or beginnings of them, tags (the newest run of each), latest, latest~1,
    /// host:NAME
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// All runs of this machine
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    pub(crate) host: Option<String>,
    /// All runs with this tag
    #[arg(long, conflicts_with = "runs")]
    pub(crate) tag: Option<Tag>,
    /// All runs that began then or earlier: 2026-11-22, 2026-11-22T10:00, or 90d (90 days ago);
    /// with the other two only those
    #[arg(long, value_name = "DATE", value_parser = parse_until, conflicts_with = "runs")]
    pub(crate) until: Option<String>,
    /// Remove them; without it they are only listed
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
