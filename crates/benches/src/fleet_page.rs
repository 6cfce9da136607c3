//! What a run with the profile `fleet` measures: about fifty values that tell a slow host from
//! those that should be equal to it (docs/fleet.md). All CPUs and all NUMA nodes are covered.
//!
//! Chosen for what breaks on hosts: clocks, caches, memory channels, huge pages, kernel settings,
//! interrupts, disks. Values that one of these already shows are left out, and so is whatever takes
//! a worker more than a quarter of a second.

use groma_harness::model::page::{On, Shown};

use crate::pages::{Params, of};

const TRIAD: Params = &[("op", "triad"), ("store", "plain"), ("size", "auto"), ("kernel", "best")];
const RANDOM: Params = &[("size", "auto"), ("chains", "16")];
const PIPE: Params = &[("size", "1")];
const TCP: Params = &[("size", "1"), ("nodelay", "on"), ("family", "v4")];

pub(crate) const FLEET: &[Shown] = &[
    // Clocks: of one CPU, of every one in turn, of all at once.
    of("cpu.frequency", &[("class", "integer")]),
    of("cpu.frequencies", &[]).on(On::Any),
    of("cpu.operation", &[("op", "i64.add")]).on(On::All),
    of("cpu.branch", &[("kind", "mispredicted")]),
    of("cpu.atomic", &[("kind", "add")]),
    of("cpu.core_to_core", &[("protocol", "cas1")]).on(On::Each),
    // Caches and memory.
    of("mem.latency", &[("size", "16K"), ("chain", "amortised"), ("pages", "base")]),
    of("mem.latency", &[("size", "256K"), ("chain", "amortised"), ("pages", "base")]),
    of("mem.latency", &[("size", "8M"), ("chain", "amortised"), ("pages", "base")]),
    of("mem.latency", &[("size", "256M"), ("chain", "amortised"), ("pages", "base")]),
    // 32 huge pages, which a TLB holds; as 4 KiB pages of a host it does not.
    of("mem.latency", &[("size", "64M"), ("chain", "included"), ("pages", "huge")]),
    of("mem.bandwidth", &[("op", "read"), ("size", "256K"), ("kernel", "best")]),
    of("mem.bandwidth", &[("op", "read"), ("size", "8M"), ("kernel", "best")]),
    of("mem.bandwidth", &[("op", "read"), ("size", "auto"), ("kernel", "best")]),
    of("mem.bandwidth", &[("op", "copy"), ("size", "auto"), ("kernel", "best")]),
    of("mem.bandwidth", &[("op", "write_nt"), ("size", "auto"), ("kernel", "best")]),
    of("mem.stream", TRIAD),
    of("mem.stream", TRIAD).on(On::All),
    of("mem.stream", TRIAD).on(On::Nodes),
    of("mem.loaded_latency", &[("pace", "0"), ("generators", "0"), ("mix", "read"), ("level", "dram")]),
    of("mem.random_read", RANDOM),
    of("mem.random_read", RANDOM).on(On::All),
    of("mem.numa", &[("size", "auto"), ("pages", "huge")]).on(On::Each),
    // The kernel.
    of("syscall.getppid", &[]),
    of("syscall.read", &[]),
    of("syscall.open_close", &[("depth", "1")]),
    of("vdso.clock_gettime", &[("clock", "monotonic")]),
    of("vm.fault", &[("kind", "anon_write"), ("object", "private")]),
    of("vm.fault_huge", &[]),
    of("vm.cow", &[]),
    of("proc.fork_exit", &[("resident", "0"), ("pages", "base")]),
    of("ctx.switch", &[("tasks", "2"), ("working_set", "0"), ("kind", "process"), ("access", "update")]),
    of("sched.wakeup", &[("load", "0")]).on(On::Two),
    of("sched.noise", &[("cpus", "all")]),
    of(
        "timer.sleep",
        &[
            ("interface", "nanosleep"),
            ("length", "100us"),
            ("slack", "default"),
            ("policy", "other"),
            ("cpu_dma_latency", "default"),
        ],
    ),
    // Communication on the host.
    of("ipc.pipe_rtt", PIPE),
    of("ipc.pipe_rtt", PIPE).on(On::Two),
    of("net.tcp_rtt", TCP),
    of("net.tcp_rtt", TCP).on(On::Two),
    of(
        "net.tcp_bandwidth",
        &[("size", "64K"), ("buffers", "default"), ("by", "write"), ("touch", "yes"), ("family", "v4")],
    ),
    // Files and disk.
    of("file.create_delete", &[("size", "0"), ("entries", "16"), ("where", "work_dir"), ("object", "private")]),
    of("file.reread", &[("mode", "read"), ("size", "8M"), ("where", "work_dir"), ("object", "private")]),
    of("disk.read", &[("on", "file"), ("size", "4G"), ("position", "0")]),
    of("disk.random_read", &[("on", "file"), ("size", "4G")]),
    of("disk.sync_write", &[("on", "file"), ("size", "4G")]),
];
