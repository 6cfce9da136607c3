//! The pages of a run: what a person sees first, and so what a survey measures.
//!
//! Lines stand in the order in which they are read. Names are those that people use, 26 columns at
//! most, so that two columns of lines fit 80 columns; a test compares every id with the catalogue.

use groma_harness::model::page::{Block, Line, On, Pages, Shown};

/// A line with one value.
const fn line(name: &'static str, value: &'static [Option<Shown>; 1]) -> Line {
    Line { name, values: value }
}

/// A metric of one CPU.
const fn of(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Option<Shown> {
    Some(Shown::of(metric, params))
}

/// The same, also of a quick survey.
const fn quick(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Option<Shown> {
    Some(Shown::of(metric, params).quick())
}

/// The same between two CPUs.
const fn apart(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Option<Shown> {
    Some(Shown::of(metric, params).on(On::Two))
}

/// The same between two CPUs, also of a quick survey.
const fn quick_apart(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Option<Shown> {
    Some(Shown::of(metric, params).on(On::Two).quick())
}

/// The heads of what is measured on one CPU and between two.
const NEAR: &[&str] = &["1 CPU", "2 CPUs"];

/// The pages.
pub(crate) static PAGES: Pages<'static> = Pages { system: SYSTEM, hardware: BLOCKS, rows: ROWS };

const SYSTEM: &[Block] = &[
    Block {
        title: "System calls",
        more: "syscall vdso",
        unit: "",
        heads: &[],
        lines: &[
            line("null call (getppid)", &[quick("syscall.getppid", &[])]),
            line("read 1 B of /dev/zero", &[quick("syscall.read", &[])]),
            line("write 1 B to /dev/null", &[quick("syscall.write", &[])]),
            line("fstat", &[of("syscall.fstat", &[])]),
            line("stat", &[quick("syscall.stat", &[("depth", "1")])]),
            line("open + close", &[quick("syscall.open_close", &[("depth", "1")])]),
            line("read the clock (vDSO)", &[quick("vdso.clock_gettime", &[("clock", "monotonic")])]),
        ],
    },
    Block {
        title: "Signals",
        more: "signal",
        unit: "",
        heads: &[],
        lines: &[
            line("install a handler", &[quick("signal.install", &[])]),
            line("send to itself and catch", &[quick("signal.catch", &[])]),
            line("catch a write fault", &[of("signal.fault", &[("kind", "write")])]),
        ],
    },
    Block {
        title: "Processes, threads",
        more: "proc thread",
        unit: "",
        heads: &[],
        lines: &[
            line("create + join a thread", &[quick("thread.create_join", &[("kind", "pthread")])]),
            line("fork + exit + wait", &[quick("proc.fork_exit", &[])]),
            line("run a static program", &[of("proc.exec", &[("target", "static")])]),
            line("run a dynamic program", &[quick("proc.exec", &[("target", "dynamic")])]),
            line("run a command by sh -c", &[of("proc.shell", &[])]),
        ],
    },
    Block {
        title: "Scheduling",
        more: "ctx sched timer",
        unit: "",
        heads: &[],
        lines: &[
            line(
                "switch, 2 processes",
                &[quick("ctx.switch.net", &[("tasks", "2"), ("working_set", "0"), ("kind", "process")])],
            ),
            line(
                "switch, 2 threads",
                &[of("ctx.switch.net", &[("tasks", "2"), ("working_set", "0"), ("kind", "thread")])],
            ),
            line(
                "switch, 8 using 16 KiB",
                &[of("ctx.switch.net", &[("tasks", "8"), ("working_set", "16K"), ("kind", "process")])],
            ),
            line("wake a task, idle CPU", &[apart("sched.wakeup", &[("load", "0")])]),
            line(
                "sleep of 100 µs: late by",
                &[quick(
                    "timer.sleep",
                    &[("interface", "nanosleep"), ("length", "100us"), ("slack", "default"), ("policy", "other")],
                )],
            ),
        ],
    },
    Block {
        title: "Virtual memory",
        more: "vm",
        unit: "",
        heads: &[],
        lines: &[
            line("fault, anonymous page", &[quick("vm.fault", &[("kind", "anon_write"), ("object", "private")])]),
            line("fault, page of a file", &[quick("vm.fault", &[("kind", "file_minor"), ("object", "private")])]),
            line("fault, copy on write", &[of("vm.cow", &[])]),
            line("fault, huge page (2 MiB)", &[of("vm.fault_huge", &[])]),
            line("mmap + munmap 64 KiB", &[quick("vm.map", &[("size", "64K"), ("touch", "none")])]),
            line("the same, pages touched", &[of("vm.map", &[("size", "64K"), ("touch", "all")])]),
            line("mprotect a page", &[of("vm.protect", &[("size", "4K")])]),
        ],
    },
    Block {
        title: "Files",
        more: "file",
        unit: "",
        heads: &[],
        lines: &[
            line("create an empty file", &[quick("file.create_delete", &[("size", "0"), ("where", "work_dir")])]),
            line("delete it", &[quick("file.create_delete.delete", &[("size", "0"), ("where", "work_dir")])]),
            line("rename a file", &[of("file.rename", &[("kind", "same_dir")])]),
            line("look up a missing name", &[of("file.lookup", &[("kind", "negative")])]),
            line("read 4 KiB, cached", &[quick("file.pread_random", &[])]),
            line("append 4 KiB + fsync", &[quick("file.durable", &[("kind", "append")])]),
        ],
    },
    Block {
        title: "Disk",
        more: "disk",
        unit: "",
        heads: &[],
        lines: &[
            line("read 4 KiB at random", &[quick("disk.random_read", &[])]),
            line("such reads, 16 at once", &[of("disk.queue", &[("depth", "16"), ("access", "read")])]),
            line("read in order", &[of("disk.read", &[("position", "0")])]),
            line("write 4 KiB + sync", &[of("disk.sync_write", &[])]),
        ],
    },
    Block {
        title: "Locks nobody else wants",
        more: "lock",
        unit: "",
        heads: &[],
        lines: &[
            line("mutex: lock + unlock", &[quick("lock.mutex", &[])]),
            line("semaphore: post + wait", &[of("lock.posix_sem", &[])]),
            line("futex wake, no waiter", &[of("lock.futex", &[("op", "wake")])]),
            line("fcntl lock + unlock", &[of("lock.file", &[("kind", "record")])]),
        ],
    },
    Block {
        title: "Many descriptors",
        more: "ready uring",
        unit: "",
        heads: &[],
        lines: &[
            line("select, 10 pipes", &[quick("ready.select", &[("count", "10"), ("kind", "pipe"), ("ready", "none")])]),
            line("poll, 100 pipes", &[of("ready.poll", &[("count", "100"), ("kind", "pipe")])]),
            line("epoll_wait, 1 of 100", &[of("ready.epoll", &[("count", "100"), ("ready", "first")])]),
            line("io_uring, empty request", &[of("uring.nop", &[("batch", "1")])]),
        ],
    },
    Block {
        title: "Round trips",
        more: "ipc net",
        unit: "",
        heads: NEAR,
        lines: &[
            Line { name: "futex", values: &[of("ipc.futex_rtt", &[]), apart("ipc.futex_rtt", &[])] },
            Line {
                name: "pipe",
                values: &[quick("ipc.pipe_rtt", &[("size", "1")]), quick_apart("ipc.pipe_rtt", &[("size", "1")])],
            },
            Line { name: "signal", values: &[of("signal.rtt", &[]), apart("signal.rtt", &[])] },
            Line { name: "Unix socket", values: &[of("ipc.unix_rtt", &[]), apart("ipc.unix_rtt", &[])] },
            Line { name: "UDP, loopback", values: &[of("net.udp_rtt", &[]), apart("net.udp_rtt", &[])] },
            Line { name: "TCP, loopback", values: &[quick("net.tcp_rtt", &[]), quick_apart("net.tcp_rtt", &[])] },
            Line { name: "TCP connect", values: &[of("net.tcp_connect", &[]), apart("net.tcp_connect", &[])] },
            Line {
                name: "RPC over TCP",
                values: &[of("rpc.null", &[("transport", "tcp")]), apart("rpc.null", &[("transport", "tcp")])],
            },
            Line {
                name: "HTTP GET 1 KiB",
                values: &[
                    of("http.get", &[("connection", "keep_alive")]),
                    apart("http.get", &[("connection", "keep_alive")]),
                ],
            },
            Line {
                name: "HTTP GET + connect",
                values: &[of("http.get", &[("connection", "close")]), apart("http.get", &[("connection", "close")])],
            },
            Line { name: "memory, spinning", values: &[None, apart("ipc.spin_rtt", &[])] },
        ],
    },
    Block {
        title: "Bandwidth",
        more: "ipc net",
        unit: "GB/s",
        heads: NEAR,
        lines: &[
            Line { name: "pipe", values: &[quick("ipc.pipe_bandwidth", &[]), quick_apart("ipc.pipe_bandwidth", &[])] },
            Line { name: "Unix socket", values: &[of("ipc.unix_bandwidth", &[]), apart("ipc.unix_bandwidth", &[])] },
            Line { name: "TCP, loopback", values: &[of("net.tcp_bandwidth", &[]), apart("net.tcp_bandwidth", &[])] },
            Line {
                name: "sendfile",
                values: &[of("ipc.sendfile_bandwidth", &[]), apart("ipc.sendfile_bandwidth", &[])],
            },
            Line { name: "cached file, read", values: &[quick("file.reread", &[("mode", "read")]), None] },
            Line { name: "cached file, mmap", values: &[of("file.mmap_reread", &[("mode", "mapped")]), None] },
        ],
    },
    Block {
        title: "Build",
        more: "mix",
        unit: "",
        heads: &[],
        lines: &[line(
            "copy, scan, compile a tree",
            &[Some(Shown::of("mix.andrew", &[("tree", "small"), ("jobs", "1")]).on(On::Any))],
        )],
    },
];

/// A value and its cycles.
const fn timed(name: &'static str, values: &'static [Option<Shown>; 2]) -> Line {
    Line { name, values }
}

/// The same as [`of`], in cycles.
const fn cycles(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Option<Shown> {
    Some(Shown::of(metric, params).in_cycles())
}

/// The same as [`of`], on all CPUs.
const fn all(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Option<Shown> {
    Some(Shown::of(metric, params).on(On::All))
}

const ARITHMETIC: &[&str] = &["int64", "double", "float"];

const BLOCKS: &[Block] = &[
    Block {
        title: "Instructions",
        more: "cpu",
        unit: "",
        heads: &["time", "cycles"],
        lines: &[
            timed("function call", &[quick("cpu.call", &[("args", "0")]), cycles("cpu.call", &[("args", "0")])]),
            timed(
                "mispredicted branch",
                &[quick("cpu.branch", &[("kind", "mispredicted")]), cycles("cpu.branch", &[("kind", "mispredicted")])],
            ),
            timed("atomic add", &[quick("cpu.atomic", &[("kind", "add")]), cycles("cpu.atomic", &[("kind", "add")])]),
            timed("full fence", &[of("cpu.atomic", &[("kind", "fence")]), cycles("cpu.atomic", &[("kind", "fence")])]),
        ],
    },
    Block {
        title: "Arithmetic, cycles",
        more: "cpu.operation",
        unit: "cycles",
        heads: ARITHMETIC,
        lines: &[
            Line {
                name: "add",
                values: &[
                    quick("cpu.operation.cycles", &[("op", "i64.add")]),
                    of("cpu.operation.cycles", &[("op", "f64.add")]),
                    of("cpu.operation.cycles", &[("op", "f32.add")]),
                ],
            },
            Line {
                name: "multiply",
                values: &[
                    quick("cpu.operation.cycles", &[("op", "i64.mul")]),
                    of("cpu.operation.cycles", &[("op", "f64.mul")]),
                    of("cpu.operation.cycles", &[("op", "f32.mul")]),
                ],
            },
            Line {
                name: "divide",
                values: &[
                    quick("cpu.operation.cycles", &[("op", "i64.div")]),
                    of("cpu.operation.cycles", &[("op", "f64.div")]),
                    of("cpu.operation.cycles", &[("op", "f32.div")]),
                ],
            },
            Line {
                name: "add, independent",
                values: &[
                    of("cpu.operation.throughput_cycles", &[("op", "i64.add")]),
                    of("cpu.operation.throughput_cycles", &[("op", "f64.add")]),
                    of("cpu.operation.throughput_cycles", &[("op", "f32.add")]),
                ],
            },
        ],
    },
    Block {
        title: "Memory",
        more: "mem",
        unit: "",
        heads: &["1 CPU", "all"],
        lines: &[
            Line {
                name: "STREAM triad",
                values: &[
                    of("mem.stream", &[("op", "triad"), ("store", "plain")]),
                    all("mem.stream", &[("op", "triad"), ("store", "plain")]),
                ],
            },
            Line {
                name: "store, no cache",
                values: &[of("mem.bandwidth", &[("op", "write_nt"), ("size", "auto")]), None],
            },
            Line { name: "random reads", values: &[of("mem.random_read", &[]), all("mem.random_read", &[])] },
            Line { name: "misses in flight", values: &[of("mem.parallelism", &[("size", "128M")]), None] },
        ],
    },
    Block {
        title: "Latency under load",
        more: "mem",
        unit: "",
        heads: &["latency", "traffic"],
        lines: &[
            timed(
                "others idle",
                &[
                    of("mem.loaded_latency", &[("pace", "4096")]),
                    of("mem.loaded_latency.bandwidth", &[("pace", "4096")]),
                ],
            ),
            timed(
                "others busy",
                &[of("mem.loaded_latency", &[("pace", "0")]), of("mem.loaded_latency.bandwidth", &[("pace", "0")])],
            ),
        ],
    },
];

/// What the rows of the hardware page are made from.
const ROWS: &[Shown] = &[
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
