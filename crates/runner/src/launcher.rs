//! How the workers of a run are started: directly, behind a command of the user, or as forks of
//! this process.

use groma_harness::Benchmark;
use groma_harness::protocol;
use groma_harness::sys::process;
use groma_harness::sys::programs::{USERS_PATH, users_path};
use groma_harness::worker;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What starts a worker. The default starts this program itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launcher {
    /// The command in front of the worker, such as `taskset -c 1`; empty for none. It gets the path
    /// of the program and one argument, and must pass on standard input, output and error.
    pub command: Vec<OsString>,
    /// The groma that is the worker; `None` for this program.
    pub program: Option<PathBuf>,
    /// Whether the worker inherits the environment of this process: a command in front of it may
    /// need it, and both sides of a comparison must have the same.
    pub inherits: bool,
    /// Workers are forks of this process instead, with all that it has made up to now.
    pub forked: Option<Forked>,
}

/// The benchmarks of a forked worker.
#[derive(Clone, Copy, Debug)]
pub struct Forked(pub &'static [&'static Benchmark]);

/// Of the same list.
impl PartialEq for Forked {
    fn eq(&self, other: &Forked) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Forked {}

/// As typed.
impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.words().map(|word| word.to_string_lossy().into_owned()).collect();
        f.write_str(&words.join(" "))
    }
}

impl Launcher {
    /// The words that were typed for it: the command and the program.
    pub fn words(&self) -> impl Iterator<Item = OsString> {
        self.command.iter().cloned().chain(self.program.clone().map(OsString::from))
    }

    /// The command that starts a worker; `this` starts this program. `padding` bytes are added to
    /// the environment.
    pub(crate) fn command(&self, this: &Path, padding: usize) -> Command {
        let mut command = match self.command.split_first() {
            None => {
                let mut command = Command::new(self.program.as_deref().unwrap_or(this));
                command.arg0("groma");
                command
            }
            Some((first, rest)) => {
                // `/proc/self/exe` would be the command.
                let this = self.program.clone().or_else(|| std::env::current_exe().ok());
                let mut command = Command::new(first);
                command.args(rest).arg(this.unwrap_or_else(|| "groma".into()));
                command
            }
        };
        command.arg(worker::ARGUMENT);
        if !self.inherits {
            // A fixed environment.
            command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
            // Where a command that is measured is searched: the user means his own.
            command.env(USERS_PATH, users_path());
        }
        // Of random size: it moves the stack, and with it the addresses that collide in a cache.
        command.env("GROMA_PADDING", "x".repeat(padding));
        command
    }

    /// The process id that a worker expects of its supervisor.
    pub(crate) fn parent(&self) -> i32 {
        if self.command.is_empty() { process::id() } else { protocol::BEHIND_A_COMMAND }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The environment of a worker, as the program `env` prints it behind a shell.
    fn environment(inherits: bool, padding: usize) -> Vec<(String, String)> {
        let command = ["/bin/sh", "-c", "exec /usr/bin/env"].map(OsString::from).to_vec();
        let launcher = Launcher { command, inherits, ..Launcher::default() };
        let out = launcher.command(Path::new("/bin/true"), padding).output().expect("a shell");
        let lines = String::from_utf8_lossy(&out.stdout).into_owned();
        lines.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    #[test]
    fn the_environment_of_a_worker_is_fixed_except_for_its_padding() {
        let padding = |all: &[(String, String)]| {
            let of_it = |(key, value): &(String, String)| (key == "GROMA_PADDING").then_some(value.len());
            all.iter().find_map(of_it)
        };
        let fixed = environment(false, 777);
        assert_eq!(padding(&fixed), Some(777));
        assert_eq!(padding(&environment(false, 12)), Some(12));
        // A shell adds some variables.
        let known = ["PATH", USERS_PATH, "GROMA_PADDING", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(fixed.iter().all(|(key, _)| known.contains(&key.as_str())), "{fixed:?}");
        let foreign = std::env::vars().any(|(key, _)| !known.contains(&key.as_str()));
        assert!(!foreign || environment(true, 0).len() > 2);
    }

    #[test]
    fn a_worker_is_started_by_its_command_and_program() {
        let started = |command: &[&str], program: Option<&str>| {
            let command = command.iter().map(OsString::from).collect();
            let launcher = Launcher { command, program: program.map(PathBuf::from), ..Launcher::default() };
            let command = launcher.command(Path::new("/this"), 0);
            let words: Vec<OsString> =
                [command.get_program()].into_iter().chain(command.get_args()).map(OsString::from).collect();
            (words, launcher.parent() == process::id())
        };
        let this = std::env::current_exe().expect("it is running").into_os_string();
        let words = |words: &[&str]| words.iter().chain([&worker::ARGUMENT]).map(OsString::from).collect::<Vec<_>>();
        assert_eq!(started(&[], None), (words(&["/this"]), true));
        assert_eq!(started(&[], Some("/other")), (words(&["/other"]), true));
        assert_eq!(started(&["nice", "-n1"], Some("/other")), (words(&["nice", "-n1", "/other"]), false));
        assert_eq!(started(&["nice"], None), (vec!["nice".into(), this, worker::ARGUMENT.into()], false));
    }

    #[test]
    fn a_launcher_is_displayed_as_typed() {
        let shown = |command: &[&str], program: Option<&str>| {
            let command = command.iter().map(OsString::from).collect();
            Launcher { command, program: program.map(PathBuf::from), ..Launcher::default() }.to_string()
        };
        assert_eq!(shown(&["taskset", "-c", "1"], None), "taskset -c 1");
        assert_eq!(shown(&["nice"], Some("/old/groma")), "nice /old/groma");
        assert_eq!((shown(&[], Some("/old/groma")), shown(&[], None)), ("/old/groma".to_owned(), String::new()));
    }
}
