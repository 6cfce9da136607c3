//! Allocates the budget, once the first round has shown what each point costs.
//!
//! Pure arithmetic; reads no clock. [`most_rounds`] and [`allocate_rounds`] give each point its
//! rounds, [`sampling`] gives all points their sampling time. Both are repeated after each round,
//! because on a machine with other load the cost of a round changes during the run. There are four
//! steps, each taken only if the previous ones do not suffice:
//!
//! 1. No point may take more than a fixed share, so that a point that takes seconds (a shell, a
//!    compiler) does not use the time of hundreds that take milliseconds.
//! 2. All points sample for a shorter time, in proportion, down to that of a quick run.
//! 3. The number of rounds is inversely proportional to the square root of their cost, which
//!    minimises the sum of all variances: a point that takes four times as long has half as many,
//!    but not fewer than an interval needs. Once all points have an interval, its width counts as
//!    well ([`need`](groma_stats::need)).
//! 4. If not all can have an interval, as many as possible have one: the cheap points. The others
//!    share the rest.
//!
//! Sources: docs/methods/timing.md#budget.

use crate::effort::Effort;
use groma_harness::model::Profile;
use groma_stats::{median, useful_rounds};
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

/// The largest share of the time after the first round that one of many points may take; each of
/// few may take an equal part. 7 % of a minute are nine rounds of 0.45 s, the cost of the most
/// expensive points of a survey (TLBs, a build).
const LARGEST_SHARE: f64 = 0.07;

/// The fewest rounds with an interval.
pub(crate) const WITH_INTERVAL: u32 = useful_rounds()[0] as u32;

/// Reserved for statistics and output of the whole run.
const CLOSING: Duration = Duration::from_millis(500);
/// Reserved for those of each point: a complete run of 376 points took 5 s for its statistics.
const CLOSING_POINT: Duration = Duration::from_millis(10);

/// The time reserved for statistics and output of a run of N points.
pub(crate) fn closing(points: usize) -> Duration {
    CLOSING + CLOSING_POINT * points as u32
}

/// The number of rounds of the median point is searched in steps of 2 %, from one to 380 times as
/// many as an interval needs: enough to give all rounds to a point that costs 8,000 times as much.
const STEP: f64 = 1.02;
const STEPS: Range<i32> = -91..300;

/// The effort of the first round: it samples for half of the time that an equal division of the
/// budget gives each round of each point. The other half is for starting the worker, which takes
/// about as long in a run of many points.
pub(crate) fn first(full: Effort, points: usize, budget: Duration) -> Effort {
    let rounds = points.max(1) as f64 * f64::from(full.rounds.max(1));
    full.thinned(budget.as_secs_f64() / 2.0 / rounds / full.length().as_secs_f64().max(1e-9))
}

/// The input of the allocation for one point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The wall time of its last round.
    pub(crate) cost: Duration,
    /// Its rounds so far.
    pub(crate) done: u32,
    /// Its rounds in all, at most.
    pub(crate) most: u32,
    /// See [`need`](groma_stats::need); 1 until it is known.
    pub(crate) need: f64,
}

/// The most rounds in all that each point may have. `spent` is the cost of its first round with the
/// effort `tried`, `left` the time for all other rounds.
pub(crate) fn most_rounds(full: &Effort, tried: &Effort, spent: &[Duration], left: Duration) -> Vec<u32> {
    let left = left.as_secs_f64();
    let cap = (left * LARGEST_SHARE).max(left / spent.len().max(1) as f64);
    let thin = full.thinned(0.0);
    let affordable = |spent: &Duration| (cap / cost(*spent, tried, &thin).as_secs_f64().max(1e-9)) as u32;
    spent.iter().map(|spent| full.rounds.min(affordable(spent).saturating_add(1))).collect()
}

/// The input of the allocation after the first round; see [`most_rounds`].
fn after_first(full: &Effort, tried: &Effort, spent: &[Duration], left: Duration) -> Vec<Share> {
    let most = most_rounds(full, tried, spent, left);
    spent.iter().zip(most).map(|(cost, most)| Share { cost: *cost, done: 1, most, need: 1.0 }).collect()
}

/// The rounds that points would get in a survey with this profile if a short round of each had
/// these costs: for plans of other machines. Measures nothing.
pub fn rounds_in_budget(profile: Profile, costs: &[Duration]) -> Vec<u32> {
    let full = Effort::of_survey(profile);
    let spent: Duration = costs.iter().sum();
    let left = full.budget.saturating_sub(full.preflight + closing(costs.len()) + spent);
    let thin = full.thinned(0.0);
    allocate_rounds(&full, &thin, &after_first(&full, &thin, costs, left), left)
}

/// The number of rounds in all that each point gets, including those that are `done`, if `left` is
/// the time for the others. The costs are those of rounds with the effort `tried`.
pub(crate) fn allocate_rounds(full: &Effort, tried: &Effort, points: &[Share], left: Duration) -> Vec<u32> {
    let left = left.as_secs_f64();
    let thin: Vec<f64> = points.iter().map(|point| cost(point.cost, tried, &full.thinned(0.0)).as_secs_f64()).collect();
    let fits = |rounds: &Vec<u32>| {
        let owed = points.iter().zip(&thin).zip(rounds);
        owed.map(|((point, cost), rounds)| cost * f64::from(rounds.saturating_sub(point.done))).sum::<f64>() <= left
    };
    let middle = median(&thin).unwrap_or(0.0);
    // The rounds of each point if the median one has `scale`, clamped to a range.
    let of_scale = |scale: f64, range: &RangeInclusive<u32>| -> Vec<u32> {
        let rounds = |(point, cost): (&Share, &f64)| {
            let rounds =
                ((scale * point.need * (middle / cost.max(1e-9)).sqrt()) as u32).clamp(*range.start(), *range.end());
            useful_rounds()
                .into_iter()
                .map(|useful| useful as u32)
                .rev()
                .find(|useful| *useful <= rounds)
                .unwrap_or(rounds)
                .min(point.most)
        };
        points.iter().zip(&thin).map(rounds).collect()
    };
    // All have all of theirs; or all have an interval; or as many as possible have one, and the
    // others share the rest.
    let all = points.iter().map(|point| point.most).collect();
    let scales = || STEPS.rev().map(|step| f64::from(WITH_INTERVAL) * STEP.powi(step));
    let fewer = scales().map(|scale| of_scale(scale, &(WITH_INTERVAL..=u32::MAX)));
    let least = most_intervals(points, &thin, left);
    let some = scales().map(|scale| {
        let rounds = of_scale(scale, &(1..=WITH_INTERVAL));
        rounds.iter().zip(&least).map(|(rounds, least)| *rounds.max(least)).collect()
    });
    std::iter::once(all).chain(fewer).chain(some).find(fits).unwrap_or(least)
}

/// The numbers of rounds with which the most points have an interval after the time `left`, with
/// the cost of a round of each in seconds. Those for which it costs least get one; the others keep
/// what they have, because two to five rounds have no interval.
fn most_intervals(points: &[Share], cost: &[f64], mut left: f64) -> Vec<u32> {
    let missing = |i: usize| f64::from(WITH_INTERVAL.saturating_sub(points[i].done)) * cost[i];
    let mut cheapest: Vec<usize> = (0..points.len()).filter(|&i| points[i].most >= WITH_INTERVAL).collect();
    cheapest.sort_by(|&a, &b| missing(a).total_cmp(&missing(b)));
    let mut rounds: Vec<u32> = points.iter().map(|point| point.done).collect();
    for i in cheapest {
        left -= missing(i);
        if left < 0.0 {
            break;
        }
        rounds[i] = rounds[i].max(WITH_INTERVAL);
    }
    rounds
}

/// The share of the full sampling time, from 0 to 1, with which all remaining rounds fit into the
/// time `left`. `owed` holds, for each point, the cost of a round with the effort `tried` and the
/// number of remaining rounds. Repeated after each round, when the costs are known better.
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
    // Between the least sampling time, which is not zero, and the full one.
    let floor = thin.sampling.as_secs_f64() / full.sampling.as_secs_f64().max(1e-9);
    floor + (1.0 - floor) * beyond
}

/// The number of loops that a round is assumed to sample one after another, each for the whole
/// time, when sampling becomes shorter and when it becomes longer. Most benchmarks have one loop,
/// some have a control and a second measure, so both assumptions overestimate the cost: time that
/// is left over goes into more rounds, but an estimate that is too low costs every point a round.
const LOOPS: [f64; 2] = [1.0, 3.0];

/// The cost with another effort of a round that took `spent` with the effort `tried`: its sampling
/// scales, the rest is constant.
fn cost(spent: Duration, tried: &Effort, other: &Effort) -> Duration {
    let loops = LOOPS[usize::from(other.length() > tried.length())];
    let sampled = spent.min(tried.length().mul_f64(loops));
    let stretch = other.length().as_secs_f64() / tried.length().as_secs_f64().max(1e-9);
    (spent - sampled) + sampled.mul_f64(stretch)
}

/// Points that a sentence about what was cut names.
const MAX_NAMED: usize = 5;

/// What was cut to fit the budget, one sentence each; empty if nothing was. `points` holds the
/// rounds of each point and the cost of one; `name` returns the name of the point at an index.
pub(crate) fn costs(points: &[(u32, Duration)], rounds: u32, name: impl Fn(usize) -> String) -> Vec<String> {
    let mut costs = Vec::new();
    let most = points.iter().map(|(own, _)| *own).max().unwrap_or(rounds);
    if most < rounds {
        let plural = if most == 1 { "" } else { "s" };
        costs.push(format!("{most} round{plural} instead of {rounds} to fit"));
    }
    let some_of = |chosen: &[usize], one: &dyn Fn(&usize) -> String| {
        let some: Vec<String> = chosen.iter().take(MAX_NAMED).map(one).collect();
        let more = chosen.len().saturating_sub(MAX_NAMED);
        some.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
    };
    // What had no round has no cost either.
    let none: Vec<usize> = (0..points.len()).filter(|&i| points[i].0 == 0).collect();
    if !none.is_empty() {
        costs.push(format!("no round of {}", some_of(&none, &|&i| name(i))));
    }
    let mut expensive: Vec<usize> = (0..points.len()).filter(|&i| (1..most).contains(&points[i].0)).collect();
    expensive.sort_by_key(|&i| std::cmp::Reverse(points[i].1));
    if !expensive.is_empty() {
        let one = |&i: &usize| format!("{} ({}, {:.0} ms each)", name(i), points[i].0, points[i].1.as_secs_f64() * 1e3);
        costs
            .push(format!("fewer than {most} rounds for what costs more or is precise: {}", some_of(&expensive, &one)));
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn standard() -> Effort {
        Effort::of(Profile::Standard)
    }

    /// The rounds that remain after the first, and their effort.
    fn remaining_rounds(tried: &Effort, spent: &[Duration], left: Duration) -> (Vec<u32>, Effort) {
        let points = after_first(&standard(), tried, spent, left);
        let rounds = allocate_rounds(&standard(), tried, &points, left);
        let more: Vec<u32> = rounds.iter().map(|rounds| rounds - 1).collect();
        let owed: Vec<_> = spent.iter().copied().zip(more.iter().copied()).collect();
        (more, standard().thinned(sampling(&standard(), tried, &owed, left)))
    }

    #[test]
    fn everything_is_allocated_if_it_fits() {
        let (more, effort) = remaining_rounds(&standard(), &[60 * MS; 10], 60_000 * MS);
        assert_eq!(more, [8; 10]);
        assert_eq!(effort.length(), standard().length());
        assert!(costs(&[(9, 60 * MS); 10], 9, |_| String::new()).is_empty());
    }

    #[test]
    fn an_expensive_point_does_not_take_the_rounds_of_others() {
        let mut spent = vec![20 * MS; 100];
        spent[7] = 5_000 * MS;
        spent[9] = 400 * MS;
        let first = standard().thinned(0.0);
        let (more, _) = remaining_rounds(&first, &spent, 40_000 * MS);
        assert_eq!(more[7], 0, "a round of 5 s is more than 3 % of 40 s");
        assert!((1..8).contains(&more[9]), "some of 0.4 s: {}", more[9]);
        assert_eq!(more[0], 8);
        let points: Vec<_> = more.iter().map(|more| more + 1).zip(spent).collect();
        let said = costs(&points, 9, |i| format!("p{i}"));
        assert!(said.iter().any(|s| s.contains("p7 (1, 5000 ms each), p9 (")), "{said:?}");
        let said = costs(&[(1, 20 * MS), (0, Duration::ZERO), (1, 20 * MS)], 9, |i| format!("p{i}"));
        assert_eq!(said, ["1 round instead of 9 to fit", "no round of p1"]);
    }

    #[test]
    fn expensive_points_lose_rounds_first() {
        // Like a whole survey: three quarters cost little, the rest have memory to fill.
        let first = standard().thinned(0.0);
        let spent: Vec<Duration> = (0..300).map(|i| if i % 4 == 0 { 80 * MS } else { 10 * MS }).collect();
        let (more, effort) = remaining_rounds(&first, &spent, 55_000 * MS);
        assert_eq!((more[0], more[1]), (5, 8));
        assert!(effort.length() > first.length(), "what that saves is sampled");
        // On a machine a third as fast, the cheap points still have enough rounds for an interval,
        // and so do as many expensive ones as possible.
        let slow: Vec<Duration> = spent.iter().map(|s| *s * 3).collect();
        let (more, _) = remaining_rounds(&first, &slow, 55_000 * MS);
        assert!((0..300).all(|i| i % 4 == 0 || more[i] == 5), "{more:?}");
        let expensive: Vec<u32> = more.iter().copied().step_by(4).collect();
        let without_interval = |more: &&u32| **more < 5;
        assert!(expensive.contains(&5), "{expensive:?}");
        assert!(expensive.iter().filter(without_interval).all(|more| *more < 2), "{expensive:?}");
        // If everything fits, they keep all of theirs.
        let (more, _) = remaining_rounds(&first, &spent, 600_000 * MS);
        assert_eq!((more[0], more[1]), (8, 8));
    }

    #[test]
    fn sampling_is_shortened_if_rounds_cost_more_than_expected() {
        let full = standard();
        // Three loops each: rounds sample three times as long as the model assumes.
        let real = |effort: &Effort| 5 * MS + 3 * effort.length();
        let mut tried = full.thinned(0.0);
        let mut left = 55_000 * MS;
        let mut rounds = 8;
        let mut effort = remaining_rounds(&tried, &[real(&tried); 200], left).1;
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
            let (more, effort) = remaining_rounds(&first, &spent, left * MS);
            let round = |s: &Duration| cost(*s, &first, &effort);
            let total: Duration = spent.iter().zip(&more).map(|(s, n)| round(s) * *n).sum();
            assert!(total <= left * MS + MS, "{points} points of {ms} ms: {total:?} of {left} ms");
            // The next number of rounds that narrows an interval would not fit.
            let next = if more[0] < WITH_INTERVAL - 1 { more[0] + 1 } else { 8 };
            let more_of_all: Duration = spent.iter().map(|s| round(s) * next).sum();
            assert!(more[0] == 8 || more_of_all > left * MS, "{points} points of {ms} ms");
        }
    }

    #[test]
    fn few_points_may_take_equal_parts() {
        assert_eq!(remaining_rounds(&standard(), &[3_000 * MS, 3_000 * MS], 60_000 * MS).0, [8, 8]);
        assert_eq!(remaining_rounds(&standard(), &[3_000 * MS, 3_000 * MS], 12_000 * MS).0, [2, 2]);
    }

    #[test]
    fn without_time_no_rounds_are_added() {
        assert_eq!(remaining_rounds(&standard(), &[50 * MS; 3], Duration::ZERO).0, [0; 3]);
        assert!(remaining_rounds(&standard(), &[], 5 * MS).0.is_empty());
    }

    /// The costs of the points of a survey on two CPUs.
    fn of_survey() -> Vec<Duration> {
        [(100, 15), (25, 40), (15, 100), (10, 400)].into_iter().flat_map(|(n, ms)| vec![ms * MS; n]).collect()
    }

    #[test]
    fn rounds_follow_the_square_root_of_their_cost() {
        let survey = Effort::of_survey(Profile::Standard);
        let spent = of_survey();
        let rounds = |left: u32| {
            let points = after_first(&survey, &survey, &spent, left * MS);
            let all = allocate_rounds(&survey, &survey, &points, left * MS);
            [0, 100, 125, 140, 149].map(|i| all[i])
        };
        // From 9 rounds on, only numbers that narrow the interval are used.
        assert_eq!(rounds(60_000), [17, 9, 6, 6, 6]);
        assert_eq!(rounds(90_000), [25, 17, 12, 6, 6]);
        // All have an interval before any has more rounds.
        assert_eq!(rounds(42_000), [6, 6, 6, 6, 6]);
        // Below that, the expensive points lose theirs first.
        assert_eq!(rounds(30_000), [6, 6, 6, 6, 1]);
    }

    /// The survey above, on a machine where each round costs twice as much from some round on.
    #[test]
    fn expensive_points_lose_rounds_first_when_costs_rise() {
        let survey = Effort::of_survey(Profile::Standard);
        let quiet = of_survey();
        let rounds = |doubled: Range<u32>| {
            let mut left = 60_000 * MS;
            let mut points = after_first(&survey, &survey, &quiet, left);
            let mut all = allocate_rounds(&survey, &survey, &points, left);
            points.iter_mut().zip(&all).for_each(|(point, all)| point.most = *all);
            for round in 1..u32::MAX {
                let next: Vec<usize> = (0..150).filter(|&i| points[i].done < all[i]).collect();
                if next.is_empty() {
                    break;
                }
                for i in next {
                    points[i].cost = quiet[i] * if doubled.contains(&round) { 2 } else { 1 };
                    if points[i].cost <= left {
                        left -= points[i].cost;
                        points[i].done += 1;
                    } else {
                        points[i].most = points[i].done;
                    }
                }
                all = allocate_rounds(&survey, &survey, &points, left);
            }
            assert!(left < 15_000 * MS, "{left:?} are left");
            [0, 100, 125, 140, 149].map(|i| points[i].done)
        };
        assert_eq!(rounds(0..0), [17, 9, 6, 6, 6]);
        // A single allocation would end with 5 or 6 rounds of each.
        assert_eq!(rounds(3..99), [6, 6, 6, 6, 4]);
        // If the load lasts for one round only, the cheap points have more again.
        assert_eq!(rounds(3..4), [12, 9, 6, 6, 6]);
    }

    /// Three loops are assumed if sampling grows, one if it shrinks.
    #[test]
    fn the_cost_with_another_effort_is_overestimated() {
        let (thin, full) = (standard().thinned(0.0), standard());
        let ms = |spent: u32, tried: &Effort, other: &Effort| cost(spent * MS, tried, other).as_secs_f64() * 1e3;
        for (estimate, expected) in [
            (ms(20, &thin, &full), 5.0 + 126.0),
            (ms(10, &thin, &full), 84.0),
            (ms(200, &full, &thin), 158.0 + 5.0),
            (ms(21, &full, &thin), 2.5),
            (ms(77, &full, &full), 77.0),
        ] {
            assert!((estimate - expected).abs() < 0.01, "{estimate} ms, not {expected}");
        }
    }

    /// Two rounds of 100 ms, 42 of it warm-up and sampling, take 126 ms with the least sampling.
    #[test]
    fn sampling_is_scaled_to_the_time_left() {
        let share = |left: u32| sampling(&standard(), &standard(), &[(100 * MS, 2)], left * MS);
        for (left, expected) in [(50, 0.1), (126, 0.1), (163, 0.55), (200, 1.0), (900, 1.0)] {
            assert!((share(left) - expected).abs() < 1e-6, "{left} ms: {}", share(left));
        }
    }

    /// 10 points of 9 rounds of 50 ms take 4.5 s.
    #[test]
    fn the_first_round_samples_for_half_of_an_equal_part() {
        let length = |budget_ms: u32| first(standard(), 10, budget_ms * MS).length();
        assert!((24 * MS..26 * MS).contains(&length(4500)), "{:?}", length(4500));
        assert_eq!(length(9500), standard().length());
        assert_eq!(length(10), standard().thinned(0.0).length());
    }

    #[test]
    fn the_time_for_statistics_grows_with_the_points() {
        assert_eq!(closing(0), 500 * MS);
        assert_eq!(closing(150), 2_000 * MS);
    }
}
