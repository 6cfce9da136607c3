//! The benchmarks, one file each, named after their id: `ipc.pipe_rtt` is `ipc/pipe_rtt.rs`.
//!
//! The `mod` lines are the catalogue: of families here, of benchmarks in each family's `mod.rs`,
//! both in the order of lists and tables. `build.rs` makes the lists from them, and a test compares
//! file names with ids, so nothing is forgotten or misnamed. Rejected: registries that the linker
//! collects have lost entries silently, and rustfmt does not look for `mod` inside a macro.
//!
//! Benchmarks do not time, print, parse, store, choose their iterations, or start threads behind
//! the harness's back. Unsafe code is in `groma-sys`.
#![forbid(unsafe_code)]

use groma_harness::Benchmark;
use groma_harness::model::{Family, Pages, Price};
use groma_harness::remote::Service;

/// The list that `build.rs` made from `mod` lines.
macro_rules! listed {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"))
    };
}

mod clock;
mod cpu;
mod mem;
mod syscall;
mod vdso;
mod signal;
mod proc;
mod thread;
mod ctx;
mod timer;
mod sched;
mod ipc;
mod lock;
mod ready;
mod uring;
mod isolation;
mod net;
mod rpc;
mod http;
mod vm;
mod file;
mod disk;
mod mix;
mod selftest;

mod control_groups;
mod entry;
mod fleet_page;
mod pages;
mod parts;
mod payload;
mod peer;
mod prices;
mod proofs;
mod quantiles;
mod rings;
mod scratch;
#[doc(hidden)]
pub mod wire;
mod work;

/// The families and their benchmarks.
static CATALOGUE: &[(&Family, &[&Benchmark])] = listed!("catalogue");

/// Every benchmark, family by family.
pub fn all() -> Vec<&'static Benchmark> {
    CATALOGUE.iter().flat_map(|(_, benchmarks)| *benchmarks).copied().collect()
}

/// Every family, in the same order.
pub fn families() -> Vec<&'static Family> {
    CATALOGUE.iter().map(|(family, _)| *family).collect()
}

/// What an application's counts cost.
pub fn prices() -> &'static [Price] {
    prices::PRICES
}

/// What a run shows first.
pub fn pages() -> Pages<'static> {
    Pages {
        system: pages::SYSTEM,
        hardware: pages::BLOCKS,
        rows: pages::ROWS,
        parts: pages::PARTS,
        fleet: fleet_page::FLEET,
    }
}

/// Every peer that a benchmark may have on another machine, for `groma serve`.
pub fn services() -> Vec<&'static Service> {
    [net::SERVICES, rpc::SERVICES, http::SERVICES].concat()
}
