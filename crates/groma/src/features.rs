//! What a build may leave out, because it takes long to build and few need it, and the command that
//! brings it. The verbs and options are there in every build, so that one looks like the other.

use anyhow::{Error, Result, anyhow};
use std::sync::LazyLock;

/// A feature of the crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feature {
    /// Its name in Cargo.toml.
    name: &'static str,
    /// What a build without it lacks.
    what: &'static str,
    is_built: bool,
}

impl Feature {
    pub(crate) const COMPLETIONS: Feature =
        Feature { name: "completions", what: "completions", is_built: cfg!(feature = "completions") };
    pub(crate) const MANUAL: Feature =
        Feature { name: "manual", what: "manual pages", is_built: cfg!(feature = "manual") };
    pub(crate) const PARQUET: Feature =
        Feature { name: "parquet", what: "Parquet", is_built: cfg!(feature = "parquet") };
    pub(crate) const PNG: Feature = Feature { name: "png", what: "PNG", is_built: cfg!(feature = "png") };
    pub(crate) const POSTGRES: Feature =
        Feature { name: "postgres", what: "PostgreSQL", is_built: cfg!(feature = "postgres") };

    /// All of them, by their names.
    const ALL: [Feature; 5] =
        [Feature::COMPLETIONS, Feature::MANUAL, Feature::PARQUET, Feature::PNG, Feature::POSTGRES];

    /// Refuses what this build cannot do.
    ///
    /// # Errors
    /// When the feature is not built.
    pub(crate) fn require(self) -> Result<()> {
        if self.is_built { Ok(()) } else { Err(self.missing()) }
    }

    /// The error of a build without it.
    pub(crate) fn missing(self) -> Error {
        let Feature { name, what, .. } = self;
        anyhow!("this groma was built without {what}: cargo install --path crates/groma --features {name} (or full)")
    }
}

/// What `--version` says: the version, the commit, and how it was built.
pub(crate) static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let built: Vec<&str> = Feature::ALL.iter().filter(|one| one.is_built).map(|one| one.name).collect();
    let features = if built.is_empty() { "none".to_owned() } else { built.join(", ") };
    let commit = match env!("GROMA_COMMIT") {
        "" => String::new(),
        commit => format!(" ({commit})"),
    };
    let linked = if cfg!(target_feature = "crt-static") { ", static" } else { "" };
    format!("{}{commit}\nfeatures: {features}\ntarget: {}{linked}", env!("CARGO_PKG_VERSION"), env!("GROMA_TARGET"))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_names_the_command_that_brings_it() {
        let error = Feature { is_built: false, ..Feature::PARQUET }.require().expect_err("it is not built").to_string();
        assert!(error.contains("without Parquet") && error.contains("--features parquet"), "{error}");
        assert!(Feature { is_built: true, ..Feature::PARQUET }.require().is_ok());
        // Names that cargo does not know would be read as code that is never built.
        let manifest = include_str!("../Cargo.toml");
        let full = manifest.lines().find(|line| line.starts_with("full = ")).expect("all of them");
        for feature in Feature::ALL {
            assert!(full.contains(&format!("\"{}\"", feature.name)), "{}", feature.name);
        }
    }
}
