//! System calls: the `svc` instruction.
//!
//! # Safety
//!
//! Each call does what its caller asks of the kernel.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::syscall::define_syscalls;
use core::arch::asm;

/// A call without arguments passes a zero, which the kernel ignores.
macro_rules! call {
    ($nr:ident, $result:ident, ) => {
        asm!("svc 0", in("x8") $nr, inlateout("x0") 0usize => $result, options(nostack))
    };
    ($nr:ident, $result:ident, $a0:ident: $first:tt $(, $arg:ident: $register:tt)*) => {
        asm!("svc 0", in("x8") $nr, inlateout($first) $a0 => $result, $(in($register) $arg,)* options(nostack))
    };
}

define_syscalls! {
    call;
    syscall0();
    syscall1(a0: "x0");
    syscall2(a0: "x0", a1: "x1");
    syscall3(a0: "x0", a1: "x1", a2: "x2");
    syscall4(a0: "x0", a1: "x1", a2: "x2", a3: "x3");
    syscall5(a0: "x0", a1: "x1", a2: "x2", a3: "x3", a4: "x4");
    syscall6(a0: "x0", a1: "x1", a2: "x2", a3: "x3", a4: "x4", a5: "x5");
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
    // SAFETY: the caller vouches for the call. The kernel keeps every register but x0; the
    // child never returns from this block.
    unsafe {
        asm!("svc 0", "cbnz x0, 2f",
            "mov x29, xzr", "mov x0, x20", "blr x21", "mov x8, #{exit}", "svc 0", "brk #1",
            "2:",
            exit = const libc::SYS_exit, in("x8") libc::SYS_clone3 as usize, inlateout("x0") args => result,
            in("x1") size, in("x20") argument, in("x21") body);
    }
    result
}
