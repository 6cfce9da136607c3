//! Calls of the functions of a benchmark in C or C++: no exception leaves one of them
//! ([`call_through_barrier`] says why).
//!
//! # Safety
//! The functions come from a descriptor, for which its program vouches, and have the types that the
//! header gives them.
#![expect(unsafe_code, reason = "functions of C")]

use crate::abi::{CleanupFn, PeerFn, RunFn, SetupFn, StagedFn, StepFn};
use groma::harness::sys::arch::call_through_barrier;
use std::ffi::{c_int, c_void};

fn call(function: *const (), words: [usize; 3]) -> c_int {
    // SAFETY: see the module.
    unsafe { call_through_barrier(function, words) }
}

/// A size of this CPU's; counts of iterations are 64 bits where groma runs.
fn word(iters: u64) -> usize {
    iters as usize
}

pub(crate) fn setup(function: SetupFn, ctx: *const c_void, state: *mut *mut c_void) -> c_int {
    call(function as *const (), [ctx.expose_provenance(), state.expose_provenance(), 0])
}

pub(crate) fn run(function: RunFn, iters: u64, state: *mut c_void) -> c_int {
    call(function as *const (), [word(iters), state.expose_provenance(), 0])
}

pub(crate) fn staged(function: StagedFn, iters: u64, state: *mut c_void, watch: *mut c_void) -> c_int {
    call(function as *const (), [word(iters), state.expose_provenance(), watch.expose_provenance()])
}

pub(crate) fn step(function: StepFn, ctx: *const c_void, state: *mut c_void) -> c_int {
    call(function as *const (), [ctx.expose_provenance(), state.expose_provenance(), 0])
}

pub(crate) fn cleanup(function: CleanupFn, state: *mut c_void) {
    call(function as *const (), [state.expose_provenance(), 0, 0]);
}

pub(crate) fn peer(function: PeerFn, state: *mut c_void) -> c_int {
    call(function as *const (), [state.expose_provenance(), 0, 0])
}
