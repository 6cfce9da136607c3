//! Streams on RISC-V: scalar.
//!
//! Not here: V, `cbo.zero`, eight places at once.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and touches the caller's buffers only.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::{Op, STREAM_PATTERN, StreamKernel, portable};
use core::arch::asm;

/// Every stream kernel that this CPU can run, the portable ones last.
pub fn stream_kernels() -> Vec<&'static StreamKernel> {
    STREAMS.iter().chain(&portable::streams::STREAMS).collect()
}

/// Why no kernel here does `op`, if none does.
pub fn stream_missing(op: Op) -> Option<&'static str> {
    match op {
        Op::Read | Op::Write | Op::Copy => None,
        Op::WriteNt | Op::CopyNt => Some("the RISC-V base instruction set has no stores that bypass the caches"),
        Op::ZeroLine => Some("no kernel with cbo.zero was written"),
        Op::RepStos | Op::RepMovs | Op::RepLods => Some(portable::streams::NOT_X86),
    }
}

static STREAMS: [StreamKernel; 3] =
    [kernel(Op::Read, "ld", read), kernel(Op::Write, "sd", write), kernel(Op::Copy, "ld/sd", copy)];

const fn kernel(op: Op, instruction: &'static str, run: unsafe fn(*mut u8, *const u8, usize, u64)) -> StreamKernel {
    StreamKernel { op, isa: "scalar", width: 8, instruction, step: STEP, run }
}

/// Bytes per turn of a stream loop: sixteen words.
const STEP: usize = 128;

/// Eight words from or to the address in a register: half a turn.
macro_rules! words {
    ($instruction:literal, $base:literal, low) => {
        words!(@lines $instruction, $base, "t0" 0, "t1" 8, "t2" 16, "t3" 24, "t4" 32, "t5" 40, "t6" 48, "a7" 56)
    };
    ($instruction:literal, $base:literal, high) => {
        words!(@lines $instruction, $base, "t0" 64, "t1" 72, "t2" 80, "t3" 88, "t4" 96, "t5" 104, "t6" 112, "a7" 120)
    };
    (@lines $instruction:literal, $base:literal, $($register:literal $offset:literal),*) => {
        concat!($($instruction, " ", $register, ", ", $offset, "(", $base, ")\n"),*)
    };
}

macro_rules! streams {
    ($($name:ident: $($body:expr),*;)*) => {$(
        /// # Safety
        ///
        /// As [`StreamKernel::run`].
        unsafe fn $name(dst: *mut u8, src: *const u8, bytes: usize, passes: u64) {
            if bytes == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; a0, a1 and a2 keep them from pass to pass, a4, a5 and a6
            // count within one; every register changed is one that the ABI lets a callee change.
            unsafe {
                asm!(
                    ".irp register, t0, t1, t2, t3, t4, t5, t6",
                    "mv \\register, a7",
                    ".endr",
                    "2:",
                    "mv a4, a0",
                    "mv a5, a1",
                    "mv a6, a2",
                    ".p2align 6",
                    "3:",
                    $($body,)*
                    "addi a4, a4, {step}",
                    "addi a5, a5, {step}",
                    "addi a6, a6, -{step}",
                    "bnez a6, 3b",
                    "addi a3, a3, -1",
                    "bnez a3, 2b",
                    step = const STEP,
                    in("a0") dst,
                    in("a1") src,
                    in("a2") bytes,
                    in("a3") passes,
                    in("a7") STREAM_PATTERN,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    )*};
}

streams! {
    read: words!("ld", "a5", low), words!("ld", "a5", high);
    write: words!("sd", "a4", low), words!("sd", "a4", high);
    copy: words!("ld", "a5", low), words!("sd", "a4", low), words!("ld", "a5", high), words!("sd", "a4", high);
}
