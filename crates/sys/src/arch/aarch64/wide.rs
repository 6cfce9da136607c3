//! Vector arithmetic beside a scalar chain: see [`crate::arch::wide`]. 128 bits (Advanced SIMD) and
//! the scalable vectors of SVE, on eight accumulators.
//!
//! # Safety
//!
//! Arithmetic on declared registers. The SVE block is returned only where the system reports SVE.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::wide::{WIDE_ADDITIONS, WIDE_STEP, WIDE_UNROLL, Work};
use core::arch::asm;

/// The loops of this name: `vector128` (Advanced SIMD) or `sve`.
///
/// # Errors
///
/// Says what the CPU lacks.
pub fn vector_work(name: &str) -> Result<[Work; 2], String> {
    match name {
        "vector128" => Ok([vector128::<{ WIDE_ADDITIONS[0] }>, vector128::<{ WIDE_ADDITIONS[1] }>]),
        "sve" if std::arch::is_aarch64_feature_detected!("sve") => {
            Ok([sve::<{ WIDE_ADDITIONS[0] }>, sve::<{ WIDE_ADDITIONS[1] }>])
        }
        "sve" => Err("this CPU has no SVE".into()),
        _ => Err(format!("{name} is of another architecture")),
    }
}

macro_rules! works {
    // Eight lines that differ in the accumulator and in what follows. (Written out: a number before
    // a dot needs a `\\()` in the assembler's own loops, which an enclosing loop removes.)
    (@eight $head:literal, $tail:literal, $behind:literal) => {
        concat!(
            $head, "0", $tail, $behind, $head, "1", $tail, $behind, $head, "2", $tail, $behind, $head, "3", $tail, $behind,
            $head, "4", $tail, $behind, $head, "5", $tail, $behind, $head, "6", $tail, $behind, $head, "7", $tail, $behind
        )
    };
    ($($name:ident: [$($before:literal),*], [$start:literal, $cleared:literal], [$step:literal, $operands:literal];)*) => {$(
        fn $name<const ADDITIONS: u64>(turns: u64) -> f64 {
            let mut sum = 0.0_f64;
            if turns == 0 {
                return sum;
            }
            // SAFETY: returned only where the CPU has the instructions; registers as declared (v0
            // to v7 and v16, v17 are the lowest parts of z0 to z7 and z16, z17, all caller-saved).
            unsafe {
                asm!(
                    $($before,)*
                    works!(@eight $start, $cleared, "\n"),
                    ".p2align 6",
                    "2:",
                    ".rept {unroll} / 8",
                    works!(@eight $step, $operands, "\n.rept {additions}\nadd {chain}, {chain}, {one}\n.endr\n"),
                    ".endr",
                    "sub {turns}, {turns}, #1",
                    "cbnz {turns}, 2b",
                    ".irp i, 1, 2, 3, 4, 5, 6, 7",
                    "fadd d0, d0, d\\i",
                    ".endr",
                    unroll = const WIDE_UNROLL,
                    additions = const ADDITIONS,
                    chain = inout(reg) 0_u64 => _,
                    one = in(reg) 1_u64,
                    turns = inout(reg) turns => _,
                    inout("v0") sum,
                    inout("v16") WIDE_STEP => _,
                    inout("v17") 1.0_f64 => _,
                    out("v1") _,
                    out("v2") _,
                    out("v3") _,
                    out("v4") _,
                    out("v5") _,
                    out("v6") _,
                    out("v7") _,
                    out("p0") _,
                    options(nostack),
                );
            }
            sum
        }
    )*};
}

works! {
    vector128: ["dup v16.2d, v16.d[0]", "dup v17.2d, v17.d[0]"],
        ["movi v", ".2d, #0"], ["fmla v", ".2d, v16.2d, v17.2d"];
    sve: [".arch_extension sve", "ptrue p0.d", "mov z16.d, z16.d[0]", "mov z17.d, z17.d[0]"],
        ["mov z", ".d, #0"], ["fmla z", ".d, p0/m, z16.d, z17.d"];
}
