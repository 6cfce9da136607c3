//! A block of independent operations that take a cycle each: how many a core begins in a cycle is
//! bound by its front end and its width, which the hardware threads of a core share.
//!
//! A thread that has the core to itself runs the block at the core's best rate, regardless of what
//! it did before; beside a busy sibling thread it reaches only a part of that. A chain of dependent
//! additions ([`crate::arch::add_chain`]) takes the same time in both cases
//! (`docs/methods/neighbour.md#probe`).

pub use super::native::issue::issue_mixed;

/// Operations in one turn of the block's loop, beside its counter and branch.
pub const ISSUE_UNROLL: u64 = 32;

/// What every move writes and every load finds.
pub const ISSUE_VALUE: u64 = 7;
