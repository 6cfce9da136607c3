//! Loads and stores across the boundary of a cache line or a page.
//!
//! **Measures:** The throughput of eight-byte loads or stores that cross a boundary in their
//! middle, all in the L1 cache. `aligned` is the same within a line, and `slowdown` the ratio of
//! the two times.
//!
//! **Does not measure:** Latency (`cpu.store_forward` has a crossing load that waits for a store),
//! or atomic operations, which some systems trap.
//!
//! **Method:** 64 loads or stores a turn at four places in rotation, each in another page, without
//! dependences (loads are summed in four registers). Both loops are the same kernel, run in turn
//! over the same pages; only the offset within the page differs.
//!
//! **Proofs:** Loads add up to what was in memory; stores are found there.
//!
//! **Pitfalls:**
//! - Places a power of two apart share a cache set; four do not fill one.
//! - Most unaligned loads of a program cross no line (one of eight bytes does at 7 of 64 offsets),
//!   so this is the worst case, not the mean.
//! - Where the CPU traps and the kernel emulates (RISC-V reports it by hwprobe), the benchmark is
//!   `unsupported`.
//!
//! **Sources:** docs/methods/processor.md#split-accesses.

use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::split::{SPLIT_BYTES, SPLITS, Split};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A load or store across a line or page, over one within a line",
        about: about!("split.rs"),
        iteration: "64 loads or stores across a boundary, and 64 within lines beside them",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("split"),
            Output::named("aligned", "The same within a line"),
            Output::named("slowdown", "How many times as long it takes")
                .ratio("split", "aligned")
                .quantity(Quantity::Ratio),
        ],
        params: &[
            Param::word("kind", "the boundary that is crossed", &["line", "page"]).quick(&["line"]).standard(&["page"]),
            Param::word("op", "what crosses it", &["load", "store"]).quick(&["load"]).standard(&["store"]),
        ],
        target_half_width: 0.02,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.split")
    },
    run: Run::Here(run),
};

/// What the stores write.
const VALUE: u64 = 0x0123_4567_89ab_cdef;

/// Whether the parameter names loads; else it names stores.
fn loads(op: &str) -> bool {
    op == "load"
}

/// Four places, one in each page, that cross nothing, and four that cross a line or a page.
fn places(kind: &str, line: usize, page: usize) -> [[usize; 4]; 2] {
    let middle = page / 2;
    let crossing = if kind == "page" { page - SPLIT_BYTES / 2 } else { middle + line - SPLIT_BYTES / 2 };
    [middle, crossing].map(|at| [0, 1, 2, 3].map(|i| i * page + at))
}

fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    let page = page_size();
    let [aligned, crossing] = places(ctx.word("kind"), crate::mem::line_size(), page);
    let mut map = || -> Result<Map, BenchError> {
        let mut map = Map::anonymous(5 * page, Policy::Base).context("mapping the buffer")?;
        let rng = ctx.rng();
        map.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        Ok(map)
    };
    // A buffer each, since both are borrowed mutably.
    let (mut one, mut other) = (map()?, map()?);
    let mut split = Split::new(&mut one, crossing).map_err(BenchError::Unsupported)?;
    let mut inside = Split::new(&mut other, aligned).map_err(BenchError::Unsupported)?;
    let word_sum = |split: &Split<'_>| split.words().iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    let expected = [word_sum(&split), word_sum(&inside)].map(|sum| sum.wrapping_mul(SPLITS / 4));
    let load = loads(ctx.word("op"));
    let (mut wrong, mut seen) = ([0u64; 2], [0u64; 2]);
    {
        let ([wrong_split, wrong_inside], [seen_split, seen_inside]) = (&mut wrong, &mut seen);
        // For loads, the sum of what was loaded. For stores, the number requested: memory holds
        // only the last value.
        let variant = |split: &mut Split<'_>, wrong: &mut u64, seen: &mut u64, expected: u64, iters: u64| {
            if load {
                let sum = split.load(iters);
                *seen = seen.wrapping_add(sum);
                *wrong += u64::from(sum != expected.wrapping_mul(iters));
            } else {
                *seen += split.store(iters, VALUE ^ iters);
                *wrong += u64::from(split.words() != [VALUE ^ iters; 4]);
            }
            Ok(())
        };
        ctx.measure_variants(&mut [
            Variant::new("split", |iters| variant(&mut split, wrong_split, seen_split, expected[0], iters))
                .per_iter(SPLITS as f64),
            Variant::new("aligned", |iters| variant(&mut inside, wrong_inside, seen_inside, expected[1], iters))
                .per_iter(SPLITS as f64),
        ])?;
    }
    for (i, name) in ["split", "aligned"].into_iter().enumerate() {
        let each = if load { expected[i] } else { SPLITS };
        let all = u8::from(seen[i] == each.wrapping_mul(ctx.iterations_of(name)));
        ctx.prove(&format!("{name}: all loads or stores were made that are credited"), "1", f64::from(all), 1.0..=1.0);
    }
    ctx.prove("intervals whose loads or stores were wrong", "0", (wrong[0] + wrong[1]) as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{assert_exceeds, try_out};

    #[test]
    fn places_cross_what_they_say() {
        for (line, page) in [(64, 4096), (128, 16384), (64, 65536)] {
            for kind in ["line", "page"] {
                let [aligned, crossing] = places(kind, line, page);
                let crosses = |at: usize, unit: usize| at / unit != (at + SPLIT_BYTES - 1) / unit;
                assert!(aligned.iter().all(|at| !crosses(*at, line) && at.is_multiple_of(SPLIT_BYTES)));
                assert!(crossing.iter().all(|at| crosses(*at, line) && crosses(*at, page) == (kind == "page")));
                assert!(crossing.iter().all(|at| at + SPLIT_BYTES <= 5 * page));
                // Half of the bytes on each side of the boundary.
                assert!(crossing.iter().all(|at| (at + SPLIT_BYTES / 2).is_multiple_of(line)));
            }
        }
    }

    /// Each has proofs of its own, which hold whatever was asked for.
    #[test]
    fn loads_are_loads() {
        assert_eq!(["load", "store"].map(loads), [true, false]);
    }

    /// What crosses a page needs two translations.
    #[test]
    fn what_crosses_a_page_takes_longer_than_what_crosses_nothing() {
        assert_exceeds(1.2, || {
            let tried = try_out(&BENCH, &[("kind", "page")], None).expect("memory");
            tried.least_ns("split") / tried.least_ns("aligned")
        });
    }
}
