//! A signal to a thread that runs on another CPU: until its handler has run.
//!
//! **Measures:** `tgkill` to a thread of the same process that computes on another CPU, from just
//! before the call until the caller sees what the handler has written: the signal queued, the other
//! CPU interrupted, the frame put on the stack, the handler entered, and one cache line back. So a
//! runtime stops a thread that does not stop by itself, and a profiler looks at one. `call` is the
//! call alone, until it returns.
//!
//! **Does not measure:** A signal to a thread that sleeps (`signal.rtt`) or to oneself
//! (`signal.catch`), what the interrupted thread loses, or the return from the handler.
//!
//! **Method:** The thread counts without end. Before each signal it must be seen to go on, so it is
//! in user mode and its last handler has returned. The caller spins until the handler has run. The
//! call alone is timed in another loop, in turn with the first.
//!
//! **Proofs:** The handler has run once for each signal, and the thread went on before each. By
//! `/proc/interrupts`, where it counts them, its CPU was interrupted as often.
//!
//! **Pitfalls:**
//! - On one CPU the signal would wait for the end of the time slice: there is no such placement.
//! - A guest's interrupt to another of its CPUs can be two exits to the hypervisor, one to send it
//!   and one to receive it, and a host that has taken the other CPU away is waited for.
//! - A thread in a system call handles the signal when that ends or is interrupted.
//!
//! **Sources:** The Go runtime preempts its threads so (`SIGURG`, since 1.14). See
//! docs/methods/operating-system.md#signals.

use crate::cpu::other_cpus;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::signals::{self, Target, USER_1};
use groma_harness::sys::{affinity, counters};
use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A signal to a thread that runs on another CPU, until its handler has run",
        about: about!("interrupt.rs"),
        iteration: "one tgkill, one run of the handler on the other CPU",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("call", "the call itself, until it returns").detail()],
        scaling: Scaling::alone("it is about two CPUs"),
        placements: &[Placement::SameLlc, Placement::Smt, Placement::CrossLlc, Placement::CrossNode],
        needs: &[Need::Cpus(2)],
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("signal.interrupt")
    },
    run: Run::Here(run),
};

/// Pauses in one turn of the thread: enough not to disturb the caller, which reads its counter.
const PAUSES: u32 = 8;
/// How long to wait for the other CPU, in nanoseconds.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The thread that is interrupted.
struct Runner {
    turns: Shared<AtomicU64>,
    target: OnceLock<Target>,
}

impl Runner {
    /// The life of the thread: it counts.
    fn run(&self, control: &Control) {
        self.target.get_or_init(Target::own);
        control.arrive();
        while control.command().load(Relaxed) != LEAVE {
            for _ in 0..PAUSES {
                spin_loop();
            }
            self.turns[0].fetch_add(1, Relaxed);
        }
    }

    fn turns(&self) -> u64 {
        self.turns[0].load(Relaxed)
    }
}

/// Spins until a count is no longer the one before.
fn until_changed(what: &str, before: u64, count: impl Fn() -> u64) -> Outcome {
    /// Looks between two readings of the clock.
    const LOOKS: u32 = 4096;
    let since = Monotonic.now_ns();
    loop {
        for _ in 0..LOOKS {
            if count() != before {
                return Ok(());
            }
            spin_loop();
        }
        if Monotonic.now_ns().saturating_sub(since) > PATIENCE_NS {
            return Err(BenchError::Failed(format!("{what} for 10 s")));
        }
    }
}

/// The one that sends.
struct Sender<'a> {
    runner: &'a Runner,
    target: Target,
}

impl Sender<'_> {
    /// Sends one signal to the thread while it runs. Returns when the call began, when it returned,
    /// and when the handler was seen to have run.
    fn send(&self) -> Result<[u64; 3], BenchError> {
        until_changed("the other CPU did not get to run", self.runner.turns(), || self.runner.turns())?;
        let caught = signals::caught();
        let sent = Monotonic.now_ns();
        let refused = self.target.send(USER_1) != 0;
        let returned = Monotonic.now_ns();
        if refused {
            return Err(BenchError::Failed("tgkill refused to send a signal to a thread".to_owned()));
        }
        until_changed("a signal was not handled", caught, signals::caught)?;
        Ok([sent, returned, Monotonic.now_ns()])
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let there = other_cpus(ctx, 1)?[0];
    signals::count_arrivals(USER_1).context("installing the handler")?;
    let runner = Runner { turns: Shared::new(1).context("sharing memory")?, target: OnceLock::new() };
    let runner = Arc::new(runner);
    let theirs = Arc::clone(&runner);
    let mut others = Partners::new()?;
    let place = ctx.peer_place()?;
    // One that cannot be placed arrives without a target.
    others.spawn(move |control| {
        let placed = place.occupy(|| affinity::pin(there).map(|()| theirs.run(control)));
        if placed.and_then(|ran| ran).is_err() {
            control.arrive();
        }
    })?;
    others.all_ready()?;
    let target = *runner.target.get().ok_or_else(|| BenchError::Failed("the thread could not be placed".to_owned()))?;
    let sender = Sender { runner: &runner, target };

    let (caught, turns) = (signals::caught(), runner.turns());
    let interrupts = counters::reschedules(&[there]);
    ctx.measure_variants(&mut [
        Variant::staged("", |iters, watch| {
            for _ in 0..iters {
                let [sent, _, handled] = sender.send()?;
                watch.span(sent, handled);
            }
            Ok(())
        }),
        Variant::staged("call", |iters, watch| {
            for _ in 0..iters {
                let [sent, returned, _] = sender.send()?;
                watch.span(sent, returned);
            }
            Ok(())
        }),
    ])?;
    let interrupted = counters::reschedules(&[there]).zip(interrupts).map(|(now, before)| now.saturating_sub(before));
    let (caught, turns) = (signals::caught() - caught, runner.turns() - turns);
    others.end()?;

    work::once_each(ctx, "signals handled per signal credited", caught, ctx.iterations());
    let turns = turns as f64 / caught.max(1) as f64;
    ctx.prove("turns of the thread per signal", "1 or more", turns, 1.0..);
    match interrupted {
        Some(interrupted) => {
            let per_signal = interrupted as f64 / caught.max(1) as f64;
            ctx.prove("interrupts that its CPU received per signal", "1 (0.9 or more)", per_signal, 0.9..);
        }
        None => ctx.note("interrupts are not counted here"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A count that stands still ends the wait, one that changes ends it well.
    #[test]
    fn a_wait_ends_with_the_change() {
        let count = AtomicU64::new(3);
        let next = || count.fetch_add(1, Relaxed);
        assert!(until_changed("nothing", 3, next).is_ok());
        assert_eq!(count.load(Relaxed), 5);
    }
}
