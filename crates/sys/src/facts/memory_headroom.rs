//! How much memory this process can still allocate, and which limit applies: the least of what the
//! machine has available, what the control groups allow, and what the limits of this process allow.
//!
//! It is not probed by allocating: a program that touches memory until something happens ends with
//! the out-of-memory killer, as lmbench3's `memsize` shows
//! (`docs/methods/memory.md#available-memory`).

use super::memory::meminfo_bytes;
use super::{Tree, binary, cgroup, counters, field};
use crate::process::soft_limit;
use rustix::process::Resource;
use std::path::Path;

/// Memory that can be allocated, and the limit beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// The limit in words: `the memory available`, `RLIMIT_AS of 1 GiB`,
    /// `/sys/fs/cgroup/a/memory.max of 256 MiB`.
    pub limit: String,
}

/// The headroom of this process now; `None` where no limit is known.
pub fn memory_headroom() -> Option<Room> {
    let tree = Tree::at(Path::new("/"));
    let limits = room_in(&tree, soft_limit(Resource::As), soft_limit(Resource::Data));
    let unused = if tree.text("proc/meminfo").is_none() { unused_memory() } else { None };
    limits.into_iter().chain(unused).min_by_key(|room| room.bytes)
}

/// From `sysinfo`, where `/proc` is not mounted. It leaves out the page cache that could be
/// evicted, so it is less than `MemAvailable` of `/proc/meminfo`.
fn unused_memory() -> Option<Room> {
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit).max(1);
    let bytes = (info.freeram as u64).saturating_add(info.bufferram as u64).saturating_mul(unit);
    (info.totalram > 0).then(|| Room { bytes, limit: "the free memory".to_owned() })
}

/// How much can still be written to files on the file system of this directory: its free space, or
/// `RLIMIT_FSIZE` where a single file must be shorter. `None` where the file system does not count
/// space.
pub fn file_room(dir: &Path) -> Option<Room> {
    free_space(dir).into_iter().chain(longest_file()).min_by_key(|room| room.bytes)
}

/// The free space of the file system of this directory; `None` where it does not count space.
pub fn free_space(dir: &Path) -> Option<Room> {
    let stat = rustix::fs::statvfs(dir).ok().filter(|stat| stat.f_blocks > 0)?;
    let bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    Some(Room { bytes, limit: "the file system of the work directory".to_owned() })
}

/// How long a file may become: `RLIMIT_FSIZE`; `None` without a limit.
pub fn longest_file() -> Option<Room> {
    let bytes = soft_limit(Resource::Fsize)?;
    Some(Room { bytes, limit: format!("RLIMIT_FSIZE of {}", binary(bytes)) })
}

pub(super) fn room_in(tree: &Tree, most_addresses: Option<u64>, most_data: Option<u64>) -> Option<Room> {
    let available = || {
        let bytes = meminfo_bytes(&tree.text("proc/meminfo")?, "MemAvailable")?;
        Some(Room { bytes, limit: "the memory available".to_owned() })
    };
    let group = || {
        let left = cgroup::memory_left(tree)?;
        Some(Room { bytes: left.bytes, limit: format!("{} of {}", left.file, binary(left.limit)) })
    };
    // The used part of a limit of the process; without /proc all of it counts as free.
    let own = |name: &str, limit: Option<u64>, used: &str| {
        let limit = limit?;
        let status = tree.text("proc/self/status").unwrap_or_default();
        let used = meminfo_bytes(&status, used).unwrap_or(0);
        Some(Room { bytes: limit.saturating_sub(used), limit: format!("{name} of {}", binary(limit)) })
    };
    let limits =
        [available(), group(), own("RLIMIT_AS", most_addresses, "VmSize"), own("RLIMIT_DATA", most_data, "VmData")];
    limits.into_iter().flatten().min_by_key(|limit| limit.bytes)
}

/// The memory that the kernel manages, in bytes.
pub fn total_memory() -> Option<u64> {
    meminfo_bytes(&Tree::at(Path::new("/")).text("proc/meminfo")?, "MemTotal")
}

/// Signs that the whole machine was short of memory so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPressure {
    counts: Vec<(&'static str, u64)>,
}

impl MemoryPressure {
    /// The increase since an earlier reading: pages swapped in and out, and microseconds in which
    /// at least one task waited for memory.
    pub fn since(&self, before: &MemoryPressure) -> Vec<(&'static str, u64)> {
        let added = |(key, now): &(&'static str, u64)| {
            let then = before.counts.iter().find(|(k, _)| k == key)?.1;
            Some((*key, now.saturating_sub(then)))
        };
        self.counts.iter().filter_map(added).collect()
    }
}

/// Reads it now, without what the kernel does not count.
pub fn memory_pressure() -> MemoryPressure {
    pressure_in(&Tree::at(Path::new("/")))
}

pub(super) fn pressure_in(tree: &Tree) -> MemoryPressure {
    let vmstat = tree.text("proc/vmstat").unwrap_or_default();
    let pressure = tree.text("proc/pressure/memory").unwrap_or_default();
    let counts = [
        ("swapped_in_pages", field(&vmstat, "pswpin")),
        ("swapped_out_pages", field(&vmstat, "pswpout")),
        ("stalled_us", counters::psi(&pressure, "total")),
    ];
    MemoryPressure { counts: counts.into_iter().filter_map(|(key, text)| Some((key, text?.parse().ok()?))).collect() }
}
