//! Arithmetic on vectors as heavy as it gets, for what it does to the core's clock.

pub use super::native::wide::vector_work;

/// Fused multiply-adds of vectors in one turn.
pub const WIDE_UNROLL: u64 = 32;

/// What each adds to its lanes: a power of two, so that the sum is exact however many there are.
pub const WIDE_STEP: f64 = 0.5;

/// So many turns of the vector unit's work; returns the sum of the first lanes of its accumulators, which is
/// `turns * WIDE_UNROLL * WIDE_STEP`.
pub type Work = fn(u64) -> f64;
