//! The rates that CPUID declares.

use crate::arch::rates::Declared;
use core::arch::x86_64::__cpuid;

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
