//! Mixes with Advanced SIMD, which every AArch64 system has.
//!
//! Not here: SVE, whose vectors need not divide a line.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and touches the caller's buffers only.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::{MIX_GROUPS, MIX_LINE, MixKernel, STREAM_PATTERN, portable};
use core::arch::asm;

/// Every kernel that this CPU can run, the portable ones last.
pub fn mix_kernels() -> Vec<&'static MixKernel> {
    KERNELS.iter().chain(&portable::mix::KERNELS).collect()
}

const _: () = assert!(MIX_GROUPS == 4 && MIX_LINE == 64, "written out below");

macro_rules! mixes {
    ($count:literal; $($name:ident $reads:literal [$($r:literal)*] $writes:literal [$($w:literal)*]
        $nt:literal $store:literal [$($end:literal),*];)*) => {
        static KERNELS: [MixKernel; $count] =
            [$(MixKernel { reads: $reads, writes: $writes, nt: $nt, isa: "neon", run: $name },)*];

        $(mixes!(@kernel $name, [
            // A line is two pairs of vectors.
            $(concat!("ldp q16, q17, [x9, #64*(", $reads, "*\\g + ", $r, ")]"),
            concat!("ldp q18, q19, [x9, #64*(", $reads, "*\\g + ", $r, ") + 32]"),)*
            $(concat!($store, " q0, q0, [x8, #64*(", $writes, "*\\g + ", $w, ")]"),
            concat!($store, " q0, q0, [x8, #64*(", $writes, "*\\g + ", $w, ") + 32]"),)*
        ], [$($end,)*], $reads, $writes);)*
    };
    (@kernel $name:ident, [$($body:expr,)*], [$($end:literal,)*], $reads:literal, $writes:literal) => {
        /// # Safety
        ///
        /// As [`MixKernel::run`].
        unsafe fn $name(dst: *mut u8, src: *const u8, turns: usize, passes: u64) {
            if turns == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; x8, x9 and x10 count within a pass; every register changed is
            // one that the ABI lets a callee change.
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
                    $($end,)*
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

mixes! {
    11;
    read1 1 [0] 0 [] false "stp" [];
    read3write1 3 [0 1 2] 1 [0] false "stp" [];
    read2write1 2 [0 1] 1 [0] false "stp" [];
    read1write1 1 [0] 1 [0] false "stp" [];
    read1write2 1 [0] 2 [0 1] false "stp" [];
    write1 0 [] 1 [0] false "stp" [];
    read3write1_nt 3 [0 1 2] 1 [0] true "stnp" ["dsb ishst"];
    read2write1_nt 2 [0 1] 1 [0] true "stnp" ["dsb ishst"];
    read1write1_nt 1 [0] 1 [0] true "stnp" ["dsb ishst"];
    read1write2_nt 1 [0] 2 [0 1] true "stnp" ["dsb ishst"];
    write1_nt 0 [] 1 [0] true "stnp" ["dsb ishst"];
}
