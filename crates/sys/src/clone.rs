//! `clone3` itself: processes and threads as the kernel creates them, without what libc adds.
//!
//! # Safety
//! A child that shares memory runs on a stack of its own, which is exclusively borrowed until it
//! has exited: a process suspends its parent for that time (`CLONE_VFORK`), and a thread is waited
//! for before anyone else may use the stack. A thread shares the thread-local storage of its
//! creator, so it only reads the clock (which touches none on success) and writes atomics. A child
//! with a copy of the memory only calls `_exit`.
#![expect(unsafe_code, reason = "clone3")]

use crate::arch::clone3_call;
use crate::clock::{Clock, Monotonic};
use crate::spawn::{Stack, Task};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The kernel's `struct clone_args`, zero where unused.
#[derive(Default)]
#[repr(C)]
struct Args {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    /// The descriptor of a directory, for [`INTO_GROUP`].
    group: u64,
}

/// Bytes of the structure in Linux 5.3, the first with it, which may not know the fields behind.
const FIRST_SIZE: usize = 64;
/// `CLONE_INTO_CGROUP` (Linux 5.7).
const INTO_GROUP: u64 = 1 << 33;

impl Args {
    fn of_process(flags: i32) -> Args {
        Args { flags: flags as u64, exit_signal: libc::SIGCHLD as u64, ..Args::default() }
    }

    fn on(self, stack: &mut Stack) -> Args {
        let (stack, stack_size) = stack.range();
        Args { stack, stack_size, ..self }
    }

    /// # Safety
    /// That of [`clone3_call`].
    unsafe fn call(&self, body: extern "C" fn(usize) -> i32, argument: usize) -> io::Result<i32> {
        let size = if self.flags & INTO_GROUP == 0 { FIRST_SIZE } else { size_of::<Args>() };
        // SAFETY: the structure is the kernel's and lives across the call; the caller vouches for
        // the rest.
        match unsafe { clone3_call(std::ptr::from_ref(self) as usize, size, body, argument) } {
            e if e < 0 => Err(io::Error::from_raw_os_error(-e as i32)),
            id => Ok(id as i32),
        }
    }
}

extern "C" fn process_body(task: usize) -> i32 {
    // SAFETY: the number is the `&Task` that the functions below pass. It is valid in a copy of the
    // memory too; in shared memory its owner is suspended until this child has exited.
    unsafe { &*(task as *const Task<'_>) }.run()
}

/// A process with a copy of the memory, as `fork` creates it, that runs its task; returns its id.
///
/// # Errors
/// Those of `clone3`.
pub fn fork(task: &Task<'_>) -> io::Result<i32> {
    // SAFETY: see the module's Safety section.
    unsafe { Args::of_process(0).call(process_body, std::ptr::from_ref(task) as usize) }
}

/// As [`fork`], in the control group of the unified hierarchy with this directory.
///
/// # Errors
/// Those of `clone3`: `EACCES` where processes may not be put there, `E2BIG` before Linux 5.7.
pub fn fork_into(group: BorrowedFd<'_>, task: &Task<'_>) -> io::Result<i32> {
    let args = Args { flags: INTO_GROUP, group: group.as_raw_fd() as u64, ..Args::of_process(0) };
    // SAFETY: see the module's Safety section.
    unsafe { args.call(process_body, std::ptr::from_ref(task) as usize) }
}

/// A process with a copy of the memory in these new namespaces (`CLONE_NEW…`) that runs `body`;
/// returns its id. `body` exits.
///
/// # Errors
/// Those of `clone3`.
pub(crate) fn fork_with(namespaces: u64, body: extern "C" fn(usize) -> i32, argument: usize) -> io::Result<i32> {
    let args = Args { flags: namespaces, ..Args::of_process(0) };
    // SAFETY: see the module's Safety section.
    unsafe { args.call(body, argument) }
}

/// A process that shares the memory until it has run its task (`CLONE_VM | CLONE_VFORK`); returns
/// its id.
///
/// # Errors
/// Those of `clone3`.
pub fn vfork(task: &Task<'_>, stack: &mut Stack) -> io::Result<i32> {
    let args = Args::of_process(libc::CLONE_VM | libc::CLONE_VFORK).on(stack);
    // SAFETY: see the module's Safety section.
    unsafe { args.call(process_body, std::ptr::from_ref(task) as usize) }
}

/// As [`fork`], with a descriptor that stands for the process (`CLONE_PIDFD`).
///
/// # Errors
/// Those of `clone3`.
pub fn fork_pidfd(task: &Task<'_>) -> io::Result<OwnedFd> {
    let mut fd = -1i32;
    let args = Args { pidfd: &raw mut fd as u64, ..Args::of_process(libc::CLONE_PIDFD) };
    // SAFETY: see the module's Safety section; the kernel writes the descriptor, which is new and
    // has no other owner.
    unsafe {
        args.call(process_body, std::ptr::from_ref(task) as usize)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Waits for the process of this descriptor, and reaps it; returns its exit code, if it exited.
///
/// # Errors
/// Those of `waitid`.
pub fn wait_pidfd(fd: &OwnedFd) -> io::Result<Option<i32>> {
    use rustix::fd::AsFd;
    loop {
        match waitid(WaitId::PidFd(fd.as_fd()), WaitIdOptions::EXITED) {
            Ok(status) => return Ok(status.and_then(|s| s.exit_status())),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Creates a thread that returns `number` plus one, and waits for it on the word that the kernel
/// clears when the thread has exited. Returns its result and, if `stamp`, when it began to run.
///
/// # Errors
/// Those of `clone3`.
pub fn thread(number: usize, stamp: bool, stack: &mut Stack) -> io::Result<(usize, u64)> {
    struct Errand {
        number: AtomicUsize,
        stamp: bool,
        at_ns: AtomicU64,
        alive: AtomicU32,
    }
    extern "C" fn body(errand: usize) -> i32 {
        // SAFETY: the number is the `&Errand` below, whose owner waits until this thread has
        // exited.
        let errand = unsafe { &*(errand as *const Errand) };
        if errand.stamp {
            errand.at_ns.store(Monotonic.now_ns(), Ordering::Relaxed);
        }
        errand.number.fetch_add(1, Ordering::Relaxed);
        0
    }
    let errand = Errand { number: AtomicUsize::new(number), stamp, at_ns: AtomicU64::new(0), alive: AtomicU32::new(1) };
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_CHILD_CLEARTID;
    let args = Args { flags: flags as u64, child_tid: errand.alive.as_ptr() as u64, ..Args::default() }.on(stack);
    // SAFETY: see the module's Safety section; the errand lives until the thread has gone.
    unsafe { args.call(body, std::ptr::from_ref(&errand) as usize)? };
    while errand.alive.load(Ordering::Acquire) != 0 {
        crate::shared::wait(&errand.alive, 1, None);
    }
    Ok((errand.number.into_inner(), errand.at_ns.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::spawn::ChildAction;

    /// Sandboxes report that there is no such call; then there is nothing to test.
    fn missing(error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
    }

    #[test]
    fn every_kind_of_process_does_its_task() {
        let counter = AtomicU64::new(0);
        let task = Task { code: 9, action: ChildAction::Count(&counter) };
        let pid = match fork(&task) {
            Err(e) if missing(&e) => return,
            pid => pid.expect("clone3"),
        };
        assert_eq!(process::wait(pid).expect("wait").code(), Some(9));
        let fd = fork_pidfd(&task).expect("clone3");
        assert_eq!(wait_pidfd(&fd).expect("waitid"), Some(9));
        assert_eq!(counter.load(Ordering::Relaxed), 0, "they count in copies");
        let pid = vfork(&task, &mut Stack::new().expect("memory")).expect("clone3");
        assert_eq!(process::wait(pid).expect("wait").code(), Some(9));
        assert_eq!(counter.load(Ordering::Relaxed), 1, "it counts in our memory");
    }

    #[test]
    fn threads_answer_one_after_another_on_one_stack() {
        let mut stack = Stack::new().expect("memory");
        for number in 0..1000 {
            let before = Monotonic.now_ns();
            match thread(number, number % 2 == 0, &mut stack) {
                Err(e) if missing(&e) => return,
                answer => {
                    let (answer, at_ns) = answer.expect("clone3");
                    assert_eq!(answer, number + 1);
                    assert_eq!(at_ns > before, number % 2 == 0);
                }
            }
        }
    }
}
