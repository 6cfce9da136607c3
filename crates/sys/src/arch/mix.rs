//! Loops that read one stream and write another, in a fixed ratio of lines.

pub use super::native::mix::mix_kernels;

/// Bytes of a line, as the mixes count them.
pub const MIX_LINE: usize = 64;
/// Groups of so many reads and so many writes in one turn of a loop.
pub const MIX_GROUPS: usize = 4;

/// The mixes there are: lines read and lines written, in turn.
pub const MIXES: [(usize, usize); 6] = [(1, 0), (3, 1), (2, 1), (1, 1), (1, 2), (0, 1)];

/// A loop that reads `reads` lines, writes `writes` lines of [`super::STREAM_PATTERN`], and so on.
#[derive(Debug)]
pub struct MixKernel {
    /// Lines read in each group.
    pub reads: usize,
    /// Lines written in each group.
    pub writes: usize,
    /// Whether the stores bypass the caches.
    pub nt: bool,
    /// The instructions it uses: `avx512`, `avx2`, `neon`, `rvv`, `scalar` or `portable`.
    pub isa: &'static str,
    /// Goes `passes` times through `turns` turns of [`MIX_GROUPS`] groups, front to back in both streams.
    ///
    /// # Safety
    ///
    /// The CPU has `isa`; `src` is valid for reads of `turns * MIX_GROUPS * reads` lines, `dst` for writes of as many times
    /// `writes`; they do not overlap and are aligned to a line. The pointer that the mix does not use may be anything.
    pub run: unsafe fn(dst: *mut u8, src: *const u8, turns: usize, passes: u64),
}
