//! Virtual memory: making and changing mappings, and what it costs to get their pages.

use groma_harness::Benchmark;

mod cow;
mod fault;
mod fault_huge;
mod fault_major;
mod map;
mod walk;

pub(crate) const ALL: &[&Benchmark] =
    &[&fault::BENCH, &cow::BENCH, &fault_huge::BENCH, &fault_major::BENCH, &map::BENCH];
