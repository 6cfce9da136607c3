//! The headline of a metric, from one value per round, and when to stop adding rounds.
//!
//! A round is one fresh process. Its value is the median (for some metrics another quantile) of its
//! clean intervals. Samples of several rounds are never pooled: a pooled interval covered 4 %
//! instead of 95 % (docs/methods/statistics.md#rounds).

use crate::interval::{Interval, median_interval_interpolated_sorted, median_interval_sorted};
use crate::order::{CONFIDENCE, median, median_sorted, sorted};

/// From this number of rounds on, the interval shown is the interpolated one; below, it is the
/// exact one. If rounds fall into two modes of nearly equal share, the interpolated one covers only
/// 90.5 % at 9 rounds and 92.3 % at 12, and from 13 on more than 93.5 %; little is lost, as at 9
/// rounds the exact one covers 96.1 % (docs/methods/statistics.md#interpolation).
const INTERPOLATE_FROM: usize = 13;

/// The confidence of the second interval that is checked before stopping, and how wide it may be as
/// a multiple of the target. Found by simulation: at 2 times the target, modes slip through that
/// matter; at 1.25, one mode needs 30 % more rounds (docs/methods/statistics.md#stopping).
const GUARD_CONFIDENCE: f64 = 0.99;
const GUARD_WIDTH: f64 = 1.5;

/// The figure that stands for a metric, and how precisely it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headline {
    /// The median over the rounds.
    pub value: f64,
    /// The exact interval, which covers with at least 95 %: for stopping and for verdicts. `None`
    /// below 6 rounds.
    pub interval: Option<Interval>,
    /// The interval to be shown: about 95 % (interpolated), or the exact one below 13 rounds.
    /// `None` below 6.
    pub display: Option<Interval>,
    /// Half of the width of `interval` as a share of `value`; `None` without an interval, or where
    /// `value` is 0.
    pub relative_half_width: Option<f64>,
}

/// The headline of one value per round. `None` without rounds, or if a value is not finite.
#[must_use]
pub fn headline(round_values: &[f64]) -> Option<Headline> {
    let sorted = sorted(round_values);
    let value = median_sorted(&sorted)?;
    let interval = median_interval_sorted(&sorted, CONFIDENCE);
    let display = if sorted.len() < INTERPOLATE_FROM {
        interval
    } else {
        median_interval_interpolated_sorted(&sorted, CONFIDENCE)
    };
    let relative_half_width = interval.and_then(|interval| interval.half_width_relative(value));
    Some(Headline { value, interval, display, relative_half_width })
}

/// One value per round: the median of each round's values. A round without values, or with one that
/// is not finite, is left out.
#[must_use]
pub fn round_medians<R: AsRef<[f64]>>(rounds: &[R]) -> Vec<f64> {
    rounds.iter().filter_map(|round| median(round.as_ref())).collect()
}

/// The numbers of rounds after which a run may stop; the last is the cap. At each of them the exact
/// interval is tight (95.1-96.1 %). They are few because every look is a chance to stop on a narrow
/// interval by luck (docs/methods/statistics.md#stopping).
#[must_use]
pub const fn checkpoints() -> [usize; 5] {
    [9, 17, 25, 37, 63]
}

/// The numbers of rounds at which the exact interval leaves out one more round at each end, from
/// the fewest that have an interval. Between them another round narrows nothing: its ends are still
/// the same ranks (docs/methods/statistics.md#order-statistics).
#[must_use]
pub const fn useful_rounds() -> [usize; 8] {
    [6, 9, 12, 15, 17, 20, 23, 25]
}

/// The weight of a point when rounds are shared out: the relative half-width of its interval, after
/// the fewest rounds that have one, over 5 %, which pages call imprecise; at least 0.75 and at most
/// 3. With the lower bound a cheap point of a survey has nine rounds; without the upper one, what
/// no number of rounds makes precise (a disk in two modes) would take those of others.
///
/// Ask once for each point. Asked again after each round, it would end those whose interval is
/// narrow by chance (docs/methods/statistics.md#stopping).
#[must_use]
pub fn need(half_width: f64) -> f64 {
    const IMPRECISE: f64 = 0.05;
    (half_width / IMPRECISE).clamp(0.75, 3.0)
}

/// Whether the rounds suffice. Their number must be a checkpoint, the exact interval (the one that
/// is reported) must have a relative half-width of at most `target_rel_half_width`, and the exact
/// 99 % interval must be at most 1.5 times as wide as that.
///
/// The last condition is for rounds that fall into two modes. There the interval is narrow only
/// when most rounds happened to fall into one mode, and then it is wrong: without the condition 87
/// % of the reported intervals cover at 52:48, with it 94 %. It costs up to 20 % more rounds with
/// one mode, and half more (16 instead of 11) where one round in ten is an outlier. Modes whose
/// distance is 2 to 3 times the target (half of it 1 to 1.5 times) still slip through: 91 %.
///
/// Call it after every round: between checkpoints it returns false, so frequent calls do not add
/// looks. It does not know the cap: at the last checkpoint it may still return false, and the
/// metric is then reported as imprecise.
#[must_use]
pub fn should_stop(round_values: &[f64], target_rel_half_width: f64) -> bool {
    if !checkpoints().contains(&round_values.len()) {
        return false;
    }
    let sorted = sorted(round_values);
    let within = |confidence: f64, width: f64| {
        median_sorted(&sorted)
            .and_then(|value| median_interval_sorted(&sorted, confidence)?.half_width_relative(value))
            .is_some_and(|half_width| half_width <= width)
    };
    within(CONFIDENCE, target_rel_half_width) && within(GUARD_CONFIDENCE, GUARD_WIDTH * target_rel_half_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rounds_no_headline() {
        assert_eq!(headline(&[]), None);
        assert_eq!(headline(&[1.0, f64::NAN, 2.0]), None);
    }

    #[test]
    fn five_rounds_have_a_value_and_no_interval() {
        let headline = headline(&[5.0, 1.0, 3.0, 2.0, 4.0]).expect("there are rounds");
        assert_eq!(headline, Headline { value: 3.0, interval: None, display: None, relative_half_width: None });
    }

    #[test]
    fn six_rounds_show_minimum_to_maximum() {
        let headline = headline(&[10.0, 11.0, 9.0, 10.0, 12.0, 8.0]).expect("there are rounds");
        assert_eq!(headline.value, 10.0);
        assert_eq!(headline.interval, Some(Interval { low: 8.0, high: 12.0 }));
        assert_eq!(headline.display, headline.interval);
        assert_eq!(headline.relative_half_width, Some(0.2));
    }

    #[test]
    fn the_shown_interval_is_the_narrower_one_where_that_is_safe() {
        let values: Vec<f64> = (1..=17).map(f64::from).collect();
        let exact = Some(Interval { low: 5.0, high: 13.0 });
        let seventeen = headline(&values).expect("there are rounds");
        assert_eq!(seventeen.interval, exact);
        let display = seventeen.display.expect("enough rounds");
        assert!(5.0 < display.low && display.low < 6.0 && 12.0 < display.high && display.high < 13.0, "{display:?}");
        let nine = headline(&values[..9]).expect("there are rounds");
        assert_eq!((nine.interval, nine.display), (Some(Interval { low: 2.0, high: 8.0 }), nine.interval));
    }

    #[test]
    fn a_round_has_one_value_or_none() {
        let rounds = [vec![1.0, 9.0, 2.0], vec![], vec![4.0, 6.0], vec![f64::NAN]];
        assert_eq!(round_medians(&rounds), [2.0, 5.0]);
    }

    /// Each number leaves out one round more at each end than the one before it, and no smaller
    /// number does.
    #[test]
    fn useful_rounds_are_those_that_leave_out_one_more_at_each_end() {
        let left_out = |n: usize| {
            let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
            headline(&values).and_then(|headline| headline.interval).map(|interval| interval.low)
        };
        for (at, useful) in useful_rounds().into_iter().enumerate() {
            assert_eq!(left_out(useful), Some(at as f64), "{useful} rounds");
            assert!(left_out(useful - 1) < Some(at as f64), "{useful} rounds");
        }
    }

    #[test]
    fn what_is_imprecise_needs_more_rounds_within_bounds() {
        assert_eq!([0.0, 0.03, 0.05, 0.1, 0.2, 9.0].map(need), [0.75, 0.75, 1.0, 2.0, 3.0, 3.0]);
    }

    /// 9 rounds: the exact interval is ranks 2 to 8, the 99 % interval is minimum to maximum.
    #[test]
    fn stops_when_the_exact_interval_is_narrow() {
        let rounds = |end: f64| [1.0 - end, 0.99, 1.0, 1.0, 1.0, 1.0, 1.0, 1.01, 1.0 + end];
        assert!(should_stop(&rounds(0.0101), 0.0101));
        assert!(!should_stop(&rounds(0.0101), 0.0099));
    }

    #[test]
    fn does_not_stop_when_the_next_wider_interval_is_much_wider() {
        let rounds = |end: f64| [1.0 - end, 0.99, 1.0, 1.0, 1.0, 1.0, 1.0, 1.01, 1.0 + end];
        assert!(should_stop(&rounds(0.0149), 0.0101));
        assert!(!should_stop(&rounds(0.0153), 0.0101));
    }

    #[test]
    fn looks_only_at_checkpoints() {
        for n in 0..=64 {
            assert_eq!(should_stop(&vec![1.0; n], 0.01), checkpoints().contains(&n), "n = {n}");
        }
        assert!(!should_stop(&[0.0; 9], 0.01), "nothing is a small share of 0");
    }

    #[test]
    fn the_headline_is_the_median_of_skewed_rounds() {
        let skewed = [9000.0, 101.0, 20.0, 5000.0, 10.0, 102.0, 7000.0, 30.0, 100.0];
        let headline = headline(&skewed).expect("there are rounds");
        assert_eq!(headline.value, 101.0);
        assert_eq!(headline.interval, Some(Interval { low: 20.0, high: 7000.0 }));
        assert_eq!(headline.relative_half_width, Some(3490.0 / 101.0));
        assert_eq!(round_medians(&[&skewed[..], &[1.0, 2.0, 4.0, 800.0]]), [101.0, 3.0]);
    }
}
