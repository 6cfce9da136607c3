//! `groma merge`: runs of other stores and of streams come into the store.

use super::runs::is_written;
use super::{print, store_path};
use crate::flags::MergeArgs;
use anyhow::{Result, anyhow};
use groma_harness::model::plain;
use groma_store::{Merged, Source, Store, StoreError};
use std::path::Path;

/// How many runs came.
#[derive(Clone, Copy, Default)]
struct Counts {
    added: usize,
    completed: usize,
    known: usize,
}

impl Counts {
    fn add(&mut self, merged: Merged) {
        match merged {
            Merged::Added => self.added += 1,
            Merged::Completed => self.completed += 1,
            Merged::Known => self.known += 1,
        }
    }

    fn text(self) -> String {
        let runs = |n: usize| groma_report::units::counted(n, "run");
        let parts = [(self.completed, "completed"), (self.known, "known already")];
        let more = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}"));
        format!("{} added", runs(self.added)) + &more.collect::<String>()
    }
}

/// Merges the files one after the other, and says of each what came of it. An error ends it; what
/// came before stays.
pub(crate) fn merge(args: &MergeArgs) -> Result<u8> {
    let store = Store::open(&store_path(&args.store)?)?;
    for file in &args.files {
        let mut counts = Counts::default();
        let done = merge_file(&store, file, &mut counts);
        done.map_err(|e| anyhow!("{e:#}; of this file {}", counts.text()))?;
        print(&format!("{}: {}\n", file.display(), counts.text()))?;
    }
    Ok(0)
}

fn merge_file(store: &Store, file: &Path, counts: &mut Counts) -> Result<()> {
    let mut take = |run| -> Result<(), StoreError> {
        counts.add(store.merge(&run)?);
        Ok(())
    };
    match Source::open(file)? {
        Source::Store(source) => {
            // The oldest first, as they would have come one by one.
            for row in source.runs()?.into_iter().rev() {
                if is_written(&row) {
                    warn!("{}: run {} is still being written and left out", file.display(), plain(&row.run));
                    continue;
                }
                take(source.load(&row.run)?)?;
            }
        }
        Source::Stream(mut runs) => runs.try_for_each(|run| take(run?))?,
    }
    Ok(())
}
