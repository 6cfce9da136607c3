//! STREAM's loops: see [`crate::arch::doubles`]. AVX2 and AVX-512; without them the compiler's SSE2
//! is used ([`portable`]).
//!
//! One stream per array, front to back, as STREAM defines it. `mem.bandwidth` has what is faster.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's arrays and
//! a local buffer. Kernels are reached only through a list filtered by what the CPU and the system
//! support.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::doubles::doubles_kernels_of;
use crate::arch::{DOUBLES_SCALAR, Doubles, DoublesKernel, portable};
use core::arch::asm;

/// Every kernel that this CPU can run, the widest first and the portable ones last.
pub fn doubles_kernels() -> Vec<&'static DoublesKernel> {
    let mut all = Vec::new();
    if std::arch::is_x86_feature_detected!("avx512f") {
        all.extend(&avx512::KERNELS);
    }
    if std::arch::is_x86_feature_detected!("avx2") {
        all.extend(&avx2::KERNELS);
    }
    all.extend(&portable::doubles::KERNELS);
    all
}

/// Vectors per turn.
const VECTORS: usize = 8;

/// The eight partial sums of a vector.
#[repr(align(64))]
struct Sums([f64; 8]);

macro_rules! kernels {
    ($isa:ident, $feature:literal, $width:literal, $v:literal, $broadcast:literal) => {
        mod $isa {
            use super::*;

            pub(super) static KERNELS: [DoublesKernel; 12] = doubles_kernels_of!(nt stringify!($isa), STEP);

            const STEP: usize = $width * VECTORS;

            kernels!(@both copy, copy_nt, $feature, $width, $v, $broadcast, [
                concat!("vmovapd ", $v, "\\i, [r9 + ", $width, "*\\i]"),
            ], "\\i");
            kernels!(@both scale, scale_nt, $feature, $width, $v, $broadcast, [
                concat!("vmulpd ", $v, "\\i, ", $v, "15, [r9 + ", $width, "*\\i]"),
            ], "\\i");
            kernels!(@both add, add_nt, $feature, $width, $v, $broadcast, [
                concat!("vmovapd ", $v, "\\i, [r9 + ", $width, "*\\i]"),
                concat!("vaddpd ", $v, "\\i, ", $v, "\\i, [r10 + ", $width, "*\\i]"),
            ], "\\i");
            kernels!(@both triad, triad_nt, $feature, $width, $v, $broadcast, [
                concat!("vmulpd ", $v, "\\i, ", $v, "15, [r10 + ", $width, "*\\i]"),
                concat!("vaddpd ", $v, "\\i, ", $v, "\\i, [r9 + ", $width, "*\\i]"),
            ], "\\i");
            kernels!(@both fill, fill_nt, $feature, $width, $v, $broadcast, [], "15");
            kernels!(@kernel daxpy, $feature, $width, $v, $broadcast, [
                concat!("vmulpd ", $v, "\\i, ", $v, "15, [r9 + ", $width, "*\\i]"),
                concat!("vaddpd ", $v, "\\i, ", $v, "\\i, [r8 + ", $width, "*\\i]"),
                concat!("vmovapd [r8 + ", $width, "*\\i], ", $v, "\\i"),
            ], []);
            kernels!(@kernel sum, $feature, $width, $v, $broadcast, [
                concat!("vaddpd ", $v, "\\i, ", $v, "\\i, [r9 + ", $width, "*\\i]"),
            ], [
                ".irp i, 1, 2, 3, 4, 5, 6, 7",
                concat!("vaddpd ", $v, "0, ", $v, "0, ", $v, "\\i"),
                ".endr",
                concat!("vmovapd [rdi], ", $v, "0"),
            ]);
        }
    };
    (@both $name:ident, $nt:ident, $feature:literal, $width:literal, $v:literal, $broadcast:literal,
     [$($body:expr,)*], $from:literal) => {
        kernels!(@kernel $name, $feature, $width, $v, $broadcast, [
            $($body,)* concat!("vmovapd [r8 + ", $width, "*\\i], ", $v, $from),
        ], []);
        kernels!(@kernel $nt, $feature, $width, $v, $broadcast, [
            $($body,)* concat!("vmovntpd [r8 + ", $width, "*\\i], ", $v, $from),
        ], ["sfence",]);
    };
    (@kernel $name:ident, $feature:literal, $width:literal, $v:literal, $broadcast:literal, [$($body:expr,)*],
     [$($end:expr,)*]) => {
        /// # Safety
        ///
        /// As [`DoublesKernel::run`].
        #[target_feature(enable = $feature)]
        unsafe fn $name(a: *mut f64, b: *const f64, c: *const f64, bytes: usize, passes: u64) -> f64 {
            let mut sums = Sums([0.0; 8]);
            if bytes == 0 || passes == 0 {
                return 0.0;
            }
            // SAFETY: the caller vouches for the arrays; rdi is a local buffer that holds a vector;
            // r8, r9, r10 and rax count within a pass; every register changed is caller-saved.
            unsafe {
                asm!(
                    concat!($broadcast, " ", $v, "15, xmm15"),
                    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
                    "vpxor xmm\\i, xmm\\i, xmm\\i",
                    ".endr",
                    "2:",
                    "mov r8, rsi",
                    "mov r9, rdx",
                    "mov r10, r11",
                    "mov rax, r12",
                    ".p2align 6",
                    "3:",
                    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
                    $($body,)*
                    ".endr",
                    "add r8, {step}",
                    "add r9, {step}",
                    "add r10, {step}",
                    "sub rax, {step}",
                    "jnz 3b",
                    "sub rcx, 1",
                    "jnz 2b",
                    $($end,)*
                    "vzeroupper",
                    step = const STEP,
                    in("r12") bytes,
                    in("rdi") &raw mut sums.0,
                    inout("rsi") a => _,
                    inout("rdx") b => _,
                    inout("r11") c => _,
                    inout("rcx") passes => _,
                    inout("xmm15") DOUBLES_SCALAR => _,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
            sums.0.iter().sum()
        }
    };
}

kernels!(avx512, "avx512f", 64, "zmm", "vbroadcastsd");
kernels!(avx2, "avx2", 32, "ymm", "vbroadcastsd");
