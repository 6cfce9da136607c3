//! Rounds in, records out: the one function that turns samples into what every view shows.
//!
//! A live run and a run read back from the store go through it alike, so a new statistic needs no
//! new run. The unit of evidence is the round (a fresh process): each round gives one value, the
//! headline is their median, and the interval is that of the order statistics over rounds
//! (docs/methods/statistics.md#rounds). The comparison of two runs is not here.

use groma_model::{
    Derivation, Fact, Host, Label, LabelCounts, Metric, Point, Quantity, Reason, Record, Round, State, Timing,
};
use groma_stats::{headline, interference, median, order, sorted};

use crate::round_value::{Which, is_clean, main_series, round_value, round_values, sample_value};
use crate::verdict::{flags, verdict};
use crate::{merged, worker_group};

/// The records of a point: one for each metric that it reports, in its order.
pub fn summarise(point: &Point, rounds: &[Round], host: &Host) -> Vec<Record> {
    point.metrics.iter().map(|metric| record(point, metric, rounds, host)).collect()
}

/// The samples of a metric's series in all rounds that ended well.
pub(crate) struct Samples {
    /// Their values, by round.
    pub(crate) by_round: Vec<Vec<f64>>,
    /// Those of the undisturbed ones.
    pub(crate) clean_values: Vec<f64>,
    /// Undisturbed samples, and what was stated.
    pub(crate) clean: usize,
    /// All samples, and what was stated.
    pub(crate) taken: usize,
    /// What one step of the clock is in the shortest sample, relative to its value.
    pub(crate) finest_step: f64,
    /// Whether the metric is derived from the series, so that it has no samples of its own.
    pub(crate) derived: bool,
    /// How many samples have each label.
    labels: [u64; Label::ALL.len()],
    /// All values, sorted.
    pooled: Vec<f64>,
}

impl Samples {
    fn of(point: &Point, metric: &Metric, good: &[&Round], host: &Host) -> Samples {
        let mut all = Samples {
            by_round: Vec::new(),
            clean_values: Vec::new(),
            clean: 0,
            taken: 0,
            finest_step: 0.0,
            derived: !matches!(metric.derivation, Derivation::Series(_)),
            labels: [0; Label::ALL.len()],
            pooled: Vec::new(),
        };
        for round in good {
            let Some(series) = round.result.series(main_series(metric)) else { continue };
            let mut own = Vec::new();
            for sample in &series.samples {
                all.taken += 1;
                for (count, label) in all.labels.iter_mut().zip(Label::ALL) {
                    *count += u64::from(sample.labels.has(label));
                }
                let Some(value) = sample_value(metric.quantity, series, sample) else { continue };
                if is_clean(point, sample) {
                    all.clean += 1;
                    all.clean_values.push(value);
                }
                own.push(value);
                all.finest_step = all.finest_step.max(host.clock_step_ns / sample.elapsed_ns.max(1) as f64);
            }
            own.extend(&series.values);
            all.taken += series.values.len();
            all.clean += series.values.len();
            all.by_round.push(own);
        }
        all.pooled = sorted(&all.by_round.concat());
        all
    }

    /// The mean divided by the median; nothing for a derived metric.
    pub(crate) fn interference(&self) -> Option<f64> {
        if self.derived { None } else { interference(&self.pooled) }
    }

    fn quantile(&self, p: f64) -> Option<f64> {
        if self.derived { None } else { order::quantile_if_enough_sorted(&self.pooled, p) }
    }

    fn max(&self) -> Option<f64> {
        if self.derived { None } else { self.pooled.last().copied() }
    }

    fn labels(&self) -> LabelCounts {
        let counts = Label::ALL.into_iter().zip(self.labels).filter(|(_, n)| *n > 0);
        LabelCounts(counts.map(|(label, n)| (label.letter(), n)).collect())
    }
}

fn record(point: &Point, metric: &Metric, rounds: &[Round], host: &Host) -> Record {
    let good: Vec<&Round> = rounds.iter().filter(|r| r.result.state == State::Ok).collect();
    let values = round_values(point, metric, rounds);
    let head = headline(&values);
    let samples = Samples::of(point, metric, &good, host);
    let (state, reason) = verdict(metric, rounds, &values, head.as_ref(), &samples);
    let flags = flags(point, metric, &good, (&values, head.as_ref()), &samples, host);
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
        cycles: cycles(point, metric, &good),
        rounds: values.len() as u32,
        samples: samples.taken as u64,
        clean: samples.clean as u64,
        labels: samples.labels(),
        proofs: merged::proofs(rounds),
        round_values: values,
        flags: flags.iter().map(ToString::to_string).collect(),
        facts: facts(point, metric, &good),
        round_samples: None,
    }
}

/// Cycles of the core's clock for an operation, where the clock was probed beside it.
fn cycles(point: &Point, metric: &Metric, good: &[&Round]) -> Option<f64> {
    let timed = matches!(point.timing, Timing::Batched | Timing::Floor);
    if metric.quantity != Quantity::Latency || !timed || point.workers != 1 {
        return None;
    }
    let per_round = good
        .iter()
        .filter_map(|r| Some(round_value(point, metric, &r.result, Which::Clean)? * r.result.output.core_hz?));
    median(&per_round.collect::<Vec<_>>())
}

/// Facts of the rounds, and of a worker group what its members did together.
fn facts(point: &Point, metric: &Metric, good: &[&Round]) -> Vec<Fact> {
    let mut facts = merged::facts(good);
    if point.workers > 1 && metric.quantity == Quantity::Latency {
        let rates = good
            .iter()
            .filter_map(|r| worker_group::rate(&r.result, r.result.series(main_series(metric))?, Which::Clean));
        if let Some(rate) = median(&rates.collect::<Vec<_>>()) {
            facts.push(Fact::new("group.aggregate_per_s", rate));
        }
        facts.extend(worker_group::fairness(point, metric, good));
    }
    facts
}

#[cfg(test)]
mod tests;
