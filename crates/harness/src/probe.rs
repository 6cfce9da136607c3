//! What an operation costs at one of many settings of a round: the fastest of some short windows,
//! in seconds and in cycles.
//!
//! Not for headlines of their own: those have samples, labels and quantiles (`sampler.rs`). A probe
//! is what a search over sizes or strides asks a hundred times a round, and what is kept is what
//! the search found.

use crate::core_watch::CoreWatch;
use crate::error::{BenchError, Outcome};
use crate::instruments::Instruments;
use crate::iterations;
use crate::sys::arch::chain_ops;

/// The cost of one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Seconds, in the fastest window.
    pub seconds: f64,
    /// The same in cycles of the core clock at that time.
    pub cycles: f64,
    /// The core clock around that window, in hertz.
    pub core_hz: f64,
    /// Windows in which neither the clock changed nor the kernel took the CPU away; 0 when there
    /// was none, and the fastest of the others counts.
    pub clean: u32,
    /// Whether the sibling thread rested in that window and in the one before it. A busy one
    /// divides buffers and takes room in caches, so that a cost beside it says what it leaves.
    pub alone: bool,
}

/// Additions of the clock's sample beside each window: 10 us at 3 GHz, of which a clock step of 30
/// ns is 0.3 %.
const CLOCK_OPS: u64 = chain_ops(32_000);
/// The clock did not change when its samples on both sides of a window agree within this: hops are
/// 3 % and more.
const SAME_CLOCK: f64 = 0.01;
/// If no window was alone and the round may still wait, up to this many times as many are taken: a
/// sibling that works in short stretches disturbs most of them.
const AGAIN: u32 = 3;
/// A window counts as alone if it is the last of this many in a row beside an idle sibling: the
/// first refills what the sibling evicted.
const IN_A_ROW: u32 = 2;

/// See [`crate::Ctx::probe`].
pub(crate) fn probe<I: Instruments>(
    (ins, watch): (&I, &mut CoreWatch<'_, I>),
    windows: u32,
    least_ns: f64,
    most: u64,
    mut body: impl FnMut(u64) -> Outcome,
    done: &mut u64,
) -> Result<Cost, BenchError> {
    // Windows up to now that followed each other without company.
    let mut in_a_row = 0;
    let mut window = |iters: u64, watch: &mut CoreWatch<'_, I>| -> Result<(f64, bool), BenchError> {
        watch.time_chain();
        let was_idle = watch.look();
        let start = ins.now_ns();
        body(iters)?;
        let ns = ins.now_ns().saturating_sub(start) as f64;
        *done += iters;
        in_a_row = if watch.look() && was_idle { in_a_row + 1 } else { 0 };
        Ok((ns, in_a_row >= IN_A_ROW))
    };
    // The first window warms up what the body needs, and the count grows until a window is long
    // enough, or has `most` iterations.
    let mut iters = 1u64;
    loop {
        let (ns, _) = window(iters, watch)?;
        if ns >= least_ns || iters >= most {
            break;
        }
        if iters >= iterations::most_iters(least_ns) {
            return Err(BenchError::Failed("the loop takes no time".to_owned()));
        }
        // Half as much again as it seems to need, and never more than eight times: the first
        // windows are the slow ones.
        let wanted = iters as f64 * (least_ns / ns.max(1.0)) * 1.2;
        iters = (wanted as u64).clamp(iters + 1, iters * 8).min(most);
    }
    let mut best: Option<(bool, Cost)> = None;
    let (mut clean, mut taken) = (0, 0);
    let mut hz_before = clock_hz(ins);
    loop {
        if watch.wait() > 0 {
            window(iters, watch)?;
            hz_before = clock_hz(ins);
        }
        let before = ins.reading().usage;
        let (ns, alone) = window(iters, watch)?;
        let after = ins.reading().usage;
        let hz_after = clock_hz(ins);
        let undisturbed = before.involuntary == after.involuntary
            && before.voluntary == after.voluntary
            && (hz_before / hz_after - 1.0).abs() <= SAME_CLOCK;
        clean += u32::from(undisturbed);
        let core_hz = (hz_before + hz_after) / 2.0;
        let seconds = ns.max(1.0) * 1e-9 / iters as f64;
        let cost = Cost { seconds, cycles: seconds * core_hz, core_hz, clean: 0, alone };
        // Undisturbed before disturbed, alone before shared, then the fewer cycles: at another
        // clock the same work takes another time.
        let rank = |undisturbed: bool, cost: &Cost| (undisturbed, cost.alone, -cost.cycles);
        if best.is_none_or(|(was, seen)| rank(undisturbed, &cost) > rank(was, &seen)) {
            best = Some((undisturbed, cost));
        }
        hz_before = hz_after;
        taken += 1;
        let found = best.is_some_and(|(undisturbed, cost)| undisturbed && cost.alone);
        if taken >= windows && (found || !watch.is_patient() || taken >= AGAIN * windows) {
            break;
        }
    }
    match best {
        Some((_, cost)) => Ok(Cost { clean, ..cost }),
        None => Err(BenchError::Failed("no window was taken".to_owned())),
    }
}

/// The current core clock, from the faster of two short chains.
fn clock_hz(ins: &impl Instruments) -> f64 {
    let fastest = ins.chain_ns(CLOCK_OPS).min(ins.chain_ns(CLOCK_OPS));
    CLOCK_OPS as f64 / fastest.max(1) as f64 * 1e9
}

#[cfg(test)]
mod tests {
    //! Tests on a simulated machine.
    use super::*;
    use crate::instruments::Reading;
    use crate::sys::clock::Clock;
    use crate::sys::facts::HostCounters;
    use std::cell::Cell;

    /// A core with a settable clock, and a settable count of involuntary context switches.
    struct Fake {
        now: Cell<u64>,
        hz: Cell<f64>,
        involuntary: Cell<u64>,
        /// Nanoseconds that every second chain is held up.
        held_up: Cell<u64>,
        chains: Cell<u64>,
    }

    impl Fake {
        fn new() -> Fake {
            Fake {
                now: Cell::new(1_000_000),
                hz: Cell::new(3e9),
                involuntary: Cell::new(0),
                held_up: Cell::new(0),
                chains: Cell::new(0),
            }
        }

        fn cycles(&self, n: f64) {
            self.now.set(self.now.get() + (n / self.hz.get() * 1e9).round() as u64);
        }
    }

    impl Clock for Fake {
        fn now_ns(&self) -> u64 {
            self.now.get()
        }
    }

    impl Instruments for Fake {
        fn reading(&self) -> Reading {
            let mut reading = Reading { now_ns: self.now.get(), ..Reading::default() };
            reading.usage.involuntary = self.involuntary.get();
            reading
        }

        fn chain_ns(&self, ops: u64) -> u64 {
            let start = self.now.get();
            self.cycles(ops as f64);
            self.chains.set(self.chains.get() + 1);
            if self.chains.get().is_multiple_of(2) {
                self.now.set(self.now.get() + self.held_up.get());
            }
            self.now.get() - start
        }

        fn kernel_entry_ns(&self) -> f64 {
            100.0
        }

        fn host(&self) -> HostCounters {
            HostCounters::default()
        }
    }

    /// [`probe`] where nothing tells of a sibling.
    fn unwatched(
        fake: &Fake,
        windows: u32,
        least_ns: f64,
        most: u64,
        body: impl FnMut(u64) -> Outcome,
        done: &mut u64,
    ) -> Result<Cost, BenchError> {
        probe((fake, &mut CoreWatch::new(fake, None, 0)), windows, least_ns, most, body, done)
    }

    /// Probes a loop of this many cycles an iteration; `event(n)` happens in the n-th window.
    fn probed(fake: &Fake, cycles: f64, mut event: impl FnMut(&Fake, u32)) -> (Cost, u64) {
        let (mut windows, mut done) = (0, 0);
        let body = |iters: u64| {
            windows += 1;
            event(fake, windows);
            fake.cycles(cycles * iters as f64);
            Ok(())
        };
        let cost = unwatched(fake, 9, 50_000.0, u64::MAX, body, &mut done).expect("the body does not fail");
        (cost, done)
    }

    #[test]
    fn a_quiet_core_gives_what_it_costs() {
        let (cost, done) = probed(&Fake::new(), 14.0, |_, _| {});
        assert!((cost.cycles / 14.0 - 1.0).abs() < 1e-3 && (cost.seconds * 3e9 / 14.0 - 1.0).abs() < 1e-3, "{cost:?}");
        assert_eq!(cost.clean, 9);
        // Nine windows of 50 us and more, and those that determined the number of iterations.
        assert!((9 * 10_714..9 * 10_714 * 3).contains(&done), "{done}");
    }

    #[test]
    fn an_interruption_and_a_change_of_clock_do_not_show() {
        // A preemption in every window but one, or a change of the core clock within some windows.
        for kept in [12, 14] {
            let (cost, _) = probed(&Fake::new(), 5.0, |fake, n| {
                if n != kept {
                    fake.now.set(fake.now.get() + 4_000);
                    fake.involuntary.set(fake.involuntary.get() + 1);
                }
            });
            assert!((cost.cycles / 5.0 - 1.0).abs() < 2e-3, "{kept}: {cost:?}");
            assert_eq!(cost.clean, 1);
        }
        let (cost, _) = probed(&Fake::new(), 5.0, |fake, n| fake.hz.set(if n % 4 < 2 { 3e9 } else { 3.6e9 }));
        assert!((cost.cycles / 5.0 - 1.0).abs() < 2e-3, "{cost:?}");
        assert!(cost.clean < 9);
    }

    #[test]
    fn where_no_window_is_clean_the_fastest_counts() {
        let (cost, _) = probed(&Fake::new(), 5.0, |fake, n| {
            fake.now.set(fake.now.get() + if n.is_multiple_of(5) { 10 } else { 30_000 });
            fake.involuntary.set(fake.involuntary.get() + 1);
        });
        assert_eq!(cost.clean, 0);
        assert!((cost.cycles / 5.0 - 1.0).abs() < 0.01, "{cost:?}");
    }

    #[test]
    fn a_body_without_work_and_one_that_stops_are_errors() {
        let fake = Fake::new();
        let none = unwatched(&fake, 3, 50_000.0, u64::MAX, |_| Ok(()), &mut 0);
        assert_eq!(none, Err(BenchError::Failed("the loop takes no time".to_owned())));
        let stop = unwatched(&fake, 3, 50_000.0, u64::MAX, |_| Err(BenchError::Unsupported("no".to_owned())), &mut 0);
        assert_eq!(stop, Err(BenchError::Unsupported("no".to_owned())));
    }

    #[test]
    fn no_window_has_more_iterations_than_there_may_be() {
        let fake = Fake::new();
        let mut windows = Vec::new();
        let body = |iters: u64| {
            windows.push(iters);
            fake.cycles(30.0 * iters as f64);
            Ok(())
        };
        unwatched(&fake, 3, 1e6, 20, body, &mut 0).expect("a cost");
        assert_eq!(windows, [1, 8, 20, 20, 20, 20]);
    }

    /// Only the window in which the clock changed is doubtful: the next ones have the new clock on
    /// both sides.
    #[test]
    fn a_clock_change_invalidates_one_window() {
        let (cost, _) = probed(&Fake::new(), 14.0, |fake, window| {
            if window == 12 {
                fake.hz.set(2e9);
            }
        });
        assert_eq!(cost.clean, 8);
    }

    /// What a core does beside a sibling that comes during every third window and works for 60 us
    /// more. A window costs half as much beside it, and twice as much right after it.
    fn visited(patience_ns: u64) -> (Cost, u32) {
        let fake = crate::fake::Fake::new();
        let (mut n, mut was_there) = (0, false);
        let mut watch = CoreWatch::new(&fake, Some(crate::fake::core()), patience_ns);
        let body = |iters: u64| {
            n += 1;
            let is_there = fake.block_ticks.get() > BUSY - 1 || n % 3 == 2;
            fake.run(iters * if is_there { 10 } else { 20 } * if was_there { 2 } else { 1 });
            if n % 3 == 2 {
                fake.block_ticks.set(BUSY);
                fake.idle_from.set(Some(fake.now.get() + 60_000));
            }
            was_there = is_there;
            Ok(())
        };
        let cost = probe((&fake, &mut watch), 1, 10_000.0, u64::MAX, body, &mut 0).expect("a cost");
        (cost, n)
    }

    /// Ticks of a block beside a busy sibling: more than twice those of an idle core.
    const BUSY: u64 = 4_000;

    #[test]
    fn a_window_counts_that_was_alone_and_followed_one_that_was() {
        let (cost, _) = visited(1_000_000);
        assert!(cost.alone && (cost.seconds * 1e9 / 20.0 - 1.0).abs() < 1e-6, "{cost:?}");
    }

    #[test]
    fn beside_a_sibling_that_never_rests_the_cost_is_what_it_leaves() {
        for (patience_ns, windows) in [(0, 3..=3), (100_000, 3..=9)] {
            let fake = crate::fake::Fake::new();
            fake.block_ticks.set(BUSY);
            let mut watch = CoreWatch::new(&fake, Some(crate::fake::core()), patience_ns);
            let mut long = 0;
            let body = |iters: u64| {
                fake.run(20 * iters);
                long += u32::from(20 * iters >= 10_000);
                Ok(())
            };
            let cost = probe((&fake, &mut watch), 3, 10_000.0, u64::MAX, body, &mut 0).expect("a cost");
            assert!(!cost.alone && !watch.is_patient(), "{cost:?}");
            assert_eq!(watch.seen.waited_ns > 0, patience_ns > 0);
            // One more determined the number of iterations, and one followed the wait.
            assert!(windows.contains(&(long - 1 - u32::from(patience_ns > 0))), "{long}");
        }
    }

    /// Of the two chains that tell the clock, one may be interrupted.
    #[test]
    fn the_clock_is_that_of_the_faster_chain() {
        let fake = Fake::new();
        fake.held_up.set(20_000);
        let (cost, _) = probed(&fake, 14.0, |_, _| {});
        assert!((cost.cycles / 14.0 - 1.0).abs() < 1e-3 && (cost.core_hz / 3e9 - 1.0).abs() < 1e-3, "{cost:?}");
    }
}
