//! `groma runs tag`: adds tags to a run, or removes them.

use super::stored_run::tag_list;
use crate::args::StoreArgs;
use crate::print::print;
use crate::program::Program;
use crate::store::existing_store;
use anyhow::{Result, bail};
use clap::Args;
use groma_model::Tag;

const HELP: &str = "Examples:
  groma runs tag latest before              give the newest run the tag 'before'
  groma runs tag 20261122T2131 base v6.18   two tags for one run
  groma runs tag --delete before before
      remove the tag from the newest run that has it

Several runs can have the same tag. A tag is a letter, then letters, digits, '-', '_' and '.', \
40 at most.";

/// Give a run of the store tags, or take them from it
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TagArgs {
    /// The run: its id or the beginning of it, a tag, latest, latest~1, host:NAME
    #[arg(value_name = "RUN")]
    run: String,
    /// The tags
    #[arg(required = true, value_name = "TAG")]
    tags: Vec<Tag>,
    /// Take these tags from the run instead
    #[arg(short, long)]
    delete: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Adds or removes tags, and prints those that the run has afterwards.
pub(super) fn run(_: &Program, args: &TagArgs) -> Result<u8> {
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    if args.delete {
        let had = store.tags(&run)?;
        if let Some(absent) = args.tags.iter().find(|tag| !had.contains(tag)) {
            bail!("run {run} has no tag '{absent}'; its tags: {}", tag_list(&had));
        }
        store.untag(&run, &args.tags)?;
    } else {
        store.tag(&run, &args.tags)?;
    }
    print(&format!("run {run}, tags: {}\n", tag_list(&store.tags(&run)?)))?;
    Ok(0)
}
