//! Arithmetic on vectors beside a chain of additions of registers: the chain tells the clock at
//! which the core works on vectors.

pub use super::native::wide::vector_work;

/// Fused multiply-adds of vectors in one turn.
pub const WIDE_UNROLL: u64 = 32;

/// What each adds to its lanes: a power of two, so that the sum is exact however many there are.
pub const WIDE_STEP: f64 = 0.5;

/// Dependent additions of registers behind each operation on vectors, in the two works of a kind.
/// Enough that the chain takes longer than the vectors, even of a unit that begins one operation in
/// a cycle: the two works then take twice as long one as the other.
pub const WIDE_ADDITIONS: [u64; 2] = [2, 4];

/// So many turns of the vector unit's work; returns the sum of the first lanes of its accumulators,
/// which is `turns * WIDE_UNROLL * WIDE_STEP`.
pub type Work = fn(u64) -> f64;
