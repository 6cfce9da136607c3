//! The pages of a run: what it shows first, and so what a survey measures. `fleet_page.rs` has what
//! a run with the profile `fleet` measures.
//!
//! Lines are in reading order. Their names are the usual ones, at most 26 characters, so that two
//! fit side by side in 80 columns; a test compares every id with the catalogue.

use groma_harness::model::page::{Block, Line, On, Shown, Values};

/// The parameters that identify a point.
pub(crate) type Params = &'static [(&'static str, &'static str)];

/// A metric of one CPU.
pub(crate) const fn of(metric: &'static str, params: Params) -> Shown {
    Shown::of(metric, params)
}

/// As [`of`]; a quick survey measures it too.
const fn quick(metric: &'static str, params: Params) -> Shown {
    Shown::of(metric, params).quick()
}

/// A line with one value.
const fn line(name: &'static str, shown: Shown) -> Line {
    Line { name, values: [Some(shown), None, None] }
}

/// A line with two values.
const fn two(name: &'static str, first: Shown, second: Shown) -> Line {
    Line { name, values: [Some(first), Some(second), None] }
}

/// A line with a value on one CPU and one between two.
const fn near(name: &'static str, shown: Shown) -> Line {
    two(name, shown, shown.on(On::Two))
}

/// A line with a value on one CPU and one on all.
const fn everywhere(name: &'static str, shown: Shown) -> Line {
    two(name, shown, shown.on(On::All))
}

/// A line with a time and its cycles.
const fn time_and_cycles(name: &'static str, shown: Shown) -> Line {
    two(name, shown, Shown::of(shown.metric, shown.params).in_cycles())
}

/// A line with an operation on three types.
const fn three(name: &'static str, int: Shown, double: Shown, float: Shown) -> Line {
    Line { name, values: [Some(int), Some(double), Some(float)] }
}

/// The heads of [`near`].
const NEAR_HEADS: &[&str] = &["1 CPU", "2 CPUs"];

/// The page of the system.
pub(crate) const SYSTEM: &[Block] = &[
    Block {
        title: "System calls",
        families: &["syscall", "isolation", "vdso"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("null call (getppid)", quick("syscall.getppid", &[])),
            line("the same behind a filter", of("isolation.filter", &[("comparisons", "300"), ("by", "argument")])),
            line("read 1 B of /dev/zero", quick("syscall.read", &[])),
            line("write 1 B to /dev/null", quick("syscall.write", &[])),
            line("fstat", of("syscall.fstat", &[])),
            line("stat", quick("syscall.stat", &[("depth", "1")])),
            line("open + close", quick("syscall.open_close", &[("depth", "1")])),
            line("read the clock (vDSO)", quick("vdso.clock_gettime", &[("clock", "monotonic")])),
        ],
    },
    Block {
        title: "Signals",
        families: &["signal"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("install a handler", quick("signal.install", &[])),
            line("send to itself and catch", quick("signal.catch", &[])),
            line("catch a SIGSEGV", of("signal.fault", &[("kind", "write")])),
        ],
    },
    Block {
        title: "Processes, threads",
        families: &["proc", "thread"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("create + join a thread", quick("thread.create_join", &[("kind", "pthread")])),
            line("fork + exit + wait", quick("proc.fork_exit", &[])),
            line("run a static program", of("proc.exec", &[("target", "static")])),
            line("run a dynamic program", quick("proc.exec", &[("target", "dynamic")])),
            line("run a command by sh -c", of("proc.shell", &[])),
        ],
    },
    Block {
        title: "Scheduling",
        families: &["ctx", "sched", "timer"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line(
                "switch, 2 processes",
                quick("ctx.switch.net", &[("tasks", "2"), ("working_set", "0"), ("kind", "process")]),
            ),
            line(
                "switch, 2 threads",
                of("ctx.switch.net", &[("tasks", "2"), ("working_set", "0"), ("kind", "thread")]),
            ),
            line(
                "switch, 8 using 16 KiB",
                of("ctx.switch.net", &[("tasks", "8"), ("working_set", "16K"), ("kind", "process")]),
            ),
            line("wake a task, idle CPU", of("sched.wakeup", &[("load", "0")]).on(On::Two)),
            line(
                "sleep of 100 µs: late by",
                quick(
                    "timer.sleep",
                    &[("interface", "nanosleep"), ("length", "100us"), ("slack", "default"), ("policy", "other")],
                ),
            ),
        ],
    },
    Block {
        title: "Virtual memory",
        families: &["vm"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("fault, anonymous page", quick("vm.fault", &[("kind", "anon_write"), ("object", "private")])),
            line("fault, cached file page", quick("vm.fault", &[("kind", "file_minor"), ("object", "private")])),
            line("fault, copy on write", of("vm.cow", &[])),
            line("fault, huge page (2 MiB)", of("vm.fault_huge", &[])),
            line("mmap + munmap 64 KiB", quick("vm.map", &[("size", "64K"), ("touch", "none")])),
            line("mprotect a page", of("vm.protect", &[("size", "4K")])),
        ],
    },
    Block {
        title: "Files",
        families: &["file"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("create an empty file", quick("file.create_delete", &[("size", "0"), ("where", "work_dir")])),
            line("delete it", quick("file.create_delete.delete", &[("size", "0"), ("where", "work_dir")])),
            line("rename a file", of("file.rename", &[("kind", "same_dir")])),
            line("look up a missing name", of("file.lookup", &[("kind", "negative")])),
            line("read 4 KiB, cached", quick("file.pread_random", &[])),
            line("append 4 KiB + fsync", quick("file.durable", &[("kind", "append")])),
        ],
    },
    Block {
        title: "Disk",
        families: &["disk"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("read 4 KiB at random", quick("disk.random_read", &[])),
            line("such reads, 16 at once", of("disk.queue", &[("depth", "16"), ("access", "read")])),
            line("read in order", of("disk.read", &[("position", "0")])),
            line("write 4 KiB + sync", of("disk.sync_write", &[])),
        ],
    },
    Block {
        title: "Locks",
        families: &["lock"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("mutex: lock + unlock", quick("lock.mutex", &[])),
            line("mutex, contended by two", of("lock.contended", &[("kind", "mutex"), ("threads", "2")]).on(On::Two)),
            line("semaphore: post + wait", of("lock.posix_sem", &[])),
            line("futex wake, no waiter", of("lock.futex", &[("op", "wake")])),
            line("fcntl lock + unlock", of("lock.file", &[("kind", "record")])),
        ],
    },
    Block {
        title: "Many descriptors",
        families: &["ready", "uring"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[
            line("select, 10 pipes", quick("ready.select", &[("count", "10"), ("kind", "pipe"), ("ready", "none")])),
            line("poll, 100 pipes", of("ready.poll", &[("count", "100"), ("kind", "pipe")])),
            line("epoll_wait, 1 of 100", of("ready.epoll", &[("count", "100"), ("ready", "first")])),
            line("io_uring, empty request", of("uring.nop", &[("batch", "1")])),
        ],
    },
    Block {
        title: "Round trips",
        families: &["ipc", "net", "signal", "rpc", "http"],
        heads: NEAR_HEADS,
        values: Values::WithUnits,
        lines: &[
            near("futex", of("ipc.futex_rtt", &[])),
            near("pipe", quick("ipc.pipe_rtt", &[("size", "1")])),
            near("signal", of("signal.rtt", &[])),
            near("Unix socket", of("ipc.unix_rtt", &[])),
            near("UDP, loopback", of("net.udp_rtt", &[])),
            near("TCP, loopback", quick("net.tcp_rtt", &[])),
            near("TCP connect", of("net.tcp_connect", &[])),
            near("RPC over TCP", of("rpc.null", &[("transport", "tcp")])),
            near("HTTP GET 1 KiB", of("http.get", &[("connection", "keep_alive")])),
            near("HTTP GET + connect", of("http.get", &[("connection", "close")])),
            Line { name: "memory, spinning", values: [None, Some(of("ipc.spin_rtt", &[]).on(On::Two)), None] },
        ],
    },
    Block {
        title: "Bandwidth",
        families: &["ipc", "net", "file"],
        heads: NEAR_HEADS,
        values: Values::Gigabytes,
        lines: &[
            near("pipe", quick("ipc.pipe_bandwidth", &[])),
            near("Unix socket", of("ipc.unix_bandwidth", &[])),
            near("TCP, loopback", of("net.tcp_bandwidth", &[])),
            near("sendfile", of("ipc.sendfile_bandwidth", &[])),
            line("cached file, read", quick("file.reread", &[("mode", "read")])),
            line("cached file, mmap", of("file.mmap_reread", &[("mode", "mapped")])),
        ],
    },
    Block {
        title: "Build",
        families: &["mix"],
        heads: &[],
        values: Values::WithUnits,
        lines: &[line("copy, scan, compile a tree", of("mix.andrew", &[("tree", "small"), ("jobs", "1")]).on(On::Any))],
    },
];

/// What the hardware page measures.
pub(crate) const BLOCKS: &[Block] = &[
    Block {
        title: "Instructions",
        families: &["cpu"],
        heads: &["time", "cycles"],
        values: Values::WithUnits,
        lines: &[
            time_and_cycles("function call", quick("cpu.call", &[("args", "0")])),
            time_and_cycles("mispredicted branch", quick("cpu.branch", &[("kind", "mispredicted")])),
            time_and_cycles("atomic add", quick("cpu.atomic", &[("kind", "add")])),
            time_and_cycles("cpuid (a guest's exit)", of("cpu.atomic", &[("kind", "cpuid")])),
        ],
    },
    Block {
        title: "Arithmetic, cycles",
        families: &["cpu"],
        heads: &["int64", "double", "float"],
        values: Values::Bare,
        lines: &[
            three(
                "add",
                quick("cpu.operation.cycles", &[("op", "i64.add")]),
                of("cpu.operation.cycles", &[("op", "f64.add")]),
                of("cpu.operation.cycles", &[("op", "f32.add")]),
            ),
            three(
                "multiply",
                quick("cpu.operation.cycles", &[("op", "i64.mul")]),
                of("cpu.operation.cycles", &[("op", "f64.mul")]),
                of("cpu.operation.cycles", &[("op", "f32.mul")]),
            ),
            three(
                "divide",
                quick("cpu.operation.cycles", &[("op", "i64.div")]),
                of("cpu.operation.cycles", &[("op", "f64.div")]),
                of("cpu.operation.cycles", &[("op", "f32.div")]),
            ),
            three(
                "add, independent",
                of("cpu.operation.throughput_cycles", &[("op", "i64.add")]),
                of("cpu.operation.throughput_cycles", &[("op", "f64.add")]),
                of("cpu.operation.throughput_cycles", &[("op", "f32.add")]),
            ),
        ],
    },
    Block {
        title: "Memory",
        families: &["mem"],
        heads: &["1 CPU", "all"],
        values: Values::WithUnits,
        lines: &[
            everywhere("STREAM triad", of("mem.stream", &[("op", "triad"), ("store", "plain")])),
            line("store, no cache", of("mem.bandwidth", &[("op", "write_nt"), ("size", "auto")])),
            everywhere("random reads", of("mem.random_read", &[])),
            line("misses in flight", of("mem.parallelism", &[("size", "128M")])),
        ],
    },
    Block {
        title: "Latency under load",
        families: &["mem"],
        heads: &["latency", "traffic"],
        values: Values::WithUnits,
        // Beside idle CPUs it is that of the curve.
        lines: &[two(
            "all others busy",
            of("mem.loaded_latency", &[("pace", "0")]),
            of("mem.loaded_latency.bandwidth", &[("pace", "0")]),
        )],
    },
];

/// What the rows of the hardware page are made from.
pub(crate) const ROWS: &[Shown] = &[
    Shown::of("cpu.frequency", &[("class", "integer")]).quick(),
    Shown::of("clock.rate", &[]),
    // The whole curve: its levels are the caches.
    Shown::of("mem.latency", &[("chain", "amortised"), ("pages", "base")]).on(On::Each),
    Shown::of("mem.available", &[]).quick(),
    Shown::of("mem.line", &[]),
    Shown::of("mem.ways", &[]),
    Shown::of("mem.tlb", &[("pages", "base")]),
    Shown::of("mem.tlb", &[("pages", "huge")]),
    Shown::of("mem.numa", &[]).on(On::Each),
    Shown::of("mem.bandwidth", &[("op", "read"), ("size", "16K")]),
    Shown::of("mem.bandwidth", &[("op", "read"), ("size", "256K")]),
    Shown::of("mem.bandwidth", &[("op", "read"), ("size", "8M")]),
    Shown::of("mem.bandwidth", &[("op", "read"), ("size", "auto")]).quick(),
    Shown::of("mem.bandwidth", &[("op", "write"), ("size", "16K")]),
    Shown::of("mem.bandwidth", &[("op", "write"), ("size", "256K")]),
    Shown::of("mem.bandwidth", &[("op", "write"), ("size", "8M")]),
    Shown::of("mem.bandwidth", &[("op", "write"), ("size", "auto")]).quick(),
    Shown::of("mem.bandwidth", &[("op", "copy"), ("size", "16K")]),
    Shown::of("mem.bandwidth", &[("op", "copy"), ("size", "256K")]),
    Shown::of("mem.bandwidth", &[("op", "copy"), ("size", "8M")]),
    Shown::of("mem.bandwidth", &[("op", "copy"), ("size", "auto")]).quick(),
    Shown::of("cpu.core_to_core", &[("protocol", "cas1")]).on(On::Each),
];

/// What `groma explain --run` takes the composed costs of the pages apart into, where it is on no
/// page itself: two seconds of a survey's minute.
pub(crate) const PARTS: &[Shown] = &[
    of("ctx.yield", &[]),
    of("ctx.futex", &[("kind", "thread")]),
    of("ctx.futex", &[("kind", "process")]),
    of("ctx.switch", &[("tasks", "2"), ("working_set", "0"), ("kind", "process"), ("access", "update")]),
    of("net.tcp_accept", &[("family", "v4")]),
    of("proc.exec", &[("target", "bare"), ("by", "vfork"), ("from", "file")]),
    of("proc.exit", &[("resident", "0")]),
    of("proc.vfork_exit", &[]),
    of("vm.fault", &[("kind", "zero_page"), ("object", "private")]),
    of("vm.map", &[("size", "64K"), ("backing", "anon"), ("touch", "none")]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_block_names_the_families_of_its_metrics() {
        for block in SYSTEM.iter().chain(BLOCKS) {
            let named: BTreeSet<&str> = block.families.iter().copied().collect();
            let shown = block.lines.iter().flat_map(|line| line.values).flatten();
            let of_lines: BTreeSet<&str> = shown.filter_map(|shown| shown.metric.split('.').next()).collect();
            assert_eq!(named, of_lines, "{}", block.title);
        }
    }

    /// What words of a line's name mean: a parameter of its values.
    const MEANINGS: &[(&str, &str, &str)] = &[
        ("2 processes", "tasks", "2"),
        ("processes", "kind", "process"),
        ("2 threads", "tasks", "2"),
        ("contended by two", "threads", "2"),
        ("mutex, contended", "kind", "mutex"),
        ("threads", "kind", "thread"),
        ("8 using", "tasks", "8"),
        ("using 16 KiB", "working_set", "16K"),
        ("SIGSEGV", "kind", "write"),
        ("static program", "target", "static"),
        ("dynamic program", "target", "dynamic"),
        ("100 µs", "length", "100us"),
        ("anonymous page", "kind", "anon_write"),
        ("cached file page", "kind", "file_minor"),
        ("munmap 64 KiB", "size", "64K"),
        ("mmap + munmap", "touch", "none"),
        ("mprotect a page", "size", "4K"),
        ("empty file", "size", "0"),
        ("missing name", "kind", "negative"),
        ("append", "kind", "append"),
        ("16 at once", "depth", "16"),
        ("futex wake", "op", "wake"),
        ("fcntl", "kind", "record"),
        ("10 pipes", "count", "10"),
        ("100 pipes", "count", "100"),
        ("1 of 100", "count", "100"),
        ("RPC over TCP", "transport", "tcp"),
        ("GET 1 KiB", "connection", "keep_alive"),
        ("GET + connect", "connection", "close"),
        ("file, read", "mode", "read"),
        ("file, mmap", "mode", "mapped"),
        ("mispredicted", "kind", "mispredicted"),
        ("atomic add", "kind", "add"),
        ("cpuid", "kind", "cpuid"),
        ("triad", "op", "triad"),
        ("no cache", "op", "write_nt"),
    ];

    /// The metrics of lines whose name does not say it in its own words.
    const METRICS: &[(&str, &str)] = &[
        ("null call (getppid)", "syscall.getppid"),
        ("read 1 B of /dev/zero", "syscall.read"),
        ("write 1 B to /dev/null", "syscall.write"),
        ("send to itself and catch", "signal.catch"),
        ("run a command by sh -c", "proc.shell"),
        ("fault, copy on write", "vm.cow"),
        ("delete it", "file.create_delete.delete"),
        ("read 4 KiB, cached", "file.pread_random"),
        ("read 4 KiB at random", "disk.random_read"),
        ("read in order", "disk.read"),
        ("write 4 KiB + sync", "disk.sync_write"),
    ];

    fn lines() -> impl Iterator<Item = &'static Line> {
        SYSTEM.iter().chain(BLOCKS).flat_map(|block| block.lines)
    }

    #[test]
    fn a_line_shows_what_its_name_says() {
        for (words, param, value) in MEANINGS {
            let named: Vec<&Line> = lines().filter(|line| line.name.contains(words)).collect();
            let mut shown = named.iter().flat_map(|line| line.values).flatten();
            assert!(!named.is_empty() && shown.all(|shown| shown.params.contains(&(*param, *value))), "{words}");
        }
        for (name, metric) in METRICS {
            let line = lines().find(|line| line.name == *name).unwrap_or_else(|| panic!("no line {name}"));
            assert!(line.values.iter().flatten().all(|shown| shown.metric == *metric), "{name}");
        }
    }

    #[test]
    fn a_column_shows_what_its_head_says() {
        for block in SYSTEM.iter().chain(BLOCKS) {
            for (column, head) in block.heads.iter().enumerate() {
                for (line, shown) in block.lines.iter().filter_map(|line| Some((line, line.values[column]?))) {
                    let what = format!("{}, {}, {head}", block.title, line.name);
                    let on = match *head {
                        "1 CPU" => On::One,
                        "2 CPUs" => On::Two,
                        "all" => On::All,
                        _ => shown.on,
                    };
                    assert_eq!((shown.on, shown.in_cycles), (on, *head == "cycles"), "{what}");
                    if block.title == "Latency under load" {
                        assert_eq!(shown.metric.ends_with(".bandwidth"), *head == "traffic", "{what}");
                    }
                    if block.title.starts_with("Arithmetic") {
                        let kind = ["i64", "f64", "f32"][column];
                        let (of, op) = shown.params[0].1.split_once('.').expect("a type and an operation");
                        assert!(of == kind && line.name.starts_with(op), "{what}: {of}.{op}");
                        let independent = line.name.contains("independent");
                        assert_eq!(shown.metric.contains("throughput"), independent, "{what}");
                    }
                }
            }
        }
    }
}
