//! Vector arithmetic beside a scalar chain: see [`crate::arch::wide`]. 256 and 512 bits, on eight
//! accumulators.
//!
//! # Safety
//!
//! Arithmetic on declared registers. Each block is returned only where CPUID and XGETBV allow it.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::wide::{WIDE_ADDITIONS, WIDE_STEP, WIDE_UNROLL, Work};
use core::arch::asm;

/// The loops of this name: `vector256` (AVX2 and FMA) or `vector512` (AVX-512).
///
/// # Errors
///
/// Says what the CPU lacks.
pub fn vector_work(name: &str) -> Result<[Work; 2], String> {
    let fma = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    match name {
        "vector256" if fma => Ok([vector256::<{ WIDE_ADDITIONS[0] }>, vector256::<{ WIDE_ADDITIONS[1] }>]),
        "vector512" if fma && std::arch::is_x86_feature_detected!("avx512f") => {
            Ok([vector512::<{ WIDE_ADDITIONS[0] }>, vector512::<{ WIDE_ADDITIONS[1] }>])
        }
        "vector256" => Err("this CPU has no AVX2 with fused multiply-adds".into()),
        "vector512" => Err("this CPU has no AVX-512".into()),
        _ => Err(format!("{name} is of another architecture")),
    }
}

macro_rules! works {
    ($($name:ident: $vector:literal, $clear:literal;)*) => {$(
        fn $name<const ADDITIONS: u64>(turns: u64) -> f64 {
            let mut sum = 0.0_f64;
            if turns == 0 {
                return sum;
            }
            // SAFETY: returned only where the CPU has the instructions. Constants are broadcast
            // from their lowest lane; every vector register is caller-saved, and no upper half
            // stays dirty.
            unsafe {
                asm!(
                    concat!("vbroadcastsd ", $vector, "8, xmm8"),
                    concat!("vbroadcastsd ", $vector, "9, xmm9"),
                    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
                    concat!($clear, " ", $vector, "\\i, ", $vector, "\\i, ", $vector, "\\i"),
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept {unroll} / 8",
                    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
                    concat!("vfmadd231pd ", $vector, "\\i, ", $vector, "8, ", $vector, "9"),
                    ".rept {additions}",
                    "add rax, rdx",
                    ".endr",
                    ".endr",
                    ".endr",
                    "sub rcx, 1",
                    "jnz 2b",
                    ".irp i, 1, 2, 3, 4, 5, 6, 7",
                    "vaddsd xmm0, xmm0, xmm\\i",
                    ".endr",
                    "vzeroupper",
                    unroll = const WIDE_UNROLL,
                    additions = const ADDITIONS,
                    inout("rax") 0_u64 => _,
                    in("rdx") 1_u64,
                    inout("rcx") turns => _,
                    inout("xmm0") sum,
                    inout("xmm8") WIDE_STEP => _,
                    inout("xmm9") 1.0_f64 => _,
                    out("xmm1") _,
                    out("xmm2") _,
                    out("xmm3") _,
                    out("xmm4") _,
                    out("xmm5") _,
                    out("xmm6") _,
                    out("xmm7") _,
                    options(nostack),
                );
            }
            sum
        }
    )*};
}

works! {
    vector256: "ymm", "vpxor";
    vector512: "zmm", "vpxorq";
}
