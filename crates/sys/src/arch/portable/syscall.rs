//! System calls through the C library.
//!
//! # Safety
//!
//! Each call does what its caller asks of the kernel.
#![expect(unsafe_code, reason = "calls the C library")]

macro_rules! syscalls {
    ($($name:ident($($arg:ident),*);)*) => {$(
        /// A system call by number through the C library; an error comes back as `-errno`, as the
        /// kernel returns it.
        ///
        /// # Safety
        ///
        /// The arguments are what the call of that number expects, and the caller allows what the
        /// call does to this process's memory, descriptors and signals.
        #[inline]
        pub unsafe fn $name(nr: usize, $($arg: usize),*) -> isize {
            // SAFETY: the caller vouches for number and arguments.
            let result = unsafe { libc::syscall(nr as _, $($arg),*) };
            if result != -1 {
                return result as isize;
            }
            -std::io::Error::last_os_error().raw_os_error().map_or(1, |errno| errno as isize)
        }
    )*};
}

syscalls! {
    syscall0();
    syscall1(a0);
    syscall2(a0, a1);
    syscall3(a0, a1, a2);
    syscall4(a0, a1, a2, a3);
    syscall5(a0, a1, a2, a3, a4);
    syscall6(a0, a1, a2, a3, a4, a5);
}

/// `clone3` with a body for the child: impossible without assembly, so always `-ENOSYS`.
///
/// # Safety
///
/// None here; the native ones require much.
pub unsafe fn clone3_call(_: usize, _: usize, _: extern "C" fn(usize) -> i32, _: usize) -> isize {
    -(libc::ENOSYS as isize)
}
