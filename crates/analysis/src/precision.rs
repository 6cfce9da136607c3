//! The precision of a point so far, and whether it has enough rounds.

use groma_model::{Metric, Point, Round};
use groma_stats::{checkpoints, should_stop};

use crate::one_clock::{at_one_clock, by_clock};
use crate::round_value::{head, round_values, values_of};
use crate::samples::point_with_labels;

/// The metrics that decide how many rounds a point needs. Controls and raw loops (`detail`) do not,
/// since no table shows them by default; nor do values of all rounds, which have no interval.
fn deciding_metrics(point: &Point) -> impl Iterator<Item = &Metric> {
    point.metrics.iter().filter(|metric| !metric.detail && !metric.derivation.takes_all_rounds())
}

/// Whether every metric of the point is as precise as the stopping rule requires:
/// docs/methods/statistics.md#stopping.
///
/// The rule only looks at checkpoints, counted in rounds with a value; in between it says no. A
/// metric without any value is skipped, since more rounds would not help it.
pub fn is_precise(point: &Point, rounds: &[Round]) -> bool {
    let mut values = deciding_metrics(point)
        .map(|metric| round_values(point, metric, rounds))
        .filter(|values| !values.is_empty())
        .peekable();
    values.peek().is_some()
        && values.all(|values| checkpoints().contains(&values.len()) && should_stop(&values, point.target_half_width))
}

/// The half-width of the point's widest interval as a fraction of its value, at one clock where
/// that explains the spread; `None` with too few rounds for an interval.
pub fn half_width(point: &Point, rounds: &[Round]) -> Option<f64> {
    let of = |metric: &Metric| {
        let point = &*point_with_labels(point, metric, rounds);
        let values = values_of(point, metric, rounds);
        let head = head(point, metric, rounds, &values);
        let at = at_one_clock(metric, &by_clock(point, metric, rounds), (&values, head.as_ref()));
        at.map(|at| at.half_width).or(head?.relative_half_width)
    };
    deciding_metrics(point).filter_map(of).reduce(f64::max)
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

    /// Rounds in which `steady` always states the same value and `wild` a different one each time.
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
    fn every_displayed_metric_must_be_precise() {
        let precise = |metrics: &[Metric], n: u32| is_precise(&point(metrics.to_vec()), &rounds(n));
        let (steady, wild, none) = (metric("steady", false), metric("wild", false), metric("none", false));
        let at = *checkpoints().last().expect("there are checkpoints") as u32;
        assert!(precise(std::slice::from_ref(&steady), at));
        assert!(!precise(std::slice::from_ref(&wild), at));
        // Both must be, in either order.
        assert!(!precise(&[steady.clone(), wild.clone()], at));
        assert!(!precise(&[wild.clone(), steady.clone()], at));
        // Metrics that no table shows by default are not waited for, nor those that no round can
        // provide.
        assert!(precise(&[steady.clone(), metric("wild", true)], at));
        assert!(precise(&[steady.clone(), none.clone()], at));
        assert!(!precise(&[none], at));
        // Nor those without an interval, however many rounds there are.
        let most = Metric { derivation: Derivation::Max("wild").owned(), ..metric("wild", false) };
        assert!(precise(&[steady.clone(), most], at));
        // Between checkpoints the rule says no.
        let between = (1..at).find(|n| !checkpoints().contains(&(*n as usize))).expect("there is a gap");
        assert!(!precise(&[steady], between));
    }

    #[test]
    fn the_precision_of_a_point_is_its_widest_displayed_interval() {
        let width = |metrics: &[Metric], n: u32| half_width(&point(metrics.to_vec()), &rounds(n));
        let (steady, wild) = (metric("steady", false), metric("wild", false));
        assert_eq!(width(std::slice::from_ref(&steady), 6), Some(0.0));
        // 1 to 6, around 3.5.
        for both in [[steady.clone(), wild.clone()], [wild.clone(), steady.clone()]] {
            assert_eq!(width(&both, 6), Some(2.5 / 3.5));
        }
        assert_eq!(width(&[steady, metric("wild", true)], 6), Some(0.0));
        assert_eq!(width(&[wild], 5), None, "five rounds have no interval");
    }

    #[test]
    fn a_spread_explained_by_the_clock_is_measured_at_one_clock() {
        let metric = Metric { quantity: Quantity::Latency, ..metric("wild", false) };
        let mut rounds = rounds(6);
        // The same number of cycles in each.
        for round in &mut rounds {
            round.result.output.core_hz = Some(3e9 / f64::from(round.round + 1));
        }
        let width = half_width(&point(vec![metric]), &rounds).expect("an interval");
        assert!(width < 1e-9, "{width}");
    }
}
