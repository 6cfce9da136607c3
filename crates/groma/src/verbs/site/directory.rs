//! The directory of a site: what changed is written, what is no longer there is removed, and
//! nothing else is touched.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The list of the files that the last call wrote. It says that the directory is a site.
const LIST: &str = ".groma-site";

/// The directory of a site.
pub(super) struct Directory {
    root: PathBuf,
    /// What the last call wrote.
    before: BTreeSet<String>,
    /// What this one did.
    now: BTreeSet<String>,
    wrote: Wrote,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wrote {
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) changed: usize,
    pub(super) removed: usize,
}

impl Directory {
    /// Opens a directory that is new, empty or a site.
    ///
    /// # Errors
    /// When it is something else, or cannot be read.
    pub(super) fn open(root: &Path) -> Result<Directory> {
        let shown = root.display();
        let before = match fs::read_to_string(root.join(LIST)) {
            Ok(list) => list.lines().filter(|line| is_inside(line)).map(str::to_owned).collect(),
            Err(_) => BTreeSet::new(),
        };
        if root.exists() && !root.is_dir() {
            bail!("-o {shown}: expected a directory, and it is a file");
        }
        let is_site = root.join(LIST).exists();
        let has_files = root.is_dir() && fs::read_dir(root).with_context(|| format!("-o {shown}"))?.next().is_some();
        if has_files && !is_site {
            bail!("-o {shown}: it holds other files; expected a new or empty directory, or a site of groma's");
        }
        fs::create_dir_all(root).with_context(|| format!("-o {shown}"))?;
        // Before the first page: a call that is broken off leaves a site that the next one repairs.
        let directory = Directory { root: root.to_owned(), before, now: BTreeSet::new(), wrote: Wrote::default() };
        directory.list(&directory.before)?;
        Ok(directory)
    }

    /// Writes a file unless it is there with this content.
    pub(super) fn write(&mut self, path: &str, content: &[u8]) -> Result<()> {
        let place = self.root.join(path);
        let what = || place.display().to_string();
        self.wrote.files += 1;
        self.wrote.bytes += content.len() as u64;
        self.now.insert(path.to_owned());
        if fs::read(&place).is_ok_and(|known| known == content) {
            return Ok(());
        }
        let parent = place.parent().context("a file of the site is in a directory")?;
        fs::create_dir_all(parent).with_context(what)?;
        fs::write(&place, content).with_context(what)?;
        self.wrote.changed += 1;
        Ok(())
    }

    /// Removes what the last call wrote and this one did not.
    pub(super) fn finish(mut self) -> Result<Wrote> {
        for path in self.before.difference(&self.now) {
            self.wrote.removed += usize::from(fs::remove_file(self.root.join(path)).is_ok());
        }
        self.list(&self.now)?;
        Ok(self.wrote)
    }

    fn list(&self, files: &BTreeSet<String>) -> Result<()> {
        let text: String = files.iter().map(|file| format!("{file}\n")).collect();
        let place = self.root.join(LIST);
        fs::write(&place, text).with_context(|| place.display().to_string())
    }
}

/// Whether a path stays below the directory: the list may come from elsewhere.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_site_wrote_is_removed() {
        let place = tempfile::tempdir().expect("a place");
        let root = place.path().join("public");
        let write = |files: &[(&str, &str)]| {
            let mut site = Directory::open(&root).expect("new, or a site");
            files.iter().for_each(|(path, text)| site.write(path, text.as_bytes()).expect("it can be written"));
            site.finish().expect("it can be finished")
        };
        let first = write(&[("index.html", "a"), ("machines/a.html", "a"), ("machines/b.html", "b")]);
        assert_eq!((first.files, first.changed, first.removed), (3, 3, 0));
        fs::write(root.join("CNAME"), "of the user").expect("it can be written");
        fs::write(place.path().join("outside"), "of the user").expect("it can be written");
        let list = fs::read_to_string(root.join(LIST)).expect("the list");
        fs::write(root.join(LIST), format!("{list}../outside\n/etc/nothing\n")).expect("it can be written");
        let second = write(&[("index.html", "a"), ("machines/b.html", "c")]);
        assert_eq!((second.changed, second.removed), (1, 1));
        assert!(root.join("CNAME").exists() && place.path().join("outside").exists());
        assert!(!root.join("machines/a.html").exists());
        let other = place.path().join("other");
        fs::create_dir(&other).and_then(|()| fs::write(other.join("thesis.tex"), "")).expect("a directory");
        assert!(Directory::open(&other).is_err_and(|e| e.to_string().contains("other files")));
    }
}
