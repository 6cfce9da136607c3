//! The combined rate of a worker group, and how evenly its members ran.

use groma_model::{Fact, Label, Labels, Metric, Point, Round, RoundResult, Series};
use groma_stats::{median, sorted};
use std::collections::BTreeMap;

use crate::samples::{Which, is_of, sample_value};

/// Labels that exclude samples from the rate of a worker group. Waiting for a CPU (`P` and others)
/// is part of it.
const NOT_IN_RATE: Labels = Labels::of(&[Label::Clock, Label::Overlap]);

/// A stretch of a member's time: its start, its end, its iterations, and whether it counts.
struct Stretch {
    worker: u32,
    from: u64,
    to: u64,
    iters: u64,
    counts: bool,
}

/// Everything the members did for a series. Rounds stored by earlier versions have no spans; there
/// a sample is taken to end where its timed parts would without pauses.
fn all_of(series: &Series, counts: impl Fn(Labels) -> bool) -> Vec<Stretch> {
    // Data from a store may hold any number: sums saturate.
    let stretch = |worker, from: u64, length, iters, labels| Stretch {
        worker,
        from,
        to: from.saturating_add(length),
        iters,
        counts: counts(labels),
    };
    if series.spans.is_empty() {
        series.samples.iter().map(|s| stretch(s.worker, s.t0_ns, s.elapsed_ns, s.iters, s.labels)).collect()
    } else {
        series.spans.iter().map(|s| stretch(s.worker, s.t0_ns, s.wall_ns, s.iters, s.labels)).collect()
    }
}

/// The combined rate of a worker group: the iterations of all members while every one of them was
/// measuring this series, divided by the length of that window on the clock, timed or not.
/// Stretches that only partly overlap the window count in proportion.
pub(crate) fn rate(result: &RoundResult, series: &Series, which: Which) -> Option<f64> {
    let counts = |labels: Labels| which == Which::All || !labels.meets(NOT_IN_RATE);
    let mut members: BTreeMap<u32, Vec<(u64, u64, bool)>> = BTreeMap::new();
    for any in &result.output.series {
        let is_own = std::ptr::eq(any, series);
        for s in all_of(any, counts) {
            members.entry(s.worker).or_default().push((s.from, s.to, is_own && s.counts));
        }
    }
    if !members.keys().copied().eq(0..members.len() as u32) {
        return None;
    }
    let common = members.into_values().map(stretches).reduce(|a, b| intersection(&a, &b))?;
    // The length of the common window up to the end of each stretch.
    let mut total = 0u64;
    let lengths: Vec<u64> = common
        .iter()
        .map(|(from, to)| {
            total = total.saturating_add(to - from);
            total
        })
        .collect();
    let before = |t: u64| {
        let at = common.partition_point(|(_, to)| *to <= t);
        let whole = if at == 0 { 0 } else { lengths[at - 1] };
        whole.saturating_add(common.get(at).map_or(0, |(from, _)| t.saturating_sub(*from)))
    };
    let inside = |s: &Stretch| {
        let shared = before(s.to).saturating_sub(before(s.from));
        s.iters as f64 * shared as f64 / (s.to - s.from).max(1) as f64
    };
    let iterations: f64 = all_of(series, counts).iter().filter(|s| s.counts).map(inside).sum();
    (total > 0).then(|| iterations * series.per_iter / (total as f64 * 1e-9))
}

/// The stretches of time that a member spent on a series, from its samples (start, end, whether it
/// belongs to the series and counts), with consecutive ones joined. The time between two of them
/// belongs to the member too.
fn stretches(mut samples: Vec<(u64, u64, bool)>) -> Vec<(u64, u64)> {
    samples.sort_unstable();
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    let mut open = false;
    for (from, to, counts) in samples {
        match stretches.last_mut() {
            Some(last) if counts && open => last.1 = last.1.max(to),
            last if counts => {
                let from = last.map_or(from, |last| from.max(last.1));
                stretches.extend((from < to).then_some((from, to)));
            }
            _ => {}
        }
        open = counts;
    }
    stretches
}

/// The intersection of two lists of stretches.
fn intersection(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut i, mut k) = (0, 0);
    let mut common = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(k)) {
        let (from, to) = (x.0.max(y.0), x.1.min(y.1));
        if from < to {
            common.push((from, to));
        }
        if x.1 <= y.1 { i += 1 } else { k += 1 }
    }
    common
}

/// The slowest and the fastest member, relative to the median one.
pub(crate) fn fairness(point: &Point, metric: &Metric, rounds: &[&Round]) -> Vec<Fact> {
    // Members are taken from the samples: their declared number comes from the store, and must not
    // size an allocation.
    let mut members: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for round in rounds {
        let Some(series) = round.result.series(metric.derivation.source()) else { continue };
        for sample in series.samples.iter().filter(|s| is_of(Which::Clean, point, s.labels) && s.worker < point.workers)
        {
            if let Some(value) = sample_value(metric.quantity, series, sample) {
                members.entry(sample.worker).or_default().push(value);
            }
        }
    }
    let medians = sorted(&members.values().filter_map(|m| median(m)).collect::<Vec<_>>());
    match (medians.first(), median(&medians), medians.last()) {
        (Some(fastest), Some(middle), Some(slowest)) => vec![
            Fact::new("group.fastest_s", fastest),
            Fact::new("group.median_s", middle),
            Fact::new("group.slowest_s", slowest),
        ],
        _ => Vec::new(),
    }
}
