//! Handing over the CPU with `sched_yield`: two threads on one CPU, of which neither ever sleeps.
//!
//! **Measures:** One hand-over: the call, the scheduler's choice of the other thread, and the
//! switch. Nobody goes to sleep and nobody is woken, so this is the cheapest possible switch. It is
//! the third estimator beside `ctx.switch` and `ctx.futex`, whose net values should not lie below
//! this one's.
//!
//! **Does not measure:** A yield with nobody to yield to, except as the control.
//!
//! **Method:** This thread yields until the other one has run, and the other one yields at once:
//! two hand-overs. The control (`alone`) is the same call while the other thread sleeps, so it
//! returns to its caller. The difference (`net`) is the switch. Only threads are measured: the CPU
//! time of a process includes that of its threads, so an interval in which a third task used the
//! CPU is detected and dropped. A yield to a third task costs the whole time slice of that task.
//!
//! **Calls:**
//! - `FUTEX_WAIT_PRIVATE`; `alone` has nobody to yield to, since the other thread sleeps
//!
//! **Proofs:** A switch is not taken for granted. A scheduler may return to the caller, as EEVDF
//! does if the other thread is not due yet (Linux 6.18 switched at every yield on the development
//! machines). The word that only the other thread writes proves each hand-over. Where the kernel
//! counts less than 0.95 switches per yield, the result is `unsupported` and states the ratio: the
//! time would be a mixture of two costs in unknown proportions.
//!
//! **Pitfalls:**
//! - The time of a loop of yields divided by their number proves nothing: the two threads may run
//!   their loops one after the other.
//! - On two CPUs nothing is handed over.
//! - Under SCHED_FIFO a yield reaches only tasks of the same priority.
//! - Beside a busy task a yield costs a time slice, and an interval of hundreds of them seconds. A
//!   round that spends two seconds in such intervals ends, and says so.
//!
//! **Sources:** will-it-scale `sched_yield` has one task and nobody to yield to; perf bench has no
//! such test. See docs/methods/operating-system.md#context-switches.

use super::tasks::Tasks;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::futex_word::Scope;
use groma_harness::sys::sched::yield_now;
use groma_harness::sys::shared::Shared;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Handing over the CPU between two threads by sched_yield, one way",
        about: about!("yield.rs"),
        iteration: "one round trip: two yields, two switches",
        outputs: &[
            Output::MAIN.series("turns"),
            Output::named("alone", "control: sched_yield with nobody to yield to").detail(),
            Output::named("net", "the switch: a yield to the other thread less one to nobody")
                .difference("turns", "alone"),
        ],
        scaling: Scaling::processes("two threads of one process each: as threads they would share its CPU clock"),
        placements: &[Placement::SameCpu],
        interference: Interference::Tasks,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("ctx.yield")
    },
    run: Run::Here(run),
};

/// Hand-overs per iteration.
const TURNS: f64 = 2.0;
/// The fewest switches per yield for which the time of a yield is that of a switch.
const SWITCHING: f64 = 0.95;
/// Fewer switches per yield than this mean that the loop does not yield at all.
const HARDLY_EVER: f64 = 0.01;

/// An interval this long has given the CPU to a third task: it is meant to take 0.2 ms.
const LONG_NS: u64 = 50_000_000;
/// So much of a round is spent in long intervals before it ends: a fifth of the deadline of ten
/// seconds, which rounds exceeded on two CPUs with four busy loops.
const PATIENCE_NS: u64 = 2_000_000_000;

/// The time spent in long intervals, in nanoseconds.
#[derive(Default)]
struct Lost(Cell<u64>);

impl Lost {
    /// Counts an interval.
    ///
    /// # Errors
    /// When patience is over.
    fn count(&self, interval_ns: u64) -> Result<(), BenchError> {
        if interval_ns > LONG_NS {
            self.0.set(self.0.get() + interval_ns);
        }
        if self.is_too_much() { Err(BenchError::Failed("other tasks take the CPU".to_owned())) } else { Ok(()) }
    }

    fn is_too_much(&self) -> bool {
        self.0.get() > PATIENCE_NS
    }
}

/// Commands for the other thread.
const RUN: u32 = 0;
const SLEEP: u32 = 1;
const LEAVE: u32 = 2;

/// State shared by both threads.
struct Words(Shared<AtomicU32>);

impl Words {
    fn command(&self) -> &AtomicU32 {
        &self.0[0]
    }

    /// How often the other thread has run; only that thread writes it.
    fn ran(&self) -> &AtomicU32 {
        &self.0[1]
    }

    /// The last command that the other thread has seen.
    fn last_command(&self) -> &AtomicU32 {
        &self.0[2]
    }

    /// The body of the other thread: yields each time it gets the CPU, unless it has to sleep.
    fn yield_back(&self) -> i32 {
        let mut ran = 0u32;
        loop {
            let command = self.command().load(SeqCst);
            self.last_command().store(command, SeqCst);
            match command {
                RUN => {
                    ran = ran.wrapping_add(1);
                    self.ran().store(ran, SeqCst);
                    yield_now();
                }
                SLEEP => drop(Scope::Private.wait_while(self.command(), SLEEP)),
                _ => return 0,
            }
        }
    }

    /// Gives the other thread a command and yields until the thread has seen it.
    fn command_and_wait(&self, command: u32) {
        self.command().store(command, SeqCst);
        Scope::Private.wake_one(self.command());
        while self.last_command().load(SeqCst) != command {
            yield_now();
        }
    }

    /// Yields until the other thread has run; returns the number of yields.
    #[inline]
    fn there_and_back(&self) -> u64 {
        let before = self.ran().load(SeqCst);
        let mut yields = 0;
        while self.ran().load(SeqCst) == before {
            yield_now();
            yields += 1;
        }
        yields
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    super::on_one_cpu(ctx)?;
    let words = Arc::new(Words(Shared::new(3).context("sharing three words")?));
    let mut other = Tasks::of("thread");
    let own = Arc::clone(&words);
    other.start(ctx, &[], move || own.yield_back())?;

    let (mut trips, mut yields, mut switches) = (0u64, 0u64, 0u64);
    let (mut ran_alone, mut yields_alone) = (0, 0);
    let lost = Lost::default();
    let outcome = ctx.measure_variants(&mut [
        Variant::staged("turns", |iters, watch| {
            let begun = watch.now_ns();
            words.command_and_wait(RUN);
            let before = Usage::thread();
            watch.start();
            for _ in 0..iters {
                yields += words.there_and_back();
                trips += 1;
            }
            watch.stop();
            switches += super::switches([&Usage::thread().since(&before)].into_iter());
            lost.count(watch.now_ns() - begun)
        })
        .per_iter(TURNS),
        Variant::staged("alone", |iters, watch| {
            let begun = watch.now_ns();
            words.command_and_wait(SLEEP);
            // It has seen the command, and goes to sleep the next time it has the CPU.
            yield_now();
            let before = words.ran().load(SeqCst);
            watch.start();
            for _ in 0..iters {
                yield_now();
                yields_alone += 1;
            }
            watch.stop();
            ran_alone += u64::from(words.ran().load(SeqCst).wrapping_sub(before));
            lost.count(watch.now_ns() - begun)
        }),
    ]);
    words.command().store(LEAVE, SeqCst);
    Scope::Private.wake_one(words.command());
    let ended = other.wait()?;
    if lost.is_too_much() {
        ctx.unresolved("", "other tasks keep this CPU busy, so that a yield gives it to them");
        return Ok(());
    }
    outcome?;

    work::once_each(ctx, "turns there and back per turn credited", trips, ctx.iterations_of("turns"));
    work::once_each(ctx, "yields alone per yield credited", yields_alone, ctx.iterations_of("alone"));
    if let Some(per_yield) = switches_per_yield(trips, yields, switches)? {
        ctx.prove("context switches per yield of this thread", "1 (0.95 or more)", per_yield, SWITCHING..);
    } else {
        ctx.note("the kernel counts no switches; that the other thread ran at each yield is proven by what it wrote");
    }
    // More than one yield per round trip with a switch each: the CPU went to a third task.
    ctx.fact("yield.yields_per_trip", yields as f64 / trips.max(1) as f64);
    // Each turn of the other thread ends with one switch.
    if switches > 0 {
        let theirs = super::switches(ended.iter().map(|(_, usage)| usage)) as f64 / trips.max(1) as f64;
        ctx.prove("context switches of the other thread per trip", "1 (0.95 or more)", theirs, SWITCHING..);
    }
    ctx.prove("turns of the other thread while it slept", "0", ran_alone as f64, 0.0..=0.0);
    Ok(())
}

/// Checks that the time of a yield is that of a switch. Returns the switches that the kernel
/// counted per yield, or `None` where it does not count switches and the other thread ran at every
/// yield, so that no count is needed.
fn switches_per_yield(trips: u64, yields: u64, switches: u64) -> Result<Option<f64>, BenchError> {
    let per_yield = switches as f64 / yields.max(1) as f64;
    let futile = yields as f64 * SWITCHING > trips as f64;
    match switches {
        0 if futile => Err(BenchError::Unsupported(
            "no switches are counted, and some yields did not reach the other thread".to_owned(),
        )),
        0 => Ok(None),
        // No scheduler behaves like that with two threads on one CPU: the loop is wrong.
        _ if per_yield < HARDLY_EVER => Err(BenchError::Failed(format!("{yields} yields, and {switches} switches"))),
        _ if per_yield < SWITCHING => Err(BenchError::Unsupported(format!(
            "the scheduler returns to the task that yields: {per_yield:.3} switches per sched_yield"
        ))),
        _ => Ok(Some(per_yield)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::thread;

    #[test]
    fn only_yields_that_switched_are_timed() {
        assert_eq!(switches_per_yield(100, 100, 100), Ok(Some(1.0)));
        // The CPU went to a third task twenty times.
        assert_eq!(switches_per_yield(100, 120, 120), Ok(Some(1.0)));
        assert!(
            matches!(switches_per_yield(100, 200, 100), Err(BenchError::Unsupported(why)) if why.contains("0.500"))
        );
        assert!(matches!(switches_per_yield(1, 100_000, 1), Err(BenchError::Failed(_))));
        assert_eq!(switches_per_yield(100, 100, 0), Ok(None));
        assert!(matches!(switches_per_yield(100, 200, 0), Err(BenchError::Unsupported(_))));
    }

    #[test]
    fn long_intervals_are_borne_for_a_while() {
        let lost = Lost::default();
        for _ in 0..100_000 {
            assert_eq!(lost.count(LONG_NS), Ok(()), "not one of these is long");
        }
        for _ in 0..4 {
            assert_eq!(lost.count(PATIENCE_NS / 4), Ok(()));
        }
        assert!(lost.count(LONG_NS * 2).is_err() && lost.is_too_much());
        assert!(lost.count(0).is_err(), "and it stays so");
    }

    #[test]
    fn the_other_thread_runs_only_when_told() {
        let words = Arc::new(Words(Shared::new(3).expect("memory")));
        let own = Arc::clone(&words);
        let other = thread::spawn(128 << 10, move || own.yield_back()).expect("a thread");
        words.command_and_wait(RUN);
        assert!(words.there_and_back() > 0);
        words.command_and_wait(SLEEP);
        let slept = words.ran().load(SeqCst);
        for _ in 0..1000 {
            yield_now();
        }
        assert_eq!(words.ran().load(SeqCst), slept);
        words.command().store(LEAVE, SeqCst);
        Scope::Private.wake_one(words.command());
        assert_eq!(other.join().expect("no panic"), 0);
    }
}
