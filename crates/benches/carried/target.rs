//! The program that `proc.exec`, `proc.spawn` and `proc.shell` execute. It is no part of this
//! crate: `build.rs` compiles this one file up to four times, and the results are carried inside
//! the program.
//!
//! All do the same thing: write one byte to the descriptor whose number is the first argument, and
//! leave with code 42; or with 43 when the byte could not be written, so that a child without a
//! witness is never taken for a good one.
//!
//! - `--cfg bare`: no libc, no start-up code, a file below 1 KiB: what the kernel alone costs.
//! - otherwise the same through libc, from `main` to `exit`, linked statically or dynamically: what
//!   a program costs.
//! - `--cfg many`: the dynamic one with libraries (`library.rs`) that announce themselves; all good
//!   only if each one has.
//!
//! # Safety
//!
//! The kernel (or libc) hands over an argument vector of `argc` NUL-terminated strings. `_start` is
//! entered with the stack pointer at `argc`, as every Linux ABI says; it passes that address on and
//! never returns.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "a program without a standard library")]

/// What it leaves with when all is well: neither 0 nor 1, nor what shells and failed execs say
/// (126, 127).
const GOOD: i32 = 42;
/// What it leaves with when the byte was not written.
const UNHEARD: i32 = 43;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The number at `digits`, which end with a NUL; nonsense gives a descriptor that is not open.
unsafe fn number(mut digits: *const u8) -> i32 {
    let mut n = 0i32;
    // SAFETY: the caller passes a NUL-terminated string.
    unsafe {
        while *digits != 0 {
            n = n.wrapping_mul(10).wrapping_add(i32::from(*digits) - i32::from(b'0'));
            digits = digits.add(1);
        }
    }
    n
}

#[cfg(bare)]
mod bare {
    use super::{GOOD, UNHEARD, number};
    use core::arch::{asm, naked_asm};

    #[cfg(target_arch = "x86_64")]
    const WRITE: usize = 1;
    #[cfg(target_arch = "x86_64")]
    const EXIT_GROUP: usize = 231;
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
    const WRITE: usize = 64;
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
    const EXIT_GROUP: usize = 94;

    #[inline(always)]
    unsafe fn syscall(nr: usize, a0: usize, a1: usize, a2: usize) -> isize {
        let result: isize;
        // SAFETY: the caller vouches for number and arguments; the clobbers are those of each
        // kernel's ABI.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!("syscall", inlateout("rax") nr => result, in("rdi") a0, in("rsi") a1, in("rdx") a2,
                lateout("rcx") _, lateout("r11") _, options(nostack));
            #[cfg(target_arch = "aarch64")]
            asm!("svc 0", in("x8") nr, inlateout("x0") a0 => result, in("x1") a1, in("x2") a2, options(nostack));
            #[cfg(target_arch = "riscv64")]
            asm!("ecall", in("a7") nr, inlateout("a0") a0 => result, in("a1") a1, in("a2") a2, options(nostack));
        }
        result
    }

    #[unsafe(no_mangle)]
    #[unsafe(naked)]
    unsafe extern "C" fn _start() -> ! {
        #[cfg(target_arch = "x86_64")]
        naked_asm!("mov rdi, rsp", "and rsp, -16", "call {go}", "ud2", go = sym go);
        #[cfg(target_arch = "aarch64")]
        naked_asm!("mov x0, sp", "b {go}", go = sym go);
        #[cfg(target_arch = "riscv64")]
        naked_asm!("mv a0, sp", "tail {go}", go = sym go);
    }

    /// `stack` points to `argc`, which `argv` follows.
    unsafe extern "C" fn go(stack: *const usize) -> ! {
        // SAFETY: see the module's Safety section.
        unsafe {
            let argc = *stack;
            let fd = if argc > 1 { number(*stack.add(2) as *const u8) } else { -1 };
            let byte = b'x';
            let written = syscall(WRITE, fd as usize, &raw const byte as usize, 1);
            syscall(EXIT_GROUP, if written == 1 { GOOD } else { UNHEARD } as usize, 0, 0);
        }
        loop {}
    }
}

#[cfg(not(bare))]
mod libc {
    use super::{GOOD, UNHEARD, number};
    use core::ffi::{c_int, c_void};
    use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

    unsafe extern "C" {
        fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize;
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn main(argc: c_int, argv: *const *const u8) -> c_int {
        // SAFETY: see the module's Safety section.
        unsafe {
            let fd = if argc > 1 { number(*argv.add(1)) } else { -1 };
            let byte = b'x';
            if cfg!(many) && LOADED.load(Relaxed) != LIBRARIES {
                return UNLOADED;
            }
            if write(fd, (&raw const byte).cast(), 1) == 1 { GOOD } else { UNHEARD }
        }
    }

    /// The libraries that it is linked with; `build.rs` and `proc/mod.rs` have it as well.
    const LIBRARIES: i32 = 20;
    /// What it leaves with when they have not all announced themselves.
    const UNLOADED: i32 = 44;

    static LOADED: AtomicI32 = AtomicI32::new(0);

    #[cfg(many)]
    #[unsafe(no_mangle)]
    extern "C" fn groma_library_loaded() {
        LOADED.fetch_add(1, Relaxed);
    }
}
