//! System calls by number: the instruction and nothing else, inlined where they are made.
//!
//! The numbers and the way errors come back belong to the operating system as much as to the CPU:
//! on anything but Linux these are [`portable`](super::portable).

#[cfg(target_os = "linux")]
pub use super::native::syscall::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};
#[cfg(not(target_os = "linux"))]
pub use super::portable::syscall::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};

/// Defines `syscall0` to `syscall6`: `$call!(number, result, argument: register, ...)` is the call
/// of an architecture.
macro_rules! define_syscalls {
    ($call:ident; $($name:ident($($arg:ident: $register:tt),*);)*) => {$(
        /// A system call by number. Errors come back as `-errno`.
        ///
        /// # Safety
        ///
        /// The arguments are what the call of that number expects, and the caller allows what the
        /// call does to this process's memory, descriptors and signals.
        #[cfg(target_os = "linux")]
        #[inline(always)]
        pub unsafe fn $name(nr: usize, $($arg: usize),*) -> isize {
            let result: isize;
            // SAFETY: the caller vouches for number and arguments; the kernel keeps every register
            // that is not declared.
            unsafe { $call!(nr, result, $($arg: $register),*) };
            result
        }
    )*};
}
pub(in crate::arch) use define_syscalls;
