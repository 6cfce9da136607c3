//! A condition variable: from the call that wakes until those it wakes have run.
//!
//! **Measures:** `pthread_cond_signal` to one of the threads that wait, or
//! `pthread_cond_broadcast` to all, from just before the call until the last one that it wakes
//! has the mutex and has read the clock. With a broadcast the threads pass the mutex on, one after
//! another. `call` is the time until the call itself returns.
//!
//! **Does not measure:** A futex without a mutex (`sched.wakeup`, `ipc.futex_rtt`), or what the
//! caller waits for the mutex.
//!
//! **Method:** The caller holds the mutex, finds all threads waiting, changes what they wait for,
//! gives the mutex back, and wakes: a thread woken while the caller has the mutex would sleep once
//! more. The last thread that runs stamps the time on the same clock. Then the caller sleeps until
//! all wait again and, by `/proc`, the kernel has put them to sleep. The call alone is timed in
//! another loop, in turn with the first. The threads take the CPUs of the placement in turn,
//! beginning with that of the peer.
//!
//! The proofs: as many threads have run as the calls were to wake, and no more; by the kernel's
//! count they slept as often.
//!
//! **Calls:**
//! - `call=signal waiters=4`: `FUTEX_WAKE_PRIVATE, 1)`, not `FUTEX_WAKE_PRIVATE, 2147483647)`
//! - `call=broadcast waiters=4`: `FUTEX_WAKE_PRIVATE, 2147483647)`
//! - timed `call=signal waiters=1`: `clock futex clock`; the mutex is taken before the clock is
//!   read
//! - no trace of `call`: both wake by the call that wakes for the mutex
//!
//! **Pitfalls:**
//! - A thread that has not begun to wait is not woken and still runs: the mutex excludes that.
//! - libc may wake a thread for nothing, which then waits again and is not counted.
//! - On an idle CPU the value is that of leaving an idle state.
//!
//! **Sources:** perf bench `futex wake`, libMicro `cascade_cond`. See
//! docs/methods/operating-system.md#contended-locks.

use super::members::{self, PLACEMENTS};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, Partners};
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::Usage;
use groma_harness::sys::locks::Monitor;
use groma_harness::sys::sched;
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::sync::Key;
use groma_harness::sys::thread::Watched;
use std::cell::RefCell;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Condition variable (pthread): signal or broadcast until those woken have run",
        about: about!("condition.rs"),
        iteration: "one call, and all that it wakes",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("call", "the call itself, until it returns").detail()],
        params: &[
            Param::word("call", "wake one waiter, or all", &["signal", "broadcast"])
                .quick(&["signal"])
                .standard(&["broadcast"]),
            Param::count("waiters", "threads that wait")
                .takes(Memory::PerMember(Memory::TASK))
                .quick(&["1"])
                .standard(&["4"])
                .full(&["16"]),
        ],
        scaling: Scaling::alone("it has threads of its own (waiters=2)"),
        placements: PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("lock.condition")
    },
    run: Run::Here(run),
};

// What the mutex protects.

/// The number of the last call.
const CALL: usize = 0;
/// Threads that may still run for it.
const WOKEN: usize = 1;
/// Threads that wait.
const WAITING: usize = 2;
/// Threads that have run, for all calls.
const RAN: usize = 3;
/// When the last one of them ran.
const RAN_NS: usize = 4;
/// Whether all are to leave.
const OVER: usize = 5;
/// Voluntary context switches of the threads, when they leave.
const SLEEPS: usize = 6;
const WORDS: usize = 7;

/// How long a thread may take until it sleeps, in nanoseconds.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The waiters and their caller.
struct Room {
    monitor: Monitor,
    waiters: u64,
    words: Shared<AtomicU64>,
    /// How often all have come to wait.
    all_wait: Word,
    /// The threads, where their states can be seen.
    watched: Mutex<Vec<Watched>>,
}

impl Room {
    fn new(waiters: u32) -> io::Result<Room> {
        Ok(Room {
            monitor: Monitor::new()?,
            waiters: waiters.into(),
            words: Shared::new(WORDS)?,
            all_wait: Word::default(),
            watched: Mutex::default(),
        })
    }

    fn get(&self, word: usize) -> u64 {
        self.words[word].load(Relaxed)
    }

    fn set(&self, word: usize, value: u64) {
        self.words[word].store(value, Relaxed);
    }

    /// Whether the last call has woken all that it was to wake, and they wait again.
    fn is_quiet(&self) -> bool {
        self.get(WAITING) == self.waiters && self.get(WOKEN) == 0
    }

    /// The life of a waiter: it waits, runs, and waits again. For a broadcast it runs once, even if
    /// it is back before another one has run.
    fn wait(&self, control: &Control) -> io::Result<()> {
        if let (Ok(myself), Ok(mut watched)) = (Watched::myself(), self.watched.lock()) {
            watched.push(myself);
        }
        control.arrive();
        let before = Usage::thread();
        let mut last = 0;
        while self.get(OVER) == 0 {
            let mut came = false;
            let may_run = || {
                if !came {
                    came = true;
                    self.set(WAITING, self.get(WAITING) + 1);
                    if self.is_quiet() {
                        self.all_wait.count();
                    }
                }
                (self.get(WOKEN) > 0 && self.get(CALL) != last) || self.get(OVER) > 0
            };
            last = self.monitor.hold_when(may_run, || {
                self.set(WAITING, self.get(WAITING) - 1);
                if self.get(OVER) == 0 {
                    self.set(RAN_NS, Monotonic.now_ns());
                    self.set(WOKEN, self.get(WOKEN) - 1);
                    self.set(RAN, self.get(RAN) + 1);
                }
                self.get(CALL)
            })?;
        }
        self.words[SLEEPS].fetch_add(Usage::thread().since(&before).voluntary, SeqCst);
        Ok(())
    }
}

/// The one that wakes.
struct Caller<'a> {
    room: &'a Room,
    others: &'a mut Partners,
    watched: Vec<Watched>,
    broadcast: bool,
    /// What `all_wait` is while all wait.
    quiet: u32,
}

impl Caller<'_> {
    /// Sleeps until all wait again, then looks until the kernel has put each of them to sleep: one
    /// that was woken before that would have waited for nothing.
    fn await_quiet(&mut self) -> Outcome {
        let before = self.quiet;
        self.quiet = self.others.wait_for(&self.room.all_wait, |now| now != before)?;
        let since = Monotonic.now_ns();
        for thread in &self.watched {
            while !thread.is_asleep().context("looking at a thread that waits")? {
                if Monotonic.now_ns().saturating_sub(since) > PATIENCE_NS {
                    return Err(BenchError::Failed("a thread did not begin to sleep for 10 s".to_owned()));
                }
                // It may need this CPU.
                sched::yield_now();
            }
        }
        Ok(())
    }

    /// Wakes one waiter or all, and sleeps until all wait again. Returns when the call began, when
    /// it returned, and when the last of those that it woke ran.
    fn call(&mut self) -> Result<[u64; 3], BenchError> {
        let Caller { room, broadcast, .. } = *self;
        let quiet = room.monitor.hold(|| {
            room.set(CALL, room.get(CALL) + 1);
            let quiet = room.is_quiet();
            room.set(WOKEN, if broadcast { room.waiters } else { 1 });
            quiet
        });
        if !quiet.context("locking the mutex")? {
            return Err(BenchError::Failed("a thread is not where it waits".to_owned()));
        }
        let called = Monotonic.now_ns();
        let woken = if broadcast { room.monitor.broadcast() } else { room.monitor.signal() };
        let returned = Monotonic.now_ns();
        woken.context("waking")?;
        self.await_quiet()?;
        Ok([called, returned, room.get(RAN_NS)])
    }
}

/// Lets the waiters go when it is dropped, whatever became of the round.
struct Over<'a>(&'a Room);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        // Nobody asks any more whether it worked.
        drop(self.0.monitor.hold(|| self.0.set(OVER, 1)).and_then(|()| self.0.monitor.broadcast()));
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let waiters = match u32::try_from(ctx.int("waiters")) {
        Ok(waiters @ 1..) => waiters,
        _ => return Err(BenchError::Unsupported("one waiter at least".to_owned())),
    };
    let broadcast = ctx.word("call") == "broadcast";
    let room = Arc::new(Room::new(waiters).context("making the condition variable")?);
    let theirs = Arc::clone(&room);
    let mut others = members::start(ctx, waiters + 1, Key::Private, move |control, _| {
        // The caller, which waits for all, finds one missing.
        theirs.wait(control).inspect_err(|_| theirs.all_wait.count())
    })?;
    let over = Over(&room);
    others.all_ready()?;
    let watched = room.watched.lock().map(|mut watched| std::mem::take(&mut *watched)).unwrap_or_default();
    ctx.fact("threads.watched", watched.len());
    let mut caller = Caller { room: &room, others: &mut others, watched, broadcast, quiet: 0 };
    caller.await_quiet()?;
    let caller = RefCell::new(caller);
    ctx.measure_variants(&mut [
        Variant::staged("", |iters, watch| {
            for _ in 0..iters {
                let [called, _, ran] = caller.borrow_mut().call()?;
                watch.span(called, ran);
            }
            Ok(())
        }),
        Variant::staged("call", |iters, watch| {
            for _ in 0..iters {
                let [called, returned, _] = caller.borrow_mut().call()?;
                watch.span(called, returned);
            }
            Ok(())
        }),
    ])?;
    drop(caller);
    drop(over);
    members::end(ctx, others)?;

    let ran = room.get(RAN);
    let each = if broadcast { room.waiters } else { 1 };
    work::once_each(ctx, "threads that ran, per thread woken and credited", ran, ctx.iterations() * each);
    let sleeps = room.words[SLEEPS].load(SeqCst) as f64 / ran.max(1) as f64;
    ctx.prove("times that the threads slept, per thread woken", "1 (0.9 or more)", sleeps, 0.9..);
    Ok(())
}
