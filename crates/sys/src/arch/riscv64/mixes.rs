//! Mixes on RISC-V: scalar.
//!
//! Not here: vectors; stores that bypass the caches, of which RISC-V has none.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and touches the caller's buffers only.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::{MIX_GROUPS, MIX_LINE, MixKernel, STREAM_PATTERN, portable};
use core::arch::asm;

/// Every kernel that this CPU can run, the portable ones last.
pub fn mix_kernels() -> Vec<&'static MixKernel> {
    SCALAR.iter().chain(&portable::mixes::KERNELS).collect()
}

const _: () = assert!(MIX_GROUPS == 4 && MIX_LINE == 64, "written out below");

macro_rules! mixes {
    ($($name:ident $reads:literal [$($r:literal)*] $writes:literal [$($w:literal)*];)*) => {
        static SCALAR: [MixKernel; 6] =
            [$(MixKernel { reads: $reads, writes: $writes, nt: false, isa: "scalar", run: $name }),*];

        $(mixes!(@kernel $name, [$(mixes!(@load $reads, $r),)* $(mixes!(@store $writes, $w),)*], $reads, $writes);)*
    };
    // The line of this number, of so many in group g.
    (@load $of:literal, $line:literal) => {
        mixes!(@words "ld", "a5", $of, $line, "t0" 0, "t1" 8, "t2" 16, "t3" 24, "t4" 32, "t5" 40, "t6" 48, "a7" 56)
    };
    (@store $of:literal, $line:literal) => {
        mixes!(@words "sd", "a4", $of, $line, "a6" 0, "a6" 8, "a6" 16, "a6" 24, "a6" 32, "a6" 40, "a6" 48, "a6" 56)
    };
    (@words $instruction:literal, $base:literal, $of:literal, $line:literal, $($register:literal $offset:literal),*) => {
        concat!($($instruction, " ", $register, ", 64*(", $of, "*\\g + ", $line, ") + ", $offset, "(", $base, ")\n"),*)
    };
    (@kernel $name:ident, [$($line:expr,)*], $reads:literal, $writes:literal) => {
        /// # Safety
        ///
        /// As [`MixKernel::run`].
        unsafe fn $name(dst: *mut u8, src: *const u8, turns: usize, passes: u64) {
            if turns == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; a0, a1 and a2 keep them from pass to pass, a4, a5 and t0 to t6 are of
            // one, a6 is stored; every register changed is one that the ABI lets a callee change.
            unsafe {
                asm!(
                    "2:",
                    "mv a4, a0",
                    "mv a5, a1",
                    "mv {left}, a2",
                    ".p2align 6",
                    "3:",
                    ".irp g, 0, 1, 2, 3",
                    $($line,)*
                    ".endr",
                    "addi a4, a4, {written}",
                    "addi a5, a5, {read}",
                    "addi {left}, {left}, -1",
                    "bnez {left}, 3b",
                    "addi a3, a3, -1",
                    "bnez a3, 2b",
                    read = const MIX_GROUPS * MIX_LINE * $reads,
                    written = const MIX_GROUPS * MIX_LINE * $writes,
                    left = out(reg) _,
                    in("a0") dst,
                    in("a1") src,
                    in("a2") turns,
                    inout("a3") passes => _,
                    out("a4") _,
                    out("a5") _,
                    in("a6") STREAM_PATTERN,
                    out("a7") _,
                    out("t0") _,
                    out("t1") _,
                    out("t2") _,
                    out("t3") _,
                    out("t4") _,
                    out("t5") _,
                    out("t6") _,
                    options(nostack),
                );
            }
        }
    };
}

mixes! {
    read1 1 [0] 0 [];
    read3write1 3 [0 1 2] 1 [0];
    read2write1 2 [0 1] 1 [0];
    read1write1 1 [0] 1 [0];
    read1write2 1 [0] 2 [0 1];
    write1 0 [] 1 [0];
}
