//! AArch64: the generic timer, the `svc` instruction, and kernels for Advanced SIMD (which every AArch64 system has), for
//! `dc zva` and, where the system says that the CPU has it, for SVE.
//!
//! Not here: FEAT_MOPS, SME.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes. Chains and calls touch no memory but the
//! stack and are safe functions; the chase and the streams go where their callers' pointers lead and say what that
//! requires. No block says `nomem`: the compiler must not move other work across a measured loop.
#![expect(unsafe_code, reason = "this is the assembly")]

pub(super) mod access;
pub(super) mod branch;
pub(super) mod parallel_chase;
pub(super) mod doubles;
pub(super) mod flush;
pub(super) mod store_forward;
pub(super) mod hammer;
pub(super) mod mix;
pub(super) mod rates;
pub(super) mod split;
pub(super) mod stream;
pub(super) mod wide;

use super::{
    CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT, CHAIN_OPERAND, CHAIN_ROTATE, CHAIN_SEED, CHAIN_UNROLL, CHASE_UNROLL,
    chain_ops,
};
use core::arch::{asm, naked_asm};

pub(super) mod atomic;
pub(super) mod operation;

/// The counter's name.
pub const COUNTER_NAME: &str = "cntvct_el0";

/// Whether the counter can be trusted: the architecture promises a constant rate, on all CPUs alike (Arm ARM, D12, "The
/// Generic Timer"). It may be a slow one, 1 to 50 MHz before Armv8.6: its step must be measured.
pub fn counter_usable() -> Result<(), String> {
    Ok(())
}

/// Reads the counter before the work: nothing before is still running, nothing after has begun.
#[inline(always)]
pub fn counter_start() -> u64 {
    let now: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("isb", "mrs {now}, cntvct_el0", "isb", now = out(reg) now, options(nostack, preserves_flags)) };
    now
}

/// Reads the counter after the work: all of it is done, nothing after has begun.
#[inline(always)]
pub fn counter_stop() -> u64 {
    counter_start()
}

macro_rules! syscalls {
    ($($name:ident($($arg:ident: $register:tt),*);)*) => {$(
        /// A system call by number, inlined: the instruction and nothing else. Errors come back as `-errno`.
        ///
        /// # Safety
        ///
        /// The arguments must be what the call with that number wants, and what the call does to this process's
        /// memory, descriptors and signals must be allowed.
        #[cfg(target_os = "linux")]
        #[inline(always)]
        pub unsafe fn $name(nr: usize, a0: usize $(, $arg: usize)*) -> isize {
            let result: isize;
            // SAFETY: the caller vouches for number and arguments; the kernel keeps every other register.
            unsafe {
                asm!("svc 0", in("x8") nr, inlateout("x0") a0 => result, $(in($register) $arg,)* options(nostack));
            }
            result
        }
    )*};
}

/// A system call without arguments: as [`syscall1`], which leaves it one to ignore.
///
/// # Safety
///
/// As [`syscall1`].
#[cfg(target_os = "linux")]
#[inline(always)]
pub unsafe fn syscall0(nr: usize) -> isize {
    // SAFETY: the caller vouches for the call.
    unsafe { syscall1(nr, 0) }
}

syscalls! {
    syscall1();
    syscall2(a1: "x1");
    syscall3(a1: "x1", a2: "x2");
    syscall4(a1: "x1", a2: "x2", a3: "x3");
    syscall5(a1: "x1", a2: "x2", a3: "x3", a4: "x4");
    syscall6(a1: "x1", a2: "x2", a3: "x3", a4: "x4", a5: "x5");
}

/// `clone3` with a body for the child: as in `x86_64.rs`.
///
/// # Safety
///
/// As there.
#[cfg(target_os = "linux")]
#[inline(never)]
pub unsafe fn clone3_call(args: usize, size: usize, body: extern "C" fn(usize) -> i32, argument: usize) -> isize {
    let result: isize;
    // SAFETY: the caller vouches for the call. The kernel keeps every register but x0; the child never goes on behind it.
    unsafe {
        asm!("svc 0", "cbnz x0, 2f",
            "mov x29, xzr", "mov x0, x20", "blr x21", "mov x8, #{exit}", "svc 0", "brk #1",
            "2:",
            exit = const libc::SYS_exit, in("x8") libc::SYS_clone3 as usize, inlateout("x0") args => result,
            in("x1") size, in("x20") argument, in("x21") body);
    }
    result
}

const _: () = assert!(CHAIN_ROTATE == 7, "written out below");

/// Whether a step of [`add_chain`] takes one cycle, so that the clock can be told from it.
pub const ADD_TAKES_ONE_CYCLE: bool = true;

macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident: $instruction:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the last value. `n` is rounded up ([`chain_ops`]).
        #[inline(never)]
        pub fn $name(n: u64) -> u64 {
            let mut x = CHAIN_SEED;
            if n == 0 {
                return x;
            }
            // SAFETY: arithmetic on declared registers.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept {unroll}",
                    $instruction,
                    ".endr",
                    "subs x2, x2, #1",
                    "b.ne 2b",
                    unroll = const CHAIN_UNROLL,
                    inout("x0") x,
                    in("x1") CHAIN_OPERAND,
                    inout("x2") chain_ops(n) / CHAIN_UNROLL => _,
                    options(nostack),
                );
            }
            x
        }
    )*};
}

chains! {
    /// `n` dependent additions of a register to a register, unshifted: one cycle each.
    add_chain: "add x0, x0, x1";
    /// `n` dependent multiplications: a whole number of cycles, 2 to 5 depending on the core.
    mul_chain: "mul x0, x0, x1";
    /// `n` dependent rotations: one cycle each on most cores, a whole number on all.
    rotate_chain: "ror x0, x0, #7";
}

/// The function that [`calls`] calls. It takes what its caller passes and only returns.
#[unsafe(naked)]
extern "C" fn leaf() {
    naked_asm!("ret")
}

macro_rules! call_loops {
    ($($name:ident: $($set_up:literal),*;)*) => {
        /// The loop that calls an out-of-line function of `k` integer arguments, 0 to 7, [`CALLS_LONG`] or
        /// [`CALLS_SHORT`] times per iteration, set up as a compiler does it: constants moved to argument registers, of
        /// which the AAPCS64 has eight.
        ///
        /// # Panics
        ///
        /// If `k` is above [`CALLS_MAX_ARGS`].
        pub fn calls(k: usize, short: bool) -> fn(u64) {
            const LOOPS: [[fn(u64); 2]; CALLS_MAX_ARGS + 1] =
                [$([$name::<CALLS_LONG> as fn(u64), $name::<CALLS_SHORT> as fn(u64)]),*];
            LOOPS[k][usize::from(short)]
        }

        $(
            fn $name<const CALLS: u64>(iters: u64) {
                if iters == 0 {
                    return;
                }
                // SAFETY: calls a function that only returns; every register the ABI lets a callee change is declared.
                unsafe {
                    asm!(
                        ".p2align 6",
                        "2:",
                        ".rept {calls}",
                        $($set_up,)*
                        "bl {leaf}",
                        ".endr",
                        "subs x20, x20, #1",
                        "b.ne 2b",
                        calls = const CALLS,
                        leaf = sym leaf,
                        inout("x20") iters => _,
                        clobber_abi("C"),
                    );
                }
            }
        )*
    };
}

call_loops! {
    calls0: ;
    calls1: "mov w0, #1";
    calls2: "mov w0, #1", "mov w1, #2";
    calls3: "mov w0, #1", "mov w1, #2", "mov w2, #3";
    calls4: "mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4";
    calls5: "mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5";
    calls6: "mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5", "mov w5, #6";
    calls7: "mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5", "mov w5, #6", "mov w6, #7";
}

/// Follows `loads` pointers from `start` and returns the last: each load's address is the value of the load before, and
/// nothing else uses memory. `loads` is rounded down to a multiple of [`CHASE_UNROLL`].
///
/// # Safety
///
/// `start` points to a pointer that points to a pointer and so on, `loads` times, each aligned and valid to read.
#[inline(never)]
pub unsafe fn chase(start: *const u8, loads: u64) -> *const u8 {
    let mut here = start;
    let turns = loads / CHASE_UNROLL;
    if turns == 0 {
        return here;
    }
    // SAFETY: the caller vouches for the chain; registers as declared.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            "ldr x0, [x0]",
            ".endr",
            "subs x1, x1, #1",
            "b.ne 2b",
            unroll = const CHASE_UNROLL,
            inout("x0") here,
            inout("x1") turns => _,
            options(nostack, readonly),
        );
    }
    here
}
