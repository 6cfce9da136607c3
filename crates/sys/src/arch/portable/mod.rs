//! The reference: the face of [`super`] in plain Rust, for any CPU that has no file of its own, and always compiled
//! because every native kernel is compared with it.
//!
//! It gives the same *results* everywhere. Its *times* are weaker claims, and each item says how: what the compiler
//! makes of a loop is not known here, and values are hidden from it through memory.
//!
//! # Safety
//!
//! Raw pointers are dereferenced in the chase and the streams, whose callers vouch for them; the C library is called
//! for the clock (a local out-parameter) and for system calls (whose duties are the caller's).
#![expect(unsafe_code, reason = "walks raw pointers and calls the C library")]

pub mod access;
pub mod branch;
pub mod parallel_chase;
pub mod doubles;
pub mod flush;
pub mod store_forward;
pub mod hammer;
pub mod mix;
pub mod rates;
pub mod split;
pub mod stream;
pub mod wide;

use super::{CALLS_LONG, CALLS_SHORT, CHAIN_OPERAND, CHAIN_ROTATE, CHAIN_SEED, CHASE_UNROLL, chain_ops};
use core::hint::black_box;

pub mod atomic;
pub mod operation;

/// The counter's name.
pub const COUNTER_NAME: &str = "clock_gettime(CLOCK_MONOTONIC)";

/// Whether [`counter_start`] can be trusted: the system's own clock always can.
pub fn counter_usable() -> Result<(), String> {
    Ok(())
}

/// Reads the counter before the work: nanoseconds.
#[inline]
pub fn counter_start() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to. The call cannot fail: POSIX requires this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Reads the counter after the work: nanoseconds.
#[inline]
pub fn counter_stop() -> u64 {
    counter_start()
}

macro_rules! syscalls {
    ($($name:ident($($arg:ident),*);)*) => {$(
        /// A system call by number through the C library; an error comes back as `-errno`, as the kernel returns it.
        ///
        /// # Safety
        ///
        /// The arguments must be what the call with that number wants, and what the call does to this process's
        /// memory, descriptors and signals must be allowed.
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

/// `clone3` with a body for the child: not without assembly, and said to be missing.
///
/// # Safety
///
/// None are needed here; native ones want much.
pub unsafe fn clone3_call(_: usize, _: usize, _: extern "C" fn(usize) -> i32, _: usize) -> isize {
    -(libc::ENOSYS as isize)
}

/// Whether a step of [`add_chain`] takes one cycle, so that the clock can be told from it. Not here: each step goes
/// through memory.
pub const ADD_TAKES_ONE_CYCLE: bool = false;

macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident: $step:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the last value. `n` is rounded up ([`chain_ops`]).
        #[inline(never)]
        pub fn $name(n: u64) -> u64 {
            let step: fn(u64) -> u64 = $step;
            // Hidden at every step: otherwise the compiler replaces the chain by its result.
            (0..chain_ops(n)).fold(CHAIN_SEED, |x, _| black_box(step(x)))
        }
    )*};
}

chains! {
    /// `n` dependent additions.
    add_chain: |x| x.wrapping_add(CHAIN_OPERAND);
    /// `n` dependent multiplications.
    mul_chain: |x| x.wrapping_mul(CHAIN_OPERAND);
    /// `n` dependent rotations.
    rotate_chain: |x| x.rotate_right(CHAIN_ROTATE);
}

macro_rules! call_loops {
    ($($name:ident($($arg:literal)*);)*) => {
        /// The loop that calls a function of `k` integer arguments, 0 to 7, [`CALLS_LONG`] or [`CALLS_SHORT`] times
        /// per iteration. Here the call is indirect, because that is the only one a compiler cannot look through.
        ///
        /// # Panics
        ///
        /// If `k` is above [`super::CALLS_MAX_ARGS`].
        pub fn calls(k: usize, short: bool) -> fn(u64) {
            const LOOPS: [[fn(u64); 2]; super::CALLS_MAX_ARGS + 1] =
                [$([$name::<CALLS_LONG> as fn(u64), $name::<CALLS_SHORT> as fn(u64)]),*];
            LOOPS[k][usize::from(short)]
        }

        $(
            fn $name<const CALLS: u64>(iters: u64) {
                extern "C" fn leaf($(_: call_loops!(@word $arg)),*) {}
                let leaf = black_box(leaf as extern "C" fn($(call_loops!(@word $arg)),*));
                for _ in 0..iters {
                    for _ in 0..CALLS {
                        leaf($($arg),*);
                    }
                }
            }
        )*
    };
    (@word $arg:literal) => { u64 };
}

call_loops! {
    calls0();
    calls1(1);
    calls2(1 2);
    calls3(1 2 3);
    calls4(1 2 3 4);
    calls5(1 2 3 4 5);
    calls6(1 2 3 4 5 6);
    calls7(1 2 3 4 5 6 7);
}

/// Follows `loads` pointers from `start` and returns the last: each load's address is the value of the load before.
/// `loads` is rounded down to a multiple of [`CHASE_UNROLL`], as the native ones do it.
///
/// # Safety
///
/// `start` points to a pointer that points to a pointer and so on, `loads` times, each aligned and valid to read.
#[inline(never)]
pub unsafe fn chase(start: *const u8, loads: u64) -> *const u8 {
    let mut here = start;
    for _ in 0..loads - loads % CHASE_UNROLL {
        // SAFETY: the caller vouches for the chain.
        here = unsafe { here.cast::<*const u8>().read() };
    }
    here
}
