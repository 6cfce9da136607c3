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
    /// Runs `ops` dependent additions, a multiple of [`arch::CHAIN_UNROLL`], and tells how many
    /// nanoseconds they took.
    fn chain_ns(&self, ops: u64) -> u64;

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
const ENTRY_RUNS: u32 = 6;
/// The number of calls in each run.
const ENTRY_CALLS: u32 = 16;

/// Additions in one frequency probe: about 50 us at 3 GHz (docs/methods/timing.md#frequency-probe).
pub const FREQUENCY_PROBE_OPS: u64 = 150_016;

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
