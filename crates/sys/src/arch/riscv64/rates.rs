//! The rates that the device tree declares.

use crate::arch::rates::Declared;

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
