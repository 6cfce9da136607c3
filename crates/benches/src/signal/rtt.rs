//! One signal there and back between two processes that wait for it.
//!
//! Measures the whole round trip: on each side `rt_tgsigqueueinfo` to the other and `rt_sigtimedwait` without a time, two
//! wake-ups, and where both sides share a CPU two context switches. No handler runs: both sides keep the signal blocked and
//! take it (`signal.catch` measures handlers). Never prints half of itself as "one way".
//!
//! Method: each round trip is timed alone. A real-time signal carries a number in its value; each side sends one more than it
//! was sent last, and stops at any other: none is lost, and none counts twice. The end of the other side is a signal, too,
//! that is waited for with the other: its death ends the round at once instead of being waited for. The proof counts context
//! switches on both sides, and the other side's exit code.
//!
//! Traps: scheduler placement; signals that are no real-time ones are not queued, and the second of two is lost; to a process
//! (and not to a thread) the kernel has to find out which thread is to have it: here it is told.
//!
//! Source: libMicro and others send signals to themselves or catch them (os-methods D8, D11); os-methods 2.2.

use super::PROCESSES;
use crate::proofs;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::sigqueue::{Arrived, Blocked, Task};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a queued signal between two processes that wait for it",
        about: about!("rtt.rs"),
        iteration: "one round trip: a signal sent and a signal taken on each side",
        timing: Timing::Each,
        scaling: PROCESSES,
        placements: &Placement::TWO_SIDED,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        ..Info::new("signal.rtt")
    },
    run: Run::Here(run),
};

/// What tells the other side to leave; no count comes near it.
const LEAVE: usize = usize::MAX;
/// The other side's exit code when it was sent what it did not expect.
const UNEXPECTED: i32 = 2;

/// The other side: answers each number with the next, until it is told to leave.
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
    let signals = Blocked::new().context("blocking the signal")?;
    let own = Task::own();
    let peer = ctx.fork_peer(&[], || answer(own, &signals))?;
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
                Arrived::ChildEnded => return Err(BenchError::Failed("the other side has ended".to_owned())),
            }
        }
        Ok(())
    })?;
    other.send(LEAVE).context("sending the last signal")?;
    let peer = peer.wait().context("waiting for the other side")?;
    proofs::peer_ended_well(ctx, &peer);
    work::once_each(ctx, "signals sent and answered per round trip credited", sent as u64, 2 * ctx.iterations());
    proofs::switches(ctx, &before, &peer);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that is not the next one ends the other side, and the wait for its answer.
    #[test]
    fn a_lost_signal_is_noticed() {
        let signals = Blocked::new().expect("sigmask");
        let own = Task::own();
        let peer = sys::fork::fork(|| answer(own, &signals)).expect("fork");
        let other = Task::main_of(peer.pid());
        other.send(1).expect("the other side is there");
        assert_eq!(signals.wait().expect("an answer"), Arrived::Value(2));
        other.send(5).expect("the other side is there");
        assert_eq!(peer.wait().expect("wait").code(), Some(UNEXPECTED));
    }
}
