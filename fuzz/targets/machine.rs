//! What the kernel says about the machine, in `/proc` and `/sys`.

use super::scratch::Scratch;
use groma_sys::facts::{facts_below, readings_below};
use groma_sys::topology::{Relation, Topology};
use std::collections::BTreeSet;
use std::path::Path;

/// The facts of a machine with arbitrary `/proc` and `/sys`, `sys/facts`: see [`Scratch::plant`].
pub fn facts(data: &[u8]) {
    let mut tree = Scratch::new();
    tree.plant(data, &FACT_FILES);
    let facts = facts_below(&tree.dir, &[0, 1]);
    let (of_dir, counters, _) = readings_below(&tree.dir, Path::new("/"));
    let mut keys = BTreeSet::new();
    for (key, value) in facts.iter().chain(&of_dir) {
        assert!(!key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic()), "the key {key:?}");
        assert!(keys.insert(key), "{key} twice");
        assert_eq!(value.split_whitespace().collect::<Vec<_>>().join(" "), *value, "{key}");
        assert!(!value.is_empty(), "{key}");
    }
    // The facts grow with the text in the files, not with the numbers in it.
    let said: usize = facts.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(said <= (64 << 10) + 16 * data.len(), "{said} bytes of facts from {}", data.len());
    assert!(counters.loadavg.is_none_or(|load| load.iter().all(|l| l.is_finite())));
    let _ = counters.since(&counters);
}

/// The files of the target `facts`. Append only: the corpus refers to them by number.
const FACT_FILES: [&str; 64] = [
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/status",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/self/maps",
    "proc/cmdline",
    "proc/uptime",
    "proc/stat",
    "proc/loadavg",
    "proc/vmstat",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/device-tree/model",
    "proc/device-tree/cpus/cpu@0/compatible",
    "proc/device-tree/hypervisor/compatible",
    "proc/self/ns/pid",
    "proc/self/ns/user",
    "proc/self/attr/current",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/net/ipv4/tcp_rmem",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
    "sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpuidle/current_governor_ro",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/disable",
    "sys/module/haltpoll/parameters/guest_halt_poll_ns",
    "sys/module/haltpoll/parameters/guest_halt_poll_guest_halt_poll_ns",
    "sys/devices/system/cpu/vulnerabilities/meltdown",
    "sys/devices/system/cpu/vulnerabilities/two words",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index0/level",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/node/online",
    "sys/devices/system/node/has_memory",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/cpulist",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/kernel/mm/hugepages/hugepages-18446744073709551615kB/nr_hugepages",
    "sys/kernel/sched_ext/state",
    "sys/fs/cgroup/a/cpu.max",
    "sys/fs/cgroup/a/cpu.stat",
    "sys/fs/cgroup/a/memory.max",
    "sys/fs/cgroup/a/memory.current",
    "sys/fs/cgroup/memory.high",
    "sys/class/dmi/id/product_name",
    "sys/dev/block/8:1/queue/scheduler",
    "run/systemd/container",
];

/// The topology of an arbitrary `/sys`, `sys/topology.rs`: see [`Scratch::plant`].
pub fn topology(data: &[u8]) {
    let (allowed, files) = data.split_at(data.len().min(2));
    let bits = allowed.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
    let allowed: Vec<u32> = (0..16).filter(|cpu| bits & (1 << cpu) != 0).collect();
    let mut tree = Scratch::new();
    tree.plant(files, &TOPOLOGY_FILES);
    let topology = Topology::from_tree(&tree.dir, &allowed);

    assert_eq!(topology.cpus().iter().map(|cpu| cpu.id).collect::<Vec<_>>(), allowed);
    for cpu in topology.cpus() {
        assert!(cpu.siblings.contains(&cpu.id) && cpu.siblings.is_sorted() && cpu.core == cpu.siblings[0]);
    }
    for cache in topology.caches() {
        assert!(!cache.shared.is_empty() && cache.shared.is_sorted());
        assert!(cache.size != Some(0) && cache.line != Some(0) && cache.ways != Some(0));
    }
    let usable = topology.usable();
    assert!(usable.is_sorted() && usable.iter().all(|cpu| allowed.contains(cpu)));
    assert_eq!(topology.check(&usable).is_ok(), !usable.is_empty());
    for group in [topology.compact(40), topology.spread(40)] {
        assert_eq!(group.len(), if usable.is_empty() { 0 } else { 40 });
        // Each CPU once before any twice.
        let first: BTreeSet<u32> = group.iter().copied().take(usable.len()).collect();
        assert_eq!(first.into_iter().collect::<Vec<_>>(), usable);
    }
    for relation in Relation::ALL {
        match topology.pair(relation) {
            Ok((a, b)) => {
                assert!(usable.contains(&a) && usable.contains(&b) && (a == b) == (relation == Relation::SameCpu));
                assert!(topology.relation(a, b).is_some());
                assert_eq!(topology.pair(relation), Ok((a, b)), "always the same");
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
}

/// The files of the target `topology`. Append only: the corpus refers to them by number.
const TOPOLOGY_FILES: [&str; 40] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node1/cpulist",
    "sys/devices/system/node/node10/cpulist",
    "sys/devices/system/node/has_memory",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/cpu/cpu2/cpu_capacity",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu2/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu3/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu1/topology/physical_package_id",
    "sys/devices/system/cpu/cpu2/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/die_cpus_list",
    "sys/devices/system/cpu/cpu2/topology/die_cpus_list",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity",
    "sys/devices/system/cpu/cpu0/cache/index1/level",
    "sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index0/level",
    "sys/devices/system/cpu/cpu1/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index0/size",
    "sys/devices/system/cpu/cpu1/cache/index1/level",
    "sys/devices/system/cpu/cpu1/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu2/cache/index0/level",
    "sys/devices/system/cpu/cpu2/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu2/cache/index1/level",
    "sys/devices/system/cpu/cpu2/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu3/cache/index0/level",
    "sys/devices/system/cpu/cpu3/cache/index0/shared_cpu_list",
    "sys/devices/system/node/node4294967296/cpulist",
];
