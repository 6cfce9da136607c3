//! Several chases at once for AArch64: up to twenty-four addresses in registers (x18 belongs to the
//! platform, x19 to the compiler, and the loop counts in one).
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::parallel_chase::{PARALLEL_CHASES_MOST, PARALLEL_CHASE_UNROLL, ParallelChaseKernel};
use core::arch::asm;

/// One kernel for each number of chains.
pub fn parallel_chase_kernels() -> &'static [ParallelChaseKernel] {
    &KERNELS
}

macro_rules! in_registers {
    ($($name:ident: $($index:tt $register:tt),*;)*) => {$(
        /// # Safety
        ///
        /// As [`ParallelChaseKernel::run`].
        #[inline(never)]
        unsafe fn $name(cursors: &mut [*const u8; PARALLEL_CHASES_MOST], steps: u64) {
            let turns = steps / PARALLEL_CHASE_UNROLL;
            if turns == 0 {
                return;
            }
            let mut c = *cursors;
            // SAFETY: the caller vouches for the chains; registers as declared.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept {unroll}",
                    $(concat!("ldr ", $register, ", [", $register, "]"),)*
                    ".endr",
                    "subs x28, x28, #1",
                    "b.ne 2b",
                    unroll = const PARALLEL_CHASE_UNROLL,
                    $(inout($register) c[$index],)*
                    inout("x28") turns => _,
                    options(nostack, readonly),
                );
            }
            *cursors = c;
        }
    )*};
}

in_registers! {
    chases1: 0 "x0";
    chases2: 0 "x0", 1 "x1";
    chases4: 0 "x0", 1 "x1", 2 "x2", 3 "x3";
    chases6: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5";
    chases8: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7";
    chases10: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9";
    chases12: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11";
    chases14: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13";
    chases16: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13", 14 "x14", 15 "x15";
    chases20: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13", 14 "x14", 15 "x15", 16 "x16", 17 "x17", 18 "x20", 19 "x21";
    chases24: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13", 14 "x14", 15 "x15", 16 "x16", 17 "x17", 18 "x20", 19 "x21", 20 "x22", 21 "x23", 22 "x24",
        23 "x25";
}

/// Addresses in an array, two chains at a time.
///
/// # Safety
///
/// As [`ParallelChaseKernel::run`].
#[inline(never)]
unsafe fn in_memory<const N: usize>(cursors: &mut [*const u8; PARALLEL_CHASES_MOST], steps: u64) {
    const { assert!(N.is_multiple_of(2) && N <= PARALLEL_CHASES_MOST) };
    let rows = steps / PARALLEL_CHASE_UNROLL * PARALLEL_CHASE_UNROLL;
    if rows == 0 {
        return;
    }
    // SAFETY: the caller vouches for the chains; the array is as long as the most chains; registers as declared.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "mov x3, x0",
            ".rept {pairs}",
            "ldr x2, [x3]",
            "ldr x2, [x2]",
            "str x2, [x3]",
            "ldr x2, [x3, #8]",
            "ldr x2, [x2]",
            "str x2, [x3, #8]",
            "add x3, x3, #16",
            ".endr",
            "subs x1, x1, #1",
            "b.ne 2b",
            pairs = const N / 2,
            in("x0") cursors.as_mut_ptr(),
            inout("x1") rows => _,
            out("x2") _,
            out("x3") _,
            options(nostack),
        );
    }
}

const fn register(chains: usize, run: unsafe fn(&mut [*const u8; PARALLEL_CHASES_MOST], u64)) -> ParallelChaseKernel {
    ParallelChaseKernel { chains, in_registers: true, run }
}

const fn memory<const N: usize>() -> ParallelChaseKernel {
    ParallelChaseKernel { chains: N, in_registers: false, run: in_memory::<N> }
}

static KERNELS: [ParallelChaseKernel; 16] = [
    register(1, chases1),
    register(2, chases2),
    register(4, chases4),
    register(6, chases6),
    register(8, chases8),
    register(10, chases10),
    register(12, chases12),
    register(14, chases14),
    register(16, chases16),
    register(20, chases20),
    register(24, chases24),
    memory::<28>(),
    memory::<32>(),
    memory::<40>(),
    memory::<48>(),
    memory::<64>(),
];
