//! Takes the samples of one worker that works alone.
//!
//! Calibrates the iterations of each variant, warms up for a moment, then takes short intervals in
//! turn until there are enough clean ones or the time limit is reached. Those of the initial
//! transient, which the intervals themselves show, are left out. Every other sample is kept with
//! its labels: which of them count is for the statistics to say. Worker groups are in
//! [`crate::worker_group`].

use crate::error::{BenchError, Outcome};
use crate::instruments::{FREQUENCY_PROBE_OPS, Instruments, Reading};
use crate::iterations::{Count, choose_iterations, scaling, time_once};
use crate::labels::{Rules, label, label_host, read};
use crate::model::{CoreRates, FEWEST_CLEAN, FIRST, Label, Phase, Phases, Remark, RoundOutput, Sample, Series, Timing};
use crate::variant::Variant;
use groma_stats::best_mode::log_bin;
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

/// Samples between two frequency probes; of operations timed alone there is none between them
/// (docs/methods/timing.md#frequency-probe).
const FREQUENCY_PROBE_EVERY: usize = 8;
/// The fewest frequency probes of a round: of two, one that was interrupted decides the clock.
const FEWEST_FREQUENCY_PROBES: usize = 3;

/// Operations timed alone between two readings of the counters.
pub(crate) const GROUP: u64 = 8;

/// From here on an operation has readings of its own: their 4 us are then no more than 2 %.
const LONG_OPERATION_NS: u64 = 200_000;
/// How long such an operation is repeated to see whether it becomes shorter: caches of some
/// megabytes are filled after three to five laps of a millisecond.
const MOST_IN_A_ROW_NS: u64 = 6_000_000;

/// A round that [`lacks_clean_samples`] may take this many times its time limit, and at least
/// [`LEAST_PATIENCE_NS`].
const PATIENCE: u64 = 4;
/// A turn of a thread beside several others on its CPU: with a limit of 4 ms a round would often
/// see a part of one turn only.
const LEAST_PATIENCE_NS: u64 = 250_000_000;

/// Operations timed alone for one interval asked for: 25 intervals become 500 operations a round.
const OPS_PER_INTERVAL: u32 = 20;

/// Turns of the warm-up that cannot pass without time: of 20 ns each, they take longer than the
/// step of the coarsest clock.
const STILL_TURNS: usize = 1 << 20;

/// The longest warm-up, whatever was asked for (docs/methods/timing.md#warm-up).
const WARM_CAP_NS: u64 = 500_000_000;

/// More samples than this many times those wanted are not taken, however few are clean.
const DIRTY_FACTOR: usize = 3;

/// Fewer samples than this are not called a round, whatever the time limit says.
const FEWEST: usize = 3;

/// Below this share of clean samples the interval is halved and the round tried again
/// (docs/methods/timing.md#clean-samples).
const RETRY_SHARE: f64 = 0.2;

/// An interval below this share of its target is too short; the host alone cannot speed it up this
/// much (docs/methods/timing.md#choosing-iterations).
const TOO_SHORT: f64 = 0.25;

/// The interval of streams whose sides block on each other
/// (docs/methods/timing.md#single-operations).
const STREAM_NS: f64 = 5e6;

/// Takes one batched sample, labels included. `last` is the reading before it, and becomes the one
/// after it.
pub(crate) fn sample(
    ins: &impl Instruments,
    variant: &mut Variant<'_>,
    iters: u64,
    rules: &Rules,
    total: &mut u64,
    last: &mut Reading,
) -> Result<Sample, BenchError> {
    let (t0_ns, elapsed_ns) = time_once(ins, variant, iters, total)?;
    let before = std::mem::replace(last, read(ins, rules));
    Ok(Sample {
        worker: 0,
        cpu: last.cpu,
        t0_ns,
        elapsed_ns,
        iters,
        cpu_ns: last.cpu_ns.saturating_sub(before.cpu_ns),
        labels: label(&before, last, rules),
        margin_ns: None,
    })
}

/// Takes a group of operations, each timed alone, all with the labels of the group. `last` as of
/// [`sample`]; `warm_ns` is how long one took before there were samples, and `None` for a loop that
/// its controls slow, of which a group is always whole.
pub(crate) fn operations(
    ins: &impl Instruments,
    variant: &mut Variant<'_>,
    rules: &Rules,
    total: &mut u64,
    (last, warm_ns): (&mut Reading, Option<u64>),
    into: &mut Vec<Sample>,
) -> Result<(), BenchError> {
    let first = into.len();
    // Operations of a millisecond are labelled one by one: of eight in a row, hardly any group
    // would stay clean, and eight of 80 ms are longer than a round of a survey.
    let is_long = |warm_ns| into.last().map_or(warm_ns, |s| s.elapsed_ns) > LONG_OPERATION_NS;
    let n = if warm_ns.is_some_and(is_long) { 1 } else { GROUP };
    for _ in 0..n {
        let (t0_ns, elapsed_ns) = time_once(ins, variant, 1, total)?;
        into.push(Sample { t0_ns, elapsed_ns, iters: 1, ..Sample::default() });
    }
    let before = std::mem::replace(last, read(ins, rules));
    let labels = label(&before, last, rules);
    let cpu_ns = last.cpu_ns.saturating_sub(before.cpu_ns) / n;
    for sample in &mut into[first..] {
        *sample = Sample { cpu: last.cpu, cpu_ns, labels, ..*sample };
    }
    Ok(())
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
        while several && cold_ns > LONG_OPERATION_NS && spent_ns < MOST_IN_A_ROW_NS {
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
/// ones (docs/methods/timing.md#warm-up). Whether it became steady.
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
        let from = turns[found.len];
        samples.iter_mut().for_each(|series| drop(series.drain(..from)));
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
pub fn alone(
    ins: &impl Instruments,
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
        let mut samples: Vec<Vec<Sample>> =
            variants.iter().map(|_| preallocate(one(), wanted * DIRTY_FACTOR + GROUP as usize)).collect();
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
        let poor = share < RETRY_SHARE || clean < FEWEST_CLEAN.min(wanted);
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

/// The part of its time limit that a round waits for a core of its own.
const WAIT_SHARE: u64 = 4;

/// Waits until the core is not shared, as long as a round may wait: what shares it comes and goes
/// within milliseconds (docs/methods/neighbour.md#waiting).
fn wait_for_own_core(ins: &impl Instruments, rules: &Rules, seen: &mut CoreRates) {
    let Some(core) = rules.core.filter(|core| core.shared_below.is_some()) else { return };
    let start = ins.now_ns();
    let longest = rules.time_limit_ns / WAIT_SHARE;
    let mut waited = 0;
    while waited < longest && rules.is_shared(ins.issue_rate(&core)) {
        waited = ins.now_ns().saturating_sub(start);
    }
    seen.waited_ns += waited;
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
    (PATIENCE * rules.time_limit_ns).max(LEAST_PATIENCE_NS)
}

/// Whether a loop still has fewer clean samples than the summary needs for a value. Samples beside
/// a busy sibling count only where there are too few others.
fn lacks_clean_samples(samples: &[Sample], rules: &Rules, wanted: usize) -> bool {
    let (clean, own) = clean(samples, rules).fold((0, 0), |(clean, own), s| (clean + 1, own + usize::from(is_own(s))));
    let counted = if own >= FEWEST { own } else { clean };
    counted < FEWEST || (clean < samples.len() && counted < FEWEST_CLEAN.min(wanted))
}

/// Whether the probes saw no busy sibling beside this sample.
fn is_own(sample: &Sample) -> bool {
    !sample.labels.has(Label::Shared)
}

#[expect(clippy::too_many_arguments, reason = "one caller; a struct would only rename the arguments")]
fn sample_loop(
    ins: &impl Instruments,
    rules: &Rules,
    variants: &mut [Variant<'_>],
    (iters, warm_ns): (&[u64], &[Option<u64>]),
    wanted: usize,
    rng: &mut Rng,
    taken: &mut Samples,
    samples: &mut [Vec<Sample>],
) -> Outcome {
    let start = ins.now_ns();
    let every = if rules.timing == Timing::Each { usize::MAX } else { FREQUENCY_PROBE_EVERY };
    wait_for_own_core(ins, rules, &mut taken.output.core);
    // The number of samples of each series before a probe, and its time. From the second probe on,
    // all series have the same number.
    let mut frequency_probes: Vec<(usize, f64)> = Vec::new();
    loop {
        if frequency_probes.last().is_none_or(|(at, _)| samples[0].len() - at >= every) {
            frequency_probes.push((samples[0].len(), ins.frequency_probe_ns() as f64));
        }
        // Which variant goes first changes from turn to turn, so that no variant always follows the
        // frequency probe.
        let first = rng.below(variants.len() as u64) as usize;
        for k in 0..variants.len() {
            let i = (first + k) % variants.len();
            let (variant, total, mut last) = (&mut variants[i], &mut taken.iterations, read(ins, rules));
            if rules.timing == Timing::Each {
                operations(ins, variant, rules, total, (&mut last, warm_ns[i]), &mut samples[i])?;
            } else {
                let n = stretched(iters[i], variant, rng);
                samples[i].push(sample(ins, variant, n, rules, total, &mut last)?);
            }
            if let Some(bin) = last.issue_rate.and_then(log_bin) {
                taken.output.core.rates.count(bin, 1);
            }
        }
        let (fewest, most) =
            samples.iter().map(Vec::len).fold((usize::MAX, 0), |(few, most), n| (few.min(n), most.max(n)));
        let enough = samples.iter().all(|s| clean(s, rules).filter(|s| is_own(s)).count() >= wanted)
            || most >= wanted * DIRTY_FACTOR;
        let spent = ins.now_ns().saturating_sub(start);
        let lacks = samples.iter().any(|s| lacks_clean_samples(s, rules, wanted));
        let limit_ns = if lacks { patience_ns(rules) } else { rules.time_limit_ns };
        let late = spent >= limit_ns && fewest >= FEWEST;
        if enough || late {
            break;
        }
    }
    // The core's clock, by the same quantile of the frequency probes as the headline is of the
    // samples: many hosts change the clock by percents within a round, and the fastest frequency
    // probe would then belong to other samples than the median one (seen here: 6994 cycles for 6400
    // additions).
    let mut times: Vec<f64> = frequency_probes.iter().map(|(_, ns)| *ns).collect();
    while times.len() < FEWEST_FREQUENCY_PROBES {
        times.push(ins.frequency_probe_ns() as f64);
    }
    let which = if rules.timing == Timing::Floor { 0.1 } else { 0.5 };
    if let Some(ns) = order::quantile(&times, which).filter(|ns| *ns > 0.0) {
        taken.output.core_hz = Some(FREQUENCY_PROBE_OPS as f64 / ns * 1e9);
    }
    // Label what ran beside a frequency probe that is more than 1 % off the round's median. The one
    // before operations timed alone says nothing of each of them.
    if let Some(median) = order::median(&times).filter(|_| rules.timing != Timing::Each) {
        for (k, (from, ns)) in frequency_probes.iter().enumerate() {
            if (ns / median - 1.0).abs() > 0.01 {
                for series in samples.iter_mut() {
                    let to = frequency_probes.get(k + 1).map_or(series.len(), |(at, _)| *at);
                    for sample in &mut series[*from..to] {
                        sample.labels.add(Label::Frequency);
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
