//! The machine states of two sides: the files that are set and the commands that are run before a
//! round of either, and how they are undone at the end.
//!
//! A journal (`conditions/journal.rs`) is written before the first change and removed when
//! everything is restored, on every way out of a run. After SIGKILL the next start restores
//! ([`recover`]). Nothing here is in the timed path of a worker.

mod file;
mod journal;

use crate::shell;
use anyhow::{Context, Result, anyhow, bail};
use file::{StateFile, show_content};
use groma_harness::model::Fact;
use groma_harness::sys::signals::Watch;
use journal::{Journal, Undo};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit of a command that restores what a killed run changed.
const DEADLINE: Duration = Duration::from_secs(10);

/// The machine state of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Files and their values.
    pub set: Vec<(PathBuf, String)>,
    /// A shell command for the rest of the state. That of the first side also restores the state at
    /// the end.
    pub command: Option<String>,
}

impl Condition {
    /// Whether it sets nothing.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.command.is_none()
    }
}

/// The options that set the files of a side.
const SET_FLAGS: [&str; 2] = ["--set-a", "--set-b"];

/// Why a side was not entered.
#[derive(Debug)]
pub(crate) enum NotEntered {
    /// This signal arrived.
    Signal(i32),
    /// It failed; the error is one line.
    Failed(anyhow::Error),
}

/// The state of one side.
#[derive(Debug)]
struct Wanted {
    /// The content of each file.
    contents: Vec<Vec<u8>>,
    command: Option<String>,
}

/// The conditions of two sides. Dropping it undoes them.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// The files of both sides.
    files: Vec<StateFile>,
    sides: [Wanted; 2],
    /// The side whose command was run last.
    side: Option<usize>,
    undo: Undo,
    journal: Journal,
    /// Whether anything was changed.
    changed: bool,
    deadline: Duration,
}

impl Conditions {
    /// Locks the journal below `state` and reads the files; changes nothing.
    ///
    /// # Errors
    /// Names the file that cannot be read or written, in one line.
    pub(crate) fn new(sides: &[Condition; 2], state: &Path, deadline: Duration) -> Result<Conditions> {
        let journal = Journal::hold(state).context("the journal of what is changed")?;
        let mut files: Vec<StateFile> = Vec::new();
        let mut named: [Vec<Option<Vec<u8>>>; 2] = Default::default();
        for (side, condition) in sides.iter().enumerate() {
            for (path, value) in &condition.set {
                let file = StateFile::named(path).context(SET_FLAGS[side])?;
                let at = files.iter().position(|known| *known == file).unwrap_or_else(|| {
                    files.push(file);
                    named.iter_mut().for_each(|side| side.push(None));
                    files.len() - 1
                });
                if named[side][at].replace(format!("{value}\n").into_bytes()).is_some() {
                    bail!("{}: {}: set twice for one side", SET_FLAGS[side], path.display());
                }
            }
        }
        let before = files.iter().map(|file| Ok(file.to_restore(&file.read()?))).collect::<Result<Vec<Vec<u8>>>>()?;
        let mut named = named.map(|side| {
            let contents = side.into_iter().zip(&before);
            Some(contents.map(|(value, before)| value.unwrap_or_else(|| before.clone())).collect())
        });
        let mut wanted = |side: usize| Wanted {
            contents: named[side].take().unwrap_or_default(),
            command: sides[side].command.clone(),
        };
        let paths = files.iter().map(|file| file.path().to_owned());
        let undo = Undo { command: sides[0].command.clone(), files: paths.zip(before).collect() };
        Ok(Conditions { sides: [wanted(0), wanted(1)], files, side: None, undo, journal, changed: false, deadline })
    }

    /// Whether a command of the first side restores the machine.
    pub(crate) fn is_undone_by_a_command(&self) -> bool {
        self.sides[0].command.is_some()
    }

    /// Sets the state of a side, as far as it differs from the current one.
    pub(crate) fn enter(&mut self, side: usize, signals: &Watch) -> Result<(), NotEntered> {
        let command = self.sides[side].command.clone().filter(|_| self.side != Some(side));
        if let Some(command) = command {
            let first = !self.changed;
            self.record().map_err(NotEntered::Failed)?;
            let flag = ["--before", "--after"][side];
            match shell::run(&command, self.deadline, Some(signals)) {
                Ok(None) => {}
                Ok(Some(signal)) => return Err(NotEntered::Signal(signal)),
                Err(e) => {
                    // The command that failed is the one that restores, and nothing was changed
                    // before it. If the journal kept it, every later start would fail.
                    if first && side == 0 {
                        self.undo.command = None;
                    }
                    return Err(NotEntered::Failed(anyhow!("{flag} {e:#}")));
                }
            }
        }
        self.side = Some(side);
        self.set(side).map_err(|e| NotEntered::Failed(e.context(SET_FLAGS[side])))
    }

    /// Writes the files of a side whose content differs.
    fn set(&mut self, side: usize) -> Result<()> {
        for at in 0..self.files.len() {
            if !self.files[at].is_same(&self.files[at].read()?, &self.sides[side].contents[at]) {
                self.record()?;
                self.files[at].write(&self.sides[side].contents[at])?;
            }
        }
        Ok(())
    }

    /// Writes the journal, before the first change.
    fn record(&mut self) -> Result<()> {
        if !self.changed {
            self.journal.write(&self.undo)?;
            self.changed = true;
        }
        Ok(())
    }

    /// Restores the previous state, once.
    ///
    /// # Errors
    /// Names what could not be restored, in one line; the next start tries again.
    pub(crate) fn restore(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.changed) {
            return Ok(());
        }
        self.undo.undo(self.deadline, false).with_context(|| {
            format!("not everything is restored (the next run tries it again: {})", self.journal.path().display())
        })?;
        self.journal.remove()
    }

    /// The files with their content for a side.
    pub(crate) fn facts(&self, side: usize) -> Vec<Fact> {
        let all = self.files.iter().zip(&self.sides[side].contents);
        all.map(|(file, content)| Fact::new(file.path().display().to_string(), show_content(content))).collect()
    }
}

impl Drop for Conditions {
    fn drop(&mut self) {
        // To see an error, call `restore` before; the journal stays if it fails.
        let _ = self.restore();
    }
}

/// Restores what a killed run changed. Returns a line that says so, or `None` if there was nothing.
/// `state` is [`crate::RunRequest::state_dir`].
///
/// # Errors
/// In one line: what cannot be restored, or why the journal is not trusted.
pub fn recover(state: &Path) -> Result<Option<String>> {
    journal::recover(state, DEADLINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::watch_signals;

    /// A temporary directory, its path, and a file `a` in it that holds `before`.
    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let own = tempfile::tempdir().expect("a directory");
        let dir = own.path().canonicalize().expect("it is there");
        let file = dir.join("a");
        std::fs::write(&file, "before").expect("a file");
        (own, dir, file)
    }

    fn sides(file: &Path) -> [Condition; 2] {
        ["1", "2"].map(|value| Condition { set: vec![(file.to_owned(), value.to_owned())], command: None })
    }

    fn read(file: &Path) -> String {
        std::fs::read_to_string(file).expect("the file")
    }

    #[test]
    fn a_panic_restores_the_state() {
        let (_own, dir, file) = place();
        let panicked = std::panic::catch_unwind(|| {
            let mut all = Conditions::new(&sides(&file), &dir, DEADLINE).expect("conditions");
            let signals = watch_signals().expect("signals");
            for (side, value) in [(1, "2\n"), (0, "1\n"), (0, "1\n")] {
                all.enter(side, &signals).expect("a side");
                assert_eq!(read(&file), value);
            }
            panic!("on purpose");
        });
        assert!(panicked.is_err());
        assert_eq!(read(&file), "before");
        assert!(recover(&dir).expect("a journal").is_none(), "there is none");
    }

    /// Every later start would run the failing command again.
    #[test]
    fn a_first_command_that_fails_leaves_no_journal_and_a_later_one_does() {
        let (_own, dir, file) = place();
        let signals = watch_signals().expect("signals");
        let commands = |before: String| {
            [before, "true".to_owned()].map(|command| Condition { set: Vec::new(), command: Some(command) })
        };
        let begin = |before: &str| {
            let sides = commands(before.to_owned());
            retry(|| unlocked(Conditions::new(&sides, &dir, DEADLINE))).expect("conditions")
        };
        let mut all = begin("exit 1");
        assert!(matches!(all.enter(0, &signals), Err(NotEntered::Failed(_))));
        all.restore().expect("there is nothing to restore");
        drop(all);
        assert!(recover(&dir).expect("no journal").is_none());
        // If it has worked before, or the command of the other side has, the journal stays.
        let once = format!("test -e {0} && rm {0}", file.display());
        for first in [0, 1] {
            std::fs::write(&file, "before").expect("a file");
            let mut all = begin(if first == 0 { &once } else { "exit 1" });
            all.enter(first, &signals).expect("a side");
            if first == 0 {
                all.enter(1, &signals).expect("the other side");
            }
            assert!(matches!(all.enter(0, &signals), Err(NotEntered::Failed(_))));
            let error = format!("{:#}", all.restore().expect_err("its command fails"));
            assert!(error.starts_with("not everything is restored"), "{error}");
            drop(all);
            // A journal is left.
            retry(|| recover(&dir).err());
            std::fs::remove_file(journal_in(&dir)).expect("it is there");
        }
    }

    /// Retries until there is a value: a process that another test is starting holds a copy of the
    /// journal's lock until it has executed its program.
    fn retry<T>(mut tried: impl FnMut() -> Option<T>) -> T {
        let until = std::time::Instant::now() + DEADLINE;
        loop {
            if let Some(value) = tried() {
                return value;
            }
            assert!(std::time::Instant::now() < until, "nothing within {DEADLINE:?}");
            std::thread::yield_now();
        }
    }

    /// `None` while the lock is held.
    fn unlocked(begun: Result<Conditions>) -> Option<Result<Conditions>> {
        let is_held = |e: &anyhow::Error| format!("{e:#}").contains("another groma is changing the state");
        if begun.as_ref().is_err_and(is_held) { None } else { Some(begun) }
    }

    /// The journal below a directory.
    fn journal_in(dir: &Path) -> PathBuf {
        let host = std::fs::read_dir(dir.join("groma")).expect("a directory").flatten().next().expect("one host");
        host.path().join("changed")
    }

    #[test]
    fn the_journal_stays_until_everything_is_restored() {
        let (_own, dir, file) = place();
        let mut all = Conditions::new(&sides(&file), &dir, DEADLINE).expect("conditions");
        let signals = watch_signals().expect("signals");
        all.enter(1, &signals).expect("a side");
        let away = dir.join("away");
        std::fs::rename(&file, &away).expect("it moves");
        let error = format!("{:#}", all.restore().expect_err("there is no file"));
        assert!(error.starts_with("not everything is restored (the next run tries it again: "), "{error}");
        assert!(recover(&dir).expect("a journal").is_none(), "while its owner lives, it is left alone");
        drop(all);
        // A symbolic link in its place is not followed.
        std::os::unix::fs::symlink(&away, &file).expect("a link");
        let error = format!("{:#}", retry(|| recover(&dir).err()));
        assert!(error.contains("a symbolic link"), "{error}");
        assert_eq!(read(&away), "2\n");
        let begun = retry(|| unlocked(Conditions::new(&sides(&file), &dir, DEADLINE)));
        let error = format!("{:#}", begun.expect_err("a journal is left"));
        assert!(error.contains("what a killed run changed is not restored"), "{error}");
        std::fs::rename(&away, &file).expect("it moves back");
        let said = retry(|| recover(&dir).expect("it works now"));
        assert_eq!((read(&file).as_str(), said.ends_with("restored")), ("before", true));
    }

    #[test]
    fn a_file_of_one_side_keeps_its_content_for_the_other() {
        let (_own, dir, file) = place();
        let other = dir.join("b");
        std::fs::write(&other, "other").expect("a file");
        let set =
            |path: &Path, value: &str| Condition { set: vec![(path.to_owned(), value.to_owned())], command: None };
        let sides = [set(&file, "1"), set(&other, "2")];
        assert!(!sides[0].is_empty() && Condition::default().is_empty());
        let command = Condition { command: Some("true".to_owned()), ..Condition::default() };
        assert!(!command.is_empty());
        let mut all = Conditions::new(&sides, &dir, DEADLINE).expect("conditions");
        assert!(!all.is_undone_by_a_command());
        let facts = |side: usize| all.facts(side).into_iter().map(|fact| (fact.key, fact.value)).collect::<Vec<_>>();
        let (a, b) = (file.display().to_string(), other.display().to_string());
        let pairs = |x: &str, y: &str| vec![(a.clone(), x.to_owned()), (b.clone(), y.to_owned())];
        assert_eq!((facts(0), facts(1)), (pairs("1", "other"), pairs("before", "2")));
        let signals = watch_signals().expect("signals");
        for (side, values) in [(0, ["1\n", "other"]), (1, ["before", "2\n"]), (0, ["1\n", "other"])] {
            all.enter(side, &signals).expect("a side");
            assert_eq!([read(&file), read(&other)], values, "side {side}");
        }
        all.restore().expect("restored");
        assert_eq!([read(&file), read(&other)], ["before", "other"]);
    }

    #[test]
    fn unusable_files_are_refused_before_anything_is_changed() {
        let (_own, dir, file) = place();
        let link = dir.join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let set = |paths: &[&Path]| {
            let set = paths.iter().map(|path| ((*path).to_owned(), "1".to_owned())).collect();
            Condition { set, command: None }
        };
        let refused = |sides: [Condition; 2]| {
            let begun = retry(|| unlocked(Conditions::new(&sides, &dir, DEADLINE)));
            format!("{:#}", begun.expect_err("it is refused"))
        };
        let twice = refused([Condition::default(), set(&[&file, &link])]);
        assert!(twice.starts_with("--set-b: ") && twice.ends_with("link: set twice for one side"), "{twice}");
        let missing = refused([set(&[&dir.join("none")]), Condition::default()]);
        assert!(missing.starts_with("--set-a: ") && missing.contains("No such file"), "{missing}");
        let directory = refused([set(&[&dir]), Condition::default()]);
        assert!(directory.ends_with("not a regular file"), "{directory}");
        std::fs::write(&file, vec![b'x'; (64 << 10) + 1]).expect("a file");
        let long = refused([set(&[&file]), Condition::default()]);
        assert!(long.contains("holds more than a setting"), "{long}");
        std::fs::write(&file, "a\0b").expect("a file");
        assert!(refused([set(&[&file]), Condition::default()]).contains("holds more than a setting"));
        assert_eq!(read(&file), "a\0b");
    }
}
