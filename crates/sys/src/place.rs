//! A directory of a test's own.

use std::fs::{self, File};
use std::path::PathBuf;

/// It goes with its value, also where a test fails.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Place {
        let path = std::env::temp_dir().join(format!("groma-sys-{test}-{}", crate::process::id()));
        fs::create_dir(&path).expect("a directory for the test");
        Place(path)
    }

    /// It, opened.
    pub(crate) fn open(&self) -> File {
        File::open(&self.0).expect("the directory")
    }

    /// Writes a file below it, whose directories are made.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
