//! The cycle or tick counter that programs can read without a system call, and the clock rates that
//! the CPU itself declares.

pub use super::native::counter::{
    COUNTER_NAME, counter_start, counter_stop, counter_usable, declared_core, declared_counter,
};

/// A declared rate: its source, and hertz.
pub type Declared = (&'static str, f64);
