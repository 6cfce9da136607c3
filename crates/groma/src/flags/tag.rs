//! What `groma tag` takes.

use super::StoreArgs;
use clap::Args;
use groma_model::Tag;

pub(super) const HELP: &str = "Examples:
  groma tag latest before              give the newest run the tag 'before'
  groma tag 20261122T2131 base v6.18   two tags for one run
  groma tag --delete before before
      remove the tag from the newest run that has it

Several runs can have the same tag. A tag is a letter, then letters, digits, '-', '_' and '.', \
40 at most.";

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// The run: its id or the beginning of it, a tag, latest, latest~1, host:NAME
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The tags
    #[arg(required = true, value_name = "TAG")]
    pub(crate) tags: Vec<Tag>,
    /// Take these tags from the run instead
    #[arg(short, long)]
    pub(crate) delete: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
