//! The CPUs that are least busy with work of this machine, of which a round of a single task draws
//! one
//! (docs/methods/timing.md#cpu-of-a-single-task).

use groma_harness::sys::load::CpuTime;
use std::collections::BTreeMap;

/// A CPU is one of the least busy if its busy share is at most this much above the least: within a
/// round, one or two ticks of the kernel's accounting can make an idle CPU look this busy.
const NEAR_SHARE: f64 = 0.25;
/// A busy share needs at least this many ticks (usually of 10 ms).
const MIN_TICKS: u64 = 5;

/// How busy the CPUs are with the work of other processes.
#[derive(Debug)]
pub(crate) struct Chooser {
    /// The busy share of each CPU when last seen without a worker of this run.
    busy: BTreeMap<u32, f64>,
    /// The times at the last update.
    times: Vec<CpuTime>,
    /// The CPUs of this run's workers since the last update; `None` if they may have been anywhere.
    ours: Option<Vec<u32>>,
}

impl Chooser {
    /// A chooser that starts with the share of time that each CPU lost to others in the preflight.
    pub(crate) fn new(lost: &[(u32, f64)]) -> Chooser {
        Chooser { busy: lost.iter().copied().collect(), times: Vec::new(), ours: None }
    }

    /// The CPUs that may be drawn for the next round, given the times of all CPUs now.
    pub(crate) fn least_busy(&mut self, of: &[u32], now: &[CpuTime]) -> Vec<u32> {
        self.update(now);
        // A CPU that went offline after the plan was made is no longer listed. In some containers
        // the file numbers CPUs differently; then it is ignored.
        let online = |cpu: &&u32| now.iter().any(|time| time.cpu == **cpu);
        let listed: Vec<u32> = of.iter().filter(online).copied().collect();
        let of = if listed.is_empty() { of } else { &listed };
        let busy = |cpu: &u32| self.busy.get(cpu).copied().unwrap_or(0.0);
        let least = of.iter().map(busy).fold(f64::INFINITY, f64::min);
        of.iter().copied().filter(|cpu| busy(cpu) <= least + NEAR_SHARE).collect()
    }

    /// Notes the CPUs of a round; an empty list means any CPU.
    pub(crate) fn runs_on(&mut self, cpus: &[u32]) {
        match &mut self.ours {
            Some(ours) if !cpus.is_empty() => ours.extend(cpus),
            ours => *ours = None,
        }
    }

    /// Updates the busy shares, unless too little time has passed.
    fn update(&mut self, now: &[CpuTime]) {
        let before = |cpu: u32| self.times.iter().find(|time| time.cpu == cpu);
        let shares: Vec<(u32, u64, u64)> = now
            .iter()
            .filter_map(|time| {
                let before = before(time.cpu)?;
                // Idle and waiting time may run backwards slightly.
                Some((time.cpu, time.busy.saturating_sub(before.busy), time.total.saturating_sub(before.total)))
            })
            .collect();
        let is_short = |ticks: &u64| *ticks < MIN_TICKS;
        if !self.times.is_empty() && shares.iter().map(|(_, _, total)| total).max().is_none_or(is_short) {
            return;
        }
        if let Some(ours) = &self.ours {
            let seen = shares.iter().filter(|(cpu, _, total)| !ours.contains(cpu) && !is_short(total));
            self.busy.extend(seen.map(|(cpu, busy, total)| (*cpu, *busy as f64 / *total as f64)));
        }
        self.times = now.to_vec();
        self.ours = Some(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of CPUs 0, 1, ... after `n` periods of 100 ticks, in each of which they were busy
    /// for these.
    fn after(n: u64, busy: &[u64]) -> Vec<CpuTime> {
        let time = |(cpu, busy): (u32, &u64)| CpuTime { cpu, busy: busy * n, total: 100 * n };
        (0..).zip(busy).map(time).collect()
    }

    /// The CPUs that can be drawn.
    fn drawn(chooser: &mut Chooser, of: &[u32], now: &[CpuTime]) -> Vec<u32> {
        chooser.least_busy(of, now)
    }

    #[test]
    fn only_the_least_busy_cpus_are_drawn() {
        let mut chooser = Chooser::new(&[(0, 0.1), (1, 0.36), (2, 0.35), (3, 0.9)]);
        assert_eq!(drawn(&mut chooser, &[0, 1, 2, 3], &[]), [0, 2]);
        assert_eq!(drawn(&mut chooser, &[1, 3], &[]), [1]);
        // An unknown CPU counts as idle.
        assert_eq!(drawn(&mut chooser, &[3, 7], &[]), [7]);
    }

    #[test]
    fn a_busy_cpu_is_left_out_until_it_is_idle_again() {
        let mut chooser = Chooser::new(&[]);
        assert_eq!(drawn(&mut chooser, &[0, 1, 2], &after(1, &[0, 0, 0])), [0, 1, 2]);
        chooser.runs_on(&[0]);
        // CPU 0 was busy with our own worker, CPU 1 with another task.
        assert_eq!(drawn(&mut chooser, &[0, 1, 2], &after(2, &[50, 50, 0])), [0, 2]);
        chooser.runs_on(&[2]);
        assert_eq!(drawn(&mut chooser, &[0, 1, 2], &after(3, &[34, 34, 34])), [0, 1, 2]);
    }

    #[test]
    fn a_round_on_any_cpu_and_a_short_time_change_nothing() {
        let mut chooser = Chooser::new(&[]);
        let _ = chooser.least_busy(&[0, 1], &after(1, &[0, 0]));
        chooser.runs_on(&[]);
        chooser.runs_on(&[0]);
        assert_eq!(drawn(&mut chooser, &[0, 1], &after(2, &[0, 50])), [0, 1]);
        let short = [CpuTime { cpu: 0, busy: 0, total: 204 }, CpuTime { cpu: 1, busy: 104, total: 204 }];
        assert_eq!(drawn(&mut chooser, &[0, 1], &short), [0, 1]);
        // The short time is added to the next one.
        let long = [CpuTime { cpu: 0, busy: 0, total: 210 }, CpuTime { cpu: 1, busy: 104, total: 210 }];
        assert_eq!(drawn(&mut chooser, &[0, 1], &long), [0]);
    }

    #[test]
    fn an_offline_cpu_is_not_drawn_if_others_are_listed() {
        let mut chooser = Chooser::new(&[]);
        assert_eq!(drawn(&mut chooser, &[0, 1, 9], &after(1, &[0, 0])), [0, 1]);
        assert_eq!(drawn(&mut chooser, &[8, 9], &after(2, &[0, 0])), [8, 9]);
    }
}
