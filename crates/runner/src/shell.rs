//! Runs a command, the user's in a shell or a program that a verb needs, as a process group that is
//! killed at a deadline or on a signal. Measures nothing.

use crate::supervise::{GRACE, Source, WorkerOutput, reap, wait_for};
use anyhow::{Context, Result, bail};
use groma_harness::sys::process;
use groma_harness::sys::signals::Watch;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a silent command is checked for its end.
const LOOK: Duration = Duration::from_millis(5);

/// [`run_program`] for a shell command, with the time limit of `--deadline`.
pub(crate) fn run(line: &str, deadline: Duration, signals: Option<&Watch>) -> Result<Option<i32>> {
    run_program(Command::new("sh").args(["-c", line]), line, (deadline, " (--deadline)"), signals)
}

/// Runs a program without input and output, and kills what is left of its process group. Returns
/// the signal of `signals` that ended it early, if any. `name` and `of_what`, a suffix of the time
/// limit, are for messages.
///
/// # Errors
/// One line with the command, how it ended, and the last line of its standard error.
pub fn run_program(
    program: &mut Command,
    name: &str,
    (deadline, of_what): (Duration, &str),
    signals: Option<&Watch>,
) -> Result<Option<i32>> {
    let mut child = program
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("'{name}' cannot be started"))?;
    let group = child.id() as i32;
    let until = Instant::now() + deadline;
    let mut err = child.stderr.take();
    let (mut output, mut block) = (WorkerOutput::default(), [0u8; 4096]);
    let (mut signal, mut late) = (None, false);
    // A background process may hold the pipe open, so the end of the pipe is not awaited.
    while signal.is_none() && !late && !process::has_ended(group).unwrap_or(true) {
        late = Instant::now() >= until;
        let mut sources: Vec<(Source, BorrowedFd<'_>)> = signals.iter().map(|s| (Source::Signals, s.as_fd())).collect();
        sources.extend(err.as_ref().map(|err| (Source::Err, err.as_fd())));
        for source in wait_for(&sources, LOOK) {
            match source {
                Source::Signals => signal = signals.and_then(Watch::next),
                Source::Err | Source::Out => output.read_stderr(&mut err, &mut block),
            }
        }
    }
    if signal.is_some() || late {
        process::kill_group(group);
    }
    let status = reap(group, GRACE);
    while err.as_ref().is_some_and(|err| !wait_for(&[(Source::Err, err.as_fd())], Duration::ZERO).is_empty()) {
        output.read_stderr(&mut err, &mut block);
    }
    if signal.is_some() {
        return Ok(signal);
    }
    let how = match status {
        _ if late => format!("did not end within {:.1} s{of_what}", deadline.as_secs_f64()),
        Some(status) if status.success() => return Ok(None),
        Some(status) => match (status.signal(), status.code()) {
            (Some(signal), _) => format!("was ended by signal {signal} ({})", process::signal_name(signal)),
            (_, code) => format!("exited with code {}", code.unwrap_or_default()),
        },
        None => "cannot be ended".to_owned(),
    };
    match output.last_line() {
        Some(line) => bail!("'{name}' {how}: {line}"),
        None => bail!("'{name}' {how}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn errors_say_how_a_command_ended() {
        assert_eq!(run("true", LONG, None).expect("it ends well"), None);
        let error = |command: &str, deadline| format!("{:#}", run(command, deadline, None).expect_err(command));
        let twice = "echo one >&2; echo two >&2; exit 7";
        assert_eq!(error(twice, LONG), format!("'{twice}' exited with code 7: two"));
        assert_eq!(error("exit 3", LONG), "'exit 3' exited with code 3");
        assert_eq!(error("kill -9 $$", LONG), "'kill -9 $$' was ended by signal 9 (SIGKILL)");
        let late = error("echo waiting >&2; sleep 1000", Duration::from_millis(100));
        assert!(late.ends_with("did not end within 0.1 s (--deadline): waiting"), "{late}");
    }

    #[test]
    fn background_processes_of_a_command_are_killed() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("id");
        let command = format!("sleep 1000 & echo $! > {}", file.display());
        assert_eq!(run(&command, LONG, None).expect("it ends well"), None);
        let left = std::fs::read_to_string(&file).expect("a process id").trim().parse().expect("a number");
        // Its new parent may take a moment to reap it.
        let stat = || std::fs::read_to_string(format!("/proc/{left}/stat")).unwrap_or_default();
        let until = Instant::now() + LONG;
        while process::exists(left) && !stat().contains(") Z ") {
            assert!(Instant::now() < until, "process {left} goes on: {}", stat());
            std::thread::yield_now();
        }
    }
}
