//! Instructions that manage cache lines: write them back, drop them, move them outwards.

pub use super::native::flush::{flush_kernels, flush_missing};

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Written back if it was modified, and dropped from every cache.
    Evict,
    /// Written back if it was modified, and kept (a core may drop it all the same).
    Clean,
    /// Moved towards the shared cache, as a hint.
    Demote,
}

/// Cache-line management with one instruction.
#[derive(Debug)]
pub struct FlushKernel {
    /// The instruction: `clflush`, `dc_civac`, `cbo_flush`.
    pub name: &'static str,
    /// What it does to a line.
    pub effect: Effect,
    /// Does it to `batches` times `batch` lines, `stride` bytes apart, from `start` on, and waits after every batch until it
    /// is done.
    ///
    /// # Safety
    ///
    /// The CPU has the instruction, and every line lies in memory that is mapped and may be written.
    pub run: unsafe fn(start: *const u8, stride: usize, batch: u64, batches: u64),
    /// `rounds` times: loads from `a` and from `b`, does it to both lines, and waits until it is done.
    ///
    /// # Safety
    ///
    /// The CPU has the instruction, and `a` and `b` are valid for reads of 8 bytes in memory that may be written.
    pub pair: unsafe fn(a: *const u8, b: *const u8, rounds: u64),
}
