//! The topology of machines that we do not have, and of this one.

#[path = "fixtures/mod.rs"]
mod fixtures;

use fixtures::{Scratch, hybrid, large, single, two_complexes, two_sockets};
use groma_sys::cpu_list::{format_cpus, parse_cpus};
use groma_sys::topology::{CacheKind, Relation, Topology, allowed_cpus};
use std::collections::{BTreeMap, BTreeSet};

fn reason(topology: &Topology, relation: Relation) -> String {
    topology.pair(relation).expect_err("no such pair")
}

#[test]
fn two_sockets_have_every_relation_but_cross_llc() {
    let tree = two_sockets();
    let topology = tree.topology(0..32);
    assert!(topology.notes().is_empty(), "{:?}", topology.notes());
    assert_eq!(topology.pair(Relation::SameCpu), Ok((0, 0)));
    assert_eq!(topology.pair(Relation::Smt), Ok((0, 16)));
    assert_eq!(topology.pair(Relation::SameLlc), Ok((0, 1)));
    assert_eq!(topology.pair(Relation::CrossNode), Ok((0, 8)));
    assert!(reason(&topology, Relation::CrossLlc).contains("cross-node"));
}

#[test]
fn groups_are_named_by_their_lowest_cpu() {
    let topology = two_sockets().topology(0..32);
    let cpu = &topology.cpus()[25];
    assert_eq!((cpu.id, cpu.package, cpu.die, cpu.core, cpu.smt, cpu.node), (25, 1, 8, 9, 1, Some(1)));
    assert_eq!((cpu.l1, cpu.l2, cpu.llc), (Some(9), Some(9), Some(8)));
    assert_eq!(cpu.siblings, [9, 25]);
    let cores: BTreeSet<u32> = topology.cpus().iter().map(|cpu| cpu.core).collect();
    assert_eq!(cores.len(), 16, "core_id repeats in each package, cores do not");
}

#[test]
fn caches_are_declared_once_each() {
    let topology = two_sockets().topology(0..32);
    let of = |level, kind| topology.caches().iter().filter(move |c| c.level == level && c.kind == kind);
    assert_eq!(of(1, CacheKind::Data).count(), 16);
    assert_eq!(of(1, CacheKind::Instruction).count(), 16);
    assert_eq!(of(2, CacheKind::Unified).count(), 16);
    let last: Vec<_> = of(3, CacheKind::Unified).collect();
    assert_eq!(last.len(), 2);
    assert_eq!((last[0].size, last[0].line, last[0].ways), (Some(36 << 20), Some(64), Some(8)));
    assert_eq!(format_cpus(&last[1].shared), "8-15,24-31");
    assert_eq!(topology.caches()[0].name(), "l1d");
    assert_eq!(topology.caches().last().map(|cache| cache.name()).as_deref(), Some("l3"));
}

#[test]
fn compact_fills_cores_and_caches_before_the_next() {
    assert_eq!(two_sockets().topology(0..32).compact(5), [0, 16, 1, 17, 2]);
    let order = two_sockets().topology(0..32).compact(32);
    assert!(order[..16].iter().all(|cpu| cpu % 16 < 8), "the first package is filled first: {order:?}");
    assert_eq!(two_complexes().topology(0..16).compact(10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn spread_goes_over_packages_then_caches_then_cores_then_threads() {
    let order = two_sockets().topology(0..32).spread(32);
    assert_eq!(order[..6], [0, 8, 1, 9, 2, 10]);
    assert!(order[..16].iter().all(|&cpu| cpu < 16), "no second thread before every core has one: {order:?}");
    assert_eq!(order[16..20], [16, 24, 17, 25]);
    assert_eq!(two_complexes().topology(0..16).spread(10), [0, 8, 2, 10, 4, 12, 6, 14, 1, 9]);
}

#[test]
fn worker_groups_larger_than_the_machine_go_round() {
    let tree = two_complexes();
    let topology = tree.topology([3, 4, 9]);
    for order in [topology.compact(8), topology.spread(8)] {
        assert_eq!(order.len(), 8);
        assert_eq!(order[..3].iter().collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(order[..5], order[3..], "round and round: {order:?}");
    }
    assert!(topology.compact(0).is_empty());
    assert!(tree.topology([]).spread(4).is_empty());
}

#[test]
fn uneven_groups_still_use_each_core_once_first() {
    // One core of the first complex with both threads, three cores of the second.
    let order = two_complexes().topology([0, 1, 8, 9, 10, 12]).spread(6);
    assert_eq!(order, [0, 8, 10, 12, 1, 9]);
}

#[test]
fn two_complexes_have_cross_llc_in_one_node() {
    let tree = two_complexes();
    let topology = tree.topology(0..16);
    assert_eq!(topology.pair(Relation::Smt), Ok((0, 1)));
    assert_eq!(topology.pair(Relation::SameLlc), Ok((0, 2)));
    assert_eq!(topology.pair(Relation::CrossLlc), Ok((0, 8)));
    assert_eq!(reason(&topology, Relation::CrossNode), "the allowed CPUs are in one NUMA node");
    let half = tree.topology(8..16);
    assert_eq!(half.pair(Relation::SameLlc), Ok((8, 10)));
    assert_eq!(reason(&half, Relation::CrossLlc), "the allowed CPUs share one last-level cache");
}

#[test]
fn what_is_not_allowed_is_not_chosen() {
    let tree = two_sockets();
    let topology = tree.topology([1, 2, 9, 18]);
    assert_eq!(topology.pair(Relation::SameCpu), Ok((1, 1)));
    assert_eq!(topology.pair(Relation::Smt), Ok((2, 18)));
    assert_eq!(topology.pair(Relation::CrossNode), Ok((1, 9)));
    assert_eq!(topology.spread(4), [1, 9, 2, 18]);
    let first_threads = tree.topology(0..16);
    assert_eq!(reason(&first_threads, Relation::Smt), "of the SMT siblings 0,16 only CPU 0 is allowed");
}

#[test]
fn hybrid_pairs_are_of_equal_cores_and_the_capable_ones_first() {
    let topology = hybrid().topology(0..8);
    let classes: Vec<u32> = topology.cpus().iter().map(|cpu| cpu.class).collect();
    assert_eq!(classes, [1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(topology.pair(Relation::SameCpu), Ok((4, 4)));
    assert_eq!(topology.pair(Relation::Smt), Ok((4, 5)));
    assert_eq!(topology.pair(Relation::SameLlc), Ok((4, 6)));
    assert_eq!(topology.compact(4), [4, 5, 6, 7]);
    assert_eq!(topology.spread(8), [4, 6, 0, 1, 2, 3, 5, 7]);
    // Four cores that share a second-level cache: a pair there is the best available.
    assert_eq!(hybrid().topology([0, 1, 4]).pair(Relation::SameLlc), Ok((0, 1)));
}

#[test]
fn classes_come_from_capacities_where_there_are_no_pmu_names() {
    let tree = two_complexes();
    for cpu in 0..16 {
        tree.write(
            &format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"),
            if (4..8).contains(&cpu) { "1024" } else { "512" },
        );
    }
    let topology = tree.topology(0..16);
    assert_eq!(topology.pair(Relation::SameCpu), Ok((4, 4)));
    assert_eq!(topology.cpus().iter().filter(|cpu| cpu.class == 0).count(), 4);
}

#[test]
fn cpus_above_32_64_and_256_are_themselves() {
    let tree = large();
    let topology = tree.topology(0..320);
    assert_eq!(topology.cpus().len(), 320);
    assert_eq!(topology.usable(), (0..320).collect::<Vec<_>>());
    assert_eq!(topology.pair(Relation::CrossNode), Ok((0, 160)));
    assert_eq!(topology.pair(Relation::CrossLlc), Ok((0, 8)));
    assert_eq!(reason(&topology, Relation::Smt), "no SMT here");
    let spread = topology.spread(320);
    assert_eq!(spread.iter().collect::<BTreeSet<_>>().len(), 320, "every CPU once");
    // The lmbench defect: with more than 32 CPUs, several copies landed on one
    // (`docs/methods/pitfalls.md#placement-and-cpu-masks`).
    assert_eq!(spread[..4], [0, 160, 8, 168]);
    let caches: BTreeSet<u32> = spread[..40].iter().map(|cpu| cpu / 8).collect();
    assert_eq!(caches.len(), 40, "a last-level cache for each while there are any");
    assert_eq!(topology.compact(320), (0..320).collect::<Vec<_>>());
    for upper in [31..33, 63..65, 255..257, 318..320] {
        let pair = (upper.start, upper.start + 1);
        let two = tree.topology(upper);
        assert_eq!(two.usable(), [pair.0, pair.1]);
        assert_eq!(two.check(&[pair.0, pair.1]), Ok(()));
        assert!(two.check(&[pair.0 % 32]).is_err() || pair.0 < 32);
    }
    let by_package = |n: usize| {
        let mut count = BTreeMap::<u32, i64>::new();
        spread[..n].iter().for_each(|cpu| *count.entry(cpu / 160).or_default() += 1);
        count.get(&0).copied().unwrap_or(0) - count.get(&1).copied().unwrap_or(0)
    };
    assert!((1..=320).all(|n| by_package(n).abs() <= 1), "balanced at every size");
}

#[test]
fn one_cpu_has_only_itself() {
    let tree = single();
    let topology = tree.topology([0]);
    assert_eq!(topology.pair(Relation::SameCpu), Ok((0, 0)));
    for relation in Relation::ALL.into_iter().skip(1) {
        assert_eq!(reason(&topology, relation), "one CPU allowed");
    }
    assert_eq!(topology.spread(3), [0, 0, 0]);
    assert_eq!(topology.cpus()[0].llc, Some(0), "the last level that is declared, whichever it is");
}

#[test]
fn missing_caches_are_unknown_and_noted() {
    let tree = two_complexes();
    for cpu in 0..16 {
        tree.remove(&format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    }
    let topology = tree.topology(0..16);
    assert_eq!(topology.notes(), ["no cache is declared (all CPUs)"]);
    assert!(topology.caches().is_empty());
    assert_eq!(topology.pair(Relation::Smt), Ok((0, 1)));
    for relation in [Relation::SameLlc, Relation::CrossLlc] {
        assert_eq!(reason(&topology, relation), "the last-level cache is unknown here");
    }
    assert_eq!(topology.spread(3), [0, 2, 4]);
}

#[test]
fn without_sysfs_every_cpu_is_its_own_core_and_the_notes_say_so() {
    let topology = Scratch::new().topology([0, 1, 70]);
    assert_eq!(topology.usable(), [0, 1, 70]);
    assert_eq!(topology.cpus().iter().map(|cpu| cpu.core).collect::<Vec<_>>(), [0, 1, 70]);
    assert!(topology.cpus().iter().all(|cpu| cpu.llc.is_none() && cpu.node.is_none() && cpu.online));
    assert_eq!(topology.notes().len(), 3, "{:?}", topology.notes());
    assert_eq!(reason(&topology, Relation::Smt), "no SMT here");
    assert_eq!(reason(&topology, Relation::CrossNode), "the NUMA nodes are unknown here");
    assert_eq!(topology.compact(4), [0, 1, 70, 0]);
}

#[test]
fn a_cpu_that_is_off_is_not_chosen() {
    let tree = two_sockets();
    tree.write("sys/devices/system/cpu/online", "0-3,5-31");
    let topology = tree.topology(0..32);
    assert!(!topology.spread(64).contains(&4));
    assert!(topology.check(&[4]).is_err());
    assert_eq!(topology.notes(), ["allowed but not online (CPU 4)"]);
}

#[test]
fn the_check_names_the_cpu_and_the_allowed_set() {
    let topology = two_sockets().topology([0, 1, 2, 9]);
    assert_eq!(topology.check(&[9, 0, 0, 2]), Ok(()));
    assert_eq!(topology.check(&[0, 8, 12]), Err("CPU 8 is not allowed; allowed: 0-2,9".to_owned()));
    assert!(topology.check(&[]).is_err());
}

#[test]
fn cpu_lists_read_as_they_are_written() {
    for (text, cpus) in [
        ("0", vec![0]),
        ("0-3,8", vec![0, 1, 2, 3, 8]),
        ("3,1,1", vec![3, 1, 1]),
        ("", vec![]),
        ("62-65", vec![62, 63, 64, 65]),
    ] {
        assert_eq!(parse_cpus(text), Ok(cpus.clone()));
        assert_eq!(format_cpus(&cpus), text);
    }
    assert_eq!(parse_cpus(" 1 , 2-3\n"), Ok(vec![1, 2, 3]));
    for wrong in ["a", "3-1", "1,,2", "-1", "1-", "0-4294967295", "99999999999", "0x1", "1;2"] {
        assert!(parse_cpus(wrong).is_err(), "{wrong}");
    }
    let endless = vec!["0-65535"; 1000].join(",");
    assert!(parse_cpus(&endless).is_err());
}

#[test]
fn garbage_in_sysfs_is_survived() {
    let rubbish = ["", "-1", "4294967296", "0-", "0-99999999", "\u{fffd}", "7", "1-0", "K", "18446744073709551615G"];
    let tree = two_complexes();
    for (round, text) in rubbish.into_iter().enumerate() {
        for cpu in 0..16 {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}");
            tree.write(&format!("{dir}/topology/core_cpus_list"), text);
            tree.write(&format!("{dir}/topology/physical_package_id"), rubbish[(round + 1) % rubbish.len()]);
            tree.write(&format!("{dir}/cache/index1/size"), text);
            tree.write(&format!("{dir}/cache/index2/shared_cpu_list"), text);
            tree.write(&format!("{dir}/cache/index2/level"), rubbish[(round + 3) % rubbish.len()]);
        }
        tree.write("sys/devices/system/node/node0/cpulist", text);
        let topology = tree.topology(0..16);
        assert_eq!(topology.usable().len(), 16, "{text:?}");
        assert_eq!(topology.spread(16).iter().collect::<BTreeSet<_>>().len(), 16, "{text:?}");
        assert_eq!(topology.compact(16).iter().collect::<BTreeSet<_>>().len(), 16, "{text:?}");
        for relation in Relation::ALL {
            let _ = topology.pair(relation);
        }
    }
}

#[test]
fn this_machine_allows_only_cpus_that_are_online() {
    let allowed = allowed_cpus();
    assert!(!allowed.is_empty());
    let topology = Topology::read();
    assert_eq!(topology.cpus().len(), allowed.len());
    if let Ok(online) = std::fs::read_to_string("/sys/devices/system/cpu/online") {
        let online = parse_cpus(&online).expect("the kernel's own list");
        assert!(allowed.iter().all(|cpu| online.contains(cpu)), "{allowed:?} in {online:?}");
        assert_eq!(topology.usable(), allowed);
    }
    if let Ok(status) = std::fs::read_to_string("/proc/thread-self/status") {
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        assert_eq!(list.map(str::trim), Some(format_cpus(&allowed).as_str()), "the two ways to ask agree");
    }
    let (a, b) = topology.pair(Relation::SameCpu).expect("always possible");
    assert!(a == b && allowed.contains(&a));
    for relation in Relation::ALL {
        match topology.pair(relation) {
            Ok((a, b)) => assert_eq!(topology.check(&[a, b]), Ok(())),
            Err(reason) => assert!(!reason.is_empty()),
        }
    }
}
