//! Small text files below a directory that stands for `/`: the real root, another one in a test, or
//! a recording.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Far above the length of every file read here; an unexpected one must not cost time or memory.
const LIMIT: u64 = 1 << 20;

/// Files by their paths, without the slash in front, and their texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files(pub(crate) BTreeMap<String, String>);

impl Files {
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The names in a directory, sorted.
    pub(crate) fn names(&self, dir: &str) -> Vec<String> {
        let dir = format!("{}/", dir.trim_matches('/'));
        let below = self.0.range(dir.clone()..).map_while(|(path, _)| path.strip_prefix(&dir));
        let mut names: Vec<String> = below.filter_map(|rest| rest.split('/').next().map(str::to_owned)).collect();
        names.dedup();
        names
    }
}

/// What stands for `/`.
#[derive(Debug, Clone)]
pub(crate) struct Tree(Root);

#[derive(Debug, Clone)]
enum Root {
    /// A directory.
    Dir(PathBuf),
    /// A directory, and what has been read below it.
    Noted(PathBuf, RefCell<Files>),
    /// Only what was read once.
    Recorded(Files),
}

impl Tree {
    pub(crate) fn at(root: &Path) -> Tree {
        Tree(Root::Dir(root.to_path_buf()))
    }

    /// As [`Tree::at`], and notes what is read: see [`Tree::noted`].
    pub(crate) fn noting(root: &Path) -> Tree {
        Tree(Root::Noted(root.to_path_buf(), RefCell::default()))
    }

    pub(crate) fn recorded(files: &Files) -> Tree {
        Tree(Root::Recorded(files.clone()))
    }

    /// The files read so far; none unless the tree notes them.
    pub(crate) fn noted(self) -> Files {
        match self.0 {
            Root::Noted(_, noted) => noted.into_inner(),
            Root::Dir(_) | Root::Recorded(_) => Files::default(),
        }
    }

    /// The path of a file; `None` in a recording.
    fn path(&self, absolute: &str) -> Option<PathBuf> {
        match &self.0 {
            Root::Dir(root) | Root::Noted(root, _) => Some(root.join(absolute.trim_start_matches('/'))),
            Root::Recorded(_) => None,
        }
    }

    /// At most the first `limit` bytes of the file.
    pub(crate) fn bytes(&self, absolute: &str, limit: u64) -> io::Result<Vec<u8>> {
        if let Root::Recorded(recording) = &self.0 {
            let text = recording.text(absolute.trim_start_matches('/')).ok_or(ErrorKind::NotFound)?;
            return Ok(text.as_bytes().to_vec());
        }
        // Almost every file fits: one read for the text and one for end-of-file.
        let mut bytes = Vec::with_capacity(1024);
        File::open(self.path(absolute).ok_or(ErrorKind::NotFound)?)?.take(limit).read_to_end(&mut bytes)?;
        if let Root::Noted(_, noted) = &self.0 {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            noted.borrow_mut().0.insert(absolute.trim_start_matches('/').to_owned(), text);
        }
        Ok(bytes)
    }

    /// At most the first `limit` bytes of the file as text, without the white space around it.
    pub(crate) fn head(&self, absolute: &str, limit: u64) -> io::Result<String> {
        let bytes = self.bytes(absolute, limit)?;
        // Device tree strings end with a NUL.
        Ok(String::from_utf8_lossy(&bytes).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// The whole (small) file, without the white space around it.
    pub(crate) fn read(&self, absolute: &str) -> io::Result<String> {
        self.head(absolute, LIMIT)
    }

    /// The whole (small) file, if it is readable and not empty.
    pub(crate) fn text(&self, absolute: &str) -> Option<String> {
        self.read(absolute).ok().filter(|text| !text.is_empty())
    }

    /// The entries of a directory that are this name and a number, such as `node0`, by number: what
    /// a list says may exist can be tens of thousands.
    pub(crate) fn numbered(&self, dir: &str, name: &str) -> Vec<u32> {
        let number = |entry: &String| entry.strip_prefix(name)?.parse().ok();
        let mut numbers: Vec<u32> = self.names(dir).iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The file as one number.
    pub(crate) fn number<T: std::str::FromStr>(&self, absolute: &str) -> Option<T> {
        self.text(absolute)?.parse().ok()
    }

    pub(crate) fn exists(&self, absolute: &str) -> bool {
        match &self.0 {
            Root::Recorded(recording) => {
                recording.text(absolute.trim_start_matches('/')).is_some() || !recording.names(absolute).is_empty()
            }
            _ => self.path(absolute).is_some_and(|path| path.exists()),
        }
    }

    /// The names in a directory, in natural order (`node2` before `node10`); none when it cannot be
    /// listed.
    pub(crate) fn names(&self, absolute: &str) -> Vec<String> {
        let listed = || std::fs::read_dir(self.path(absolute)?).ok();
        let mut names: Vec<String> = match &self.0 {
            Root::Recorded(recording) => recording.names(absolute),
            _ => {
                listed().into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
            }
        };
        names.sort_by_cached_key(|name| {
            let start = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
            let (word, rest) = name.split_at(start);
            let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
            (word.to_owned(), digits.parse::<u64>().unwrap_or(0), name.clone())
        });
        names
    }

    /// The target of a symbolic link, unresolved.
    pub(crate) fn link(&self, absolute: &str) -> Option<String> {
        std::fs::read_link(self.path(absolute)?).ok()?.to_str().map(str::to_owned)
    }
}

/// Whether an error means that this kernel or machine has no such thing.
pub(crate) fn means_absent(error: &io::Error) -> bool {
    const ENODEV: i32 = 19;
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput | ErrorKind::Unsupported
    ) || error.raw_os_error() == Some(ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    /// A directory with three files.
    fn scratch(test: &str) -> Scratch {
        let scratch = Scratch::new(&format!("tree-{test}"));
        for (file, text) in [("a/node10/x", " 7 \n"), ("a/node2/x", "text\0\n"), ("a/nodes", ""), ("a/2nd", "12\n34\n")]
        {
            scratch.write(file, text);
        }
        scratch
    }

    #[test]
    fn files_are_read_alike_from_a_directory_and_from_a_recording() {
        let scratch = scratch("alike");
        let root = &scratch.0;
        let noting = Tree::noting(root);
        for path in ["a/node10/x", "/a/node2/x", "a/nodes", "a/2nd", "a/none"] {
            drop(noting.read(path));
        }
        let recorded = Tree::recorded(&noting.noted());
        for tree in [Tree::at(root), recorded] {
            assert_eq!((tree.number("a/node10/x"), tree.number::<u32>("/a/2nd")), (Some(7u32), None));
            assert_eq!((tree.text("a/node2/x").as_deref(), tree.text("a/nodes")), (Some("text"), None));
            assert_eq!(tree.read("a/nodes").expect("it is there"), "");
            assert_eq!(tree.read("a/none").map_err(|e| e.kind()), Err(ErrorKind::NotFound));
            assert_eq!(tree.names("/a"), ["2nd", "node2", "node10", "nodes"]);
            assert_eq!((tree.numbered("a", "node"), tree.names("none")), (vec![2, 10], Vec::<String>::new()));
            assert_eq!(["a", "/a/2nd", "a/node", "b"].map(|path| tree.exists(path)), [true, true, false, false]);
            assert_eq!(tree.link("a/2nd"), None);
        }
        assert!(Tree::at(root).noted().0.is_empty());
    }

    #[test]
    fn no_more_is_read_than_requested_and_links_are_not_followed() {
        let scratch = scratch("head");
        let root = &scratch.0;
        let long = vec![b'x'; LIMIT as usize + 10];
        std::fs::write(root.join("long"), &long).expect("a file");
        std::os::unix::fs::symlink("nowhere", root.join("link")).expect("a link");
        let tree = Tree::at(root);
        assert_eq!(tree.head("a/2nd", 4).expect("it is there"), "12\n3");
        assert_eq!(tree.bytes("a/2nd", 100).expect("it is there"), b"12\n34\n", "as they are");
        assert_eq!((tree.read("long").expect("it is there").len(), LIMIT), (1 << 20, 1 << 20));
        assert_eq!(tree.link("link").as_deref(), Some("nowhere"));
    }

    /// A file without permission exists.
    #[test]
    fn missing_files_and_unreadable_files_differ() {
        let absent = |errno: i32| means_absent(&io::Error::from_raw_os_error(errno));
        for errno in [libc::ENOENT, libc::ENOTDIR, libc::EINVAL, libc::EOPNOTSUPP, libc::ENODEV] {
            assert!(absent(errno), "{}", io::Error::from_raw_os_error(errno));
        }
        for errno in [libc::EACCES, libc::EPERM, libc::EIO, libc::EISDIR, libc::ENXIO] {
            assert!(!absent(errno), "{}", io::Error::from_raw_os_error(errno));
        }
    }
}
