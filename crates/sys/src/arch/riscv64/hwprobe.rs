//! What the kernel reports about the CPUs: riscv_hwprobe(2), since Linux 6.4. An older kernel
//! reports nothing, and then only the base instruction set is used. Numbers are those of the
//! kernel's <asm/hwprobe.h>.
//!
//! # Safety
//!
//! A system call that writes to a local variable.
#![expect(unsafe_code, reason = "asks the kernel")]

/// Bits of extensions (key RISCV_HWPROBE_KEY_IMA_EXT_0).
pub(super) const V: u64 = 1 << 2;
pub(super) const ZICBOZ: u64 = 1 << 6;
pub(super) const ZICBOM: u64 = 1 << 55;

/// Keys.
pub(super) const CPUPERF_0: i64 = 5;
pub(super) const ZICBOZ_BLOCK_SIZE: i64 = 6;
const IMA_EXT_0: i64 = 4;

/// The value of a key that all CPUs share, or `None` if the kernel does not know the key. (The
/// kernel reports -1 for a number on which they differ.)
#[cfg(target_os = "linux")]
pub(super) fn hwprobe(key: i64) -> Option<u64> {
    const RISCV_HWPROBE: usize = 258;
    let mut pair = [key, 0];
    // SAFETY: one pair of key and value, both written by the kernel; no set of CPUs is named (all),
    // no flags.
    let done = unsafe { crate::arch::syscall5(RISCV_HWPROBE, pair.as_mut_ptr() as usize, 1, 0, 0, 0) };
    (done == 0 && pair[0] == key).then_some(pair[1].cast_unsigned())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn hwprobe(_: i64) -> Option<u64> {
    None
}

/// Whether programs may use an extension on every CPU.
pub(super) fn has(extension: u64) -> bool {
    hwprobe(IMA_EXT_0).is_some_and(|extensions| extensions & extension == extension)
}
