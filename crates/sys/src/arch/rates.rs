//! Clock rates that the CPU itself declares.

pub use super::native::rates::{declared_core, declared_counter};

/// A declared rate: its source, and hertz.
pub type Declared = (&'static str, f64);
