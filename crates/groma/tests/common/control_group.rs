//! A control group with one limit, for as long as a test takes.

use super::{Ended, Place, ended, wait_for};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Tests of one process have their groups at the same time.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A control group, removed when it is dropped.
pub(crate) struct ControlGroup {
    path: String,
    /// The file that holds its limit.
    pub(crate) limit_file: String,
}

impl ControlGroup {
    /// For so many tasks.
    pub(crate) fn of_tasks(most: u32) -> Option<ControlGroup> {
        let most = most.to_string();
        let at = |root: &str| (root.to_owned(), "pids.max", most.clone());
        ControlGroup::new("pids", [at("/sys/fs/cgroup/pids"), at("/sys/fs/cgroup")])
    }

    /// For a tenth of a CPU, before all others: at load 20 a group of the usual weight gets less
    /// than its quota, which then holds nothing back.
    pub(crate) fn of_a_tenth_of_a_cpu() -> Option<ControlGroup> {
        let at = |root: &str, file, quota: &str| (root.to_owned(), file, quota.to_owned());
        let v1 = at("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000");
        let group = ControlGroup::new("cpu", [v1, at("/sys/fs/cgroup", "cpu.max", "10000 100000")])?;
        let largest = [("cpu.shares", "262144"), ("cpu.weight", "10000")];
        let weighed =
            largest.iter().any(|(file, weight)| std::fs::write(format!("{}/{file}", group.path), weight).is_ok());
        assert!(weighed, "a group with a quota has a weight");
        Some(group)
    }

    /// For so many bytes, inside the group of this process, whose limits still apply.
    pub(crate) fn of_memory(most: u64) -> Option<ControlGroup> {
        let membership = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = |wanted: &str| {
            membership.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                (parts.next()? == wanted).then(|| parts.next().unwrap_or("/").trim_end_matches('/').to_owned())
            })
        };
        let at = |parent, file| (parent, file, most.to_string());
        let v1 = own("memory").map(|own| at(format!("/sys/fs/cgroup/memory{own}"), "memory.limit_in_bytes"));
        let v2 = own("").map(|own| at(format!("/sys/fs/cgroup{own}"), "memory.max"));
        ControlGroup::new("memory", v1.into_iter().chain(v2))
    }

    /// In the first of these directories that takes a group with this limit.
    fn new(kind: &str, places: impl IntoIterator<Item = (String, &'static str, String)>) -> Option<ControlGroup> {
        let mut why = "no control groups".to_owned();
        for (parent, file, limit) in places {
            let path = format!("{parent}/groma-test-{kind}-{}-{}", std::process::id(), MADE.fetch_add(1, Relaxed));
            if let Err(e) = std::fs::create_dir(&path) {
                why = format!("{path}: {e}");
                continue;
            }
            let limit_file = format!("{path}/{file}");
            let group = ControlGroup { path, limit_file };
            match std::fs::write(&group.limit_file, limit) {
                Ok(()) => return Some(group),
                Err(e) => why = format!("{}: {e}", group.limit_file),
            }
        }
        println!("skipped: no control group available: {why}");
        None
    }

    /// Runs the program in it.
    pub(crate) fn run(&self, place: &Place, args: &[&str]) -> Ended {
        let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.path);
        ended(place.wrapped(&["sh", "-c", &join, "sh"], args).output().expect("sh"))
    }

    /// The first number behind `prefix` in one of these files of the group.
    pub(crate) fn count(&self, files: &[&str], prefix: &str) -> Option<u64> {
        files.iter().find_map(|file| {
            let text = std::fs::read_to_string(format!("{}/{file}", self.path)).ok()?;
            text.lines().find_map(|line| line.strip_prefix(prefix)?.trim().parse().ok())
        })
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let removed = || std::fs::remove_dir(&self.path).ok();
        // What the program left behind, if anything, is what the test fails for.
        if std::thread::panicking() {
            removed();
        } else {
            wait_for("an empty control group", removed);
        }
    }
}
