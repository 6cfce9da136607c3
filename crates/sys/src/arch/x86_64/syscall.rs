//! System calls: the `syscall` instruction.
//!
//! # Safety
//!
//! Each call does what its caller asks of the kernel.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::syscall::define_syscalls;
use core::arch::asm;

/// The instruction itself changes rcx and r11.
macro_rules! call {
    ($nr:ident, $result:ident, $($arg:ident: $register:tt),*) => {
        asm!("syscall", inlateout("rax") $nr => $result, $(in($register) $arg,)*
            lateout("rcx") _, lateout("r11") _, options(nostack))
    };
}

define_syscalls! {
    call;
    syscall0();
    syscall1(a0: "rdi");
    syscall2(a0: "rdi", a1: "rsi");
    syscall3(a0: "rdi", a1: "rsi", a2: "rdx");
    syscall4(a0: "rdi", a1: "rsi", a2: "rdx", a3: "r10");
    syscall5(a0: "rdi", a1: "rsi", a2: "rdx", a3: "r10", a4: "r8");
    syscall6(a0: "rdi", a1: "rsi", a2: "rdx", a3: "r10", a4: "r8", a5: "r9");
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
    // SAFETY: the caller vouches for the call. The parent continues after it with rcx and r11
    // changed; the child never returns from this block.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f",
            "xor ebp, ebp", "mov rdi, r12", "call r13", "mov edi, eax", "mov eax, {exit}", "syscall", "ud2",
            "2:",
            exit = const libc::SYS_exit, inlateout("rax") libc::SYS_clone3 as usize => result,
            in("rdi") args, in("rsi") size, in("r12") argument, in("r13") body,
            lateout("rcx") _, lateout("r11") _);
    }
    result
}
