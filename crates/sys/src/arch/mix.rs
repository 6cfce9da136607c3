//! Loops that read one stream and write another, in a fixed ratio of lines.
//!
//! One turn is [`MIX_GROUPS`] groups of some lines read and some written
//! (`docs/methods/memory.md#read-write-mixes`).

pub use super::native::mix::mix_kernels;

/// Bytes of a line, as the mixes count them.
pub const MIX_LINE: usize = 64;
/// Groups of reads and writes in one turn of a loop.
pub const MIX_GROUPS: usize = 4;
const _: () = assert!(MIX_GROUPS == 4 && MIX_LINE == 64, "spelled out in the instructions");

/// The mixes: lines read and lines written in each group.
pub const MIXES: [(usize, usize); 6] = [(1, 0), (3, 1), (2, 1), (1, 1), (1, 2), (0, 1)];

/// A loop that reads `reads` lines, writes `writes` lines of [`super::STREAM_PATTERN`], and
/// repeats.
#[derive(Debug)]
pub struct MixKernel {
    /// Lines read in each group.
    pub reads: usize,
    /// Lines written in each group.
    pub writes: usize,
    /// Whether the stores are non-temporal.
    pub nt: bool,
    /// The instructions it uses: `avx512`, `avx2`, `neon`, `rvv`, `scalar` or `portable`.
    pub isa: &'static str,
    /// Passes `passes` times over `turns` turns of [`MIX_GROUPS`] groups, front to back in both
    /// streams.
    ///
    /// # Safety
    ///
    /// The CPU has `isa`; `src` is valid for reads of `turns * MIX_GROUPS * reads` lines and `dst`
    /// for writes of `turns * MIX_GROUPS * writes`; they do not overlap and are aligned to a line.
    /// A pointer that the mix does not use may be anything.
    pub run: unsafe fn(dst: *mut u8, src: *const u8, turns: usize, passes: u64),
}

/// Calls `$define!` with its arguments and the table of mixes: name, lines read and written with
/// their numbers within a group, and whether the stores bypass the caches (`nt` asks for those
/// too).
macro_rules! with_mixes {
    ($define:ident!($($arguments:tt)*)) => { with_mixes!(@table $define!($($arguments)*)) };
    (nt $define:ident!($($arguments:tt)*)) => {
        with_mixes! {
            @table $define!($($arguments)*)
            read3write1_nt 3 [0 1 2] 1 [0] true;
            read2write1_nt 2 [0 1] 1 [0] true;
            read1write1_nt 1 [0] 1 [0] true;
            read1write2_nt 1 [0] 2 [0 1] true;
            write1_nt 0 [] 1 [0] true;
        }
    };
    (@table $define:ident!($($arguments:tt)*) $($more:tt)*) => {
        $define! {
            $($arguments)*
            read1 1 [0] 0 [] false;
            read3write1 3 [0 1 2] 1 [0] false;
            read2write1 2 [0 1] 1 [0] false;
            read1write1 1 [0] 1 [0] false;
            read1write2 1 [0] 2 [0 1] false;
            write1 0 [] 1 [0] false;
            $($more)*
        }
    };
}
pub(in crate::arch) use with_mixes;
