//! STREAM's loops: see [`crate::arch::doubles`]. Advanced SIMD, which every AArch64 system has, and
//! SVE.
//!
//! One stream per array, front to back, as STREAM defines it. `mem.bandwidth` has what is faster. A
//! turn is sixteen vectors in two halves of eight. There are sixteen partial sums, since an
//! addition takes several cycles and at least two can start in one. `stnp` is a hint, which a core
//! may ignore.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's arrays.
//! SVE is reached only through a list filtered by what the system reports.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::stream::sve_bytes;
use crate::arch::doubles::doubles_kernels_of;
use crate::arch::{DOUBLES_SCALAR, Doubles, DoublesKernel, portable};
use core::arch::asm;
use std::sync::LazyLock;

/// Every kernel that this CPU can run, the widest first and the portable ones last. A pair of
/// Advanced SIMD vectors has 32 bytes; an SVE vector may have more or fewer.
pub fn doubles_kernels() -> Vec<&'static DoublesKernel> {
    let mut all: Vec<_> = NEON.iter().collect();
    all.splice(if sve_bytes() >= Some(32) { 0..0 } else { all.len()..all.len() }, SVE.iter());
    all.extend(&portable::doubles::KERNELS);
    all
}

static NEON: [DoublesKernel; 12] = neon::kernels(VECTORS * 16);

/// Made on first use, because the step is unknown before; empty without SVE.
static SVE: LazyLock<Vec<DoublesKernel>> =
    LazyLock::new(|| sve_bytes().map_or(Vec::new(), |bytes| sve::kernels(VECTORS * bytes).into()));

/// Vectors per turn.
const VECTORS: usize = 16;
const _: () = assert!(VECTORS == 16, "written out below");

/// What differs between the two instruction sets around the work itself.
macro_rules! words {
    // x5: bytes of a turn.
    (neon turn) => {
        "mov x5, #256"
    };
    (sve turn) => {
        ".arch_extension sve\nrdvl x5, #16\nptrue p0.d"
    };
    // The addresses at the start of a pass. Those of SVE reach eight vectors to either side.
    (neon pass) => {
        "mov x8, x0\nmov x9, x1\nmov x10, x2"
    };
    (sve pass) => {
        "addvl x8, x0, #8\naddvl x9, x1, #8\naddvl x10, x2, #8"
    };
    // The lowest lane of a vector to all of them, and the sum of all lanes.
    (neon spread) => {
        "dup v0.2d, v0.d[0]"
    };
    (sve spread) => {
        "mov z0.d, z0.d[0]"
    };
    (neon across) => {
        "faddp d0, v0.2d"
    };
    (sve across) => {
        "faddv d0, p0, z0.d"
    };
}

/// Half a turn of an array, between memory and eight registers: those of `b`, those of `c`, or the
/// scalar repeatedly.
macro_rules! moves {
    ($set:tt $verb:tt $base:literal, b) => { moves!(@$set $verb $base, 16 17 0, 18 19 1, 20 21 2, 22 23 3) };
    ($set:tt $verb:tt $base:literal, c) => { moves!(@$set $verb $base, 24 25 0, 26 27 1, 28 29 2, 30 31 3) };
    ($set:tt $verb:tt $base:literal, scalar) => { moves!(@$set $verb $base, 0 0 0, 0 0 1, 0 0 2, 0 0 3) };
    (@neon load $($rest:tt)*) => { moves!(@pairs "ldp", $($rest)*) };
    (@neon store $($rest:tt)*) => { moves!(@pairs "stp", $($rest)*) };
    (@neon store_nt $($rest:tt)*) => { moves!(@pairs "stnp", $($rest)*) };
    (@sve load $($rest:tt)*) => { moves!(@vectors "ld1d", "p0/z", $($rest)*) };
    (@sve store $($rest:tt)*) => { moves!(@vectors "st1d", "p0", $($rest)*) };
    (@sve store_nt $($rest:tt)*) => { moves!(@vectors "stnt1d", "p0", $($rest)*) };
    (@pairs $instruction:literal, $base:literal, $($even:literal $odd:literal $i:literal),*) => {
        concat!($($instruction, " q", $even, ", q", $odd, ", [", $base, ", #\\at + 32*", $i, "]\n"),*)
    };
    (@vectors $instruction:literal, $predicate:literal, $base:literal, $($even:literal $odd:literal $i:literal),*) => {
        concat!($(
            $instruction, " {{z", $even, ".d}}, ", $predicate, ", [", $base, ", #\\at + 2*", $i, ", mul vl]\n",
            $instruction, " {{z", $odd, ".d}}, ", $predicate, ", [", $base, ", #\\at + 2*", $i, " + 1, mul vl]\n"
        ),*)
    };
}

/// Vectors multiplied by others, or others added to them.
macro_rules! lanes {
    ($set:tt $operation:literal b, scalar) => {
        lanes!(@$set $operation 16 0, 17 0, 18 0, 19 0, 20 0, 21 0, 22 0, 23 0)
    };
    ($set:tt $operation:literal c, scalar) => {
        lanes!(@$set $operation 24 0, 25 0, 26 0, 27 0, 28 0, 29 0, 30 0, 31 0)
    };
    ($set:tt $operation:literal b, c) => {
        lanes!(@$set $operation 16 24, 17 25, 18 26, 19 27, 20 28, 21 29, 22 30, 23 31)
    };
    // The partial sums of the first half of a turn, of the second, and all of them added up.
    ($set:tt $operation:literal first, b) => {
        lanes!(@$set $operation 0 16, 1 17, 2 18, 3 19, 4 20, 5 21, 6 22, 7 23)
    };
    ($set:tt $operation:literal second, b) => {
        lanes!(@$set $operation 24 16, 25 17, 26 18, 27 19, 28 20, 29 21, 30 22, 31 23)
    };
    ($set:tt $operation:literal together) => {
        lanes!(@$set $operation 0 24, 1 25, 2 26, 3 27, 4 28, 5 29, 6 30, 7 31, 0 4, 1 5, 2 6, 3 7, 0 2, 1 3, 0 1)
    };
    (@neon $operation:literal $($to:literal $by:literal),*) => {
        concat!($($operation, " v", $to, ".2d, v", $to, ".2d, v", $by, ".2d\n"),*)
    };
    (@sve $operation:literal $($to:literal $by:literal),*) => {
        concat!($($operation, " z", $to, ".d, z", $to, ".d, z", $by, ".d\n"),*)
    };
}

macro_rules! kernels {
    // Offsets of the two halves of a turn, in bytes or in vectors.
    ($set:tt, $first:literal, $second:literal) => {
        mod $set {
            use super::*;

            pub(super) const fn kernels(step: usize) -> [DoublesKernel; 12] {
                doubles_kernels_of!(nt stringify!($set), step)
            }

            kernels!(@both copy, copy_nt, $set, [
                concat!(".irp at, ", $first, ", ", $second),
                moves!($set load "x9", b),
            ], b);
            kernels!(@both scale, scale_nt, $set, [
                concat!(".irp at, ", $first, ", ", $second),
                moves!($set load "x9", b),
                lanes!($set "fmul" b, scalar),
            ], b);
            kernels!(@both add, add_nt, $set, [
                concat!(".irp at, ", $first, ", ", $second),
                moves!($set load "x9", b),
                moves!($set load "x10", c),
                lanes!($set "fadd" b, c),
            ], b);
            kernels!(@both triad, triad_nt, $set, [
                concat!(".irp at, ", $first, ", ", $second),
                moves!($set load "x10", c),
                lanes!($set "fmul" c, scalar),
                moves!($set load "x9", b),
                lanes!($set "fadd" b, c),
            ], b);
            kernels!(@both fill, fill_nt, $set, [concat!(".irp at, ", $first, ", ", $second),], scalar);
            kernels!(@kernel daxpy, $set, [words!($set spread),], [
                concat!(".irp at, ", $first, ", ", $second),
                moves!($set load "x9", c),
                lanes!($set "fmul" c, scalar),
                moves!($set load "x8", b),
                lanes!($set "fadd" b, c),
                moves!($set store "x8", b),
                ".endr",
            ], ["movi d0, #0",]);
            kernels!(@kernel sum, $set, [
                // Also zeroes the lanes of SVE above these.
                ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31",
                "movi v\\i\\().2d, #0",
                ".endr",
            ], [
                concat!(".irp at, ", $first),
                moves!($set load "x9", b),
                lanes!($set "fadd" first, b),
                ".endr",
                concat!(".irp at, ", $second),
                moves!($set load "x9", b),
                lanes!($set "fadd" second, b),
                ".endr",
            ], [lanes!($set "fadd" together), words!($set across),]);
        }
    };
    // Loops that store from the registers of an array and return nothing.
    (@both $name:ident, $nt:ident, $set:tt, [$($body:expr,)*], $from:tt) => {
        kernels!(@kernel $name, $set, [words!($set spread),], [
            $($body,)*
            moves!($set store "x8", $from),
            ".endr",
        ], ["movi d0, #0",]);
        kernels!(@kernel $nt, $set, [words!($set spread),], [
            $($body,)*
            moves!($set store_nt "x8", $from),
            ".endr",
        ], ["movi d0, #0", "dsb ishst",]);
    };
    (@kernel $name:ident, $set:tt, [$($start:expr,)*], [$($body:expr,)*], [$($end:expr,)*]) => {
        /// # Safety
        ///
        /// As [`DoublesKernel::run`].
        unsafe fn $name(a: *mut f64, b: *const f64, c: *const f64, bytes: usize, passes: u64) -> f64 {
            // The lowest lane of v0: the scalar before, the result afterwards.
            let mut lane = DOUBLES_SCALAR;
            if bytes == 0 || passes == 0 {
                return 0.0;
            }
            // SAFETY: the caller vouches for the arrays, whole turns of x5 bytes; x8, x9, x10 and
            // x11 count within a pass; every register changed is caller-saved (v0 is the lowest
            // part of z0).
            unsafe {
                asm!(
                    words!($set turn),
                    $($start,)*
                    "2:",
                    words!($set pass),
                    "mov x11, x3",
                    ".p2align 6",
                    "3:",
                    $($body,)*
                    "add x8, x8, x5",
                    "add x9, x9, x5",
                    "add x10, x10, x5",
                    "subs x11, x11, x5",
                    "b.ne 3b",
                    "subs x4, x4, #1",
                    "b.ne 2b",
                    $($end,)*
                    in("x0") a,
                    in("x1") b,
                    in("x2") c,
                    in("x3") bytes,
                    inout("x4") passes => _,
                    inout("v0") lane,
                    out("p0") _,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
            lane
        }
    };
}

kernels!(neon, 0, 128);
kernels!(sve, -8, 0);
