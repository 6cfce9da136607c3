//! Machines that groma was developed on, as yardsticks: a standard survey each, as a baseline in
//! the program. How to add one: docs/tasks.md, "Is this number good?".

use anyhow::{Result, bail};
use groma_store::Baseline;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use std::path::Path;

/// What stands in front of a name.
const PREFIX: &str = "reference";

/// The machines, the newest first: the name, and the file as `build.rs` compressed it.
const ALL: [(&str, &[u8]); 3] = [
    ("emerald-vm-2026", include_bytes!(concat!(env!("OUT_DIR"), "/emerald-vm-2026.z"))),
    ("zen5-vm-2026", include_bytes!(concat!(env!("OUT_DIR"), "/zen5-vm-2026.z"))),
    ("zen4-vm-2026", include_bytes!(concat!(env!("OUT_DIR"), "/zen4-vm-2026.z"))),
];

/// A machine: its name, and its file.
pub(crate) struct Reference {
    name: &'static str,
    file: &'static [u8],
}

/// The machine that a text names, `reference:zen4-vm-2026`; nothing where it names none at all.
/// `reference` alone is the newest.
///
/// # Errors
/// Names those that there are.
pub(crate) fn named(text: &str) -> Result<Option<Reference>> {
    let Some(rest) = text.strip_prefix(PREFIX) else { return Ok(None) };
    let name = match rest.strip_prefix(':') {
        Some(name) => name,
        None if rest.is_empty() => ALL[0].0,
        None => return Ok(None),
    };
    let Some(&(name, file)) = ALL.iter().find(|(known, _)| *known == name) else {
        let known: Vec<String> = ALL.iter().map(|(name, _)| format!("{PREFIX}:{name}")).collect();
        bail!("no reference '{name}' (known: {})", known.join(", "));
    };
    Ok(Some(Reference { name, file }))
}

/// All machines, the newest first.
pub(crate) fn all() -> impl Iterator<Item = Reference> {
    ALL.into_iter().map(|(name, file)| Reference { name, file })
}

impl Reference {
    /// What it is called behind `reference:`.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// What was measured there.
    pub(crate) fn baseline(&self) -> Result<Baseline> {
        let lines = decompress_to_vec_zlib(self.file).expect("build.rs compressed it");
        Ok(Baseline::of_lines(lines.as_slice(), Path::new(self.name))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_can_be_read_and_says_nothing_of_whom_it_is() {
        for (name, _) in ALL {
            let reference = named(&format!("{PREFIX}:{name}")).expect("a name").expect("it is there");
            let baseline = reference.baseline().expect("it can be read");
            assert!(baseline.metrics.len() > 200, "{name}");
            assert_eq!(baseline.head.environment.get("host.name"), Some(name), "its name is that of the reference");
            assert_eq!(baseline.head.environment.get("kernel.cmdline"), None, "{name}: it tells of the host");
            assert!(baseline.head.args.is_empty() && baseline.head.tags.is_empty(), "{name}");
        }
        assert!(named("reference:none").is_err());
        assert!(named("referenced").expect("no reference").is_none() && named("latest").expect("none").is_none());
    }
}
