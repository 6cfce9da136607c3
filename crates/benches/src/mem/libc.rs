//! How fast the C library copies and sets memory, by the size of the call.
//!
//! **Measures:** `memcpy`, `memmove` (of which `bcopy` is another name) and `memset` of the C
//! library that this program is linked with, going over a buffer in calls of a given size; `whole`
//! is one call for all of it. The library chooses its method by the size of the call (loops, `rep`
//! instructions, non-temporal stores), so the same buffer is gone over at different speeds. Bytes
//! are counted as in `mem.bandwidth`: bytes read plus bytes written. `modelled` assumes that every
//! store first fetches its line, which large calls often avoid.
//!
//! **Does not measure:** The bandwidth of the hardware (`mem.bandwidth`, `mem.stream`), short
//! copies in registers that a compiler inlines, or memory that was never touched (`vm.fault`).
//!
//! **Method:** All calls of a pass run one after the other, front to back; a buffer that takes
//! longer than an interval is gone over in pieces of 1 MiB and more. The functions are called
//! through pointers that are opaque to the compiler. The destination is checked afterwards.
//!
//! **Pitfalls:**
//! - A compiler replaces a call of known size by its own instructions.
//! - A `memset` to zero may be a special case.
//! - A static program has another library than a dynamic one, or another choice within it.
//!
//! **Sources:** lmbench 1996 table 2; lmbench3 `bw_mem` (`bcopy`, `bzero`); Ousterhout 1990 (table
//! 5, `bcopy`). See docs/methods/memory.md#c-library-copies.

use super::bandwidth;
use super::laps::{Laps, piece};
use crate::work;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::arch::STREAM_PATTERN;
use groma_harness::sys::libc_memory::{Function, SET, go_over};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::stream::Op;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes per second that the C library copies or sets, by size",
        about: about!("libc.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one pass over the buffer, or over a piece of a larger one",
        outputs: &[
            Output::MAIN,
            Output::named(
                "modelled",
                "Bytes per second that memory moves if no cache holds any (write-allocate model)",
            )
            .scaled("", MODELLED)
            .detail(),
        ],
        params: &[
            Param::word("op", "the function", &["memcpy", "memset", "bcopy"]).quick(&["memcpy"]).standard(&["memset"]),
            Param::size_or("call", "bytes of one call; whole: all of the buffer", &["whole"])
                .quick(&["4K"])
                .standard(&["64", "64K", "1M", "whole"]),
            Param::size("buffer", "working set in bytes, source and destination together")
                .takes(Memory::PerMember(1))
                .or_auto(Auto::BeyondCaches(1))
                .quick(&["8M"])
                .full(&["16K", "256K", "auto"]),
        ],
        combination_tier,
        tier: Tier::Standard,
        target_half_width: 0.02,
        ..Info::new("mem.libc")
    },
    run: Run::Here(run),
};

const MODELLED: &str = "modelled_per_program_byte";
/// The largest piece, unless a call is larger: tens of microseconds.
const PIECE: usize = 1 << 20;

/// Without `--full`, only `memcpy` is called with lengths other than 64 bytes, 4 KiB and the whole
/// buffer.
fn combination_tier(params: &Params) -> Tier {
    let usual = params.int("call").is_none_or(|bytes| bytes == 64 || bytes == 4 << 10);
    if params.word("op") == Some("memcpy") || usual { Tier::Quick } else { Tier::Full }
}

/// The function that a word of `op` names.
fn function(word: &str) -> Function {
    match word {
        "memset" => Function::Memset,
        "bcopy" => Function::Memmove,
        _ => Function::Memcpy,
    }
}

/// The operation of `mem.bandwidth` with the same sides.
fn alike(copies: bool) -> Op {
    if copies { Op::Copy } else { Op::Write }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let function = function(ctx.word("op"));
    let copies = function != Function::Memset;
    let sides = if copies { 2 } else { 1 };
    let size = ctx.int("buffer");
    let bytes = (size / sides) as usize;
    if bytes == 0 || !bytes.is_multiple_of(64) {
        return Err(BenchError::Unsupported(format!("a buffer of {size} B is not a whole number of lines")));
    }
    let call = ctx.size_unless_word("call").map_or(bytes, |bytes| bytes as usize);
    if call == 0 || !bytes.is_multiple_of(call) {
        return Err(BenchError::Unsupported(format!("{bytes} B is not a multiple of the size of a call, {call} B")));
    }
    ctx.fact(MODELLED, if copies { 1.5 } else { 2.0 });
    sys::process::refuse_huge_pages();
    let mut map = Map::anonymous(size as usize + 4096, Policy::Base).context("mapping the buffer")?;
    map.populate();
    if copies {
        map[..bytes].chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&STREAM_PATTERN.to_ne_bytes()));
    }
    let (dst, src) = bandwidth::sides(alike(copies), &mut map, bytes)?;
    let piece = piece(bytes, call, PIECE);
    let mut laps = Laps::new(bytes, piece);
    let mut calls = 0;
    ctx.measure_per((piece as u64 * sides) as f64, |pieces| {
        laps.pieces(pieces, |range, times| {
            for _ in 0..times {
                let from = if copies { &src[range.clone()] } else { src };
                calls += go_over(function, &mut dst[range.clone()], from, call);
            }
            Ok(())
        })
    })?;
    work::once_each(ctx, "pieces gone over, per piece credited", laps.done(), ctx.iterations());
    ctx.prove(
        "calls beyond those of the passes",
        "0",
        calls as f64 - (laps.done() * (piece / call) as u64) as f64,
        0.0..=0.0,
    );
    let expected = if copies { STREAM_PATTERN.to_ne_bytes() } else { [SET; 8] };
    let other = dst[..laps.reached()].chunks_exact(8).step_by(257).filter(|word| **word != expected).count();
    ctx.prove("words not written", "0", other as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_call_larger_than_the_buffer_is_refused() {
        let refused = try_out(&BENCH, &[("call", "1M"), ("buffer", "16K")], None).expect_err("too large");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn a_standard_run_copies_in_calls_of_all_lengths_and_fills_in_three() {
        let points = BENCH.info.points(Tier::Standard);
        let of = |op| points.iter().filter(|point| point.word("op") == Some(op)).count();
        assert_eq!(["memcpy", "memset", "bcopy"].map(of), [5, 3, 0]);
    }

    #[test]
    fn each_word_has_its_function() {
        let functions = ["memcpy", "memset", "bcopy"].map(function);
        assert_eq!(functions, [Function::Memcpy, Function::Memset, Function::Memmove]);
    }

    /// A load from just above where a store goes, in the low twelve address bits, waits for it.
    #[test]
    fn a_copy_has_its_sides_half_a_page_apart() {
        for bytes in [8 << 10, 12_352] {
            let mut map = Map::anonymous(2 * bytes + 4096, Policy::Base).expect("memory");
            let (dst, src) = bandwidth::sides(alike(true), &mut map, bytes).expect("room");
            assert_eq!((dst.len(), src.len()), (bytes, bytes));
            assert_eq!(dst.as_ptr().addr().abs_diff(src.as_ptr().addr()) % 4096, 2048, "{bytes}");
            let (dst, src) = bandwidth::sides(alike(false), &mut map, bytes).expect("room");
            assert_eq!((dst.len(), src.len()), (bytes, 0));
        }
    }

    /// A line that is written is read before: a copy moves three bytes for two, a fill two for one.
    #[test]
    fn memory_moves_more_than_the_program() {
        for (op, modelled) in [("memcpy", "1.5"), ("bcopy", "1.5"), ("memset", "2")] {
            let tried = try_out(&BENCH, &[("op", op), ("buffer", "64K"), ("call", "4K")], None).expect("memory");
            assert_eq!(tried.result.fact(MODELLED), Some(modelled), "{op}");
        }
    }
}
