//! RISC-V, 64 bits: `rdtime`, the `ecall` instruction, and kernels in the base instruction set; V 1.0, Zicbom and Zicboz where the
//! kernel says that they are there.
//!
//! Not here: vectors before 1.0 (boards have them, and the kernel does not name them V), Zbb's rotation.
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
mod hwprobe;
pub(super) mod mix;
pub(super) mod rates;
pub(super) mod split;
pub(super) mod stream;
mod vectors;
pub(super) mod wide;

use super::{
    CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT, CHAIN_OPERAND, CHAIN_ROTATE, CHAIN_SEED, CHAIN_UNROLL, CHASE_UNROLL,
    chain_ops,
};
use core::arch::{asm, naked_asm};

pub(super) mod atomic;
pub(super) mod operation;

/// The counter's name.
pub const COUNTER_NAME: &str = "time";

/// Whether the counter can be trusted: the architecture promises a constant rate, the same on all harts (Unprivileged
/// ISA, "Zicntr"). It is often a slow one, 1 to 50 MHz: its step must be measured. (`rdcycle` is no alternative: since
/// Linux 6.6 it kills the process.)
pub fn counter_usable() -> Result<(), String> {
    Ok(())
}

/// Reads the counter before the work. The fence waits for memory; nothing in the base instruction set orders this
/// reading with arithmetic, which one step of the counter is much longer than.
#[inline(always)]
pub fn counter_start() -> u64 {
    let now: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("fence", "rdtime {now}", "fence", now = out(reg) now, options(nostack, preserves_flags)) };
    now
}

/// Reads the counter after the work, in the same way.
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
            // SAFETY: the caller vouches for number and arguments; the kernel keeps every other register
            // (but the vector unit's, which the compiler does not use and a kernel sets up itself).
            unsafe {
                asm!("ecall", in("a7") nr, inlateout("a0") a0 => result, $(in($register) $arg,)* options(nostack));
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
    syscall2(a1: "a1");
    syscall3(a1: "a1", a2: "a2");
    syscall4(a1: "a1", a2: "a2", a3: "a3");
    syscall5(a1: "a1", a2: "a2", a3: "a3", a4: "a4");
    syscall6(a1: "a1", a2: "a2", a3: "a3", a4: "a4", a5: "a5");
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
    // SAFETY: the caller vouches for the call. The kernel keeps every register but a0; the child never goes on behind it.
    unsafe {
        asm!("ecall", "bnez a0, 2f",
            "li s0, 0", "mv a0, s2", "jalr s3", "li a7, {exit}", "ecall", "ebreak",
            "2:",
            exit = const libc::SYS_exit, in("a7") libc::SYS_clone3 as usize, inlateout("a0") args => result,
            in("a1") size, in("s2") argument, in("s3") body);
    }
    result
}

const _: () = assert!(CHAIN_ROTATE == 7, "written out below");

/// Whether a step of [`add_chain`] takes one cycle, so that the clock can be told from it.
pub const ADD_TAKES_ONE_CYCLE: bool = true;

macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident: $($instruction:literal),*;)*) => {$(
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
                    $($instruction,)*
                    ".endr",
                    "addi a2, a2, -1",
                    "bnez a2, 2b",
                    unroll = const CHAIN_UNROLL,
                    inout("a0") x,
                    in("a1") CHAIN_OPERAND,
                    inout("a2") chain_ops(n) / CHAIN_UNROLL => _,
                    out("t0") _,
                    options(nostack),
                );
            }
            x
        }
    )*};
}

chains! {
    /// `n` dependent additions of a register to a register: one cycle each.
    add_chain: "add a0, a0, a1";
    /// `n` dependent multiplications: a whole number of cycles, 2 to 5 depending on the core.
    mul_chain: "mul a0, a0, a1";
    /// `n` dependent rotations. The base instruction set has none: two shifts and an `or`, two cycles each where both
    /// shifts run at once, otherwise three.
    rotate_chain: "slli t0, a0, 57", "srli a0, a0, 7", "or a0, a0, t0";
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
        /// which the psABI has eight.
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
                        "call {leaf}",
                        ".endr",
                        "addi s2, s2, -1",
                        "bnez s2, 2b",
                        calls = const CALLS,
                        leaf = sym leaf,
                        inout("s2") iters => _,
                        clobber_abi("C"),
                    );
                }
            }
        )*
    };
}

call_loops! {
    calls0: ;
    calls1: "li a0, 1";
    calls2: "li a0, 1", "li a1, 2";
    calls3: "li a0, 1", "li a1, 2", "li a2, 3";
    calls4: "li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4";
    calls5: "li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5";
    calls6: "li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5", "li a5, 6";
    calls7: "li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5", "li a5, 6", "li a6, 7";
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
            "ld a0, 0(a0)",
            ".endr",
            "addi a1, a1, -1",
            "bnez a1, 2b",
            unroll = const CHASE_UNROLL,
            inout("a0") here,
            inout("a1") turns => _,
            options(nostack, readonly),
        );
    }
    here
}
