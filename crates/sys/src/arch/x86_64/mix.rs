//! Mixes: see [`crate::arch::mix`]. AVX2 and AVX-512; without them the compiler's SSE2 is used
//! ([`portable`]).
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's buffers.
//! Kernels are reached only through a list filtered by what the CPU and the system support.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::mix::with_mixes;
use crate::arch::{MIX_GROUPS, MIX_LINE, MixKernel, STREAM_PATTERN, portable};
use core::arch::asm;

/// Every kernel that this CPU can run, the widest first and the portable ones last.
pub fn mix_kernels() -> Vec<&'static MixKernel> {
    let mut all = Vec::new();
    if std::arch::is_x86_feature_detected!("avx512f") {
        all.extend(&avx512::KERNELS);
    }
    if std::arch::is_x86_feature_detected!("avx2") {
        all.extend(&avx2::KERNELS);
    }
    all.extend(&portable::mix::KERNELS);
    all
}

macro_rules! mixes {
    ($isa:ident, $feature:literal, $v:literal, $move:literal, $parts:tt, $count:literal; $($mix:tt)*) => {
        mod $isa {
            use super::*;

            pub(super) static KERNELS: [MixKernel; $count] = mixes!(@list $isa; $($mix)*);

            mixes!(@each $feature, $v, $move, $parts; $($mix)*);
        }
    };
    (@list $isa:ident; $($name:ident $reads:literal [$($r:literal)*] $writes:literal [$($w:literal)*] $nt:tt;)*) => {
        [$(MixKernel { reads: $reads, writes: $writes, nt: $nt, isa: stringify!($isa), run: $name },)*]
    };
    (@each $feature:literal, $v:literal, $move:literal, $parts:tt; $($name:ident $reads:literal $r:tt $writes:literal $w:tt $nt:tt;)*) => {
        $(mixes!(@kernel $name, $feature, $v, [
            mixes!(@lines $parts, $r, concat!($move, " ", $v, "1, [r9 + "), $reads, "]"),
            mixes!(@lines $parts, $w, concat!(mixes!(@store $move, $nt), " [r8 + "), $writes, concat!("], ", $v, "0")),
        ], $reads, $writes);)*
    };
    (@store $move:literal, false) => { $move };
    (@store $move:literal, true) => { "vmovntdq" };
    // The lines of a group, each in one part per vector.
    (@lines [$($part:literal)*], $lines:tt, $before:expr, $per:literal, $after:expr) => {
        concat!($(mixes!(@part $part, $lines, $before, $per, $after)),*)
    };
    (@part $part:literal, [$($line:literal)*], $before:expr, $per:literal, $after:expr) => {
        concat!($($before, "64*(", $per, "*\\g + ", $line, ") + ", $part, $after, "\n"),*)
    };
    (@kernel $name:ident, $feature:literal, $v:literal, [$($body:expr,)*], $reads:literal, $writes:literal) => {
        /// # Safety
        ///
        /// As [`MixKernel::run`].
        #[target_feature(enable = $feature)]
        unsafe fn $name(dst: *mut u8, src: *const u8, turns: usize, passes: u64) {
            if turns == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; r8, r9 and r10 count within a pass; every
            // register changed is caller-saved.
            unsafe {
                asm!(
                    "movq xmm0, rax",
                    concat!("vpbroadcastq ", $v, "0, xmm0"),
                    "2:",
                    "mov r8, rdi",
                    "mov r9, rsi",
                    "mov r10, rdx",
                    ".p2align 6",
                    "3:",
                    ".irp g, 0, 1, 2, 3",
                    $($body,)*
                    ".endr",
                    "add r8, {written}",
                    "add r9, {read}",
                    "sub r10, 1",
                    "jnz 3b",
                    "sub rcx, 1",
                    "jnz 2b",
                    "sfence",
                    "vzeroupper",
                    read = const MIX_GROUPS * MIX_LINE * $reads,
                    written = const MIX_GROUPS * MIX_LINE * $writes,
                    in("rax") STREAM_PATTERN,
                    inout("rcx") passes => _,
                    in("rdx") turns,
                    in("rsi") src,
                    in("rdi") dst,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

with_mixes!(nt mixes!(avx512, "avx512f", "zmm", "vmovdqa64", [0], 11;));
with_mixes!(nt mixes!(avx2, "avx2", "ymm", "vmovdqa", [0 32], 11;));
