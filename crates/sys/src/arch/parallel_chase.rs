//! Several pointer chases at once: each turn takes one step on every chain, so that as many loads as there are chains can
//! be under way.

pub use super::native::parallel_chase::parallel_chase_kernels;

/// Steps of each chain in one turn of a kernel's loop.
pub const PARALLEL_CHASE_UNROLL: u64 = 16;

/// The numbers of chains that there is a kernel for.
pub const PARALLEL_CHASES: [usize; 16] = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64];

/// The most chains.
pub const PARALLEL_CHASES_MOST: usize = PARALLEL_CHASES[PARALLEL_CHASES.len() - 1];

/// A loop that follows several chains at once.
#[derive(Debug)]
pub struct ParallelChaseKernel {
    /// How many.
    pub chains: usize,
    /// Whether their addresses are in registers. Otherwise each step loads its address from an array and stores the next
    /// into it: 5 cycles and more beside the load itself (store forwarding), and a store buffer for each chain. That is
    /// nothing where a load takes 50 cycles, and too much where it takes 5 or 15.
    pub in_registers: bool,
    /// Takes `steps` steps, rounded down to a multiple of [`PARALLEL_CHASE_UNROLL`], on each of the chains whose present nodes are in
    /// `cursors`, and leaves there where it came to.
    ///
    /// # Safety
    ///
    /// `cursors` holds `chains` pointers; each points to a pointer that points to a pointer and so on, `steps` times, each
    /// aligned and valid to read, and none of them is among `cursors`.
    pub run: unsafe fn(cursors: &mut [*const u8; PARALLEL_CHASES_MOST], steps: u64),
}
