//! Where a task that needs one CPU runs: one class of core, one NUMA node, and the CPUs there that
//! a round may get. The rule is in this file; docs/methods/timing.md#cpu-of-a-single-task has its
//! reasons.

use super::{Cpu, Topology};
use crate::cpu_list::format_cpus;
use std::fmt;

/// One class of core on one NUMA node, and the CPUs of a single task there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The class; `None` where the machine has one.
    pub class: Option<String>,
    /// The node; `None` where one node has all CPUs.
    pub node: Option<u32>,
    /// The CPUs, one of which each round gets.
    pub cpus: Vec<u32>,
    /// CPU 0 would be one of them, but serves the interrupts of devices: its core is left out.
    pub without_cpu0: bool,
}

impl fmt::Display for Site {
    /// `CPUs 1-7 (class performance, node 0; without the core of CPU 0, which serves interrupts)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = if self.cpus.len() == 1 { "CPU" } else { "CPUs" };
        write!(f, "{one} {}", format_cpus(&self.cpus))?;
        let class = self.class.as_ref().map(|class| format!("class {class}"));
        let of: Vec<String> = class.into_iter().chain(self.node.map(|node| format!("node {node}"))).collect();
        let without = self.without_cpu0.then_some("without the core of CPU 0, which serves interrupts".to_owned());
        let of = if of.is_empty() { None } else { Some(of.join(", ")) };
        let all: Vec<String> = of.into_iter().chain(without).collect();
        if all.is_empty() { Ok(()) } else { write!(f, " ({})", all.join("; ")) }
    }
}

impl Topology {
    /// The names of the classes of core of this machine, the most capable first; empty where all
    /// cores are of one kind.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The classes with a usable CPU, the most capable first.
    pub fn usable_classes(&self) -> Vec<&str> {
        let used = |(class, _): &(u32, &String)| self.online().any(|cpu| cpu.class == *class);
        (0..).zip(&self.classes).filter(used).map(|(_, name)| name.as_str()).collect()
    }

    /// Where a single task runs: on the named class and node; by default on the most capable class,
    /// on the first node that has memory and CPUs of that class.
    ///
    /// # Errors
    /// Names the class or the node that is missing, and those that exist.
    pub fn site(&self, class: Option<&str>, node: Option<u32>) -> Result<Site, String> {
        let class = match class {
            Some(name) => Some(self.class_called(name)?),
            None => self.online().filter(|cpu| node.is_none() || cpu.node == node).map(|cpu| cpu.class).min(),
        };
        let of_class: Vec<&Cpu> = self.online().filter(|cpu| Some(cpu.class) == class).collect();
        let chosen = node.or_else(|| {
            let nodes = || of_class.iter().filter_map(|cpu| cpu.node);
            nodes().filter(|node| self.memory_nodes.contains(node)).min().or_else(|| nodes().min())
        });
        let mut cpus: Vec<&Cpu> = of_class.into_iter().filter(|cpu| chosen.is_none() || cpu.node == chosen).collect();
        let name = class.and_then(|class| self.classes.get(class as usize)).cloned();
        if cpus.is_empty() {
            let of_class = name.map(|name| format!(" of class {name}")).unwrap_or_default();
            return Err(match node {
                Some(node) => format!("no CPU{of_class} on node {node} is allowed and online"),
                None => format!("no CPU{of_class} is allowed and online"),
            });
        }
        // A curve over sizes must not change its cache from round to round.
        let size = self.last_cache(cpus[0]);
        cpus.retain(|cpu| self.last_cache(cpu) == size);
        let quiet = self.without_interrupted_core(&cpus);
        let without_cpu0 = quiet.is_some();
        let cpus = quiet.unwrap_or(cpus).iter().map(|cpu| cpu.id).collect();
        let node = chosen.filter(|_| self.nodes_with_cpus > 1);
        Ok(Site { class: name, node, cpus, without_cpu0 })
    }

    /// The size of the last-level cache of a CPU.
    fn last_cache(&self, cpu: &Cpu) -> Option<u64> {
        self.caches.iter().filter(|cache| cache.shared.contains(&cpu.id)).max_by_key(|cache| cache.level)?.size
    }

    /// The CPUs that do not share a core with CPU 0, where that is among them and has served more
    /// than twice its share of the interrupts that they have, and two or more are left: one would
    /// have all rounds.
    fn without_interrupted_core<'c>(&self, cpus: &[&'c Cpu]) -> Option<Vec<&'c Cpu>> {
        let served = |cpu: u32| u128::from(self.interrupts.get(&cpu).copied().unwrap_or(0));
        let all: u128 = cpus.iter().map(|cpu| served(cpu.id)).sum();
        let zero = cpus.iter().find(|cpu| cpu.id == 0)?;
        let rest: Vec<&Cpu> = cpus.iter().copied().filter(|cpu| cpu.core != zero.core).collect();
        (served(0) * cpus.len() as u128 > 2 * all && rest.len() > 1).then_some(rest)
    }

    fn class_called(&self, name: &str) -> Result<u32, String> {
        let found = (0..).zip(&self.classes).find(|(_, class)| *class == name).map(|(class, _)| class);
        found.ok_or_else(|| match self.classes.as_slice() {
            [] => format!("no class '{name}': all cores of this machine are of one kind"),
            all => format!("no class '{name}' (known: {})", all.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Relation;
    use super::*;

    /// A recorded machine with these lines, and CPUs 0 to 5 on two nodes.
    fn machine(lines: &str, allowed: &str) -> Topology {
        let text = format!(
            "proc/self/status\tCpus_allowed_list:\t{allowed}\nsys/devices/system/cpu/online\t0-5\n\
             sys/devices/system/node/node0/cpulist\t0-2\nsys/devices/system/node/node1/cpulist\t3-5\n{lines}"
        );
        Topology::recorded(&text.parse().expect("a recording"))
    }

    fn site(topology: &Topology) -> String {
        topology.site(None, None).expect("a site").to_string()
    }

    /// A line for each CPU of a file with a number.
    fn each(file: &str, numbers: [u32; 6]) -> String {
        let line = |(cpu, number): (usize, &u32)| format!("sys/devices/system/cpu/cpu{cpu}/{file}\t{number}\n");
        numbers.iter().enumerate().map(line).collect()
    }

    const MEMORY: &str = "sys/devices/system/node/has_memory\t";

    #[test]
    fn the_first_node_that_has_cpus_of_the_class_and_memory() {
        assert_eq!(site(&machine("", "0-5")), "CPUs 0-2 (node 0)");
        assert_eq!(site(&machine("", "2,4")), "CPU 2 (node 0)");
        // CPUs that the process may not use still count for the machine.
        assert_eq!(site(&machine("", "4-5")), "CPUs 4-5 (node 1)");
        assert_eq!(site(&machine(&format!("{MEMORY}1\n"), "0-5")), "CPUs 3-5 (node 1)");
        assert_eq!(site(&machine(&format!("{MEMORY}2\n"), "0-5")), "CPUs 0-2 (node 0)");
        let capable = each("cpu_capacity", [446, 446, 446, 446, 1024, 1024]);
        assert_eq!(site(&machine(&capable, "0-5")), "CPUs 4-5 (class performance, node 1)");
        assert_eq!(site(&machine(&capable, "0-3")), "CPUs 0-2 (class efficiency, node 0)");
        let on = |class, node| machine(&capable, "0-5").site(class, node).map(|site| site.to_string());
        assert_eq!(on(Some("efficiency"), Some(1)), Ok("CPU 3 (class efficiency, node 1)".to_owned()));
        assert_eq!(on(None, Some(0)), Ok("CPUs 0-2 (class efficiency, node 0)".to_owned()));
        assert_eq!(
            on(Some("performance"), Some(0)),
            Err("no CPU of class performance on node 0 is allowed and online".to_owned())
        );
    }

    #[test]
    fn one_class_and_one_node_are_not_named() {
        let text = "proc/self/status\tCpus_allowed_list:\t0-1\nsys/devices/system/node/node0/cpulist\t0-1\n\
                    sys/devices/system/node/node1/cpulist\t\n";
        let topology = Topology::recorded(&text.parse().expect("a recording"));
        assert_eq!(site(&topology), "CPUs 0-1");
        assert!(topology.classes().is_empty() && topology.usable_classes().is_empty());
        assert!(topology.site(Some("efficiency"), None).is_err() && topology.site(None, Some(1)).is_err());
    }

    #[test]
    fn a_class_begins_where_the_kernel_would_call_the_cores_unequal() {
        let names = |lines: String| machine(&lines, "0-5").classes().join(" ");
        assert_eq!(names(each("cpu_capacity", [1024, 446, 446, 446, 446, 871])), "performance mid efficiency");
        // 5 % and less is one kind, from one to the next lower.
        assert_eq!(names(each("cpu_capacity", [1024, 1000, 975, 950, 930, 910])), "");
        assert_eq!(names(each("cpu_capacity", [1024, 1024, 1024, 970, 970, 970])), "performance efficiency");
        // Favoured cores are no class, dense cores are.
        let clock = |khz| each("cpufreq/cpuinfo_max_freq", khz);
        assert_eq!(names(clock([5_881_000, 5_500_000, 5_250_000, 5_100_000, 4_900_000, 4_700_000])), "");
        assert_eq!(
            names(clock([5_100_000, 5_100_000, 3_300_000, 3_300_000, 3_300_000, 3_300_000])),
            "performance efficiency"
        );
        let pmus =
            "sys/devices/cpu_core/cpus\t0-1\nsys/devices/cpu_atom/cpus\t2-3\nsys/devices/cpu_lowpower/cpus\t4-5\n";
        assert_eq!(names(pmus.to_owned() + &clock([9, 1, 9, 1, 9, 1])), "performance efficiency low-power");
        assert_eq!(names("sys/devices/cpu_core/cpus\t0-5\n".to_owned()), "");
    }

    #[test]
    fn cpu_0_is_left_out_where_it_serves_more_than_twice_its_share() {
        let served = |counts: &str, allowed: &str| {
            let lines = format!("proc/interrupts\tCPU0 CPU1 CPU2 CPU3 CPU4 CPU5\nproc/interrupts\t9: {counts}\n");
            site(&machine(&lines, allowed))
        };
        let without = "CPUs 1-2 (node 0; without the core of CPU 0, which serves interrupts)";
        assert_eq!(served("201 99 0 0 0 0", "0-5"), without);
        assert_eq!(served("200 100 0 0 0 0", "0-5"), "CPUs 0-2 (node 0)");
        // Those of other nodes do not count, and other CPUs stay whatever they serve.
        assert_eq!(served("201 99 0 900 0 0", "0-5"), without);
        assert_eq!(served("0 900 0 0 0 0", "0-5"), "CPUs 0-2 (node 0)");
        // With two CPUs, every round would run on the other one.
        assert_eq!(served("900 0 0 0 0 0", "0-1"), "CPUs 0-1 (node 0)");
        assert_eq!(served("900 0 0 0 0 0", "0"), "CPU 0 (node 0)");
    }

    /// Four cores of two threads (CPU n and n + 4), with these lines.
    fn threads(lines: &str, allowed: &str) -> Topology {
        let core =
            |n: u32| format!("sys/devices/system/cpu/cpu{{{n},{}}}/topology/core_cpus_list\t{n},{}\n", n + 4, n + 4);
        let cores: String = (0..4).map(core).collect();
        let text = format!("proc/self/status\tCpus_allowed_list:\t{allowed}\n{cores}{lines}");
        Topology::recorded(&text.parse().expect("a recording"))
    }

    #[test]
    fn the_whole_core_of_cpu_0_is_left_out_for_pairs_as_well() {
        let lines = "proc/interrupts\tCPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\nproc/interrupts\t9: 9 0 0 0 0 0 0 0\n";
        let topology = threads(lines, "0-7");
        assert_eq!(site(&topology), "CPUs 1-3,5-7 (without the core of CPU 0, which serves interrupts)");
        assert_eq!(topology.pair(Relation::SameCpu), Ok((1, 1)));
        assert_eq!(topology.pair(Relation::Smt), Ok((1, 5)));
        assert_eq!(threads("", "0-7").pair(Relation::Smt), Ok((0, 4)));
        // Only CPU 1 would be left.
        assert_eq!(site(&threads(lines, "0-1,4")), "CPUs 0-1,4");
        assert_eq!(threads(lines, "0,4").pair(Relation::Smt), Ok((0, 4)));
    }

    #[test]
    fn the_cpus_of_a_site_have_equal_last_level_caches() {
        let cache = |cpus: &str, level: u32, size: &str, shared: &str| {
            let file = |name: &str, text: &str| {
                format!("sys/devices/system/cpu/cpu{{{cpus}}}/cache/index{level}/{name}\t{text}\n")
            };
            [file("level", &(level + 1).to_string()), file("size", size), file("shared_cpu_list", shared)].concat()
        };
        let of = |second: &str| {
            let first = cache("0-1,4-5", 0, "32K", "0-7") + &cache("2-3,6-7", 0, "32K", "0-7");
            let last = cache("0-1,4-5", 1, "98304K", "0-1,4-5") + &cache("2-3,6-7", 1, second, "2-3,6-7");
            site(&threads(&(first + &last), "0-7"))
        };
        assert_eq!(of("98304K"), "CPUs 0-7");
        assert_eq!(of("32768K"), "CPUs 0-1,4-5");
    }
}
