//! Chains of a store and a load of what it stored: see [`crate::arch::store_forward`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's addresses.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::CHAIN_OPERAND;
use crate::arch::store_forward::{Chain, FORWARDS, Forward, define_store_forwards};
use core::arch::asm;

macro_rules! turns {
    ($store:ident, $load:ident, $turns:ident, $x:ident, [$($instruction:literal),*]) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {forwards}",
            $($instruction,)*
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            forwards = const FORWARDS,
            inout("rax") $x,
            inout("rcx") $turns => _,
            in("rdx") CHAIN_OPERAND,
            in("rdi") $store,
            in("rsi") $load,
            options(nostack),
        )
    };
}

define_store_forwards! {
    turns;
    same: "mov [rdi], rax", "mov rax, [rsi]", "add rax, rdx";
    renamed: "mov [rdi], rax", "mov rax, [rdi]", "add rax, rdx";
    narrower: "mov [rdi], rax", "mov eax, [rsi + 4]", "add rax, rdx";
    wider: "mov [rdi], eax", "mov rax, [rsi]", "add rax, rdx";
    two_stores: "mov [rdi], eax", "mov [rdi + 4], edx", "mov rax, [rsi]", "add rax, rdx";
    other: "mov [rdi], rax", "mov rax, [rsi + rax]", "add rax, rdx";
}
