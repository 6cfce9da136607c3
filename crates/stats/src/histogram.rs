//! Histograms with a logarithmic axis, for plots and text.

use crate::order::sorted;

/// A range of values and the number that fell into it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The lower end, which belongs to the bin.
    pub low: f64,
    /// The upper end, which belongs to the next bin, or to this one if it is the last.
    pub high: f64,
    /// The number of values.
    pub count: usize,
}

/// `bins` adjacent ranges of equal ratio from the smallest to the largest value, with their counts.
///
/// Values that are not positive and finite are not counted: where there may be some, compare the
/// sum of the counts with the number of values. Equal values give one bin of zero width. Empty if
/// there are no values or no bins.
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

    /// Above, the logarithm of the smallest value is 0; here neither end has that.
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
