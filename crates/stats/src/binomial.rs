//! The binomial distribution of n fair coins: the probability that a given number of values falls
//! below the true median.

/// P(X <= k) for k = 0..=n, where X is the number of heads of `n` fair coins.
///
/// Computes the weights from the centre outward by the ratio of adjacent terms and divides them by
/// their sum, which avoids factorials, logarithms and a 2^-n that would underflow. Tails too small
/// for an `f64` are 0.
pub(crate) fn cumulative(n: usize) -> Vec<f64> {
    let centre = n / 2;
    let mut weight = vec![0.0; n + 1];
    weight[centre] = 1.0;
    for k in (0..centre).rev() {
        weight[k] = weight[k + 1] * (k + 1) as f64 / (n - k) as f64;
    }
    for k in centre + 1..=n {
        weight[k] = weight[n - k];
    }
    // Adds the smallest first, so a tail is as exact as its terms.
    let mut sum = 0.0;
    let mut cumulative: Vec<f64> = weight
        .iter()
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect();
    for value in &mut cumulative {
        *value /= sum;
    }
    cumulative
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from scipy's `binom.cdf`.
    #[test]
    fn agrees_with_scipy() {
        let cases = [
            (9, 1, 0.01953125),
            (10, 4, 0.376953125),
            (11, 2, 0.03271484375),
            (101, 40, 0.023022033464671392),
            (5000, 2430, 0.024657929052085727),
        ];
        for (n, k, expected) in cases {
            let found = cumulative(n)[k];
            assert!((found / expected - 1.0).abs() < 1e-10, "n = {n}, k = {k}: {found}, not {expected}");
        }
    }

    #[test]
    fn small_cases_are_exact() {
        assert_eq!(cumulative(0), [1.0]);
        assert_eq!(cumulative(1), [0.5, 1.0]);
        assert_eq!(cumulative(2), [0.25, 0.75, 1.0]);
    }
}
