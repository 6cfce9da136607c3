//! Isotonic regression: the non-decreasing sequence nearest to the values.

use std::ops::Range;

/// The non-decreasing sequence with the least sum of absolute deviations from `values`, by pooling
/// adjacent violators (Ayer et al., Annals of Mathematical Statistics 1955; Robertson, Wright,
/// Dykstra, "Order restricted statistical inference", 1988, for medians): if a value lies below its
/// predecessors, it and they are replaced by their median, the lower of two middle ones.
///
/// Medians instead of means: one disturbed value would lift the mean of every later value up to the
/// next rise, while it does not move a median (docs/methods/statistics.md#isotonic-regression). The
/// result is as long as `values`, or empty if a value is not finite.
#[must_use]
pub fn isotonic(values: &[f64]) -> Vec<f64> {
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let mut pools: Vec<(Range<usize>, f64)> = Vec::new();
    for (index, &value) in values.iter().enumerate() {
        let (mut pool, mut level) = (index..index + 1, value);
        while let Some((previous, _)) = pools.pop_if(|(_, previous)| *previous > level) {
            pool.start = previous.start;
            level = lower_median(&values[pool.clone()]);
        }
        pools.push((pool, level));
    }
    pools.into_iter().flat_map(|(pool, level)| pool.map(move |_| level)).collect()
}

/// The middle value of a pool, or the lower of two; a pool is never empty.
fn lower_median(pool: &[f64]) -> f64 {
    let mut pool = pool.to_vec();
    let middle = (pool.len() - 1) / 2;
    *pool.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_sequence_is_its_own_fit() {
        assert_eq!(isotonic(&[1.0, 2.0, 2.0, 5.0]), [1.0, 2.0, 2.0, 5.0]);
        assert_eq!(isotonic(&[]), [] as [f64; 0]);
    }

    #[test]
    fn violators_are_pooled_to_their_lower_median() {
        assert_eq!(isotonic(&[3.0, 1.0]), [1.0, 1.0]);
        assert_eq!(isotonic(&[1.0, 4.0, 3.0, 2.0, 6.0]), [1.0, 3.0, 3.0, 3.0, 6.0]);
        assert_eq!(isotonic(&[3.0, 2.0, 1.0, 0.0]), [1.0; 4]);
    }

    #[test]
    fn a_disturbed_value_leaves_its_neighbours_alone() {
        assert_eq!(isotonic(&[1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 3.0]), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0]);
        assert_eq!(isotonic(&[1.0, 3.0, 3.0, 0.5, 3.0]), [1.0, 3.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn non_finite_values_have_no_fit() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(isotonic(&[1.0, bad, 2.0]), [] as [f64; 0]);
        }
    }
}
