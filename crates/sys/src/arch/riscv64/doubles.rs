//! STREAM's loops: see [`crate::arch::doubles`]. Scalar (D, part of every system of the RV64GC
//! profile) and V 1.0.
//!
//! One stream per array, front to back, as STREAM defines it. Product and sum are two instructions,
//! never a fused one.
//!
//! Not here: non-temporal stores, which RISC-V does not have.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's arrays.
//! Vector loops are reached only through a list filtered by what the kernel reports (hwprobe).
#![expect(unsafe_code, reason = "this is the assembly")]

use super::vectors::{GROUP_WORDS, group_bytes};
use crate::arch::doubles::doubles_kernels_of;
use crate::arch::{DOUBLES_SCALAR, Doubles, DoublesKernel, portable};
use core::arch::asm;
use std::sync::OnceLock;

/// Every kernel that this CPU can run, vectors first and the portable ones last.
pub fn doubles_kernels() -> Vec<&'static DoublesKernel> {
    let mut all = Vec::new();
    if let Some(width) = group_bytes() {
        all.extend(VECTORS.get_or_init(|| rvv::kernels(GROUPS * width)));
    }
    all.extend(&SCALAR);
    all.extend(&portable::doubles::KERNELS);
    all
}

static SCALAR: [DoublesKernel; 7] = scalar::kernels(STEP);

/// The vector kernels, for the length that vectors have here.
static VECTORS: OnceLock<[DoublesKernel; 7]> = OnceLock::new();

/// Bytes of an array per turn of a scalar loop: eight doubles, twice.
const STEP: usize = 128;

/// Register groups of an array per turn of a vector loop: half of all, since two arrays may be
/// read.
const GROUPS: usize = 2;

/// The kernels of one kind, from their stages.
///
/// A stage is applied to all of a part of a turn before the next stage begins, so that an in-order
/// core has work while the first of them is in flight. b is loaded to `x` registers, c to `y`, and
/// a is stored from `x`.
macro_rules! kernels {
    ($isa:ident; $($name:ident [$($stage:literal),*] [$($end:literal),*];)*) => {
        mod $isa {
            use super::*;

            pub(super) const fn kernels(step: usize) -> [DoublesKernel; 7] {
                doubles_kernels_of!(stringify!($isa), step)
            }

            $($isa!($name, [$($stage),*], [$($end),*]);)*
        }
    };
}

/// A scalar loop: x are ft0 to ft7, y are fa0 to fa7, the scalar is in ft8. The end leaves the sum
/// in ft9.
macro_rules! scalar {
    ($name:ident, [$($stage:literal),*], [$($end:literal),*]) => {
        /// # Safety
        ///
        /// As [`DoublesKernel::run`].
        unsafe fn $name(a: *mut f64, b: *const f64, c: *const f64, bytes: usize, passes: u64) -> f64 {
            let mut sum = 0.0;
            if bytes == 0 || passes == 0 {
                return sum;
            }
            // SAFETY: the caller vouches for the arrays; a0 to a3 keep them from pass to pass, t0
            // to t3 count within one; every register changed is caller-saved.
            unsafe {
                asm!(
                    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
                    "fmv.d.x ft\\i, zero",
                    ".endr",
                    "2:",
                    "mv t0, a0",
                    "mv t1, a1",
                    "mv t2, a2",
                    "mv t3, a3",
                    ".p2align 6",
                    "3:",
                    ".irp part, 0, 64",
                    $(concat!(".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n", $stage, "\n.endr"),)*
                    ".endr",
                    "addi t0, t0, {step}",
                    "addi t1, t1, {step}",
                    "addi t2, t2, {step}",
                    "addi t3, t3, -{step}",
                    "bnez t3, 3b",
                    "addi a4, a4, -1",
                    "bnez a4, 2b",
                    $($end,)*
                    step = const STEP,
                    in("a0") a,
                    in("a1") b,
                    in("a2") c,
                    in("a3") bytes,
                    in("a4") passes,
                    in("ft8") DOUBLES_SCALAR,
                    inout("ft9") sum,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
            sum
        }
    };
}

kernels! {
    scalar;
    copy [
        "fld ft\\i, 8*\\i + \\part(t1)",
        "fsd ft\\i, 8*\\i + \\part(t0)"
    ] [];
    scale [
        "fld ft\\i, 8*\\i + \\part(t1)",
        "fmul.d ft\\i, ft8, ft\\i",
        "fsd ft\\i, 8*\\i + \\part(t0)"
    ] [];
    add [
        "fld ft\\i, 8*\\i + \\part(t1)",
        "fld fa\\i, 8*\\i + \\part(t2)",
        "fadd.d ft\\i, ft\\i, fa\\i",
        "fsd ft\\i, 8*\\i + \\part(t0)"
    ] [];
    triad [
        "fld fa\\i, 8*\\i + \\part(t2)",
        "fld ft\\i, 8*\\i + \\part(t1)",
        "fmul.d fa\\i, ft8, fa\\i",
        "fadd.d ft\\i, ft\\i, fa\\i",
        "fsd ft\\i, 8*\\i + \\part(t0)"
    ] [];
    fill ["fsd ft8, 8*\\i + \\part(t0)"] [];
    daxpy [
        "fld fa\\i, 8*\\i + \\part(t1)",
        "fld ft\\i, 8*\\i + \\part(t0)",
        "fmul.d fa\\i, ft8, fa\\i",
        "fadd.d ft\\i, ft\\i, fa\\i",
        "fsd ft\\i, 8*\\i + \\part(t0)"
    ] [];
    sum [
        "fld fa\\i, 8*\\i + \\part(t1)",
        "fadd.d ft\\i, ft\\i, fa\\i"
    ] [".irp i, 0, 1, 2, 3, 4, 5, 6, 7", "fadd.d ft9, ft9, ft\\i", ".endr"];
}

/// A vector loop: of the array at t0 and t1, those at t2 and t3, and at t4 and t5, x are the groups
/// v0 and v8, y are v16 and v24. The scalar is in ft8. The end leaves the sum in ft9.
macro_rules! rvv {
    ($name:ident, [$($stage:literal),*], [$($end:literal),*]) => {
        /// # Safety
        ///
        /// As [`DoublesKernel::run`].
        unsafe fn $name(a: *mut f64, b: *const f64, c: *const f64, bytes: usize, passes: u64) -> f64 {
            let mut sum = 0.0;
            if bytes == 0 || passes == 0 {
                return sum;
            }
            // SAFETY: the caller vouches for the arrays; a0 to a3 keep them from pass to pass, a5
            // and a6 are the bytes of a group and of a turn, t0 to t5 the addresses of groups, and
            // t6 counts; every register changed is caller-saved, and so are all vector registers.
            unsafe {
                asm!(
                    ".option push",
                    ".option arch, +v",
                    "vsetvli a5, a5, e64, m8, ta, ma",
                    "slli a5, a5, 3",
                    "slli a6, a5, 1",
                    // For those that store nothing else, and for sums.
                    "vfmv.v.f v0, ft8",
                    "vmv.v.i v16, 0",
                    "vmv.v.i v24, 0",
                    "2:",
                    "mv t0, a0",
                    "add t1, t0, a5",
                    "mv t2, a1",
                    "add t3, t2, a5",
                    "mv t4, a2",
                    "add t5, t4, a5",
                    "mv t6, a3",
                    ".p2align 6",
                    "3:",
                    $($stage,)*
                    ".irp address, t0, t1, t2, t3, t4, t5",
                    "add \\address, \\address, a6",
                    ".endr",
                    "sub t6, t6, a6",
                    "bnez t6, 3b",
                    "addi a4, a4, -1",
                    "bnez a4, 2b",
                    $($end,)*
                    ".option pop",
                    in("a0") a,
                    in("a1") b,
                    in("a2") c,
                    in("a3") bytes,
                    in("a4") passes,
                    in("a5") GROUP_WORDS,
                    in("ft8") DOUBLES_SCALAR,
                    inout("ft9") sum,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
            sum
        }
    };
}

kernels! {
    rvv;
    copy [
        "vle64.v v0, (t2)", "vle64.v v8, (t3)",
        "vse64.v v0, (t0)", "vse64.v v8, (t1)"
    ] [];
    scale [
        "vle64.v v0, (t2)", "vle64.v v8, (t3)",
        "vfmul.vf v0, v0, ft8", "vfmul.vf v8, v8, ft8",
        "vse64.v v0, (t0)", "vse64.v v8, (t1)"
    ] [];
    add [
        "vle64.v v0, (t2)", "vle64.v v8, (t3)",
        "vle64.v v16, (t4)", "vle64.v v24, (t5)",
        "vfadd.vv v0, v0, v16", "vfadd.vv v8, v8, v24",
        "vse64.v v0, (t0)", "vse64.v v8, (t1)"
    ] [];
    triad [
        "vle64.v v16, (t4)", "vle64.v v24, (t5)",
        "vle64.v v0, (t2)", "vle64.v v8, (t3)",
        "vfmul.vf v16, v16, ft8", "vfmul.vf v24, v24, ft8",
        "vfadd.vv v0, v0, v16", "vfadd.vv v8, v8, v24",
        "vse64.v v0, (t0)", "vse64.v v8, (t1)"
    ] [];
    fill ["vse64.v v0, (t0)", "vse64.v v0, (t1)"] [];
    daxpy [
        "vle64.v v16, (t2)", "vle64.v v24, (t3)",
        "vle64.v v0, (t0)", "vle64.v v8, (t1)",
        "vfmul.vf v16, v16, ft8", "vfmul.vf v24, v24, ft8",
        "vfadd.vv v0, v0, v16", "vfadd.vv v8, v8, v24",
        "vse64.v v0, (t0)", "vse64.v v8, (t1)"
    ] [];
    // The two groups of sums become one, and that a single number, added to 0.
    sum [
        "vle64.v v0, (t2)", "vle64.v v8, (t3)",
        "vfadd.vv v16, v16, v0", "vfadd.vv v24, v24, v8"
    ] ["vfadd.vv v16, v16, v24", "vfmv.s.f v0, ft9", "vfredusum.vs v0, v16, v0", "vfmv.f.s ft9, v0"];
}
