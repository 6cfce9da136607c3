//! The tables of lmbench's summary, as data: where the value of each column comes from.

use groma_model::page::Shown;

/// A table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// The subject, with the unit.
    pub(super) title: &'static str,
    /// Multiplier from SI units.
    pub(super) factor: f64,
    /// The columns after host and system.
    pub(super) columns: &'static [Column],
    /// Whether a column of guesses about the caches follows.
    pub(super) guesses: bool,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// The two lines of the heading.
    pub(super) heads: [&'static str; 2],
    /// The first of these that a run has.
    pub(super) of: &'static [Taken],
    /// The table and column of the paper of 1996 that print the same; empty for none.
    pub(super) published: [&'static str; 2],
    /// Multiplier from SI units, where it is not that of the table.
    pub(super) factor: Option<f64>,
}

/// Where a value comes from. Kinds are named as in `groma_published::results`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Taken {
    /// The value of a kind on the machine itself, with these keys.
    Of(&'static str, &'static [u64]),
    /// The same with another machine.
    Remote(&'static str),
    /// The mean of two kinds.
    Mean(&'static str, &'static str),
    /// The inverse of a rate, with these keys.
    Inverse(&'static str, &'static [u64]),
    /// The value at the largest last key; the keys before it are fixed. The last of these keys is
    /// what a run for this column measures.
    Last(&'static str, &'static [u64]),
    /// A metric of groma.
    Metric(Shown),
    /// The copies of each program.
    Copies,
}

use Taken::{Copies, Inverse, Last, Mean, Metric, Of, Remote};

const fn column(heads: [&'static str; 2], of: &'static [Taken]) -> Column {
    Column { heads, of, published: ["", ""], factor: None }
}

impl Column {
    const fn published(self, table: &'static str, head: &'static str) -> Column {
        Column { published: [table, head], ..self }
    }
}

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

const fn latency(size: &'static [(&'static str, &'static str)]) -> Taken {
    Metric(Shown::of("mem.latency", size))
}

const CLOCK: Column =
    Column { factor: Some(1e-6), ..column(["Mhz", ""], &[Of("mhz", &[])]) }.published("table6", "clock");
const SWITCH: Column = column(["2p/0K", "ctxsw"], &[Of("switch", &[0, 2])]).published("table10", "2 proc, 0 KB");

const fn table(title: &'static str, factor: f64, columns: &'static [Column]) -> Table {
    Table { title, factor, columns, guesses: false }
}

/// The columns of an arithmetic: the kinds are `TYPE_OP`.
macro_rules! operations {
    ($($head:literal $kind:literal),*) => {
        &[$(column([$head, ""], &[Of($kind, &[])])),*]
    };
}

/// The tables, in lmbench's order.
pub(super) const TABLES: &[Table] = &[
    table(
        "Basic system parameters",
        1.0,
        &[
            CLOCK,
            column(["tlb", "pages"], &[Of("tlb", &[])]),
            column(["cache", "line B"], &[Of("line", &[])]),
            column(["mem", "par"], &[Last("load_parallelism", &[128 * M])]),
            column(["scal", "load"], &[Copies]),
        ],
    ),
    table(
        "Processor, processes: times in microseconds, smaller is better",
        1e6,
        &[
            CLOCK,
            column(["null", "call"], &[Of("null", &[])]),
            column(["null", "I/O"], &[Mean("read", "write")]),
            column(["stat", ""], &[Of("stat", &[])]),
            column(["open", "clos"], &[Of("open_close", &[])]),
            column(["slct", "TCP"], &[Of("select_tcp", &[100])]),
            column(["sig", "inst"], &[Of("signal_install", &[])]).published("table8", "sigaction"),
            column(["sig", "hndl"], &[Of("signal_catch", &[])]),
            column(["fork", "proc"], &[Of("fork", &[])]).published("table9", "fork & exit"),
            column(["exec", "proc"], &[Of("exec", &[])]).published("table9", "fork, exec & exit"),
            column(["sh", "proc"], &[Of("shell", &[])]).published("table9", "fork, exec sh -c & exit"),
        ],
    ),
    table(
        "Basic integer operations: times in nanoseconds, smaller is better",
        1e9,
        operations!["bit" "int_bit", "add" "int_add", "mul" "int_mul", "div" "int_div", "mod" "int_mod"],
    ),
    table(
        "Basic 64-bit integer operations: times in nanoseconds, smaller is better",
        1e9,
        operations!["bit" "int64_bit", "add" "int64_add", "mul" "int64_mul", "div" "int64_div", "mod" "int64_mod"],
    ),
    table(
        "Basic float operations: times in nanoseconds, smaller is better",
        1e9,
        operations!["add" "float_add", "mul" "float_mul", "div" "float_div", "bogo" "float_bogomflops"],
    ),
    table(
        "Basic double operations: times in nanoseconds, smaller is better",
        1e9,
        operations!["add" "double_add", "mul" "double_mul", "div" "double_div", "bogo" "double_bogomflops"],
    ),
    table(
        "Context switching: times in microseconds, smaller is better",
        1e6,
        &[
            SWITCH,
            column(["2p/16K", "ctxsw"], &[Of("switch", &[16 * K, 2])]),
            column(["2p/64K", "ctxsw"], &[Of("switch", &[64 * K, 2])]),
            column(["8p/16K", "ctxsw"], &[Of("switch", &[16 * K, 8])]),
            column(["8p/64K", "ctxsw"], &[Of("switch", &[64 * K, 8])]),
            column(["16p/16K", "ctxsw"], &[Of("switch", &[16 * K, 16])]),
            column(["16p/64K", "ctxsw"], &[Of("switch", &[64 * K, 16])]),
        ],
    ),
    table(
        "*Local* communication: latencies in microseconds, smaller is better",
        1e6,
        &[
            SWITCH,
            column(["Pipe", ""], &[Of("pipe", &[])]).published("table11", "pipe latency"),
            column(["AF", "UNIX"], &[Of("unix", &[])]),
            column(["UDP", ""], &[Of("udp", &[])]).published("table13", "UDP"),
            column(["RPC/", "UDP"], &[Of("rpc_udp", &[])]).published("table13", "RPC/UDP"),
            column(["TCP", ""], &[Of("tcp", &[])]).published("table12", "TCP"),
            column(["RPC/", "TCP"], &[Of("rpc_tcp", &[])]).published("table12", "RPC/TCP"),
            column(["TCP", "conn"], &[Of("tcp_connect", &[])]).published("table15", "TCP connection"),
        ],
    ),
    table(
        "*Remote* communication: latencies in microseconds, smaller is better",
        1e6,
        &[
            column(["UDP", ""], &[Remote("udp")]).published("table14", "UDP"),
            column(["RPC/", "UDP"], &[Remote("rpc_udp")]),
            column(["TCP", ""], &[Remote("tcp")]).published("table14", "TCP"),
            column(["RPC/", "TCP"], &[Remote("rpc_tcp")]),
            column(["TCP", "conn"], &[Remote("tcp_connect")]),
        ],
    ),
    table(
        "File and VM system: latencies in microseconds, smaller is better",
        1e6,
        &[
            column(["0K file", "create"], &[Inverse("file_create", &[0])]).published("table16", "create"),
            column(["0K file", "delete"], &[Inverse("file_delete", &[0])]).published("table16", "delete"),
            column(["10K file", "create"], &[Inverse("file_create", &[10 * K])]),
            column(["10K file", "delete"], &[Inverse("file_delete", &[10 * K])]),
            column(["Mmap", "latency"], &[Last("mmap", &[M])]),
            column(["Prot", "fault"], &[Of("protection_fault", &[])]),
            column(["Page", "fault"], &[Of("page_fault", &[])]),
            column(["100fd", "select"], &[Of("select_file", &[100])]),
        ],
    ),
    table(
        "*Local* communication: bandwidths in MB/s, bigger is better",
        1e-6,
        &[
            column(["Pipe", ""], &[Of("pipe_bandwidth", &[])]).published("table3", "pipe"),
            column(["AF", "UNIX"], &[Of("unix_bandwidth", &[])]),
            column(["TCP", ""], &[Last("tcp_bandwidth", &[64 * K])]).published("table3", "TCP"),
            column(["File", "reread"], &[Last("file_reread", &[8 * M])]).published("table5", "file read"),
            column(["Mmap", "reread"], &[Last("mmap_reread", &[8 * M])]).published("table5", "file mmap"),
            column(["Bcopy", "(libc)"], &[Last("bcopy", &[8 * M])]).published("table2", "bcopy libc"),
            column(["Bcopy", "(hand)"], &[Last("copy", &[8 * M])]).published("table2", "bcopy unrolled"),
            column(["Mem", "read"], &[Last("mem_read", &[8 * M])]).published("table2", "read"),
            column(["Mem", "write"], &[Last("mem_write", &[8 * M])]).published("table2", "write"),
        ],
    ),
    Table {
        guesses: true,
        ..table(
            "Memory latencies in nanoseconds, smaller is better",
            1e9,
            &[
                CLOCK,
                // lmbench's are loads from 1 and 128 KiB. A survey has a chain in random order,
                // which is the same within a cache.
                column(
                    ["L1 $", ""],
                    &[Of("load", &[128, K]), latency(&[("size", "16K"), ("chain", "amortised"), ("pages", "base")])],
                )
                .published("table6", "L1 latency"),
                column(
                    ["L2 $", ""],
                    &[
                        Of("load", &[128, 128 * K]),
                        latency(&[("size", "128K"), ("chain", "amortised"), ("pages", "base")]),
                    ],
                )
                .published("table6", "L2 latency"),
                column(["Main", "mem"], &[Last("load", &[128, 64 * M])]).published("table6", "memory latency"),
                column(["Rand", "mem"], &[Last("random_load", &[16, 64 * M])]),
            ],
        )
    },
];
