//! What differs between the environments of two runs, the most likely cause of changed numbers
//! first.

use std::collections::BTreeMap;

use groma_model::{RunHeader, parse_size};

/// Facts that change from run to run by themselves. A name that ends in a dot stands for all facts
/// below it.
const VOLATILE: [&str; 10] = [
    "host.uptime_s",
    "host.boot",
    "memory.available",
    "load.",
    "psi.",
    "steal.",
    "work_dir.free",
    "placement.",
    "health.",
    "launcher.",
];

/// Facts by how likely they change numbers; all others follow in their own order. Ordered by hand:
/// first what replaces the machine, then what changes the code that runs, then what changes its
/// speed.
const LIKELY: [&str; 32] = [
    "process.",
    "virt.kernel",
    "sched.pinning",
    "host.machine",
    "cpu.model",
    "cpu.core",
    "cpu.count",
    "cpu.cores",
    "kernel.release",
    "kernel.version",
    "security.vulnerabilities.",
    "security.",
    "kernel.cmdline",
    "virt.",
    "cpu.family",
    "cpu.stepping",
    "cpu.microcode",
    "cpu.smt",
    "cpu.driver",
    "cpu.governor",
    "cpu.boost",
    "cpu.cpuidle.",
    "cpu.haltpoll.",
    "kernel.",
    "cpu.allowed",
    "cgroup.",
    "memory.thp",
    "memory.",
    "clock.",
    "work_dir.",
    "cache.",
    "numa.",
];

/// The amount of memory. A kernel reserves a few pages more or fewer from boot to boot.
const MEMORY: &str = "memory.total";
/// Amounts of memory that differ by less count as equal: a guest of 23.5 GiB had 4 KiB more after a
/// reboot.
const AS_MUCH: f64 = 0.01;

/// The amount of memory of each NUMA node. A guest that gets its memory as it uses it (a balloon,
/// memory that is plugged in) shows another amount from minute to minute; of one node,
/// [`MEMORY`] says what the machine has.
const OF_NODES: &str = "numa.memory";
/// The numbers of the nodes.
const NODES: &str = "numa.nodes";

/// A fact that differs between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// Its value in each run; `None` where a run lacks it.
    pub values: [Option<String>; 2],
}

/// Facts about the directory for files. Only runs that need one have them.
const WORK_DIR: &str = "work_dir.";

/// The facts that differ, the most likely cause first. Settings made on purpose, file by file, come
/// before everything else.
pub fn differences(a: &RunHeader, b: &RunHeader) -> Vec<Difference> {
    let has_work_dir = |run: &RunHeader| run.environment.facts.iter().any(|fact| fact.key.starts_with(WORK_DIR));
    let both_have = has_work_dir(a) && has_work_dir(b);
    let rank = |key: &str| {
        let on_purpose = key.starts_with('/');
        (!on_purpose, LIKELY.iter().position(|name| is_of(key, name)).unwrap_or(LIKELY.len()))
    };
    let mut values: BTreeMap<&str, [Option<&str>; 2]> = BTreeMap::new();
    for (side, run) in [a, b].into_iter().enumerate() {
        let set = run.in_turns.iter().flat_map(|turns| &turns.set);
        for fact in set.chain(&run.environment.facts) {
            values.entry(&fact.key).or_default()[side].get_or_insert(&fact.value);
        }
    }
    let is_passing = |key: &str| is_volatile(key) || (key.starts_with(WORK_DIR) && !both_have);
    let nodes = |run: &RunHeader| run.environment.get(NODES).map(str::to_owned);
    let one_node = [a, b].iter().all(|run| nodes(run).is_none_or(|nodes| nodes == "0"));
    let is_as_much = |key: &str, [a, b]: [Option<&str>; 2]| match key {
        MEMORY => is_about(a, b),
        OF_NODES => one_node || is_about_each(a, b),
        _ => false,
    };
    let differ =
        values.into_iter().filter(|(key, both)| both[0] != both[1] && !is_passing(key) && !is_as_much(key, *both));
    let owned = |(key, values): (&str, [Option<&str>; 2])| Difference {
        key: key.to_owned(),
        values: values.map(|value| value.map(str::to_owned)),
    };
    let mut found: Vec<Difference> = differ.map(owned).collect();
    found.sort_by_key(|difference| rank(&difference.key));
    found
}

/// As [`is_about`], of each node.
fn is_about_each(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let [a, b] =
        [a, b].map(|text| text.split(", ").map(|of| of.split_once(' ').unwrap_or((of, ""))).collect::<Vec<_>>());
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || (a.0 == b.0 && is_about(Some(a.1), Some(b.1))))
}

/// Whether two sizes differ by less than [`AS_MUCH`].
fn is_about(a: Option<&str>, b: Option<&str>) -> bool {
    let size = |text: Option<&str>| parse_size(&text?.replace(' ', "")).ok().map(|bytes| bytes as f64);
    matches!((size(a), size(b)), (Some(a), Some(b)) if (a - b).abs() < AS_MUCH * a.max(b))
}

/// Whether a fact varies from minute to minute on an unchanged machine.
pub fn is_volatile(key: &str) -> bool {
    VOLATILE.iter().any(|name| is_of(key, name))
}

/// Whether a fact has this name, or starts with it where it ends in a dot.
fn is_of(key: &str, name: &str) -> bool {
    key == name || (name.ends_with('.') && key.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::header;
    use groma_model::{Fact, InTurns};

    fn run(facts: &[(&str, &str)]) -> RunHeader {
        let mut head = header();
        head.environment.facts = facts.iter().map(|(key, value)| Fact::new(*key, value)).collect();
        head
    }

    #[test]
    fn differences_list_the_likeliest_cause_first() {
        let a = run(&[("net.somaxconn", "128"), ("cpu.governor", "powersave"), ("kernel.release", "6.12"), ("x", "1")]);
        let b =
            run(&[("x", "1"), ("kernel.release", "6.18"), ("cpu.governor", "performance"), ("virt.hypervisor", "KVM")]);
        let keys: Vec<String> = differences(&a, &b).into_iter().map(|d| d.key).collect();
        assert_eq!(keys, ["kernel.release", "virt.hypervisor", "cpu.governor", "net.somaxconn"]);
        let first = &differences(&a, &b)[0];
        assert_eq!(first.values, [Some("6.12".to_owned()), Some("6.18".to_owned())]);
        assert_eq!(differences(&b, &a)[1].values, [Some("KVM".to_owned()), None]);
    }

    #[test]
    fn deliberate_settings_come_first() {
        let side = |value: &str| {
            let set = vec![Fact::new("/proc/sys/vm/swappiness", value), Fact::new("/sys/same", "1")];
            let in_turns = Some(InTurns { set, ..InTurns::default() });
            RunHeader { in_turns, ..run(&[("host.machine", value)]) }
        };
        let found = differences(&side("1"), &side("60"));
        let keys: Vec<&str> = found.iter().map(|d| d.key.as_str()).collect();
        assert_eq!(keys, ["/proc/sys/vm/swappiness", "host.machine"]);
    }

    #[test]
    fn mitigations_come_before_steppings() {
        let side = |n: &str| {
            run(&[("cpu.stepping", n), ("cpu.family", n), ("security.vulnerabilities.retbleed", n), ("cpu.model", n)])
        };
        let keys: Vec<String> = differences(&side("1"), &side("2")).into_iter().map(|d| d.key).collect();
        assert_eq!(keys, ["cpu.model", "security.vulnerabilities.retbleed", "cpu.family", "cpu.stepping"]);
    }

    #[test]
    fn a_little_memory_is_no_difference() {
        let [one, other, less] = ["24684092 KiB", "24684096 KiB", "24000000 KiB"]
            .map(|total| run(&[("memory.total", total), ("memory.swap", total)]));
        let keys = |b| differences(&one, b).into_iter().map(|d| d.key).collect::<Vec<_>>();
        assert_eq!(keys(&other), ["memory.swap"]);
        assert_eq!(keys(&less), ["memory.swap", "memory.total"]);
    }

    /// A guest that gets its memory as it uses it.
    #[test]
    fn the_memory_of_the_only_node_is_no_difference() {
        let of = |nodes: &str, memory: &str| run(&[("numa.nodes", nodes), ("numa.memory", memory)]);
        let keys = |a, b| differences(&a, &b).into_iter().map(|d| d.key).collect::<Vec<_>>();
        assert_eq!(keys(of("0", "node0 12 GiB"), of("0", "node0 5 GiB")), [""; 0]);
        assert_eq!(keys(of("0-1", "node0 6 GiB, node1 6 GiB"), of("0-1", "node0 6 GiB, node1 5 GiB")), ["numa.memory"]);
        assert_eq!(keys(of("0-1", "node0 200 GiB, node1 6 GiB"), of("0-1", "node0 199 GiB, node1 6 GiB")), [""; 0]);
    }

    #[test]
    fn volatile_facts_are_no_difference() {
        let a =
            run(&[("load.1", "0.1"), ("host.uptime_s", "1"), ("memory.available", "5"), ("placement.pinned", "CPU 0")]);
        let b = run(&[("load.1", "9.1"), ("host.uptime_s", "2"), ("memory.available", "4")]);
        assert!(differences(&a, &b).is_empty());
        assert!(differences(&a, &a).is_empty());
        // A run that needed no files has no facts about their directory.
        let [ext4, xfs] = ["ext4", "xfs"].map(|fs| run(&[("work_dir.fs", fs)]));
        assert!(differences(&a, &ext4).is_empty() && differences(&ext4, &xfs).len() == 1);
    }
}
