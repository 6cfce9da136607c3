//! Takes the samples of one worker that works alone.
//!
//! Calibrates the iterations of each variant, warms up until steady, then takes short intervals in turn until there are
//! enough clean ones or the time box is used up. Every sample is kept with its labels: which of them count is for the
//! statistics to say. Crews are in [`crate::worker_group`].

use crate::benchmark::{BenchError, Outcome};
use crate::ctx::Variant;
use crate::instruments::{FREQUENCY_PROBE_OPS, Instruments, Reading};
use crate::model::{Label, Labels, Remark, RoundOutput, Sample, Series, Timing};
use crate::sys::clock::Clock;
use crate::sys::counters::Usage;
use crate::sys::facts::HostCounters;
use groma_stats::rng::Rng;
use groma_stats::{drift, order};

/// Starts and stops the timed part of an iteration count; made by the harness, used by benchmarks that must set up or
/// clean up around it.
pub struct Stopwatch<'c> {
    clock: &'c dyn Clock,
    t0: u64,
    started: u64,
    elapsed: u64,
    /// What the kernel counted for the thread within the timed part, and when it began: for benchmarks that ask.
    used: Option<(Usage, Usage)>,
}

impl<'c> Stopwatch<'c> {
    pub(crate) fn new(clock: &'c dyn Clock) -> Stopwatch<'c> {
        Stopwatch { clock, t0: 0, started: 0, elapsed: 0, used: None }
    }

    /// The timed part begins. It may begin and end several times; the parts add up.
    #[inline]
    pub fn start(&mut self) {
        if let Some((at_start, _)) = &mut self.used {
            *at_start = Usage::thread();
        }
        self.started = self.clock.now_ns();
        if self.t0 == 0 {
            self.t0 = self.started;
        }
    }

    /// The timed part ends.
    #[inline]
    pub fn stop(&mut self) {
        // Saturating: a clock that runs backwards gives 0 and label T, never a huge time.
        self.elapsed += self.clock.now_ns().saturating_sub(self.started);
        if let Some((at_start, counted)) = &mut self.used {
            let more = Usage::thread().since(at_start);
            counted.minor_faults += more.minor_faults;
            counted.major_faults += more.major_faults;
        }
    }

    /// From now on counts the page faults of the timed part, between its start and its stop and
    /// nowhere else. The counters are read before the one clock reading and after the other: the
    /// timed part does not get longer.
    pub fn count_faults(&mut self) {
        self.used = Some(Default::default());
    }

    /// Minor and major faults of the timed part since [`Stopwatch::count_faults`]; faults of work
    /// that was done beside the watch are not among them.
    pub fn faults(&self) -> (u64, u64) {
        self.used.map_or((0, 0), |(_, counted)| (counted.minor_faults, counted.major_faults))
    }

    /// A timed part one of whose ends another task has seen, on this same clock ([`crate::sys::clock::Monotonic`]).
    #[inline]
    pub fn span(&mut self, from_ns: u64, to_ns: u64) {
        if self.t0 == 0 {
            self.t0 = from_ns;
        }
        // As in `stop`.
        self.elapsed += to_ns.saturating_sub(from_ns);
    }

    /// The clock that this watch reads, in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub(crate) fn elapsed(&self) -> u64 {
        self.elapsed
    }
}

/// How the samples of a round are to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How iterations are timed.
    pub timing: Timing,
    /// The length of an interval, in nanoseconds.
    pub interval_ns: f64,
    /// Clean samples wanted.
    pub intervals: u32,
    /// The longest time to sample, in nanoseconds.
    pub time_limit_ns: u64,
    /// The shortest warm-up, in nanoseconds.
    pub warm_ns: u64,
    /// The labels that make a sample worthless for the headline.
    pub drops: Labels,
    /// Page faults belong to the operation.
    pub faults_expected: bool,
    /// Blocking belongs to the operation.
    pub blocks: bool,
    /// What is made (processes, threads) works while its maker waits: its CPU time is time that was given.
    pub tasks: bool,
    /// Ticks per second of the cycle counter, where it may be used.
    pub counter_hz: Option<f64>,
}

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
}

/// Samples between two frequency probes (harness-methods.md 3.10, label C).
const FREQUENCY_PROBE_EVERY: usize = 8;
/// Operations timed alone between two readings of the counters.
const GROUP: u64 = 8;
/// From here on an operation has readings of its own: their 4 us are then no more than 2 %.
const LONG_OPERATION_NS: u64 = 200_000;
/// A round without clean samples may take this many times its box before it ends.
const PATIENCE: u64 = 4;
/// Operations timed alone for one interval asked for: 25 intervals become 500 operations a round.
const OPS_PER_INTERVAL: u32 = 20;
/// Turns of the warm-up that cannot pass without time: of 20 ns each, they take longer than the
/// step of the coarsest clock.
const STILL_TURNS: usize = 1 << 20;
/// The longest warm-up (3.6).
const WARM_CAP_NS: u64 = 500_000_000;
/// More samples than this many times those wanted are not taken, however few are clean.
const DIRTY_FACTOR: usize = 3;
/// Fewer samples than this are not called a round, whatever the time box says.
const FEWEST: usize = 3;
/// Below this share of clean samples the interval is halved and the round tried again (3.10).
const RETRY_SHARE: f64 = 0.2;
/// Fewer clean samples than this are a reason to try again (3.10).
const RETRY_CLEAN: usize = 6;
/// The interval of streams whose sides block on each other (3.4).
const STREAM_NS: f64 = 5e6;

/// Runs `iters` iterations; the start of the timed part and its nanoseconds.
fn time_once(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    iters: u64,
    total: &mut u64,
) -> Result<(u64, u64), BenchError> {
    let mut watch = Stopwatch::new(ins);
    (variant.body)(iters, &mut watch)?;
    variant.done += iters;
    *total += iters;
    Ok((watch.t0, watch.elapsed))
}

/// The longest search for a count, untimed parts included; a count that was found by then is used.
const SEARCH_CAP_NS: u64 = 2_000_000_000;
/// The shortest iteration that there can be, in nanoseconds: no core completes a tenth of the
/// instructions that this wants.
const SHORTEST_NS: f64 = 0.01;

/// Iterations of a window of this length that would each take less than [`SHORTEST_NS`]: they were optimised away.
pub(crate) fn most_iters(window_ns: f64) -> u64 {
    ((window_ns / SHORTEST_NS) as u64).max(1 << 20)
}

/// Finds how many iterations last `target_ns` (3.3): grow until half the target is reached twice in a row, so that one
/// interrupted probe cannot end the search, then scale by the fastest of three.
fn choose_iterations(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    target_ns: f64,
    total: &mut u64,
) -> Result<u64, BenchError> {
    let most = most_iters(target_ns);
    let cap = variant.max_iters.min(most);
    let start = ins.now_ns();
    let mut n = 1u64;
    let mut hits = 0;
    while hits < 2 {
        let (_, elapsed) = time_once(ins, variant, n, total)?;
        if elapsed as f64 >= target_ns / 2.0 {
            hits += 1;
            continue;
        }
        hits = 0;
        if n >= cap {
            if n == most {
                return Err(BenchError::Failed(format!("{n} iterations take {elapsed} ns: the loop does nothing")));
            }
            return Ok(cap);
        }
        // A loop whose timed part stays short beside the rest (or is never begun) would be run for hours.
        if ins.now_ns().saturating_sub(start) > SEARCH_CAP_NS {
            if elapsed == 0 {
                return Err(BenchError::Failed(format!("{n} iterations take no time that is measured")));
            }
            return Ok(n);
        }
        let factor = (target_ns / elapsed.max(1) as f64).clamp(2.0, 10.0);
        n = ((n as f64 * factor) as u64).min(cap);
    }
    let mut fastest = f64::INFINITY;
    for _ in 0..3 {
        let elapsed = time_once(ins, variant, n, total)?.1 as f64;
        // Far less than what was seen twice in a row is a clock that jumped back, not a fast loop: taking it for one would
        // make the intervals thousands of times too long.
        if elapsed > target_ns / 16.0 {
            fastest = fastest.min(elapsed);
        }
    }
    let iters = if fastest.is_finite() { n as f64 * target_ns / fastest } else { n as f64 };
    Ok((iters.round() as u64).clamp(1, cap))
}

/// How many iterations a member of a worker group does between two looks at the phase.
pub(crate) fn batch(
    ins: &dyn Clock,
    variant: &mut Variant<'_>,
    target_ns: f64,
    total: &mut u64,
) -> Result<u64, BenchError> {
    let n = choose_iterations(ins, variant, target_ns, total)?;
    if n >= 2 && n == variant.max_iters {
        let ratio = scaling(ins, variant, n, total)?;
        // Said at once: a worker group's samples hold thousands of batches, and the time that some of them lost to others.
        if ratio < LEAST_SCALING {
            return Err(BenchError::Failed(format!(
                "{n} iterations take {ratio:.2} times as long as half of them: the loop does nothing"
            )));
        }
    }
    Ok(n)
}

/// Twice the iterations of a loop that does something take at least so many times as long, whatever the noise.
pub(crate) const LEAST_SCALING: f64 = 1.5;

/// The longest time for tries beyond the first three, untimed parts included.
const SCALING_CAP_NS: u64 = 250_000_000;

/// Time of 2k iterations over that of k (V16), until it is near 2 or the tries are used up: of the smallest times of several tries,
/// or the median of the tries' own ratios, whichever is nearer to 2. Interference spoils the ones where it comes and goes
/// within a try, and the others where it stays; a loop that does nothing has 1 in both.
fn scaling(ins: &dyn Clock, variant: &mut Variant<'_>, iters: u64, total: &mut u64) -> Result<f64, BenchError> {
    let (mut single, mut double) = (u64::MAX, u64::MAX);
    let mut tries = Vec::new();
    let mut ratio = f64::NAN;
    let start = ins.now_ns();
    for attempt in 0..24 {
        // What is not timed of each (a competitor that has to be woken, on a busy machine) has no part in it.
        if attempt >= 3 && ins.now_ns().saturating_sub(start) > SCALING_CAP_NS {
            break;
        }
        let (one, two) =
            (time_once(ins, variant, iters / 2, total)?.1, time_once(ins, variant, iters / 2 * 2, total)?.1);
        (single, double) = (single.min(one), double.min(two));
        tries.push(two as f64 / one.max(1) as f64);
        ratio = double as f64 / single.max(1) as f64;
        if attempt >= 2 && (ratio - 2.0).abs() < 0.05 {
            return Ok(ratio);
        }
    }
    tries.sort_by(f64::total_cmp);
    let median = tries[tries.len() / 2];
    Ok(if (median - 2.0).abs() < (ratio - 2.0).abs() { median } else { ratio })
}

/// The share of an interval that a preemption may take without disqualifying it.
const NOTHING_LOST: f64 = 0.005;

/// The labels of a sample taken between two readings; `elapsed_ns` is its timed part.
pub(crate) fn label(before: &Reading, after: &Reading, rules: &Rules) -> Labels {
    let mut labels = Labels::NONE;
    let used = after.usage.since(&before.usage);
    let wall = after.now_ns.saturating_sub(before.now_ns);
    let lost = wall.saturating_sub(after.cpu_ns.saturating_sub(before.cpu_ns));
    // Long intervals (a worker group's take 20 ms and more) are all interrupted by somebody for some microseconds: what is below the
    // precision of any headline does not make them worthless. A short interval is always worth less than a switch costs.
    if used.involuntary > 0 && lost as f64 > NOTHING_LOST * wall as f64 {
        labels.add(Label::Preempted);
    }
    if used.voluntary > 0 && !rules.blocks {
        labels.add(Label::Voluntary);
    }
    if before.cpu != after.cpu {
        labels.add(Label::Migrated);
    }
    if used.major_faults > 0 || (used.minor_faults > 0 && !rules.faults_expected) {
        labels.add(Label::Faulted);
    }
    // Time that was neither given to the thread nor spent waiting for a CPU. Where the thread waited (P, V) the two cannot
    // be told apart without the scheduler's statistics, and the sample is labelled already.
    let waited = used.involuntary > 0 || used.voluntary > 0;
    // While its maker waits, what is made has the CPU: time that neither had went to somebody else. The bounds leave room
    // for idling across a hand-over; a turn lost to a competitor takes milliseconds.
    let lost_by_all = wall.saturating_sub(after.family_cpu_ns.saturating_sub(before.family_cpu_ns));
    if rules.tasks && lost_by_all as f64 > (0.25 * wall as f64).max(100_000.0) {
        labels.add(Label::Stolen);
    }
    if !rules.blocks && !waited && lost as f64 > (0.02 * wall as f64).max(20_000.0) {
        labels.add(Label::Stolen);
    }
    if after.now_ns < before.now_ns {
        labels.add(Label::Clock);
    } else if let Some(hz) = rules.counter_hz {
        let counted = after.counter.wrapping_sub(before.counter) as f64 / hz * 1e9;
        if (counted - wall as f64).abs() > (50e-6 * wall as f64).max(1000.0) {
            labels.add(Label::Clock);
        }
    }
    labels
}

/// Takes one batched sample, labels included.
fn sample(
    ins: &impl Instruments,
    variant: &mut Variant<'_>,
    iters: u64,
    rules: &Rules,
    total: &mut u64,
) -> Result<Sample, BenchError> {
    let before = ins.reading();
    let (t0_ns, elapsed_ns) = time_once(ins, variant, iters, total)?;
    let after = ins.reading();
    Ok(Sample {
        worker: 0,
        cpu: after.cpu,
        t0_ns,
        elapsed_ns,
        iters,
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        labels: label(&before, &after, rules),
        margin_ns: None,
    })
}

/// Takes a group of operations, each timed alone, all with the labels of the group.
fn group(
    ins: &impl Instruments,
    variant: &mut Variant<'_>,
    rules: &Rules,
    total: &mut u64,
    into: &mut Vec<Sample>,
) -> Result<(), BenchError> {
    let first = into.len();
    // Operations of a millisecond are labelled one by one: of eight in a row, hardly any group would stay clean.
    let n = if into.last().is_some_and(|s| s.elapsed_ns > LONG_OPERATION_NS) { 1 } else { GROUP };
    let before = ins.reading();
    for _ in 0..n {
        let (t0_ns, elapsed_ns) = time_once(ins, variant, 1, total)?;
        into.push(Sample { t0_ns, elapsed_ns, iters: 1, ..Sample::default() });
    }
    let after = ins.reading();
    let labels = label(&before, &after, rules);
    let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns) / n;
    for sample in &mut into[first..] {
        *sample = Sample { cpu: after.cpu, cpu_ns, labels, ..*sample };
    }
    Ok(())
}

/// Warms up with the very loop that is measured: at least `warm_ns`, until steady, at most [`WARM_CAP_NS`] (3.6).
fn warm_up(
    ins: &impl Instruments,
    variants: &mut [Variant<'_>],
    iters: &[u64],
    rules: &Rules,
    total: &mut u64,
) -> Result<bool, BenchError> {
    let start = ins.now_ns();
    let mut recent: Vec<f64> = Vec::new();
    let cap = WARM_CAP_NS.min(rules.time_limit_ns.max(rules.warm_ns));
    loop {
        for (i, variant) in variants.iter_mut().enumerate() {
            let (_, elapsed) = time_once(ins, variant, iters[i], total)?;
            if i == 0 {
                recent.push(elapsed as f64 / iters[0] as f64);
            }
        }
        let spent = ins.now_ns().saturating_sub(start);
        if spent == 0 && recent.len() >= STILL_TURNS {
            return Err(BenchError::Failed(format!(
                "{STILL_TURNS} turns of the warm-up take no time: the clock stands still"
            )));
        }
        let enough = recent.len() >= 2 && spent >= rules.warm_ns;
        // Operations that are timed alone vary by nature; their steadiness is judged after the run (drift).
        if enough && (rules.timing == Timing::Each || recent.len() >= 10 && drift::steady(&recent)) {
            return Ok(true);
        }
        if spent >= cap {
            return Ok(!enough || recent.len() < 10 || drift::steady(&recent));
        }
        // Many short intervals: a warm-up three times as long as asked for, without ever ten steady ones, is enough said.
        if enough && recent.len() > 10 && spent >= 3 * rules.warm_ns {
            return Ok(false);
        }
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
    let host = ins.host();
    let each = rules.timing == Timing::Each;
    let target_ns = if rules.timing == Timing::Stream { rules.interval_ns.max(STREAM_NS) } else { rules.interval_ns };

    let mut iters = Vec::with_capacity(variants.len());
    for variant in variants.iter_mut() {
        let known = frozen.iter().find(|(name, _)| name == variant.name).map(|(_, n)| *n);
        let n = match known {
            _ if each => 1,
            Some(n) => n,
            None => choose_iterations(ins, variant, target_ns, &mut taken.iterations)?,
        };
        // A loop that may not do more is looked at whatever it does: that it took no time is what ended the search.
        if known.is_none() && !each && (n >= 8 || (n >= 2 && n == variant.max_iters)) {
            let ratio = scaling(ins, variant, n, &mut taken.iterations)?;
            // Of several loops, the one that is farthest off.
            if taken.scaling.is_none_or(|seen| (seen - 2.0).abs() < (ratio - 2.0).abs()) {
                taken.scaling = Some(ratio);
            }
        }
        iters.push(n);
    }
    if !warm_up(ins, variants, &iters, rules, &mut taken.iterations)? {
        taken.output.remarks.push(Remark::Unsteady);
    }

    let wanted = if each { rules.intervals * OPS_PER_INTERVAL } else { rules.intervals } as usize;
    let mut halvings = 0;
    loop {
        let mut samples: Vec<Vec<Sample>> =
            variants.iter().map(|_| preallocate(wanted * DIRTY_FACTOR + GROUP as usize)).collect();
        sample_loop(ins, rules, variants, &iters, wanted, rng, &mut taken, &mut samples)?;
        let clean = samples.iter().map(|s| clean(s, rules)).min().unwrap_or(0);
        let share = clean as f64 / samples[0].len().max(1) as f64;
        taken.output.series = variants
            .iter()
            .zip(&iters)
            .zip(samples)
            .map(|((variant, &iters), samples)| Series {
                name: variant.name.to_owned(),
                iters,
                per_iter: variant.per_iter,
                samples,
                values: Vec::new(),
            })
            .collect();
        let poor = share < RETRY_SHARE || clean < RETRY_CLEAN.min(wanted);
        let shorter = iters.iter().all(|&n| n >= 2) && target_ns / 2f64.powi(halvings + 1) >= 50_000.0;
        // A frozen count must stay what it is: only the first round may look for a shorter interval.
        if each || !poor || !shorter || halvings == 2 || !frozen.is_empty() {
            label_host(&host, &ins.host(), &mut taken.output.series);
            return Ok(taken);
        }
        halvings += 1;
        for n in &mut iters {
            *n /= 2;
        }
        taken.output.remarks.push(Remark::IntervalHalved { clean, taken: taken.output.series[0].samples.len() });
    }
}

/// Labels everything with H when the host took time from this machine meanwhile. The kernel counts
/// it in steps of 10 ms, so it can be told of the round as a whole only.
pub(crate) fn label_host(before: &HostCounters, after: &HostCounters, series: &mut [Series]) {
    let change = after.since(before);
    if change.steal_ticks.is_some_and(|n| n > 0) || change.nr_throttled.is_some_and(|n| n > 0) {
        for sample in series.iter_mut().flat_map(|s| &mut s.samples) {
            sample.labels.add(Label::Host);
        }
    }
}

/// Room for so many samples whose pages are present: a page touched first between two readings would be a fault of the
/// sample's.
fn preallocate(n: usize) -> Vec<Sample> {
    let mut samples = vec![Sample { iters: 1, ..Sample::default() }; n];
    std::hint::black_box(&mut samples).clear();
    samples
}

fn clean(samples: &[Sample], rules: &Rules) -> usize {
    samples.iter().filter(|s| !s.labels.meets(rules.drops)).count()
}

#[expect(clippy::too_many_arguments, reason = "one caller; a struct would only rename the arguments")]
fn sample_loop(
    ins: &impl Instruments,
    rules: &Rules,
    variants: &mut [Variant<'_>],
    iters: &[u64],
    wanted: usize,
    rng: &mut Rng,
    taken: &mut Samples,
    samples: &mut [Vec<Sample>],
) -> Outcome {
    let start = ins.now_ns();
    // Where each series was: loops of different length do not have as many samples each.
    let mut frequency_probes: Vec<(Vec<usize>, f64)> = Vec::new();
    loop {
        if frequency_probes.last().is_none_or(|(at, _)| samples[0].len() - at[0] >= FREQUENCY_PROBE_EVERY) {
            frequency_probes.push((samples.iter().map(Vec::len).collect(), ins.frequency_probe_ns() as f64));
        }
        // Which variant goes first changes from turn to turn, so that no variant always follows the frequency probe.
        let first = rng.below(variants.len() as u64) as usize;
        for k in 0..variants.len() {
            let i = (first + k) % variants.len();
            if rules.timing == Timing::Each {
                group(ins, &mut variants[i], rules, &mut taken.iterations, &mut samples[i])?;
            } else {
                // Up to 10 % longer, at random, so that intervals cannot lock onto ticks (3.3).
                let n = (iters[i] + rng.below(iters[i] / 10 + 1)).min(variants[i].max_iters);
                samples[i].push(sample(ins, &mut variants[i], n, rules, &mut taken.iterations)?);
            }
        }
        let (fewest, most) =
            samples.iter().map(Vec::len).fold((usize::MAX, 0), |(few, most), n| (few.min(n), most.max(n)));
        let enough = samples.iter().all(|s| clean(s, rules) >= wanted) || most >= wanted * DIRTY_FACTOR;
        let spent = ins.now_ns().saturating_sub(start);
        let hopeful = samples.iter().any(|s| clean(s, rules) < FEWEST) && spent < PATIENCE * rules.time_limit_ns;
        let late = spent >= rules.time_limit_ns && fewest >= FEWEST && !hopeful;
        if enough || late {
            break;
        }
    }
    // The core's clock, by the same quantile of the frequency probes as the headline is of the samples: many hosts change the clock
    // by percents within a round, and the fastest frequency probe would then belong to other samples than the median one (seen here:
    // 6994 cycles for 6400 additions). Then label what ran beside a frequency probe that is more than 1 % off the round's median.
    let times: Vec<f64> = frequency_probes.iter().map(|(_, ns)| *ns).collect();
    let which = if rules.timing == Timing::Floor { 0.1 } else { 0.5 };
    if let Some(ns) = order::quantile(&times, which).filter(|ns| *ns > 0.0) {
        taken.output.core_hz = Some(FREQUENCY_PROBE_OPS as f64 / ns * 1e9);
    }
    if let Some(median) = order::median(&times) {
        for (k, (from, ns)) in frequency_probes.iter().enumerate() {
            if (ns / median - 1.0).abs() > 0.01 {
                for (i, series) in samples.iter_mut().enumerate() {
                    let to = frequency_probes.get(k + 1).map_or(series.len(), |(at, _)| at[i]);
                    for sample in &mut series[from[i]..to] {
                        sample.labels.add(Label::Frequency);
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    //! The sampler on a machine that does what it is told: every label is injected and found (V6), no sample is lost, and a
    //! broken clock never gives a negative or huge time (V3).
    use super::*;
    use crate::sys::counters::Usage;
    use std::cell::{Cell, RefCell};

    /// A machine whose time passes only when told, with the counters of one thread.
    pub(crate) struct Fake {
        pub(crate) now: Cell<u64>,
        cpu_ns: Cell<u64>,
        state: RefCell<Reading>,
        frequency_probe: Cell<u64>,
        frequency_probes: RefCell<Vec<u64>>,
        pub(crate) host: RefCell<HostCounters>,
    }

    impl Fake {
        pub(crate) fn new() -> Fake {
            Fake {
                now: Cell::new(1_000_000),
                cpu_ns: Cell::new(0),
                state: RefCell::new(Reading { cpu: 1, ..Reading::default() }),
                frequency_probe: Cell::new(50_000),
                frequency_probes: RefCell::new(Vec::new()),
                host: RefCell::new(HostCounters::default()),
            }
        }

        /// Time that the thread was running.
        pub(crate) fn run(&self, ns: u64) {
            self.now.set(self.now.get() + ns);
            self.cpu_ns.set(self.cpu_ns.get() + ns);
        }

        /// Time that it was not.
        pub(crate) fn lose(&self, ns: u64) {
            self.now.set(self.now.get() + ns);
        }

        fn count(&self, change: impl FnOnce(&mut Usage)) {
            change(&mut self.state.borrow_mut().usage);
        }
    }

    impl Clock for Fake {
        fn now_ns(&self) -> u64 {
            self.now.get()
        }
    }

    impl Instruments for Fake {
        fn reading(&self) -> Reading {
            // The counter ticks at 1 GHz: one tick a nanosecond.
            Reading {
                now_ns: self.now.get(),
                counter: self.now.get(),
                cpu_ns: self.cpu_ns.get(),
                family_cpu_ns: self.cpu_ns.get(),
                ..*self.state.borrow()
            }
        }

        fn chain_ns(&self, _: u64) -> u64 {
            self.run(self.frequency_probe.get());
            self.frequency_probes.borrow_mut().push(self.frequency_probe.get());
            self.frequency_probe.get()
        }

        fn kernel_entry_ns(&self) -> f64 {
            100.0
        }

        fn host(&self) -> HostCounters {
            self.host.borrow().clone()
        }
    }

    fn rules() -> Rules {
        Rules {
            timing: Timing::Batched,
            interval_ns: 200_000.0,
            intervals: 25,
            time_limit_ns: 1_000_000_000,
            warm_ns: 1_000_000,
            drops: crate::model::Interference::Cpu.drops(),
            faults_expected: false,
            blocks: false,
            tasks: false,
            counter_hz: Some(1e9),
        }
    }

    /// Runs a loop of 100 ns an iteration; `event(n)` happens at the n-th call of the body.
    fn take_with(fake: &Fake, rules: &Rules, mut event: impl FnMut(&Fake, u64)) -> Samples {
        let mut calls = 0;
        let body = |iters: u64| {
            calls += 1;
            fake.run(100 * iters);
            event(fake, calls);
            Ok(())
        };
        alone(fake, rules, &mut [Variant::new("", body)], &[], &mut Rng::new(3)).expect("the body does not fail")
    }

    #[test]
    fn a_quiet_machine_gives_clean_samples_of_the_right_length() {
        let taken = take_with(&Fake::new(), &rules(), |_, _| {});
        let series = &taken.output.series[0];
        assert_eq!(series.iters, 2000);
        assert_eq!(series.samples.len(), 25);
        for s in &series.samples {
            assert_eq!(s.labels, Labels::NONE);
            assert_eq!(s.elapsed_ns, 100 * s.iters);
            assert!((2000..=2200).contains(&s.iters), "stretched by up to a tenth: {}", s.iters);
        }
        // Not all of one length, or they could lock onto a tick.
        assert!(series.samples.iter().any(|s| s.iters != series.samples[0].iters));
        let scaling = taken.scaling.expect("looked at");
        assert!((scaling - 2.0).abs() < 0.01);
        let hz = taken.output.core_hz.expect("frequency_probes ran");
        assert!((hz / (FREQUENCY_PROBE_OPS as f64 / 50e-6) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_interrupted_probe_does_not_end_the_search_for_the_count() {
        let taken = take_with(&Fake::new(), &rules(), |fake, n| {
            if n == 1 {
                fake.lose(5_000_000);
            }
        });
        assert_eq!(taken.output.series[0].iters, 2000);
    }

    #[test]
    fn frozen_counts_are_kept() {
        let fake = Fake::new();
        let body = |iters: u64| {
            fake.run(100 * iters);
            Ok(())
        };
        let frozen = [(String::new(), 777)];
        let taken = alone(&fake, &rules(), &mut [Variant::new("", body)], &frozen, &mut Rng::new(3)).expect("runs");
        assert_eq!(taken.output.series[0].iters, 777);
        assert_eq!(taken.scaling, None);
    }

    /// Makes `event` happen in every fifth call and tells how many samples have the label, and how many have another.
    fn hit(rules: &Rules, label: Label, event: impl Fn(&Fake)) -> (usize, usize, usize) {
        let fake = Fake::new();
        let hits = Cell::new(Vec::new());
        let taken = take_with(&fake, rules, |fake, n| {
            if n % 5 == 0 {
                event(fake);
                let mut all = hits.take();
                all.push(fake.now.get());
                hits.set(all);
            }
        });
        let hits = hits.take();
        let samples = &taken.output.series[0].samples;
        // An event at the very start of a sample was that of the one before.
        let was_hit = |s: &Sample| hits.iter().any(|at| s.t0_ns < *at && *at <= s.t0_ns + s.elapsed_ns);
        let found = samples.iter().filter(|s| was_hit(s) && s.labels.has(label)).count();
        let missed = samples.iter().filter(|s| was_hit(s) && !s.labels.has(label)).count();
        let wrong = samples.iter().filter(|s| !was_hit(s) && s.labels.has(label)).count();
        (found, missed, wrong)
    }

    #[test]
    fn every_injected_event_is_labelled_and_nothing_else_is() {
        type Event = fn(&Fake);
        let cases: [(Label, Event); 6] = [
            (Label::Preempted, |f| {
                f.lose(4_000_000);
                f.count(|u| u.involuntary += 1);
            }),
            (Label::Voluntary, |f| {
                f.lose(50_000);
                f.count(|u| u.voluntary += 1);
            }),
            (Label::Faulted, |f| f.count(|u| u.minor_faults += 1)),
            (Label::Faulted, |f| f.count(|u| u.major_faults += 1)),
            (Label::Stolen, |f| f.lose(60_000)),
            (Label::Migrated, |f| f.state.borrow_mut().cpu ^= 1),
        ];
        for (label, event) in cases {
            let (found, missed, wrong) = hit(&rules(), label, event);
            assert!(found >= 3, "{label:?}: {found}");
            assert_eq!((missed, wrong), (0, 0), "{label:?}");
        }
    }

    #[test]
    fn a_turn_lost_by_maker_and_made_alike_is_labelled() {
        let making = Rules { blocks: true, tasks: true, faults_expected: true, ..rules() };
        let (found, missed, wrong) = hit(&making, Label::Stolen, |f| {
            f.lose(4_000_000);
            f.count(|u| u.voluntary += 1);
        });
        assert!(found >= 3);
        assert_eq!((missed, wrong), (0, 0));
    }

    #[test]
    fn what_belongs_to_the_operation_is_no_label() {
        let blocking = Rules { blocks: true, ..rules() };
        let (found, _, wrong) = hit(&blocking, Label::Voluntary, |f| {
            f.lose(50_000);
            f.count(|u| u.voluntary += 1);
        });
        assert_eq!((found, wrong), (0, 0));
        let faulting = Rules { faults_expected: true, ..rules() };
        let (found, _, wrong) = hit(&faulting, Label::Faulted, |f| f.count(|u| u.minor_faults += 1));
        assert_eq!((found, wrong), (0, 0));
    }

    #[test]
    fn a_slower_core_shows_in_the_canary() {
        let fake = Fake::new();
        let taken = take_with(&fake, &rules(), |fake, n| {
            // 3 % slower towards the end of the samples.
            if n > 44 {
                fake.frequency_probe.set(51_500);
            }
        });
        let labelled = taken.output.series[0].samples.iter().filter(|s| s.labels.has(Label::Frequency)).count();
        let all = taken.output.series[0].samples.len();
        assert!(labelled > 0 && labelled < all, "{labelled} of {all}");
    }

    #[test]
    fn a_clock_that_jumps_back_gives_a_label_and_no_huge_time() {
        let fake = Fake::new();
        let taken = take_with(&fake, &rules(), |fake, n| {
            if n % 7 == 0 {
                fake.now.set(fake.now.get() - 400_000);
            }
        });
        let samples = &taken.output.series[0].samples;
        assert!(samples.iter().all(|s| s.elapsed_ns <= 100 * s.iters));
        let back = samples.iter().filter(|s| s.elapsed_ns == 0).count();
        let labelled = samples.iter().filter(|s| s.labels.has(Label::Clock)).count();
        assert!(back > 0 && labelled >= back, "{back} ran back, {labelled} labelled");
    }

    #[test]
    fn clocks_that_disagree_are_labelled() {
        let slow = Rules { counter_hz: Some(1.10e9), ..rules() };
        let taken = take_with(&Fake::new(), &slow, |_, _| {});
        assert!(taken.output.series[0].samples.iter().all(|s| s.labels.has(Label::Clock)));
        // Without a usable counter there is nothing to compare with.
        let none = Rules { counter_hz: None, ..rules() };
        assert!(
            take_with(&Fake::new(), &none, |_, _| {}).output.series[0].samples.iter().all(|s| s.labels == Labels::NONE)
        );
    }

    #[test]
    fn a_disturbed_machine_is_sampled_longer_and_keeps_everything() {
        let fake = Fake::new();
        let taken = take_with(&fake, &rules(), |fake, n| {
            if n % 2 == 0 {
                fake.lose(3_000_000);
                fake.count(|u| u.involuntary += 1);
            }
        });
        let samples = &taken.output.series[0].samples;
        assert_eq!(clean(samples, &rules()), 25);
        assert!((48..=52).contains(&samples.len()), "{}", samples.len());
    }

    #[test]
    fn hopeless_rounds_try_shorter_intervals_and_end() {
        let fake = Fake::new();
        let taken = take_with(&fake, &rules(), |fake, n| {
            // The search for the count is over by then, the sampling is not.
            if n > 32 {
                fake.lose(1_000_000);
                fake.count(|u| u.involuntary += 1);
            }
        });
        assert!(
            taken.output.remarks.iter().filter(|r| matches!(r, Remark::IntervalHalved { .. })).count() == 2,
            "{:?}",
            taken.output.remarks
        );
        assert!(!taken.output.series[0].samples.is_empty());
    }

    #[test]
    fn the_time_box_ends_a_slow_operation() {
        let fake = Fake::new();
        let short = Rules { time_limit_ns: 30_000_000, ..rules() };
        let body = |iters: u64| {
            fake.run(5_000_000 * iters);
            Ok(())
        };
        let taken = alone(&fake, &short, &mut [Variant::new("", body)], &[], &mut Rng::new(1)).expect("runs");
        assert_eq!(taken.output.series[0].iters, 1);
        assert!((FEWEST..=7).contains(&taken.output.series[0].samples.len()));
    }

    #[test]
    fn operations_are_timed_alone_when_asked() {
        let fake = Fake::new();
        let each = Rules { timing: Timing::Each, ..rules() };
        let body = |iters: u64| {
            assert_eq!(iters, 1);
            fake.run(5_000);
            Ok(())
        };
        let taken = alone(&fake, &each, &mut [Variant::new("", body)], &[], &mut Rng::new(1)).expect("runs");
        assert!(taken.output.series[0].samples.len() >= 25 * OPS_PER_INTERVAL as usize);
        assert!(taken.output.series[0].samples.iter().all(|s| s.iters == 1 && s.elapsed_ns == 5_000));
    }

    #[test]
    fn arms_are_sampled_in_turn() {
        let fake = Fake::new();
        let mut variants = [
            Variant::new("fast", |iters| {
                fake.run(10 * iters);
                Ok(())
            }),
            Variant::new("slow", |iters| {
                fake.run(1000 * iters);
                Ok(())
            })
            .per_iter(2.0),
        ];
        let taken = alone(&fake, &rules(), &mut variants, &[], &mut Rng::new(1)).expect("runs");
        let [fast, slow] = taken.output.series.as_slice() else { panic!("two series") };
        assert_eq!((fast.iters, slow.iters), (20_000, 200));
        assert_eq!((fast.per_iter, slow.per_iter), (1.0, 2.0));
        assert_eq!(fast.samples.len(), slow.samples.len());
        let pairs = fast.samples.iter().zip(&slow.samples);
        assert!(pairs.clone().any(|(f, s)| f.t0_ns < s.t0_ns) && pairs.clone().any(|(f, s)| f.t0_ns > s.t0_ns));
    }

    #[test]
    fn a_loop_that_does_nothing_fails() {
        let fake = Fake::new();
        let taken = alone(&fake, &rules(), &mut [Variant::new("", |_| Ok(()))], &[], &mut Rng::new(1));
        assert!(matches!(taken, Err(BenchError::Failed(why)) if why.contains("does nothing")));
    }

    #[test]
    fn a_failing_body_ends_the_round_with_its_reason() {
        let fake = Fake::new();
        let body = |_| Err(BenchError::Failed("no more".to_owned()));
        let taken = alone(&fake, &rules(), &mut [Variant::new("", body)], &[], &mut Rng::new(1));
        assert_eq!(taken.expect_err("it failed"), BenchError::Failed("no more".to_owned()));
    }

    #[test]
    fn spans_that_others_have_seen_add_up_and_never_run_backwards() {
        let fake = Fake::new();
        let mut watch = Stopwatch::new(&fake);
        watch.span(100, 130);
        watch.span(200, 201);
        watch.span(300, 299);
        assert_eq!((watch.t0, watch.elapsed()), (100, 31));
    }

    /// A reading of a thread that has run for so long of so much, with these counts.
    fn reading(wall: u64, cpu: u64, usage: Usage) -> Reading {
        Reading { now_ns: wall, counter: wall, cpu_ns: cpu, family_cpu_ns: cpu, cpu: 1, usage }
    }

    /// The letters of a sample between the start of time and this reading.
    fn letters(after: Reading, rules: &Rules) -> String {
        label(&reading(0, 0, Usage::default()), &after, rules).letters()
    }

    #[test]
    fn labels_begin_at_their_thresholds() {
        let (none, forced, slept) = (
            Usage::default(),
            Usage { involuntary: 1, ..Usage::default() },
            Usage { voluntary: 1, ..Usage::default() },
        );
        let wall = 200_000;
        let lost = |ns: u64, usage| reading(wall, wall - ns, usage);
        // S: 20 us, or 2 % of a long interval.
        assert_eq!(letters(lost(19_000, none), &rules()), "");
        assert_eq!(letters(lost(20_000, none), &rules()), "");
        assert_eq!(letters(lost(21_000, none), &rules()), "S");
        let long = |ns: u64, usage| reading(20_000_000, 20_000_000 - ns, usage);
        assert_eq!(letters(long(399_000, none), &rules()), "");
        assert_eq!(letters(long(401_000, none), &rules()), "S");
        // P: 0.5 % of the interval, and never S as well: the two cannot be told apart.
        assert_eq!(letters(lost(800, forced), &rules()), "");
        assert_eq!(letters(lost(1_000, forced), &rules()), "");
        assert_eq!(letters(lost(1_200, forced), &rules()), "P");
        assert_eq!(letters(lost(150_000, forced), &rules()), "P");
        assert_eq!(letters(long(80_000, forced), &rules()), "");
        assert_eq!(letters(long(120_000, forced), &rules()), "P");
        // V: whoever need not block.
        assert_eq!(letters(lost(0, slept), &rules()), "V");
        assert_eq!(letters(lost(150_000, slept), &rules()), "V");
        let blocking = Rules { blocks: true, ..rules() };
        assert_eq!(letters(lost(150_000, slept), &blocking), "");
        assert_eq!(letters(lost(150_000, none), &blocking), "");
    }

    #[test]
    fn time_that_neither_maker_nor_made_had_is_stolen_from_a_quarter_on() {
        let making = Rules { blocks: true, tasks: true, ..rules() };
        let lost = |wall: u64, family: u64| Reading {
            family_cpu_ns: wall - family,
            ..reading(wall, wall / 10, Usage { voluntary: 1, ..Usage::default() })
        };
        assert_eq!(letters(lost(200_000, 99_000), &making), "");
        assert_eq!(letters(lost(200_000, 101_000), &making), "S");
        assert_eq!(letters(lost(2_000_000, 499_000), &making), "");
        assert_eq!(letters(lost(2_000_000, 501_000), &making), "S");
        // Those who make nobody are judged by their own time.
        assert_eq!(letters(lost(2_000_000, 501_000), &Rules { tasks: false, ..making }), "");
    }

    #[test]
    fn faults_and_moves_are_labelled_one_by_one() {
        let with = |usage| letters(reading(200_000, 200_000, usage), &rules());
        assert_eq!(with(Usage { minor_faults: 1, ..Usage::default() }), "F");
        assert_eq!(with(Usage { major_faults: 1, ..Usage::default() }), "F");
        let faulting = Rules { faults_expected: true, ..rules() };
        let major = reading(200_000, 200_000, Usage { major_faults: 1, ..Usage::default() });
        assert_eq!(letters(major, &faulting), "F", "a fault that waits for a disk is nobody's subject");
        assert_eq!(letters(Reading { cpu: 2, ..reading(200_000, 200_000, Usage::default()) }, &rules()), "M");
    }

    #[test]
    fn clocks_disagree_from_a_microsecond_or_fifty_millionths_on() {
        let apart = |wall: u64, by: i64| {
            let counter = wall.wrapping_add_signed(by);
            letters(Reading { counter, ..reading(wall, wall, Usage::default()) }, &rules())
        };
        for sign in [1, -1] {
            assert_eq!(apart(200_000, sign * 990), "");
            assert_eq!(apart(200_000, sign * 1_010), "T");
            // 50 ppm of 100 ms are 5 us.
            assert_eq!(apart(100_000_000, sign * 4_900), "");
            assert_eq!(apart(100_000_000, sign * 5_100), "T");
        }
        // A clock that ran back needs no counter to be found out.
        let before = reading(500, 0, Usage::default());
        let none = Rules { counter_hz: None, ..rules() };
        assert_eq!(label(&before, &reading(499, 0, Usage::default()), &none).letters(), "T");
        assert_eq!(label(&before, &reading(500, 0, Usage::default()), &none).letters(), "");
    }

    /// Operations of these lengths, timed one by one; `event(variant, n)` happens in the n-th call of a variant.
    fn each_with(fake: &Fake, time_limit_ns: u64, lengths: &[u64], event: impl Fn(&Fake, usize, u64)) -> Samples {
        let names = ["a", "b", "c"];
        let event = &event;
        let mut variants: Vec<Variant<'_>> = lengths
            .iter()
            .enumerate()
            .map(|(i, ns)| {
                let mut calls = 0;
                Variant::new(names[i], move |iters| {
                    calls += 1;
                    fake.run(ns * iters);
                    event(fake, i, calls);
                    Ok(())
                })
            })
            .collect();
        let each = Rules { timing: Timing::Each, time_limit_ns, ..rules() };
        alone(fake, &each, &mut variants, &[], &mut Rng::new(5)).expect("nothing fails")
    }

    #[test]
    fn groups_of_loops_of_different_length_keep_them_apart() {
        let taken = each_with(&Fake::new(), 4_000_000_000, &[3_000, 40_000, 700_000], |_, _, _| {});
        let [a, b, c] = taken.output.series.as_slice() else { panic!("three series") };
        for (series, ns) in [(a, 3_000), (b, 40_000), (c, 700_000)] {
            for sample in &series.samples {
                assert_eq!((sample.elapsed_ns, sample.iters, sample.labels), (ns, 1, Labels::NONE), "{}", series.name);
                assert_eq!((sample.cpu, sample.cpu_ns), (1, ns), "{}", series.name);
            }
        }
        // The long one has a reading for itself from its second turn on, the others share one by
        // eight; the turns end when a series holds as many as there is room for, whichever that is.
        assert_eq!(a.samples.len(), b.samples.len());
        assert_eq!((a.samples.len() / 8 + 7, c.samples.len()), (c.samples.len(), 195));
        let turned = each_with(&Fake::new(), 4_000_000_000, &[700_000, 3_000], |_, _, _| {});
        assert_eq!(turned.output.series[1].samples.len(), 1504);
        let most = 500 * DIRTY_FACTOR + GROUP as usize;
        assert!(turned.output.series.iter().all(|s| s.samples.len() <= most), "more than there is room for");
        let starts = |s: &Series| s.samples.iter().map(|s| s.t0_ns).collect::<Vec<_>>();
        assert!(starts(a).windows(2).all(|w| w[0] < w[1]) && starts(c).windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn a_disturbed_operation_spoils_its_group_and_no_other() {
        // The 26th operation is in the fourth group of the samples, or so: the warm-up has some as well.
        let hit = Cell::new(0);
        let taken = each_with(&Fake::new(), 1_000_000_000, &[5_000], |fake, _, n| {
            if n == 1_000 {
                hit.set(fake.now.get());
                fake.lose(100_000);
                fake.count(|u| u.involuntary += 1);
            }
        });
        let samples = &taken.output.series[0].samples;
        let at = samples.iter().position(|s| s.t0_ns < hit.get() && hit.get() <= s.t0_ns + s.elapsed_ns);
        // A warm-up of 1 ms is 200 operations; 500 wanted.
        assert!(at.is_none(), "the thousandth operation is not among them");
        let taken = each_with(&Fake::new(), 1_000_000_000, &[5_000], |fake, _, n| {
            if n == 300 {
                hit.set(fake.now.get());
                fake.lose(100_000);
                fake.count(|u| u.involuntary += 1);
            }
        });
        let samples = &taken.output.series[0].samples;
        let at = samples.iter().position(|s| s.t0_ns < hit.get() && hit.get() <= s.t0_ns + s.elapsed_ns);
        let at = at.expect("the three hundredth operation is a sample");
        let labelled: Vec<usize> = (0..samples.len()).filter(|&i| samples[i].labels.has(Label::Preempted)).collect();
        let group = at / GROUP as usize * GROUP as usize;
        assert_eq!(labelled, (group..group + GROUP as usize).collect::<Vec<_>>(), "hit at {at}");
        assert!(samples.iter().all(|s| s.labels == Labels::NONE || s.labels == Labels::of(&[Label::Preempted])));
    }

    #[test]
    fn long_operations_are_labelled_alone() {
        let hit = Cell::new(0);
        let taken = each_with(&Fake::new(), 1_000_000_000, &[1_000_000], |fake, _, n| {
            if n == 100 {
                hit.set(fake.now.get());
                fake.lose(2_000_000);
                fake.count(|u| u.involuntary += 1);
            }
        });
        let samples = &taken.output.series[0].samples;
        let labelled: Vec<&Sample> = samples.iter().filter(|s| s.labels != Labels::NONE).collect();
        assert_eq!(labelled.len(), 1);
        // Of 200 us and not more, eight share a reading still.
        let just = each_with(&Fake::new(), 1_000_000_000, &[LONG_OPERATION_NS], |fake, _, n| {
            if n == 100 {
                fake.count(|u| u.minor_faults += 1);
            }
        });
        let spoilt = just.output.series[0].samples.iter().filter(|s| s.labels.has(Label::Faulted)).count();
        assert_eq!(spoilt, GROUP as usize);
        assert!(labelled[0].t0_ns < hit.get() && hit.get() <= labelled[0].t0_ns + labelled[0].elapsed_ns);
    }

    /// A loop of 100 ns an iteration, after `untimed` ns that are not timed.
    fn staged(fake: &Fake, rules: &Rules, untimed: u64) -> Samples {
        let body = |iters: u64, watch: &mut Stopwatch<'_>| {
            fake.run(untimed);
            watch.start();
            fake.run(100 * iters);
            watch.stop();
            Ok(())
        };
        alone(fake, rules, &mut [Variant::staged("", body)], &[], &mut Rng::new(3)).expect("it does not fail")
    }

    #[test]
    fn what_is_not_timed_counts_for_the_box_and_not_for_the_count() {
        let fake = Fake::new();
        let short = Rules { time_limit_ns: 40_000_000, intervals: 500, ..rules() };
        let taken = staged(&fake, &short, 3_000_000);
        let series = &taken.output.series[0];
        assert_eq!(series.iters, 2000, "200 us of the timed part");
        assert!(series.samples.iter().all(|s| s.elapsed_ns == 100 * s.iters));
        // Of 3.2 ms each, some frequency probes between.
        assert!((11..=13).contains(&series.samples.len()), "{}", series.samples.len());
        // Twice the iterations took twice the time, as the watch saw it.
        assert!((taken.scaling.expect("looked at") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_search_whose_timed_part_stays_short_ends_with_what_it_has() {
        let fake = Fake::new();
        let began = fake.now.get();
        let body = |iters: u64, watch: &mut Stopwatch<'_>| {
            fake.run(300_000_000 * iters);
            watch.start();
            fake.run(10 * iters);
            watch.stop();
            Ok(())
        };
        let n = choose_iterations(&fake, &mut Variant::staged("", body), 200_000.0, &mut 0).expect("a count");
        let spent = fake.now.get() - began;
        assert!((1..=10).contains(&n) && spent < 10 * SEARCH_CAP_NS, "{n} iterations after {spent} ns");
        // Where the watch was never started, there is nothing to go by.
        let body = |iters: u64, _: &mut Stopwatch<'_>| {
            fake.run(300_000_000 * iters);
            Ok(())
        };
        let never = choose_iterations(&fake, &mut Variant::staged("", body), 200_000.0, &mut 0);
        assert!(
            matches!(&never, Err(BenchError::Failed(why)) if why.contains("no time that is measured")),
            "{never:?}"
        );
    }

    #[test]
    fn a_capped_loop_that_does_nothing_does_not_scale() {
        for cap in [2, 7, 64, 4096] {
            let fake = Fake::new();
            // Reading the clock takes 20 ns, whatever is between.
            let body = |_: u64| {
                fake.run(20);
                Ok(())
            };
            let mut variants = [Variant::new("", body).max_iters(cap)];
            let taken = alone(&fake, &rules(), &mut variants, &[], &mut Rng::new(1)).expect("samples");
            let ratio = taken.scaling.expect("it was looked at");
            assert!((ratio - 1.0).abs() < 1e-9, "{cap}: {ratio}");
        }
        // And one that does something does.
        let fake = Fake::new();
        let body = |iters: u64| {
            fake.run(500 * iters);
            Ok(())
        };
        let taken =
            alone(&fake, &rules(), &mut [Variant::new("", body).max_iters(64)], &[], &mut Rng::new(1)).expect("runs");
        assert!((taken.scaling.expect("it was looked at") - 2.0).abs() < 1e-9);
        assert_eq!(taken.output.series[0].iters, 64);
        assert!(taken.output.series[0].samples.iter().all(|s| s.iters == 64));
    }

    #[test]
    fn of_several_loops_the_one_that_scales_worst_is_told() {
        for broken in 0..2 {
            let fake = Fake::new();
            let good = |iters: u64| {
                fake.run(100 * iters);
                Ok(())
            };
            let bad = |_: u64| {
                fake.run(20);
                Ok(())
            };
            let mut variants = [Variant::new("good", good), Variant::new("bad", bad).max_iters(100)];
            if broken == 0 {
                variants.swap(0, 1);
            }
            let taken = alone(&fake, &rules(), &mut variants, &[], &mut Rng::new(1)).expect("samples");
            assert!((taken.scaling.expect("looked at") - 1.0).abs() < 1e-9, "{broken}");
        }
    }

    #[test]
    fn the_scaling_is_of_the_smallest_times_or_the_median_of_the_ratios() {
        // What 24 tries of k and of 2k take, by the number of the call.
        let ratio = |time: &dyn Fn(u64, u64) -> u64| {
            let fake = Fake::new();
            let mut calls = 0;
            let body = |iters: u64| {
                fake.run(time(calls, iters));
                calls += 1;
                Ok(())
            };
            scaling(&fake, &mut Variant::new("", body), 2000, &mut 0).expect("it runs")
        };
        // Interference that comes and goes: the smallest times are right, the ratios are not.
        let seen = ratio(&|n, iters| 100 * iters + if n < 6 { 300_000 * (n % 3) } else { 0 });
        assert!((seen - 2.0).abs() < 0.05, "{seen}");
        // One try of k whose clock ran late makes its time too small for ever: the median of the
        // ratios is right, the mean is not.
        let seen = ratio(&|n, iters| if n == 0 { 10 } else { 100 * iters });
        assert!((seen - 2.0).abs() < 1e-9, "{seen}");
        // The same, but by little: the nearer of the two to 2 counts.
        let seen = ratio(&|n, iters| if n == 0 { 85 * iters } else { 100 * iters });
        assert!((seen - 2.0).abs() < 1e-9, "{seen}");
        // All but one time of k and one of 2k are disturbed, in different tries: the smallest are
        // right, the ratios are not.
        let seen = ratio(&|n, iters| if n == 10 || n == 21 { 100 * iters } else { 100 * iters + 90_000 + 1_000 * n });
        assert!((seen - 2.0).abs() < 1e-9, "{seen}");
        // A loop that does nothing is found out by both.
        let seen = ratio(&|n, _| 50 + n % 3);
        assert!(seen < 1.2, "{seen}");
        // No more than three are made of what takes long, however bad they are.
        let calls = Cell::new(0u64);
        let seen = ratio(&|n, iters| {
            calls.set(n + 1);
            90_000_000 + iters
        });
        assert!((seen - 1.0).abs() < 0.01 && calls.get() == 6, "{seen} after {}", calls.get());
        // Three ratios are looked at before the first is believed.
        let calls = Cell::new(0u64);
        let seen = ratio(&|n, iters| {
            calls.set(n + 1);
            100 * iters
        });
        assert_eq!((seen, calls.get()), (2.0, 6));
    }

    #[test]
    fn the_cores_clock_is_the_quantile_that_the_headline_is() {
        for (timing, p) in [(Timing::Batched, 0.5), (Timing::Floor, 0.1)] {
            let fake = Fake::new();
            let mut calls = 0;
            let body = |iters: u64| {
                calls += 1;
                fake.run(100 * iters);
                fake.frequency_probe.set([50_000, 900_000, 60_000, 60_000, 70_000, 500_000, 61_000][calls / 8 % 7]);
                Ok(())
            };
            let many = Rules { timing, intervals: 400, time_limit_ns: 60_000_000_000, ..rules() };
            let taken = alone(&fake, &many, &mut [Variant::new("", body)], &[], &mut Rng::new(3)).expect("it runs");
            let ns = FREQUENCY_PROBE_OPS as f64 * 1e9 / taken.output.core_hz.expect("frequency_probes ran");
            // Rank by rank, not by the function under test; fifty frequency probes.
            let mut seen = fake.frequency_probes.take();
            seen.sort_unstable();
            let at = (seen.len() - 1) as f64 * p;
            let (low, high) = (seen[at.floor() as usize] as f64, seen[at.ceil() as usize] as f64);
            assert!(low * 0.9999 <= ns && ns <= high * 1.0001, "{timing:?}: {ns} of {low}..{high}");
            let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
            assert!(mean > 1.5 * high && seen.len() > 40, "a mean cannot pass for it: {mean}");
            assert!(timing == Timing::Floor || (seen[0] as f64) < 0.9 * low, "nor the smallest");
        }
    }

    #[test]
    fn a_slow_canary_labels_what_ran_beside_it_in_every_series() {
        let fake = Fake::new();
        let long = Cell::new(0);
        let mut variants = [
            Variant::new("short", |iters| {
                fake.run(5_000 * iters);
                Ok(())
            }),
            Variant::new("long", |iters| {
                fake.run(500_000 * iters);
                // From some moment on the core is slower.
                long.set(fake.now.get());
                if fake.now.get() > 40_000_000 {
                    fake.frequency_probe.set(52_000);
                }
                if fake.now.get() > 60_000_000 {
                    fake.frequency_probe.set(50_000);
                }
                Ok(())
            }),
        ];
        let each = Rules { timing: Timing::Each, time_limit_ns: 100_000_000, ..rules() };
        let taken = alone(&fake, &each, &mut variants, &[], &mut Rng::new(5)).expect("nothing fails");
        let spans: Vec<(u64, u64)> = taken
            .output
            .series
            .iter()
            .map(|s| {
                let labelled: Vec<u64> =
                    s.samples.iter().filter(|s| s.labels.has(Label::Frequency)).map(|s| s.t0_ns).collect();
                assert!(!labelled.is_empty() && labelled.len() < s.samples.len(), "{}", s.name);
                (labelled[0], labelled[labelled.len() - 1])
            })
            .collect();
        // The same time in both, but for a turn of 0.6 ms: the two do not have as many samples each.
        assert!(taken.output.series[0].samples.len() > 4 * taken.output.series[1].samples.len());
        assert!(
            spans[0].0.abs_diff(spans[1].0) < 1_200_000 && spans[0].1.abs_diff(spans[1].1) < 1_200_000,
            "{spans:?}"
        );
        assert!(spans[0].0 > 38_000_000 && spans[0].1 < 62_000_000, "{spans:?}");
    }

    #[test]
    fn steal_and_throttling_label_the_round_and_other_counts_do_not() {
        let base = HostCounters {
            steal_ticks: Some(7),
            nr_throttled: Some(3),
            psi_cpu_total_us: Some(5),
            loadavg: Some([1.0; 3]),
        };
        let labelled = |after: HostCounters| {
            let fake = Fake::new();
            fake.host.replace(base.clone());
            let taken = take_with(&fake, &rules(), |fake, n| {
                if n == 40 {
                    fake.host.replace(after.clone());
                }
            });
            let all = taken.output.series[0].samples.len();
            let with = taken.output.series[0].samples.iter().filter(|s| s.labels == Labels::of(&[Label::Host])).count();
            assert!(with == 0 || with == all, "{with} of {all}");
            with > 0
        };
        assert!(!labelled(base.clone()));
        assert!(labelled(HostCounters { steal_ticks: Some(8), ..base.clone() }));
        assert!(labelled(HostCounters { nr_throttled: Some(4), ..base.clone() }));
        assert!(!labelled(HostCounters { psi_cpu_total_us: Some(900), loadavg: None, ..base.clone() }));
        // Steal runs backwards when a machine is moved.
        assert!(!labelled(HostCounters { steal_ticks: Some(2), ..base.clone() }));
        assert!(!labelled(HostCounters { steal_ticks: None, nr_throttled: None, ..base.clone() }));
    }

    /// Warms a loop up whose n-th turn takes `ns(n)` a turn; whether it was steady, its turns, and how long it took.
    fn warmed(rules: &Rules, ns: impl Fn(u64) -> u64) -> (Result<bool, BenchError>, u64, u64) {
        let fake = Fake::new();
        let began = fake.now.get();
        let mut turns = 0;
        let body = |_: u64| {
            turns += 1;
            fake.run(ns(turns));
            Ok(())
        };
        let steady = warm_up(&fake, &mut [Variant::new("", body)], &[10], rules, &mut 0);
        (steady, turns, fake.now.get() - began)
    }

    #[test]
    fn a_warm_up_lasts_as_long_as_asked_and_until_it_is_steady() {
        let asked = |ms: u64| Rules { warm_ns: ms * 1_000_000, ..rules() };
        // Steady at once: no longer than asked, and ten turns.
        assert_eq!(warmed(&asked(10), |_| 200_000), (Ok(true), 50, 10_000_000));
        assert_eq!(warmed(&asked(1), |_| 200_000), (Ok(true), 10, 2_000_000));
        // Slow at first: until the last ten are alike, although enough time has passed.
        let (steady, turns, _) = warmed(&asked(4), |n| if n < 30 { 400_000 - 9_000 * n } else { 130_000 });
        assert_eq!(steady, Ok(true));
        assert!((34..=39).contains(&turns), "of the last ten most are alike: {turns}");
        // Operations that are timed alone vary by nature.
        let each = Rules { timing: Timing::Each, ..asked(1) };
        assert_eq!(warmed(&each, |n| 300_000 + 200_000 * (n % 2)), (Ok(true), 3, 1_300_000));
    }

    #[test]
    fn a_warm_up_ends_at_its_cap_and_says_that_it_was_not_steady() {
        // Ever slower, by more than 1 % in ten turns.
        let slower = |n: u64| 200_000 + 5_000 * n;
        let (steady, _, spent) = warmed(&Rules { warm_ns: 3_000_000, ..rules() }, slower);
        assert_eq!(steady, Ok(false));
        assert!((9_000_000..9_700_000).contains(&spent), "three times what was asked: {spent}");
        // The box ends it, and so do 500 ms, whatever was asked for.
        let (_, _, spent) =
            warmed(&Rules { warm_ns: 1_000, time_limit_ns: 20_000_000, ..rules() }, |n| 3_000_000 + 100_000 * n);
        assert!((20_000_000..26_000_000).contains(&spent), "{spent}");
        let long = Rules { warm_ns: 900_000_000, time_limit_ns: 60_000_000_000, ..rules() };
        let (steady, _, spent) = warmed(&long, |_| 200_000_000);
        assert_eq!((steady, spent), (Ok(true), 600_000_000), "too few to tell");
        // What the flag becomes.
        let fake = Fake::new();
        let body = |iters: u64| {
            let now = fake.now.get();
            fake.run(iters * (100 + now / 100_000));
            Ok(())
        };
        let taken = alone(&fake, &rules(), &mut [Variant::new("", body)], &[], &mut Rng::new(3)).expect("it runs");
        assert!(taken.output.remarks.contains(&Remark::Unsteady), "{:?}", taken.output.remarks);
        assert!(take_with(&Fake::new(), &rules(), |_, _| {}).output.remarks.is_empty());
    }

    #[test]
    fn a_clock_that_stands_still_is_an_error_and_not_for_ever() {
        let (still, ..) = warmed(&rules(), |_| 0);
        assert!(matches!(&still, Err(BenchError::Failed(why)) if why.contains("stands still")), "{still:?}");
        let fake = Fake::new();
        let each = Rules { timing: Timing::Each, ..rules() };
        let none = alone(&fake, &each, &mut [Variant::new("", |_| Ok(()))], &[], &mut Rng::new(1));
        assert!(matches!(&none, Err(BenchError::Failed(why)) if why.contains("stands still")), "{none:?}");
        let frozen = [(String::new(), 10)];
        let none = alone(&fake, &rules(), &mut [Variant::new("", |_| Ok(()))], &frozen, &mut Rng::new(1));
        assert!(matches!(&none, Err(BenchError::Failed(why)) if why.contains("stands still")), "{none:?}");
    }

    #[test]
    fn a_round_ends_by_its_box_and_a_hopeless_one_by_four() {
        let began = |fake: &Fake| fake.now.get();
        // Never enough clean samples, since none is wanted clean: every second one is preempted.
        for (lost_every, boxes) in [(2, 1), (1, PATIENCE)] {
            let fake = Fake::new();
            let rules = Rules { time_limit_ns: 50_000_000, intervals: 10_000, warm_ns: 0, ..rules() };
            let mut n = 0;
            let body = |iters: u64| {
                n += 1;
                fake.run(100 * iters);
                if n % lost_every == 0 {
                    fake.lose(3_000_000);
                    fake.count(|u| u.involuntary += 1);
                }
                Ok(())
            };
            let frozen = [(String::new(), 2000)];
            let start = began(&fake);
            let taken =
                alone(&fake, &rules, &mut [Variant::new("", body)], &frozen, &mut Rng::new(3)).expect("it runs");
            let spent = taken.output.series[0].samples.last().map_or(0, |s| s.t0_ns + s.elapsed_ns) - start;
            // The warm-up has ten turns and more besides; a sample is 3.2 ms.
            let least = rules.time_limit_ns * boxes;
            assert!((least..least + 100_000_000).contains(&spent), "{boxes} boxes: {spent} ns");
        }
    }

    #[test]
    fn a_sample_holds_the_time_of_its_thread() {
        let taken = take_with(&Fake::new(), &rules(), |fake, _| fake.lose(500));
        for sample in &taken.output.series[0].samples {
            assert_eq!(sample.cpu_ns, 100 * sample.iters);
            assert_eq!(sample.elapsed_ns, 100 * sample.iters + 500);
            assert_eq!((sample.worker, sample.cpu, sample.margin_ns), (0, 1, None));
        }
        // All that ran are counted: searching, warming up and sampling.
        let fake = Fake::new();
        let done = Cell::new(0);
        let body = |iters: u64| {
            done.set(done.get() + iters);
            fake.run(100 * iters);
            Ok(())
        };
        let taken = alone(&fake, &rules(), &mut [Variant::new("", body)], &[], &mut Rng::new(3)).expect("it runs");
        assert_eq!(taken.iterations, done.get());
    }

    #[test]
    fn streams_have_intervals_of_five_milliseconds() {
        let stream = Rules { timing: Timing::Stream, ..rules() };
        assert_eq!(take_with(&Fake::new(), &stream, |_, _| {}).output.series[0].iters, 50_000);
        let longer = Rules { interval_ns: 9e6, ..stream };
        assert_eq!(take_with(&Fake::new(), &longer, |_, _| {}).output.series[0].iters, 90_000);
    }

    #[test]
    fn a_watch_adds_its_parts_and_keeps_its_first_start() {
        let fake = Fake::new();
        let mut watch = Stopwatch::new(&fake);
        for ns in [70, 30] {
            fake.run(5);
            watch.start();
            fake.run(ns);
            watch.stop();
        }
        assert_eq!((watch.t0, watch.elapsed(), watch.now_ns()), (1_000_005, 100, 1_000_110));
    }

    #[test]
    fn the_number_of_samples_is_bounded_where_few_are_clean() {
        let fake = Fake::new();
        let taken = take_with(&fake, &Rules { intervals: 10, time_limit_ns: 600_000_000_000, ..rules() }, |fake, n| {
            if n % 10 != 0 {
                fake.count(|u| u.minor_faults += 1);
            }
        });
        assert_eq!(taken.output.series[0].samples.len(), 10 * DIRTY_FACTOR);
    }

    /// The counts that a search tries, of a loop whose iterations take so many nanoseconds.
    fn searched(target_ns: f64, cap: u64, ns: impl Fn(usize, u64) -> u64) -> (Result<u64, BenchError>, Vec<u64>) {
        let fake = Fake::new();
        let tried = RefCell::new(Vec::new());
        let body = |iters: u64| {
            fake.run(ns(tried.borrow().len(), iters));
            tried.borrow_mut().push(iters);
            Ok(())
        };
        let found = choose_iterations(&fake, &mut Variant::new("", body).max_iters(cap), target_ns, &mut 0);
        (found, tried.take())
    }

    #[test]
    fn a_search_grows_by_two_to_ten_and_ends_at_half_its_target_twice() {
        let per = |ns: u64| move |_: usize, iters: u64| ns * iters;
        // By ten while far away, then by what is missing; two at half or more, and three to scale by.
        assert_eq!(searched(200_000.0, u64::MAX, per(100)), (Ok(2000), vec![1, 10, 100, 1000, 1000, 1000, 1000, 1000]));
        assert_eq!(searched(200_000.0, u64::MAX, per(90)).1[..5], [1, 10, 100, 1000, 2222]);
        assert_eq!(searched(200_000.0, u64::MAX, per(30_000)), (Ok(7), vec![1, 6, 6, 6, 6, 6]));
        assert_eq!(searched(200_000.0, u64::MAX, per(500_000)), (Ok(1), vec![1; 5]));
        // The fastest of the three counts: neither mean nor median.
        let noisy = |n: usize, iters: u64| 100 * iters * [1, 1, 1, 1, 1, 9, 2, 5][n];
        assert_eq!(searched(200_000.0, u64::MAX, noisy).0, Ok(1000));
        // A clock that jumped back makes one of them impossibly short; from a sixteenth of the
        // target on it is believed.
        let jumped = |ns: u64| move |n: usize, iters: u64| if n == 6 { ns } else { 100 * iters };
        assert_eq!(searched(200_000.0, u64::MAX, jumped(100)).0, Ok(2000));
        assert_eq!(searched(200_000.0, u64::MAX, jumped(12_500)).0, Ok(2000));
        assert_eq!(searched(200_000.0, u64::MAX, jumped(12_600)).0, Ok(15_873));
        // A cap is kept, whether the target is reached or not.
        assert_eq!(searched(200_000.0, 64, per(100)), (Ok(64), vec![1, 10, 64]));
        assert_eq!(searched(200_000.0, 1500, per(100)).0, Ok(1500));
    }

    #[test]
    fn no_more_iterations_are_tried_than_a_core_could_do() {
        assert_eq!((most_iters(200_000.0), most_iters(5e6), most_iters(1.0)), (20_000_000, 500_000_000, 1 << 20));
        let (found, tried) = searched(200_000.0, u64::MAX, |_, _| 20);
        assert!(
            matches!(&found, Err(BenchError::Failed(why)) if why.contains("20000000 iterations take 20 ns")),
            "{found:?}"
        );
        assert_eq!(tried.last(), Some(&20_000_000));
    }

    #[test]
    fn a_coarse_clock_is_not_one_that_stands_still() {
        // It shows the time of thousands of turns at once.
        let (steady, turns, _) = warmed(&rules(), |n| if n.is_multiple_of(5_000) { 10_000_000 } else { 0 });
        assert!(steady.is_ok() && turns >= 5_000, "{steady:?} after {turns}");
    }

    #[test]
    fn a_batch_of_a_worker_group_that_does_nothing_is_an_error() {
        let fake = Fake::new();
        let mut variant = Variant::new("", |_| {
            fake.run(25);
            Ok(())
        })
        .max_iters(16);
        let none = batch(&fake, &mut variant, 20_000.0, &mut 0);
        assert!(matches!(&none, Err(BenchError::Failed(why)) if why.ends_with("the loop does nothing")), "{none:?}");
        let work = |iters: u64| {
            fake.run(25 * iters);
            Ok(())
        };
        assert_eq!(batch(&fake, &mut Variant::new("", work).max_iters(16), 20_000.0, &mut 0), Ok(16));
        assert_eq!(batch(&fake, &mut Variant::new("", work), 20_000.0, &mut 0), Ok(800));
    }
}
