//! Cache-line management for RISC-V: the extension Zicbom, where the kernel says that programs may use it (Linux 6.15).
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead; the
//! list is empty unless the kernel names the extension for every CPU.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::hwprobe::{ZICBOM, has};
use crate::arch::flush::{Effect, FlushKernel};
use core::arch::asm;

macro_rules! kernels {
    ($($module:ident $effect:ident $operation:literal;)*) => {
        $(mod $module {
            use super::*;

            pub(super) static KERNEL: FlushKernel =
                FlushKernel { name: concat!("cbo_", $operation), effect: Effect::$effect, run, pair };

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
                        ".option push",
                        ".option arch, +zicbom",
                        "2:",
                        "mv a4, a2",
                        "3:",
                        concat!("cbo.", $operation, " 0(a0)"),
                        "add a0, a0, a1",
                        "addi a4, a4, -1",
                        "bnez a4, 3b",
                        "fence rw, rw",
                        "addi a3, a3, -1",
                        "bnez a3, 2b",
                        ".option pop",
                        inout("a0") start => _,
                        in("a1") stride,
                        in("a2") batch,
                        inout("a3") batches => _,
                        out("a4") _,
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
                        ".option push",
                        ".option arch, +zicbom",
                        "2:",
                        "ld a3, 0(a0)",
                        "ld a4, 0(a1)",
                        concat!("cbo.", $operation, " 0(a0)"),
                        concat!("cbo.", $operation, " 0(a1)"),
                        "fence rw, rw",
                        "addi a2, a2, -1",
                        "bnez a2, 2b",
                        ".option pop",
                        in("a0") a,
                        in("a1") b,
                        inout("a2") rounds => _,
                        out("a3") _,
                        out("a4") _,
                        options(nostack),
                    );
                }
            }
        })*
    };
}

kernels! {
    flush Evict "flush";
    clean Clean "clean";
}

/// Every kernel that this CPU can run; of one effect the best first.
pub fn flush_kernels() -> Vec<&'static FlushKernel> {
    if has(ZICBOM) { vec![&flush::KERNEL, &clean::KERNEL] } else { Vec::new() }
}

/// Why there is no kernel of that name.
pub fn flush_missing(name: &str) -> String {
    match name {
        "cbo_flush" | "cbo_clean" => "the kernel does not say that programs may use Zicbom".to_owned(),
        _ => format!("{name} is not an instruction of RISC-V"),
    }
}
