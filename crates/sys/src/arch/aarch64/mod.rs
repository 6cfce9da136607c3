//! AArch64: the generic timer, the `svc` instruction, and kernels for Advanced SIMD (part of every
//! AArch64 system), `dc zva` and, where the system reports it, SVE.
//!
//! Not here: FEAT_MOPS, SME.

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
