//! The one place with instructions in it: counters, raw system calls and the inner loops that are the subject of a
//! measurement, with one identical face on every CPU.
//!
//! Each native file and [`portable`] define the same names; this file picks one and writes down, once for all of them,
//! what the names mean. A kernel is a whole loop with a fixed instruction count, so that nothing a compiler does can
//! change what is measured; `tests/kernels.rs` holds every one of them against [`portable`] and `tests/disassembly.rs`
//! looks for the instruction it claims. Nothing here reads a clock, chooses a size or knows a benchmark.
//!
//! A new CPU works before it has a file (all of it is then [`portable`]); its file costs one `mod` line and one name
//! in the `not(any(..))` below.

pub mod access;
pub mod atomics;
pub mod branch;
pub mod chases;
pub mod flush;
pub mod forward;
pub mod hammer;
pub mod ops;
pub mod portable;
pub mod rates;
pub mod split;
pub mod wide;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
mod native;
#[cfg(target_arch = "riscv64")]
#[path = "riscv64/mod.rs"]
mod native;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
mod native;
#[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")))]
use portable as native;

pub use native::{
    ADD_TAKES_ONE_CYCLE, COUNTER_NAME, add_chain, calls, chase, counter_start, counter_stop, counter_usable, mul_chain,
    rotate_chain, stream_kernels, stream_missing,
};
// System call numbers and the way errors come back belong to the system as much as to the CPU.
#[cfg(target_os = "linux")]
pub use native::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};
#[cfg(not(target_os = "linux"))]
pub use portable::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};

/// Operations in one turn of an arithmetic chain's loop. The counter and the branch run beside the chain: they cost
/// nothing as long as the chain is slower than they are, which 64 dependent operations always are.
pub const CHAIN_UNROLL: u64 = 64;

/// Where an arithmetic chain starts (odd, so that multiplying never loses a bit).
pub const CHAIN_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The second operand of the add and multiply chains: in a register, never an immediate (Golden Cove executes
/// additions of small immediates when it renames registers, and such a chain reads up to five times the clock), odd,
/// and neither 0 nor 1.
pub const CHAIN_OPERAND: u64 = 0x0000_0001_0000_01b3;

/// How far one step of the rotate chain rotates, to the right. Not 1: x86 has an older encoding for that one.
pub const CHAIN_ROTATE: u32 = 7;

/// The operations that a chain of `n` really does: `n` rounded up to a multiple of [`CHAIN_UNROLL`].
pub const fn chain_ops(n: u64) -> u64 {
    n.next_multiple_of(CHAIN_UNROLL)
}

/// Loads in one turn of the chase's loop.
pub const CHASE_UNROLL: u64 = 64;

/// The loads that a chase of `n` really does: `n` rounded up to a multiple of [`CHASE_UNROLL`].
pub const fn chase_loads(n: u64) -> u64 {
    n.next_multiple_of(CHASE_UNROLL)
}

/// Calls in one turn of a long call loop.
pub const CALLS_LONG: u64 = 64;

/// Calls in one turn of a short call loop. The price of one call is the time of a long turn less that of a short one,
/// divided by `CALLS_LONG - CALLS_SHORT`: the loop itself falls out.
pub const CALLS_SHORT: u64 = 16;

/// The most arguments that [`calls`] passes (CSE 221's "procedure call with 0 to 7 arguments").
pub const CALLS_MAX_ARGS: usize = 7;

/// What a stream kernel does to memory.
///
/// The three ratios of an operation are all *per byte of the `bytes` that a kernel is run over*. The program's bytes
/// are those it reads plus those it writes; the modelled bytes are what memory would have to move if every store first
/// fetched its line (write-allocate) and every dirty line were written back once. A core that detects full-line
/// stores moves less, a level that holds the buffer moves nothing: it is a model, and is called one in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Loads every byte of the source; nothing is done with them.
    Read,
    /// Stores [`STREAM_PATTERN`] over the destination.
    Write,
    /// The same with stores that bypass the caches, and a fence at the end.
    WriteNt,
    /// Loads the source and stores it to the destination.
    Copy,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::WriteNt, Op::Copy];

    /// The word used in names and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::WriteNt => "write_nt",
            Op::Copy => "copy",
        }
    }

    /// Bytes the program reads per byte.
    pub const fn read_per_byte(self) -> u64 {
        matches!(self, Op::Read | Op::Copy) as u64
    }

    /// Bytes the program writes per byte.
    pub const fn written_per_byte(self) -> u64 {
        matches!(self, Op::Write | Op::WriteNt | Op::Copy) as u64
    }

    /// Bytes that memory moves per byte under the write-allocate model: read 1, write 2 (fetch and write back),
    /// non-temporal write 1, copy 3 (so 1.5 per byte of the program).
    pub const fn modelled_per_byte(self) -> u64 {
        match self {
            Op::Read | Op::WriteNt => 1,
            Op::Write => 2,
            Op::Copy => 3,
        }
    }
}

/// The word that write kernels store. Not zero (Ice Lake and its successors spare themselves the write-back of zeros
/// stored over zeros), and its bytes differ (a compiler cannot turn the portable loop into `memset`).
pub const STREAM_PATTERN: u64 = 0x0123_4567_89ab_cdef;

/// What the address of every buffer of a stream kernel must be a multiple of: a cache line, which is also the widest
/// vector that a kernel here uses.
pub const STREAM_ALIGN: usize = 64;

/// A streaming loop, and all that must be known to turn its time into a bandwidth.
#[derive(Debug)]
pub struct StreamKernel {
    /// What it does.
    pub op: Op,
    /// The instructions it uses: `avx512`, `avx2`, `sse2`, `neon`, `scalar` or `portable`.
    pub isa: &'static str,
    /// Bytes per load or store.
    pub width: usize,
    /// The instruction that moves them, as a disassembler prints it.
    pub instruction: &'static str,
    /// The number of bytes it is run over must be a multiple of this.
    pub step: usize,
    /// Goes `passes` times over `bytes` bytes, front to back. The passes are counted here and not by the caller because
    /// a pass over 16 KiB lasts some 130 cycles: a call for each would be a tenth of the result.
    ///
    /// # Safety
    ///
    /// The CPU has `isa`; `bytes` is a multiple of `step`; if `op` reads, `src` is valid for reads of `bytes` bytes, if
    /// it writes, `dst` for writes; the two do not overlap; both are aligned to [`STREAM_ALIGN`]. The pointer that `op`
    /// does not use may be anything.
    pub run: unsafe fn(dst: *mut u8, src: *const u8, bytes: usize, passes: u64),
}
