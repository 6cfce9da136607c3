//! Counts over a logarithmic axis, for plots and text.

use crate::order::sorted;

/// A stretch of values and how many fell into it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The lower end, which belongs to the bin.
    pub low: f64,
    /// The upper end, which belongs to the next bin, or to this one if it is the last.
    pub high: f64,
    /// How many values.
    pub count: usize,
}

/// `bins` adjacent stretches of equal ratio from the smallest to the largest value, with their counts.
///
/// Values that are not positive and finite have no place on such an axis and are not counted: compare the sum with the
/// number of values where there may be some. Equal values give one bin without width. Empty without values or bins.
#[must_use]
pub fn log_histogram(values: &[f64], bins: usize) -> Vec<Bin> {
    let mut sorted = sorted(values);
    sorted.retain(|value| *value > 0.0 && value.is_finite());
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let bins = if least == most { bins.min(1) } else { bins };
    let edge = |index: usize| {
        if index == 0 {
            least
        } else if index == bins {
            most
        } else {
            let share = index as f64 / bins as f64;
            (least.ln() * (1.0 - share) + most.ln() * share).exp().clamp(least, most)
        }
    };
    let below =
        |index: usize| if index == bins { sorted.len() } else { sorted.partition_point(|&value| value < edge(index)) };
    (0..bins)
        .map(|index| Bin { low: edge(index), high: edge(index + 1), count: below(index + 1) - below(index) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_equal_ratio() {
        let bins = log_histogram(&[1.0, 1.5, 2.0, 3.9, 4.0, 16.0], 4);
        let counts: Vec<usize> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 2, 1, 1]);
        for (bin, low) in bins.iter().zip([1.0, 2.0, 4.0, 8.0]) {
            assert!((bin.low / low - 1.0).abs() < 1e-12 && (bin.high / bin.low - 2.0).abs() < 1e-12, "{bin:?}");
        }
    }

    /// The logarithm of the least value is 0 above: here neither end has that.
    #[test]
    fn bins_of_equal_ratio_start_at_any_value() {
        let bins = log_histogram(&[1e-7, 2e-7, 5e-6, 1e-5], 2);
        let counts: Vec<usize> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 2]);
        assert!((bins[0].high / 1e-6 - 1.0).abs() < 1e-9 && bins[0].high == bins[1].low, "{bins:?}");
    }

    #[test]
    fn equal_values_are_one_bin() {
        assert_eq!(log_histogram(&[3.0; 5], 10), [Bin { low: 3.0, high: 3.0, count: 5 }]);
    }

    #[test]
    fn no_bins() {
        assert_eq!(log_histogram(&[], 10), []);
        assert_eq!(log_histogram(&[1.0, 2.0], 0), []);
        assert_eq!(log_histogram(&[3.0], 0), []);
        assert_eq!(log_histogram(&[0.0, -1.0, f64::NAN, f64::INFINITY], 3), []);
    }
}
