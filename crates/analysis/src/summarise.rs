//! Rounds in, records out: the one function that turns samples into what every view shows.
//!
//! A live run and a stored one go through it alike, so a new statistic needs no new run. The unit
//! of evidence is the round (a fresh process): each round gives one value, the headline is their
//! median, and its interval comes from the order statistics over rounds
//! (docs/methods/statistics.md#rounds). Comparing two runs is not done here.

use groma_model::{Fact, Flag, Host, Label, Metric, Point, Quantity, Reason, Record, Round, SharedCore, State, Timing};
use groma_stats::median;

use crate::one_clock::{at_one_clock, by_clock};
use crate::round_value::{head, round_value, values_of};
use crate::samples::{Samples, Which, point_with_labels, suffices};
use crate::verdict::{flags, verdict};
use crate::{merged, worker_group};

/// The records of a point: one for each metric it reports, in order.
pub fn summarise(point: &Point, rounds: &[Round], host: &Host) -> Vec<Record> {
    point.metrics.iter().map(|metric| record(point, metric, rounds, host, true)).collect()
}

/// As [`summarise`], for selected metrics and without flags: for a history of hundreds of runs.
/// Testing for drift takes longer than everything else together.
pub fn summarise_values(point: &Point, rounds: &[Round], host: &Host, wanted: impl Fn(&Metric) -> bool) -> Vec<Record> {
    let wanted = point.metrics.iter().filter(|metric| wanted(metric));
    wanted.map(|metric| record(point, metric, rounds, host, false)).collect()
}

fn record(point: &Point, metric: &Metric, rounds: &[Round], host: &Host, with_flags: bool) -> Record {
    let good: Vec<&Round> = rounds.iter().filter(|r| r.result.state == State::Ok).collect();
    let defined = point;
    let point = &*point_with_labels(defined, metric, rounds);
    let values = values_of(point, metric, rounds);
    let head = head(point, metric, rounds, &values);
    let samples = Samples::of(point, metric, &good, host);
    let by_clock = by_clock(point, metric, rounds);
    let at_one_clock = at_one_clock(metric, &by_clock, (&values, head.as_ref()));
    let precision = (head.as_ref(), at_one_clock.as_ref());
    let (state, reason) = verdict(point, metric, rounds, &values, precision, &samples);
    let shared = shared_core(defined, metric, &good, &samples);
    let mut found = Vec::new();
    if with_flags {
        found = flags(point, metric, &good, (&values, precision), &samples, host);
    }
    if let Some(shared) = shared.as_ref().filter(|_| point.drops != defined.drops) {
        found.push(Flag::SharedCore { share: shared.share });
    }
    Record {
        id: metric.id.clone(),
        version: point.version,
        summary: metric.summary.clone(),
        params: point.params.clone(),
        params_text: point.params_text.clone(),
        placement: point.placement.clone(),
        workers: point.workers,
        worker_kind: point.worker_kind,
        state,
        reason: reason.as_ref().map(Reason::to_string).unwrap_or_default(),
        quantity: metric.quantity,
        unit: metric.quantity.unit(),
        better: metric.better,
        timing: point.timing,
        detail: metric.detail,
        value: head.as_ref().map(|h| h.value),
        ci: head.as_ref().and_then(|h| h.interval).map(|i| [i.low, i.high]),
        ci_display: head.as_ref().and_then(|h| h.display).map(|i| [i.low, i.high]),
        p10: samples.quantile(0.1),
        p50: samples.quantile(0.5),
        p90: samples.quantile(0.9),
        p99: samples.quantile(0.99),
        max: samples.max(),
        interference: samples.interference(),
        cycles: cycles(point, metric, &by_clock),
        at_one_clock,
        rounds: values.len() as u32,
        samples: samples.taken as u64,
        clean: samples.clean as u64,
        labels: samples.labels(),
        shared,
        proofs: merged::proofs(rounds),
        round_values: values,
        flags: found.iter().map(ToString::to_string).collect(),
        facts: facts(point, metric, &good),
        round_samples: None,
    }
}

/// The metric's value next to a busy sibling thread; `None` without such samples. `point` is as the
/// benchmark defines it.
fn shared_core(point: &Point, metric: &Metric, good: &[&Round], samples: &Samples) -> Option<SharedCore> {
    let labelled = samples.count_labelled(Label::Shared);
    if labelled == 0 || !point.drops.has(Label::Shared) {
        return None;
    }
    let values: Vec<f64> = good
        .iter()
        .filter(|round| suffices(Which::Shared, point, metric, round))
        .filter_map(|round| round_value(point, metric, &round.result, Which::Shared))
        .collect();
    let share = labelled as f64 / samples.taken.max(1) as f64;
    Some(SharedCore { value: median(&values), share, round_values: values })
}

/// Core clock cycles per operation, where the clock was probed next to it.
fn cycles(point: &Point, metric: &Metric, by_clock: &[(f64, f64)]) -> Option<f64> {
    let timed = matches!(point.timing, Timing::Batched | Timing::Floor);
    if metric.quantity != Quantity::Latency || !timed || point.workers != 1 {
        return None;
    }
    median(&by_clock.iter().map(|(cycles, _)| *cycles).collect::<Vec<_>>())
}

/// Facts of the rounds, and for a worker group how evenly its members ran.
fn facts(point: &Point, metric: &Metric, good: &[&Round]) -> Vec<Fact> {
    let mut facts = merged::facts(good);
    if point.workers > 1 && metric.quantity == Quantity::Latency {
        let rates = good
            .iter()
            .filter_map(|r| worker_group::rate(&r.result, r.result.series(metric.derivation.source())?, Which::Clean));
        if let Some(rate) = median(&rates.collect::<Vec<_>>()) {
            facts.push(Fact::new("group.aggregate_per_s", rate));
        }
        facts.extend(worker_group::fairness(point, metric, good));
    }
    facts
}

#[cfg(test)]
mod tests;
