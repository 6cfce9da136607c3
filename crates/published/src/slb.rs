//! Closson's Silly Little Benchmark, with what readers measured.

use crate::{Document, Quantity, Shape, Table, of, without};

const METRIC: &str = "as a metric";
const FOLLOWS: &str = "follows from the latency";
const BUDGET: &str = "rounds end by time, not after so many stores; `groma hammer` counts as there";

const MEMHAMMER: &[Quantity] = &[
    of("latency", "mem.random_write_latency", "", METRIC),
    without("elapsed", "mem.random_write_elapsed", "", BUDGET),
    without("rate", "mem.random_write_rate", "", FOLLOWS),
    without("stores", "mem.random_write_ops", "", BUDGET),
];
const THREADS: &[Quantity] = &[
    of("latency", "mem.random_write_latency", "", METRIC),
    without("times slower", "mem.random_write_slowdown", "", "of other threads than ours"),
    without("elapsed", "mem.random_write_elapsed", "", BUDGET),
    without("rate", "mem.random_write_rate", "", FOLLOWS),
];

const TEXT: &[Quantity] = &[
    without("latency", "mem.random_write_latency", "", "table memhammer has it"),
    without("elapsed", "mem.random_write_elapsed", "", BUDGET),
];
const RUNS: Shape = Shape::Systems(None);

macro_rules! table {
    ($name:literal, $row:literal, $title:literal, $file:literal, $shape:expr, $quantities:expr) => {
        Table {
            name: $name,
            row: $row,
            title: $title,
            csv: include_str!(concat!("../data/slb/", $file, ".csv")),
            shape: $shape,
            quantities: $quantities,
        }
    };
}

pub(crate) const DOCUMENT: Document = Document {
    name: "slb",
    title: "Closson's Silly Little Benchmark, a weblog post and its readers' comments",
    year: "",
    tables: &[
        table!(
            "memhammer",
            "memhammer",
            "Stores to random pages, alone and in pairs",
            "memhammer_runs",
            RUNS,
            MEMHAMMER
        ),
        table!(
            "threads",
            "memhammer",
            "One to twelve threads of a dual Opteron 2427",
            "opteron2427_threads",
            RUNS,
            THREADS
        ),
        table!("text", "text", "Numbers in the post", "text_values", Shape::Quantities, TEXT),
        table!("systems", "systems", "The machines", "systems", Shape::Raw, &[]),
    ],
};
