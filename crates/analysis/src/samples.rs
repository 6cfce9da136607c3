//! The samples of a metric: which of them count, and what each is worth.

use groma_model::{Derivation, Host, Label, LabelCounts, Metric, Point, Quantity, Round, Sample, Series};
use groma_stats::{interference, order, sorted};

/// Which samples make a value.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Which {
    /// Those without a label that drops them.
    Clean,
    /// All: kept, never compared.
    All,
    /// Those that would be clean but for a busy sibling thread.
    Shared,
}

/// Whether the sample is one of these.
pub(crate) fn is_of(which: Which, point: &Point, sample: &Sample) -> bool {
    match which {
        Which::Clean => is_clean(point, sample),
        Which::All => true,
        Which::Shared => sample.labels.has(Label::Shared) && !sample.labels.meets(point.drops.without(Label::Shared)),
    }
}

/// How many of these samples a metric has in a round.
pub(crate) fn number_of(which: Which, point: &Point, metric: &Metric, round: &Round) -> usize {
    let series = round.result.series(metric.derivation.source());
    series.map_or(0, |series| series.samples.iter().filter(|sample| is_of(which, point, sample)).count())
}

/// Whether the sample counts for the headline.
pub(crate) fn is_clean(point: &Point, sample: &Sample) -> bool {
    !sample.labels.meets(point.drops)
}

/// The value of one sample in SI units, without what reading the clock added; `None` when the clock
/// did not move or nothing was done.
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
    /// Those of the undisturbed ones.
    pub(crate) clean_values: Vec<f64>,
    /// Undisturbed samples, and what was stated.
    pub(crate) clean: usize,
    /// All samples, and what was stated.
    pub(crate) taken: usize,
    /// Those that are not clean for nothing but a busy sibling thread.
    pub(crate) shared: usize,
    /// What one step of the clock is in the shortest sample, relative to its value.
    pub(crate) finest_step: f64,
    /// Whether the metric is derived from the series, so that it has no samples of its own.
    pub(crate) derived: bool,
    /// How many samples have each label.
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
            for sample in &series.samples {
                all.taken += 1;
                all.shared += usize::from(!is_clean(point, sample) && is_of(Which::Shared, point, sample));
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

    pub(crate) fn quantile(&self, p: f64) -> Option<f64> {
        if self.derived { None } else { order::quantile_if_enough_sorted(&self.pooled, p) }
    }

    pub(crate) fn max(&self) -> Option<f64> {
        if self.derived { None } else { self.pooled.last().copied() }
    }

    /// How many samples have this label.
    pub(crate) fn labelled(&self, label: Label) -> u64 {
        Label::ALL.into_iter().zip(self.labels).find(|(any, _)| *any == label).map_or(0, |(_, n)| n)
    }

    pub(crate) fn labels(&self) -> LabelCounts {
        let counts = Label::ALL.into_iter().zip(self.labels).filter(|(_, n)| *n > 0);
        LabelCounts(counts.map(|(label, n)| (label.letter(), n)).collect())
    }
}
