//! Names created and removed in turn: the loop shared by all benchmarks that create names.
//!
//! The directory holds 16 of them, give or take 8. Names are created and the oldest removed, a few
//! at a time, in the same rounds. Where one side gets ahead of the other (in a worker group), it
//! does the other's work untimed. Each operation is timed alone. At the end the directory has to
//! hold as many names as were created and not removed.

use super::crowd::{crowd, name};
use crate::scratch::Scratch;
use crate::work::Done;
use groma_harness::prelude::*;
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Names in the ring. Few, because each file that exists at the same time leaves an inode that
/// later rounds pass over; those of 100 files (lmbench 3) or 1000 (1996) multiplied the result.
const POPULATION: u64 = 16;
/// How many more or fewer names there may be: a batch of operations timed alone.
const SLACK: u64 = 8;

/// The most names at a time.
pub(super) const MOST_NAMES: u64 = POPULATION + SLACK + 1;

/// Creates and removes a name.
pub(super) trait Maker {
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome;
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome;
    /// Whether the name leads to what was created.
    fn is_whole(&self, path: &Path) -> std::io::Result<bool>;
}

/// Measures the two operations of a maker as the series `made` and `removed`, in a directory of
/// `entries` names.
pub(super) fn measure(
    ctx: &mut Ctx,
    scratch: &Scratch,
    entries: u64,
    maker: &impl Maker,
    made: &'static str,
    removed: &'static str,
) -> Outcome {
    let Some(others) = entries.checked_sub(POPULATION) else {
        return Err(BenchError::Unsupported(format!("a directory with less than {POPULATION} names")));
    };
    let others = others / u64::from(if ctx.word("object") == "shared" { ctx.workers() } else { 1 });
    let _others = crowd(ctx, scratch, others)?;
    let ring = RefCell::new(Ring::new(ctx, scratch, maker)?);
    for _ in 0..POPULATION {
        ring.borrow_mut().make()?;
    }
    let (done_made, done_removed) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::staged(made, |iters, watch| {
            let mut ring = ring.borrow_mut();
            for _ in 0..iters {
                watch.start();
                ring.make()?;
                watch.stop();
                done_made.add(1);
                if ring.there() > POPULATION + SLACK {
                    ring.remove()?;
                }
            }
            Ok(())
        }),
        Variant::staged(removed, |iters, watch| {
            let mut ring = ring.borrow_mut();
            for _ in 0..iters {
                if ring.there() < POPULATION - SLACK {
                    ring.make()?;
                }
                watch.start();
                ring.remove()?;
                watch.stop();
                done_removed.add(1);
            }
            Ok(())
        }),
    ])?;
    done_made.prove_of(ctx, made, "names made within the watch, per name credited");
    done_removed.prove_of(ctx, removed, "names removed within the watch, per name credited");
    let ring = ring.into_inner();
    let share = ring.whole()? as f64 / ring.there() as f64;
    ctx.prove("names with what was made under them, of those that should be there", "1", share, 1.0..=1.0);
    Ok(())
}

struct Ring<'s, M> {
    scratch: &'s Scratch,
    maker: &'s M,
    prefix: String,
    names: Vec<CString>,
    made: u64,
    removed: u64,
}

impl<'s, M: Maker> Ring<'s, M> {
    fn new(ctx: &Ctx, scratch: &'s Scratch, maker: &'s M) -> Result<Ring<'s, M>, BenchError> {
        let prefix = format!("ring-{}-", ctx.member());
        // One more than exist at a time, so that a name is free when it is used again.
        let names: Result<_, BenchError> =
            (0..=POPULATION + SLACK + 1).map(|n| name(format!("{prefix}{n:03}"))).collect();
        Ok(Ring { scratch, maker, prefix, names: names?, made: 0, removed: 0 })
    }

    /// The number of names that exist.
    fn there(&self) -> u64 {
        self.made - self.removed
    }

    #[inline]
    fn make(&mut self) -> Outcome {
        let name = &self.names[self.made as usize % self.names.len()];
        self.made += 1;
        self.maker.make(self.scratch.dir(), name)
    }

    #[inline]
    fn remove(&mut self) -> Outcome {
        let name = &self.names[self.removed as usize % self.names.len()];
        self.removed += 1;
        self.maker.remove(self.scratch.dir(), name)
    }

    /// The number of names in the directory that lead to what was created; an error if one leads to
    /// something else.
    fn whole(&self) -> Result<u64, BenchError> {
        let mut whole = 0;
        for entry in std::fs::read_dir(self.scratch.path()).context("reading the directory")? {
            let entry = entry.context("reading the directory")?;
            if !entry.file_name().as_encoded_bytes().starts_with(self.prefix.as_bytes()) {
                continue;
            }
            if !self.maker.is_whole(&entry.path()).context("looking at what was made")? {
                return Err(BenchError::Failed(format!("{}: not what was made", entry.path().display())));
            }
            whole += 1;
        }
        Ok(whole)
    }
}
