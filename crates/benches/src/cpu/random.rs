//! A random number from the C library.
//!
//! **Measures:** One call of `rand`, `random`, `drand48` or `lrand48`, as a C program makes it:
//! through the procedure linkage table where the program is dynamic, with the lock that `rand` and
//! `random` take in glibc, on state in the process's memory. `getrandom` reads eight bytes of the
//! kernel's generator: a system call up to glibc 2.40, the vDSO from 2.41 on.
//!
//! **Does not measure:** The quality of the numbers, or threads that share a state.
//!
//! **Method:** Consecutive calls whose results are summed, so each call includes one addition.
//! Every round begins with the same seed. Calls wait for one another, since each needs the state
//! that the last one left.
//!
//! **Proofs:** The mean of the numbers is that of their range within four standard deviations;
//! equal seeds give equal first numbers, and another seed gives others.
//!
//! **Pitfalls:**
//! - These functions differ between C libraries.
//! - lmbench tests for `rand` in a branch that Linux never takes, and publishes two of the four.
//!
//! **Sources:** lmbench3 `lat_rand`. See docs/methods/processor.md#random-numbers.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::libc_random::Generator;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A random number from the C library",
        about: about!("random.rs"),
        iteration: "one call",
        timing: Timing::Floor,
        params: &[Param::word("kind", "the function", &["drand48", "lrand48", "rand", "random", "getrandom"])
            .quick(&["drand48"])
            .standard(&["lrand48", "rand", "random"])],
        scaling: Scaling::processes("threads would share the one state, which drand48 changes without a lock"),
        tier: Tier::Standard,
        target_half_width: 0.02,
        ..Info::new("cpu.random")
    },
    run: Run::Here(run),
};

/// The seeds of a round, and of the proof that seeds matter.
const SEEDS: [u32; 2] = [1, 2];
/// Numbers of which the mean is taken.
const NUMBERS: u32 = 4096;
/// Standard deviations that the mean may be off by.
const DEVIATIONS: f64 = 4.0;

/// The next number, scaled to [0, 1). (`rand` of glibc and musl has 31 bits, as POSIX requires of
/// the others.)
fn next(generator: &mut Generator, kind: &str) -> Option<f64> {
    let bits31 = |n: i64| n as f64 / 2f64.powi(31);
    Some(match kind {
        "drand48" => generator.drand48(),
        "lrand48" => bits31(generator.lrand48()),
        "rand" => bits31(generator.rand()),
        "random" => bits31(generator.random()),
        #[cfg(target_os = "linux")]
        "getrandom" => generator.getrandom()? as f64 / 2f64.powi(64),
        _ => return None,
    })
}

/// Draws a whole number.
type Draw = fn(&mut Generator) -> i64;

/// Hands on the function that the word names, of those that give whole numbers. Each is a call of
/// its own, so that the compiler knows it.
#[inline]
fn with_draw<T>(kind: &str, use_it: impl FnOnce(Draw) -> T) -> T {
    match kind {
        "lrand48" => use_it(Generator::lrand48),
        "rand" => use_it(Generator::rand),
        _ => use_it(Generator::random),
    }
}

/// How far the mean of `n` uniform numbers is from 0.5, in standard deviations of the mean.
fn deviations(mean: f64, n: f64) -> f64 {
    ((mean - 0.5) * (12.0 * n).sqrt()).abs()
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    let mut generator =
        Generator::take().ok_or_else(|| BenchError::Failed("the generators of this process are in use".to_owned()))?;
    let none = || BenchError::Unsupported(format!("this system gives no number by {kind}"));
    let mut first = [0.0; 3];
    for (number, seed) in first.iter_mut().zip([SEEDS[1], SEEDS[0], SEEDS[0]]) {
        generator.seed(seed);
        *number = next(&mut generator, kind).ok_or_else(none)?;
    }
    if kind != "getrandom" {
        let [other, one, again] = first;
        ctx.prove("first numbers after equal seeds that differ", "0", f64::from(u8::from(one != again)), 0.0..=0.0);
        ctx.prove("first numbers after unequal seeds that differ", "1", f64::from(u8::from(one != other)), 1.0..=1.0);
    }
    let mut sum = 0.0;
    for _ in 0..NUMBERS {
        sum += next(&mut generator, kind).ok_or_else(none)?;
    }
    let off = deviations(sum / f64::from(NUMBERS), f64::from(NUMBERS));
    // Seeded numbers are the same in every round. Of the kernel's, two means in a billion are more
    // than six standard deviations off.
    let most = if kind == "getrandom" { DEVIATIONS + 2.0 } else { DEVIATIONS };
    ctx.prove("standard deviations of the mean from the middle", &format!("up to {most}"), off, 0.0..=most);

    let (mut wrong, mut given) = (0u64, 0u64);
    match kind {
        "drand48" => ctx.measure(|iters| {
            let total = (0..iters).fold(0.0, |total, _| {
                given += 1;
                total + generator.drand48()
            });
            wrong += u64::from(!(0.0..=iters as f64).contains(&total));
            Ok(())
        }),
        #[cfg(target_os = "linux")]
        "getrandom" => ctx.measure(|iters| {
            let some = (0..iters).filter(|_| generator.getrandom().is_some()).count() as u64;
            given += some;
            wrong += iters - some;
            Ok(())
        }),
        _ => {
            // The function is chosen once, not at each call.
            with_draw(kind, |draw| {
                ctx.measure(|iters| {
                    let total = (0..iters).fold(0, |total: i64, _| {
                        given += 1;
                        total.wrapping_add(draw(&mut generator))
                    });
                    wrong += u64::from(total < 0);
                    Ok(())
                })
            })
        }
    }?;
    work::once_each(ctx, "numbers given per number credited", given, ctx.iterations());
    ctx.prove("intervals whose sum was impossible, or calls that failed", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;
    use std::collections::BTreeSet;

    #[test]
    fn a_mean_off_its_place_is_told() {
        assert!(deviations(0.5, 4096.0) < 1e-9);
        // A generator that never sets its top bit.
        assert!(deviations(0.25, 4096.0) > 50.0);
    }

    /// `rand` and `random` of glibc share their state, so that the numbers cannot tell them apart.
    #[test]
    fn each_word_has_a_function_of_its_own() {
        let functions: BTreeSet<usize> =
            ["lrand48", "rand", "random"].map(|kind| with_draw(kind, |draw| draw as usize)).into();
        assert_eq!(functions.len(), 3);
    }

    /// Proofs count numbers, and do not tell whose they are: afterwards the generator that is
    /// named, and no other, stands where as many numbers lead.
    #[test]
    fn the_numbers_are_those_of_the_function_that_is_named() {
        type Draw = fn(&mut Generator) -> u64;
        let kinds: [(&str, Draw); 4] = [
            ("drand48", |generator| generator.drand48().to_bits()),
            ("lrand48", |generator| generator.lrand48() as u64),
            ("rand", |generator| generator.rand() as u64),
            ("random", |generator| generator.random() as u64),
        ];
        for (kind, draw) in kinds {
            let tried = try_out(&BENCH, &[("kind", kind)], None).expect("the C library has it");
            let mut generator = Generator::take().expect("nobody else uses them");
            let next = draw(&mut generator);
            generator.seed(SEEDS[0]);
            for _ in 0..1 + u64::from(NUMBERS) + tried.iterations {
                draw(&mut generator);
            }
            assert_eq!(draw(&mut generator), next, "{kind}");
        }
    }
}
