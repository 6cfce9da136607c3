//! Reading the memory of another process: one copy, and no work of the other side.
//!
//! **Measures:** The bytes per second that `process_vm_readv` brings from another process, `size`
//! at a time. Message-passing libraries on one machine move large messages in this way, debuggers
//! and profilers read stacks.
//!
//! **Does not measure:** How the reader learns the address, or that the data is ready.
//!
//! **Method:** The other process fills its own copy of a buffer and sleeps. One call reads the
//! whole buffer, again and again, so that it comes from the fastest cache that holds both.
//!
//! **Proofs:** Each call returns the whole size. After the last one the buffer holds what only the
//! other process has written.
//!
//! **Pitfalls:** The kernel looks up and pins each page of the other side, 4 KiB at a time, which
//! costs as much as copying it. Yama (`kernel.yama.ptrace_scope`) may forbid it for all but
//! parents.
//!
//! **Sources:** stress-ng (`--vm-rw`) counts such copies. See
//! docs/methods/operating-system.md#streams.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, Partners};
use groma_harness::sys::other_memory;
use groma_harness::sys::pages::{Map, Policy};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading another process's memory by process_vm_readv",
        about: about!("process_read.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one process_vm_readv",
        params: &[Param::size("size", "bytes read by one call").quick(&["64K"]).standard(&["1M"]).full(&["4K", "16M"])],
        scaling: Scaling::processes("each copy forks its own peer, which a process with threads must not"),
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("ipc.process_read")
    },
    run: Run::Here(run),
};

/// What the reader's buffer holds at first, and what the other process writes to its copy.
const OWN: u8 = 0x11;
const OTHER: u8 = 0xee;

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    let map = || Map::anonymous(size, Policy::Base).context("mapping a buffer");
    let (mut theirs, mut ours) = (map()?, map()?);
    theirs.fill(OWN);
    ours.fill(OWN);
    let address = theirs.as_ptr().addr();
    let mut partners = Partners::new()?;
    partners.fork_unplaced("the process that is read", |control: &Control| -> io::Result<()> {
        theirs.fill(OTHER);
        control.await_command();
        Ok(())
    })?;
    partners.all_ready()?;
    let peer = partners.pids().next().ok_or_else(|| BenchError::Failed("the peer is gone".to_owned()))?;
    let done = Done::new();
    ctx.measure_per(size as f64, |iters| {
        let (least, whole) =
            work::least_of(iters, size as isize, || other_memory::read(peer, address, &mut ours[..size]));
        done.add(whole);
        work::all_gave(size as isize, least, "process_vm_readv")
    })?;
    done.prove(ctx, "calls that read the whole buffer, per call credited");
    let right = ours[..size].iter().filter(|byte| **byte == OTHER).count();
    ctx.prove(
        "bytes that only the other process has written, of those read",
        "1",
        right as f64 / size as f64,
        1.0..=1.0,
    );
    partners.end()?;
    Ok(())
}
