//! Takes the samples of one worker that works alone.
//!
//! Calibrates the iterations of each variant, warms up for a moment, then takes short intervals in
//! turn until there are enough clean ones or the time limit is reached. Those of the initial
//! transient, which the intervals themselves show, are left out. Every other sample is kept with
//! its labels: which of them count is for the statistics to say. Worker groups are in
//! [`crate::worker_group`].

use crate::core_watch::CoreWatch;
use crate::error::{BenchError, Outcome};
use crate::instruments::{FREQUENCY_PROBE_OPS, Instruments};
use crate::iterations::{Count, choose_iterations, scaling, time_once};
use crate::labels::{Rules, label, label_host};
use crate::model::{
    FIRST, Label, Labels, MIN_CLEAN_SAMPLES, Phase, Phases, Remark, RoundOutput, Sample, Series, Timing,
};
use crate::variant::Variant;
use groma_stats::rng::Rng;
use groma_stats::{order, transient};
use std::ops::Bound;

/// What sampling brought.
#[derive(Debug, Default)]
pub struct Samples {
    /// What belongs to the round: a series for each variant, remarks, the core's clock.
    pub output: RoundOutput,
    /// Time of 2k iterations over time of k, smallest of several each, of the loop that is farthest
    /// from 2; `None` where it makes no sense or the counts were frozen by an earlier round.
    pub scaling: Option<f64>,
    /// Iterations that the bodies have run in all, warm-up included.
    pub iterations: u64,
    /// What the benchmark's own proofs allow, which are the first of the output; nothing of a
    /// worker group.
    pub allowed: Vec<(Bound<f64>, Bound<f64>)>,
}

/// Turns between two frequency probes; of operations timed alone there is none between them
/// (docs/methods/timing.md#frequency-probe).
const FREQUENCY_PROBE_EVERY: usize = 8;
/// Frequency probes that differ by more ran at two clocks: hosts step theirs by 3 %.
const CLOCK_CHANGED: f64 = 0.01;
/// The fewest frequency probes of a round: of two, one that was interrupted decides the clock.
const MIN_FREQUENCY_PROBES: usize = 3;

/// Samples between two readings of the counters at most.
pub(crate) const GROUP: u64 = 8;

/// From here on an operation has readings of its own: their 4 us are then no more than 2 %.
const LONG_OPERATION_NS: u64 = 200_000;
/// How long such an operation is repeated to see whether it becomes shorter: caches of some
/// megabytes are filled after three to five laps of a millisecond.
const MAX_IN_A_ROW_NS: u64 = 6_000_000;

/// A round that [`lacks_clean_samples`] may take this many times its time limit, and at least
/// [`MIN_PATIENCE_NS`].
const PATIENCE: u64 = 4;
/// A turn of a thread beside several others on its CPU: with a limit of 4 ms a round would often
/// see a part of one turn only.
const MIN_PATIENCE_NS: u64 = 250_000_000;

/// Operations timed alone for one interval asked for: 80 intervals become 400 operations a round.
const OPS_PER_INTERVAL: u32 = 5;

/// Turns of the warm-up that cannot pass without time: of 20 ns each, they take longer than the
/// step of the coarsest clock.
const STILL_TURNS: usize = 1 << 20;

/// The longest warm-up, whatever was asked for (docs/methods/timing.md#warm-up).
const WARM_CAP_NS: u64 = 500_000_000;

/// More samples than this many times those wanted are not taken, however few are clean, once each
/// loop has [`MIN_SAMPLES`].
const DIRTY_FACTOR: usize = 3;

/// Fewer samples than this are not called a round, whatever the time limit says.
const MIN_SAMPLES: usize = 3;

/// Below this share of clean samples the interval is halved and the round tried again
/// (docs/methods/timing.md#clean-samples).
const RETRY_SHARE: f64 = 0.2;

/// A round with this many samples on a core of its own waits no longer: on a Zen 3 with busy
/// siblings, medians of eleven and more were within 0.2 % (docs/methods/neighbour.md#label).
const SUFFICIENT: usize = 12;

/// An interval below this share of its target is too short; the host alone cannot speed it up this
/// much (docs/methods/timing.md#choosing-iterations).
const TOO_SHORT: f64 = 0.25;

/// The interval of streams whose sides block on each other
/// (docs/methods/timing.md#single-operations).
const STREAM_NS: f64 = 5e6;

/// A stretch of single operations between two looks at the core: in one of 28 us no neighbour was
/// missed, of those of 280 us a tenth was wrong (docs/methods/neighbour.md#label).
const STRETCH_NS: u64 = 40_000;
/// The time between two readings of the counters, which take 2 us.
const GROUP_NS: u64 = 200_000;
/// After a wait of this long a blocking operation is made once before it is timed: its partner's
/// CPU has gone to sleep.
const LONG_WAIT_NS: u64 = 50_000;

/// What a group of samples of one loop is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Stretches, with a look at the core between them.
    stretches: u64,
    /// Samples in a stretch.
    samples: u64,
}

impl Shape {
    /// Samples of this length: as many as fit into the time between two readings.
    pub(crate) fn batched(sample_ns: u64) -> Shape {
        Shape { stretches: (GROUP_NS / sample_ns.max(1)).clamp(1, GROUP), samples: 1 }
    }

    /// Operations timed alone. Those of a millisecond are labelled one by one: of eight in a row,
    /// hardly any group would stay clean, and eight of 80 ms are longer than a round of a survey.
    /// `None` is a loop that its controls slow, of which a group is always whole.
    pub(crate) fn single(operation_ns: Option<u64>) -> Shape {
        match operation_ns {
            None => Shape { stretches: 1, samples: GROUP },
            Some(ns) if ns > LONG_OPERATION_NS => Shape { stretches: 1, samples: 1 },
            Some(ns) => {
                let samples = (STRETCH_NS / ns.max(1)).clamp(1, GROUP);
                Shape { stretches: GROUP / samples, samples }
            }
        }
    }
}

/// Takes a group of samples between two readings of the counters, each with the labels of the
/// whole group but for `N`: that a neighbour was there is told of each stretch. Waits for an idle
/// core first; a group ends early when a neighbour comes and the round may wait once more. Returns
/// when it ended. `iters` gives the iterations of the next sample.
pub(crate) fn group<I: Instruments>(
    (ins, rules, watch): (&I, &Rules, &mut CoreWatch<'_, I>),
    variant: &mut Variant<'_>,
    shape: Shape,
    mut iters: impl FnMut(&Variant<'_>) -> u64,
    total: &mut u64,
    into: &mut Vec<Sample>,
) -> Result<u64, BenchError> {
    watch.time_chain();
    while watch.wait() > LONG_WAIT_NS && rules.blocks {
        let n = iters(variant);
        time_once(ins, variant, n, total)?;
    }
    let first = into.len();
    let before = ins.reading();
    let mut idle = watch.look();
    for _ in 0..shape.stretches {
        let from = into.len();
        for _ in 0..shape.samples {
            let n = iters(variant);
            let (t0_ns, elapsed_ns) = time_once(ins, variant, n, total)?;
            // A clock that ran back within a group may have made up for it at its end.
            let labels = if elapsed_ns == 0 { Labels::of(&[Label::Clock]) } else { Labels::NONE };
            into.push(Sample { t0_ns, elapsed_ns, iters: n, labels, ..Sample::default() });
        }
        // A CPU that slept has another clock for some microseconds. Where both sides share a CPU,
        // the chains would only make the timed one the greedier, which the scheduler makes up for
        // (docs/methods/timing.md#frequency-probe).
        if rules.blocks && rules.sleeps {
            watch.time_anew();
        }
        let was_idle = std::mem::replace(&mut idle, watch.look());
        if !(was_idle && idle) {
            into[from..].iter_mut().for_each(|sample| sample.labels.add(Label::Shared));
        }
        if !idle && watch.is_patient() {
            break;
        }
    }
    let after = ins.reading();
    let labels = label(&before, &after, rules);
    let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns) / (into.len() - first) as u64;
    for sample in &mut into[first..] {
        *sample = Sample { cpu: after.cpu, cpu_ns, labels: sample.labels.and(labels), ..*sample };
    }
    Ok(after.now_ns)
}

/// Up to 10 % more iterations than `iters`, at random, so that intervals cannot lock onto ticks
/// (docs/methods/timing.md#choosing-iterations).
pub(crate) fn stretched(iters: u64, variant: &Variant<'_>, rng: &mut Rng) -> u64 {
    (iters + rng.below(iters / 10 + 1)).min(variant.max_iters)
}

/// Turns of a warm-up that count as first operations, which are a metric of their own.
const FIRST_TURNS: usize = 32;

/// What a warm-up saw.
#[derive(Debug, PartialEq)]
struct WarmUp {
    /// Nanoseconds an iteration of the first loop took in each of its first turns.
    first: Vec<f64>,
    /// Nanoseconds of the last turn of each loop.
    last_ns: Vec<u64>,
}

/// Warms up with the very loop that is measured, for `warm_ns` and at most [`WARM_CAP_NS`]. What
/// takes longer to become steady is seen in the samples ([`leave_out_transient`]).
fn warm_up(
    ins: &impl Instruments,
    variants: &mut [Variant<'_>],
    iters: &[u64],
    rules: &Rules,
    total: &mut u64,
) -> Result<WarmUp, BenchError> {
    let start = ins.now_ns();
    let mut first: Vec<f64> = Vec::with_capacity(FIRST_TURNS);
    let (mut last_ns, mut turns) = (vec![0; variants.len()], 0);
    loop {
        for (i, variant) in variants.iter_mut().enumerate() {
            let (_, elapsed) = time_once(ins, variant, iters[i], total)?;
            last_ns[i] = elapsed;
            if i == 0 && first.len() < FIRST_TURNS {
                first.push(elapsed as f64 / iters[0] as f64);
            }
        }
        turns += 1;
        let spent = ins.now_ns().saturating_sub(start);
        if spent == 0 && turns >= STILL_TURNS {
            return Err(BenchError::Failed(format!(
                "{STILL_TURNS} turns of the warm-up take no time: the clock stands still"
            )));
        }
        if (turns >= 2 && spent >= rules.warm_ns) || spent >= WARM_CAP_NS {
            return Ok(WarmUp { first, last_ns });
        }
    }
}

/// How long an operation of each loop took in the warm-up. `None` for one that takes half as long,
/// or less, when it follows itself: the other loops have evicted its data. Alone in its turn it
/// would find them evicted each time (docs/methods/timing.md#single-operations).
fn lengths(
    ins: &impl Instruments,
    variants: &mut [Variant<'_>],
    last_ns: &[u64],
    rules: &Rules,
    total: &mut u64,
) -> Result<Vec<Option<u64>>, BenchError> {
    let several = rules.timing == Timing::Each && variants.len() > 1;
    let of_one = |(variant, &cold_ns): (&mut Variant<'_>, &u64)| {
        let mut spent_ns = cold_ns;
        while several && cold_ns > LONG_OPERATION_NS && spent_ns < MAX_IN_A_ROW_NS {
            let (_, elapsed_ns) = time_once(ins, variant, 1, total)?;
            if 2 * elapsed_ns <= cold_ns {
                return Ok(None);
            }
            spent_ns += elapsed_ns;
        }
        Ok(Some(cold_ns))
    };
    variants.iter_mut().zip(last_ns).map(of_one).collect()
}

/// Leaves out the samples of all loops that the first one made before it was steady, by the clean
/// ones (docs/methods/timing.md#warm-up). Whether it became steady. Where a loop would be left with
/// fewer than [`MIN_SAMPLES`], none is left out, and the round did not become steady.
fn leave_out_transient(rules: &Rules, samples: &mut [Vec<Sample>]) -> bool {
    // Operations timed alone vary by nature; their drift is judged after the run.
    if rules.timing == Timing::Each {
        return true;
    }
    let (turns, values): (Vec<usize>, Vec<f64>) = samples[0]
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.labels.meets(rules.drops))
        .map(|(turn, s)| (turn, s.elapsed_ns as f64 / s.iters as f64))
        .unzip();
    let found = transient(&values);
    if found.len > 0 {
        let from_ns = samples[0][turns[found.len]].t0_ns;
        let is_steady = |sample: &Sample| sample.t0_ns >= from_ns;
        if samples.iter().any(|series| series.iter().filter(|sample| is_steady(sample)).count() < MIN_SAMPLES) {
            return false;
        }
        samples.iter_mut().for_each(|series| series.retain(is_steady));
    }
    found.ended
}

/// Attributes the time since the last call to a phase.
struct Lap<'i, I> {
    ins: &'i I,
    last: u64,
}

impl<I: Instruments> Lap<'_, I> {
    fn end(&mut self, phase: Phase, phases: &mut Phases) {
        let before = std::mem::replace(&mut self.last, self.ins.now_ns());
        phases.add(phase, self.last.saturating_sub(before));
    }
}

/// Takes the samples of all variants, in turn.
///
/// # Errors
/// Whatever a body returns; `Failed` when a body takes no time.
pub fn alone<I: Instruments>(
    ins: &I,
    rules: &Rules,
    variants: &mut [Variant<'_>],
    frozen: &[(String, u64)],
    rng: &mut Rng,
) -> Result<Samples, BenchError> {
    let mut taken = Samples::default();
    let mut lap = Lap { ins, last: ins.now_ns() };
    let host = ins.host();
    let each = rules.timing == Timing::Each;
    let target_ns = if rules.timing == Timing::Stream { rules.interval_ns.max(STREAM_NS) } else { rules.interval_ns };

    let mut iters = Vec::with_capacity(variants.len());
    // Which counts may still turn out to be too low.
    let mut open = Vec::with_capacity(variants.len());
    for variant in variants.iter_mut() {
        let known = frozen.iter().find(|(name, _)| name == variant.name).map(|(_, n)| *n);
        let count = match known {
            _ if each => Count::Limited(1),
            Some(n) => Count::Limited(n),
            None => choose_iterations(ins, variant, target_ns, &mut taken.iterations)?,
        };
        open.push(matches!(count, Count::Reached(n) if n < variant.max_iters));
        lap.end(Phase::Calibration, &mut taken.output.phases);
        let n = count.iters();
        // A loop that may not do more is looked at whatever it does: that it took no time is what
        // ended the search.
        if known.is_none() && !each && (n >= 8 || (n >= 2 && n == variant.max_iters)) {
            match scaling(ins, variant, n, &mut taken.iterations, undisturbed(ins, rules))? {
                // Of several loops, the one that is farthest off.
                Some(ratio) if taken.scaling.is_none_or(|seen| (seen - 2.0).abs() < (ratio - 2.0).abs()) => {
                    taken.scaling = Some(ratio);
                }
                Some(_) => {}
                None => taken.output.remarks.push(Remark::Note(format!(
                    "others took the CPU too often to compare the times of {} and {n} iterations",
                    n / 2
                ))),
            }
        }
        lap.end(Phase::Scaling, &mut taken.output.phases);
        iters.push(n);
    }
    let warm = warm_up(ins, variants, &iters, rules, &mut taken.iterations)?;
    let lengths = lengths(ins, variants, &warm.last_ns, rules, &mut taken.iterations)?;
    lap.end(Phase::WarmUp, &mut taken.output.phases);
    let first = order::median(&warm.first).filter(|_| rules.first);

    let one = || Sample { iters: 1, ..Sample::default() };
    let wanted = if each { rules.intervals * OPS_PER_INTERVAL } else { rules.intervals } as usize;
    let mut halvings = 0;
    let mut lengthenings = 0;
    loop {
        // A group is begun while one loop has not all of its samples and another not its fewest.
        let most = (wanted * DIRTY_FACTOR).max(MIN_SAMPLES * GROUP as usize) + GROUP as usize;
        let mut samples: Vec<Vec<Sample>> = variants.iter().map(|_| preallocate(one(), most)).collect();
        sample_loop(ins, rules, variants, (&iters, &lengths), wanted, rng, &mut taken, &mut samples)?;
        lap.end(Phase::Sampling, &mut taken.output.phases);
        if lengthenings < 2 && lengthen(rules, variants, target_ns, &open, &mut iters, &samples) {
            lengthenings += 1;
            continue;
        }
        let steady = leave_out_transient(rules, &mut samples);
        let clean = samples.iter().map(|s| clean(s, rules).count()).min().unwrap_or(0);
        let share = clean as f64 / samples[0].len().max(1) as f64;
        taken.output.series = variants
            .iter()
            .zip(&iters)
            .zip(samples)
            .map(|((variant, &iters), samples)| Series { samples, ..variant.series(iters, rules.clock_cost_ns) })
            .collect();
        let poor = share < RETRY_SHARE || clean < MIN_CLEAN_SAMPLES.min(wanted);
        let shorter = iters.iter().all(|&n| n >= 2) && target_ns / 2f64.powi(halvings + 1) >= 50_000.0;
        // A frozen count must stay what it is: only the first round may look for a shorter
        // interval.
        if each || !poor || !shorter || halvings == 2 || !frozen.is_empty() {
            if !steady {
                taken.output.remarks.push(Remark::Unsteady);
            }
            label_host(&host, &ins.host(), &mut taken.output.series);
            let stated = first.map(|ns| Series::stated(FIRST, vec![(ns - rules.clock_cost_ns) * 1e-9]));
            taken.output.series.extend(stated);
            return Ok(taken);
        }
        halvings += 1;
        for n in &mut iters {
            *n /= 2;
        }
        taken.output.remarks.push(Remark::IntervalHalved { clean, taken: taken.output.series[0].samples.len() });
    }
}

/// Raises the counts whose undisturbed intervals were too short to time: the search saw nothing but
/// interrupted ones (docs/methods/timing.md#choosing-iterations). Whether there was one.
fn lengthen(
    rules: &Rules,
    variants: &[Variant<'_>],
    target_ns: f64,
    open: &[bool],
    iters: &mut [u64],
    samples: &[Vec<Sample>],
) -> bool {
    let mut any = false;
    for (i, variant) in variants.iter().enumerate().filter(|(i, _)| open[*i]) {
        let per_iteration: Vec<f64> = clean(&samples[i], rules).map(|s| s.elapsed_ns as f64 / s.iters as f64).collect();
        let Some(ns) = order::median(&per_iteration).filter(|ns| *ns > 0.0) else { continue };
        if ns * (iters[i] as f64) < target_ns * TOO_SHORT {
            iters[i] = ((target_ns / ns) as u64).clamp(iters[i], variant.max_iters);
            any = true;
        }
    }
    any
}

/// An empty list with memory for `n` samples whose pages are present: a first touch between two
/// readings would be a fault of the sample. `any` is not all zeros, which the allocator would leave
/// to the first touch.
pub(crate) fn preallocate<T: Clone>(any: T, n: usize) -> Vec<T> {
    let mut samples = vec![any; n];
    std::hint::black_box(&mut samples).clear();
    samples
}

fn clean<'s>(samples: &'s [Sample], rules: &Rules) -> impl Iterator<Item = &'s Sample> {
    let drops = rules.drops;
    samples.iter().filter(move |s| !s.labels.meets(drops))
}

/// A closure that says whether a sample spanning the time since its last call would count.
fn undisturbed(ins: &impl Instruments, rules: &Rules) -> impl FnMut() -> bool {
    let mut last = ins.reading();
    move || {
        let before = std::mem::replace(&mut last, ins.reading());
        !label(&before, &last, rules).meets(rules.drops)
    }
}

/// The longest sampling time of a round that still lacks clean samples.
fn patience_ns(rules: &Rules) -> u64 {
    (PATIENCE * rules.time_limit_ns).max(MIN_PATIENCE_NS)
}

/// Whether a loop still has fewer clean samples than the summary needs for a value, whatever the
/// neighbour did.
fn lacks_clean_samples(samples: &[Sample], rules: &Rules, wanted: usize) -> bool {
    let clean = clean(samples, rules).count();
    clean < MIN_SAMPLES || (clean < samples.len() && clean < MIN_CLEAN_SAMPLES.min(wanted))
}

/// The clean samples beside which no neighbour was seen.
fn count_own(samples: &[Sample], rules: &Rules) -> usize {
    clean(samples, rules).filter(|sample| !sample.labels.has(Label::Shared)).count()
}

/// A round's frequency probes: the number of samples of each series before one, and its time.
type FrequencyProbes = Vec<(Vec<usize>, f64)>;

#[expect(clippy::too_many_arguments, reason = "one caller; a struct would only rename the arguments")]
fn sample_loop<I: Instruments>(
    ins: &I,
    rules: &Rules,
    variants: &mut [Variant<'_>],
    (iters, lengths): (&[u64], &[Option<u64>]),
    wanted: usize,
    rng: &mut Rng,
    taken: &mut Samples,
    samples: &mut [Vec<Sample>],
) -> Outcome {
    let start = ins.now_ns();
    let each = rules.timing == Timing::Each;
    let mut watch = CoreWatch::new(ins, rules.core, rules.wait_ns);
    let mut probes: FrequencyProbes = Vec::new();
    let mut turns = 0;
    loop {
        if turns % FREQUENCY_PROBE_EVERY == 0 && (turns == 0 || !each) {
            probes.push((samples.iter().map(Vec::len).collect(), ins.frequency_probe_ns() as f64));
        }
        turns += 1;
        // Which variant goes first changes from turn to turn, so that no variant always follows the
        // frequency probe.
        let first = rng.below(variants.len() as u64) as usize;
        let last_ns = |samples: &[Vec<Sample>], i: usize| {
            samples[i].last().map(|sample: &Sample| sample.elapsed_ns).or(lengths[i])
        };
        // Loops that are compared have as many samples each.
        let longest_ns = (0..variants.len()).filter_map(|i| last_ns(samples, i)).max().filter(|ns| *ns > 0);
        let batched = Shape::batched(longest_ns.unwrap_or(GROUP_NS));
        for k in 0..variants.len() {
            let i = (first + k) % variants.len();
            let shape = if each { Shape::single(lengths[i].and(last_ns(samples, i))) } else { batched };
            let count = |variant: &Variant<'_>| if each { 1 } else { stretched(iters[i], variant, rng) };
            let machine = (ins, rules, &mut watch);
            group(machine, &mut variants[i], shape, count, &mut taken.iterations, &mut samples[i])?;
        }
        let fewest = samples.iter().map(Vec::len).min().unwrap_or(0);
        let most = samples.iter().map(Vec::len).max().unwrap_or(0);
        // A neighbour may end the groups of one loop after a sample, and spare those of another.
        let full = most >= wanted * DIRTY_FACTOR && fewest >= MIN_SAMPLES.min(wanted);
        let enough = full || samples.iter().all(|s| count_own(s, rules) >= wanted);
        let lacks = samples.iter().any(|s| lacks_clean_samples(s, rules, wanted));
        let fewest_own = samples.iter().map(|s| count_own(s, rules)).min().unwrap_or(0);
        // Three make the round count: more rounds say more than more samples of one.
        let shared = watch.is_patient() && fewest_own < MIN_SAMPLES;
        let waited = if fewest_own < MIN_SAMPLES { watch.seen.waited_ns } else { 0 };
        let spent = ins.now_ns().saturating_sub(start).saturating_sub(waited);
        if fewest_own >= SUFFICIENT.min(wanted) {
            watch.hurry();
        }
        let limit_ns = match (lacks, shared) {
            (true, _) => patience_ns(rules),
            (false, true) => PATIENCE * rules.time_limit_ns,
            (false, false) => rules.time_limit_ns,
        };
        if enough || (spent >= limit_ns && fewest >= MIN_SAMPLES) {
            break;
        }
    }
    taken.output.core.add(&watch.seen);
    judge_clock(ins, rules, &probes, taken, samples);
    Ok(())
}

/// The core's clock, by the same quantile of the frequency probes as the headline is of the
/// samples: many hosts change the clock by percents within a round, and the fastest frequency probe
/// would then belong to other samples than the median one (seen here: 6994 cycles for 6400
/// additions). Samples at another clock are labelled.
fn judge_clock(
    ins: &impl Instruments,
    rules: &Rules,
    probes: &FrequencyProbes,
    taken: &mut Samples,
    samples: &mut [Vec<Sample>],
) {
    let mut times: Vec<f64> = probes.iter().map(|(_, ns)| *ns).collect();
    while times.len() < MIN_FREQUENCY_PROBES {
        times.push(ins.frequency_probe_ns() as f64);
    }
    let which = if rules.timing == Timing::Floor { 0.1 } else { 0.5 };
    if let Some(ns) = order::quantile(&times, which).filter(|ns| *ns > 0.0) {
        taken.output.core_hz = Some(FREQUENCY_PROBE_OPS as f64 / ns * 1e9);
    }
    // The probe before operations timed alone says nothing of each of them.
    let Some(median) = order::median(&times).filter(|_| rules.timing != Timing::Each) else { return };
    let is_off = |ns: f64| (ns / median - 1.0).abs() > CLOCK_CHANGED;
    for (k, (from, ns)) in probes.iter().enumerate() {
        // An interrupt or a neighbour holds up one chain. A clock that is slower is slower for the
        // next one as well, and nothing but a faster clock makes one faster.
        if !is_off(*ns) {
            continue;
        }
        let next = || times.get(k + 1).copied().unwrap_or_else(|| ins.frequency_probe_ns() as f64);
        if *ns > median && (next() / ns - 1.0).abs() > CLOCK_CHANGED {
            continue;
        }
        for (i, series) in samples.iter_mut().enumerate() {
            let to = probes.get(k + 1).map_or(series.len(), |(before, _)| before[i]);
            series[from[i]..to].iter_mut().for_each(|sample| sample.labels.add(Label::Frequency));
        }
    }
}

#[cfg(test)]
mod tests;
