//! Values exactly on a threshold, and inputs that reach only one branch: cases that mutation
//! testing found unguarded (docs/methods/validation.md#mutations-by-a-tool).

use groma_stats::{clusters, drift, log_histogram, median_interval, steady};

/// Ten values from `first`, rising by `step`.
fn ramp(first: f64, step: f64) -> Vec<f64> {
    (0..10).map(|i| first + step * f64::from(i)).collect()
}

#[test]
fn a_distance_that_is_not_a_positive_number_is_unknown() {
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let row = |d: f64| vec![None, Some(d)];
        assert_eq!(clusters(&[row(wrong), vec![None, None]]), None, "{wrong}");
        assert!(clusters(&[row(wrong), vec![Some(2.0), None]]).is_some(), "known in the other direction");
    }
}

/// A change of exactly 1 % counts as unsteady: over the whole window by the slope, or from its
/// first half to its second.
#[test]
fn steady_means_less_than_one_percent_both_ways() {
    assert!(!steady(&ramp(995.5, 1.0)), "a slope of 1 over ten values at 1000");
    assert!(steady(&ramp(995.6, 0.98)));
    // The slope is taken over the window, ten steps, not over one.
    assert!(!steady(&ramp(100.0, 0.15)));
    // The middle of the first half is 995 and that of the second 1005, with a slope of 0.5.
    let step = [1010.0, 988.0, 1009.0, 995.0, 988.0, 991.0, 1005.0, 989.0, 1014.0, 1014.0];
    assert!(!steady(&step), "the halves differ by exactly 1 %");
    assert!(steady(&step.map(|v| if v == 1005.0 { 1004.0 } else { v })));
}

#[test]
fn a_drift_is_more_than_one_percent_and_certain() {
    let rounds = |from: f64, step: f64| (0..11).map(|i| vec![from + step * f64::from(i)]).collect::<Vec<_>>();
    assert_eq!(drift(&rounds(995.0, 1.0)), None, "10 of 1000 is exactly 1 %");
    assert!(drift(&rounds(994.5, 1.1)).is_some_and(|d| d.between_rounds.is_some() && d.within_rounds.is_none()));
    // Two rounds of three rising values: 5 %, but not significant, even when their pairs are
    // counted together.
    let short = vec![100.0, 103.0, 106.0];
    assert_eq!(drift(&[short.clone(), short.clone()]), None);
    assert!(drift(&vec![short; 9]).is_some_and(|d| d.within_rounds.is_some_and(|c| c.p < 0.01)));
}

#[test]
fn bins_have_equal_ratios_wherever_they_begin() {
    let bins = log_histogram(&[2.0, 3.0, 5.0, 9.0, 17.0, 32.0], 4);
    for (bin, (low, high, count)) in bins.iter().zip([(2.0, 4.0, 2), (4.0, 8.0, 1), (8.0, 16.0, 1), (16.0, 32.0, 2)]) {
        assert!((bin.low / low - 1.0).abs() < 1e-9 && (bin.high / high - 1.0).abs() < 1e-9, "{bin:?}");
        assert_eq!(bin.count, count, "{bin:?}");
    }
    assert_eq!(bins.len(), 4);
}

/// With many values, 1 less the probability of missing rounds to 1, but a confidence of 1 still has
/// no interval.
#[test]
fn a_confidence_of_one_has_no_interval() {
    let values = ramp(1.0, 1.0).repeat(10);
    assert!(median_interval(&values, 0.999_999).is_some());
    for confidence in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
        assert_eq!(median_interval(&values, confidence), None, "{confidence}");
    }
}
