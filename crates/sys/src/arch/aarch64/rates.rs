//! The rate that the generic timer declares.
//!
//! # Safety
//!
//! Reads a register that programs may read.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::rates::Declared;
use core::arch::asm;

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
