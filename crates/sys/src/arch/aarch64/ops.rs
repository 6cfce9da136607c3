pub use super::super::portable::ops::{OP_KERNELS, op_isa_here};
