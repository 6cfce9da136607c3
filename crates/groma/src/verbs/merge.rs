//! Copies runs of other files into the store: `groma import`, which also takes result files of
//! lmbench, and its old name `groma merge`, which does not.

use super::stored_run::is_being_written;
use crate::args::StoreArgs;
use crate::parallel::in_order;
use crate::print::print;
use crate::program::Program;
use crate::store::{store_path, tell_lost};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use groma_harness::model::plain;
use groma_store::ndjson::Lost;
use groma_store::{FileKind, Merged, Source, Store, StoreError, StoredRun};
use std::cell::OnceCell;
use std::io::Read as _;
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
    /// What may be a result file of lmbench.
    Other(Vec<u8>),
}

/// The store that runs are added to. It is opened, and made, when the first file is known to hold
/// some.
pub(super) struct Target<'a> {
    args: &'a StoreArgs,
    store: OnceCell<Store>,
}

impl Target<'_> {
    pub(super) fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(&store_path(self.args)?)?;
        Ok(self.store.get_or_init(|| store))
    }
}

/// Adds the runs of a file that is neither a store nor a stream, from its bytes.
pub(super) type Import<'a> = &'a dyn Fn(&Target<'_>, &Path, &[u8]) -> Result<()>;

/// As `import`, of stores and streams alone.
pub(super) fn run(_: &Program, args: &MergeArgs) -> Result<u8> {
    merge(&args.store, &args.files, None)
}

/// Merges one file after the other and prints a line for each; files are read meanwhile, on several
/// threads, each of them once: it may be a pipe. `others` takes what is neither a store nor a
/// stream. Stops at the first error; runs that were merged before it stay.
pub(super) fn merge(args: &StoreArgs, files: &[PathBuf], others: Option<Import<'_>>) -> Result<u8> {
    let target = Target { args, store: OnceCell::new() };
    let takes_others = others.is_some();
    let mut done = Ok(0);
    in_order(
        files,
        |file| read(file, takes_others),
        |file, read| match read.and_then(|read| merge_file(&target, file, read, others)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                done = Err(error);
                ControlFlow::Break(())
            }
        },
    );
    done
}

/// The largest file of others that is read: the largest that is known has 48 MB, nearly all of it
/// messages.
const MAX_OTHER: u64 = 256 << 20;

fn read(path: &Path, takes_others: bool) -> Result<Read> {
    let (kind, file) = FileKind::open(path)?;
    if takes_others && matches!(kind, FileKind::Lmbench | FileKind::Parquet | FileKind::Other) {
        let mut bytes = Vec::new();
        file.take(MAX_OTHER + 1).read_to_end(&mut bytes).with_context(|| path.display().to_string())?;
        if bytes.len() as u64 > MAX_OTHER {
            bail!("{}: has more than {} MiB: no result file of lmbench", path.display(), MAX_OTHER >> 20);
        }
        return Ok(Read::Other(bytes));
    }
    Ok(match Source::of(kind, file, path)? {
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

fn merge_file(target: &Target<'_>, file: &Path, read: Read, others: Option<Import<'_>>) -> Result<()> {
    if let (Read::Other(bytes), Some(import)) = (&read, others) {
        return import(target, file, bytes);
    }
    let mut counts = Counts::default();
    let merged = target.store().and_then(|store| add_runs(store, file, read, &mut counts));
    merged.map_err(|e| anyhow!("{e:#}; of this file {}", counts.text()))?;
    print(&format!("{}: {}\n", file.display(), counts.text()))
}

fn add_runs(store: &Store, file: &Path, read: Read, counts: &mut Counts) -> Result<()> {
    let mut take = |run| -> Result<(), StoreError> {
        counts.add(store.merge(&run)?);
        Ok(())
    };
    match read {
        // Such files are read only if they are imported.
        Read::Other(_) => {}
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
