//! Translates the placements of a plan into the CPUs of a machine. Which CPUs have which relation
//! is decided by `groma_sys::topology`.

use groma_harness::model::{Info, OneCpu, Placement};
use groma_harness::sys::cpu_list::format_cpus;
use groma_harness::sys::topology::{Relation, Site, Topology};
use std::fmt;

/// The CPUs of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// The scheduler chooses.
    Any,
    /// One for each side, or for the members of the worker group in turn.
    Each(Vec<u32>),
    /// One of these, drawn anew for each round.
    OneOf(Site),
}

impl fmt::Display for Cpus {
    /// `any CPU`, `CPUs 0,4`, `one of CPUs 1-7 (class performance)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cpus::Any => f.write_str("any CPU"),
            Cpus::Each(cpus) => write!(f, "{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, format_cpus(cpus)),
            Cpus::OneOf(site) if site.cpus.len() == 1 => site.fmt(f),
            Cpus::OneOf(site) => write!(f, "one of {site}"),
        }
    }
}

/// The placement of a single task of this class and node. It names them only if the machine has
/// several, so that metrics of other machines keep their names.
pub(crate) fn on_one_cpu(wanted: &OneCpu, topology: &Topology) -> Placement {
    match topology.site(wanted.class.as_deref(), wanted.node) {
        Ok(Site { class: None, node: None, .. }) => Placement::Pinned,
        Ok(Site { class, node, .. }) => Placement::On(OneCpu { class, node }),
        // The point stays in the plan, with the error as its reason.
        Err(_) if *wanted == OneCpu::default() => Placement::Pinned,
        Err(_) => Placement::On(wanted.clone()),
    }
}

/// The placements of a single task on each class of core but the default one.
pub(crate) fn on_other_classes(topology: &Topology) -> Vec<Placement> {
    let classes = topology.usable_classes();
    let other = |class: &&str| on_one_cpu(&OneCpu { class: Some((*class).to_owned()), node: None }, topology);
    classes.iter().skip(1).map(other).collect()
}

/// Up to this many CPUs, all pairs (28) are measured by default
/// (docs/methods/processor.md#choice-of-pairs).
const FEW_CPUS: usize = 8;
/// The number of pairs chosen of more CPUs.
const CHOSEN_PAIRS: usize = 32;

/// Expands `every-pair` and `every-node-pair` for this machine. Where it has no pair, one placement
/// stays in the plan with its reason.
pub(crate) fn expand(placement: Placement, full: bool, topology: &Topology) -> Vec<Placement> {
    match placement {
        Placement::EveryPair => {
            let usable = topology.usable();
            if usable.len() < 2 {
                return vec![Placement::List(usable)];
            }
            let kinds = Relation::ALL[1..].iter().filter_map(|relation| topology.pair(*relation).ok());
            let pairs = pairs(&usable, &kinds.collect::<Vec<_>>(), full);
            pairs.into_iter().map(|(a, b)| Placement::List(vec![a, b])).collect()
        }
        Placement::EveryNodePair => {
            let mut of_cpus: Vec<u32> = topology.cpus().iter().filter(|c| c.online).filter_map(|c| c.node).collect();
            of_cpus.sort_unstable();
            of_cpus.dedup();
            let pair = |cpu: u32| move |memory: &u32| Placement::Nodes { cpu, memory: *memory };
            let all: Vec<_> = of_cpus.iter().flat_map(|cpu| topology.memory_nodes().iter().map(pair(*cpu))).collect();
            if all.is_empty() { vec![Placement::Nodes { cpu: 0, memory: 0 }] } else { all }
        }
        other => vec![other],
    }
}

/// The pairs of CPUs to measure: all of few CPUs or with `full`. Otherwise one of each kind, and
/// the first CPU with others evenly spaced, which shows the distances in bounded time (576 CPUs
/// have 165 600 pairs).
fn pairs(usable: &[u32], kinds: &[(u32, u32)], full: bool) -> Vec<(u32, u32)> {
    let Some((&first, others)) = usable.split_first() else { return Vec::new() };
    if full || usable.len() <= FEW_CPUS {
        let from = |(i, &a): (usize, &u32)| usable[i + 1..].iter().map(move |&b| (a, b)).collect::<Vec<_>>();
        return usable.iter().enumerate().flat_map(from).collect();
    }
    let mut chosen: Vec<(u32, u32)> = kinds.to_vec();
    let room = CHOSEN_PAIRS.saturating_sub(chosen.len()).min(others.len());
    // Includes the last CPU, the farthest one if CPUs are numbered in order.
    let spaced = (1..=room).map(|i| (first, others[i * others.len() / room - 1]));
    for pair in spaced {
        if !chosen.contains(&pair) {
            chosen.push(pair);
        }
    }
    chosen
}

fn only_free() -> Result<Cpus, String> {
    Err("worker groups of two-sided benchmarks are placed with --placement free".to_owned())
}

/// The CPUs of a placement on this machine, or why there are none. `group`: for a worker group.
pub(crate) fn cpus(
    info: &Info,
    placement: &Placement,
    (workers, group): (u32, bool),
    topology: &Topology,
) -> Result<Cpus, String> {
    match placement {
        Placement::List(cpus) if info.placements.contains(&Placement::EveryPair) => match cpus.as_slice() {
            [a, b] if a != b => Ok(Cpus::Each(cpus.clone())),
            [_] if topology.usable().len() == 1 => Err("one CPU allowed".to_owned()),
            _ => Err("a pair is two different CPUs".to_owned()),
        },
        Placement::List(cpus) if two_sided(info) => match cpus.len() {
            _ if workers > 1 => only_free(),
            2 => Ok(Cpus::Each(cpus.clone())),
            n => Err(format!("its two sides take a pair of CPUs such as 0,1, not {n}")),
        },
        placement => chosen(placement, (workers, group), topology),
    }
}

/// The CPUs of a placement among those that the topology says may be used.
pub(crate) fn chosen(
    placement: &Placement,
    (workers, group): (u32, bool),
    topology: &Topology,
) -> Result<Cpus, String> {
    let pair = |relation| {
        if workers > 1 {
            return only_free();
        }
        topology.pair(relation).map(|(a, b)| Cpus::Each(vec![a, b]))
    };
    match placement {
        Placement::Free => Ok(Cpus::Any),
        Placement::Pinned | Placement::Remote if group => Ok(Cpus::Any),
        Placement::Pinned | Placement::Remote => topology.site(None, None).map(Cpus::OneOf),
        Placement::On(one) => {
            let site = topology.site(one.class.as_deref(), one.node)?;
            let mut nearest = topology.compact(topology.usable().len());
            nearest.retain(|cpu| site.cpus.contains(cpu));
            let members = nearest.into_iter().cycle().take(workers as usize).collect();
            Ok(if group { Cpus::Each(members) } else { Cpus::OneOf(site) })
        }
        Placement::SameCpu => pair(Relation::SameCpu),
        Placement::Smt => pair(Relation::Smt),
        Placement::SameLlc => pair(Relation::SameLlc),
        Placement::CrossLlc => pair(Relation::CrossLlc),
        Placement::CrossNode => pair(Relation::CrossNode),
        Placement::Compact => Ok(Cpus::Each(topology.compact(workers as usize))),
        Placement::Spread => Ok(Cpus::Each(topology.spread(workers as usize))),
        Placement::List(cpus) => Ok(Cpus::Each(cpus.clone())),
        Placement::Nodes { cpu, memory } => match topology.site(None, Some(*cpu)) {
            _ if topology.memory_nodes().len() < 2 && cpu == memory => Err("one NUMA node".to_owned()),
            _ if !topology.memory_nodes().contains(memory) => Err(format!("node {memory} has no memory")),
            found => found.map(Cpus::OneOf),
        },
        Placement::EveryPair | Placement::EveryNodePair => Err(format!("{placement} stands for several placements")),
    }
}

/// Whether a benchmark has two sides that can be placed on a pair of CPUs. `Free` does not count:
/// it also places a single task.
pub(crate) fn two_sided(info: &Info) -> bool {
    info.placements.iter().any(|p| Placement::TWO_SIDED[..5].contains(p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::layouts;
    use crate::request::RunRequest;
    use groma_harness::model::{Params, Profile};

    #[test]
    fn few_cpus_have_all_pairs_and_many_a_bounded_choice() {
        assert_eq!(pairs(&[3, 5], &[(3, 5)], false), [(3, 5)]);
        assert_eq!(pairs(&[0, 1, 2], &[], false), [(0, 1), (0, 2), (1, 2)]);
        let eight: Vec<u32> = (0..8).collect();
        assert_eq!(pairs(&eight, &[(0, 4)], false).len(), 28);
        let many: Vec<u32> = (0..576).collect();
        let kinds = [(0, 288), (0, 1), (0, 8), (0, 96)];
        let chosen = pairs(&many, &kinds, false);
        assert!(chosen.starts_with(&kinds) && chosen.len() <= CHOSEN_PAIRS && chosen.len() > 28, "{chosen:?}");
        assert!(chosen.contains(&(0, 575)) && chosen.iter().all(|(a, b)| a < b), "{chosen:?}");
        let distinct: std::collections::BTreeSet<_> = chosen.iter().collect();
        assert_eq!(distinct.len(), chosen.len());
        assert_eq!(pairs(&many, &kinds, true).len(), 576 * 575 / 2);
        let nine: Vec<u32> = (0..9).collect();
        assert_eq!(pairs(&nine, &[(0, 1)], false), (1..9).map(|b| (0, b)).collect::<Vec<_>>());
        assert_eq!(pairs(&[7], &[], false), []);
    }

    /// Six cores with two threads each; three cores share a last-level cache.
    #[test]
    fn the_chosen_pairs_include_one_of_each_kind() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: String, text: String| {
            let path = root.path().join("sys/devices/system/cpu").join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write("online".into(), "0-11\n".into());
        for cpu in 0..12 {
            let (core, group) = (cpu % 6, cpu % 6 / 3);
            write(format!("cpu{cpu}/topology/core_cpus_list"), format!("{core},{}\n", core + 6));
            for (file, text) in [("level", "3\n".to_owned()), ("type", "Unified\n".to_owned())] {
                write(format!("cpu{cpu}/cache/index0/{file}"), text);
            }
            let (a, b) = (group * 3, group * 3 + 6);
            write(format!("cpu{cpu}/cache/index0/shared_cpu_list"), format!("{a}-{},{b}-{}\n", a + 2, b + 2));
        }
        let topology = Topology::from_tree(root.path(), &(0..12).collect::<Vec<u32>>());
        let relations: Vec<Relation> = expand(Placement::EveryPair, false, &topology)
            .iter()
            .filter_map(|placement| match placement {
                Placement::List(pair) => topology.relation(pair[0], pair[1]),
                _ => None,
            })
            .collect();
        // The others are those of the first CPU.
        assert!(relations.starts_with(&[Relation::Smt, Relation::SameLlc, Relation::CrossLlc]), "{relations:?}");
    }

    #[test]
    fn every_pair_is_expanded() {
        let topology = Topology::read();
        for placement in [Placement::EveryPair, Placement::EveryNodePair] {
            let all = expand(placement, false, &topology);
            assert!(!all.is_empty());
            let concrete = |p: &Placement| matches!(p, Placement::List(_) | Placement::Nodes { .. });
            assert!(all.iter().all(concrete), "{all:?}");
        }
    }

    #[test]
    fn two_sides_get_the_cpus_of_their_placement() {
        let topology = Topology::read();
        let info = Info { placements: &Placement::TWO_SIDED, ..Info::new("test.sides") };
        let usable = topology.usable();
        for (placement, relation) in [
            (Placement::SameCpu, Relation::SameCpu),
            (Placement::Smt, Relation::Smt),
            (Placement::SameLlc, Relation::SameLlc),
            (Placement::CrossLlc, Relation::CrossLlc),
            (Placement::CrossNode, Relation::CrossNode),
        ] {
            match cpus(&info, &placement, (1, false), &topology) {
                Ok(Cpus::Each(pair)) => {
                    let [a, b] = *pair else { panic!("{placement}: {pair:?}") };
                    assert!(usable.contains(&a) && usable.contains(&b), "{placement}: {pair:?}");
                    assert_eq!(a == b, placement == Placement::SameCpu, "{placement}: {pair:?}");
                    assert_eq!(topology.relation(a, b), Some(relation), "{placement}: {pair:?}");
                }
                Ok(other) => panic!("{placement}: {other}"),
                Err(why) => assert!(placement != Placement::SameCpu && !why.is_empty(), "{placement}: {why}"),
            }
            assert!(cpus(&info, &placement, (2, true), &topology).is_err(), "a worker group of {placement}");
        }
        assert_eq!(cpus(&info, &Placement::Free, (1, false), &topology), Ok(Cpus::Any));
        for placement in [Placement::Pinned, Placement::Remote] {
            let site = topology.site(None, None).expect("a CPU");
            assert_eq!(cpus(&info, &placement, (1, false), &topology), Ok(Cpus::OneOf(site)), "{placement}");
            assert_eq!(cpus(&info, &placement, (2, true), &topology), Ok(Cpus::Any), "{placement}");
        }
        for n in [1, 2, 5] {
            let each = |placement| cpus(&info, &placement, (n, n > 1), &topology);
            assert_eq!(each(Placement::Compact), Ok(Cpus::Each(topology.compact(n as usize))));
            assert_eq!(each(Placement::Spread), Ok(Cpus::Each(topology.spread(n as usize))));
        }
        let list = |cpus: &[u32]| Placement::List(cpus.to_vec());
        let one = Info { placements: &[Placement::Pinned], ..Info::new("test.one") };
        assert_eq!(cpus(&one, &list(&usable[..1]), (1, false), &topology), Ok(Cpus::Each(vec![usable[0]])));
        let pair = [*usable.last().expect("a CPU"), usable[0]];
        assert_eq!(cpus(&info, &list(&pair), (1, false), &topology), Ok(Cpus::Each(pair.to_vec())));
        for (wrong, workers) in [(&pair[..1], 1), (&[0, 0, 0], 1), (&pair, 2)] {
            assert!(cpus(&info, &list(wrong), (workers, workers > 1), &topology).is_err(), "{wrong:?} for {workers}");
        }
        let mut request = RunRequest::new(Profile::Standard);
        request.placement = Some(list(&pair));
        assert_eq!(layouts(&info, &Params::default(), &request, &topology), [(list(&pair), 1, false)]);
    }

    /// Four CPUs on two nodes.
    #[test]
    fn compact_and_spread_groups_use_the_right_nodes() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join("sys/devices/system").join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write("cpu/online", "0-3\n");
        for (node, cpus) in [(0, "0-1\n"), (1, "2-3\n")] {
            write(&format!("node/node{node}/cpulist"), cpus);
        }
        let topology = Topology::from_tree(root.path(), &[0, 1, 2, 3]);
        let info = Info::new("test.group");
        let members = |placement: Placement, workers: u32| match cpus(&info, &placement, (workers, true), &topology) {
            Ok(Cpus::Each(cpus)) => cpus,
            other => panic!("{placement}: {other:?}"),
        };
        let nodes = |cpus: Vec<u32>| cpus.iter().map(|cpu| cpu / 2).collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!((nodes(members(Placement::Compact, 2)), nodes(members(Placement::Spread, 2))), (1, 2));
        let mut on_one = members(Placement::On(OneCpu { class: None, node: Some(1) }), 4);
        on_one.sort_unstable();
        assert_eq!(on_one, [2, 2, 3, 3]);
    }

    /// Four CPUs on two nodes; `has_memory` lists the nodes with memory.
    fn two_nodes(has_memory: &str) -> Topology {
        let root = tempfile::tempdir().expect("a directory");
        let system = root.path().join("sys/devices/system");
        for (path, text) in [
            ("cpu/online", "0-3"),
            ("node/node0/cpulist", "0-1"),
            ("node/node1/cpulist", "2-3"),
            ("node/has_memory", has_memory),
        ] {
            let path = system.join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        Topology::from_tree(root.path(), &[0, 1, 2, 3])
    }

    #[test]
    fn a_node_pair_selects_the_cpus_of_one_node_and_the_memory_of_another() {
        let (both, one) = (two_nodes("0-1"), two_nodes("1"));
        let info = Info { placements: &[Placement::EveryNodePair], ..Info::new("test.nodes") };
        let on = |topology: &Topology, cpu, memory| match cpus(
            &info,
            &Placement::Nodes { cpu, memory },
            (1, false),
            topology,
        ) {
            Ok(Cpus::OneOf(site)) => Ok(site.cpus),
            Ok(other) => panic!("{other}"),
            Err(why) => Err(why),
        };
        assert_eq!(
            (on(&both, 0, 1), on(&both, 1, 0), on(&both, 0, 0)),
            (Ok(vec![0, 1]), Ok(vec![2, 3]), Ok(vec![0, 1]))
        );
        assert_eq!(on(&both, 0, 7), Err("node 7 has no memory".to_owned()));
        assert_eq!((on(&one, 0, 1), on(&one, 1, 1)), (Ok(vec![0, 1]), Err("one NUMA node".to_owned())));
        let pair = |cpu, memory| Placement::Nodes { cpu, memory };
        let all = [pair(0, 0), pair(0, 1), pair(1, 0), pair(1, 1)];
        assert_eq!(expand(Placement::EveryNodePair, false, &both), all);
        assert_eq!(expand(Placement::EveryNodePair, false, &one), [pair(0, 1), pair(1, 1)]);
        assert_eq!(expand(Placement::Free, false, &both), [Placement::Free]);
        // A machine without nodes keeps one point, with its reason.
        let none = Topology::from_tree(std::path::Path::new("/nowhere"), &[0]);
        assert_eq!(expand(Placement::EveryNodePair, false, &none), [pair(0, 0)]);
    }

    #[test]
    fn a_single_task_names_its_node_only_if_there_are_several() {
        let both = two_nodes("0-1");
        let on = |node| OneCpu { class: None, node };
        assert_eq!(on_one_cpu(&OneCpu::default(), &both), Placement::On(on(Some(0))));
        assert_eq!(on_one_cpu(&on(Some(1)), &both), Placement::On(on(Some(1))));
        assert_eq!(on_one_cpu(&on(Some(9)), &both), Placement::On(on(Some(9))), "kept for its reason");
        let none = Topology::from_tree(std::path::Path::new("/nowhere"), &[0]);
        assert_eq!(on_one_cpu(&OneCpu::default(), &none), Placement::Pinned);
        assert!(on_other_classes(&both).is_empty());
    }

    #[test]
    fn cpus_as_text() {
        let site = |cpus: &[u32]| Site { class: None, node: None, cpus: cpus.to_vec(), without_cpu0: false };
        assert_eq!(Cpus::Any.to_string(), "any CPU");
        assert_eq!([Cpus::Each(vec![4]), Cpus::Each(vec![0, 4])].map(|cpus| cpus.to_string()), ["CPU 4", "CPUs 0,4"]);
        assert_eq!(Cpus::OneOf(site(&[3])).to_string(), "CPU 3");
        assert_eq!(Cpus::OneOf(site(&[1, 2, 3])).to_string(), "one of CPUs 1-3");
    }

    /// The first class is the default.
    #[test]
    fn every_class_of_core_but_the_first_is_another_placement() {
        let root = tempfile::tempdir().expect("a directory");
        let files = [("system/cpu/online", "0-3"), ("cpu_core/cpus", "0-1"), ("cpu_atom/cpus", "2-3")];
        for (path, text) in files {
            let path = root.path().join("sys/devices").join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        let on = |class: &str| Placement::On(OneCpu { class: Some(class.to_owned()), node: None });
        let other = |allowed: &[u32]| on_other_classes(&Topology::from_tree(root.path(), allowed));
        assert_eq!(other(&[0, 1, 2, 3]), [on("efficiency")]);
        assert_eq!(other(&[2, 3]), []);
        let all = Topology::from_tree(root.path(), &[0, 1, 2, 3]);
        assert_eq!(on_one_cpu(&OneCpu::default(), &all), on("performance"));
    }
}
