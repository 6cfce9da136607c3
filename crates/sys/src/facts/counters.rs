//! What the rest of the machine did to a run: read before, read after, compared.

use super::{Book, Tree, cgroup, field};
use std::collections::BTreeMap;
use std::path::Path;

/// How often and how long this machine has been held up so far. `None` is what the kernel does not
/// count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostCounters {
    /// Ticks (10 ms each, of all CPUs together) in which a hypervisor ran another guest: steal
    /// time.
    pub steal_ticks: Option<u64>,
    /// How often a CPU quota stopped this process's cgroup or one above it.
    pub nr_throttled: Option<u64>,
    /// Microseconds in which at least one task waited for a CPU (PSI).
    pub psi_cpu_total_us: Option<u64>,
    /// Runnable tasks, averaged over 1, 5 and 15 minutes. Not a counter, so not part of the
    /// difference.
    pub loadavg: Option<[f64; 3]>,
}

/// The increase between two readings. Signed and not clamped, because steal can run backwards when
/// a machine is migrated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostChange {
    /// See [`HostCounters::steal_ticks`].
    pub steal_ticks: Option<i64>,
    /// See [`HostCounters::nr_throttled`].
    pub nr_throttled: Option<i64>,
    /// See [`HostCounters::psi_cpu_total_us`].
    pub psi_cpu_total_us: Option<i64>,
}

impl HostCounters {
    /// The increase since an earlier reading; `None` for what either reading does not have.
    pub fn since(&self, before: &HostCounters) -> HostChange {
        let change = |now: Option<u64>, then: Option<u64>| Some(now?.wrapping_sub(then?).cast_signed());
        HostChange {
            steal_ticks: change(self.steal_ticks, before.steal_ticks),
            nr_throttled: change(self.nr_throttled, before.nr_throttled),
            psi_cpu_total_us: change(self.psi_cpu_total_us, before.psi_cpu_total_us),
        }
    }
}

/// Ticks (10 ms) in which a hypervisor ran another guest instead of each of these CPUs.
pub fn steal_by_cpu() -> BTreeMap<u32, u64> {
    let text = Tree::at(Path::new("/")).text("proc/stat").unwrap_or_default();
    text.lines().filter_map(steal_of_cpu).collect()
}

/// The number of a CPU and the eighth of its counts: `cpu3 user nice system idle iowait irq softirq
/// steal`. The line of all CPUs together has a space in place of the number.
pub(super) fn steal_of_cpu(line: &str) -> Option<(u32, u64)> {
    let mut words = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.nth(7)?.parse().ok()?))
}

/// Reads the counters of this machine now.
pub fn host_counters() -> HostCounters {
    counters_in(&Tree::at(Path::new("/")))
}

pub(super) fn counters_in(tree: &Tree) -> HostCounters {
    HostCounters {
        // The totals are in the first line; the rest of this file grows with the machine.
        steal_ticks: tree.head("proc/stat", 512).ok().as_deref().and_then(steal),
        nr_throttled: cgroup::times_throttled(tree),
        psi_cpu_total_us: tree.text("proc/pressure/cpu").as_deref().and_then(|text| psi(text, "total")?.parse().ok()),
        loadavg: tree.text("proc/loadavg").as_deref().and_then(load_averages),
    }
}

pub(super) fn load(book: &mut Book) {
    let counters = counters_in(&book.tree);
    for (minutes, load) in ["load.1", "load.5", "load.15"].into_iter().zip(counters.loadavg.into_iter().flatten()) {
        book.say(minutes, load);
    }
    for what in ["cpu", "memory", "io"] {
        let text = book.tree.text(&format!("proc/pressure/{what}")).unwrap_or_default();
        book.say_if(format!("psi.{what}.avg10"), psi(&text, "avg10"));
    }
    book.say_if("steal.ticks", counters.steal_ticks);
}

/// The eighth number of the line `cpu  user nice system idle iowait irq softirq steal guest
/// guest_nice`.
pub(super) fn steal(stat: &str) -> Option<u64> {
    field(stat, "cpu")?.split_whitespace().nth(7)?.parse().ok()
}

/// A field of the line `some avg10=0.21 avg60=0.32 avg300=0.85 total=14511199`.
pub(super) fn psi<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    field(text, "some")?.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

pub(super) fn load_averages(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(|word| word.parse::<f64>().ok().filter(|load| load.is_finite()));
    Some([words.next()??, words.next()??, words.next()??])
}
