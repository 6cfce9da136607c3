//! Safe interfaces to the CPU and the kernel.
//!
//! This is the one crate that knows architectures and operating systems. All assembly is in
//! [`arch`]; all `unsafe` code that talks to the kernel is in the small modules beside it, and
//! `grep -rn 'expect(unsafe_code' crates` lists both for an audit. The crate does not know what a
//! benchmark is, and nothing here prints, stores or computes a statistic.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("groma needs a 64-bit CPU: others have other system calls, and sizes that end at 4 GiB");

pub mod affinity;
pub mod arch;
pub mod atomic;
pub mod barrier;
pub mod chase;
pub mod clock;
pub mod clone;
#[cfg(test)]
mod closed_on_exec;
pub mod code;
pub mod container;
pub mod control_group;
pub mod counters;
pub mod cpu_list;
pub mod dirs;
pub mod disk;
pub mod doubles;
pub mod energy;
pub mod exec_evidence;
pub mod facts;
pub mod file_lock;
pub mod file_pages;
pub mod files;
pub mod filter;
pub mod flush;
pub mod fork;
pub mod futex_word;
pub mod guardian;
pub mod hammer;
pub mod idle_states;
pub mod interrupts;
pub mod io;
pub mod kernel_objects;
pub mod landlock;
pub mod leash;
pub mod libc_calls;
pub mod libc_memory;
pub mod libc_random;
pub mod load;
pub mod locks;
pub mod mapping;
pub mod messages;
pub mod mix;
pub mod mq;
pub mod mounts;
pub mod namespaces;
pub mod net;
pub mod netlink;
pub mod numa;
pub mod opened;
pub mod operation;
pub mod other_memory;
pub mod overlay;
pub mod pagemap;
pub mod pages;
pub mod parallel_chase;
pub mod probe;
pub mod process;
pub mod programs;
pub mod pthread;
pub mod random;
pub mod rates;
pub mod raw;
pub mod ready;
pub mod recording;
pub mod refused;
pub mod sched;
pub mod secret;
pub mod shared;
pub mod signals;
pub mod sigqueue;
pub mod sigsys;
pub mod sleep;
pub mod socket;
pub mod spawn;
pub mod splice;
pub mod split;
pub mod store_forward;
pub mod stream;
pub mod supervised;
pub mod sync;
pub mod sysv;
#[cfg(test)]
mod testing;
pub mod thread;
pub mod ticks;
pub mod tlb;
pub mod tmpfs;
pub mod topology;
pub mod trace;
pub mod trap;
mod tree;
pub mod unix;
pub mod uring;
pub mod userfault;
pub mod vdso;
pub mod watch;
