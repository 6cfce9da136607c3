//! `groma import` of stores and streams, also by its old name `groma merge`:
//! copies runs of other stores and of streams into the store.

use super::stored_run::is_being_written;
use crate::args::StoreArgs;
use crate::parallel::in_order;
use crate::print::print;
use crate::program::Program;
use crate::store::{store_path, tell_lost};
use anyhow::{Result, anyhow};
use clap::Args;
use groma_harness::model::plain;
use groma_store::ndjson::Lost;
use groma_store::{Merged, Source, Store, StoreError, StoredRun};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Files are stores (SQLite) or what groma run --out FILE --samples has written; they are not \
changed. A run that is there already is not taken twice, so merging again is safe. merge ends \
at the first error: the runs before it are kept, the run that holds the error is not.

Examples:
  groma merge db1.db db2.db               collect the runs of two machines
  groma merge run.ndjson --store all.db   into another store than the usual one";

/// Take the runs of other stores and of streams with samples into the store
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MergeArgs {
    /// Stores, and streams with samples
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// How many runs were merged.
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

/// What a file holds.
enum Read {
    /// Another store, whose runs are read when it is their turn.
    Store(Store),
    /// The runs of a stream; the last may be why the rest cannot be read. What was skipped of a
    /// captured one.
    Runs(Vec<Result<StoredRun, StoreError>>, Option<Lost>),
}

/// The same as `import`, of stores and streams.
pub(super) fn run(_: &Program, args: &MergeArgs) -> Result<u8> {
    merge(&args.store, &args.files)
}

/// Merges one file after the other and prints a line for each; streams are parsed meanwhile, on
/// several threads. Stops at the first error; runs that were merged before it stay.
pub(super) fn merge(store: &StoreArgs, files: &[PathBuf]) -> Result<u8> {
    let store = Store::open(&store_path(store)?)?;
    let mut done = Ok(0);
    in_order(
        files,
        |file| read(file),
        |file, read| {
            let mut counts = Counts::default();
            let merged = read.and_then(|read| merge_file(&store, file, read, &mut counts));
            let merged = merged.map_err(|e| anyhow!("{e:#}; of this file {}", counts.text()));
            match merged.and_then(|()| print(&format!("{}: {}\n", file.display(), counts.text()))) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    done = Err(error);
                    ControlFlow::Break(())
                }
            }
        },
    );
    done
}

fn read(file: &Path) -> Result<Read> {
    Ok(match Source::open(file)? {
        Source::Store(store) => Read::Store(store),
        Source::Stream(mut runs) => {
            let mut all = Vec::new();
            for run in runs.by_ref() {
                let is_last = run.is_err();
                all.push(run);
                if is_last {
                    break;
                }
            }
            Read::Runs(all, runs.lost().cloned())
        }
    })
}

fn merge_file(store: &Store, file: &Path, read: Read, counts: &mut Counts) -> Result<()> {
    let mut take = |run| -> Result<(), StoreError> {
        counts.add(store.merge(&run)?);
        Ok(())
    };
    match read {
        Read::Store(source) => {
            // Oldest first, as if they had been measured here.
            for row in source.runs()?.into_iter().rev() {
                if is_being_written(&row) {
                    warn!("{}: run {} is still being written and left out", file.display(), plain(&row.run));
                    continue;
                }
                take(source.load(&row.run)?)?;
            }
        }
        Read::Runs(runs, lost) => {
            tell_lost(&file.display().to_string(), lost.as_ref());
            runs.into_iter().try_for_each(|run| take(run?))?;
        }
    }
    Ok(())
}
