//! The journal of changes to the machine's state, written to disk before the first change, so that
//! the next start can restore it after SIGKILL.
//!
//! There is one journal per user and machine, in a directory that only this user may enter; a lock
//! on the directory shows that its owner lives. It is opened by descriptors, never through a
//! symbolic link ([`groma_harness::sys::dirs`]).

use super::file::StateFile;
use crate::{identity, shell};
use anyhow::{Context, Result, anyhow, bail};
use groma_harness::sys::dirs::Dir;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name.
const NAME: &str = "changed";
/// Its first and last field: a journal without the last was cut off before anything was changed.
const HEAD: &[u8] = b"groma changed 1";
const END: &[u8] = b"end";
/// Longest journal in bytes: some hundred files of 64 KiB.
const LONGEST_JOURNAL: usize = 16 << 20;

/// How to restore the machine's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    /// A shell command, run first.
    pub(super) command: Option<String>,
    /// Files and their content.
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
}

impl Undo {
    /// Runs the command and writes the files whose content differs. Continues after an error.
    ///
    /// # Errors
    /// All errors in one line.
    pub(super) fn undo(&self, deadline: Duration, restarted: bool) -> Result<()> {
        let command = self.command.iter().map(|command| shell::run(command, deadline, None).map(drop));
        let write = |(path, content): &(PathBuf, Vec<u8>)| {
            // A reboot has reset kernel settings.
            if restarted && StateFile::is_kernels_path(path) {
                return Ok(());
            }
            let file = StateFile::recorded(path)?;
            let is_there = |now: Vec<u8>| if file.is_kernels() { file.is_same(&now, content) } else { now == *content };
            if file.read().is_ok_and(is_there) { Ok(()) } else { file.write(content) }
        };
        // The command first: it may change a file as well.
        let done: Vec<Result<()>> =
            command.collect::<Vec<_>>().into_iter().chain(self.files.iter().map(write)).collect();
        let wrong: Vec<String> = done.into_iter().filter_map(|one| one.err().map(|e| format!("{e:#}"))).collect();
        if wrong.is_empty() { Ok(()) } else { Err(anyhow!(wrong.join("; "))) }
    }

    /// A list of what it restores, for messages.
    fn what(&self) -> String {
        let files = self.files.iter().map(|(path, _)| path.display().to_string());
        files
            .chain(self.command.iter().map(|command| format!("what '{command}' stands for")))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Fields that end with a NUL, which neither a path nor a setting contains.
    fn to_bytes(&self) -> Vec<u8> {
        let boot = identity::boot_id();
        let mut fields: Vec<&[u8]> = vec![HEAD, boot.as_bytes()];
        if let Some(command) = &self.command {
            fields.extend([b"run", command.as_bytes()]);
        }
        for (path, content) in &self.files {
            fields.extend([b"write", path.as_os_str().as_bytes(), content]);
        }
        fields.push(END);
        fields.into_iter().flat_map(|field| [field, b"\0"].concat()).collect()
    }

    /// Reads a journal, and whether the machine was rebooted since. `Ok(None)`: it is cut off.
    fn from_bytes(bytes: &[u8]) -> Result<Option<(Undo, bool)>, &'static str> {
        if bytes.len() < HEAD.len() && HEAD.starts_with(bytes) {
            return Ok(None);
        }
        let Some(rest) = bytes.strip_prefix(HEAD) else { return Err("not a groma journal, or from another version") };
        let Some(rest) = rest.strip_suffix(b"\0end\0") else { return Ok(None) };
        let mut fields = rest.split(|byte| *byte == 0).skip(1);
        let Some(boot) = fields.next() else { return Err("it is malformed") };
        let mut undo = Undo::default();
        while let Some(kind) = fields.next() {
            let mut field = || fields.next().ok_or("it is malformed");
            match kind {
                b"run" => undo.command = Some(String::from_utf8(field()?.to_vec()).map_err(|_| "it is malformed")?),
                b"write" => {
                    let path = PathBuf::from(OsString::from_vec(field()?.to_vec()));
                    if !path.is_absolute() {
                        return Err("it is malformed");
                    }
                    undo.files.push((path, field()?.to_vec()));
                }
                _ => return Err("it is malformed"),
            }
        }
        Ok(Some((undo, boot != identity::boot_id().as_bytes())))
    }
}

/// The directory of the journal and its lock, which shows that the owner lives.
#[derive(Debug)]
pub(super) struct Journal {
    dir: Dir,
    path: PathBuf,
}

impl Journal {
    /// Opens and locks the directory below `state`, created if `make` is set. `Ok(None)` if it is
    /// missing, or another groma holds the lock.
    fn open(state: &Path, make: bool) -> Result<Option<Journal>> {
        // If nothing was ever changed, nothing is opened.
        let missing = |e: io::Error| e.kind() == ErrorKind::NotFound;
        if !make && state.join("groma").symlink_metadata().is_err_and(missing) {
            return Ok(None);
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").context("the name of this machine")?;
        // Machines may share a home directory.
        let host = format!("on-{}", host.trim().replace('/', "-"));
        let place = state.join("groma").join(&host);
        let open = || -> io::Result<Dir> {
            let mut dir = Dir::open(state)?;
            for name in [OsStr::new("groma"), OsStr::new(&host)] {
                dir = match dir.directory(name) {
                    Err(e) if e.kind() == ErrorKind::NotFound && make => dir.make(name)?,
                    found => found?,
                };
            }
            Ok(dir)
        };
        if make {
            std::fs::create_dir_all(state).with_context(|| state.display().to_string())?;
        }
        let dir = match open() {
            Err(e) if e.kind() == ErrorKind::NotFound && !make => return Ok(None),
            found => found.with_context(|| place.display().to_string())?,
        };
        if !dir.is_private()? {
            bail!(
                "{}: others may enter it, or own it: expected a directory of this user with mode 0700",
                place.display()
            );
        }
        match dir.try_lock() {
            Ok(()) => Ok(Some(Journal { dir, path: place.join(NAME) })),
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e).with_context(|| format!("{}: locking it", place.display())),
        }
    }

    /// Locks the journal of this machine, which must not exist yet.
    ///
    /// # Errors
    /// When another groma holds the lock, a killed run was not restored, or the directory cannot be
    /// created.
    pub(super) fn hold(state: &Path) -> Result<Journal> {
        let Some(journal) = Journal::open(state, true)? else {
            bail!("another groma is changing the state of this machine: wait until it has ended");
        };
        let is_it = |name: &OsStr| name == NAME;
        if !journal.dir.names(is_it)?.is_empty() {
            bail!("{}: what a killed run changed is not restored: see there, and remove it", journal.path.display());
        }
        Ok(journal)
    }

    /// Writes the journal.
    ///
    /// # Errors
    /// Those of the file system, naming the file.
    pub(super) fn write(&self, undo: &Undo) -> Result<()> {
        self.dir.write_durably(OsStr::new(NAME), &undo.to_bytes()).with_context(|| self.path.display().to_string())
    }

    /// Removes it, after everything is restored.
    ///
    /// # Errors
    /// Those of the file system, naming the file.
    pub(super) fn remove(&self) -> Result<()> {
        self.dir.unlink(OsStr::new(NAME)).with_context(|| self.path.display().to_string())
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Restores what a killed run changed, and returns a line that says so; `None` if there is nothing.
pub(super) fn recover(state: &Path, deadline: Duration) -> Result<Option<String>> {
    let Some(journal) = Journal::open(state, false)? else { return Ok(None) };
    let path = journal.path.display();
    let bytes = match journal.dir.read_own(OsStr::new(NAME), LONGEST_JOURNAL) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| anyhow!("{path}: not followed: {e}"))?,
    };
    let Some((undo, restarted)) = Undo::from_bytes(&bytes).map_err(|why| anyhow!("{path}: not followed: {why}"))?
    else {
        // Killed while writing it: nothing was changed yet.
        journal.remove()?;
        return Ok(None);
    };
    let what = undo.what();
    undo.undo(deadline, restarted)
        .with_context(|| format!("a killed run changed {what}, which cannot be restored (remove {path} to give up)"))?;
    journal.remove()?;
    Ok(Some(format!("a killed run had changed {what}: restored")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_reads_back_unless_it_is_cut_off() {
        let undo = Undo {
            command: Some("true \n".to_owned()),
            files: vec![("/proc/sys/a".into(), b"1\n".to_vec()), ("/tmp/b c".into(), Vec::new())],
        };
        let bytes = undo.to_bytes();
        assert_eq!(Undo::from_bytes(&bytes), Ok(Some((undo.clone(), false))));
        for end in 0..bytes.len() {
            assert_eq!(Undo::from_bytes(&bytes[..end]), Ok(None), "{end}");
        }
        let boot = identity::boot_id();
        let earlier = String::from_utf8(bytes).expect("text").replace(&boot, &"0".repeat(boot.len()));
        assert_eq!(Undo::from_bytes(earlier.as_bytes()), Ok(Some((undo, true))));
    }

    #[test]
    fn other_files_are_refused() {
        let malformed = ["\0boot\0walk\0x\0end\0", "\0boot\0write\0relative\0x\0end\0", "\0boot\0write\0/a\0end\0"];
        for text in
            malformed.map(|rest| format!("groma changed 1{rest}")).iter().map(String::as_str).chain(["#!/bin/sh"])
        {
            assert!(Undo::from_bytes(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn kernel_settings_are_not_restored_after_a_reboot() {
        let read = |path: &Path| std::fs::read_to_string(path).expect("readable");
        let kernels = PathBuf::from(format!("/proc/{}/comm", std::process::id()));
        let Ok(before) = std::fs::read(&kernels) else { return eprintln!("not here: no {}", kernels.display()) };
        let dir = tempfile::tempdir().expect("a directory");
        let on_disk = dir.path().canonicalize().expect("there").join("setting");
        std::fs::write(&on_disk, "changed\n").expect("a file");
        let other = b"groma-test".to_vec();
        let undo = Undo { command: None, files: vec![(kernels.clone(), other.clone()), (on_disk.clone(), other)] };
        let deadline = Duration::from_secs(10);
        undo.undo(deadline, true).expect("restored");
        assert_eq!((read(&kernels).as_bytes(), read(&on_disk).as_str()), (&before[..], "groma-test"));
        undo.undo(deadline, false).expect("restored");
        assert_eq!(read(&kernels), "groma-test\n");
        std::fs::write(&kernels, before.trim_ascii_end()).expect("its name");
    }

    /// Another user could have commands run as this user.
    #[test]
    fn a_journal_that_others_may_enter_is_not_followed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let journal = Journal::hold(dir.path()).expect("it is not locked");
        let place = journal.path().parent().expect("a directory").to_owned();
        assert!(Journal::open(dir.path(), false).expect("it can be looked at").is_none(), "it is held");
        journal.write(&Undo { command: Some("true".to_owned()), files: Vec::new() }).expect("written");
        assert!(journal.write(&Undo::default()).is_err(), "one is there already");
        drop(journal);
        for mode in [0o701, 0o710, 0o770] {
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode)).expect("ours");
            let refused = format!("{:#}", recover(dir.path(), Duration::from_secs(10)).expect_err("it is not private"));
            assert!(refused.contains("others may enter it"), "{mode:o}: {refused}");
        }
        assert!(recover(&dir.path().join("none"), Duration::from_secs(10)).expect("there is none").is_none());
    }

    #[test]
    fn messages_name_what_is_restored() {
        let undo = Undo {
            command: Some("swapon -a".to_owned()),
            files: vec![("/a".into(), Vec::new()), ("/b".into(), Vec::new())],
        };
        assert_eq!(undo.what(), "/a, /b, what 'swapon -a' stands for");
        let wrong = Undo { command: Some("exit 3".to_owned()), files: vec![("/nowhere/a".into(), Vec::new())] };
        let error = format!("{:#}", wrong.undo(Duration::from_secs(10), false).expect_err("both fail"));
        assert!(error.starts_with("'exit 3' exited with code 3; /nowhere/a: "), "{error}");
    }
}
