//! Dependent accesses for x86-64.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::access::{ACCESS_AHEAD, ACCESS_COUNT, ACCESS_UNROLL, Access, AccessKernel};
use crate::arch::portable::access::ACCESSES as PORTABLE;
use core::arch::asm;

const _: () = assert!(ACCESS_AHEAD == 8 && ACCESS_COUNT == 16, "written out below");

static ACCESSES: [AccessKernel; 5] = [
    AccessKernel { kind: Access::Read, instruction: "mov", run: read },
    AccessKernel { kind: Access::Dirty, instruction: "add", run: dirty },
    AccessKernel { kind: Access::Own, instruction: "lock xadd", run: own },
    AccessKernel { kind: Access::Prefetched, instruction: "prefetcht0", run: prefetched },
    AccessKernel { kind: Access::NonTemporal, instruction: "movntdqa", run: nt_load },
];

/// Every kernel that this CPU can run, the portable ones last.
pub fn access_kernels() -> Vec<&'static AccessKernel> {
    let here =
        |kernel: &&AccessKernel| kernel.kind != Access::NonTemporal || std::arch::is_x86_feature_detected!("sse4.1");
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
                    ".p2align 6",
                    "2:",
                    ".rept {unroll}",
                    $($line,)*
                    ".endr",
                    "sub rcx, 1",
                    "jnz 2b",
                    unroll = const ACCESS_UNROLL,
                    inout("rax") here,
                    inout("rcx") turns => _,
                    out("rdx") _,
                    out("xmm0") _,
                    options(nostack),
                );
            }
            here
        }
    )*};
}

loops! {
    /// The plain chase, in turns of the same length as the others.
    read: "mov rax, [rax]";
    /// The increment first: its address is known, and the load of the next address overtakes it.
    dirty: "add qword ptr [rax + 16], 1", "mov rax, [rax]";
    /// A locked instruction: full barrier included, as in every program that uses one.
    own: "xor edx, edx", "lock xadd [rax], rdx", "mov rax, rdx";
    prefetched: "mov rdx, [rax + 8]", "prefetcht0 [rdx]", "mov rax, [rax]";
    /// With the way from a vector register to the address, 2 to 3 cycles.
    nt_load: "movntdqa xmm0, [rax]", "movq rax, xmm0";
}
