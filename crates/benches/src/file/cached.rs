//! A file in the page cache, and the proof of it, for the benchmarks that read files again.
//!
//! The file consists of random bytes, which nothing can compress or share. Its sums are taken block
//! by block when it is created, so that no byte is counted that was not read, and no compiler can
//! leave one out.

use super::IN_MEMORY;
use super::directory_of_object;
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::facts::available_memory;
use groma_harness::sys::pages::{Map, page_size};
use groma_harness::sys::topology::Topology;
use std::ffi::CStr;
use std::fs::File;

/// Bytes per block, as in all predecessors except Ousterhout's (16 KiB, see `file.reread`).
pub(super) const BLOCK: usize = 64 << 10;

/// How large the file is. It takes room for the file and, in `file.copy`, its copy; it is mapped
/// once.
pub(super) const SIZE: Param =
    Param::size("size", "bytes of the file, in whole blocks of 64 KiB unless a parameter says otherwise")
        .takes(Memory::Files { copies: 2, buffers: 1, in_memory: Some(IN_MEMORY), shared: Some(("object", "shared")) })
        .quick(&["8M"])
        .full(&["1M", "64M", "512M"]);

/// The name by which the file can be opened again.
const NAME: &CStr = c"cached";
/// Major faults that are allowed. Pages of the program itself may have left memory on a machine
/// that is short of it or that has just built the program: one or two such faults were seen in a
/// round. The file has thousands of pages.
const OWN_FAULTS: f64 = 8.0;
/// Blocks of 512 bytes that one such fault reads: the kernel's read-around of 128 KiB.
const FAULT_BLOCKS: f64 = 256.0;

/// The file.
pub(super) struct Cached {
    pub(super) scratch: Scratch,
    /// Opened for reading and writing, at its start.
    pub(super) file: File,
    /// A mapping of the whole file, every page present.
    pub(super) map: Map,
    /// The sum of each block.
    pub(super) sums: Vec<u64>,
    resident: usize,
    before: Usage,
}

impl Cached {
    /// Creates a file of the size given by the parameter. It has no name unless `named` is set or
    /// the members of the worker group share it.
    pub(super) fn new(ctx: &mut Ctx, named: bool) -> Result<Cached, BenchError> {
        Cached::of_blocks(ctx, named, BLOCK)
    }

    /// The same, with sums of blocks of another size.
    pub(super) fn of_blocks(ctx: &mut Ctx, named: bool, block: usize) -> Result<Cached, BenchError> {
        let size = ctx.int("size");
        let shared = ctx.word("object") == "shared";
        check_size(size, block, if shared { 1 } else { ctx.workers() }, available_memory())?;
        let scratch = directory_of_object(ctx)?;
        let file = if named || shared {
            scratch.random_file_named(&NAME.to_string_lossy(), size, ctx)?
        } else {
            scratch.random_file(size, ctx)?
        };
        if let Some(last) = Topology::read().caches().iter().filter_map(|c| c.size).max() {
            ctx.fact("file.share_of_last_cache", format!("{:.3}", size as f64 / last as f64));
        }
        let before = Usage::thread();
        let map = Map::file_read(&file, size as usize, false).context("mapping the file")?;
        let resident = map.resident_pages().context("mincore")?;
        // Every page is present from here on.
        let sums = map.chunks_exact(block).map(sum).collect();
        Ok(Cached { scratch, file, map, sums, resident, before })
    }

    /// Opens the file again by its name.
    #[inline]
    pub(super) fn reopen(&self) -> Result<File, BenchError> {
        sys::files::open(self.scratch.dir(), NAME).context("opening the file")
    }

    /// Proves that the whole file was in memory before and after, and that nothing came from a
    /// disk.
    pub(super) fn prove(&self, ctx: &mut Ctx) -> Outcome {
        let pages = self.map.len().div_ceil(page_size());
        let resident = self.resident.min(self.map.resident_pages().context("mincore")?);
        let used = Usage::thread().since(&self.before);
        ctx.prove("share of the file in memory before and after", "1", resident as f64 / pages as f64, 1.0..=1.0);
        ctx.prove("faults that waited for a disk", "8 or fewer", used.major_faults as f64, ..=OWN_FAULTS);
        ctx.prove("blocks read from a disk", "2048 or fewer", used.blocks_in as f64, ..=OWN_FAULTS * FAULT_BLOCKS);
        Ok(())
    }
}

/// Refuses sizes that are not whole blocks, and files that together take more than an eighth of the
/// available memory: pages pushed out by our own would have to be read from the disk.
fn check_size(size: u64, block: usize, files: u32, available: Option<u64>) -> Outcome {
    // A sum is one of whole words.
    if size == 0 || block == 0 || !block.is_multiple_of(8) || !size.is_multiple_of(block as u64) {
        return Err(BenchError::Unsupported(format!("{size} B is not a multiple of the block size, {block} B")));
    }
    let needed = size.saturating_mul(u64::from(files));
    match available {
        Some(room) if needed > room / 8 => Err(BenchError::Unsupported(format!(
            "needs {needed} B in the page cache, and an eighth of the {room} B of memory available is less"
        ))),
        _ => Ok(()),
    }
}

/// The sum of the words of a block.
#[inline]
pub(super) fn sum(block: &[u8]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

/// Fails unless the block is the one that was written.
#[inline]
pub(super) fn same(seen: u64, written: u64) -> Outcome {
    if seen == written {
        Ok(())
    } else {
        Err(BenchError::Failed(format!("a block sums to {seen:x}, not to {written:x}")))
    }
}

/// Fails unless a call transferred all bytes.
#[inline]
pub(super) fn whole(n: usize, wanted: usize) -> Outcome {
    if n == wanted { Ok(()) } else { Err(BenchError::Failed(format!("a call brought {n} B instead of {wanted}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{OBJECT, WHERE};
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_failing;

    /// Pages that were missing before the measurement count, and so do those that are now. What
    /// came from a disk is no more than some pages of the program.
    #[test]
    fn the_file_has_to_be_in_memory_before_and_after() {
        fn run(ctx: &mut Ctx) -> Outcome {
            let mut cached = Cached::new(ctx, false)?;
            let all = cached.resident;
            for before in [all, all - 1, all + 1] {
                cached.resident = before;
                cached.prove(ctx)?;
            }
            cached.resident = all;
            for (major_faults, blocks_in) in [(4, 1000), (9, 0), (0, 2049)] {
                let now = Usage::thread();
                cached.before = Usage {
                    major_faults: now.major_faults.wrapping_sub(major_faults),
                    blocks_in: now.blocks_in.wrapping_sub(blocks_in),
                    ..now
                };
                cached.prove(ctx)?;
            }
            ctx.state(1.0);
            Ok(())
        }
        let params = &[SIZE, WHERE, OBJECT];
        let info = Info { timing: Timing::Stated, params, needs: &[Need::WorkDir], ..Info::new("file.cached") };
        let bench = Benchmark { info, run: Run::Here(run) };
        let place = Place::new();
        let tried = try_failing(&bench, &[("size", "1M")], Some(place.path())).expect("a file");
        assert_eq!(tried.proofs_held("share of the file in memory"), [true, false, true, true, true, true]);
        assert_eq!(tried.proofs_held("faults that waited for a disk")[3..], [true, false, true]);
        assert_eq!(tried.proofs_held("blocks read from a disk")[3..], [true, true, false]);
    }

    /// A file that the last cache holds is read from there.
    #[test]
    fn the_share_of_the_last_cache_is_that_of_the_largest() {
        let sizes = Topology::read().caches().iter().filter_map(|cache| cache.size).collect::<Vec<u64>>();
        let Some(last) = sizes.into_iter().max() else { return println!("skipped: no cache is declared") };
        let place = Place::new();
        let tried =
            groma_harness::testing::try_out(&super::super::reread::BENCH, &[("size", "1M")], Some(place.path()));
        let share = format!("{:.3}", (1 << 20) as f64 / last as f64);
        assert_eq!(tried.expect("a file").result.fact("file.share_of_last_cache"), Some(share.as_str()));
    }

    #[test]
    fn sizes_that_would_be_credited_wrongly_are_refused() {
        assert!(matches!(check_size(0, BLOCK, 1, None), Err(BenchError::Unsupported(_))));
        assert!(matches!(check_size(100_000, BLOCK, 1, None), Err(BenchError::Unsupported(_))));
        assert!(matches!(check_size(8 << 20, BLOCK, 1, Some(32 << 20)), Err(BenchError::Unsupported(_))));
        assert!(matches!(check_size(8 << 20, BLOCK, 2, Some(64 << 20)), Err(BenchError::Unsupported(_))));
        assert_eq!(check_size(8 << 20, BLOCK, 1, Some(64 << 20)), Ok(()));
        for block in [0, 1, 4, 3 << 20] {
            assert!(matches!(check_size(8 << 20, block, 1, None), Err(BenchError::Unsupported(_))), "{block}");
        }
        assert!(whole(BLOCK - 1, BLOCK).is_err());
    }

    #[test]
    fn a_wrong_byte_changes_the_sum() {
        let mut block = vec![7u8; BLOCK];
        let before = sum(&block);
        block[BLOCK - 1] ^= 1;
        assert!(same(sum(&block), before).is_err());
    }
}
