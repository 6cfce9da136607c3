//! The description of lmbench 3 (2004). Its figures print no numbers.

use crate::{Document, Drawn, Picture, Quantity, SYSTEMS, Shape, without};

const CONSTANT: &str = "follows from the code of the loop and is not measured";

const TABLE3: &[Quantity] = &[
    without("bytes read", "stream2.bytes_read", "", CONSTANT),
    without("read on write miss", "stream2.bytes_read_on_write_miss", "", CONSTANT),
    without("bytes written", "stream2.bytes_written", "", CONSTANT),
    without("flops", "stream2.flops", "", CONSTANT),
];

const FIGURES: &str = "of several processors or of one system's timers; the figures themselves print no numbers; groma paper \
                       lmbench3 figure7 and figure10 name the commands that draw them for this machine";
const TEXT: &[Quantity] = &[
    without("daxpy, all processes", "stream2.system_bw", "kernel=daxpy", FIGURES),
    without("sleep beyond its length", "timer.sleep_excess", "", FIGURES),
];

/// The description of figures 2 to 6.
const SCALING: &str = "One of five pictures (figures 2 to 6) of how the latencies of an IBM xSeries 370, eight Pentium III \
                       of 700 MHz with Linux 2.4.18, grow with the number of processes that measure at once.";
const BANDWIDTH: &str = "One of two pictures (figures 9 and 10) of the bandwidth of the STREAM2 kernels on an IBM xSeries \
                         370, eight Pentium III of 700 MHz with Linux 2.6.8.1, as more processes run them.";
const SCALE: Drawn = Drawn::By(&[
    "groma run ipc.pipe_rtt ctx.switch syscall.getppid -P 1,2,4",
    "groma plot ipc.pipe_rtt --over P -o scaling.svg",
]);
const STREAM: Drawn = Drawn::By(&[
    "groma run mem.stream --param op=daxpy,copy,sum --param store=plain -P 1,2,4",
    "groma plot mem.stream --over P -o stream.svg",
]);
const fn scaling(name: &'static str) -> Picture {
    Picture { name, title: "Latencies by the number of processes", shows: SCALING, drawn: SCALE }
}
const fn stream(name: &'static str) -> Picture {
    Picture { name, title: "STREAM2 by the number of processes", shows: BANDWIDTH, drawn: STREAM }
}

const PICTURES: &[Picture] = &[
    scaling("figure2"),
    scaling("figure3"),
    scaling("figure4"),
    scaling("figure5"),
    scaling("figure6"),
    Picture {
        name: "figure7",
        title: "How late a sleep ends",
        shows: "By how much sleeps by nanosleep, usleep, select and an interval timer outlast what was asked for, at \
                real-time priority on a Pentium 4 Xeon of 1.8 GHz with Linux 2.4.19.",
        drawn: Drawn::By(&[
            "groma run timer.sleep --param interface=nanosleep,select,itimer --param length=1us,10us,100us,1ms,10ms",
            "groma plot timer.sleep -o sleep.svg",
        ]),
    },
    Picture {
        name: "figure8",
        title: "Processes that may migrate",
        shows: "How a latency grows with the number of processes on a cluster of four HP x4000, two processors each, under \
                openMosix (Linux 2.4.19); groma measures one machine, so this machine's scaling stands for it.",
        drawn: SCALE,
    },
    stream("figure9"),
    stream("figure10"),
    Picture {
        name: "figure11",
        title: "How the results of STREAM2 daxpy are spread",
        shows: "Two processes of daxpy on the IBM xSeries 370 get one of two bandwidths: more where the scheduler put them \
                on separate memory buses, less where they share one.",
        drawn: Drawn::By(&[
            "groma run mem.stream --param op=daxpy --param store=plain -P 2",
            "groma plot mem.stream --param op=daxpy -P 2 -o modes.svg",
        ]),
    },
];

/// The programs that its table of benchmarks leaves out.
const PROGRAMS: &[&str] = &["bw_udp", "cache", "enough", "lat_cmd", "loop_o", "memsize", "seek", "timing_o"];

pub(crate) const DOCUMENT: Document = Document {
    name: "lmbench3",
    title: "Staelin, \"lmbench - an extensible micro-benchmark suite\", HPL-2004-213, 2004",
    year: "2004",
    known_by: &[],
    programs: PROGRAMS,
    tables: tables! { "lmbench3";
        "table2": "The benchmarks", "table2_benchmarks", Shape::Raw, &[];
        "table3": "Costs of the STREAM2 kernels", "table3_stream2_costs", SYSTEMS, TABLE3;
        "text": "Numbers in the text", "text_values", Shape::Quantities, TEXT;
        "systems": "The machines", "systems", Shape::Raw, &[];
    },
    pictures: PICTURES,
};
