//! Two properties of raw samples: how far disturbances raised their mean, and whether the step of
//! the clock shows in them.

use crate::order::{median, sorted};

/// Mean divided by median: near 1 on an idle machine, and larger the more samples were disturbed,
/// while the median stays. `None` without values, if one is not finite, or if the median is not
/// positive (docs/methods/statistics.md#contention).
#[must_use]
pub fn interference(values: &[f64]) -> Option<f64> {
    let middle = median(values).filter(|&middle| middle > 0.0)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(mean / middle).filter(|ratio| ratio.is_finite())
}

/// Samples are quantised if this many values hold more than half of them
/// (docs/methods/statistics.md#quantised-data).
const VALUES: usize = 3;

/// Whether more than half of the samples share at most 3 values. Differences between them are then
/// steps of the clock, not of the machine, and intervals are wider than they look. A value that
/// occurs once is not shared.
#[must_use]
pub fn quantised(values: &[f64]) -> bool {
    let sorted = sorted(values);
    let mut shared: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|&count| count > 1).collect();
    shared.sort_unstable_by(|a, b| b.cmp(a));
    2 * shared.iter().take(VALUES).sum::<usize>() > values.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_over_median() {
        assert_eq!(interference(&[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(interference(&[1.0, 1.0, 1.0, 1.0, 96.0]), Some(20.0));
    }

    #[test]
    fn no_interference_without_a_positive_median() {
        for values in [&[][..], &[0.0, 0.0], &[-1.0], &[1.0, f64::NAN]] {
            assert_eq!(interference(values), None, "{values:?}");
        }
    }

    #[test]
    fn more_than_half_on_three_values() {
        let mut values: Vec<f64> = [10.0, 20.0, 30.0].into_iter().cycle().take(50).collect();
        values.extend((0..50).map(|index| 100.0 + f64::from(index)));
        assert!(!quantised(&values), "exactly half");
        values.push(20.0);
        assert!(quantised(&values), "one more than half");
    }

    #[test]
    fn seven_values_of_equal_share_are_not_quantised() {
        let values: Vec<f64> = (0..100).map(|index| f64::from(index % 7)).collect();
        assert!(!quantised(&values), "three of seven values are 43 %");
    }

    #[test]
    fn few_different_values_are_not_shared() {
        assert!(!quantised(&[]));
        assert!(!quantised(&[1.0]));
        assert!(!quantised(&[1.0, 2.0, 3.0]));
        assert!(quantised(&[1.0, 1.0, 3.0]));
    }
}
