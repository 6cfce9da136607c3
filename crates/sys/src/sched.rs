//! Scheduling: what a task may request, and what the scheduler reports about it.
//!
//! # Safety
//! All arguments are integers by value except one structure, which is owned and outlives its call.
#![expect(unsafe_code, reason = "sched_yield, sched_setscheduler, prctl")]

use crate::io::checked;
use std::io;

/// `sched_yield` by number; 0 always.
#[inline(always)]
pub fn yield_now() -> isize {
    // SAFETY: no arguments.
    unsafe { crate::arch::syscall0(libc::SYS_sched_yield as usize) }
}

/// Makes the calling thread an ordinary task, `SCHED_OTHER`. Succeeds for an ordinary task even
/// where the system refuses any change.
///
/// # Errors
/// Those of `sched_setscheduler`.
pub fn be_ordinary() -> io::Result<()> {
    if policy() == OTHER { Ok(()) } else { set_scheduler(libc::SCHED_OTHER, 0) }
}

/// The policies that [`policy`] may return.
pub const OTHER: i64 = libc::SCHED_OTHER as i64;
/// See [`be_real_time`].
pub const FIFO: i64 = libc::SCHED_FIFO as i64;
/// See [`be_batch`].
pub const BATCH: i64 = libc::SCHED_BATCH as i64;

/// The scheduling policy of the calling thread; a negative number where the kernel does not say.
pub fn policy() -> i64 {
    // SAFETY: an integer by value.
    unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
}

/// Makes the calling thread a real-time task, `SCHED_FIFO`, of the lowest priority: ahead of all
/// ordinary tasks, and behind the kernel's own real-time tasks.
///
/// # Errors
/// Those of `sched_setscheduler`: `EPERM` without the privilege.
pub fn be_real_time() -> io::Result<()> {
    set_scheduler(libc::SCHED_FIFO, 1)
}

/// Makes the calling thread, and those that it starts, `SCHED_BATCH` tasks, which do not preempt
/// others on wake-up.
///
/// # Errors
/// Those of `sched_setscheduler`.
pub fn be_batch() -> io::Result<()> {
    set_scheduler(libc::SCHED_BATCH, 0)
}

/// Makes the calling thread, and those that it starts, `SCHED_IDLE` tasks, which run when no other
/// wants the CPU.
///
/// # Errors
/// Those of `sched_setscheduler`.
pub fn be_idle() -> io::Result<()> {
    set_scheduler(libc::SCHED_IDLE, 0)
}

/// Gives the calling thread the least weight of an ordinary task: nice 19.
///
/// # Errors
/// Those of `setpriority`.
pub fn be_nice() -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, 19)?)
}

/// `struct sched_attr`, as the kernel has it from Linux 3.14 on.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const _: () = assert!(size_of::<Attributes>() == 48);

/// Asks for a slice of this length for the calling thread, an ordinary task: who asks for little is
/// chosen earlier (EEVDF, Linux 6.12).
///
/// # Errors
/// Those of `sched_setattr`; `Unsupported` where the kernel does not keep what was asked for.
pub fn ask_for_slice(ns: u64) -> io::Result<()> {
    let size = size_of::<Attributes>() as u32;
    let asked = Attributes { size, policy: libc::SCHED_OTHER as u32, runtime: ns, ..Attributes::default() };
    let mut kept = Attributes::default();
    // SAFETY: the kernel reads a structure of the size that it says.
    checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const asked, 0) })?;
    // SAFETY: the kernel writes as much as the third argument says.
    checked(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut kept, size, 0) })?;
    if kept.runtime == ns { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// By number: musl's function of that name always fails.
fn set_scheduler(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // `struct sched_param` is one int to the kernel; libc's type is larger on musl.
    let param = [priority];
    // SAFETY: the parameter is a valid int that the kernel reads.
    checked(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, param.as_ptr()) })
}

/// The time by which the kernel may delay a timer of the calling thread to coalesce several, in
/// nanoseconds.
///
/// # Errors
/// Those of `prctl`: `EINVAL` where the kernel has no such thing.
pub fn timer_slack() -> io::Result<u64> {
    // SAFETY: no arguments.
    let slack = unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).map_err(|_| io::Error::last_os_error())
}

/// Sets [`timer_slack`]; 0 means the thread's default.
///
/// # Errors
/// Those of `prctl`.
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    // SAFETY: an integer by value.
    checked(unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, ns as libc::c_ulong) })
}

/// The time that the calling thread has been runnable while another task had its CPU, in
/// nanoseconds since it started; `None` where the kernel does not count it or `/proc` is missing.
pub fn run_delay_ns() -> Option<u64> {
    delay_in(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The second number of `nanoseconds on a CPU, nanoseconds waiting for one, turns`.
fn delay_in(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_set_and_put_back() {
        // Kernels without it, and some sandboxes, refuse.
        let Ok(before) = timer_slack() else { return };
        set_timer_slack(1).expect("prctl");
        assert_eq!(timer_slack().expect("prctl"), 1);
        set_timer_slack(0).expect("prctl");
        assert_eq!(timer_slack().expect("prctl"), before);
    }

    #[test]
    fn real_time_is_granted_or_refused() {
        match be_real_time() {
            Ok(()) => be_ordinary().expect("back to what it was"),
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::EPERM), "{e}"),
        }
        assert_eq!(yield_now(), 0);
    }

    #[test]
    fn the_run_delay_is_the_second_number() {
        assert_eq!((delay_in("812345 6789 42\n"), delay_in("812345")), (Some(6789), None));
    }

    /// In a thread, whose policy ends with it.
    #[test]
    fn a_task_has_the_requested_policy() {
        let seen = std::thread::spawn(move || {
            let batch = be_batch().map(|()| policy());
            let ordinary = be_ordinary().map(|()| policy());
            (batch.map_err(|e| e.raw_os_error()), ordinary.map_err(|e| e.raw_os_error()))
        });
        let (batch, ordinary) = seen.join().expect("no panic");
        let refused = Err(Some(libc::EPERM));
        assert!(batch == refused || batch == Ok(BATCH), "{batch:?}");
        assert!(ordinary == refused || ordinary == Ok(OTHER), "{ordinary:?}");
    }

    /// In a thread, as above. A kernel before 6.12 keeps no slice.
    #[test]
    fn a_task_keeps_the_slice_that_it_asked_for() {
        let asked = std::thread::spawn(|| {
            let slice = ask_for_slice(100_000).map_err(|e| e.kind());
            let nice = be_nice().map(|()| rustix::process::getpriority_process(None).unwrap_or(0));
            (slice, nice.map_err(|e| e.kind()), be_idle().map(|()| policy()).map_err(|e| e.kind()))
        });
        let (slice, nice, idle) = asked.join().expect("no panic");
        assert!(
            matches!(slice, Ok(()) | Err(io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)),
            "{slice:?}"
        );
        assert!(matches!(nice, Ok(19) | Err(io::ErrorKind::PermissionDenied)), "{nice:?}");
        assert!(matches!(idle, Ok(5) | Err(io::ErrorKind::PermissionDenied)), "{idle:?}");
    }

    #[test]
    fn the_run_delay_never_falls() {
        let (Some(before), Some(after)) = (run_delay_ns(), run_delay_ns()) else { return };
        assert!(after >= before);
    }

    /// Of the lowest priority: the kernel's own tasks go first.
    #[test]
    fn a_real_time_task_has_the_lowest_priority() {
        let seen = std::thread::spawn(|| {
            let refused = be_real_time();
            let mut priority = [-1];
            // SAFETY: room for one int, which is all that the kernel writes.
            let failed = unsafe { libc::syscall(libc::SYS_sched_getparam, 0, priority.as_mut_ptr()) };
            let seen = refused.map(|()| (policy(), failed, priority[0]));
            // Others wait for the CPU.
            be_ordinary().map_or_else(|e| Err(e.raw_os_error()), |()| Ok((seen, policy())))
        });
        match seen.join().expect("no panic").expect("back to what it was") {
            (Ok(seen), after) => assert_eq!((seen, after), ((FIFO, 0, 1), OTHER)),
            (Err(e), after) => {
                println!("skipped: {e}");
                assert_eq!(after, OTHER);
            }
        }
    }

    /// Compared with the file under the thread's id; the number only grows.
    #[test]
    fn the_run_delay_is_that_of_the_calling_thread() {
        let seen = std::thread::spawn(|| {
            let path = format!("/proc/self/task/{}/schedstat", rustix::thread::gettid().as_raw_nonzero());
            let shown = || delay_in(&std::fs::read_to_string(&path).ok()?);
            (0..100).map(|_| [shown(), run_delay_ns(), shown()]).collect::<Vec<_>>()
        });
        for seen in seen.join().expect("no panic") {
            assert!(seen.is_sorted() && seen.iter().all(|ns| ns.is_some() == seen[0].is_some()), "{seen:?}");
        }
    }
}
