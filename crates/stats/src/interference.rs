//! The amount of time lost to something else.

use crate::order::median;

/// Mean divided by median: near 1 on an idle machine, and larger the more samples were disturbed,
/// while the median holds. `None` without values, if one is not finite, or if the median is not
/// positive (docs/methods/statistics.md#contention).
#[must_use]
pub fn interference(values: &[f64]) -> Option<f64> {
    let middle = median(values).filter(|&middle| middle > 0.0)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(mean / middle).filter(|ratio| ratio.is_finite())
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
}
