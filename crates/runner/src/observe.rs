//! Runs a user's command several times and observes it: untraced, for its times and what the kernel
//! counts, and once traced, for its system calls.
//!
//! The command runs below a forked helper process that has no other children, because the tracer
//! waits for every child of its process. The helper dies with this process, and what it traces with
//! the helper; anything else that the command leaves running is ended here. Standard input is
//! empty, standard output is discarded.

use crate::signals::watch_signals;
use crate::supervise::adopt;
use anyhow::{Context, Result, bail};
use groma_harness::observed;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::fork::{self, Child};
use groma_harness::sys::{io, process, trace};
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub use groma_harness::observed::{Observed, OneRun};

/// How an observation ended.
#[derive(Debug)]
pub enum Observation {
    /// All runs ended by themselves.
    Made(Observed),
    /// This process received this signal, and killed the command.
    Signal(i32),
}

/// How long killed processes may take to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bounds of the number of untraced runs that count. Within them, runs are added until their CPU
/// time is [`ENOUGH_CPU_TIME`].
const MIN_RUNS: usize = 3;
const MAX_RUNS: usize = 30;
/// The kernel samples a task every 1 to 10 ms to divide its time into user and system time.
const ENOUGH_CPU_TIME: Duration = Duration::from_millis(500);
/// No run begins after this time.
const LAST_START: Duration = Duration::from_secs(10);
/// The longest answer in bytes: two hundred kinds of calls take 5 KB.
const LONGEST_ANSWER: usize = 1 << 20;

/// Runs a command once to warm up, several times untraced, and once traced.
///
/// # Errors
/// When it cannot be started or traced, or all runs together take longer than `deadline`.
pub fn observe(command: &[OsString], deadline: Duration) -> Result<Observation> {
    let adopts = adopt();
    // Blocked in the helper as well, and not in what it starts.
    let signals = watch_signals().context("watching for signals")?;
    let (answer, tell) = io::pipe().context("making a pipe")?;
    let helper = fork::fork(|| {
        fork::close_copies(&[answer.as_fd()]);
        let said = observed::write(&run_all(command).map_err(|e| format!("{e:#}")));
        i32::from(io::write_full(tell.as_fd(), said.as_bytes()).is_err())
    });
    let helper = helper.context("starting a process")?;
    drop(tell);
    let ended = read_answer(&answer, signals.as_fd(), Instant::now() + deadline);
    finish(helper, adopts);
    match ended {
        Answer::Complete(bytes) => {
            let said = observed::read(&bytes).context("the process that ran the command ended without an answer")?;
            said.map(Observation::Made).map_err(anyhow::Error::msg)
        }
        Answer::DeadlinePassed => {
            bail!("it ran longer than {} s in all and was ended (--deadline)", deadline.as_secs_f64())
        }
        Answer::Interrupted => Ok(Observation::Signal(signals.next().unwrap_or(crate::signals::TERMINATE))),
    }
}

/// How waiting for the helper's answer ended.
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
            Ok(n) if n > 0 && bytes.len() < LONGEST_ANSWER => bytes.extend_from_slice(&some[..n]),
            _ => return Answer::Complete(bytes),
        }
    }
}

/// Ends the helper and everything that it started.
fn finish(helper: Child, adopts: bool) {
    // Kills the helper; what it traces dies with it.
    drop(helper);
    if adopts {
        process::end_descendants(PATIENCE, |_| false);
    }
}

/// All runs, in the helper.
fn run_all(words: &[OsString]) -> Result<Observed> {
    let command = || {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        process::tie(&mut command);
        command
    };
    let runs = untraced_runs(|| run(command()).with_context(|| words[0].to_string_lossy().into_owned()))?;
    let calls = trace::count(&mut command()).with_context(|| format!("tracing {}", words[0].to_string_lossy()))?;
    Ok(Observed { runs, calls })
}

/// The untraced runs that count.
fn untraced_runs(mut once: impl FnMut() -> Result<OneRun>) -> Result<Vec<OneRun>> {
    // The first warms up the caches.
    once()?;
    let started = Instant::now();
    let (mut runs, mut cpu) = (Vec::new(), Duration::ZERO);
    while runs.len() < MIN_RUNS || (cpu < ENOUGH_CPU_TIME && runs.len() < MAX_RUNS && started.elapsed() < LAST_START) {
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
    Ok(one_run(wall_ns, &exit.usage, exit.code().unwrap_or_else(|| 128 + exit.signal().unwrap_or(0)) as u64))
}

fn one_run(wall_ns: u64, usage: &Usage, code: u64) -> OneRun {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_keep_their_names() {
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
        assert_eq!(one_run(10, &usage, 11), run);
    }

    #[test]
    fn a_command_ended_by_a_signal_has_the_exit_code_of_a_shell() {
        let code = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            run(command).expect("a shell").code
        };
        assert_eq!([code("exit 3"), code("kill -9 $$"), code("kill -15 $$")], [3, 137, 143]);
    }

    /// The kernel charges a command for copying its arguments, which is done when `spawn` returns:
    /// a clock that is read after `spawn` misses it.
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
    fn the_warm_up_run_does_not_count() {
        let mut made = 0;
        let mut eighth_of_enough = || {
            made += 1;
            Ok(OneRun { user_ns: ENOUGH_CPU_TIME.as_nanos() as u64 / 8, code: made, ..OneRun::default() })
        };
        let runs = untraced_runs(&mut eighth_of_enough).expect("runs");
        assert_eq!(runs.iter().map(|run| run.code).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8, 9]);
        // A command without CPU time is not run for ever.
        assert_eq!(untraced_runs(|| Ok(OneRun::default())).expect("runs").len(), MAX_RUNS);
    }
}
