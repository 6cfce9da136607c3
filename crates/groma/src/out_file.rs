//! Output files that are complete or absent: written under a temporary name in the same directory,
//! then renamed. A signal may leave the hidden temporary file (`.run.csv.4711.part`).

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// An output.
pub(crate) enum OutFile {
    /// Standard output.
    Stdout(Stdout),
    /// A pipe or a device, which cannot be replaced.
    Direct(BufWriter<File>),
    /// A regular file, renamed when it is complete.
    Renamed(Temporary),
}

/// An output that an option names. It is opened before anything is measured or computed for it, so
/// that a misspelt directory does not cost minutes. Its errors name the option and the file.
pub(crate) struct Named {
    out: OutFile,
    what: String,
}

impl Named {
    /// Opens the output of `option` as [`OutFile::create`] does.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn open(option: &str, path: &Path) -> Result<Named> {
        let what = format!("{option} {}", path.display());
        let out = OutFile::create(path).with_context(|| what.clone())?;
        Ok(Named { out, what })
    }

    /// As [`open`](Named::open) if the option was given.
    ///
    /// # Errors
    /// As [`open`](Named::open).
    pub(crate) fn open_any(option: &str, path: Option<&Path>) -> Result<Option<Named>> {
        path.map(|path| Named::open(option, path)).transpose()
    }

    /// Writes the contents and completes the file.
    ///
    /// # Errors
    /// Those of the writes and of the rename.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).and_then(|()| self.out.finish()).context(self.what)
    }
}

/// A file under a temporary name, removed on drop unless it is complete.
pub(crate) struct Temporary {
    file: BufWriter<File>,
    name: PathBuf,
    target: PathBuf,
    is_complete: bool,
}

impl OutFile {
    /// Opens an output; `-` is standard output. An existing file keeps its contents until
    /// [`finish`](OutFile::finish), and its permissions.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn create(path: &Path) -> io::Result<OutFile> {
        if path.as_os_str() == "-" {
            return Ok(OutFile::Stdout(io::stdout()));
        }
        let there = fs::metadata(path).ok();
        if let Some(there) = &there
            && !there.is_file()
        {
            return Ok(OutFile::Direct(BufWriter::new(File::create(path)?)));
        }
        if there.is_some() {
            // Fails for a file that may not be written: it may not be replaced either.
            File::options().append(true).open(path)?;
        }
        // A symbolic link stays, and its target is replaced.
        let target = if there.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        let mut name = OsString::from(".");
        name.push(target.file_name().ok_or(io::ErrorKind::InvalidFilename)?);
        name.push(format!(".{}.part", std::process::id()));
        let name = target.with_file_name(name);
        let file = File::options().write(true).create_new(true).open(&name)?;
        let temporary = Temporary { file: BufWriter::new(file), name, target, is_complete: false };
        if let Some(there) = there {
            temporary.file.get_ref().set_permissions(there.permissions())?;
        }
        Ok(OutFile::Renamed(temporary))
    }

    /// Flushes the output, and renames a regular file.
    ///
    /// # Errors
    /// Those of the writes and of the rename. The file of that name is then unchanged.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let OutFile::Renamed(temporary) = &mut self {
            fs::rename(&temporary.name, &temporary.target)?;
            temporary.is_complete = true;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_complete {
            // The error of the export is reported already.
            let _ = fs::remove_file(&self.name);
        }
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            OutFile::Stdout(out) => out.write(bytes),
            OutFile::Direct(file) => file.write(bytes),
            OutFile::Renamed(temporary) => temporary.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OutFile::Stdout(out) => out.flush(),
            OutFile::Direct(file) => file.flush(),
            OutFile::Renamed(temporary) => temporary.file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).expect("the directory").flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_complete_or_unchanged() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run.csv");
        fs::write(&path, "before").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("permissions");
        let mut abandoned = OutFile::create(&path).expect("an output");
        abandoned.write_all(b"half").expect("written");
        abandoned.flush().expect("written");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "before");
        drop(abandoned);
        assert_eq!((fs::read_to_string(&path).expect("the file").as_str(), names(dir.path()).len()), ("before", 1));
        let mut out = OutFile::create(&path).expect("an output");
        out.write_all(b"after").expect("written");
        out.finish().expect("renamed");
        assert_eq!((fs::read_to_string(&path).expect("the file").as_str(), names(dir.path()).len()), ("after", 1));
        assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "before").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let mut out = OutFile::create(&link).expect("an output");
        out.write_all(b"after").expect("written");
        out.finish().expect("renamed");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("the file"), "after");
        let mut null = OutFile::create(Path::new("/dev/null")).expect("a device");
        null.write_all(b"nothing").expect("written");
        null.finish().expect("done");
        assert!(!fs::metadata("/dev/null").expect("the device").is_file());
    }
}
