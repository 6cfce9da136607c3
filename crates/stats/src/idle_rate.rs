//! The rate of a core whose other hardware thread is idle, from the rates of probes.
//!
//! What a core does alone is a constant of the machine: the fastest probes of every run find the
//! same rate, whatever the neighbours do. What it does beside a busy sibling is a continuum below,
//! often without a valley and, on a busy host, far denser. So the rate is looked for at the top,
//! not where most probes are (docs/methods/neighbour.md#boundary). For the shape of samples of
//! unknown kind see [`crate::modality`].

/// Bins in a factor of e: each is 0.25 % wide.
const BINS: f64 = 400.0;
/// Fewer probes than this say nothing.
const MIN_PROBES: u64 = 100;
/// The share of the probes that may be faster than an idle core: beside a change of the clock a
/// chain and a block are timed at different clocks.
const ABOVE: f64 = 0.003;
/// At least so many probes are at or above the top.
const MIN_PROBES_ABOVE: u64 = 5;
/// The densest place is looked for within this distance of the top: idle cores spread by 0.5 % (two
/// guests, Zen 3 and Emerald Rapids), and a clock that wanders adds a percent.
const NEAR_TOP: f64 = 0.02;
/// A probe this much slower than an idle core found a busy sibling. The widest block loses 2 % to
/// 85 % of its rate; samples between two probes within 3 % were right to 0.2 %.
const SLOWER_SHARE: f64 = 0.03;
/// No idle core spreads further.
const MAX_SLOWER: f64 = 0.08;
/// Half of the width of an idle core's peak.
const PEAK: f64 = 0.005;
/// A core whose middle probe is slower than its top by this factor was shared, not noisy.
const SHARED_FACTOR: f64 = 0.95;

/// The bin of a rate; rates that are no positive number have none.
#[must_use]
pub fn log_bin(rate: f64) -> Option<i16> {
    (rate > 0.0 && rate.is_finite()).then(|| (rate.ln() * BINS).floor() as i16)
}

/// The rate in the middle of a bin.
#[must_use]
pub fn bin_rate(bin: i16) -> f64 {
    ((f64::from(bin) + 0.5) / BINS).exp()
}

/// What probes say of an idle core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdleRate {
    /// The rate of the idle core: the densest place at the top.
    pub rate: f64,
    /// A probe below this rate found a busy sibling.
    pub shared_below: f64,
    /// Whether the core was seen alone. Else `rate` is only the best of a core that always had
    /// company, and no probe is above `shared_below`.
    pub alone: bool,
}

/// The idle rate by these counts of rates in bins ([`log_bin`]), sorted. `step` is that of the
/// counter, as a fraction of what it counts during a probe. `None` of too few probes, and where the
/// top is no edge though most probes are near it: a noisy counter, not a neighbour.
#[must_use]
pub fn idle_rate(counts: &[(i16, u32)], step: f64) -> Option<IdleRate> {
    let all: u64 = counts.iter().map(|(_, n)| u64::from(*n)).sum();
    if all < MIN_PROBES {
        return None;
    }
    let from_top = |share: u64| {
        let mut above = 0;
        counts.iter().rev().find(|(_, n)| {
            above += u64::from(*n);
            above >= share
        })
    };
    let top = from_top(((ABOVE * all as f64) as u64).max(MIN_PROBES_ABOVE))?.0;
    let between = |from: i16, to: i16| -> u64 {
        counts.iter().filter(|(bin, _)| (from..to).contains(bin)).map(|(_, n)| u64::from(*n)).sum()
    };
    let lowest = top - bins(NEAR_TOP.max(1.2 * step));
    let best = (lowest..=top).max_by_key(|bin| between(bin - 1, bin + 2))?;
    let rate = bin_rate(best);
    // The fast side of an idle core's rates is as wide as its slow side, and has no neighbours.
    let half = f64::from(top - best) / BINS;
    let slower = SLOWER_SHARE.max(1.5 * half + 0.01).max(1.2 * step).min(MAX_SLOWER.max(1.2 * step));
    let end = best - bins(slower);
    // An idle core's rates are a peak, also where they are rare. A continuum is thinnest at its
    // top.
    let width = bins(PEAK.max(0.6 * step));
    let peak = between(best - width, best + width + 1) as f64;
    let below = between(end - 2 * (2 * width + 1), end) as f64 / 2.0;
    if peak >= below + 3.0 * below.sqrt() {
        return Some(IdleRate { rate, shared_below: rate * (1.0 - slower), alone: true });
    }
    let middle = bin_rate(from_top(all / 2)?.0);
    let fastest = bin_rate(counts.last()?.0);
    (middle < SHARED_FACTOR * rate).then_some(IdleRate { rate, shared_below: 1.01 * fastest, alone: false })
}

/// The bins of a relative distance, one at least.
fn bins(of: f64) -> i16 {
    ((of * BINS).round() as i16).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rates: impl IntoIterator<Item = f64>) -> Vec<(i16, u32)> {
        let mut bins: Vec<i16> = rates.into_iter().filter_map(log_bin).collect();
        bins.sort_unstable();
        bins.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
    }

    #[test]
    fn the_idle_rate_is_at_the_top_and_not_where_most_probes_are() {
        // One of 50 probes alone; the others take 1.02 to 2 times as long.
        let shared = |i: u32| 5.6 / (1.02 + 0.98 * (f64::from(i % 997) / 997.0).sqrt());
        let rate = |i: u32| if i.is_multiple_of(50) { 5.6 } else { shared(i) };
        let found = idle_rate(&counts((0..5000).map(rate)), 0.0).expect("enough");
        assert!(found.alone && (found.rate / 5.6 - 1.0).abs() < 0.004, "{found:?}");
        assert!((found.shared_below / (0.97 * 5.6) - 1.0).abs() < 0.005, "{found:?}");
    }

    #[test]
    fn a_core_that_is_never_alone_is_said_to_be_so() {
        let rate = |i: u32| 5.6 / (1.1 + 0.9 * (f64::from(i % 997) / 997.0).sqrt());
        let found = idle_rate(&counts((0..5000).map(rate)), 0.0).expect("enough");
        assert!(!found.alone && found.shared_below > 0.9 * 5.6, "{found:?}");
    }

    #[test]
    fn the_few_fastest_were_disturbed_the_other_way() {
        let rates = |fast: usize| counts(std::iter::repeat_n(9.0, fast).chain(std::iter::repeat_n(3.8, 2000)));
        for fast in [0, 1, 4] {
            let found = idle_rate(&rates(fast), 0.0).expect("enough");
            assert!(found.alone && (found.rate / 3.8 - 1.0).abs() < 0.004, "{fast}: {found:?}");
        }
    }

    #[test]
    fn the_step_of_a_counter_is_no_neighbour() {
        // A step of 2.5 %: an idle core is found at one of two places.
        let coarse = |i: usize| 4.0 / (1.0 + 0.025 * (i % 2) as f64);
        let found = idle_rate(&counts((0..1000).map(coarse)), 0.025).expect("enough");
        assert!(found.alone && found.shared_below < 4.0 / 1.025, "{found:?}");
    }

    #[test]
    fn few_probes_say_nothing() {
        assert_eq!(idle_rate(&counts([3.8; 99]), 0.0), None);
        assert_eq!(idle_rate(&[], 0.0), None);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(log_bin(rate), None);
        }
    }

    #[test]
    fn a_rate_is_in_its_bin() {
        for rate in [0.5, 1.0, 3.56, 8.0] {
            let bin = log_bin(rate).expect("positive");
            assert!((bin_rate(bin) / rate - 1.0).abs() < 0.002, "{rate}");
        }
    }
}
