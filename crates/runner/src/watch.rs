//! Watches how much of each core other threads use, second by second: a thread on each CPU probes
//! the core every 10 ms (docs/methods/neighbour.md#watch).
//!
//! Measures no benchmark and starts no worker. The probe itself is in `groma_harness`; a recording
//! of some ten thousand probes a second is in `recorder`.

mod recorder;

use crate::watch::recorder::Recorder;
use groma_harness::core_probe;
use groma_harness::core_watch::CoreWatch;
use groma_harness::course::Head;
use groma_harness::instruments::{FREQUENCY_PROBE_OPS, Instruments, Real};
use groma_harness::model::{CoreProbe, CpuShare, RateCounts, Second, Watched};
use groma_harness::stats::idle_rate::{bin_rate, log_bin};
use groma_harness::stats::median;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::facts::{host_counters, steal_by_cpu};
use groma_harness::sys::{affinity, sleep, thread};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The period of the probes of a CPU. A probe takes 3 us and its wake-up 14 us (KVM guest): at 2
/// ms, two CPUs would cost 3.4 % of one.
const PROBE_PERIOD: Duration = Duration::from_millis(10);
/// Chains before a probe: the clock may have changed since the last one.
const CHAINS: usize = 5;
/// The time to find the rate of an idle core, before the first second.
const TRIAL: Duration = Duration::from_millis(400);
/// Stack of a probing thread, in bytes.
const STACK: usize = 64 << 10;
/// A tick of the kernel's count of stolen time (USER_HZ).
const TICK_S: f64 = 0.01;

/// The results of a thread since the last call: the bin of each undisturbed probe, and the core
/// clock.
#[derive(Debug, Default)]
struct Seen {
    bins: Vec<i16>,
    core_hz: Option<f64>,
}

/// A CPU and its thread.
#[derive(Debug)]
struct Probed {
    cpu: u32,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
    /// All probes of the whole watch.
    counts: RateCounts,
    /// Those that were judged by a boundary in their second, and those of them that found the core
    /// shared.
    judged: u64,
    shared: u64,
    clocks: Vec<f64>,
    /// The current and the longest series of probes in a row that found the core shared.
    streak: u64,
    longest: u64,
    stolen_first: Option<u64>,
    stolen_last: Option<u64>,
}

impl Probed {
    /// A CPU without a thread.
    fn new(cpu: u32, seen: Arc<Mutex<Seen>>, stolen: Option<u64>) -> Probed {
        Probed {
            cpu,
            seen,
            thread: None,
            counts: RateCounts::default(),
            judged: 0,
            shared: 0,
            clocks: Vec::new(),
            streak: 0,
            longest: 0,
            stolen_first: stolen,
            stolen_last: stolen,
        }
    }

    /// Judges the probes of a second, and gives the share that found the core shared. They keep
    /// that verdict: the sum is that of the lines, whatever later probes teach.
    fn judge(&mut self, counts: &RateCounts, boundary: Option<f64>) -> Option<f64> {
        let (all, shared) = (counts.total(), count_shared(counts, boundary?));
        self.judged += all;
        self.shared += shared;
        share(shared, all)
    }

    /// The share of time stolen since the last call, from the current count of ticks.
    fn stolen_share(&mut self, ticks: Option<u64>, wall_s: f64) -> Option<f64> {
        let before = std::mem::replace(&mut self.stolen_last, ticks);
        share_of_ticks(before, ticks, wall_s)
    }
}

/// A running watch.
#[derive(Debug)]
pub struct Watch {
    probe: CoreProbe,
    cpus: Vec<Probed>,
    stop: Arc<AtomicBool>,
    started: Instant,
    last: Instant,
    waiting_us: Option<u64>,
    used: Usage,
    recorder: Option<Recorder>,
}

impl Watch {
    /// Begins to watch the allowed CPUs.
    ///
    /// # Errors
    /// When there is no cycle counter, or no thread can be started.
    pub fn begin() -> io::Result<Watch> {
        let cpus = affinity::allowed()?;
        let probe = trial(&cpus)?;
        let mut watch = Watch::new(probe, None);
        let stolen = steal_by_cpu();
        for cpu in cpus {
            let work = move |stop: &AtomicBool, seen: &Mutex<Seen>| probe_until(stop, cpu, &probe, seen);
            watch.start(cpu, stolen.get(&cpu).copied(), work)?;
        }
        Ok(watch)
    }

    /// Begins to record one CPU of each core, four at most, and keeps them busy: a second thread of
    /// a core would only find the first one.
    ///
    /// # Errors
    /// As [`begin`](Watch::begin), and when the trial found no rate of an idle core.
    pub fn record() -> io::Result<Watch> {
        let cpus = recorder::cpus();
        let probe = trial(&cpus)?;
        let begun = Recorder::new(&cpus, &probe).ok_or_else(|| io::Error::other("no rate of an idle core was found"));
        let (recorder, lanes) = begun?;
        let mut watch = Watch::new(probe, Some(recorder));
        let stolen = steal_by_cpu();
        for lane in lanes {
            let ticks = stolen.get(&lane.cpu).copied();
            watch.start(lane.cpu, ticks, move |stop, seen| recorder::record_until(stop, &lane, &probe, seen))?;
        }
        Ok(watch)
    }

    fn new(probe: CoreProbe, recorder: Option<Recorder>) -> Watch {
        Watch {
            probe,
            cpus: Vec::new(),
            stop: Arc::new(AtomicBool::new(false)),
            started: Instant::now(),
            last: Instant::now(),
            waiting_us: host_counters().psi_cpu_total_us,
            used: Usage::process(),
            recorder,
        }
    }

    /// Starts the thread of a CPU, from which so many ticks were stolen before.
    fn start(
        &mut self,
        cpu: u32,
        stolen: Option<u64>,
        work: impl FnOnce(&AtomicBool, &Mutex<Seen>) + Send + 'static,
    ) -> io::Result<()> {
        let (seen, stop) = (Arc::new(Mutex::new(Seen::default())), self.stop.clone());
        let mine = seen.clone();
        let thread = thread::spawn(STACK, move || work(&stop, &mine))?;
        self.cpus.push(Probed { thread: Some(thread), ..Probed::new(cpu, seen, stolen) });
        Ok(())
    }

    /// The first line of the recording, if this is one.
    pub fn head(&self) -> Option<&Head> {
        self.recorder.as_ref().map(|recorder| &recorder.head)
    }

    /// The bytes that were recorded since the last call, of whole places.
    pub fn take_recorded(&mut self) -> Vec<u8> {
        self.recorder.as_mut().map(Recorder::drain).unwrap_or_default()
    }

    /// The state of the CPUs since the last call.
    pub fn second(&mut self) -> Second {
        let (now, stolen) = (Instant::now(), steal_by_cpu());
        let wall_s = now.duration_since(self.last).as_secs_f64();
        let seen: Vec<(Seen, RateCounts)> = self.cpus.iter().map(|probed| take(&probed.seen)).collect();
        for (probed, (seen, counts)) in self.cpus.iter_mut().zip(&seen) {
            probed.counts.add(counts);
            probed.clocks.extend(seen.core_hz);
        }
        self.learn();
        let boundary = self.probe.shared_below;
        let cpus = self.cpus.iter_mut().zip(seen).map(|(probed, (seen, counts))| {
            let (mut streak, mut longest) = (probed.streak, 0);
            for bin in seen.bins {
                streak = if is_shared(bin, boundary) { streak + 1 } else { 0 };
                longest = longest.max(streak);
            }
            (probed.streak, probed.longest) = (streak, probed.longest.max(longest));
            let ticks = stolen.get(&probed.cpu).copied();
            CpuShare {
                cpu: probed.cpu,
                probes: counts.total(),
                shared: probed.judge(&counts, boundary),
                stolen: probed.stolen_share(ticks, wall_s),
                core_hz: seen.core_hz,
                longest_s: longest as f64 * PROBE_PERIOD.as_secs_f64(),
            }
        });
        let cpus = cpus.collect();
        let waiting_us = host_counters().psi_cpu_total_us;
        let waiting = share_of_microseconds(self.waiting_us, waiting_us, wall_s);
        (self.last, self.waiting_us) = (now, waiting_us);
        Second { at_s: now.duration_since(self.started).as_secs_f64(), cpus, waiting }
    }

    /// Ends the watch.
    pub fn end(mut self) -> Watched {
        self.second();
        self.stop_threads();
        let wall_s = self.started.elapsed().as_secs_f64();
        let cpus = self.cpus.iter().map(|probed| CpuShare {
            cpu: probed.cpu,
            probes: probed.counts.total(),
            shared: share(probed.shared, probed.judged),
            stolen: share_of_ticks(probed.stolen_first, probed.stolen_last, wall_s),
            core_hz: median(&probed.clocks),
            longest_s: probed.longest as f64 * PROBE_PERIOD.as_secs_f64(),
        });
        let cost = cost(&Usage::process().since(&self.used), wall_s);
        Watched { wall_s, cpus: cpus.collect(), alone: self.probe.alone, cost }
    }

    /// Updates the boundary from all probes of all CPUs so far.
    fn learn(&mut self) {
        let mut all = RateCounts::default();
        self.cpus.iter().for_each(|probed| all.add(&probed.counts));
        if let Some(found) = core_probe::learn(&self.probe, &all) {
            self.probe.learn(&found);
        }
    }

    fn stop_threads(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.cpus.iter_mut().filter_map(|probed| probed.thread.take()) {
            // It sleeps for at most one period.
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop_threads();
    }
}

/// The rate of an idle core, found on these CPUs by a thread of its own.
fn trial(cpus: &[u32]) -> io::Result<CoreProbe> {
    let cpus = cpus.to_vec();
    let trial = thread::spawn(STACK, move || core_probe::calibrate(&Real, &cpus, TRIAL.as_nanos() as u64))?;
    trial.join().ok().flatten().ok_or_else(|| io::Error::other("no cycle counter can be used here"))
}

/// The results since the last call, and the number of probes by rate.
fn take(seen: &Mutex<Seen>) -> (Seen, RateCounts) {
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let mut counts = RateCounts::default();
    seen.bins.iter().for_each(|bin| counts.count(*bin, 1));
    (seen, counts)
}

/// Probes a CPU until `stop` is set, and its clock once a second.
fn probe_until(stop: &AtomicBool, cpu: u32, probe: &CoreProbe, seen: &Mutex<Seen>) {
    if affinity::pin(cpu).is_err() {
        // It went offline; the others are still watched.
        return;
    }
    let every = PROBE_PERIOD.as_nanos() as u64;
    let mut core = CoreWatch::new(&Real, Some(*probe), 0);
    let (mut next, mut clock_next) = (sleep::now_ns(), sleep::now_ns());
    while !stop.load(Relaxed) {
        // Missed probes are skipped: catching up would keep a CPU busy that others need.
        next = (next + every).max(sleep::now_ns());
        let _ = sleep::until(next);
        (0..CHAINS).for_each(|_| core.time_chain());
        let bin = core.warm_rate().and_then(log_bin);
        let core_hz = (sleep::now_ns() >= clock_next).then(|| {
            clock_next = sleep::now_ns() + 1_000_000_000;
            FREQUENCY_PROBE_OPS as f64 * 1e9 / Real.frequency_probe_ns().max(1) as f64
        });
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.bins.extend(bin);
        seen.core_hz = core_hz.or(seen.core_hz);
    }
}

/// The CPU time that this process used, as a number of CPUs.
fn cost(used: &Usage, wall_s: f64) -> f64 {
    (used.user_ns + used.system_ns) as f64 * 1e-9 / wall_s
}

fn is_shared(bin: i16, boundary: Option<f64>) -> bool {
    boundary.is_some_and(|boundary| bin_rate(bin) < boundary)
}

/// The number of probes below the boundary.
fn count_shared(counts: &RateCounts, boundary: f64) -> u64 {
    counts.0.iter().filter(|(bin, _)| is_shared(*bin, Some(boundary))).map(|(_, n)| u64::from(*n)).sum()
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// The share of the time in the ticks counted between two readings.
fn share_of_ticks(then: Option<u64>, now: Option<u64>, wall_s: f64) -> Option<f64> {
    Some(now?.saturating_sub(then?) as f64 * TICK_S / wall_s.max(TICK_S))
}

/// The share of the time in the microseconds counted between two readings.
fn share_of_microseconds(then: Option<u64>, now: Option<u64>, wall_s: f64) -> Option<f64> {
    Some(now?.saturating_sub(then?) as f64 * 1e-6 / wall_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_allowed_cpu_is_probed() {
        let Ok(mut watch) = Watch::begin() else { return println!("no counter here") };
        let allowed = affinity::allowed().expect("allowed CPUs");
        // Until each has been probed: on a busy machine a thread may have to wait.
        let mut probes = BTreeMap::new();
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until && allowed.iter().any(|cpu| probes.get(cpu).is_none_or(|n| *n < 20)) {
            std::thread::yield_now();
            for cpu in watch.second().cpus {
                *probes.entry(cpu.cpu).or_insert(0) += cpu.probes;
            }
        }
        let watched = watch.end();
        assert_eq!(watched.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), allowed);
        assert!(watched.cpus.iter().all(|cpu| cpu.probes >= 20 && cpu.core_hz.is_some()), "{watched:?}");
        assert!(watched.cpus.iter().all(|cpu| cpu.shared.is_none_or(|share| (0.0..=1.0).contains(&share))));
    }

    #[test]
    fn shares_are_those_below_the_boundary() {
        let counts = RateCounts([(2.0, 30), (3.8, 70)].map(|(rate, n)| (log_bin(rate).expect("a rate"), n)).into());
        let judged = |counts, boundary| Probed::new(0, Arc::default(), None).judge(counts, boundary);
        assert_eq!(judged(&counts, Some(3.0)), Some(0.3));
        assert_eq!(judged(&counts, None), None);
        assert_eq!(judged(&RateCounts::default(), Some(3.0)), None);
        assert_eq!(share_of_ticks(Some(100), Some(150), 2.0), Some(0.25));
        assert_eq!(share_of_ticks(None, Some(150), 2.0), None);
        // Steal time can run backwards when a guest is migrated.
        assert_eq!(share_of_ticks(Some(100), Some(50), 2.0), Some(0.0));
        assert_eq!(share_of_microseconds(Some(1_000_000), Some(1_500_000), 2.0), Some(0.25));
        assert_eq!(share_of_microseconds(Some(9), Some(5), 2.0), Some(0.0));
        assert_eq!(share_of_microseconds(None, Some(5), 2.0), None);
        let used = Usage { user_ns: 300_000_000, system_ns: 200_000_000, ..Usage::default() };
        assert_eq!(cost(&used, 2.0), 0.25);
    }

    #[test]
    fn stolen_time_is_counted_in_its_second() {
        let mut probed = Probed::new(0, Arc::default(), Some(100));
        assert_eq!(probed.stolen_share(Some(150), 1.0), Some(0.5));
        assert_eq!(probed.stolen_share(Some(150), 1.0), Some(0.0));
        assert_eq!(probed.stolen_share(Some(160), 1.0), Some(0.1));
    }

    /// A watch of one CPU without a probing thread that began 100 s ago, and the results to feed
    /// it.
    fn watch_of_one() -> (Watch, Arc<Mutex<Seen>>) {
        // The best rate is so high that the boundary is not updated.
        let probe = CoreProbe { length: 1, step: 0.0, idle: 100.0, alone: true, shared_below: Some(3.0) };
        let seen = Arc::new(Mutex::new(Seen::default()));
        let begun = Instant::now().checked_sub(Duration::from_secs(100)).unwrap_or_else(Instant::now);
        let mut watch = Watch::new(probe, None);
        watch.cpus.push(Probed::new(0, seen.clone(), None));
        (watch.started, watch.last, watch.waiting_us) = (begun, begun, None);
        (watch, seen)
    }

    /// The end covers all seconds.
    #[test]
    fn a_second_covers_the_time_since_the_previous_one() {
        let (mut watch, seen) = watch_of_one();
        let (own, shared) = (log_bin(4.0).expect("a rate"), log_bin(2.0).expect("a rate"));
        let begun = watch.last;
        let mut second = |bins: Vec<i16>, core_hz: f64| {
            *seen.lock().expect("one thread") = Seen { bins, core_hz: Some(core_hz) };
            let (before, of) = (watch.last, watch.second());
            assert!(watch.last > before && of.at_s >= (watch.last - begun).as_secs_f64());
            let cpu = &of.cpus[0];
            (cpu.probes, cpu.shared, cpu.core_hz)
        };
        assert_eq!(second(vec![own, own, own, shared], 1e9), (4, Some(0.25), Some(1e9)));
        assert_eq!(second(vec![own, shared], 3e9), (2, Some(0.5), Some(3e9)));
        assert_eq!(second(vec![own; 4], 4e9), (4, Some(0.0), Some(4e9)));
        let watched = watch.end();
        let cpu = &watched.cpus[0];
        assert_eq!((cpu.probes, cpu.shared, cpu.core_hz), (10, Some(0.2), Some(3e9)));
    }

    /// Also where the boundary became known late, and where a faster core was met later.
    #[test]
    fn the_sum_is_that_of_the_lines() {
        let (mut watch, seen) = watch_of_one();
        let mut found = (0.0, 0);
        for (boundary, rates) in
            [(None, [4.0, 2.0]), (Some(3.0), [4.0, 2.0]), (Some(5.0), [4.0, 6.0]), (Some(7.0), [6.0, 6.0])]
        {
            watch.probe.shared_below = boundary;
            seen.lock().expect("one thread").bins = rates.map(|rate| log_bin(rate).expect("a rate")).repeat(5);
            let second = watch.second();
            assert_eq!(second.shared(), second.cpus[0].shared);
            if let Some(shared) = second.shared() {
                found = (found.0 + shared * second.cpus[0].probes as f64, found.1 + second.cpus[0].probes);
            }
        }
        assert_eq!(found, (20.0, 30));
        watch.probe.alone = false;
        let watched = watch.end();
        assert_eq!((watched.shared(), watched.alone), (Some(20.0 / 30.0), false));
    }

    #[test]
    fn a_series_of_shared_probes_continues_into_the_next_second() {
        let (mut watch, seen) = watch_of_one();
        let (own, shared) = (log_bin(4.0).expect("a rate"), log_bin(2.0).expect("a rate"));
        let mut longest = |bins: Vec<i16>| {
            seen.lock().expect("one thread").bins = bins;
            (watch.second().cpus[0].longest_s / PROBE_PERIOD.as_secs_f64()).round()
        };
        assert_eq!(longest([vec![own; 20], vec![shared; 5]].concat()), 5.0);
        assert_eq!(longest([vec![shared; 7], vec![own; 20]].concat()), 12.0);
        assert_eq!(longest(vec![own; 20]), 0.0);
        assert_eq!((watch.end().cpus[0].longest_s / PROBE_PERIOD.as_secs_f64()).round(), 12.0);
    }
}
