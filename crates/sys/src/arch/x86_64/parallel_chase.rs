//! Several chases at once for x86-64: up to twelve addresses in registers (of the sixteen the stack has one, the compiler
//! keeps two for itself, and the loop counts in one).
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
                    $(concat!("mov ", $register, ", [", $register, "]"),)*
                    ".endr",
                    "sub r15, 1",
                    "jnz 2b",
                    unroll = const PARALLEL_CHASE_UNROLL,
                    $(inout($register) c[$index],)*
                    inout("r15") turns => _,
                    options(nostack, readonly),
                );
            }
            *cursors = c;
        }
    )*};
}

in_registers! {
    chases1: 0 "rax";
    chases2: 0 "rax", 1 "rcx";
    chases4: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi";
    chases6: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8";
    chases8: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10";
    chases10: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12";
    chases12: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13", 11 "r14";
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
            "mov r8, rdi",
            ".rept {pairs}",
            "mov rax, [r8]",
            "mov rax, [rax]",
            "mov [r8], rax",
            "mov rax, [r8 + 8]",
            "mov rax, [rax]",
            "mov [r8 + 8], rax",
            "add r8, 16",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            pairs = const N / 2,
            in("rdi") cursors.as_mut_ptr(),
            inout("rcx") rows => _,
            out("rax") _,
            out("r8") _,
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
    memory::<14>(),
    memory::<16>(),
    memory::<20>(),
    memory::<24>(),
    memory::<28>(),
    memory::<32>(),
    memory::<40>(),
    memory::<48>(),
    memory::<64>(),
];
