//! Chains of a store and a load of what it stored.
//!
//! # Safety
//!
//! Each block is a whole loop on declared registers; where it stores and loads is for its caller to vouch for.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::CHAIN_OPERAND;
use crate::arch::store_forward::{Chain, FORWARDS, Forward};
use core::arch::asm;

/// The chain whose loads lie so to their stores.
pub fn forward(kind: Forward) -> Chain {
    match kind {
        Forward::Same => same,
        Forward::Renamed => renamed,
        Forward::Narrower => narrower,
        Forward::Wider => wider,
        Forward::TwoStores => two_stores,
        Forward::Other => other,
    }
}

macro_rules! chains {
    ($($name:ident: $($instruction:literal),*;)*) => {$(
        /// # Safety
        ///
        /// As [`Chain`].
        unsafe fn $name(store: *mut u8, load: *const u8, turns: u64, mut x: u64) -> u64 {
            if turns == 0 {
                return x;
            }
            // SAFETY: the caller vouches for the addresses; registers as declared.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept {forwards}",
                    $($instruction,)*
                    ".endr",
                    "sub rcx, 1",
                    "jnz 2b",
                    forwards = const FORWARDS,
                    inout("rax") x,
                    inout("rcx") turns => _,
                    in("rdx") CHAIN_OPERAND,
                    in("rdi") store,
                    in("rsi") load,
                    options(nostack),
                );
            }
            x
        }
    )*};
}

chains! {
    same: "mov [rdi], rax", "mov rax, [rsi]", "add rax, rdx";
    renamed: "mov [rdi], rax", "mov rax, [rdi]", "add rax, rdx";
    narrower: "mov [rdi], rax", "mov eax, [rsi + 4]", "add rax, rdx";
    wider: "mov [rdi], eax", "mov rax, [rsi]", "add rax, rdx";
    two_stores: "mov [rdi], eax", "mov [rdi + 4], edx", "mov rax, [rsi]", "add rax, rdx";
    other: "mov [rdi], rax", "mov rax, [rsi + rax]", "add rax, rdx";
}
