//! Work on vectors: the same sum, by what the compiler makes of it.

use crate::arch::wide::{WIDE_STEP, WIDE_UNROLL, Work};
use core::hint::black_box;

/// The work of this name: none, since vectors of a known width are not to be had without assembly.
///
/// # Errors
///
/// Says so.
pub fn vector_work(name: &str) -> Result<[Work; 2], String> {
    Err(format!("no work on vectors ({name}) was written for this CPU"))
}

/// What every work returns.
pub fn reference(turns: u64) -> f64 {
    (0..turns * WIDE_UNROLL).fold(0.0, |sum, _| black_box(sum + WIDE_STEP))
}
