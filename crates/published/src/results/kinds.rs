//! The lines of a result file, in the order in which lmbench's driver writes them, and the metrics
//! of groma that measure the same.
//!
//! A line has a metric of groma (`is`) only where the definition is the same up to a fixed factor;
//! the factors are:
//!
//! - 2 for copies: lmbench counts a copied byte once, groma as read and as written. The working set
//!   of groma holds source and destination, so its size is twice lmbench's.
//! - the inverse for files: lmbench prints creations and deletions a second, groma the time of one.
//!
//! Everything else is `lmbench.NAME`, and what fills such a line from a run of groma is `near`. Why
//! some familiar programs are only near: `stat` and `open` look up other paths; `select` has 100
//! duplicates of one descriptor; the arithmetic is what the compiler left of it (an addition of
//! 0.01 ns), and bogomflops is a division with a little more; a connection includes the making and
//! closing of its socket; semaphores and record locks are half a trip of another protocol; page
//! faults, mappings and protection faults are net of something else; partial reads and writes
//! credit bytes that they never touch; STREAM's add is the sum; files over HTTP are of all sizes;
//! seeks and zones of a disk are at other places, and none is too short to count.
//!
//! Where only the width of a word differs, which is the compiler's affair there, a line has a
//! metric: lmbench's loops over memory move 4 bytes at a time, and groma's 8. In memory that is no
//! difference, in the first cache a factor of two.

use super::{Column, Form, Kind, Ours, PERCENT, Tasks, Unit};

use Column::{Megabytes, MegabytesCoarsely, MegabytesExactly};
use Form::{Counted, Files, Head, Http, Label, Load, Named, NamedRow, Row, Switch, SwitchOverhead, Tlb, WriteRate};

type Params = &'static [(&'static str, &'static str)];
type Keys = &'static [(&'static str, u64)];

const fn of(metric: &'static str, params: Params) -> Ours {
    Ours { metric, params, keys: &[], factor: 1.0, inverse: false, less: None, note: "" }
}

impl Ours {
    const fn keys(self, keys: Keys) -> Ours {
        Ours { keys, ..self }
    }

    const fn note(self, note: &'static str) -> Ours {
        Ours { note, ..self }
    }

    /// The bandwidth of a copy.
    const fn copied(self) -> Ours {
        Ours { factor: 2.0, note: COPIED, ..self }
    }

    const fn inverse(self) -> Ours {
        Ours { inverse: true, note: "lmbench prints the rate", ..self }
    }

    /// Without what this metric says.
    const fn less(self, metric: &'static str, params: Params) -> Ours {
        Ours { less: Some((metric, params)), ..self }
    }

    const fn times(self, factor: f64) -> Ours {
        Ours { factor, ..self }
    }
}

impl Kind {
    const fn is(self, ours: Ours) -> Kind {
        Kind { ours: Some(ours), ..self }
    }

    const fn near(self, near: &'static [Ours]) -> Kind {
        Kind { near, ..self }
    }

    const fn keys(self, keys: &'static [&'static str]) -> Kind {
        Kind { keys, ..self }
    }

    const fn several(self) -> Kind {
        Kind { tasks: Tasks::Several, ..self }
    }

    const fn alone(self) -> Kind {
        Kind { takes_copies: false, ..self }
    }
}

const fn kind(name: &'static str, what: &'static str, form: Form, unit: Unit) -> Kind {
    Kind { name, what, form, unit, keys: &[], ours: None, near: &[], tasks: Tasks::One, takes_copies: true }
}

const fn us(name: &'static str, what: &'static str, label: &'static str) -> Kind {
    kind(name, what, Label(label), Unit::Microseconds)
}

/// An operation of the processor. Its program ignores `-P`.
const fn op(name: &'static str, label: &'static str, near: &'static [Ours]) -> Kind {
    kind(name, "lat_ops: an operation of the processor, as compiled", Label(label), Unit::Nanoseconds)
        .near(near)
        .alone()
}

const fn par(name: &'static str, label: &'static str, near: &'static [Ours]) -> Kind {
    kind(name, "par_ops: operations that overlap", Label(label), Unit::Ratio).near(near).alone()
}

const fn stream(name: &'static str, label: &'static str, near: &'static [Ours]) -> Kind {
    kind(name, "stream: a loop over arrays", Label(label), Unit::Megabytes).near(near)
}

const fn stream_ns(name: &'static str, label: &'static str, near: &'static [Ours]) -> Kind {
    kind(name, "stream: a loop over arrays, an element", Label(label), Unit::Nanoseconds).near(near)
}

const fn bandwidth(name: &'static str, what: &'static str, marker: &'static str) -> Kind {
    kind(name, what, Row(marker, Megabytes), Unit::Megabytes).keys(&["size"])
}

/// The operation in an iteration of `cpu.operation`.
macro_rules! operation {
    ($op:literal) => {
        &[of("cpu.operation", &[("op", $op)])]
    };
}

macro_rules! parallel {
    ($op:literal) => {
        &[of("cpu.operation.parallelism", &[("op", $op)])]
    };
}

macro_rules! vector {
    ($op:literal) => {
        &[of("cpu.operation.throughput", &[("op", $op)])]
    };
}

/// The time of an element, for which so many bytes count.
macro_rules! element {
    ($op:literal, $bytes:literal) => {
        &[of("mem.stream", &[("op", $op), ("store", "plain")]).inverse().times($bytes)]
    };
}

/// The bytes that are touched, of those that lmbench credits; and how many buffers there are.
macro_rules! partial {
    ($op:literal, $share:literal, $keys:expr) => {
        &[of("mem.partial", &[("op", $op)]).keys($keys).times($share)]
    };
}

macro_rules! streamed {
    ($op:literal) => {
        &[
            of("mem.stream", &[("op", $op), ("store", "plain"), ("kernel", "portable")]),
            of("mem.stream", &[("op", $op), ("store", "plain")]),
        ]
    };
}

/// The pages of 4 MiB, of 4 KiB: a run does not tell how long its pages are.
const PAGES: f64 = 1024.0;
const COPIED: &str = "groma counts a copied byte twice, lmbench once";
const COPIED_WIDER: &str = "groma counts a copied byte twice and moves 8 at a time, lmbench 4";
const BY_NUMBER: &str = "lmbench calls through libc, groma by number";
const CLASS: Params = &[("class", "integer")];
const SIZE: Keys = &[("size", 1)];
const COPY: Keys = &[("size", 2)];
const PORTABLE: (&str, &str) = ("kernel", "portable");
const MADE: Params = &[("entries", "100"), ("order", "batch"), ("where", "work_dir"), ("object", "private")];

/// All kinds of lines.
pub const KINDS: &[Kind] = &[
    kind("mhz", "the clock of the core", Head("MHZ"), Unit::Megahertz).is(of("cpu.frequency", CLASS)).alone(),
    kind("line", "the size of a cache line", Head("LINE_SIZE"), Unit::Bytes).is(of("mem.line", &[])).alone(),
    us("null", "lat_syscall null: getppid", "Simple syscall")
        .is(of("syscall.getppid_libc", &[]))
        .near(&[of("syscall.getppid", &[])]),
    us("read", "lat_syscall read: a byte of /dev/zero", "Simple read").is(of("syscall.read", &[]).note(BY_NUMBER)),
    us("write", "lat_syscall write: a byte to /dev/null", "Simple write")
        .is(of("syscall.write_libc", &[("bytes", "1")]))
        .near(&[of("syscall.write", &[])]),
    us("stat", "lat_syscall stat: of a file by its path", "Simple stat").near(&[of("syscall.stat", &[("depth", "1")])]),
    us("fstat", "lat_syscall fstat: of an open file", "Simple fstat")
        .is(of("syscall.fstat_libc", &[]))
        .near(&[of("syscall.fstat", &[])]),
    us("open_close", "lat_syscall open: and close, by path", "Simple open/close")
        .near(&[of("syscall.open_close", &[("depth", "1")])]),
    kind(
        "select_file",
        "lat_select file: duplicates of one descriptor",
        Counted("Select on", "fd's"),
        Unit::Microseconds,
    )
    .keys(&["count"])
    .near(&[of("ready.select", &[("kind", "eventfd"), ("ready", "all")]).keys(&[("count", 1)])]),
    kind(
        "select_tcp",
        "lat_select tcp: duplicates of one connection",
        Counted("Select on", "tcp fd's"),
        Unit::Microseconds,
    )
    .keys(&["count"])
    .near(&[of("ready.select", &[("kind", "tcp"), ("ready", "all")]).keys(&[("count", 1)])]),
    us("signal_install", "lat_sig install: sigaction", "Signal handler installation")
        .is(of("signal.install", &[]).note(BY_NUMBER)),
    us("signal_catch", "lat_sig catch: a signal to itself, without the kill", "Signal handler overhead").is(of(
        "signal.catch.net",
        &[],
    )
    .note("lmbench calls kill through libc, groma tgkill by number")),
    us("protection_fault", "lat_sig prot: a store into a read-only page, without a signal's cost", "Protection fault")
        .near(&[of("signal.fault", &[("kind", "write")]).less("signal.catch.net", &[])]),
    us("pipe", "lat_pipe: a byte there and back", "Pipe latency").is(of("ipc.pipe_rtt", &[("size", "1")])).several(),
    us("fifo", "lat_fifo: a byte there and back", "Fifo latency").is(of("ipc.fifo_rtt", &[("size", "1")])).several(),
    us("unix", "lat_unix: a byte there and back", "AF_UNIX sock stream latency")
        .is(of("ipc.unix_rtt", &[("size", "1"), ("kind", "stream"), ("socket", "pair")]))
        .several(),
    us("semaphore", "lat_sem: half a trip over System V semaphores", "Semaphore latency").several(),
    us("fcntl_lock", "lat_fcntl: half a trip over locked files", "Fcntl lock latency").several(),
    us("unix_connect", "lat_unix_connect: socket, connect, close", "UNIX connection cost").several(),
    us("procedure", "lat_proc procedure: a call that adds to memory", "Procedure call"),
    us("fork", "lat_proc fork: fork, exit, wait", "Process fork+exit")
        .is(of("proc.fork_exit", &[("resident", "0"), ("pages", "base")]))
        .several(),
    us("exec", "lat_proc exec: fork, execve, wait", "Process fork+execve")
        .is(of("proc.exec", &[("target", "dynamic"), ("by", "fork"), ("from", "file")])
            .note("lmbench's program writes 12 bytes, groma's one"))
        .several(),
    us("shell", "lat_proc shell: fork, /bin/sh -c, wait", "Process fork+/bin/sh -c")
        .is(of("proc.shell", &[("command", "target"), ("by", "fork")])
            .note("lmbench's program writes 12 bytes, groma's one"))
        .several(),
    us("static_fork", "lat_proc fork of a static program", "Static Process fork+exit").several(),
    us("static_exec", "lat_proc exec of a static program", "Static Process fork+execve").several(),
    us("static_shell", "lat_proc shell of a static program", "Static Process fork+/bin/sh -c").several(),
    op("int_bit", "integer bit", operation!("i32.xor")),
    op("int_add", "integer add", operation!("i32.add")),
    op("int_mul", "integer mul", operation!("i32.mul")),
    op("int_div", "integer div", operation!("i32.div")),
    op("int_mod", "integer mod", operation!("i32.mod")),
    op("int64_bit", "int64 bit", operation!("i64.xor")),
    op("int64_add", "int64 add", operation!("i64.add")),
    op("int64_mul", "int64 mul", operation!("i64.mul")),
    op("int64_div", "int64 div", operation!("i64.div")),
    op("int64_mod", "int64 mod", operation!("i64.mod")),
    op("float_add", "float add", operation!("f32.add")),
    op("float_mul", "float mul", operation!("f32.mul")),
    op("float_div", "float div", operation!("f32.div")),
    op("double_add", "double add", operation!("f64.add")),
    op("double_mul", "double mul", operation!("f64.mul")),
    op("double_div", "double div", operation!("f64.div")),
    op("float_bogomflops", "float bogomflops", vector!("f32.div")),
    op("double_bogomflops", "double bogomflops", vector!("f64.div")),
    par("int_bit_par", "integer bit parallelism", parallel!("i32.xor")),
    par("int_add_par", "integer add parallelism", parallel!("i32.add")),
    par("int_mul_par", "integer mul parallelism", parallel!("i32.mul")),
    par("int_div_par", "integer div parallelism", parallel!("i32.div")),
    par("int_mod_par", "integer mod parallelism", parallel!("i32.mod")),
    par("int64_bit_par", "int64 bit parallelism", parallel!("i64.xor")),
    par("int64_add_par", "int64 add parallelism", parallel!("i64.add")),
    par("int64_mul_par", "int64 mul parallelism", parallel!("i64.mul")),
    par("int64_div_par", "int64 div parallelism", parallel!("i64.div")),
    par("int64_mod_par", "int64 mod parallelism", parallel!("i64.mod")),
    par("float_add_par", "float add parallelism", parallel!("f32.add")),
    par("float_mul_par", "float mul parallelism", parallel!("f32.mul")),
    par("float_div_par", "float div parallelism", parallel!("f32.div")),
    par("double_add_par", "double add parallelism", parallel!("f64.add")),
    par("double_mul_par", "double mul parallelism", parallel!("f64.mul")),
    par("double_div_par", "double div parallelism", parallel!("f64.div")),
    kind("random_drand48", "lat_rand: drand48", Label("drand48 latency"), Unit::Nanoseconds)
        .is(of("cpu.random", &[("kind", "drand48")])),
    kind("random_lrand48", "lat_rand: lrand48", Label("lrand48 latency"), Unit::Nanoseconds)
        .is(of("cpu.random", &[("kind", "lrand48")])),
    kind("file_write", "lmdd: a file written, with fsync", WriteRate, Unit::Kilobytes),
    kind("page_fault", "lat_pagefault: a page of a mapped file", Named("Pagefaults on"), Unit::Microseconds)
        .near(&[of("vm.map", &[("size", "4M"), ("backing", "file"), ("touch", "all")]).times(PAGES)]),
    kind("mmap", "lat_mmap: mmap, a tenth touched, munmap", Row("mappings", MegabytesExactly), Unit::Microseconds)
        .keys(&["size"])
        .near(&[of("vm.map", &[("backing", "file"), ("touch", "tenth")]).keys(SIZE)]),
    kind("file_create", "lat_fs: files created", Files(2), Unit::PerSecond).keys(&["size"]).is(of(
        "file.create_delete",
        MADE,
    )
    .keys(SIZE)
    .inverse()),
    kind("file_delete", "lat_fs: files removed", Files(3), Unit::PerSecond).keys(&["size"]).is(of(
        "file.create_delete.delete",
        MADE,
    )
    .keys(SIZE)
    .inverse()),
    kind(
        "disk_seek",
        "disk: a seek over a distance",
        NamedRow("Seek times for", MegabytesCoarsely),
        Unit::Milliseconds,
    )
    .keys(&["distance"])
    .near(&[of("disk.seek", &[]).keys(&[("distance", PERCENT)])])
    .alone(),
    kind("disk_zone", "disk: a read at an offset", NamedRow("Zone bandwidth for", MegabytesCoarsely), Unit::Megabytes)
        .keys(&["offset"])
        .near(&[of("disk.read", &[]).keys(&[("position", PERCENT)])])
        .alone(),
    kind("udp", "lat_udp: 4 bytes there and back", Named("UDP latency using"), Unit::Microseconds)
        .is(of("net.udp_rtt", &[("size", "4"), ("family", "v4")]))
        .several(),
    kind("tcp", "lat_tcp: a byte there and back", Named("TCP latency using"), Unit::Microseconds)
        .is(of("net.tcp_rtt", &[("size", "1"), ("nodelay", "off"), ("family", "v4")]))
        .several(),
    kind("rpc_udp", "lat_rpc: a call over UDP", Named("RPC/udp latency using"), Unit::Microseconds)
        .is(of("rpc.null", &[("transport", "udp")]).note("groma has no RPC library in between"))
        .several(),
    kind("rpc_tcp", "lat_rpc: a call over TCP", Named("RPC/tcp latency using"), Unit::Microseconds)
        .is(of("rpc.null", &[("transport", "tcp")]).note("groma has no RPC library in between"))
        .several(),
    kind("tcp_connect", "lat_connect: socket, connect, close", Named("TCP/IP connection cost to"), Unit::Microseconds)
        .near(&[of("net.tcp_connect", &[])])
        .several()
        .alone(),
    kind("tcp_bandwidth", "bw_tcp: by message", NamedRow("Socket bandwidth using", Megabytes), Unit::Megabytes)
        .keys(&["size"])
        .near(&[
            of("net.tcp_bandwidth", &[("buffers", "4M"), ("by", "write"), ("touch", "no")]).keys(SIZE),
            of("net.tcp_bandwidth", &[("buffers", "4M")]).keys(SIZE),
            of("net.tcp_bandwidth", &[]).keys(SIZE),
        ])
        .several(),
    kind("http", "lat_http: files fetched", Http, Unit::Megabytes)
        .near(&[of("http.get", &[("size", "10K"), ("connection", "close"), ("from", "file")]).inverse().times(10240.0)])
        .several()
        .alone(),
    kind("unix_bandwidth", "bw_unix: 64 KiB a write", Label("AF_UNIX sock stream bandwidth"), Unit::Megabytes)
        .is(of("ipc.unix_bandwidth", &[("size", "64K"), ("kind", "stream"), ("buffer", "default"), ("touch", "no")]))
        .near(&[of("ipc.unix_bandwidth", &[("size", "64K"), ("kind", "stream"), ("buffer", "default")])])
        .several(),
    kind("pipe_bandwidth", "bw_pipe: 64 KiB a write", Label("Pipe bandwidth"), Unit::Megabytes)
        .is(of("ipc.pipe_bandwidth", &[("size", "64K"), ("buffer", "default"), ("by", "write"), ("touch", "no")]))
        .near(&[of("ipc.pipe_bandwidth", &[("size", "64K"), ("buffer", "default"), ("by", "write")])])
        .several(),
    bandwidth("file_reread", "bw_file_rd io_only: read and summed", "read bandwidth").is(of(
        "file.reread",
        &[("mode", "read_sum"), ("block", "64K")],
    )
    .keys(SIZE)),
    bandwidth("file_open_reread", "bw_file_rd open2close: with open and close", "read open2close bandwidth").is(of(
        "file.reread",
        &[("mode", "open_close"), ("block", "64K")],
    )
    .keys(SIZE)),
    bandwidth("mmap_reread", "bw_mmap_rd mmap_only: summed in a mapping", "Mmap read bandwidth").is(of(
        "file.mmap_reread",
        &[("mode", "mapped")],
    )
    .keys(SIZE)),
    bandwidth(
        "mmap_open_reread",
        "bw_mmap_rd open2close: with open, mmap and their ends",
        "Mmap read open2close bandwidth",
    )
    .is(of("file.mmap_reread", &[("mode", "open_close")]).keys(SIZE)),
    bandwidth("bcopy", "bw_mem bcopy: by libc", "libc bcopy unaligned").is(of(
        "mem.libc",
        &[("op", "bcopy"), ("call", "whole")],
    )
    .keys(&[("buffer", 2)])
    .copied()),
    bandwidth(
        "bcopy_conflict",
        "bw_mem bcopy conflict: by libc, the target in the middle of a page",
        "libc bcopy aligned",
    )
    .near(&[of("mem.libc", &[("op", "bcopy"), ("call", "whole")]).keys(&[("buffer", 2)]).copied()]),
    bandwidth("bzero", "bw_mem bzero: by libc", "Memory bzero bandwidth").near(&[of(
        "mem.libc",
        &[("op", "memset"), ("call", "whole")],
    )
    .keys(&[("buffer", 1)])]),
    bandwidth("copy", "bw_mem fcp: every word copied", "unrolled bcopy unaligned").is(of(
        "mem.bandwidth",
        &[("op", "copy"), ("kernel", "portable")],
    )
    .keys(COPY)
    .copied()
    .note(COPIED_WIDER)),
    bandwidth("partial_copy", "bw_mem cp: a word of four", "unrolled partial bcopy unaligned")
        .near(partial!("copy", 0.5, COPY)),
    bandwidth("mem_read", "bw_mem frd: every word read", "Memory read bandwidth").is(of(
        "mem.bandwidth",
        &[("op", "read"), PORTABLE],
    )
    .keys(SIZE)
    .note("groma loads 8 bytes at a time and adds nothing up, lmbench 4")),
    bandwidth("partial_read", "bw_mem rd: a word of four", "Memory partial read bandwidth")
        .near(partial!("read", 0.25, SIZE)),
    bandwidth("mem_write", "bw_mem fwr: every word written", "Memory write bandwidth").is(of(
        "mem.bandwidth",
        &[("op", "write"), PORTABLE],
    )
    .keys(SIZE)
    .note("groma stores 8 bytes at a time, lmbench 4")),
    bandwidth("partial_write", "bw_mem wr: a word of four", "Memory partial write bandwidth")
        .near(partial!("write", 0.25, SIZE)),
    bandwidth("partial_update", "bw_mem rdwr: a word of four", "Memory partial read/write bandwidth")
        .near(partial!("update", 0.5, SIZE)),
    kind("switch_overhead", "lat_ctx: pipe and sum in one process", SwitchOverhead, Unit::Microseconds)
        .keys(&["working_set"])
        .near(&[of("ctx.switch.hot", &[("kind", "process"), ("access", "read"), ("tasks", "2")])
            .keys(&[("working_set", 1)])]),
    kind("switch", "lat_ctx: a switch, without the pipe", Switch, Unit::Microseconds)
        .keys(&["working_set", "tasks"])
        .is(of("ctx.switch.net", &[("kind", "process"), ("access", "read")]).keys(&[("working_set", 1), ("tasks", 1)]))
        .several(),
    kind("tlb", "tlb: pages that it holds", Tlb(0), Unit::Count)
        .is(of("mem.tlb", &[("pages", "base"), ("layout", "contiguous")]))
        .alone(),
    kind("tlb_miss", "tlb -c: what a miss costs", Tlb(1), Unit::Nanoseconds).alone(),
    kind("load_parallelism", "par_mem: loads that overlap", Row("Memory load parallelism", Megabytes), Unit::Ratio)
        .keys(&["size"])
        .is(of("mem.parallelism", &[("pages", "base")]).keys(SIZE))
        .alone(),
    stream_ns("stream_copy_ns", "STREAM copy latency", element!("copy", 16.0)),
    stream("stream_copy", "STREAM copy bandwidth", streamed!("copy")),
    stream_ns("stream_scale_ns", "STREAM scale latency", element!("scale", 16.0)),
    stream("stream_scale", "STREAM scale bandwidth", streamed!("scale")),
    stream_ns("stream_add_ns", "STREAM add latency", element!("add", 24.0)),
    stream("stream_add", "STREAM add bandwidth", streamed!("add")),
    stream_ns("stream_triad_ns", "STREAM triad latency", element!("triad", 24.0)),
    stream("stream_triad", "STREAM triad bandwidth", streamed!("triad")),
    stream_ns("stream2_fill_ns", "STREAM2 fill latency", element!("fill", 8.0)),
    stream("stream2_fill", "STREAM2 fill bandwidth", streamed!("fill")),
    stream_ns("stream2_copy_ns", "STREAM2 copy latency", element!("copy", 16.0)),
    stream("stream2_copy", "STREAM2 copy bandwidth", streamed!("copy")),
    stream_ns("stream2_daxpy_ns", "STREAM2 daxpy latency", element!("daxpy", 24.0)),
    stream("stream2_daxpy", "STREAM2 daxpy bandwidth", streamed!("daxpy")),
    stream_ns("stream2_sum_ns", "STREAM2 sum latency", element!("sum", 8.0)),
    stream("stream2_sum", "STREAM2 sum bandwidth", streamed!("sum")),
    kind("load", "lat_mem_rd: a load, at a stride", Load("Memory load latency"), Unit::Nanoseconds)
        .keys(&["stride", "size"])
        .is(of("mem.stride", &[("pages", "base")]).keys(&[("stride", 1), ("size", 1)])),
    kind(
        "random_load",
        "lat_mem_rd -t: a load, each from another page",
        Load("Random load latency"),
        Unit::Nanoseconds,
    )
    .keys(&["stride", "size"])
    .near(&[of("mem.latency", &[("chain", "included"), ("pages", "base")]).keys(&[("", 1), ("size", 1)])]),
];
