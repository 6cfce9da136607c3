//! A token there and back between two processes over locks on files.
//!
//! Measures contended locks: each side sleeps for a lock that the other holds, until it is given back. One round trip
//! is two such hand-overs, and on each side one lock and one unlock. Does not measure a lock that nobody else wants
//! (`lock.file`), nor a crowd that wants the same one.
//!
//! Method: as `ipc.pipe_rtt` (`trip.rs`), with three locks. Whoever has the turn holds two of them, the other one holds
//! the third and sleeps for one of the two; the turn goes over when that one is given back, and its new owner then
//! holds two. No lock is asked for again before the other side has had it, so each hand-over has to happen, whoever
//! runs first. With two files, as in lmbench, whoever gives a lock back can take it again before the other one has
//! woken up, and then counts hand-overs that were none: that scheme in a script on one CPU made 20,000 iterations on
//! one side and 5,220 on the other.
//!
//! The locks are on three files, on the whole of each or on its first byte, as the kind is. The files are empty; their
//! file system is recorded, since it may have locks of its own (NFS, FUSE).
//!
//! Traps: record locks belong to a process, the others to an open file: each side opens the files for itself. Closing
//! any descriptor of a file gives up all record locks on it. The value is a whole round trip; lmbench prints half.
//!
//! Source: lmbench3 `lat_fcntl`.

use super::trip::{self, End};
use super::{NEAR, ONE_PROCESS_EACH};
use crate::lock::{LOCK_KIND, lock_kind};
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::file_lock::{Kind, LockFile};
use std::io;
use std::path::Path;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip between two processes that hand over locks on files",
        about: about!("lock_rtt.rs"),
        iteration: "one round trip: two hand-overs, a lock and an unlock on each side",
        timing: Timing::Each,
        params: &[LOCK_KIND],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR,
        needs: &[Need::WorkDir],
        lineage: &["lmbench3:lat_fcntl"],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("ipc.lock_rtt")
    },
    run: Run::Here(run),
};

/// An end: the locks, which one it gives back next and which one it waits for next.
struct Locks {
    files: [LockFile; 3],
    give: usize,
    take: usize,
}

impl Locks {
    /// The files opened, nothing locked: the side that begins gives back the first lock and waits for the second.
    fn open(dir: &Path, kind: Kind, begins: bool) -> io::Result<Locks> {
        let open = |name| LockFile::open(&dir.join(name), kind);
        let files = [open("0")?, open("1")?, open("2")?];
        Ok(if begins { Locks { files, give: 0, take: 1 } } else { Locks { files, give: 1, take: 0 } })
    }

    fn lock(&self, which: usize) -> io::Result<()> {
        self.files[which].lock(0)
    }
}

impl End for Locks {
    fn message(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        let give = self.give;
        self.give = (give + 2) % 3;
        self.files[give].unlock(0)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        let take = self.take;
        self.take = (take + 2) % 3;
        self.lock(take)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = lock_kind(ctx);
    let scratch = Scratch::new(ctx)?;
    let mut here = Locks::open(scratch.path(), kind, true).context("opening files to lock")?;
    here.lock(0).and_then(|()| here.lock(2)).context("locking files")?;
    let there = || {
        let there = Locks::open(scratch.path(), kind, false)?;
        there.lock(1)?;
        Ok(there)
    };
    trip::measure(ctx, &mut here, there)
}
