//! Vector arithmetic: the same sum, however the compiler computes it.

use crate::arch::wide::{WIDE_STEP, WIDE_UNROLL, Work};
use core::hint::black_box;

/// None: plain Rust has no vectors of a given width.
///
/// # Errors
///
/// Always: says that there is none.
pub fn vector_work(name: &str) -> Result<[Work; 2], String> {
    Err(format!("no work on vectors ({name}) was written for this CPU"))
}

/// What every loop returns.
pub fn reference(turns: u64) -> f64 {
    (0..turns * WIDE_UNROLL).fold(0.0, |sum, _| black_box(sum + WIDE_STEP))
}
