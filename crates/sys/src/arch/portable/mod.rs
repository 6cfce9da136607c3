//! The reference: the interface of [`super`] in plain Rust, for any CPU that has no folder of its
//! own, and always compiled, because every native kernel is compared with it.
//!
//! The *results* are the same everywhere. The *times* mean less, and each item says why: the
//! compiler chooses the instructions, and values are hidden from it through memory.

pub mod access;
pub mod atomic;
pub mod barrier;
pub mod branch;
pub mod call;
pub mod chain;
pub mod chase;
pub mod counter;
pub mod doubles;
pub mod flush;
pub mod hammer;
pub mod issue;
pub mod mix;
pub mod operation;
pub mod parallel_chase;
pub mod split;
pub mod store_forward;
pub mod stream;
pub mod syscall;
pub mod wide;

pub use call::calls;
pub use chain::{ADD_TAKES_ONE_CYCLE, add_chain, mul_chain, rotate_chain};
pub use chase::chase;
pub use counter::{COUNTER_NAME, counter_start, counter_stop, counter_usable};
pub use issue::issue_mixed;
pub use syscall::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};
