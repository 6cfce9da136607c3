//! One message there and back between two processes over the rings of io_uring.
//!
//! Measures the whole round trip: each side has a ring of its own, and puts a completion straight into the other's
//! (`msg_ring`): one `io_uring_enter` on each side, which submits the message and waits for the answer, two wake-ups, and
//! where both sides share a CPU two context switches. Never prints half of itself as "one way".
//!
//! Method: both rings are made before the other side is forked; it uses its own through the memory that it inherits, and the
//! first one as the target only. Each round trip is timed alone. The message is a number, and the answer has to be the next
//! one. The end of the other side closes a pipe that the first ring polls, so its death ends the round at once instead of being
//! waited for. The proof counts context switches on both sides, and the other side's exit code.
//!
//! Traps: scheduler placement; the success of each message would be told in the sender's ring, and wake it before the answer:
//! it is asked not to be. A kernel before 5.18 has no such operation: `unsupported`. Where io_uring is not there, the reason is
//! told (`uring.nop`).
//!
//! Source: os-methods 2.20.

use super::{rings, unknown};
use crate::proofs;
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
        ..Info::new("uring.msg_ring")
    },
    run: Run::Here(run),
};

/// What tells the other side to leave; no count comes near it.
const LEAVE: u64 = u64::MAX - 1;
const EINTR: isize = -4;
/// What the end of the other side is told by.
const ENDED: u64 = u64::MAX - 2;
/// What each message has for a result: a failure to send has a negative one, and stays with its sender.
const SENT: u32 = 1;

/// Sends what was pushed and waits for a completion; `calls` counts the system calls that it takes.
fn turn(ring: &mut Ring, calls: &mut u64) -> Result<Completion, BenchError> {
    *calls += 1;
    let mut taken = ring.enter(1);
    loop {
        if let Some(completion) = ring.pop() {
            return Ok(completion);
        }
        // Interrupted, or woken for nothing.
        if taken < 0 && taken != EINTR {
            return Err(BenchError::from_io("io_uring_enter", &std::io::Error::from_raw_os_error(-taken as i32)));
        }
        *calls += 1;
        taken = ring.enter(1);
    }
}

/// The other side: answers each number with the next, until it is told to leave.
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
    let (mut here, mut there) = (rings(4)?, rings(4)?);
    here.push_message(there.as_fd(), 0, SENT);
    here.enter(0);
    if let Some(failure) = here.pop() {
        return Err(if unknown(failure.result) {
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
    let peer = ctx.fork_peer(&[], || answer(&mut there, &here))?;
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
                return Err(BenchError::Failed("the other side has ended".to_owned()));
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
    let peer = peer.wait().context("waiting for the other side")?;
    let each = calls as f64 / ctx.iterations().max(1) as f64;
    ctx.prove("calls of io_uring_enter per round trip, this side", "1.00..1.05", each, 1.0..=1.05);
    proofs::peer_ended_well(ctx, &peer);
    proofs::switches(ctx, &before, &peer);
    Ok(())
}

#[cfg(test)]
mod tests {

    use super::*;

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
