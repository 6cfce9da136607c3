//! What a sample is labelled with, from counters that are read on both sides of it, outside the
//! timed part.

use crate::instruments::Reading;
use crate::model::{CoreProbe, Label, Labels, Series, Timing};
use crate::sys::facts::HostCounters;

/// How the samples of a round are taken.
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
    /// The labels that exclude a sample from the headline.
    pub drops: Labels,
    /// Page faults belong to the operation.
    pub faults_expected: bool,
    /// Blocking belongs to the operation.
    pub blocks: bool,
    /// Its sides may run on several CPUs, which sleep while the other side works.
    pub sleeps: bool,
    /// The operation creates processes or threads that work while it waits: their CPU time counts
    /// as its own.
    pub tasks: bool,
    /// The median of the first operations of the warm-up is a metric of its own.
    pub first: bool,
    /// The main output is a rate or a bandwidth.
    pub rate: bool,
    /// The cost of reading the clock, in nanoseconds.
    pub clock_cost_ns: f64,
    /// Ticks per second of the cycle counter, where it may be used.
    pub counter_hz: Option<f64>,
    /// How to tell whether the core is shared; `None` where samples are not labelled with it.
    pub core: Option<CoreProbe>,
    /// How long the round may wait for an idle core in all, in nanoseconds.
    pub wait_ns: u64,
}

/// The share of an interval that a preemption may take without disqualifying it.
const NOTHING_LOST: f64 = 0.005;

/// The labels of a sample taken between two readings; `elapsed_ns` is its timed part.
pub(crate) fn label(before: &Reading, after: &Reading, rules: &Rules) -> Labels {
    let mut labels = Labels::NONE;
    let used = after.usage.since(&before.usage);
    let wall = after.now_ns.saturating_sub(before.now_ns);
    let lost = wall.saturating_sub(after.cpu_ns.saturating_sub(before.cpu_ns));
    // Long intervals (a worker group's take 20 ms and more) are all interrupted by somebody for
    // some microseconds: what is below the precision of any headline does not make them worthless.
    // A short interval is always worth less than a switch costs.
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
    // Time that was neither given to the thread nor spent waiting for a CPU. Where the thread
    // waited (P, V) the two cannot be told apart without the scheduler's statistics, and the sample
    // is labelled already.
    let waited = used.involuntary > 0 || used.voluntary > 0;
    // While its maker waits, what is made has the CPU: time that neither had went to somebody else.
    // The bounds leave room for idling across a hand-over; a turn lost to a competitor takes
    // milliseconds.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::rules;
    use crate::model::Sample;
    use crate::sys::counters::Usage;

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
        // V: only where the operation need not block.
        assert_eq!(letters(lost(0, slept), &rules()), "V");
        assert_eq!(letters(lost(150_000, slept), &rules()), "V");
        let blocking = Rules { blocks: true, ..rules() };
        assert_eq!(letters(lost(150_000, slept), &blocking), "");
        assert_eq!(letters(lost(150_000, none), &blocking), "");
    }

    #[test]
    fn time_that_neither_parent_nor_child_had_counts_as_stolen_from_a_quarter() {
        let making = Rules { blocks: true, tasks: true, ..rules() };
        let lost = |wall: u64, family: u64| Reading {
            family_cpu_ns: wall - family,
            ..reading(wall, wall / 10, Usage { voluntary: 1, ..Usage::default() })
        };
        assert_eq!(letters(lost(200_000, 99_000), &making), "");
        assert_eq!(letters(lost(200_000, 101_000), &making), "S");
        assert_eq!(letters(lost(2_000_000, 499_000), &making), "");
        assert_eq!(letters(lost(2_000_000, 501_000), &making), "S");
        // Without tasks, only the CPU time of the thread itself counts.
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

    /// A control that was held up as well must not be taken off as if it had not been.
    #[test]
    fn time_taken_by_the_host_is_reported_for_every_series() {
        let at = |steal_ticks| HostCounters { steal_ticks: Some(steal_ticks), ..HostCounters::default() };
        let mut series = vec![Series { samples: vec![Sample::default(); 2], ..Series::default() }; 3];
        label_host(&at(7), &at(8), &mut series);
        let letters: Vec<String> = series.iter().flat_map(|s| &s.samples).map(|s| s.labels.letters()).collect();
        assert_eq!(letters, ["H"; 6]);
    }

    #[test]
    fn the_host_has_taken_something_where_a_count_has_grown() {
        let labelled = |before: HostCounters, after: HostCounters| {
            let mut series = vec![Series { samples: vec![Sample::default()], ..Series::default() }];
            label_host(&before, &after, &mut series);
            series[0].samples[0].labels.letters()
        };
        let stolen = |n| HostCounters { steal_ticks: Some(n), ..HostCounters::default() };
        let throttled = |n| HostCounters { nr_throttled: Some(n), ..HostCounters::default() };
        assert_eq!(labelled(throttled(3), throttled(4)), "H");
        assert_eq!(labelled(throttled(3), throttled(3)), "");
        assert_eq!(labelled(stolen(3), stolen(3)), "");
        // Steal time may run back, and what is not counted has not grown.
        assert_eq!(labelled(stolen(3), stolen(2)), "");
        assert_eq!(labelled(HostCounters::default(), HostCounters::default()), "");
        // Waiting for a CPU is not steal time.
        let waited = |n| HostCounters { psi_cpu_total_us: Some(n), ..HostCounters::default() };
        assert_eq!(labelled(waited(3), waited(4)), "");
    }
}
