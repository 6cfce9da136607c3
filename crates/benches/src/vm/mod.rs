//! Virtual memory: making and changing mappings, and the cost of getting their pages.

use groma_harness::Benchmark;
use groma_harness::model::Param;

mod advise;
mod brk;
mod cow;
mod fault;
mod fault_huge;
mod fault_major;
mod map;
mod protect;
mod remap;
mod shootdown;
mod walk;

pub(crate) const ALL: &[&Benchmark] = &[
    &fault::BENCH,
    &fault_huge::BENCH,
    &fault_major::BENCH,
    &cow::BENCH,
    &map::BENCH,
    &protect::BENCH,
    &remap::BENCH,
    &advise::BENCH,
    &brk::BENCH,
    &shootdown::BENCH,
];

/// Whether the pages of the memory that a call is about are there.
const PAGES: Param = Param::word("pages", "whether the memory was touched", &["present", "absent"]).quick(&["present"]);
