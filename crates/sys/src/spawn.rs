//! The ways to create a process, each with as little around it as a benchmark needs.
//!
//! The child only exits or executes another program. Not for the helper processes of benchmarks:
//! [`crate::fork::fork`] creates those and watches them. Callers wait for the child with
//! [`crate::process::wait`].
//!
//! # Safety
//! After `fork` or `clone` the child only calls `_exit` or `execve`, both async-signal-safe. The
//! `CLONE_VM` child runs on a stack of its own while its parent is suspended (`CLONE_VFORK`), and
//! writes only an atomic that its parent lends it.
#![expect(unsafe_code, reason = "fork, clone, execve, posix_spawn, mmap of a stack")]

use crate::clock::{Clock, Monotonic};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The exit code of a child whose `execve` failed; no program that we run returns it.
pub const EXEC_FAILED: i32 = 127;

/// A program, its argument vector and an environment, empty as a rule, prepared before timing
/// starts.
#[derive(Debug)]
pub struct Command {
    path: CString,
    /// The program's file, where it exists only in memory.
    memory: Option<OwnedFd>,
    /// Owns what `argv` points to.
    _args: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    /// Owns what `envp` points to.
    _path_variable: Option<CString>,
    envp: [*const libc::c_char; 2],
}

impl Command {
    /// The program at `path` with `args`, the first of which is its name.
    ///
    /// # Errors
    /// `InvalidInput` when a string contains a NUL.
    pub fn new(path: impl AsRef<OsStr>, args: &[impl AsRef<OsStr>]) -> io::Result<Command> {
        let text = |t: &OsStr| CString::new(t.as_bytes()).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e));
        let args: Vec<CString> = args.iter().map(|a| text(a.as_ref())).collect::<io::Result<_>>()?;
        let argv = args.iter().map(|a| a.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Command {
            path: text(path.as_ref())?,
            memory: None,
            _args: args,
            argv,
            _path_variable: None,
            envp: [std::ptr::null(); 2],
        })
    }

    /// The program whose file is `elf`, in memory without a path (`memfd_create`).
    ///
    /// # Errors
    /// Those of `memfd_create` (`EACCES` where the system forbids programs there) and `write`.
    pub fn in_memory(elf: &[u8], args: &[&str]) -> io::Result<Command> {
        let make = |flags| memfd_create(c"target", MemfdFlags::CLOEXEC | flags);
        // Kernels before 6.3 do not know the flag, and allow execution without it.
        let memory =
            make(MemfdFlags::EXEC).or_else(|e| if e == Errno::INVAL { make(MemfdFlags::empty()) } else { Err(e) });
        let memory = memory?;
        crate::io::write_full(memory.as_fd(), elf)?;
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        Ok(Command { memory: Some(memory), ..Command::new(&path, args)? })
    }

    /// The same program, which finds others in this `PATH`.
    ///
    /// # Errors
    /// `InvalidInput` when it contains a NUL.
    pub fn with_path_variable(self, path: &OsStr) -> io::Result<Command> {
        let variable = CString::new([b"PATH=", path.as_bytes()].concat());
        let variable = variable.map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        Ok(Command { envp: [variable.as_ptr(), std::ptr::null()], _path_variable: Some(variable), ..self })
    }

    /// The program's path.
    pub fn path(&self) -> &CStr {
        &self.path
    }

    fn exec(&self) -> ! {
        // SAFETY: path, argv and envp are NUL-terminated and live in `self`; on failure the child
        // exits at once.
        unsafe {
            match &self.memory {
                None => drop(libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr())),
                Some(memory) => {
                    let (fd, flags) = (memory.as_raw_fd(), libc::AT_EMPTY_PATH);
                    let (argv, envp) = (self.argv.as_ptr(), self.envp.as_ptr());
                    libc::syscall(libc::SYS_execveat, fd, c"".as_ptr(), argv, envp, flags);
                }
            }
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
            -1 => Err(crate::refused::note(io::Error::last_os_error())),
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
            // SAFETY: the pointer is the `&Command` passed below; its owner is suspended until this
            // child has executed the program.
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
        // SAFETY: path, argv and envp are NUL-terminated and live in `self`; no file actions, no
        // attributes.
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

/// The task of a child that executes no other program.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its exit code, by `_exit`.
    pub code: u8,
    /// What it does before it exits.
    pub action: ChildAction<'a>,
}

/// What a child leaves as evidence. A child with a copy of the memory needs the number in a
/// [`crate::shared::Shared`].
#[derive(Clone, Copy, Debug)]
pub enum ChildAction<'a> {
    /// Nothing.
    Nothing,
    /// It adds 1.
    Count(&'a AtomicU64),
    /// It stores when it began to run, in nanoseconds of [`Monotonic`].
    Stamp(&'a AtomicU64),
}

impl Task<'_> {
    /// Runs the task, in the child.
    #[inline]
    pub(crate) fn run(&self) -> ! {
        match self.action {
            ChildAction::Nothing => {}
            ChildAction::Count(counter) => drop(counter.fetch_add(1, Ordering::Relaxed)),
            ChildAction::Stamp(stamp) => stamp.store(Monotonic.now_ns(), Ordering::Relaxed),
        }
        crate::fork::exit_now(i32::from(self.code))
    }
}

/// `fork` whose child runs its task; returns the child's id.
///
/// # Errors
/// Those of `fork`.
#[inline]
pub fn fork_exit(task: &Task<'_>) -> io::Result<i32> {
    // SAFETY: see the module's Safety section.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => task.run(),
        pid => Ok(pid),
    }
}

/// A stack for children that share memory, mapped directly and without a guard page, which they do
/// not need.
#[derive(Debug)]
pub struct Stack(*mut libc::c_void);

impl Stack {
    /// Such a child calls `execve` or `_exit`, or reads the clock, and little else.
    const BYTES: usize = 64 << 10;

    /// A stack that has not been touched.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn new() -> io::Result<Stack> {
        let (flags, writable) =
            (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), Stack::BYTES, writable, flags, -1, 0) };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Stack(base)) }
    }

    /// Its start address and its length in bytes.
    pub(crate) fn range(&mut self) -> (u64, u64) {
        (self.0 as u64, Stack::BYTES as u64)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this stack; a child on it is waited for while it is
        // borrowed.
        unsafe { libc::munmap(self.0, Stack::BYTES) };
    }
}

fn vfork(
    child: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    stack: &mut Stack,
    argument: *mut libc::c_void,
) -> io::Result<i32> {
    // SAFETY: one past the end of the mapping.
    let top = unsafe { stack.0.byte_add(Stack::BYTES) };
    // SAFETY: `top` is the aligned end of an exclusively borrowed stack. CLONE_VFORK suspends this
    // thread until the child has exited or executed a program, so stack and argument outlive their
    // use.
    let pid = unsafe { libc::clone(child, top, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, argument) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// `clone(CLONE_VM | CLONE_VFORK)` whose child runs its task in its parent's memory; returns the
/// child's id.
///
/// # Errors
/// Those of `clone`.
pub fn vfork_exit(task: &Task<'_>, stack: &mut Stack) -> io::Result<i32> {
    extern "C" fn child(task: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is the `&Task` passed below; its owner is suspended until this child
        // has exited.
        unsafe { &*task.cast::<Task<'_>>() }.run()
    }
    vfork(child, stack, std::ptr::from_ref(task).cast_mut().cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::wait;

    #[test]
    fn every_way_ends_with_the_expected_code() {
        let mut stack = Stack::new().expect("memory");
        let code = |pid: io::Result<i32>| wait(pid.expect("a child")).expect("wait").code();
        assert_eq!(code(fork_exit(&Task { code: 3, action: ChildAction::Nothing })), Some(3));
        assert_eq!(code(vfork_exit(&Task { code: 4, action: ChildAction::Nothing }, &mut stack)), Some(4));
        let shell = Command::new("/bin/sh", &["sh", "-c", "exit 5"]).expect("command");
        assert_eq!(code(shell.fork_exec()), Some(5));
        assert_eq!(code(shell.vfork_exec(&mut stack)), Some(5));
        assert_eq!(code(shell.posix_spawn()), Some(5));
        let elf = std::fs::read("/bin/sh").expect("the shell");
        let shell = Command::in_memory(&elf, &["sh", "-c", "exit 6"]).expect("memory");
        assert_eq!(code(shell.fork_exec()), Some(6));
        assert_eq!(code(shell.vfork_exec(&mut stack)), Some(6));
        assert_eq!(code(shell.posix_spawn()), Some(6));
    }

    #[test]
    fn a_child_that_shares_memory_counts_in_ours() {
        let (mut stack, counter) = (Stack::new().expect("memory"), AtomicU64::new(5));
        let pid = vfork_exit(&Task { code: 6, action: ChildAction::Count(&counter) }, &mut stack).expect("clone");
        assert_eq!(wait(pid).expect("wait").code(), Some(6));
        assert_eq!(counter.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn a_child_stamps_its_start() {
        let stamps = crate::shared::Shared::<AtomicU64>::new(2).expect("memory");
        let before = Monotonic.now_ns();
        let pid = fork_exit(&Task { code: 7, action: ChildAction::Stamp(&stamps[0]) }).expect("fork");
        assert_eq!(wait(pid).expect("wait").code(), Some(7));
        let pid =
            vfork_exit(&Task { code: 8, action: ChildAction::Stamp(&stamps[1]) }, &mut Stack::new().expect("memory"))
                .expect("clone");
        assert_eq!(wait(pid).expect("wait").code(), Some(8));
        let seen: Vec<u64> = stamps.iter().map(|s| s.load(Ordering::Relaxed)).collect();
        assert!(before < seen[0] && seen[0] < seen[1] && seen[1] < Monotonic.now_ns(), "{before} {seen:?}");
    }

    #[test]
    fn a_missing_program_has_its_own_exit_code() {
        let missing = Command::new("/nonexistent/program", &["program"]).expect("command");
        let mut stack = Stack::new().expect("memory");
        assert_eq!(wait(missing.fork_exec().expect("fork")).expect("wait").code(), Some(EXEC_FAILED));
        assert_eq!(wait(missing.vfork_exec(&mut stack).expect("clone")).expect("wait").code(), Some(EXEC_FAILED));
        assert_eq!(missing.posix_spawn().map_err(|e| e.kind()), Err(io::ErrorKind::NotFound));
    }

    /// What a program finds in its environment takes time to copy and to read.
    #[test]
    fn programs_start_without_an_environment_and_with_their_arguments() {
        let script = r#"test -z "$CARGO_MANIFEST_DIR$HOME$LANG" && test "$0,$1,$#" = "name,a b,1""#;
        let command = Command::new("/bin/sh", &["sh", "-c", script, "name", "a b"]).expect("command");
        let mut stack = Stack::new().expect("memory");
        for pid in [command.fork_exec(), command.vfork_exec(&mut stack), command.posix_spawn()] {
            assert_eq!(wait(pid.expect("a child")).expect("wait").code(), Some(0));
        }
        assert_eq!(command.path(), c"/bin/sh");
        let nul = Command::new("/bin/sh", &["sh", "a\0b"]).map(|_| ()).map_err(|e| e.kind());
        assert_eq!(nul, Err(io::ErrorKind::InvalidInput));
    }

    /// The descriptor of a program in memory is closed in the program that runs from it.
    #[test]
    fn a_program_in_memory_is_closed_on_exec() {
        let command = Command::in_memory(b"no program", &["none"]).expect("memory");
        let memory = command.memory.as_ref().expect("it has a descriptor");
        assert!(rustix::io::fcntl_getfd(memory).expect("F_GETFD").contains(rustix::io::FdFlags::CLOEXEC));
        assert_eq!(wait(command.fork_exec().expect("fork")).expect("wait").code(), Some(EXEC_FAILED));
    }
}
