//! Round trip of a token between two processes over file locks.
//!
//! **Measures:** Contended locks: each side sleeps for a lock that the other holds until it is
//! released. One round trip is two hand-overs, with one lock and one unlock on each side.
//!
//! **Does not measure:** An uncontended lock (`lock.file`), or many waiters for one lock.
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`), with three locks. The side whose turn it is holds two
//! of them; the peer holds the third and sleeps for one of the two. Releasing that lock
//! passes the turn, and its new owner then holds two. No lock is requested again before the other
//! side has had it, so every hand-over has to happen, whichever side runs first.
//!
//! With two files, as in lmbench, the side that releases a lock can take it again before the other
//! has woken up, and counts hand-overs that never happened: a script that did so on one CPU counted
//! 20,000 iterations on one side and 5,220 on the other.
//!
//! The locks are on three files, on the whole file or on its first byte, depending on the kind. The
//! files are empty. Their file system is recorded, since it may implement locks itself (NFS, FUSE).
//!
//! **Pitfalls:**
//! - Record locks belong to a process, the other kinds to an open file, so each side opens the
//!   files itself.
//! - Closing any descriptor of a file releases all record locks on it.
//! - The value is a whole round trip; lmbench prints half of one.
//!
//! **Sources:** lmbench3 `lat_fcntl`. See docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH};
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
        placements: NEAR_PLACEMENTS,
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("ipc.lock_rtt")
    },
    run: Run::Here(run),
};

/// An end: the locks, the one that it releases next and the one that it waits for next.
struct Locks {
    files: [LockFile; 3],
    give: usize,
    take: usize,
}

impl Locks {
    /// Opens the files without locking any. The side that begins releases the first lock and waits
    /// for the second.
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
