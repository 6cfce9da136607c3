//! Who gets how much of the budget: after the first round it is known what each point costs.
//!
//! Pure arithmetic; reads no clock. Four steps, each taken only when the one before did not suffice. No point may take more
//! than a share, so that one that costs seconds (a shell, a compile) does not take the rounds of hundreds that cost
//! milliseconds. Then those that cost several times as much as most (to fill 128 MiB, for example) have as few rounds as an
//! interval needs, or fewer if the others could not have as many: of a whole survey they are a quarter of the points and three
//! quarters of the time. Then all sample for a shorter
//! time, in the same proportion, down to that of a quick run. Then all have fewer rounds.

use crate::survey::Effort;
use std::time::Duration;

/// The largest part of what is left after the first round that one point of many may take; of few points each may have an
/// equal part. 3 % of a minute are nine rounds of 0.2 s.
const LARGEST: f64 = 0.03;

/// A point is dear that costs so many times as much as the middle one.
const DEAR: f64 = 3.0;
/// The fewest rounds that have an interval (95 % of a median, by order statistics).
const WITH_INTERVAL: u32 = 6;

/// What was decided.
pub(crate) struct Shares {
    /// The effort of the rounds to come.
    pub(crate) effort: Effort,
    /// The share of the profile's sampling time that it has.
    pub(crate) sampling: f64,
    /// How many more rounds each point has.
    pub(crate) more_rounds: Vec<u32>,
}

/// The effort of the first round: half of an equal part of the budget for each round of each point, since the worker takes about
/// as long as the sampling, where points are many.
pub(crate) fn first(full: Effort, points: usize, budget: Duration) -> Effort {
    let rounds = points.max(1) as f64 * f64::from(full.rounds.max(1));
    full.thinned(budget.as_secs_f64() / 2.0 / rounds / full.length().as_secs_f64().max(1e-9))
}

/// Shares out what is left after the first round, which was done with the effort `tried` and took each point so long.
pub(crate) fn share_out(full: &Effort, tried: &Effort, spent: &[Duration], left: Duration) -> Shares {
    let most = full.rounds.saturating_sub(1);
    let left = left.as_secs_f64();
    let cap = (left * LARGEST).max(left / spent.len().max(1) as f64);
    let cost = |spent: &Duration, effort: &Effort| cost(*spent, tried, effort).as_secs_f64();
    let thin = full.thinned(0.0);
    let mut own: Vec<u32> = spent.iter().map(|s| most.min((cap / cost(s, &thin).max(1e-9)) as u32)).collect();
    let total = |own: &[u32], effort: &Effort, rounds: u32| -> f64 {
        spent.iter().zip(own).map(|(s, own)| cost(s, effort) * f64::from(*(own.min(&rounds)))).sum()
    };
    if total(&own, full, most) > left {
        let mut costs: Vec<f64> = spent.iter().map(|s| cost(s, &thin)).collect();
        costs.sort_by(f64::total_cmp);
        let dear = costs.get(costs.len() / 2).map_or(f64::INFINITY, |middle| DEAR * middle);
        let cap_dear = |own: &mut [u32], cap: u32| {
            for (own, _) in own.iter_mut().zip(spent).filter(|(_, s)| cost(s, &thin) > dear) {
                *own = (*own).min(cap);
            }
        };
        // One less for each, until the others have as many as an interval needs.
        for cap in (0..WITH_INTERVAL).rev() {
            cap_dear(&mut own, cap);
            if total(&own, &thin, most.min(WITH_INTERVAL - 1)) <= left {
                break;
            }
        }
    }
    let rounds = (0..=most).rev().find(|&n| total(&own, &thin, n) <= left).unwrap_or(0);
    let sampling = sampling(full, total(&own, &thin, rounds), total(&own, full, rounds), left);
    Shares { effort: full.thinned(sampling), sampling, more_rounds: own.iter().map(|own| *own.min(&rounds)).collect() }
}

/// The share of the full sampling time with which the rounds that are owed (what one took with the effort `tried`, and how many)
/// fit into what is left. To be asked again after each round: what a point's sampling costs is known once it was tried, and a
/// round for everybody is worth more than longer ones for some.
pub(crate) fn adjust(full: &Effort, tried: &Effort, owed: &[(Duration, u32)], left: Duration) -> f64 {
    let total = |effort: &Effort| -> f64 {
        owed.iter().map(|(spent, rounds)| cost(*spent, tried, effort).as_secs_f64() * f64::from(*rounds)).sum()
    };
    sampling(full, total(&full.thinned(0.0)), total(full), left.as_secs_f64())
}

/// The share of the full sampling time that fits, if the thinnest costs `least` seconds and all of it `wanted`.
fn sampling(full: &Effort, least: f64, wanted: f64, left: f64) -> f64 {
    if wanted <= left {
        return 1.0;
    }
    let beyond = ((left - least) / (wanted - least).max(1e-9)).clamp(0.0, 1.0);
    // Between the least, which is not nothing, and all.
    let floor = full.thinned(0.0).length().as_secs_f64() / full.length().as_secs_f64().max(1e-9);
    floor + (1.0 - floor) * beyond
}

/// Loops that a round may sample one after another, each for the whole time: a control, a second measure. Some do and most do not, so
/// of longer sampling three are expected, and of shorter sampling one is: what was taken for too dear is left over in the end and
/// goes into more rounds, what was taken for too cheap costs everybody a round.
const LOOPS: [f64; 2] = [1.0, 3.0];

/// What a round that took so long with one effort takes with another: its sampling grows or shrinks, all else stays.
fn cost(spent: Duration, tried: &Effort, other: &Effort) -> Duration {
    let loops = LOOPS[usize::from(other.length() > tried.length())];
    let sampled = spent.min(tried.length().mul_f64(loops));
    let stretch = other.length().as_secs_f64() / tried.length().as_secs_f64().max(1e-9);
    (spent - sampled) + sampled.mul_f64(stretch)
}

impl Shares {
    /// What the budget cost in rounds, in words; nothing when it cost nothing. `name` names the point at an index.
    pub(crate) fn costs(&self, rounds: u32, spent: &[Duration], name: impl Fn(usize) -> String) -> Vec<String> {
        let mut costs = Vec::new();
        let most = self.more_rounds.iter().max().map_or(rounds, |more| more + 1);
        if most < rounds {
            costs.push(format!("{most} rounds instead of {rounds} to fit"));
        }
        let mut dear: Vec<usize> = (0..spent.len()).filter(|&i| self.more_rounds[i] + 1 < most).collect();
        dear.sort_by_key(|&i| std::cmp::Reverse(spent[i]));
        if !dear.is_empty() {
            let some: Vec<String> = dear
                .iter()
                .take(5)
                .map(|&i| {
                    format!("{} ({}, {:.0} ms each)", name(i), self.more_rounds[i] + 1, spent[i].as_secs_f64() * 1e3)
                })
                .collect();
            let rest = if dear.len() > 5 { format!(" and {} more", dear.len() - 5) } else { String::new() };
            costs.push(format!(
                "fewer than {most} rounds for what costs more than its share: {}{rest}",
                some.join(", ")
            ));
        }
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::Profile;

    const MS: Duration = Duration::from_millis(1);

    fn standard() -> Effort {
        Effort::of(Profile::Standard)
    }

    #[test]
    fn what_fits_is_given_in_full() {
        let shares = share_out(&standard(), &standard(), &[60 * MS; 10], 60_000 * MS);
        assert_eq!(shares.more_rounds, [8; 10]);
        assert_eq!(shares.effort.length(), standard().length());
        assert!(shares.costs(9, &[60 * MS; 10], |_| String::new()).is_empty());
    }

    #[test]
    fn one_dear_point_does_not_take_the_rounds_of_the_others() {
        let mut spent = vec![20 * MS; 100];
        spent[7] = 5_000 * MS;
        spent[9] = 400 * MS;
        let first = standard().thinned(0.0);
        let shares = share_out(&standard(), &first, &spent, 40_000 * MS);
        assert_eq!(shares.more_rounds[7], 0, "a round of 5 s is more than 3 % of 40 s");
        assert!((1..8).contains(&shares.more_rounds[9]), "some of 0.4 s: {}", shares.more_rounds[9]);
        assert_eq!(shares.more_rounds[0], 8);
        let said = shares.costs(9, &spent, |i| format!("p{i}"));
        assert!(said.iter().any(|s| s.contains("p7 (1, 5000 ms each), p9 (")), "{said:?}");
    }

    #[test]
    fn the_dear_have_fewer_rounds_before_the_others_sample_less() {
        // As a whole survey is: three quarters cost little, the rest have memory to fill.
        let first = standard().thinned(0.0);
        let spent: Vec<Duration> = (0..300).map(|i| if i % 4 == 0 { 80 * MS } else { 10 * MS }).collect();
        let shares = share_out(&standard(), &first, &spent, 55_000 * MS);
        assert_eq!((shares.more_rounds[0], shares.more_rounds[1]), (5, 8));
        assert!(shares.effort.length() > first.length(), "what that saves is sampled");
        // On a machine that is three times as slow the others still have an interval.
        let slow: Vec<Duration> = spent.iter().map(|s| *s * 3).collect();
        let shares = share_out(&standard(), &first, &slow, 55_000 * MS);
        assert!(shares.more_rounds[0] < 5 && shares.more_rounds[1] >= 5, "{:?}", &shares.more_rounds[..2]);
        // Where all fits, they keep theirs.
        let shares = share_out(&standard(), &first, &spent, 600_000 * MS);
        assert_eq!((shares.more_rounds[0], shares.more_rounds[1]), (8, 8));
    }

    #[test]
    fn what_costs_more_than_was_foreseen_is_sampled_for_a_shorter_time() {
        let full = standard();
        // Three loops each: a round that samples three times as long as the model says.
        let real = |effort: &Effort| 5 * MS + 3 * effort.length();
        let mut tried = full.thinned(0.0);
        let mut left = 55_000 * MS;
        let mut rounds = 8;
        let mut effort = share_out(&full, &tried, &[real(&tried); 200], left).effort;
        while rounds > 0 {
            tried = effort;
            left = left.saturating_sub(real(&tried) * 200);
            rounds -= 1;
            effort = full.thinned(adjust(&full, &tried, &[(real(&tried), rounds); 200], left));
        }
        assert!(left > Duration::ZERO, "all rounds fit");
        assert_eq!(adjust(&full, &full, &[(50 * MS, 2)], 60_000 * MS), 1.0);
        assert!(adjust(&full, &full, &[], Duration::ZERO) <= 1.0);
    }

    #[test]
    fn the_total_is_within_what_is_left() {
        for (points, ms, left) in
            [(1, 50, 100), (127, 55, 50_000), (350, 12, 40_000), (350, 60, 40_000), (2000, 30, 9_000)]
        {
            let first = first(standard(), points, left * MS);
            let spent = vec![first.length() + 4 * MS + ms * MS / 10; points];
            let shares = share_out(&standard(), &first, &spent, left * MS);
            let round = |s: &Duration| cost(*s, &first, &shares.effort);
            let total: Duration = spent.iter().zip(&shares.more_rounds).map(|(s, n)| round(s) * *n).sum();
            assert!(total <= left * MS + MS, "{points} points of {ms} ms: {total:?} of {left} ms");
            // And no less than needed is given: one round more for all would not fit, or all have all.
            let more: Duration = spent.iter().zip(&shares.more_rounds).map(|(s, n)| round(s) * (n + 1)).sum();
            assert!(shares.more_rounds[0] == 8 || more > left * MS, "{points} points of {ms} ms");
        }
    }

    #[test]
    fn few_points_have_equal_parts() {
        let shares = share_out(&standard(), &standard(), &[3_000 * MS, 3_000 * MS], 60_000 * MS);
        assert_eq!(shares.more_rounds, [8, 8]);
        let shares = share_out(&standard(), &standard(), &[3_000 * MS, 3_000 * MS], 12_000 * MS);
        assert_eq!(shares.more_rounds, [2, 2]);
    }

    #[test]
    fn nothing_left_is_nothing_more() {
        let shares = share_out(&standard(), &standard(), &[50 * MS; 3], Duration::ZERO);
        assert_eq!(shares.more_rounds, [0; 3]);
        assert!(share_out(&standard(), &standard(), &[], 5 * MS).more_rounds.is_empty());
    }
}
