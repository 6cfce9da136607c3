//! The control groups of this process, of version 1, version 2 or both, and the limits that they
//! set.
//!
//! A limit of any ancestor applies as well, so every limit here is the tightest up to the mount.

use super::mounts::{self, Mount};
use super::{Book, Tree, binary, field};
use std::path::{Path, PathBuf};

/// The directories in which one controller is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Whether this is the unified hierarchy of version 2.
    pub(super) unified: bool,
    /// The directories of the group and its ancestors, up to the mount point, nearest first.
    pub(super) dirs: Vec<String>,
}

pub(super) fn cgroup(book: &mut Book) {
    let (membership, mounts) = read(&book.tree);
    let mounted = |kind: &str| mounts.iter().any(|mount| mount.kind == kind);
    let version = match (mounted("cgroup"), mounted("cgroup2")) {
        (false, false) => return,
        (true, false) => "1",
        (false, true) => "2",
        (true, true) => "1 and 2",
    };
    book.say("cgroup.version", version);
    let group = |controller: &str| group_of(&membership, &mounts, controller);
    if let Some(group) = group("cpu") {
        book.say_if("cgroup.cpu.max", tightest_quota(&book.tree, &group).map(|quota| quota.to_string()));
        let weight = if group.unified { "cpu.weight" } else { "cpu.shares" };
        book.say_if(
            format!("cgroup.{weight}"),
            group.dirs.first().and_then(|dir| book.tree.text(&format!("{dir}/{weight}"))),
        );
    }
    if let Some(group) = group("memory") {
        let file = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
        book.say_if("cgroup.memory.max", tightest(&book.tree, &group, file).map(|limit| or_max(limit, binary)));
    }
    if let Some(group) = group("pids") {
        book.say_if(
            "cgroup.pids.max",
            tightest(&book.tree, &group, "pids.max").map(|limit| or_max(limit, |n| n.to_string())),
        );
    }
    if let Some(group) = group("cpuset") {
        let effective = group.dirs.iter().find_map(|dir| {
            ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"]
                .iter()
                .find_map(|file| book.tree.text(&format!("{dir}/{file}")))
        });
        book.say_if("cgroup.cpuset", effective);
    }
}

/// The CPUs' worth of time that the tightest quota of this process's group and its ancestors
/// leaves; `None` without one.
pub(super) fn quota(tree: &Tree) -> Option<f64> {
    let (membership, mounts) = read(tree);
    let group = group_of(&membership, &mounts, "cpu")?;
    tightest_quota(tree, &group).map(Quota::cpus).filter(|cpus| cpus.is_finite())
}

/// Where a group is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Its directory.
    pub path: PathBuf,
    /// Those of the groups above it, up to the mount.
    pub above: Vec<PathBuf>,
    /// Whether this is the unified hierarchy of version 2.
    pub unified: bool,
}

/// The directory of this process's group: see [`super::group_directory`].
pub(super) fn directory(tree: &Tree, controller: Option<&str>) -> Option<Directory> {
    let (membership, mounts) = read(tree);
    // No hierarchy of version 1 has a controller without a name.
    let group = group_of(&membership, &mounts, controller.unwrap_or("(none)"))?;
    let mut dirs = group.dirs.iter().map(PathBuf::from);
    Some(Directory { path: dirs.next()?, above: dirs.collect(), unified: group.unified })
}

/// How often a CPU quota stopped this process's group or one above it.
pub(super) fn times_throttled(tree: &Tree) -> Option<u64> {
    let (membership, mounts) = read(tree);
    let group = group_of(&membership, &mounts, "cpu")?;
    let counts = group
        .dirs
        .iter()
        .filter_map(|dir| field(&tree.text(&format!("{dir}/cpu.stat"))?, "nr_throttled")?.parse::<u64>().ok());
    counts.reduce(u64::saturating_add)
}

/// What the CPU quotas of this process's control groups allow and have cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuAccount {
    /// The CPUs' worth of time that the tightest quota leaves; `None` without one.
    pub cpus: Option<f64>,
    /// Nanoseconds, of all CPUs together, in which quotas held back tasks that wanted to run;
    /// `None` where it is not counted.
    pub held_back_ns: Option<u64>,
}

/// The account of this process's group and its ancestors.
///
/// `cpu.stat` of a group counts what its own quota cost, so the counts of all levels are added.
/// `cpu.stat.local` counts for this group what all quotas cost, those above the mount of a
/// container among them, but only newer kernels have it.
pub(super) fn cpu_account(tree: &Tree) -> CpuAccount {
    let (membership, mounts) = read(tree);
    let Some(group) = group_of(&membership, &mounts, "cpu") else { return CpuAccount::default() };
    let (key, unit_ns) = if group.unified { ("throttled_usec", 1000) } else { ("throttled_time", 1) };
    let held_back = |dir: &String, file: &str| {
        let count: u64 = field(&tree.text(&format!("{dir}/{file}"))?, key)?.parse().ok()?;
        Some(count.saturating_mul(unit_ns))
    };
    let own = group.dirs.iter().filter_map(|dir| held_back(dir, "cpu.stat")).reduce(u64::saturating_add);
    let of_all = group.dirs.first().and_then(|dir| held_back(dir, "cpu.stat.local"));
    CpuAccount {
        cpus: tightest_quota(tree, &group).map(Quota::cpus).filter(|cpus| cpus.is_finite()),
        held_back_ns: own.max(of_all),
    }
}

/// How many tasks of this process's memory group the kernel has killed for its limit; without a
/// group, how many tasks it has killed because the machine had no more memory.
pub(super) fn killed_for_memory(tree: &Tree) -> Option<u64> {
    let count = |file: String| field(&tree.text(&file)?, "oom_kill")?.parse::<u64>().ok();
    let (membership, mounts) = read(tree);
    let in_group = group_of(&membership, &mounts, "memory").and_then(|group| {
        let file = if group.unified { "memory.events" } else { "memory.oom_control" };
        group.dirs.iter().find_map(|dir| count(format!("{dir}/{file}")))
    });
    in_group.or_else(|| count("proc/vmstat".to_owned()))
}

/// The limit on tasks that leaves the fewest: how many, its file, and the limit. `None` without
/// one.
pub(super) fn tasks_left(tree: &Tree) -> Option<Left> {
    let (membership, mounts) = read(tree);
    let group = group_of(&membership, &mounts, "pids")?;
    let left = |dir: &String| {
        let file = format!("{dir}/pids.max");
        let limit = parse_limit(&tree.text(&file)?).filter(|limit| *limit < u64::MAX)?;
        let used = tree.text(&format!("{dir}/pids.current"))?.parse::<u64>().ok()?;
        Some(Left { bytes: limit.saturating_sub(used), file, limit })
    };
    group.dirs.iter().filter_map(left).min_by_key(|left| left.bytes)
}

/// What a group's limit leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    /// Bytes that can still be allocated, including file pages that the kernel evicts first; of a
    /// limit on tasks, tasks.
    pub(super) bytes: u64,
    /// The file that sets the limit, and the limit.
    pub(super) file: String,
    pub(super) limit: u64,
}

/// What the tightest memory limit of this process's group and its ancestors leaves; `None` without
/// one.
///
/// `memory.high` counts as a limit: beyond it a group is throttled until it is back below.
pub(super) fn memory_left(tree: &Tree) -> Option<Left> {
    let (membership, mounts) = read(tree);
    let group = group_of(&membership, &mounts, "memory")?;
    let (limits, used, reclaimable): (&[&str], _, _) = if group.unified {
        (&["memory.max", "memory.high"], "memory.current", "inactive_file")
    } else {
        (&["memory.limit_in_bytes"], "memory.usage_in_bytes", "total_inactive_file")
    };
    let left = |dir: &String| {
        let of_file = |name: &&str| {
            let file = format!("{dir}/{name}");
            let limit = parse_limit(&tree.text(&file)?).filter(|l| *l < u64::MAX)?;
            Some((limit, file))
        };
        let (limit, file) = limits.iter().filter_map(of_file).min()?;
        let used = tree.text(&format!("{dir}/{used}"))?.parse::<u64>().ok()?;
        let stat = tree.text(&format!("{dir}/memory.stat")).unwrap_or_default();
        let given_up = field(&stat, reclaimable).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        Some(Left { bytes: limit.saturating_sub(used.saturating_sub(given_up)), file, limit })
    };
    group.dirs.iter().filter_map(left).min_by_key(|left| left.bytes)
}

fn read(tree: &Tree) -> (String, Vec<Mount>) {
    let text = |path: &str| tree.text(path).unwrap_or_default();
    (text("proc/self/cgroup"), mounts::parse(&text("proc/self/mountinfo")))
}

/// Where to read a controller: in the version 1 hierarchy that has it, otherwise in the unified
/// one.
///
/// `membership` is `/proc/self/cgroup`: lines `4:memory:/path` for version 1 and `0::/path` for
/// version 2.
pub(super) fn group_of(membership: &str, mounts: &[Mount], controller: &str) -> Option<Group> {
    let lines = || {
        membership.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            Some((parts.next()?, parts.next()?, parts.next()?))
        })
    };
    let has = |list: &str| list.split(',').any(|name| name == controller);
    let mount =
        |kind: &str, fits: &dyn Fn(&Mount) -> bool| mounts.iter().find(|mount| mount.kind == kind && fits(mount));
    let old = lines()
        .find(|(_, controllers, _)| has(controllers))
        .and_then(|(_, _, path)| Some((false, mount("cgroup", &|mount| has(&mount.super_options))?, path)));
    let new = || {
        let (_, _, path) = lines().find(|(hierarchy, controllers, _)| *hierarchy == "0" && controllers.is_empty())?;
        Some((true, mount("cgroup2", &|_| true)?, path))
    };
    let (unified, mount, path) = old.or_else(new)?;
    // In a container the mount may show a part of the hierarchy, and the path may start above that
    // part.
    let inner = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let dirs = inner.ancestors().map(|part| {
        let dir = Path::new(&mount.point).join(part);
        dir.to_string_lossy().trim_end_matches('/').to_owned()
    });
    Some(Group { unified, dirs: dirs.collect() })
}

/// A CPU quota: microseconds of CPU time per period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quota {
    /// None is set.
    Max,
    /// Microseconds of CPU time, and of the period.
    Limited(u64, u64),
}

impl Quota {
    /// In CPUs.
    fn cpus(self) -> f64 {
        match self {
            Quota::Max => f64::INFINITY,
            Quota::Limited(quota, period) => quota as f64 / period as f64,
        }
    }

    /// From `max 100000` or `50000 100000`; version 1 has the two in two files, and -1 for no
    /// limit.
    pub(super) fn parse(text: &str) -> Option<Quota> {
        let (quota, period) = text.split_once(' ')?;
        if quota == "max" || quota.starts_with('-') {
            return Some(Quota::Max);
        }
        let period = period.trim().parse().ok().filter(|&period: &u64| period > 0)?;
        Some(Quota::Limited(quota.parse().ok()?, period))
    }
}

impl std::fmt::Display for Quota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Quota::Max => f.write_str("max"),
            Quota::Limited(quota, period) => write!(f, "{} CPUs ({quota} of {period} us)", self.cpus()),
        }
    }
}

fn tightest_quota(tree: &Tree, group: &Group) -> Option<Quota> {
    let quotas = group.dirs.iter().filter_map(|dir| {
        let file = |name: &str| tree.text(&format!("{dir}/{name}"));
        if group.unified {
            Quota::parse(&file("cpu.max")?)
        } else {
            Quota::parse(&format!("{} {}", file("cpu.cfs_quota_us")?, file("cpu.cfs_period_us")?))
        }
    });
    quotas.min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
}

/// The smallest limit in the files of that name; `u64::MAX` when they set none, `None` when there
/// are none.
fn tightest(tree: &Tree, group: &Group, file: &str) -> Option<u64> {
    group.dirs.iter().filter_map(|dir| parse_limit(&tree.text(&format!("{dir}/{file}"))?)).min()
}

/// A limit: `max`, or a number; version 1 writes the largest page-aligned number for no memory
/// limit.
pub(super) fn parse_limit(text: &str) -> Option<u64> {
    /// 2^63 less the largest page (64 KiB) or so: no machine has this much memory.
    const NO_LIMIT: u64 = i64::MAX as u64 - (1 << 20);
    match text {
        "max" => Some(u64::MAX),
        _ => text.parse().ok().map(|limit| if limit >= NO_LIMIT { u64::MAX } else { limit }),
    }
}

fn or_max(limit: u64, write: impl Fn(u64) -> String) -> String {
    if limit == u64::MAX { "max".to_owned() } else { write(limit) }
}
