//! Runs one round in one worker process, and always returns: with a result, at the deadline, or on
//! a signal.
//!
//! The supervisor executes its own program again; it forks only for a program with a `main` of its
//! own, whose workers need what it has made ([`crate::Forked`]). One `poll` waits for the worker's
//! result, its standard error and signals; its time-out is the deadline. A worker is killed as a
//! process group by SIGKILL, never by a signal that it could ignore. Processes that it leaves in
//! other groups and sessions become children of the supervisor, and are killed as well.

use crate::launcher::{Forked, Launcher};
use crate::signals::watch_signals;
use groma_harness::model::{Job, Phase, RoundResult, State};
use groma_harness::protocol;
use groma_harness::sys::process::Exit;
use groma_harness::sys::signals::Watch;
use groma_harness::sys::{facts, fork, io as sysio, process};
use groma_harness::worker;
use groma_harness::{BenchError, Benchmark};
use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How a round ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a result, good or bad.
    Result(Box<RoundResult>),
    /// By the end of the run's budget; the round has no result.
    OutOfBudget,
    /// By this signal, sent to the supervisor.
    Signal(i32),
}

/// Starts workers.
#[derive(Debug)]
pub(crate) struct Supervisor {
    program: PathBuf,
    signals: Watch,
    /// Whether orphaned descendants of workers become children of this process; see [`adopt`].
    adopts: bool,
    /// How many tasks of this control group the kernel had killed for memory when last looked at.
    killed: Cell<Option<u64>>,
}

/// How long a worker may take to exit after its result.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// How long a killed process may take to end: one that waits for a device or a server that is gone
/// may never end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a worker's standard error that are kept, for the reason of a failure.
const LONGEST_STDERR: usize = 4096;
/// The signal that cannot be handled; the kernel sends it for memory.
const SIGKILL: i32 = 9;
/// Longest result in bytes: 4096 members with eight samples each take far less.
const LONGEST_RESULT: usize = 64 << 20;

/// Makes this process a subreaper, which adopts the orphans of workers; returns whether it is one.
///
/// It must not be one where it may have children that no worker started, which would be killed: a
/// program that replaced itself with this one may have had some, and the first process of a
/// container inherits all orphans of the container.
pub(crate) fn adopt() -> bool {
    // In a test program, the children of other tests would be killed.
    !cfg!(test)
        && process::id() != 1
        && process::children().is_some_and(|all| all.is_empty())
        && process::adopt_orphans().is_ok()
}

/// Whether a process is the guardian of a dead worker (`sys/guardian.rs`), which ends by itself
/// once it has removed what it guards.
fn is_guardian(pid: i32) -> bool {
    let command_line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command_line.starts_with(format!("groma\0{}\0", worker::ARGUMENT).as_bytes())
}

impl Supervisor {
    /// A supervisor that watches for the signals that end a run.
    ///
    /// # Errors
    /// When the program cannot find itself, or signals cannot be watched.
    pub(crate) fn new() -> std::io::Result<Supervisor> {
        let program = process::program()?;
        let killed = Cell::new(facts::killed_for_memory());
        Ok(Supervisor { program, signals: watch_signals()?, adopts: adopt(), killed })
    }

    /// The next pending signal, if there is one.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.signals.next()
    }

    /// The signals that end a run, as a descriptor.
    pub(crate) fn signals(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// The signals, for waits elsewhere.
    pub(crate) fn watch(&self) -> &Watch {
        &self.signals
    }

    /// Runs one round in a worker started by `launcher`. `deadline` is the length of the round at
    /// most, `end` the end of the run.
    pub(crate) fn run(
        &self,
        (job, launcher): (&Job, &Launcher),
        padding: usize,
        deadline: Duration,
        end: Option<Instant>,
    ) -> Ended {
        let started = Instant::now();
        let own = started + deadline;
        let until = end.map_or(own, |end| own.min(end));
        let mut worker = match self.start(job, launcher, padding) {
            Ok(worker) => worker,
            Err(e) => {
                let why = "a worker cannot be started";
                // A limit on tasks is a refusal by the system, and named.
                let (state, why) = match BenchError::no_task(why, &e) {
                    BenchError::Denied(why) if e.kind() == ErrorKind::WouldBlock => (State::Denied, why),
                    _ => (State::Failed, format!("{why}: {e}")),
                };
                return Ended::Result(Box::new(RoundResult::ended(state, why)));
            }
        };
        let mut output = WorkerOutput::default();
        let how = self.listen(&mut worker, until, &mut output);
        let heard_ns = started.elapsed().as_nanos() as u64;
        let group = worker.pid;
        if !matches!(how, Listening::Complete | Listening::Silent) {
            process::kill_group(group);
        }
        // Without a result, the exit status is the only evidence, so wait longer for it: on a
        // machine with a load of 13, a worker ended a second after its output.
        let grace = if matches!(how, Listening::Silent) { PATIENCE } else { GRACE };
        let status = reap(group, grace);
        if self.adopts {
            process::end_descendants(PATIENCE, is_guardian);
        }
        let mut result = match how {
            Listening::Signal(signal) => return Ended::Signal(signal),
            Listening::Late if until < own => return Ended::OutOfBudget,
            Listening::Late => {
                let why = format!("did not end within {:.1} s (--deadline)", deadline.as_secs_f64());
                RoundResult::ended(State::Timeout, why)
            }
            Listening::Flood => RoundResult::ended(State::Failed, "its result does not end"),
            Listening::Complete => match protocol::read_result(&String::from_utf8_lossy(&output.result)) {
                Ok(result) => result,
                Err(why) => RoundResult::ended(
                    State::Failed,
                    match noise(&output.result) {
                        Some(noise) => format!("wrote {noise} to standard output before the worker's result"),
                        None => format!("its result cannot be read: {why}"),
                    },
                ),
            },
            Listening::Silent => {
                let hides = status.is_some_and(|exit| exit.success()) && !launcher.command.is_empty();
                let hint = if hides { "; the command before it must pass its standard output on" } else { "" };
                let why = format!("the worker {}{hint}", describe_exit(status, &output));
                let is_killed = status.is_some_and(|exit| exit.signal() == Some(SIGKILL));
                match if is_killed { self.limit_that_killed() } else { None } {
                    // As where the same limit makes an allocation fail.
                    Some(limit) => RoundResult::ended(State::Unsupported, format!("{why} for memory: {limit}")),
                    None => RoundResult::ended(State::Failed, why),
                }
            }
        };
        result.wall_ns = started.elapsed().as_nanos() as u64;
        let phases = &mut result.output.phases;
        phases.add(Phase::Start, heard_ns.saturating_sub(phases.total()));
        phases.add(Phase::End, result.wall_ns.saturating_sub(heard_ns));
        Ended::Result(Box::new(result))
    }

    /// The limit of memory for which the kernel killed a task of this control group since the last
    /// call; `None` if it killed none.
    fn limit_that_killed(&self) -> Option<String> {
        let now = facts::killed_for_memory();
        let before = self.killed.replace(now);
        (now? > before.unwrap_or(0)).then(|| facts::memory_headroom().map_or_else(String::new, |room| room.limit))
    }

    fn start(&self, job: &Job, launcher: &Launcher, padding: usize) -> std::io::Result<Worker> {
        if let Some(Forked(benchmarks)) = launcher.forked {
            return self.fork(job, benchmarks);
        }
        let text = protocol::write_job(launcher.parent(), job);
        let mut child = launcher
            .command(&self.program, padding)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
        // A worker that ends without reading its job says why on standard error.
        if let Err(e) = written
            && e.kind() != ErrorKind::BrokenPipe
        {
            process::kill_group(child.id() as i32);
            let _ = child.wait();
            return Err(e);
        }
        Ok(Worker::of(&mut child))
    }

    /// A worker that is a fork of this process. It keeps standard input, output and error.
    fn fork(&self, job: &Job, benchmarks: &[&Benchmark]) -> std::io::Result<Worker> {
        let (out, tell) = sysio::pipe()?;
        let child = fork::fork(|| {
            fork::close_copies(&[out.as_fd()]);
            // Ours ends the group of the worker, and nothing of the program's.
            if process::lead_group().is_err() {
                return 1;
            }
            self.signals.forget_in_child();
            worker::forked(benchmarks, job, &tell)
        })?;
        Ok(Worker { pid: child.release(), out: Some(File::from(out)), err: None })
    }

    fn listen(&self, worker: &mut Worker, until: Instant, output: &mut WorkerOutput) -> Listening {
        let Some(mut out) = worker.out.take() else { return Listening::Silent };
        let mut err = worker.err.take();
        let mut out_open = true;
        let mut block = [0u8; 1 << 16];
        loop {
            let now = Instant::now();
            if now >= until {
                return Listening::Late;
            }
            // Rounded up, so that the last wait is not a busy loop; an hour at most, which every
            // `poll` accepts.
            let wait = (until - now).min(Duration::from_secs(3600)) + Duration::from_millis(1);
            let mut sources: Vec<(Source, BorrowedFd<'_>)> = vec![(Source::Signals, self.signals.as_fd())];
            if out_open {
                sources.push((Source::Out, out.as_fd()));
            }
            if let Some(err) = &err {
                sources.push((Source::Err, err.as_fd()));
            }
            let ready = wait_for(&sources, wait);
            for source in ready {
                match source {
                    Source::Signals => {
                        if let Some(signal) = self.signals.next() {
                            return Listening::Signal(signal);
                        }
                    }
                    Source::Out => match out.read(&mut block) {
                        Ok(0) | Err(_) => out_open = false,
                        Ok(n) => output.result.extend_from_slice(&block[..n]),
                    },
                    Source::Err => output.read_stderr(&mut err, &mut block),
                }
            }
            // The newline ends the round, not the end of the file: a helper process may still hold
            // the pipe open.
            if protocol::is_complete(&output.result) {
                return Listening::Complete;
            }
            if output.result.len() > LONGEST_RESULT {
                return Listening::Flood;
            }
            if !out_open {
                // The reason may still be in the other pipe.
                let says_more = |err: &Option<File>| match err {
                    Some(err) => !wait_for(&[(Source::Err, err.as_fd())], Duration::from_millis(20)).is_empty(),
                    None => false,
                };
                while says_more(&err) {
                    output.read_stderr(&mut err, &mut block);
                }
                return Listening::Silent;
            }
        }
    }
}

/// A worker that was started.
struct Worker {
    /// Its process id, and that of its group.
    pid: i32,
    out: Option<File>,
    /// `None` where it writes to the standard error of this process.
    err: Option<File>,
}

impl Worker {
    fn of(child: &mut Child) -> Worker {
        let file = |fd: OwnedFd| File::from(fd);
        let out = child.stdout.take().map(|out| file(out.into()));
        Worker { pid: child.id() as i32, out, err: child.stderr.take().map(|err| file(err.into())) }
    }
}

/// What a worker has written so far.
#[derive(Debug, Default)]
pub(crate) struct WorkerOutput {
    result: Vec<u8>,
    stderr: Vec<u8>,
}

impl WorkerOutput {
    /// Keeps the end of its standard error: the last line says why it failed.
    pub(crate) fn add_stderr(&mut self, bytes: &[u8]) {
        self.stderr.extend_from_slice(bytes);
        let excess = self.stderr.len().saturating_sub(LONGEST_STDERR);
        self.stderr.drain(..excess);
    }

    /// Reads what has come on standard error, which becomes `None` at its end.
    pub(crate) fn read_stderr(&mut self, from: &mut Option<impl Read>, block: &mut [u8]) {
        match from.as_mut().map(|err| err.read(block)) {
            Some(Ok(n)) if n > 0 => self.add_stderr(&block[..n]),
            _ => *from = None,
        }
    }

    /// The last line of its standard error, or the summary of a sanitizer, which a map of memory
    /// follows.
    pub(crate) fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines = || text.lines().map(str::trim);
        let summary = lines().rfind(|line| line.starts_with("SUMMARY: "));
        summary.or_else(|| lines().rfind(|line| !line.is_empty())).map(str::to_owned)
    }
}

#[derive(Debug)]
enum Listening {
    Complete,
    Silent,
    Late,
    Flood,
    Signal(i32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Signals,
    Out,
    Err,
}

/// Waits until a source can be read or has ended; returns all that are ready.
pub(crate) fn wait_for(sources: &[(Source, BorrowedFd<'_>)], wait: Duration) -> Vec<Source> {
    let fds: Vec<BorrowedFd<'_>> = sources.iter().map(|(_, fd)| *fd).collect();
    groma_harness::sys::io::readable(&fds, wait).into_iter().map(|i| sources[i].0).collect()
}

/// Waits for the worker that leads this group to exit, up to `grace`, then kills the group. `None`
/// if it cannot be killed.
pub(crate) fn reap(group: i32, grace: Duration) -> Option<Exit> {
    let ends_within = |time: Duration| {
        let until = Instant::now() + time;
        loop {
            match process::has_ended(group) {
                Ok(false) if Instant::now() < until => std::thread::sleep(Duration::from_micros(200)),
                Ok(ended) => return ended,
                Err(_) => return true,
            }
        }
    };
    ends_within(grace);
    // Before the worker is reaped: until then its number is not reused for another group.
    process::kill_group(group);
    if ends_within(PATIENCE) { process::wait(group).ok() } else { None }
}

/// Output before a result, which begins with a brace, quoted: the command in front of the worker
/// wrote it. `None` if there is none.
fn noise(output: &[u8]) -> Option<String> {
    /// Characters quoted at most.
    const MAX_QUOTED: usize = 40;
    let text = String::from_utf8_lossy(output);
    let before = text.trim().split('{').next().unwrap_or_default().trim();
    let mut shown: String = before.lines().next()?.chars().take(MAX_QUOTED).collect();
    if shown.chars().count() < before.chars().count() {
        shown += "...";
    }
    Some(format!("'{shown}'"))
}

/// How a worker without a result ended.
fn describe_exit(status: Option<Exit>, output: &WorkerOutput) -> String {
    let how = match status {
        Some(exit) => match (exit.signal(), exit.code()) {
            (Some(signal), _) => format!("was ended by signal {signal} ({})", process::signal_name(signal)),
            (_, Some(code)) => format!("exited with code {code} and no result"),
            _ => "ended in an unknown way".to_owned(),
        },
        None => "vanished or cannot be ended".to_owned(),
    };
    match output.last_line() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_before_a_result_is_quoted_and_shortened() {
        let quoted = |output: &str| noise(output.as_bytes());
        assert_eq!(quoted(" {\"state\""), None);
        assert_eq!(quoted("hello\n{"), Some("'hello'".to_owned()));
        assert_eq!(quoted("a\nb\n{"), Some("'a...'".to_owned()));
        let (forty, more) = ("x".repeat(40), "x".repeat(41));
        assert_eq!(quoted(&format!("{forty}{{")), Some(format!("'{forty}'")));
        assert_eq!(quoted(&more), Some(format!("'{forty}...'")));
    }

    #[test]
    fn the_last_line_of_a_long_standard_error_is_kept() {
        let mut output = WorkerOutput::default();
        for n in 0..1000 {
            output.add_stderr(format!("complaint {n}\n").as_bytes());
        }
        assert_eq!(output.last_line().as_deref(), Some("complaint 999"));
        assert!(output.stderr.len() <= LONGEST_STDERR);
    }

    #[test]
    fn the_end_of_a_worker_is_described_with_its_last_line() {
        let described = |status: Option<i32>, stderr: &str| {
            let mut output = WorkerOutput::default();
            output.add_stderr(stderr.as_bytes());
            describe_exit(status.map(Exit::of_status), &output)
        };
        assert_eq!(described(Some(3 << 8), ""), "exited with code 3 and no result");
        assert_eq!(described(Some(0), "first\n last \n\n"), "exited with code 0 and no result: last");
        assert_eq!(described(Some(256), "SUMMARY: a\nmap\n"), "exited with code 1 and no result: SUMMARY: a");
        assert_eq!(described(Some(11), "x"), "was ended by signal 11 (SIGSEGV): x");
        assert_eq!(described(None, ""), "vanished or cannot be ended");
    }
}
