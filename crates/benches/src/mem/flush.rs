//! Cache-line management by instruction: write back and drop, or write back and keep.
//!
//! **Measures:** The time per line, in batches of 64 with one fence after each (how a program
//! flushes a buffer to persistent memory or to a device). `serial` has a fence after every line.
//! `evict` and `clean` take the best instruction that the CPU has for it (`clflushopt`, `clwb`; `dc
//! civac`, `dc cvac`; `cbo.flush`, `cbo.clean`: the fact `flush.instruction`); other instructions
//! are selected by name. The lines were loaded (`clean`), modified (`dirty`), or dropped before
//! (`absent`). `reload` is a dependent load afterwards, from lines in random order: the latency of
//! memory where the line was dropped, of a cache where it was kept. Some cores drop lines on
//! `clwb`, which is allowed to keep them.
//!
//! **Does not measure:** When the bytes have reached a device or persistent memory beyond the
//! caches, or instructions that only the kernel may use.
//!
//! **Method:** 2048 lines, 256 bytes apart, are put into their state outside the timed part: always
//! dropped first, then loaded or modified. They lie in the second-level cache and partly in the
//! first. The fence is `mfence` (`dsb ish`, `fence rw, rw`), which waits until the lines are gone;
//! `sfence` only orders what follows.
//!
//! **Pitfalls:**
//! - Lines that an earlier turn left modified.
//! - Reloads in address order, which are prefetched.
//! - A CPU may execute an instruction as another, older one.
//! - In a virtual machine the host may have additional work to do.
//!
//! **Sources:** docs/methods/memory.md#cache-line-flush.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::parallel_chase::PARALLEL_CHASE_UNROLL;
use groma_harness::sys::flush::{Effect, Flush};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::parallel_chase::{Chains, Link};
use std::cell::{Cell, RefCell};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Flushing or writing back a cache line, in batches of 64",
        about: about!("flush.rs"),
        iteration: "64 lines, and a fence",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN,
            Output::named("serial", "A line with a fence of its own").series(SERIAL),
            Output::named("reload", "A dependent load from such a line afterwards").series(RELOAD),
        ],
        params: &[
            Param::word(
                "op",
                "operation on the line, or the instruction",
                &[
                    "evict",
                    "clean",
                    "clflush",
                    "clflushopt",
                    "clwb",
                    "cldemote",
                    "dc_civac",
                    "dc_cvac",
                    "cbo_flush",
                    "cbo_clean",
                ],
            )
            .quick(&["evict"])
            .standard(&["clean"]),
            Param::word(
                "state",
                "state of the line before: loaded, modified, in no cache",
                &["clean", "dirty", "absent"],
            )
            .quick(&["clean"])
            .standard(&["dirty", "absent"]),
        ],
        target_half_width: 0.03,
        tier: Tier::Standard,
        ..Info::new("mem.flush")
    },
    run: Run::Here(run),
};

const SERIAL: &str = "serial";
const RELOAD: &str = "reload";
/// Lines between two fences.
const BATCH: usize = 64;
/// Batches that are put into their state at once.
const BATCHES: usize = 32;
/// Lines of the buffer.
const LINES: usize = BATCH * BATCHES;
/// Distance of two lines: no neighbour is fetched with a line. See
/// docs/methods/memory.md#node-spacing.
const SPACING: usize = 256;

/// The instruction that a word of `op` names, or the best one of the effect that it names.
fn instruction(word: &str) -> Result<Flush, String> {
    match word {
        "evict" => Flush::with(Effect::Evict),
        "clean" => Flush::with(Effect::Clean),
        name => Flush::named(name),
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let op = instruction(ctx.word("op")).map_err(BenchError::Unsupported)?;
    let Some(evict) = Flush::evict() else {
        return Err(BenchError::Unsupported("this CPU has no unprivileged cache-line flush instruction".to_owned()));
    };
    ctx.fact("flush.instruction", op.name());
    sys::process::refuse_huge_pages();
    let mut buffer = Map::anonymous(LINES * SPACING, Policy::Base).context("mapping the lines")?;
    buffer.populate();
    let lines = super::grouped_chains(&mut buffer, SPACING, ctx.rng());
    let mut lines = lines.map_err(BenchError::Unsupported)?;
    lines.link(&[Link { offset: 0, chains: 1, ahead: 1, start: 0 }]).map_err(BenchError::Unsupported)?;
    let state = ctx.word("state");
    let [managed, fences] = [(); 2].map(|()| [Cell::new(0u64), Cell::new(0)]);
    let (dropped, loaded) = (Cell::new(0u64), Cell::new(0u64));
    let mut walked = 0;
    // Puts the first `batches` batches into their state.
    let prepare = |lines: &mut Chains<'_>, batches: usize| {
        dropped.set(dropped.get() + lines.manage(evict, 0, 0, batches * BATCH, BATCH));
        match state {
            "dirty" => lines.modify(0, batches * BATCH),
            "clean" => loaded.set(loaded.get() + lines.load(0, batches * BATCH)),
            _ => {}
        }
    };
    let shared = RefCell::new(lines);
    let (all, all_fences) = (&managed, &fences);
    let variant = |name: &'static str, batch: usize, managed: usize| {
        let (shared, prepare, managed, fences) = (&shared, &prepare, &all[managed], &all_fences[managed]);
        Variant::staged(name, move |iters, watch| {
            let lines = &mut *shared.borrow_mut();
            let batches = iters as usize;
            prepare(lines, batches);
            watch.start();
            let lines = lines.manage(op, 0, 0, batches * BATCH, batch);
            watch.stop();
            managed.set(managed.get() + lines);
            fences.set(fences.get() + lines / batch as u64);
            Ok(())
        })
        .per_iter(BATCH as f64)
        .max_iters(BATCHES as u64)
    };
    let reload = Variant::staged(RELOAD, |iters, watch| {
        let lines = &mut *shared.borrow_mut();
        // All lines: the walk may visit any of them.
        prepare(lines, BATCHES);
        lines.manage(op, 0, 0, LINES, BATCH);
        watch.start();
        let loads = lines.walk(0, iters * BATCH as u64);
        watch.stop();
        walked += loads;
        Ok(())
    });
    let reload = reload.per_iter(BATCH as f64).max_iters(BATCHES as u64);
    ctx.measure_variants(&mut [variant("", BATCH, 0), variant(SERIAL, 1, 1), reload])?;
    for (name, managed) in ["", SERIAL].into_iter().zip(&managed) {
        let what = format!("lines managed per line credited{}{name}", if name.is_empty() { "" } else { ", " });
        work::once_each(ctx, &what, managed.get(), ctx.iterations_of(name) * BATCH as u64);
    }
    let of_batches = [ctx.iterations_of(""), ctx.iterations_of(SERIAL) * BATCH as u64];
    for (what, (fences, credited)) in ["a batch", "a line of serial"].iter().zip(fences.iter().zip(of_batches)) {
        work::once_each(ctx, &format!("fences for {what}"), fences.get(), credited);
    }
    if state == "clean" {
        work::once_each(ctx, "lines loaded before, per line", loaded.get(), dropped.get());
    }
    work::once_each(ctx, "lines loaded per line credited", walked, ctx.iterations_of(RELOAD) * BATCH as u64);
    // Of all lines that were dropped before, and none in another state.
    let modified = if state == "dirty" { dropped.get() } else { 0 };
    let missing = modified as f64 - shared.borrow().counted() as f64;
    ctx.prove("modifications that were lost", "0", missing, 0.0..=0.0);
    Ok(())
}

const _: () = assert!((BATCH as u64).is_multiple_of(PARALLEL_CHASE_UNROLL), "a reload is whole turns");

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::clock::{Clock, Monotonic};
    use groma_harness::testing::{assert_exceeds, try_out};

    #[test]
    fn an_instruction_of_another_architecture_is_refused() {
        let foreign = if cfg!(target_arch = "x86_64") { "dc_civac" } else { "clflush" };
        let refused = try_out(&BENCH, &[("op", foreign)], None).expect_err("another architecture's");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn each_word_names_its_instruction() {
        for (word, effect) in [("evict", Effect::Evict), ("clean", Effect::Clean)] {
            let names = [instruction(word), Flush::with(effect)].map(|found| found.map(|flush| flush.name()));
            assert_eq!(names[0], names[1], "{word}");
        }
        let ParamKind::Word(words) = BENCH.info.params[0].kind else { panic!("op is a word") };
        for word in words.iter().filter(|word| !["evict", "clean"].contains(word)) {
            assert!(instruction(word).ok().is_none_or(|flush| flush.name() == *word), "{word}");
        }
    }

    /// Instructions that wait for no other one overlap in a batch, unless each has a fence.
    #[test]
    fn a_fence_for_each_line_keeps_instructions_from_overlapping() {
        for op in ["clflushopt", "clwb"] {
            match try_out(&BENCH, &[("op", op)], None) {
                Err(BenchError::Unsupported(why)) => println!("skipped: {why}"),
                tried => {
                    assert_eq!(tried.expect("memory").result.fact("flush.instruction"), Some(op));
                    assert_exceeds(1.3, || {
                        let tried = try_out(&BENCH, &[("op", op)], None).expect("memory");
                        tried.least_ns(SERIAL) / tried.least_ns("")
                    });
                }
            }
        }
    }

    /// The least time of a load from the lines, after an instruction was given to each.
    fn reload_after(by: Flush) -> f64 {
        let mut buffer = Map::anonymous(LINES * SPACING, Policy::Base).expect("memory");
        buffer.populate();
        let mut rng = groma_harness::Rng::new(7);
        let mut lines = super::super::grouped_chains(&mut buffer, SPACING, &mut rng).expect("lines");
        lines.link(&[Link { offset: 0, chains: 1, ahead: 1, start: 0 }]).expect("a chain");
        let one = |_| {
            lines.load(0, LINES);
            lines.manage(by, 0, 0, LINES, BATCH);
            let from = Monotonic.now_ns();
            let loads = lines.walk(0, 4 * BATCH as u64);
            (Monotonic.now_ns() - from) as f64 / loads as f64
        };
        (0..20).map(one).fold(f64::INFINITY, f64::min)
    }

    /// Where lines that were cleaned come faster than lines that were evicted, so they do in a
    /// round.
    #[test]
    fn a_reload_shows_what_the_instruction_left() {
        let (Ok(clean), Some(evict)) = (Flush::with(Effect::Clean), Flush::evict()) else {
            return println!("skipped: no such instruction");
        };
        sys::process::refuse_huge_pages();
        let least = |op: &str| try_out(&BENCH, &[("op", op)], None).expect("memory").least_ns(RELOAD);
        let mut seen = Vec::new();
        for _ in 0..5 {
            let kept = reload_after(evict) / reload_after(clean);
            if kept < 2.0 {
                return println!("skipped: this CPU drops lines that it cleans, or others took its cache: {kept}");
            }
            seen.push(least("evict") / least("clean"));
            if seen.iter().any(|ratio| *ratio > 1.4) {
                return;
            }
        }
        panic!("cleaned lines are as far away as evicted ones: {seen:?}");
    }
}
