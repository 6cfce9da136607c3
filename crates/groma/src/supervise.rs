//! Runs one round in one worker process, and always comes back: with a result, at the deadline, or at a signal.
//!
//! The supervisor never forks: it starts its own program again. One `poll` waits for the worker's words, its complaints
//! and our own signals; its time-out is the deadline. A worker is ended as a process group by SIGKILL, never by a signal
//! that it could ignore. What it leaves in other groups and sessions becomes our child, and is ended as well.

use groma_harness::model::{Job, RoundResult, State};
use groma_harness::protocol;
use groma_harness::sys::process;
use groma_harness::sys::signals::{Watch, is_ignored};
use groma_harness::worker;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a round ended, as the supervisor sees it.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a result, good or bad.
    Result(RoundResult),
    /// By the end of the whole run's budget; nothing is known of the round.
    OutOfBudget,
    /// By this signal to the supervisor.
    Signal(i32),
}

/// Starts workers.
#[derive(Debug)]
pub(crate) struct Supervisor {
    program: PathBuf,
    signals: Watch,
    /// Whether all children are workers, or come from them.
    adopts: bool,
}

/// After its last word a worker has this long to leave by itself.
const GRACE: Duration = Duration::from_millis(500);
/// A process that was killed has this long to end: one that waits for a device or a server that is gone may never.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a worker prints is kept up to here, for the reason of a failure.
const MOST_COMPLAINTS: usize = 4096;
/// A result longer than this is not one: 4096 members with eight samples each stay far below it.
const LONGEST_RESULT: usize = 64 << 20;

/// SIGHUP, SIGINT and SIGTERM, as every POSIX system numbers them.
pub(crate) const HANGUP: i32 = 1;
pub(crate) const INTERRUPT: i32 = 2;
pub(crate) const TERMINATE: i32 = 15;

/// Watches for the signals that end a run, which no longer end the program by themselves: from here
/// on nothing may block.
///
/// # Errors
/// When signals cannot be watched.
pub(crate) fn watch_signals() -> std::io::Result<Watch> {
    // `nohup` means it.
    if is_ignored(HANGUP) { Watch::new(&[INTERRUPT, TERMINATE]) } else { Watch::new(&[HANGUP, INTERRUPT, TERMINATE]) }
}

/// Makes what workers leave behind our children; whether it did.
///
/// Not where other children may come to us: whoever executed this program in its own place may have
/// had some, and the first process of a container inherits all that is orphaned there. These are
/// not ours to end. In a container everything ends with its first process.
fn adopt() -> bool {
    process::id() != 1 && process::children().is_some_and(|all| all.is_empty()) && process::adopt_orphans().is_ok()
}

/// A guardian (`sys/guardian.rs`) that a dead worker has left: it unmakes what it guards, and ends by itself.
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
        Ok(Supervisor { program, signals: watch_signals()?, adopts: adopt() })
    }

    /// The signal that has come since the last look, if one has.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.signals.next()
    }

    /// The signals that end a run, as a descriptor.
    pub(crate) fn signals(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// Runs one round. `deadline` is its own, `end` that of the run.
    pub(crate) fn run(&self, job: &Job, padding: usize, deadline: Duration, end: Option<Instant>) -> Ended {
        let started = Instant::now();
        let own = started + deadline;
        let until = end.map_or(own, |end| own.min(end));
        let mut child = match self.start(job, padding) {
            Ok(child) => child,
            Err(e) => {
                return Ended::Result(RoundResult::ended(State::Failed, format!("a worker cannot be started: {e}")));
            }
        };
        let mut output = WorkerOutput::default();
        let how = self.listen(&mut child, until, &mut output);
        let group = child.id() as i32;
        if !matches!(how, Listening::Complete | Listening::Silent) {
            process::kill_group(group);
        }
        let status = reap(&mut child, group);
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
                Err(why) => RoundResult::ended(State::Failed, format!("its result cannot be read: {why}")),
            },
            Listening::Silent => {
                RoundResult::ended(State::Failed, format!("the worker {}", describe_exit(status, &output)))
            }
        };
        result.wall_ns = started.elapsed().as_nanos() as u64;
        Ended::Result(result)
    }

    fn start(&self, job: &Job, padding: usize) -> std::io::Result<Child> {
        let text = protocol::write_job(process::id(), job);
        let mut child = Command::new(&self.program)
            .arg0("groma")
            .arg(worker::ARGUMENT)
            // A fixed environment, but for its size: that moves the stack, and with it what addresses happen to collide.
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("GROMA_PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
        if let Err(e) = written {
            process::kill_group(child.id() as i32);
            let _ = child.wait();
            return Err(e);
        }
        Ok(child)
    }

    fn listen(&self, child: &mut Child, until: Instant, output: &mut WorkerOutput) -> Listening {
        let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
            return Listening::Silent;
        };
        let (mut out_open, mut err_open) = (true, true);
        let mut block = [0u8; 1 << 16];
        loop {
            let now = Instant::now();
            if now >= until {
                return Listening::Late;
            }
            // Rounded up, so that the last turn does not spin; an hour at most, which every poll takes.
            let wait = (until - now).min(Duration::from_secs(3600)) + Duration::from_millis(1);
            let mut sources: Vec<(Source, BorrowedFd<'_>)> = vec![(Source::Signals, self.signals.as_fd())];
            if out_open {
                sources.push((Source::Out, out.as_fd()));
            }
            if err_open {
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
                    Source::Err => match err.read(&mut block) {
                        Ok(0) | Err(_) => err_open = false,
                        Ok(n) => output.complain(&block[..n]),
                    },
                }
            }
            // The last word ends the round, not the end of the file: a helper may still hold the pipe open.
            if protocol::is_complete(&output.result) {
                return Listening::Complete;
            }
            if output.result.len() > LONGEST_RESULT {
                return Listening::Flood;
            }
            if !out_open {
                // What it complained of may still be in the other pipe.
                while err_open && !wait_for(&[(Source::Err, err.as_fd())], Duration::from_millis(20)).is_empty() {
                    match err.read(&mut block) {
                        Ok(0) | Err(_) => err_open = false,
                        Ok(n) => output.complain(&block[..n]),
                    }
                }
                return Listening::Silent;
            }
        }
    }
}

/// What a worker has said so far.
#[derive(Debug, Default)]
struct WorkerOutput {
    result: Vec<u8>,
    complaints: Vec<u8>,
}

impl WorkerOutput {
    /// Keeps the end of what is printed: the last line tells why.
    fn complain(&mut self, bytes: &[u8]) {
        self.complaints.extend_from_slice(bytes);
        let excess = self.complaints.len().saturating_sub(MOST_COMPLAINTS);
        self.complaints.drain(..excess);
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
enum Source {
    Signals,
    Out,
    Err,
}

/// The sources that can be read, or have ended, within the time.
fn wait_for(sources: &[(Source, BorrowedFd<'_>)], wait: Duration) -> Vec<Source> {
    let fds: Vec<BorrowedFd<'_>> = sources.iter().map(|(_, fd)| *fd).collect();
    groma_harness::sys::io::readable(&fds, wait).into_iter().map(|i| sources[i].0).collect()
}

/// Lets the worker leave, ends it when it does not, and ends what is left of its group. `None` when it cannot be ended.
fn reap(child: &mut Child, group: i32) -> Option<ExitStatus> {
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
    ends_within(GRACE);
    // Before the worker is reaped: until then the group's number is nobody else's.
    process::kill_group(group);
    if ends_within(PATIENCE) { child.wait().ok() } else { None }
}

/// How a worker ended that did not say so itself.
fn describe_exit(status: Option<ExitStatus>, output: &WorkerOutput) -> String {
    let how = match status {
        Some(s) => match (s.signal(), s.code()) {
            (Some(signal), _) => format!("was ended by signal {signal} ({})", process::signal_name(signal)),
            (_, Some(code)) => format!("exited with code {code} and no result"),
            _ => "ended in an unknown way".to_owned(),
        },
        None => "vanished or cannot be ended".to_owned(),
    };
    let text = String::from_utf8_lossy(&output.complaints);
    match text.lines().rfind(|l| !l.trim().is_empty()) {
        Some(line) => format!("{how}: {}", line.trim()),
        None => how,
    }
}
