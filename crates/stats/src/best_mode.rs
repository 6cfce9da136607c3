//! The best of several modes of a rate, and the valley below it.
//!
//! Whatever has a rate that only others can lower, such as a core that another hardware thread
//! shares, has a narrow mode at its best, and anything below. [`best_mode`] separates the two.
//! Without a second mode it gives no boundary, so nothing is called slow on a machine that never
//! was. For the shape of samples of unknown kind see [`crate::modality`].

/// Bins in a factor of e: each is 1 % wide.
const BINS: f64 = 100.0;
/// Fewer values than this have no mode.
const FEWEST: u64 = 100;
/// Counts are smoothed over this many bins on each side: a cycle counter that steps by 1.5 % of
/// what is timed leaves every other bin empty.
const SMOOTH: i16 = 3;
/// The least share of the values within `SMOOTH` bins of the best mode. Rarer values at the top
/// were disturbed the other way, for example by an interrupted chain.
const BEST_SHARE: f64 = 0.03;
/// Slow values are at least this share of all, and at least [`FEWEST_BELOW`]; fewer are interrupts.
const SHARE_BELOW: f64 = 0.01;
/// See [`SHARE_BELOW`].
const FEWEST_BELOW: u64 = 10;
/// The density of the valley is at most this share of the highest density below it...
const VALLEY: f64 = 0.5;
/// ...and at most this share of that of the best mode.
const OF_BEST: f64 = 0.1;
/// The least distance of the valley from the best mode, in bins: a clock that changes by a percent
/// between two loops is no second mode.
const APART: i16 = 3;

/// The bin of a rate: 1 % of it is a bin. Rates that are no positive number have none.
#[must_use]
pub fn log_bin(rate: f64) -> Option<i16> {
    (rate > 0.0 && rate.is_finite()).then(|| (rate.ln() * BINS).floor() as i16)
}

/// The rate in the middle of a bin.
#[must_use]
pub fn bin_rate(bin: i16) -> f64 {
    ((f64::from(bin) + 0.5) / BINS).exp()
}

/// The best mode of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestMode {
    /// Its densest place.
    pub center: f64,
    /// The bottom of the valley below it; `None` where there is no second mode.
    pub ends_at: Option<f64>,
}

/// The best mode of these counts of rates by [`log_bin`], sorted; `None` where they are too few.
#[must_use]
pub fn best_mode(counts: &[(i16, u32)]) -> Option<BestMode> {
    let all: u64 = counts.iter().map(|(_, n)| u64::from(*n)).sum();
    if all < FEWEST {
        return None;
    }
    let (first, last) = (counts.first()?.0, counts.last()?.0);
    let count = |bin: i16| match counts.binary_search_by_key(&bin, |(bin, _)| *bin) {
        Ok(at) => f64::from(counts[at].1),
        Err(_) => 0.0,
    };
    // Triangular, so that the densest place is that of the values and not of the window.
    let density = |bin: i16| -> f64 {
        let near = (-SMOOTH..=SMOOTH).map(|by| (f64::from(SMOOTH + 1 - by.abs()), count(bin.saturating_add(by))));
        near.map(|(weight, n)| weight * n).sum::<f64>() / f64::from((SMOOTH + 1).pow(2))
    };
    let near = |bin: i16| (-SMOOTH..=SMOOTH).map(|by| count(bin.saturating_add(by))).sum::<f64>();
    let dense = |bin: i16| near(bin) >= BEST_SHARE * all as f64;
    // The highest rate around which there are enough, then up the slope to the densest place. A
    // bump of a tenth of the mode below it is a part of that.
    let top = (first..=last).rev().find(|bin| dense(*bin))?;
    let from = top.saturating_sub(4 * SMOOTH).max(first);
    let best = (from..=top).max_by(|a, b| density(*a).total_cmp(&density(*b)))?;
    let shallow = OF_BEST * density(best);
    let least_below = (SHARE_BELOW * all as f64).max(FEWEST_BELOW as f64);
    let (mut below, mut densest) = (0.0, 0.0_f64);
    let mut valley: Option<(f64, i16)> = None;
    for bin in first..best.saturating_sub(APART) {
        let here = density(bin);
        let is_valley = below >= least_below && here <= VALLEY * densest && here <= shallow;
        // Ties go to the bin nearest to the best mode.
        if is_valley && valley.is_none_or(|(least, _)| here <= least) {
            valley = Some((here, bin));
        }
        (below, densest) = (below + count(bin), densest.max(here));
    }
    Some(BestMode { center: bin_rate(best), ends_at: valley.map(|(_, bin)| bin_rate(bin)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rates: impl IntoIterator<Item = f64>) -> Vec<(i16, u32)> {
        let mut bins: Vec<i16> = rates.into_iter().filter_map(log_bin).collect();
        bins.sort_unstable();
        bins.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
    }

    #[test]
    fn two_modes_have_a_valley() {
        let found = best_mode(&counts((0..300).map(|i| if i % 3 == 0 { 2.5 } else { 3.8 }))).expect("enough");
        assert!((found.center / 3.8 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.ends_at.is_some_and(|end| 2.6 < end && end < 3.7), "{found:?}");
    }

    #[test]
    fn one_mode_has_none_and_few_values_have_no_mode() {
        let found = best_mode(&counts([3.8; 100])).expect("enough");
        assert_eq!(found.ends_at, None);
        assert_eq!(best_mode(&counts([3.8; 99])), None);
        assert_eq!(best_mode(&[]), None);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(log_bin(rate), None);
        }
    }

    #[test]
    fn a_few_slow_ones_are_interrupts() {
        let slow = |n: usize| counts(std::iter::repeat_n(2.0, n).chain(std::iter::repeat_n(3.8, 1000)));
        assert_eq!(best_mode(&slow(9)).and_then(|found| found.ends_at), None);
        assert!(best_mode(&slow(50)).is_some_and(|found| found.ends_at.is_some()));
    }

    #[test]
    fn a_rate_is_in_its_bin() {
        for rate in [0.5, 1.0, 3.56, 8.0] {
            let bin = log_bin(rate).expect("positive");
            assert!((bin_rate(bin) / rate - 1.0).abs() < 0.006, "{rate}");
        }
    }
}
