//! Whatever must be asked of the CPU or of the kernel, behind safe faces.
//!
//! This is the one room that knows architectures and operating systems: all assembly is in [`arch`], all `unsafe` that
//! talks to the kernel is in the small modules beside it, and `grep -rn 'expect(unsafe_code' crates` lists the audit. It
//! does not know what a benchmark is, and nothing here prints, stores or computes a statistic.

pub mod affinity;
pub mod arch;
pub mod chain;
pub mod clock;
pub mod clone;
pub mod counters;
pub mod disk;
pub mod facts;
pub mod fault;
pub mod file_lock;
pub mod file_pages;
pub mod files;
pub mod filter;
pub mod fork;
pub mod guardian;
pub mod handover;
pub mod interrupts;
pub mod io;
pub mod kernel_objects;
pub mod libc_calls;
pub mod mapping;
pub mod mq;
pub mod net;
pub mod numa;
pub mod pages;
pub mod place;
pub mod process;
pub mod pthread;
pub mod queued;
pub mod raw;
pub mod ready;
pub mod sched;
pub mod shared;
pub mod signals;
pub mod sleep;
pub mod socket;
pub mod spawn;
pub mod splice;
pub mod stream;
pub mod sync;
pub mod sysv;
pub mod thread;
pub mod tmpfs;
pub mod topology;
pub mod trap;
pub mod unix;
pub mod uring;
pub mod vdso;
pub mod witness;
