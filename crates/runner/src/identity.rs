//! The identity of a run: its id, its seed, the build of the program, the machine, the process that
//! writes it.

use groma_harness::Rng;
use groma_harness::model::{Fact, Machine};
use groma_harness::sys::{facts, process, random};
use jiff::Timestamp;
use std::time::SystemTime;

/// The first second of the year 0, and one of the last of the year 9999 (a day before its end, for
/// the local time of wherever it is read), in Unix time.
const FIRST_SECOND: i64 = -62_167_219_200;
const LAST_SECOND: i64 = 253_402_200_000;

/// How this program was built: target, profile, static or dynamic, version of the compiler.
pub fn build() -> String {
    let linkage = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{} {profile} {linkage} {}", env!("GROMA_TARGET"), env!("GROMA_RUSTC"))
}

/// The facts of this machine, as a run records them.
pub fn machine() -> Machine {
    Machine { facts: facts::facts().into_iter().map(|(key, value)| Fact { key, value }).collect() }
}

/// A random seed from the kernel or, if that fails, from clock and process id: a seed only has to
/// vary.
pub fn random_seed() -> u64 {
    random::bytes().map(u64::from_ne_bytes).unwrap_or_else(|_| {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        Rng::new(now ^ (process::id() as u64) << 32).next_u64()
    })
}

/// The current time, within the years that a date of four digits can tell.
pub fn now() -> Timestamp {
    moment(SystemTime::now())
}

/// A clock that is wrong by millennia has a wrong date, and nothing else is wrong with the run.
fn moment(time: SystemTime) -> Timestamp {
    let last = Timestamp::from_second(LAST_SECOND).unwrap_or(Timestamp::MAX);
    let first = Timestamp::from_second(FIRST_SECOND).unwrap_or(Timestamp::UNIX_EPOCH);
    let early = if time < SystemTime::UNIX_EPOCH { first } else { last };
    Timestamp::try_from(time).unwrap_or(early).clamp(first, last)
}

/// A run's id: its start in UTC and a random tail, so that ids sort by time and runs of the same
/// second differ.
pub fn run_id(now: Timestamp, tail: u64) -> String {
    format!("{}-{:04x}", now.strftime("%Y%m%dT%H%M%SZ"), tail & 0xffff)
}

/// This process as `PID START BOOT`: enough to tell later whether it still lives.
pub fn owner() -> String {
    let pid = process::id();
    format!("{pid} {} {}", start_time(pid).unwrap_or_default(), boot_id())
}

/// Whether the process described by [`owner`] still runs.
pub fn is_alive(owner: &str) -> bool {
    let mut parts = owner.split(' ');
    let (pid, start, boot) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let Ok(pid) = pid.parse::<i32>() else { return false };
    if boot != boot_id() {
        return false;
    }
    match start_time(pid) {
        Some(seen) => seen == start,
        // Without /proc only the id can be checked.
        None => start.is_empty() && process::exists(pid),
    }
}

/// The start of a process in clock ticks since boot: field 22 of its stat line, counted after the
/// name in parentheses.
fn start_time(pid: i32) -> Option<String> {
    start_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn start_in(stat: &str) -> Option<String> {
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_ascii_whitespace().nth(19).map(str::to_owned)
}

/// The id of this boot of the kernel.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|s| s.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ() {
        let seeds: std::collections::BTreeSet<u64> = (0..100).map(|_| random_seed()).collect();
        assert_eq!(seeds.len(), 100);
    }

    #[test]
    fn an_owner_is_identified_by_pid_start_and_boot() {
        let owner = owner();
        assert!(is_alive(&owner));
        let parts: Vec<&str> = owner.split(' ').collect();
        assert_eq!(parts.len(), 3);
        let other = |part: usize, value| {
            let mut parts = parts.clone();
            parts[part] = value;
            parts.join(" ")
        };
        assert!(!is_alive(&other(1, "1")));
        // After a reboot, another process may have the same pid and start time.
        assert!(!is_alive(&other(2, "00000000-0000-4000-8000-000000000000")));
        assert!(!is_alive(""));
    }

    #[test]
    fn the_start_time_is_found_after_any_name() {
        let fields: Vec<String> = (4..=52).map(|field| (100 * field).to_string()).collect();
        for name in ["sh", "a) S 1 (b", ""] {
            assert_eq!(start_in(&format!("12 ({name}) S {}\n", fields.join(" "))).as_deref(), Some("2200"), "{name}");
        }
        assert_eq!(start_in("12 (sh) S 1 2"), None);
    }

    #[test]
    fn ids_sort_by_time() {
        let early = jiff::Timestamp::from_second(1_795_000_000).expect("a time");
        let late = jiff::Timestamp::from_second(1_795_000_001).expect("a time");
        assert!(run_id(early, 0xffff) < run_id(late, 0));
        assert_eq!(run_id(early, 0x1a).len(), "20261118T130640Z-001a".len());
    }

    #[test]
    fn a_clock_of_any_year_has_a_date_of_four_digits() {
        use std::time::Duration;
        let year = |time: SystemTime| (moment(time).strftime("%Y").to_string(), run_id(moment(time), 0).len());
        let days = |days: u64| Duration::from_secs(days * 86400);
        let epoch = SystemTime::UNIX_EPOCH;
        for (time, expected) in [
            (epoch, "1970"),
            (epoch - Duration::from_nanos(1), "1969"),
            (epoch - days(719_000), "0001"),
            (epoch - days(800_000), "0000"),
            (epoch - days(1_000_000_000), "0000"),
            (epoch + days(2_932_000), "9997"),
            (epoch + days(2_940_000), "9999"),
            (epoch + days(1_000_000_000), "9999"),
        ] {
            assert_eq!(year(time), (expected.to_owned(), "20261118T130640Z-001a".len()), "{time:?}");
        }
    }

    #[test]
    fn an_id_is_the_start_in_utc_and_the_last_digits_of_the_tail() {
        let at = jiff::Timestamp::from_second(1_795_000_000).expect("a time");
        assert_eq!(run_id(at, 0x1a), "20261118T110640Z-001a");
        assert_eq!(run_id(at, 0x9_beef), "20261118T110640Z-beef");
        let built = build();
        assert!(
            built.contains(std::env::consts::ARCH) && built.contains(" debug ") == cfg!(debug_assertions),
            "{built}"
        );
    }

    #[test]
    fn a_process_that_has_ended_is_not_alive() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let pid = child.id() as i32;
        let owner = format!("{pid} {} {}", start_time(pid).unwrap_or_default(), boot_id());
        let other = format!("{} {} {}", process::id(), start_time(pid).unwrap_or_default(), boot_id());
        let alive = is_alive(&owner);
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert!(alive && !is_alive(&owner));
        assert!(
            start_time(process::id()).is_none() || start_time(process::id()) == start_time(pid) || !is_alive(&other)
        );
        assert!(!is_alive("x 1 2") && !is_alive("-1  "));
    }
}
