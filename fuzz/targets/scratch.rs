//! Where a target puts its files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where `fuzz/run` says, which removes it when a target was killed; else in memory if possible.
fn base() -> PathBuf {
    if let Some(dir) = std::env::var_os("GROMA_FUZZ_DIR") {
        return dir.into();
    }
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// A directory that is removed on drop.
pub(super) struct Scratch {
    pub(super) dir: PathBuf,
    /// What was made below it, directories before their contents. It is removed by name, because
    /// `remove_dir_all` opens and lists each directory, and the kernel takes half of a target's
    /// time.
    made: Vec<PathBuf>,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let dir = base().join(format!("groma-fuzz-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).expect("a temporary directory");
        Scratch { dir, made: Vec::new() }
    }

    /// Creates the files that the input describes: pieces that end with 0xff, each the number of a
    /// file and its contents. Numbers from 128 make a directory instead, and from 192 a symbolic
    /// link to the path in its contents.
    pub(super) fn plant(&mut self, data: &[u8], files: &[&str]) {
        for piece in data.split(|byte| *byte == 0xff) {
            let Some((&number, text)) = piece.split_first() else { continue };
            let path = self.dir.join(files[usize::from(number % 64) % files.len()]);
            let parent = path.parent().expect("a file has a directory");
            if self.make_dirs(parent).is_err() {
                continue;
            }
            let made = match number {
                // Existing files stay: the second of two pieces for one file is ignored.
                0..128 => !path.exists() && std::fs::write(&path, text).is_ok(),
                128..192 => std::fs::create_dir(&path).is_ok(),
                // Never out of the tree, and never to a file whose read can block.
                _ => match std::str::from_utf8(text) {
                    Ok(to) if !to.is_empty() && !to.contains(['/', '\0']) => {
                        std::os::unix::fs::symlink(to, &path).is_ok()
                    }
                    _ => false,
                },
            };
            if made {
                self.made.push(path);
            }
        }
    }

    /// Creates a directory and those above it, unless they are there.
    fn make_dirs(&mut self, dir: &Path) -> std::io::Result<()> {
        let made = std::fs::create_dir(dir).or_else(|e| match (e.kind(), dir.parent()) {
            (ErrorKind::NotFound, Some(above)) => self.make_dirs(above).and_then(|()| std::fs::create_dir(dir)),
            _ => Err(e),
        });
        match made {
            Ok(()) => self.made.push(dir.to_owned()),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for path in self.made.iter().rev() {
            let _ = std::fs::remove_dir(path).or_else(|_| std::fs::remove_file(path));
        }
        // What a parser or a link has made is left.
        if std::fs::remove_dir(&self.dir).is_err() {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
