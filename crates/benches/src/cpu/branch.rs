//! Branches: the cost of a predicted branch, and the penalty of a mispredicted one.
//!
//! **Measures:** By `kind`:
//! - `taken`, `not_taken`: conditional branches that always go the same way; `indirect`: jumps
//!   through a register, each with a single target. The value is the time until the next branch can
//!   start.
//! - `mispredicted`: the extra cost of a conditional branch that is predicted wrongly: the
//!   discarded work and the refilled pipeline.
//! - `indirect_2`, `_4`, `_16`: the same for an indirect jump with that number of targets.
//!
//! **Does not measure:** Calls and returns (`cpu.call`), or the mitigations against speculation
//! that compilers build into programs (retpolines).
//!
//! **Method:** Two assembly loops run in turn, and one has branches that the other lacks. Their
//! difference is divided by the number of those branches.
//! - Predicted: 64 and 16 branches a turn, so the loop itself drops out.
//! - Mispredicted: the outcome is a bit of a xorshift generator in registers, with a mask. Without
//!   the mask a branch is random, with it always the same, and both loops run the same
//!   instructions. No predictor guesses more than one in two random outcomes (one in k of k
//!   targets), so the difference is divided by half of the branches (by (k - 1) / k of them).
//!
//! **Proofs:** The number of branches and the final state of the generator agree with a reference
//! that counts; over the whole round, random branches were taken half of the time.
//!
//! **Pitfalls:**
//! - A stored pattern is learned, even one of ten thousand outcomes: 16384 of them cost 2.9 cycles
//!   a branch, predicted (AMD Zen 4 guest).
//! - The penalty depends on when the branch is executed. Here its condition is ready about six
//!   cycles after the previous branch; one that waits for memory costs that wait as well.
//! - Branches that lie close together share predictor entries, so their distance is fixed: `taken`
//!   16 bytes, `not_taken` 4 (8 where all instructions are 4 bytes long).
//! - Hardware threads share what taken branches need. With a busy sibling thread, one can cost
//!   twice as much (Sapphire Rapids: 0.9 and 2 cycles were both seen, at high load).
//!
//! **Sources:** Fog, "The microarchitecture of Intel, AMD and VIA CPUs". See
//! docs/methods/processor.md#branches.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::branch::{
    self, BRANCHES_LONG, BRANCHES_RANDOM, BRANCHES_SHORT, Drawn, JUMPS_RANDOM, Layout,
};
use groma_harness::sys::arch::portable;
use std::cell::Cell;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Cost of a predicted branch, or penalty of a mispredicted one",
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
        class_tier: Tier::Standard,
        ..Info::new("cpu.branch")
    },
    run: Run::Here(run),
};

/// Turns that are compared with the reference.
const COMPARED: u64 = 256;
/// How far the share of taken branches may be from a half, in standard deviations. One in a million
/// rounds exceeds five.
const DEVIATIONS: f64 = 6.0;

/// The layout of branches that always go the same way; `None` for the other kinds.
fn layout(kind: &str) -> Option<Layout> {
    match kind {
        "taken" => Some(Layout::Apart),
        "not_taken" => Some(Layout::Dense),
        "indirect" => Some(Layout::Indirect),
        _ => None,
    }
}

/// The targets of an indirect jump of this kind; `None` for the others.
fn targets(kind: &str) -> Option<u64> {
    kind.strip_prefix("indirect_")?.parse().ok()
}

/// The share of random choices among `targets` that the best possible predictor gets wrong.
fn miss_share(targets: u64) -> f64 {
    (targets - 1) as f64 / targets as f64
}

/// How far the share of so many random branches may be from a half.
fn tolerance(drawn: u64) -> f64 {
    DEVIATIONS * 0.5 / (drawn as f64).sqrt()
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    match layout(kind) {
        Some(layout) => run_predicted(ctx, layout, kind != "not_taken"),
        None => run_mispredicted(ctx, targets(kind)),
    }
}

/// Branches that always go the same way.
fn run_predicted(ctx: &mut Ctx, layout: Layout, taken: bool) -> Outcome {
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

/// Branches decided by a random generator: conditional ones, or jumps among `targets`.
fn run_mispredicted(ctx: &mut Ctx, targets: Option<u64>) -> Outcome {
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
    let misses = in_a_turn as f64 * miss_share(targets.unwrap_or(2));
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
    // Only the credited number of steps leads to this state: the generator's period is 2^64 - 1.
    for (name, stands) in [("with", random.state), ("without", constant.state)] {
        let steps = ctx.iterations_of(name) * in_a_turn;
        let expected = (0..steps).fold(seed, |state, _| branch::xorshift(state));
        let what = format!("generator is where the credited steps lead, {name} outcomes");
        ctx.prove(&what, "1", f64::from(u8::from(stands == expected)), 1.0..=1.0);
    }
    // The mean of 0 to k - 1, divided by k - 1, is a half. Choices among k spread less than among
    // two.
    let share = random.taken as f64 / (drawn * (targets.unwrap_or(2) - 1)) as f64;
    let off = tolerance(drawn);
    let expected = format!("0.5 within {off:.5}");
    ctx.prove("share of random branches taken, or mean target", &expected, share, 0.5 - off..=0.5 + off);
    ctx.prove("branches taken with the outcome masked", "0", constant.taken as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{assert_exceeds, try_failing};

    /// The longer loop has four times as many branches, and a random branch is missed every second
    /// time: both take longer than what they are compared with.
    #[test]
    fn the_loop_with_the_branches_in_question_takes_longer() {
        for kind in ["taken", "not_taken", "indirect", "mispredicted", "indirect_4"] {
            assert_exceeds(1.2, || {
                let tried = try_failing(&BENCH, &[("kind", kind)], None).expect("branches");
                tried.least_ns("with") / tried.least_ns("without")
            });
        }
    }

    #[test]
    fn half_of_two_and_most_of_many_are_missed() {
        assert_eq!([2, 4, 16].map(miss_share), [0.5, 0.75, 0.9375]);
        assert_eq!(["indirect_2", "indirect_16", "indirect", "taken"].map(targets), [Some(2), Some(16), None, None]);
    }

    #[test]
    fn a_share_of_many_random_branches_is_close_to_a_half() {
        // Six deviations of one in a million draws, each of which is off by a half.
        assert!((tolerance(1_000_000) - 0.003).abs() < 1e-12);
    }

    /// Proofs count branches, wherever they lie.
    #[test]
    fn branches_lie_as_their_kind_says() {
        let known = [Some(Layout::Apart), Some(Layout::Dense), Some(Layout::Indirect)];
        assert_eq!(["taken", "not_taken", "indirect"].map(layout), known);
        assert_eq!(["mispredicted", "indirect_2", "indirect_16"].map(layout), [None; 3]);
    }
}
