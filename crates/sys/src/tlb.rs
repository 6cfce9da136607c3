//! The translation caches that the CPU declares: data TLBs by level and page size.
//!
//! Only x86 has an instruction that reports them (CPUID). A hypervisor may hide them (leaf 0x18 of
//! zeroes) and may declare anything, so they are shown beside a measurement, never instead of one
//! (`docs/methods/memory.md#tlb`).
//!
//! Sources: Intel SDM vol. 2A, CPUID leaves 2 (table 3-12) and 0x18; AMD APM vol. 3, appendix E,
//! leaves 8000_0005, 8000_0006 and 8000_0019.

/// A level of data TLB for one size of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlb {
    /// Level 1 is looked up first.
    pub level: u32,
    /// Bytes of a page.
    pub page: u64,
    /// Pages it holds.
    pub entries: u32,
}

/// What is declared; empty where nothing is.
pub fn declared() -> Vec<Tlb> {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid_count;
        decode(|leaf, sub| {
            let r = __cpuid_count(leaf, sub);
            [r.eax, r.ebx, r.ecx, r.edx]
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// The declared entries of one level for pages of that size; the largest where several TLBs are of
/// one level (Intel has one for loads and one for stores).
pub fn declared_entries(level: u32, page: u64) -> Option<u32> {
    entries(&declared(), level, page)
}

fn entries(all: &[Tlb], level: u32, page: u64) -> Option<u32> {
    all.iter().filter(|tlb| tlb.level == level && tlb.page == page).map(|tlb| tlb.entries).max()
}

#[cfg(any(target_arch = "x86_64", test))]
const KIB4: u64 = 4 << 10;
#[cfg(any(target_arch = "x86_64", test))]
const MIB2: u64 = 2 << 20;
#[cfg(any(target_arch = "x86_64", test))]
const GIB1: u64 = 1 << 30;

/// Reads the leaves of `cpuid(leaf, subleaf)`, which returns eax, ebx, ecx, edx.
#[cfg(any(target_arch = "x86_64", test))]
fn decode(cpuid: impl Fn(u32, u32) -> [u32; 4]) -> Vec<Tlb> {
    let [last, ebx, ecx, edx] = cpuid(0, 0);
    let vendor: Vec<u8> = [ebx, edx, ecx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut all = match vendor.as_slice() {
        b"GenuineIntel" => intel(last, &cpuid),
        b"AuthenticAMD" | b"HygonGenuine" => amd(&cpuid),
        _ => Vec::new(),
    };
    all.retain(|tlb| tlb.entries > 0);
    all.sort_by_key(|tlb| (tlb.level, tlb.page, tlb.entries));
    all.dedup();
    all
}

#[cfg(any(target_arch = "x86_64", test))]
fn intel(last: u32, cpuid: &impl Fn(u32, u32) -> [u32; 4]) -> Vec<Tlb> {
    let mut all = Vec::new();
    if last >= 0x18 {
        let most = cpuid(0x18, 0)[0].min(64);
        for sub in 0..=most {
            let [_, ebx, sets, edx] = cpuid(0x18, sub);
            // Types: 1 data, 3 unified, 4 loads only, 5 stores only. The pointer chases load.
            if !matches!(edx & 0x1f, 1 | 3 | 4) {
                continue;
            }
            let entries = (ebx >> 16).saturating_mul(sets);
            for (bit, page) in [(0, KIB4), (1, MIB2), (3, GIB1)] {
                if ebx & 1 << bit != 0 {
                    all.push(Tlb { level: edx >> 5 & 7, page, entries });
                }
            }
        }
    }
    if all.is_empty() && last >= 2 {
        // The lowest byte of eax is a count that is always 1. A register with bit 31 set is
        // invalid.
        for (i, word) in cpuid(2, 0).into_iter().enumerate() {
            let bytes = word.to_le_bytes();
            let said = if word >> 31 == 1 { &[][..] } else { &bytes[usize::from(i == 0)..] };
            all.extend(said.iter().flat_map(|byte| descriptor(*byte)).map(|&(level, page, entries)| Tlb {
                level,
                page,
                entries,
            }));
        }
    }
    all
}

/// The data TLBs among the one-byte descriptors of leaf 2, as level, page size, entries.
#[cfg(any(target_arch = "x86_64", test))]
fn descriptor(byte: u8) -> &'static [(u32, u64, u32)] {
    match byte {
        0x03 | 0x5b | 0xba => &[(1, KIB4, 64)],
        0x57 | 0x59 => &[(1, KIB4, 16)],
        0x5a => &[(1, MIB2, 32)],
        0x5c => &[(1, KIB4, 128)],
        0x5d | 0xb4 => &[(1, KIB4, 256)],
        0x61 => &[(1, KIB4, 48)],
        0x63 => &[(1, MIB2, 32), (1, GIB1, 4)],
        0x64 => &[(1, KIB4, 512)],
        0xa0 => &[(1, KIB4, 32)],
        0xb3 => &[(1, KIB4, 128)],
        0xc0 => &[(1, KIB4, 8)],
        0xc1 => &[(2, KIB4, 1024), (2, MIB2, 1024)],
        0xc2 => &[(1, KIB4, 16), (1, MIB2, 16)],
        0xc3 => &[(2, KIB4, 1536), (2, MIB2, 1536), (2, GIB1, 16)],
        0xc4 => &[(1, MIB2, 32)],
        0xca => &[(2, KIB4, 512)],
        _ => &[],
    }
}

#[cfg(any(target_arch = "x86_64", test))]
fn amd(cpuid: &impl Fn(u32, u32) -> [u32; 4]) -> Vec<Tlb> {
    let last = cpuid(0x8000_0000, 0)[0];
    let mut all = Vec::new();
    let mut say = |level, page, entries| all.push(Tlb { level, page, entries });
    if last >= 0x8000_0005 {
        let [huge, base, ..] = cpuid(0x8000_0005, 0);
        say(1, MIB2, huge >> 16 & 0xff);
        say(1, KIB4, base >> 16 & 0xff);
    }
    // From the second level up an associativity of 0 means that there is none.
    let wide = |word: u32| if word >> 28 == 0 { 0 } else { word >> 16 & 0xfff };
    if last >= 0x8000_0006 {
        let [huge, base, ..] = cpuid(0x8000_0006, 0);
        say(2, MIB2, wide(huge));
        say(2, KIB4, wide(base));
    }
    if last >= 0x8000_0019 {
        let [first, second, ..] = cpuid(0x8000_0019, 0);
        say(1, GIB1, wide(first));
        say(2, GIB1, wide(second));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEL: [u32; 3] = [0x756e_6547, 0x6c65_746e, 0x4965_6e69];
    const AMD: [u32; 3] = [0x6874_7541, 0x444d_4163, 0x6974_6e65];

    fn machine(last: u32, vendor: [u32; 3], leaves: &[(u32, u32, [u32; 4])]) -> Vec<Tlb> {
        decode(|leaf, sub| {
            if leaf == 0 {
                return [last, vendor[0], vendor[1], vendor[2]];
            }
            leaves.iter().find(|(l, s, _)| (*l, *s) == (leaf, sub)).map_or([0; 4], |(.., regs)| *regs)
        })
    }

    #[test]
    fn leaf_18_as_golden_cove_fills_it() {
        // Loads: 96 entries of 6 ways for 4 KiB, 32 for 2 MiB; stores: 16; unified: 2048 of 16 ways
        // for both; instructions: 256.
        let leaves = [
            (0x18, 0, [8, 0, 0, 0]),
            (0x18, 1, [0, 0x0008_0001, 32, 0x22]),
            (0x18, 2, [0, 0x0006_0001, 16, 0x24]),
            (0x18, 3, [0, 0x0004_0006, 8, 0x24]),
            (0x18, 4, [0, 0x0010_000f, 1, 0x125]),
            (0x18, 5, [0, 0x0010_0003, 128, 0x43]),
        ];
        let all = machine(0x20, INTEL, &leaves);
        assert_eq!(entries(&all, 1, KIB4), Some(96));
        assert_eq!(entries(&all, 1, MIB2), Some(32));
        assert_eq!((entries(&all, 2, KIB4), entries(&all, 2, MIB2)), (Some(2048), Some(2048)));
        assert_eq!(entries(&all, 2, GIB1), None);
    }

    #[test]
    fn leaf_2_as_skylake_fills_it() {
        let all = machine(0x16, INTEL, &[(2, 0, [0x7603_6301, 0x00f0_b5ff, 0, 0x00c3_0000])]);
        assert_eq!(entries(&all, 1, KIB4), Some(64));
        assert_eq!((entries(&all, 1, MIB2), entries(&all, 1, GIB1)), (Some(32), Some(4)));
        assert_eq!((entries(&all, 2, KIB4), entries(&all, 2, GIB1)), (Some(1536), Some(16)));
    }

    #[test]
    fn a_hypervisor_that_hides_it_leaves_nothing() {
        // As on the Emerald Rapids guest used for development: leaf 2 refers to leaf 0x18, which is
        // zero.
        assert_eq!(machine(0x1c, INTEL, &[(2, 0, [0x00fe_ff01, 0xf0, 0, 0])]), []);
        assert_eq!(machine(0, INTEL, &[]), []);
        assert_eq!(machine(0x1c, [0, 0, 0], &[(2, 0, [0x03_01, 0, 0, 0])]), []);
        // A register with bit 31 set is invalid.
        assert_eq!(machine(2, INTEL, &[(2, 0, [1, 0x8000_0003, 0, 0])]), []);
    }

    #[test]
    fn amd_leaves_as_zen_4_fills_them() {
        let leaves = [
            (0x8000_0000, 0, [0x8000_0028, 0, 0, 0]),
            (0x8000_0005, 0, [0xff48_ff40, 0xff48_ff40, 0, 0]),
            (0x8000_0006, 0, [0x5c00_2200, 0x6c00_4200, 0, 0]),
            (0x8000_0019, 0, [0xf048_f040, 0xf040_0000, 0, 0]),
        ];
        let all = machine(0x10, AMD, &leaves);
        assert_eq!((entries(&all, 1, KIB4), entries(&all, 1, MIB2)), (Some(72), Some(72)));
        assert_eq!((entries(&all, 2, KIB4), entries(&all, 2, MIB2)), (Some(3072), Some(3072)));
        assert_eq!((entries(&all, 1, GIB1), entries(&all, 2, GIB1)), (Some(72), Some(64)));
    }

    #[test]
    fn this_machine_can_be_asked() {
        assert!(declared().iter().all(|tlb| tlb.level >= 1 && tlb.entries > 0 && tlb.page.is_power_of_two()));
    }

    /// From the second level up, and for the largest pages, there may be none; and Hygon's are
    /// AMD's.
    #[test]
    fn amd_leaves_may_say_that_there_is_none() {
        let leaves = [
            (0x8000_0000, 0, [0x8000_0019, 0, 0, 0]),
            (0x8000_0005, 0, [0x0020_0000, 0x0040_0000, 0, 0]),
            (0x8000_0006, 0, [0x0c00_0000, 0x6800_0000, 0, 0]),
            (0x8000_0019, 0, [0x0048_0000, 0xf010_0000, 0, 0]),
        ];
        for vendor in [AMD, [0x6f67_7948, 0x656e_6975, 0x6e65_476e]] {
            let all = machine(0x10, vendor, &leaves);
            assert_eq!((entries(&all, 1, KIB4), entries(&all, 1, MIB2)), (Some(64), Some(32)));
            assert_eq!((entries(&all, 2, KIB4), entries(&all, 2, MIB2)), (Some(2048), None));
            assert_eq!((entries(&all, 1, GIB1), entries(&all, 2, GIB1)), (None, Some(16)));
        }
        // A leaf that the CPU does not have holds anything.
        let mut old = leaves;
        old[0].2[0] = 0x8000_0005;
        assert_eq!(machine(0x10, AMD, &old).len(), 2);
    }

    /// By the table of Intel's manual: byte, level, page, entries.
    #[test]
    fn descriptors_are_those_of_the_manual() {
        for (byte, tlbs) in [
            (0x03, vec![(1, KIB4, 64)]),
            (0x57, vec![(1, KIB4, 16)]),
            (0x5a, vec![(1, MIB2, 32)]),
            (0x5b, vec![(1, KIB4, 64)]),
            (0x5c, vec![(1, KIB4, 128)]),
            (0x5d, vec![(1, KIB4, 256)]),
            (0x61, vec![(1, KIB4, 48)]),
            (0x64, vec![(1, KIB4, 512)]),
            (0xa0, vec![(1, KIB4, 32)]),
            (0xb3, vec![(1, KIB4, 128)]),
            (0xb4, vec![(1, KIB4, 256)]),
            (0xba, vec![(1, KIB4, 64)]),
            (0xc0, vec![(1, KIB4, 8)]),
            (0xc1, vec![(2, KIB4, 1024), (2, MIB2, 1024)]),
            (0xc2, vec![(1, KIB4, 16), (1, MIB2, 16)]),
            (0xc4, vec![(1, MIB2, 32)]),
            (0xca, vec![(2, KIB4, 512)]),
            // Instruction TLBs, caches, and the descriptor that refers to another leaf.
            (0x01, vec![]),
            (0x76, vec![]),
            (0xb5, vec![]),
            (0xf0, vec![]),
            (0xfe, vec![]),
            (0xff, vec![]),
        ] {
            assert_eq!(descriptor(byte), tlbs, "{byte:#x}");
        }
    }
}
