//! What the sampler reads: the clock, the counters of the thread before and after a sample, and the
//! frequency probe.
//!
//! A trait, so that the sampler's own tests run on fake ones and inject what no real machine does
//! on demand.

use crate::model::{CoreProbe, IssueBlock};
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::counters::{self, Usage};
use crate::sys::facts::{self, HostCounters};
use crate::sys::{arch, raw};

/// The state of the thread, read outside the timed region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// The clock, in nanoseconds.
    pub now_ns: u64,
    /// The cycle counter, read immediately after the clock.
    pub counter: u64,
    /// CPU time of the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of the process and of its waited-for children, in nanoseconds.
    pub family_cpu_ns: u64,
    /// The current CPU.
    pub cpu: u32,
    /// Usage counters of the kernel.
    pub usage: Usage,
    /// Operations per cycle that the core began just now; `None` where that was not probed, or not
    /// without a disturbance.
    pub issue_rate: Option<f64>,
}

/// The sampler's instruments.
pub trait Instruments: Clock {
    /// Reads everything that labels are derived from; takes about 2 us
    /// (docs/methods/timing.md#cost-of-reading).
    fn reading(&self) -> Reading;
    /// Runs `ops` dependent additions, a multiple of [`arch::CHAIN_UNROLL`]; returns the
    /// nanoseconds they took.
    fn chain_ns(&self, ops: u64) -> u64;

    /// How many operations the core begins in a cycle: about 3 us of a probe
    /// (docs/methods/neighbour.md#probe). `None` where it was interrupted.
    fn issue_rate(&self, _: &CoreProbe) -> Option<f64> {
        None
    }

    /// The time of the cheapest system call, in nanoseconds: the fastest of some short runs
    /// (docs/methods/timing.md#evidence-floors).
    fn kernel_entry_ns(&self) -> f64;
    /// Steal time and throttling of this machine so far.
    fn host(&self) -> HostCounters;

    /// Runs one frequency probe: a chain of [`FREQUENCY_PROBE_OPS`] additions.
    fn frequency_probe_ns(&self) -> u64 {
        self.chain_ns(FREQUENCY_PROBE_OPS)
    }
}

/// Runs of the cheapest system call, of which the fastest counts, and calls in each: 10 us where a
/// call costs 100 ns.
pub(crate) const ENTRY_RUNS: u32 = 6;
/// The number of calls in each run.
pub(crate) const ENTRY_CALLS: u32 = 16;

/// Additions in one frequency probe: about 50 us at 3 GHz (docs/methods/timing.md#frequency-probe).
pub const FREQUENCY_PROBE_OPS: u64 = 150_016;

/// The shortest probe of the core: turns of its block, and dependent additions on each side of it.
/// Half of either makes the mode of a core of its own twice as wide, twice of either costs twice as
/// much and narrows it by a third (docs/methods/neighbour.md#probe).
pub(crate) const PROBE_TURNS: u64 = 200;
/// See [`PROBE_TURNS`].
const PROBE_ADDITIONS: u64 = 3200;
/// Turns of the block that nobody times.
const PROBE_FIRST: u64 = 4;
/// Unless one of them was interrupted, the two chains beside the block agree within this factor.
const PROBE_AGREE: f64 = 1.1;

/// The kernel of a block.
pub(crate) fn block_of(block: IssueBlock) -> fn(u64) -> u64 {
    match block {
        IssueBlock::Additions => arch::issue_additions,
        IssueBlock::Moves => arch::issue_moves,
        IssueBlock::Loads => arch::issue_loads,
        IssueBlock::Mixed => arch::issue_mixed,
    }
}

/// Operations per cycle, from the ticks of a chain, of the block and of another chain.
fn issue_rate([before, block, after]: [u64; 3]) -> Option<f64> {
    let (least, most) = (before.min(after), before.max(after));
    let whole = least > 0 && block > 0 && most as f64 <= PROBE_AGREE * least as f64;
    // A step of the chain takes a cycle.
    let operations = (PROBE_TURNS * arch::ISSUE_UNROLL) as f64 / PROBE_ADDITIONS as f64;
    whole.then(|| operations * least as f64 / block as f64)
}

/// The instruments of a real machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Clock for Real {
    #[inline]
    fn now_ns(&self) -> u64 {
        Monotonic.now_ns()
    }
}

impl Instruments for Real {
    fn reading(&self) -> Reading {
        let usage = Usage::thread();
        let cpu_ns = counters::thread_cpu_ns();
        let family_cpu_ns = counters::family_cpu_ns();
        let cpu = counters::current_cpu();
        // Clock and counter last and next to each other: the pair is compared with that of the
        // other end.
        let now_ns = Monotonic.now_ns();
        Reading { now_ns, counter: arch::counter_start(), cpu_ns, family_cpu_ns, cpu, usage, issue_rate: None }
    }

    fn chain_ns(&self, ops: u64) -> u64 {
        let start = self.now_ns();
        arch::add_chain(ops);
        self.now_ns() - start
    }

    fn issue_rate(&self, probe: &CoreProbe) -> Option<f64> {
        let block = block_of(probe.block);
        let (turns, additions) = (PROBE_TURNS * u64::from(probe.length), PROBE_ADDITIONS * u64::from(probe.length));
        // Into the instruction caches: what was measured has taken their place.
        block(PROBE_FIRST);
        arch::add_chain(arch::CHAIN_UNROLL);
        let start = arch::counter_start();
        arch::add_chain(additions);
        let from = arch::counter_start();
        block(turns);
        let to = arch::counter_start();
        arch::add_chain(additions);
        let end = arch::counter_start();
        issue_rate([from.wrapping_sub(start), to.wrapping_sub(from), end.wrapping_sub(to)])
    }

    fn kernel_entry_ns(&self) -> f64 {
        let run = || {
            let start = self.now_ns();
            for _ in 0..ENTRY_CALLS {
                raw::getppid();
            }
            self.now_ns().saturating_sub(start)
        };
        let fastest = (0..ENTRY_RUNS).map(|_| run()).min().unwrap_or(0);
        fastest as f64 / f64::from(ENTRY_CALLS)
    }

    fn host(&self) -> HostCounters {
        facts::host_counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_rate_is_that_of_a_core_that_issues_several_operations_a_cycle() {
        use crate::model::IssueBlock;
        if arch::counter_usable().is_err() || !cfg!(target_arch = "x86_64") {
            return;
        }
        // The best of many: whatever shares the core only lowers the rate. Every x86-64 CPU issues
        // two additions or more in a cycle.
        for length in [1, 20] {
            let probe = CoreProbe { block: IssueBlock::Additions, length, best: 0.0, shared_below: None };
            let best = (0..2_000).filter_map(|_| Real.issue_rate(&probe)).fold(0.0, f64::max);
            assert!(best > 1.5, "{best} operations in a cycle, at length {length}");
        }
    }

    #[test]
    fn the_rate_is_in_operations_per_cycle_of_the_undisturbed_chain() {
        // 6400 operations in 1600 cycles, with a counter of any rate.
        assert_eq!(issue_rate([3200, 1600, 3200]), Some(4.0));
        assert_eq!(issue_rate([6400, 3200, 6400]), Some(4.0));
        assert_eq!(issue_rate([3200, 1600, 3500]), Some(4.0));
        assert_eq!(issue_rate([4800, 1600, 4800]), Some(6.0));
        // One of the chains was interrupted, or a counter stands still.
        for ticks in [[3200, 1600, 3600], [9000, 1600, 3200], [0, 0, 0], [3200, 0, 3200]] {
            assert_eq!(issue_rate(ticks), None, "{ticks:?}");
        }
    }

    /// Each counter lies between two readings of it alone.
    #[test]
    fn a_reading_has_each_counter_in_its_place() {
        let counters = || [Monotonic.now_ns(), counters::thread_cpu_ns(), counters::family_cpu_ns()];
        // The thread has less than its process: others have run as well.
        std::thread::spawn(|| {
            let until = counters::thread_cpu_ns() + 5_000_000;
            while counters::thread_cpu_ns() < until {}
        })
        .join()
        .expect("it ends");
        let usage = Usage::thread();
        let (before, ticks) = (counters(), arch::counter_start());
        let seen = Real.reading();
        let (end, after) = (arch::counter_start(), counters());
        let told = [seen.now_ns, seen.cpu_ns, seen.family_cpu_ns];
        for (k, told) in told.iter().enumerate() {
            assert!((before[k]..=after[k]).contains(told), "counter {k}: {before:?} {seen:?} {after:?}");
        }
        assert!(seen.family_cpu_ns >= seen.cpu_ns + 5_000_000, "{seen:?}");
        if arch::counter_usable().is_ok() {
            assert!((ticks..=end).contains(&seen.counter), "{ticks} {seen:?} {end}");
        }
        let (more, most) = (seen.usage.since(&usage), Usage::thread().since(&usage));
        assert!(more.voluntary <= most.voluntary && more.minor_faults <= most.minor_faults, "{more:?} {most:?}");
        assert_eq!(seen.issue_rate, None);
    }
}
