//! The core's clock, without a cycle counter.
//!
//! **Measures:** The dependent register additions that the core executes in a second. Each takes
//! one cycle, so this is the clock of the core while it computes, boost included. With `class`, the
//! same clock while the core works on vectors (fused multiply-adds of 128, 256 or 512 bits, or of
//! SVE's length), for which some cores lower it.
//!
//! **Does not measure:** The rated clock, or the rate of the time counter (`clock.rate`).
//!
//! **Method:** Chains of 32000 and of 160000 additions, one after the other; the difference removes
//! the clock reads and the entry. Chains of multiplications and of rotations follow in the same
//! turn, which takes a third of a millisecond in all. Each must take a whole number of cycles: 3
//! and 1 on x86-64. A turn whose ratios are not whole was interrupted, or the clock changed within
//! it, and does not count. With fewer than three whole turns no clock is reported.
//!
//! In a vector class, the additions stand between the vector operations, two behind each in one
//! loop and four in another. A turn is whole where the second loop takes twice as long as the
//! first: the chain of additions, not the vectors, then determines the time. A millisecond of
//! vector work comes first, and its sums are a proof.
//!
//! Declared clocks are facts: the highest that CPUID (leaf 16H) or the kernel (`cpuinfo_max_freq`)
//! names, and the others by name.
//!
//! **Pitfalls:**
//! - Some cores execute additions of small constants at register renaming, which reads up to five
//!   times the clock. These are additions of registers.
//! - A clock that was lowered for vectors is back 10 us after them on some cores, and later on
//!   others. A chain behind the vectors would see neither clock.
//! - Cores change their clock within milliseconds (between 3.0 and 3.6 GHz in steps of 0.1 with the
//!   load of neighbours; machine not recorded). The fastest chains of a round need not be of one
//!   clock, and the highest clock seen grows with the time spent looking.
//! - Intervals of 10 ms and more report the neighbours (lmbench's `mhz`: 15 to 297 s, then "too
//!   busy").
//!
//! **Sources:** lmbench3 `mhz` (the greatest common divisor of the times of several operations).
//! See docs/methods/processor.md#core-clock and docs/methods/processor.md#clock-under-vectors.

use groma_harness::prelude::*;
use groma_harness::stats::upper_median;
use groma_harness::sys::arch::wide::{WIDE_ADDITIONS, WIDE_STEP, WIDE_UNROLL, Work, vector_work};
use groma_harness::sys::arch::{ADD_TAKES_ONE_CYCLE, add_chain, chain_ops, mul_chain, rotate_chain};
use groma_harness::sys::counters;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Clock of the core while it computes",
        about: about!("frequency.rs"),
        quantity: Quantity::Rate,
        iteration: "chains of 32000 and 160000 additions, multiplications and rotations",
        timing: Timing::Stated,
        params: &[Param::word("class", "the load on the core while its clock is measured", WORDS)
            .quick(&["integer"])
            .standard(CLASSES)
            .named(WORDS)],
        scaling: Scaling::alone("it states a rate of one core instead of taking samples that could overlap"),
        class_tier: Tier::Standard,
        ..Info::new("cpu.frequency")
    },
    run: Run::Here(run),
};

/// The classes that this architecture may have.
const WORDS: &[&str] = &["integer", "vector128", "vector256", "vector512", "sve"];
const CLASSES: &[&str] = if cfg!(target_arch = "x86_64") {
    &["integer", "vector256", "vector512"]
} else if cfg!(target_arch = "aarch64") {
    &["integer", "vector128", "sve"]
} else {
    &["integer"]
};
/// Duration of the vector work before the first turn, in nanoseconds: the clock follows within half
/// a millisecond (Intel Optimization Reference Manual, "Skylake server power management").
const WORK_NS: u64 = 1_000_000;
/// Turns of the vector work between two reads of the clock: 10 and 20 us at 3 GHz.
const WORK_TURNS: u64 = 500;
/// The lengths of a chain: about 10 and 50 us at 3 GHz.
const LENGTHS: [u64; 2] = [chain_ops(32_000), chain_ops(160_000)];
/// The fewest turns, whatever the time limit.
const MIN_TURNS: usize = 8;
/// Multiple of the time limit for which turns are taken until [`WHOLE_TURNS`] of them were whole.
const PATIENCE: u64 = 8;
/// Undisturbed turns that a clock needs. On a busy machine, or one whose clock changes often, most
/// turns are disturbed: the median turn is then not whole, and the undisturbed ones are still
/// right.
const WHOLE_TURNS: usize = 3;
/// Runs of the harness's own chain, 50 us each.
const FREQUENCY_PROBES: u32 = 16;

/// Runs the given number of dependent operations, and returns the last value.
type Chain = fn(u64) -> u64;

/// A check of a turn: the name of its proof, and the ratio to the time of the additions on x86-64.
type Check = (&'static str, f64);

const CHECKS: [Check; 2] = [("cycles of a dependent multiplication", 3.0), ("cycles of a dependent rotation", 1.0)];
const CHAINS: [Chain; 2] = [mul_chain, rotate_chain];
const VECTOR_CHECKS: [Check; 1] = [("time of twice as many additions beside as many vectors", 2.0)];
/// Relative tolerance of a ratio that has to be a whole number.
const ERROR: f64 = if cfg!(target_arch = "x86_64") { 0.005 } else { 0.01 };

/// The whole number that a ratio has to be: known on x86-64, the nearest elsewhere.
fn whole(ratio: f64, x86_64: f64) -> f64 {
    if cfg!(target_arch = "x86_64") { x86_64 } else { ratio.round().max(1.0) }
}

/// Whether a ratio is that number, within [`ERROR`].
fn is_near(ratio: f64, number: f64) -> bool {
    (ratio / number - 1.0).abs() <= ERROR
}

/// Whether all ratios are as whole as they have to be.
fn are_whole(ratios: &[f64], checks: &[Check]) -> bool {
    ratios.iter().zip(checks).all(|(&ratio, &(_, x86_64))| is_near(ratio, whole(ratio, x86_64)))
}

/// What the turns prove of a chain: the median of the whole turns, where there are enough of them;
/// else the whole number that more than half of all turns agree on. Other turns were disturbed and
/// prove nothing: a chain that is not what it claims takes whole cycles too, while the median of
/// disturbed turns was 2.06 instead of 3 at load 20, and the shortest run of each chain gave 2.41
/// and 2.43 in two rounds at once, beside a sibling thread that slowed the additions alone.
fn proven_ratio(ratios: &[f64], whole_ones: &[f64]) -> Option<f64> {
    if whole_ones.len() >= WHOLE_TURNS {
        return upper_median(whole_ones);
    }
    let of_some_number: Vec<f64> = ratios.iter().copied().filter(|&r| is_near(r, r.round().max(1.0))).collect();
    let agreed = upper_median(&of_some_number)?.round();
    let agree = ratios.iter().filter(|&&r| is_near(r, agreed)).count();
    (2 * agree > ratios.len()).then_some(agreed)
}

/// Nanoseconds of a run of each length.
type Times = [f64; 2];

fn times(ctx: &Ctx, chain: Chain) -> Times {
    LENGTHS.map(|length| {
        let start = ctx.now_ns();
        chain(length);
        ctx.now_ns().saturating_sub(start) as f64
    })
}

/// Nanoseconds for one operation of a chain.
fn per_op([short, long]: Times) -> f64 {
    (long - short) / (LENGTHS[1] - LENGTHS[0]) as f64
}

/// The times of each chain over those of the additions, the first.
fn ratios(times: &[Times]) -> Vec<f64> {
    times[1..].iter().map(|chain| per_op(*chain) / per_op(times[0])).collect()
}

/// The nanoseconds of [`WORK_TURNS`] turns of the vector work, and whether its sum was wrong.
fn of_vectors(ctx: &Ctx, work: Work) -> (f64, bool) {
    let start = ctx.now_ns();
    let sum = work(WORK_TURNS);
    let spent = ctx.now_ns().saturating_sub(start) as f64;
    (spent, sum != (WORK_TURNS * WIDE_UNROLL) as f64 * WIDE_STEP)
}

fn run(ctx: &mut Ctx) -> Outcome {
    if !ADD_TAKES_ONE_CYCLE {
        return Err(BenchError::Unsupported("no chain of one-cycle instructions was written for this CPU".to_owned()));
    }
    let work = match ctx.word("class") {
        "integer" => None,
        class => Some(vector_work(class).map_err(BenchError::Unsupported)?),
    };
    super::declare_clock(ctx, counters::current_cpu());
    let checks: &[Check] = if work.is_some() { &VECTOR_CHECKS } else { &CHECKS };
    // Lets the clock rise if it was low while the core was idle.
    let start = ctx.now_ns();
    while ctx.now_ns().saturating_sub(start) < ctx.time_limit_ns() / 4 {
        add_chain(LENGTHS[1]);
    }
    let before = ctx.core_hz(FREQUENCY_PROBES);
    let mut wrong = 0;
    let start = ctx.now_ns();
    while let Some([work, _]) = work
        && ctx.now_ns().saturating_sub(start) < WORK_NS
    {
        wrong += u64::from(of_vectors(ctx, work).1);
    }
    let start = ctx.now_ns();
    // The ratios of each turn, and the clocks of the turns whose ratios were whole.
    let (mut turns, mut clocks) = (Vec::new(), Vec::new());
    loop {
        let (add, ratios) = match work {
            None => {
                let seen = [add_chain as Chain, CHAINS[0], CHAINS[1]].map(|chain| times(ctx, chain));
                (per_op(seen[0]), ratios(&seen))
            }
            Some(works) => {
                let [few, many] = works.map(|work| of_vectors(ctx, work));
                wrong += u64::from(few.1) + u64::from(many.1);
                // The difference removes the entry, as that of two lengths does.
                let additions = WORK_TURNS * WIDE_UNROLL * (WIDE_ADDITIONS[1] - WIDE_ADDITIONS[0]);
                ((many.0 - few.0) / additions as f64, vec![many.0 / few.0])
            }
        };
        let is_whole = are_whole(&ratios, checks);
        turns.push(ratios);
        if is_whole {
            clocks.push(1e9 / add);
        }
        let spent = ctx.now_ns().saturating_sub(start);
        if turns.len() < MIN_TURNS || spent < ctx.time_limit_ns() {
            continue;
        }
        if clocks.len() >= WHOLE_TURNS || spent >= PATIENCE * ctx.time_limit_ns() {
            break;
        }
    }
    ctx.sampled_since(start);
    ctx.fact("frequency.turns", turns.len());
    if work.is_some() {
        ctx.prove("sums of vectors that were wrong", "0", wrong as f64, 0.0..=0.0);
    }
    let few = clocks.len() < WHOLE_TURNS;
    // Where the vectors determine the time, the clock cannot be seen. That is no failure.
    let checked = if work.is_some() && few { &[] } else { checks };
    prove_ratios(ctx, &turns, checks, checked);
    if few {
        let found =
            format!("{} of {} turns took whole cycles, and {WHOLE_TURNS} are needed", clocks.len(), turns.len());
        ctx.unresolved("", &found);
        return Ok(());
    }
    // The harness computes the cycles of other results from a chain of its own, timed as a whole.
    // It must give the same clock, or the clocks before and after must enclose this one. A chain
    // that is not what it claims is off by a factor of two and more; a sibling thread slows one by
    // a quarter.
    let after = ctx.core_hz(FREQUENCY_PROBES);
    let clock = upper_median(&clocks).unwrap_or(f64::NAN);
    let ratio = over_nearest(clock, [before, after]);
    ctx.prove("clock over that of the harness's own chain", "1 within a half", ratio, 1.0 / 1.5..=1.5);
    for clock in clocks {
        ctx.state(clock);
    }
    Ok(())
}

/// A clock over the nearest that lies between two others: 1 where they enclose it.
fn over_nearest(clock: f64, [before, after]: [f64; 2]) -> f64 {
    clock / clock.clamp(before.min(after), before.max(after))
}

/// Proves that each checked ratio of chains is the whole number that it has to be. `turns` are the
/// ratios of each turn, in the order of `checks`.
fn prove_ratios(ctx: &mut Ctx, turns: &[Vec<f64>], checks: &[Check], checked: &[Check]) {
    let whole_turns: Vec<&Vec<f64>> = turns.iter().filter(|ratios| are_whole(ratios, checks)).collect();
    for (i, &(name, x86_64)) in checked.iter().enumerate() {
        let all: Vec<f64> = turns.iter().map(|ratios| ratios[i]).collect();
        let whole_ones: Vec<f64> = whole_turns.iter().map(|ratios| ratios[i]).collect();
        if let Some(ratio) = proven_ratio(&all, &whole_ones) {
            let whole = whole(ratio, x86_64);
            let expected = format!("{whole} within {} %", ERROR * 100.0);
            ctx.prove(name, &expected, ratio, whole * (1.0 - ERROR)..=whole * (1.0 + ERROR));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn other_operations_take_whole_cycles() {
        let tried = match try_out(&BENCH, &[], None) {
            Ok(tried) => tried,
            Err(BenchError::Unsupported(_)) if !ADD_TAKES_ONE_CYCLE => return,
            Err(stop) => panic!("{stop}"),
        };
        if tried.has_remark("turns took whole cycles") {
            println!("the machine is too busy for a clock: {:?}", tried.result.output.remarks);
            return;
        }
        for (name, _) in CHECKS {
            assert!(tried.proven(name) > 0.8);
        }
        assert!(tried.result.series("").is_some_and(|s| !s.values.is_empty()));
        tried.proven("clock over that of the harness's own chain");
    }

    #[test]
    fn another_whole_number_is_proof_and_a_fraction_is_none() {
        let disturbed = [2.41, 2.43, 2.42, 2.41, 2.43, 3.001, 2.5, 2.1];
        assert_eq!(proven_ratio(&disturbed, &[3.001]), None);
        assert_eq!(proven_ratio(&disturbed, &[3.001, 3.0, 2.999]), Some(3.0));
        assert_eq!(
            proven_ratio(&[4.001, 3.999, 4.0, 4.002, 4.0, 3.1, 2.6, 4.0], &[]),
            Some(4.0),
            "another instruction"
        );
        assert_eq!(proven_ratio(&[4.0, 1.0, 3.4, 3.2, 3.1], &[]), None);
        assert_eq!(proven_ratio(&[f64::NAN, f64::INFINITY, -1.0], &[]), None);
    }

    #[test]
    fn the_clock_behind_vectors_is_one_too_or_the_cpu_has_none() {
        for class in ["vector128", "vector256", "vector512", "sve"] {
            match try_out(&BENCH, &[("class", class)], None) {
                Ok(tried) => {
                    assert_eq!(tried.proven("sums of vectors that were wrong"), 0.0);
                    let stated = tried.result.series("").is_some_and(|s| !s.values.is_empty());
                    let open = tried.has_remark("turns took whole cycles");
                    assert!(stated != open, "{class}: {:?}", tried.result.output.remarks);
                }
                Err(BenchError::Unsupported(why)) => assert!(!why.is_empty()),
                Err(stop) => panic!("{stop}"),
            }
        }
    }

    #[test]
    fn the_lengths_are_whole_turns_of_the_kernel() {
        assert_eq!(LENGTHS, [32_000, 160_000]);
    }

    /// The proofs are about ratios, and would not see it in both.
    #[test]
    fn an_operation_is_the_difference_of_two_lengths_over_what_one_has_more() {
        // A quarter of a nanosecond, and 2 us for what is in both.
        let add = [10_000.0, 42_000.0];
        assert_eq!(per_op(add), 0.25);
        assert_eq!(ratios(&[add, [26_000.0, 122_000.0], add]), [3.0, 1.0]);
    }

    #[test]
    fn a_clock_outside_of_those_around_it_is_off() {
        assert_eq!(over_nearest(3.3e9, [3.6e9, 3.0e9]), 1.0);
        assert_eq!(over_nearest(7.2e9, [3.0e9, 3.6e9]), 2.0);
        assert_eq!(over_nearest(1.5e9, [3.6e9, 3.0e9]), 0.5);
    }

    #[test]
    fn all_ratios_of_a_turn_have_to_be_whole() {
        let turns = [[3.0, 1.0], [3.01, 1.0], [3.0, 1.2], [2.5, 1.0]];
        assert_eq!(turns.map(|ratios| are_whole(&ratios, &CHECKS)), [true, true, false, false]);
        assert!(are_whole(&[2.0], &VECTOR_CHECKS) && !are_whole(&[1.4], &VECTOR_CHECKS));
    }
}
