//! Several pointer chases at once in plain Rust: the reference, and the kernels of a CPU without
//! assembly.
//!
//! # Safety
//!
//! Every function follows its caller's pointers, as [`ParallelChaseKernel::run`] requires.
#![expect(unsafe_code, reason = "follows the caller's pointers")]

use crate::arch::parallel_chase::{MAX_PARALLEL_CHASES, PARALLEL_CHASE_UNROLL, ParallelChaseKernel};

macro_rules! kernels {
    ($($n:literal),*) => {
        /// One for each number in [`crate::arch::parallel_chase::PARALLEL_CHASES`]. The compiler
        /// keeps as many addresses in registers as it likes.
        pub static KERNELS: [ParallelChaseKernel; 16] = [$(ParallelChaseKernel { chains: $n, in_registers: false, run: chases::<$n> }),*];
    };
}

kernels!(1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64);

/// One kernel for each number of chains.
pub fn parallel_chase_kernels() -> &'static [ParallelChaseKernel] {
    &KERNELS
}

/// # Safety
///
/// As [`ParallelChaseKernel::run`].
unsafe fn chases<const N: usize>(cursors: &mut [*const u8; MAX_PARALLEL_CHASES], steps: u64) {
    for _ in 0..steps / PARALLEL_CHASE_UNROLL * PARALLEL_CHASE_UNROLL {
        for cursor in &mut cursors[..N] {
            // SAFETY: the caller vouches for every node.
            *cursor = unsafe { cursor.cast::<*const u8>().read_volatile() };
        }
    }
}
