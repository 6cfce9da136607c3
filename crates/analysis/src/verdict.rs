//! The state of a metric, and the flags from the shape of its samples.

use groma_model::{
    AtOneClock, Derivation, Flag, Host, MIN_CLEAN_SAMPLES, Metric, Point, Quantity, Reason, Remark, Round, State,
    Timing,
};
use groma_stats::{Change, Headline, Modality, drift, interference, median, modality, quantised, split_between_rounds};

use crate::samples::{ROUNDS_FOR_INTERVAL, Samples};

/// With a smaller share of clean samples a metric is `noisy`: docs/methods/statistics.md#states.
const OK_SHARE: f64 = 0.5;
/// With a smaller share, or fewer clean samples than [`MIN_CLEAN_SAMPLES`] in total, it is
/// `unresolved`.
const NOISY_SHARE: f64 = 0.2;
/// A half-width beyond this fraction of the value makes a metric `noisy`, whatever its samples.
const MAX_HALF_WIDTH: f64 = 0.10;
/// A latency whose mean exceeds its median by more than this factor shared its CPU with other
/// tasks. The median of a blocking operation is then not that of an idle machine: a pipe round trip
/// next to 4 busy loops takes 1.3 to 1.5 times as long, at ratios of 1.5 and more
/// (docs/methods/statistics.md#contention).
const CONTENDED_RATIO: f64 = 1.5;
/// Reading the clock is flagged when it took more than this share of the time read: the correction
/// then makes the value uncertain by a percent or more.
const CLOCK_SHARE: f64 = 0.1;
/// Number of samples needed to call values quantised.
const QUANTISED_SAMPLES: usize = 9;

/// The state of a metric, and the reason when not `ok`. `values` are those of the rounds, `head` is
/// their summary.
pub(crate) fn verdict(
    point: &Point,
    metric: &Metric,
    rounds: &[Round],
    values: &[f64],
    (head, at_one_clock): (Option<&Headline>, Option<&AtOneClock>),
    samples: &Samples,
) -> (State, Option<Reason>) {
    if rounds.is_empty() {
        return (State::Unresolved, Some(Reason::NotReached));
    }
    // The worst state of any round decides: a crash in one of nine rounds is not averaged away.
    let bad = rounds.iter().filter(|r| r.result.state != State::Ok).max_by_key(|r| r.result.state);
    if let Some(worst) = bad {
        let same = rounds.iter().filter(|r| r.result.state == worst.result.state).count();
        let reason = worst.result.reason.clone();
        return (worst.result.state, Some(Reason::Rounds { same, of: rounds.len(), reason }));
    }
    let Some(head) = head else {
        // A search without an answer gives its reason in a remark, for one output or for all.
        let reason = |output: &str| rounds.iter().find_map(|r| r.result.output.unresolved(output));
        return match reason(metric.derivation.source()).or_else(|| reason("")) {
            Some(remark) => (State::Unresolved, Some(Reason::Unresolved(remark.clone()))),
            // Members took samples, but on a crowded machine one after the other.
            None if point.workers > 1 && samples.taken > 0 => (State::Unresolved, Some(Reason::NeverTogether)),
            None => (State::Failed, Some(missing_series(metric, rounds).unwrap_or(Reason::NoSamples))),
        };
    };
    let ci = head.interval.as_ref();
    if let (Derivation::Difference { .. }, Some(ci)) = (&metric.derivation, ci)
        && ci.low <= 0.0
        && ci.high >= 0.0
    {
        return (State::Unresolved, Some(Reason::NotDistinctFromZero));
    }
    // A busy sibling thread excludes samples; it does not degrade the remaining ones.
    let (clean, taken) = (samples.clean, samples.taken - samples.shared);
    let share = clean as f64 / taken.max(1) as f64;
    let all_clean = clean == taken;
    if !all_clean && (share < NOISY_SHARE || clean < MIN_CLEAN_SAMPLES) {
        return (State::Unresolved, Some(Reason::TooFewClean { clean, taken, mostly: samples.mostly(point.drops) }));
    }
    if share < OK_SHARE {
        return (State::Noisy, Some(Reason::FewClean { clean, taken }));
    }
    // A value over all rounds has no interval that could be wide.
    if metric.derivation.takes_all_rounds() {
        return (State::Ok, None);
    }
    // Count rounds with a value: some may be undetermined. Few rounds are no noise, and a flag
    // reports them; but a difference without an interval cannot be told from zero.
    if values.len() < ROUNDS_FOR_INTERVAL && matches!(metric.derivation, Derivation::Difference { .. }) {
        return (State::Noisy, Some(Reason::FewRounds { needed: ROUNDS_FOR_INTERVAL }));
    }
    // Without an interval take the whole range, which is also the interval of six rounds.
    let all = || values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    let (low, high) = ci.map_or_else(all, |ci| (ci.low, ci.high));
    let half_width = at_one_clock.map_or((high - low) / 2.0 / head.value.abs(), |at| at.half_width);
    if half_width > MAX_HALF_WIDTH {
        return (State::Noisy, Some(Reason::Wide { limit: MAX_HALF_WIDTH }));
    }
    (State::Ok, None)
}

/// The series of a metric that no round has, if the rounds have others.
fn missing_series(metric: &Metric, rounds: &[Round]) -> Option<Reason> {
    let there = || rounds.iter().flat_map(|round| &round.result.output.series);
    let missing = metric.derivation.sources().into_iter().find(|of| there().all(|series| series.name != **of))?;
    let mut names: Vec<String> = there().map(|series| series.name.clone()).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| Reason::NoSeries { wanted: missing.clone(), there: names })
}

/// The flags of a value.
pub(crate) fn flags(
    point: &Point,
    metric: &Metric,
    good: &[&Round],
    (values, (head, at_one_clock)): (&[f64], (Option<&Headline>, Option<&AtOneClock>)),
    samples: &Samples,
    host: &Host,
) -> Vec<Flag> {
    let mut flags = Vec::new();
    if let Some(width) = head.and_then(|h| h.relative_half_width)
        && width > point.target_half_width
    {
        flags.push(Flag::Imprecise { wanted: point.target_half_width });
    }
    flags.extend(at_one_clock.cloned().map(Flag::ClockMoved));
    if head.is_some() && !metric.derivation.takes_all_rounds() && values.len() < ROUNDS_FOR_INTERVAL {
        flags.push(Flag::FewRounds { rounds: values.len() });
    }
    if !samples.derived && point.workers == 1 {
        let value = head.map_or(0.0, |h| h.value);
        flags.extend(shape(&samples.clean_values, &samples.by_round, value * samples.finest_step));
    }
    for remark in [Remark::Unsteady, Remark::ShortInterval, Remark::Cache] {
        let rounds_with = good.iter().filter(|r| r.result.output.remarks.contains(&remark)).count();
        // Medians absorb one unsteady round of many.
        if rounds_with * 2 > good.len() {
            flags.extend(remark.flag().map(Flag::Remarked));
        }
    }
    // Stated values were not timed in intervals.
    if point.timing != Timing::Stated && !good.is_empty() && !host.timing_is_verified() {
        flags.push(Flag::TimingUnverified { error: host.proportionality });
    }
    if let Some(ratio) = contention(metric, samples).filter(|ratio| *ratio > CONTENDED_RATIO) {
        flags.push(Flag::Contended { ratio });
    }
    if let Some(share) = clock_share(metric, good).filter(|share| *share > CLOCK_SHARE) {
        flags.push(Flag::ClockCost { share });
    }
    let mut remarks = good.iter().flat_map(|r| &r.result.output.remarks);
    if let Some(left) = remarks.find(|remark| matches!(remark, Remark::LeftProcesses { .. })) {
        flags.push(Flag::LeftProcesses(left.clone()));
    }
    flags
}

/// The mean divided by the median of the samples behind a latency. For a difference these are the
/// samples of its loop, not of its control: the loop blocks, so its median shifts.
fn contention(metric: &Metric, samples: &Samples) -> Option<f64> {
    let of_a_median = matches!(metric.derivation, Derivation::Series(_) | Derivation::Difference { .. });
    if of_a_median && metric.quantity == Quantity::Latency { interference(&samples.pooled) } else { None }
}

/// The share of reading the clock in the time read, over the samples behind a metric.
fn clock_share(metric: &Metric, good: &[&Round]) -> Option<f64> {
    let of_round = |round: &&Round| {
        let series = round.result.series(metric.derivation.source())?;
        let times = series.samples.iter().map(|s| s.elapsed_ns as f64 / s.iters.max(1) as f64);
        Some(series.clock_ns / median(&times.collect::<Vec<_>>())?)
    };
    median(&good.iter().filter_map(of_round).collect::<Vec<_>>())
}

/// Flags from the shape of the samples: several modes, a drift, a coarse clock. `step` is a clock
/// step in the unit of the values.
fn shape(clean: &[f64], by_round: &[Vec<f64>], step: f64) -> Vec<Flag> {
    let mut flags = Vec::new();
    if let Modality::Several(modes) = modality(clean, step) {
        flags.push(Flag::Modes {
            between_rounds: split_between_rounds(by_round, &modes),
            modes: modes.iter().map(|m| (m.share, m.center)).collect(),
        });
    }
    if let Some(change) = drift::drift(by_round) {
        let part = |c: Option<Change>| c.map(|c| c.relative);
        if let Some(relative) = part(change.between_rounds).or(part(change.within_rounds)) {
            flags.push(Flag::Drift { relative });
        }
    }
    if clean.len() >= QUANTISED_SAMPLES && quantised(clean) && step > 0.0 {
        flags.push(Flag::Quantised);
    }
    flags
}
