//! The counter: the time-stamp counter (TSC), and the rates that CPUID declares.
//!
//! # Safety
//!
//! Reads a counter that every program may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::counter::Declared;
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

/// The declared clocks of the core, the highest first: leaf 16H (Intel SDM vol. 2), in megahertz.
pub fn declared_core() -> Vec<Declared> {
    if __cpuid(0).eax < 0x16 {
        return Vec::new();
    }
    let leaf = __cpuid(0x16);
    let rates = [("cpuid 16H maximum", leaf.ebx), ("cpuid 16H base", leaf.eax)];
    rates.into_iter().filter(|(_, mhz)| *mhz > 0).map(|(name, mhz)| (name, f64::from(mhz & 0xffff) * 1e6)).collect()
}

/// The declared rate of the counter: leaf 15H (Intel SDM vol. 2), a ratio and the crystal's clock
/// in hertz; and leaf 40000010H of a hypervisor that has it, in kilohertz (VMware's proposal of
/// 2008, which KVM and others follow).
pub fn declared_counter() -> Vec<Declared> {
    let mut rates = Vec::new();
    if __cpuid(0).eax >= 0x15 {
        let leaf = __cpuid(0x15);
        if leaf.eax > 0 && leaf.ebx > 0 && leaf.ecx > 0 {
            rates.push(("cpuid 15H", f64::from(leaf.ecx) * f64::from(leaf.ebx) / f64::from(leaf.eax)));
        }
    }
    let hypervisor = __cpuid(1).ecx & (1 << 31) != 0;
    if hypervisor && (0x4000_0010..0x4001_0000).contains(&__cpuid(0x4000_0000).eax) {
        let leaf = __cpuid(0x4000_0010);
        if leaf.eax > 0 {
            rates.push(("cpuid 40000010H", f64::from(leaf.eax) * 1e3));
        }
    }
    rates
}
