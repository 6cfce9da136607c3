//! A file that is part of the machine's state: a kernel setting or an ordinary file.

use anyhow::{Context, Result, bail};
use groma_harness::sys::opened::{Identity, Kind, Writing, to_write};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Longest content of a setting, in bytes.
const LONGEST_SETTING: u64 = 64 << 10;

/// A readable and writable file, by its path without symbolic links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateFile(PathBuf);

impl StateFile {
    /// The file at a path that a user typed.
    ///
    /// # Errors
    /// Names the file: it is missing, not a regular file, or cannot be written.
    pub(crate) fn named(path: &Path) -> Result<StateFile> {
        let found = path.canonicalize().map(StateFile).with_context(|| path.display().to_string())?;
        found.open().with_context(|| path.display().to_string())?;
        Ok(found)
    }

    /// The file at a path from a journal.
    ///
    /// # Errors
    /// When the path now contains a symbolic link, or is not a regular file.
    pub(crate) fn recorded(path: &Path) -> Result<StateFile> {
        let file = StateFile(path.to_owned());
        file.open().with_context(|| path.display().to_string())?;
        Ok(file)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the kernel generates its content: it may format a value differently, and keeps none
    /// across a reboot.
    pub(crate) fn is_kernels(&self) -> bool {
        StateFile::is_kernels_path(&self.0)
    }

    /// [`StateFile::is_kernels`] for a path.
    pub(crate) fn is_kernels_path(path: &Path) -> bool {
        ["/proc", "/sys"].iter().any(|kernel| path.starts_with(kernel))
    }

    fn open(&self) -> io::Result<File> {
        if self.0.canonicalize()? != self.0 {
            return Err(io::Error::other("a symbolic link"));
        }
        let before = Identity::of_path(&self.0)?;
        if before.kind != Kind::Regular {
            return Err(io::Error::other("not a regular file"));
        }
        let file = to_write(&self.0, Writing::default())?;
        if !Identity::of_open(file.as_fd())?.is(&before) {
            return Err(io::Error::other("another process replaced it"));
        }
        Ok(file)
    }

    /// Its content.
    ///
    /// # Errors
    /// Names the file: it cannot be read, or holds something other than a setting.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let name = || self.0.display().to_string();
        let mut content = Vec::new();
        File::open(&self.0)
            .and_then(|file| file.take(LONGEST_SETTING + 1).read_to_end(&mut content))
            .with_context(name)?;
        if content.len() as u64 > LONGEST_SETTING || content.contains(&0) {
            bail!("{}: holds more than a setting: expected text of at most 64 KiB", name());
        }
        Ok(content)
    }

    /// Replaces its content.
    ///
    /// # Errors
    /// Names the file: it cannot be written, or reads differently afterwards.
    pub(crate) fn write(&self, content: &[u8]) -> Result<()> {
        let name = || format!("{}: writing '{}'", self.0.display(), show_content(content));
        let write = || {
            let mut file = self.open()?;
            if !self.is_kernels() {
                file.set_len(0)?;
            }
            // One call, because the kernel takes each write as a whole value.
            file.write_all(content)
        };
        write().with_context(name)?;
        let now = self.read()?;
        if !self.is_same(&now, content) {
            bail!(
                "{}: it reads '{}' after '{}' was written",
                self.0.display(),
                show_content(&now),
                show_content(content)
            );
        }
        Ok(())
    }

    /// What to write to restore this content.
    pub(crate) fn to_restore(&self, content: &[u8]) -> Vec<u8> {
        if self.is_kernels() {
            format!("{}\n", chosen_word(&String::from_utf8_lossy(content))).into()
        } else {
            content.into()
        }
    }

    /// Whether `content` stands for this value.
    pub(crate) fn is_same(&self, content: &[u8], value: &[u8]) -> bool {
        let (content, value) = (String::from_utf8_lossy(content), String::from_utf8_lossy(value));
        if self.is_kernels() {
            chosen_word(&content).split_whitespace().eq(value.split_whitespace())
        } else {
            content.trim_end() == value.trim_end()
        }
    }
}

/// The value of a kernel setting: of several words such as `always madvise [never]`, the one in
/// brackets.
fn chosen_word(content: &str) -> &str {
    let mut bracketed = content
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .filter(|w| !w.is_empty());
    match (bracketed.next(), bracketed.next()) {
        (Some(word), None) => word,
        _ => content.trim(),
    }
}

/// A content for a message: the text if it is short, else its length.
pub(crate) fn show_content(content: &[u8]) -> String {
    const MAX_SHOWN: usize = 80;
    let text = String::from_utf8_lossy(content);
    let text = text.trim();
    if text.len() <= MAX_SHOWN && !text.contains('\n') { text.to_owned() } else { format!("({} bytes)", content.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_the_value() {
        for (content, value) in [
            ("always madvise [never]\n", "never"),
            ("[none] mq-deadline\n", "none"),
            ("60\n", "60"),
            ("4096\t131072\t6291456\n", "4096\t131072\t6291456"),
            ("[a] [b]", "[a] [b]"),
            ("[]", "[]"),
        ] {
            assert_eq!(chosen_word(content), value);
        }
        let kernels = StateFile("/proc/sys/net/ipv4/tcp_rmem".into());
        assert!(kernels.is_same(b"4096\t131072\t6291456\n", b"4096 131072 6291456\n"));
        assert!(!kernels.is_same(b"16\n", b"0x10\n"));
        assert_eq!(kernels.to_restore(b"always [madvise] never\n"), b"madvise\n");
        // In an ordinary file, brackets are content.
        let ordinary = StateFile("/tmp/procedure".into());
        assert!(!ordinary.is_same(b"a [b]", b"b") && ordinary.is_same(b"a [b]", b"a [b]\n"));
        assert_eq!(ordinary.to_restore(b"a [b] "), b"a [b] ");
    }

    #[test]
    fn a_content_is_shown_in_one_line() {
        assert_eq!(
            (show_content(b" madvise\n"), show_content(b"a\nb\n")),
            ("madvise".to_owned(), "(4 bytes)".to_owned())
        );
        assert_eq!((show_content(&[b'x'; 80]).len(), show_content(&[b'x'; 81])), (80, "(81 bytes)".to_owned()));
    }

    #[test]
    fn writing_replaces_a_longer_content() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().canonicalize().expect("it is there").join("setting");
        std::fs::write(&path, "a long value\n").expect("a file");
        let link = path.with_file_name("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let file = StateFile::named(&link).expect("a file");
        assert_eq!(file.path(), path);
        file.write(b"short\n").expect("written");
        assert_eq!(file.read().expect("read"), b"short\n");
        assert!(StateFile::recorded(&link).is_err() && StateFile::recorded(&path).is_ok());
        assert!(!file.is_kernels() && StateFile::is_kernels_path(Path::new("/proc/sys/x")));
        assert!(StateFile::is_kernels_path(Path::new("/sys/x")) && !StateFile::is_kernels_path(Path::new("/system/x")));
    }
}
