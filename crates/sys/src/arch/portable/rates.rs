//! Declared rates: those of the system's clock, which counts nanoseconds.

use crate::arch::rates::Declared;

/// What the CPU declares of the core's clock: not known.
pub fn declared_core() -> Vec<Declared> {
    Vec::new()
}

/// What is declared of the counter, which is the system's clock here.
pub fn declared_counter() -> Vec<Declared> {
    vec![("nanoseconds", 1e9)]
}
