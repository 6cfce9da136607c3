//! The truth about a shared core, made where both threads of a core are visible: a loop on the
//! sibling must be seen by 99 % of the probes, its absence taken for a busy sibling by 1 % at most
//! (docs/methods/neighbour.md#truth). Where a core shows one thread, `groma-stats` simulates it.

use groma_harness::core_probe;
use groma_harness::core_watch::CoreWatch;
use groma_harness::instruments::Real;
use groma_harness::model::{CoreProbe, RateCounts};
use groma_harness::stats::idle_rate::{idle_rate, log_bin};
use groma_harness::sys::topology::{Relation, Topology};
use groma_harness::sys::{affinity, arch, counters};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the sibling is busy, and idle.
const PHASE: Duration = Duration::from_millis(500);
/// Pairs of phases before the test gives up on a machine that others use.
const ATTEMPTS: u32 = 20;
/// The share of a phase in which the sibling must have been as it should, for the phase to count.
const UNDISTURBED: f64 = 0.98;
/// The same where ticks say it, of which two may be cut.
const IDLE: f64 = 0.94;
const NS_PER_TICK: f64 = 1e7;

/// Probes this CPU for one phase.
fn rates(cpu: u32, probe: CoreProbe) -> Vec<f64> {
    let prober = thread::spawn(move || {
        affinity::pin(cpu).expect("an allowed CPU");
        let start = Instant::now();
        let mut rates = Vec::new();
        let mut watch = CoreWatch::new(&Real, Some(probe), 0);
        while start.elapsed() < PHASE {
            watch.time_chain();
            rates.extend(watch.rate());
        }
        rates
    });
    prober.join().expect("no panic")
}

/// The same while a loop keeps the sibling busy, and the share of the time in which the loop ran.
fn rates_beside_a_loop(cpu: u32, sibling: u32, probe: CoreProbe) -> (Vec<f64>, f64) {
    let (stop, runs) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let spinner = scope.spawn(|| {
            affinity::pin(sibling).expect("an allowed CPU");
            let (start, used) = (Instant::now(), counters::thread_cpu_ns());
            runs.store(true, Ordering::Relaxed);
            while !stop.load(Ordering::Relaxed) {
                arch::issue_mixed(1000);
            }
            let used = counters::thread_cpu_ns() - used;
            used as f64 / start.elapsed().as_nanos() as f64
        });
        while !runs.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let rates = rates(cpu, probe);
        stop.store(true, Ordering::Relaxed);
        (rates, spinner.join().expect("no panic"))
    })
}

/// Ticks that a CPU was idle, from `/proc/stat`.
fn idle_ticks(cpu: u32) -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

fn share_below(rates: &[f64], boundary: f64) -> f64 {
    rates.iter().filter(|rate| **rate < boundary).count() as f64 / rates.len().max(1) as f64
}

#[test]
fn a_loop_on_the_sibling_is_seen_and_nothing_else_is() {
    let Ok((cpu, sibling)) = Topology::read().pair(Relation::Smt) else {
        println!("not tested: no two threads of one core may be used here");
        return;
    };
    let chosen = thread::spawn(move || core_probe::calibrate(&Real, &[cpu], 40_000_000)).join().expect("no panic");
    let Some(probe) = chosen else {
        println!("not tested: {:?}", arch::counter_usable());
        return;
    };
    let mut undisturbed = 0;
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let (busy, ran) = rates_beside_a_loop(cpu, sibling, probe);
        let (idle_before, start) = (idle_ticks(sibling), Instant::now());
        let free = rates(cpu, probe);
        let idle = idle_ticks(sibling)
            .zip(idle_before)
            .map_or(1.0, |(after, before)| (after - before) * NS_PER_TICK / start.elapsed().as_nanos() as f64);
        if ran < UNDISTURBED || idle < IDLE {
            continue;
        }
        undisturbed += 1;
        let mut counts = RateCounts::default();
        busy.iter().chain(&free).filter_map(|rate| log_bin(*rate)).for_each(|bin| counts.count(bin, 1));
        let boundary = idle_rate(&counts.0, probe.step).map_or(0.0, |found| found.shared_below);
        let shares = (share_below(&busy, boundary), share_below(&free, boundary));
        if shares.0 >= 0.99 && shares.1 <= 0.01 {
            return;
        }
        seen.push(shares);
    }
    assert!(undisturbed == 0, "shares of probes called shared, with the loop and without: {seen:?}");
    println!("not tested: others used CPU {cpu} or {sibling} all the time");
}
