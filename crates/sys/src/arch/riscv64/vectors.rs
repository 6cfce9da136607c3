//! Whether the CPU has vectors (V 1.0), and their length: the architecture allows registers of 128
//! to 65536 bits.
//!
//! # Safety
//!
//! Asks the kernel for a number, and the vector unit for its length only after the kernel reported
//! one.
#![expect(unsafe_code, reason = "asks the kernel and the vector unit")]

use super::hwprobe::{V, has};
use core::arch::asm;

/// Words of a register group that a loop asks for (AVL, with LMUL 8): the capacity of registers of
/// up to 512 bits, and no more of longer ones, so that a turn of four groups never exceeds 2 KiB
/// and divides every buffer.
pub(super) const GROUP_WORDS: usize = 64;

/// Bytes of such a group: 128 with registers of 128 bits, 256 with those of 256, 512 with all
/// others; `None` without vectors.
pub(super) fn group_bytes() -> Option<usize> {
    if !has(V) || switched_off() {
        return None;
    }
    let words: usize;
    // SAFETY: V is there, and this process may use it; changes the length and type of vectors,
    // which `asm!` need not preserve.
    unsafe {
        asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli {words}, {wanted}, e64, m8, ta, ma",
            ".option pop",
            words = out(reg) words,
            wanted = in(reg) GROUP_WORDS,
            options(nomem, nostack),
        );
    }
    Some(8 * words)
}

/// Whether the system has disabled vectors for this process (prctl, or the sysctl
/// abi.riscv_v_default_allow): its first vector instruction would kill it, and hwprobe, which
/// describes CPUs, does not show that.
#[cfg(target_os = "linux")]
fn switched_off() -> bool {
    // The kernel's <linux/prctl.h>.
    const PR_RISCV_V_GET_CONTROL: usize = 70;
    const CURRENT: isize = 3;
    const OFF: isize = 1;
    // SAFETY: asks for a number.
    let control = unsafe { crate::arch::syscall5(libc::SYS_prctl as usize, PR_RISCV_V_GET_CONTROL, 0, 0, 0, 0) };
    // Every kernel that reports V has this call; emulators may not.
    control >= 0 && control & CURRENT == OFF
}

#[cfg(not(target_os = "linux"))]
fn switched_off() -> bool {
    false
}
