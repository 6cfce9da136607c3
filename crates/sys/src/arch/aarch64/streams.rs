//! Streams on AArch64: Advanced SIMD, which every AArch64 system has, and `dc zva`.
//!
//! Not here: SVE, FEAT_MOPS, eight places at once.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and touches the caller's buffers only. What not
//! every CPU has is reached only through a list filtered by what the system says (DCZID_EL0).
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::{Op, STREAM_ALIGN, STREAM_PATTERN, StreamKernel, portable};
use core::arch::asm;

/// Every stream kernel that this CPU can run, the portable ones last.
pub fn stream_kernels() -> Vec<&'static StreamKernel> {
    let here = |kernel: &&StreamKernel| kernel.op != Op::ZeroLine || zero_block().is_some();
    STREAMS.iter().filter(here).chain(&portable::streams::STREAMS).collect()
}

/// Why no kernel here does `op`, if none does. (`stnp` is a hint; whether a core follows it is a finding.)
pub fn stream_missing(op: Op) -> Option<&'static str> {
    match op {
        Op::RepStos | Op::RepMovs | Op::RepLods => Some(portable::streams::NOT_X86),
        Op::ZeroLine if zero_block().is_none() => {
            Some("this system forbids dc zva, or its block is larger than the 64 B that buffers are aligned to")
        }
        _ => None,
    }
}

static STREAMS: [StreamKernel; 6] = [
    kernel(Op::Read, "ldp", read),
    kernel(Op::Write, "stp", write),
    kernel(Op::WriteNt, "stnp", write_nt),
    kernel(Op::Copy, "ldp/stp", copy),
    kernel(Op::CopyNt, "ldp/stnp", copy_nt),
    StreamKernel { op: Op::ZeroLine, isa: "line", width: 64, instruction: "dc zva", step: 64, run: zero_line },
];

/// Bytes that `dc zva` zeroes, from DCZID_EL0 (Arm ARM: bit 4 forbids it, bits 3 to 0 are the binary logarithm of words).
fn zero_block() -> Option<usize> {
    let id: usize;
    // SAFETY: reads a register that every program may read.
    unsafe { asm!("mrs {id}, dczid_el0", id = out(reg) id, options(nomem, nostack, preserves_flags)) };
    Some(4 << (id & 15)).filter(|block| id & 16 == 0 && *block <= STREAM_ALIGN)
}

/// # Safety
///
/// As [`StreamKernel::run`]; `dc zva` is allowed and its block is no larger than the alignment.
unsafe fn zero_line(dst: *mut u8, _: *const u8, bytes: usize, passes: u64) {
    let Some(block) = zero_block() else { return };
    if bytes == 0 || passes == 0 {
        return;
    }
    // SAFETY: the caller vouches for the buffer, which is aligned to a block: none is larger than [`STREAM_ALIGN`].
    unsafe {
        asm!(
            "2:",
            "mov x8, x0",
            "mov x10, x2",
            ".p2align 6",
            "3:",
            "dc zva, x8",
            "add x8, x8, x4",
            "subs x10, x10, x4",
            "b.ne 3b",
            "subs x3, x3, #1",
            "b.ne 2b",
            "dsb ishst",
            in("x0") dst,
            in("x2") bytes,
            inout("x3") passes => _,
            in("x4") block,
            out("x8") _,
            out("x10") _,
            options(nostack),
        );
    }
}

const fn kernel(op: Op, instruction: &'static str, run: unsafe fn(*mut u8, *const u8, usize, u64)) -> StreamKernel {
    StreamKernel { op, isa: "neon", width: 32, instruction, step: STEP, run }
}

/// Bytes per turn of a stream loop: eight pairs of sixteen.
const STEP: usize = 256;

/// Eight pairs of vectors, all of them registers that a callee may change, from or to the address in a register.
macro_rules! pairs {
    ($instruction:literal, $base:literal) => {
        pairs!(@lines $instruction, $base, "16, q17" "0", "18, q19" "32", "20, q21" "64", "22, q23" "96",
            "24, q25" "128", "26, q27" "160", "28, q29" "192", "30, q31" "224")
    };
    (@lines $instruction:literal, $base:literal, $($pair:literal $offset:literal),*) => {
        concat!($($instruction, " q", $pair, ", [", $base, ", #", $offset, "]\n"),*)
    };
}

macro_rules! streams {
    ($($name:ident: [$($body:expr),*], [$($end:literal),*];)*) => {$(
        /// # Safety
        ///
        /// As [`StreamKernel::run`].
        unsafe fn $name(dst: *mut u8, src: *const u8, bytes: usize, passes: u64) {
            if bytes == 0 || passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; x0, x1 and x2 keep them from pass to pass, x8, x9 and x10
            // count within one; every register changed is one that the ABI lets a callee change.
            unsafe {
                asm!(
                    ".irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
                    "dup v\\i\\().2d, x4",
                    ".endr",
                    "2:",
                    "mov x8, x0",
                    "mov x9, x1",
                    "mov x10, x2",
                    ".p2align 6",
                    "3:",
                    $($body,)*
                    "add x8, x8, #{step}",
                    "add x9, x9, #{step}",
                    "subs x10, x10, #{step}",
                    "b.ne 3b",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $($end,)*
                    step = const STEP,
                    in("x0") dst,
                    in("x1") src,
                    in("x2") bytes,
                    in("x3") passes,
                    in("x4") STREAM_PATTERN,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    )*};
}

streams! {
    read: [pairs!("ldp", "x9")], [];
    write: [pairs!("stp", "x8")], [];
    write_nt: [pairs!("stnp", "x8")], ["dsb ishst"];
    copy: [pairs!("ldp", "x9"), pairs!("stp", "x8")], [];
    copy_nt: [pairs!("ldp", "x9"), pairs!("stnp", "x8")], ["dsb ishst"];
}
