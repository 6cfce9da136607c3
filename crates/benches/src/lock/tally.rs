//! How often each length of time was seen, in bins that are fine enough for quantiles.
//!
//! Bins are fixed: members tally thousands of times a window into memory that they share. A list of
//! all times was rejected, since the member that has the lock most would fill its list first.

/// How finely times are told: the bins of a power of two. A time is off by at most 0.4 %.
const FINE_BITS: u32 = 7;
/// Bins up to half an hour.
pub(super) const BINS: usize = (34 << FINE_BITS) as usize;

/// The bin of a time.
pub(super) fn bin(ns: u64) -> usize {
    let ns = ns.max(1);
    let power = ns.ilog2();
    let bin =
        if power <= FINE_BITS { ns } else { (u64::from(power - FINE_BITS) << FINE_BITS) + (ns >> (power - FINE_BITS)) };
    (bin as usize).min(BINS - 1)
}

/// The middle of a bin, in nanoseconds.
fn middle(bin: usize) -> f64 {
    let power = (bin >> FINE_BITS).saturating_sub(1);
    let first = (bin - (power << FINE_BITS)) << power;
    first as f64 + ((1u64 << power) - 1) as f64 / 2.0
}

/// How often each time was seen.
pub(super) struct Times(pub(super) Vec<u64>);

impl Times {
    fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The least time that this share of all does not exceed, in nanoseconds.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let mut left = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let of = |(bin, count): (usize, &u64)| {
            let found = *count >= left;
            left -= left.min(*count);
            found.then(|| middle(bin))
        };
        self.0.iter().enumerate().find_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bin_around_it() {
        let mut last = 0;
        for ns in (0..20_000).chain((15..40).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 12_345])) {
            let (bin, ns) = (bin(ns), ns.max(1) as f64);
            assert!((middle(bin) / ns - 1.0).abs() <= 0.004, "{ns}: {}", middle(bin));
            assert!(bin >= last && bin < BINS, "{ns}");
            last = bin;
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn a_quantile_is_a_time_that_enough_do_not_exceed() {
        let mut times = Times(vec![0; BINS]);
        assert_eq!(times.quantile(0.5), None);
        times.0[bin(10)] = 998;
        times.0[bin(20)] = 1;
        times.0[bin(100)] = 1;
        assert_eq!([0.5, 0.998, 0.999, 1.0].map(|share| times.quantile(share)), [10.0, 10.0, 20.0, 100.0].map(Some));
    }
}
