//! What a run is told about itself: its id, its build, its owner, its place for files.

use groma_harness::model::{Fact, Machine};
use groma_harness::sys::{facts, process};
use std::path::PathBuf;

/// How this program was built: target, profile, static or dynamic, compiler.
pub(crate) fn build() -> String {
    let linkage = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{} {profile} {linkage} {}", env!("GROMA_TARGET"), env!("GROMA_RUSTC"))
}

/// The machine's facts as the records hold them.
pub(crate) fn machine() -> Machine {
    Machine { facts: facts::facts().into_iter().map(|(key, value)| Fact { key, value }).collect() }
}

/// A random seed from the system, or from clock and process id where there is none.
pub(crate) fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds its hash maps from the system's randomness: the one source that needs no crate.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// A run's id: its start in UTC and a random tail, so that ids sort by time and differ between runs of one second.
pub(crate) fn run_id(now: jiff::Timestamp, tail: u64) -> String {
    format!("{}-{:04x}", now.strftime("%Y%m%dT%H%M%SZ"), tail & 0xffff)
}

/// Who writes a run: enough to tell later whether it still lives. `PID START BOOT`.
pub(crate) fn owner() -> String {
    let pid = process::id();
    format!("{pid} {} {}", start_time(pid).unwrap_or_default(), boot_id())
}

/// Whether the process that an owner's text names still runs.
pub(crate) fn is_alive(owner: &str) -> bool {
    let mut parts = owner.split(' ');
    let (pid, start, boot) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let Ok(pid) = pid.parse::<i32>() else { return false };
    if boot != boot_id() {
        return false;
    }
    match start_time(pid) {
        Some(seen) => seen == start,
        // Without /proc only the id can be asked for.
        None => start.is_empty() && process::exists(pid),
    }
}

/// The start of a process in clock ticks since boot: field 22 of its stat line, counted after the name in parentheses.
fn start_time(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_ascii_whitespace().nth(19).map(str::to_owned)
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|s| s.trim().to_owned()).unwrap_or_default()
}

/// Where the store is unless somebody says otherwise; `None` without a home.
pub(crate) fn default_store() -> Option<PathBuf> {
    let absolute = |var: &str| std::env::var_os(var).map(PathBuf::from).filter(|p| p.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("groma").join("groma.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_a_changed_one_does_not() {
        let owner = owner();
        assert!(is_alive(&owner));
        let mut parts: Vec<&str> = owner.split(' ').collect();
        assert_eq!(parts.len(), 3);
        parts[1] = "1";
        assert!(!is_alive(&parts.join(" ")));
        assert!(!is_alive(""));
    }

    #[test]
    fn ids_sort_by_time() {
        let early = jiff::Timestamp::from_second(1_795_000_000).expect("a time");
        let late = jiff::Timestamp::from_second(1_795_000_001).expect("a time");
        assert!(run_id(early, 0xffff) < run_id(late, 0));
        assert_eq!(run_id(early, 0x1a).len(), "20261118T130640Z-001a".len());
    }
}
