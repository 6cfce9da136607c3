//! The counter: the virtual counter of the generic timer.
//!
//! # Safety
//!
//! Reads a counter that every program may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use core::arch::asm;

/// The counter's name.
pub const COUNTER_NAME: &str = "cntvct_el0";

/// Whether the counter can be trusted: the architecture promises a constant rate, the same on all
/// CPUs (Arm ARM, D12, "The Generic Timer"). It may be slow, 1 to 50 MHz before Armv8.6, so its
/// step must be measured.
pub fn counter_usable() -> Result<(), String> {
    Ok(())
}

/// Reads the counter before the work: everything earlier has finished, nothing later has begun.
#[inline(always)]
pub fn counter_start() -> u64 {
    let now: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("isb", "mrs {now}, cntvct_el0", "isb", now = out(reg) now, options(nostack, preserves_flags)) };
    now
}

/// Reads the counter after the work: all of it has finished, nothing later has begun.
#[inline(always)]
pub fn counter_stop() -> u64 {
    counter_start()
}
