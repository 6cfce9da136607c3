//! Dependent accesses of several kinds: pointer chases that also do something to each line.
//!
//! Each step takes its address from the value that the step before read. A node starts with the
//! address of the next; [`ACCESS_AHEAD`] and [`ACCESS_COUNT`] say what else it holds
//! (`docs/methods/memory.md#access-kinds`).

pub use super::native::access::access_kernels;

/// Steps in one turn of a kernel's loop.
pub const ACCESS_UNROLL: u64 = 16;

/// Offset in a node of the address of a node further on, for [`Access::Prefetched`].
pub const ACCESS_AHEAD: usize = 8;

/// Offset in a node of the word that [`Access::Dirty`] increments.
pub const ACCESS_COUNT: usize = 16;
const _: () = assert!(ACCESS_AHEAD == 8 && ACCESS_COUNT == 16, "spelled out in the instructions");

/// Alignment of a node: the widest load of a kernel here is 16 bytes.
pub const ACCESS_ALIGN: usize = 16;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Loads the next address.
    Read,
    /// Increments a word of the line and loads the next address, which does not wait for that.
    Dirty,
    /// Adds 0 to the next address with one atomic instruction and follows what that returns: the
    /// core must own the line before the next step begins, and the chain does not change. (An
    /// exchange would shift every address by one node.)
    Own,
    /// Prefetches the line of a node further on, whose address is in this node, and loads the next
    /// address.
    Prefetched,
    /// Loads the next address with a non-temporal instruction.
    NonTemporal,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 5] = [Access::Read, Access::Dirty, Access::Own, Access::Prefetched, Access::NonTemporal];

    /// The word used in names and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Dirty => "dirty",
            Access::Own => "own",
            Access::Prefetched => "prefetched",
            Access::NonTemporal => "nt_load",
        }
    }
}

/// A loop of dependent accesses.
#[derive(Debug)]
pub struct AccessKernel {
    /// What a step does.
    pub kind: Access,
    /// The instruction that makes it this kind, as a disassembler prints it; `portable` where the
    /// compiler chooses.
    pub instruction: &'static str,
    /// Takes `steps` steps from `start`, rounded down to a multiple of [`ACCESS_UNROLL`], and
    /// returns the node it reaches.
    ///
    /// # Safety
    ///
    /// `start` points to a node that points to a node and so on, `steps` times. Each is aligned to
    /// [`ACCESS_ALIGN`] and valid for reads and writes of 24 bytes that nothing else uses; for
    /// [`Access::Prefetched`] it holds any address at [`ACCESS_AHEAD`].
    pub run: unsafe fn(start: *mut u8, steps: u64) -> *mut u8,
}

/// Defines `ACCESSES`, the kernels of an architecture: `$turns!(here, turns, [step])` is its loop,
/// and each line names the kind, the instruction that makes it this kind, and the step.
macro_rules! define_accesses {
    ($turns:ident; $($(#[$doc:meta])* $kind:ident $instruction:literal $name:ident: $($line:literal),*;)*) => {
        static ACCESSES: &[AccessKernel] =
            &[$(AccessKernel { kind: Access::$kind, instruction: $instruction, run: $name }),*];

        $(
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// As [`AccessKernel::run`].
            #[inline(never)]
            unsafe fn $name(start: *mut u8, steps: u64) -> *mut u8 {
                let mut here = start;
                let turns = steps / $crate::arch::access::ACCESS_UNROLL;
                if turns == 0 {
                    return here;
                }
                // SAFETY: the caller vouches for the nodes; the loop declares its registers.
                unsafe { $turns!(here, turns, [$($line),*]) };
                here
            }
        )*
    };
}
pub(in crate::arch) use define_accesses;
