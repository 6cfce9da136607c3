//! Whether two programs differ, from rounds measured in pairs, next to each other on one host: what
//! a pair has in common cancels in its ratio.
//!
//! The ratios are values like any other, with a [`headline`](crate::headline): their median and its
//! exact interval. Here are the ratios themselves and the tests of them. Two runs that were made at
//! different times have no pairs: see `mann_whitney.rs`.

use crate::binomial;
use crate::normal::{two_sided_quantile, upper_tail};
use crate::order::{ROUNDING, sorted};
use crate::student::power_quantile;

/// Up to this many pairs the distribution of the signed ranks is exact, beyond it normal
/// (docs/methods/statistics.md#ratio-of-pairs).
const EXACT_UP_TO: usize = 64;

/// The ratio b/a of each pair. `None` without pairs, if the sides differ in length, or if a value
/// or a ratio is not positive and finite.
#[must_use]
pub fn pair_ratios(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
    let usable = a.iter().chain(b).chain(&ratios).all(|value| *value > 0.0 && value.is_finite());
    (usable && a.len() == b.len() && !a.is_empty()).then_some(ratios)
}

/// The two-sided p value of the sign test (Arbuthnott 1710): the chance of a split this uneven into
/// ratios above and below 1 if both are equally likely. Ratios of 1 decide nothing and are left
/// out; with no others p is 1. It assumes nothing of the distribution, and is at least 2^(1-n).
/// `None` without ratios, or if one is not positive and finite.
#[must_use]
pub fn sign_test(ratios: &[f64]) -> Option<f64> {
    let logs = logs_of(ratios, 1.0)?;
    let above = logs.iter().filter(|log| **log > 0.0).count();
    let below = logs.iter().filter(|log| **log < 0.0).count();
    Some((2.0 * binomial::cumulative(above + below)[above.min(below)]).min(1.0))
}

/// The one-sided p value of the signed-rank test of Wilcoxon ("Individual comparisons by ranking
/// methods", Biometrics Bulletin 1945): the chance of ratios this far above `bound` if their median
/// is `bound` or less. A small one says that `b` exceeds `a` by more than `bound`; for the opposite
/// question exchange the sides.
///
/// It assumes that the logarithms lie symmetrically, as they do where `b` is `a` times a ratio. It
/// is exact up to 64 pairs, ties included (they share their ranks); from 65 on it is the normal
/// approximation with corrections for continuity and ties. Ratios equal to `bound` take the lowest
/// ranks, which then count for neither side (Pratt, "Remarks on zeros and ties in the Wilcoxon
/// signed rank procedures", JASA 1959): leaving them out before ranking can make p fall where a
/// ratio falls. `None` without ratios, or if one of them or `bound` is not positive and finite.
#[must_use]
pub fn signed_rank(ratios: &[f64], bound: f64) -> Option<f64> {
    let logs = logs_of(ratios, bound)?;
    let ranked = twice_ranks(&logs);
    let above: usize = ranked.iter().filter(|(log, _)| *log > 0.0).map(|(_, rank)| rank).sum();
    let ranks: Vec<usize> = ranked.into_iter().filter(|(log, _)| *log != 0.0).map(|(_, rank)| rank).collect();
    Some(RankSums::of(&ranks).at_least(above))
}

/// The ratio by which `b` would have to exceed `a` so that [`signed_rank`], for this number of
/// pairs with this spread, gives a p below `level` with a chance of 80 %.
///
/// At this spread the test finds a ratio that moves the interval of the same level (from the k-th
/// smallest to the k-th greatest mean of two logarithms, Tukey 1949) beyond `bound`. In half of all
/// cases chance undoes that, so half of the width is increased by the ratio of the normal quantiles
/// of the power and of the level (docs/methods/statistics.md#detectable-effect). `None` where this
/// number of pairs can never give such a p, and in the cases of [`signed_rank`].
#[must_use]
pub fn detectable_pair_ratio(ratios: &[f64], bound: f64, level: f64) -> Option<f64> {
    let logs = logs_of(ratios, 1.0)?;
    let means = sorted(&walsh_averages(&logs));
    let sums = RankSums::of(&(1..=logs.len()).map(|rank| 2 * rank).collect::<Vec<_>>());
    // With that many of the means below the bound p is still small enough.
    let small = |below: &usize| sums.at_least(2 * (means.len() - below)) < level;
    let below = (0..means.len().div_ceil(2)).take_while(small).last()?;
    let half_width = (means[means.len() - 1 - below] - means[below]) / 2.0;
    let widening = 1.0 + power_quantile() / two_sided_quantile(2.0 * level);
    (bound > 0.0 && bound.is_finite()).then(|| bound * (half_width * widening).exp())
}

/// The mean of every two values, each with itself included.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let with_later = |first: usize| values[first..].iter().map(move |other| f64::midpoint(values[first], *other));
    (0..values.len()).flat_map(with_later).collect()
}

/// The logarithms of the ratios to `bound`; 0 where they are equal but for rounding.
fn logs_of(ratios: &[f64], bound: f64) -> Option<Vec<f64>> {
    let logs: Vec<f64> = ratios.iter().map(|ratio| (ratio / bound).ln()).collect();
    let usable = !logs.is_empty() && bound > 0.0 && logs.iter().all(|log| log.is_finite());
    usable.then(|| logs.into_iter().map(|log| if log.abs() < ROUNDING { 0.0 } else { log }).collect())
}

/// Each logarithm with twice its rank by size, from 2 on; equal ones share the mean of their ranks.
fn twice_ranks(logs: &[f64]) -> Vec<(f64, usize)> {
    let mut by_size = logs.to_vec();
    by_size.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut before = 0;
    let mut ranked = Vec::with_capacity(logs.len());
    for equal in by_size.chunk_by(|a, b| b.abs() - a.abs() < ROUNDING) {
        ranked.extend(equal.iter().map(|log| (*log, 2 * before + equal.len() + 1)));
        before += equal.len();
    }
    ranked
}

/// The distribution of the sum of twice those ranks whose coin shows heads.
enum RankSums {
    /// P(at least s).
    Exact(Vec<f64>),
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl RankSums {
    fn of(ranks: &[usize]) -> Self {
        if ranks.len() > EXACT_UP_TO { Self::normal(ranks) } else { Self::exact(ranks) }
    }

    fn exact(ranks: &[usize]) -> Self {
        let mut chance = vec![0.0; ranks.iter().sum::<usize>() + 1];
        chance[0] = 1.0;
        for &rank in ranks {
            for sum in (0..chance.len()).rev() {
                let with_it = if sum < rank { 0.0 } else { chance[sum - rank] };
                chance[sum] = f64::midpoint(chance[sum], with_it);
            }
        }
        for sum in (1..chance.len()).rev() {
            chance[sum - 1] += chance[sum];
        }
        Self::Exact(chance)
    }

    fn normal(ranks: &[usize]) -> Self {
        let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
        let deviation = ranks.iter().map(|&rank| (rank as f64 / 2.0).powi(2)).sum::<f64>().sqrt();
        Self::Normal { mean, deviation }
    }

    fn at_least(&self, sum: usize) -> f64 {
        match self {
            Self::Exact(at_least) => at_least[sum].min(1.0),
            // Without ties the sums are 2 apart; the correction is half of that.
            Self::Normal { mean, deviation } => upper_tail((sum as f64 - mean - 1.0) / deviation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// The p value over all ways to choose the signs of the logarithms that are not 0.
    fn enumerated(logs: &[f64]) -> f64 {
        let rank = |log: &f64| -> usize {
            let (below, equal) = logs.iter().fold((0, 0), |(below, equal), other| {
                (below + usize::from(other.abs() < log.abs()), equal + usize::from(other.abs() == log.abs()))
            });
            2 * below + equal + 1
        };
        let ranks: Vec<usize> = logs.iter().filter(|log| **log != 0.0).map(rank).collect();
        let seen: usize = logs.iter().filter(|log| **log > 0.0).map(rank).sum();
        let sum = |mask: u32| -> usize { (0..ranks.len()).filter(|i| mask >> i & 1 == 1).map(|i| ranks[i]).sum() };
        let ways = 1_u32 << ranks.len();
        (0..ways).filter(|mask| sum(*mask) >= seen).count() as f64 / f64::from(ways)
    }

    #[test]
    fn p_is_that_of_all_choices_of_signs() {
        let mut rng = Rng::new(2);
        for n in 1..11 {
            for kinds in [2, 5, 1000] {
                let logs: Vec<f64> =
                    (0..n).map(|_| (rng.below(2 * kinds + 1) as f64 - kinds as f64) / 1000.0).collect();
                let ratios: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
                let found = signed_rank(&ratios, 1.0).expect("ratios");
                assert!((found - enumerated(&logs)).abs() < 1e-12, "{logs:?}: {found}");
            }
        }
    }

    /// The changes of the depression factor in Hollander and Wolfe, "Nonparametric statistical
    /// methods": ranks of 40 above, p of 0.0195.
    #[test]
    fn a_textbook_example() {
        let changes = [0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010_f64];
        let p = signed_rank(&changes.map(f64::exp), 1.0).expect("ratios");
        assert!((p - 10.0 / 512.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn signs_by_hand() {
        let ratios = [1.1, 1.2, 1.3, 1.1, 1.01, 1.2, 1.1, 1.5, 1.1, 0.9, 1.0, 1.0];
        assert_eq!(sign_test(&ratios), Some(22.0 / 1024.0));
        assert_eq!(
            (sign_test(&[1.0, 1.0]), sign_test(&[2.0]), sign_test(&[2.0, 0.5])),
            (Some(1.0), Some(1.0), Some(1.0))
        );
    }

    /// 101/100 is a ratio of 1.01 and not a little more, and 100/101 lies as far below 1.
    #[test]
    fn rounding_decides_nothing() {
        let (a, b) = ([100.0, 300.0, 700.0, 1e9], [101.0, 303.0, 707.0, 1.01e9]);
        assert_eq!(signed_rank(&pair_ratios(&a, &b).expect("pairs"), 1.01), Some(1.0));
        let mixed = pair_ratios(&[100.0, 101.0, 50.0], &[101.0, 100.0, 50.0]).expect("pairs");
        assert_eq!((signed_rank(&mixed, 1.0), sign_test(&mixed)), (Some(0.75), Some(1.0)));
    }

    /// A smaller ratio is never stronger evidence of a rise, not even where it reaches the bound.
    #[test]
    fn a_smaller_ratio_is_no_more_evidence() {
        let p = |least: f64| signed_rank(&[least, 1.02, 1.03, 1.04, 1.05, 0.985, 1.06], 1.0).expect("ratios");
        let found: Vec<f64> = [1.01, 1.005, 1.0, 0.995, 0.99].map(p).to_vec();
        assert!(found.is_sorted(), "{found:?}");
    }

    #[test]
    fn a_bound_is_what_b_has_to_exceed() {
        let ratios = [1.02, 1.03, 1.025, 1.04, 1.021, 1.035];
        let p = [1.0, 1.01, 1.03, 1.1].map(|bound| signed_rank(&ratios, bound).expect("ratios"));
        assert_eq!((p[0], p[1], p[3]), (1.0 / 64.0, 1.0 / 64.0, 1.0));
        assert!(p[2] > 0.5, "{p:?}");
    }

    #[test]
    fn invalid_pairs_have_no_ratios() {
        assert_eq!(pair_ratios(&[2.0, 4.0], &[4.0, 2.0]), Some(vec![2.0, 0.5]));
        for (a, b) in
            [(&[][..], &[][..]), (&[1.0, 2.0], &[1.0]), (&[0.0], &[1.0]), (&[-1.0], &[-1.0]), (&[1.0], &[f64::NAN])]
        {
            assert_eq!(pair_ratios(a, b), None, "{a:?} {b:?}");
        }
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!((signed_rank(&[1.1; 9], wrong), sign_test(&[1.0, wrong])), (None, None), "{wrong}");
            assert_eq!(detectable_pair_ratio(&[1.1; 9], wrong, 0.05), None, "{wrong}");
        }
        assert_eq!((signed_rank(&[], 1.0), sign_test(&[])), (None, None));
    }

    /// Four pairs give 1/16 at least, eleven 1/2048.
    #[test]
    fn too_few_pairs_find_nothing() {
        let spread =
            |n: usize| -> Vec<f64> { (0..n).map(|i| (0.01 * (i as f64 - (n - 1) as f64 / 2.0)).exp()).collect() };
        let detectable = |n: usize, level: f64| detectable_pair_ratio(&spread(n), 1.01, level);
        assert_eq!((detectable(4, 0.05), detectable(11, 0.0004)), (None, None));
        // At the smallest p there is, the interval is from the smallest to the greatest ratio.
        let found = detectable(5, 0.05).expect("five pairs");
        let expected = 1.01 * (0.02_f64 * (1.0 + 0.841_621 / 1.644_854)).exp();
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        assert!(detectable(11, 0.001) > detectable(11, 0.01) && detectable(20, 0.01) > detectable(11, 0.01));
    }

    /// The figures in the document.
    #[test]
    fn exact_and_normal_agree_where_they_meet() {
        let ranks: Vec<usize> = (1..=64).map(|rank| 2 * rank).collect();
        let (exact, normal) = (RankSums::exact(&ranks), RankSums::normal(&ranks));
        let pairs = (0..=64 * 65).step_by(2).map(|sum| (exact.at_least(sum), normal.at_least(sum)));
        let worst = |limit: f64| {
            let apart =
                pairs.clone().filter(|(exact, _)| *exact <= limit).map(|(exact, normal)| (exact - normal).abs());
            apart.fold(0.0, f64::max)
        };
        println!("apart by {:.6}, {:.6} below 5 %", worst(1.0), worst(0.05));
        assert!(worst(1.0) < 0.0014 && worst(0.05) < 0.0005);
    }
}
