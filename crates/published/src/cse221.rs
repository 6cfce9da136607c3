//! The report of two students of CSE 221 (2014): predicted beside measured.

use crate::{Document, Quantity, Shape, Take, of, take, without};

const DECLARED: &str = "a data sheet's number";
const MACHINE: &[Quantity] = &[
    without("clock of the processor", "cpu.clock_rate", "", DECLARED),
    without("cores", "cpu.cores", "type=physical", DECLARED),
    without("hardware threads", "cpu.cores", "type=logical", DECLARED),
    without("L1 for instructions", "mem.cache_size", "level=L1I", DECLARED),
    without("L1 for data", "mem.cache_size", "level=L1", DECLARED),
    without("L2", "mem.cache_size", "level=L2", DECLARED),
    without("L3", "mem.cache_size", "level=L3", DECLARED),
    without("memory bus", "mem.bus_clock", "", DECLARED),
    without("memory", "mem.size", "", DECLARED),
    without("disk", "disk.size", "", DECLARED),
    without("buffer of the disk", "disk.buffer_size", "", DECLARED),
    without("network", "net.link_rate", "", DECLARED),
];
const OVERHEAD: &[Quantity] = &[
    of("reading the time", "timer.read", "call=mach_absolute_time", "reading"),
    of("loop of 250000 turns", "loop.overhead", "iterations=250000", "loop"),
    without("loop of one turn", "loop.overhead", "iterations=1", "one turn takes as long as reading the clock"),
    without("loop", "loop.overhead", "", "predicted for both rows below"),
];
const CALL: &[Quantity] = &[
    of("0 arguments", "call.procedure", "args=0", ""),
    of("1 argument", "call.procedure", "args=1", ""),
    of("2 arguments", "call.procedure", "args=2", ""),
    of("3 arguments", "call.procedure", "args=3", ""),
    of("4 arguments", "call.procedure", "args=4", ""),
    of("5 arguments", "call.procedure", "args=5", ""),
    of("6 arguments", "call.procedure", "args=6", ""),
    of("7 arguments", "call.procedure", "args=7", ""),
    without("each argument", "call.procedure_per_arg", "", "derived from the rows above"),
];
const SYSTEM_CALL: &[Quantity] = &[of("stat", "syscall.stat", "", "")];
const CREATION: &[Quantity] = &[
    of("process", "proc.create", "", "process"),
    of("thread", "thread.create", "", "thread"),
    take("process over thread", "proc_thread.create_ratio", "", "process", Take::Ratio("process", "thread")),
];
const SWITCH: &[Quantity] = &[
    of("process", "ctx.process", "method=pipe", "process"),
    of("thread", "ctx.thread", "method=sched_yield", "thread"),
    without(
        "process beyond thread",
        "ctx.process_thread_difference",
        "",
        "predicted in words; the next row is what was measured",
    ),
    take("process over thread", "ctx.process_thread_ratio", "", "process", Take::Ratio("process", "thread")),
];
const LATENCY: &[Quantity] = &[
    take("L1 latency", "mem.latency", "level=L1", "", Take::Latency(1)),
    take("L2 latency", "mem.latency", "level=L2", "", Take::Latency(2)),
    take("L3 latency", "mem.latency", "level=L3", "", Take::Latency(3)),
    take("memory latency", "mem.latency", "level=main", "", Take::Latency(0)),
    take("L1 size", "mem.cache_size", "level=L1", "", Take::Capacity(1)),
    take("L2 size", "mem.cache_size", "level=L2", "", Take::Capacity(2)),
    take("L3 size", "mem.cache_size", "level=L3", "", Take::Capacity(3)),
];
const BANDWIDTH: &[Quantity] = &[
    of("write, array", "mem.write_bw", "method=array_assign", "array"),
    of("write, non-temporal", "mem.write_bw", "method=non_temporal", "non-temporal"),
    of("write, rep stosq", "mem.write_bw", "method=rep_stosq size=1G", "rep stosq"),
    of("read, rep lodsq", "mem.read_bw", "method=rep_lodsq size=1G", "rep lodsq"),
    without("write, most", "mem.write_bw", "", DECLARED),
    without("read, most", "mem.read_bw", "", DECLARED),
];
const FAULT: &[Quantity] = &[
    of("first run, rounded", "page_fault.service", "runs=first rounded=yes", "first run"),
    of("first run", "page_fault.service", "runs=first", "first run"),
    of("later runs", "page_fault.service", "runs=repeated", "later runs"),
    without("any run", "page_fault.service", "", "predicted for the rows below"),
    without("first run, a byte", "page_fault.per_byte", "", "derived from the first run"),
    without("write to memory, a byte", "mem.write_per_byte", "", "derived from the bandwidth"),
    without("disk", "disk.latency", "", DECLARED),
];

const Q: Shape = Shape::Quantities;

pub(crate) const DOCUMENT: Document = Document {
    name: "cse221",
    title: "Kalyanaraman and Ganapathy, \"Systems Measurement\", report in CSE 221, 2014",
    year: "2014",
    known_by: &[],
    programs: &[],
    tables: tables! { "cse221";
        "table1": "The machine", "table01_machine", Q, MACHINE;
        "measurement_overhead": "Measurement overhead", "measurement_overhead", Q, OVERHEAD;
        "procedure_call": "Procedure call", "procedure_call", Q, CALL;
        "system_call": "System call", "system_call", Q, SYSTEM_CALL;
        "task_creation": "Task creation", "task_creation", Q, CREATION;
        "context_switch": "Context switch", "context_switch", Q, SWITCH;
        "memory_latency": "Memory access time", "memory_latency", Q, LATENCY;
        "ram_bandwidth": "RAM bandwidth", "ram_bandwidth", Q, BANDWIDTH;
        "page_fault": "Page fault service time", "page_fault", Q, FAULT;
        "systems": "The machine in one line", "systems", Shape::Raw, &[];
    },
    pictures: &[],
};
