//! Dependent accesses of several kinds: loops in which each step's address is what the step before read, and which do
//! something to the line besides.
//!
//! A node of such a chain begins with the address of the next; [`ACCESS_AHEAD`] and [`ACCESS_COUNT`] say what else is in it.

pub use super::native::access::access_kernels;

/// Steps in one turn of a kernel's loop.
pub const ACCESS_UNROLL: u64 = 16;

/// Where in a node the address of a node further on is, for [`Access::Prefetched`].
pub const ACCESS_AHEAD: usize = 8;

/// Where in a node the word is that [`Access::Dirty`] increments.
pub const ACCESS_COUNT: usize = 16;

/// What a node must be aligned to: the widest load of a kernel here is 16 bytes.
pub const ACCESS_ALIGN: usize = 16;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Loads the next address.
    Read,
    /// Increments a word of the line, and loads the next address, which does not wait for that.
    Dirty,
    /// Adds 0 to the next address with one atomic instruction and goes on with what it returned: the line has to be the
    /// core's own before the next step begins, and the chain stays as it is. (An exchange would move every address on by a
    /// node.)
    Own,
    /// Prefetches the line of a node further on, whose address is in this one, and loads the next address.
    Prefetched,
    /// Loads the next address with an instruction that says it will not be needed again.
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
    /// The instruction that makes it this kind, as a disassembler prints it; `portable` where a compiler chose.
    pub instruction: &'static str,
    /// Goes `steps` nodes on from `start`, rounded down to a multiple of [`ACCESS_UNROLL`], and returns the node it came to.
    ///
    /// # Safety
    ///
    /// `start` points to a node that points to a node and so on, `steps` times, each aligned to [`ACCESS_ALIGN`] and valid
    /// for reads and writes of 24 bytes that nobody else uses; for [`Access::Prefetched`] with any address at
    /// [`ACCESS_AHEAD`].
    pub run: unsafe fn(start: *mut u8, steps: u64) -> *mut u8,
}
