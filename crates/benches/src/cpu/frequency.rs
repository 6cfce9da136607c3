//! The core's clock, without any counter of cycles.
//!
//! Measures how many dependent additions of registers the core does in a second: each takes one cycle, so that is its
//! clock while it computes, boost and all; not the rated clock, nor that of the counter which `tsc` names. With `class`
//! the same clock while the core works on vectors (fused multiply-adds of 128, 256 or 512 bits, or of SVE's length): cores may
//! lower it for that.
//!
//! Method: chains of 32000 and of 160000 additions, one after the other; the difference leaves out the clock reads and the
//! entry. Chains of multiplications and of rotations follow in the same turn, a third of a millisecond in all. Whatever
//! the cycle is, one of theirs must take a whole number of times as long: 3 and 1 on x86-64. A turn whose ratios are not
//! whole was interrupted, or the clock changed within it, and does not count; with fewer than three whole ones no clock is told. Of a class of
//! vectors the additions stand between the operations on vectors, two behind each and then four: a turn is whole where the second
//! loop takes twice as long as the first, so that the chain of additions and not the vectors is what takes the time. A millisecond
//! of it goes before, and its sums are a proof. What the system declares is a fact beside it: the highest clock that CPUID (leaf
//! 16H) or the kernel (`cpuinfo_max_freq`) names, and the others by name.
//!
//! Traps: additions of small constants are done while registers are renamed on some cores, and read up to five times the
//! clock (these are of registers); a clock that was lowered for vectors is back 10 us after them on some cores, and later on
//! others, so that a chain behind them sees neither; cores change their clock within milliseconds (here between 3.0 and 3.6 GHz in steps of
//! 0.1, by what their neighbours do), so the fastest chains of a round need not be of the same clock, and the highest
//! clock seen grows with the time spent looking; intervals of 10 ms and more report the neighbours (lmbench's `mhz`: 15 to
//! 297 s, then "too busy").
//!
//! Source: lmbench3 `mhz` (the greatest common divisor of several operations' times), memory-methods.md M13.

use groma_harness::prelude::*;
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
        lineage: &["lmbench3:mhz"],
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
/// How long vectors are worked on before the first turn, in nanoseconds: the clock follows within half a millisecond (Intel
/// Optimization Reference Manual, "Skylake server power management").
const WORK_NS: u64 = 1_000_000;
/// Turns of the vector work between two looks at the clock: 10 and 20 us at 3 GHz.
const WORK_TURNS: u64 = 500;
/// The lengths of a chain: about 10 and 50 us at 3 GHz.
const LENGTHS: [u64; 2] = [chain_ops(32_000), chain_ops(160_000)];
/// Turns at least, whatever the time box says.
const FEWEST: usize = 8;
/// How many times as long as the time box turns are taken while the median turn is not whole.
const PATIENCE: u64 = 8;
/// Turns without a disturbance that a clock needs. On a busy machine, or one whose clock hops, most turns have one: then the
/// median turn is not whole, and the rest are all the same.
const WHOLE_TURNS: usize = 3;
/// Tries of the harness's own chain, 50 us each.
const FREQUENCY_PROBES: u32 = 16;

/// So many dependent operations in a row, and the last value.
type Chain = fn(u64) -> u64;

/// What a turn's other time is held against that of the additions for: its proof's name, and the ratio on x86-64.
type Check = (&'static str, f64);

const CHECKS: [Check; 2] = [("cycles of a dependent multiplication", 3.0), ("cycles of a dependent rotation", 1.0)];
const CHAINS: [Chain; 2] = [mul_chain, rotate_chain];
const VECTOR_CHECKS: [Check; 1] = [("time of twice as many additions beside as many vectors", 2.0)];
/// How far a ratio may be from the whole number that it has to be, relative to that.
const ERROR: f64 = if cfg!(target_arch = "x86_64") { 0.005 } else { 0.01 };

/// The same of the median of turns that were disturbed.
const DISTURBED: f64 = 0.15;

/// The whole number that a ratio has to be: known on x86-64, the nearest elsewhere.
fn whole(ratio: f64, x86_64: f64) -> f64 {
    if cfg!(target_arch = "x86_64") { x86_64 } else { ratio.round().max(1.0) }
}

/// Whether all ratios are as whole as they have to be.
fn are_whole(ratios: &[f64], checks: &[Check]) -> bool {
    ratios.iter().zip(checks).all(|(&ratio, &(_, x86_64))| (ratio / whole(ratio, x86_64) - 1.0).abs() <= ERROR)
}

/// Nanoseconds for one operation of a chain, from one run of each length.
fn per_op(ctx: &Ctx, chain: Chain) -> f64 {
    let [short, long] = LENGTHS.map(|length| {
        let start = ctx.now_ns();
        chain(length);
        ctx.now_ns().saturating_sub(start) as f64
    });
    (long - short) / (LENGTHS[1] - LENGTHS[0]) as f64
}

/// The middle one; `NaN` of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds of some turns of that work, and whether its sum was wrong.
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
    // Clocks that were low while there was nothing to do rise first.
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
    // Ratios of each turn, and the clocks of those whose ratios were whole.
    let (mut turns, mut clocks) = (Vec::new(), Vec::new());
    loop {
        let (add, ratios) = match work {
            None => {
                let add = per_op(ctx, add_chain);
                (add, CHAINS.map(|chain| per_op(ctx, chain) / add).to_vec())
            }
            Some(works) => {
                let [few, many] = works.map(|work| of_vectors(ctx, work));
                wrong += u64::from(few.1) + u64::from(many.1);
                // The difference leaves out the entry, as that of two lengths does.
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
        if turns.len() < FEWEST || spent < ctx.time_limit_ns() {
            continue;
        }
        if clocks.len() >= WHOLE_TURNS || spent >= PATIENCE * ctx.time_limit_ns() {
            break;
        }
    }
    ctx.fact("frequency.turns", turns.len());
    if work.is_some() {
        ctx.prove("sums of vectors that were wrong", "0", wrong as f64, 0.0..=0.0);
    }
    let few = clocks.len() < WHOLE_TURNS;
    // Of few whole turns all turns are looked at: a crowded machine spoils them without changing what they are about, and a
    // chain that is not what it claims is wrong by a cycle.
    let error = if few { DISTURBED } else { ERROR };
    for (i, &(name, x86_64)) in checks.iter().enumerate() {
        let ratio = median(turns.iter().filter(|t| few || are_whole(t, checks)).map(|ratios| ratios[i]));
        let whole = whole(ratio, x86_64);
        let expected = format!("{whole} within {} %", error * 100.0);
        let range = whole * (1.0 - error)..=whole * (1.0 + error);
        // Where vectors are what takes the time there is no clock to be seen, and that is no fault.
        if work.is_none() || !few {
            ctx.prove(name, &expected, ratio, range);
        }
    }
    if few {
        let found =
            format!("{} of {} turns took whole cycles, and {WHOLE_TURNS} are needed", clocks.len(), turns.len());
        ctx.unresolved("", &found);
        return Ok(());
    }
    // The harness counts the cycles of other results by a chain of its own, timed whole: another way to the same number,
    // or to one between what it was before and after.
    let after = ctx.core_hz(FREQUENCY_PROBES);
    let clock = median(clocks.iter().copied());
    let frequency_probe = clock.clamp(before.min(after), before.max(after));
    ctx.prove("clock over that of the harness's own chain", "1 within 20 %", clock / frequency_probe, 1.0 / 1.2..=1.2);
    for clock in clocks {
        ctx.state(clock);
    }
    Ok(())
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
        for (name, _) in CHECKS {
            assert!(tried.proven(name) > 0.8);
        }
        if tried.result.notes.iter().any(|note| note.contains("turns took whole cycles")) {
            println!("the machine is too busy for a clock: {:?}", tried.result.notes);
            return;
        }
        assert!(tried.result.series("").is_some_and(|s| !s.values.is_empty()));
        tried.proven("clock over that of the harness's own chain");
    }

    #[test]
    fn the_clock_behind_vectors_is_one_too_or_the_cpu_has_none() {
        for class in ["vector128", "vector256", "vector512", "sve"] {
            match try_out(&BENCH, &[("class", class)], None) {
                Ok(tried) => {
                    assert_eq!(tried.proven("sums of vectors that were wrong"), 0.0);
                    let stated = tried.result.series("").is_some_and(|s| !s.values.is_empty());
                    let open = tried.result.notes.iter().any(|note| note.contains("turns took whole cycles"));
                    assert!(stated != open, "{class}: {:?}", tried.result.notes);
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
}
