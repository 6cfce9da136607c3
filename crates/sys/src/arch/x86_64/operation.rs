//! Arithmetic operations: see [`crate::arch::operation`]. The base instructions, SSE4, FMA, AVX2
//! and AVX-512F.
//!
//! Integer loops have ten chains and 27 pairs of steps, 1.6 KiB; vector loops fourteen (`fma`:
//! twelve) and 11 pairs, 1.1 to 1.8 KiB: the two instructions of the loop itself are below 1 %, and
//! everything fits in caches of decoded instructions. There are as many chains as registers,
//! because schedulers do not distribute a few well: on Golden Cove additions take 0.239, 0.212,
//! 0.201 cycles with 5, 8, 10 chains, and `pmulld` (10 cycles, one a cycle) 1.09, 1.06, 1.04 with
//! 12, 14, 15.
//!
//! Division has its operands in rax and rdx. Each takes three more instructions; a chain waits for
//! one move (`div`) or for an addition and one move (`mod`).
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the state, the operands
//! and the stack. Vector loops end with `vzeroupper` where they used upper halves.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::super::operation::{CHAIN_STEPS, Operands, OperationKernel, OperationLoop, State};
use core::arch::asm;

/// Whether CPU and system have an extension, from CPUID and XGETBV.
pub fn operation_isa_here(isa: &str) -> bool {
    match isa {
        "base" => true,
        "popcnt" => std::arch::is_x86_feature_detected!("popcnt"),
        "sse4.1" => std::arch::is_x86_feature_detected!("sse4.1"),
        "sse4.2" => std::arch::is_x86_feature_detected!("sse4.2"),
        "avx" => std::arch::is_x86_feature_detected!("avx"),
        "avx2" => std::arch::is_x86_feature_detected!("avx2"),
        "fma" => std::arch::is_x86_feature_detected!("fma"),
        "avx512f" => std::arch::is_x86_feature_detected!("avx512f"),
        _ => false,
    }
}

/// Pairs of steps in one turn of the single chain.
const PAIRS: u64 = CHAIN_STEPS / 2;

/// An operation on general registers: its operand is in rsi for one step of a pair and in rdi for
/// the other (`second` is 64), or the third is in rdi (128). Registers without a chain are free for
/// the steps.
macro_rules! general {
    (@loop $chains:literal, $pairs:expr, $full:literal, $names:literal, $second:literal, [$($first:literal),*], [$($other:literal),*]) => {{
        unsafe fn run(state: *mut State, operands: *const Operands, turns: u64) {
            // SAFETY: the caller vouches for the pointers; what is pushed is popped.
            unsafe {
                asm!(
                    "push rdi",
                    concat!(".irp x, ", $full),
                    "mov \\x, [rdi]",
                    "add rdi, 64",
                    ".endr",
                    concat!("mov rdi, [rsi + ", $second, "]"),
                    "mov rsi, [rsi]",
                    ".p2align 6",
                    "2:",
                    ".rept {pairs}",
                    concat!(".irp x, ", $names),
                    $($first,)*
                    ".endr",
                    concat!(".irp x, ", $names),
                    $($other,)*
                    ".endr",
                    ".endr",
                    "sub rcx, 1",
                    "jnz 2b",
                    "pop rdi",
                    concat!(".irp x, ", $full),
                    // 32-bit operations have cleared the upper half.
                    "mov [rdi], \\x",
                    "add rdi, 64",
                    ".endr",
                    pairs = const $pairs,
                    inout("rdi") state => _,
                    inout("rsi") operands => _,
                    inout("rcx") turns => _,
                    clobber_abi("sysv64"),
                    out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                );
            }
        }
        OperationLoop { chains: $chains, steps: 2 * $pairs, run }
    }};
    (64 $name:literal, $isa:literal, $instruction:literal, $first:tt, $other:tt) => {
        OperationKernel {
            name: $name,
            isa: $isa,
            instruction: $instruction,
            chain: general!(@loop 1, PAIRS, "r8", "r8", 64, $first, $other),
            parallel: general!(@loop 10, 27, "r8, r9, r10, r11, r12, r13, r14, r15, rax, rdx",
                "r8, r9, r10, r11, r12, r13, r14, r15, rax, rdx", 64, $first, $other),
        }
    };
    (32 $name:literal, $isa:literal, $instruction:literal, $first:tt, $other:tt) => {
        OperationKernel {
            name: $name,
            isa: $isa,
            instruction: $instruction,
            chain: general!(@loop 1, PAIRS, "r8", "r8d", 64, $first, $other),
            parallel: general!(@loop 10, 27, "r8, r9, r10, r11, r12, r13, r14, r15, rax, rdx",
                "r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d, eax, edx", 64, $first, $other),
        }
    };
    // Four instructions a step, the third of them slow; they use rax and rdx.
    (64 divide $name:literal, $second:literal, $both:tt) => {
        OperationKernel {
            name: $name,
            isa: "base",
            instruction: "div",
            chain: general!(@loop 1, PAIRS, "r8", "r8", $second, $both, $both),
            parallel: general!(@loop 8, 9, "r8, r9, r10, r11, r12, r13, r14, r15",
                "r8, r9, r10, r11, r12, r13, r14, r15", $second, $both, $both),
        }
    };
    (32 divide $name:literal, $second:literal, $both:tt) => {
        OperationKernel {
            name: $name,
            isa: "base",
            instruction: "div",
            chain: general!(@loop 1, PAIRS, "r8", "r8d", $second, $both, $both),
            parallel: general!(@loop 8, 9, "r8, r9, r10, r11, r12, r13, r14, r15",
                "r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d", $second, $both, $both),
        }
    };
}

/// An operation on vector registers: chains in 0 and up; operands in 14 and 15 in turn, or for
/// `fma`, which has three, in 12 and 13 in turn and 14.
macro_rules! vector {
    (@loop $chains:literal, $pairs:expr, $index:literal, $operands:literal, $move:literal, $register:literal, $leave:literal, $first:expr, $other:expr) => {{
        unsafe fn run(state: *mut State, operands: *const Operands, turns: u64) {
            // SAFETY: the caller vouches for the pointers and for the instructions.
            unsafe {
                asm!(
                    concat!(".irp i, ", $index),
                    concat!($move, " ", $register, "\\i, [rdi + 64 * \\i]"),
                    ".endr",
                    concat!(".irp i, ", $operands),
                    concat!($move, " ", $register, "\\i, [rsi]"),
                    "add rsi, 64",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept {pairs}",
                    concat!(".irp i, ", $index),
                    $first,
                    ".endr",
                    concat!(".irp i, ", $index),
                    $other,
                    ".endr",
                    ".endr",
                    "sub rcx, 1",
                    "jnz 2b",
                    concat!(".irp i, ", $index),
                    concat!($move, " [rdi + 64 * \\i], ", $register, "\\i"),
                    ".endr",
                    $leave,
                    pairs = const $pairs,
                    in("rdi") state,
                    inout("rsi") operands => _,
                    inout("rcx") turns => _,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
        OperationLoop { chains: $chains, steps: 2 * $pairs, run }
    }};
    (@two $name:literal, $isa:literal, $instruction:literal, $move:literal, $register:literal, $leave:literal, $first:expr, $other:expr) => {
        OperationKernel {
            name: $name,
            isa: $isa,
            instruction: $instruction,
            chain: vector!(@loop 1, PAIRS, "0", "14, 15", $move, $register, $leave, $first, $other),
            parallel: vector!(@loop 14, 11, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13", "14, 15",
                $move, $register, $leave, $first, $other),
        }
    };
    (@three $name:literal, $isa:literal, $instruction:literal, $move:literal, $register:literal, $leave:literal, $first:expr, $other:expr) => {
        OperationKernel {
            name: $name,
            isa: $isa,
            instruction: $instruction,
            chain: vector!(@loop 1, PAIRS, "0", "12, 13, 14", $move, $register, $leave, $first, $other),
            parallel: vector!(@loop 12, 11, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11", "12, 13, 14",
                $move, $register, $leave, $first, $other),
        }
    };
    // x = x op y, as SSE writes it.
    (sse $name:literal, $isa:literal, $instruction:literal, $move:literal) => {
        vector!(@two $name, $isa, $instruction, $move, "xmm", "",
            concat!($instruction, " xmm\\i, xmm14"), concat!($instruction, " xmm\\i, xmm15"))
    };
    // x = op x.
    (root $name:literal, $instruction:literal, $move:literal) => {
        vector!(@two $name, "base", $instruction, $move, "xmm", "",
            concat!($instruction, " xmm\\i, xmm\\i"), concat!($instruction, " xmm\\i, xmm\\i"))
    };
    // x = x op y, as AVX writes it.
    (vex $name:literal, $isa:literal, $instruction:literal, $move:literal, $register:literal) => {
        vector!(@two $name, $isa, $instruction, $move, $register, "vzeroupper",
            concat!($instruction, " ", $register, "\\i, ", $register, "\\i, ", $register, "14"),
            concat!($instruction, " ", $register, "\\i, ", $register, "\\i, ", $register, "15"))
    };
    // x = y * z + x.
    (fma $name:literal, $isa:literal, $instruction:literal, $move:literal, $register:literal) => {
        vector!(@three $name, $isa, $instruction, $move, $register, "vzeroupper",
            concat!($instruction, " ", $register, "\\i, ", $register, "12, ", $register, "14"),
            concat!($instruction, " ", $register, "\\i, ", $register, "13, ", $register, "14"))
    };
}

/// All of them.
pub static OPERATION_KERNELS: &[OperationKernel] = &[
    general!(64 "i64.add", "base", "add", ["add \\x, rsi"], ["add \\x, rdi"]),
    general!(64 "i64.mul", "base", "imul", ["imul \\x, rsi"], ["imul \\x, rdi"]),
    general!(64 "i64.xor", "base", "xor", ["xor \\x, rsi"], ["xor \\x, rdi"]),
    general!(64 "i64.shift", "base", "sar", ["sar \\x, 3"], ["sar \\x, 3"]),
    general!(64 "i64.rotate", "base", "ror", ["ror \\x, 7"], ["ror \\x, 7"]),
    general!(64 "i64.popcnt", "popcnt", "popcnt", ["popcnt \\x, \\x"], ["popcnt \\x, \\x"]),
    general!(64 "i64.crc32", "sse4.2", "crc32", ["crc32 \\x, rsi"], ["crc32 \\x, rdi"]),
    general!(64 divide "i64.div", 64, ["mov rax, rsi", "xor edx, edx", "div \\x", "mov \\x, rax"]),
    general!(64 divide "i64.div_small", 64, ["mov rax, rsi", "xor edx, edx", "div \\x", "mov \\x, rax"]),
    general!(64 divide "i64.mod", 128, ["lea rax, [\\x + rdi]", "xor edx, edx", "div rsi", "mov \\x, rdx"]),
    general!(64 divide "i64.mod_small", 128, ["lea rax, [\\x + rdi]", "xor edx, edx", "div rsi", "mov \\x, rdx"]),
    general!(32 "i32.add", "base", "add", ["add \\x, esi"], ["add \\x, edi"]),
    general!(32 "i32.mul", "base", "imul", ["imul \\x, esi"], ["imul \\x, edi"]),
    general!(32 "i32.xor", "base", "xor", ["xor \\x, esi"], ["xor \\x, edi"]),
    general!(32 "i32.shift", "base", "sar", ["sar \\x, 3"], ["sar \\x, 3"]),
    general!(32 "i32.rotate", "base", "ror", ["ror \\x, 7"], ["ror \\x, 7"]),
    general!(32 divide "i32.div", 64, ["mov eax, esi", "xor edx, edx", "div \\x", "mov \\x, eax"]),
    general!(32 divide "i32.div_small", 64, ["mov eax, esi", "xor edx, edx", "div \\x", "mov \\x, eax"]),
    general!(32 divide "i32.mod", 128, ["lea eax, [\\x + edi]", "xor edx, edx", "div esi", "mov \\x, edx"]),
    general!(32 divide "i32.mod_small", 128, ["lea eax, [\\x + edi]", "xor edx, edx", "div esi", "mov \\x, edx"]),
    vector!(sse "f64.add", "base", "addsd", "movsd"),
    vector!(sse "f64.mul", "base", "mulsd", "movsd"),
    vector!(sse "f64.div", "base", "divsd", "movsd"),
    vector!(root "f64.sqrt", "sqrtsd", "movsd"),
    vector!(fma "f64.fma", "fma", "vfmadd231sd", "vmovsd", "xmm"),
    vector!(sse "f32.add", "base", "addss", "movss"),
    vector!(sse "f32.mul", "base", "mulss", "movss"),
    vector!(sse "f32.div", "base", "divss", "movss"),
    vector!(root "f32.sqrt", "sqrtss", "movss"),
    vector!(fma "f32.fma", "fma", "vfmadd231ss", "vmovss", "xmm"),
    vector!(sse "f64x2.add", "base", "addpd", "movapd"),
    vector!(sse "f64x2.mul", "base", "mulpd", "movapd"),
    vector!(sse "f64x2.div", "base", "divpd", "movapd"),
    vector!(fma "f64x2.fma", "fma", "vfmadd231pd", "vmovapd", "xmm"),
    vector!(vex "f64x4.add", "avx", "vaddpd", "vmovapd", "ymm"),
    vector!(vex "f64x4.mul", "avx", "vmulpd", "vmovapd", "ymm"),
    vector!(vex "f64x4.div", "avx", "vdivpd", "vmovapd", "ymm"),
    vector!(fma "f64x4.fma", "fma", "vfmadd231pd", "vmovapd", "ymm"),
    vector!(vex "f64x8.add", "avx512f", "vaddpd", "vmovapd", "zmm"),
    vector!(vex "f64x8.mul", "avx512f", "vmulpd", "vmovapd", "zmm"),
    vector!(vex "f64x8.div", "avx512f", "vdivpd", "vmovapd", "zmm"),
    vector!(fma "f64x8.fma", "avx512f", "vfmadd231pd", "vmovapd", "zmm"),
    vector!(sse "i32x4.add", "base", "paddd", "movdqa"),
    vector!(sse "i32x4.mul", "sse4.1", "pmulld", "movdqa"),
    vector!(vex "i32x8.add", "avx2", "vpaddd", "vmovdqa", "ymm"),
    vector!(vex "i32x8.mul", "avx2", "vpmulld", "vmovdqa", "ymm"),
    vector!(vex "i32x16.add", "avx512f", "vpaddd", "vmovdqa64", "zmm"),
    vector!(vex "i32x16.mul", "avx512f", "vpmulld", "vmovdqa64", "zmm"),
];
