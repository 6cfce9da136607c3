//! Atomic operations and fences of the standard library: the reference, and kernels for any CPU. (A
//! compiler leaves atomic operations alone, and its code around them is cheap in comparison.)
//!
//! # Safety
//!
//! The word is the caller's, who vouches for it.
#![expect(unsafe_code, reason = "uses a word by its address")]

use super::super::atomic::{ATOMIC_UNROLL, AtomicKernel};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst, fence};

/// Whether the CPU has an extension: none is known.
pub fn atomic_isa_here(isa: &str) -> bool {
    matches!(isa, "base" | "portable")
}

/// Applies `step` `n` times to the word and a register that starts at 1; returns the register.
fn repeat(word: *mut u64, n: u64, step: impl Fn(&AtomicU64, u64) -> u64) -> u64 {
    // SAFETY: the caller of the kernel vouches for the word.
    let word = unsafe { AtomicU64::from_ptr(word) };
    (0..n).fold(1, |register, _| step(word, register))
}

macro_rules! kernels {
    ($($name:literal $function:ident: $step:expr;)*) => {
        $(
            unsafe fn $function(word: *mut u64, turns: u64) -> u64 {
                repeat(word, turns * ATOMIC_UNROLL, $step)
            }
        )*

        /// All of them.
        pub static ATOMIC_KERNELS: &[AtomicKernel] = &[
            $(AtomicKernel { name: $name, isa: "portable", instruction: "", ops: ATOMIC_UNROLL, run: $function }),*
        ];
    };
}

kernels! {
    // The register is the new value of the word, and one more than the expected one.
    "cas" cas: |word, register| match word.compare_exchange(register - 1, register, SeqCst, SeqCst) {
        Ok(_) => register + 1,
        Err(_) => register,
    };
    "add" add: |word, register| { word.fetch_add(1, SeqCst); register };
    "swap" swap: |word, register| word.swap(register, SeqCst);
    "fence" full: |_, register| { fence(SeqCst); register + 1 };
    "store_fence" store_full: |word, register| { word.store(register, SeqCst); register + 1 };
    "pause" pause: |_, register| { core::hint::spin_loop(); register + 1 };
}

/// The expected word and register after `ops` operations from a word of 0; `None` where the kernel
/// counts in its register only.
pub fn atomic_answer(name: &str, ops: u64) -> (u64, Option<u64>) {
    match name {
        "cas" => (ops, None),
        "add" => (ops, None),
        // Word and register swap back and forth.
        "swap" => {
            if ops.is_multiple_of(2) {
                (0, Some(1))
            } else {
                (1, Some(0))
            }
        }
        "store_fence" => (ops, Some(ops + 1)),
        "counter" | "cpuid" | "random" => (0, None),
        _ => (0, Some(ops + 1)),
    }
}
