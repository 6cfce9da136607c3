//! What a disk request costs apart from the disk.
//!
//! **Measures:** A direct read (O_DIRECT) of the same 4 KiB again and again, which every device has
//! in its own memory after the first: what remains is the system call, the block layer, the driver,
//! the interrupt, and the device's shortest path. The second output is the CPU time of a request,
//! the part that more disks would multiply.
//!
//! **Does not measure:** The page cache, which is bypassed.
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

use super::{NEEDS, ON, REQUEST, SIZE, Target, buffer};
use groma_harness::prelude::*;
use groma_harness::sys::counters::thread_cpu_ns;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct read of the same 4 KiB of a disk: what a request costs apart from the disk",
        about: about!("overhead.rs"),
        iteration: "one read",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("cpu", "CPU time of a request")],
        params: &[ON, SIZE],
        scaling: Scaling::alone("members would wait for each other's block"),
        lineage: &["lmbench1996:table17"],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        needs: NEEDS,
        ..Info::new("disk.overhead")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::open(ctx)?;
    let mut buffer = buffer(REQUEST)?;
    let at = target.places(ctx, REQUEST as u64).draw();
    let mut cpu = Vec::new();
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            // Around the read alone: the harness also works between the reads, when it samples its
            // counters.
            let before = thread_cpu_ns();
            watch.start();
            let read = target.read(&mut buffer, at);
            watch.stop();
            cpu.push(thread_cpu_ns().saturating_sub(before));
            read?;
            target.check(&buffer, at)?;
        }
        Ok(())
    })?;
    cpu.into_iter().for_each(|ns| ctx.state_as("cpu", ns as f64 * 1e-9));
    target.prove_disk(ctx, REQUEST)
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
}
