//! The CPUs that this process may use, what they share, and the choice of CPUs for a placement.
//!
//! [`Topology::read`] asks sysfs about the CPUs that `sched_getaffinity` allows (which reflects a
//! cgroup cpuset). The result is *declared*: a hypervisor may declare anything, and only the memory
//! benchmarks measure. Nothing is pinned here, and nothing is guessed: where sysfs has no
//! information, every CPU is its own core, the caches are unknown, and [`Topology::notes`] says so.
//!
//! CPUs are numbers in sorted lists, without mask arithmetic, so no machine is too large. A group
//! of CPUs (a core, a die, a shared cache) is named by its lowest CPU, because kernel ids such as
//! `core_id` repeat in every package.

mod reading;
mod site;

pub use site::Site;

use crate::cpu_list::{format_cpus, parse_cpus};
use crate::interrupts;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// The relation of two CPUs: part of a metric's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// One CPU, twice.
    SameCpu,
    /// Two hardware threads of one core.
    Smt,
    /// Two cores that share a last-level cache, in one NUMA node where possible.
    SameLlc,
    /// Two last-level caches in one NUMA node.
    CrossLlc,
    /// Two NUMA nodes, in two packages where possible.
    CrossNode,
}

impl Relation {
    /// All relations, nearest first.
    pub const ALL: [Relation; 5] =
        [Relation::SameCpu, Relation::Smt, Relation::SameLlc, Relation::CrossLlc, Relation::CrossNode];

    /// The name of this relation as it appears in metrics: `same-cpu`, `smt`, `same-llc`,
    /// `cross-llc`, `cross-node`.
    pub fn name(self) -> &'static str {
        match self {
            Relation::SameCpu => "same-cpu",
            Relation::Smt => "smt",
            Relation::SameLlc => "same-llc",
            Relation::CrossLlc => "cross-llc",
            Relation::CrossNode => "cross-node",
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One CPU (hardware thread) that this process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub id: u32,
    /// The package (socket), as the kernel numbers it; 0 when it does not say.
    pub package: u32,
    /// The die, named by its lowest CPU; the lowest CPU of the package where the kernel knows no
    /// dies.
    pub die: u32,
    /// The core, named by its lowest CPU.
    pub core: u32,
    /// All online hardware threads of the core, this one included, allowed or not.
    pub siblings: Vec<u32>,
    /// The rank among the *allowed* threads of the core: 0 for the first.
    pub smt: u32,
    /// The group that shares the first-level data cache, named by its lowest CPU.
    pub l1: Option<u32>,
    /// The group that shares the second-level cache.
    pub l2: Option<u32>,
    /// The group that shares the last cache that is declared, whatever its level.
    pub llc: Option<u32>,
    /// The NUMA node.
    pub node: Option<u32>,
    /// The class of core on a hybrid machine, an index of [`Topology::classes`]: 0 for the most
    /// capable, and for all CPUs of any other machine.
    pub class: u32,
    /// Whether the kernel runs it now.
    pub online: bool,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// One cache as sysfs declares it. `None` is what sysfs does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Bytes.
    pub size: Option<u64>,
    /// Bytes of one line.
    pub line: Option<u32>,
    /// Associativity.
    pub ways: Option<u32>,
    /// All online CPUs that share it, allowed or not, sorted.
    pub shared: Vec<u32>,
}

/// The size of a cache line in bytes where none is declared.
pub const ASSUMED_LINE: usize = 64;

impl Cache {
    /// The usual short name: `l1d`, `l1i`, `l2`, `l3`.
    pub fn name(&self) -> String {
        let suffix = match self.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        format!("l{}{suffix}", self.level)
    }
}

/// The allowed CPUs and what they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    cpus: Vec<Cpu>,
    caches: Vec<Cache>,
    memory_nodes: Vec<u32>,
    /// The classes of core of the machine, allowed or not; empty where there is one.
    classes: Vec<String>,
    /// Those of the machine, allowed or not.
    nodes_with_cpus: usize,
    /// The interrupts of devices that each CPU has served; empty where they were not read.
    pub(crate) interrupts: BTreeMap<u32, u64>,
    /// Whether the system refuses to tie a task to a CPU.
    is_pinning_refused: bool,
    notes: Vec<String>,
}

impl Topology {
    /// The topology of this machine, limited to the CPUs that the calling thread may use.
    pub fn read() -> Topology {
        Topology::from_tree(Path::new("/"), &allowed_cpus())
    }

    /// As [`Topology::read`], with a look at the interrupts of each CPU: for a plan, once a run.
    /// The kernel takes milliseconds to print them where there are hundreds of CPUs.
    pub fn for_plan() -> Topology {
        let is_pinning_refused = crate::affinity::refused().is_some();
        Topology { is_pinning_refused, ..Topology::of_tree(&Tree::at(Path::new("/")), &allowed_cpus()) }
    }

    /// Whether the system refuses to tie a task to a CPU (a filter of system calls, or a kernel
    /// without the call).
    pub fn is_pinning_refused(&self) -> bool {
        self.is_pinning_refused
    }

    /// The same CPUs where the system refuses that, for tests.
    #[doc(hidden)]
    pub fn without_pinning(self) -> Topology {
        Topology { is_pinning_refused: true, ..self }
    }

    pub(crate) fn of_tree(tree: &Tree, allowed: &[u32]) -> Topology {
        Topology { interrupts: interrupts::of_devices(tree), ..reading::read_tree(tree, allowed) }
    }

    /// The topology that the `sys` directory below `root` declares for the `allowed` CPUs. Never
    /// fails: what is missing is unknown, and noted.
    pub fn from_tree(root: &Path, allowed: &[u32]) -> Topology {
        reading::read_tree(&Tree::at(root), allowed)
    }

    /// The allowed CPUs, by number.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The caches of the allowed CPUs, each once, nearest level first.
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The last-level caches of the allowed CPUs.
    pub fn last_caches(&self) -> Vec<&Cache> {
        let data = || self.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
        let last = data().map(|cache| cache.level).max();
        data().filter(|cache| Some(cache.level) == last).collect()
    }

    /// The declared size of a cache line in bytes.
    pub fn line(&self) -> Option<usize> {
        self.caches.iter().find_map(|cache| cache.line).map(|line| line as usize)
    }

    /// The declared size of the first-level data cache of a core, in bytes.
    pub fn first_cache(&self) -> Option<u64> {
        let first = |cache: &&Cache| cache.level == 1 && cache.kind != CacheKind::Instruction;
        self.caches.iter().find(first)?.size
    }

    /// The declared size of the largest private cache of a core, in bytes.
    pub fn private_cache(&self) -> Option<u64> {
        let private = self.caches.iter().filter(|cache| cache.level <= 2 && cache.kind != CacheKind::Instruction);
        private.filter_map(|cache| cache.size).max()
    }

    /// The NUMA nodes with memory, sorted, including those without CPUs. Empty where the kernel
    /// reports no nodes.
    pub fn memory_nodes(&self) -> &[u32] {
        &self.memory_nodes
    }

    /// The relation of two CPUs as the kernel declares it; `None` where it does not, or where one
    /// is not allowed.
    pub fn relation(&self, a: u32, b: u32) -> Option<Relation> {
        let find = |id: u32| self.cpus.iter().find(|cpu| cpu.id == id);
        let (first, second) = (find(a)?, find(b)?);
        if a == b {
            return Some(Relation::SameCpu);
        }
        // Nearest first. Two nodes that share a last-level cache count as `SameLlc`, the nearer
        // relation.
        Relation::ALL.into_iter().find(|relation| holds(*relation, first, second))
    }

    /// What could not be read and what was assumed instead, as sentences for the record.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The numbers of the CPUs that are allowed and online, sorted.
    pub fn usable(&self) -> Vec<u32> {
        self.online().map(|cpu| cpu.id).collect()
    }

    fn online(&self) -> impl Iterator<Item = &Cpu> + Clone {
        self.cpus.iter().filter(|cpu| cpu.online)
    }

    /// Two CPUs with this relation, or the reason why this process has none.
    ///
    /// Always the same pair on the same machine: equal cores if possible (the most capable first),
    /// off the core of CPU 0 where single tasks keep off it ([`Topology::site`]), and the lowest
    /// numbers. Two CPUs that share a last-level cache share nothing nearer if possible. One CPU is
    /// one of those that a single task gets.
    pub fn pair(&self, relation: Relation) -> Result<(u32, u32), String> {
        let site = self.site(None, None)?;
        if relation == Relation::SameCpu {
            return Ok((site.cpus[0], site.cpus[0]));
        }
        if self.online().count() == 1 {
            return Err("one CPU allowed".to_owned());
        }
        let best = self
            .online()
            .flat_map(|a| self.online().filter(|b| a.id < b.id).map(move |b| (a, b)))
            .filter(|(a, b)| holds(relation, a, b))
            .min_by_key(|(a, b)| {
                let interrupted = site.without_cpu0 && [a, b].iter().any(|cpu| cpu.siblings.contains(&0));
                (a.class != b.class, drawbacks(relation, a, b), a.class + b.class, interrupted, a.id, b.id)
            });
        match best {
            Some((a, b)) => Ok((a.id, b.id)),
            None => Err(self.why_no_pair(relation)),
        }
    }

    fn why_no_pair(&self, relation: Relation) -> String {
        let llc_known = self.online().any(|cpu| cpu.llc.is_some());
        match relation {
            // The caller has returned a pair before.
            Relation::SameCpu => "no CPU is allowed and online".to_owned(),
            Relation::Smt => match self.online().find(|cpu| cpu.siblings.len() > 1) {
                None => "no SMT here".to_owned(),
                Some(cpu) => {
                    format!("of the SMT siblings {} only CPU {} is allowed", format_cpus(&cpu.siblings), cpu.id)
                }
            },
            Relation::SameLlc | Relation::CrossLlc if !llc_known => "the last-level cache is unknown here".to_owned(),
            Relation::SameLlc => "no two allowed cores share a last-level cache".to_owned(),
            Relation::CrossLlc if self.online().filter_map(|cpu| cpu.llc).collect::<BTreeSet<_>>().len() == 1 => {
                "the allowed CPUs share one last-level cache".to_owned()
            }
            Relation::CrossLlc => {
                "the allowed CPUs of each NUMA node share one last-level cache: cross-node is that pair".to_owned()
            }
            Relation::CrossNode if self.online().all(|cpu| cpu.node.is_none()) => {
                "the NUMA nodes are unknown here".to_owned()
            }
            Relation::CrossNode => "the allowed CPUs are in one NUMA node".to_owned(),
        }
    }

    /// CPUs for a compact worker group of `n`: sibling threads first, then the next core with the
    /// same last-level cache, then the next cache. Wraps around after the last CPU. Empty only when
    /// no CPU is usable.
    pub fn compact(&self, n: usize) -> Vec<u32> {
        let mut order: Vec<&Cpu> = self.online().collect();
        order.sort_by_key(|cpu| (cpu.package, cpu.node, cpu.llc, cpu.class, cpu.l2, cpu.core, cpu.smt));
        order.iter().map(|cpu| cpu.id).cycle().take(n).collect()
    }

    /// CPUs for a spread worker group of `n`: in turn over the packages, within each over the NUMA
    /// nodes, the last-level caches and the cores; sibling threads only after every core has one.
    /// Wraps around after the last CPU. Empty only when no CPU is usable.
    pub fn spread(&self, n: usize) -> Vec<u32> {
        let levels: [fn(&Cpu) -> Option<u32>; 3] = [|cpu| Some(cpu.package), |cpu| cpu.node, |cpu| cpu.llc];
        let mut by_thread: BTreeMap<u32, Vec<&Cpu>> = BTreeMap::new();
        for cpu in self.online() {
            by_thread.entry(cpu.smt).or_default().push(cpu);
        }
        let mut order = Vec::with_capacity(self.cpus.len());
        for mut cpus in by_thread.into_values() {
            cpus.sort_by_key(|cpu| (cpu.class, cpu.core));
            order.extend(by_turns(&cpus, &levels));
        }
        order.into_iter().cycle().take(n).collect()
    }

    /// Whether every CPU of an explicit list can be used; the error names the first that cannot,
    /// and the usable ones.
    pub fn check(&self, list: &[u32]) -> Result<(), String> {
        if list.is_empty() {
            return Err("the CPU list is empty".to_owned());
        }
        let usable = self.usable();
        match list.iter().find(|cpu| usable.binary_search(cpu).is_err()) {
            None => Ok(()),
            Some(cpu) => Err(format!("CPU {cpu} is not allowed; allowed: {}", format_cpus(&usable))),
        }
    }
}

/// Whether two different CPUs have this relation.
fn holds(relation: Relation, a: &Cpu, b: &Cpu) -> bool {
    match relation {
        Relation::SameCpu => false,
        Relation::Smt => a.core == b.core,
        Relation::SameLlc => a.llc.is_some() && a.llc == b.llc && a.core != b.core,
        Relation::CrossLlc => a.llc.is_some() && b.llc.is_some() && a.llc != b.llc && a.node == b.node,
        Relation::CrossNode => a.node.is_some() && b.node.is_some() && a.node != b.node,
    }
}

/// The number of ways in which a pair is not the plainest example of its relation.
fn drawbacks(relation: Relation, a: &Cpu, b: &Cpu) -> u32 {
    let found = match relation {
        Relation::SameCpu | Relation::Smt => [false, false],
        Relation::SameLlc => [a.node != b.node, a.l2.is_some() && a.l2 == b.l2],
        Relation::CrossLlc => [a.package != b.package, false],
        Relation::CrossNode => [a.package == b.package, false],
    };
    found.into_iter().map(u32::from).sum()
}

/// The CPUs in turn over the groups of the first level, and inside each group over those of the
/// next.
fn by_turns(cpus: &[&Cpu], levels: &[fn(&Cpu) -> Option<u32>]) -> Vec<u32> {
    let Some((level, below)) = levels.split_first() else {
        return cpus.iter().map(|cpu| cpu.id).collect();
    };
    let mut groups: BTreeMap<Option<u32>, Vec<&Cpu>> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(level(cpu)).or_default().push(cpu);
    }
    let mut hands: Vec<_> = groups.values().map(|group| by_turns(group, below).into_iter()).collect();
    let mut dealt = Vec::with_capacity(cpus.len());
    while dealt.len() < cpus.len() {
        dealt.extend(hands.iter_mut().filter_map(Iterator::next));
    }
    dealt
}

/// The CPUs that the calling thread may use, sorted: from `sched_getaffinity`; where that fails,
/// from `/proc`; where that is missing, as many as the standard library counts.
pub fn allowed_cpus() -> Vec<u32> {
    let asked = crate::affinity::allowed().ok().filter(|cpus| !cpus.is_empty());
    asked.or_else(|| allowed_by_proc(&Tree::at(Path::new("/")))).unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, |count| count.get());
        (0..count).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
    })
}

fn allowed_by_proc(tree: &Tree) -> Option<Vec<u32>> {
    let status = tree.text("proc/thread-self/status").or_else(|| tree.text("proc/self/status"))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_cpus(list.trim()).ok().filter(|cpus| !cpus.is_empty())
}
