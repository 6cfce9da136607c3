//! System calls: the `ecall` instruction.
//!
//! # Safety
//!
//! Each call does what its caller asks of the kernel.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::syscall::define_syscalls;
use core::arch::asm;

/// The kernel does not keep the vector unit's registers, which the compiler does not use and a
/// kernel sets up itself.
macro_rules! call {
    ($nr:ident, $result:ident, ) => {
        asm!("ecall", in("a7") $nr, inlateout("a0") 0usize => $result, options(nostack))
    };
    ($nr:ident, $result:ident, $a0:ident: $first:tt $(, $arg:ident: $register:tt)*) => {
        asm!("ecall", in("a7") $nr, inlateout($first) $a0 => $result, $(in($register) $arg,)* options(nostack))
    };
}

define_syscalls! {
    call;
    syscall0();
    syscall1(a0: "a0");
    syscall2(a0: "a0", a1: "a1");
    syscall3(a0: "a0", a1: "a1", a2: "a2");
    syscall4(a0: "a0", a1: "a1", a2: "a2", a3: "a3");
    syscall5(a0: "a0", a1: "a1", a2: "a2", a3: "a3", a4: "a4");
    syscall6(a0: "a0", a1: "a1", a2: "a2", a3: "a3", a4: "a4", a5: "a5");
}

/// `clone3` whose child calls `body(argument)` on the stack that `args` names and exits its thread
/// with the result as the code.
///
/// # Safety
///
/// `args` is the address of the kernel's `struct clone_args` of that size, with everything it
/// points to. A child that shares memory has a stack of its own, aligned to 16 bytes; stack, body
/// and argument outlive the child.
#[cfg(target_os = "linux")]
#[inline(never)]
pub unsafe fn clone3_call(args: usize, size: usize, body: extern "C" fn(usize) -> i32, argument: usize) -> isize {
    let result: isize;
    // SAFETY: the caller vouches for the call. The kernel keeps every register but a0; the
    // child never returns from this block.
    unsafe {
        asm!("ecall", "bnez a0, 2f",
            "li s0, 0", "mv a0, s2", "jalr s3", "li a7, {exit}", "ecall", "ebreak",
            "2:",
            exit = const libc::SYS_exit, in("a7") libc::SYS_clone3 as usize, inlateout("a0") args => result,
            in("a1") size, in("s2") argument, in("s3") body);
    }
    result
}
