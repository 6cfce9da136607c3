//! Stream kernels: see [`crate::arch::stream`]. SSE2, AVX2 and AVX-512, `rep` instructions and
//! `clzero`.
//!
//! Two orders. The plain one goes front to back, which is best where a cache holds the buffer. `x8`
//! walks eight eighths in turn, four lines of each at a time: a hardware prefetcher runs only a
//! limited distance ahead of one stream and stops at every page, so one stream leaves a core's miss
//! buffers half empty. Its plain stores are preceded by `prefetchw`, [`AHEAD`] bytes early, because
//! a store that misses blocks those behind it until the line has arrived.
//!
//! In GB/s of the program, on a busy 2-vCPU KVM guest (Intel Emerald Rapids), 90th percentile of 1
//! MiB windows from memory in one session, C with intrinsics, plain and `x8`: read 14.5 and 17.5,
//! write 10.1 and 15.7, copy 14.5 and 16.8, non-temporal copy 21.9 and 26.7. In a quieter session
//! the plain read reached 16.4, so the gain is 7 to 30 %.
//!
//! Tried there and rejected, as differences from the plain loop or from `x8`: `prefetcht0` and
//! `prefetcht1` 512 B to 8 KiB ahead of the loads (within 3 % of none), `prefetchnta` (28 to 41 %
//! less), four places (0 to 5 % less), sixteen (no more), pages in turn instead of eighths (up to 6
//! % less), blocks of 2 to 16 KiB fetched first (1 to 14 % less than a plain copy). Non-temporal
//! stores without loads gained nothing from pages in turn, and have no `x8`.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses only the caller's buffers
//! (`prefetchw` may name an address beyond them and never faults). Kernels are reached only through
//! a list filtered by what the CPU (CPUID) and the system (XGETBV) support.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::stream::define_stream;
use crate::arch::{Op, STREAM_PATTERN, StreamKernel, portable};
use core::arch::{asm, x86_64::__cpuid};

/// Every stream kernel that this CPU can run, the widest first and the portable ones last.
pub fn stream_kernels() -> Vec<&'static StreamKernel> {
    // The standard library asks CPUID and, for the registers that the system must save, XGETBV.
    let here = |kernel: &&StreamKernel| match kernel.isa {
        "avx512" => std::arch::is_x86_feature_detected!("avx512f"),
        "avx512x8" => std::arch::is_x86_feature_detected!("avx512f") && has_prefetchw(),
        "avx2" => std::arch::is_x86_feature_detected!("avx2"),
        "avx2x8" => std::arch::is_x86_feature_detected!("avx2") && has_prefetchw(),
        "line" => has_clzero(),
        _ => true, // SSE2 and the string instructions are part of x86-64
    };
    STREAMS.iter().filter(here).chain(&portable::stream::STREAMS).collect()
}

/// Why no kernel here does `op`, if none does.
pub fn stream_missing(op: Op) -> Option<&'static str> {
    (op == Op::ZeroLine && !has_clzero()).then_some("this CPU has no clzero instruction, which is AMD's")
}

/// AMD APM vol. 3, CPUID 8000_0008 EBX bit 0. The line is one of 64 B on all that have it.
fn has_clzero() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0008 && __cpuid(0x8000_0008).ebx & 1 != 0
}

/// Intel SDM vol. 2 and AMD APM vol. 3, CPUID 8000_0001 ECX bit 8.
fn has_prefetchw() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).ecx & (1 << 8) != 0
}

/// Vectors per turn of a plain loop: enough to hide the loop's four other instructions, few enough
/// to name a register for each.
const VECTORS: usize = 16;
/// Places that an `x8` kernel walks in turn.
const PLACES: usize = 8;
/// Bytes of one place before the next one: four lines.
const TURN: usize = 256;
/// Prefetch distance of plain stores in bytes. Everything from 512 B to 8 KiB was the same within 4
/// %.
const AHEAD: usize = 1024;

static STREAMS: [StreamKernel; 27] = [
    avx512::READ,
    avx512::READ_X8,
    avx512::WRITE,
    avx512::WRITE_X8,
    avx512::WRITE_NT,
    avx512::COPY,
    avx512::COPY_X8,
    avx512::COPY_NT,
    avx512::COPY_NT_X8,
    avx2::READ,
    avx2::READ_X8,
    avx2::WRITE,
    avx2::WRITE_X8,
    avx2::WRITE_NT,
    avx2::COPY,
    avx2::COPY_X8,
    avx2::COPY_NT,
    avx2::COPY_NT_X8,
    sse2::READ,
    sse2::WRITE,
    sse2::WRITE_NT,
    sse2::COPY,
    sse2::COPY_NT,
    single(Op::RepStos, "string", 8, "rep stos", rep_stos),
    single(Op::RepMovs, "string", 8, "rep movs", rep_movs),
    single(Op::RepLods, "string", 8, "rep lods", rep_lods),
    single(Op::ZeroLine, "line", 64, "clzero", zero_line),
];

const fn single(
    op: Op,
    isa: &'static str,
    width: usize,
    instruction: &'static str,
    run: unsafe fn(*mut u8, *const u8, usize, u64),
) -> StreamKernel {
    StreamKernel { op, isa, width, instruction, step: 64, run }
}

macro_rules! string_kernels {
    ($($name:ident: $instruction:literal;)*) => {$(
        define_stream! {
            $name(dst, src, bytes, passes)
            // the direction flag is clear, as the ABI promises; rax, rcx, rsi and
            // rdi are what the instruction uses.
            asm!(
                "2:",
                "mov rdi, r8",
                "mov rsi, r9",
                "mov rcx, rdx",
                "mov rax, r11",
                $instruction,
                "sub r10, 1",
                "jnz 2b",
                in("r8") dst,
                in("r9") src,
                in("rdx") bytes / 8,
                in("r11") STREAM_PATTERN,
                inout("r10") passes => _,
                out("rax") _,
                out("rcx") _,
                out("rsi") _,
                out("rdi") _,
                options(nostack),
            )
        }
    )*};
}

string_kernels! {
    rep_stos: "rep stosq";
    rep_movs: "rep movsq";
    rep_lods: "rep lodsq";
}

/// # Safety
///
/// As [`StreamKernel::run`]; the CPU has `clzero`.
unsafe fn zero_line(dst: *mut u8, _: *const u8, bytes: usize, passes: u64) {
    if bytes == 0 || passes == 0 {
        return;
    }
    // SAFETY: the caller vouches for the buffer, which is whole lines; the instruction zeroes the
    // line of rax.
    unsafe {
        asm!(
            "2:",
            "mov rax, rdi",
            "mov r10, rdx",
            ".p2align 6",
            "3:",
            "clzero",
            "add rax, 64",
            "sub r10, 64",
            "jnz 3b",
            "sub rcx, 1",
            "jnz 2b",
            "sfence",
            in("rdi") dst,
            in("rdx") bytes,
            inout("rcx") passes => _,
            out("rax") _,
            out("r10") _,
            options(nostack),
        );
    }
}

/// The kernels of one instruction set. They differ in the mnemonics, in how a vector is filled with
/// a word and in how the vector unit is left (`vzeroupper`: dirty upper halves slow down SSE code
/// that runs later).
macro_rules! streams {
    ($isa:ident, $x8:tt, $feature:literal, $width:literal, $vector:literal, $move:literal, $move_nt:literal,
     turn: $turn:literal;
     fill: $($fill:literal),*; leave: $($leave:literal),*;) => {
        mod $isa {
            use super::*;

            const fn kernel(
                op: Op,
                instruction: &'static str,
                run: unsafe fn(*mut u8, *const u8, usize, u64),
            ) -> StreamKernel {
                StreamKernel { op, isa: stringify!($isa), width: $width, instruction, step: $width * VECTORS, run }
            }

            pub(super) const READ: StreamKernel = kernel(Op::Read, $move, read);
            pub(super) const WRITE: StreamKernel = kernel(Op::Write, $move, write);
            pub(super) const WRITE_NT: StreamKernel = kernel(Op::WriteNt, $move_nt, write_nt);
            pub(super) const COPY: StreamKernel = kernel(Op::Copy, $move, copy);
            pub(super) const COPY_NT: StreamKernel =
                kernel(Op::CopyNt, concat!($move, "/", $move_nt), copy_nt);

            streams!(@kernel read, $feature, [$($fill),*], [
                concat!($move, " ", $vector, "\\i, [r9 + ", $width, "*\\i]"),
            ], [$($leave),*]);
            streams!(@kernel write, $feature, [$($fill),*], [
                concat!($move, " [r8 + ", $width, "*\\i], ", $vector, "0"),
            ], [$($leave),*]);
            streams!(@kernel write_nt, $feature, [$($fill),*], [
                concat!($move_nt, " [r8 + ", $width, "*\\i], ", $vector, "0"),
            ], ["sfence" $(, $leave)*]);
            streams!(@kernel copy, $feature, [$($fill),*], [
                concat!($move, " ", $vector, "\\i, [r9 + ", $width, "*\\i]"),
                concat!($move, " [r8 + ", $width, "*\\i], ", $vector, "\\i"),
            ], [$($leave),*]);
            streams!(@kernel copy_nt, $feature, [$($fill),*], [
                concat!($move, " ", $vector, "\\i, [r9 + ", $width, "*\\i]"),
                concat!($move_nt, " [r8 + ", $width, "*\\i], ", $vector, "\\i"),
            ], ["sfence" $(, $leave)*]);
            streams!(@places $x8, $feature, $width, $vector, $move, $move_nt, $turn, [$($fill),*], [$($leave),*]);
        }
    };
    // Machines that have only SSE2 have no `prefetchw` either.
    (@places "", $feature:literal, $width:literal, $vector:literal, $move:literal, $move_nt:literal, $turn:literal,
     [$($fill:literal),*], [$($leave:literal),*]) => {};
    (@places $x8:literal, $feature:literal, $width:literal, $vector:literal, $move:literal, $move_nt:literal,
     $turn:literal, [$($fill:literal),*], [$($leave:literal),*]) => {
        const fn x8(
            op: Op,
            instruction: &'static str,
            run: unsafe fn(*mut u8, *const u8, usize, u64),
        ) -> StreamKernel {
            StreamKernel { op, isa: $x8, width: $width, instruction, step: PLACES * TURN, run }
        }

        pub(super) const READ_X8: StreamKernel = x8(Op::Read, $move, read_x8);
        pub(super) const WRITE_X8: StreamKernel = x8(Op::Write, $move, write_x8);
        pub(super) const COPY_X8: StreamKernel = x8(Op::Copy, $move, copy_x8);
        pub(super) const COPY_NT_X8: StreamKernel = x8(Op::CopyNt, concat!($move, "/", $move_nt), copy_nt_x8);

        streams!(@place read_x8, $feature, [$($fill),*], [
            concat!(".irp i, ", $turn),
            concat!($move, " ", $vector, "\\i, [r9\\place + ", $width, "*\\i]"),
            ".endr",
        ], [$($leave),*]);
        streams!(@place write_x8, $feature, [$($fill),*], [
            ".irp i, 0, 1, 2, 3",
            "prefetchw [r8\\place + {ahead} + 64*\\i]",
            ".endr",
            concat!(".irp i, ", $turn),
            concat!($move, " [r8\\place + ", $width, "*\\i], ", $vector, "0"),
            ".endr",
        ], [$($leave),*]);
        streams!(@place copy_x8, $feature, [$($fill),*], [
            ".irp i, 0, 1, 2, 3",
            "prefetchw [r8\\place + {ahead} + 64*\\i]",
            ".endr",
            concat!(".irp i, ", $turn),
            concat!($move, " ", $vector, "\\i, [r9\\place + ", $width, "*\\i]"),
            ".endr",
            concat!(".irp i, ", $turn),
            concat!($move, " [r8\\place + ", $width, "*\\i], ", $vector, "\\i"),
            ".endr",
        ], [$($leave),*]);
        streams!(@place copy_nt_x8, $feature, [$($fill),*], [
            concat!(".irp i, ", $turn),
            concat!($move, " ", $vector, "\\i, [r9\\place + ", $width, "*\\i]"),
            ".endr",
            concat!(".irp i, ", $turn),
            concat!($move_nt, " [r8\\place + ", $width, "*\\i], ", $vector, "\\i"),
            ".endr",
        ], ["sfence" $(, $leave)*]);
    };
    (@place $name:ident, $feature:literal, [$($fill:literal),*], [$($body:expr,)*], [$($leave:literal),*]) => {
        define_stream! {
            #[target_feature(enable = $feature)]
            $name(dst, src, bytes, passes)
            // r8 and r9 go over the first eighth, of the length r11, and the other places lie one
            // to seven of it behind (rax, r12 and r13 are the multiples that no address can
            // express); `prefetchw` never faults; every register changed is declared.
            asm!(
                $($fill,)*
                "lea rax, [r11 + 2*r11]",
                "lea r12, [r11 + 4*r11]",
                "lea r13, [rax + 4*r11]",
                "2:",
                "mov r8, rdi",
                "mov r9, rsi",
                "mov r10, r11",
                ".p2align 6",
                "3:",
                ".irp place, +0, +r11, +2*r11, +rax, +4*r11, +r12, +2*rax, +r13",
                $($body,)*
                ".endr",
                "add r8, {turn}",
                "add r9, {turn}",
                "sub r10, {turn}",
                "jnz 3b",
                "sub rcx, 1",
                "jnz 2b",
                $($leave,)*
                // Used by the stores only.
                "/* {ahead} */",
                turn = const TURN,
                ahead = const AHEAD,
                inout("rax") STREAM_PATTERN => _,
                inout("rcx") passes => _,
                in("rsi") src,
                in("rdi") dst,
                in("r11") bytes / PLACES,
                out("r12") _,
                out("r13") _,
                clobber_abi("sysv64"),
                options(nostack),
            )
        }
    };
    (@kernel $name:ident, $feature:literal, [$($fill:literal),*], [$($body:expr,)*], [$($leave:literal),*]) => {
        define_stream! {
            #[target_feature(enable = $feature)]
            $name(dst, src, bytes, passes)
            // rdi, rsi and rdx keep them from pass to pass, r8, r9 and r10
            // count within one; every register changed is one that the ABI lets a callee change.
            asm!(
                $($fill,)*
                "2:",
                "mov r8, rdi",
                "mov r9, rsi",
                "mov r10, rdx",
                ".p2align 6",
                "3:",
                ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                $($body,)*
                ".endr",
                "add r8, r11",
                "add r9, r11",
                "sub r10, r11",
                "jnz 3b",
                "sub rcx, 1",
                "jnz 2b",
                $($leave,)*
                in("rax") STREAM_PATTERN,
                in("rcx") passes,
                in("rdx") bytes,
                in("rsi") src,
                in("rdi") dst,
                in("r11") WRITE.step,
                clobber_abi("sysv64"),
                options(nostack),
            )
        }
    };
}

streams! {
    avx512, "avx512x8", "avx512f", 64, "zmm", "vmovdqa64", "vmovntdq",
    turn: "0, 1, 2, 3";
    fill: "vpbroadcastq zmm0, rax"; leave: "vzeroupper";
}
streams! {
    avx2, "avx2x8", "avx2", 32, "ymm", "vmovdqa", "vmovntdq",
    turn: "0, 1, 2, 3, 4, 5, 6, 7";
    fill: "vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0"; leave: "vzeroupper";
}
streams! {
    sse2, "", "sse2", 16, "xmm", "movdqa", "movntdq",
    turn: "0";
    fill: "movq xmm0, rax", "punpcklqdq xmm0, xmm0"; leave: ;
}
