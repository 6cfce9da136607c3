//! McCalpin's STREAM and STREAM2: simple loops over arrays of doubles, one element after the other.
//!
//! **Measures:** Copy (`a = b`), scale (`a = 3 b`), add (`a = b + c`) and triad (`a = b + 3 c`) of
//! STREAM, and fill (`a = 3`), daxpy (`a = a + 3 b`) and sum of STREAM2. The main value counts
//! bytes as their author does: 16, 16, 24 and 24 for an element of STREAM, 8, 24 and 8 for one of
//! STREAM2, and nothing for fetching the lines that stores overwrite. `modelled` counts those too:
//! 24, 24, 32, 32 and 16, 24, 8. With `store=nt` stores bypass the caches, and both are the same.
//!
//! **Does not measure:** The highest bandwidth of memory. That is `mem.bandwidth`, whose kernels go
//! over eight places at once. These are the loops as published, for comparison with the published
//! numbers, which are those of all CPUs together (`-P`).
//!
//! **Method:** Assembly kernels with the widest vectors, front to back, with separate
//! multiplication and addition. `size` is that of all arrays of the loop together. STREAM's rule is
//! four times the caches for each array, which the default satisfies for caches of up to 16 MiB;
//! beyond, check where `mem.bandwidth` is flat and choose a larger size. Arrays are gone over in
//! pieces of 32 KiB, cyclically, and each begins at another offset in its page. The result is
//! checked as STREAM checks it, against the known answer, and exactly, because all values are small
//! whole numbers.
//!
//! **Pitfalls:**
//! - Compilers turn copy into `memcpy`, and choose non-temporal stores or not, so the same source
//!   counts differently.
//! - Arrays smaller than a cache.
//! - One block of memory that aligns all arrays alike.
//! - An average that includes disturbed passes.
//!
//! **Sources:** J. D. McCalpin, "Memory bandwidth and machine balance in current high performance
//! computers", 1995, and STREAM2; lmbench3 `stream`. See docs/methods/memory.md#stream.

use super::laps::{Laps, piece};
use crate::work;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::doubles::{DOUBLES_SCALAR, Doubles, Loop};
use groma_harness::sys::pages::{Map, Policy, populate_by_piece};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes per second of the loops of STREAM and STREAM2",
        about: about!("stream.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one piece of 32 KiB of each array",
        outputs: &[
            Output::MAIN,
            Output::named("modelled", "Bytes per second that memory moves (write-allocate model)")
                .scaled("", MODELLED)
                .detail(),
        ],
        // The memory bandwidth of the machine: with all CPUs.
        group_tier: combination_tier,
        params: &[
            Param::word("op", "the loop", OPS).quick(&["triad"]).standard(OPS),
            Param::word("store", "ordinary stores, or non-temporal stores", &["plain", "nt"])
                .quick(&["plain"])
                .standard(&["nt"]),
            Param::size("size", "bytes of all arrays of the loop together")
                .takes(Memory::PerMember(1))
                // Three arrays at most, each as large as STREAM's rule wants it.
                .or_auto(Auto::BeyondCaches(3))
                .quick(&["auto"])
                .full(&["96K", "8M", "512M"]),
            Param::word(
                "kernel",
                "instructions: the widest of this CPU, or the named ones",
                &["best", "avx512", "avx2", "sve", "neon", "rvv", "scalar", "portable"],
            )
            .quick(&["best"]),
        ],
        combination_tier,
        tier: Tier::Standard,
        target_half_width: 0.02,
        ..Info::new("mem.stream")
    },
    run: Run::Here(run),
};

/// The words of [`Doubles::ALL`].
const OPS: &[&str] = &["triad", "copy", "scale", "add", "fill", "daxpy", "sum"];
const MODELLED: &str = "modelled_per_program_byte";
/// Each array is gone over in pieces of at most this many bytes.
const PIECE: usize = 32 << 10;
/// Values repeat after this number of elements, which divides every piece.
const PERIOD: usize = 256;
/// Of arrays larger than this many elements, one element in [`CHECK_EVERY`] is checked.
const CHECKED_WHOLE: usize = 1 << 16;
const CHECK_EVERY: usize = 257;
/// Distance of two arrays in the low twelve address bits: a third of a page, in whole lines.
const ARRAY_OFFSET: usize = 1344;
/// Addresses that differ by a multiple of this look alike to a load that waits for a store.
const PAGE: usize = 4096;

/// The four loops of STREAM, and by how much bypassing the caches changes one of them; the loops of
/// STREAM2 belong to the full set.
fn combination_tier(params: &Params) -> Tier {
    match (params.word("store"), params.word("op")) {
        (Some("nt"), Some("triad")) => Tier::Quick,
        (Some("nt"), _) => Tier::Full,
        (_, Some("triad" | "copy" | "scale" | "add")) => Tier::Quick,
        _ => Tier::Full,
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let op = Doubles::ALL.into_iter().find(|op| op.word() == ctx.word("op")).unwrap_or(Doubles::Triad);
    let nt = ctx.word("store") == "nt";
    let isa = Some(ctx.word("kernel")).filter(|isa| *isa != "best");
    let kernel = Loop::new(op, nt, isa).map_err(BenchError::Unsupported)?;
    let step = kernel.kernel().step.max(PERIOD * 8);
    let each = ctx.int("size") as usize / op.arrays() as usize;
    let bytes = whole(each, step);
    if bytes == 0 {
        return Err(BenchError::Unsupported(format!("arrays of {each} B are less than the {step} B done at a time")));
    }
    let counted = op.reads() + op.writes();
    ctx.fact("stream.kernel", kernel.kernel().isa);
    ctx.fact("stream.array_bytes", bytes);
    // Of the kernel that runs, which is the one asked for.
    ctx.fact(MODELLED, op.modelled(kernel.kernel().nt) as f64 / counted as f64);

    sys::process::refuse_huge_pages();
    let arrays = op.arrays() as usize;
    let mut map = Map::anonymous(arrays * (bytes + PAGE), Policy::Base).context("mapping the arrays")?;
    let mut parts = apart(&mut map, bytes);
    let mut next = || parts.next().unwrap_or_default();
    let a = if op.writes() > 0 { next() } else { Default::default() };
    let (b, c) = match arrays - op.writes() as usize {
        0 => (Default::default(), Default::default()),
        1 => (next(), Default::default()),
        _ => (next(), next()),
    };
    fill(a, |i| start(Array::A, i));
    fill(b, |i| start(Array::B, i));
    fill(c, |i| start(Array::C, i));

    let piece = piece(bytes, step, PIECE);
    let mut laps = Laps::new(bytes, piece);
    let mut sum = 0.0;
    ctx.measure_per((piece as u64 * counted) as f64, |pieces| {
        laps.pieces(pieces, |range, times| {
            let of = |array: &[u8]| if array.is_empty() { 0..0 } else { range.clone() };
            let (of_a, of_b, of_c) = (of(a), of(b), of(c));
            sum += kernel.over(&mut a[of_a], &b[of_b], &c[of_c])?.run(times);
            Ok(())
        })
        .map_err(BenchError::Failed)
    })?;

    work::once_each(ctx, "pieces gone over, per piece credited", laps.done(), ctx.iterations());
    if op.writes() > 0 {
        let wrong = wrong(a, |i| answer(op, i, laps.times(i * 8)));
        ctx.prove("elements of the result that are not the known answer", "0", wrong as f64, 0.0..=0.0);
    } else {
        let period: f64 = (0..PERIOD).map(|i| start(Array::B, i)).sum();
        let known = period * (laps.done() * (piece / 8 / PERIOD) as u64) as f64;
        ctx.prove("sum less its known answer", "0", sum - known, 0.0..=0.0);
    }
    Ok(())
}

/// As much of an array of so many bytes as is whole pieces; of a small one, whole steps.
fn whole(each: usize, step: usize) -> usize {
    each - each % if each >= 2 * PIECE { PIECE } else { step }
}

/// Arrays of `bytes` bytes. Each has a region of that and a page, and begins at another offset in
/// its first page.
fn apart(memory: &mut [u8], bytes: usize) -> impl Iterator<Item = &mut [u8]> {
    memory.chunks_exact_mut(bytes + PAGE).enumerate().map(move |(i, part)| &mut part[i * ARRAY_OFFSET..][..bytes])
}

#[derive(Clone, Copy)]
enum Array {
    A,
    B,
    C,
}

/// The initial values of an array: small whole numbers, different for each array and element.
fn start(array: Array, i: usize) -> f64 {
    let i = (i % PERIOD) as f64;
    match array {
        Array::A => -i - 1.0,
        Array::B => i + 1.0,
        Array::C => 2.0 * i + 5.0,
    }
}

/// What element `i` of `a` holds after a number of passes.
fn answer(op: Doubles, i: usize, passes: u64) -> f64 {
    let (a, b, c) = (start(Array::A, i), start(Array::B, i), start(Array::C, i));
    match op {
        _ if passes == 0 => a,
        Doubles::Copy => b,
        Doubles::Scale => DOUBLES_SCALAR * b,
        Doubles::Add => b + c,
        Doubles::Triad => b + DOUBLES_SCALAR * c,
        Doubles::Fill => DOUBLES_SCALAR,
        Doubles::Daxpy => a + passes as f64 * DOUBLES_SCALAR * b,
        Doubles::Sum => a,
    }
}

/// Makes an array present and writes `value(i)` to each element, repeating one period.
fn fill(array: &mut [u8], value: impl Fn(usize) -> f64) {
    let period: Vec<u8> = (0..PERIOD).flat_map(|i| value(i).to_ne_bytes()).collect();
    // A piece is a whole number of periods.
    populate_by_piece(array, |piece| {
        for part in piece.chunks_mut(period.len()) {
            part.copy_from_slice(&period[..part.len()]);
        }
    });
}

/// How many of the checked elements differ from the expected value.
fn wrong(array: &[u8], expected: impl Fn(usize) -> f64) -> usize {
    let elements = array.chunks_exact(8).enumerate();
    let every = if elements.len() <= CHECKED_WHOLE { 1 } else { CHECK_EVERY };
    elements.step_by(every).filter(|(i, element)| **element != expected(*i).to_ne_bytes()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_standard_run_measures_five_loops() {
        let size = BENCH.info.params.iter().find(|p| p.name == "size").expect("it has one");
        let sizes = size.values(Tier::Standard).len();
        assert_eq!(BENCH.info.points(Tier::Standard).len(), 5 * sizes);
    }

    #[test]
    fn an_element_that_is_wrong_is_found() {
        let mut array = vec![0; 4096];
        fill(&mut array, |i| start(Array::C, i));
        assert_eq!(wrong(&array, |i| start(Array::C, i)), 0);
        array[800] ^= 1;
        assert_eq!(wrong(&array, |i| start(Array::C, i)), 1);
        assert_eq!(wrong(&array, |i| start(Array::B, i)), 512);
        assert_eq!(answer(Doubles::Daxpy, 3, 5), -4.0 + 5.0 * 3.0 * 4.0);
    }

    #[test]
    fn a_kernel_by_name_is_that_one() {
        let tried = try_out(&BENCH, &[("kernel", "portable"), ("size", "96K")], None).expect("it is everywhere");
        assert_eq!(tried.result.fact("stream.kernel"), Some("portable"));
    }

    #[test]
    fn arrays_too_small_are_refused() {
        assert!(matches!(try_out(&BENCH, &[("size", "1K")], None), Err(BenchError::Unsupported(_))));
    }

    #[test]
    fn an_array_is_whole_pieces_or_steps() {
        for (each, bytes) in
            [(2047, 0), (3000, 2048), (PIECE + 2100, PIECE + 2048), (2 * PIECE, 2 * PIECE), (100_000, 3 * PIECE)]
        {
            assert_eq!(whole(each, 2048), bytes, "{each}");
        }
    }

    /// An ordinary store first fetches what it overwrites: a copy moves three times the bytes of an
    /// array, where the program counts two. What daxpy overwrites it has read before.
    #[test]
    fn the_modelled_traffic_depends_on_the_loop_and_on_its_stores() {
        for (op, arrays, store, expected) in [
            ("copy", 2, "plain", 1.5),
            ("copy", 2, "nt", 1.0),
            ("triad", 3, "plain", 4.0 / 3.0),
            ("fill", 1, "plain", 2.0),
            ("daxpy", 2, "plain", 1.0),
            ("sum", 1, "plain", 1.0),
        ] {
            let size = (arrays * (32 << 10)).to_string();
            let chosen = [("op", op), ("size", size.as_str()), ("store", store)];
            let tried = match try_out(&BENCH, &chosen, None) {
                Err(BenchError::Unsupported(why)) => {
                    println!("skipped: {why}");
                    continue;
                }
                tried => tried.expect("a loop"),
            };
            assert_eq!(tried.result.fact(MODELLED), Some(f64::to_string(&expected).as_str()), "{op} {store}");
            // The size is that of all arrays together.
            assert_eq!(tried.result.fact("stream.array_bytes"), Some("32768"), "{op} {store}");
        }
    }

    /// A load whose address has the low twelve bits of an earlier store waits for that.
    #[test]
    fn no_two_arrays_begin_at_one_offset_of_a_page() {
        const BYTES: usize = 64 << 10;
        let mut memory = vec![0; 3 * (BYTES + PAGE)];
        let begins: Vec<usize> = apart(&mut memory, BYTES).map(|array| array.as_ptr().addr()).collect();
        assert_eq!(begins.len(), 3);
        for (i, a) in begins.iter().enumerate() {
            for b in &begins[i + 1..] {
                let apart = (b - a) % PAGE;
                assert!(b - a >= BYTES && (PAGE / 4..=PAGE * 3 / 4).contains(&apart), "{apart} bytes");
            }
        }
    }
}
