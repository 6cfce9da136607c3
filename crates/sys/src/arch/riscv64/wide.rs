//! Work on vectors: not written. Boards differ in the version of the vector extension.

use crate::arch::wide::Work;

/// The work of this name: none.
///
/// # Errors
///
/// Says so.
pub fn vector_work(name: &str) -> Result<[Work; 2], String> {
    Err(format!("no work on vectors ({name}) was written for this CPU"))
}
