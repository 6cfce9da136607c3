//! Stream kernels: see [`crate::arch::stream`]. Scalar, V 1.0 with registers of any length, and
//! `cbo.zero`.
//!
//! Not here: eight places at once, vectors before 1.0.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's buffers.
//! Optional instructions are reached only through a list filtered by what the kernel reports
//! (hwprobe).
#![expect(unsafe_code, reason = "this is the assembly")]

use super::hwprobe::{ZICBOZ, ZICBOZ_BLOCK_SIZE, has, hwprobe};
use super::vectors::{GROUP_WORDS, group_bytes};
use crate::arch::stream::define_stream;
use crate::arch::{Op, STREAM_ALIGN, STREAM_PATTERN, StreamKernel, portable};
use core::arch::asm;
use std::sync::OnceLock;

/// Every stream kernel that this CPU can run, vectors first and the portable ones last.
pub fn stream_kernels() -> Vec<&'static StreamKernel> {
    let mut all = Vec::new();
    if let Some(width) = group_bytes() {
        all.extend(VECTORS.get_or_init(|| vectors(width)));
    }
    all.extend(&SCALAR);
    if zero_block().is_some() {
        all.push(&ZERO_LINE);
    }
    all.extend(&portable::stream::STREAMS);
    all
}

/// Why no kernel here does `op`, if none does.
pub fn stream_missing(op: Op) -> Option<&'static str> {
    match op {
        Op::WriteNt | Op::CopyNt => Some("the RISC-V base instruction set has no stores that bypass the caches"),
        Op::ZeroLine if zero_block().is_none() => Some(
            "the kernel does not say that programs may use cbo.zero, or its block is larger than the 64 B that buffers are \
             aligned to",
        ),
        Op::RepStos | Op::RepMovs | Op::RepLods => Some(portable::stream::NOT_X86),
        Op::Read | Op::Write | Op::Copy | Op::ZeroLine => None,
    }
}

/// Bytes that `cbo.zero` zeroes, if programs may use it and the buffers are aligned to that.
fn zero_block() -> Option<usize> {
    let block = hwprobe(ZICBOZ_BLOCK_SIZE).filter(|_| has(ZICBOZ))? as usize;
    (block.is_power_of_two() && block <= STREAM_ALIGN).then_some(block)
}

static ZERO_LINE: StreamKernel =
    StreamKernel { op: Op::ZeroLine, isa: "line", width: 64, instruction: "cbo.zero", step: 64, run: zero_line };

/// # Safety
///
/// As [`StreamKernel::run`]; the CPU has `cbo.zero` and its block is no larger than the alignment.
unsafe fn zero_line(dst: *mut u8, _: *const u8, bytes: usize, passes: u64) {
    let Some(block) = zero_block() else { return };
    if bytes == 0 || passes == 0 {
        return;
    }
    // SAFETY: the caller vouches for the buffer, which is aligned to a block: none is larger than
    // [`STREAM_ALIGN`].
    unsafe {
        asm!(
            ".option push",
            ".option arch, +zicboz",
            "2:",
            "mv a4, a0",
            "mv a5, a2",
            ".p2align 6",
            "3:",
            "cbo.zero 0(a4)",
            "add a4, a4, a1",
            "sub a5, a5, a1",
            "bnez a5, 3b",
            "addi a3, a3, -1",
            "bnez a3, 2b",
            ".option pop",
            in("a0") dst,
            in("a1") block,
            in("a2") bytes,
            inout("a3") passes => _,
            out("a4") _,
            out("a5") _,
            options(nostack),
        );
    }
}

/// Register groups per turn of a vector loop: all there are.
const GROUPS: usize = 4;

/// The vector kernels, for the length that vectors have here.
static VECTORS: OnceLock<[StreamKernel; 3]> = OnceLock::new();

fn vectors(width: usize) -> [StreamKernel; 3] {
    let kernel = |op, instruction, run| StreamKernel { op, isa: "rvv", width, instruction, step: GROUPS * width, run };
    [
        kernel(Op::Read, "vle64.v", read_vectors),
        kernel(Op::Write, "vse64.v", write_vectors),
        kernel(Op::Copy, "vle64.v/vse64.v", copy_vectors),
    ]
}

/// Four register groups, from or to the addresses in four registers, each of which advances by a
/// turn.
macro_rules! groups {
    ($instruction:literal, $($group:literal $base:literal),*) => {
        concat!($($instruction, " ", $group, ", (", $base, ")\nadd ", $base, ", ", $base, ", a5\n"),*)
    };
    (load) => { groups!("vle64.v", "v0" "t0", "v8" "t1", "v16" "t2", "v24" "t3") };
    (store) => { groups!("vse64.v", "v0" "t4", "v8" "t5", "v16" "t6", "v24" "a6") };
}

macro_rules! vector_streams {
    ($($name:ident: $($body:expr),*;)*) => {$(
        define_stream! {
            $name(dst, src, bytes, passes)
            // a0, a1 and a2 keep the buffers from pass to pass; a4 and a5 are the bytes of a group
            // and of a turn; t0 to t6 and a6 hold the addresses of groups; a7 counts. Every
            // register changed is caller-saved, and so are all vector registers.
            asm!(
                ".option push",
                ".option arch, +v",
                "vsetvli a4, a4, e64, m8, ta, ma",
                "slli a4, a4, 3",
                "slli a5, a4, 2",
                ".irp group, v0, v8, v16, v24",
                "vmv.v.x \\group, a7",
                ".endr",
                "2:",
                "mv t0, a1",
                "add t1, t0, a4",
                "add t2, t1, a4",
                "add t3, t2, a4",
                "mv t4, a0",
                "add t5, t4, a4",
                "add t6, t5, a4",
                "add a6, t6, a4",
                "mv a7, a2",
                ".p2align 6",
                "3:",
                $($body,)*
                "sub a7, a7, a5",
                "bnez a7, 3b",
                "addi a3, a3, -1",
                "bnez a3, 2b",
                ".option pop",
                in("a0") dst,
                in("a1") src,
                in("a2") bytes,
                in("a3") passes,
                in("a4") GROUP_WORDS,
                in("a7") STREAM_PATTERN,
                clobber_abi("C"),
                options(nostack),
            )
        }
    )*};
}

vector_streams! {
    read_vectors: groups!(load);
    write_vectors: groups!(store);
    copy_vectors: groups!(load), groups!(store);
}

static SCALAR: [StreamKernel; 3] =
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
        define_stream! {
            $name(dst, src, bytes, passes)
            // a0, a1 and a2 keep the buffers from pass to pass; a4, a5 and a6 count within one.
            // Every register changed is caller-saved.
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
            )
        }
    )*};
}

streams! {
    read: words!("ld", "a5", low), words!("ld", "a5", high);
    write: words!("sd", "a4", low), words!("sd", "a4", high);
    copy: words!("ld", "a5", low), words!("sd", "a4", low), words!("ld", "a5", high), words!("sd", "a4", high);
}
