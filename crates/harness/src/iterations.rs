//! Chooses how many iterations an interval has, and checks that time grows with them.

use crate::error::BenchError;
use crate::stopwatch::Stopwatch;
use crate::sys::clock::Clock;
use crate::variant::Variant;
use groma_stats::order;

/// Runs `iters` iterations; the start of the timed part and its nanoseconds.
pub(crate) fn time_once(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    iters: u64,
    total: &mut u64,
) -> Result<(u64, u64), BenchError> {
    let mut watch = Stopwatch::new(ins);
    (variant.body)(iters, &mut watch)?;
    variant.done += iters;
    variant.parts += watch.parts;
    *total += iters;
    Ok((watch.t0, watch.elapsed))
}

/// The longest search for a count, untimed parts included; a count that was found by then is used.
pub(crate) const SEARCH_CAP_NS: u64 = 2_000_000_000;

/// The shortest iteration that there can be, in nanoseconds: no core completes a tenth of the
/// instructions that this wants.
const SHORTEST_NS: f64 = 0.01;

/// Iterations of a window of this length that would each take less than [`SHORTEST_NS`]: they were
/// optimised away.
pub(crate) fn most_iters(window_ns: f64) -> u64 {
    ((window_ns / SHORTEST_NS) as u64).max(1 << 20)
}

/// How many iterations an interval has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// That many last as long as they should.
    Reached(u64),
    /// No more may be tried, or the search took too long.
    Limited(u64),
}

impl Count {
    pub(crate) fn iters(self) -> u64 {
        match self {
            Count::Reached(n) | Count::Limited(n) => n,
        }
    }
}

/// Finds how many iterations last `target_ns` (docs/methods/timing.md#choosing-iterations): grow
/// until half the target is reached twice in a row, so that one interrupted probe cannot end the
/// search, then scale by the fastest of three.
pub(crate) fn choose_iterations(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    target_ns: f64,
    total: &mut u64,
) -> Result<Count, BenchError> {
    let start = ins.now_ns();
    let too_long = || ins.now_ns().saturating_sub(start) > SEARCH_CAP_NS;
    let mut n = 1u64;
    loop {
        match grow(ins, variant, target_ns, n, &too_long, total)? {
            Count::Reached(found) => n = found,
            limited @ Count::Limited(_) => return Ok(limited),
        }
        let mut times = [0.0; 3];
        for time in &mut times {
            *time = time_once(ins, variant, n, total)?.1 as f64;
        }
        // Far less than what was seen twice in a row is a clock that jumped back, not a fast loop:
        // taking it for one would make the intervals thousands of times too long. But when two of
        // three are far less, the two long ones were interrupted: a partner that was preempted
        // twice made one round trip of 110 ns the whole interval.
        let plausible = times.iter().copied().filter(|ns| *ns > target_ns / 16.0);
        if plausible.clone().count() < 2 && !too_long() {
            continue;
        }
        let fastest = plausible.fold(f64::INFINITY, f64::min);
        let iters = if fastest.is_finite() { n as f64 * target_ns / fastest } else { n as f64 };
        let iters = (iters.round() as u64).clamp(1, variant.max_iters.min(most_iters(target_ns)));
        return Ok(Count::Reached(iters));
    }
}

/// Tries more and more iterations, `n` first, until half the target is reached twice in a row.
fn grow(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    target_ns: f64,
    mut n: u64,
    too_long: &dyn Fn() -> bool,
    total: &mut u64,
) -> Result<Count, BenchError> {
    let most = most_iters(target_ns);
    let cap = variant.max_iters.min(most);
    let mut hits = 0;
    while hits < 2 {
        let (_, elapsed) = time_once(ins, variant, n, total)?;
        if elapsed as f64 >= target_ns / 2.0 {
            hits += 1;
            continue;
        }
        hits = 0;
        if n >= cap {
            if n == most {
                return Err(BenchError::Failed(format!("{n} iterations take {elapsed} ns: the loop does nothing")));
            }
            return Ok(Count::Limited(cap));
        }
        // A loop whose timed part stays short beside the rest (or is never begun) would be run for
        // hours.
        if too_long() {
            if elapsed == 0 {
                return Err(BenchError::Failed(format!("{n} iterations take no time that is measured")));
            }
            return Ok(Count::Limited(n));
        }
        let factor = (target_ns / elapsed.max(1) as f64).clamp(2.0, 10.0);
        n = ((n as f64 * factor) as u64).min(cap);
    }
    Ok(Count::Reached(n))
}

/// How many iterations a member of a worker group does between two looks at the phase.
pub(crate) fn batch(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    target_ns: f64,
    total: &mut u64,
) -> Result<u64, BenchError> {
    let n = choose_iterations(ins, variant, target_ns, total)?.iters();
    if n >= 2 && n == variant.max_iters {
        // Disturbed or not: a sample of a worker group holds thousands of batches, some of which
        // lost time to other work.
        let all_count = || true;
        if let Some(ratio) = scaling(ins, variant, n, total, all_count)?
            && ratio < MIN_SCALING
        {
            return Err(BenchError::Failed(format!(
                "{n} iterations take {ratio:.2} times as long as half of them: the loop does nothing"
            )));
        }
    }
    Ok(n)
}

/// Twice the iterations of a loop that does something take at least this many times as long,
/// whatever the noise.
pub(crate) const MIN_SCALING: f64 = 1.5;

/// The longest time for tries beyond the first three, untimed parts included.
const SCALING_CAP_NS: u64 = 250_000_000;
/// The same for as long as the proof would break.
const BROKEN_CAP_NS: u64 = 1_000_000_000;

/// Undisturbed tries without which a proof does not break.
const MIN_UNDISTURBED_TRIES: usize = 3;
/// Tries in a row of which the proof is made.
const MAX_TRIES: usize = 24;
/// How often all tries are made anew for as long as the proof would break.
const MAX_REPEATS: usize = 10;

/// The times of one try: of k iterations and of 2k.
type Pair = (u64, u64);

/// Time of 2k iterations over that of k (docs/methods/timing.md#scaling-proof), until it is near 2
/// or the tries are used up. All of them are made anew where the ratio would break the proof: of 24
/// tries on a busy machine three may be undisturbed, and a host that moves the core's clock spoils
/// the smallest times and the ratios of so few. `undisturbed` is asked after each try whether a
/// sample like that would count. `None` where the ratio of all tries would break the proof and too
/// few were undisturbed to say so.
pub(crate) fn scaling(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    iters: u64,
    total: &mut u64,
    mut undisturbed: impl FnMut() -> bool,
) -> Result<Option<f64>, BenchError> {
    let start = ins.now_ns();
    let mut row = || scaling_of_tries(ins, variant, iters, total, start, &mut undisturbed);
    let Some(mut ratio) = row()? else { return Ok(None) };
    for _ in 0..MAX_REPEATS {
        if ratio >= MIN_SCALING || ins.now_ns().saturating_sub(start) > BROKEN_CAP_NS {
            break;
        }
        // A row that cannot tell takes nothing back.
        ratio = row()?.unwrap_or(ratio);
    }
    Ok(Some(ratio))
}

/// [`scaling`] of one row of tries; its time limits count from `start`.
fn scaling_of_tries(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    iters: u64,
    total: &mut u64,
    start: u64,
    undisturbed: &mut impl FnMut() -> bool,
) -> Result<Option<f64>, BenchError> {
    let (mut tries, mut clean): (Vec<Pair>, Vec<Pair>) = (Vec::new(), Vec::new());
    let mut ratio = f64::NAN;
    for attempt in 0..MAX_TRIES {
        // What is not timed of each (a competitor that has to be woken, on a busy machine) has no
        // part in it.
        let cap = if ratio < MIN_SCALING { BROKEN_CAP_NS } else { SCALING_CAP_NS };
        if attempt >= 3 && ins.now_ns().saturating_sub(start) > cap {
            break;
        }
        let pair = (time_once(ins, variant, iters / 2, total)?.1, time_once(ins, variant, iters / 2 * 2, total)?.1);
        tries.push(pair);
        if undisturbed() {
            clean.push(pair);
        }
        ratio = of_smallest(&tries);
        if attempt >= 2 && (ratio - 2.0).abs() < 0.05 {
            return Ok(Some(ratio));
        }
    }
    let ratio = nearer_to_two(&tries);
    if ratio >= MIN_SCALING {
        return Ok(Some(ratio));
    }
    Ok((clean.len() >= MIN_UNDISTURBED_TRIES).then(|| nearer_to_two(&clean)))
}

/// The ratio of the smallest times of several tries.
fn of_smallest(tries: &[Pair]) -> f64 {
    let (single, double) =
        tries.iter().fold((u64::MAX, u64::MAX), |(single, double), (one, two)| (single.min(*one), double.min(*two)));
    double as f64 / single.max(1) as f64
}

/// The ratio of the smallest times, or the median of the tries' own ratios, whichever is nearer to
/// 2. Interference spoils the ratios where it comes and goes within a try, and the smallest times
/// where it stays; a loop that does nothing has 1 in both.
fn nearer_to_two(tries: &[Pair]) -> f64 {
    let ratio = of_smallest(tries);
    let ratios: Vec<f64> = tries.iter().map(|(one, two)| *two as f64 / (*one).max(1) as f64).collect();
    let median = order::upper_median(&ratios).unwrap_or(ratio);
    if (median - 2.0).abs() < (ratio - 2.0).abs() { median } else { ratio }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use std::cell::RefCell;

    /// The counts that a search tries, of a loop whose iterations take these nanoseconds.
    fn searched(target_ns: f64, cap: u64, ns: impl Fn(usize, u64) -> u64) -> (Result<u64, BenchError>, Vec<u64>) {
        let fake = Fake::new();
        let tried = RefCell::new(Vec::new());
        let body = |iters: u64| {
            fake.run(ns(tried.borrow().len(), iters));
            tried.borrow_mut().push(iters);
            Ok(())
        };
        let found = choose_iterations(&fake, &mut Variant::new("", body).max_iters(cap), target_ns, &mut 0);
        (found.map(Count::iters), tried.take())
    }

    #[test]
    fn a_search_grows_by_two_to_ten_and_ends_at_half_its_target_twice() {
        let per = |ns: u64| move |_: usize, iters: u64| ns * iters;
        // By ten while far away, then by what is missing; two at half or more, and three to scale
        // by.
        assert_eq!(searched(200_000.0, u64::MAX, per(100)), (Ok(2000), vec![1, 10, 100, 1000, 1000, 1000, 1000, 1000]));
        assert_eq!(searched(200_000.0, u64::MAX, per(90)).1[..5], [1, 10, 100, 1000, 2222]);
        assert_eq!(searched(200_000.0, u64::MAX, per(30_000)), (Ok(7), vec![1, 6, 6, 6, 6, 6]));
        assert_eq!(searched(200_000.0, u64::MAX, per(500_000)), (Ok(1), vec![1; 5]));
        // The fastest of the three counts: neither mean nor median.
        let noisy = |n: usize, iters: u64| 100 * iters * [1, 1, 1, 1, 1, 9, 2, 5][n];
        assert_eq!(searched(200_000.0, u64::MAX, noisy).0, Ok(1000));
        // A clock that jumped back makes one of them impossibly short; from a sixteenth of the
        // target on it is believed.
        let jumped = |ns: u64| move |n: usize, iters: u64| if n == 6 { ns } else { 100 * iters };
        assert_eq!(searched(200_000.0, u64::MAX, jumped(100)).0, Ok(2000));
        assert_eq!(searched(200_000.0, u64::MAX, jumped(12_500)).0, Ok(2000));
        assert_eq!(searched(200_000.0, u64::MAX, jumped(12_600)).0, Ok(15_873));
        // Two round trips whose partner was preempted do not end the search.
        let preempted = |n: usize, iters: u64| if n < 2 { 4_000_000 } else { 100 * iters };
        let (found, tried) = searched(200_000.0, u64::MAX, preempted);
        assert_eq!((found, &tried[..9]), (Ok(2000), &[1, 1, 1, 1, 1, 1, 10, 100, 1000][..]));
        // A cap is kept, whether the target is reached or not.
        assert_eq!(searched(200_000.0, 64, per(100)), (Ok(64), vec![1, 10, 64]));
        assert_eq!(searched(200_000.0, 1500, per(100)).0, Ok(1500));
    }

    #[test]
    fn no_more_iterations_are_tried_than_a_core_could_do() {
        assert_eq!((most_iters(200_000.0), most_iters(5e6), most_iters(1.0)), (20_000_000, 500_000_000, 1 << 20));
        let (found, tried) = searched(200_000.0, u64::MAX, |_, _| 20);
        assert!(
            matches!(&found, Err(BenchError::Failed(why)) if why.contains("20000000 iterations take 20 ns")),
            "{found:?}"
        );
        assert_eq!(tried.last(), Some(&20_000_000));
    }

    #[test]
    fn a_batch_of_a_worker_group_that_does_nothing_is_an_error() {
        let fake = Fake::new();
        let mut variant = Variant::new("", |_| {
            fake.run(25);
            Ok(())
        })
        .max_iters(16);
        let none = batch(&fake, &mut variant, 20_000.0, &mut 0);
        assert!(matches!(&none, Err(BenchError::Failed(why)) if why.ends_with("the loop does nothing")), "{none:?}");
        let work = |iters: u64| {
            fake.run(25 * iters);
            Ok(())
        };
        assert_eq!(batch(&fake, &mut Variant::new("", work).max_iters(16), 20_000.0, &mut 0), Ok(16));
        assert_eq!(batch(&fake, &mut Variant::new("", work), 20_000.0, &mut 0), Ok(800));
    }
}
