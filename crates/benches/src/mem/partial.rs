//! One word in four read, written, changed or copied: the accesses of lmbench's `bw_mem rd`, `wr`,
//! `rdwr` and `cp`.
//!
//! **Measures:** Passes over a buffer that touch a word of 4 bytes in every 16, so each cache line,
//! but a quarter of its bytes. The value counts the bytes that are read plus those that are
//! written. lmbench credits all bytes of the buffer, four times as many as it reads or writes.
//!
//! **Does not measure:** The bandwidth of a cache or of memory: `mem.bandwidth`, which touches
//! every byte with the widest instructions.
//!
//! **Method:** Loads and stores of one word each, front to back, in pieces of 64 KiB. Words are
//! relaxed atomics, which compile to plain loads and stores and which no compiler joins or leaves
//! out: a vector load of 16 bytes would be another operation.
//!
//! **Pitfalls:**
//! - Where the first cache holds the buffer, the number of instructions limits the rate, so it
//!   depends on the compiler as there. Beyond, lines do.
//! - Credited in full, reads exceed what any load can deliver.
//!
//! **Sources:** lmbench3 `bw_mem`, modes `rd`, `wr`, `rdwr` and `cp`. See
//! docs/methods/memory.md#counting-bytes.

use super::laps::{Laps, piece};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::pages::page_size;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes per second of accesses to one word in four",
        about: about!("partial.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one pass over the buffer, or over 64 KiB of a larger one",
        params: &[
            Param::word(
                "op",
                "words are read, written, read and written back, or copied to another buffer",
                &["read", "write", "update", "copy"],
            )
            .quick(&["read"])
            .standard(&["write", "update", "copy"]),
            Param::size("size", "working set in bytes, source and destination together")
                .takes(Memory::PerMember(1))
                .quick(&["64K"])
                .full(&["8M"]),
        ],
        target_half_width: 0.02,
        tier: Tier::Named,
        ..Info::new("mem.partial")
    },
    run: Run::Here(run),
};

/// Bytes of a word, and from one touched word to the next.
const WORD: usize = 4;
const STEP: usize = 16;
/// Bytes that a turn of the loop goes over, as there.
const BLOCK: usize = 512;
/// Words of a block, and from one touched word to the next.
const WORDS: usize = BLOCK / WORD;
const STRIDE: usize = STEP / WORD;
/// Larger buffers are gone over in pieces of at most this size.
const PIECE: usize = 64 << 10;
/// What is written and copied: not zero, because some cores do not write back zeroes over zeroes
/// (docs/methods/memory.md#counting-bytes).
const MARK: u32 = 1;

/// Words of a buffer that begins a page, all of this value.
struct Words {
    all: Vec<AtomicU32>,
    from: usize,
    len: usize,
}

impl Words {
    fn new(bytes: usize, value: u32) -> Words {
        let (len, spare) = (bytes / WORD, page_size() / WORD);
        let all: Vec<AtomicU32> = (0..len + spare).map(|_| AtomicU32::new(value)).collect();
        let into_page = all.as_ptr().addr() % page_size();
        let from = (page_size() - into_page) % page_size() / WORD;
        Words { all, from, len }
    }

    fn bytes(&self, range: std::ops::Range<usize>) -> &[AtomicU32] {
        &self.all[self.from..][..self.len][range.start / WORD..range.end / WORD]
    }

    /// The words that a pass touches.
    fn touched_words(&self) -> impl Iterator<Item = u32> {
        self.bytes(0..self.len * WORD).iter().step_by(STRIDE).map(|word| word.load(Relaxed))
    }
}

/// Adds up the touched words.
#[inline(never)]
fn read(words: &[AtomicU32]) -> u32 {
    let (blocks, _) = words.as_chunks::<WORDS>();
    let of_block = |sum: u32, block: &[AtomicU32; WORDS]| {
        block.iter().step_by(STRIDE).fold(sum, |sum, word| sum.wrapping_add(word.load(Relaxed)))
    };
    blocks.iter().fold(0, of_block)
}

#[inline(never)]
fn write(words: &[AtomicU32]) {
    let (blocks, _) = words.as_chunks::<WORDS>();
    blocks.iter().for_each(|block| block.iter().step_by(STRIDE).for_each(|word| word.store(MARK, Relaxed)));
}

/// Adds one to the touched words.
#[inline(never)]
fn update(words: &[AtomicU32]) {
    let (blocks, _) = words.as_chunks::<WORDS>();
    for block in blocks {
        block.iter().step_by(STRIDE).for_each(|word| word.store(word.load(Relaxed).wrapping_add(1), Relaxed));
    }
}

#[inline(never)]
fn copy(to: &[AtomicU32], from: &[AtomicU32]) {
    let (to, from) = (to.as_chunks::<WORDS>().0, from.as_chunks::<WORDS>().0);
    for (to, from) in to.iter().zip(from) {
        let pairs = to.iter().step_by(STRIDE).zip(from.iter().step_by(STRIDE));
        pairs.for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (op, size) = (ctx.word("op"), ctx.int("size") as usize);
    let buffers = if op == "copy" { 2 } else { 1 };
    let bytes = size / buffers;
    if bytes == 0 || !bytes.is_multiple_of(BLOCK) || !size.is_multiple_of(buffers) {
        return Err(BenchError::Unsupported(format!("{size} B is not a multiple of {} B", BLOCK * buffers)));
    }
    sys::process::refuse_huge_pages();
    let words = Words::new(bytes, if op == "read" { MARK } else { 0 });
    let source = Words::new(if op == "copy" { bytes } else { 0 }, MARK);
    let piece = piece(bytes, BLOCK, PIECE);
    let mut laps = Laps::new(bytes, piece);
    let mut sum = 0u32;
    let accesses = if matches!(op, "update" | "copy") { 2 } else { 1 };
    ctx.measure_per((piece / STEP * WORD * accesses) as f64, |pieces| {
        laps.pieces(pieces, |range, times| {
            let here = words.bytes(range.clone());
            for _ in 0..times {
                match op {
                    "read" => sum = sum.wrapping_add(read(here)),
                    "write" => write(here),
                    "update" => update(here),
                    _ => copy(here, source.bytes(range.clone())),
                }
            }
            Ok(())
        })
    })?;
    work::once_each(ctx, "pieces gone over, per piece credited", laps.done(), ctx.iterations());
    if op == "read" {
        let known = (laps.done() as u32).wrapping_mul((piece / STEP) as u32);
        ctx.prove("sum less its known answer", "0", f64::from(sum.wrapping_sub(known)), 0.0..=0.0);
    } else {
        let expected = |at: usize| match op {
            "update" => laps.times(at) as u32,
            _ => {
                if at < laps.reached() {
                    MARK
                } else {
                    0
                }
            }
        };
        let wrong = words.touched_words().enumerate().filter(|(n, word)| *word != expected(n * STEP)).count();
        ctx.prove("words not written as often as they were gone over", "0", wrong as f64, 0.0..=0.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn one_word_in_four_is_touched() {
        let words = Words::new(2 * BLOCK, 0);
        assert_eq!(words.bytes(0..0).as_ptr().addr() % page_size(), 0);
        update(words.bytes(0..2 * BLOCK));
        update(words.bytes(BLOCK..2 * BLOCK));
        let seen: Vec<u32> = words.bytes(0..2 * BLOCK).iter().map(|word| word.load(Relaxed)).collect();
        let expected = |n: usize| if n.is_multiple_of(STRIDE) { 1 + u32::from(n >= WORDS) } else { 0 };
        assert!(seen.iter().enumerate().all(|(n, word)| *word == expected(n)), "{seen:?}");
        assert_eq!(read(words.bytes(0..2 * BLOCK)), 3 * (WORDS / STRIDE) as u32);
    }

    #[test]
    fn sizes_are_whole_blocks_of_each_buffer() {
        for (op, size, is_whole) in
            [("read", "512", true), ("copy", "512", false), ("copy", "1K", true), ("read", "700", false)]
        {
            let tried = try_out(&BENCH, &[("op", op), ("size", size)], None).map(|_| ());
            assert_eq!(tried.is_ok(), is_whole, "{op} {size}: {tried:?}");
        }
    }
}
