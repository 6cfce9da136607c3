//! A scripted machine for tests: its time passes and its counters grow only on
//! request.

use crate::instruments::{Instruments, Reading};
use crate::labels::Rules;
use crate::model::{CoreProbe, Interference, Timing};
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
    /// What probes of the core say.
    pub(crate) issue_rate: Cell<Option<f64>>,
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
            issue_rate: Cell::new(Some(4.0)),
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

    fn issue_rate(&self, _: &CoreProbe) -> Option<f64> {
        self.run(3_000);
        self.issue_rate.get()
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
        tasks: false,
        first: false,
        rate: false,
        clock_cost_ns: 0.0,
        counter_hz: Some(1e9),
        core: None,
    }
}
