//! How much of the time went to something else.

use crate::order::median;

/// The mean as a multiple of the median: near 1 on an idle machine, larger the more the samples were disturbed, while
/// the median holds. `None` without values, with one that is not finite, or where the median is not positive.
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
    fn no_ratio_to_nothing() {
        for values in [&[][..], &[0.0, 0.0], &[-1.0], &[1.0, f64::NAN]] {
            assert_eq!(interference(values), None, "{values:?}");
        }
    }
}
