//! A process in a container: new namespaces, a root of its own with a `/proc`, a filter of system
//! calls, and then a program. What container runtimes do, without what they read and log.
//!
//! # Safety
//! The child has a copy of the memory of a process with one thread. It only makes system calls with
//! strings, arrays and a filter that were made before and that its copy holds, and executes a
//! program or exits.
#![expect(unsafe_code, reason = "a child that makes system calls and executes a program")]

use crate::clone::fork_with;
use crate::filter::apply;
use crate::namespaces::Namespaces;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// The exit codes of a child that cannot do a step: the first of [`STEPS`] and those behind it.
const FIRST_STEP: i32 = 200;
/// What a child does, in this order.
const STEPS: [&str; 6] = [
    "making mounts private",
    "mounting the root",
    "changing the root",
    "mounting /proc",
    "installing a filter",
    "executing the program",
];

/// The step at which a child with this exit code failed.
pub fn failed_step(code: i32) -> Option<&'static str> {
    STEPS.get(usize::try_from(code - FIRST_STEP).ok()?).copied()
}

/// What a container starts with.
#[derive(Debug)]
pub struct Container {
    namespaces: Namespaces,
    root: CString,
    program: CString,
    arguments: Vec<CString>,
    filter: Vec<libc::sock_filter>,
}

impl Container {
    /// A container over a directory that holds an empty directory `proc` and the program `path`
    /// (an absolute one within it), which gets these arguments. `filter` is installed before.
    ///
    /// # Errors
    /// When a text holds the byte 0.
    pub fn new(
        namespaces: Namespaces,
        root: &Path,
        path: &str,
        arguments: &[&str],
        filter: Vec<libc::sock_filter>,
    ) -> io::Result<Container> {
        let text = |text: &str| CString::new(text);
        Ok(Container {
            namespaces,
            root: CString::new(root.as_os_str().as_bytes())?,
            program: text(path)?,
            arguments: arguments.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
            filter,
        })
    }

    /// Starts it; returns the id of its process.
    ///
    /// # Errors
    /// Those of `clone3`: `EPERM` without the right to make the namespaces.
    pub fn start(&self) -> io::Result<i32> {
        fork_with(self.namespaces.flags(), body, ptr::from_ref(self) as usize)
    }

    /// Does all steps. Returns the number of the one that failed.
    fn enter(&self) -> usize {
        let (none, here) = (ptr::null(), c".".as_ptr());
        let mount = |what: &CStr, at: &CStr, kind: *const libc::c_char, flags| {
            // SAFETY: strings that outlive the call; no data.
            unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind, flags, ptr::null()) == 0 }
        };
        if !mount(c"none", c"/", none, libc::MS_REC | libc::MS_PRIVATE) {
            return 0;
        }
        if !mount(&self.root, &self.root, none, libc::MS_BIND) {
            return 1;
        }
        // SAFETY: strings that outlive the calls.
        let inside = unsafe {
            libc::chdir(self.root.as_ptr()) == 0
                && libc::syscall(libc::SYS_pivot_root, here, here) == 0
                && libc::umount2(here, libc::MNT_DETACH) == 0
        };
        if !inside {
            return 2;
        }
        if !mount(c"proc", c"/proc", c"proc".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC) {
            return 3;
        }
        if apply(&self.filter).is_err() {
            return 4;
        }
        let mut arguments: [*const libc::c_char; 8] = [ptr::null(); 8];
        for (to, from) in arguments.iter_mut().take(7).zip(&self.arguments) {
            *to = from.as_ptr();
        }
        // SAFETY: a path, arguments that end in a null pointer, and no environment.
        unsafe { libc::execve(self.program.as_ptr(), arguments.as_ptr(), [ptr::null()].as_ptr()) };
        5
    }
}

extern "C" fn body(container: usize) -> i32 {
    // SAFETY: the number is the `&Container` that `start` passes; the child has a copy of it.
    let failed = unsafe { &*(container as *const Container) }.enter();
    crate::fork::exit_now(FIRST_STEP + failed as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_a_code_of_its_own() {
        assert_eq!(failed_step(200), Some("making mounts private"));
        assert_eq!(failed_step(205), Some("executing the program"));
        assert_eq!([failed_step(199), failed_step(206), failed_step(42)], [None; 3]);
    }

    /// A root without the program, so the last step fails: all others were done.
    #[test]
    fn all_steps_before_the_program_are_done() {
        let scratch = crate::testing::Scratch::new("container");
        std::fs::create_dir(scratch.0.join("proc")).expect("a directory");
        let all = Namespaces::named("all").expect("a word");
        let filter = crate::filter::passing(300, crate::filter::Compares::Argument);
        let container = Container::new(all, &scratch.0, "/nothing", &["nothing"], filter).expect("texts");
        match container.start() {
            Ok(pid) => {
                let exit = crate::process::wait(pid).expect("wait");
                assert_eq!(exit.code().and_then(failed_step), Some("executing the program"), "{exit}");
            }
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::PermissionDenied),
        }
        assert!(!scratch.0.join("proc/self").exists(), "its mounts are gone with it");
    }
}
