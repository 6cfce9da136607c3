//! What a disk request costs apart from the disk.
//!
//! **Measures:** A direct read (O_DIRECT) of the same 4 KiB again and again, which every device has
//! in its own memory after the first: what remains is the system call, the block layer, the driver,
//! the interrupt, and the device's shortest path. The second output is the CPU time of a request,
//! the part that more disks would multiply.
//!
//! **Does not measure:** The page cache, which is bypassed.
//!
//! `order=next` reads one block after the other instead, which disks of old answered from their
//! track buffer; `block=512` takes the sector of that time, which not every disk transfers.
//!
//! **Method:** Every read is timed alone and has to return all of its bytes. File, device and proof
//! are as in `disk.random_read`. CPU time is that of the reading thread, read around each request;
//! it includes one reading of that clock and two of the stopwatch (some tenths of a microsecond),
//! but not interrupts that hit another CPU.
//!
//! **Pitfalls:** Devices without a cache, and hosts that do the reads themselves, pay more than an
//! overhead here.
//!
//! **Sources:** lmbench 1996 table 17 (sequential reads of 512 B from a raw SCSI device, out of its
//! track buffer). See docs/methods/operating-system.md#disk.

use super::{LARGE_REQUEST, NEEDS, ON, SIZE, Target, buffer};
use groma_harness::prelude::*;
use groma_harness::sys::counters::thread_cpu_ns;
use groma_harness::sys::disk;
use std::io;

/// The least that any disk transfers.
const SECTOR: usize = 512;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct read of one block again: what a request costs by itself",
        about: about!("overhead.rs"),
        iteration: "one read",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("cpu", "CPU time of a request")],
        params: &[
            ON,
            SIZE,
            Param::size("block", "bytes of a request").takes(Memory::PerMember(1)).quick(&["4K"]).full(&["512"]),
            Param::word("order", "the same block again and again, or one after the other", &["same", "next"])
                .quick(&["same"]),
        ],
        scaling: Scaling::alone("members would wait for each other's block"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        needs: NEEDS,
        version: 2,
        ..Info::new("disk.overhead")
    },
    run: Run::Here(run),
};

/// Bytes from one request to the next.
fn step(order: &str, block: usize) -> u64 {
    if order == "next" { block as u64 } else { 0 }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::open(ctx)?;
    let block = ctx.int("block") as usize;
    if block > LARGE_REQUEST || !block.is_multiple_of(SECTOR) {
        return Err(BenchError::Unsupported(format!(
            "requests are of 512 B to 1 MiB in whole sectors, not of {block} B"
        )));
    }
    let step = step(ctx.word("order"), block);
    let mut map = buffer(block)?;
    let buffer = &mut map[..block];
    let mut at = target.places(ctx, block as u64).draw();
    disk::read_at(target.fd(), buffer, at).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidInput => {
            BenchError::Unsupported(format!("the disk has no direct transfers of {block} B"))
        }
        _ => BenchError::from_io("reading", &e),
    })?;
    let target = target.counting();
    let mut cpu = Vec::new();
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            // Around the read alone: the harness also works between the reads, when it samples its
            // counters.
            let before = thread_cpu_ns();
            watch.start();
            let read = target.read(buffer, at);
            watch.stop();
            cpu.push(thread_cpu_ns().saturating_sub(before));
            read?;
            target.check(buffer, at)?;
            at = target.next(at + step, block);
        }
        Ok(())
    })?;
    cpu.into_iter().for_each(|ns| ctx.state_as("cpu", ns as f64 * 1e-9));
    target.prove_disk(ctx, block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;

    #[test]
    fn every_read_is_a_request_and_costs_cpu_time() {
        let Some(tried) = on_a_file(&BENCH, &[]) else { return };
        assert!(tried.proven("bytes that came from a disk, of those asked for") >= 0.99);
        let cpu = tried.result.series("cpu").expect("CPU time").values.clone();
        assert!(cpu.len() as u64 == tried.iterations && cpu.iter().all(|t| *t > 0.0));
    }

    #[test]
    fn the_next_block_begins_where_the_last_one_ends() {
        assert_eq!(["same", "next"].map(|order| step(order, 512)), [0, 512]);
    }

    #[test]
    fn blocks_follow_each_other_or_are_refused() {
        let tried = on_a_file(&BENCH, &[("block", "64K"), ("order", "next")]);
        assert!(tried.is_none_or(|tried| tried.proven("bytes that came from a disk, of those asked for") >= 0.99));
        // A disk of sectors of 4 KiB refuses the smaller ones.
        on_a_file(&BENCH, &[("block", "512"), ("order", "next")]);
        for block in ["513", "2M"] {
            assert!(on_a_file(&BENCH, &[("block", block)]).is_none(), "{block}");
        }
    }
}
