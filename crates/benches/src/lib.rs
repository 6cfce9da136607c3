//! The benchmarks, one file each, named after their id: `ipc.pipe_rtt` is `ipc/pipe_rtt.rs`.
//!
//! The catalogue is written out, not collected by the linker: a family lists its files in its
//! `mod.rs`, and [`all`] concatenates the families. A test walks the folders and compares file
//! names with ids, so nothing is forgotten or misnamed. Benchmarks do not time, print, parse,
//! store, choose their iterations, or start threads behind the harness's back. Unsafe code is in
//! `groma-sys`.
#![forbid(unsafe_code)]

use groma_harness::Benchmark;
use groma_harness::model::{Family, Pages, Price};
use groma_harness::remote::Service;

mod clock;
mod cpu;
mod cpus;
mod ctx;
mod disk;
mod echo;
mod entry;
mod executable;
mod file;
mod http;
mod ipc;
mod lock;
mod mem;
mod mix;
mod net;
mod pages;
mod parts;
mod payload;
mod peer;
mod prices;
mod proc;
mod proofs;
mod ready;
mod rpc;
mod sched;
mod scratch;
mod selftest;
mod signal;
mod syscall;
mod thread;
mod timer;
mod uring;
mod vdso;
mod vm;
#[doc(hidden)]
pub mod wire;
mod work;

/// The families and their benchmarks, in the order of lists and tables.
static CATALOGUE: &[(&Family, &[&Benchmark])] = &[
    (&clock::ABOUT, clock::ALL),
    (&cpu::ABOUT, cpu::ALL),
    (&mem::ABOUT, mem::ALL),
    (&syscall::ABOUT, syscall::ALL),
    (&vdso::ABOUT, vdso::ALL),
    (&signal::ABOUT, signal::ALL),
    (&proc::ABOUT, proc::ALL),
    (&thread::ABOUT, thread::ALL),
    (&ctx::ABOUT, ctx::ALL),
    (&timer::ABOUT, timer::ALL),
    (&sched::ABOUT, sched::ALL),
    (&ipc::ABOUT, ipc::ALL),
    (&lock::ABOUT, lock::ALL),
    (&ready::ABOUT, ready::ALL),
    (&uring::ABOUT, uring::ALL),
    (&net::ABOUT, net::ALL),
    (&rpc::ABOUT, rpc::ALL),
    (&http::ABOUT, http::ALL),
    (&vm::ABOUT, vm::ALL),
    (&file::ABOUT, file::ALL),
    (&disk::ABOUT, disk::ALL),
    (&mix::ABOUT, mix::ALL),
    (&selftest::ABOUT, selftest::ALL),
];

/// Every benchmark, family by family, in the order of lists and tables.
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
    pages::PAGES
}

/// Every peer that a benchmark may have on another machine, for `groma serve`.
pub fn services() -> Vec<&'static Service> {
    [net::SERVICES, rpc::SERVICES, http::SERVICES].concat()
}
