//! What a process must do to be a clean child and a clean parent: die with its parent, be ended as a group, be reaped.
//!
//! Nothing here starts processes: forks are in [`crate::fork`], spawns of other programs in [`crate::spawn`], and the
//! supervisor starts its workers through `std::process`.
//!
//! # Safety
//! Process ids are passed by value; out-parameters are owned and valid.
#![expect(unsafe_code, reason = "prctl, kill, wait4, getauxval")]

use crate::counters::Usage;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How a child ended, and what the kernel counted for it.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// The child.
    pub pid: i32,
    /// The raw wait status.
    status: i32,
    /// Its counters over its whole life.
    pub usage: Usage,
}

impl Exit {
    /// Its exit code, if it left by itself.
    pub fn code(&self) -> Option<i32> {
        libc::WIFEXITED(self.status).then(|| libc::WEXITSTATUS(self.status))
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        libc::WIFSIGNALED(self.status).then(|| libc::WTERMSIG(self.status))
    }

    /// Whether it left with code 0.
    pub fn success(&self) -> bool {
        self.code() == Some(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code(), self.signal()) {
            (Some(code), _) => write!(f, "exited with code {code}"),
            (_, Some(signal)) => write!(f, "ended by signal {signal} ({})", signal_name(signal)),
            _ => write!(f, "ended with status {:#x}", self.status),
        }
    }
}

/// The name of a signal that ends processes here; `?` for the others.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => "?",
    }
}

/// This process's id.
pub fn id() -> i32 {
    std::process::id() as i32
}

/// The parent's id as the kernel knows it now.
pub fn parent_id() -> i32 {
    std::os::unix::process::parent_id() as i32
}

/// Asks the kernel to end this process with SIGKILL when its parent ends, and makes sure that it has not ended already.
///
/// `parent` is the id that the parent told: never compare with 1, a container's first process is a legal parent
/// (lmbench-inventory.md H5).
///
/// # Errors
/// Those of `prctl`; `Other` when the parent is already another one.
pub fn die_with_parent(parent: i32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number by value.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if parent_id() != parent {
        return Err(io::Error::other("the parent process has already ended"));
    }
    Ok(())
}

/// Makes this process inherit the orphans among its descendants, so that [`reap`] finds them.
///
/// # Errors
/// Those of `prctl`.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes a flag by value.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Keeps the kernel from writing a core file of this process: tests crash on purpose.
pub fn no_core_file() {
    // SAFETY: PR_SET_DUMPABLE takes a flag by value.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
}

/// Refuses transparent huge pages for this whole process, so that khugepaged cannot change pages during a run.
pub fn refuse_huge_pages() {
    // SAFETY: PR_SET_THP_DISABLE takes flags by value; kernels without it answer EINVAL.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Takes [`refuse_huge_pages`] back, which a process inherits from its parent.
pub fn allow_huge_pages() {
    // SAFETY: as for `refuse_huge_pages`.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) };
}

/// Whether this process refuses transparent huge pages.
pub fn huge_pages_refused() -> bool {
    // SAFETY: PR_GET_THP_DISABLE takes flags by value; kernels without it answer with a negative number.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0 }
}

/// Ends a whole process group. A group that is gone is no error.
pub fn kill_group(group: i32) {
    if group > 1 {
        // SAFETY: plain system call; the group was made for a worker of ours.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Sends SIGKILL to one process of ours that has not been waited for.
pub fn kill(pid: i32) {
    if pid > 1 {
        // SAFETY: plain system call; an unreaped child keeps its id.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Whether a process of that id exists (it may be another one by now).
pub fn exists(pid: i32) -> bool {
    // SAFETY: signal 0 only checks.
    pid > 0 && (unsafe { libc::kill(pid, 0) } == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

/// Waits for a child to end; interrupted waits go on.
///
/// # Errors
/// Those of `wait4`: `ECHILD` when it is no child of ours.
pub fn wait(pid: i32) -> io::Result<Exit> {
    loop {
        match wait4(pid, 0) {
            Ok(Some(exit)) => return Ok(exit),
            Ok(None) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The end of some child that has ended, if one has; -1 asks for any.
///
/// # Errors
/// Those of `wait4`: `ECHILD` when there is no child.
pub fn reap(pid: i32) -> io::Result<Option<Exit>> {
    wait4(pid, libc::WNOHANG)
}

/// Whether a child has ended, without reaping it: until it is reaped its id, and that of its process group, belongs to
/// nobody else, so that [`kill_group`] still reaches the right processes.
///
/// # Errors
/// Those of `waitid`: `ECHILD` when it is no child of ours or was reaped already.
pub fn has_ended(pid: i32) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let child = Pid::from_raw(pid).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(child), options)?.is_some())
}

fn wait4(pid: i32, options: i32) -> io::Result<Option<Exit>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both out-parameters are valid; a zeroed rusage is a legal value.
    let (got, usage) = unsafe {
        let got = libc::wait4(pid, &mut status, options, usage.as_mut_ptr());
        (got, usage.assume_init())
    };
    match got {
        0 => Ok(None),
        n if n < 0 => Err(io::Error::last_os_error()),
        pid => Ok(Some(Exit { pid, status, usage: Usage::from_raw(&usage) })),
    }
}

/// The path by which this program can be started again.
///
/// `/proc/self/exe` follows the file even when it was replaced or moved; without `/proc` (an initramfs) the kernel's
/// `AT_EXECFN` tells what was executed, relative to the directory of that moment, so call this before any `chdir`.
///
/// # Errors
/// `NotFound` when neither is there.
pub fn program() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if std::fs::read_link(link).is_ok() {
        return Ok(link.to_owned());
    }
    // SAFETY: AT_EXECFN is zero or points to a NUL-terminated string that lives as long as the process.
    let name = unsafe {
        let at = libc::getauxval(libc::AT_EXECFN) as *const libc::c_char;
        (!at.is_null()).then(|| CStr::from_ptr(at))
    };
    let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "neither /proc/self/exe nor AT_EXECFN"))?;
    std::path::absolute(OsStr::from_bytes(name.to_bytes()))
}

/// From now on this process and its children may have no more than `more` tasks beyond those that the user has now. Whether the
/// kernel will keep to it: the superuser is not bound.
///
/// # Errors
/// Those of `setrlimit`.
pub fn limit_tasks(more: u64) -> io::Result<bool> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let user = rustix::process::getuid().as_raw();
    let mut own = 0u64;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        use std::os::unix::fs::MetadataExt;
        if entry.metadata().is_ok_and(|m| m.uid() == user)
            && let Ok(tasks) = std::fs::read_dir(entry.path().join("task"))
        {
            own += tasks.count() as u64;
        }
    }
    let mut limit = getrlimit(Resource::Nproc);
    let wanted = own + more;
    limit.current = Some(limit.current.map_or(wanted, |now| now.min(wanted)));
    setrlimit(Resource::Nproc, limit)?;
    Ok(!is_root())
}

/// Whether this process has the superuser's id.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The ids of this process's living children, as `/proc` lists them; `None` where it does not.
pub fn children() -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).ok()?;
        all.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(all)
}
