//! A read-write lock of the C library that several threads or processes want at the same time.
//!
//! **Measures:** The time from one acquisition to the next, whoever makes them, where `writes` of
//! 100 turns hold the lock alone and the others share it. `rate` is its inverse; `alone` is a turn
//! of one member while the others sleep, and `largest_share` the luckiest member's part of a
//! window's turns. `longest_write_wait` and `longest_read_wait` are the longest times from asking
//! for the lock until having it: readers that always find readers inside may keep a writer waiting.
//!
//! **Does not measure:** Locks that are always held alone (`lock.contended`), or sequence locks and
//! RCU, whose readers write nothing.
//!
//! **Method:** As `lock.contended`, in the same windows. Turns that write are evenly spread. A
//! reader writes as well: it counts itself in the lock's word, so readers on two CPUs pass a cache
//! line on although none waits. That is why two readers may be slower than one.
//!
//! The proofs: what the lock protects holds exactly as many turns as the members have written; no
//! reader found a writer inside; each member had the lock.
//!
//! **Calls:**
//! - no trace of `section`, `think`: a member works without a call
//! - no trace of `writes`: readers and writers sleep by the same call
//!
//! **Pitfalls:**
//! - glibc prefers readers by default, musl serves whoever comes first.
//! - A high rate with a large share: see `lock.contended`.
//!
//! **Sources:** No suite in the lineage measures it by its share of writes. See
//! docs/methods/operating-system.md#contended-locks.

use super::contest::{self, Lock, Wait};
use super::members::{PLACEMENTS, TASK, THREADS};
use super::turns::{SECTION, THINK};
use groma_harness::prelude::*;
use groma_harness::sys::locks::ReadWriteLock;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Read-write lock that several threads want, by its share of writes",
        about: about!("rwlock.rs"),
        iteration: "one acquisition, by any member",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("rate", "acquisitions of all members per second").quantity(Quantity::Rate),
            Output::named("alone", "a turn of one member while the others sleep").detail(),
            Output::named("longest_write_wait", "the longest wait of a writer, of all rounds")
                .max("longest_write_wait"),
            Output::named("longest_read_wait", "the longest wait of a reader, of all rounds").max("longest_read_wait"),
            Output::named("largest_share", "share of the luckiest member in a window; 1/threads is fair")
                .quantity(Quantity::Ratio),
        ],
        params: &[
            Param::count("writes", "turns of 100 that hold the lock alone").quick(&["1"]).full(&["0", "10", "50"]),
            THREADS,
            SECTION,
            THINK,
            TASK,
        ],
        scaling: Scaling::alone("it has members of its own (threads=2)"),
        placements: PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("lock.rwlock")
    },
    run: Run::Here(run),
};

impl Lock for ReadWriteLock {
    #[inline(always)]
    fn hold<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        self.write(section)
    }

    #[inline(always)]
    fn share<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        self.read(section)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let writes = ctx.int("writes");
    if writes > 100 {
        return Err(BenchError::Unsupported(format!("{writes} writes of 100 turns: at most 100")));
    }
    let times = contest::run(ctx, ReadWriteLock::new, writes)?;
    if let Some(times) = times {
        contest::state_time(ctx, "longest_write_wait", &times[Wait::Write as usize], 1.0, "no member wrote");
        contest::state_time(ctx, "longest_read_wait", &times[Wait::Read as usize], 1.0, "no member read");
    }
    Ok(())
}
