//! A lock that several threads or processes want at the same time.
//!
//! **Measures:** The time from one acquisition to the next, whoever makes them: all members
//! together, each of which takes the lock, adds to what it protects, gives it back, and begins
//! again. `rate` is its inverse; `alone` is a turn of one member while the others sleep. `handover`
//! is the time from just before the lock is given back until a member that was already waiting has
//! it. `wait_p999` and `longest_wait` are of the times from asking until having it, of all members.
//! `largest_share` is the part of a window's turns that the luckiest member had: 1/threads is fair.
//!
//! **Does not measure:** Locks that nobody waits for (`lock.mutex`, `lock.posix_sem`, `lock.file`),
//! hand-overs by file locks in turn (`ipc.lock_rtt`), read-write locks (`lock.rwlock`), or the
//! mutexes of languages that bring their own.
//!
//! **Method:** Windows of 200 us in which all members are at work from before the first reading of
//! the clock until after the last; the median window counts. Windows in which the kernel took the
//! CPU from a member do not. In every second window each turn reads the clock three times, once
//! with the lock held; waits and hand-overs come from these, without the cost of one reading, and
//! the rest from the others. `section` and `think` are work of that length with and without the
//! lock: dependent additions, in steps of 64. Members take the CPUs of the placement in turn. Where
//! there are more members than CPUs, windows last tens of milliseconds and all count.
//!
//! `mutex` is libc's default kind, `pi` the one with priority inheritance, `spin` is
//! `pthread_spin_lock`, `semaphore` a POSIX semaphore that is 1, `ticket` a ticket lock of our own,
//! `flock` a lock of a whole file, which each member has opened for itself.
//! The proofs: what the lock protects is not atomic and holds exactly as many turns as the members
//! have made; each had the lock; processes ended well.
//!
//! **Calls:**
//! - `kind=mutex task=thread section=0ns think=0ns`: `FUTEX_WAIT_PRIVATE`, not `FUTEX_LOCK_PI`;
//!   between windows members sleep on shared futexes
//! - `kind=mutex task=process section=0ns think=0ns`: `FUTEX_WAIT,`, not `FUTEX_WAIT_PRIVATE`
//! - `kind=pi task=thread section=0ns think=0ns`: `FUTEX_LOCK_PI`, not `FUTEX_WAIT_PRIVATE`
//! - no trace of `section`, `think`: a member works without a call
//!
//! **Pitfalls:**
//! - A mutex may be taken again by the member that gave it back a moment ago, while the one that
//!   waits is on its way into the kernel or out of it. The rate is then high because the share is
//!   not fair: read both.
//! - Members that start one after another have the lock to themselves for a while.
//! - With more members than CPUs, or on one CPU, the scheduler is measured: whoever spins waits for
//!   the end of a time slice. `spin` and `ticket` are `unsupported` on one CPU.
//! - On a busy machine a member that slept waits for its CPU as well, which the longest waits show
//!   first.
//! - A share depends on the length of the window: over seconds it is fairer.
//!
//! **Sources:** will-it-scale `pthread_mutex1` and `pthread_mutex3`, perf bench `futex lock-pi`.
//! See docs/methods/operating-system.md#contended-locks.

use super::contest::{self, Lock, Wait};
use super::members::{PLACEMENTS, TASK, THREADS};
use super::turns::{SECTION, THINK};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::file_lock::{self, LockFile};
use groma_harness::sys::locks::{ContendedMutex, SpinLock};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::splice::memory_file;
use groma_harness::sys::sync::{Key, Semaphores};
use std::hint::spin_loop;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Lock that several threads want: time between acquisitions, hand-over, shares, waits",
        about: about!("contended.rs"),
        iteration: "one acquisition, by any member",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("rate", "acquisitions of all members per second").quantity(Quantity::Rate),
            Output::named("alone", "a turn of one member while the others sleep").detail(),
            Output::named("handover", "from giving the lock back until one that waits has it"),
            Output::named("wait_p999", "99.9th percentile of the waits for the lock"),
            Output::named("longest_wait", "the longest wait of all rounds").max("longest_wait"),
            Output::named("largest_share", "share of the luckiest member in a window; 1/threads is fair")
                .quantity(Quantity::Ratio),
        ],
        params: &[
            Param::word("kind", "what kind of lock", &["mutex", "spin", "ticket", "pi", "semaphore", "flock"])
                .quick(&["mutex"]),
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
        ..Info::new("lock.contended")
    },
    run: Run::Here(run),
};

impl Lock for ContendedMutex {
    #[inline(always)]
    fn hold<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        self.hold(section)
    }
}

impl Lock for SpinLock {
    #[inline(always)]
    fn hold<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        self.hold(section)
    }
}

/// A semaphore as a lock: at 1 while nobody has it.
struct Single(Semaphores);

impl Single {
    fn new(key: Key) -> io::Result<Single> {
        let semaphores = Semaphores::of(key, 1)?;
        semaphores.post(0)?;
        Ok(Single(semaphores))
    }
}

impl Lock for Single {
    #[inline(always)]
    fn hold<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        self.0.wait(0)?;
        let value = section();
        self.0.post(0)?;
        Ok(value)
    }
}

/// A lock that serves members in the order in which they came, and whose waiters only look. Both
/// numbers are on one line, as usual.
struct Ticket(Shared<AtomicU32>);

impl Ticket {
    fn new() -> io::Result<Ticket> {
        Shared::new(2).map(Ticket)
    }
}

impl Lock for Ticket {
    #[inline(always)]
    fn hold<T>(&self, _: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        let [next, served] = [&self.0[0], &self.0[1]];
        let own = next.fetch_add(1, Relaxed);
        while served.load(Acquire) != own {
            spin_loop();
        }
        let value = section();
        served.store(own.wrapping_add(1), Release);
        Ok(value)
    }
}

/// A lock of a whole file, which belongs to an open file: each member has opened it for itself.
struct WholeFile(Vec<LockFile>);

impl WholeFile {
    /// A file in memory: the kernel keeps these locks itself, whatever holds the file's bytes.
    fn new(members: u64) -> io::Result<WholeFile> {
        let file = memory_file()?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        (0..members)
            .map(|_| LockFile::open(path.as_ref(), file_lock::Kind::Whole))
            .collect::<io::Result<_>>()
            .map(WholeFile)
    }
}

impl Lock for WholeFile {
    #[inline(always)]
    fn hold<T>(&self, member: u32, section: impl FnOnce() -> T) -> io::Result<T> {
        let file = &self.0[member as usize];
        file.lock(0)?;
        let value = section();
        file.unlock(0)?;
        Ok(value)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    if ["spin", "ticket"].contains(&kind) && proofs::on_one_cpu(ctx) {
        return Err(BenchError::Unsupported(
            "members that spin on one CPU wait for the scheduler, not for each other".to_owned(),
        ));
    }
    const ALL_WRITE: u64 = 100;
    let times = match kind {
        "mutex" => contest::run(ctx, |key| ContendedMutex::new(key, false), ALL_WRITE),
        "pi" => contest::run(ctx, |key| ContendedMutex::new(key, true), ALL_WRITE),
        "spin" => contest::run(ctx, SpinLock::new, ALL_WRITE),
        "ticket" => contest::run(ctx, |_| Ticket::new(), ALL_WRITE),
        "flock" => {
            let members = ctx.int("threads");
            contest::run(ctx, |_| WholeFile::new(members), ALL_WRITE)
        }
        _ => contest::run(ctx, Single::new, ALL_WRITE),
    }?;
    if let Some(times) = times {
        let [waits, hand_overs] = [Wait::Write, Wait::HandOver].map(|wait| &times[wait as usize]);
        contest::state_time(ctx, "wait_p999", waits, 0.999, "no member waited");
        contest::state_time(ctx, "longest_wait", waits, 1.0, "no member waited");
        let nobody = "no member was waiting when another one gave the lock back";
        contest::state_time(ctx, "handover", hand_overs, 0.5, nobody);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_failing;

    /// Rounds of each kind: on a busy machine members are often not at work together.
    const ROUNDS: u32 = 3;

    /// A lock that lets two members in loses turns, in some rounds of several. Those of
    /// `tests/credit` are on one CPU, where locks that spin are not measured.
    #[test]
    fn no_kind_of_lock_loses_a_turn_and_shares_fit_rates() {
        for (kind, threads) in
            [("mutex", "2"), ("spin", "2"), ("ticket", "2"), ("pi", "2"), ("semaphore", "3"), ("flock", "3")]
        {
            for round in 0..ROUNDS {
                let tried = match try_failing(&BENCH, &[("kind", kind), ("threads", threads)], None) {
                    Err(BenchError::Unsupported(why)) => {
                        println!("skipped: {kind}: {why}");
                        break;
                    }
                    tried => tried.expect("members"),
                };
                assert_eq!(tried.proven("turns that the lock did not count"), 0.0, "{kind}, round {round}");
                let Some(share) = tried.stated("largest_share") else { continue };
                let fair = 1.0 / threads.parse::<f64>().expect("a number");
                assert!((fair..=1.0).contains(&share), "{kind}: {share}");
                let product = tried.stated("").expect("stated as well") * tried.stated("rate").expect("stated as well");
                assert!((product - 1.0).abs() < 1e-9, "{kind}: {product}");
            }
        }
    }
}
