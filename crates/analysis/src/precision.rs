//! Decides when a point has enough rounds.

use groma_model::{Point, Round};
use groma_stats::{checkpoints, should_stop};

use crate::round_value::round_values;

/// Whether every metric of the point has the interval that the stopping rule wants:
/// docs/methods/statistics.md#stopping.
///
/// The rule looks at checkpoints only, by the number of rounds that brought a value: between them
/// it says no. Controls and raw loops (`detail`) are not asked, since no table shows them by
/// default, nor is a metric without any value, whose rounds would all be spent in vain, nor a value
/// of all rounds, which has no interval.
pub fn is_precise(point: &Point, rounds: &[Round]) -> bool {
    let asked = point.metrics.iter().filter(|metric| !metric.detail && !metric.derivation.takes_all_rounds());
    let mut values =
        asked.map(|metric| round_values(point, metric, rounds)).filter(|values| !values.is_empty()).peekable();
    values.peek().is_some()
        && values.all(|values| checkpoints().contains(&values.len()) && should_stop(&values, point.target_half_width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::point;
    use groma_model::{Derivation, Metric, Quantity, RoundOutput, RoundResult, Series};

    fn metric(series: &'static str, detail: bool) -> Metric {
        Metric {
            id: format!("a.b.{series}"),
            summary: String::new(),
            quantity: Quantity::Latency,
            better: Quantity::Latency.better(),
            derivation: Derivation::Series(series).owned(),
            detail,
        }
    }

    /// Rounds in which `steady` always states the same and `wild` something else each time.
    fn rounds(n: u32) -> Vec<Round> {
        let series = |name: &str, values: Vec<f64>| Series {
            name: name.to_owned(),
            iters: 1,
            per_iter: 1.0,
            values,
            ..Series::default()
        };
        let output = |round: u32| RoundOutput {
            series: vec![
                series("steady", vec![1.0]),
                series("wild", vec![f64::from(round + 1)]),
                series("none", vec![]),
            ],
            ..RoundOutput::default()
        };
        (0..n).map(|round| Round { round, result: RoundResult::ok(output(round)) }).collect()
    }

    #[test]
    fn every_metric_that_is_shown_has_to_be_precise() {
        let precise = |metrics: &[Metric], n: u32| is_precise(&point(metrics.to_vec()), &rounds(n));
        let (steady, wild, none) = (metric("steady", false), metric("wild", false), metric("none", false));
        let at = *checkpoints().last().expect("there are checkpoints") as u32;
        assert!(precise(std::slice::from_ref(&steady), at));
        assert!(!precise(std::slice::from_ref(&wild), at));
        // Not the first alone, in either order.
        assert!(!precise(&[steady.clone(), wild.clone()], at));
        assert!(!precise(&[wild.clone(), steady.clone()], at));
        // What no table shows by default is not waited for, nor what no round can bring.
        assert!(precise(&[steady.clone(), metric("wild", true)], at));
        assert!(precise(&[steady.clone(), none.clone()], at));
        assert!(!precise(&[none], at));
        // Nor what has no interval, however many rounds there are.
        let most = Metric { derivation: Derivation::Max("wild").owned(), ..metric("wild", false) };
        assert!(precise(&[steady.clone(), most], at));
        // Between checkpoints nobody looks.
        let between = (1..at).find(|n| !checkpoints().contains(&(*n as usize))).expect("there is a gap");
        assert!(!precise(&[steady], between));
    }
}
