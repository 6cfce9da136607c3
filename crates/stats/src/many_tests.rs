//! p values of many tests at once, adjusted so that a whole suite can be read at one level.
//!
//! Both functions keep the order of the tests. A p that is not a number from 0 to 1 counts as 1, a
//! test that found nothing.

/// The p values of Holm ("A simple sequentially rejective multiple test procedure", Scandinavian
/// Journal of Statistics 1979): if those below 5 % are called differences, the chance that any of
/// these is false is at most 5 %, however the tests depend on each other.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = valid(p);
    let mut greatest = 0.0_f64;
    for (smaller, index) in ascending(&adjusted).into_iter().enumerate() {
        greatest = greatest.max(adjusted[index] * (p.len() - smaller) as f64).min(1.0);
        adjusted[index] = greatest;
    }
    adjusted
}

/// [`holm`] over the tests that have a p value; the others do not count, and keep their positions.
#[must_use]
pub fn holm_known(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut adjusted = holm(&p.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    p.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}

/// The p values of Benjamini and Hochberg ("Controlling the false discovery rate", Journal of the
/// Royal Statistical Society B 1995): if those below 5 % are called differences, on average at most
/// 5 % of these are false. Holds for tests that are independent or depend on each other positively
/// (Benjamini and Yekutieli, Annals of Statistics 2001).
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = valid(p);
    let mut least = 1.0_f64;
    for (smaller, index) in ascending(&adjusted).into_iter().enumerate().rev() {
        least = least.min(adjusted[index] * (p.len() as f64 / (smaller + 1) as f64));
        adjusted[index] = least;
    }
    adjusted
}

fn valid(p: &[f64]) -> Vec<f64> {
    p.iter().map(|&p| if (0.0..=1.0).contains(&p) { p } else { 1.0 }).collect()
}

/// The places of the values, those of the smallest first.
fn ascending(values: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn by_hand() {
        let p = [0.01, 0.04, 0.03, 0.005];
        assert!(near(&holm(&p), &[0.03, 0.06, 0.06, 0.02]));
        assert!(near(&benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]));
        assert!(near(&holm(&[0.4, 0.6]), &[0.8, 0.8]));
        assert!(near(&benjamini_hochberg(&[0.9, 0.9, 0.9]), &[0.9; 3]));
        assert_eq!((holm(&[]), benjamini_hochberg(&[])), (vec![], vec![]));
    }

    #[test]
    fn tests_without_a_p_do_not_count() {
        let found = holm_known(&[None, Some(0.4), None, Some(0.01), None]);
        let places: Vec<usize> = (0..5).filter(|i| found[*i].is_some()).collect();
        assert_eq!(places, [1, 3]);
        assert!(near(&found.into_iter().flatten().collect::<Vec<_>>(), &holm(&[0.4, 0.01])));
        assert_eq!(holm_known(&[None, None]), [None, None]);
    }

    /// It still counts as a test that was made.
    #[test]
    fn an_invalid_p_counts_as_1() {
        for wrong in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert!(near(&holm(&[wrong, 0.01]), &[1.0, 0.02]), "{wrong}");
            assert!(near(&benjamini_hochberg(&[wrong, 0.01]), &[1.0, 0.02]), "{wrong}");
        }
    }
}
