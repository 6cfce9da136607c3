//! Runs a command of the user several times and sees what it does: how long it takes and what the
//! kernel counts, untraced; and at last its system calls, traced.
//!
//! All of it happens below a forked helper process that does nothing else: the tracer waits for
//! every child of its process. The helper dies with this process, what it traces dies with it, and
//! whatever else the command leaves running is ended here. Standard input is empty, standard output
//! is discarded.

use crate::signals::watch_signals;
use crate::supervise::adopt;
use anyhow::{Context, Result, bail};
use groma_harness::sys::counters::Usage;
use groma_harness::sys::fork::{self, Child};
use groma_harness::sys::trace::{self, Calls, Counts};
use groma_harness::sys::{io, process};
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One untraced run of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneRun {
    /// From before its start to after its end.
    pub wall_ns: u64,
    /// CPU time of it and of the children that it waited for.
    pub user_ns: u64,
    /// CPU time of the kernel for them.
    pub system_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Context switches of a task that waits.
    pub voluntary: u64,
    /// Context switches of a task that would go on.
    pub involuntary: u64,
    /// Its exit code; of one that a signal ended, 128 and the signal.
    pub code: u64,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The untraced runs, without the first, which warms up the caches.
    pub runs: Vec<OneRun>,
    /// The traced run.
    pub calls: Counts,
}

/// How it ended.
#[derive(Debug)]
pub enum Observation {
    /// All runs ended by themselves.
    Made(Observed),
    /// By this signal to this process; the command was ended.
    Signal(i32),
}

/// A killed process has this long to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Untraced runs that count: as many as it takes until the CPU time is [`ENOUGH`], within these.
const FEWEST: usize = 3;
const MOST: usize = 30;
/// The kernel looks at a task once in 1 to 10 ms to divide its time into user and system time.
const ENOUGH: Duration = Duration::from_millis(500);
/// After so long no further run begins.
const LONG: Duration = Duration::from_secs(10);
/// What the helper says first.
const GOOD: u64 = 0;
const BAD: u64 = 1;
/// Words of a run.
const RUN_WORDS: usize = 8;
/// The longest answer: two hundred kinds of calls take 5 KB.
const LONGEST: usize = 1 << 20;

/// Runs a command once untraced to warm up, some times untraced, and once traced.
///
/// # Errors
/// When it cannot be started or traced, or all of it takes longer than `deadline`.
pub fn observe(command: &[OsString], deadline: Duration) -> Result<Observation> {
    let adopts = adopt();
    // Blocked in the helper as well, and not in what it starts.
    let signals = watch_signals().context("watching for signals")?;
    let (answer, tell) = io::pipe().context("making a pipe")?;
    let helper = fork::fork(|| {
        fork::close_copies(&[answer.as_fd()]);
        let words = match help(command) {
            Ok(observed) => encode(&observed),
            Err(error) => {
                [BAD].into_iter().flat_map(u64::to_ne_bytes).chain(format!("{error:#}").into_bytes()).collect()
            }
        };
        i32::from(io::write_full(tell.as_fd(), &words).is_err())
    });
    let helper = helper.context("starting a process")?;
    drop(tell);
    let ended = read_answer(&answer, signals.as_fd(), Instant::now() + deadline);
    finish(helper, adopts);
    match ended {
        Answer::Complete(bytes) => decode(&bytes).map(Observation::Made),
        Answer::DeadlinePassed => {
            bail!("it ran longer than {} s in all and was ended (--deadline)", deadline.as_secs_f64())
        }
        Answer::Interrupted => Ok(Observation::Signal(signals.next().unwrap_or(crate::signals::TERMINATE))),
    }
}

/// How waiting for the answer of the helper ended.
enum Answer {
    Complete(Vec<u8>),
    DeadlinePassed,
    Interrupted,
}

/// Reads all that the helper writes, until a signal or the deadline.
fn read_answer(answer: &OwnedFd, signals: BorrowedFd<'_>, until: Instant) -> Answer {
    let mut bytes = Vec::new();
    let mut some = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let ready = io::readable(&[signals, answer.as_fd()], left);
        if ready.contains(&0) {
            return Answer::Interrupted;
        }
        if ready.is_empty() {
            if left.is_zero() {
                return Answer::DeadlinePassed;
            }
            continue;
        }
        match io::read(answer.as_fd(), &mut some) {
            Ok(n) if n > 0 && bytes.len() < LONGEST => bytes.extend_from_slice(&some[..n]),
            _ => return Answer::Complete(bytes),
        }
    }
}

/// Ends the helper and all that it started.
fn finish(helper: Child, adopts: bool) {
    // Killed, it takes what it traces with it.
    drop(helper);
    if adopts {
        process::end_descendants(PATIENCE, |_| false);
    }
}

/// The helper's work.
fn help(words: &[OsString]) -> Result<Observed> {
    let command = || {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        process::tie(&mut command);
        command
    };
    let runs = untraced(|| run(command()).with_context(|| words[0].to_string_lossy().into_owned()))?;
    let calls = trace::count(&mut command()).with_context(|| format!("tracing {}", words[0].to_string_lossy()))?;
    Ok(Observed { runs, calls })
}

/// The runs that count.
fn untraced(mut once: impl FnMut() -> Result<OneRun>) -> Result<Vec<OneRun>> {
    // The first warms up the caches.
    once()?;
    let started = Instant::now();
    let (mut runs, mut cpu) = (Vec::new(), Duration::ZERO);
    while runs.len() < FEWEST || (cpu < ENOUGH && runs.len() < MOST && started.elapsed() < LONG) {
        let one = once()?;
        cpu += Duration::from_nanos(one.user_ns + one.system_ns);
        runs.push(one);
    }
    Ok(runs)
}

fn run(mut command: Command) -> std::io::Result<OneRun> {
    let start = Instant::now();
    let pid = command.spawn()?.id() as i32;
    let exit = process::wait(pid)?;
    let wall_ns = start.elapsed().as_nanos() as u64;
    Ok(counted(wall_ns, &exit.usage, exit.code().unwrap_or_else(|| 128 + exit.signal().unwrap_or(0)) as u64))
}

/// A run with what the kernel counted of it.
fn counted(wall_ns: u64, usage: &Usage, code: u64) -> OneRun {
    OneRun {
        wall_ns,
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary: usage.voluntary,
        involuntary: usage.involuntary,
        code,
    }
}

/// What was seen, in words of 64 bits.
fn encode(observed: &Observed) -> Vec<u8> {
    let calls = &observed.calls;
    let mut words = vec![GOOD, observed.runs.len() as u64];
    for run in &observed.runs {
        let of_run = [
            run.wall_ns,
            run.user_ns,
            run.system_ns,
            run.minor_faults,
            run.major_faults,
            run.voluntary,
            run.involuntary,
            run.code,
        ];
        words.extend::<[u64; RUN_WORDS]>(of_run);
    }
    words.extend([calls.forks, calls.vforks, calls.clones, calls.execs, calls.code as u64]);
    words.extend(calls.calls.iter().flat_map(|(number, calls)| [*number, calls.count, calls.returned]));
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

fn decode(bytes: &[u8]) -> Result<Observed> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_ne_bytes(*word));
    match words.next() {
        Some(BAD) => bail!("{}", String::from_utf8_lossy(&bytes[8..])),
        Some(GOOD) if rest.is_empty() => {}
        _ => bail!("the process that ran the command ended without an answer"),
    }
    let mut next = || words.next().context("the answer of the process that ran the command is cut off");
    let mut observed = Observed::default();
    for _ in 0..next()? {
        observed.runs.push(OneRun {
            wall_ns: next()?,
            user_ns: next()?,
            system_ns: next()?,
            minor_faults: next()?,
            major_faults: next()?,
            voluntary: next()?,
            involuntary: next()?,
            code: next()?,
        });
    }
    let calls = &mut observed.calls;
    (calls.forks, calls.vforks, calls.clones, calls.execs) = (next()?, next()?, next()?, next()?);
    calls.code = next()? as i32;
    while let Ok(number) = next() {
        calls.calls.insert(number, Calls { count: next()?, returned: next()? });
    }
    Ok(observed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_survives_the_pipe() {
        // All numbers are different, so that two that were swapped on their way show.
        let run = |n: u64| OneRun {
            wall_ns: n,
            user_ns: n + 1,
            system_ns: n + 2,
            minor_faults: n + 3,
            major_faults: n + 4,
            voluntary: n + 5,
            involuntary: n + 6,
            code: n + 7,
        };
        let mut observed = Observed { runs: vec![run(10), run(20)], ..Observed::default() };
        observed.calls = Counts { forks: 31, vforks: 32, clones: 33, execs: 34, code: 139, ..Counts::default() };
        observed.calls.calls.insert(7, Calls { count: 2, returned: 3 });
        observed.calls.calls.insert(8, Calls { count: 5, returned: 4 });
        let bytes = encode(&observed);
        assert_eq!(decode(&bytes).expect("whole"), observed);
        assert!(decode(&bytes[..bytes.len() - 8]).is_err() && decode(&[]).is_err() && decode(&bytes[..9]).is_err());
    }

    #[test]
    fn what_the_kernel_counts_keeps_its_name() {
        let usage = Usage {
            user_ns: 1,
            system_ns: 2,
            minor_faults: 3,
            major_faults: 4,
            voluntary: 5,
            involuntary: 6,
            blocks_in: 7,
            blocks_out: 8,
            max_resident: 9,
        };
        let run = OneRun {
            wall_ns: 10,
            user_ns: 1,
            system_ns: 2,
            minor_faults: 3,
            major_faults: 4,
            voluntary: 5,
            involuntary: 6,
            code: 11,
        };
        assert_eq!(counted(10, &usage, 11), run);
    }

    #[test]
    fn a_command_that_a_signal_ends_has_the_code_that_a_shell_gives_it() {
        let code = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            run(command).expect("a shell").code
        };
        assert_eq!([code("exit 3"), code("kill -9 $$"), code("kill -15 $$")], [3, 137, 143]);
    }

    /// The kernel charges a command for the copying of its arguments, which is over when `spawn`
    /// returns: a watch that starts after `spawn` misses it.
    #[test]
    fn a_run_takes_at_least_its_cpu_time() {
        const ROUNDING_NS: u64 = 2000;
        let argument = "x".repeat(100_000);
        for _ in 0..20 {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", ":"]).args([argument.as_str(); 15]);
            let run = run(command).expect("a shell");
            assert!(run.wall_ns + ROUNDING_NS >= run.user_ns + run.system_ns, "{run:?}");
        }
    }

    #[test]
    fn the_run_that_warms_up_does_not_count() {
        let mut made = 0;
        let mut an_eighth_of_enough = || {
            made += 1;
            Ok(OneRun { user_ns: ENOUGH.as_nanos() as u64 / 8, code: made, ..OneRun::default() })
        };
        let runs = untraced(&mut an_eighth_of_enough).expect("runs");
        assert_eq!(runs.iter().map(|run| run.code).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8, 9]);
        // What takes no CPU time is not run for ever.
        assert_eq!(untraced(|| Ok(OneRun::default())).expect("runs").len(), MOST);
    }
}
