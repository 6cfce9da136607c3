//! How many bytes a second a program reads, writes or copies, by the size of what it goes over.
//!
//! Measures whole passes over a buffer, front to back, with the widest loads and stores of the CPU and nothing else. The
//! size is that of all the memory gone over: a copy of size 16 KiB copies 8 KiB to 8 KiB. The main value counts the bytes
//! that the program reads plus those that it writes, so a copied byte counts twice. `modelled` counts those that memory
//! would have to move if no cache held any of them: a store first fetches its line and later writes it back, unless it
//! bypasses the caches. It is a model: cores that recognise whole lines being stored move less, and where a cache holds
//! the buffer nothing is moved at all.
//!
//! Method: kernels in assembly, one per set of instructions. Buffers beyond 64 KiB are gone over in pieces of that size,
//! round and round, so that an interval is a fifth of a millisecond and more of a long stream (1 MiB at 5 GB/s), and one
//! that was interrupted is one sample of many. Each round has fresh base pages, made present by the CPU that measures.
//! Source and destination of a copy lie half a page apart in their low address bits. What was written is looked at
//! afterwards; the source is written beforehand, for memory never written is one page of zeros that sits in the cache.
//!
//! Traps: partial reads credited in full (lmbench `rd` touches a quarter and shows 143 GB/s where 214 is right and 557
//! can be had); the C library's memcpy changes its way with the size of the call; a destination just above its source in
//! the low twelve bits; caches full of dirty lines that a first lap of reads has to clean; huge pages by accident; a
//! shared cache that holds what is meant to be memory: look at where the curve is flat.
//!
//! Source: lmbench 1996 table 2, lmbench3 `bw_mem` and `stream`, Ousterhout 1990 table 5 (`bcopy`), CSE 221 "RAM
//! bandwidth", memory-methods.md M9.

use groma_harness::prelude::*;
use groma_harness::sys::arch::STREAM_PATTERN;
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::stream::{APART, Op, Stream, apart};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes per second that a program reads, writes or copies, by the size of the working set",
        about: about!("bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one pass over the buffer, or over 64 KiB of a larger one",
        outputs: &[
            Output::MAIN,
            Output {
                suffix: "modelled",
                summary: "Bytes per second that memory moves if no cache holds any (write-allocate model)",
                derivation: Derivation::Scaled { of: "", by: MODELLED },
                quantity: None,
                detail: true,
            },
        ],
        params: &[
            Param {
                name: "op",
                help: "what is done: read, write, write past the caches, copy",
                kind: ParamKind::Word(&["read", "write", "write_nt", "copy"]),
                quick: &["read", "copy"],
                default: &["read", "write", "write_nt", "copy"],
                full: &[],
            },
            Param {
                name: "size",
                help: "bytes gone over, source and destination together",
                kind: ParamKind::Size,
                quick: &["16K", "256M"],
                default: &["16K", "256K", "8M", "256M"],
                full: &[
                    "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M", "16M", "64M", "256M", "1G",
                ],
            },
            Param {
                name: "kernel",
                help: "instructions: the widest that the CPU has, or those named",
                kind: ParamKind::Word(&["best", "avx512", "avx2", "sse2", "neon", "scalar", "portable"]),
                quick: &[],
                default: &["best"],
                full: &["best", "avx512", "avx2", "sse2", "neon", "scalar", "portable"],
            },
        ],
        lineage: &["lmbench1996:table2", "lmbench3:bw_mem", "ousterhout1990:table5", "cse221:ram_bandwidth"],
        width: 0.02,
        ..Info::new("mem.bandwidth")
    },
    run: Run::Here(run),
};

/// The fact that says how many bytes memory moves for one of the program's.
const MODELLED: &str = "modelled_per_program_byte";
/// Larger buffers are gone over in pieces of at most this size.
const PIECE: usize = 64 << 10;
/// Buffers up to this many words are looked at whole; of larger ones, one word in [`LOOKED_AT`].
const LOOKED_AT_WHOLE: usize = 1 << 17;
/// One word in so many, odd so that it is not always the same word of a line.
const LOOKED_AT: usize = 257;

fn run(ctx: &mut Ctx) -> Outcome {
    let op = Op::ALL.into_iter().find(|op| op.word() == ctx.word("op")).unwrap_or(Op::Read);
    let isa = Some(ctx.word("kernel")).filter(|isa| *isa != "best");
    let stream = Stream::new(op, isa).map_err(Stop::Unsupported)?;
    let kernel = stream.kernel();
    let program = op.read_per_byte() + op.written_per_byte();
    // A copy shares the size between its two sides.
    let size = ctx.int("size");
    let unit = kernel.step as u64 * program;
    if size == 0 || !size.is_multiple_of(unit) {
        return Err(Stop::Unsupported(format!(
            "a size of {size} B is no multiple of the {unit} B that {} with {} goes over at a time",
            op.word(),
            kernel.isa
        )));
    }
    let bytes = (size / program) as usize;
    ctx.fact("stream.kernel", kernel.isa);
    ctx.fact("stream.instruction", kernel.instruction);
    ctx.fact(MODELLED, op.modelled_per_byte() as f64 / program as f64);

    sys::process::refuse_huge_pages();
    super::check_room(size * u64::from(ctx.workers()))?;
    // A page more: the two sides of a copy are moved against each other by less than that.
    let mut buffer = Map::anonymous(size as usize + 4096, Policy::Base).doing("mapping the buffer")?;
    buffer.populate();
    if let Some(huge) = buffer.huge_bytes() {
        ctx.prove("bytes of huge pages", "0", huge as f64, 0.0..=0.0);
    }
    let reads = op.read_per_byte() > 0;
    if reads {
        fill(&mut buffer[..bytes])?;
    }
    let (dst, src): (&mut [u8], &[u8]) = match op {
        Op::Copy => apart(&mut buffer, bytes, APART).map_err(Stop::Failed)?,
        Op::Read => (&mut [], &buffer[..bytes]),
        Op::Write | Op::WriteNt => (&mut buffer[..bytes], &[]),
    };
    let piece = piece(bytes, kernel.step);
    let mut walk = Walk { stream, dst, src, bytes, piece, at: 0 };
    if op == Op::Read {
        // The lap that cleans the caches.
        walk.pieces((bytes / piece) as u64)?;
        walk.at = 0;
    }
    ctx.measure_per((piece as u64 * program) as f64, |pieces| walk.pieces(pieces))?;

    let reached = ctx.iterations().saturating_mul(piece as u64).min(bytes as u64) as usize;
    if op.written_per_byte() > 0 {
        ctx.prove("words not written", "0", other_words(&walk.dst[..reached]) as f64, 0.0..=0.0);
    }
    if reads {
        ctx.prove("words of the source that are not its own", "0", other_words(walk.src) as f64, 0.0..=0.0);
    }
    Ok(())
}

/// The largest piece of a buffer, up to [`PIECE`], of which there is a whole number, each a multiple of `step`.
fn piece(bytes: usize, step: usize) -> usize {
    let mut piece = bytes;
    while piece > PIECE && piece.is_multiple_of(2 * step) {
        piece /= 2;
    }
    piece
}

/// Goes over buffers piece by piece, round and round, in as few calls of the kernel as possible.
struct Walk<'a> {
    stream: Stream,
    /// Empty where nothing is written.
    dst: &'a mut [u8],
    /// Empty where nothing is read.
    src: &'a [u8],
    bytes: usize,
    piece: usize,
    at: usize,
}

impl Walk<'_> {
    fn pieces(&mut self, mut pieces: u64) -> Outcome {
        let in_all = (self.bytes / self.piece) as u64;
        while pieces > 0 {
            // Whole laps at once; otherwise what is asked for, as far as the end.
            let (stretch, laps) = if self.at == 0 && pieces >= in_all {
                (in_all, pieces / in_all)
            } else {
                (pieces.min(((self.bytes - self.at) / self.piece) as u64), 1)
            };
            let range = self.at..self.at + stretch as usize * self.piece;
            let dst = self.dst.get_mut(range.clone()).unwrap_or_default();
            let src = self.src.get(range.clone()).unwrap_or_default();
            self.stream.over(dst, src).map_err(Stop::Failed)?.run(laps);
            self.at = range.end % self.bytes;
            pieces -= stretch * laps;
        }
        Ok(())
    }
}

/// Writes the pattern that is looked for afterwards.
fn fill(buffer: &mut [u8]) -> Outcome {
    let write = Stream::new(Op::Write, None).map_err(Stop::Failed)?;
    let whole = write.round_down(buffer.len());
    let (most, rest) = buffer.split_at_mut(whole);
    write.over(most, &[]).map_err(Stop::Failed)?.run(1);
    for word in rest.chunks_exact_mut(8) {
        word.copy_from_slice(&STREAM_PATTERN.to_ne_bytes());
    }
    Ok(())
}

/// How many of the words looked at are not the pattern.
fn other_words(buffer: &[u8]) -> usize {
    let words = buffer.chunks_exact(8);
    let every = if words.len() <= LOOKED_AT_WHOLE { 1 } else { LOOKED_AT };
    words.step_by(every).filter(|word| **word != STREAM_PATTERN.to_ne_bytes()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    fn fact<'a>(tried: &'a groma_harness::testing::Tried, key: &str) -> &'a str {
        tried.result.facts.iter().find(|f| f.key == key).map_or("", |f| f.value.as_str())
    }

    #[test]
    fn every_operation_goes_over_its_buffers() {
        for (op, modelled) in [("read", "1"), ("write", "2"), ("write_nt", "1"), ("copy", "1.5")] {
            for size in ["16K", "192K", "3M"] {
                let tried = match try_out(&BENCH, &[("op", op), ("size", size)], None) {
                    Ok(tried) => tried,
                    Err(Stop::Unsupported(why)) => {
                        assert!(op == "write_nt" && !cfg!(target_arch = "x86_64"), "{op} {size}: {why}");
                        continue;
                    }
                    Err(stop) => panic!("{op} {size}: {stop}"),
                };
                assert!(tried.samples("") >= 3);
                assert_eq!(fact(&tried, MODELLED), modelled);
                let proofs: Vec<&str> = tried.result.proofs.iter().map(|p| p.name.as_str()).collect();
                assert_eq!(proofs.contains(&"words not written"), op != "read", "{op}: {proofs:?}");
                assert!(tried.result.proofs.iter().all(|p| p.holds), "{:?}", tried.result.proofs);
            }
        }
    }

    #[test]
    fn a_kernel_by_name_is_that_one_or_none() {
        let tried = try_out(&BENCH, &[("kernel", "portable")], None).expect("it is everywhere");
        assert_eq!(fact(&tried, "stream.kernel"), "portable");
        let foreign = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
        let refused = try_out(&BENCH, &[("kernel", foreign)], None).expect_err("another architecture's");
        assert!(matches!(refused, Stop::Unsupported(_)), "{refused}");
    }

    #[test]
    fn a_size_that_no_kernel_can_go_over_is_refused() {
        for (op, size) in [("read", "0"), ("write", "1000"), ("copy", "100")] {
            let refused = try_out(&BENCH, &[("op", op), ("size", size)], None).expect_err("not whole");
            assert!(matches!(refused, Stop::Unsupported(_)), "{refused}");
        }
    }

    #[test]
    fn pieces_add_up_to_the_buffer() {
        for (bytes, expected) in [(16 << 10, 16 << 10), (64 << 10, 64 << 10), (96 << 10, 48 << 10), (3 << 20, 48 << 10)]
        {
            let piece = piece(bytes, 1024);
            assert_eq!((piece, bytes % piece, piece % 1024), (expected, 0, 0));
        }
    }

    #[test]
    fn a_walk_reaches_every_piece_and_no_other() {
        let stream = Stream::new(Op::Write, None).expect("everywhere");
        let (step, pieces) = (stream.kernel().step, 5);
        let mut buffer = Map::anonymous(step * pieces, Policy::Base).expect("memory");
        for (calls, written) in [(&[3][..], 3), (&[3, 1], 4), (&[3, 2], 5), (&[2, 4], 5), (&[12], 5), (&[0], 0)] {
            buffer.fill(0);
            let dst = &mut buffer[..step * pieces];
            let mut walk = Walk { stream, dst, src: &[], bytes: step * pieces, piece: step, at: 0 };
            for n in calls {
                walk.pieces(*n).expect("writable");
            }
            assert_eq!(walk.at / step, calls.iter().sum::<u64>() as usize % pieces);
            assert_eq!(other_words(&buffer[..step * written]), 0, "{calls:?}");
            assert_eq!(other_words(&buffer[step * written..step * pieces]), step * (pieces - written) / 8, "{calls:?}");
        }
    }
}
