//! Several chases at once for RISC-V: up to twenty-four addresses in registers (s0 and s1 belong to the
//! compiler, and the loop counts in one).
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
                    ".p2align 4",
                    "2:",
                    ".rept {unroll}",
                    $(concat!("ld ", $register, ", 0(", $register, ")"),)*
                    ".endr",
                    "addi s11, s11, -1",
                    "bnez s11, 2b",
                    unroll = const PARALLEL_CHASE_UNROLL,
                    $(inout($register) c[$index],)*
                    inout("s11") turns => _,
                    options(nostack, readonly),
                );
            }
            *cursors = c;
        }
    )*};
}

in_registers! {
    chases1: 0 "a0";
    chases2: 0 "a0", 1 "a1";
    chases4: 0 "a0", 1 "a1", 2 "a2", 3 "a3";
    chases6: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5";
    chases8: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7";
    chases10: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1";
    chases12: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3";
    chases14: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5";
    chases16: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5", 14 "t6", 15 "s2";
    chases20: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5", 14 "t6", 15 "s2", 16 "s3", 17 "s4", 18 "s5", 19 "s6";
    chases24: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5", 14 "t6", 15 "s2", 16 "s3", 17 "s4", 18 "s5", 19 "s6", 20 "s7", 21 "s8", 22 "s9", 23 "s10";
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
            ".p2align 4",
            "2:",
            "mv a3, a0",
            ".rept {pairs}",
            "ld a2, 0(a3)",
            "ld a2, 0(a2)",
            "sd a2, 0(a3)",
            "ld a2, 8(a3)",
            "ld a2, 0(a2)",
            "sd a2, 8(a3)",
            "addi a3, a3, 16",
            ".endr",
            "addi a1, a1, -1",
            "bnez a1, 2b",
            pairs = const N / 2,
            in("a0") cursors.as_mut_ptr(),
            inout("a1") rows => _,
            out("a2") _,
            out("a3") _,
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
