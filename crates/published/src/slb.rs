//! Closson's Silly Little Benchmark, with the results of its readers.

use crate::{Document, Quantity, SYSTEMS, Shape, of, without};

const METRIC: &str = "as a metric";
const FOLLOWS: &str = "follows from the latency";
const BUDGET: &str = "rounds end by time, not after a number of stores; `groma hammer` counts them";

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

pub(crate) const DOCUMENT: Document = Document {
    name: "slb",
    title: "Closson's Silly Little Benchmark, a weblog post and its readers' comments",
    year: "",
    known_by: &[],
    programs: &[],
    tables: tables! { "slb";
        "memhammer": "Stores to random pages, alone and in pairs", "memhammer_runs", SYSTEMS, MEMHAMMER;
        "threads" as "memhammer": "One to twelve threads of a dual Opteron 2427", "opteron2427_threads", SYSTEMS, THREADS;
        "text": "Numbers in the post", "text_values", Shape::Quantities, TEXT;
        "systems": "The machines", "systems", Shape::Raw, &[];
    },
    pictures: &[],
};
