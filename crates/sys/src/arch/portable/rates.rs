//! Declared rates: those of the system's clock, which counts nanoseconds.

use crate::arch::rates::Declared;

/// The declared clock of the core: unknown.
pub fn declared_core() -> Vec<Declared> {
    Vec::new()
}

/// The declared rate of the counter, which here is the system's clock.
pub fn declared_counter() -> Vec<Declared> {
    vec![("nanoseconds", 1e9)]
}
