//! Here the compiler's loops are used: nothing is written by hand yet.

pub use crate::arch::portable::mixes::mix_kernels;
