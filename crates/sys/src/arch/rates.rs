//! The rates that the CPU itself declares.

pub use super::native::rates::{declared_core, declared_counter};

/// A declared rate: where it is written, and hertz.
pub type Declared = (&'static str, f64);
