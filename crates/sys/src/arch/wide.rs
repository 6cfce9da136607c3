//! Vector arithmetic in parallel with a dependent chain of scalar additions: the chain gives the
//! clock at which the core runs vector code.
//!
//! One turn is [`WIDE_UNROLL`] fused multiply-adds
//! (`docs/methods/processor.md#clock-under-vectors`).

pub use super::native::wide::vector_work;

/// Fused multiply-adds of vectors in one turn.
pub const WIDE_UNROLL: u64 = 32;

/// What each adds to its lanes: a power of two, so that the sum is exact.
pub const WIDE_STEP: f64 = 0.5;

/// Dependent scalar additions behind each vector operation, for the two loops of a kind. Enough
/// that the chain takes longer than the vectors, even on a unit that starts one operation a cycle,
/// so that one loop takes twice as long as the other.
pub const WIDE_ADDITIONS: [u64; 2] = [2, 4];

/// Runs that many turns; returns the sum of the first lanes of the accumulators, which is
/// `turns * WIDE_UNROLL * WIDE_STEP`.
pub type Work = fn(u64) -> f64;
