//! Who gets how much of the budget: after the first round it is known what each point costs.
//!
//! Pure arithmetic; reads no clock. Three steps, each taken only when the one before did not suffice. No point may take more
//! than a share, so that one that costs seconds (a shell, a compile) does not take the rounds of hundreds that cost
//! milliseconds. Then all sample for a shorter time, in the same proportion, down to that of a quick run. Then all have fewer
//! rounds.

use crate::survey::Effort;
use std::time::Duration;

/// The largest part of what is left after the first round that one point of many may take; of few points each may have an
/// equal part. 3 % of a minute are nine rounds of 0.2 s.
const LARGEST: f64 = 0.03;

/// What was decided.
pub(crate) struct Shares {
    /// The effort of the rounds to come.
    pub(crate) effort: Effort,
    /// The share of the profile's sampling time that it has.
    sampling: f64,
    /// How many more rounds each point has.
    pub(crate) more_rounds: Vec<u32>,
}

/// The effort of the first round: what an equal part of the budget for each round of each point leaves for sampling.
pub(crate) fn first(full: Effort, points: usize, budget: Duration) -> Effort {
    let rounds = points.max(1) as f64 * f64::from(full.rounds.max(1));
    full.thinned(budget.as_secs_f64() / rounds / full.length().as_secs_f64().max(1e-9))
}

/// Shares out what is left after the first round, which was done with the effort `tried` and took each point so long.
pub(crate) fn share_out(full: &Effort, tried: &Effort, spent: &[Duration], left: Duration) -> Shares {
    let most = full.rounds.saturating_sub(1);
    let left = left.as_secs_f64();
    let cap = (left * LARGEST).max(left / spent.len().max(1) as f64);
    let cost = |spent: &Duration, effort: &Effort| cost(*spent, tried, effort).as_secs_f64();
    let thin = full.thinned(0.0);
    let own: Vec<u32> = spent.iter().map(|s| most.min((cap / cost(s, &thin).max(1e-9)) as u32)).collect();
    let total = |effort: &Effort, rounds: u32| -> f64 {
        spent.iter().zip(&own).map(|(s, own)| cost(s, effort) * f64::from(*(own.min(&rounds)))).sum()
    };
    let rounds = (0..=most).rev().find(|&n| total(&thin, n) <= left).unwrap_or(0);
    let (least, wanted) = (total(&thin, rounds), total(full, rounds));
    let sampling = if wanted <= left { 1.0 } else { ((left - least) / (wanted - least).max(1e-9)).clamp(0.0, 1.0) };
    Shares { effort: full.thinned(sampling), sampling, more_rounds: own.iter().map(|own| *own.min(&rounds)).collect() }
}

/// What a round that took so long with one effort takes with another: its sampling grows or shrinks, all else stays.
fn cost(spent: Duration, tried: &Effort, other: &Effort) -> Duration {
    let sampled = spent.min(tried.length());
    let stretch = other.length().as_secs_f64() / tried.length().as_secs_f64().max(1e-9);
    (spent - sampled) + sampled.mul_f64(stretch)
}

impl Shares {
    /// What the budget cost in precision, in words; nothing when it cost nothing. `name` names the point at an index.
    pub(crate) fn costs(&self, rounds: u32, spent: &[Duration], name: impl Fn(usize) -> String) -> Vec<String> {
        let mut costs = Vec::new();
        if self.sampling < 1.0 {
            costs.push(format!("sampling cut to {:.0} % to fit", self.sampling * 100.0));
        }
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
