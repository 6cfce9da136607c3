//! The watch of one timed interval.

use crate::sys::clock::Clock;
use crate::sys::counters::Usage;

/// Starts and stops the timed part of an iteration count; made by the harness, used by benchmarks
/// that must set up or clean up around it.
pub struct Stopwatch<'c> {
    clock: &'c dyn Clock,
    pub(crate) t0: u64,
    started: u64,
    pub(crate) elapsed: u64,
    /// Timed parts so far: each contains the cost of about one reading of the clock.
    pub(crate) parts: u64,
    /// What the kernel counted for the thread within the timed part, and when it began: for
    /// benchmarks that ask.
    used: Option<(Usage, Usage)>,
}

impl<'c> Stopwatch<'c> {
    pub(crate) fn new(clock: &'c dyn Clock) -> Stopwatch<'c> {
        Stopwatch { clock, t0: 0, started: 0, elapsed: 0, parts: 0, used: None }
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
        self.parts += 1;
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

    /// A timed part one of whose ends another task has seen, on this same clock
    /// ([`crate::sys::clock::Monotonic`]).
    #[inline]
    pub fn span(&mut self, from_ns: u64, to_ns: u64) {
        if self.t0 == 0 {
            self.t0 = from_ns;
        }
        // As in `stop`.
        self.elapsed += to_ns.saturating_sub(from_ns);
        self.parts += 1;
    }

    /// The clock that this watch reads, in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::sys::mapping::{Backing, Mapping};

    #[test]
    fn spans_that_others_have_seen_add_up_and_never_run_backwards() {
        let fake = Fake::new();
        let mut watch = Stopwatch::new(&fake);
        watch.span(100, 130);
        watch.span(200, 201);
        watch.span(300, 299);
        assert_eq!((watch.t0, watch.elapsed), (100, 31));
        // Each of them has cost a reading of the clock.
        assert_eq!(watch.parts, 3);
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
        assert_eq!((watch.t0, watch.elapsed, watch.now_ns()), (1_000_005, 100, 1_000_110));
        assert_eq!(watch.parts, 2);
    }

    /// Touches fresh memory.
    fn fault() {
        let mut fresh = Mapping::new(1 << 20, Backing::Anonymous, false).expect("memory");
        fresh.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    }

    /// A disturbance faults as well, so what must not be counted is looked for in some of many
    /// tries.
    #[test]
    fn only_the_faults_of_the_timed_parts_are_counted() {
        let fake = Fake::new();
        let parts = |count: bool, inside: u32| {
            let mut watch = Stopwatch::new(&fake);
            if count {
                watch.count_faults();
            }
            for _ in 0..2 {
                fault();
                watch.start();
                (0..inside).for_each(|_| fault());
                watch.stop();
                fault();
            }
            watch.faults()
        };
        assert!((0..20).any(|_| parts(true, 0) == (0, 0)), "what is beside the watch is counted");
        assert_eq!(parts(false, 1), (0, 0));
        // The parts add up. A fault may map several pages, the same number each time.
        let (once, twice) = (parts(true, 1).0, parts(true, 8).0);
        assert!(once >= 2 && twice >= 16, "{once} and {twice} faults");
        let mut watch = Stopwatch::new(&fake);
        watch.count_faults();
        let mut seen = 0;
        for _ in 0..3 {
            watch.start();
            fault();
            watch.stop();
            assert!(watch.faults().0 > seen, "{seen}");
            seen = watch.faults().0;
        }
    }
}
