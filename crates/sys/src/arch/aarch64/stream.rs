//! Stream kernels: see [`crate::arch::stream`]. Advanced SIMD, which every AArch64 system has, SVE
//! and `dc zva`.
//!
//! Two orders, for the reasons given for x86-64: front to back, and `neonx8` over eight eighths in
//! turn, with `prfm pstl1keep` [`AHEAD`] bytes before plain stores. The gain of the second has not
//! been measured on this architecture; the benchmark tries both.
//!
//! Not here: FEAT_MOPS; SVE in eight places.
//!
//! The system sets the length of SVE's vectors, and pairs of Advanced SIMD have 32 bytes, so either
//! may be wider.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's buffers
//! (`prfm` may name an address beyond them and never faults). Optional instructions are reached
//! only through a list filtered by what the system reports (HWCAP for SVE, DCZID_EL0).
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::stream::define_stream;
use crate::arch::{Op, STREAM_ALIGN, STREAM_PATTERN, StreamKernel, portable};
use core::arch::asm;
use std::cmp::Reverse;
use std::sync::LazyLock;

/// Every stream kernel that this CPU can run, the widest first and the portable ones last.
pub fn stream_kernels() -> Vec<&'static StreamKernel> {
    let here = |kernel: &&StreamKernel| kernel.op != Op::ZeroLine || zero_block().is_some();
    let mut all: Vec<_> =
        sve::STREAMS.iter().chain(STREAMS.iter().filter(here)).chain(&portable::stream::STREAMS).collect();
    // Stable sort: of one width SVE comes first, then one place before eight.
    all.sort_by_key(|kernel| Reverse(kernel.width));
    all
}

/// Why no kernel here does `op`, if none does. (`stnp` is a hint, which a core may ignore.)
pub fn stream_missing(op: Op) -> Option<&'static str> {
    match op {
        Op::RepStos | Op::RepMovs | Op::RepLods => Some(portable::stream::NOT_X86),
        Op::ZeroLine if zero_block().is_none() => {
            Some("this system forbids dc zva, or its block is larger than the 64 B that buffers are aligned to")
        }
        _ => None,
    }
}

static STREAMS: [StreamKernel; 10] = [
    kernel(Op::Read, "ldp", read),
    kernel(Op::Write, "stp", write),
    kernel(Op::WriteNt, "stnp", write_nt),
    kernel(Op::Copy, "ldp/stp", copy),
    kernel(Op::CopyNt, "ldp/stnp", copy_nt),
    x8(Op::Read, "ldp", read_x8),
    x8(Op::Write, "stp", write_x8),
    x8(Op::Copy, "ldp/stp", copy_x8),
    x8(Op::CopyNt, "ldp/stnp", copy_nt_x8),
    StreamKernel { op: Op::ZeroLine, isa: "line", width: 64, instruction: "dc zva", step: 64, run: zero_line },
];

/// Bytes that `dc zva` zeroes, from DCZID_EL0 (Arm ARM: bit 4 forbids it, bits 3 to 0 are the
/// binary logarithm of words).
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
    // SAFETY: the caller vouches for the buffer, which is aligned to a block: none is larger than
    // [`STREAM_ALIGN`].
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

const fn x8(op: Op, instruction: &'static str, run: unsafe fn(*mut u8, *const u8, usize, u64)) -> StreamKernel {
    StreamKernel { op, isa: "neonx8", width: 32, instruction, step: PLACES * STEP, run }
}

/// Bytes per turn of a stream loop, and of one place before the next one: eight pairs of sixteen.
const STEP: usize = 256;
/// Places that an `x8` kernel walks in turn.
const PLACES: usize = 8;
/// Prefetch distance of plain stores in bytes: as on x86-64, where it mattered little.
const AHEAD: usize = 1024;

/// Eight pairs of vectors, all caller-saved, from or to the address in a register.
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
        define_stream! {
            $name(dst, src, bytes, passes)
            // x0, x1 and x2 keep the buffers from pass to pass; x8, x9 and x10 count within one.
            // Every register changed is caller-saved.
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
            )
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

macro_rules! places {
    ($($name:ident: [$($body:expr),*], [$($end:literal),*];)*) => {$(
        define_stream! {
            $name(dst, src, bytes, passes)
            // x8 and x9 step through the eighths, of length x5, and then back to one turn after
            // where they began in the first; x10 counts down an eighth; `prfm` never faults. Every
            // register changed is caller-saved.
            asm!(
                ".irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
                "dup v\\i\\().2d, x4",
                ".endr",
                "2:",
                "mov x8, x0",
                "mov x9, x1",
                "mov x10, x5",
                ".p2align 6",
                "3:",
                ".rept {places}",
                $($body,)*
                "add x8, x8, x5",
                "add x9, x9, x5",
                ".endr",
                "sub x8, x8, x6",
                "sub x9, x9, x6",
                "subs x10, x10, #{step}",
                "b.ne 3b",
                "subs x3, x3, #1",
                "b.ne 2b",
                $($end,)*
                // Used by the stores only.
                "/* {ahead} */",
                places = const PLACES,
                step = const STEP,
                ahead = const AHEAD,
                in("x0") dst,
                in("x1") src,
                inout("x3") passes => _,
                in("x4") STREAM_PATTERN,
                in("x5") bytes / PLACES,
                in("x6") bytes - STEP,
                clobber_abi("C"),
                options(nostack),
            )
        }
    )*};
    // The four lines of a turn, prefetched for ownership.
    (@ahead) => {
        ".irp i, 0, 1, 2, 3\nprfm pstl1keep, [x8, #{ahead} + 64*\\i]\n.endr"
    };
}

places! {
    read_x8: [pairs!("ldp", "x9")], [];
    write_x8: [places!(@ahead), pairs!("stp", "x8")], [];
    copy_x8: [places!(@ahead), pairs!("ldp", "x9"), pairs!("stp", "x8")], [];
    copy_nt_x8: [pairs!("ldp", "x9"), pairs!("stnp", "x8")], ["dsb ishst"];
}

/// Bytes of an SVE vector in this process: the system chose the length, and nothing here changes
/// it. `None` without SVE, and where the length is no power of two: it would not divide the sizes
/// of the benchmarks.
pub(super) fn sve_bytes() -> Option<usize> {
    if !std::arch::is_aarch64_feature_detected!("sve") {
        return None;
    }
    let bytes: usize;
    // SAFETY: the CPU has SVE; the instruction reads the length of its vectors.
    unsafe {
        asm!(
            ".arch_extension sve",
            "rdvl {bytes}, #1",
            bytes = out(reg) bytes,
            options(nomem, nostack, preserves_flags),
        );
    }
    Some(bytes).filter(|bytes| bytes.is_power_of_two())
}

mod sve {
    use super::*;

    /// Those that the CPU can run: all or none. Made on first use, because width and step are
    /// unknown before.
    pub(super) static STREAMS: LazyLock<Vec<StreamKernel>> = LazyLock::new(|| {
        let Some(width) = sve_bytes() else { return Vec::new() };
        let kernel =
            |op, instruction, run| StreamKernel { op, isa: "sve", width, instruction, step: VECTORS * width, run };
        vec![
            kernel(Op::Read, "ld1d", read as unsafe fn(*mut u8, *const u8, usize, u64)),
            kernel(Op::Write, "st1d", write),
            kernel(Op::WriteNt, "stnt1d", write_nt),
            kernel(Op::Copy, "ld1d/st1d", copy),
            kernel(Op::CopyNt, "ld1d/stnt1d", copy_nt),
        ]
    });

    /// Vectors per turn: as many as an address offset can select, from -8 to 7.
    const VECTORS: usize = 16;

    /// Sixteen vectors, all caller-saved, from or to the addresses around a register.
    macro_rules! vectors {
        ($instruction:literal, $predicate:literal, $base:literal) => {
            vectors!(@lines $instruction, $predicate, $base, "16" "-8", "17" "-7", "18" "-6", "19" "-5", "20" "-4", "21" "-3",
                "22" "-2", "23" "-1", "24" "0", "25" "1", "26" "2", "27" "3", "28" "4", "29" "5", "30" "6", "31" "7")
        };
        (@lines $instruction:literal, $predicate:literal, $base:literal, $($vector:literal $at:literal),*) => {
            concat!($($instruction, " {{z", $vector, ".d}}, ", $predicate, ", [", $base, ", #", $at, ", mul vl]\n"),*)
        };
    }

    macro_rules! streams {
        ($($name:ident: [$($body:expr),*], [$($end:literal),*];)*) => {$(
            define_stream! {
                $name(dst, src, bytes, passes)
                // Turns are x5 bytes. x8 and x9 point half a turn after what they stand for, x10
                // counts down a pass. Every register changed is caller-saved.
                asm!(
                    ".arch_extension sve",
                    "ptrue p0.d",
                    ".irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
                    "mov z\\i\\().d, x4",
                    ".endr",
                    "rdvl x5, #{vectors}",
                    "2:",
                    "addvl x8, x0, #{vectors} / 2",
                    "addvl x9, x1, #{vectors} / 2",
                    "mov x10, x2",
                    ".p2align 6",
                    "3:",
                    $($body,)*
                    "add x8, x8, x5",
                    "add x9, x9, x5",
                    "subs x10, x10, x5",
                    "b.ne 3b",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $($end,)*
                    vectors = const VECTORS,
                    in("x0") dst,
                    in("x1") src,
                    in("x2") bytes,
                    inout("x3") passes => _,
                    in("x4") STREAM_PATTERN,
                    out("p0") _,
                    clobber_abi("C"),
                    options(nostack),
                )
            }
        )*};
    }

    streams! {
        read: [vectors!("ld1d", "p0/z", "x9")], [];
        write: [vectors!("st1d", "p0", "x8")], [];
        write_nt: [vectors!("stnt1d", "p0", "x8")], ["dsb ishst"];
        copy: [vectors!("ld1d", "p0/z", "x9"), vectors!("st1d", "p0", "x8")], [];
        copy_nt: [vectors!("ld1d", "p0/z", "x9"), vectors!("stnt1d", "p0", "x8")], ["dsb ishst"];
    }
}
