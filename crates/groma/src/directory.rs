//! Directories by their names, and the files in them. Not what is in those.

use anyhow::{Context, Result};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether a path ends in a slash, and so names a directory even where none is yet.
pub(crate) fn is_named(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

/// All files below a directory, so many directories deep, in the order of their names. Hidden ones
/// are left out, and what a link leads to.
///
/// # Errors
/// Those of reading a directory, with its name.
pub(crate) fn below(dir: &Path, depth: usize) -> Result<Vec<PathBuf>> {
    let what = || dir.display().to_string();
    let entries = std::fs::read_dir(dir).with_context(what)?;
    let mut entries: Vec<_> = entries.collect::<Result<_, _>>().with_context(what)?;
    entries.retain(|entry| !entry.file_name().as_bytes().starts_with(b"."));
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let kind = entry.file_type().with_context(what)?;
        if kind.is_dir() && depth > 0 {
            files.extend(below(&entry.path(), depth - 1)?);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// The files of a directory with this ending, in the order of their names.
///
/// # Errors
/// Those of reading the directory, with its name.
pub(crate) fn with_ending(dir: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let what = || dir.display().to_string();
    let entries = std::fs::read_dir(dir).with_context(what)?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().with_context(what)?;
    files.retain(|file| file.extension().is_some_and(|own| own == ending));
    files.sort();
    Ok(files)
}
