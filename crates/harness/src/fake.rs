//! A scripted machine for tests: its time passes and its counters grow only on
//! request.

use crate::instruments::{Instruments, PROBE_ADDITIONS, PROBE_TURNS, Reading};
use crate::labels::Rules;
use crate::model::{CoreProbe, Interference, Timing};
use crate::sys::arch::ISSUE_UNROLL;
use crate::sys::clock::Clock;
use crate::sys::counters::Usage;
use crate::sys::facts::HostCounters;
use std::cell::{Cell, RefCell};

/// A machine whose time passes only when told, with the counters of one thread.
pub(crate) struct Fake {
    pub(crate) now: Cell<u64>,
    pub(crate) cpu_ns: Cell<u64>,
    pub(crate) state: RefCell<Reading>,
    pub(crate) frequency_probe: Cell<u64>,
    pub(crate) frequency_probes: RefCell<Vec<u64>>,
    pub(crate) host: RefCell<HostCounters>,
    /// Ticks of a block of the core probe, and of its chain. An idle core begins four operations a
    /// cycle.
    pub(crate) block_ticks: Cell<u64>,
    /// See `block_ticks`.
    pub(crate) chain_ticks: Cell<u64>,
    /// From here on the core is idle, whatever `block_ticks` says.
    pub(crate) idle_from: Cell<Option<u64>>,
    /// How many measurements of the kernel's entry to come are disturbed: 6000 ns and not 100.
    pub(crate) slow_entries: Cell<u32>,
}

impl Fake {
    pub(crate) fn new() -> Fake {
        Fake {
            now: Cell::new(1_000_000),
            cpu_ns: Cell::new(0),
            state: RefCell::new(Reading { cpu: 1, ..Reading::default() }),
            frequency_probe: Cell::new(50_000),
            frequency_probes: RefCell::new(Vec::new()),
            host: RefCell::new(HostCounters::default()),
            block_ticks: Cell::new(IDLE_BLOCK_TICKS),
            chain_ticks: Cell::new(PROBE_ADDITIONS),
            idle_from: Cell::new(None),
            slow_entries: Cell::new(0),
        }
    }

    /// Time that the thread was running.
    pub(crate) fn run(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
        self.cpu_ns.set(self.cpu_ns.get() + ns);
    }

    /// Time that it was not.
    pub(crate) fn lose(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Usage)) {
        change(&mut self.state.borrow_mut().usage);
    }
}

impl Clock for Fake {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }
}

impl Instruments for Fake {
    fn reading(&self) -> Reading {
        // The counter ticks at 1 GHz: one tick a nanosecond.
        Reading {
            now_ns: self.now.get(),
            counter: self.now.get(),
            cpu_ns: self.cpu_ns.get(),
            family_cpu_ns: self.cpu_ns.get(),
            ..*self.state.borrow()
        }
    }

    fn chain_ns(&self, _: u64) -> u64 {
        self.run(self.frequency_probe.get());
        self.frequency_probes.borrow_mut().push(self.frequency_probe.get());
        self.frequency_probe.get()
    }

    fn block_ticks(&self, _: u32) -> u64 {
        self.run(400);
        if self.idle_from.get().is_some_and(|from| self.now.get() >= from) {
            self.block_ticks.set(IDLE_BLOCK_TICKS);
        }
        self.block_ticks.get()
    }

    fn chain_ticks(&self, _: u32) -> u64 {
        self.run(1_000);
        self.chain_ticks.get()
    }

    fn kernel_entry_ns(&self) -> f64 {
        let slow = self.slow_entries.get();
        self.slow_entries.set(slow.saturating_sub(1));
        if slow > 0 { 6000.0 } else { 100.0 }
    }

    fn host(&self) -> HostCounters {
        self.host.borrow().clone()
    }
}

/// Four operations a tick.
const IDLE_BLOCK_TICKS: u64 = PROBE_TURNS * ISSUE_UNROLL / 4;

/// The probe of the fake core: 4 operations a cycle alone, shared below 3.5.
pub(crate) fn core() -> CoreProbe {
    CoreProbe { length: 1, step: 0.0, idle: 4.0, alone: true, shared_below: Some(3.5) }
}

pub(crate) fn rules() -> Rules {
    Rules {
        timing: Timing::Batched,
        interval_ns: 200_000.0,
        intervals: 25,
        time_limit_ns: 1_000_000_000,
        warm_ns: 1_000_000,
        drops: Interference::Cpu.drops(),
        faults_expected: false,
        blocks: false,
        sleeps: false,
        tasks: false,
        first: false,
        rate: false,
        clock_cost_ns: 0.0,
        counter_hz: Some(1e9),
        core: None,
        wait_ns: 0,
    }
}
