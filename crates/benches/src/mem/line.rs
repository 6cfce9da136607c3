//! The size of a cache line, by what a miss brings along.
//!
//! Measures how far from a word that was just loaded another one is free: within the line that came. The main value is that
//! distance; `pair` is how many bytes come together, twice the line where lines come in pairs (sectors, or a prefetcher that
//! always fetches the neighbour), else the line again. Does not measure the unit of coherence, which two threads on one line tell.
//!
//! Method: a chain through pairs of words, `d` bytes apart, with the pairs at random places of half the last private cache, so that
//! the first load of each misses the first level and the second hits it when its word came along. The cost of a pair steps up,
//! from one hit of the first level to one of the second, at the `d` where a word is in another line (here 16 + 5 and 16 + 16
//! cycles). Then once more with the first word a line further: a second line that comes along only in one of the two halves
//! of a larger unit makes it a pair.
//!
//! Traps: in memory instead of the second level the neighbours of a missing line are prefetched, which blurs the step; a
//! threshold in nanoseconds, or one ratio for all machines (lmbench's `line`: 30 and 15 %), fails where levels lie close. Where
//! lines *always* come in pairs, no load tells them from lines twice as long: then the declared size is taken for the line.
//!
//! Source: lmbench3 `line`; memory-methods.md M4.

use super::search::{self, Load};
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bytes of a cache line, by what a miss brings along",
        about: about!("line.rs"),
        quantity: Quantity::Size,
        iteration: "64 loads along a chain of pairs",
        timing: Timing::Stated,
        outputs: &[Output::MAIN, Output::named("pair", "bytes that come together: two lines where they come in pairs")],
        scaling: Scaling::alone("it states a property of one core instead of taking samples that could overlap"),
        lineage: &["lmbench3:line"],
        ..Info::new("mem.line")
    },
    run: Run::Here(run),
};

/// Distances of the second word: each word around the sizes that lines have (16 to 256 bytes), and some beyond.
const DISTANCES: [usize; 21] =
    [8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 120, 128, 136, 160, 192, 248, 256, 264, 384, 512];
/// From one pair to the next: a pair and its shift fit in.
const SLOT: usize = 1024;
/// The least and the most bytes that the pairs lie in: more than a first-level cache, and soon made present.
const AREA: [u64; 2] = [256 << 10, 4 << 20];
/// Sweeps over all distances, of which the lowest counts; and at most, while they tell nothing.
const SWEEPS: [u32; 2] = [2, 8];
/// How much dearer a pair of two lines has to be, in cycles: the second level is further away than that everywhere.
const LEAST_STEP: f64 = 2.5;

/// What a pair costs at each distance, in cycles.
type Curve = [f64; DISTANCES.len()];

/// Where the cost leaves its lower level, and where it reaches the upper one.
fn step(curve: &Curve) -> Result<(usize, usize), String> {
    let (low, high) = (curve[0], curve[DISTANCES.len() - 1]);
    if high - low < LEAST_STEP {
        return Err(format!(
            "a second word {} bytes away costs as much as one beside it",
            DISTANCES[DISTANCES.len() - 1]
        ));
    }
    let above = |share: f64| curve.iter().position(|cost| *cost > low + share * (high - low)).unwrap_or(0);
    let (first, last) = (above(0.25), above(0.75));
    // No line is of another size; a disturbed word at the end of one looks like a shorter one.
    if let Some(odd) = [first, last].into_iter().find(|i| !DISTANCES[*i].is_power_of_two()) {
        return Err(format!("the cost rises at {} bytes", DISTANCES[odd]));
    }
    // After the step nothing is cheap again, or it is none.
    match DISTANCES.iter().zip(curve).skip(last).find(|(_, cost)| **cost < low + 0.75 * (high - low)) {
        Some((distance, _)) => Err(format!("the step at {} bytes is undone at {distance}", DISTANCES[last])),
        None => Ok((DISTANCES[first], DISTANCES[last])),
    }
}

/// The line and the pair, from the curve with pairs at the start of a slot, and from one with pairs `shift` further.
fn read(curve: &Curve, shift: usize, shifted: &Curve, declared: Option<usize>) -> Result<(usize, usize), String> {
    let (first, last) = step(curve)?;
    let (moved, _) = step(shifted)?;
    if first == last {
        return match declared {
            // All of a unit comes at once; half of it is the line when the system says so and the shift agrees.
            Some(line) if line * 2 == first && shift == line && moved == line => Ok((line, first)),
            _ => Ok((first, first)),
        };
    }
    // Two steps: the neighbour comes along now and then, in the first half of a pair and not in the second.
    if last == 2 * first && shift == first && moved == first {
        return Ok((first, last));
    }
    Err(format!("the cost rises at {first} and at {last} bytes, and {shift} bytes further at {moved}"))
}

/// How much further the pairs of the second curve lie: a declared half of what comes together, or the first of two steps.
fn shift(first: usize, last: usize, declared: Option<usize>) -> usize {
    if first == last { declared.filter(|line| line * 2 == first).unwrap_or(first) } else { first }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let declared = super::declared_line();
    if let Some(line) = declared {
        ctx.fact("declared", line);
    }
    let area = super::private_cache().unwrap_or(super::ASSUMED_PRIVATE) / 2;
    let area = area.clamp(AREA[0], AREA[1]) as usize / SLOT * SLOT;
    sys::process::refuse_huge_pages();
    let mut buffer = Map::anonymous(area, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let mut slots: Vec<usize> = (0..area).step_by(SLOT).collect();
    ctx.rng().shuffle(&mut slots);
    let mut sweep = |ctx: &mut Ctx, further: usize, curve: &mut Curve| -> Outcome {
        for (cost, distance) in curve.iter_mut().zip(DISTANCES) {
            let nodes: Vec<usize> = slots.iter().flat_map(|slot| [slot + further, slot + further + distance]).collect();
            let Load { cycles, .. } = search::load(ctx, &mut buffer, &nodes)?;
            *cost = cost.min(2.0 * cycles);
        }
        Ok(())
    };
    let mut curve = [f64::INFINITY; DISTANCES.len()];
    let mut shifted = curve;
    let mut shifted_by = 0;
    let mut told = Err("not measured".to_owned());
    for turn in 1..=SWEEPS[1] {
        sweep(ctx, 0, &mut curve)?;
        if let Ok((first, last)) = step(&curve) {
            let further = shift(first, last, declared);
            if further + DISTANCES[DISTANCES.len() - 1] >= SLOT {
                // No line is as long: a disturbed sweep.
                told = Err(format!("the cost seems to rise at {first} bytes only"));
                continue;
            }
            if further != shifted_by {
                (shifted, shifted_by) = ([f64::INFINITY; DISTANCES.len()], further);
            }
            sweep(ctx, further, &mut shifted)?;
            told = read(&curve, further, &shifted, declared);
        }
        if turn >= SWEEPS[0] && told.is_ok() {
            break;
        }
    }
    // Whole cycles, so that rounds that agree say the same.
    let words = |curve: &Curve| curve.map(|cost| format!("{cost:.0}")).join(" ");
    ctx.fact("line.distances", DISTANCES.map(|d| d.to_string()).join(" "));
    ctx.fact("line.cycles", words(&curve));
    ctx.fact("line.cycles_shifted", words(&shifted));
    match told {
        Ok((line, pair)) => {
            ctx.state(line as f64);
            ctx.state_as("pair", pair as f64);
        }
        Err(why) => ctx.unresolved("", &why),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::search::made_up::noisy;
    use super::*;
    use groma_harness::Rng;
    use groma_harness::testing::try_out;

    /// A cache whose lines are `line` bytes; of units of `unit` bytes the other lines come along for `share` of the way.
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
                let told = read(&curve, further, &cache(line, line, 1.0, further), declared);
                // Lines of 128 bytes and always pairs of 64 are the same to every load: the declared size decides.
                let expected = if declared.is_some_and(|d| d * 2 == line) { (line / 2, line) } else { (line, line) };
                assert_eq!(told, Ok(expected), "{line}, declared {declared:?}");
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
        // The same rise wherever the pairs lie is no pair.
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
                if let (Ok(told), true) = (read(&curve, 64, &shifted, Some(64)), turn >= SWEEPS[0]) {
                    assert_eq!(told, (64, 64));
                    break;
                }
            }
        }
        assert!(sweeps < 500, "{sweeps} sweeps for 100 lines");
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
            None => assert!(tried.result.notes.iter().any(|note| note.starts_with("cannot tell: "))),
        }
        let furthest = DISTANCES.into_iter().max().expect("some");
        assert!(256 + furthest + size_of::<usize>() <= SLOT);
    }
}
