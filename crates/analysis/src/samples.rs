//! The samples of a metric: which ones count, and their values.
//!
//! Samples next to a busy sibling thread are left out of the headline if enough rounds had the core
//! to themselves; otherwise all count, and a flag says so (docs/methods/neighbour.md#headline).

use groma_model::{
    Derivation, Host, Label, LabelCounts, Labels, Metric, Point, Quantity, Round, Sample, Series, State, Timing,
};
use groma_stats::{interference, order, sorted};
use std::borrow::Cow;

/// A 95 % interval needs this many rounds.
pub(crate) const ROUNDS_FOR_INTERVAL: usize = 6;

/// A selection of samples.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Which {
    /// Those without a label that drops them.
    Clean,
    /// All; such values are never compared.
    All,
    /// Those that only a busy sibling thread makes unclean.
    Shared,
}

/// Whether a sample, or a stated value, with these labels belongs to the selection.
pub(crate) fn is_of(which: Which, point: &Point, labels: Labels) -> bool {
    match which {
        Which::Clean => !labels.meets(point.drops),
        Which::All => true,
        Which::Shared => labels.has(Label::Shared) && !labels.meets(point.drops.without(Label::Shared)),
    }
}

/// Number of samples, or of stated values, in the selection for a metric in a round.
fn number_of(which: Which, point: &Point, metric: &Metric, round: &Round) -> usize {
    let Some(series) = round.result.series(metric.derivation.source()) else { return 0 };
    let stated = if is_of(which, point, series.value_labels) { series.values.len() } else { 0 };
    stated + series.samples.iter().filter(|sample| is_of(which, point, sample.labels)).count()
}

/// Whether the selection gives a metric a value in a round: of samples it takes three.
pub(crate) fn suffices(which: Which, point: &Point, metric: &Metric, round: &Round) -> bool {
    let is_stated = |series: &Series| !series.values.is_empty();
    let fewest = if round.result.series(metric.derivation.source()).is_some_and(is_stated) { 1 } else { 3 };
    number_of(which, point, metric, round) >= fewest
}

/// The labels that exclude a sample of this metric in these rounds.
pub fn drops(point: &Point, metric: &Metric, rounds: &[Round]) -> Labels {
    point_with_labels(point, metric, rounds).drops
}

/// The point with the labels that exclude a sample of this metric: the benchmark's, without
/// `Shared` where too few rounds had the core to themselves. One is enough for what is stated: its
/// search has asked again, and an average with what siblings leave is neither.
pub(crate) fn point_with_labels<'p>(point: &'p Point, metric: &Metric, rounds: &[Round]) -> Cow<'p, Point> {
    if !point.drops.has(Label::Shared) {
        return Cow::Borrowed(point);
    }
    let good = || rounds.iter().filter(|round| round.result.state == State::Ok);
    if good().all(|round| number_of(Which::Shared, point, metric, round) == 0) {
        return Cow::Borrowed(point);
    }
    let own = good().filter(|round| suffices(Which::Clean, point, metric, round)).count();
    let enough = if point.timing == Timing::Stated { 1 } else { ROUNDS_FOR_INTERVAL };
    if own >= enough.min(good().count()) {
        return Cow::Borrowed(point);
    }
    Cow::Owned(Point { drops: point.drops.without(Label::Shared), ..point.clone() })
}

/// The number of rounds that count for all asked metrics of a point, beside those that only had
/// samples next to a busy sibling thread: an interval needs rounds of the first kind.
pub fn rounds_of_own(point: &Point, rounds: &[Round]) -> usize {
    let is_own = |round: &&Round| {
        let asked = point.metrics.iter().filter(|metric| !metric.detail);
        asked.clone().all(|metric| {
            number_of(Which::Shared, point, metric, round) == 0 || suffices(Which::Clean, point, metric, round)
        })
    };
    rounds.iter().filter(is_own).count()
}

/// The value of one sample in SI units, with the cost of reading the clock subtracted; `None` where
/// the clock did not advance or no work was done.
pub fn sample_value(quantity: Quantity, series: &Series, sample: &Sample) -> Option<f64> {
    let seconds = (sample.elapsed_ns as f64 - series.clock_ns * sample.iters as f64) * 1e-9;
    let done = sample.iters as f64 * series.per_iter;
    let value = if quantity.is_rate() { done / seconds } else { seconds / done };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The samples of a metric's series in all rounds that ended well.
pub(crate) struct Samples {
    /// Their values, by round.
    pub(crate) by_round: Vec<Vec<f64>>,
    /// Those of the clean samples.
    pub(crate) clean_values: Vec<f64>,
    /// Clean samples and stated values.
    pub(crate) clean: usize,
    /// All samples and stated values.
    pub(crate) taken: usize,
    /// Those of them that are unclean only because of a busy sibling thread.
    pub(crate) shared: usize,
    /// One clock step relative to the shortest sample.
    pub(crate) finest_step: f64,
    /// Whether the metric is derived, so that it has no samples of its own.
    pub(crate) derived: bool,
    /// Number of samples with each label.
    pub(crate) labels: [u64; Label::ALL.len()],
    /// All values, sorted.
    pub(crate) pooled: Vec<f64>,
}

impl Samples {
    pub(crate) fn of(point: &Point, metric: &Metric, good: &[&Round], host: &Host) -> Samples {
        let mut all = Samples {
            by_round: Vec::new(),
            clean_values: Vec::new(),
            clean: 0,
            taken: 0,
            shared: 0,
            finest_step: 0.0,
            derived: !matches!(metric.derivation, Derivation::Series(_)),
            labels: [0; Label::ALL.len()],
            pooled: Vec::new(),
        };
        for round in good {
            let Some(series) = round.result.series(metric.derivation.source()) else { continue };
            let mut own = Vec::new();
            let stated = vec![series.value_labels; series.values.len()];
            for labels in series.samples.iter().map(|sample| sample.labels).chain(stated) {
                all.taken += 1;
                let is_clean = is_of(Which::Clean, point, labels);
                all.shared += usize::from(!is_clean && is_of(Which::Shared, point, labels));
                for (count, label) in all.labels.iter_mut().zip(Label::ALL) {
                    *count += u64::from(labels.has(label));
                }
            }
            for sample in &series.samples {
                let Some(value) = sample_value(metric.quantity, series, sample) else { continue };
                if is_of(Which::Clean, point, sample.labels) {
                    all.clean += 1;
                    all.clean_values.push(value);
                }
                own.push(value);
                all.finest_step = all.finest_step.max(host.clock_step_ns / sample.elapsed_ns.max(1) as f64);
            }
            own.extend(&series.values);
            if is_of(Which::Clean, point, series.value_labels) {
                all.clean += series.values.len();
            }
            all.by_round.push(own);
        }
        all.pooled = sorted(&all.by_round.concat());
        all
    }

    /// The mean divided by the median; `None` for a derived metric.
    pub(crate) fn interference(&self) -> Option<f64> {
        if self.derived { None } else { interference(&self.pooled) }
    }

    pub(crate) fn quantile(&self, p: f64) -> Option<f64> {
        if self.derived { None } else { order::quantile_if_enough_sorted(&self.pooled, p) }
    }

    pub(crate) fn max(&self) -> Option<f64> {
        if self.derived { None } else { self.pooled.last().copied() }
    }

    /// Number of samples with this label.
    pub(crate) fn count_labelled(&self, label: Label) -> u64 {
        Label::ALL.into_iter().zip(self.labels).find(|(any, _)| *any == label).map_or(0, |(_, n)| n)
    }

    /// The label of these that the most samples have, if more than half of all have it. A busy
    /// sibling thread is not among them: its samples are left out of the count.
    pub(crate) fn mostly(&self, of: Labels) -> Option<(Label, u64)> {
        let of = of.without(Label::Shared);
        let counts = Label::ALL.into_iter().zip(self.labels).filter(|(label, _)| of.has(*label));
        counts.max_by_key(|(_, n)| *n).filter(|(_, n)| n * 2 > (self.taken - self.shared) as u64)
    }

    pub(crate) fn labels(&self) -> LabelCounts {
        let counts = Label::ALL.into_iter().zip(self.labels).filter(|(_, n)| *n > 0);
        LabelCounts(counts.map(|(label, n)| (label.letter(), n)).collect())
    }
}
