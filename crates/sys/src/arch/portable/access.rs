//! Dependent accesses in plain Rust: the reference, and the kernels of a CPU without assembly.
//!
//! # Safety
//!
//! Every function follows its caller's pointers, as [`AccessKernel::run`] requires.
#![expect(unsafe_code, reason = "follows the caller's pointers")]

use crate::arch::access::{ACCESS_COUNT, ACCESS_UNROLL, Access, AccessKernel};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// One of each kind that plain Rust has: it has neither prefetch nor non-temporal loads.
pub static ACCESSES: [AccessKernel; 3] = [
    AccessKernel { kind: Access::Read, instruction: "portable", run: read },
    AccessKernel { kind: Access::Dirty, instruction: "portable", run: dirty },
    AccessKernel { kind: Access::Own, instruction: "portable", run: own },
];

/// Every kernel that this CPU can run.
pub fn access_kernels() -> Vec<&'static AccessKernel> {
    ACCESSES.iter().collect()
}

/// # Safety
///
/// As [`AccessKernel::run`].
unsafe fn read(start: *mut u8, steps: u64) -> *mut u8 {
    // SAFETY: the caller vouches for every node.
    (0..steps / ACCESS_UNROLL * ACCESS_UNROLL).fold(start, |node, _| unsafe { node.cast::<*mut u8>().read_volatile() })
}

/// # Safety
///
/// As [`AccessKernel::run`].
unsafe fn dirty(start: *mut u8, steps: u64) -> *mut u8 {
    (0..steps / ACCESS_UNROLL * ACCESS_UNROLL).fold(start, |node, _| {
        // SAFETY: the caller vouches for every node.
        unsafe {
            let count = node.add(ACCESS_COUNT).cast::<u64>();
            count.write_volatile(count.read_volatile().wrapping_add(1));
            node.cast::<*mut u8>().read_volatile()
        }
    })
}

/// A load and an exchange for the loaded value: compilers turn the addition of 0 into a load.
///
/// # Safety
///
/// As [`AccessKernel::run`].
unsafe fn own(start: *mut u8, steps: u64) -> *mut u8 {
    (0..steps / ACCESS_UNROLL * ACCESS_UNROLL).fold(start, |node, _| {
        // SAFETY: the caller vouches for every node.
        let next = unsafe { AtomicPtr::<u8>::from_ptr(node.cast()) };
        next.swap(next.load(Relaxed), Relaxed)
    })
}
