//! Reading a file again that the kernel still holds in memory.
//!
//! Measures how fast its bytes come to the program. `read`: by calls of 64 KiB into one buffer, hence the kernel's copy out
//! of the page cache and nothing done with it. `read_sum`: the same, and the program adds the bytes up. `mmap`: the program
//! adds up the bytes of the file where they lie, in a mapping whose pages are all present. Does not measure a disk, nor the
//! making of the mapping and its faults (that is `vm.fault`).
//!
//! Method: an iteration is one block of 64 KiB; the blocks follow each other through the file, round and round. Every call
//! has to give a whole block, every sum has to be that of the block as it was written, so no byte is counted that did not
//! come, and none can be left out by a compiler. The file is of random bytes, larger than second-level caches and smaller
//! than most last-level ones; its size against the latter is recorded. It has no name and is never written back: nothing
//! is synced, nothing left, and no disk is busy with it in later rounds. The proofs are that all its pages were in memory
//! before and after, that no fault waited for a disk, and that no block was read from one.
//!
//! Traps: bytes credited that were never read (lmbench prints 3.5 TB/s for a short file, and gigabytes per second for none
//! at all); compilers that leave the sum out; file systems that compress or share blocks; pages that come with the first
//! touch. With large sizes the last-level cache of a virtual machine is what its neighbours leave.
//!
//! Source: lmbench 1996 table 5 (8 MiB by 64 KiB, summed), lmbench3 `bw_file_rd` and `bw_mmap_rd`, Ousterhout 1990 table 6
//! (not summed).

use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::facts::available_memory;
use groma_harness::sys::io::read;
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::topology::Topology;
use std::fs::File;
use std::io::Seek;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading a file again that is in memory",
        about: about!("reread.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one block of 64 KiB",
        params: &[
            Param {
                name: "mode",
                help: "by read(), by read() and summed, or summed in a mapping",
                kind: ParamKind::Word(&["read", "read_sum", "mmap"]),
                quick: &[],
                default: &["read", "mmap"],
                full: &["read", "read_sum", "mmap"],
            },
            Param {
                name: "size",
                help: "bytes of the file, in blocks of 64 KiB",
                kind: ParamKind::Size,
                quick: &[],
                default: &["8M"],
                full: &["1M", "8M", "64M", "512M"],
            },
        ],
        needs: &[Need::WorkDir],
        lineage: &["lmbench1996:table5", "lmbench3:bw_file_rd", "lmbench3:bw_mmap_rd", "ousterhout1990:table6"],
        width: 0.03,
        ..Info::new("file.reread")
    },
    run: Run::Here(run),
};

/// Bytes of one call, as in all ancestors but Ousterhout's (16 KiB).
const BLOCK: usize = 64 << 10;

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    check_size(size, available_memory())?;
    let scratch = Scratch::new(ctx)?;
    let file = scratch.random_file(size, ctx)?;
    let topology = Topology::read();
    if let Some(last) = topology.caches().iter().filter_map(|c| c.size).max() {
        ctx.fact("file.share_of_last_cache", format!("{:.3}", size as f64 / last as f64));
    }

    let before = Usage::thread();
    let map = Map::file(&file, size as usize, false).doing("mapping the file")?;
    let resident = map.resident_pages().doing("mincore")?;
    // Every page is present from here on, and these are the sums that every later look has to find.
    let sums: Vec<u64> = map.chunks_exact(BLOCK).map(sum).collect();
    match ctx.word("mode") {
        "mmap" => measure_mapped(ctx, &map, &sums)?,
        mode => measure_read(ctx, file, &sums, mode == "read_sum")?,
    }
    let pages = size as usize / page_size();
    let resident = resident.min(map.resident_pages().doing("mincore")?);
    let used = Usage::thread().since(&before);
    ctx.prove("share of the file in memory before and after", "1", resident as f64 / pages as f64, 1.0..=1.0);
    ctx.prove("faults that waited for a disk", "0", used.major_faults as f64, 0.0..=0.0);
    ctx.prove("blocks read from a disk", "0", used.blocks_in as f64, 0.0..=0.0);
    Ok(())
}

/// Whole blocks, and no more than an eighth of the memory that is available: pages pushed out by our own would be read from
/// the disk.
fn check_size(size: u64, available: Option<u64>) -> Outcome {
    if size == 0 || !size.is_multiple_of(BLOCK as u64) {
        return Err(Stop::Unsupported(format!("{size} B are no whole blocks of {BLOCK} B")));
    }
    match available {
        Some(room) if size > room / 8 => Err(Stop::Unsupported(format!(
            "needs {size} B in the page cache, and an eighth of the {room} B of memory available is less"
        ))),
        _ => Ok(()),
    }
}

fn measure_mapped(ctx: &mut Ctx, map: &Map, sums: &[u64]) -> Outcome {
    let mut blocks = map.chunks_exact(BLOCK).zip(sums).cycle();
    ctx.measure_per(BLOCK as f64, |iters| {
        for (block, expected) in blocks.by_ref().take(iters as usize) {
            same(sum(block), *expected)?;
        }
        Ok(())
    })
}

fn measure_read(ctx: &mut Ctx, mut file: File, sums: &[u64], summed: bool) -> Outcome {
    let mut buffer = Map::anonymous(BLOCK, Policy::Base).doing("mapping the buffer")?;
    buffer.populate();
    let mut next = 0;
    let read_block = Arm::staged("", |iters, watch| {
        watch.start();
        for _ in 0..iters {
            if next == sums.len() {
                file.rewind().doing("rewinding the file")?;
                next = 0;
            }
            let n = read(file.as_fd(), &mut buffer).doing("reading the file")?;
            if n != BLOCK {
                return Err(Stop::Failed(format!("a read gave {n} B instead of {BLOCK}")));
            }
            if summed {
                same(sum(&buffer), sums[next])?;
            }
            next += 1;
        }
        watch.stop();
        // Beside the watch: the last block is the right one.
        same(sum(&buffer), sums[next - 1])
    });
    ctx.measure_arms(&mut [read_block.per_iter(BLOCK as f64)])
}

/// The sum of a block, by words.
#[inline]
fn sum(block: &[u8]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

#[inline]
fn same(seen: u64, written: u64) -> Outcome {
    if seen == written { Ok(()) } else { Err(Stop::Failed(format!("a block sums to {seen:x}, not to {written:x}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    #[test]
    fn all_of_the_file_is_in_memory_and_comes_as_it_was_written() {
        for mode in ["read", "read_sum", "mmap"] {
            let place = Place::new();
            let tried = try_out(&BENCH, &[("mode", mode), ("size", "1M")], Some(place.path())).expect("a file");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.result.series("").map(|s| s.per_iter), Some(65536.0));
            assert_eq!(tried.proven("share of the file in memory before and after"), 1.0);
            assert_eq!(tried.proven("faults that waited for a disk"), 0.0);
            assert_eq!(tried.proven("blocks read from a disk"), 0.0);
        }
    }

    #[test]
    fn sizes_that_would_be_credited_wrongly_are_refused() {
        assert!(matches!(check_size(0, None), Err(Stop::Unsupported(_))));
        assert!(matches!(check_size(100_000, None), Err(Stop::Unsupported(_))));
        assert!(matches!(check_size(8 << 20, Some(32 << 20)), Err(Stop::Unsupported(_))));
        assert_eq!(check_size(8 << 20, Some(64 << 20)), Ok(()));
    }

    #[test]
    fn a_wrong_byte_changes_the_sum() {
        let mut block = vec![7u8; BLOCK];
        let before = sum(&block);
        block[BLOCK - 1] ^= 1;
        assert!(same(sum(&block), before).is_err());
    }
}
