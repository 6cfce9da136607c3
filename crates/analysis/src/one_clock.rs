//! Whether rounds differ because the core's clock frequency did.
//!
//! A host changes the frequency of its cores for reasons that a guest does not see: the same
//! computation then takes 12 % longer in one round than in the next, and the same number of cycles
//! (docs/methods/statistics.md#one-clock). Values stay times, as measured; this only says how
//! precise they are at a constant clock.

use groma_model::{AtOneClock, Metric, Point, Quantity, Round};
use groma_stats::{Headline, headline};

use crate::round_value::round_value;
use crate::samples::Which;

/// The clock explains the spread if scaling shrinks the interval to this fraction or less. An
/// interval that is slightly narrower by chance explains nothing.
const EXPLAINED: f64 = 2.0 / 3.0;

/// The value of each round scaled by its core clock, and that clock in Hz: cycles for a time,
/// amount per cycle for a rate. Skips rounds without a clean value or a clock; empty for metrics
/// that do not depend on a clock.
pub(crate) fn by_clock(point: &Point, metric: &Metric, rounds: &[Round]) -> Vec<(f64, f64)> {
    let of_round = |round: &Round| {
        let hz = round.result.output.core_hz?;
        let value = || round_value(point, metric, &round.result, Which::Clean);
        match metric.quantity {
            Quantity::Latency | Quantity::TimePerGigabyte => Some((value()? * hz, hz)),
            Quantity::Bandwidth | Quantity::Rate => Some((value()? / hz, hz)),
            Quantity::Count | Quantity::Size | Quantity::Ratio | Quantity::Energy | Quantity::Power => None,
        }
    };
    rounds.iter().filter_map(of_round).collect()
}

/// The precision of a metric with all rounds scaled to one clock; `None` where a round lacks its
/// clock, or the clock does not explain the spread. `values` are those of the rounds, `head` is
/// their summary.
pub(crate) fn at_one_clock(
    metric: &Metric,
    by_clock: &[(f64, f64)],
    (values, head): (&[f64], Option<&Headline>),
) -> Option<AtOneClock> {
    if metric.derivation.takes_all_rounds() || by_clock.len() != values.len() {
        return None;
    }
    let (per_cycle, clocks): (Vec<f64>, Vec<f64>) = by_clock.iter().copied().unzip();
    let half_width = headline(&per_cycle)?.relative_half_width?;
    let least = clocks.iter().copied().reduce(f64::min)?;
    let most = clocks.iter().copied().reduce(f64::max)?;
    (half_width < EXPLAINED * head?.relative_half_width?).then_some(AtOneClock { half_width, hz: [least, most] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{HOST, point};
    use crate::summarise;
    use groma_model::{Derivation, RoundOutput, RoundResult, Series, State};

    const CLOCKS: [f64; 8] = [3.0e9, 3.6e9, 3.2e9, 3.5e9, 3.0e9, 3.5e9, 3.1e9, 3.6e9];

    /// Rounds with these values and clocks.
    fn rounds(of: &[(f64, Option<f64>)]) -> Vec<Round> {
        let output = |&(value, core_hz): &(f64, Option<f64>)| RoundOutput {
            series: vec![Series { iters: 1, per_iter: 1.0, values: vec![value], ..Series::default() }],
            core_hz,
            ..RoundOutput::default()
        };
        (0..).zip(of).map(|(round, of)| Round { round, result: RoundResult::ok(output(of)) }).collect()
    }

    fn verdict_of(quantity: Quantity, of: &[(f64, Option<f64>)]) -> (State, Option<AtOneClock>) {
        let metric = Metric {
            id: "a.b".to_owned(),
            summary: String::new(),
            quantity,
            better: quantity.better(),
            derivation: Derivation::Series("").owned(),
            detail: false,
        };
        let record = summarise(&point(vec![metric]), &rounds(of), &HOST).remove(0);
        (record.state, record.at_one_clock)
    }

    #[test]
    fn equal_cycles_at_different_clocks_are_precise() {
        // 1000 cycles within 0.2 %, at clocks that differ by 20 %.
        let of: Vec<_> =
            (0..8).map(|i| ((1000.0 + f64::from(i % 3)) / CLOCKS[i as usize], Some(CLOCKS[i as usize]))).collect();
        let (state, at) = verdict_of(Quantity::Latency, &of);
        let at = at.expect("the clock explains it");
        assert_eq!((state, at.hz), (State::Ok, [3.0e9, 3.6e9]));
        assert!(at.half_width <= 0.0011, "{at:?}");
        // The same number of bytes per cycle.
        let of = CLOCKS.map(|hz| (16.0 * hz, Some(hz)));
        assert!(verdict_of(Quantity::Bandwidth, &of).1.is_some_and(|at| at.half_width < 1e-9));
        // A count of entries does not depend on the clock, whatever it looks like.
        assert_eq!(verdict_of(Quantity::Count, &of).1, None);
    }

    #[test]
    fn a_spread_not_explained_by_the_clock_stays() {
        // The same times at different clocks: memory.
        let of = CLOCKS.map(|hz| (1e-7, Some(hz)));
        assert_eq!(verdict_of(Quantity::Latency, &of).1, None);
        // Times that differ by ± 15 % for another reason.
        let times = [100.0, 130.0, 110.0, 128.0, 131.0, 99.0, 125.0, 100.0];
        let of: Vec<_> = times.iter().zip(CLOCKS).map(|(time, hz)| (time * 1e-9, Some(hz))).collect();
        assert_eq!(verdict_of(Quantity::Latency, &of), (State::Noisy, None));
        // One round has no known clock.
        let mut of = CLOCKS.map(|hz| (1000.0 / hz, Some(hz)));
        of[3].1 = None;
        assert_eq!(verdict_of(Quantity::Latency, &of).1, None);
    }
}
