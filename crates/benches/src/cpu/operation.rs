//! Arithmetic: the latency and the throughput of one operation.
//!
//! **Measures:** Single instructions on registers: the latency of one that waits for the one
//! before, and the time for each in eight to twenty independent chains (reciprocal throughput).
//! Their ratio is the number in flight at once, which lmbench calls parallelism. Both are also
//! given in cycles.
//!
//! **Does not measure:** Operands in memory (`mem.latency`), compiled expressions, or operations
//! that trap.
//!
//! **Method:** Two assembly loops of one instruction: 130 in a row in one chain, and 144 to 540 in
//! all independent chains together, so that the two instructions which count turns are below 1 %. A
//! chain of additions, which take a cycle each, runs beside them. The three are measured in turn,
//! so cycles are ratios of paired times and need neither a counter nor a declared clock. Intervals
//! of 512-bit vectors begin with 50 us of the operation before the watch starts, because the unit
//! powers up slowly. If the core lowers its clock for them, their nanoseconds are right and their
//! cycles too many by that factor: the additions run at the clock of scalar code.
//!
//! What depends on what:
//! - Additions, products and bit operations: `x op y`.
//! - Integer quotients: `y / x` (unsigned; `div` divides a full word by one of half as many bits,
//!   `div_small` numbers below 2^16), with the moves to and from fixed registers that x86-64 needs.
//! - Remainders: `(x + z) mod y`. The addition is part of the number, because remainders alone only
//!   shrink (lmbench: a remainder and an or).
//! - Roots: of the number just below 1, at which a chain of roots comes to rest.
//! - `fma`: through its sum, as in a dot product.
//! - `add_subnormal`, `mul_subnormal`: the same instructions on numbers below the smallest normal
//!   one (2.2e-308), each of whose results is such a number again. Cores do them at full speed,
//!   with some cycles more, or by microcode at a hundred and more.
//!
//! **Proofs:** Both loops give what plain Rust gives; no floating-point value has become subnormal,
//! infinite or zero (of `_subnormal`, none has become normal or zero); operations known to take
//! whole cycles on x86-64 do.
//!
//! **Pitfalls:**
//! - A compiler folds constants (lmbench's additions take 0.01 ns, its multiplications vanish).
//! - Additions of immediates, moves and zeros complete without execution. These loops have no
//!   immediates, no zeros, and no moves but those of division.
//! - Division depends on its operands (lmbench's floats overflow to infinity, which some cores
//!   divide faster).
//! - Subtracting one loop's time from another's is unsafe (lmbench's products less its sums).
//! - A busy sibling thread, which may belong to another virtual machine, doubles throughputs and
//!   leaves latencies unchanged. The fastest tenth of the intervals counts.
//!
//! **Sources:** lmbench3 `lat_ops`, `par_ops`; uops.info for comparison values. See
//! docs/methods/processor.md#operation-latency and docs/methods/processor.md#operation-throughput.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{ADD_TAKES_ONE_CYCLE, CHAIN_UNROLL, add_chain, chain_added};
use groma_harness::sys::operation::{Loop, Operation};
use std::num::FpCategory;
use std::ops::RangeInclusive;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency of a dependent arithmetic operation",
        about: about!("operation.rs"),
        iteration: "one turn of each loop: 130 dependent operations; 144 to 540 in independent chains; 64 additions",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("chain"),
            Output::named("throughput", "Time for each of many independent ones").series("parallel"),
            Output::named("parallelism", "Latency over throughput: how many are under way at once")
                .ratio("chain", "parallel")
                .quantity(Quantity::Ratio),
            Output::named("cycles", "Latency in cycles of scalar code")
                .ratio("chain", "cycle")
                .quantity(Quantity::Count),
            Output::named("throughput_cycles", "Cycles of scalar code for each of many independent ones")
                .ratio("parallel", "cycle")
                .quantity(Quantity::Count),
            Output::named("cycle", "One dependent addition beside them: a cycle").detail(),
        ],
        params: &[Param::word("op", "type, lanes of a vector, and operation", OPS)
            .quick(&["i64.add", "i64.mul", "f64.mul"])
            .standard(&[
                "i64.div",
                "i64.div_small",
                "i64.mod",
                "i64.xor",
                "i64.shift",
                "i64.rotate",
                "i32.mul",
                "i32.div",
                "i32.mod",
                "f64.add",
                "f64.div",
                "f64.sqrt",
                "f64.fma",
                "f32.add",
                "f32.mul",
                "f32.div",
                "f64x2.fma",
                "f64x4.fma",
                "f64x8.fma",
            ])],
        target_half_width: 0.02,
        class_tier: Tier::Standard,
        ..Info::new("cpu.operation")
    },
    run: Run::Here(run),
};

/// All that there are references for.
const OPS: &[&str] = &[
    "i64.add",
    "i64.mul",
    "i64.div",
    "i64.div_small",
    "i64.mod",
    "i64.mod_small",
    "i64.xor",
    "i64.shift",
    "i64.rotate",
    "i64.popcnt",
    "i64.crc32",
    "i32.add",
    "i32.mul",
    "i32.div",
    "i32.div_small",
    "i32.mod",
    "i32.mod_small",
    "i32.xor",
    "i32.shift",
    "i32.rotate",
    "f64.add",
    "f64.mul",
    "f64.div",
    "f64.sqrt",
    "f64.fma",
    "f64.add_subnormal",
    "f64.mul_subnormal",
    "f32.add",
    "f32.mul",
    "f32.div",
    "f32.sqrt",
    "f32.fma",
    "f64x2.add",
    "f64x2.mul",
    "f64x2.div",
    "f64x2.fma",
    "f64x4.add",
    "f64x4.mul",
    "f64x4.div",
    "f64x4.fma",
    "f64x8.add",
    "f64x8.mul",
    "f64x8.div",
    "f64x8.fma",
    "i32x4.add",
    "i32x4.mul",
    "i32x8.add",
    "i32x8.mul",
    "i32x16.add",
    "i32x16.mul",
];

/// Turns after which the results of the loops are checked: odd, so that alternating operands have
/// not cancelled out.
const CHECKED_TURNS: u64 = 3;
/// Windows of the proof that an operation takes whole cycles.
const WINDOWS: u32 = 6;
/// Warm-up of an interval of wide vectors, in seconds: longer than the unit takes to power up (10
/// to 20 us, up to 27 seen). See docs/methods/processor.md#wide-vectors.
const WARM: f64 = 50e-6;
/// Additions that separate the warm-up from the interval before: about 30 us at 3 GHz, three times
/// what the clock took to recover. See docs/methods/processor.md#wide-vectors.
const SCALAR: u64 = 100_000;
/// Windows from which the turns of the warm-up are computed.
const WARM_WINDOWS: u32 = 2;
/// Tolerance of whole cycles: half of what would make them another number. The clock of a shared
/// core changes by 3 to 4 %, possibly within a window and back: three cycles were seen as 2.89 and
/// as 3.08. See docs/methods/processor.md#whole-cycles.
const NOT_WHOLE: f64 = 0.25;
/// Tries until the cycles are whole: a busy sibling thread can slow the frequency probe and not the
/// window beside it (2.39 for three cycles, once under load). A wrong instruction is off each time.
const TRIES: u32 = 8;

/// Cycles that an operation takes on every x86-64 core since 2013 (Haswell, Zen: uops.info), as a
/// proof that the intended instruction was executed. Additions of vectors are not among them: one
/// cycle up to Zen 4, and two on Zen 5.
fn known_cycles(op: &str) -> Option<f64> {
    let known = match op {
        "i64.add" | "i64.xor" | "i64.shift" | "i64.rotate" | "i32.add" | "i32.xor" | "i32.shift" | "i32.rotate" => 1.0,
        "i64.mul" | "i32.mul" | "i64.crc32" => 3.0,
        _ => return None,
    };
    cfg!(target_arch = "x86_64").then_some(known)
}

/// Whether these instructions use vectors of 512 bits, which x86-64 powers up and slows down for.
fn is_wide(isa: &str) -> bool {
    isa.starts_with("avx512")
}

/// The turns of a loop that warm the unit up.
fn turns_to_warm_up(turn_seconds: f64) -> u64 {
    (WARM / turn_seconds).ceil() as u64
}

/// Warms up for an interval of wide vectors: additions of scalar code, then so many turns.
fn warm_up(turns: Option<u64>, scalar: impl FnOnce(u64) -> u64, run: impl FnOnce(u64) -> u64) {
    if let Some(turns) = turns {
        scalar(SCALAR);
        run(turns);
    }
}

/// One interval of a loop. An interval of wide vectors begins, before the watch starts, with scalar
/// code and some turns of the loop itself. Wide units are off until they are used, and run at part
/// of their speed while they power up (intervals of 200 us of 512-bit code then read 4 to 13 % too
/// slow). A clock that the interval before has lowered stays low for as long as wide vectors
/// follow. See docs/methods/processor.md#wide-vectors.
fn time_interval(each: &mut Loop, warm_turns: Option<u64>, turns: u64, watch: &mut Stopwatch<'_>) -> u64 {
    warm_up(warm_turns, add_chain, |turns| each.run(turns));
    watch.start();
    let done = each.run(turns);
    watch.stop();
    done
}

/// The fewest tries that can agree: one that was disturbed agrees with itself.
const AGREEING: usize = 3;
/// Tolerance, in cycles, of tries that agree on another whole number.
const AGREEMENT: f64 = 0.1;

/// The cycles that the tries prove: the last where it is in the range, else the other whole number
/// that all of them agree on. A wrong instruction takes whole cycles too, and the same each time.
/// Tries that differ were disturbed (2.19 for three cycles, beside a neighbour that was busy for
/// most of the time), and so were tries that agree on a fraction: a sibling thread that stays busy
/// slows dependent additions and leaves dependent multiplications alone (2.41 and 2.43 for three
/// cycles, in two runs at once).
fn proven_cycles(tries: &[f64], range: &RangeInclusive<f64>) -> Option<f64> {
    let last = tries.last().copied()?;
    let agree = tries.len() >= AGREEING && tries.iter().all(|each| (each - last.round()).abs() <= AGREEMENT);
    (range.contains(&last) || agree).then_some(last)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let op = ctx.word("op");
    let mut operation = Operation::new(op).map_err(BenchError::Unsupported)?;
    ctx.fact("operation.instruction", operation.kernel().instruction);
    ctx.fact("operation.isa", operation.kernel().isa);
    ctx.fact("operation.chains", operation.parallel.chains());
    for (name, each) in [("chain", &mut operation.chain), ("parallel", &mut operation.parallel)] {
        let wrong = each.wrong_after(CHECKED_TURNS);
        ctx.prove(&format!("{name}: registers that differ from the reference"), "0", wrong as f64, 0.0..=0.0);
    }
    if let Some(known) = known_cycles(op) {
        prove_cycles(ctx, &mut operation.chain, known)?;
    }
    let wide = is_wide(operation.kernel().isa);
    let warm = |ctx: &mut Ctx, each: &mut Loop| -> Result<u64, BenchError> {
        let turn = work::probe(ctx, WARM_WINDOWS, each.ops(), |turns| Ok(each.run(turns)))?;
        Ok(turns_to_warm_up(turn.seconds))
    };
    let warm_turns =
        if wide { [warm(ctx, &mut operation.chain)?, warm(ctx, &mut operation.parallel)?] } else { [0, 0] };
    if wide {
        ctx.note(
            "512-bit multiplications may lower the clock while they run (4 to 7 % here, and it is back within 10 us): \
             nanoseconds are right, cycles are those of scalar code",
        );
    }
    let (chain, parallel) = (&mut operation.chain, &mut operation.parallel);
    let (chain_ops, parallel_ops) = (chain.ops(), parallel.ops());
    let (mut in_chain, mut in_parallel, mut added) = (0, 0, 0);
    let mut variants = vec![
        Variant::staged("chain", |turns, watch| {
            in_chain += time_interval(chain, wide.then_some(warm_turns[0]), turns, watch);
            Ok(())
        })
        .per_iter(chain_ops as f64),
        Variant::staged("parallel", |turns, watch| {
            in_parallel += time_interval(parallel, wide.then_some(warm_turns[1]), turns, watch);
            Ok(())
        })
        .per_iter(parallel_ops as f64),
    ];
    if ADD_TAKES_ONE_CYCLE {
        let additions = |turns: u64, watch: &mut Stopwatch<'_>| {
            if wide {
                add_chain(SCALAR);
            }
            watch.start();
            added += chain_added(add_chain(turns * CHAIN_UNROLL));
            watch.stop();
            Ok(())
        };
        variants.push(Variant::staged("cycle", additions).per_iter(CHAIN_UNROLL as f64));
    }
    ctx.measure_variants(&mut variants)?;
    drop(variants);
    for (name, done, ops) in [("chain", in_chain, chain_ops), ("parallel", in_parallel, parallel_ops)] {
        let what = format!("{name}: operations per operation credited");
        work::once_each(ctx, &what, done, ctx.iterations_of(name) * ops);
    }
    if ADD_TAKES_ONE_CYCLE {
        work::once_each(ctx, "additions per addition credited", added, ctx.iterations_of("cycle") * CHAIN_UNROLL);
    }
    // All intervals of a round make the same number of turns, so the last one stands for all.
    let others = operation.chain.of_another_class() + operation.parallel.of_another_class();
    let what = match operation.chain.class() {
        FpCategory::Subnormal => "values that are no subnormal numbers at the end",
        _ => "values that are no normal numbers at the end",
    };
    ctx.prove(what, "0", others as f64, 0.0..=0.0);
    Ok(())
}

/// No other whole number of cycles.
fn about(cycles: f64) -> RangeInclusive<f64> {
    cycles - NOT_WHOLE..=cycles + NOT_WHOLE
}

/// Proves that a dependent operation takes as many cycles as is known of it.
fn prove_cycles(ctx: &mut Ctx, chain: &mut Loop, known: f64) -> Outcome {
    // Of an emulation only the time is known.
    if groma_harness::sys::facts::is_emulated() {
        return Ok(());
    }
    let per_turn = chain.ops();
    let ops = per_turn as f64;
    let range = about(known);
    let mut seen: Vec<f64> = Vec::new();
    for _ in 0..TRIES {
        let cost = work::probe(ctx, WINDOWS, per_turn, |turns| Ok(chain.run(turns)))?;
        // Where every window was disturbed, nothing is proven.
        if cost.clean > 0 {
            seen.push(cost.cycles / ops);
        }
        if seen.last().is_some_and(|cycles| range.contains(cycles)) {
            break;
        }
    }
    if let Some(cycles) = proven_cycles(&seen, &range) {
        let expected = format!("{known}, and no other whole number of cycles");
        ctx.prove("cycles of a dependent operation", &expected, cycles, range);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::arch::portable::operation::REFERENCES;
    use groma_harness::testing::{Tried, try_failing};
    use std::cell::RefCell;

    #[test]
    fn every_operation_gives_what_the_reference_gives() {
        let mut here = 0;
        for op in OPS {
            // The proof about cycles may fail here: with a busy sibling thread, vector additions
            // take twice as long. That of two lengths holds in one of some rounds.
            let is_doubled = |tried: &Tried| tried.proof("time of 2k iterations over time of k").holds;
            let mut rounds = (0..5).map(|_| try_failing(&BENCH, &[("op", op)], None));
            match rounds.find(|round| round.as_ref().map_or(true, is_doubled)).expect("a round without disturbance") {
                Ok(tried) => {
                    here += 1;
                    let instruction = Operation::new(op).map(|operation| operation.kernel().instruction);
                    assert_eq!(tried.result.fact("operation.instruction"), instruction.ok(), "{op}");
                    for series in ["chain", "parallel"] {
                        assert!(tried.samples(series) >= 3, "{op}");
                        tried.proven(&format!("{series}: registers that differ from the reference"));
                    }
                    let class = if op.ends_with("_subnormal") { "subnormal" } else { "normal" };
                    tried.proven(&format!("values that are no {class} numbers at the end"));
                    assert!(tried.proven("time of 2k iterations over time of k") > 1.5);
                }
                Err(BenchError::Unsupported(why)) => assert!(why.contains(op), "{why}"),
                Err(stop) => panic!("{op}: {stop}"),
            }
        }
        assert!(here > 20 || cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))));
    }

    #[test]
    fn every_reference_is_offered() {
        assert_eq!(OPS.len(), REFERENCES.len());
        assert!(REFERENCES.iter().all(|reference| OPS.contains(&reference.name)));
    }

    /// The kernels name the extension and not the family: `avx512f`.
    #[test]
    fn only_vectors_of_512_bits_are_wide() {
        let names = ["avx512f", "avx512dq", "avx512", "avx2", "avx", "fma", "base", "neon", "sve"];
        assert_eq!(names.map(is_wide), [true, true, true, false, false, false, false, false, false]);
        for (op, wide) in [("f64x8.add", true), ("i32x16.mul", true), ("f64x4.add", false), ("i64.add", false)] {
            match try_failing(&BENCH, &[("op", op)], None) {
                Ok(tried) if tried.result.fact("operation.isa").is_some_and(|isa| isa.starts_with("avx") || !wide) => {
                    assert_eq!(tried.has_remark("512-bit"), wide, "{op}");
                }
                Ok(_) => println!("skipped {op}: not by AVX-512 here"),
                Err(stop) => println!("skipped {op}: {stop}"),
            }
        }
    }

    /// Of the operations that take the same on every core, none is left unproven.
    #[test]
    fn known_cycles_are_those_of_scalar_arithmetic() {
        let known: Vec<&str> = OPS.iter().copied().filter(|op| known_cycles(op).is_some()).collect();
        let scalar = ["add", "mul", "xor", "shift", "rotate"];
        let expected = |op: &&str| {
            let (kind, name) = op.split_once('.').expect("a type and an operation");
            ["i64", "i32"].contains(&kind) && scalar.contains(&name) || *op == "i64.crc32"
        };
        let all: Vec<&str> = OPS.iter().copied().filter(expected).collect();
        assert_eq!(known, if cfg!(target_arch = "x86_64") { all } else { Vec::new() });
    }

    /// Nothing counts what comes before the watch.
    #[test]
    fn wide_vectors_are_warmed_up_behind_scalar_code() {
        let done = &RefCell::new(Vec::new());
        let log = |what: &'static str| {
            move |n: u64| {
                done.borrow_mut().push((what, n));
                n
            }
        };
        warm_up(Some(7), log("scalar"), log("wide"));
        assert_eq!(done.take(), [("scalar", SCALAR), ("wide", 7)]);
        warm_up(None, log("scalar"), log("wide"));
        assert!(done.borrow().is_empty());
        // 50 us in turns of 3 us.
        assert_eq!(turns_to_warm_up(3e-6), 17);
    }

    #[test]
    fn tries_that_differ_prove_nothing() {
        let range = about(3.0);
        assert_eq!(range, 2.75..=3.25);
        assert_eq!(proven_cycles(&[2.19, 3.02], &range), Some(3.02));
        assert_eq!(proven_cycles(&[4.01, 3.99, 4.0], &range), Some(4.0), "another instruction");
        assert_eq!(proven_cycles(&[2.19, 2.6, 1.9], &range), None);
        assert_eq!(proven_cycles(&[2.41, 2.43, 2.42], &range), None, "disturbed by the same each time");
        assert_eq!(proven_cycles(&[2.41], &range), None, "one that was disturbed agrees with itself");
        assert_eq!(proven_cycles(&[], &range), None);
    }
}
