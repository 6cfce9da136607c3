//! Mixes: see [`crate::arch::mix`]. Advanced SIMD, which every AArch64 system has.
//!
//! Not here: SVE, whose vectors may not divide a line.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's buffers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::mix::with_mixes;
use crate::arch::{MIX_GROUPS, MIX_LINE, MixKernel, STREAM_PATTERN, portable};
use core::arch::asm;

/// Every kernel that this CPU can run, the portable ones last.
pub fn mix_kernels() -> Vec<&'static MixKernel> {
    KERNELS.iter().chain(&portable::mix::KERNELS).collect()
}

macro_rules! mixes {
    ($count:literal; $($name:ident $reads:literal [$($r:literal)*] $writes:literal [$($w:literal)*]
        $nt:tt;)*) => {
        static KERNELS: [MixKernel; $count] =
            [$(MixKernel { reads: $reads, writes: $writes, nt: $nt, isa: "neon", run: $name },)*];

        $(mixes!(@kernel $name, [
            // A line is two pairs of vectors.
            $(concat!("ldp q16, q17, [x9, #64*(", $reads, "*\\g + ", $r, ")]"),
            concat!("ldp q18, q19, [x9, #64*(", $reads, "*\\g + ", $r, ") + 32]"),)*
            $(concat!(mixes!(@store $nt), " q0, q0, [x8, #64*(", $writes, "*\\g + ", $w, ")]"),
            concat!(mixes!(@store $nt), " q0, q0, [x8, #64*(", $writes, "*\\g + ", $w, ") + 32]"),)*
        ], mixes!(@end $nt), $reads, $writes);)*
    };
    (@store false) => { "stp" };
    (@store true) => { "stnp" };
    (@end false) => { "" };
    (@end true) => { "dsb ishst" };
    (@kernel $name:ident, [$($body:expr,)*], $end:expr, $reads:literal, $writes:literal) => {
        /// # Safety
        ///
        /// As [`MixKernel::run`].
        unsafe fn $name(dst: *mut u8, src: *const u8, turns: usize, passes: u64) {
            if turns == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; x8, x9 and x10 count within a pass; every
            // register changed is caller-saved.
            unsafe {
                asm!(
                    "dup v0.2d, x4",
                    "2:",
                    "mov x8, x0",
                    "mov x9, x1",
                    "mov x10, x2",
                    ".p2align 6",
                    "3:",
                    ".irp g, 0, 1, 2, 3",
                    $($body,)*
                    ".endr",
                    "add x8, x8, #{written}",
                    "add x9, x9, #{read}",
                    "subs x10, x10, #1",
                    "b.ne 3b",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $end,
                    read = const MIX_GROUPS * MIX_LINE * $reads,
                    written = const MIX_GROUPS * MIX_LINE * $writes,
                    in("x0") dst,
                    in("x1") src,
                    in("x2") turns,
                    inout("x3") passes => _,
                    in("x4") STREAM_PATTERN,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

with_mixes!(nt mixes!(11;));
