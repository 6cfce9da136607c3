//! The ways of making a process, each as bare as a benchmark needs it.
//!
//! The child does nothing but leave or become another program. Not for benchmarks' helpers: those are made by
//! [`crate::fork::fork`], which watches over them. Whoever calls these waits for the child with
//! [`crate::process::wait`].
//!
//! # Safety
//! After `fork` or `clone` the child only calls `_exit` or `execve`, both async-signal-safe. The `CLONE_VM` child runs
//! on a stack of its own while its parent is suspended (`CLONE_VFORK`), and writes nothing else but an atomic that its
//! parent lends it.
#![expect(unsafe_code, reason = "fork, clone, execve, posix_spawn")]

use std::ffi::{CStr, CString};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The code with which a child leaves when `execve` failed; no target of ours returns it.
pub const EXEC_FAILED: i32 = 127;

/// A program, its fixed argument vector and an empty environment, laid out before timing starts.
#[derive(Debug)]
pub struct Command {
    path: CString,
    /// Owns what `argv` points to.
    _args: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: [*const libc::c_char; 1],
}

impl Command {
    /// The program at `path` with `args` (the first of which is the name it is told).
    ///
    /// # Errors
    /// `InvalidInput` when a text holds a NUL.
    pub fn new(path: &str, args: &[&str]) -> io::Result<Command> {
        let text = |t: &str| CString::new(t).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e));
        let args: Vec<CString> = args.iter().map(|a| text(a)).collect::<io::Result<_>>()?;
        let argv = args.iter().map(|a| a.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Command { path: text(path)?, _args: args, argv, envp: [std::ptr::null()] })
    }

    /// The program's path.
    pub fn path(&self) -> &CStr {
        &self.path
    }

    fn exec(&self) -> ! {
        // SAFETY: path, argv and envp are NUL-terminated and live in `self`; on failure the child leaves at once.
        unsafe {
            libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
            libc::_exit(EXEC_FAILED)
        }
    }

    /// `fork` then `execve`; returns the child's id.
    ///
    /// # Errors
    /// Those of `fork`. A failed `execve` shows as exit code [`EXEC_FAILED`].
    #[inline]
    pub fn fork_exec(&self) -> io::Result<i32> {
        // SAFETY: see the module's Safety section.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => self.exec(),
            pid => Ok(pid),
        }
    }

    /// `clone(CLONE_VM | CLONE_VFORK)` then `execve`, as `vfork` does it; returns the child's id.
    ///
    /// # Errors
    /// Those of `clone`. A failed `execve` shows as exit code [`EXEC_FAILED`].
    pub fn vfork_exec(&self, stack: &mut Stack) -> io::Result<i32> {
        extern "C" fn child(command: *mut libc::c_void) -> libc::c_int {
            // SAFETY: the pointer is the `&Command` passed below; its owner is suspended until this child has exec'ed.
            unsafe { &*command.cast::<Command>() }.exec()
        }
        vfork(child, stack, (self as *const Command).cast_mut().cast())
    }

    /// libc's `posix_spawn`; returns the child's id.
    ///
    /// # Errors
    /// Those of `posix_spawn`, which reports a failed `execve` itself.
    pub fn posix_spawn(&self) -> io::Result<i32> {
        let mut pid = 0;
        // SAFETY: path, argv and envp are NUL-terminated and live in `self`; no file actions, no attributes.
        let error = unsafe {
            libc::posix_spawn(
                &mut pid,
                self.path.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                self.argv.as_ptr().cast(),
                self.envp.as_ptr().cast(),
            )
        };
        if error == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

/// `fork` whose child leaves at once with `code`; returns the child's id.
///
/// # Errors
/// Those of `fork`.
#[inline]
pub fn fork_exit(code: i32) -> io::Result<i32> {
    // SAFETY: see the module's Safety section.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => crate::fork::exit_now(code),
        pid => Ok(pid),
    }
}

/// A stack for `CLONE_VM` children.
#[derive(Debug)]
pub struct Stack(Box<[u128]>);

impl Default for Stack {
    /// 64 KiB: the child calls `execve` or `_exit` and nothing else.
    fn default() -> Stack {
        Stack(vec![0; 4096].into_boxed_slice())
    }
}

fn vfork(
    child: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    stack: &mut Stack,
    argument: *mut libc::c_void,
) -> io::Result<i32> {
    let top = stack.0.as_mut_ptr_range().end;
    // SAFETY: `top` is the aligned end of an exclusively borrowed stack; CLONE_VFORK suspends this thread until the child
    // has left or exec'ed, so stack and argument outlive its use of them.
    let pid = unsafe { libc::clone(child, top.cast(), libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, argument) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// `clone(CLONE_VM | CLONE_VFORK)` whose child leaves at once with code `code` (0..=255); returns the child's id.
///
/// # Errors
/// Those of `clone`.
pub fn vfork_exit(code: u8, stack: &mut Stack) -> io::Result<i32> {
    extern "C" fn child(code: *mut libc::c_void) -> libc::c_int {
        crate::fork::exit_now(code as usize as i32)
    }
    vfork(child, stack, std::ptr::without_provenance_mut(usize::from(code)))
}

/// As [`vfork_exit`]; the child first adds 1 to a counter in the memory that it shares with its parent: a child that got a
/// copy of the memory would count in the copy.
///
/// # Errors
/// Those of `clone`.
pub fn vfork_counted(code: u8, counter: &AtomicU64, stack: &mut Stack) -> io::Result<i32> {
    struct Task<'a> {
        code: u8,
        counter: &'a AtomicU64,
    }
    extern "C" fn child(task: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is that of the `Task` below; its owner is suspended until this child has left.
        let task = unsafe { &*task.cast::<Task<'_>>() };
        task.counter.fetch_add(1, Ordering::Relaxed);
        crate::fork::exit_now(i32::from(task.code))
    }
    let task = Task { code, counter };
    vfork(child, stack, (&raw const task).cast_mut().cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::wait;

    #[test]
    fn every_way_ends_with_the_expected_code() {
        let mut stack = Stack::default();
        let code = |pid: io::Result<i32>| wait(pid.expect("a child")).expect("wait").code();
        assert_eq!(code(fork_exit(3)), Some(3));
        assert_eq!(code(vfork_exit(4, &mut stack)), Some(4));
        let shell = Command::new("/bin/sh", &["sh", "-c", "exit 5"]).expect("command");
        assert_eq!(code(shell.fork_exec()), Some(5));
        assert_eq!(code(shell.vfork_exec(&mut stack)), Some(5));
        assert_eq!(code(shell.posix_spawn()), Some(5));
    }

    #[test]
    fn a_child_that_shares_memory_counts_in_ours() {
        let (mut stack, counter) = (Stack::default(), AtomicU64::new(5));
        let pid = vfork_counted(6, &counter, &mut stack).expect("clone");
        assert_eq!(wait(pid).expect("wait").code(), Some(6));
        assert_eq!(counter.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn a_missing_program_is_told_apart_from_one_that_ran() {
        let missing = Command::new("/nonexistent/program", &["program"]).expect("command");
        let mut stack = Stack::default();
        assert_eq!(wait(missing.fork_exec().expect("fork")).expect("wait").code(), Some(EXEC_FAILED));
        assert_eq!(wait(missing.vfork_exec(&mut stack).expect("clone")).expect("wait").code(), Some(EXEC_FAILED));
        assert_eq!(missing.posix_spawn().map_err(|e| e.kind()), Err(io::ErrorKind::NotFound));
    }
}
