//! The clock's own properties, and how long an interval has to be.
//!
//! `clock_getres` says 1 ns where the step is 10, and the smallest or the common divisor of all
//! increments is ruined by one odd sample; the mode of the increments is an upper bound of the
//! step, hence safe (docs/methods/timing.md#clock-resolution).

use crate::model::Host;
use crate::sys::clock::Clock;
use groma_stats::increments::mode_step;
use groma_stats::order;

/// The properties of a clock, found by polling it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFacts {
    /// The step g: the mode of positive increments, in nanoseconds.
    pub step_ns: f64,
    /// The cost c: the median difference of two reads back to back, in nanoseconds.
    pub cost_ns: f64,
    /// The 99.9th percentile of those differences, in nanoseconds.
    pub cost_p999_ns: f64,
    /// How often the clock ran backwards; anything but 0 disqualifies it.
    pub backwards: u64,
}

/// Reads back to back that suffice for the mode and the 99.9th percentile
/// (docs/methods/timing.md#clock-resolution).
pub const POLLS: usize = 100_000;

/// The longest time spent polling a coarse or slow clock, in its own nanoseconds.
const POLL_LIMIT_NS: u64 = 250_000_000;
/// This many consecutive reads of the same time mean that the clock stands still: of 5 ns each,
/// they take longer than any step.
const STILL_READS: u64 = 1 << 24;

/// Polls the clock for its step and cost; `None` when it did not move.
pub fn poll(clock: &impl Clock) -> Option<ClockFacts> {
    let mut differences = Vec::with_capacity(POLLS);
    let mut steps = Vec::with_capacity(POLLS);
    let mut backwards = 0;
    let mut still = 0;
    let mut reads = 0u64;
    let start = clock.now_ns();
    let mut last = start;
    // A coarse clock shows few increments in that many polls: go on until there are enough, or the
    // limit.
    while differences.len() < POLLS || steps.len() < 32 {
        let now = clock.now_ns();
        reads += 1;
        still = if now == last { still + 1 } else { 0 };
        if still >= STILL_READS {
            return None;
        }
        match now.checked_sub(last) {
            Some(0) => {}
            Some(step) => steps.push(step),
            None => backwards += 1,
        }
        if differences.len() < POLLS {
            differences.push(now.saturating_sub(last) as f64);
        }
        last = now;
        if (now.saturating_sub(start) > POLL_LIMIT_NS && steps.len() >= 3) || backwards > POLLS as u64 {
            break;
        }
    }
    let step_ns = mode_step(&steps)? as f64;
    // A clock coarser than its reads shows mostly zeros; its mean, not its median, is then the cost
    // of a read.
    let median = order::median(&differences)?;
    let mean = last.saturating_sub(start) as f64 / reads as f64;
    Some(ClockFacts {
        step_ns,
        cost_ns: if median > 0.0 { median } else { mean },
        cost_p999_ns: order::quantile(&differences, 0.999)?,
        backwards,
    })
}

/// The interval of a single worker where the clock allows it: so short that a neighbour who comes
/// or goes within it is seen by the probes on both sides (docs/methods/neighbour.md#label).
const SHORTEST_NS: f64 = 40_000.0;
/// Steps of the clock in the shortest interval (docs/methods/timing.md#interval-length).
const STEPS: f64 = 2000.0;
/// Clock reads in the shortest interval (docs/methods/timing.md#interval-length).
const READS: f64 = 500.0;
/// The time slice where it cannot be measured: one tick at HZ=250
/// (docs/methods/timing.md#time-slice).
pub const ASSUMED_TIMESLICE_NS: f64 = 4e6;

/// The interval for one worker, in nanoseconds: the shortest that the clock allows. Quantisation
/// and clock error stay below 0.1 and 0.2 %.
pub fn interval_ns(clock: &ClockFacts) -> f64 {
    SHORTEST_NS.max(STEPS * clock.step_ns).max(READS * clock.cost_ns)
}

/// What is assumed where no preflight ran: a benchmark of a user's own, or a unit test.
pub fn assumed_host(clock: &impl Clock) -> Host {
    assumed_with(&poll(clock).unwrap_or(ClockFacts { step_ns: 1.0, cost_ns: 50.0, cost_p999_ns: 100.0, backwards: 0 }))
}

/// [`assumed_host`] of a clock that was polled before.
pub(crate) fn assumed_with(facts: &ClockFacts) -> Host {
    Host {
        clock_step_ns: facts.step_ns,
        clock_cost_ns: facts.cost_ns,
        timeslice_ns: ASSUMED_TIMESLICE_NS,
        timeslice_assumed: true,
        interval_ns: interval_ns(facts),
        proportionality: None,
        counter_hz: None,
        // Four times a last cache of 32 MiB.
        beyond_caches: Some(128 << 20),
        core: None,
    }
}

#[cfg(test)]
mod tests {
    //! Fake clocks of every bad kind (docs/methods/validation.md#guards).
    use super::*;
    use std::cell::Cell;

    /// A clock whose true time advances by `read_ns` a read and shows only multiples of `step_ns`.
    struct Fake {
        now: Cell<f64>,
        read_ns: f64,
        step_ns: f64,
        rate: f64,
        /// Every this many reads the time jumps by this much.
        jump: Option<(u64, f64)>,
        reads: Cell<u64>,
    }

    impl Fake {
        fn new(step_ns: f64) -> Fake {
            Fake { now: Cell::new(1e12), read_ns: 20.0, step_ns, rate: 1.0, jump: None, reads: Cell::new(0) }
        }
    }

    impl Clock for Fake {
        fn now_ns(&self) -> u64 {
            self.reads.set(self.reads.get() + 1);
            let mut now = self.now.get() + self.read_ns * self.rate;
            if let Some((every, by)) = self.jump
                && self.reads.get().is_multiple_of(every)
            {
                now += by;
            }
            self.now.set(now);
            ((now / self.step_ns).floor() * self.step_ns) as u64
        }
    }

    fn within(seen: f64, expected: f64, share: f64) -> bool {
        (seen / expected - 1.0).abs() <= share
    }

    #[test]
    fn finds_the_step_of_fine_and_coarse_clocks() {
        // Where a read costs more than a step, the read cost is what shows, and is the safe bound.
        for (step, shown) in [(1.0, 20.0), (10.0, 20.0), (1e3, 1e3), (1e6, 1e6), (1e7, 1e7)] {
            let facts = poll(&Fake::new(step)).expect("the clock moves");
            assert!(within(facts.step_ns, shown, 0.1), "step {step}: {facts:?}");
            assert!(within(facts.cost_ns, 20.0, 0.1), "step {step}: {facts:?}");
            assert_eq!(facts.backwards, 0);
            assert!(interval_ns(&facts) >= 2000.0 * facts.step_ns, "step {step}");
        }
    }

    #[test]
    fn a_slewed_clock_keeps_its_step() {
        let clock = Fake { rate: 1.0005, ..Fake::new(1e3) };
        assert!(within(poll(&clock).expect("moves").step_ns, 1e3, 0.1));
    }

    #[test]
    fn jumps_do_not_change_the_step() {
        let clock = Fake { jump: Some((997, 1e6)), ..Fake::new(10.0) };
        let facts = poll(&clock).expect("moves");
        assert!(within(facts.step_ns, 20.0, 0.1), "{facts:?}");
    }

    #[test]
    fn running_backwards_is_counted_and_never_negative() {
        let clock = Fake { jump: Some((1000, -5e4)), ..Fake::new(10.0) };
        let facts = poll(&clock).expect("moves");
        assert!(facts.backwards > 50, "{facts:?}");
        assert!(facts.cost_ns >= 0.0 && facts.step_ns > 0.0);
    }

    #[test]
    fn a_clock_that_stands_still_is_no_clock() {
        let clock = Fake { read_ns: 0.0, jump: Some((2, -1.0)), ..Fake::new(1.0) };
        assert_eq!(poll(&clock), None);
    }

    #[test]
    fn the_interval_is_as_short_as_the_clock_allows() {
        let fine = ClockFacts { step_ns: 10.0, cost_ns: 20.0, cost_p999_ns: 40.0, backwards: 0 };
        assert_eq!(interval_ns(&fine), 40_000.0);
        assert_eq!(interval_ns(&ClockFacts { step_ns: 1e3, ..fine }), 2e6);
        assert_eq!(interval_ns(&ClockFacts { cost_ns: 1200.0, ..fine }), 600_000.0);
    }

    #[test]
    fn a_clock_that_never_moves_is_given_up() {
        assert_eq!(poll(&Fake { read_ns: 0.0, ..Fake::new(1.0) }), None);
        // One that moves once in a million reads is a clock, and is not polled for ever.
        let rare = poll(&Fake { read_ns: 10.0, ..Fake::new(1e7) }).expect("it moves");
        assert!(within(rare.step_ns, 1e7, 0.01) && within(rare.cost_ns, 10.0, 0.1), "{rare:?}");
    }

    /// A clock whose reads take these nanoseconds in turn.
    struct Costs(Cell<u64>, Cell<usize>, &'static [u64]);

    impl Clock for Costs {
        fn now_ns(&self) -> u64 {
            let n = self.1.get();
            self.1.set(n + 1);
            self.0.set(self.0.get() + self.2[n % self.2.len()]);
            self.0.get()
        }
    }

    #[test]
    fn the_cost_of_a_read_is_the_median_with_a_separate_tail() {
        // Mean 2212, smallest 10, commonest 10.
        let skewed = poll(&Costs(Cell::new(0), Cell::new(0), &[10, 10, 10, 25, 30, 9_000, 40, 8_600])).expect("moves");
        assert_eq!((skewed.cost_ns, skewed.step_ns, skewed.backwards), (27.5, 10.0, 0));
        assert_eq!(skewed.cost_p999_ns, 9_000.0);
        let rare: &'static [u64] = Box::leak((0..1_000).map(|i| if i < 3 { 70_000 } else { 30 }).collect());
        let rare = poll(&Costs(Cell::new(0), Cell::new(0), rare)).expect("moves");
        assert_eq!((rare.cost_ns, rare.cost_p999_ns), (30.0, 70_000.0));
    }

    #[test]
    fn without_a_preflight_the_clock_is_probed() {
        let host = assumed_host(&Costs(Cell::new(0), Cell::new(0), &[50]));
        assert_eq!((host.clock_step_ns, host.clock_cost_ns), (50.0, 50.0));
        assert_eq!((host.timeslice_ns, host.timeslice_assumed, host.interval_ns), (4e6, true, 100_000.0));
        assert_eq!(assumed_host(&Costs(Cell::new(0), Cell::new(0), &[0])).clock_cost_ns, 50.0);
    }
}
