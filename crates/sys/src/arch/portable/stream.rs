//! Stream kernels in plain Rust.
//!
//! # Safety
//!
//! Raw pointers are dereferenced, for which the callers vouch.
#![expect(unsafe_code, reason = "walks raw pointers")]

use crate::arch::{Op, STREAM_PATTERN, StreamKernel};
use core::hint::black_box;

/// Every stream kernel there is. The compiler chooses the instructions, which may be vectors.
pub fn stream_kernels() -> Vec<&'static StreamKernel> {
    STREAMS.iter().collect()
}

/// Why no kernel here does `op`, if none does.
pub fn stream_missing(op: Op) -> Option<&'static str> {
    match op {
        Op::Read | Op::Write | Op::Copy => None,
        Op::WriteNt | Op::CopyNt => Some("portable code cannot ask for stores that bypass the caches"),
        Op::ZeroLine => Some("portable code cannot ask for a line to be zeroed"),
        Op::RepStos | Op::RepMovs | Op::RepLods => Some(NOT_X86),
    }
}

/// The reason for the operations that only x86 has.
pub(crate) const NOT_X86: &str = "string instructions with rep are x86's";

pub(crate) static STREAMS: [StreamKernel; 3] =
    [kernel(Op::Read, read), kernel(Op::Write, write), kernel(Op::Copy, copy)];

const fn kernel(op: Op, run: unsafe fn(*mut u8, *const u8, usize, u64)) -> StreamKernel {
    StreamKernel { op, isa: "portable", width: WORD, instruction: "(the compiler's choice)", step: 8 * WORD, run }
}

const WORD: usize = size_of::<u64>();

/// # Safety
///
/// As [`StreamKernel::run`].
unsafe fn read(_: *mut u8, src: *const u8, bytes: usize, passes: u64) {
    for _ in 0..passes {
        // Hidden once a pass, so that the compiler cannot drop a pass as a repetition.
        let words = black_box(src).cast::<u64>();
        let mut all = 0;
        for i in 0..bytes / WORD {
            // SAFETY: the caller vouches for `bytes` readable, aligned bytes.
            all |= unsafe { words.add(i).read() };
        }
        black_box(all);
    }
}

/// # Safety
///
/// As [`StreamKernel::run`].
unsafe fn write(dst: *mut u8, _: *const u8, bytes: usize, passes: u64) {
    for _ in 0..passes {
        let words = black_box(dst).cast::<u64>();
        for i in 0..bytes / WORD {
            // SAFETY: the caller vouches for `bytes` writable, aligned bytes.
            unsafe { words.add(i).write(STREAM_PATTERN) };
        }
    }
    black_box(dst);
}

/// # Safety
///
/// As [`StreamKernel::run`].
unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize, passes: u64) {
    for _ in 0..passes {
        let (to, from) = (black_box(dst).cast::<u64>(), black_box(src).cast::<u64>());
        for i in 0..bytes / WORD {
            // SAFETY: the caller vouches for both buffers.
            unsafe { to.add(i).write(from.add(i).read()) };
        }
    }
    black_box(dst);
}
