//! Allocates the budget: after the first round it is known what each point costs.
//!
//! Pure arithmetic; reads no clock. [`allocate_rounds`] gives each point its rounds, once;
//! [`sampling`] gives all points their sampling time, again after each round. There are four steps,
//! each taken only when the one before did not suffice:
//!
//! 1. No point may take more than a share, so that one that takes seconds (a shell, a compiler)
//!    does not use the time of hundreds that take milliseconds.
//! 2. Expensive points, which take several times as long as the median point (filling 128 MiB, for
//!    example), get nine rounds, or as many fewer as it takes for the others to have as many; from
//!    what an interval needs on, the others come first. In a whole survey they are a quarter of the
//!    points and three quarters of the time.
//! 3. All points sample for a shorter time, in the same proportion, down to that of a quick run.
//! 4. All points get fewer rounds.
//!
//! Sources: docs/methods/timing.md#budget.

use crate::effort::Effort;
use groma_stats::median;
use std::time::Duration;

/// The largest share of the time left after the first round that one point of many may take. Of few
/// points each may take an equal part. 7 % of a minute are nine rounds of 0.45 s, which is what the
/// most expensive points of a survey take (translation buffers, a build).
const LARGEST_SHARE: f64 = 0.07;

/// A point is expensive when it takes more than this many times as long as the median point.
const EXPENSIVE: f64 = 3.0;
/// The fewest rounds that have an interval (95 % of a median, by order statistics).
const WITH_INTERVAL: u32 = 6;
/// The rounds that every point of a survey ought to have
/// (docs/methods/statistics.md#order-statistics).
const ENOUGH: u32 = 9;

/// The effort of the first round: half of an equal part of the budget for each round of each point.
/// The other half is for the worker, whose start takes about as long as the sampling where there
/// are many points.
pub(crate) fn first(full: Effort, points: usize, budget: Duration) -> Effort {
    let rounds = points.max(1) as f64 * f64::from(full.rounds.max(1));
    full.thinned(budget.as_secs_f64() / 2.0 / rounds / full.length().as_secs_f64().max(1e-9))
}

/// How many more rounds each point gets in the time `left` after its first one, which was measured
/// with the effort `tried` and took `spent`.
pub(crate) fn allocate_rounds(full: &Effort, tried: &Effort, spent: &[Duration], left: Duration) -> Vec<u32> {
    let most = full.rounds.saturating_sub(1);
    let left = left.as_secs_f64();
    let cap = (left * LARGEST_SHARE).max(left / spent.len().max(1) as f64);
    let costs = |effort: &Effort| -> Vec<f64> { spent.iter().map(|s| cost(*s, tried, effort).as_secs_f64()).collect() };
    let thin = costs(&full.thinned(0.0));
    let mut own: Vec<u32> = thin.iter().map(|cost| most.min((cap / cost.max(1e-9)) as u32)).collect();
    let total = |own: &[u32], costs: &[f64], rounds: u32| -> f64 {
        costs.iter().zip(own).map(|(cost, own)| cost * f64::from(*own.min(&rounds))).sum()
    };
    if total(&own, &costs(full), most) > left {
        let expensive = median(&thin).map_or(f64::INFINITY, |middle| EXPENSIVE * middle);
        // One round less for each expensive point, until the others have as many, or as an interval
        // needs.
        for cap in (0..ENOUGH).rev() {
            for (own, _) in own.iter_mut().zip(&thin).filter(|(_, cost)| **cost > expensive) {
                *own = cap.min(*own);
            }
            if total(&own, &thin, most.min(cap.max(WITH_INTERVAL - 1))) <= left {
                break;
            }
        }
    }
    let rounds = (0..=most).rev().find(|&n| total(&own, &thin, n) <= left).unwrap_or(0);
    own.iter().map(|own| *own.min(&rounds)).collect()
}

/// The share of the full sampling time, from 0 to 1, with which the rounds still owed fit into what
/// is `left`. `owed` holds for each point what a round took with the effort `tried`, and how many
/// are still to come. Called again after each round: what a point's sampling costs is known once it
/// was tried, and a round of every point is worth more than longer rounds of some.
pub(crate) fn sampling(full: &Effort, tried: &Effort, owed: &[(Duration, u32)], left: Duration) -> f64 {
    let total = |effort: &Effort| -> f64 {
        owed.iter().map(|(spent, rounds)| cost(*spent, tried, effort).as_secs_f64() * f64::from(*rounds)).sum()
    };
    let (thin, left) = (full.thinned(0.0), left.as_secs_f64());
    let (least, wanted) = (total(&thin), total(full));
    if wanted <= left {
        return 1.0;
    }
    let beyond = ((left - least) / (wanted - least).max(1e-9)).clamp(0.0, 1.0);
    // Between the least sampling, which is not zero, and all of it.
    let floor = thin.length().as_secs_f64() / full.length().as_secs_f64().max(1e-9);
    floor + (1.0 - floor) * beyond
}

/// Loops that a round may sample one after another, each for the whole time: a control, a second
/// measure. Most benchmarks have one, some have more, and the cost of a change is estimated on the
/// safe side: one loop where sampling becomes shorter, three where it becomes longer. An estimate
/// that is too high leaves time over, which goes into more rounds; one that is too low costs every
/// point a round.
const LOOPS: [f64; 2] = [1.0, 3.0];

/// How long a round that took `spent` with the effort `tried` takes with another one: its sampling
/// grows or shrinks, the rest stays.
fn cost(spent: Duration, tried: &Effort, other: &Effort) -> Duration {
    let loops = LOOPS[usize::from(other.length() > tried.length())];
    let sampled = spent.min(tried.length().mul_f64(loops));
    let stretch = other.length().as_secs_f64() / tried.length().as_secs_f64().max(1e-9);
    (spent - sampled) + sampled.mul_f64(stretch)
}

/// What the budget cost in rounds, one sentence each; none when it cost nothing. `name` names the
/// point at an index.
pub(crate) fn costs(
    more_rounds: &[u32],
    rounds: u32,
    spent: &[Duration],
    name: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut costs = Vec::new();
    let most = more_rounds.iter().max().map_or(rounds, |more| more + 1);
    if most < rounds {
        costs.push(format!("{most} rounds instead of {rounds} to fit"));
    }
    let mut expensive: Vec<usize> = (0..spent.len()).filter(|&i| more_rounds[i] + 1 < most).collect();
    expensive.sort_by_key(|&i| std::cmp::Reverse(spent[i]));
    if !expensive.is_empty() {
        let one =
            |&i: &usize| format!("{} ({}, {:.0} ms each)", name(i), more_rounds[i] + 1, spent[i].as_secs_f64() * 1e3);
        let some: Vec<String> = expensive.iter().take(5).map(one).collect();
        let rest = if expensive.len() > 5 { format!(" and {} more", expensive.len() - 5) } else { String::new() };
        costs.push(format!("fewer than {most} rounds for what costs more than its share: {}{rest}", some.join(", ")));
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::Profile;

    const MS: Duration = Duration::from_millis(1);

    fn standard() -> Effort {
        Effort::of(Profile::Standard)
    }

    /// The rounds that are owed, and the effort that they have.
    fn shared(tried: &Effort, spent: &[Duration], left: Duration) -> (Vec<u32>, Effort) {
        let more = allocate_rounds(&standard(), tried, spent, left);
        let owed: Vec<_> = spent.iter().copied().zip(more.iter().copied()).collect();
        (more, standard().thinned(sampling(&standard(), tried, &owed, left)))
    }

    #[test]
    fn what_fits_is_given_in_full() {
        let (more, effort) = shared(&standard(), &[60 * MS; 10], 60_000 * MS);
        assert_eq!(more, [8; 10]);
        assert_eq!(effort.length(), standard().length());
        assert!(costs(&more, 9, &[60 * MS; 10], |_| String::new()).is_empty());
    }

    #[test]
    fn an_expensive_point_does_not_take_the_rounds_of_the_others() {
        let mut spent = vec![20 * MS; 100];
        spent[7] = 5_000 * MS;
        spent[9] = 400 * MS;
        let first = standard().thinned(0.0);
        let (more, _) = shared(&first, &spent, 40_000 * MS);
        assert_eq!(more[7], 0, "a round of 5 s is more than 3 % of 40 s");
        assert!((1..8).contains(&more[9]), "some of 0.4 s: {}", more[9]);
        assert_eq!(more[0], 8);
        let said = costs(&more, 9, &spent, |i| format!("p{i}"));
        assert!(said.iter().any(|s| s.contains("p7 (1, 5000 ms each), p9 (")), "{said:?}");
    }

    #[test]
    fn expensive_points_have_fewer_rounds_before_the_others_sample_less() {
        // Like a whole survey: three quarters cost little, the rest have memory to fill.
        let first = standard().thinned(0.0);
        let spent: Vec<Duration> = (0..300).map(|i| if i % 4 == 0 { 80 * MS } else { 10 * MS }).collect();
        let (more, effort) = shared(&first, &spent, 55_000 * MS);
        assert_eq!((more[0], more[1]), (6, 8));
        assert!(effort.length() > first.length(), "what that saves is sampled");
        // On a machine a third as fast the others still have enough rounds for an interval.
        let slow: Vec<Duration> = spent.iter().map(|s| *s * 3).collect();
        let (more, _) = shared(&first, &slow, 55_000 * MS);
        assert!(more[0] < 5 && more[1] >= 5, "{:?}", &more[..2]);
        // Where everything fits, they keep theirs.
        let (more, _) = shared(&first, &spent, 600_000 * MS);
        assert_eq!((more[0], more[1]), (8, 8));
    }

    #[test]
    fn what_costs_more_than_expected_is_sampled_for_a_shorter_time() {
        let full = standard();
        // Three loops each: a round that samples three times as long as the model assumes.
        let real = |effort: &Effort| 5 * MS + 3 * effort.length();
        let mut tried = full.thinned(0.0);
        let mut left = 55_000 * MS;
        let mut rounds = 8;
        let mut effort = shared(&tried, &[real(&tried); 200], left).1;
        while rounds > 0 {
            tried = effort;
            left = left.saturating_sub(real(&tried) * 200);
            rounds -= 1;
            effort = full.thinned(sampling(&full, &tried, &[(real(&tried), rounds); 200], left));
        }
        assert!(left > Duration::ZERO, "all rounds fit");
        assert_eq!(sampling(&full, &full, &[(50 * MS, 2)], 60_000 * MS), 1.0);
        assert!(sampling(&full, &full, &[], Duration::ZERO) <= 1.0);
    }

    #[test]
    fn the_total_is_within_what_is_left() {
        for (points, ms, left) in
            [(1, 50, 100), (127, 55, 50_000), (350, 12, 40_000), (350, 60, 40_000), (2000, 30, 9_000)]
        {
            let first = first(standard(), points, left * MS);
            let spent = vec![first.length() + 4 * MS + ms * MS / 10; points];
            let (more, effort) = shared(&first, &spent, left * MS);
            let round = |s: &Duration| cost(*s, &first, &effort);
            let total: Duration = spent.iter().zip(&more).map(|(s, n)| round(s) * *n).sum();
            assert!(total <= left * MS + MS, "{points} points of {ms} ms: {total:?} of {left} ms");
            // And no fewer than fit: one round more for all would not, or all have all of theirs.
            let one_more: Duration = spent.iter().zip(&more).map(|(s, n)| round(s) * (n + 1)).sum();
            assert!(more[0] == 8 || one_more > left * MS, "{points} points of {ms} ms");
        }
    }

    #[test]
    fn few_points_have_equal_parts() {
        assert_eq!(shared(&standard(), &[3_000 * MS, 3_000 * MS], 60_000 * MS).0, [8, 8]);
        assert_eq!(shared(&standard(), &[3_000 * MS, 3_000 * MS], 12_000 * MS).0, [2, 2]);
    }

    #[test]
    fn nothing_left_is_nothing_more() {
        assert_eq!(shared(&standard(), &[50 * MS; 3], Duration::ZERO).0, [0; 3]);
        assert!(shared(&standard(), &[], 5 * MS).0.is_empty());
    }

    #[test]
    fn expensive_is_relative_to_the_median_point_and_not_to_the_mean() {
        // Median 10 ms, mean 33 ms: 50 ms exceed three times the median, not three times the mean.
        let spent: Vec<Duration> =
            (0..100).map(|i| [10, 50, 2_000][usize::from(i > 89) + usize::from(i == 99)] * MS).collect();
        let (more, _) = shared(&standard().thinned(0.0), &spent, 4_000 * MS);
        assert_eq!((more[0], more[95], more[99]), (4, 0, 0));
    }
}
