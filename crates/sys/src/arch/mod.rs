//! All the assembly of the project: counters, raw system calls and the kernels, with one interface
//! on every CPU. Code that is written at run time is in `code.rs`.
//!
//! A *kernel* is the inner loop that a benchmark measures. It is a whole loop in assembly with a
//! fixed number of instructions, so no compiler can change what is measured. Kernels do not read a
//! clock, choose a size or know a benchmark.
//!
//! Each subject has one file here, one of the same name for each architecture, and one in
//! [`portable`]. The file here says what the kernels do and holds the scaffold that the
//! architectures share (a `define_…!` macro: signatures, early returns, lists). The file of an
//! architecture holds the instructions. `portable` is the reference in plain Rust.
//!
//! `tests/kernels*.rs` compares every kernel with [`portable`], and `tests/disassembly.rs` looks
//! for the instruction that it claims (`docs/methods/processor.md#kernel-checks`).
//!
//! A new CPU works without a folder: everything is then [`portable`]. Its folder costs one `mod`
//! line and one name in the `not(any(..))` below.

pub mod access;
pub mod atomic;
mod barrier;
pub mod branch;
mod call;
mod chain;
mod chase;
mod counter;
mod doubles;
pub mod flush;
pub mod hammer;
mod issue;
mod mix;
pub mod operation;
pub mod parallel_chase;
pub mod portable;
pub mod split;
pub mod store_forward;
mod stream;
mod syscall;
pub mod wide;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
mod native;
#[cfg(target_arch = "riscv64")]
#[path = "riscv64/mod.rs"]
mod native;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
mod native;
#[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")))]
use portable as native;

pub use barrier::call_through_barrier;
pub use call::*;
pub use chain::*;
pub use chase::*;
pub use counter::*;
pub use doubles::*;
pub use issue::*;
pub use mix::*;
pub use stream::*;
pub use syscall::*;
