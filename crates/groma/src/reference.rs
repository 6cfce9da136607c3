//! The reference machines: baselines of a standard survey on each, compiled into the program.
//! docs/tasks.md, "Is this number good?", says how to add one.

use anyhow::{Result, bail};
use groma_store::Baseline;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use std::path::Path;

/// The prefix of references.
const PREFIX: &str = "reference";

/// The machines, newest first: the name, and the file that `build.rs` compressed.
const ALL: [(&str, &[u8]); 3] = [
    ("emerald-vm-2026", include_bytes!(concat!(env!("OUT_DIR"), "/emerald-vm-2026.z"))),
    ("zen5-vm-2026", include_bytes!(concat!(env!("OUT_DIR"), "/zen5-vm-2026.z"))),
    ("zen4-vm-2026", include_bytes!(concat!(env!("OUT_DIR"), "/zen4-vm-2026.z"))),
];

/// A reference machine.
pub(crate) struct Reference {
    name: &'static str,
    file: &'static [u8],
}

/// The machine of `reference:NAME`, or the newest for `reference` alone; `None` for other texts.
///
/// # Errors
/// When no machine has this name; lists those that exist.
pub(crate) fn find_reference(text: &str) -> Result<Option<Reference>> {
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

/// All machines, newest first.
pub(crate) fn all() -> impl Iterator<Item = Reference> {
    ALL.into_iter().map(|(name, file)| Reference { name, file })
}

impl Reference {
    /// The name after `reference:`.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The baseline of the machine.
    pub(crate) fn baseline(&self) -> Result<Baseline> {
        let lines = decompress_to_vec_zlib(self.file).expect("build.rs compressed it");
        Ok(Baseline::of_lines(lines.as_slice(), Path::new(self.name))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_can_be_read_and_reveals_no_owner() {
        for (name, _) in ALL {
            let reference = find_reference(&format!("{PREFIX}:{name}")).expect("a name").expect("it is there");
            let baseline = reference.baseline().expect("it can be read");
            assert!(baseline.metrics.len() > 200, "{name}");
            assert_eq!(baseline.head.environment.get("host.name"), Some(name), "its name is that of the reference");
            assert_eq!(baseline.head.environment.get("kernel.cmdline"), None, "{name}: it reveals the host");
            assert!(baseline.head.args.is_empty() && baseline.head.tags.is_empty(), "{name}");
        }
        assert!(find_reference("reference:none").is_err());
        assert!(
            find_reference("referenced").expect("no reference").is_none()
                && find_reference("latest").expect("none").is_none()
        );
    }
}
