//! Store forwarding: loading what has just been stored, before it is in the cache.
//!
//! **Measures:** The time from a store to the use of a load that needs the stored bytes. By `kind`:
//! - `same`: the same eight bytes, through another register; `renamed`: through the same register.
//! - `narrower`: the last four of the eight bytes; `wider`: four bytes stored and eight loaded, so
//!   that no single store has all of them and most cores wait until the store has left its buffer;
//!   `two_stores`: eight bytes loaded of two stores of four.
//! - `line_split`, `page_split`: the same eight bytes across the boundary of a cache line or a
//!   page.
//! - `alias4k`: a load of *other* bytes at the same offset of another 4 KiB, which cores that
//!   compare twelve address bits take for the stored ones.
//! - `apart`: other bytes at another offset: the L1 latency, for comparison.
//!
//! **Does not measure:** Throughput.
//!
//! **Method:** An assembly chain of 64 steps a turn: store, load, and an addition to the loaded
//! value, which the next step stores. A chain of the additions alone runs in turn with it; the
//! difference is the store and the load.
//!
//! **Proofs:** The portable reference computes the same value as the chain.
//!
//! **Pitfalls:**
//! - A chain that stores and loads a constant could be value-predicted, so every step adds.
//! - Cores that rename memory pass the value from store to load before either has an address.
//!   `same` and `renamed` then cannot be distinguished from zero (Sapphire Rapids: 0.03 cycles a
//!   step, where L1 takes 5). This is no error: programs get it for variables on the stack.
//!   `chain`, the step with its addition, is never zero.
//! - `alias4k` costs no more than `apart` where the store's address is known as early as here, or
//!   where all address bits are compared.
//!
//! **Sources:** Wong, "Store-to-Load Forwarding and Memory Disambiguation in x86 Processors"
//! (2014), for the method. See docs/methods/processor.md#store-forwarding.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{add_chain, chain_added};
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::store_forward::{FORWARDS, Forward, Forwarding};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Store forwarding: from a store to the use of a load, by overlap",
        about: about!("store_forward.rs"),
        iteration: "64 steps of store, load and addition, and 64 additions beside them",
        timing: Timing::Floor,
        outputs: &[Output::MAIN.difference("chain", "additions"), Output::named("chain", "A step with its addition")],
        params: &[Param::word(
            "kind",
            "how the load overlaps the store",
            &["same", "renamed", "narrower", "wider", "two_stores", "line_split", "page_split", "alias4k", "apart"],
        )
        .quick(&["same"])
        .standard(&["narrower", "wider", "line_split", "alias4k"])],
        target_half_width: 0.02,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.store_forward")
    },
    run: Run::Here(run),
};

/// The distance whose lowest twelve bits are 0.
const ALIAS: usize = 4096;
/// Turns that are compared with the reference.
const COMPARED: u64 = 4;

/// The offsets at which a kind stores and loads, in a page-aligned buffer.
fn places(kind: &str, line: usize, page: usize) -> (Forward, usize, usize) {
    // The middle of a line in the middle of a page: nothing is crossed.
    let inside = page / 2 + line / 2;
    match kind {
        "renamed" => (Forward::Renamed, inside, inside),
        "narrower" => (Forward::Narrower, inside, inside),
        "wider" => (Forward::Wider, inside, inside),
        "two_stores" => (Forward::TwoStores, inside, inside),
        "line_split" => (Forward::Same, page / 2 + line - 4, page / 2),
        "page_split" => (Forward::Same, page - 4, page / 2),
        "alias4k" => (Forward::Other, inside, inside + ALIAS),
        // Three lines further in the next 4 KiB, so that the low address bits differ.
        "apart" => (Forward::Other, inside, inside + ALIAS + 3 * line),
        _ => (Forward::Same, inside, inside),
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    let page = page_size();
    let (kind, store, load) = places(ctx.word("kind"), crate::mem::line_size(), page);
    let map = || -> Result<Map, BenchError> {
        let mut map = Map::anonymous(2 * page + 2 * ALIAS, Policy::Base).context("mapping the buffer")?;
        map.populate();
        Ok(map)
    };
    let (mut buffer, mut other) = (map()?, map()?);
    let mut chain = Forwarding::new(kind, &mut buffer, store, load).map_err(BenchError::Unsupported)?;
    let mut reference = Forwarding::portable(kind, &mut other, store, load).map_err(BenchError::Unsupported)?;
    let same = chain.run(COMPARED) == reference.run(COMPARED) && chain.memory() == reference.memory();
    ctx.prove("value and memory after 256 steps as the reference has them", "1", f64::from(u8::from(same)), 1.0..=1.0);
    let (mut forwarded, mut added) = (0, 0);
    ctx.measure_variants(&mut [
        Variant::new("chain", |iters| {
            chain.run(iters);
            forwarded += iters * FORWARDS;
            Ok(())
        })
        .per_iter(FORWARDS as f64),
        Variant::new("additions", |iters| {
            added += chain_added(add_chain(iters * FORWARDS));
            Ok(())
        })
        .per_iter(FORWARDS as f64),
    ])?;
    let turns = ctx.iterations_of("chain");
    // The number requested: for some kinds the value stops changing. Where it changes, the
    // comparison with the reference below detects a wrong number.
    work::once_each(ctx, "stores and loads per pair credited", forwarded, turns * FORWARDS);
    let same = reference.run(turns) == chain.value() && chain.memory() == reference.memory();
    ctx.prove("value and memory as the reference has them in the end", "1", f64::from(u8::from(same)), 1.0..=1.0);
    work::once_each(ctx, "additions per addition credited", added, ctx.iterations_of("additions") * FORWARDS);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> &'static [&'static str] {
        match BENCH.info.params[0].kind {
            ParamKind::Word(kinds) => kinds,
            _ => panic!("kinds are words"),
        }
    }

    #[test]
    fn places_cross_what_they_say_and_nothing_else() {
        for (line, page) in [(64, 4096), (128, 16384), (32, 65536)] {
            for kind in kinds() {
                let (_, store, load) = places(kind, line, page);
                let crosses = |at: usize, unit: usize| at / unit != (at + 7) / unit;
                assert_eq!(crosses(store, line), kind.ends_with("_split"), "{kind}");
                assert_eq!(crosses(store, page), *kind == "page_split", "{kind}");
                assert_eq!(!store.is_multiple_of(8), kind.ends_with("_split"), "{kind}");
                assert!(!crosses(load, line));
                let alias = load > store && (load - store).is_multiple_of(4096);
                assert_eq!(alias, *kind == "alias4k", "{kind}");
            }
        }
    }

    #[test]
    fn a_load_overlaps_its_store_as_is_said() {
        let forward = |kind: &str| places(kind, 64, 4096).0;
        assert!(matches!(forward("same"), Forward::Same));
        assert!(matches!(forward("renamed"), Forward::Renamed));
        assert!(matches!(forward("narrower"), Forward::Narrower));
        assert!(matches!(forward("wider"), Forward::Wider));
        assert!(matches!(forward("two_stores"), Forward::TwoStores));
        assert!(matches!(forward("line_split"), Forward::Same));
        assert!(matches!(forward("page_split"), Forward::Same));
        assert!(matches!(forward("alias4k"), Forward::Other));
        assert!(matches!(forward("apart"), Forward::Other));
    }
}
