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
pub(super) const MAX_NAMES: u64 = POPULATION + SLACK + 1;

/// Creates and removes a name.
pub(super) trait Maker {
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome;
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome;
    /// Whether the name leads to what was created.
    fn is_whole(&self, path: &Path) -> std::io::Result<bool>;
}

/// Measures the two operations of a maker, what makes and what removes, as the series of these
/// names, in a directory of `entries` names.
pub(super) fn measure(
    ctx: &mut Ctx,
    scratch: &Scratch,
    entries: u64,
    maker: &impl Maker,
    [made, removed]: [&'static str; 2],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::OBJECT;
    use crate::scratch::testing::Place;
    use groma_harness::sys::clock::{Clock, Monotonic};
    use groma_harness::testing::{assert_exceeds, try_failing};
    use std::collections::VecDeque;

    /// Makes nothing, takes its time to remove it, and remembers what there would be.
    #[derive(Default)]
    struct Slow(RefCell<Log>);

    #[derive(Default)]
    struct Log {
        there: VecDeque<CString>,
        /// How many there were at the first removal.
        at_first: Option<usize>,
        /// How many there were after each operation.
        counts: Vec<usize>,
        not_the_oldest: usize,
    }

    impl Maker for Slow {
        fn make(&self, _: BorrowedFd<'_>, name: &CStr) -> Outcome {
            let log = &mut *self.0.borrow_mut();
            log.there.push_back(name.to_owned());
            log.counts.push(log.there.len());
            Ok(())
        }

        fn remove(&self, _: BorrowedFd<'_>, name: &CStr) -> Outcome {
            const LONG_NS: u64 = 10_000;
            let log = &mut *self.0.borrow_mut();
            log.at_first.get_or_insert(log.there.len());
            log.not_the_oldest += usize::from(log.there.pop_front().as_deref() != Some(name));
            log.counts.push(log.there.len());
            let end = Monotonic.now_ns() + LONG_NS;
            while Monotonic.now_ns() < end {
                std::hint::spin_loop();
            }
            Ok(())
        }

        fn is_whole(&self, _: &Path) -> std::io::Result<bool> {
            Ok(true)
        }
    }

    fn run(ctx: &mut Ctx) -> Outcome {
        let scratch = Scratch::new(ctx)?;
        let maker = Slow::default();
        measure(ctx, &scratch, POPULATION, &maker, ["made", "removed"])?;
        let log = maker.0.into_inner();
        ctx.fact("at first", log.at_first.unwrap_or(0));
        ctx.fact("not the oldest", log.not_the_oldest);
        // The names of the beginning are made one after the other.
        let later = log.counts.get(POPULATION as usize..).unwrap_or(&[]);
        ctx.fact("least", later.iter().min().unwrap_or(&0));
        ctx.fact("most", later.iter().max().unwrap_or(&0));
        Ok(())
    }

    /// Names come and go in their order, and each series has the time of its own operation. Timed
    /// alone, as many are removed as are made; in intervals, one side gets ahead of the other. That
    /// nothing was made breaks a proof.
    #[test]
    fn names_are_made_and_the_oldest_removed_among_as_many_as_are_said() {
        let place = Place::new();
        for timing in [Timing::Each, Timing::Batched] {
            let info = Info { timing, params: &[OBJECT], needs: &[Need::WorkDir], ..Info::new("file.ring") };
            let bench = Benchmark { info, run: Run::Here(run) };
            assert_exceeds(2.0, || {
                let tried = try_failing(&bench, &[], Some(place.path())).expect("a directory");
                let fact = |key| tried.result.fact(key).and_then(|text| text.parse::<u64>().ok()).expect("a number");
                assert!(fact("at first") >= POPULATION, "{timing:?}: {}", fact("at first"));
                assert_eq!(fact("not the oldest"), 0);
                assert!(fact("least") >= POPULATION - SLACK - 1 && fact("most") <= MAX_NAMES, "{timing:?}");
                let share = tried.result.output.proofs.iter().find(|proof| proof.name.contains("that should be there"));
                assert!(share.is_some_and(|share| !share.holds));
                tried.least_ns("removed") / tried.least_ns("made")
            });
        }
    }
}
