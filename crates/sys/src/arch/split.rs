//! Loads and stores at any address, four in turn, independent of each other: what the kernels of this subject do.

pub use super::native::split::{split_loads, split_stores, unaligned_usable};

/// Loads or stores in one turn.
pub const SPLITS: u64 = 64;
