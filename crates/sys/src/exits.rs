//! Instructions that a hypervisor executes in place of its guest. Not those that it may let pass,
//! such as reading a counter (`arch/counter.rs`).

/// `cpuid` with leaf 0: the highest leaf and the vendor. Every hypervisor on x86-64 is asked: the
/// CPU leaves no other choice to it. `None` on other CPUs, which have no such instruction.
#[inline(always)]
pub fn identify() -> Option<[u32; 4]> {
    #[cfg(target_arch = "x86_64")]
    {
        let seen = core::arch::x86_64::__cpuid(0);
        Some([seen.eax, seen.ebx, seen.ecx, seen.edx])
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendor_is_named() {
        if let Some([highest, a, b, c]) = identify() {
            let name: Vec<u8> = [a, c, b].iter().flat_map(|part| part.to_le_bytes()).collect();
            assert!(highest > 0 && name.iter().all(u8::is_ascii_graphic), "{name:?}");
        }
    }
}
