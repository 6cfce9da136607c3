//! The description of lmbench 3 (2004). Its figures print no numbers.

use crate::{Document, Quantity, Shape, Table, without};

const CONSTANT: &str = "follows from the code of the loop and is not measured";

const TABLE3: &[Quantity] = &[
    without("bytes read", "stream2.bytes_read", "", CONSTANT),
    without("read on write miss", "stream2.bytes_read_on_write_miss", "", CONSTANT),
    without("bytes written", "stream2.bytes_written", "", CONSTANT),
    without("flops", "stream2.flops", "", CONSTANT),
];

const FIGURES: &str = "of several processors or of one system's timers; the figures themselves print no numbers";
const TEXT: &[Quantity] = &[
    without("daxpy, all processes", "stream2.system_bw", "kernel=daxpy", FIGURES),
    without("sleep beyond its length", "timer.sleep_excess", "", FIGURES),
];

macro_rules! table {
    ($name:literal, $title:literal, $file:literal, $shape:expr, $quantities:expr) => {
        Table {
            name: $name,
            row: $name,
            title: $title,
            csv: include_str!(concat!("../data/lmbench3/", $file, ".csv")),
            shape: $shape,
            quantities: $quantities,
        }
    };
}

pub(crate) const DOCUMENT: Document = Document {
    name: "lmbench3",
    title: "Staelin, \"lmbench - an extensible micro-benchmark suite\", HPL-2004-213, 2004",
    year: "2004",
    tables: &[
        table!("table2", "The benchmarks", "table2_benchmarks", Shape::Raw, &[]),
        table!("table3", "Costs of the STREAM2 kernels", "table3_stream2_costs", Shape::Systems(None), TABLE3),
        table!("text", "Numbers in the text", "text_values", Shape::Quantities, TEXT),
        table!("systems", "The machines", "systems", Shape::Raw, &[]),
    ],
};
