//! Whether the clock's step is visible in the values.

use crate::order::sorted;

/// If this number of different values holds more than half of the samples, they are quantised
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
