//! The metrics in the cells of lmbench's summary: the operations that
//! `groma_published::REPEATS` names, or else
//! the survey's variant that calls by number instead of through libc.
//!
//! The two sides of a communication are pinned to one CPU; lmbench leaves that to the scheduler.

use crate::print::name;
use crate::program::Program;
use groma_harness::model::is_metric_of;
use groma_harness::model::page::Shown;
use groma_report::{LmbenchColumn, LmbenchTable};

type Alternatives = &'static [&'static [Shown]];

const fn column(heads: [&'static str; 2], factor: f64, of: Alternatives) -> LmbenchColumn {
    LmbenchColumn { heads, of, factor }
}

const fn micros(heads: [&'static str; 2], of: Alternatives) -> LmbenchColumn {
    column(heads, 1e6, of)
}

const fn nanos(heads: [&'static str; 2], of: Alternatives) -> LmbenchColumn {
    column(heads, 1e9, of)
}

/// Megabytes of 10^6 bytes per second.
const fn megabytes(heads: [&'static str; 2], of: Alternatives) -> LmbenchColumn {
    column(heads, 1e-6, of)
}

/// Bandwidths of copies: lmbench counts a byte once, groma twice, as read and as written.
const fn copied(heads: [&'static str; 2], of: Alternatives) -> LmbenchColumn {
    column(heads, 0.5e-6, of)
}

const fn of(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Shown {
    Shown::of(metric, params)
}

/// A cell of one metric.
macro_rules! one {
    ($metric:literal $(, $name:ident = $value:literal)*) => {
        &[&[of($metric, &[$((stringify!($name), $value)),*])]]
    };
}

/// A context switch between processes that read their data.
macro_rules! switch {
    ($tasks:literal, $size:literal) => {
        one!("ctx.switch.net", tasks = $tasks, working_set = $size, kind = "process", access = "read")
    };
}

/// Loads from a buffer that fits a cache: with a stride as in lmbench, or in random order.
macro_rules! cached {
    ($size:literal) => {
        &[
            &[of("mem.stride", &[("size", $size), ("stride", "128")])],
            &[of("mem.latency", &[("size", $size), ("chain", "amortised"), ("pages", "base")])],
        ]
    };
}

const CLOCK: LmbenchColumn = column(["Mhz", ""], 1e-6, one!("cpu.frequency", class = "integer"));

/// The tables, in lmbench's order.
pub(crate) const TABLES: &[LmbenchTable] = &[
    LmbenchTable {
        title: "Basic system parameters",
        columns: &[
            CLOCK,
            column(["tlb", "pages"], 1.0, one!("mem.tlb", pages = "base", layout = "contiguous")),
            column(["cache", "line B"], 1.0, one!("mem.line")),
            column(["mem", "par"], 1.0, one!("mem.parallelism", size = "128M")),
        ],
    },
    LmbenchTable {
        title: "Processor, processes: times in microseconds, smaller is better",
        columns: &[
            CLOCK,
            micros(["null", "call"], &[&[of("syscall.getppid_libc", &[])], &[of("syscall.getppid", &[])]]),
            micros(
                ["null", "I/O"],
                &[
                    &[of("syscall.read", &[]), of("syscall.write_libc", &[("bytes", "1")])],
                    &[of("syscall.read", &[]), of("syscall.write", &[])],
                ],
            ),
            micros(["stat", ""], one!("syscall.stat", depth = "1")),
            micros(["open", "clos"], one!("syscall.open_close", depth = "1")),
            micros(["slct", "TCP"], one!("ready.select", count = "100", kind = "tcp", ready = "all")),
            micros(["sig", "inst"], one!("signal.install")),
            micros(["sig", "hndl"], one!("signal.catch.net")),
            micros(["fork", "proc"], one!("proc.fork_exit", resident = "0")),
            micros(["exec", "proc"], one!("proc.exec", target = "dynamic", by = "fork")),
            micros(["sh", "proc"], one!("proc.shell", command = "target", by = "fork")),
        ],
    },
    LmbenchTable {
        title: "Integer operations: times in nanoseconds, smaller is better",
        columns: &[
            nanos(["int", "bit"], one!("cpu.operation", op = "i32.xor")),
            nanos(["int", "add"], one!("cpu.operation", op = "i32.add")),
            nanos(["int", "mul"], one!("cpu.operation", op = "i32.mul")),
            nanos(["int", "div"], one!("cpu.operation", op = "i32.div")),
            nanos(["int", "mod"], one!("cpu.operation", op = "i32.mod")),
            nanos(["int64", "bit"], one!("cpu.operation", op = "i64.xor")),
            nanos(["int64", "add"], one!("cpu.operation", op = "i64.add")),
            nanos(["int64", "mul"], one!("cpu.operation", op = "i64.mul")),
            nanos(["int64", "div"], one!("cpu.operation", op = "i64.div")),
            nanos(["int64", "mod"], one!("cpu.operation", op = "i64.mod")),
        ],
    },
    LmbenchTable {
        title: "Floating-point operations: times in nanoseconds, smaller is better",
        columns: &[
            nanos(["float", "add"], one!("cpu.operation", op = "f32.add")),
            nanos(["float", "mul"], one!("cpu.operation", op = "f32.mul")),
            nanos(["float", "div"], one!("cpu.operation", op = "f32.div")),
            nanos(["double", "add"], one!("cpu.operation", op = "f64.add")),
            nanos(["double", "mul"], one!("cpu.operation", op = "f64.mul")),
            nanos(["double", "div"], one!("cpu.operation", op = "f64.div")),
        ],
    },
    LmbenchTable {
        title: "Context switching: times in microseconds, smaller is better",
        columns: &[
            micros(["2p/0K", "ctxsw"], switch!("2", "0")),
            micros(["2p/16K", "ctxsw"], switch!("2", "16K")),
            micros(["2p/64K", "ctxsw"], switch!("2", "64K")),
            micros(["8p/16K", "ctxsw"], switch!("8", "16K")),
            micros(["8p/64K", "ctxsw"], switch!("8", "64K")),
            micros(["16p/16K", "ctxsw"], switch!("16", "16K")),
            micros(["16p/64K", "ctxsw"], switch!("16", "64K")),
        ],
    },
    LmbenchTable {
        title: "*Local* communication: latencies in microseconds, smaller is better",
        columns: &[
            micros(["2p/0K", "ctxsw"], switch!("2", "0")),
            micros(["Pipe", ""], one!("ipc.pipe_rtt", size = "1")),
            micros(["AF", "UNIX"], one!("ipc.unix_rtt", size = "1", kind = "stream", socket = "pair")),
            micros(["UDP", ""], one!("net.udp_rtt", size = "4")),
            micros(["RPC/", "UDP"], one!("rpc.null", transport = "udp")),
            micros(["TCP", ""], one!("net.tcp_rtt", size = "1", nodelay = "off")),
            micros(["RPC/", "TCP"], one!("rpc.null", transport = "tcp")),
            micros(["TCP", "conn"], one!("net.tcp_connect")),
        ],
    },
    LmbenchTable {
        title: "File and VM system: latencies in microseconds, smaller is better",
        columns: &[
            micros(["0K file", "create"], one!("file.create_delete", size = "0", entries = "100", order = "batch")),
            micros(
                ["0K file", "delete"],
                one!("file.create_delete.delete", size = "0", entries = "100", order = "batch"),
            ),
            micros(["10K file", "create"], one!("file.create_delete", size = "10K", entries = "100", order = "batch")),
            micros(
                ["10K file", "delete"],
                one!("file.create_delete.delete", size = "10K", entries = "100", order = "batch"),
            ),
            micros(["Mmap 1M", "latency"], one!("vm.map", size = "1M", backing = "file", touch = "none")),
            micros(["Prot", "fault"], one!("signal.fault", kind = "write")),
            micros(["Page", "fault"], one!("vm.fault", kind = "file_around")),
            micros(["100fd", "select"], one!("ready.select", count = "100", kind = "tcp", ready = "all")),
        ],
    },
    LmbenchTable {
        title: "*Local* communication: bandwidths in MB/s, bigger is better",
        columns: &[
            megabytes(["Pipe", ""], one!("ipc.pipe_bandwidth", size = "64K", buffer = "default", by = "write")),
            megabytes(["AF", "UNIX"], one!("ipc.unix_bandwidth", size = "64K", kind = "stream")),
            megabytes(["TCP", ""], one!("net.tcp_bandwidth", size = "64K", buffers = "4M")),
            megabytes(["File", "reread"], one!("file.reread", mode = "read_sum", size = "8M", block = "64K")),
            megabytes(["Mmap", "reread"], one!("file.mmap_reread", mode = "mapped", size = "8M")),
            copied(["Bcopy", "(libc)"], one!("mem.libc", op = "bcopy", call = "whole", buffer = "16M")),
            copied(["Bcopy", "(hand)"], one!("mem.bandwidth", op = "copy", size = "16M", kernel = "portable")),
            megabytes(["Mem", "read"], one!("mem.bandwidth", op = "read", size = "8M", kernel = "portable")),
            megabytes(["Mem", "write"], one!("mem.bandwidth", op = "write", size = "8M", kernel = "portable")),
        ],
    },
    LmbenchTable {
        title: "Memory latencies in nanoseconds, smaller is better (groma show mem.latency has the whole curve)",
        columns: &[
            CLOCK,
            nanos(["L1 $", "16K"], cached!("16K")),
            nanos(["L2 $", "256K"], cached!("256K")),
            nanos(["Main", "64M"], one!("mem.stride", size = "64M", stride = "128")),
            nanos(["Rand", "64M"], one!("mem.latency", size = "64M", chain = "amortised", pages = "base")),
        ],
    },
];

/// Parameters of a benchmark with their values.
type Settings<'s> = Vec<(&'s str, Vec<&'s str>)>;

/// The command that measures the first alternative of every cell.
pub(crate) fn command(program: &Program) -> String {
    let mut benches: Vec<(&str, Settings<'_>)> = Vec::new();
    let shown = TABLES.iter().flat_map(|table| table.columns).filter_map(|column| column.of.first());
    for shown in shown.copied().flatten() {
        let mut ids = program.all().iter().map(|bench| bench.info.id);
        let Some(bench) = ids.find(|id| is_metric_of(shown.metric, id)) else { continue };
        let params = entry(&mut benches, bench);
        for (name, value) in shown.params {
            let values = entry(params, name);
            if !values.contains(value) {
                values.push(value);
            }
        }
    }
    let ids: Vec<&str> = benches.iter().map(|(bench, _)| *bench).collect();
    let params: String = benches
        .iter()
        .flat_map(|(bench, params)| params.iter().map(move |param| (bench, param)))
        .map(|(bench, (name, values))| format!(" --param {bench}:{name}={}", values.join(",")))
        .collect();
    format!("{} run {}{params}", name(), ids.join(" "))
}

/// The value of a name, inserted if it is missing; names keep the order of insertion.
fn entry<'e, 'n, T: Default>(all: &'e mut Vec<(&'n str, T)>, name: &'n str) -> &'e mut T {
    let at = all.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        all.push((name, T::default()));
        all.len() - 1
    });
    &mut all[at].1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor fits the unit in the title; lmbench counts a copied byte once.
    #[test]
    fn every_factor_fits_the_unit_of_its_table() {
        let mut copies = 0;
        for table in TABLES {
            let unit = ["microseconds", "nanoseconds", "MB/s"].into_iter().find(|unit| table.title.contains(unit));
            for column in table.columns.iter().filter(|column| column.heads != CLOCK.heads) {
                let of_copies = |shown: &Shown| shown.params.iter().any(|param| ["copy", "bcopy"].contains(&param.1));
                let is_copy = column.of.iter().copied().flatten().any(of_copies);
                copies += usize::from(is_copy);
                let factor = match unit {
                    Some("microseconds") => 1e6,
                    Some("nanoseconds") => 1e9,
                    Some(_) if is_copy => 0.5e-6,
                    Some(_) => 1e-6,
                    None => 1.0,
                };
                assert!((column.factor / factor - 1.0).abs() < 1e-12, "{:?}: {}", column.heads, column.factor);
            }
        }
        assert_eq!(copies, 2);
    }

    #[test]
    fn the_columns_of_a_table_are_distinct() {
        for table in TABLES {
            let shown: Vec<String> = table.columns.iter().map(|column| format!("{:?}", column.of)).collect();
            for (at, of) in shown.iter().enumerate() {
                assert!(!shown[..at].contains(of), "{}: {:?}", table.title, table.columns[at].heads);
            }
        }
    }
}
