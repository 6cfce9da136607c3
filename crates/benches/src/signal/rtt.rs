//! Round trip of a queued signal between two processes.
//!
//! **Measures:** The whole round trip: `rt_tgsigqueueinfo` to the peer and `rt_sigtimedwait`
//! without a time-out on each side, two wake-ups, and two context switches where both sides share a
//! CPU. No handler runs: both sides keep the signal blocked and take it.
//!
//! **Does not measure:** Handlers (`signal.catch`), or one-way latency: half of a round trip is
//! never reported as "one way".
//!
//! **Method:** Each round trip is timed alone. A real-time signal carries a number; each side sends
//! one more than it last received, and stops at any other number, so none is lost or counted twice.
//! The peer's death sends a signal that is waited for as well, so it ends the round at once. The
//! proofs count context switches on both sides and check the peer's exit code.
//!
//! **Pitfalls:**
//! - The placement of the two sides.
//! - Only real-time signals are queued; of two others the second is lost.
//! - For a signal sent to a process the kernel has to choose a thread. Here it is sent to a thread.
//! - libMicro and others send signals to themselves, or divide by a wrong number of them
//!   (docs/methods/pitfalls.md#work-that-was-not-done,
//!   docs/methods/pitfalls.md#timing-and-calibration).
//!
//! **Sources:** See docs/methods/operating-system.md#signals.

use super::PROCESSES;
use crate::proofs;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::sigqueue::{Arrived, Blocked, Task};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a queued signal between two processes",
        about: about!("rtt.rs"),
        iteration: "one round trip: a signal sent and a signal taken on each side",
        timing: Timing::Each,
        scaling: PROCESSES,
        placements: &Placement::TWO_SIDED,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("signal.rtt")
    },
    run: Run::Here(run),
};

/// The number that tells the peer to exit; no count reaches it.
const LEAVE: usize = usize::MAX;
/// The peer's exit code after a number that it did not expect.
const UNEXPECTED: i32 = 2;

/// The peer: answers each number with the next, until it is told to exit.
fn answer(parent: Task, signals: &Blocked) -> i32 {
    let mut expected = 1;
    loop {
        match signals.wait() {
            Ok(Arrived::Value(LEAVE)) => return 0,
            Ok(Arrived::Value(n)) if n == expected => expected += 2,
            Ok(_) => return UNEXPECTED,
            Err(_) => return 1,
        }
        if parent.send(expected - 1).is_err() {
            return 1;
        }
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, answer)
}

/// Measures round trips with a peer that lives so.
fn measure(ctx: &mut Ctx, life: impl FnOnce(Task, &Blocked) -> i32) -> Outcome {
    let signals = Blocked::new().context("blocking the signal")?;
    let own = Task::own();
    let peer = ctx.fork_peer(&[], || life(own, &signals))?;
    let other = Task::main_of(peer.pid());
    let before = Usage::thread();
    let mut sent = 0;
    ctx.measure(|iters| {
        for _ in 0..iters {
            other.send(sent + 1).context("sending a signal")?;
            sent += 2;
            match signals.wait().context("waiting for a signal")? {
                Arrived::Value(n) if n == sent => {}
                Arrived::Value(n) => return Err(BenchError::Failed(format!("signal {n} came instead of {sent}"))),
                Arrived::ChildEnded => return Err(BenchError::Failed("the peer has ended".to_owned())),
            }
        }
        Ok(())
    })?;
    other.send(LEAVE).context("sending the last signal")?;
    let peer = peer.wait().context("waiting for the peer")?;
    proofs::peer_ended_well(ctx, &peer);
    work::once_each(ctx, "signals sent and answered per round trip credited", sent as u64, 2 * ctx.iterations());
    proofs::switches_on_one_cpu(ctx, &before, &peer);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proofs::testing::assert_fails_within_a_minute;

    /// Takes the first signal, and ends without an answer.
    fn die(_: Task, signals: &Blocked) -> i32 {
        i32::from(signals.wait().is_ok())
    }

    /// Answers each number with the one after the next.
    fn skip_one(parent: Task, signals: &Blocked) -> i32 {
        while let Ok(Arrived::Value(n)) = signals.wait()
            && n != LEAVE
            && parent.send(n + 2).is_ok()
        {}
        0
    }

    #[test]
    fn a_round_whose_peer_dies_or_answers_wrongly_ends() {
        let dies = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, die)) };
        let skips = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, skip_one)) };
        for (bench, expected) in [(dies, "the peer has ended"), (skips, "signal 3 came instead of 2")] {
            assert_fails_within_a_minute(&bench, |why| why.contains(expected));
        }
    }

    /// A number that is not the next one ends the peer, and the wait for its answer.
    #[test]
    fn a_lost_signal_is_noticed() {
        let signals = Blocked::new().expect("sigmask");
        let own = Task::own();
        let peer = sys::fork::fork(|| answer(own, &signals)).expect("fork");
        let other = Task::main_of(peer.pid());
        other.send(1).expect("the peer is there");
        assert_eq!(signals.wait().expect("an answer"), Arrived::Value(2));
        other.send(5).expect("the peer is there");
        assert_eq!(peer.wait().expect("wait").code(), Some(UNEXPECTED));
    }
}
