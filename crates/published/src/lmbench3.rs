//! The description of lmbench 3 (2004). Its figures print no numbers.

use crate::{Document, Quantity, SYSTEMS, Shape, without};

const CONSTANT: &str = "follows from the code of the loop and is not measured";

const TABLE3: &[Quantity] = &[
    without("bytes read", "stream2.bytes_read", "", CONSTANT),
    without("read on write miss", "stream2.bytes_read_on_write_miss", "", CONSTANT),
    without("bytes written", "stream2.bytes_written", "", CONSTANT),
    without("flops", "stream2.flops", "", CONSTANT),
];

const FIGURES: &str = "of several processors or of one system's timers; the figures themselves print no numbers, and \
                       docs/tasks.md has commands that draw them for this machine";
const TEXT: &[Quantity] = &[
    without("daxpy, all processes", "stream2.system_bw", "kernel=daxpy", FIGURES),
    without("sleep beyond its length", "timer.sleep_excess", "", FIGURES),
];

pub(crate) const DOCUMENT: Document = Document {
    name: "lmbench3",
    title: "Staelin, \"lmbench - an extensible micro-benchmark suite\", HPL-2004-213, 2004",
    year: "2004",
    tables: tables! { "lmbench3";
        "table2": "The benchmarks", "table2_benchmarks", Shape::Raw, &[];
        "table3": "Costs of the STREAM2 kernels", "table3_stream2_costs", SYSTEMS, TABLE3;
        "text": "Numbers in the text", "text_values", Shape::Quantities, TEXT;
        "systems": "The machines", "systems", Shape::Raw, &[];
    },
};
