//! The counter: the virtual counter of the generic timer, and the rate that the timer declares.
//!
//! # Safety
//!
//! Reads registers that every program may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::counter::Declared;
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

/// The declared clock of the core: none.
pub fn declared_core() -> Vec<Declared> {
    Vec::new()
}

/// The declared rate of the counter: `cntfrq_el0`, which the firmware writes, in hertz.
pub fn declared_counter() -> Vec<Declared> {
    let hz: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {hz}, cntfrq_el0", hz = out(reg) hz, options(nostack, preserves_flags)) };
    // Its upper half is reserved (Arm ARM, CNTFRQ_EL0).
    Some(hz as u32).filter(|hz| *hz > 0).map(|hz| ("cntfrq_el0", f64::from(hz))).into_iter().collect()
}
