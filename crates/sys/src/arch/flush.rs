//! Instructions that manage cache lines: write them back, evict them, move them outwards.
//!
//! A kernel does so to batches of lines and waits after each batch until it is done
//! (`docs/methods/memory.md#cache-line-flush`).

pub use super::native::flush::{flush_kernels, flush_missing};

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Written back if modified, and dropped from every cache.
    Evict,
    /// Written back if modified, and kept (a core may still drop it).
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
    /// Manages `batches` times `batch` lines, `stride` bytes apart, from `start` up, and waits
    /// after each batch until it is done.
    ///
    /// # Safety
    ///
    /// The CPU has the instruction, and every line is in memory that is mapped and writable.
    pub run: unsafe fn(start: *const u8, stride: usize, batch: u64, batches: u64),
    /// `rounds` times: loads from `a` and from `b`, manages both lines, and waits until it is done.
    ///
    /// # Safety
    ///
    /// The CPU has the instruction, and `a` and `b` are valid for reads of 8 bytes in writable
    /// memory.
    pub pair: unsafe fn(a: *const u8, b: *const u8, rounds: u64),
}

/// Defines a module with a `KERNEL` for each instruction. The loops of an architecture are
/// `$batches!(instruction, start, stride, batch, batches)` and
/// `$pairs!(instruction, a, b, rounds)`.
macro_rules! define_flushes {
    ($batches:ident, $pairs:ident; $($module:ident $effect:ident $name:literal $instruction:literal;)*) => {
        $(mod $module {
            use super::*;

            pub(super) static KERNEL: FlushKernel =
                FlushKernel { name: $name, effect: Effect::$effect, run, pair };

            /// # Safety
            ///
            /// As [`FlushKernel::run`].
            #[inline(never)]
            unsafe fn run(start: *const u8, stride: usize, batch: u64, batches: u64) {
                if batch == 0 || batches == 0 {
                    return;
                }
                // SAFETY: the caller vouches for the lines; the loop declares its registers.
                unsafe { $batches!($instruction, start, stride, batch, batches) };
            }

            /// # Safety
            ///
            /// As [`FlushKernel::pair`].
            #[inline(never)]
            unsafe fn pair(a: *const u8, b: *const u8, rounds: u64) {
                if rounds == 0 {
                    return;
                }
                // SAFETY: the caller vouches for both lines; the loop declares its registers.
                unsafe { $pairs!($instruction, a, b, rounds) };
            }
        })*
    };
}
pub(in crate::arch) use define_flushes;
