//! Several pointer chases at once: a turn takes a step on every chain, so up to that many loads can
//! be in flight (`docs/methods/memory.md#memory-level-parallelism`).

pub use super::native::parallel_chase::parallel_chase_kernels;

/// Steps of each chain in one turn of a kernel's loop.
pub const PARALLEL_CHASE_UNROLL: u64 = 16;

/// The numbers of chains that have a kernel.
pub const PARALLEL_CHASES: [usize; 16] = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64];

/// The most chains.
pub const MAX_PARALLEL_CHASES: usize = PARALLEL_CHASES[PARALLEL_CHASES.len() - 1];

/// A loop that follows several chains at once.
#[derive(Debug)]
pub struct ParallelChaseKernel {
    /// How many.
    pub chains: usize,
    /// Whether the addresses are in registers. Otherwise each step loads its address from an array
    /// and stores the next one to it: at least 5 cycles more than the load itself (store
    /// forwarding), and a store buffer for each chain. That is nothing where a load takes 50
    /// cycles, and too much where it takes 5 or 15.
    pub in_registers: bool,
    /// Takes `steps` steps, rounded down to a multiple of [`PARALLEL_CHASE_UNROLL`], on each of the
    /// chains whose current nodes are in `cursors`, and leaves the nodes that it reaches there.
    ///
    /// # Safety
    ///
    /// `cursors` holds `chains` pointers; each points to a pointer that points to a pointer and so
    /// on, `steps` times, each aligned and valid for reads, and none of them within `cursors`.
    pub run: unsafe fn(cursors: &mut [*const u8; MAX_PARALLEL_CHASES], steps: u64),
}

/// Defines the kernels: `$registers!(cursors, turns, index register, ...)` and
/// `$memory!(cursors, rows, N)` are the loops of an architecture.
macro_rules! define_parallel_chases {
    ($registers:ident, $memory:ident; $($chains:literal $name:ident: $($index:tt $register:tt),*;)*
     in memory: $($more:literal),*;) => {
        static KERNELS: [ParallelChaseKernel; 16] = [
            $(ParallelChaseKernel { chains: $chains, in_registers: true, run: $name },)*
            $(ParallelChaseKernel { chains: $more, in_registers: false, run: in_memory::<$more> },)*
        ];

        /// One kernel for each number of chains.
        pub fn parallel_chase_kernels() -> &'static [ParallelChaseKernel] {
            &KERNELS
        }

        $(
            /// # Safety
            ///
            /// As [`ParallelChaseKernel::run`].
            #[inline(never)]
            unsafe fn $name(cursors: &mut [*const u8; MAX_PARALLEL_CHASES], steps: u64) {
                let turns = steps / PARALLEL_CHASE_UNROLL;
                if turns == 0 {
                    return;
                }
                let mut c = *cursors;
                // SAFETY: the caller vouches for the chains; the loop declares its registers.
                unsafe { $registers!(c, turns, $($index $register),*) };
                *cursors = c;
            }
        )*

        /// Addresses in an array, two chains at a time.
        ///
        /// # Safety
        ///
        /// As [`ParallelChaseKernel::run`].
        #[inline(never)]
        unsafe fn in_memory<const N: usize>(cursors: &mut [*const u8; MAX_PARALLEL_CHASES], steps: u64) {
            const { assert!(N.is_multiple_of(2) && N <= MAX_PARALLEL_CHASES) };
            let rows = steps / PARALLEL_CHASE_UNROLL * PARALLEL_CHASE_UNROLL;
            if rows == 0 {
                return;
            }
            // SAFETY: the caller vouches for the chains; the array has room for the most chains;
            // the loop declares its registers.
            unsafe { $memory!(cursors, rows, N) };
        }
    };
}
pub(in crate::arch) use define_parallel_chases;
