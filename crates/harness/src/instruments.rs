//! What the sampler reads: the clock, the counters of the thread before and after a sample, and the
//! frequency probe.
//!
//! A trait, so that the sampler's own tests run on fake ones and inject what no real machine does
//! on demand.

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
}

/// The sampler's instruments.
pub trait Instruments: Clock {
    /// Reads everything that labels are derived from; takes about 2 us
    /// (docs/methods/timing.md#cost-of-reading).
    fn reading(&self) -> Reading;
    /// Runs `ops` dependent additions, a multiple of [`arch::CHAIN_UNROLL`]; returns the
    /// nanoseconds they took.
    fn chain_ns(&self, ops: u64) -> u64;

    /// Ticks of the cycle counter during `PROBE_TURNS` turns of independent operations, so many
    /// times: 0.4 us on a core that nobody shares (docs/methods/neighbour.md#probe).
    /// 0 where nothing counts.
    fn block_ticks(&self, _length: u32) -> u64 {
        0
    }
    /// Ticks during `PROBE_ADDITIONS` dependent additions, so many times: 1 us. 0 where nothing
    /// counts.
    fn chain_ticks(&self, _length: u32) -> u64 {
        0
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

/// The shortest probe of the core: turns of its block.
pub(crate) const PROBE_TURNS: u64 = 200;
/// The shortest chain that tells its clock. Half of it has two steps of 24 ticks (Zen 3) in 50, and
/// the clock would be known to 2 % only.
pub(crate) const PROBE_ADDITIONS: u64 = 3200;
/// Turns of the block that nobody times: what was measured has taken its place in the instruction
/// caches.
const PROBE_FIRST: u64 = 4;

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
        Reading { now_ns, counter: arch::counter_start(), cpu_ns, family_cpu_ns, cpu, usage }
    }

    fn chain_ns(&self, ops: u64) -> u64 {
        let start = self.now_ns();
        arch::add_chain(ops);
        self.now_ns() - start
    }

    fn block_ticks(&self, length: u32) -> u64 {
        arch::issue_mixed(PROBE_FIRST);
        let start = arch::counter_start();
        arch::issue_mixed(PROBE_TURNS * u64::from(length));
        arch::counter_start().wrapping_sub(start)
    }

    fn chain_ticks(&self, length: u32) -> u64 {
        arch::add_chain(arch::CHAIN_UNROLL);
        let start = arch::counter_start();
        arch::add_chain(PROBE_ADDITIONS * u64::from(length));
        arch::counter_start().wrapping_sub(start)
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
    fn a_block_begins_several_operations_a_cycle_and_a_chain_one() {
        if arch::counter_usable().is_err() || !cfg!(target_arch = "x86_64") {
            return;
        }
        // The fastest of many: whatever shares the core only slows it. Every x86-64 CPU begins two
        // operations or more in a cycle.
        for length in [1, 20] {
            let fastest = |ticks: &dyn Fn() -> u64| (0..2_000).map(|_| ticks()).min().expect("many") as f64;
            let (block, chain) = (fastest(&|| Real.block_ticks(length)), fastest(&|| Real.chain_ticks(length)));
            let rate = (PROBE_TURNS * arch::ISSUE_UNROLL) as f64 / PROBE_ADDITIONS as f64 * chain / block;
            assert!((1.5..12.0).contains(&rate), "{rate} operations in a cycle, at length {length}");
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
    }
}
