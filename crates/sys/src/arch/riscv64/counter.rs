//! The counter: the `time` counter (Zicntr).
//!
//! # Safety
//!
//! Reads a counter that every program may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use core::arch::asm;

/// The counter's name.
pub const COUNTER_NAME: &str = "time";

/// Whether the counter can be trusted: the architecture promises a constant rate, the same on all
/// harts (Unprivileged ISA, "Zicntr"). It is often slow, 1 to 50 MHz, so its step must be measured.
/// (`rdcycle` is no alternative: since Linux 6.6 it kills the process.)
pub fn counter_usable() -> Result<(), String> {
    Ok(())
}

/// Reads the counter before the work. The fence waits for memory. Nothing in the base instruction
/// set orders this read with arithmetic, but one step of the counter is much longer than that.
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
