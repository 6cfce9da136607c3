//! What the events of an application cost: for each name that `strace`, `perf` or `groma predict`
//! counts, the metrics that price it.
//!
//! A price is the nearest thing that groma measures. A name without one is left out, and a
//! prediction lists it instead of guessing. The prices are one table, not constants beside their
//! benchmarks: many cover several names, some combine several benchmarks, and most take one line.

use crate::parts::{CALL, OPEN_CLOSE, Part, READ, Shown, VFORK, WRITE};
use groma_harness::model::{Price, Spent};

const fn kernel(what: &'static str, names: &'static [&'static str], each: &'static [Part]) -> Price {
    Price { what, names, each, byte: &[], spent: Spent::Kernel }
}

/// A part that occurs once.
const fn one(cost: Shown) -> Part {
    Part::of(1.0, "", cost)
}

/// A part that occurs half as often: one call of a measured pair.
const fn half(cost: Shown) -> Part {
    Part::of(0.5, "", cost)
}

/// A `dup` of a descriptor and a `close`.
const DUP_CLOSE: Shown = Shown::of("syscall.dup_close", &[]);
const FSTAT: Shown = Shown::of("syscall.fstat", &[]);
const STAT: Shown = Shown::of("syscall.stat", &[("depth", "1")]);
/// 4 KiB from the page cache.
const PAGE_READ: Shown =
    Shown::of("file.pread_random", &[("size", "8M"), ("where", "work_dir"), ("object", "private")]);
/// A byte of it beyond the first.
const BYTE: &[Part] = &[Part::difference(1.0 / 4096.0, "", PAGE_READ, READ)];
/// A byte appended to a file: programs write new files more often than they overwrite old ones.
const WRITTEN_BYTE: &[Part] = &[Part::difference(
    1.0 / 10_240.0,
    "",
    Shown::of("file.create_delete", FULL),
    Shown::of("file.create_delete", FILE),
)];
const FULL: &[(&str, &str)] =
    &[("size", "10K"), ("entries", "16"), ("where", "work_dir"), ("object", "private"), ("order", "turns")];
/// A thousand names, of about 32 bytes each.
const NAMES: Shown = Shown::of("file.readdir", &[("entries", "1000"), ("where", "work_dir")]);
const MAP: Shown = Shown::of("vm.map.map", &[("size", "64K"), ("backing", "anon"), ("touch", "none")]);
const UNMAP: Shown = Shown::of("vm.map.unmap", &[("size", "64K"), ("backing", "anon"), ("touch", "none")]);
const PROTECT: Shown = Shown::of("vm.protect", &[("size", "4K"), ("pages", "present")]);
const BRK: Shown = Shown::of("vm.brk", &[("size", "64K"), ("pages", "absent")]);
const WRITTEN: Shown = Shown::of("vm.fault", &[("kind", "anon_write"), ("object", "private")]);
const MAPPED: Shown = Shown::of("vm.fault", &[("kind", "file_minor"), ("object", "private")]);
const FORK: Shown = Shown::of("proc.fork_exit", &[("resident", "0"), ("pages", "base")]);
const EXEC: Shown = Shown::of("proc.exec", &[("target", "bare"), ("by", "vfork"), ("from", "file")]);
const THREAD: Shown = Shown::of("thread.create_join", &[("kind", "pthread"), ("stack", "warm")]);
const ASLEEP: Shown = Shown::of("ctx.futex.net", &[("kind", "process")]);
const SWITCH: Shown = Shown::of("ctx.yield.net", &[]);
const REMOVE: Shown = Shown::of("file.create_delete.delete", FILE);
const FILE: &[(&str, &str)] =
    &[("size", "0"), ("entries", "16"), ("where", "work_dir"), ("object", "private"), ("order", "turns")];
const TREE: &[(&str, &str)] = &[("entries", "16"), ("where", "work_dir"), ("object", "private")];

/// All prices; a name has one.
pub(crate) static PRICES: &[Price] = &[
    Price { byte: BYTE, ..kernel("reads", &["read", "pread64", "readv", "preadv"], &[one(READ)]) },
    Price { byte: WRITTEN_BYTE, ..kernel("writes", &["write", "pwrite64", "writev", "pwritev"], &[one(WRITE)]) },
    kernel("files opened", &["openat", "open", "openat2", "creat"], &[one(OPEN_CLOSE), Part::of(-0.5, "", DUP_CLOSE)]),
    kernel("descriptors closed", &["close", "close_range"], &[half(DUP_CLOSE)]),
    kernel("descriptors copied", &["dup", "dup2", "dup3"], &[half(DUP_CLOSE)]),
    kernel("fstat", &["fstat", "fstatfs"], &[one(FSTAT)]),
    kernel("paths looked up", PATHS, &[one(STAT)]),
    kernel("links read", &["readlink", "readlinkat"], &[one(Shown::of("syscall.readlink", &[("bytes", "16")]))]),
    Price {
        byte: &[Part::of(1.0 / 32_000.0, "", NAMES)],
        ..kernel("directories read", &["getdents64", "getdents"], &[one(CALL)])
    },
    kernel("seeks", &["lseek"], &[one(Shown::of("syscall.lseek", &[]))]),
    kernel("mappings made", &["mmap"], &[one(MAP)]),
    kernel("mappings removed", &["munmap"], &[one(UNMAP)]),
    kernel("mappings protected", &["mprotect"], &[one(PROTECT)]),
    kernel("heap moved", &["brk"], &[half(BRK)]),
    kernel(
        "minor faults",
        &["minor-faults", "page-faults", "faults"],
        // Programs touch fresh memory and pages of files, and no counter separates them.
        &[half(WRITTEN), half(MAPPED)],
    ),
    kernel("forks, with the child's end", &["fork", "clone"], &[one(FORK)]),
    kernel("vforks, with the child's end", &["vfork"], &[one(VFORK)]),
    kernel("programs executed", &["execve", "execveat"], &[Part::difference(1.0, "", EXEC, VFORK)]),
    kernel("threads made and joined", &["thread", "clone3"], &[one(THREAD)]),
    kernel(
        "switches, asleep",
        &["voluntary-switches", "voluntary_ctxt_switches", "context-switches", "cs"],
        &[one(ASLEEP)],
    ),
    kernel("switches, preempted", &["involuntary-switches", "nonvoluntary_ctxt_switches"], &[one(SWITCH)]),
    kernel("files removed", &["unlink", "unlinkat"], &[one(REMOVE)]),
    kernel("directories made", &["mkdir", "mkdirat"], &[one(Shown::of("file.mkdir", TREE))]),
    kernel("directories removed", &["rmdir"], &[one(Shown::of("file.mkdir.rmdir", TREE))]),
    kernel(
        "files renamed",
        &["rename", "renameat", "renameat2"],
        &[one(Shown::of("file.rename", &[("kind", "same_dir"), ("entries", "16"), ("where", "work_dir")]))],
    ),
    kernel("names linked", &["link", "linkat", "symlink", "symlinkat"], &[one(Shown::of("file.link", LINKS))]),
    Price {
        spent: Spent::Waiting,
        ..kernel(
            "data made durable",
            &["fsync", "fdatasync"],
            &[one(Shown::of("file.durable", &[("kind", "overwrite")]))],
        )
    },
    kernel("locks on files", &["flock"], &[half(Shown::of("lock.file", &[("kind", "record"), ("object", "private")]))]),
    kernel(
        "futex calls",
        &["futex"],
        &[one(Shown::of("lock.futex", &[("op", "wake"), ("key", "private"), ("object", "private")]))],
    ),
    kernel("signal handlers installed", &["rt_sigaction"], &[one(Shown::of("signal.install", &[]))]),
    kernel("signals sent", &["kill", "tkill", "tgkill"], &[one(Shown::of("signal.catch", &[]))]),
    kernel(
        "polls",
        &["poll", "ppoll", "select", "pselect6"],
        &[one(Shown::of("ready.select", &[("count", "1"), ("kind", "pipe"), ("ready", "none")]))],
    ),
    kernel(
        "polls by epoll",
        &["epoll_wait", "epoll_pwait"],
        &[one(Shown::of("ready.epoll", &[("count", "100"), ("kind", "pipe"), ("ready", "first")]))],
    ),
    kernel("short calls", SHORT_CALLS, &[one(CALL)]),
    Price {
        spent: Spent::User,
        // A rate: what one takes is its inverse.
        ..kernel(
            "cycles of the program",
            &["cycles:u", "cpu-cycles:u"],
            &[one(Shown::of("cpu.frequency", &[("class", "integer")]))],
        )
    },
];

const LINKS: &[(&str, &str)] = &[("kind", "hard"), ("entries", "16"), ("where", "work_dir"), ("object", "private")];

/// Calls that look up a path and return something about the file.
const PATHS: &[&str] = &[
    "stat",
    "lstat",
    "newfstatat",
    "fstatat64",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "statfs",
    "chdir",
    "getxattr",
    "lgetxattr",
];

/// Calls that do little more than enter and leave the kernel.
const SHORT_CALLS: &[&str] = &[
    "exit_group",
    "exit",
    "wait4",
    "waitid",
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getpgrp",
    "getpgid",
    "getsid",
    "setpgid",
    "getgroups",
    "umask",
    "uname",
    "sysinfo",
    "times",
    "getrusage",
    "getrlimit",
    "setrlimit",
    "prlimit64",
    "arch_prctl",
    "prctl",
    "set_tid_address",
    "set_robust_list",
    "rseq",
    "getrandom",
    "sigaltstack",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "fcntl",
    "ioctl",
    "getcwd",
    "clock_gettime",
    "gettimeofday",
    "time",
    "getcpu",
    "fadvise64",
    "alarm",
    "setitimer",
    "capget",
    "membarrier",
    "getpriority",
    "pipe2",
    "pipe",
    "restart_syscall",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Times;
    use std::collections::BTreeMap;

    /// What calls `(name, count, bytes of each)` cost, by metric and its first parameter.
    fn costs(calls: &[(&str, f64, f64)]) -> BTreeMap<(&'static str, &'static str), f64> {
        let mut costs: BTreeMap<_, f64> = BTreeMap::new();
        for (name, count, bytes) in calls {
            let price = PRICES.iter().find(|price| price.names.contains(name)).expect("it has a price");
            let each = price.each.iter().map(|part| (part, *count));
            for (part, count) in each.chain(price.byte.iter().map(|part| (part, count * bytes))) {
                let Times::Fixed(times) = part.times else { panic!("{name}: a number that only a run knows") };
                for (shown, times) in [(Some(part.cost), times), (part.less, -times)] {
                    let Some(shown) = shown else { continue };
                    let first = shown.params.first().map_or("", |(_, value)| *value);
                    *costs.entry((shown.metric, first)).or_default() += count * times;
                }
            }
        }
        costs.values_mut().for_each(|times| *times = (*times * 1e6).round() / 1e6);
        costs.retain(|_, times| *times != 0.0);
        costs
    }

    /// The bytes that a benchmark's operation moves cost what the operation takes.
    #[test]
    fn bytes_and_events_cost_the_metrics_that_price_them() {
        const WRITE: (&str, &str) = ("syscall.write", "");
        type Costs<'c> = &'c [((&'c str, &'c str), f64)];
        let rows: &[(&str, f64, f64, Costs)] = &[
            ("pread64", 1.0, 4096.0, &[(("file.pread_random", "8M"), 1.0)]),
            ("read", 3.0, 0.0, &[(("syscall.read", ""), 3.0)]),
            (
                "write",
                1.0,
                10_240.0,
                &[(WRITE, 1.0), (("file.create_delete", "10K"), 1.0), (("file.create_delete", "0"), -1.0)],
            ),
            ("getdents64", 2.0, 16_000.0, &[(("syscall.getppid", ""), 2.0), (("file.readdir", "1000"), 1.0)]),
            ("openat", 2.0, 0.0, &[(("syscall.open_close", "1"), 2.0), (("syscall.dup_close", ""), -1.0)]),
            ("minor-faults", 2.0, 0.0, &[(("vm.fault", "anon_write"), 1.0), (("vm.fault", "file_minor"), 1.0)]),
            ("voluntary-switches", 1.0, 0.0, &[(("ctx.futex.net", "process"), 1.0)]),
            ("involuntary-switches", 1.0, 0.0, &[(("ctx.yield.net", ""), 1.0)]),
            ("clone", 1.0, 0.0, &[(("proc.fork_exit", "0"), 1.0)]),
            ("clone3", 1.0, 0.0, &[(("thread.create_join", "pthread"), 1.0)]),
            ("kill", 1.0, 0.0, &[(("signal.catch", ""), 1.0)]),
            ("fdatasync", 1.0, 0.0, &[(("file.durable", "overwrite"), 1.0)]),
        ];
        for (name, count, bytes, expected) in rows {
            let expected: BTreeMap<_, f64> = expected.iter().copied().collect();
            assert_eq!(costs(&[(*name, *count, *bytes)]), expected, "{name}");
        }
        let others = PRICES.iter().filter(|price| price.spent != Spent::Kernel);
        let others: Vec<(&str, Spent)> = others.map(|price| (price.names[0], price.spent)).collect();
        assert_eq!(others, [("fsync", Spent::Waiting), ("cycles:u", Spent::User)]);
    }

    /// The calls of one iteration of a benchmark together cost what it measures, and nothing else.
    /// The price of a process includes its exit and the wait for it.
    #[test]
    fn the_calls_of_an_iteration_cost_what_it_takes() {
        let rows: &[(&str, &[(&str, f64)])] = &[
            ("syscall.getppid", &[("getppid", 1.0)]),
            ("syscall.read", &[("read", 1.0)]),
            ("syscall.write", &[("write", 1.0)]),
            ("syscall.fstat", &[("fstat", 1.0)]),
            ("syscall.stat", &[("newfstatat", 1.0)]),
            ("syscall.lseek", &[("lseek", 1.0)]),
            ("syscall.dup_close", &[("dup", 1.0), ("close", 1.0)]),
            ("syscall.open_close", &[("openat", 1.0), ("close", 1.0)]),
            ("vm.map.map", &[("mmap", 1.0)]),
            ("vm.map.unmap", &[("munmap", 1.0)]),
            ("vm.protect", &[("mprotect", 1.0)]),
            ("vm.brk", &[("brk", 2.0)]),
            ("proc.fork_exit", &[("fork", 1.0)]),
            ("proc.vfork_exit", &[("vfork", 1.0)]),
            ("proc.exec", &[("vfork", 1.0), ("execve", 1.0)]),
            ("thread.create_join", &[("thread", 1.0)]),
            ("file.create_delete.delete", &[("unlinkat", 1.0)]),
            ("file.mkdir", &[("mkdirat", 1.0)]),
            ("file.mkdir.rmdir", &[("rmdir", 1.0)]),
            ("file.rename", &[("renameat", 1.0)]),
            ("file.link", &[("linkat", 1.0)]),
            ("lock.file", &[("flock", 2.0)]),
            ("lock.futex", &[("futex", 1.0)]),
            ("signal.install", &[("rt_sigaction", 1.0)]),
            ("ready.select", &[("pselect6", 1.0)]),
            ("ready.epoll", &[("epoll_wait", 1.0)]),
        ];
        for (metric, calls) in rows {
            let mut cost: BTreeMap<&str, f64> = BTreeMap::new();
            for (name, count) in *calls {
                let price = PRICES.iter().find(|price| price.names.contains(name)).expect("it has a price");
                for part in price.each {
                    let Times::Fixed(times) = part.times else { panic!("{name}: a number that only a run knows") };
                    *cost.entry(part.cost.metric).or_default() += count * times;
                    if let Some(less) = &part.less {
                        *cost.entry(less.metric).or_default() -= count * times;
                    }
                }
            }
            cost.retain(|_, times| times.abs() > 1e-9);
            assert_eq!(cost, BTreeMap::from([(*metric, 1.0)]), "{calls:?}");
        }
    }
}
