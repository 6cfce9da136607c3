//! `groma tag`: names of a user for runs.

use super::{existing_store, print};
use crate::flags::TagArgs;
use anyhow::{Result, bail};

/// Gives a run tags or takes them away, and prints those that it then has.
pub(crate) fn tag(args: &TagArgs) -> Result<u8> {
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    if args.delete {
        let had = store.tags(&run)?;
        if let Some(absent) = args.tags.iter().find(|tag| !had.contains(tag)) {
            bail!("run {run} has no tag '{absent}'; its tags: {}", super::runs::listed(&had));
        }
        store.untag(&run, &args.tags)?;
    } else {
        store.tag(&run, &args.tags)?;
    }
    print(&format!("run {run}, tags: {}\n", super::runs::listed(&store.tags(&run)?)))?;
    Ok(0)
}
