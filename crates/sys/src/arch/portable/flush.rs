//! There is no portable way to manage cache lines.

use crate::arch::flush::FlushKernel;

/// None.
pub fn flush_kernels() -> Vec<&'static FlushKernel> {
    Vec::new()
}

/// Why there is no kernel of that name.
pub fn flush_missing(name: &str) -> String {
    format!("no {name} kernel was written for this CPU")
}
