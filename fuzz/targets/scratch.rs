//! Where a target puts its files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed on drop; in memory if possible.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let dir = base.join(format!("groma-fuzz-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).expect("a temporary directory");
        Scratch(dir)
    }

    /// Creates the files that the input describes: pieces that end with 0xff, each the number of a
    /// file and its contents. Numbers from 128 make a directory instead, and from 192 a symbolic
    /// link to the path in its contents.
    pub(super) fn plant(&self, data: &[u8], files: &[&str]) {
        for piece in data.split(|byte| *byte == 0xff) {
            let Some((&number, text)) = piece.split_first() else { continue };
            let path = self.0.join(files[usize::from(number % 64) % files.len()]);
            let parent = path.parent().expect("a file has a directory");
            // Existing files stay: the second of two pieces for one file is ignored.
            if std::fs::create_dir_all(parent).is_err() {
                continue;
            }
            let _ = match number {
                0..128 if !path.exists() => std::fs::write(&path, text),
                0..128 => Ok(()),
                128..192 => std::fs::create_dir(&path),
                // Never out of the tree, and never to a file whose read can block.
                _ => match std::str::from_utf8(text) {
                    Ok(to) if !to.is_empty() && !to.contains(['/', '\0']) => std::os::unix::fs::symlink(to, &path),
                    _ => Ok(()),
                },
            };
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
