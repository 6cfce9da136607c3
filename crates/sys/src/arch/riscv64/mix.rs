//! Mixes: see [`crate::arch::mix`]. Scalar, and V 1.0 with a line in each register group.
//!
//! Not here: non-temporal stores, which RISC-V does not have.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's buffers.
//! Vector loops are reached only through a list filtered by what the kernel reports (hwprobe).
#![expect(unsafe_code, reason = "this is the assembly")]

use super::vectors::group_bytes;
use crate::arch::mix::with_mixes;
use crate::arch::{MixKernel, STREAM_PATTERN, portable};
use core::arch::asm;

/// Every kernel that this CPU can run, vectors first and the portable ones last.
pub fn mix_kernels() -> Vec<&'static MixKernel> {
    let mut all = Vec::new();
    if group_bytes().is_some() {
        all.extend(&rvv::KERNELS);
    }
    all.extend(&scalar::KERNELS);
    all.extend(&portable::mix::KERNELS);
    all
}

macro_rules! mixes {
    ($isa:ident; $($name:ident $reads:literal [$($r:tt)*] $writes:literal [$($w:tt)*] false;)*) => {
        mod $isa {
            use super::*;

            pub(super) static KERNELS: [MixKernel; 6] =
                [$(MixKernel { reads: $reads, writes: $writes, nt: false, isa: stringify!($isa), run: $name }),*];

            $($isa!($name, $reads [$($r)*] $writes [$($w)*]);)*
        }
    };
    (@kernel $name:ident, [$($before:literal),*], $groups:literal, [$($line:expr,)*], [$($after:expr),*]) => {
        /// # Safety
        ///
        /// As [`MixKernel::run`].
        unsafe fn $name(dst: *mut u8, src: *const u8, turns: usize, passes: u64) {
            if turns == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; a0, a1 and a2 keep them from pass to
            // pass, a4, a5 and s2 count within one; every register changed but s2 is caller-saved,
            // and so are all vector registers.
            unsafe {
                asm!(
                    ".option push",
                    $($before,)*
                    "2:",
                    "mv a4, a0",
                    "mv a5, a1",
                    "mv s2, a2",
                    ".p2align 6",
                    "3:",
                    $groups,
                    $($line,)*
                    ".endr",
                    $($after,)*
                    "addi s2, s2, -1",
                    "bnez s2, 3b",
                    "addi a3, a3, -1",
                    "bnez a3, 2b",
                    ".option pop",
                    in("a0") dst,
                    in("a1") src,
                    in("a2") turns,
                    in("a3") passes,
                    in("a6") STREAM_PATTERN,
                    out("s2") _,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

/// A loop that loads words to t0 to t6 and a7 and stores a6. `$r` and `$w` are the numbers of the
/// lines in group g.
macro_rules! scalar {
    ($name:ident, $reads:literal [$($r:tt)*] $writes:literal [$($w:tt)*]) => {
        mixes!(
            @kernel $name, [], ".irp g, 0, 1, 2, 3",
            [$(scalar!(@load $reads, $r),)* $(scalar!(@store $writes, $w),)*],
            [concat!("addi a4, a4, 64*4*", $writes), concat!("addi a5, a5, 64*4*", $reads)]
        );
    };
    (@load $of:literal, $line:literal) => {
        scalar!(@words "ld", "a5", $of, $line, "t0" 0, "t1" 8, "t2" 16, "t3" 24, "t4" 32, "t5" 40, "t6" 48, "a7" 56)
    };
    (@store $of:literal, $line:literal) => {
        scalar!(@words "sd", "a4", $of, $line, "a6" 0, "a6" 8, "a6" 16, "a6" 24, "a6" 32, "a6" 40, "a6" 48, "a6" 56)
    };
    (@words $instruction:literal, $base:literal, $of:literal, $line:literal, $($register:literal $offset:literal),*) => {
        concat!($($instruction, " ", $register, ", 64*(", $of, "*\\g + ", $line, ") + ", $offset, "(", $base, ")\n"),*)
    };
}

/// A loop with a line in four registers, which hold 64 bytes whatever their length. The first line
/// of each group is loaded to registers of its own, the others to v20 and v24; stores are from v0.
macro_rules! rvv {
    ($name:ident, $reads:literal [$($r:tt)*] $writes:literal [$($w:tt)*]) => {
        mixes!(
            @kernel $name,
            [".option arch, +v", "vsetivli zero, 8, e64, m4, ta, ma", "vmv.v.x v0, a6"], ".irp first, v4, v8, v12, v16",
            [$(rvv!(@load $r),)* $(rvv!(@store $w),)*],
            []
        );
    };
    (@load 0) => { "vle64.v \\first, (a5)\naddi a5, a5, 64" };
    (@load 1) => { "vle64.v v20, (a5)\naddi a5, a5, 64" };
    (@load 2) => { "vle64.v v24, (a5)\naddi a5, a5, 64" };
    (@store $line:tt) => { "vse64.v v0, (a4)\naddi a4, a4, 64" };
}

with_mixes!(mixes!(scalar;));
with_mixes!(mixes!(rvv;));
