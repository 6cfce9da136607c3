//! Dependent accesses for AArch64.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::access::{ACCESS_AHEAD, ACCESS_COUNT, ACCESS_UNROLL, Access, AccessKernel};
use crate::arch::portable::access::ACCESSES as PORTABLE;
use core::arch::asm;

const _: () = assert!(ACCESS_AHEAD == 8 && ACCESS_COUNT == 16, "written out below");

static ACCESSES: [AccessKernel; 6] = [
    AccessKernel { kind: Access::Read, instruction: "ldr", run: read },
    AccessKernel { kind: Access::Dirty, instruction: "str", run: dirty },
    AccessKernel { kind: Access::Own, instruction: "ldadd", run: own },
    AccessKernel { kind: Access::Own, instruction: "stxr", run: own_exclusive },
    AccessKernel { kind: Access::Prefetched, instruction: "prfm", run: prefetched },
    AccessKernel { kind: Access::NonTemporal, instruction: "ldnp", run: nt_load },
];

/// Every kernel that this CPU can run, the portable ones last.
pub fn access_kernels() -> Vec<&'static AccessKernel> {
    let here = |kernel: &&AccessKernel| kernel.instruction != "ldadd" || std::arch::is_aarch64_feature_detected!("lse");
    ACCESSES.iter().filter(here).chain(&PORTABLE).collect()
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
                    ".arch_extension lse",
                    ".p2align 6",
                    "2:",
                    ".rept {unroll}",
                    $($line,)*
                    ".endr",
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    unroll = const ACCESS_UNROLL,
                    inout("x0") here,
                    inout("x1") turns => _,
                    out("x2") _,
                    out("x3") _,
                    options(nostack),
                );
            }
            here
        }
    )*};
}

loops! {
    /// The plain chase, in turns of the same length as the others.
    read: "ldr x0, [x0]";
    /// The increment first: its address is known, and the load of the next address overtakes it.
    dirty: "ldr x2, [x0, #16]", "add x2, x2, #1", "str x2, [x0, #16]", "ldr x0, [x0]";
    /// Cores may do such an atomic where the line is instead of fetching it ("far"): then this is the time of that.
    own: "ldadd xzr, x0, [x0]";
    /// The pair of Armv8.0. The address waits for the store's success, not for its line alone.
    own_exclusive: "3:", "ldxr x2, [x0]", "stxr w3, x2, [x0]", "cbnz w3, 3b", "mov x0, x2";
    prefetched: "ldr x2, [x0, #8]", "prfm pldl1keep, [x2]", "ldr x0, [x0]";
    /// A hint: whether a core follows it is a finding.
    nt_load: "ldnp x0, x2, [x0]";
}
