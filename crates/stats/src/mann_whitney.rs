//! Whether the values of two independent samples differ, and by which ratio, from their ranks
//! alone.
//!
//! For runs that were made at different times. Rounds that were measured in pairs are compared by
//! `paired.rs`, which sees smaller differences. Nothing here knows how two runs differ when nothing
//! has changed: see [`RunNoise`](crate::RunNoise).

use crate::interval::Interval;
use crate::normal::upper_tail;
use crate::order::sorted;

/// Up to this many values on each side the distribution is exact, beyond it normal. A point has at
/// most 63 rounds ([`checkpoints`](crate::checkpoints)). Where the two meet, the 95 % interval is
/// the same, that of 99 % three ranks of 4,096 wider, and p below 5 % differs by less than 0.0004
/// (docs/methods/statistics.md#shift-between-two-runs).
const EXACT_UP_TO: usize = 64;

/// The two-sided p value of the test of Mann and Whitney ("On a test of whether one of two random
/// variables is stochastically larger than the other", Annals of Mathematical Statistics 1947): the
/// chance of values at least this far apart if both samples come from one distribution.
///
/// It is exact with ties, too: the distribution is that over all ways to deal these values, the
/// tied ones included, to the two sides, and p is twice the smaller tail. From 65 values on a side
/// it is the normal approximation with corrections for continuity and ties. `None` if a side is
/// empty or a value is not finite.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() || !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    let twice_u = a.iter().flat_map(|a| b.iter().map(move |b| usize::from(a < b) + usize::from(a <= b))).sum();
    let ties: Vec<usize> = sorted(&[a, b].concat()).chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    let distribution = Distribution::of(a.len(), b.len(), &ties);
    let tail = distribution.at_most(twice_u).min(distribution.at_least(twice_u));
    Some((2.0 * tail).min(1.0))
}

/// The ratio by which `b` exceeds `a`: the median of the ratios of all pairs, one value from each
/// side (Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
/// Statistics 1963, on logarithms). Takes time and memory for every pair. `None` if a side is empty
/// or a value is not positive and finite.
#[must_use]
pub fn shift_ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(Ratios::of(a, b)?.middle())
}

/// The interval of [`shift_ratio`] that covers with at least `confidence`, for any distribution, as
/// long as that of `b` is that of `a` times a ratio: from the k-th smallest to the k-th greatest
/// ratio of two values, with the largest k that the distribution of [`mann_whitney`] without ties
/// allows (Moses 1953, in Walker and Lev, "Statistical Inference"). Ties make it cover more.
///
/// `None` where even the smallest to the greatest ratio covers less (3 and 3 values at 95 %), for
/// values that are not positive and finite, and for a confidence outside (0, 1).
#[must_use]
pub fn shift_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    Ratios::of(a, b)?.interval(confidence)
}

/// The ratios of all pairs of two samples, sorted.
pub(crate) struct Ratios {
    sorted: Vec<f64>,
    sides: (usize, usize),
}

impl Ratios {
    pub(crate) fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        // Quotients, and not differences of logarithms, so that equal values have a ratio of
        // exactly 1 and intervals end on it.
        let quotients: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b / a)).collect();
        let usable = |value: &f64| *value > 0.0 && value.is_finite();
        if quotients.is_empty() || !a.iter().chain(b).chain(&quotients).all(usable) {
            return None;
        }
        Some(Self { sorted: sorted(&quotients), sides: (a.len(), b.len()) })
    }

    pub(crate) fn middle(&self) -> f64 {
        middle_ratio(&self.sorted)
    }

    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        let rank = self.rank(confidence)?;
        Some(Interval { low: self.sorted[rank - 1], high: self.sorted[self.sorted.len() - rank] })
    }

    /// The largest k with which the k-th smallest to the k-th greatest covers with that confidence.
    fn rank(&self, confidence: f64) -> Option<usize> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        let distribution = Distribution::of(self.sides.0, self.sides.1, &vec![1; self.sides.0 + self.sides.1]);
        // The true ratio lies below the k-th smallest when fewer than k pairs have a < b.
        let covers = |rank: &usize| 1.0 - 2.0 * distribution.at_most(2 * (rank - 1)) >= confidence;
        (1..=self.sorted.len().div_ceil(2)).take_while(covers).last()
    }
}

/// The median of sorted ratios; between two of them the geometric mean.
pub(crate) fn middle_ratio(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if low == high { low } else { low.sqrt() * high.sqrt() }
}

/// The distribution of twice U, the number of pairs in which the value of the first sample is the
/// smaller one, ties counting one half. Twice, so that it is a whole number.
enum Distribution {
    /// P(at most u) and P(at least u), each added up from its own end.
    Exact {
        at_most: Vec<f64>,
        at_least: Vec<f64>,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl Distribution {
    /// For samples of `n` and `m` values that come in groups of equal ones, the smallest first.
    fn of(n: usize, m: usize, ties: &[usize]) -> Self {
        if n.max(m) > EXACT_UP_TO {
            Self::normal(n as f64, m as f64, ties)
        } else if ties.len() == n + m {
            Self::untied(n, m)
        } else {
            Self::tied(n, m, ties)
        }
    }

    /// The number of ways for each U is a coefficient of the Gaussian binomial n + m over n, the
    /// product of (1 - q^(m + i)) / (1 - q^i) for i from 1 to n (Mann and Whitney 1947 in another
    /// form). 128 over 64 fits into 128 bits, and what overflows in between comes back.
    fn untied(n: usize, m: usize) -> Self {
        let mut ways = vec![0_u128; n * m + 1];
        ways[0] = 1;
        for factor in 1..=n {
            for u in (m + factor..ways.len()).rev() {
                ways[u] = ways[u].wrapping_sub(ways[u - m - factor]);
            }
            for u in factor..ways.len() {
                ways[u] = ways[u].wrapping_add(ways[u - factor]);
            }
        }
        // Twice U is even.
        Self::from_ways(&ways.iter().flat_map(|ways| [*ways as f64, 0.0]).collect::<Vec<_>>()[..2 * n * m + 1])
    }

    /// Counts the ways to deal the values to the two sides, group by group: `ways[k][u]` are those
    /// that give k of the values so far to the first sample, with twice U = u. Of a group of t, j
    /// can go to the first sample in t over j ways; each of the t - j others then exceeds k values
    /// and equals j (after Streitberg and Röhmel, "Exact distributions for permutation and rank
    /// tests", Statistical Software Newsletter 1986).
    fn tied(n: usize, m: usize, ties: &[usize]) -> Self {
        let mut ways: Vec<Vec<f64>> = vec![Vec::new(); n + 1];
        ways[0].push(1.0);
        let mut dealt = 0;
        for &group in ties {
            dealt += group;
            // Downward, so that the rows that a row is made from are still those before this group.
            for first in (dealt.saturating_sub(m)..=n.min(dealt)).rev() {
                let mut row = vec![0.0; 2 * first * (dealt - first) + 1];
                let mut chosen = 1.0;
                for taken in 0..=group.min(first) {
                    let before = first - taken;
                    let shift = (group - taken) * (2 * before + taken);
                    for (sum, count) in row.iter_mut().skip(shift).zip(&ways[before]) {
                        *sum += chosen * count;
                    }
                    chosen *= (group - taken) as f64 / (taken + 1) as f64;
                }
                ways[first] = row;
            }
            // With so few for the first sample the second one would get too many.
            ways[..dealt.saturating_sub(m)].fill(Vec::new());
        }
        Self::from_ways(&ways[n])
    }

    fn from_ways(ways: &[f64]) -> Self {
        let total = ways.iter().sum::<f64>();
        let cumulative = |sum: &mut f64, count: &f64| {
            *sum += count / total;
            Some(*sum)
        };
        let at_most = ways.iter().scan(0.0, cumulative).collect();
        let mut at_least: Vec<f64> = ways.iter().rev().scan(0.0, cumulative).collect();
        at_least.reverse();
        Self::Exact { at_most, at_least }
    }

    fn normal(n: f64, m: f64, ties: &[usize]) -> Self {
        let all = n + m;
        let tied: f64 = ties.iter().map(|&group| group as f64).map(|group| group.powi(3) - group).sum();
        let variance = n * m / 3.0 * (all + 1.0 - tied / (all * (all - 1.0)));
        Self::Normal { mean: n * m, deviation: variance.max(0.0).sqrt() }
    }

    fn at_most(&self, twice_u: usize) -> f64 {
        match self {
            Self::Exact { at_most, .. } => at_most[twice_u],
            // The next possible value is 2 away without ties; the correction is half of that.
            Self::Normal { mean, deviation } => upper_tail((mean - twice_u as f64 - 1.0) / deviation),
        }
    }

    fn at_least(&self, twice_u: usize) -> f64 {
        match self {
            Self::Exact { at_least, .. } => at_least[twice_u],
            Self::Normal { mean, deviation } => upper_tail((twice_u as f64 - mean - 1.0) / deviation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// The p value by dealing the values to the sides in every way.
    fn enumerated(a: &[f64], b: &[f64]) -> f64 {
        let all = [a, b].concat();
        let twice_u = |mask: u32| -> i32 {
            let first = |i: &usize| mask >> i & 1 == 1;
            let pairs =
                (0..all.len()).filter(first).flat_map(|i| (0..all.len()).filter(|j| !first(j)).map(move |j| (i, j)));
            pairs.map(|(i, j)| i32::from(all[i] < all[j]) + i32::from(all[i] <= all[j])).sum()
        };
        let seen = twice_u((1 << a.len()) - 1);
        let ways: Vec<i32> =
            (0..1_u32 << all.len()).filter(|mask| mask.count_ones() as usize == a.len()).map(twice_u).collect();
        let share = |tail: &dyn Fn(i32) -> bool| ways.iter().filter(|u| tail(**u)).count() as f64 / ways.len() as f64;
        (2.0 * share(&|u| u <= seen).min(share(&|u| u >= seen))).min(1.0)
    }

    #[test]
    fn p_is_that_of_all_ways_to_deal_the_values() {
        let mut rng = Rng::new(1);
        for (n, m) in [(1, 1), (1, 6), (3, 3), (4, 6), (6, 4), (5, 5), (2, 9)] {
            for kinds in [2, 3, 5, 1000] {
                let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.below(kinds) as f64).collect() };
                let (a, b) = (draw(n), draw(m));
                let found = mann_whitney(&a, &b).expect("values");
                assert!((found - enumerated(&a, &b)).abs() < 1e-12, "{a:?} {b:?}: {found}");
            }
        }
    }

    /// Two ways to count must agree.
    #[test]
    fn values_without_ties_are_the_case_of_groups_of_one() {
        for (n, m) in [(1, 1), (3, 5), (7, 7), (64, 10), (64, 64)] {
            let (quick, general) = (Distribution::untied(n, m), Distribution::tied(n, m, &vec![1; n + m]));
            for twice_u in 0..=2 * n * m {
                let (quick, general) = (quick.at_most(twice_u), general.at_most(twice_u));
                assert!((quick - general).abs() <= 1e-12 * general, "{n}, {m}, {twice_u}: {quick}, not {general}");
            }
        }
    }

    /// The permeability of membranes in Hollander and Wolfe, "Nonparametric statistical methods":
    /// one-sided 0.1272.
    #[test]
    fn a_textbook_example() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        let p = mann_whitney(&term, &early).expect("values");
        assert!((p - 0.2544).abs() < 5e-5, "{p}");
    }

    /// One more than the critical values of U in every table.
    #[test]
    fn ranks_of_intervals() {
        let rank =
            |n: usize, m: usize, confidence: f64| Ratios { sorted: vec![1.0; n * m], sides: (n, m) }.rank(confidence);
        let table = [(4, 4, 1), (5, 5, 3), (6, 9, 11), (8, 8, 14), (10, 10, 24), (20, 20, 128), (3, 25, 11)];
        for (n, m, expected) in table {
            assert_eq!((rank(n, m, 0.95), rank(m, n, 0.95)), (Some(expected), Some(expected)), "{n} and {m}");
        }
        assert_eq!((rank(10, 10, 0.99), rank(20, 20, 0.99)), (Some(17), Some(106)));
        assert_eq!((rank(3, 3, 0.95), rank(2, 7, 0.95), rank(4, 4, 0.99)), (None, None, None));
        for confidence in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
            assert_eq!(rank(20, 20, confidence), None, "{confidence}");
        }
    }

    #[test]
    fn the_ratio_is_the_middle_of_those_of_all_pairs_and_the_interval_ends_on_two_of_them() {
        let (a, b) = ([1.0, 2.0, 4.0, 8.0], [2.0, 4.0, 8.0, 16.0]);
        assert_eq!(shift_ratio(&a, &b), Some(2.0));
        assert_eq!(shift_interval(&a, &b, 0.95), Some(Interval { low: 0.25, high: 16.0 }));
        assert_eq!(shift_interval(&b, &a, 0.95), Some(Interval { low: 1.0 / 16.0, high: 4.0 }));
        // Between two ratios it is their geometric mean, so that exchanged sides give the inverse.
        for (a, b, expected) in [(&[1.0][..], &[2.0, 8.0][..], 4.0), (&[2.0, 8.0], &[1.0], 0.25)] {
            assert!(shift_ratio(a, b).is_some_and(|ratio| (ratio / expected - 1.0).abs() < 1e-15), "{expected}");
        }
    }

    #[test]
    fn what_has_no_ratio_has_no_answer() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324] {
            assert_eq!(shift_ratio(&[wrong, 1.0], &[1.0, 1e300]), None, "{wrong}");
            assert_eq!(shift_interval(&[1.0, 1e300], &[wrong, 1.0], 0.5), None, "{wrong}");
        }
        assert_eq!((shift_ratio(&[], &[1.0]), mann_whitney(&[1.0], &[]), mann_whitney(&[], &[])), (None, None, None));
        assert_eq!(mann_whitney(&[1.0, f64::NAN], &[1.0]), None);
        // Ranks need no ratio, and values that are all equal no spread.
        assert_eq!(mann_whitney(&[0.0, -1.0], &[0.0, -1.0]), Some(1.0));
        assert_eq!(mann_whitney(&[1.0; 70], &[1.0; 5]), Some(1.0));
    }

    /// The figures in the document.
    #[test]
    fn exact_and_normal_agree_where_they_meet() {
        for (group, everywhere, below) in [(1, 0.0007, 0.0002), (8, 0.007, 0.0012)] {
            let ties = vec![group; 128 / group];
            let (exact, normal) = (Distribution::of(64, 64, &ties), Distribution::normal(64.0, 64.0, &ties));
            let pairs = (0..=64 * 64).map(|u| (exact.at_most(2 * u), normal.at_most(2 * u)));
            let worst = |limit: f64| {
                let apart =
                    pairs.clone().filter(|(exact, _)| *exact <= limit).map(|(exact, normal)| (exact - normal).abs());
                apart.fold(0.0, f64::max)
            };
            println!("groups of {group}: apart by {:.6}, {:.6} below 2.5 %", worst(1.0), worst(0.025));
            assert!(worst(1.0) < everywhere && worst(0.025) < below, "{group}");
        }
        for confidence in [0.95, 0.99] {
            let rank = |distribution: Distribution| {
                (1..2048).take_while(|rank| 1.0 - 2.0 * distribution.at_most(2 * (rank - 1)) >= confidence).last()
            };
            let ranks = [Distribution::untied(64, 64), Distribution::normal(64.0, 64.0, &[1; 128])].map(rank);
            let wider = ranks[0].zip(ranks[1]).and_then(|(exact, normal)| exact.checked_sub(normal));
            assert!(wider.is_some_and(|ranks| ranks <= 3), "{confidence}: {ranks:?}");
        }
    }
}
