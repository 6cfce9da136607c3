//! Arithmetic operations: see [`crate::arch::operation`]. The base instructions, the scalar and
//! vector floating point that every AArch64 system has, and CRC32.
//!
//! Integer loops have twelve chains (x3 to x14) and 17 pairs of steps; floating-point loops twenty
//! (v0 to v7 and v16 to v27, all caller-saved) and 9: 1.4 to 1.6 KiB. Twenty, because the widest
//! cores have sixteen multiplications in flight (4 cycles, 4 at once).
//!
//! Not here: SVE, whose vectors have no fixed length to be named by.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the state and the
//! operands.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::super::operation::{CHAIN_STEPS, Operands, OperationKernel, OperationLoop, State};
use core::arch::asm;

/// Whether CPU and system have an extension, from the system's HWCAP.
pub fn operation_isa_here(isa: &str) -> bool {
    match isa {
        "base" => true,
        "crc" => std::arch::is_aarch64_feature_detected!("crc"),
        _ => false,
    }
}

/// Pairs of steps in one turn of the single chain.
const PAIRS: u64 = CHAIN_STEPS / 2;

/// An operation on general registers: chains in 3 and up, operands in 20 and 21 (in turn) and 22;
/// 15 is free.
macro_rules! general {
    (@loop $chains:literal, $pairs:expr, $index:literal, [$($first:literal),*], [$($other:literal),*]) => {{
        unsafe fn run(state: *mut State, operands: *const Operands, turns: u64) {
            // SAFETY: the caller vouches for the pointers.
            unsafe {
                asm!(
                    concat!(".irp i, ", $index),
                    "ldr x\\i, [x0, #(64 * (\\i - 3))]",
                    ".endr",
                    "ldr x20, [x1]",
                    "ldr x21, [x1, #64]",
                    "ldr x22, [x1, #128]",
                    ".p2align 6",
                    "2:",
                    ".rept {pairs}",
                    concat!(".irp i, ", $index),
                    $($first,)*
                    ".endr",
                    concat!(".irp i, ", $index),
                    $($other,)*
                    ".endr",
                    ".endr",
                    "subs x2, x2, #1",
                    "b.ne 2b",
                    concat!(".irp i, ", $index),
                    // 32-bit operations have cleared the upper half.
                    "str x\\i, [x0, #(64 * (\\i - 3))]",
                    ".endr",
                    pairs = const $pairs,
                    in("x0") state,
                    in("x1") operands,
                    inout("x2") turns => _,
                    out("x3") _, out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
                    out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
                    out("x20") _, out("x21") _, out("x22") _,
                    options(nostack),
                );
            }
        }
        OperationLoop { chains: $chains, steps: 2 * $pairs, run }
    }};
    ($name:literal, $isa:literal, $instruction:literal, $pairs:literal, $first:tt, $other:tt) => {
        OperationKernel {
            name: $name,
            isa: $isa,
            instruction: $instruction,
            chain: general!(@loop 1, PAIRS, "3", $first, $other),
            parallel: general!(@loop 12, $pairs, "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14", $first, $other),
        }
    };
    ($name:literal, $instruction:literal, $first:literal, $other:literal) => {
        general!($name, "base", $instruction, 17, [$first], [$other])
    };
    // A remainder is an addition, a quotient, and the dividend less their product.
    (remainder $name:literal, $add:literal, $divide:literal, $rest:literal) => {
        general!($name, "base", "udiv", 7, [$add, $divide, $rest], [$add, $divide, $rest])
    };
}

/// An operation on vector registers: chains in 0 to 7 and 16 to 27, operands in 28 and 29 (in turn)
/// and 30. `register` is what is loaded and stored, `operand` how the instruction names it.
macro_rules! vector {
    (@loop $chains:literal, $pairs:expr, $low:literal, $high:literal, $register:literal, [$($first:expr),*], [$($other:expr),*]) => {{
        unsafe fn run(state: *mut State, operands: *const Operands, turns: u64) {
            // SAFETY: the caller vouches for the pointers.
            unsafe {
                asm!(
                    concat!(".irp i, ", $low),
                    concat!("ldr ", $register, "\\i, [x0, #(64 * \\i)]"),
                    ".endr",
                    concat!(".irp i, ", $high),
                    concat!("ldr ", $register, "\\i, [x0, #(64 * (\\i - 8))]"),
                    ".endr",
                    concat!("ldr ", $register, "28, [x1]"),
                    concat!("ldr ", $register, "29, [x1, #64]"),
                    concat!("ldr ", $register, "30, [x1, #128]"),
                    ".p2align 6",
                    "2:",
                    ".rept {pairs}",
                    $($first,)*
                    $($other,)*
                    ".endr",
                    "subs x2, x2, #1",
                    "b.ne 2b",
                    concat!(".irp i, ", $low),
                    concat!("str ", $register, "\\i, [x0, #(64 * \\i)]"),
                    ".endr",
                    concat!(".irp i, ", $high),
                    concat!("str ", $register, "\\i, [x0, #(64 * (\\i - 8))]"),
                    ".endr",
                    pairs = const $pairs,
                    in("x0") state,
                    in("x1") operands,
                    inout("x2") turns => _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _,
                    out("v7") _, out("v16") _, out("v17") _, out("v18") _, out("v19") _, out("v20") _, out("v21") _,
                    out("v22") _, out("v23") _, out("v24") _, out("v25") _, out("v26") _, out("v27") _, out("v28") _,
                    out("v29") _, out("v30") _,
                    options(nostack),
                );
            }
        }
        OperationLoop { chains: $chains, steps: 2 * $pairs, run }
    }};
    // `$before` and `$after` stand around a register's number where the instruction names it (`x`
    // is then the whole name).
    (@kernel $name:literal, $instruction:literal, $register:literal, $before:literal, $after:literal, $first:expr, $other:expr) => {
        OperationKernel {
            name: $name,
            isa: "base",
            instruction: $instruction,
            chain: vector!(@loop 1, PAIRS, "0", "16", $register,
                [concat!(".irp x, ", $before, "0", $after), $first, ".endr"],
                [concat!(".irp x, ", $before, "0", $after), $other, ".endr"]),
            parallel: vector!(@loop 20, 9, "0, 1, 2, 3, 4, 5, 6, 7", "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27", $register,
                [twenty!($before, $after), $first, ".endr"], [twenty!($before, $after), $other, ".endr"]),
        }
    };
    (scalar $name:literal, $instruction:literal, $r:literal) => {
        vector!(@kernel $name, $instruction, $r, $r, "",
            concat!($instruction, " \\x, \\x, ", $r, "28"), concat!($instruction, " \\x, \\x, ", $r, "29"))
    };
    (root $name:literal, $r:literal) => {
        vector!(@kernel $name, "fsqrt", $r, $r, "", "fsqrt \\x, \\x", "fsqrt \\x, \\x")
    };
    (fma $name:literal, $r:literal) => {
        vector!(@kernel $name, "fmadd", $r, $r, "",
            concat!("fmadd \\x, ", $r, "28, ", $r, "30, \\x"), concat!("fmadd \\x, ", $r, "29, ", $r, "30, \\x"))
    };
    (lanes $name:literal, $instruction:literal, $lanes:literal) => {
        vector!(@kernel $name, $instruction, "q", "v", $lanes,
            concat!($instruction, " \\x, \\x, v28", $lanes), concat!($instruction, " \\x, \\x, v29", $lanes))
    };
    (lanes_fma $name:literal, $lanes:literal) => {
        vector!(@kernel $name, "fmla", "q", "v", $lanes,
            concat!("fmla \\x, v28", $lanes, ", v30", $lanes), concat!("fmla \\x, v29", $lanes, ", v30", $lanes))
    };
}

/// Iterates over the registers of the twenty chains by name.
macro_rules! twenty {
    (@list $before:literal, $after:literal, $first:literal $(, $number:literal)*) => {
        concat!(".irp x, ", $before, $first, $after $(, ", ", $before, $number, $after)*)
    };
    ($before:literal, $after:literal) => {
        twenty!(@list $before, $after, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
    };
}

/// All of them.
pub static OPERATION_KERNELS: &[OperationKernel] = &[
    general!("i64.add", "add", "add x\\i, x\\i, x20", "add x\\i, x\\i, x21"),
    general!("i64.mul", "mul", "mul x\\i, x\\i, x20", "mul x\\i, x\\i, x21"),
    general!("i64.div", "udiv", "udiv x\\i, x20, x\\i", "udiv x\\i, x21, x\\i"),
    general!("i64.div_small", "udiv", "udiv x\\i, x20, x\\i", "udiv x\\i, x21, x\\i"),
    general!(remainder "i64.mod", "add x\\i, x\\i, x22", "udiv x15, x\\i, x20", "msub x\\i, x15, x20, x\\i"),
    general!(remainder "i64.mod_small", "add x\\i, x\\i, x22", "udiv x15, x\\i, x20", "msub x\\i, x15, x20, x\\i"),
    general!("i64.xor", "eor", "eor x\\i, x\\i, x20", "eor x\\i, x\\i, x21"),
    general!("i64.shift", "asr", "asr x\\i, x\\i, #3", "asr x\\i, x\\i, #3"),
    general!("i64.rotate", "ror", "ror x\\i, x\\i, #7", "ror x\\i, x\\i, #7"),
    general!(
        "i64.crc32",
        "crc",
        "crc32cx",
        17,
        [".arch_extension crc", "crc32cx w\\i, w\\i, x20"],
        ["crc32cx w\\i, w\\i, x21"]
    ),
    general!("i32.add", "add", "add w\\i, w\\i, w20", "add w\\i, w\\i, w21"),
    general!("i32.mul", "mul", "mul w\\i, w\\i, w20", "mul w\\i, w\\i, w21"),
    general!("i32.div", "udiv", "udiv w\\i, w20, w\\i", "udiv w\\i, w21, w\\i"),
    general!("i32.div_small", "udiv", "udiv w\\i, w20, w\\i", "udiv w\\i, w21, w\\i"),
    general!(remainder "i32.mod", "add w\\i, w\\i, w22", "udiv w15, w\\i, w20", "msub w\\i, w15, w20, w\\i"),
    general!(remainder "i32.mod_small", "add w\\i, w\\i, w22", "udiv w15, w\\i, w20", "msub w\\i, w15, w20, w\\i"),
    general!("i32.xor", "eor", "eor w\\i, w\\i, w20", "eor w\\i, w\\i, w21"),
    general!("i32.shift", "asr", "asr w\\i, w\\i, #3", "asr w\\i, w\\i, #3"),
    general!("i32.rotate", "ror", "ror w\\i, w\\i, #7", "ror w\\i, w\\i, #7"),
    vector!(scalar "f64.add", "fadd", "d"),
    vector!(scalar "f64.mul", "fmul", "d"),
    vector!(scalar "f64.div", "fdiv", "d"),
    vector!(root "f64.sqrt", "d"),
    vector!(fma "f64.fma", "d"),
    vector!(scalar "f32.add", "fadd", "s"),
    vector!(scalar "f32.mul", "fmul", "s"),
    vector!(scalar "f32.div", "fdiv", "s"),
    vector!(root "f32.sqrt", "s"),
    vector!(fma "f32.fma", "s"),
    vector!(lanes "f64x2.add", "fadd", ".2d"),
    vector!(lanes "f64x2.mul", "fmul", ".2d"),
    vector!(lanes "f64x2.div", "fdiv", ".2d"),
    vector!(lanes_fma "f64x2.fma", ".2d"),
    vector!(lanes "i32x4.add", "add", ".4s"),
    vector!(lanes "i32x4.mul", "mul", ".4s"),
];
