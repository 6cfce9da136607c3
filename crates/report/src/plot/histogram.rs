//! The distribution of one metric's raw samples, with its headline and its modes.

use groma_analysis::sample_value;
use groma_model::{Flag, Labels, Quantity, Record, Round, RunHeader, Sample, Series};
use groma_stats::Bin;

use super::axis::{Axis, Growth};
use super::{Bar, Chart, Field, Mark, Plane, Source, runs};
use crate::point::name;
use crate::units::{self, Scale};

/// Bins of a histogram: as many as fit on a terminal, and the same in a picture.
const BARS: usize = 24;

/// The distribution of one metric's raw samples, by the time, rate or value of each. It covers the
/// undisturbed samples, except for the outermost half percent at either end, and the headline with
/// its interval; the rest is counted. Samples with a label in `drops` are disturbed: they are not
/// in the headline.
///
/// # Errors
/// If the record lacks its samples, or has too few.
pub fn histogram<'r>(run: &RunHeader, record: &'r Record, drops: Labels) -> Result<Chart, String> {
    let what = name(record);
    let Some(rounds) = &record.round_samples else { return Err(format!("the raw samples of {what} were not kept")) };
    let main = |series: &&Series| series.name.is_empty();
    let of_round = |round: &'r Round| {
        let all = &round.result.output.series;
        all.iter().find(main).or(all.first())
    };
    let series: Vec<&Series> = rounds.iter().filter_map(of_round).collect();
    let Distribution { bars, ends: [low, high], samples, labelled, below, beyond, largest } =
        distribution(&series, record.quantity, drops)
            .map_err(|samples| format!("{what} has {samples} samples, too few or too equal for a distribution"))?;
    let scale = Scale::of(record);
    let marks = marks(record, scale);
    let band = record.ci_display;
    let most = bars.iter().map(|b| b.clean + b.labelled).max().unwrap_or(0) as f64;
    // The headline may lie outside the body if most samples were disturbed.
    let positive = |v: &f64| v.is_finite() && *v > 0.0;
    let headline = marks.iter().map(|mark| mark.x).chain(band.into_iter().flatten()).filter(positive);
    let reach: Vec<f64> = [low, high].into_iter().chain(headline).collect();
    let x = Axis::over(&reach, Growth::of(&reach), scale).named(record.quantity.word());
    // Their names are above the bars.
    let headroom = 1.0 + 0.06 * marks.len() as f64;
    let y = Axis::values(&[0.0, most * headroom], Growth::Even, Scale::Count, 1.0).named("samples");
    Ok(Chart {
        title: record.summary.clone(),
        sources: runs::lines(&[Source { run, called: "", records: Vec::new() }]),
        about: format!(
            "{what}: {samples} samples of {} rounds, {labelled} disturbed; {below} lie below and {beyond} beyond, up to {}",
            rounds.len(),
            units::value(largest, scale, None),
        ),
        field: Field::Plane(Plane { bars, marks, band, ..Plane::new(x, y) }),
    })
}

/// The binned samples of a metric.
pub(crate) struct Distribution {
    pub(crate) bars: Vec<Bar>,
    /// The range of the bars.
    pub(crate) ends: [f64; 2],
    pub(crate) samples: usize,
    /// Samples with a label that excludes them from the headline.
    pub(crate) labelled: usize,
    pub(crate) below: usize,
    pub(crate) beyond: usize,
    pub(crate) largest: f64,
}

/// Bins the samples of these series, without the outermost half percent of the undisturbed ones at
/// either end. If a twentieth of all samples lies above, the range is extended to at most twice the
/// upper end: that is a second mode next to a busy sibling thread, not a tail of preemptions.
///
/// # Errors
/// The number of samples, if they are too few or too equal.
pub(crate) fn distribution(series: &[&Series], quantity: Quantity, drops: Labels) -> Result<Distribution, usize> {
    let all: Vec<(f64, bool)> = series
        .iter()
        .flat_map(|series| samples(series, quantity, drops))
        .filter(|(value, _)| value.is_finite() && *value > 0.0)
        .collect();
    let values: Vec<f64> = all.iter().map(|v| v.0).collect();
    // The body matters: a tail of disturbed samples would compress it into one bar.
    let clean: Vec<f64> = all.iter().filter(|(_, labelled)| !labelled).map(|v| v.0).collect();
    let body = if clean.len() >= 10 { &clean } else { &values };
    let ends = groma_stats::quantile(body, 0.005).zip(groma_stats::quantile(body, 0.995));
    let end = |high: f64| groma_stats::quantile(&values, 0.95).map_or(high, |all| all.clamp(high, 2.0 * high));
    let ends = ends.map(|(low, high)| (low, end(high)));
    let Some((low, high)) = ends.filter(|(low, high)| values.len() >= 10 && low < high) else {
        return Err(values.len());
    };
    let drawn: Vec<f64> = values.iter().copied().filter(|v| (low..=high).contains(v)).collect();
    let bins = groma_stats::log_histogram(&drawn, BARS.min(drawn.len() / 3).max(3));
    let last = bins.len().saturating_sub(1);
    let bar = |(i, bin): (usize, &Bin)| {
        let held = |v: f64| v >= bin.low && (v < bin.high || i == last && v <= bin.high);
        let labelled = all.iter().filter(|(v, labelled)| *labelled && held(*v)).count();
        Bar { low: bin.low, high: bin.high, clean: bin.count.saturating_sub(labelled), labelled }
    };
    Ok(Distribution {
        bars: bins.iter().enumerate().map(bar).collect(),
        ends: [low, high],
        samples: values.len(),
        labelled: all.iter().filter(|(_, labelled)| *labelled).count(),
        below: values.iter().filter(|v| **v < low).count(),
        beyond: values.iter().filter(|v| **v > high).count(),
        largest: values.iter().copied().fold(0.0, f64::max),
    })
}

/// The headline, and the modes in a flag of the record.
fn marks(record: &Record, scale: Scale) -> Vec<Mark> {
    let interval = units::interval(record).map(|half| format!(" ± {half}")).unwrap_or_default();
    let headline = |x| Mark { x, label: format!("headline {}{interval}", units::headline(record).unwrap_or_default()) };
    let modes = record.flags.iter().find_map(|flag| Flag::modes_of(flag)).unwrap_or_default();
    let mode = |(share, x): &(f64, f64)| Mark {
        x: *x,
        label: format!("mode {}, {}", units::value(*x, scale, None), units::percent(*share)),
    };
    record.value.filter(|v| v.is_finite()).map(headline).into_iter().chain(modes.iter().map(mode)).collect()
}

/// The value of each sample, in the unit of the quantity, and whether a label drops it.
fn samples(series: &Series, quantity: Quantity, drops: Labels) -> Vec<(f64, bool)> {
    let value = |s: &Sample| Some((sample_value(quantity, series, s)?, s.labels.meets(drops)));
    let sampled = series.samples.iter().filter_map(value);
    sampled.chain(series.values.iter().map(|v| (*v, false))).collect()
}
