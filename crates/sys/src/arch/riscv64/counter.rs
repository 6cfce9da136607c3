//! The counter: the `time` counter (Zicntr), and its rate in the device tree.
//!
//! # Safety
//!
//! Reads a counter that every program may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::counter::Declared;
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

/// The declared clock of the core: none.
pub fn declared_core() -> Vec<Declared> {
    Vec::new()
}

/// The declared rate of the counter in hertz, from the device tree. No register holds it.
pub fn declared_counter() -> Vec<Declared> {
    let bytes = std::fs::read("/proc/device-tree/cpus/timebase-frequency").unwrap_or_default();
    // One or two big-endian words (Devicetree Specification, 3.8).
    let hz = bytes.iter().fold(0_u64, |hz, byte| hz << 8 | u64::from(*byte));
    if hz > 0 && bytes.len() <= 8 { vec![("timebase-frequency", hz as f64)] } else { Vec::new() }
}
