//! Arithmetic operations: see [`crate::arch::operation`]. Base, M, F and D, which every system of
//! the RV64GC profile has.
//!
//! Integer loops have eight chains and 17 pairs of steps; floating-point loops twelve and 11: 0.5
//! to 1.1 KiB.
//!
//! Not here: rotation and population count (Zbb), CRC, the vector extension.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the state and the
//! operands.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::super::operation::{CHAIN_STEPS, Operands, OperationKernel, OperationLoop, State};
use core::arch::asm;

/// Whether the CPU has an extension: only the base is used.
pub fn operation_isa_here(isa: &str) -> bool {
    isa == "base"
}

/// Pairs of steps in one turn of the single chain.
const PAIRS: u64 = CHAIN_STEPS / 2;

/// An operation: chains in the registers `$names`, which `$load` and `$store` move; operands in t3,
/// t4 and t5, or fa0, fa1 and fa2.
macro_rules! operation {
    (@loop $chains:literal, $pairs:expr, $names:literal, $load:literal, $store:literal, [$y0:literal, $y1:literal, $z:literal],
     [$($first:literal),*], [$($other:literal),*]) => {{
        unsafe fn run(state: *mut State, operands: *const Operands, turns: u64) {
            // SAFETY: the caller vouches for the pointers.
            unsafe {
                asm!(
                    "mv t6, a0",
                    concat!(".irp i, ", $names),
                    concat!($load, " \\i, 0(t6)"),
                    "addi t6, t6, 64",
                    ".endr",
                    concat!($load, " ", $y0, ", 0(a1)"),
                    concat!($load, " ", $y1, ", 64(a1)"),
                    concat!($load, " ", $z, ", 128(a1)"),
                    ".p2align 6",
                    "2:",
                    ".rept {pairs}",
                    concat!(".irp i, ", $names),
                    $($first,)*
                    ".endr",
                    concat!(".irp i, ", $names),
                    $($other,)*
                    ".endr",
                    ".endr",
                    // A jump, which reaches further than a branch.
                    "addi a2, a2, -1",
                    "beqz a2, 3f",
                    "j 2b",
                    "3:",
                    "mv t6, a0",
                    concat!(".irp i, ", $names),
                    concat!($store, " \\i, 0(t6)"),
                    "addi t6, t6, 64",
                    ".endr",
                    pairs = const $pairs,
                    in("a0") state,
                    in("a1") operands,
                    inout("a2") turns => _,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
        OperationLoop { chains: $chains, steps: 2 * $pairs, run }
    }};
    (@kernel $name:literal, $instruction:literal, $pairs:literal, $load:literal, $store:literal, $operands:tt, $first:tt, $other:tt) => {
        OperationKernel {
            name: $name,
            isa: "base",
            instruction: $instruction,
            chain: operation!(@loop 1, PAIRS, "a3", $load, $store, $operands, $first, $other),
            parallel: operation!(@loop 8, $pairs, "a3, a4, a5, a6, a7, t0, t1, t2", $load, $store, $operands, $first, $other),
        }
    };
    (@float $name:literal, $instruction:literal, $load:literal, $store:literal, $first:tt, $other:tt) => {
        OperationKernel {
            name: $name,
            isa: "base",
            instruction: $instruction,
            chain: operation!(@loop 1, PAIRS, "ft0", $load, $store, ["fa0", "fa1", "fa2"], $first, $other),
            parallel: operation!(@loop 12, 11, "ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, ft11",
                $load, $store, ["fa0", "fa1", "fa2"], $first, $other),
        }
    };
    (64 $name:literal, $instruction:literal, $first:tt, $other:tt) => {
        operation!(@kernel $name, $instruction, 17, "ld", "sd", ["t3", "t4", "t5"], $first, $other)
    };
    (32 $name:literal, $instruction:literal, $first:tt, $other:tt) => {
        operation!(@kernel $name, $instruction, 17, "lw", "sw", ["t3", "t4", "t5"], $first, $other)
    };
    (double $name:literal, $instruction:literal, $first:tt, $other:tt) => {
        operation!(@float $name, $instruction, "fld", "fsd", $first, $other)
    };
    (single $name:literal, $instruction:literal, $first:tt, $other:tt) => {
        operation!(@float $name, $instruction, "flw", "fsw", $first, $other)
    };
}

/// All of them.
pub static OPERATION_KERNELS: &[OperationKernel] = &[
    operation!(64 "i64.add", "add", ["add \\i, \\i, t3"], ["add \\i, \\i, t4"]),
    operation!(64 "i64.mul", "mul", ["mul \\i, \\i, t3"], ["mul \\i, \\i, t4"]),
    operation!(64 "i64.div", "divu", ["divu \\i, t3, \\i"], ["divu \\i, t4, \\i"]),
    operation!(64 "i64.div_small", "divu", ["divu \\i, t3, \\i"], ["divu \\i, t4, \\i"]),
    operation!(64 "i64.mod", "remu", ["add \\i, \\i, t5", "remu \\i, \\i, t3"], ["add \\i, \\i, t5", "remu \\i, \\i, t4"]),
    operation!(64 "i64.mod_small", "remu", ["add \\i, \\i, t5", "remu \\i, \\i, t3"], ["add \\i, \\i, t5", "remu \\i, \\i, t4"]),
    operation!(64 "i64.xor", "xor", ["xor \\i, \\i, t3"], ["xor \\i, \\i, t4"]),
    operation!(64 "i64.shift", "srai", ["srai \\i, \\i, 3"], ["srai \\i, \\i, 3"]),
    operation!(32 "i32.add", "addw", ["addw \\i, \\i, t3"], ["addw \\i, \\i, t4"]),
    operation!(32 "i32.mul", "mulw", ["mulw \\i, \\i, t3"], ["mulw \\i, \\i, t4"]),
    operation!(32 "i32.div", "divuw", ["divuw \\i, t3, \\i"], ["divuw \\i, t4, \\i"]),
    operation!(32 "i32.div_small", "divuw", ["divuw \\i, t3, \\i"], ["divuw \\i, t4, \\i"]),
    operation!(32 "i32.mod", "remuw", ["addw \\i, \\i, t5", "remuw \\i, \\i, t3"], ["addw \\i, \\i, t5", "remuw \\i, \\i, t4"]),
    operation!(32 "i32.mod_small", "remuw", ["addw \\i, \\i, t5", "remuw \\i, \\i, t3"], ["addw \\i, \\i, t5", "remuw \\i, \\i, t4"]),
    operation!(32 "i32.xor", "xor", ["xor \\i, \\i, t3"], ["xor \\i, \\i, t4"]),
    operation!(32 "i32.shift", "sraiw", ["sraiw \\i, \\i, 3"], ["sraiw \\i, \\i, 3"]),
    operation!(double "f64.add", "fadd.d", ["fadd.d \\i, \\i, fa0"], ["fadd.d \\i, \\i, fa1"]),
    operation!(double "f64.mul", "fmul.d", ["fmul.d \\i, \\i, fa0"], ["fmul.d \\i, \\i, fa1"]),
    operation!(double "f64.div", "fdiv.d", ["fdiv.d \\i, \\i, fa0"], ["fdiv.d \\i, \\i, fa1"]),
    operation!(double "f64.sqrt", "fsqrt.d", ["fsqrt.d \\i, \\i"], ["fsqrt.d \\i, \\i"]),
    operation!(double "f64.fma", "fmadd.d", ["fmadd.d \\i, fa0, fa2, \\i"], ["fmadd.d \\i, fa1, fa2, \\i"]),
    operation!(single "f32.add", "fadd.s", ["fadd.s \\i, \\i, fa0"], ["fadd.s \\i, \\i, fa1"]),
    operation!(single "f32.mul", "fmul.s", ["fmul.s \\i, \\i, fa0"], ["fmul.s \\i, \\i, fa1"]),
    operation!(single "f32.div", "fdiv.s", ["fdiv.s \\i, \\i, fa0"], ["fdiv.s \\i, \\i, fa1"]),
    operation!(single "f32.sqrt", "fsqrt.s", ["fsqrt.s \\i, \\i"], ["fsqrt.s \\i, \\i"]),
    operation!(single "f32.fma", "fmadd.s", ["fmadd.s \\i, fa0, fa2, \\i"], ["fmadd.s \\i, fa1, fa2, \\i"]),
];
