//! One message there and back between two processes over two pipes.
//!
//! Measures the whole round trip: a write and a read on each side, two wake-ups, and where both sides share a CPU two
//! context switches. Does not measure bandwidth, and never prints half of itself as "one way".
//!
//! Method: each round trip is timed alone (it costs 2 us and more), so that the median is that of undisturbed trips and the
//! tail is seen. The placement of the two sides is part of the result: the same pipe takes several times as long between
//! two CPUs as on one, and a benchmark that leaves it to the scheduler reports a mixture. The proof counts context
//! switches on both sides, and the other side's exit code.
//!
//! Traps: scheduler placement (lmbench `lat_pipe` 8 against 92 us on one machine); helpers that survive their parent
//! (the other side ends at the end of its pipe, and dies with its parent).
//!
//! Source: lmbench 1996 table 11, lmbench3 `lat_pipe`, Ousterhout 1990 table 3 (`cswitch`: one byte through two pipes).

use crate::echo::echo;
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::io::{pipe, read_full, write_full};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over two pipes",
        about: about!("pipe_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        params: &[Param {
            name: "size",
            help: "bytes in the message",
            kind: ParamKind::Size,
            quick: &[],
            default: &["1"],
            full: &["1", "64", "1K", "16K", "64K"],
        }],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: &Placement::TWO_SIDED,
        lineage: &["lmbench1996:table11", "lmbench3:lat_pipe", "ousterhout1990:table3"],
        interference: Interference::Blocking,
        width: 0.02,
        ..Info::new("ipc.pipe_rtt")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let mut message = vec![1u8; ctx.int("size") as usize];
    let (there_out, there_in) = pipe().doing("making a pipe")?;
    let (back_out, back_in) = pipe().doing("making a pipe")?;
    let mut copy = message.clone();
    let peer = ctx.fork_peer(&[there_in.as_fd(), back_out.as_fd()], || {
        i32::from(echo(there_out.as_fd(), back_in.as_fd(), &mut copy).is_err())
    })?;
    drop((there_out, back_in));

    let before = Usage::thread();
    ctx.measure(|iters| {
        for _ in 0..iters {
            write_full(there_in.as_fd(), &message).doing("writing to the pipe")?;
            read_full(back_out.as_fd(), &mut message).doing("reading from the pipe")?;
        }
        Ok(())
    })?;
    drop(there_in);
    let peer = peer.wait().doing("waiting for the other side")?;
    proofs::peer_ended_well(ctx, &peer);
    proofs::switches(ctx, &before, &peer);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_round_trip_switches_on_both_sides() {
        for size in ["1", "64K"] {
            let tried = try_out(&BENCH, &[("size", size)], None).expect("pipes");
            assert!(tried.samples("") >= 3);
            assert!(tried.proven("context switches per round trip, both sides") >= 1.8);
            assert_eq!(tried.proven("exit code of the other side"), 0.0);
        }
    }
}
