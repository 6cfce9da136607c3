//! The names of cores, by the numbers with which they identify themselves.
//!
//! Sources: for AMD the ranges of Linux's `arch/x86/kernel/cpu/amd.c`, for Intel the models of its
//! `arch/x86/include/asm/intel-family.h`, for Arm the part numbers of the cores' reference manuals.

/// Arm cores of servers, boards and laptops: implementer, part, name.
const ARM: [(u32, u32, &str); 22] = [
    (0x41, 0xd03, "Arm Cortex-A53"),
    (0x41, 0xd05, "Arm Cortex-A55"),
    (0x41, 0xd07, "Arm Cortex-A57"),
    (0x41, 0xd08, "Arm Cortex-A72"),
    (0x41, 0xd09, "Arm Cortex-A73"),
    (0x41, 0xd0a, "Arm Cortex-A75"),
    (0x41, 0xd0b, "Arm Cortex-A76"),
    (0x41, 0xd0c, "Arm Neoverse-N1"),
    (0x41, 0xd0d, "Arm Cortex-A77"),
    (0x41, 0xd40, "Arm Neoverse-V1"),
    (0x41, 0xd41, "Arm Cortex-A78"),
    (0x41, 0xd44, "Arm Cortex-X1"),
    (0x41, 0xd49, "Arm Neoverse-N2"),
    (0x41, 0xd4f, "Arm Neoverse-V2"),
    (0x41, 0xd84, "Arm Neoverse-V3"),
    (0x41, 0xd8e, "Arm Neoverse-N3"),
    (0x43, 0x0af, "Cavium ThunderX2"),
    (0x46, 0x001, "Fujitsu A64FX"),
    (0x48, 0xd01, "HiSilicon TaiShan v110"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
    (0xc0, 0xac5, "Ampere-1b"),
];

/// Intel cores of family 6: models and name.
const INTEL: [(&[u32], &str); 21] = [
    (&[42, 45], "Sandy Bridge"),
    (&[58, 62], "Ivy Bridge"),
    (&[60, 63, 69, 70], "Haswell"),
    (&[61, 71, 79, 86], "Broadwell"),
    (&[78, 94], "Skylake"),
    (&[102], "Cannon Lake"),
    (&[142, 158], "Kaby Lake or Coffee Lake"),
    (&[165, 166], "Comet Lake"),
    (&[167], "Rocket Lake"),
    (&[106, 108, 125, 126], "Ice Lake"),
    (&[140, 141], "Tiger Lake"),
    (&[143], "Sapphire Rapids"),
    (&[207], "Emerald Rapids"),
    (&[173, 174], "Granite Rapids"),
    (&[175], "Sierra Forest"),
    (&[151, 154], "Alder Lake"),
    (&[183, 186, 191], "Raptor Lake"),
    (&[170, 172], "Meteor Lake"),
    (&[189], "Lunar Lake"),
    (&[181, 197, 198], "Arrow Lake"),
    (&[204], "Panther Lake"),
];

/// The core of an Arm CPU.
pub(super) fn arm(implementer: u32, part: u32) -> Option<&'static str> {
    ARM.iter().find(|(i, p, _)| (*i, *p) == (implementer, part)).map(|(_, _, name)| *name)
}

/// Intel cores with matrix registers.
const WITH_AMX: [&str; 3] = ["Sapphire Rapids", "Emerald Rapids", "Granite Rapids"];

/// Whether a core of this name may have AMX. A hypervisor may give its CPUs another model's number:
/// a Granite Rapids was seen as "6/167", which is Rocket Lake.
pub(super) fn may_have_amx(name: &str) -> bool {
    WITH_AMX.contains(&name)
}

/// The core of an x86, from its vendor, family, model and stepping; `None` where it is not known.
pub(super) fn x86(vendor: &str, family: u32, model: u32, stepping: u32) -> Option<&'static str> {
    match (vendor, family, model) {
        ("AuthenticAMD", 0x17, 0x00..=0x2f | 0x50..=0x5f) => Some("Zen"),
        ("AuthenticAMD", 0x17, _) => Some("Zen 2"),
        ("AuthenticAMD", 0x19, 0x00..=0x0f | 0x20..=0x5f) => Some("Zen 3"),
        ("AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0xaf) => Some("Zen 4"),
        ("AuthenticAMD", 0x1a, 0x00..=0x2f | 0x40..=0x4f | 0x60..=0x7f) => Some("Zen 5"),
        ("AuthenticAMD", 0x1a, 0x50..=0x5f | 0x80..=0xaf | 0xc0..=0xcf) => Some("Zen 6"),
        ("HygonGenuine", 0x18, _) => Some("Zen, Hygon's"),
        // One model was sold as three.
        ("GenuineIntel", 6, 85) => Some(match stepping {
            0..=4 => "Skylake",
            5..=7 => "Cascade Lake",
            _ => "Cooper Lake",
        }),
        ("GenuineIntel", 6, _) => INTEL.iter().find(|(models, _)| models.contains(&model)).map(|(_, name)| *name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_known_by_their_numbers() {
        for (vendor, family, model, stepping, name) in [
            ("AuthenticAMD", 25, 17, 1, Some("Zen 4")),
            ("AuthenticAMD", 26, 2, 1, Some("Zen 5")),
            ("AuthenticAMD", 23, 49, 0, Some("Zen 2")),
            ("AuthenticAMD", 25, 255, 0, None),
            ("GenuineIntel", 6, 143, 8, Some("Sapphire Rapids")),
            ("GenuineIntel", 6, 85, 4, Some("Skylake")),
            ("GenuineIntel", 6, 85, 7, Some("Cascade Lake")),
            ("GenuineIntel", 15, 143, 8, None),
            ("SomebodyElse", 6, 143, 8, None),
        ] {
            assert_eq!(x86(vendor, family, model, stepping), name, "{vendor} {family} {model}");
        }
        assert_eq!(arm(0x41, 0xd4f), Some("Arm Neoverse-V2"));
        let mut models: Vec<u32> = INTEL.iter().flat_map(|(models, _)| *models).copied().collect();
        let all = models.len();
        models.sort_unstable();
        models.dedup();
        assert_eq!(models.len(), all, "a model has one name");
    }

    /// From the kernel's tables: one model of each core, and the ends of ranges.
    #[test]
    fn every_core_has_its_own_name() {
        for (models, name) in [
            (&[42, 45][..], "Sandy Bridge"),
            (&[58, 62], "Ivy Bridge"),
            (&[60, 63, 69, 70], "Haswell"),
            (&[61, 71, 79, 86], "Broadwell"),
            (&[78, 94], "Skylake"),
            (&[102], "Cannon Lake"),
            (&[142, 158], "Kaby Lake or Coffee Lake"),
            (&[165, 166], "Comet Lake"),
            (&[167], "Rocket Lake"),
            (&[106, 108, 125, 126], "Ice Lake"),
            (&[140, 141], "Tiger Lake"),
            (&[143], "Sapphire Rapids"),
            (&[207], "Emerald Rapids"),
            (&[173, 174], "Granite Rapids"),
            (&[175], "Sierra Forest"),
            (&[151, 154], "Alder Lake"),
            (&[183, 186, 191], "Raptor Lake"),
            (&[170, 172], "Meteor Lake"),
            (&[189], "Lunar Lake"),
            (&[181, 197, 198], "Arrow Lake"),
            (&[204], "Panther Lake"),
        ] {
            assert!(models.iter().all(|model| x86("GenuineIntel", 6, *model, 1) == Some(name)), "{name}");
        }
        let stepping = |stepping| x86("GenuineIntel", 6, 85, stepping);
        assert_eq!(
            [4, 5, 7, 8, 11].map(stepping).map(|name| name.unwrap_or_default()),
            ["Skylake", "Cascade Lake", "Cascade Lake", "Cooper Lake", "Cooper Lake"]
        );
        let amd = |family, model| x86("AuthenticAMD", family, model, 0);
        for (family, edges, name) in [
            (0x17, &[0x00, 0x2f, 0x50, 0x5f][..], "Zen"),
            (0x17, &[0x30, 0x4f, 0x60, 0x71, 0xa0], "Zen 2"),
            (0x19, &[0x00, 0x0f, 0x20, 0x5f], "Zen 3"),
            (0x19, &[0x10, 0x1f, 0x60, 0xaf], "Zen 4"),
            (0x1a, &[0x00, 0x2f, 0x40, 0x4f, 0x60, 0x7f], "Zen 5"),
            (0x1a, &[0x50, 0x5f, 0x80, 0xaf, 0xc0, 0xcf], "Zen 6"),
        ] {
            assert!(edges.iter().all(|model| amd(family, *model) == Some(name)), "{name} of {family:#x}");
        }
        assert_eq!([amd(0x19, 0xb0), amd(0x1a, 0x30), amd(0x1a, 0xb0), amd(0x1a, 0xd0), amd(0x15, 1)], [None; 5]);
        assert_eq!((x86("HygonGenuine", 0x18, 1, 0), amd(0x18, 1)), (Some("Zen, Hygon's"), None));
        for (implementer, part, name) in [
            (0x41, 0xd03, "Cortex-A53"),
            (0x41, 0xd05, "Cortex-A55"),
            (0x41, 0xd07, "Cortex-A57"),
            (0x41, 0xd08, "Cortex-A72"),
            (0x41, 0xd09, "Cortex-A73"),
            (0x41, 0xd0a, "Cortex-A75"),
            (0x41, 0xd0b, "Cortex-A76"),
            (0x41, 0xd0c, "Neoverse-N1"),
            (0x41, 0xd0d, "Cortex-A77"),
            (0x41, 0xd40, "Neoverse-V1"),
            (0x41, 0xd41, "Cortex-A78"),
            (0x41, 0xd44, "Cortex-X1"),
            (0x41, 0xd49, "Neoverse-N2"),
            (0x41, 0xd84, "Neoverse-V3"),
            (0x41, 0xd8e, "Neoverse-N3"),
            (0x43, 0x0af, "ThunderX2"),
            (0x46, 0x001, "A64FX"),
            (0x48, 0xd01, "TaiShan v110"),
            (0xc0, 0xac3, "Ampere-1"),
            (0xc0, 0xac4, "Ampere-1a"),
            (0xc0, 0xac5, "Ampere-1b"),
        ] {
            assert!(arm(implementer, part).is_some_and(|found| found.ends_with(name)), "{name}");
        }
        assert_eq!((arm(0x42, 0xd03), arm(0x41, 0xac3)), (None, None));
        let with_amx = ["Sapphire Rapids", "Emerald Rapids", "Granite Rapids"].map(may_have_amx);
        assert_eq!((with_amx, may_have_amx("Sierra Forest"), may_have_amx("Ice Lake")), ([true; 3], false, false));
    }
}
