//! The benchmarks, one file each, named after their id: `ipc.pipe_rtt` is `ipc/pipe_rtt.rs`.
//!
//! The catalogue is written out, not collected by the linker: a family lists its files in its
//! `mod.rs`, and [`all`] concatenates the families. A test walks the folders and compares file
//! names with ids, so nothing is forgotten or misnamed. Benchmarks do not time, print, parse,
//! store, choose their iterations, or start threads behind the harness's back. Unsafe code is in
//! `groma-sys`.
#![forbid(unsafe_code)]

use groma_harness::Benchmark;
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
mod payload;
mod peer;
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

/// Every benchmark, family by family, in the order of lists and tables.
pub fn all() -> Vec<&'static Benchmark> {
    [
        clock::ALL,
        cpu::ALL,
        mem::ALL,
        syscall::ALL,
        vdso::ALL,
        signal::ALL,
        proc::ALL,
        thread::ALL,
        ctx::ALL,
        timer::ALL,
        sched::ALL,
        ipc::ALL,
        lock::ALL,
        ready::ALL,
        uring::ALL,
        net::ALL,
        rpc::ALL,
        http::ALL,
        vm::ALL,
        file::ALL,
        disk::ALL,
        mix::ALL,
        selftest::ALL,
    ]
    .concat()
}

/// Every peer that a benchmark may have on another machine, for `groma serve`.
pub fn services() -> Vec<&'static Service> {
    [net::SERVICES, rpc::SERVICES, http::SERVICES].concat()
}
