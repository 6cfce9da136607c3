//! Reads a [`Topology`] from `/sys` and `/proc`.

use super::{CPUS, Cache, CacheKind, Cpu, NODES, Topology};
use crate::cpu_list::{format_cpus, parse_cpus};
use crate::tree::Tree;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A size as sysfs writes it: `48K`, `2048K`, `32M`.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|&size| size > 0)
}

fn sorted(mut list: Vec<u32>) -> Vec<u32> {
    list.sort_unstable();
    list.dedup();
    list
}

fn cpu_list(tree: &Tree, path: &str) -> Option<Vec<u32>> {
    parse_cpus(&tree.text(path)?).ok().map(sorted).filter(|list| !list.is_empty())
}

pub(super) fn read_tree(tree: &Tree, allowed: &[u32]) -> Topology {
    let allowed = sorted(allowed.to_vec());
    let online = cpu_list(tree, &format!("{CPUS}/online"));
    let (nodes, nodes_with_cpus) = read_nodes(tree, &allowed, online.as_deref());
    let classes = read_classes(tree, online.as_deref().unwrap_or(&allowed));
    let mut caches = Caches::default();
    let mut cpus: Vec<Cpu> = Vec::with_capacity(allowed.len());
    let mut alone = Vec::new();
    let mut caches_of_core: HashMap<u32, Groups> = HashMap::new();
    let mut threads_of_core: HashMap<u32, u32> = HashMap::new();
    for &id in &allowed {
        let topology = format!("{CPUS}/cpu{id}/topology");
        let either = |new: &str, old: &str| {
            cpu_list(tree, &format!("{topology}/{new}")).or_else(|| cpu_list(tree, &format!("{topology}/{old}")))
        };
        // A list without the CPU itself describes something else.
        let siblings = either("core_cpus_list", "thread_siblings_list").filter(|list| list.contains(&id));
        if siblings.is_none() {
            alone.push(id);
        }
        let siblings = siblings.unwrap_or_else(|| vec![id]);
        let package = tree.number(&format!("{topology}/physical_package_id")).unwrap_or(0);
        let die = either("die_cpus_list", "core_siblings_list").filter(|list| list.contains(&id)).map(|list| list[0]);
        let die = die.or_else(|| cpus.iter().find(|cpu| cpu.package == package).map(|cpu| cpu.die)).unwrap_or(id);
        let core = siblings[0];
        let rank = threads_of_core.entry(core).or_default();
        let smt = *rank;
        *rank += 1;
        // The threads of a core share its caches, and a large machine has many files to read.
        let own = *caches_of_core.entry(core).or_insert_with(|| caches.read(tree, id));
        cpus.push(Cpu {
            id,
            package,
            die,
            core,
            siblings,
            smt,
            l1: own.l1,
            l2: own.l2,
            llc: own.llc,
            node: nodes.get(&id).copied(),
            class: classes.of_cpu.get(&id).copied().unwrap_or(0),
            online: online.as_ref().is_none_or(|list| list.binary_search(&id).is_ok()),
        });
    }
    let concerned = |what: &str, cpus: Vec<u32>| match cpus.len() {
        0 => None,
        n if n == allowed.len() => Some(format!("{what} (all CPUs)")),
        _ => Some(format!("{what} (CPU {})", format_cpus(&cpus))),
    };
    let those = |wrong: fn(&Cpu) -> bool| cpus.iter().filter(|cpu| wrong(cpu)).map(|cpu| cpu.id).collect();
    let notes = [
        concerned("no core is declared, so each CPU is one", alone),
        concerned("no cache is declared", those(|cpu| cpu.llc.is_none())),
        concerned("no NUMA node is declared", those(|cpu| cpu.node.is_none())),
        concerned("allowed but not online", those(|cpu| !cpu.online)),
    ];
    let notes = notes.into_iter().flatten().collect();
    caches.list.sort_by_key(|cache| (cache.level, cache.kind));
    // Where nothing says which nodes have memory, all of them count: binding to one without fails
    // with a clear error.
    let memory_nodes = cpu_list(tree, &format!("{NODES}/has_memory")).unwrap_or_else(|| tree.numbered(NODES, "node"));
    Topology {
        cpus,
        caches: caches.list,
        memory_nodes,
        classes: classes.names,
        nodes_with_cpus,
        interrupts: BTreeMap::new(),
        is_pinning_refused: false,
        notes,
    }
}

/// The NUMA node of each allowed CPU, and the number of nodes with a CPU that is online, allowed or
/// not.
fn read_nodes(tree: &Tree, allowed: &[u32], online: Option<&[u32]>) -> (HashMap<u32, u32>, usize) {
    let is_online = |cpu: &u32| online.is_none_or(|list| list.binary_search(cpu).is_ok());
    let (mut node_of, mut with_cpus) = (HashMap::new(), 0);
    for node in tree.numbered(NODES, "node") {
        let cpus = cpu_list(tree, &format!("{NODES}/node{node}/cpulist")).unwrap_or_default();
        with_cpus += usize::from(cpus.iter().any(is_online));
        node_of.extend(allowed.iter().filter(|cpu| cpus.binary_search(cpu).is_ok()).map(|&cpu| (cpu, node)));
    }
    (node_of, with_cpus)
}

/// The classes of core of a machine.
#[derive(Default)]
struct Classes {
    /// The most capable first; empty where there is one.
    names: Vec<String>,
    of_cpu: HashMap<u32, u32>,
}

/// The PMU devices of hybrid x86 processors, and what we call their cores.
const PMUS: [(&str, &str); 3] =
    [("cpu_core", "performance"), ("cpu_atom", "efficiency"), ("cpu_lowpower", "low-power")];

/// A class begins where the capacity falls by more than this from one CPU to the next lower: what
/// the scheduler calls greater (`capacity_greater` in kernel/sched/fair.c). Firmware reports cores
/// of one kind with capacities that differ by less.
const CAPACITY_STEP: f64 = 1078.0 / 1024.0;
/// The same for the highest clock, which favoured cores of one kind raise by some percent and dense
/// cores of a design lower by a third (docs/methods/timing.md#cpu-of-a-single-task).
const CLOCK_STEP: f64 = 4.0 / 3.0;

/// The classes of the CPUs that are online, allowed or not: the name of a core must not depend on
/// the process. From the PMU devices of x86, else from `cpu_capacity`, else from the highest clock.
fn read_classes(tree: &Tree, online: &[u32]) -> Classes {
    let of_pmu = |(device, _): &(&str, &str)| {
        let mut cpus = cpu_list(tree, &format!("sys/devices/{device}/cpus")).unwrap_or_default();
        // A list may name CPUs that cannot exist, thousands of them.
        cpus.retain(|cpu| online.binary_search(cpu).is_ok());
        cpus
    };
    let pmus: Vec<(&str, Vec<u32>)> =
        PMUS.iter().map(|pmu| (pmu.1, of_pmu(pmu))).filter(|(_, cpus)| !cpus.is_empty()).collect();
    if pmus.len() > 1 {
        let of_cpu =
            (0..).zip(&pmus).flat_map(|(class, (_, cpus))| cpus.iter().map(move |cpu| (*cpu, class))).collect();
        return Classes { names: pmus.iter().map(|(name, _)| (*name).to_owned()).collect(), of_cpu };
    }
    let files = [("cpu_capacity", CAPACITY_STEP), ("cpufreq/cpuinfo_max_freq", CLOCK_STEP)];
    let by_file = |(file, step): (&str, f64)| {
        let value = |cpu: u32| tree.number::<u64>(&format!("{CPUS}/cpu{cpu}/{file}"));
        // The file is there for all CPUs or for none.
        value(*online.first()?)?;
        let mut values: Vec<(u64, u32)> = online.iter().map(|&cpu| (value(cpu).unwrap_or(0), cpu)).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        let classes: Vec<&[(u64, u32)]> = values.chunk_by(|a, b| a.0 as f64 <= step * b.0 as f64).collect();
        (classes.len() > 1).then(|| Classes {
            names: names(classes.len()),
            of_cpu: (0..)
                .zip(&classes)
                .flat_map(|(class, all)| all.iter().map(move |(_, cpu)| (*cpu, class)))
                .collect(),
        })
    };
    files.into_iter().find_map(by_file).unwrap_or_default()
}

/// Names for this number of classes, two or more.
fn names(count: usize) -> Vec<String> {
    let between = |i: usize| if count == 3 { "mid".to_owned() } else { format!("mid-{i}") };
    let name = |i: usize| match i {
        0 => "performance".to_owned(),
        i if i + 1 == count => "efficiency".to_owned(),
        i => between(i),
    };
    (0..count).map(name).collect()
}

/// The caches found so far, each once.
#[derive(Default)]
struct Caches {
    list: Vec<Cache>,
    /// Those in the list, by level, kind and lowest CPU.
    known: HashSet<(u32, CacheKind, u32)>,
}

/// The cache groups of one CPU, each named by its lowest CPU.
#[derive(Clone, Copy, Default)]
struct Groups {
    l1: Option<u32>,
    l2: Option<u32>,
    llc: Option<u32>,
}

impl Caches {
    /// Reads the cache directories of one CPU; the details of a cache are read for the first of its
    /// CPUs only.
    fn read(&mut self, tree: &Tree, id: u32) -> Groups {
        let mut groups = Groups::default();
        let mut last_level = 0;
        for index in 0..16 {
            let dir = format!("{CPUS}/cpu{id}/cache/index{index}");
            let Some(level) = tree.number::<u32>(&format!("{dir}/level")) else { break };
            let kind = match tree.text(&format!("{dir}/type")).as_deref() {
                Some("Data") => CacheKind::Data,
                Some("Instruction") => CacheKind::Instruction,
                _ => CacheKind::Unified,
            };
            let shared = cpu_list(tree, &format!("{dir}/shared_cpu_list")).filter(|list| list.contains(&id));
            let shared = shared.unwrap_or_else(|| vec![id]);
            let lowest = shared[0];
            if self.known.insert((level, kind, lowest)) {
                self.list.push(Cache {
                    level,
                    kind,
                    size: tree.text(&format!("{dir}/size")).and_then(|size| parse_size(&size)),
                    line: tree.number(&format!("{dir}/coherency_line_size")).filter(|&line| line > 0),
                    ways: tree.number(&format!("{dir}/ways_of_associativity")).filter(|&ways| ways > 0),
                    shared,
                });
            }
            if kind == CacheKind::Instruction {
                continue;
            }
            match level {
                1 => groups.l1 = Some(lowest),
                2 => groups.l2 = Some(lowest),
                _ => {}
            }
            if level > last_level {
                last_level = level;
                groups.llc = Some(lowest);
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four CPUs with these caches: for each the CPUs that share it, its level, kind and size.
    fn machine(caches: &[(&str, u32, &str, &str)]) -> Topology {
        let mut text = "proc/self/status\tCpus_allowed_list:\t0-3\nsys/devices/system/cpu/online\t0-3\n".to_owned();
        for (index, (cpus, level, kind, size)) in caches.iter().enumerate() {
            // Half of the caches belong to the other two CPUs, and each CPU numbers its own.
            let dir = format!("{CPUS}/cpu{{{cpus}}}/cache/index{}", index / 2);
            let line = if *kind == "Data" { 128 } else { 64 };
            text += &format!("{dir}/level\t{level}\n{dir}/type\t{kind}\n{dir}/size\t{size}\n");
            text += &format!("{dir}/coherency_line_size\t{line}\n{dir}/shared_cpu_list\t{cpus}\n");
        }
        Topology::recorded(&text.parse().expect("a recording"))
    }

    #[test]
    fn instruction_caches_are_neither_first_nor_private_nor_last() {
        let first = [("0-1", 1, "Data", "48K"), ("2-3", 1, "Data", "32K")];
        let code = [("0-1", 1, "Instruction", "64K"), ("2-3", 1, "Instruction", "64K")];
        let second = [("0-1", 2, "Unified", "2048K"), ("2-3", 2, "Unified", "4096K")];
        let third = [("0-1", 3, "Unified", "32M"), ("2-3", 3, "Unified", "96M")];
        let last =
            |machine: &Topology| machine.last_caches().iter().map(|c| c.size.unwrap_or(0) >> 10).collect::<Vec<_>>();
        let all = machine(&[first, code, second, third].concat());
        assert_eq!((all.line(), all.first_cache(), all.private_cache()), (Some(128), Some(48 << 10), Some(4 << 20)));
        assert_eq!(last(&all), [32 << 10, 96 << 10]);
        assert_eq!(last(&machine(&[first, code, second].concat())), [2048, 4096]);
        let small = machine(&[code, first].concat());
        assert_eq!((small.first_cache(), small.private_cache()), (Some(48 << 10), Some(48 << 10)));
        assert_eq!(last(&small), [48, 32]);
    }
}
