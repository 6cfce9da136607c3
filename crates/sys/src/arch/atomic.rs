//! Instructions that are measured one by one and are no arithmetic: atomic operations on a line, fences, hints, counters.
//!
//! Kernels are data, as those of [`operation`](super::operation). Every one counts what it did, in the word or in what it returns, so that
//! [`portable::atomic`](super::portable::atomic) can say what must be there afterwards. All atomic operations order everything
//! (sequentially consistent), because those of x86-64 cannot do less.

/// A loop of such instructions.
#[derive(Debug)]
pub struct AtomicKernel {
    /// `cas`, `add`, `swap`, `fence`...
    pub name: &'static str,
    /// What it needs of the CPU, in the architecture's word, `base`, or `portable`.
    pub isa: &'static str,
    /// The instruction that does it, as a disassembler prints it.
    pub instruction: &'static str,
    /// How many there are in a turn.
    pub ops: u64,
    /// Makes `turns` turns (at least one) on the word, and returns the last value of its register.
    ///
    /// # Safety
    ///
    /// The CPU has what `isa` names; the word is valid and aligned to 8 bytes, and nobody else uses it.
    pub run: unsafe fn(word: *mut u64, turns: u64) -> u64,
}

/// Operations in a turn of most kernels: enough that counting disappears.
pub const ATOMIC_UNROLL: u64 = 32;

pub use super::native::atomic::{ATOMIC_KERNELS, atomic_isa_here};
