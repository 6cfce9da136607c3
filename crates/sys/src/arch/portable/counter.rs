//! The counter of a CPU without a folder: the system's clock, which counts nanoseconds.
//!
//! # Safety
//!
//! The C library writes the time to a local variable.
#![expect(unsafe_code, reason = "calls the C library")]

use crate::arch::counter::Declared;

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
    // SAFETY: `now` is a valid timespec to write to. The call cannot fail: POSIX requires this
    // clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Reads the counter after the work: nanoseconds.
#[inline]
pub fn counter_stop() -> u64 {
    counter_start()
}

/// The declared clock of the core: unknown.
pub fn declared_core() -> Vec<Declared> {
    Vec::new()
}

/// The declared rate of the counter.
pub fn declared_counter() -> Vec<Declared> {
    vec![("nanoseconds", 1e9)]
}
