//! Branches: what one costs that goes where it was predicted to go, and what one costs more that does not.
//!
//! Measures, by kind: `taken` and `not_taken`, conditional branches that always go the same way, and `indirect`, jumps
//! through a register each to one target: the time until the next can start. `mispredicted`: what a conditional branch
//! that goes the wrong way costs more than one that goes the right way: the work begun in vain and the refilled pipeline;
//! `indirect_2`, `_4`, `_16`: the same of an indirect jump that has so many targets. Calls and returns are `cpu.call`.
//! Mitigations against speculation that compilers put into programs (retpolines) are not in these loops.
//!
//! Method: two loops in assembly in turn, of which one has what the other lacks; their difference is divided by what they
//! differ in. Predicted: 64 branches a turn and 16, so the loop falls out. Mispredicted: the outcome is a bit of a
//! generator in registers (xorshift), masked: without the mask a branch is random, with it always the same, and both
//! loops run the same instructions. Of random outcomes no predictor guesses more than one in two (of k targets one in k),
//! so the difference is divided by the half (by (k - 1) / k) of the branches.
//!
//! Proofs: as many branches as there were, and the generator's last state, against a reference that counts; over
//! all of the round random branches were taken half of the time.
//!
//! Traps: a stored pattern is learned, even of ten thousand outcomes (memory-methods.md M18: 16384 of them cost 2.9
//! cycles, predicted); the penalty depends on when the branch is executed: here its condition is ready some six cycles
//! after the branch before, and one that waits for memory costs that wait besides; branches that lie close share the
//! predictor's entries, so their distance is fixed: `taken` 16 bytes, `not_taken` 4 (8 where all instructions are 4 long).
//! Taken branches are what hardware threads share: where the sibling is busy one can cost twice what it costs alone (on
//! Sapphire Rapids 0.9 and 2 cycles were both seen, at high load).
//!
//! Source: memory-methods.md M18; Fog, "The microarchitecture of Intel, AMD and VIA CPUs".

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::branch::{
    self, BRANCHES_LONG, BRANCHES_RANDOM, BRANCHES_SHORT, Drawn, JUMPS_RANDOM, Layout,
};
use groma_harness::sys::arch::portable;
use std::cell::Cell;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A branch: predicted ones each, mispredicted ones what they cost more",
        about: about!("branch.rs"),
        iteration: "one turn of a loop with the branches in question, and of one without them beside it",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.difference("with", "without"),
            Output::named("with", "The loop with them (longer, or random), over the branches in question").detail(),
            Output::named("without", "The loop without them (shorter, or always the same), over as many").detail(),
        ],
        params: &[Param::word(
            "kind",
            "mispredicted: conditional; indirect_K: mispredicted among K targets; the others are predicted",
            &["mispredicted", "taken", "not_taken", "indirect", "indirect_2", "indirect_4", "indirect_16"],
        )
        .quick(&["mispredicted"])
        .standard(&["taken", "not_taken", "indirect", "indirect_2"])],
        target_half_width: 0.02,
        ..Info::new("cpu.branch")
    },
    run: Run::Here(run),
};

/// Turns that are compared with the reference.
const COMPARED: u64 = 256;
/// How far the share of taken branches may be from a half, in standard deviations. One in a million rounds is beyond five.
const DEVIATIONS: f64 = 6.0;

/// The targets of an indirect jump of this kind; `None` for the others.
fn targets(kind: &str) -> Option<u64> {
    kind.strip_prefix("indirect_")?.parse().ok()
}

/// The share of random choices among so many targets that a predictor which does its best gets wrong.
fn missed(targets: u64) -> f64 {
    (targets - 1) as f64 / targets as f64
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    let layout = match kind {
        "taken" => Some(Layout::Apart),
        "not_taken" => Some(Layout::Dense),
        "indirect" => Some(Layout::Indirect),
        _ => None,
    };
    match layout {
        Some(layout) => predicted(ctx, layout, kind != "not_taken"),
        None => mispredicted(ctx, targets(kind)),
    }
}

/// Branches that always go the same way.
fn predicted(ctx: &mut Ctx, layout: Layout, taken: bool) -> Outcome {
    let [long, short] = [false, true].map(|short| branch::branches(layout, short));
    let (done, fell) = (Cell::new(0u64), Cell::new(0u64));
    let go = |run: fn(u64, bool) -> u64, iters: u64, branches: u64| {
        fell.set(fell.get() + run(iters, taken));
        done.set(done.get() + iters * branches);
        Ok(())
    };
    let per = (BRANCHES_LONG - BRANCHES_SHORT) as f64;
    ctx.measure_variants(&mut [
        Variant::new("with", |iters| go(long, iters, BRANCHES_LONG)).per_iter(per),
        Variant::new("without", |iters| go(short, iters, BRANCHES_SHORT)).per_iter(per),
    ])?;
    let credited = ctx.iterations_of("with") * BRANCHES_LONG + ctx.iterations_of("without") * BRANCHES_SHORT;
    work::once_each(ctx, "branches executed per branch credited", done.get(), credited);
    let expected = if taken { 0.0 } else { 1.0 };
    let share = fell.get() as f64 / done.get() as f64;
    ctx.prove("share of branches that fell through", &expected.to_string(), share, expected..=expected);
    Ok(())
}

/// Branches by a generator: conditional ones, or jumps among so many targets.
fn mispredicted(ctx: &mut Ctx, targets: Option<u64>) -> Outcome {
    let seed = ctx.rng().below(u64::MAX - 1) + 1;
    let in_a_turn = if targets.is_some() { JUMPS_RANDOM } else { BRANCHES_RANDOM };
    let draw = |turns: u64, state: u64, random: bool| match targets {
        Some(k) => branch::random_jumps(turns, state, if random { k - 1 } else { 0 }),
        None => branch::random_branches(turns, state, random),
    };
    let reference = match targets {
        Some(k) => portable::branch::random_jumps(COMPARED, seed, k - 1),
        None => portable::branch::random_branches(COMPARED, seed, true),
    };
    let same = u32::from(draw(COMPARED, seed, true) == reference);
    ctx.prove("state and count after 256 turns as the reference has them", "1", f64::from(same), 1.0..=1.0);

    let (mut random, mut constant) = (Drawn { state: seed, taken: 0 }, Drawn { state: seed, taken: 0 });
    let go = |so_far: &mut Drawn, turns: u64, random: bool| {
        let now = draw(turns, so_far.state, random);
        *so_far = Drawn { state: now.state, taken: so_far.taken + now.taken };
    };
    let misses = in_a_turn as f64 * missed(targets.unwrap_or(2));
    ctx.measure_variants(&mut [
        Variant::new("with", |iters| {
            go(&mut random, iters, true);
            Ok(())
        })
        .per_iter(misses),
        Variant::new("without", |iters| {
            go(&mut constant, iters, false);
            Ok(())
        })
        .per_iter(misses),
    ])?;
    let drawn = ctx.iterations_of("with") * in_a_turn;
    // The generator is where so many steps lead, and nowhere else: its period is 2^64 - 1.
    for (name, stands) in [("with", random.state), ("without", constant.state)] {
        let steps = ctx.iterations_of(name) * in_a_turn;
        let expected = (0..steps).fold(seed, |state, _| branch::xorshift(state));
        let what = format!("generator that stands where the steps credited lead, {name} outcomes");
        ctx.prove(&what, "1", f64::from(u8::from(stands == expected)), 1.0..=1.0);
    }
    // The mean of 0 to k - 1, over k - 1: a half. Fair choices among k spread less than those among two.
    let share = random.taken as f64 / (drawn * (targets.unwrap_or(2) - 1)) as f64;
    let off = DEVIATIONS * 0.5 / (drawn as f64).sqrt();
    let expected = format!("0.5 within {off:.5}");
    ctx.prove("share of random branches taken, or mean target", &expected, share, 0.5 - off..=0.5 + off);
    ctx.prove("branches taken with the outcome masked", "0", constant.taken as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_two_and_most_of_many_are_missed() {
        assert_eq!([2, 4, 16].map(missed), [0.5, 0.75, 0.9375]);
        assert_eq!(["indirect_2", "indirect_16", "indirect", "taken"].map(targets), [Some(2), Some(16), None, None]);
    }
}
