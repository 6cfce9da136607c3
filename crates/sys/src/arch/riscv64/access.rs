//! Dependent accesses for RISC-V: the base instruction set and the atomics (A, part of every system with Linux).
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::access::{ACCESS_AHEAD, ACCESS_COUNT, ACCESS_UNROLL, Access, AccessKernel};
use crate::arch::portable::access::ACCESSES as PORTABLE;
use core::arch::asm;

const _: () = assert!(ACCESS_AHEAD == 8 && ACCESS_COUNT == 16, "written out below");

static ACCESSES: [AccessKernel; 4] = [
    AccessKernel { kind: Access::Read, instruction: "c.ld", run: read },
    AccessKernel { kind: Access::Dirty, instruction: "c.sd", run: dirty },
    AccessKernel { kind: Access::Own, instruction: "amoadd.d", run: own },
    AccessKernel { kind: Access::Prefetched, instruction: "ori", run: prefetched },
];

/// Every kernel that this CPU can run, the portable ones last. There is no non-temporal load in the base instruction set.
pub fn access_kernels() -> Vec<&'static AccessKernel> {
    ACCESSES.iter().chain(&PORTABLE).collect()
}

macro_rules! loops {
    ($($(#[$doc:meta])* $name:ident: $($line:literal),*;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// As [`AccessKernel::run`].
        #[inline(never)]
        unsafe fn $name(start: *mut u8, steps: u64) -> *mut u8 {
            let mut here = start;
            let turns = steps / ACCESS_UNROLL;
            if turns == 0 {
                return here;
            }
            // SAFETY: the caller vouches for the nodes; registers as declared.
            unsafe {
                asm!(
                    ".p2align 4",
                    "2:",
                    ".rept {unroll}",
                    $($line,)*
                    ".endr",
                    "addi a1, a1, -1",
                    "bnez a1, 2b",
                    unroll = const ACCESS_UNROLL,
                    inout("a0") here,
                    inout("a1") turns => _,
                    out("a2") _,
                    options(nostack),
                );
            }
            here
        }
    )*};
}

loops! {
    /// The plain chase, in turns of the same length as the others.
    read: "ld a0, 0(a0)";
    /// The increment first: its address is known, and the load of the next address overtakes it.
    dirty: "ld a2, 16(a0)", "addi a2, a2, 1", "sd a2, 16(a0)", "ld a0, 0(a0)";
    own: "amoadd.d a0, zero, (a0)";
    /// `prefetch.r 0(a2)` of Zicbop, which is `ori zero, a2, 1`: a hint that other cores take for an instruction without
    /// effect.
    prefetched: "ld a2, 8(a0)", "ori zero, a2, 1", "ld a0, 0(a0)";
}
