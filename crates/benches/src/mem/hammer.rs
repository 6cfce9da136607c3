//! Stores at random places of memory: Closson's "Silly Little Benchmark" (SLB).
//!
//! **Measures:** How many such stores a CPU completes, not how long one takes: nothing waits for a
//! store, so an out-of-order core has as many in flight as its buffers hold, and each also misses
//! the TLB. (The SLB calls the same number a latency; a store takes a tenth of the latency of
//! memory, machine not recorded.) By `variant`:
//! - `store`: the SLB's, 8 bytes somewhere in the first 64 of a random 4 KiB page. Its lines fall
//!   into 1/64 of a cache's sets, so less of them stays there.
//! - `line`: anywhere in the page.
//! - `own`: a latency. An atomic addition (x86 `lock xadd`) whose result is needed for the next
//!   address, so each one waits until the line before is owned.
//!
//! `traffic` is a model: if no cache holds it, a store fetches its line and writes it back, 128
//! bytes per operation.
//!
//! **Does not measure:** How long one store takes (`own` excepted), stores in order
//! (`mem.bandwidth`), or disturbance errors of DRAM ("row hammer").
//!
//! **Method:** Assembly kernels that generate the random numbers in registers, and fresh pages in
//! each round, present before the clock starts. The same loop without the memory access runs in
//! turn with it (`generator`), and its share is reported: the generator runs ahead of independent
//! stores and is hidden, while in the chain of `own` it is part of the path. As a worker group, one
//! on each CPU with memory of its own, this is the SLB's test, alone and together; `groma hammer`
//! runs a fixed count as the SLB did.
//!
//! **Proofs:** The first stores are compared with a reference beforehand, and the generator's
//! counter proves the number of operations.
//!
//! **Pitfalls:**
//! - Calling the result a write latency.
//! - A generator that costs as much as the store, or whose own dependence chain is longer (a linear
//!   congruential one takes four cycles, xorshift six).
//! - Pages first touched in the timed part.
//! - Huge pages by accident, which remove half of the cost.
//! - A buffer that the shared cache holds.
//!
//! **Sources:** Kevin Closson's SLB (`memhammer`). See docs/methods/memory.md#random-stores.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::hammer::HAMMER_PAGE;
use groma_harness::sys::hammer::{Bare, Hammer, Kind};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Random-store throughput: time per store of 8 B in a random page",
        about: about!("hammer.rs"),
        iteration: "64 operations",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN,
            Output::named("rate", "Operations per second of all members together").series("").quantity(Quantity::Rate),
            Output::named(
                "traffic",
                "Bytes per second that memory moves if no cache holds any (two lines an operation)",
            )
            .scaled("", TRAFFIC)
            .quantity(Quantity::Bandwidth)
            .detail(),
            Output::named("generator", "Time for the address of one operation alone").detail(),
            Output::named(
                "generator_share",
                "Time for the address over time per operation; hidden behind independent stores",
            )
            .ratio("generator", "")
            .quantity(Quantity::Ratio)
            .detail(),
        ],
        params: &[
            VARIANT,
            Param::size("size", "bytes of memory per worker")
                .takes(Memory::PerMember(1))
                // As in mem.random_read.
                .or_auto(Auto::BeyondCaches(2))
                .quick(&["auto"])
                .full(&["1M", "16M", "1G"]),
            Param::word("pages", "base pages or transparent huge pages", &["base", "huge"]).quick(&["base"]),
        ],
        group_tier: |_| Tier::Quick,
        target_half_width: 0.05,
        ..Info::new("mem.hammer")
    },
    run: Run::Here(run),
};

/// What is done.
pub(super) const VARIANT: Param = Param::word(
    "variant",
    "a store in the first line of a page, a store anywhere in it, or owning a line of it one after the other",
    &["store", "line", "own"],
)
.quick(&["store"])
.standard(&["own"]);

/// The fact that holds the bytes that memory moves for an operation.
const TRAFFIC: &str = "hammer.modelled_bytes";
/// Operations of one iteration, even: stores come in pairs.
const OPS: u64 = 64;
/// Operations that are compared with the reference: as many as it replays in a few milliseconds in
/// a debug build.
pub(super) const COMPARED: u64 = 4096;

/// Accepts only a whole number of the hammer's pages.
pub(super) fn check_pages(bytes: u64) -> Outcome {
    if !bytes.is_multiple_of(HAMMER_PAGE as u64) {
        return Err(BenchError::Unsupported(format!("{bytes} B is not a multiple of the page size, {HAMMER_PAGE} B")));
    }
    Ok(())
}

/// The requested variant.
pub(super) fn kind(ctx: &Ctx) -> Kind {
    Kind::from_word(ctx.word(VARIANT.name)).unwrap_or(Kind::Store)
}

/// Runs the first operations, on memory that is still zero. Returns how many words differ from the
/// reference.
pub(super) fn wrong_in_first(hammer: &mut Hammer<'_>) -> usize {
    let before = hammer.standing();
    hammer.run(COMPARED);
    hammer.wrong_words(before, COMPARED)
}

/// What is measured, and what draws the same places and does nothing there.
fn with_its_generator(memory: &mut [u8], kind: Kind, seed: u64) -> Result<(Hammer<'_>, Bare), String> {
    let bare = Bare::new(memory.len(), kind, seed);
    Ok((Hammer::new(memory, kind, seed)?, bare))
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (kind, size) = (kind(ctx), ctx.int("size"));
    check_pages(size)?;
    let seed = ctx.rng().next_u64();
    let mut buffer = super::buffer(ctx, size as usize)?;
    ctx.fact("hammer.instruction", kind.instruction());
    ctx.fact(TRAFFIC, 2 * super::line_size());

    let (mut hammer, mut bare) =
        with_its_generator(&mut buffer[..size as usize], kind, seed).map_err(BenchError::Unsupported)?;
    let wrong = wrong_in_first(&mut hammer);
    ctx.prove("words that are not what the reference stored", "0", wrong as f64, 0.0..=0.0);

    let before = hammer.standing();
    let bare_before = bare.standing();
    let main = |iters: u64| {
        hammer.run(iters * OPS);
        Ok(())
    };
    let generator = |iters: u64| {
        bare.run(iters * OPS);
        Ok(())
    };
    if ctx.workers() == 1 {
        ctx.measure_variants(&mut [
            Variant::new("", main).per_iter(OPS as f64),
            Variant::new("generator", generator).per_iter(OPS as f64),
        ])?;
    } else {
        // A member that only generates numbers would leave the memory bandwidth to the others.
        ctx.measure_per(OPS as f64, main)?;
        let alone = ctx.probe(4, generator)?;
        ctx.state_as("generator", alone.seconds / OPS as f64);
    }
    let credited = ctx.iterations_of("") * OPS;
    work::once_each(ctx, "operations that the counter went through, per operation", hammer.ops_since(before), credited);
    let credited = (ctx.iterations() - ctx.iterations_of("")) * OPS;
    work::once_each(
        ctx,
        "steps that the generator went through, per step credited",
        bare.ops_since(bare_before),
        credited,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::WorkerKind;
    use groma_harness::sys::pages::{Map, Policy};
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn every_variant_does_what_the_reference_does() {
        for variant in ["store", "line", "own"] {
            let tried = try_out(&BENCH, &[("variant", variant), ("size", "1M")], None).expect("a megabyte");
            assert!(tried.samples("") >= 3 && tried.samples("generator") >= 3, "{variant}");
            assert_eq!(tried.proven("words that are not what the reference stored"), 0.0);
            assert_eq!(tried.proven("operations that the counter went through, per operation"), 1.0);
            let bytes = tried.result.fact(TRAFFIC).map(str::to_owned);
            assert_eq!(bytes, Some((2 * super::super::line_size()).to_string()));
            let instruction = Kind::from_word(variant).map(|kind| kind.instruction().to_string());
            assert_eq!(tried.result.fact("hammer.instruction").map(str::to_owned), instruction, "{variant}");
        }
    }

    #[test]
    fn a_worker_group_says_all_that_one_says() {
        for group in [WorkerKind::Processes, WorkerKind::Threads] {
            let tried = try_group(&BENCH, &[("size", "256K")], None, 2, group).expect("two of them");
            let series = |name: &str| tried.result.series(name).expect("a series").clone();
            assert!(series("").samples.iter().any(|s| s.worker == 1));
            assert_eq!((series("generator").values.len(), series("generator").samples.len()), (1, 0));
        }
    }

    /// A group states the generator's time instead of sampling it: of one operation too, which
    /// hides behind a store.
    #[test]
    fn the_generator_of_a_group_takes_no_longer_than_a_store() {
        groma_harness::testing::assert_exceeds(0.2, || {
            let tried = try_group(&BENCH, &[("size", "256K")], None, 2, WorkerKind::Threads).expect("two of them");
            let generator = tried.stated("generator").expect("stated");
            tried.least_ns("") / OPS as f64 * 1e-9 / generator
        });
    }

    /// Where something was stored: in the first 64 bytes of a page or anywhere in it, words drawn
    /// at random or counts of the visits.
    #[test]
    fn each_variant_goes_where_it_says() {
        const PAGES: usize = 64;
        for (word, first_line, counts) in [("store", true, false), ("line", false, false), ("own", false, true)] {
            let kind = Kind::from_word(word).expect("a variant");
            let mut map = Map::anonymous(PAGES * HAMMER_PAGE, Policy::Base).expect("memory");
            let (mut hammer, mut bare) = with_its_generator(&mut map, kind, 7).expect("whole pages");
            hammer.run(COMPARED);
            bare.run(COMPARED);
            assert_eq!(hammer.standing().counter, bare.standing().counter, "{word}");
            let words = map.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
            let stored: Vec<(usize, u64)> = words.enumerate().filter(|(_, value)| *value != 0).collect();
            assert_eq!(stored.iter().all(|(i, _)| i * 8 % HAMMER_PAGE < 64), first_line, "{word}");
            assert_eq!(stored.iter().all(|(_, value)| *value <= COMPARED), counts, "{word}");
            let pages: std::collections::BTreeSet<usize> = stored.iter().map(|(i, _)| i * 8 / HAMMER_PAGE).collect();
            assert_eq!(pages.len(), PAGES, "{word}");
        }
    }

    #[test]
    fn a_size_of_no_whole_pages_is_refused() {
        let refused = try_out(&BENCH, &[("size", "5000")], None).expect_err("no whole pages");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn what_never_fits_is_refused_with_the_limit() {
        let refused = try_out(&BENCH, &[("size", "16T")], None).expect_err("no machine has it");
        assert!(matches!(&refused, BenchError::Unsupported(why) if why.contains("half of the")), "{refused}");
    }
}
