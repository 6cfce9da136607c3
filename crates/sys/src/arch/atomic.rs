//! Single instructions that are not arithmetic: atomic operations on a line, fences, hints,
//! counters.
//!
//! A kernel repeats one instruction and counts its effect, in the word or in what it returns, so
//! [`portable::atomic`](super::portable::atomic) can say what both must be afterwards. All atomic
//! operations are sequentially consistent, because those of x86-64 cannot be weaker
//! (`docs/methods/processor.md#atomics-and-fences`).

pub use super::native::atomic::{ATOMIC_KERNELS, atomic_isa_here};

/// A loop of such instructions.
#[derive(Debug)]
pub struct AtomicKernel {
    /// `cas`, `add`, `swap`, `fence`...
    pub name: &'static str,
    /// The extension it needs, as the architecture names it, `base`, or `portable`.
    pub isa: &'static str,
    /// The instruction, as a disassembler prints it.
    pub instruction: &'static str,
    /// Instructions in a turn.
    pub ops: u64,
    /// Runs `turns` turns (at least one) on the word, and returns the last value of its register.
    ///
    /// # Safety
    ///
    /// The CPU has `isa`; the word is valid, aligned to 8 bytes, and not used by anyone else.
    pub run: unsafe fn(word: *mut u64, turns: u64) -> u64,
}

/// Operations in a turn of most kernels: enough to make the cost of the loop negligible.
pub const ATOMIC_UNROLL: u64 = 32;

/// Defines `ATOMIC_KERNELS`: `$turns!(word, turns, register, ops, [step])` is the loop of an
/// architecture, whose register starts at 1.
macro_rules! define_atomics {
    ($turns:ident; $($name:literal $isa:literal $instruction:literal $ops:expr, [$($line:literal),*];)*) => {
        /// Every kernel of this architecture; of one name the better ones first.
        pub static ATOMIC_KERNELS: &[AtomicKernel] = &[$({
            unsafe fn run(word: *mut u64, turns: u64) -> u64 {
                let mut register = 1u64;
                // SAFETY: the caller vouches for the word; the loop declares its registers.
                unsafe { $turns!(word, turns, register, $ops, [$($line),*]) };
                register
            }
            AtomicKernel { name: $name, isa: $isa, instruction: $instruction, ops: $ops, run }
        }),*];
    };
}
pub(in crate::arch) use define_atomics;
