//! RISC-V, 64 bits: `rdtime`, the `ecall` instruction, and kernels in the base instruction set; V
//! 1.0, Zicbom and Zicboz where the kernel reports them.
//!
//! Not here: vectors before 1.0 (some boards have them; the kernel does not report them as V), and
//! the rotation of Zbb.

pub(super) mod access;
pub(super) mod atomic;
pub(super) mod barrier;
pub(super) mod branch;
pub(super) mod call;
pub(super) mod chain;
pub(super) mod chase;
pub(super) mod counter;
pub(super) mod doubles;
pub(super) mod flush;
pub(super) mod hammer;
mod hwprobe;
pub(super) mod issue;
pub(super) mod mix;
pub(super) mod operation;
pub(super) mod parallel_chase;
pub(super) mod split;
pub(super) mod store_forward;
pub(super) mod stream;
pub(super) mod syscall;
mod vectors;
pub(super) mod wide;
