//! The cycle or tick counter that programs can read without a system call.

pub use super::native::counter::{COUNTER_NAME, counter_start, counter_stop, counter_usable};
