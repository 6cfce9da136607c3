//! The lmbench paper of 1996.

use crate::{Axes, Document, Quantity, SYSTEMS, Shape, Take, by, of, take, without};

const TABLE1: &[Quantity] = &[
    without("clock", "cpu.clock_rate", "", "no list of machines is measured; table6 has the clock"),
    without("SPECint92", "cpu.specint92", "", "another suite's number"),
    without("list price", "system.list_price", "", "nothing that a program can measure"),
];
const BCOPY_LIBC: Quantity = take("bcopy libc", "mem.bcopy_libc_bw", "size=8M", "bcopy libc", Take::Half);
const TABLE2: &[Quantity] = &[
    take("bcopy unrolled", "mem.bcopy_unrolled_bw", "size=8M", "bcopy unrolled", Take::Half),
    BCOPY_LIBC,
    of("read", "mem.read_bw", "size=8M", "read"),
    of("write", "mem.write_bw", "size=8M", "write"),
];
const TABLE3: &[Quantity] = &[
    BCOPY_LIBC,
    of("pipe", "pipe.bw", "size=50M block=64K", "pipe"),
    of("TCP", "tcp.bw", "host=loopback block=1M", "TCP"),
];
const TABLE4: &[Quantity] = &[of("TCP", "tcp.bw", "host=remote", "")];
const TABLE5: &[Quantity] = &[
    BCOPY_LIBC,
    of("file read", "file.reread_bw", "size=8M block=64K", "file read"),
    of("memory read", "mem.read_bw", "size=8M", "memory read"),
    of("file mmap", "file.mmap_reread_bw", "size=8M", "file mmap"),
];
const LEVELS: &str = "latencies and sizes";
const TABLE6: &[Quantity] = &[
    take("clock", "cpu.clock_period", "", "clock", Take::Period),
    take("L1 latency", "mem.latency", "level=L1", LEVELS, Take::Latency(1)),
    take("L1 size", "mem.cache_size", "level=L1", LEVELS, Take::Capacity(1)),
    take("L2 latency", "mem.latency", "level=L2", LEVELS, Take::Latency(2)),
    take("L2 size", "mem.cache_size", "level=L2", LEVELS, Take::Capacity(2)),
    take("memory latency", "mem.latency", "level=main", LEVELS, Take::Latency(0)),
];
const TABLE7: &[Quantity] = &[of("system call", "syscall.write_devnull", "bytes=word", "")];
const TABLE8: &[Quantity] =
    &[of("sigaction", "signal.install", "", "sigaction"), of("sig handler", "signal.deliver", "", "sig handler")];
const TABLE9: &[Quantity] = &[
    of("fork & exit", "proc.fork_exit", "", "fork & exit"),
    of("fork, exec & exit", "proc.fork_exec", "", "fork, exec & exit"),
    of("fork, exec sh -c & exit", "proc.fork_sh", "", "fork, exec sh -c & exit"),
];
/// Without the passing of the token and the summing up, which the paper subtracts too.
const NET: Take = Take::Outputs(&["net"]);
const TABLE10: &[Quantity] = &[
    take("2 proc, 0 KB", "ctx.pipe", "procs=2 size=0K", "2 processes, 0 KB", NET),
    take("2 proc, 32 KB", "ctx.pipe", "procs=2 size=32K", "2 processes, 32 KB", NET),
    take("8 proc, 0 KB", "ctx.pipe", "procs=8 size=0K", "8 processes, 0 KB", NET),
    take("8 proc, 32 KB", "ctx.pipe", "procs=8 size=32K", "8 processes, 32 KB", NET),
];
const TABLE11: &[Quantity] = &[of("pipe latency", "pipe.latency", "procs=2 bytes=word", "")];
const TABLE12: &[Quantity] = &[
    of("TCP", "tcp.latency", "host=loopback bytes=word", "TCP"),
    of("RPC/TCP", "rpc_tcp.latency", "host=loopback bytes=word", "RPC/TCP"),
];
const TABLE13: &[Quantity] = &[
    of("UDP", "udp.latency", "host=loopback bytes=word", "UDP"),
    of("RPC/UDP", "rpc_udp.latency", "host=loopback bytes=word", "RPC/UDP"),
];
const TABLE14: &[Quantity] = &[
    of("TCP", "tcp.latency", "host=remote bytes=word", "TCP"),
    of("UDP", "udp.latency", "host=remote bytes=word", "UDP"),
];
const TABLE15: &[Quantity] = &[of("TCP connection", "tcp.connect", "host=loopback", "")];
const TABLE16: &[Quantity] = &[
    of("create", "fs.create", "bytes=0 files=1000", "create"),
    take("delete", "fs.delete", "bytes=0 files=1000", "delete", Take::Outputs(&["delete"])),
];
const TABLE17: &[Quantity] = &[of("overhead", "disk.overhead", "bus=scsi bytes=512", "")];

const FIGURE1: &[Quantity] = &[
    of("8", "mem.latency", "stride=8", ""),
    of("16", "mem.latency", "stride=16", ""),
    of("32", "mem.latency", "stride=32", ""),
    of("64", "mem.latency", "stride=64", ""),
    of("128", "mem.latency", "stride=128", ""),
    of("512", "mem.latency", "stride=512", ""),
    of("1024", "mem.latency", "stride=1024", ""),
    of("2048", "mem.latency", "stride=2048", ""),
    of("4096", "mem.latency", "stride=4096", ""),
    of("8192", "mem.latency", "stride=8192", ""),
    without("16384", "mem.latency", "stride=16384", "no stride is that long"),
];
const SIZES: Axes = Axes { x: "log2_bytes", over: "size", line: "stride" };
const PROCESSES: Axes = Axes { x: "procs", over: "tasks", line: "working_set" };
const FIGURE2: &[Quantity] = &[
    take("0K", "ctx.pipe", "size=0K", "", NET),
    take("4K", "ctx.pipe", "size=4K", "", NET),
    take("16K", "ctx.pipe", "size=16K", "", NET),
    take("32K", "ctx.pipe", "size=32K", "", NET),
    take("64K", "ctx.pipe", "size=64K", "", NET),
];

const LABEL: &str = "a label of the figure";
const LABELS1: &[Quantity] = &[
    without("L1 size", "mem.cache_size", "level=L1", LABEL),
    without("second L1 size", "mem.cache_size", "level=L1.5", LABEL),
    without("L2 size", "mem.cache_size", "level=L2", LABEL),
    without("memory latency", "mem.latency", "level=main", LABEL),
];
const LABELS2: &[Quantity] =
    &[without("overhead", "ctx.overhead", "", LABEL), without("L2 size", "mem.cache_size", "level=L2", LABEL)];

pub(crate) const DOCUMENT: Document = Document {
    name: "lmbench1996",
    title: "McVoy and Staelin, \"lmbench: Portable Tools for Performance Analysis\", USENIX 1996",
    year: "1996",
    known_by: &["Linux/i686", "SGI Challenge", "Sun Ultra1"],
    programs: &[],
    tables: tables! { "lmbench1996";
        "table1": "System descriptions", "table01_systems", SYSTEMS, TABLE1;
        "table2": "Memory bandwidth", "table02_memory_bandwidth", by(0), TABLE2;
        "table3": "Pipe and local TCP bandwidth", "table03_ipc_bandwidth", by(1), TABLE3;
        "table4": "Remote TCP bandwidth", "table04_remote_tcp_bandwidth", by(0), TABLE4;
        "table5": "File against memory bandwidth", "table05_file_bandwidth", by(1), TABLE5;
        "table6": "Cache and memory latency", "table06_memory_latency", by(3), TABLE6;
        "table7": "Simple system call time", "table07_syscall", by(0), TABLE7;
        "table8": "Signal times", "table08_signal", by(1), TABLE8;
        "table9": "Process creation time", "table09_process_creation", by(1), TABLE9;
        "table10": "Context switch time", "table10_context_switch", by(0), TABLE10;
        "table11": "Pipe latency", "table11_pipe_latency", by(0), TABLE11;
        "table12": "TCP latency, local", "table12_tcp_latency", by(1), TABLE12;
        "table13": "UDP latency, local", "table13_udp_latency", by(1), TABLE13;
        "table14": "Remote latencies", "table14_remote_latency", by(0), TABLE14;
        "table15": "TCP connect latency", "table15_tcp_connect", by(0), TABLE15;
        "table16": "File system latency", "table16_fs_latency", by(1), TABLE16;
        "table17": "SCSI I/O overhead", "table17_disk_overhead", by(0), TABLE17;
        "figure1": "Memory latency by size and stride", "figure1_points", Shape::Figure(SIZES), FIGURE1;
        "figure1_text": "Labels of figure 1", "figure1_text", Shape::Quantities, LABELS1;
        "figure2": "Context switches by processes and size", "figure2_points", Shape::Figure(PROCESSES), FIGURE2;
        "figure2_text": "Overheads in figure 2", "figure2_text", Shape::Quantities, LABELS2;
        "systems": "The machines", "systems", Shape::Raw, &[];
    },
    pictures: &[],
};
