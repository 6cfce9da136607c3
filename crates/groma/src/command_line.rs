//! The words that this program was started with: those of the process, unless its `main` hands over
//! others.

use std::ffi::OsString;
use std::sync::OnceLock;

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// All words from now on; the first is the name of the program.
pub(crate) fn set(words: Vec<OsString>) {
    WORDS.get_or_init(|| words);
}

/// All words, the name of the program first.
pub(crate) fn words() -> Vec<OsString> {
    WORDS.get().cloned().unwrap_or_else(|| std::env::args_os().collect())
}

/// The words after the name of the program.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    words().into_iter().skip(1)
}
