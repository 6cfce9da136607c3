//! The injected faults: which metrics they slow.

use groma_model::Record;

/// The slow-downs.
pub(crate) const SIZES: [f64; 3] = [0.05, 0.10, 0.30];

/// The kinds: a name, the signature that should explain it, and the metrics that it slows: an id or
/// a family, with a dot at its end, and behind @ where they run.
pub(crate) const KINDS: [(&str, &str, &[&str]); 10] = [
    (
        "clock of all cores",
        "turbo-off",
        &["cpu.", "syscall.", "vdso.", "vm.", "proc.", "ctx.", "ipc.@one", "net.@one", "L1", "L2", "file."],
    ),
    ("one core", "slow-core", &["cpu.frequencies.lowest"]),
    ("memory channel", "memory-channel", &["mem.stream@all", "mem.random_read@all"]),
    ("speed of memory", "slow-memory", &["mem.stream", "mem.random_read", "mem.loaded_latency", "dram"]),
    ("kernel entry", "mitigations", &["syscall.", "vm.", "proc.", "ctx.", "ipc.@one", "net.@one"]),
    ("clock source", "clock-source", &["vdso."]),
    ("huge pages", "huge-pages", &["vm.fault_huge", "huge"]),
    ("idle states", "idle-states", &["sched.wakeup", "timer.", "ipc.@two", "net.@two"]),
    ("disk", "disk", &["disk."]),
    ("loopback", "loopback", &["net."]),
];

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// The index of its kind.
    pub(crate) kind: usize,
    /// The index of its size.
    pub(crate) size: usize,
}

impl Fault {
    /// `disk 10 %`
    pub(crate) fn name(self) -> String {
        format!("{} {:.0} %", KINDS[self.kind].0, 100.0 * SIZES[self.size])
    }

    /// The signature that should explain it.
    pub(crate) fn signature(self) -> &'static str {
        KINDS[self.kind].1
    }

    /// Another fault for each time.
    pub(crate) fn turned(self, time: usize) -> Fault {
        let all = self.size * KINDS.len() + self.kind + 7 * time;
        Fault { kind: all % KINDS.len(), size: all / KINDS.len() % SIZES.len() }
    }

    /// By how much it makes one core slower: 1 if it does not.
    pub(crate) fn factor_of_one_core(self) -> f64 {
        if self.signature() == "slow-core" { 1.0 + SIZES[self.size] } else { 1.0 }
    }

    /// By how much it makes a metric slower: 1 if it does not.
    pub(crate) fn factor(self, record: &Record) -> f64 {
        let is_slowed = KINDS[self.kind].2.iter().any(|selector| slows(selector, record));
        if is_slowed { 1.0 + SIZES[self.size] } else { 1.0 }
    }
}

fn slows(selector: &str, record: &Record) -> bool {
    let (id, on) = selector.split_once('@').unwrap_or((selector, ""));
    let placement = record.placement.to_string();
    let is_there = match on {
        "one" => placement == "same-cpu" || placement == "pinned",
        "two" => placement != "same-cpu" && placement != "pinned",
        "all" => record.workers > 1,
        _ => true,
    };
    let of_cache = |sizes: &[&str]| {
        ["mem.latency", "mem.bandwidth"].contains(&record.id.as_str())
            && sizes.iter().any(|size| record.params_text.contains(&format!("size={size} ")))
    };
    let is_it = match id {
        "L1" => of_cache(&["16 KiB"]),
        "L2" => of_cache(&["256 KiB"]),
        "dram" => of_cache(&["256 MiB", "auto"]),
        "huge" => record.id == "mem.latency" && record.params_text.contains("pages=huge"),
        family if family.ends_with('.') => record.id.starts_with(family),
        id => record.id == id,
    };
    is_there && is_it
}
