//! Cache line size, by what a miss brings along.
//!
//! **Measures:** How far from a word that was just loaded another one is free: the distance up to
//! the end of the line that came. `pair` is the number of bytes that come together: twice the line
//! where lines come in pairs (sectors, or a prefetcher that always fetches the neighbour),
//! otherwise the line again.
//!
//! **Does not measure:** The unit of coherence (`cpu.false_sharing`).
//!
//! **Method:** A chain through pairs of words `d` bytes apart, with the pairs at random places of
//! half the last private cache, so that the first load of each pair misses the first level, and the
//! second hits it when its word came along. The cost of a pair steps up, from one first-level hit
//! to one second-level hit, at the `d` where the second word is in another line (16 + 5 and 16 + 16
//! cycles; machine not recorded). A second sweep has the first word one line further on: a second
//! line that comes along only in one of the two halves of a larger unit makes it a pair.
//!
//! **Pitfalls:**
//! - In memory instead of the second level, the neighbours of a missing line are prefetched, which
//!   blurs the step.
//! - A threshold in nanoseconds, or one ratio for all machines (lmbench's `line`: 30 and 15 %),
//!   fails where levels lie close together.
//! - Where lines *always* come in pairs, no load distinguishes them from lines twice as long. The
//!   declared size then decides.
//!
//! **Sources:** lmbench3 `line`. See docs/methods/memory.md#line-size.

use super::search::{self, Load};
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::topology::Topology;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes of a cache line, by what a miss brings along",
        about: about!("line.rs"),
        quantity: Quantity::Size,
        iteration: "64 loads along a chain of pairs",
        timing: Timing::Stated,
        outputs: &[Output::MAIN, Output::named("pair", "bytes that come together: two lines where they come in pairs")],
        scaling: Scaling::alone("it states a property of one core instead of taking samples that could overlap"),
        ..Info::new("mem.line")
    },
    run: Run::Here(run),
};

/// Distances of the second word: the words around possible line sizes (16 to 256 bytes), and some
/// beyond.
const DISTANCES: [usize; 21] =
    [8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 120, 128, 136, 160, 192, 248, 256, 264, 384, 512];
/// Bytes from one pair to the next: a pair and its shift fit in.
const SLOT: usize = 1024;
/// The least and the most bytes that the pairs lie in: more than a first-level cache, and quickly
/// made present.
const AREA: [u64; 2] = [256 << 10, 4 << 20];
/// The fewest sweeps over all distances, of which the lowest cost counts; and the most, while they
/// have no result.
const SWEEPS: [u32; 2] = [2, 8];
/// How much more a pair in two lines has to cost, in cycles: a second-level hit costs more than
/// that everywhere.
const MIN_STEP: f64 = 2.5;

/// The cost of a pair at each distance, in cycles.
type Curve = [f64; DISTANCES.len()];

/// The distances at which the cost leaves its lower level, and reaches the upper one.
fn step(curve: &Curve) -> Result<(usize, usize), String> {
    let (low, high) = (curve[0], curve[DISTANCES.len() - 1]);
    if high - low < MIN_STEP {
        return Err(format!(
            "a second word {} bytes away costs as much as one beside it",
            DISTANCES[DISTANCES.len() - 1]
        ));
    }
    let above = |share: f64| curve.iter().position(|cost| *cost > low + share * (high - low)).unwrap_or(0);
    let (first, last) = (above(0.25), above(0.75));
    // All lines are powers of two; a disturbed word at the end of a line looks like a shorter line.
    if let Some(odd) = [first, last].into_iter().find(|i| !DISTANCES[*i].is_power_of_two()) {
        return Err(format!("the cost rises at {} bytes", DISTANCES[odd]));
    }
    // If the cost falls again beyond the step, it was no step.
    match DISTANCES.iter().zip(curve).skip(last).find(|(_, cost)| **cost < low + 0.75 * (high - low)) {
        Some((distance, _)) => Err(format!("the step at {} bytes is undone at {distance}", DISTANCES[last])),
        None => Ok((DISTANCES[first], DISTANCES[last])),
    }
}

/// The line and the pair, from the curve with pairs at the start of a slot, and from one with pairs
/// `shift` bytes further.
fn read(curve: &Curve, shift: usize, shifted: &Curve, declared: Option<usize>) -> Result<(usize, usize), String> {
    let (first, last) = step(curve)?;
    let (moved, _) = step(shifted)?;
    if first == last {
        return match declared {
            // A unit comes as a whole. Half of it is the line if that is declared and the shift
            // agrees.
            Some(line) if line * 2 == first && shift == line && moved == line => Ok((line, first)),
            _ => Ok((first, first)),
        };
    }
    // Two steps: the neighbour comes along sometimes, in the first half of a pair and not in the
    // second.
    if last == 2 * first && shift == first && moved == first {
        return Ok((first, last));
    }
    Err(format!("the cost rises at {first} and at {last} bytes, and {shift} bytes further at {moved}"))
}

/// How much further the pairs of the second curve lie: the declared line if that is half of what
/// comes together, otherwise the first step.
fn shift(first: usize, last: usize, declared: Option<usize>) -> usize {
    if first == last { declared.filter(|line| line * 2 == first).unwrap_or(first) } else { first }
}

/// Lowers the costs of a curve, in cycles, to those of pairs of words in these slots: so many bytes
/// further than the start of a slot, and again as far as each distance. `look` is the cost of a
/// load along such nodes, of which a pair has two.
fn sweep_once(
    slots: &[usize],
    further: usize,
    curve: &mut Curve,
    mut look: impl FnMut(&[usize]) -> Result<Load, BenchError>,
) -> Outcome {
    for (cost, distance) in curve.iter_mut().zip(DISTANCES) {
        let nodes: Vec<usize> = slots.iter().flat_map(|slot| [slot + further, slot + further + distance]).collect();
        *cost = cost.min(2.0 * look(&nodes)?.cycles);
    }
    Ok(())
}

/// The line and the pair, and the curves that they were read from.
struct Sweeps {
    found: Result<(usize, usize), String>,
    curve: Curve,
    shifted: Curve,
}

/// Sweeps until the curves can be read. `sweep` lowers the costs of a curve whose pairs lie so many
/// bytes further than the start of a slot.
fn repeated(
    declared: Option<usize>,
    mut sweep: impl FnMut(usize, &mut Curve) -> Outcome,
) -> Result<Sweeps, BenchError> {
    let mut curve = [f64::INFINITY; DISTANCES.len()];
    let mut shifted = curve;
    let mut shifted_by = 0;
    let mut found = Err(String::new());
    for turn in 1..=SWEEPS[1] {
        sweep(0, &mut curve)?;
        match step(&curve) {
            Err(why) => found = found.or(Err(why)),
            Ok((first, last)) => {
                let further = shift(first, last, declared);
                if further + DISTANCES[DISTANCES.len() - 1] >= SLOT {
                    // No line is that long: the sweep was disturbed.
                    found = Err(format!("the cost seems to rise at {first} bytes only"));
                    continue;
                }
                if further != shifted_by {
                    (shifted, shifted_by) = ([f64::INFINITY; DISTANCES.len()], further);
                }
                sweep(further, &mut shifted)?;
                found = read(&curve, further, &shifted, declared);
            }
        }
        if turn >= SWEEPS[0] && found.is_ok() {
            break;
        }
    }
    Ok(Sweeps { found, curve, shifted })
}

fn run(ctx: &mut Ctx) -> Outcome {
    let declared = Topology::read().line();
    if let Some(line) = declared {
        ctx.fact("declared", line);
    }
    let area = super::private_cache() / 2;
    let area = area.clamp(AREA[0], AREA[1]) as usize / SLOT * SLOT;
    sys::process::refuse_huge_pages();
    let mut buffer = Map::anonymous(area, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let mut slots: Vec<usize> = (0..area).step_by(SLOT).collect();
    ctx.rng().shuffle(&mut slots);
    let sweep = |further: usize, curve: &mut Curve| -> Outcome {
        sweep_once(&slots, further, curve, |nodes| search::load(ctx, &mut buffer, nodes))
    };
    let Sweeps { found, curve, shifted } = repeated(declared, sweep)?;
    // Whole cycles, so that rounds that agree have the same fact.
    let words = |curve: &Curve| curve.map(|cost| format!("{cost:.0}")).join(" ");
    ctx.fact("line.distances", DISTANCES.map(|d| d.to_string()).join(" "));
    ctx.fact("line.cycles", words(&curve));
    ctx.fact("line.cycles_shifted", words(&shifted));
    state(ctx, found);
    Ok(())
}

/// States the line and the pair, or why there are none.
fn state(ctx: &mut Ctx, found: Result<(usize, usize), String>) {
    match found {
        Ok((line, pair)) => {
            ctx.state(line as f64);
            ctx.state_as("pair", pair as f64);
        }
        Err(why) => ctx.unresolved("", &why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::made_up::noisy;
    use super::*;
    use groma_harness::Rng;
    use groma_harness::testing::try_out;

    /// A cache with lines of `line` bytes. Within a unit of `unit` bytes the other lines come along
    /// for `share` of the way.
    fn cache(line: usize, unit: usize, share: f64, from: usize) -> Curve {
        DISTANCES.map(|d| match (from, from + d) {
            (a, b) if a / line == b / line => 21.0,
            (a, b) if a / unit == b / unit && a % unit < line => 21.0 + 11.0 * (1.0 - share),
            _ => 32.0,
        })
    }

    #[test]
    fn lines_of_any_size_are_told() {
        for line in [16, 32, 64, 128, 256] {
            let curve = cache(line, line, 1.0, 0);
            assert_eq!(step(&curve), Ok((line, line)));
            for declared in [None, Some(64), Some(line)] {
                let further = shift(line, line, declared);
                let found = read(&curve, further, &cache(line, line, 1.0, further), declared);
                // No load distinguishes lines of 128 bytes from pairs of 64: the declared size
                // decides.
                let expected = if declared.is_some_and(|d| d * 2 == line) { (line / 2, line) } else { (line, line) };
                assert_eq!(found, Ok(expected), "{line}, declared {declared:?}");
            }
        }
    }

    #[test]
    fn a_neighbour_that_comes_along_half_the_time_makes_a_pair() {
        let curve = cache(64, 128, 0.5, 0);
        assert_eq!(step(&curve), Ok((64, 128)));
        for declared in [None, Some(64)] {
            let further = shift(64, 128, declared);
            assert_eq!(read(&curve, further, &cache(64, 128, 0.5, further), declared), Ok((64, 128)));
        }
        // The same step wherever the pairs lie is no pair.
        assert!(read(&curve, 64, &cache(128, 128, 1.0, 0), None).is_err());
    }

    #[test]
    fn what_is_no_step_is_not_told() {
        assert!(step(&[21.0; DISTANCES.len()]).is_err());
        let mut undone = cache(64, 64, 1.0, 0);
        undone[12] = 21.0;
        assert!(step(&undone).is_err());
        let mut gentle = cache(64, 64, 1.0, 0);
        (gentle[5], gentle[6]) = (25.0, 26.0);
        assert!(read(&gentle, 48, &gentle, Some(64)).is_err());
    }

    #[test]
    fn two_sweeps_are_enough_where_every_third_look_is_disturbed_and_more_where_not() {
        let mut rng = Rng::new(3);
        let mut sweeps = 0;
        for _ in 0..100 {
            let (mut curve, mut shifted) = ([f64::INFINITY; DISTANCES.len()], [f64::INFINITY; DISTANCES.len()]);
            for turn in 1.. {
                sweeps += 1;
                for (curve, from) in [(&mut curve, 0), (&mut shifted, 64)] {
                    let true_cost = cache(64, 64, 1.0, from);
                    for (cost, true_cost) in curve.iter_mut().zip(true_cost) {
                        *cost = cost.min(noisy(&mut rng, 3, true_cost));
                    }
                }
                if let (Ok(found), true) = (read(&curve, 64, &shifted, Some(64)), turn >= SWEEPS[0]) {
                    assert_eq!(found, (64, 64));
                    break;
                }
            }
        }
        assert!(sweeps < 500, "{sweeps} sweeps for 100 lines");
    }

    /// A load costs as many cycles here as its pair's words lie apart, and more in a second sweep.
    #[test]
    fn a_sweep_looks_at_pairs_and_keeps_the_least_cost_of_both_loads() {
        let slots = [3 * SLOT, 0, 7 * SLOT];
        let mut curve = [f64::INFINITY; DISTANCES.len()];
        for more in [5.0, 0.0, 9.0] {
            let mut distances = DISTANCES.into_iter();
            let looked = sweep_once(&slots, 64, &mut curve, |nodes| {
                let distance = distances.next().expect("a look for each distance");
                let first = slots.map(|slot| slot + 64);
                assert_eq!(nodes, first.map(|at| [at, at + distance]).as_flattened());
                Ok(Load { cycles: distance as f64 + more, hz: 3e9, clean: true, alone: true })
            });
            assert_eq!((looked, distances.len()), (Ok(()), 0));
        }
        assert_eq!(curve, DISTANCES.map(|distance| 2.0 * distance as f64));
    }

    /// One sweep is never enough, and a cost that never rises ends the last of them.
    #[test]
    fn sweeps_are_repeated_at_both_places_until_they_can_be_read() {
        // Of a cache, after so many sweeps in which one cost is disturbed.
        let swept = |line: usize, unit: usize, disturbed: usize| {
            let mut places = Vec::new();
            let sweeps = repeated(Some(64), |further, curve| {
                places.push(further);
                for (cost, true_cost) in curve.iter_mut().zip(cache(line, unit, 0.5, further)) {
                    *cost = cost.min(true_cost);
                }
                curve[3] = if places.len() <= disturbed { 32.0 } else { 21.0 };
                Ok(())
            });
            (sweeps.expect("no error").found.ok(), places)
        };
        assert_eq!(swept(64, 64, 0), (Some((64, 64)), vec![0, 64, 0, 64]));
        assert_eq!(swept(64, 128, 0), (Some((64, 128)), vec![0, 64, 0, 64]));
        assert_eq!(swept(64, 64, 2), (Some((64, 64)), vec![0, 0, 0, 64]));
        assert_eq!(swept(1024, 1024, 0), (None, vec![0; SWEEPS[1] as usize]));
    }

    #[test]
    fn the_line_and_the_pair_have_their_names() {
        fn stated(ctx: &mut Ctx) -> Outcome {
            state(ctx, Ok((64, 128)));
            Ok(())
        }
        let tried = try_out(&Benchmark { info: BENCH.info, run: Run::Here(stated) }, &[], None).expect("values");
        let value = |name: &str| tried.stated(name);
        assert_eq!((value(""), value("pair")), (Some(64.0), Some(128.0)));
    }

    #[test]
    fn every_distance_has_a_cost_and_pairs_stay_in_their_slots() {
        let tried = try_out(&BENCH, &[], None).expect("a quarter of the memory of a telephone");
        let fact = |key: &str| tried.result.fact(key).map(str::to_owned);
        let costs = fact("line.cycles").expect("a curve");
        assert_eq!(costs.split(' ').count(), DISTANCES.len());
        assert!(costs.split(' ').all(|cost| cost.parse::<f64>().is_ok_and(|c| c > 0.0 && c.is_finite())), "{costs}");
        let value = |name: &str| tried.result.series(name).map(|s| s.values.clone());
        match value("") {
            Some(line) => {
                assert!((line[0] as usize).is_power_of_two() && line <= value("pair").expect("both"), "{line:?}");
            }
            None => assert!(tried.unresolved("").is_some()),
        }
        let furthest = DISTANCES.into_iter().max().expect("some");
        assert!(256 + furthest + size_of::<usize>() <= SLOT);
    }
}
