//! What kind of machine this is: the facts that are kept with every run.
//!
//! [`facts`] returns flat dotted keys (`kernel.release`, `cpu.governor`) with short values, in
//! groups. It is unprivileged, takes a few milliseconds, and never fails: a fact that this machine
//! does not have is absent, and one that it hides has the value `unreadable: ` with the system's
//! error. [`work_dir_facts`] does the same for a directory; [`host_counters`] are read before and
//! after a run.
//!
//! Everything here is declared by the kernel, not measured. It is also no inventory of the owner:
//! no serial numbers, no network or hardware addresses, no user names. In texts that others
//! composed, such as the kernel's command line, they are replaced by `(hidden)`.
//!
//! Everything is read from `/proc` and `/sys` and from a few harmless system calls. Where `/proc`
//! is not mounted (an initramfs, another operating system), there are fewer facts, and
//! `proc = missing` is one of them.

mod cgroup;
mod counters;
mod cpu;
mod cpu_names;
mod health;
mod launcher;
mod memory;
mod memory_headroom;
mod mounts;
mod process;
mod redact;
mod system;
#[cfg(test)]
mod tests;

pub use cgroup::{CpuAccount, Directory};
pub use counters::{HostChange, HostCounters, host_counters, steal_by_cpu};
pub use redact::{HIDDEN, hide_addresses};
pub use system::{is_emulated, user};

use crate::affinity;
use crate::process::soft_limit;
use crate::thread;
use crate::topology::{Topology, allowed_cpus};
use crate::tree::{self, Tree};
use rustix::process::Resource;
use std::fmt::Display;
use std::path::Path;

/// The facts of this machine and this process, grouped by the first part of their keys, in reading
/// order within a group.
pub fn facts() -> Vec<(String, String)> {
    facts_below(Path::new("/"), &allowed_cpus())
}

/// The facts of the directory that a benchmark works in: file system, mount options, device, free
/// space. Empty when the path does not exist.
pub fn work_dir_facts(path: &Path) -> Vec<(String, String)> {
    let mut book = Book::of(Path::new("/"));
    mounts::work_dir(&mut book, path);
    book.facts
}

/// The facts of this process that make its numbers too high: who traces it, and what was loaded
/// into it. Empty as a rule.
pub fn process_facts() -> Vec<(String, String)> {
    let mut book = Book::of(Path::new("/"));
    process::process(&mut book, &|name| std::env::var(name).ok());
    book.facts
}

/// [`facts`] of a machine whose root directory is elsewhere, for tests on recorded trees.
#[doc(hidden)]
pub fn facts_below(root: &Path, allowed: &[u32]) -> Vec<(String, String)> {
    let topology = Topology::from_tree(root, allowed);
    let mut book = Book::of(root);
    system::missing(&mut book);
    system::host(&mut book);
    system::kernel(&mut book);
    cpu::cpu(&mut book, &topology);
    cpu::caches(&mut book, &topology);
    memory::memory(&mut book);
    memory::numa(&mut book);
    health::health(&mut book);
    system::virtualization(&mut book);
    system::clock(&mut book);
    system::security(&mut book);
    cgroup::cgroup(&mut book);
    system::limits(&mut book);
    system::sysctls(&mut book);
    counters::load(&mut book);
    launcher::launcher(&mut book, &|name| std::env::var(name).ok());
    system::program(&mut book);
    if root == Path::new("/")
        && let Some(why) = affinity::refused()
    {
        book.say("sched.pinning", format_args!("refused: {why}"));
    }
    book.facts
}

/// The facts so far, and where they are read from.
struct Book {
    tree: Tree,
    facts: Vec<(String, String)>,
}

impl Book {
    fn of(root: &Path) -> Book {
        Book { tree: Tree::at(root), facts: Vec::new() }
    }

    /// Adds a fact, with white space normalised. Ignores an empty value, and a key that is not a
    /// single word (it may end in a file name).
    fn say(&mut self, key: impl Into<String>, value: impl Display) {
        let key = key.into();
        let value = value.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() && key.bytes().all(|b| b.is_ascii_graphic()) {
            self.facts.push((key, value));
        }
    }

    fn say_if(&mut self, key: impl Into<String>, value: Option<impl Display>) {
        if let Some(value) = value {
            self.say(key, value);
        }
    }

    /// Adds the content of a file, or that it exists but cannot be read.
    fn copy(&mut self, key: impl Into<String>, path: &str) {
        self.copy_as(key, path, |text| Some(text.to_owned()));
    }

    /// Adds the meaning of a file.
    fn copy_as(&mut self, key: impl Into<String>, path: &str, meaning: impl FnOnce(&str) -> Option<String>) {
        match self.tree.read(path) {
            Ok(text) => self.say_if(key, meaning(&text)),
            Err(error) if tree::means_absent(&error) => {}
            Err(error) => self.say(key, format_args!("unreadable: {error}")),
        }
    }

    /// Adds the chosen word of a file such as `always [madvise] never`.
    fn copy_choice(&mut self, key: impl Into<String>, path: &str) {
        self.copy_as(key, path, |text| Some(chosen_word(text).to_owned()));
    }
}

/// The word in brackets, or the whole text where there are none.
fn chosen_word(text: &str) -> &str {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(word, _)| word)
}

/// The value of a `key: value` or `key value` line, as `/proc` has them.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let value = rest.strip_prefix(':').or_else(|| rest.starts_with(char::is_whitespace).then_some(rest))?;
        Some(value.trim())
    })
}

/// Bytes in the largest binary unit that leaves no fraction: `48 KiB`, `260 MiB`, `24684084 KiB`.
fn binary(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 1024 && value % 1024 == 0 && unit + 1 < units.len() {
        value /= 1024;
        unit += 1;
    }
    format!("{value} {}", units[unit])
}

/// The distinct values, in order of appearance.
fn each_once(values: impl IntoIterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen.join(", ")
}

/// Memory in bytes that this process can still allocate without evicting anything and without
/// reaching a limit of a control group, of its address space or of its data; `None` where nothing
/// is known.
pub fn available_memory() -> Option<u64> {
    memory_headroom().map(|room| room.bytes)
}

/// The CPU quota of this process, in CPUs; `None` without one.
pub fn cpu_quota() -> Option<f64> {
    cgroup::quota(&Tree::at(Path::new("/")))
}

/// What the CPU quotas of this process allow and have cost so far.
pub fn cpu_account() -> CpuAccount {
    cgroup::cpu_account(&Tree::at(Path::new("/")))
}

/// The directory of this process's control group in the hierarchy that has this controller; with
/// `None` in the unified one.
pub fn group_directory(controller: Option<&str>) -> Option<Directory> {
    cgroup::directory(&Tree::at(Path::new("/")), controller)
}

/// How many tasks of this process's memory group the kernel has killed for its limit, without a
/// group of the whole machine; `None` where it is not counted.
pub fn killed_for_memory() -> Option<u64> {
    cgroup::killed_for_memory(&Tree::at(Path::new("/")))
}

/// The limit that refused a task to this process, in words.
pub fn task_limit() -> String {
    if thread::mappings_used_up() {
        return "vm.max_map_count".to_owned();
    }
    let of_user = soft_limit(Resource::Nproc);
    task_limit_in(&Tree::at(Path::new("/")), of_user.filter(|_| user() != 0))
}

/// As [`task_limit`]; `of_user` is the number of tasks that the user may have.
fn task_limit_in(tree: &Tree, of_user: Option<u64>) -> String {
    /// Since the refusal some tasks may have ended.
    const NEAR_TASKS: u64 = 8;
    let group = cgroup::tasks_left(tree);
    match (group, of_user) {
        (Some(left), _) if left.bytes < NEAR_TASKS => format!("{} of {}", left.file, left.limit),
        (_, Some(most)) => format!("RLIMIT_NPROC of {most}"),
        (Some(left), None) => format!("{} of {}, or memory", left.file, left.limit),
        (None, None) => "a limit on tasks or memory".to_owned(),
    }
}

/// The stack that this process may use, in bytes; `None` without a limit.
pub fn stack_limit() -> Option<u64> {
    soft_limit(Resource::Stack)
}

pub use memory_headroom::{
    MemoryPressure, Room, file_room, free_space, longest_file, memory_headroom, memory_pressure, total_memory,
};

/// What is read below another root besides [`facts_below`], for tests on recorded trees: the facts
/// of a work directory, the counters of the host, and the memory headroom.
#[doc(hidden)]
pub fn readings_below(root: &Path, work_dir: &Path) -> (Vec<(String, String)>, HostCounters, Option<Room>) {
    let mut book = Book::of(root);
    mounts::work_dir(&mut book, work_dir);
    let counters = counters::counters_in(&book.tree);
    let room = memory_headroom::room_in(&book.tree, Some(1 << 40), None);
    (book.facts, counters, room)
}
