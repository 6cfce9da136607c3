//! Memory bandwidth: bytes per second that a program reads, writes or copies, by working set.
//!
//! **Measures:** Whole passes over a buffer with the CPU's loads and stores and nothing else.
//! `size` is all the memory gone over: a copy of size 16 KiB copies 8 KiB to 8 KiB. The main value
//! counts the bytes that the program reads plus those that it writes, so a copied byte counts
//! twice. `modelled` counts what memory would move if no cache held any of it: a store first
//! fetches its line and later writes it back, unless it bypasses the caches. It is a model: cores
//! that recognise stores of whole lines move less, and where a cache holds the buffer nothing moves
//! at all. By `op`:
//! - `read`, `write`, `copy`: ordinary loads and stores.
//! - `write_nt`, `copy_nt`: non-temporal stores, past the caches.
//! - `zero_line`: the instruction that zeroes a cache line (`clzero`, `dc zva`, `cbo.zero`).
//! - `rep_stos`, `rep_movs`, `rep_lods`: x86's string instructions, which choose their own
//!   protocol. Whether they fetch the lines that they overwrite is a finding; the model assumes
//!   that they do.
//!
//! **Does not measure:** The C library's functions (`mem.libc`).
//!
//! **Method:** Assembly kernels, several per operation: for each instruction set a plain one, front
//! to back, and `x8`, which goes over eight eighths in turn and prefetches the lines of plain
//! stores.
//!
//! `best` tries all kernels of the operation in turn on the very buffer and takes the one with the
//! fastest window. The widest plain kernel stays unless another is 2 % faster. On a busy Emerald
//! Rapids guest, from memory, an `x8` kernel always won (AVX-512 or AVX2: rounds differ, within the
//! noise): it read 7 to 30 % more than front to back, copied 16 % more and wrote 55 % more. The
//! trials last a millisecond and more and the harness warms up after them, so the effect of wide
//! vectors on the clock precedes the timed part.
//!
//! Buffers beyond 64 KiB are gone over in pieces of that size, cyclically, so that an interval is
//! 0.2 ms and more of a long stream (1 MiB at 5 GB/s), and an interrupted interval is one sample of
//! many. Each round has fresh base pages, made present by the CPU that measures. Source and
//! destination of a copy are half a page apart in their low address bits. The source is written
//! beforehand, because memory that was never written is the shared zero page, which sits in the
//! cache. The destination is checked afterwards.
//!
//! **Pitfalls:**
//! - Partial reads credited in full: lmbench `rd` touches a quarter and shows 143 GB/s where 214 is
//!   right; touching one word per line shows 557 (AMD Zen 4 guest).
//! - The C library's memcpy changes its method with the size of the call.
//! - A destination just above its source in the low twelve address bits is slow.
//! - Caches full of dirty lines: a first lap of reads cleans them.
//! - Huge pages by accident.
//! - A shared cache that holds what should be memory: check where the curve is flat.
//!
//! **Sources:** lmbench 1996 table 2; lmbench3 `bw_mem`; CSE 221 "RAM bandwidth". See
//! docs/methods/memory.md#bandwidth-kernels, docs/methods/memory.md#counting-bytes and
//! docs/methods/memory.md#kernel-choice.

use super::laps::{Laps, piece};
use crate::work;
use groma_harness::model::{AUTO, Params};
use groma_harness::prelude::*;
use groma_harness::sys::arch::STREAM_PATTERN;
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::stream::{ADDRESS_OFFSET, Op, Stream, apart};
use std::ops::Range;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes per second read, written or copied, by working set",
        about: about!("bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one pass over the buffer, or over 64 KiB of a larger one",
        outputs: &[
            Output::MAIN,
            Output::named(
                "modelled",
                "Bytes per second that memory moves if no cache holds any (write-allocate model)",
            )
            .scaled("", MODELLED)
            .detail(),
        ],
        group_tier,
        params: &[
            Param::word(
                "op",
                "operation; _nt: non-temporal stores; zero_line and rep_: by the instruction of that name",
                OPS,
            )
            .quick(&["read", "copy", "write_nt"])
            .standard(OPS),
            Param::size("size", "working set in bytes, source and destination together")
                .takes(Memory::PerMember(1))
                .or_auto(Auto::BeyondCaches(1))
                .quick(&["16K", "auto"])
                .standard(&[
                    "24K", "32K", "48K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M", "16M", "32M", "64M",
                ])
                .full(&["128M", "256M", "1G"]),
            Param::word(
                "kernel",
                "instructions: the fastest of this CPU, or the named ones; x8: eight places at once",
                KERNELS,
            )
            .quick(&["best"]),
        ],
        target_half_width: 0.02,
        version: 2,
        combination_tier,
        class_tier: Tier::Full,
        ..Info::new("mem.bandwidth")
    },
    run: Run::Here(run),
};

/// The words of [`Op::ALL`], the typical one first.
const OPS: &[&str] = &["read", "write", "write_nt", "copy", "copy_nt", "zero_line", "rep_stos", "rep_movs", "rep_lods"];
const KERNELS: &[&str] = &[
    "best", "avx512", "avx512x8", "avx2", "avx2x8", "sse2", "string", "neon", "neonx8", "sve", "scalar", "rvv", "line",
    "portable",
];

/// Without `--full`, reads, writes and copies make a curve, whose edges are those of the caches,
/// and other operations have a point in each cache. `rep lods` is measured once, since it is
/// microcode and reads at the same rate everywhere, and copies by string instructions at the sizes
/// for which the C library uses them.
fn combination_tier(params: &Params) -> Tier {
    const L1: u64 = 16 << 10;
    const L2: u64 = 256 << 10;
    const L3: u64 = 8 << 20;
    let Some(size) = params.int("size") else { return Tier::Quick };
    let usual: &[u64] = match params.word("op") {
        Some("read" | "write" | "copy") => return Tier::Quick,
        Some("rep_lods") => &[L1],
        Some("rep_movs" | "zero_line") => &[L1, L3],
        _ => &[L1, L2, L3],
    };
    if usual.contains(&size) { Tier::Quick } else { Tier::Full }
}

/// The fact that holds the bytes that memory moves for one byte of the program.
const MODELLED: &str = "modelled_per_program_byte";
/// Windows of a trial of one kernel, of a quarter of an interval each; there are two trials. See
/// docs/methods/memory.md#kernel-choice.
const WINDOWS: u32 = 3;
/// How much faster than the first another kernel has to be, as a fraction: the difference of two
/// trials of one kernel. See docs/methods/memory.md#kernel-choice.
const CLEAR_GAIN: f64 = 0.02;
/// What all CPUs together move to and from memory, for the plain operations.
fn group_tier(params: &Params) -> Tier {
    let plain = matches!(params.word("op"), Some("read" | "write" | "copy")) && params.word("kernel") == Some("best");
    if plain && params.word("size") == Some(AUTO) { Tier::Standard } else { Tier::Named }
}

/// Larger buffers are gone over in pieces of at most this size.
const PIECE: usize = 64 << 10;
/// Buffers of up to this many words are checked entirely; of larger ones, one word in
/// [`CHECK_EVERY`].
const CHECKED_WHOLE: usize = 1 << 17;
/// One word in this many is checked; odd, so that it is not always the same word of a line.
const CHECK_EVERY: usize = 257;

fn run(ctx: &mut Ctx) -> Outcome {
    let op = Op::ALL.into_iter().find(|op| op.word() == ctx.word("op")).unwrap_or(Op::Read);
    let isa = Some(ctx.word("kernel")).filter(|isa| *isa != "best");
    let candidates = match isa {
        Some(_) => vec![Stream::new(op, isa).map_err(BenchError::Unsupported)?],
        None => Stream::candidates(op).map_err(BenchError::Unsupported)?,
    };
    let kernel = candidates[0].kernel();
    let program = op.read_per_byte() + op.written_per_byte();
    // A copy divides the size between source and destination.
    let size = ctx.int("size");
    // All steps are powers of two, so a length that fits the largest fits all; a kernel whose step
    // is too large for the buffer is not tried.
    let unit = kernel.step as u64 * program;
    if !size.is_multiple_of(unit) {
        return Err(BenchError::Unsupported(format!(
            "{size} B is not a multiple of the {unit} B that {} with {} moves at a time",
            op.word(),
            kernel.isa
        )));
    }
    let bytes = (size / program) as usize;
    ctx.fact(MODELLED, op.modelled_per_byte() as f64 / program as f64);

    sys::process::refuse_huge_pages();
    // A page more: source and destination of a copy are shifted against each other by less than
    // that.
    let mut buffer = Map::anonymous(size as usize + 4096, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    if let Some(huge) = buffer.huge_bytes() {
        ctx.prove("bytes of huge pages", "0", huge as f64, 0.0..=0.0);
    }
    let (reads, writes) = (op.read_per_byte() > 0, op.written_per_byte() > 0);
    if reads {
        fill(&mut buffer[..bytes])?;
    }
    let (dst, src) = sides(op, &mut buffer, bytes)?;
    let candidates: Vec<Stream> =
        candidates.into_iter().filter(|stream| bytes.is_multiple_of(stream.kernel().step)).collect();
    let step = candidates.iter().map(|stream| stream.kernel().step).max().unwrap_or(bytes);
    let piece = piece(bytes, step, PIECE);
    let mut walk = Walk { stream: candidates[0], dst, src, laps: Laps::new(bytes, piece), moved: 0 };
    if !writes {
        // A lap of reads cleans the caches of dirty lines.
        walk.pieces((bytes / piece) as u64)?;
    }
    choose(ctx, &candidates, &mut walk)?;
    walk.laps = Laps::new(bytes, piece);
    walk.moved = 0;
    // Of the kernel that is measured.
    ctx.fact("stream.kernel", walk.stream.kernel().isa);
    ctx.fact("stream.instruction", walk.stream.kernel().instruction);
    ctx.measure_per((piece as u64 * program) as f64, |pieces| walk.pieces(pieces))?;

    let credited = ctx.iterations_of("") * size / (bytes / piece) as u64;
    work::once_each(ctx, "bytes read and written per byte credited", walk.moved, credited);
    if writes {
        let other = other_words(&walk.dst[..walk.laps.reached()], op.stored_word());
        ctx.prove("words not written", "0", other as f64, 0.0..=0.0);
    }
    if reads {
        let other = other_words(walk.src, STREAM_PATTERN);
        ctx.prove("words of the source that are not its own", "0", other as f64, 0.0..=0.0);
    }
    Ok(())
}

/// What is written and what is read, `bytes` each; a side that the operation lacks is empty.
pub(super) fn sides(op: Op, buffer: &mut [u8], bytes: usize) -> Result<(&mut [u8], &[u8]), BenchError> {
    let sides: (&mut [u8], &[u8]) = match (op.read_per_byte() > 0, op.written_per_byte() > 0) {
        (true, true) => apart(buffer, bytes, ADDRESS_OFFSET).map_err(BenchError::Failed)?,
        (true, false) => (&mut [], &buffer[..bytes]),
        _ => (&mut buffer[..bytes], &[]),
    };
    Ok(sides)
}

/// Gives the walk the fastest kernel on this buffer, by the fastest of a few windows each.
fn choose(ctx: &mut Ctx, candidates: &[Stream], walk: &mut Walk<'_>) -> Outcome {
    let chosen = match candidates.len() {
        1 => 0,
        several => fastest_of(several, |i| {
            walk.stream = candidates[i];
            Ok(ctx.probe(WINDOWS, |pieces| walk.pieces(pieces))?.seconds)
        })?,
    };
    walk.stream = candidates[chosen];
    Ok(())
}

/// Which of several is the fastest, by the better of two trials each. Twice through all of them, so
/// that a disturbance of a few milliseconds does not decide.
fn fastest_of(several: usize, mut trial: impl FnMut(usize) -> Result<f64, BenchError>) -> Result<usize, BenchError> {
    let mut best = vec![f64::INFINITY; several];
    for _ in 0..2 {
        for (i, best) in best.iter_mut().enumerate() {
            *best = best.min(trial(i)?);
        }
    }
    Ok(fastest(&best))
}

/// The index of the lowest cost; 0 unless another is lower by [`CLEAR_GAIN`].
fn fastest(costs: &[f64]) -> usize {
    let least = (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0);
    if costs.first().is_some_and(|first| costs[least] > first * (1.0 - CLEAR_GAIN)) { 0 } else { least }
}

/// Goes over buffers piece by piece, cyclically, in as few calls of the kernel as possible.
struct Walk<'a> {
    stream: Stream,
    /// Empty where nothing is written.
    dst: &'a mut [u8],
    /// Empty where nothing is read.
    src: &'a [u8],
    laps: Laps,
    /// Bytes that the program has read and written in all.
    moved: u64,
}

impl Walk<'_> {
    fn pieces(&mut self, pieces: u64) -> Outcome {
        let (stream, dst, src, moved) = (self.stream, &mut *self.dst, self.src, &mut self.moved);
        let over = |range: Range<usize>, laps| {
            let to = dst.get_mut(range.clone()).unwrap_or_default();
            let from = src.get(range).unwrap_or_default();
            stream.over(to, from).map(|mut pass| *moved += pass.run(laps))
        };
        self.laps.pieces(pieces, over).map_err(BenchError::Failed)
    }
}

/// Writes the pattern that is checked afterwards.
fn fill(buffer: &mut [u8]) -> Outcome {
    // Past the caches where possible: twice as fast, and it leaves no dirty lines.
    let write = Stream::new(Op::WriteNt, None).or_else(|_| Stream::new(Op::Write, None)).map_err(BenchError::Failed)?;
    let whole = write.round_down(buffer.len());
    let (most, rest) = buffer.split_at_mut(whole);
    // No kernel goes over nothing.
    if whole > 0 {
        write.over(most, &[]).map_err(BenchError::Failed)?.run(1);
    }
    for word in rest.chunks_exact_mut(8) {
        word.copy_from_slice(&STREAM_PATTERN.to_ne_bytes());
    }
    Ok(())
}

/// How many of the checked words differ from `expected`.
fn other_words(buffer: &[u8], expected: u64) -> usize {
    let words = buffer.chunks_exact(8);
    let every = if words.len() <= CHECKED_WHOLE { 1 } else { CHECK_EVERY };
    words.step_by(every).filter(|word| **word != expected.to_ne_bytes()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::Value;
    use groma_harness::testing::{stating, try_out};

    fn fact<'a>(tried: &'a groma_harness::testing::Tried, key: &str) -> &'a str {
        tried.result.fact(key).unwrap_or_default()
    }

    #[test]
    fn a_buffer_of_any_size_is_filled_to_its_end() {
        for words in (1..=520).step_by(7) {
            let mut map = Map::anonymous(8 << 10, Policy::Base).expect("memory");
            let buffer = &mut map[..8 * words];
            fill(buffer).expect("it can be written to");
            let unlike = buffer.chunks_exact(8).filter(|word| **word != STREAM_PATTERN.to_ne_bytes()).count();
            assert_eq!(unlike, 0, "of {words} words");
        }
    }

    #[test]
    fn every_operation_goes_over_its_buffers() {
        let modelled = ["1", "2", "1", "1.5", "1", "1", "2", "1.5", "1"];
        for (op, modelled) in OPS.iter().zip(modelled) {
            for size in ["16K", "192K", "3M"] {
                let tried = match try_out(&BENCH, &[("op", op), ("size", size)], None) {
                    Ok(tried) => tried,
                    Err(BenchError::Unsupported(why)) => {
                        assert!(*op == "zero_line" || !cfg!(target_arch = "x86_64"), "{op} {size}: {why}");
                        continue;
                    }
                    Err(stop) => panic!("{op} {size}: {stop}"),
                };
                assert!(tried.samples("") >= 3);
                assert_eq!(fact(&tried, MODELLED), modelled);
                let proofs: Vec<&str> = tried.result.output.proofs.iter().map(|p| p.name.as_str()).collect();
                assert_eq!(
                    proofs.contains(&"words not written"),
                    !["read", "rep_lods"].contains(op),
                    "{op}: {proofs:?}"
                );
                assert!(tried.result.output.proofs.iter().all(|p| p.holds), "{:?}", tried.result.output.proofs);
            }
        }
    }

    #[test]
    fn reads_writes_and_copies_are_curves_and_other_operations_points() {
        let sizes = |tier, op: &str| {
            let points = BENCH.info.points(tier);
            points.iter().filter(|p| p.word("op") == Some(op) && p.word("kernel") == Some("best")).count()
        };
        for (op, quick, standard) in [("read", 2, 16), ("write", 0, 16), ("copy", 2, 16), ("write_nt", 2, 4)] {
            assert_eq!((sizes(Tier::Quick, op), sizes(Tier::Standard, op)), (quick, standard), "{op}");
        }
        assert_eq!([sizes(Tier::Standard, "rep_movs"), sizes(Tier::Standard, "rep_lods")], [3, 2]);
        assert_eq!(sizes(Tier::Full, "rep_lods"), sizes(Tier::Full, "read"));
    }

    #[test]
    fn a_group_measures_plain_operations_by_the_best_kernel_in_memory() {
        let tier = |op: &str, kernel: &str, size: &str| {
            let word = |name: &str, word: &str| (name.to_owned(), Value::Word(word.to_owned()));
            group_tier(&Params(vec![word("op", op), word("kernel", kernel), word("size", size)]))
        };
        assert_eq!(["read", "write", "copy"].map(|op| tier(op, "best", AUTO)), [Tier::Standard; 3]);
        let others = [("write_nt", "best", AUTO), ("read", "avx2", AUTO), ("read", "best", "16K")];
        assert_eq!(others.map(|(op, kernel, size)| tier(op, kernel, size)), [Tier::Named; 3]);
    }

    #[test]
    fn a_kernel_by_name_is_that_one_or_none() {
        let tried = try_out(&BENCH, &[("kernel", "portable")], None).expect("it is everywhere");
        assert_eq!(fact(&tried, "stream.kernel"), "portable");
        let foreign = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
        let refused = try_out(&BENCH, &[("kernel", foreign)], None).expect_err("another architecture's");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn the_words_are_all_operations() {
        let mut words: Vec<_> = Op::ALL.iter().map(|op| op.word()).collect();
        let mut listed = OPS.to_vec();
        words.sort_unstable();
        listed.sort_unstable();
        assert_eq!(words, listed);
    }

    #[test]
    fn the_first_kernel_stays_unless_another_is_clearly_faster() {
        for (costs, expected) in [
            (&[1.0][..], 0),
            (&[1.0, 0.99, 0.985], 0),
            (&[1.0, 0.99, 0.9], 2),
            (&[1.0, 0.5, 0.9], 1),
            (&[1.0, 1.5, f64::INFINITY], 0),
            (&[f64::INFINITY, 1.0], 1),
        ] {
            assert_eq!(fastest(costs), expected, "{costs:?}");
        }
    }

    #[test]
    fn the_better_of_two_trials_counts_for_each_kernel() {
        let turns = [[1.0, 1.2, 1.1], [1.1, 0.7, 1.3]];
        for (turns, expected) in [(turns, 1), ([turns[1], turns[0]], 1), ([[1.0, 0.9, 1.5], [1.0, 9.0, 0.5]], 2)] {
            let mut order = Vec::new();
            let found = fastest_of(3, |i| {
                order.push(i);
                Ok(turns[(order.len() - 1) / 3][i])
            });
            assert_eq!((found, order), (Ok(expected), vec![0, 1, 2, 0, 1, 2]));
        }
    }

    /// Of two kernels, tried in both orders, one is the faster each time or the first stays: it is
    /// never the last one both times.
    #[test]
    fn what_was_chosen_is_measured() {
        fn chosen(ctx: &mut Ctx) -> Outcome {
            let portable = Stream::new(Op::Write, Some("portable")).map_err(BenchError::Failed)?;
            let native = Stream::new(Op::Write, None).map_err(BenchError::Failed)?;
            let mut buffer = Map::anonymous(16 << 10, Policy::Base).context("mapping the buffer")?;
            let names = [[portable, native], [native, portable]].map(|candidates| {
                let laps = Laps::new(16 << 10, 16 << 10);
                let dst = &mut buffer[..16 << 10];
                let mut walk = Walk { stream: candidates[0], dst, src: &[], laps, moved: 0 };
                choose(ctx, &candidates, &mut walk).expect("it is written to");
                walk.stream.kernel().isa
            });
            let last = [native, portable].map(|stream| stream.kernel().isa);
            ctx.fact("always the last", last[0] != last[1] && names == last);
            ctx.state(1.0);
            Ok(())
        }
        let bench = stating(chosen);
        let another = |_| fact(&try_out(&bench, &[], None).expect("16 KiB"), "always the last") == "false";
        assert!((0..5).any(another), "the kernel that was tried last is left in place");
    }

    /// A load from just above where a store goes, in the low twelve address bits, waits for it.
    #[test]
    fn a_copy_has_its_sides_half_a_page_apart_and_other_operations_have_one() {
        for op in Op::ALL {
            for bytes in [8 << 10, 12_352] {
                let mut buffer = Map::anonymous(2 * bytes + 4096, Policy::Base).expect("memory");
                let (dst, src) = sides(op, &mut buffer, bytes).expect("room");
                let (reads, writes) = (op.read_per_byte() as usize, op.written_per_byte() as usize);
                assert_eq!((src.len(), dst.len()), (reads * bytes, writes * bytes), "{op:?}");
                if !src.is_empty() && !dst.is_empty() {
                    assert_eq!(dst.as_ptr().addr().abs_diff(src.as_ptr().addr()) % 4096, 2048, "{op:?}");
                }
            }
        }
    }

    #[test]
    fn a_size_that_no_kernel_can_go_over_is_refused() {
        for (op, size) in [("write", "1000"), ("copy", "100")] {
            let refused = try_out(&BENCH, &[("op", op), ("size", size)], None).expect_err("not whole");
            assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
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
            let mut walk = Walk { stream, dst, src: &[], laps: Laps::new(step * pieces, step), moved: 0 };
            for n in calls {
                walk.pieces(*n).expect("writable");
            }
            assert_eq!(walk.laps.reached(), step * written);
            let other = |range: std::ops::Range<usize>| other_words(&buffer[range], STREAM_PATTERN);
            assert_eq!(other(0..step * written), 0, "{calls:?}");
            assert_eq!(other(step * written..step * pieces), step * (pieces - written) / 8, "{calls:?}");
        }
    }
}
