//! Virtual memory: making and changing mappings, and the cost of getting their pages.

use groma_harness::Benchmark;
use groma_harness::model::family::{Figure, Say, Select};
use groma_harness::model::{Family, Param};

mod fault;
mod fault_huge;
mod fault_hugetlb;
mod fault_folio;
mod collapse;
mod fault_major;
mod cow;
mod map;
mod protect;
mod remap;
mod advise;
mod brk;
mod shootdown;
mod userfault;
mod swap;
mod reclaim;
mod scan;

mod walk;

pub(crate) static ABOUT: Family = Family {
    name: "vm",
    summary: "Virtual memory: mappings and page faults",
    says: Say::Text("a page fault costs {}", &[Figure::Range(Select::Metric("vm.fault"))]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("vm");

/// Whether the pages of the memory that a call is about are there.
const PAGES: Param = Param::word("pages", "whether the memory was touched", &["present", "absent"]).quick(&["present"]);
