//! Round trip of one message between two processes over io_uring.
//!
//! **Measures:** The whole round trip. Each side has its own ring and posts a completion directly
//! into the other's (`msg_ring`): one `io_uring_enter` on each side, which submits the message and
//! waits for the answer, two wake-ups, and two context switches where both sides share a CPU.
//!
//! **Does not measure:** One-way latency: half of a round trip is never reported as "one way".
//!
//! **Method:** Both rings are created before the peer is forked. The peer uses its own through the
//! inherited mapping, and the first only as a target. Each round trip is timed alone. The message
//! is a number, and the answer must be the next one. The death of the peer closes a pipe that the
//! first ring polls, so it ends the round at once. The proofs count context switches on both sides
//! and check the peer's exit code.
//!
//! **Pitfalls:**
//! - The placement of the two sides.
//! - The success of each message would post a completion in the sender's ring and wake it before
//!   the answer; it is suppressed.
//! - Kernels before 5.18 do not have the operation: `unsupported`. Where io_uring is missing, the
//!   reason is reported (`uring.nop`).
//!
//! **Sources:** See docs/methods/operating-system.md#io_uring.

use super::is_unknown;
use crate::proofs;
use crate::rings::rings;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::io::pipe;
use groma_harness::sys::uring::{Completion, Ring};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over io_uring",
        about: about!("msg_ring.rs"),
        iteration: "one round trip: a message and an io_uring_enter on each side",
        timing: Timing::Each,
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: &[Placement::SameCpu, Placement::SameLlc],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("uring.msg_ring")
    },
    run: Run::Here(run),
};

/// The number that tells the peer to exit; no count reaches it.
const LEAVE: u64 = u64::MAX - 1;
const EINTR: isize = -4;
/// The user data of the completion that reports the death of the peer.
const ENDED: u64 = u64::MAX - 2;
/// The result of each message. A failure to send has a negative one, and is posted to its sender.
const SENT: u32 = 1;

/// Submits what was pushed and waits for a completion; `calls` counts the system calls made.
fn turn(ring: &mut Ring, calls: &mut u64) -> Result<Completion, BenchError> {
    *calls += 1;
    let mut taken = ring.enter(1);
    loop {
        if let Some(completion) = ring.pop() {
            return Ok(completion);
        }
        // No completion: interrupted, or a spurious wake-up, unless the call failed.
        if taken < 0 && taken != EINTR {
            return Err(BenchError::from_io("io_uring_enter", &std::io::Error::from_raw_os_error(-taken as i32)));
        }
        *calls += 1;
        taken = ring.enter(1);
    }
}

/// The peer: answers each number with the next, until it is told to exit.
fn answer(own: &mut Ring, other: &Ring) -> i32 {
    loop {
        match turn(own, &mut 0) {
            Ok(Completion { data: LEAVE, .. }) => return 0,
            Ok(Completion { data, result: 1, .. }) => own.push_message(other.as_fd(), data + 1, SENT),
            _ => return 1,
        }
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, answer)
}

/// Measures round trips with a peer that lives so, with its ring and that of this side.
fn measure(ctx: &mut Ctx, life: impl FnOnce(&mut Ring, &Ring) -> i32) -> Outcome {
    let (mut here, mut there) = (rings(4)?, rings(4)?);
    here.push_message(there.as_fd(), 0, SENT);
    here.enter(0);
    if let Some(failure) = here.pop() {
        return Err(if is_unknown(failure.result) {
            BenchError::Unsupported("io_uring has no msg_ring here: it came with Linux 5.18".to_owned())
        } else {
            BenchError::from_io("sending a message", &std::io::Error::from_raw_os_error(-failure.result))
        });
    }
    let first = there.pop();
    if first.is_none_or(|message| message.data != 0) {
        return Err(BenchError::Failed(format!("the first message was not delivered: {first:?}")));
    }

    let (ended, held) = pipe().context("making a pipe")?;
    let peer = ctx.fork_peer(&[], || life(&mut there, &here))?;
    drop(held);
    here.push_poll(ended.as_fd(), ENDED);
    here.enter(0);
    let before = Usage::thread();
    let (mut number, mut calls) = (0, 0);
    ctx.measure(|iters| {
        for _ in 0..iters {
            here.push_message(there.as_fd(), number, SENT);
            let answer = turn(&mut here, &mut calls)?;
            number += 1;
            if answer.data == ENDED {
                return Err(BenchError::Failed("the peer has ended".to_owned()));
            }
            if (answer.data, answer.result) != (number, SENT as i32) {
                return Err(BenchError::Failed(format!("{answer:?} came instead of {number}")));
            }
            number += 1;
        }
        Ok(())
    })?;
    here.push_message(there.as_fd(), LEAVE, SENT);
    here.enter(0);
    let peer = peer.wait().context("waiting for the peer")?;
    let each = calls as f64 / ctx.iterations().max(1) as f64;
    ctx.prove("calls of io_uring_enter per round trip, this side", "1.00..1.05", each, 1.0..=1.05);
    proofs::peer_ended_well(ctx, &peer);
    proofs::switches_on_one_cpu(ctx, &before, &peer);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proofs::testing::assert_fails_within_a_minute;

    /// Two rings of which one can send to the other.
    fn pair() -> Option<(Ring, Ring)> {
        let (mut here, mut there) = (rings(4).ok()?, rings(4).ok()?);
        here.push_message(there.as_fd(), 0, SENT);
        here.enter(0);
        (here.pop().is_none() && there.pop().is_some()).then_some((here, there))
    }

    /// In the end the peer is told to leave, so that it does not wait for more.
    #[test]
    fn the_peer_answers_with_the_next_number_and_only_what_was_sent() {
        let Some((mut here, mut there)) = pair() else { return eprintln!("no messages between rings here") };
        for (result, code, answered) in [(SENT, 0, Some((42, SENT as i32))), (SENT + 1, 1, None)] {
            here.push_message(there.as_fd(), 41, result);
            here.push_message(there.as_fd(), LEAVE, SENT);
            here.enter(0);
            assert_eq!(answer(&mut there, &here), code);
            assert_eq!(here.pop().map(|message| (message.data, message.result)), answered);
        }
    }

    /// Takes the first number, and ends without an answer.
    fn die(own: &mut Ring, _: &Ring) -> i32 {
        i32::from(turn(own, &mut 0).is_ok())
    }

    /// Answers with the number after the next one.
    fn skip_one(own: &mut Ring, other: &Ring) -> i32 {
        while let Ok(Completion { data, .. }) = turn(own, &mut 0)
            && data != LEAVE
        {
            own.push_message(other.as_fd(), data + 2, SENT);
        }
        0
    }

    /// A ring has no end: without the pipe this side would wait for ever.
    #[test]
    fn a_round_whose_peer_dies_or_answers_wrongly_ends() {
        let Some(_) = pair() else { return println!("no messages between rings here") };
        let dies = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, die)) };
        let skips = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, skip_one)) };
        for (bench, expected) in [(dies, "the peer has ended"), (skips, "came instead of 1")] {
            assert_fails_within_a_minute(&bench, |why| why.contains(expected));
        }
    }

    #[test]
    fn the_death_of_the_other_side_is_told() {
        let Ok(mut here) = rings(4) else { return eprintln!("no rings here") };
        let (ended, held) = pipe().expect("pipe");
        let peer = sys::fork::fork(|| 3).expect("fork");
        drop(held);
        here.push_poll(ended.as_fd(), ENDED);
        assert_eq!(turn(&mut here, &mut 0).expect("told").data, ENDED);
        assert_eq!(peer.wait().expect("wait").code(), Some(3));
    }
}
