//! Vector arithmetic: not written. Boards differ in the version of the vector extension.

use crate::arch::wide::Work;

/// None.
///
/// # Errors
///
/// Always: says that there is none.
pub fn vector_work(name: &str) -> Result<[Work; 2], String> {
    Err(format!("no work on vectors ({name}) was written for this CPU"))
}
