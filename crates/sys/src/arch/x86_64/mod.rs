//! x86-64: the TSC, the `syscall` instruction, and kernels for SSE2, AVX2 and AVX-512. What the CPU
//! supports is found when the program runs; the build needs no target-cpu flag.

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
pub(super) mod issue;
pub(super) mod mix;
pub(super) mod operation;
pub(super) mod parallel_chase;
pub(super) mod split;
pub(super) mod store_forward;
pub(super) mod stream;
pub(super) mod syscall;
pub(super) mod wide;
