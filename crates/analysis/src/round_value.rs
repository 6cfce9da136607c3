//! The value of one round, from the samples of a series or from a quotient or difference of two;
//! and the value of all rounds: their median, or a statistic over all of them.

use groma_model::{Derivation, Metric, Point, Quantity, Round, RoundResult, Sample, Series, State, Timing};
use groma_stats::{Headline, headline, median, order};

use crate::samples::{Which, is_of, point_with_labels, sample_value};
use crate::worker_group::rate;

/// The value of each round of a metric, in order, without rounds that have none. Stopping rules use
/// this.
///
/// A round without any clean sample is skipped while others have some; where none has, all samples
/// are used as they are, and the verdict says so.
pub fn round_values(point: &Point, metric: &Metric, rounds: &[Round]) -> Vec<f64> {
    values_of(&point_with_labels(point, metric, rounds), metric, rounds)
}

/// As [`round_values`], with `None` for rounds without a value.
pub fn values_by_round(point: &Point, metric: &Metric, rounds: &[Round]) -> Vec<Option<f64>> {
    by_round(&point_with_labels(point, metric, rounds), metric, rounds)
}

/// As [`round_values`], for a point whose dropping labels are already settled.
pub(crate) fn values_of(point: &Point, metric: &Metric, rounds: &[Round]) -> Vec<f64> {
    by_round(point, metric, rounds).into_iter().flatten().collect()
}

fn by_round(point: &Point, metric: &Metric, rounds: &[Round]) -> Vec<Option<f64>> {
    let values = |which| rounds.iter().map(|r| round_value(point, metric, &r.result, which)).collect();
    let clean: Vec<Option<f64>> = values(Which::Clean);
    if clean.iter().all(Option::is_none) { values(Which::All) } else { clean }
}

/// The headline of a metric: the median of its rounds with its interval, or a value over all
/// rounds, which has none (docs/methods/statistics.md#values-of-all-rounds).
pub(crate) fn head(point: &Point, metric: &Metric, rounds: &[Round], values: &[f64]) -> Option<Headline> {
    let value = match &metric.derivation {
        Derivation::Max(_) => values.iter().copied().reduce(f64::max)?,
        Derivation::Totals { of, to } => {
            let good = || rounds.iter().filter(|r| r.result.state == State::Ok);
            let total = |name: &str| good().filter_map(|r| sum(point, metric, &r.result, name)).sum::<f64>();
            total(of) / total(to)
        }
        _ => return headline(values),
    };
    value.is_finite().then_some(Headline { value, interval: None, display: None, relative_half_width: None })
}

/// The sum of a series in one round.
fn sum(point: &Point, metric: &Metric, result: &RoundResult, name: &str) -> Option<f64> {
    Some(all_values(point, metric.quantity, result.series(name)?, Which::All).iter().sum())
}

/// The stated values of a series, or those of its samples that count.
fn all_values(point: &Point, quantity: Quantity, series: &Series, which: Which) -> Vec<f64> {
    if !series.values.is_empty() {
        return if is_of(which, point, series.value_labels) { series.values.clone() } else { Vec::new() };
    }
    let value = |s: &Sample| sample_value(quantity, series, s);
    let counts = |s: &&Sample| is_of(which, point, s.labels);
    series.samples.iter().filter(counts).filter_map(value).collect()
}

/// The value of a series in one round.
fn series_value(point: &Point, quantity: Quantity, result: &RoundResult, series: &Series, which: Which) -> Option<f64> {
    if !series.values.is_empty() {
        return median(&all_values(point, quantity, series, which));
    }
    let is_rate = quantity.is_rate();
    if is_rate && (point.workers > 1 || !series.spans.is_empty()) {
        return rate(result, series, which);
    }
    let values = all_values(point, quantity, series, which);
    match (point.timing, is_rate) {
        // Noise can only slow this down: take the fast tenth of the samples.
        (Timing::Floor, false) => order::quantile(&values, 0.1),
        (Timing::Floor, true) => order::quantile(&values, 0.9),
        _ => median(&values),
    }
}

/// The value of a metric in one round; `None` where the round did not end well or has no sample
/// that counts.
pub(crate) fn round_value(point: &Point, metric: &Metric, result: &RoundResult, which: Which) -> Option<f64> {
    if result.state != State::Ok {
        return None;
    }
    let value = |name: &str| series_value(point, metric.quantity, result, result.series(name)?, which);
    match &metric.derivation {
        Derivation::Series(name) => value(name),
        Derivation::Difference { of, minus, per } => Some((value(of)? - value(minus)?) / per),
        Derivation::Ratio { of, to } => Some(value(of)? / value(to)?),
        Derivation::Scaled { of, by } => {
            let factor: f64 = result.fact(by)?.parse().ok()?;
            Some(value(of)? * factor)
        }
        Derivation::Max(name) => {
            all_values(point, metric.quantity, result.series(name)?, Which::All).into_iter().reduce(f64::max)
        }
        Derivation::Totals { of, to } => {
            let share = sum(point, metric, result, of)? / sum(point, metric, result, to)?;
            share.is_finite().then_some(share)
        }
    }
}
