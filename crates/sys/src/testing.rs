//! What the unit tests of this crate share: child processes with one thread, and directories.

use crate::fork;
use std::fs::{self, File};
use std::path::PathBuf;

/// Runs `body` in a forked child, which has one thread and may change its own limits and rights;
/// returns its exit code.
pub(crate) fn in_child(body: impl FnOnce() -> i32) -> Option<i32> {
    fork::fork(body).expect("fork").wait().expect("wait").code()
}

/// 0 if all checks hold, otherwise the position of the first that fails, from 1 on: an exit code
/// for a child, whose messages would be lost.
pub(crate) fn first_wrong(checks: &[bool]) -> i32 {
    checks.iter().position(|holds| !holds).map_or(0, |index| index as i32 + 1)
}

/// Drops the superuser's rights if this process has them; false if that fails. Only in a child.
pub(crate) fn drop_root() -> bool {
    let nobody = rustix::process::Uid::from_raw(65_534);
    !crate::process::is_root() || rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_ok()
}

/// The pages of all mappings of this process, from `/proc/self/statm`; `None` without it.
pub(crate) fn mapped_pages() -> Option<u64> {
    fs::read_to_string("/proc/self/statm").ok()?.split(' ').next()?.parse().ok()
}

/// The number of descriptors that this process has open, including the one used to count them; 0
/// without `/proc`.
pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// A directory for one test, removed when the value is dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("groma-sys-{test}-{}", crate::process::id()));
        fs::create_dir(&path).expect("a directory for the test");
        Scratch(path)
    }

    /// Opens the directory itself.
    pub(crate) fn open(&self) -> File {
        File::open(&self.0).expect("the directory")
    }

    /// Writes a file below it and creates the directories above the file.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
