//! Counts the system calls of a command and of all processes and threads that it starts, by
//! `ptrace`; no privileges are needed. Not for times: a traced call takes ten times as long.
//!
//! The kernel itself reports what a call is (`PTRACE_GET_SYSCALL_INFO`, Linux 5.3), so nothing here
//! depends on the architecture.
//!
//! # Safety
//! The child between fork and exec calls `ptrace` alone, which is async-signal-safe. Requests pass
//! values, or an owned buffer with its true length.
#![expect(unsafe_code, reason = "ptrace, waitpid, pre_exec")]

use crate::io::checked;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

mod names;

pub use names::{call_name, returns_bytes};

/// How often a system call was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls, also those that failed or never returned.
    pub count: u64,
    /// The bytes that it moved: the sum of the positive results, where these are bytes
    /// ([`returns_bytes`]). An `mmap` returns an address.
    pub returned: u64,
}

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The system calls by their numbers.
    pub calls: BTreeMap<u64, Calls>,
    /// Processes created with a copy of the memory.
    pub forks: u64,
    /// Processes created without one.
    pub vforks: u64,
    /// Tasks created in another way: threads.
    pub clones: u64,
    /// Programs that were executed, the command itself included.
    pub execs: u64,
    /// The exit code of the command; 128 plus the signal if a signal ended it.
    pub code: i32,
}

impl Counts {
    /// Notes what a task has just made or become; 0 is nothing.
    fn note(&mut self, event: libc::c_int) {
        match event {
            libc::PTRACE_EVENT_FORK => self.forks += 1,
            libc::PTRACE_EVENT_VFORK => self.vforks += 1,
            libc::PTRACE_EVENT_CLONE => self.clones += 1,
            libc::PTRACE_EVENT_EXEC => self.execs += 1,
            _ => {}
        }
    }
}

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// The signal of a stop at a system call, under `PTRACE_O_TRACESYSGOOD`.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;
/// `PTRACE_GET_SYSCALL_INFO`.
const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
/// The kinds of stops that it reports, and the 64-bit word of its answer that holds the number of
/// the call, or its result.
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
const NUMBER_OR_RESULT: usize = 3;
/// 64-bit words of its answer.
const WORDS: usize = 11;

/// Runs a command to its end and counts. All that it leaves running is waited for as well, and is
/// killed if this process ends. For a process that has no other children.
///
/// # Errors
/// Those of starting the command; `Unsupported` where the kernel does not report calls; those of
/// `ptrace` (`EPERM` in some sandboxes).
pub fn count(command: &mut Command) -> io::Result<Counts> {
    // SAFETY: see the module's Safety section.
    unsafe { command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0).map(drop)) };
    let child = command.spawn()?.id() as i32;
    let Some((_, status)) = wait(child)? else { return Err(io::Error::from_raw_os_error(libc::ECHILD)) };
    if !libc::WIFSTOPPED(status) {
        return Err(io::Error::other("the command ended before it was traced"));
    }
    request(libc::PTRACE_SETOPTIONS, child, OPTIONS as usize)?;
    let mut tracer = Tracer {
        counts: Counts { execs: 1, ..Counts::default() },
        known: BTreeSet::from([child]),
        at: BTreeMap::new(),
    };
    go_on(child, 0);
    while let Some((pid, status)) = wait(-1)? {
        if libc::WIFSTOPPED(status) {
            let signal = tracer.stopped(pid, status)?;
            go_on(pid, signal);
        } else if pid == child {
            tracer.counts.code =
                if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
        }
    }
    Ok(tracer.counts)
}

struct Tracer {
    counts: Counts,
    /// The tasks that were seen.
    known: BTreeSet<i32>,
    /// The call in which each task is.
    at: BTreeMap<i32, u64>,
}

impl Tracer {
    /// Notes why a task has stopped; returns the signal to deliver.
    fn stopped(&mut self, pid: i32, status: i32) -> io::Result<i32> {
        let signal = libc::WSTOPSIG(status);
        let is_new = self.known.insert(pid);
        if signal == AT_CALL {
            self.at_call(pid)?;
            return Ok(0);
        }
        self.counts.note(status >> 16);
        // A new task starts with a stop that no process sent.
        let is_own = status >> 16 != 0 || (is_new && signal == libc::SIGSTOP);
        Ok(if is_own { 0 } else { signal })
    }

    fn at_call(&mut self, pid: i32) -> io::Result<()> {
        let mut info = [0u64; WORDS];
        // SAFETY: see the module's Safety section.
        let got = unsafe { libc::ptrace(GET_SYSCALL_INFO as _, pid, size_of_val(&info), info.as_mut_ptr()) };
        if got < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // It was killed in the meantime.
                Some(libc::ESRCH) => Ok(()),
                Some(libc::EIO) => Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this kernel does not report system calls (PTRACE_GET_SYSCALL_INFO, Linux 5.3)",
                )),
                _ => Err(error),
            };
        }
        match info[0].to_ne_bytes()[0] {
            ENTRY => {
                let number = info[NUMBER_OR_RESULT];
                self.counts.calls.entry(number).or_default().count += 1;
                self.at.insert(pid, number);
            }
            EXIT => {
                let result = info[NUMBER_OR_RESULT] as i64;
                if let Some(number) = self.at.remove(&pid)
                    && result > 0
                    && returns_bytes(number)
                {
                    let calls = self.counts.calls.entry(number).or_default();
                    calls.returned = calls.returned.saturating_add(result as u64);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The next change of this task, or of any; `None` when there is none left.
fn wait(pid: i32) -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    loop {
        // SAFETY: the out-parameter is owned.
        match unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } {
            -1 => match io::Error::last_os_error() {
                e if e.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
                e if e.kind() == io::ErrorKind::Interrupted => {}
                e => return Err(e),
            },
            pid => return Ok(Some((pid, status))),
        }
    }
}

/// Lets a task go on until its next call. One that was killed in the meantime is gone.
fn go_on(pid: i32, signal: i32) {
    drop(request(libc::PTRACE_SYSCALL, pid, signal as usize));
}

fn request(request: libc::c_uint, pid: i32, data: usize) -> io::Result<()> {
    // SAFETY: the address is not used by these requests, and data is a value.
    checked(unsafe { libc::ptrace(request as _, pid, 0, data) } as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fork, io as own_io};
    use std::os::fd::AsFd;
    use std::process::Stdio;

    /// The counts of a command, made in a process without other children.
    fn of(args: &[&str]) -> Option<Counts> {
        let (receiver, sender) = own_io::pipe().expect("a pipe");
        let child = fork::fork(|| {
            let mut command = Command::new(args[0]);
            command.args(&args[1..]).stdin(Stdio::null()).stdout(Stdio::null());
            let counts = match count(&mut command) {
                Ok(counts) => counts,
                Err(e) if e.kind() == io::ErrorKind::Unsupported || e.raw_os_error() == Some(libc::EPERM) => return 3,
                Err(_) => return 1,
            };
            let number = |nr: libc::c_long| counts.calls.get(&(nr as u64)).copied().unwrap_or_default();
            let (write, read) = (number(libc::SYS_write), number(libc::SYS_read));
            let words = [
                counts.forks + counts.vforks,
                counts.execs,
                counts.code as u64,
                write.count,
                write.returned,
                read.count,
                number(libc::SYS_exit_group).count,
            ];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            i32::from(own_io::write_full(sender.as_fd(), &bytes).is_err())
        });
        let child = child.expect("fork");
        drop(sender);
        let mut words = [[0u8; 8]; 7];
        let whole = words.iter_mut().try_for_each(|word| own_io::read_full(receiver.as_fd(), word));
        let code = child.wait().expect("its end").code();
        if code == Some(3) {
            eprintln!("not tried: this kernel or sandbox does not let processes be traced");
            return None;
        }
        assert_eq!(code, Some(0));
        whole.expect("what it counted");
        let [made, execs, code, writes, written, reads, exits] = words.map(u64::from_ne_bytes);
        let mut counts = Counts { vforks: made, execs, code: code as i32, ..Counts::default() };
        for (nr, count, returned) in
            [(libc::SYS_write, writes, written), (libc::SYS_read, reads, 0), (libc::SYS_exit_group, exits, 0)]
        {
            counts.calls.insert(nr as u64, Calls { count, returned });
        }
        Some(counts)
    }

    #[test]
    fn calls_and_bytes_of_a_command_and_its_children_are_counted() {
        let dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=100", "count=7", "status=none"];
        let Some(counts) = of(&dd) else { return };
        assert_eq!(counts.calls[&(libc::SYS_write as u64)], Calls { count: 7, returned: 700 });
        assert!(counts.calls[&(libc::SYS_read as u64)].count >= 7);
        assert_eq!((counts.execs, counts.code, counts.vforks), (1, 0, 0));
        let script = format!("{} | cat; exit 3", dd.join(" ").replace("/dev/null", "/dev/stdout"));
        let Some(counts) = of(&["sh", "-c", &script]) else { return };
        let writes = counts.calls[&(libc::SYS_write as u64)];
        assert!(writes.returned >= 1400, "dd's and cat's: {writes:?}");
        assert_eq!((counts.execs, counts.code, counts.vforks), (3, 3, 2));
        assert_eq!(counts.calls[&(libc::SYS_exit_group as u64)].count, 3);
    }

    /// A `vfork` is cheaper than a `fork`, and a thread than both.
    #[test]
    fn forks_vforks_and_threads_are_counted_apart() {
        let after = |event| {
            let mut counts = Counts::default();
            counts.note(event);
            [counts.forks, counts.vforks, counts.clones, counts.execs]
        };
        assert_eq!(after(libc::PTRACE_EVENT_FORK), [1, 0, 0, 0]);
        assert_eq!(after(libc::PTRACE_EVENT_VFORK), [0, 1, 0, 0]);
        assert_eq!(after(libc::PTRACE_EVENT_CLONE), [0, 0, 1, 0]);
        assert_eq!(after(libc::PTRACE_EVENT_EXEC), [0, 0, 0, 1]);
        assert_eq!((after(0), after(libc::PTRACE_EVENT_EXIT)), ([0; 4], [0; 4]));
    }

    #[test]
    fn addresses_and_descriptors_are_no_bytes() {
        for number in [libc::SYS_mmap, libc::SYS_brk, libc::SYS_openat, libc::SYS_clone, libc::SYS_lseek] {
            assert!(!returns_bytes(number as u64), "{:?}", call_name(number as u64));
        }
        for number in [libc::SYS_read, libc::SYS_pwrite64, libc::SYS_getdents64, libc::SYS_sendfile] {
            assert!(returns_bytes(number as u64), "{:?}", call_name(number as u64));
        }
        assert!(!returns_bytes(u64::MAX));
    }

    #[test]
    fn names_are_those_of_the_numbers() {
        assert_eq!(call_name(libc::SYS_read as u64), Some("read"));
        assert_eq!(call_name(libc::SYS_openat as u64), Some("openat"));
        assert_eq!(call_name(u64::MAX), None);
    }

    /// Exit codes are those of a shell; signals from other processes arrive.
    #[test]
    fn signals_end_the_traced_program_or_run_its_handlers() {
        let Some(killed) = of(&["sh", "-c", "kill -9 $$"]) else { return };
        assert_eq!(killed.code, 128 + 9);
        let script = "trap 'exit 5' TERM; kill -TERM $$; exit 6";
        assert_eq!(of(&["sh", "-c", script]).map(|counts| counts.code), Some(5));
        let failing = of(&["sh", "-c", "exit 255"]).map(|counts| (counts.code, counts.execs, counts.vforks));
        assert_eq!(failing, Some((255, 1, 0)));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let missing = count(&mut Command::new("/nonexistent/program")).map_err(|e| e.kind());
        assert_eq!(missing, Err(io::ErrorKind::NotFound));
    }
}
