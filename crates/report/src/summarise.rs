//! Rounds in, records out: the one function that turns samples into what every view shows.
//!
//! A live run and a run read back from the store go through it alike, so a new statistic needs no new run. The unit of
//! evidence is the round (a fresh process): each round gives one value, the headline is their median, and the interval is
//! that of the order statistics over rounds (harness-methods.md 3.7, 3.8). Not here: the comparison of two runs.

use groma_model::{
    Derivation, Fact, Host, Label, LabelCounts, Labels, Metric, Point, Proof, Quantity, Record, Remark, Round,
    RoundResult, Sample, Series, State, Timing,
};
use groma_stats::{
    Modality, drift, headline, interference, median, modality, order, quantised, sorted, split_between_rounds,
};
use std::collections::BTreeMap;

/// Below this share of clean samples a metric is `noisy` (harness-methods.md 3.10).
const OK_SHARE: f64 = 0.5;
/// Below this share, or with fewer clean samples than [`FEW_CLEAN`] in all, it is `unresolved` (3.10).
const NOISY_SHARE: f64 = 0.2;
/// See [`NOISY_SHARE`].
const FEW_CLEAN: usize = 6;
/// An interval wider than this on either side, relative to the value, makes a metric `noisy` whatever its samples say.
const WIDE: f64 = 0.10;
/// A latency whose mean is so many times its median shared its CPU with others: what blocks then comes back to a scheduler
/// that has more to choose from, and costs more (seen here: pipe round trips 1.27 times as much beside 4 busy loops, mean
/// over median 4.9; idle 1.0 to 1.2).
const CONTENDED: f64 = 1.5;
/// Rounds below which there is no 95 % interval (M5).
const ROUNDS_FOR_INTERVAL: usize = 6;

/// The records of a point: one for each metric that it reports, in its order.
pub fn summarise(point: &Point, rounds: &[Round], host: &Host) -> Vec<Record> {
    point.metrics.iter().map(|metric| record(point, metric, rounds, host)).collect()
}

/// The value that each round of a metric brought, in order; rounds without one are left out. What stopping rules look at.
///
/// A round without a single clean sample does not count while others have some; where none has, all samples are taken as
/// they are, and the verdict says so.
pub fn round_values(point: &Point, metric: &Metric, rounds: &[Round]) -> Vec<f64> {
    let values = |which| rounds.iter().filter_map(|r| round_value(point, metric, &r.result, which)).collect();
    let clean: Vec<f64> = values(Which::Clean);
    if clean.is_empty() { values(Which::All) } else { clean }
}

/// Which samples make a value.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    /// Those without a label that drops them.
    Clean,
    /// All: kept, never compared.
    All,
}

/// Whether the sample counts for the headline.
fn is_clean(point: &Point, sample: &Sample) -> bool {
    !sample.labels.meets(point.drops)
}

/// The value of one sample in SI units; `None` when the clock did not move or nothing was done.
fn sample_value(quantity: Quantity, series: &Series, sample: &Sample) -> Option<f64> {
    let seconds = sample.elapsed_ns as f64 * 1e-9;
    let done = sample.iters as f64 * series.per_iter;
    let value = match quantity {
        Quantity::Bandwidth | Quantity::Rate => done / seconds,
        Quantity::Latency | Quantity::TimePerGigabyte | Quantity::Count | Quantity::Size | Quantity::Ratio => {
            seconds / done
        }
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The series that a metric's samples come from: the raw one of a difference.
fn main_series(metric: &Metric) -> &str {
    match &metric.derivation {
        Derivation::Series(name)
        | Derivation::Difference { of: name, .. }
        | Derivation::Ratio { of: name, .. }
        | Derivation::Scaled { of: name, .. } => name,
    }
}

/// The value of a series in one round.
fn series_value(point: &Point, quantity: Quantity, result: &RoundResult, series: &Series, which: Which) -> Option<f64> {
    if !series.values.is_empty() {
        return median(&series.values);
    }
    let rate = matches!(quantity, Quantity::Bandwidth | Quantity::Rate);
    if rate && point.workers > 1 {
        return aggregate(result, series, which);
    }
    let value = |s: &Sample| sample_value(quantity, series, s);
    let counts = |s: &&Sample| which == Which::All || is_clean(point, s);
    let values: Vec<f64> = series.samples.iter().filter(counts).filter_map(value).collect();
    match (point.timing, rate) {
        // What noise can only slow down: the tenth of the samples on the fast side (3.7).
        (Timing::Floor, false) => order::quantile(&values, 0.1),
        (Timing::Floor, true) => order::quantile(&values, 0.9),
        _ => median(&values),
    }
}

/// Labels of samples that are left out of the rate of a worker group. Waiting for a CPU (`P` and others) belongs to it.
const NOT_IN_RATE: Labels = Labels::of(&[Label::Clock, Label::Overlap]);

/// What a worker group did together per second: the iterations of all members while every one of them was measuring this
/// series, over the length of that time. Samples that only partly lie in it count in proportion.
fn aggregate(result: &RoundResult, series: &Series, which: Which) -> Option<f64> {
    let counts = |s: &Sample| which == Which::All || !s.labels.meets(NOT_IN_RATE);
    // What is read back from a store may hold any number: sums saturate.
    let end = |s: &Sample| s.t0_ns.saturating_add(s.elapsed_ns);
    let mut members: BTreeMap<u32, Vec<(u64, u64, bool)>> = BTreeMap::new();
    for any in &result.output.series {
        for s in &any.samples {
            let own = std::ptr::eq(any, series) && counts(s);
            members.entry(s.worker).or_default().push((s.t0_ns, end(s), own));
        }
    }
    if !members.keys().copied().eq(0..members.len() as u32) {
        return None;
    }
    let common = members.into_values().map(stretches).reduce(|a, b| intersection(&a, &b))?;
    // The length of the common time up to the end of each stretch.
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
    let inside = |s: &Sample| {
        let shared = before(end(s)).saturating_sub(before(s.t0_ns));
        s.iters as f64 * shared as f64 / s.elapsed_ns.max(1) as f64
    };
    let iterations: f64 = series.samples.iter().filter(|s| counts(s)).map(inside).sum();
    (total > 0).then(|| iterations * series.per_iter / (total as f64 * 1e-9))
}

/// The stretches of time that a member spent on a series: from its samples (start, end, whether it is of that series and
/// counts), the consecutive ones joined. What lies between two of them is the member's time as well.
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

/// The time that two lists of stretches have in common.
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

fn round_value(point: &Point, metric: &Metric, result: &RoundResult, which: Which) -> Option<f64> {
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
    }
}

fn record(point: &Point, metric: &Metric, rounds: &[Round], host: &Host) -> Record {
    let good: Vec<&Round> = rounds.iter().filter(|r| r.result.state == State::Ok).collect();
    let values = round_values(point, metric, rounds);
    let head = headline(&values);

    // All samples of the metric's series, by round, and which of them are clean.
    let mut by_round: Vec<Vec<f64>> = Vec::new();
    let (mut clean_values, mut clean, mut taken) = (Vec::new(), 0usize, 0usize);
    let mut counts = [0u64; Label::ALL.len()];
    let mut finest_quantum = 0.0f64;
    let derived = !matches!(metric.derivation, Derivation::Series(_));
    for round in &good {
        let Some(series) = round.result.series(main_series(metric)) else { continue };
        let mut own = Vec::new();
        for sample in &series.samples {
            taken += 1;
            for (count, label) in counts.iter_mut().zip(Label::ALL) {
                *count += u64::from(sample.labels.has(label));
            }
            let Some(value) = sample_value(metric.quantity, series, sample) else { continue };
            if is_clean(point, sample) {
                clean += 1;
                clean_values.push(value);
            }
            own.push(value);
            // What one clock step is in this sample's value, relative.
            finest_quantum = finest_quantum.max(host.clock_step_ns / sample.elapsed_ns.max(1) as f64);
        }
        own.extend(&series.values);
        taken += series.values.len();
        clean += series.values.len();
        by_round.push(own);
    }
    let pooled = sorted(&by_round.concat());
    let value = head.as_ref().map(|h| h.value);
    let ci = head.as_ref().and_then(|h| h.interval).map(|i| [i.low, i.high]);

    let mut flags = Vec::new();
    if let Some(width) = head.as_ref().and_then(|h| h.relative_half_width)
        && width > point.target_half_width
    {
        flags.push(format!("imprecise: wanted ± {:.1} %", point.target_half_width * 100.0));
    }
    if value.is_some() && values.len() < ROUNDS_FOR_INTERVAL {
        flags.push(format!("few rounds: {}, no interval", values.len()));
    }
    if !derived && point.workers == 1 {
        flags.extend(shape_flags(&clean_values, &by_round, value.unwrap_or(0.0) * finest_quantum));
    }
    for remark in [Remark::Unsteady, Remark::ShortInterval] {
        let rounds_with = good.iter().filter(|r| r.result.output.remarks.contains(&remark)).count();
        // One unsteady round of many is what medians are for.
        if rounds_with * 2 > good.len() {
            flags.extend(remark.flag().map(str::to_owned));
        }
    }
    // What was stated was not timed in intervals.
    if point.timing != Timing::Stated && !good.is_empty() && !host.timing_is_verified() {
        flags.push("timing-unverified".to_owned());
    }

    let disturbed = if derived { None } else { interference(&pooled) };
    if let Some(ratio) = disturbed.filter(|r| *r > CONTENDED && metric.quantity == Quantity::Latency) {
        flags.push(format!("contended: the mean is {ratio:.1} times the median"));
    }
    let mut remarks = good.iter().flat_map(|r| &r.result.output.remarks);
    if let Some(left) = remarks.find(|remark| matches!(remark, Remark::LeftProcesses { .. })) {
        flags.push(format!("left processes: {left}"));
    }

    let (state, reason) = verdict(metric, rounds, values.len(), value, ci, clean, taken);
    let quantile = |p: f64| if derived { None } else { order::quantile_if_enough_sorted(&pooled, p) };
    let cycles = match (metric.quantity, point.timing) {
        (Quantity::Latency, Timing::Batched | Timing::Floor) if point.workers == 1 => {
            let per_round = good
                .iter()
                .filter_map(|r| Some(round_value(point, metric, &r.result, Which::Clean)? * r.result.output.core_hz?));
            median(&per_round.collect::<Vec<_>>())
        }
        _ => None,
    };
    let mut facts = facts(&good);
    if point.workers > 1 && metric.quantity == Quantity::Latency {
        let rates =
            good.iter().filter_map(|r| aggregate(&r.result, r.result.series(main_series(metric))?, Which::Clean));
        if let Some(rate) = median(&rates.collect::<Vec<_>>()) {
            facts.push(Fact::new("group.aggregate_per_s", rate));
        }
        facts.extend(fairness(point, metric, &good));
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
        reason,
        quantity: metric.quantity,
        unit: metric.quantity.unit(),
        better: metric.better,
        timing: point.timing,
        detail: metric.detail,
        value,
        ci,
        ci_display: head.as_ref().and_then(|h| h.display).map(|i| [i.low, i.high]),
        p10: quantile(0.1),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        max: if derived { None } else { pooled.last().copied() },
        interference: disturbed,
        cycles,
        rounds: values.len() as u32,
        samples: taken as u64,
        clean: clean as u64,
        labels: LabelCounts(
            Label::ALL.into_iter().zip(counts).filter(|(_, n)| *n > 0).map(|(l, n)| (l.letter(), n)).collect(),
        ),
        proofs: proofs(rounds),
        round_values: values,
        flags,
        facts,
        round_samples: None,
    }
}

/// How the metric ended, and why when not `ok`.
fn verdict(
    metric: &Metric,
    rounds: &[Round],
    brought: usize,
    value: Option<f64>,
    ci: Option<[f64; 2]>,
    clean: usize,
    taken: usize,
) -> (State, String) {
    if rounds.is_empty() {
        return (State::Unresolved, "not reached within the budget".to_owned());
    }
    // The worst end of any round decides: a crash in one of nine rounds is not averaged away.
    let bad = rounds.iter().filter(|r| r.result.state != State::Ok).max_by_key(|r| r.result.state);
    if let Some(worst) = bad {
        let same = rounds.iter().filter(|r| r.result.state == worst.result.state).count();
        let of = if same == rounds.len() { String::new() } else { format!("{same} of {} rounds: ", rounds.len()) };
        return (worst.result.state, format!("{of}{}", worst.result.reason));
    }
    let Some(value) = value else {
        // A search that ended without an answer says why in a remark, of one output or of all.
        let reason = |output: &str| rounds.iter().find_map(|r| r.result.output.unresolved(output));
        return match reason(main_series(metric)).or_else(|| reason("")) {
            Some(remark) => (State::Unresolved, remark.to_string()),
            None => (State::Failed, "took no samples".to_owned()),
        };
    };
    if let (Derivation::Difference { .. }, Some([low, high])) = (&metric.derivation, ci)
        && low <= 0.0
        && high >= 0.0
    {
        return (State::Unresolved, "the difference cannot be told from zero".to_owned());
    }
    // Rounds that brought a value: some may have left it open.
    let few = brought < ROUNDS_FOR_INTERVAL;
    let share = clean as f64 / taken.max(1) as f64;
    let stated = clean == taken;
    if !stated && (share < NOISY_SHARE || clean < FEW_CLEAN) {
        return (State::Unresolved, format!("only {clean} of {taken} samples were undisturbed"));
    }
    if share < OK_SHARE {
        return (State::Noisy, format!("{clean} of {taken} samples were undisturbed"));
    }
    if few {
        return (State::Noisy, format!("too few rounds for an interval: fewer than {ROUNDS_FOR_INTERVAL}"));
    }
    if ci.is_some_and(|[low, high]| (high - low) / 2.0 / value.abs() > WIDE) {
        return (State::Noisy, "rounds differ by more than ± 10 %".to_owned());
    }
    (State::Ok, String::new())
}

/// What the shape of the samples tells: several modes, a drift, a clock too coarse.
fn shape_flags(clean: &[f64], by_round: &[Vec<f64>], quantum: f64) -> Vec<String> {
    let mut flags = Vec::new();
    if let Modality::Several(modes) = modality(clean, quantum) {
        let between = split_between_rounds(by_round, &modes);
        let text: Vec<String> = modes.iter().map(|m| format!("{:.0} % at {:.4e}", m.share * 100.0, m.center)).collect();
        let how = if between { "between rounds" } else { "within rounds" };
        flags.push(format!("{} modes: {how}, {}", modes.len(), text.join(", ")));
    }
    if let Some(change) = drift::drift(by_round) {
        let part = |c: Option<groma_stats::Change>| c.map(|c| c.relative);
        if let Some(relative) = part(change.between_rounds).or(part(change.within_rounds)) {
            flags.push(format!("drift: {:+.1} %", relative * 100.0));
        }
    }
    if clean.len() >= 9 && quantised(clean) && quantum > 0.0 {
        flags.push("quantised".to_owned());
    }
    flags
}

/// The slowest and the fastest member against the median one.
fn fairness(point: &Point, metric: &Metric, rounds: &[&Round]) -> Vec<Fact> {
    // By what was sampled: the number of members comes from the store, and nothing is allocated
    // by it.
    let mut members: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for round in rounds {
        let Some(series) = round.result.series(main_series(metric)) else { continue };
        for sample in series.samples.iter().filter(|s| is_clean(point, s) && s.worker < point.workers) {
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

/// The evidence of all rounds: one line for each name; a broken one before one that holds.
fn proofs(rounds: &[Round]) -> Vec<Proof> {
    let mut merged: Vec<Proof> = Vec::new();
    for proof in rounds.iter().flat_map(|r| &r.result.output.proofs) {
        match merged.iter_mut().find(|p| p.name == proof.name) {
            None => merged.push(proof.clone()),
            Some(seen) if seen.holds && !proof.holds => *seen = proof.clone(),
            Some(_) => {}
        }
    }
    merged
}

/// Facts of the rounds: what all agree on as it is, numbers that differ as their median, texts that differ as a list.
fn facts(rounds: &[&Round]) -> Vec<Fact> {
    let mut keys: Vec<&str> = Vec::new();
    for fact in rounds.iter().flat_map(|r| &r.result.output.facts) {
        if !keys.contains(&fact.key.as_str()) {
            keys.push(&fact.key);
        }
    }
    let all = |key: &str| -> Vec<&str> {
        let facts = rounds.iter().flat_map(|r| &r.result.output.facts).filter(|f| f.key == key);
        facts.map(|f| f.value.as_str()).collect()
    };
    let mut out = Vec::new();
    for key in keys {
        let values = all(key);
        let numbers: Option<Vec<f64>> = values.iter().map(|v| v.parse().ok()).collect();
        let value = if values.iter().all(|v| *v == values[0]) {
            values[0].to_owned()
        } else if let Some(middle) = numbers.and_then(|n| median(&n)) {
            middle.to_string()
        } else {
            let mut distinct: Vec<&str> = Vec::new();
            for value in values {
                if !distinct.contains(&value) {
                    distinct.push(value);
                }
            }
            distinct.join(" | ")
        };
        out.push(Fact { key: key.to_owned(), value });
    }
    out
}

#[cfg(test)]
mod tests {
    //! V8 and V15 in the small: what becomes of known samples, and that recomputing gives the same.
    use super::*;
    use groma_model::{Better, RoundOutput};

    const HOST: Host = Host {
        clock_step_ns: 1.0,
        clock_cost_ns: 20.0,
        timeslice_ns: 4e6,
        timeslice_assumed: false,
        interval_ns: 2e5,
        proportionality: Some(0.0004),
        counter_hz: None,
    };

    fn metric(quantity: Quantity, derivation: Derivation<&'static str>) -> Metric {
        Metric {
            id: "test.metric".into(),
            summary: "A metric".into(),
            quantity,
            better: Better::Lower,
            derivation: derivation.owned(),
            detail: false,
        }
    }

    fn point(timing: Timing, metric: Metric) -> Point {
        Point { timing, metrics: vec![metric], ..crate::fixtures::point("test.metric") }
    }

    /// Samples of 100 iterations whose operations take these nanoseconds.
    fn series(name: &str, ns: &[u64], labels: Labels) -> Series {
        let sample = |(i, ns): (usize, &u64)| Sample {
            t0_ns: 1000 * i as u64,
            elapsed_ns: ns * 100,
            iters: 100,
            labels,
            ..Sample::default()
        };
        Series {
            name: name.into(),
            iters: 100,
            per_iter: 1.0,
            samples: ns.iter().enumerate().map(sample).collect(),
            values: vec![],
        }
    }

    fn round(round: u32, series: Vec<Series>) -> Round {
        Round { round, result: RoundResult::ok(RoundOutput { series, core_hz: Some(2e9), ..RoundOutput::default() }) }
    }

    fn close(seen: Option<f64>, expected: f64) -> bool {
        seen.is_some_and(|s| (s / expected - 1.0).abs() < 1e-9)
    }

    /// Nine rounds whose medians are 100..=108 ns.
    fn nine() -> Vec<Round> {
        (0..9)
            .map(|r| round(r, vec![series("", &[90 + u64::from(r), 100 + u64::from(r), 300], Labels::NONE)]))
            .collect()
    }

    fn one(point: &Point, rounds: &[Round]) -> Record {
        summarise(point, rounds, &HOST).remove(0)
    }

    #[test]
    fn the_headline_is_the_median_over_rounds_of_the_median_of_samples() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let record = one(&point, &nine());
        assert!(close(record.value, 104e-9), "{:?}", record.value);
        // Nine rounds: the exact 95 % interval leaves out one on either side.
        assert_eq!(record.ci, Some([record.round_values[1], record.round_values[7]]));
        assert!(close(record.cycles, 208.0));
        assert_eq!((record.rounds, record.samples, record.clean), (9, 27, 27));
        assert_eq!(record.state, State::Ok);
        assert!(record.flags.iter().any(|f| f.starts_with("imprecise")));
        assert!(close(record.max, 300e-9));
    }

    #[test]
    fn what_every_round_left_open_is_unresolved_and_what_some_did_is_noisy() {
        let point = point(Timing::Stated, metric(Quantity::Latency, Derivation::Series("")));
        let stated = |values: &[f64]| Series { values: values.to_vec(), ..series("", &[], Labels::NONE) };
        let open = |n: u32| {
            let mut open = round(n, vec![]);
            open.result.output.remarks.push("cannot tell: nobody came".into());
            open
        };
        let mut rounds: Vec<Round> = (0..9).map(open).collect();
        let record = one(&point, &rounds);
        assert_eq!(
            (record.state, record.reason.as_str(), record.value),
            (State::Unresolved, "cannot tell: nobody came", None)
        );
        rounds[3] = round(3, vec![stated(&[1e-7])]);
        let record = one(&point, &rounds);
        assert_eq!((record.state, record.rounds), (State::Noisy, 1));
        assert!(close(record.value, 1e-7));
        // Without a word about it, it is a mistake.
        assert_eq!(one(&point, &[round(0, vec![])]).state, State::Failed);
    }

    #[test]
    fn a_constant_of_the_hardware_takes_the_fast_tenth() {
        let floor = point(Timing::Floor, metric(Quantity::Latency, Derivation::Series("")));
        let ns: Vec<u64> = (0..=10).map(|i| 100 + i).collect();
        let rounds: Vec<Round> = (0..6).map(|r| round(r, vec![series("", &ns, Labels::NONE)])).collect();
        assert!(close(one(&floor, &rounds).value, 101e-9));
        let rate = point(Timing::Floor, metric(Quantity::Rate, Derivation::Series("")));
        // Of rates the fast tenth is the 90th percentile.
        assert!(close(one(&rate, &rounds).value, 1.0 / 101e-9));
    }

    #[test]
    fn labelled_samples_are_kept_and_not_counted() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mixed = |r| {
            let mut s = series("", &[100; 12], Labels::NONE);
            s.samples.extend(series("", &[900; 6], Labels::of(&[Label::Preempted])).samples);
            round(r, vec![s])
        };
        let record = one(&point, &(0..6).map(mixed).collect::<Vec<_>>());
        assert!(close(record.value, 100e-9));
        assert_eq!((record.samples, record.clean), (108, 72));
        assert_eq!(record.labels, LabelCounts(vec![('P', 36)]));
        assert_eq!(record.state, State::Ok);
        assert!(close(record.max, 900e-9));
        assert!(record.interference.expect("samples") > 3.0);
    }

    #[test]
    fn too_few_clean_samples_are_noisy_then_unresolved() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let with_clean = |clean: usize| {
            let rounds: Vec<Round> = (0..6)
                .map(|r| {
                    let mut s = series("", &vec![100; clean], Labels::NONE);
                    s.samples.extend(series("", &vec![900; 20 - clean], Labels::of(&[Label::Stolen])).samples);
                    round(r, vec![s])
                })
                .collect();
            one(&point, &rounds)
        };
        assert_eq!(with_clean(10).state, State::Ok);
        assert_eq!(with_clean(9).state, State::Noisy);
        assert_eq!(with_clean(3).state, State::Unresolved);
        let none = with_clean(0);
        assert_eq!(none.reason, "only 0 of 120 samples were undisturbed");
        assert!(close(none.value, 900e-9), "kept, though never compared");
    }

    #[test]
    fn a_difference_is_paired_and_never_clamped() {
        let net = Derivation::Difference { of: "raw", minus: "control", per: 2.0 };
        let point = point(Timing::Batched, metric(Quantity::Latency, net));
        let rounds = |raw: u64, control: u64| -> Vec<Round> {
            // Rounds differ by far more than the variants do: pairing takes that out.
            (0..9)
                .map(|r| {
                    let shift = u64::from(r) * 1000;
                    let variant = |name, ns| series(name, &[ns + shift; 9], Labels::NONE);
                    round(r, vec![variant("raw", raw), variant("control", control)])
                })
                .collect()
        };
        let record = one(&point, &rounds(150, 100));
        assert!(close(record.value, 25e-9), "{:?}", record.value);
        assert_eq!(record.state, State::Ok);
        let negative = one(&point, &rounds(100, 150));
        assert!(close(negative.value, -25e-9));
        let nothing = one(&point, &rounds(100, 100));
        assert_eq!((nothing.state, nothing.value), (State::Unresolved, Some(0.0)));
    }

    #[test]
    fn a_ratio_is_that_of_each_round() {
        let ratio = Derivation::Ratio { of: "chain", to: "parallel" };
        let point = point(Timing::Floor, metric(Quantity::Ratio, ratio));
        let rounds: Vec<Round> = (0..9)
            .map(|r| {
                // The clock hops from round to round; a ratio does not mind.
                let variant = |name, ns| series(name, &[ns * (3 + u64::from(r)); 9], Labels::NONE);
                round(r, vec![variant("chain", 400), variant("parallel", 100)])
            })
            .collect();
        let record = one(&point, &rounds);
        assert!(close(record.value, 4.0), "{:?}", record.value);
        assert_eq!(record.state, State::Ok);
    }

    #[test]
    fn a_scaled_metric_takes_its_factor_from_the_round() {
        let scaled = point(Timing::Batched, metric(Quantity::Bandwidth, Derivation::Scaled { of: "", by: "factor" }));
        let mut rounds = nine();
        for r in &mut rounds {
            r.result.output.facts.push(Fact::new("factor", 1.5));
        }
        let plain = point(Timing::Batched, metric(Quantity::Bandwidth, Derivation::Series("")));
        let base = one(&plain, &rounds).value.expect("a value");
        assert!(close(one(&scaled, &rounds).value, 1.5 * base));
    }

    #[test]
    fn a_worker_group_is_paid_for_the_common_window_only() {
        let mut both = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
        both.workers = 2;
        // Member 0 works from 0 to 100 ns, member 1 from 50 to 150: one iteration a nanosecond each.
        let sample = |worker, t0_ns| Sample { worker, t0_ns, elapsed_ns: 100, iters: 100, ..Sample::default() };
        let s = Series { samples: vec![sample(0, 0), sample(1, 50)], ..series("", &[], Labels::NONE) };
        assert!(close(one(&both, &[round(0, vec![s])]).value, 2e9));
    }

    #[test]
    fn the_worst_round_decides_and_is_told() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mut rounds = nine();
        rounds[4].result = RoundResult::ended(State::Failed, "the worker was ended by signal 11 (SIGSEGV)");
        let record = one(&point, &rounds);
        assert_eq!(record.state, State::Failed);
        assert_eq!(record.reason, "1 of 9 rounds: the worker was ended by signal 11 (SIGSEGV)");
        assert_eq!(record.rounds, 8);
        let record = one(&point, &[]);
        assert_eq!((record.state, record.reason.as_str()), (State::Unresolved, "not reached within the budget"));
    }

    #[test]
    fn of_several_bad_ends_the_worst_is_told() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mut rounds = nine();
        rounds[1].result = RoundResult::ended(State::Timeout, "did not end within 10.0 s");
        rounds[2].result = RoundResult::ended(State::Failed, "took no samples");
        rounds[3].result = RoundResult::ended(State::Denied, "no");
        let record = one(&point, &rounds);
        assert_eq!((record.state, record.reason.as_str()), (State::Failed, "1 of 9 rounds: took no samples"));
    }

    #[test]
    fn an_output_that_no_round_could_tell_is_unresolved_for_the_reason_it_gave() {
        let told = |name: &'static str, notes: &[&str]| {
            let point = point(Timing::Stated, metric(Quantity::Count, Derivation::Series(name)));
            let notes = notes.iter().map(|n| Remark::from(*n)).collect();
            let mut rounds: Vec<Round> = (0..9).map(|r| round(r, Vec::new())).collect();
            rounds[8].result.output.remarks = notes;
            let record = one(&point, &rounds);
            (record.state, record.reason)
        };
        let unresolved = |why: &str| (State::Unresolved, why.to_owned());
        assert_eq!(told("", &["cannot tell: no step"]), unresolved("cannot tell: no step"));
        assert_eq!(told("l2", &["cannot tell: no step"]), unresolved("cannot tell: no step"));
        let both = ["l2_hit: cannot tell: b", "cannot tell: c", "l2: cannot tell: a"];
        assert_eq!(told("l2", &both), unresolved("l2: cannot tell: a"));
        // Somebody else's reason, or none.
        assert_eq!(told("l2", &["l2_hit: cannot tell: b"]).0, State::Failed);
        assert_eq!(told("", &["unsteady"]).0, State::Failed);
    }

    #[test]
    fn a_round_without_clean_samples_does_not_count_beside_others() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let lost = Labels::of(&[Label::Stolen]);
        let mut rounds: Vec<Round> = (0..8).map(|r| round(r, vec![series("", &[100; 9], Labels::NONE)])).collect();
        rounds.push(round(8, vec![series("", &[9000; 9], lost)]));
        let record = one(&point, &rounds);
        assert_eq!((record.rounds, record.samples, record.clean), (8, 81, 72));
        assert!(record.round_values.iter().all(|v| (v / 100e-9 - 1.0).abs() < 1e-9), "{:?}", record.round_values);
    }

    #[test]
    fn a_broken_proof_is_shown_before_those_that_hold() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mut rounds = nine();
        for (i, r) in rounds.iter_mut().enumerate() {
            let (seen, holds) = if i == 3 { (0.5, false) } else { (1.0, true) };
            r.result.output.proofs.push(Proof { name: "faults per touch".into(), expected: "1".into(), seen, holds });
        }
        let proofs = one(&point, &rounds).proofs;
        assert_eq!((proofs.len(), proofs[0].seen, proofs[0].holds), (1, 0.5, false));
    }

    #[test]
    fn facts_that_differ_become_medians_or_lists() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mut rounds = nine();
        for (i, r) in rounds.iter_mut().enumerate() {
            r.result.output.facts = vec![
                Fact::new("same", "ext4"),
                Fact::new("number", i),
                Fact::new("text", if i < 5 { "a" } else { "b" }),
            ];
        }
        let facts = one(&point, &rounds).facts;
        let get = |key: &str| facts.iter().find(|f| f.key == key).map(|f| f.value.as_str());
        assert_eq!((get("same"), get("number"), get("text")), (Some("ext4"), Some("4"), Some("a | b")));
    }

    #[test]
    fn few_rounds_have_no_interval() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let record = one(&point, &nine()[..5]);
        assert_eq!(record.ci, None);
        assert!(record.flags.contains(&"few rounds: 5, no interval".to_owned()));
        assert!(one(&point, &nine()[..6]).ci.is_some());
    }

    /// Values whose median is in the middle by rank alone: the mean, the smallest and the largest are far from it.
    const SKEWED: [u64; 9] = [9000, 100, 101, 20, 5000, 10, 102, 7000, 30];

    #[test]
    fn no_mean_passes_for_the_median_of_samples_or_of_rounds() {
        let batched = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let within: Vec<Round> = (0..9).map(|r| round(r, vec![series("", &SKEWED, Labels::NONE)])).collect();
        let record = one(&batched, &within);
        assert!(close(record.value, 101e-9), "{:?}", record.value);
        assert!(record.round_values.iter().all(|v| (v / 101e-9 - 1.0).abs() < 1e-9), "{:?}", record.round_values);
        // 81 samples: p10 is the 9th and the 50th percentile the 41st.
        assert!(close(record.p10, 10e-9) && close(record.p50, 101e-9) && close(record.p90, 9000e-9), "{record:?}");
        assert!(record.interference.is_some_and(|r| (r - 21363.0 / 9.0 / 101.0).abs() < 1e-9));

        let between: Vec<Round> =
            (0..9).map(|r| round(r, vec![series("", &[SKEWED[r as usize]; 9], Labels::NONE)])).collect();
        let record = one(&batched, &between);
        assert!(close(record.value, 101e-9) && close(record.cycles, 202.0), "{:?} {:?}", record.value, record.cycles);

        // An even number: the mean of the two in the middle, and of no others.
        let record = one(&batched, &between[..8]);
        assert!(close(record.value, 101.5e-9), "{:?}", record.value);

        let stated =
            |ns: &[u64]| Series { values: ns.iter().map(|n| *n as f64).collect(), ..series("", &[], Labels::NONE) };
        let stating = point(Timing::Stated, metric(Quantity::Count, Derivation::Series("")));
        let rounds: Vec<Round> = (0..9).map(|r| round(r, vec![stated(&SKEWED)])).collect();
        assert!(close(one(&stating, &rounds).value, 101.0));
    }

    #[test]
    fn no_mean_passes_for_the_median_of_cycles_facts_and_members() {
        let batched = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        // The clock of a round belongs to its value: the median of the products, not the product of the medians.
        let mut rounds: Vec<Round> = (0..9).map(|r| round(r, vec![series("", &[100; 9], Labels::NONE)])).collect();
        for (r, n) in rounds.iter_mut().zip(SKEWED) {
            r.result.output.core_hz = Some(n as f64 * 1e7);
            r.result.output.facts.push(Fact::new("number", n));
        }
        let record = one(&batched, &rounds);
        assert!(close(record.cycles, 101.0), "{:?}", record.cycles);
        let fact = |record: &Record, key: &str| record.facts.iter().find(|f| f.key == key).map(|f| f.value.clone());
        assert_eq!(fact(&record, "number"), Some("101".to_owned()));

        // Nine members, whose samples are skewed as well as they.
        let mut group = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        group.workers = 9;
        let samples = SKEWED.iter().enumerate().flat_map(|(worker, ns)| {
            [1, 1, 50].map(|times| Sample {
                worker: worker as u32,
                t0_ns: 0,
                elapsed_ns: ns * times * 100,
                iters: 100,
                ..Sample::default()
            })
        });
        let all = Series { samples: samples.collect(), ..series("", &[], Labels::NONE) };
        let record = one(&group, &[round(0, vec![all])]);
        let seconds = |key: &str| fact(&record, key).and_then(|v| v.parse::<f64>().ok());
        assert!(close(seconds("group.fastest_s"), 10e-9) && close(seconds("group.slowest_s"), 9000e-9), "{record:?}");
        assert!(close(seconds("group.median_s"), 101e-9), "{record:?}");
    }

    #[test]
    fn no_mean_passes_for_the_median_rate_of_a_worker_group() {
        let mut group = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        group.workers = 2;
        let at = |ns: u64| {
            let sample = |worker| Sample { worker, t0_ns: 0, elapsed_ns: ns * 100, iters: 100, ..Sample::default() };
            Series { samples: vec![sample(0), sample(1)], ..series("", &[], Labels::NONE) }
        };
        let rounds: Vec<Round> = (0..9).map(|r| round(r, vec![at(SKEWED[r as usize])])).collect();
        let record = one(&group, &rounds);
        let rate = record.facts.iter().find(|f| f.key == "group.aggregate_per_s").and_then(|f| f.value.parse().ok());
        assert!(close(rate, 2.0 / 101e-9), "{rate:?}");
    }

    /// The rate of a series of two members whose samples of 1 ms have these labels and iterations, in turn with those
    /// of another series.
    fn rate_beside_another(samples: &[(Labels, u64)]) -> Option<f64> {
        let member = |worker: u32, late: u64| {
            samples.iter().zip(0..).map(move |(&(labels, iters), k)| Sample {
                worker,
                t0_ns: late + 2_000_000 * k,
                elapsed_ns: 1_000_000,
                iters,
                labels,
                ..Sample::default()
            })
        };
        let all: Vec<Sample> = member(0, 0).chain(member(1, 100_000)).collect();
        let other = all.iter().map(|s| Sample { t0_ns: s.t0_ns + 1_000_000, labels: Labels::NONE, ..*s }).collect();
        let control = Series { samples: other, ..series("control", &[], Labels::NONE) };
        let main = Series { samples: all, ..series("", &[], Labels::NONE) };
        let mut group = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
        group.workers = 2;
        one(&group, &[round(0, vec![main, control])]).value
    }

    #[test]
    fn the_rate_of_a_worker_group_is_that_of_the_time_its_series_was_measured_in() {
        assert!(close(rate_beside_another(&[(Labels::NONE, 1000); 4]), 2e6));
        // Alone, what passes between two samples counts as well.
        let mut group = point(Timing::Batched, metric(Quantity::Rate, Derivation::Series("")));
        group.workers = 2;
        let sample =
            |worker, k: u64| Sample { worker, t0_ns: 1100 * k, elapsed_ns: 1000, iters: 9, ..Sample::default() };
        let samples = (0..2).flat_map(|worker| (0..5).map(move |k| sample(worker, k))).collect();
        let rate = one(&group, &[round(0, vec![Series { samples, ..series("", &[], Labels::NONE) }])]).value;
        assert!(close(rate, 90.0 / 5.4e-6), "{rate:?}");
    }

    #[test]
    fn what_is_left_out_of_everything_is_left_out_of_the_rate_of_a_worker_group() {
        let good = (Labels::NONE, 1000);
        for label in [Label::Overlap, Label::Clock] {
            let bad = (Labels::of(&[label]), 77_000);
            assert!(close(rate_beside_another(&[good, bad, good, bad]), 2e6), "{label:?}");
            // Where there is nothing else, everything is taken as it came.
            assert!(close(rate_beside_another(&[bad; 2]), 2.0 * 77e6), "{label:?}");
        }
        // Waiting for a CPU is part of the rate.
        let preempted = (Labels::of(&[Label::Preempted]), 500);
        assert!(close(rate_beside_another(&[good, preempted]), 1.5e6));
    }

    #[test]
    fn a_sample_without_time_or_without_work_has_no_value() {
        let of = |quantity| {
            let mut s = series("", &[100; 9], Labels::NONE);
            let sample = |elapsed_ns, iters| Sample { elapsed_ns, iters, ..Sample::default() };
            s.samples.extend([sample(0, 100), sample(0, 100), sample(10_000, 0), sample(10_000, 0), sample(0, 0)]);
            let point = point(Timing::Floor, metric(quantity, Derivation::Series("")));
            let rounds: Vec<Round> = (0..6).map(|r| round(r, vec![s.clone()])).collect();
            one(&point, &rounds)
        };
        let latency = of(Quantity::Latency);
        assert!(close(latency.value, 100e-9) && close(latency.max, 100e-9), "{latency:?}");
        assert_eq!((latency.samples, latency.clean), (84, 54));
        let rate = of(Quantity::Rate);
        assert!(close(rate.value, 1e7) && close(rate.max, 1e7), "{rate:?}");
    }

    #[test]
    fn an_iteration_may_hold_many_operations_or_bytes() {
        let of = |quantity, workers: u32| {
            let point = Point { workers, ..point(Timing::Batched, metric(quantity, Derivation::Series(""))) };
            let held = Series { per_iter: 4096.0, ..series("", &[100], Labels::NONE) };
            one(&point, &[round(0, vec![held])]).value
        };
        assert!(close(of(Quantity::Latency, 1), 100e-9 / 4096.0));
        for workers in [1, 2] {
            assert!(close(of(Quantity::Bandwidth, workers), 4096.0 / 100e-9), "{workers}");
        }
    }

    #[test]
    fn members_that_differ_are_each_prorated_to_the_common_window() {
        let both = Point { workers: 3, ..point(Timing::Batched, metric(Quantity::Rate, Derivation::Series(""))) };
        let of = |members: &[(u64, u64, u64)]| {
            let sample = |(worker, &(t0_ns, end, iters)): (usize, &(u64, u64, u64))| Sample {
                worker: worker as u32,
                t0_ns,
                elapsed_ns: end - t0_ns,
                iters,
                ..Sample::default()
            };
            let samples = members.iter().enumerate().map(sample).collect();
            one(&both, &[round(0, vec![Series { samples, ..series("", &[], Labels::NONE) }])])
        };
        // All are at work from 50 to 100 ns: 50, 150 and 25 iterations of them fall into that.
        assert!(close(of(&[(0, 100, 100), (50, 150, 300), (20, 120, 50)]).value, 225.0 / 50e-9));
        // Where one begins as the other ends, or later, nothing was done together.
        for start in [100, 120] {
            let apart = of(&[(0, 100, 100), (start, 200, 100)]);
            assert_eq!((apart.value, apart.state), (None, State::Failed), "{start}");
        }
        // A round without a common moment takes nothing from the others.
        let sample = |worker, t0_ns| Sample { worker, t0_ns, elapsed_ns: 100, iters: 100, ..Sample::default() };
        let of = |second| Series { samples: vec![sample(0, 0), sample(1, second)], ..series("", &[], Labels::NONE) };
        let two = Point { workers: 2, ..both.clone() };
        let record = one(&two, &[round(0, vec![of(0)]), round(1, vec![of(100)]), round(2, vec![of(0)])]);
        assert!(close(record.value, 2e9) && record.rounds == 2, "{record:?}");
    }

    fn has(record: &Record, flag: &str) -> bool {
        record.flags.iter().any(|f| f.starts_with(flag))
    }

    #[test]
    fn modes_are_told_with_their_places_unless_the_clock_could_have_made_them() {
        let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let (low, high) = ([100, 101, 102], [150, 151, 152]);
        let within: Vec<Round> =
            (0..9).map(|r| round(r, vec![series("", &[low, high].concat(), Labels::NONE)])).collect();
        let between: Vec<Round> =
            (0..12).map(|r| round(r, vec![series("", &if r % 2 == 0 { low } else { high }, Labels::NONE)])).collect();
        let told = |point: &Point, rounds: &[Round], clock_step_ns: f64| {
            let record = summarise(point, rounds, &Host { clock_step_ns, ..HOST }).remove(0);
            record.flags.into_iter().find(|f| f.contains("modes"))
        };
        let modes = |how: &str| Some(format!("2 modes: {how} rounds, 50 % at 1.0100e-7, 50 % at 1.5100e-7"));
        assert_eq!(told(&single, &within, 1.0), modes("within"));
        assert_eq!(told(&single, &between, 1.0), modes("between"));
        // A sample lasts 10 to 15 us: a step of 5 us is half of the value, and the modes may be one step apart.
        assert_eq!(told(&single, &within, 5000.0), None);
        // The members of a worker group differ by nature, and a derived value has no samples of its own.
        assert_eq!(told(&Point { workers: 2, ..single.clone() }, &within, 1.0), None);
        let net = Derivation::Scaled { of: "", by: "factor" };
        assert_eq!(told(&point(Timing::Batched, metric(Quantity::Latency, net)), &within, 1.0), None);
    }

    #[test]
    fn a_drift_is_told_with_its_direction() {
        let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let of = |ns: fn(u32, u64) -> u64| {
            let rounds: Vec<Round> = (0..9)
                .map(|r| round(r, vec![series("", &(0..25).map(|i| ns(r, i)).collect::<Vec<_>>(), Labels::NONE)]))
                .collect();
            one(&single, &rounds).flags.into_iter().find(|f| f.contains("drift"))
        };
        // 16 of 1080 and of 1100, and in each round 24 of 1012.
        assert_eq!(of(|r, _| 1000 + 20 * u64::from(r)).as_deref(), Some("drift: +14.8 %"));
        assert_eq!(of(|r, _| 1000 - 20 * u64::from(r)).as_deref(), Some("drift: -17.4 %"));
        assert_eq!(of(|_, i| 1000 + i).as_deref(), Some("drift: +2.4 %"));
        assert_eq!(of(|_, _| 1000), None);
    }

    #[test]
    fn values_that_are_steps_of_the_clock_are_quantised() {
        let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let of = |ns: &[u64], clock_step_ns: f64| {
            let rounds = [round(0, vec![series("", ns, Labels::NONE)])];
            has(&summarise(&single, &rounds, &Host { clock_step_ns, ..HOST })[0], "quantised")
        };
        assert!(of(&[100; 9], 1.0));
        assert!(!of(&[100; 8], 1.0), "eight samples are too few to say");
        assert!(!of(&[100; 9], 0.0), "a clock without steps");
        assert!(!of(&[100, 101, 102, 103, 104, 105, 106, 107, 108], 1.0), "values that differ");
    }

    #[test]
    fn what_most_rounds_remarked_is_a_flag() {
        let single = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let with = |n: usize, of: usize, note: &str| {
            let mut rounds = nine();
            rounds.truncate(of);
            rounds[..n].iter_mut().for_each(|r| r.result.output.remarks.push(note.into()));
            let flags = one(&single, &rounds).flags;
            ["unsteady", "short-interval"].map(|f| flags.iter().any(|seen| seen == f))
        };
        assert_eq!(with(5, 9, "unsteady"), [true, false]);
        assert_eq!(with(9, 9, "short-interval"), [false, true]);
        assert_eq!(with(9, 9, "something else"), [false; 2]);
        // Half of them is not most.
        for (n, of) in [(4, 9), (4, 8), (1, 2), (0, 9)] {
            assert_eq!(with(n, of, "unsteady"), [false; 2], "{n} of {of}");
        }
    }

    #[test]
    fn an_interval_that_was_not_shown_to_be_proportional_is_a_flag_of_what_was_timed() {
        let flagged = |timing: Timing, proportionality: Option<f64>, rounds: &[Round]| {
            let point = point(timing, metric(Quantity::Latency, Derivation::Series("")));
            let record = &summarise(&point, rounds, &Host { proportionality, ..HOST })[0];
            record.flags.iter().filter(|flag| *flag == "timing-unverified").count()
        };
        let limit = Host::PROPORTIONALITY_LIMIT;
        for (error, flags) in [(None, 1), (Some(limit * 1.01), 1), (Some(limit), 0), (Some(f64::NAN), 1)] {
            assert_eq!(flagged(Timing::Batched, error, &nine()), flags, "{error:?}");
        }
        assert_eq!(flagged(Timing::Stated, None, &nine()), 0);
        assert_eq!(flagged(Timing::Batched, None, &[]), 0, "nothing was timed");
    }

    /// The record of a metric whose rounds state these values.
    fn stated(quantity: Quantity, width: f64, values: &[&[f64]]) -> Record {
        let point =
            Point { target_half_width: width, ..point(Timing::Stated, metric(quantity, Derivation::Series(""))) };
        let series = |v: &[f64]| Series { values: v.to_vec(), ..series("", &[], Labels::NONE) };
        let rounds: Vec<Round> = values.iter().zip(0..).map(|(v, r)| round(r, vec![series(v)])).collect();
        one(&point, &rounds)
    }

    #[test]
    fn a_mean_far_above_the_median_is_a_latency_that_shared_its_cpu() {
        let of = |quantity, last: f64| stated(quantity, 1.0, &[[1.0, 1.0, last].as_slice(); 6]);
        let contended = of(Quantity::Latency, 4.0);
        assert!(contended.flags.contains(&"contended: the mean is 2.0 times the median".to_owned()), "{contended:?}");
        assert_eq!(contended.interference, Some(2.0));
        // 1.5 times is the limit, 1.2 below it; a rate is not slowed down by who is chosen next.
        for (quantity, last) in
            [(Quantity::Latency, 2.5), (Quantity::Latency, 1.6), (Quantity::Rate, 4.0), (Quantity::Count, 4.0)]
        {
            assert!(!has(&of(quantity, last), "contended"), "{quantity:?} {last}");
        }
    }

    #[test]
    fn a_width_beyond_what_was_wanted_is_imprecise_and_beyond_a_tenth_noisy() {
        // Six rounds: the interval is that from the smallest to the largest.
        let of = |width, half: f64| {
            let (low, high) = ([100.0 - half], [100.0 + half]);
            let record = stated(Quantity::Count, width, &[&low, &[100.0], &[100.0], &[100.0], &[100.0], &high]);
            assert_eq!(record.ci, Some([100.0 - half, 100.0 + half]));
            let imprecise = record.flags.iter().find(|f| f.starts_with("imprecise")).cloned();
            (imprecise.unwrap_or_default(), record.state, record.reason)
        };
        let imprecise = |width: &str| format!("imprecise: wanted ± {width} %");
        let differ = || "rounds differ by more than ± 10 %".to_owned();
        assert_eq!(of(0.05, 6.0), (imprecise("5.0"), State::Ok, String::new()));
        assert_eq!(of(0.125, 12.5), (String::new(), State::Noisy, differ()));
        assert_eq!(of(0.01, 12.5), (imprecise("1.0"), State::Noisy, differ()));
        assert_eq!(of(0.1, 10.0), (String::new(), State::Ok, String::new()), "the limit itself is no breach");
        assert_eq!(of(0.0, 0.0), (String::new(), State::Ok, String::new()));
        // Of the size of the value, whatever its sign and unit.
        for scale in [-1e-7, 1e-7, 1e9] {
            let at = |v: f64| [v * scale];
            let of = |half: f64| {
                let (low, middle, high) = (at(1.0 - half), at(1.0), at(1.0 + half));
                stated(Quantity::Count, 1.0, &[&low, &middle, &middle, &middle, &middle, &high]).state
            };
            assert_eq!((of(0.09), of(0.11)), (State::Ok, State::Noisy), "{scale}");
        }
    }

    #[test]
    fn few_rounds_are_told_only_where_there_is_a_value_and_fewer_than_six() {
        let few = |n: usize| has(&stated(Quantity::Count, 1.0, &vec![&[1.0][..]; n]), "few rounds");
        assert_eq!([1, 5, 6, 9].map(few), [true, true, false, false]);
        assert!(!has(&stated(Quantity::Count, 1.0, &[&[], &[]]), "few rounds"));
    }

    #[test]
    fn a_fifth_of_the_samples_and_six_of_them_are_the_least_that_is_noisy() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        // So many rounds of one clean sample, and disturbed ones in the first.
        let of = |clean: u32, disturbed: usize| {
            let mut rounds: Vec<Round> = (0..clean).map(|r| round(r, vec![series("", &[100], Labels::NONE)])).collect();
            let lost = series("", &vec![900; disturbed], Labels::of(&[Label::Stolen]));
            rounds[0].result.output.series[0].samples.extend(lost.samples);
            let record = one(&point, &rounds);
            (record.state, record.reason)
        };
        assert_eq!(of(6, 24), (State::Noisy, "6 of 30 samples were undisturbed".to_owned()));
        assert_eq!(of(6, 25), (State::Unresolved, "only 6 of 31 samples were undisturbed".to_owned()));
        assert_eq!(of(6, 6).0, State::Ok);
        assert_eq!(of(5, 1), (State::Unresolved, "only 5 of 6 samples were undisturbed".to_owned()));
        // Without a disturbed one it is the rounds that are few.
        assert_eq!(of(5, 0), (State::Noisy, "too few rounds for an interval: fewer than 6".to_owned()));
    }

    #[test]
    fn cycles_are_those_of_one_worker_and_facts_of_members_those_of_latencies_of_crews() {
        let of = |quantity, workers: u32, timing| {
            let point = Point { workers, ..point(timing, metric(quantity, Derivation::Series(""))) };
            let record = one(&point, &nine());
            (record.cycles.is_some(), record.facts.iter().filter(|f| f.key.starts_with("group.")).count())
        };
        assert_eq!(of(Quantity::Latency, 1, Timing::Batched), (true, 0));
        assert_eq!(of(Quantity::Latency, 1, Timing::Floor), (true, 0));
        assert_eq!(of(Quantity::Latency, 1, Timing::Each), (false, 0));
        assert_eq!(of(Quantity::Rate, 1, Timing::Batched), (false, 0));
        assert_eq!(of(Quantity::Latency, 2, Timing::Batched), (false, 4));
        assert_eq!(of(Quantity::Rate, 2, Timing::Batched), (false, 0));
    }

    #[test]
    fn members_are_judged_by_clean_samples_and_there_are_no_more_than_the_point_has() {
        let group = Point { workers: 2, ..point(Timing::Batched, metric(Quantity::Latency, Derivation::Series(""))) };
        let sample = |worker, ns: u64, labels| Sample { worker, elapsed_ns: ns, iters: 1, labels, ..Sample::default() };
        let lost = Labels::of(&[Label::Stolen]);
        let samples = vec![
            sample(0, 100, Labels::NONE),
            sample(0, 1, lost),
            sample(0, 1, lost),
            sample(1, 300, Labels::NONE),
            sample(1, 9000, lost),
            sample(1, 9000, lost),
            sample(2, 5000, Labels::NONE),
        ];
        let record = one(&group, &[round(0, vec![Series { samples, ..series("", &[], Labels::NONE) }])]);
        let fact = |key: &str| record.facts.iter().find(|f| f.key == key).and_then(|f| f.value.parse().ok());
        assert!(close(fact("group.fastest_s"), 100e-9) && close(fact("group.slowest_s"), 300e-9), "{record:?}");
    }

    #[test]
    fn the_first_broken_proof_is_the_one_that_is_told() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mut rounds = nine();
        for (i, r) in rounds.iter_mut().enumerate() {
            let (seen, holds) = (i as f64, !(3..=5).contains(&i));
            r.result.output.proofs.push(Proof { name: "answers".into(), expected: "0".into(), seen, holds });
        }
        let proofs = one(&point, &rounds).proofs;
        assert_eq!((proofs.len(), proofs[0].seen, proofs[0].holds), (1, 3.0, false));
    }

    #[test]
    fn a_fact_on_which_all_agree_is_told_as_it_was_said() {
        let point = point(Timing::Batched, metric(Quantity::Latency, Derivation::Series("")));
        let mut rounds = nine();
        rounds.iter_mut().for_each(|r| r.result.output.facts = vec![Fact::new("share", "1.500")]);
        assert_eq!(one(&point, &rounds).facts[0].value, "1.500");
    }
}
