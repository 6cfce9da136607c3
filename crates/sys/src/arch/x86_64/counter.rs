//! The counter: the time-stamp counter (TSC).
//!
//! # Safety
//!
//! Reads a counter that every program may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use core::arch::{asm, x86_64::__cpuid};

/// The counter's name.
pub const COUNTER_NAME: &str = "tsc";

/// Whether the counter can be trusted, or the reason why not.
pub fn counter_usable() -> Result<(), String> {
    let last = __cpuid(0x8000_0000).eax;
    // Intel SDM vol. 2 and AMD APM vol. 3, CPUID: leaf 8000_0001 EDX bit 27 is RDTSCP, 8000_0007
    // EDX bit 8 the invariant TSC.
    if last < 0x8000_0001 || __cpuid(0x8000_0001).edx & (1 << 27) == 0 {
        return Err("this CPU has no rdtscp instruction".into());
    }
    if last < 0x8000_0007 || __cpuid(0x8000_0007).edx & (1 << 8) == 0 {
        return Err(
            "CPUID does not promise an invariant TSC: its rate may change with the clock or stop in sleep".into()
        );
    }
    Ok(())
}

/// Reads the counter before the work: everything earlier has finished, nothing later has begun.
#[inline(always)]
pub fn counter_start() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter; registers as declared.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
    }
    high << 32 | low
}

/// Reads the counter after the work: `rdtscp` waits for all of it, and nothing later has begun.
#[inline(always)]
pub fn counter_stop() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter; registers as declared (rcx receives the CPU's number).
    unsafe {
        asm!("rdtscp", "lfence", out("rax") low, out("rdx") high, out("rcx") _, options(nostack, preserves_flags));
    }
    high << 32 | low
}
