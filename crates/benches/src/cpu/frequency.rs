//! The core's clock, without any counter of cycles.
//!
//! Measures how many dependent additions of registers the core does in a second: each takes one cycle, so that is its
//! clock while it computes, boost and all; not the rated clock, nor that of the counter which `tsc` names. The highest
//! that the round saw is stated: cores change their clock within milliseconds.
//!
//! Method: chains of two lengths, 32000 and 160000 additions, in turn; the difference of the fastest of each leaves out
//! the clock reads and the entry. Chains of multiplications and of rotations run in the same turns. Whatever the cycle is,
//! they must take a whole number of times as long: 3 and 1 on x86-64.
//!
//! Traps: additions of small constants are done while registers are renamed on some cores, and read up to five times the
//! clock (these are of registers); a clock that changes between two chains gives a ratio that is not whole, so they take
//! turns within a third of a millisecond, and more turns are taken until the ratios are whole or the time is up;
//! estimates from intervals of 10 ms and more report the neighbours (lmbench's `mhz`: 15 to 297 s, then "too busy").
//!
//! Source: lmbench3 `mhz` (the greatest common divisor of several operations' times), memory-methods.md M13.

use groma_harness::prelude::*;
use groma_harness::sys::arch::{ADD_TAKES_ONE_CYCLE, add_chain, chain_ops, mul_chain, rotate_chain};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Clock of the core while it computes",
        about: about!("frequency.rs"),
        quantity: Quantity::Rate,
        iteration: "chains of 32000 and 160000 additions, multiplications and rotations",
        timing: Timing::Stated,
        scaling: Scaling::alone("it states a rate of one core instead of taking samples that could overlap"),
        lineage: &["lmbench3:mhz"],
        ..Info::new("cpu.frequency")
    },
    run: Run::Here(run),
};

/// The lengths of a chain: about 10 and 50 us at 3 GHz.
const LENGTHS: [u64; 2] = [chain_ops(32_000), chain_ops(160_000)];
/// Turns at least, whatever the time box says.
const FEWEST: u32 = 8;
/// How many times the time box turns may be added while the ratios are not whole yet.
const PATIENCE: u64 = 8;

/// The fastest times of one chain, in nanoseconds.
struct Fastest {
    chain: fn(u64) -> u64,
    ns: [u64; 2],
}

impl Fastest {
    fn new(chain: fn(u64) -> u64) -> Fastest {
        Fastest { chain, ns: [u64::MAX; 2] }
    }

    fn turn(&mut self, ctx: &Ctx) {
        for (ns, length) in self.ns.iter_mut().zip(LENGTHS) {
            let start = ctx.now_ns();
            (self.chain)(length);
            *ns = (*ns).min(ctx.now_ns().saturating_sub(start));
        }
    }

    /// Nanoseconds for one operation.
    fn per_op(&self) -> f64 {
        (self.ns[1] as f64 - self.ns[0] as f64) / (LENGTHS[1] - LENGTHS[0]) as f64
    }
}

/// Another chain, and how many cycles one of its operations takes on x86-64.
const CHECKS: [(&str, fn(u64) -> u64, f64); 2] =
    [("cycles of a dependent multiplication", mul_chain, 3.0), ("cycles of a dependent rotation", rotate_chain, 1.0)];
/// How far a ratio may be from the whole number that it has to be, relative to that.
const ERROR: f64 = if cfg!(target_arch = "x86_64") { 0.005 } else { 0.01 };

/// The whole number that a ratio has to be: known on x86-64, the nearest elsewhere.
fn whole(ratio: f64, x86_64: f64) -> f64 {
    if cfg!(target_arch = "x86_64") { x86_64 } else { ratio.round().max(1.0) }
}

fn run(ctx: &mut Ctx) -> Outcome {
    if !ADD_TAKES_ONE_CYCLE {
        return Err(Stop::Unsupported("no chain of one-cycle instructions was written for this CPU".to_owned()));
    }
    let mut add = Fastest::new(add_chain);
    let mut others = CHECKS.map(|(_, chain, _)| Fastest::new(chain));
    let start = ctx.now_ns();
    let mut turns = 0;
    let ratios = loop {
        add.turn(ctx);
        for other in &mut others {
            other.turn(ctx);
        }
        turns += 1;
        let ratios = others.each_ref().map(|other| other.per_op() / add.per_op());
        let settled =
            ratios.iter().zip(CHECKS).all(|(&r, (_, _, x86_64))| (r / whole(r, x86_64) - 1.0).abs() < ERROR / 2.0);
        let spent = ctx.now_ns().saturating_sub(start);
        if turns >= FEWEST && spent >= ctx.box_ns() && (settled || spent >= PATIENCE * ctx.box_ns()) {
            break ratios;
        }
    };
    ctx.state(1e9 / add.per_op());
    ctx.fact("frequency.turns", turns);
    for (ratio, (name, _, x86_64)) in ratios.into_iter().zip(CHECKS) {
        let whole = whole(ratio, x86_64);
        let expected = format!("{whole} within {} %", ERROR * 100.0);
        ctx.prove(name, &expected, ratio, whole * (1.0 - ERROR)..=whole * (1.0 + ERROR));
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
            Err(Stop::Unsupported(_)) => return assert!(!ADD_TAKES_ONE_CYCLE),
            Err(stop) => panic!("{stop}"),
        };
        assert_eq!(tried.result.series("").map(|s| s.values.len()), Some(1));
        for (name, ..) in CHECKS {
            assert!(tried.proven(name) > 0.9);
        }
    }

    #[test]
    fn the_lengths_are_whole_turns_of_the_kernel() {
        assert_eq!(LENGTHS, [32_000, 160_000]);
    }
}
