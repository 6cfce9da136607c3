//! Streaming loops over one or two buffers, and what turns their time into a bandwidth.
//!
//! One pass accesses every byte of a buffer once (`docs/methods/memory.md#bandwidth-kernels`).

pub use super::native::stream::{stream_kernels, stream_missing};

/// What a stream kernel does to memory.
///
/// The three ratios of an operation are *per byte of the `bytes` that a kernel runs over*. The
/// program's bytes are those it reads plus those it writes. The modelled bytes are what memory
/// would have to move if every store first fetched its line (write-allocate) and every dirty line
/// were written back once. A core that detects full-line stores moves less, and a level that holds
/// the buffer moves nothing, so results call it a model (`docs/methods/memory.md#counting-bytes`).
///
/// One load per line (`touch`) is not here: it moves lines, and counted as bytes it makes L1 appear
/// four times as fast as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Loads every byte of the source and discards it.
    Read,
    /// Stores [`STREAM_PATTERN`] over the destination.
    Write,
    /// The same with non-temporal stores, and a fence at the end.
    WriteNt,
    /// Zeroes whole lines with one instruction each.
    ZeroLine,
    /// x86's `rep stosq` of [`STREAM_PATTERN`], one for each pass.
    RepStos,
    /// x86's `rep movsq`, one for each pass.
    RepMovs,
    /// x86's `rep lodsq`, one for each pass.
    RepLods,
    /// Loads the source and stores it to the destination.
    Copy,
    /// The same with non-temporal stores, and a fence at the end.
    CopyNt,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 9] =
        [Op::Read, Op::Write, Op::WriteNt, Op::ZeroLine, Op::RepStos, Op::RepMovs, Op::RepLods, Op::Copy, Op::CopyNt];

    /// The word used in names and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::WriteNt => "write_nt",
            Op::ZeroLine => "zero_line",
            Op::RepStos => "rep_stos",
            Op::RepMovs => "rep_movs",
            Op::RepLods => "rep_lods",
            Op::Copy => "copy",
            Op::CopyNt => "copy_nt",
        }
    }

    /// Bytes the program reads per byte.
    pub const fn read_per_byte(self) -> u64 {
        matches!(self, Op::Read | Op::RepLods | Op::Copy | Op::CopyNt | Op::RepMovs) as u64
    }

    /// Bytes the program writes per byte.
    pub const fn written_per_byte(self) -> u64 {
        !matches!(self, Op::Read | Op::RepLods) as u64
    }

    /// Bytes that memory moves per byte under the write-allocate model: read 1, write 2 (fetch and
    /// write back), non-temporal or whole-line write 1, copy 3 (1.5 per byte of the program). `rep`
    /// instructions are modelled as plain stores; what they really do is up to the CPU.
    pub const fn modelled_per_byte(self) -> u64 {
        match self {
            Op::Read | Op::RepLods | Op::WriteNt | Op::ZeroLine => 1,
            Op::Write | Op::RepStos | Op::CopyNt => 2,
            Op::Copy | Op::RepMovs => 3,
        }
    }

    /// The word that it leaves in the destination, where that does not depend on the source.
    pub const fn stored_word(self) -> u64 {
        if matches!(self, Op::ZeroLine) { 0 } else { STREAM_PATTERN }
    }
}

/// The word that write kernels store. Not zero, because Ice Lake and its successors skip the
/// write-back of zeros stored over zeros. Its bytes differ, so that a compiler cannot turn the
/// portable loop into `memset`.
pub const STREAM_PATTERN: u64 = 0x0123_4567_89ab_cdef;

/// Alignment of every buffer of a stream kernel: a cache line, which is also the widest vector of a
/// fixed length that a kernel here uses.
pub const STREAM_ALIGN: usize = 64;

/// A streaming loop.
#[derive(Debug)]
pub struct StreamKernel {
    /// What it does.
    pub op: Op,
    /// The instructions it uses, as a user names them: `avx512`, `avx2`, `sse2`, `neon`, `sve`,
    /// `rvv`, `scalar`, `string` (x86's `rep`), `line` (zeroing whole lines), `portable`. With the
    /// suffix `x8` the kernel walks eight places in turn, an eighth of the buffer each, and
    /// prefetches for ownership the lines of plain stores: slower in the first-level cache, faster
    /// in memory, where it keeps more misses in flight.
    pub isa: &'static str,
    /// Bytes per load or store. For `sve` the length of a vector in this process, a power of two
    /// from 16 to 256.
    pub width: usize,
    /// The instruction that moves them, as a disassembler prints it.
    pub instruction: &'static str,
    /// The number of bytes must be a multiple of this, which is a power of two.
    pub step: usize,
    /// Passes `passes` times over `bytes` bytes, each of them once a pass. The kernel counts the
    /// passes, not its caller, because a pass over 16 KiB takes some 130 cycles: a call for each
    /// would be a tenth of the result.
    ///
    /// # Safety
    ///
    /// The CPU has `isa`; `bytes` is a multiple of `step`; if `op` reads, `src` is valid for reads
    /// of `bytes` bytes, if it writes, `dst` for writes; the two do not overlap; both are aligned
    /// to [`STREAM_ALIGN`]. The pointer that `op` does not use may be anything.
    pub run: unsafe fn(dst: *mut u8, src: *const u8, bytes: usize, passes: u64),
}

/// Defines a kernel's function, [`StreamKernel::run`]: a call without bytes or passes returns at
/// once.
macro_rules! define_stream {
    ($(#[$attribute:meta])* $name:ident($dst:ident, $src:ident, $bytes:ident, $passes:ident) $($asm:tt)*) => {
        /// # Safety
        ///
        /// As [`StreamKernel::run`].
        $(#[$attribute])*
        unsafe fn $name($dst: *mut u8, $src: *const u8, $bytes: usize, $passes: u64) {
            if $bytes == 0 || $passes == 0 {
                return;
            }
            // SAFETY: the caller vouches for the buffers; the loop declares every register it
            // changes.
            unsafe { $($asm)* };
        }
    };
}
pub(in crate::arch) use define_stream;
