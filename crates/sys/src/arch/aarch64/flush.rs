//! Cache-line management for AArch64, to the point of coherency. Programs may use it because Linux says so on every CPU
//! (`SCTLR_EL1.UCI`; where an erratum forbids it the kernel does it for them, and that time is what is measured).
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::flush::{Effect, FlushKernel};
use core::arch::asm;

macro_rules! kernels {
    ($($module:ident $effect:ident $operation:literal;)*) => {
        $(mod $module {
            use super::*;

            pub(super) static KERNEL: FlushKernel =
                FlushKernel { name: concat!("dc_", $operation), effect: Effect::$effect, run, pair };

            /// # Safety
            ///
            /// As [`FlushKernel::run`].
            #[inline(never)]
            unsafe fn run(start: *const u8, stride: usize, batch: u64, batches: u64) {
                if batch == 0 || batches == 0 {
                    return;
                }
                // SAFETY: the caller vouches for the lines; registers as declared.
                unsafe {
                    asm!(
                        "2:",
                        "mov x4, x2",
                        ".p2align 6",
                        "3:",
                        concat!("dc ", $operation, ", x0"),
                        "add x0, x0, x1",
                        "subs x4, x4, #1",
                        "b.ne 3b",
                        "dsb ish",
                        "subs x3, x3, #1",
                        "b.ne 2b",
                        inout("x0") start => _,
                        in("x1") stride,
                        in("x2") batch,
                        inout("x3") batches => _,
                        out("x4") _,
                        options(nostack),
                    );
                }
            }

            /// # Safety
            ///
            /// As [`FlushKernel::pair`].
            #[inline(never)]
            unsafe fn pair(a: *const u8, b: *const u8, rounds: u64) {
                if rounds == 0 {
                    return;
                }
                // SAFETY: the caller vouches for both; registers as declared.
                unsafe {
                    asm!(
                        ".p2align 6",
                        "2:",
                        "ldr x3, [x0]",
                        "ldr x4, [x1]",
                        concat!("dc ", $operation, ", x0"),
                        concat!("dc ", $operation, ", x1"),
                        "dsb ish",
                        "subs x2, x2, #1",
                        "b.ne 2b",
                        in("x0") a,
                        in("x1") b,
                        inout("x2") rounds => _,
                        out("x3") _,
                        out("x4") _,
                        options(nostack),
                    );
                }
            }
        })*
    };
}

kernels! {
    civac Evict "civac";
    cvac Clean "cvac";
}

/// Every kernel that this CPU can run; of one effect the best first.
pub fn flush_kernels() -> Vec<&'static FlushKernel> {
    vec![&civac::KERNEL, &cvac::KERNEL]
}

/// Why there is no kernel of that name.
pub fn flush_missing(name: &str) -> String {
    format!("{name} is not an instruction of AArch64")
}
