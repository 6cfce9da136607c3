//! Parents and children: dying with a parent, killing a group, reaping.
//!
//! Nothing here starts processes: [`crate::fork`] forks, [`crate::spawn`] starts other programs,
//! and the supervisor starts its workers through `std::process`.
//!
//! # Safety
//! Process ids are passed by value; out-parameters are owned and valid.
#![expect(unsafe_code, reason = "prctl, kill, wait4, getauxval, pre_exec")]

use crate::counters::Usage;
use crate::io::checked;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How a child ended, and the kernel's counters for it.
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
    /// Of a raw wait status alone, for tests of messages.
    pub fn of_status(status: i32) -> Exit {
        Exit { pid: 0, status, usage: Usage::default() }
    }

    /// Its exit code, if it exited.
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

/// The parent's current id.
pub fn parent_id() -> i32 {
    std::os::unix::process::parent_id() as i32
}

/// The limits of a resource. Not rustix's `getrlimit`, which takes the call for one that cannot
/// fail: where a filter refused it, that returned a limit of 1 byte.
///
/// # Errors
/// Those of `getrlimit`.
pub(crate) fn limit(resource: Resource) -> io::Result<Rlimit> {
    let mut raw = std::mem::MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: a zeroed rlimit is legal and written by the call; the type of a resource's number
    // differs between C libraries.
    let raw = unsafe {
        checked(libc::getrlimit(resource as _, raw.as_mut_ptr()))?;
        raw.assume_init()
    };
    let bound = |bytes: libc::rlim_t| (bytes != libc::RLIM_INFINITY).then_some(bytes);
    Ok(Rlimit { current: bound(raw.rlim_cur), maximum: bound(raw.rlim_max) })
}

/// The soft limit of a resource; `None` without one, and where it cannot be read.
pub(crate) fn soft_limit(resource: Resource) -> Option<u64> {
    limit(resource).ok()?.current
}

/// Asks the kernel to kill this process with SIGKILL when its parent ends, and verifies that the
/// parent has not ended already.
///
/// `parent` is the id that the parent gave. Never compare with 1: the first process of a container
/// is a legal parent (`docs/methods/pitfalls.md#process-control`).
///
/// Where a filter refuses `prctl`, the process lives on without: its supervisor ends it at its
/// deadline, and whoever kills the supervisor has to end the worker as well.
///
/// # Errors
/// Those of `prctl` that are no refusal; `Other` when the parent has changed already.
pub fn die_with_parent(parent: i32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number by value.
    let asked = checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) });
    asked.or_else(|error| if crate::affinity::is_refused(&error) { Ok(()) } else { Err(error) })?;
    if parent_id() != parent {
        return Err(io::Error::other("the parent process has already ended"));
    }
    Ok(())
}

/// Makes the kernel kill the process that this command becomes when the thread that starts it ends.
pub fn tie(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let parent = id();
    // SAFETY: prctl and getppid are async-signal-safe, and an error of this kind allocates nothing.
    unsafe {
        command.pre_exec(move || {
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
        })
    };
}

/// Makes this process the subreaper of its descendants, so that [`reap`] finds orphans.
///
/// # Errors
/// Those of `prctl`.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes a flag by value.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) })
}

/// Prevents core files of this process: tests crash on purpose.
pub fn no_core_file() {
    // SAFETY: PR_SET_DUMPABLE takes a flag by value.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
}

/// Disables transparent huge pages for this whole process, so that khugepaged cannot change pages
/// during a run.
pub fn refuse_huge_pages() {
    // SAFETY: PR_SET_THP_DISABLE takes flags by value; kernels without it return EINVAL.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Undoes [`refuse_huge_pages`], which a process inherits from its parent.
pub fn allow_huge_pages() {
    // SAFETY: as for `refuse_huge_pages`.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) };
}

/// Whether transparent huge pages are disabled for this process.
pub fn huge_pages_refused() -> bool {
    // SAFETY: PR_GET_THP_DISABLE takes flags by value; kernels without it return a negative number.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0 }
}

/// Sets the mask of the rights that new files do not get, as `umask` does; returns the one before.
pub fn mask_rights(mask: u32) -> u32 {
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(mask)).bits()
}

/// Makes this process the leader of a process group of its own.
///
/// # Errors
/// Those of `setpgid`.
pub fn lead_group() -> io::Result<()> {
    Ok(rustix::process::setpgid(None, None)?)
}

/// Kills a whole process group. A group that is gone is not an error.
pub fn kill_group(group: i32) {
    if group > 1 {
        // SAFETY: plain system call; the group was created for one of our workers.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Sends SIGKILL to one of our processes that has not been reaped.
pub fn kill(pid: i32) {
    if pid > 1 {
        // SAFETY: plain system call; an unreaped child keeps its id.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Asks a process to end: sends SIGTERM.
///
/// # Errors
/// Those of `kill`.
pub fn terminate(pid: i32) -> io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 1);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, rustix::process::Signal::TERM)?)
}

/// Whether a process with this id exists (it may be another one by now).
pub fn exists(pid: i32) -> bool {
    // SAFETY: signal 0 only checks.
    pid > 0 && (unsafe { libc::kill(pid, 0) } == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

/// Waits for a child to end; continues after interruptions.
///
/// # Errors
/// Those of `wait4`: `ECHILD` when it is not our child.
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

/// The result of a child that has ended, if there is one; -1 accepts any child.
///
/// # Errors
/// Those of `wait4`: `ECHILD` when there is no child.
pub fn reap(pid: i32) -> io::Result<Option<Exit>> {
    wait4(pid, libc::WNOHANG)
}

/// Whether a child has ended, without reaping it. Until it is reaped, its id and that of its
/// process group are not reused, so [`kill_group`] still reaches the right processes.
///
/// # Errors
/// Those of `waitid`: `ECHILD` when it is not our child or was reaped already.
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

/// The path from which this program can be started again.
///
/// `/proc/self/exe` follows the file even when it was replaced or moved. Without `/proc` (an
/// initramfs) the kernel's `AT_EXECFN` is what was executed, relative to the directory at that
/// time, so call this before any `chdir`.
///
/// # Errors
/// `NotFound` when neither is there.
pub fn program() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if std::fs::read_link(link).is_ok() {
        return Ok(link.to_owned());
    }
    // SAFETY: AT_EXECFN is zero or points to a NUL-terminated string that lives as long as the
    // process.
    let name = unsafe {
        let at = libc::getauxval(libc::AT_EXECFN) as *const libc::c_char;
        (!at.is_null()).then(|| CStr::from_ptr(at))
    };
    let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "neither /proc/self/exe nor AT_EXECFN"))?;
    std::path::absolute(OsStr::from_bytes(name.to_bytes()))
}

/// Limits this process and its children to `more` tasks beyond those that the user has now. Returns
/// whether the kernel will enforce it: the superuser is not bound.
///
/// # Errors
/// Those of `getrlimit` and `setrlimit`.
pub fn limit_tasks(more: u64) -> io::Result<bool> {
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
    let mut limit = limit(Resource::Nproc)?;
    let wanted = own + more;
    limit.current = Some(limit.current.map_or(wanted, |now| now.min(wanted)));
    setrlimit(Resource::Nproc, limit)?;
    Ok(!is_root())
}

/// Whether this process has the superuser's id.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The ids of this process's children that have not been reaped, from `/proc`; `None` where it does
/// not list them.
pub fn children() -> Option<Vec<i32>> {
    let of_all = || all_processes().map(|all| all.iter().filter(|p| p.parent == id()).map(|p| p.pid).collect());
    listed_children(id()).or_else(of_all)
}

/// The children of a process that have not been reaped, as the kernel lists them for each of its
/// threads; `None` where a thread has just ended, or in a kernel without CONFIG_PROC_CHILDREN.
fn listed_children(pid: i32) -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).ok()?;
        all.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(all)
}

/// A process as `/proc` showed it at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    pid: i32,
    parent: i32,
    ended: bool,
}

/// What `/proc/PID/stat` says: `PID (NAME) STATE PARENT ...`, where the name may hold anything.
fn parse_stat(stat: &str) -> Option<Seen> {
    let (head, tail) = stat.rsplit_once(')')?;
    let mut fields = tail.split_ascii_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    Some(Seen { pid: head.split('(').next()?.trim().parse().ok()?, parent, ended: matches!(state, "Z" | "X") })
}

fn look_at(pid: i32) -> Option<Seen> {
    parse_stat(&String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?))
}

fn all_processes() -> Option<Vec<Seen>> {
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    Some(entries.filter_map(|e| look_at(e.file_name().to_str()?.parse().ok()?)).collect())
}

/// All descendants of this process that have not ended. The lists of children come first: they are
/// read in microseconds, and `/proc` as a whole in milliseconds where there are many processes, too
/// slow for a process that keeps replacing itself.
fn descendants() -> Vec<Seen> {
    descendants_by_lists().unwrap_or_else(descendants_among_all)
}

/// From the lists of children; `None` where that of this process cannot be read
/// ([`listed_children`]).
fn descendants_by_lists() -> Option<Vec<Seen>> {
    let mut parents = vec![(id(), listed_children(id())?)];
    let mut found = vec![];
    while let Some((parent, children)) = parents.pop() {
        // A number in the list of a descendant may be another process's by now.
        let is_ours = |p: &Seen| !p.ended && (p.parent == parent || p.parent == id());
        for seen in children.into_iter().filter_map(look_at).filter(is_ours) {
            found.push(seen);
            // Without a list it has just ended, and its children are this process's: the next look
            // finds them.
            parents.push((seen.pid, listed_children(seen.pid).unwrap_or_default()));
        }
    }
    Some(found)
}

/// By looking at every process.
fn descendants_among_all() -> Vec<Seen> {
    let mut left = all_processes().unwrap_or_default();
    let mut found = vec![];
    let mut parents = vec![id()];
    while let Some(parent) = parents.pop() {
        // The children of a process that has ended belong to another parent already.
        left.retain(|p| {
            if p.parent == parent && !p.ended {
                found.push(*p);
                parents.push(p.pid);
            }
            p.parent != parent
        });
    }
    found
}

/// Sends a signal to a process seen before, unless its id has been reused since.
fn signal_seen(seen: Seen, signal: rustix::process::Signal) {
    use rustix::process::{Pid, PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(seen.pid) else { return };
    // An error means that it has ended in the meantime, or is another user's program that we may
    // not kill: the next look shows it.
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => {
            // While the descriptor is held, the id cannot be reused: if it still names the process
            // we saw, the signal reaches that one.
            if look_at(seen.pid).is_some_and(|now| now.parent == seen.parent || now.parent == id()) {
                let _ = pidfd_send_signal(held, signal);
            }
        }
        // Linux before 5.3. The id of a child is not reused before we reap it.
        Err(_) if seen.parent == id() => drop(kill_process(pid, signal)),
        Err(_) => {}
    }
}

/// What [`end_descendants`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Children that had ended and were not reaped.
    pub ended: usize,
    /// Descendants that still ran.
    pub running: usize,
    /// Children that did not end in time.
    pub left: usize,
}

/// Reaps the children that have ended: their number, and whether there are others.
fn reap_ended() -> (usize, bool) {
    let mut reaped = 0;
    loop {
        match reap(-1) {
            Ok(Some(_)) => reaped += 1,
            Ok(None) => return (reaped, true),
            Err(_) => return (reaped, false),
        }
    }
}

/// Waits a short time for one of this process's children to end.
fn await_an_end() {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use std::os::fd::AsFd;
    /// A new child of a child that ends causes no event; the next look finds it.
    const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(5);
    /// The most held at once: descriptors are limited.
    const MAX_HELD: usize = 64;
    let children = children().unwrap_or_default();
    let held: Vec<_> = children
        .iter()
        .take(MAX_HELD)
        .filter_map(|pid| pidfd_open(Pid::from_raw(*pid)?, PidfdFlags::empty()).ok())
        .collect();
    if held.is_empty() {
        // Linux before 5.3, or no `/proc`.
        std::thread::sleep(LOOK_AGAIN);
    } else {
        crate::io::readable(&held.iter().map(|fd| fd.as_fd()).collect::<Vec<_>>(), LOOK_AGAIN);
    }
}

/// Kills and reaps all descendants of this process, wherever they are: in groups and sessions of
/// their own, behind parents that have ended. For a process that [adopts orphans](adopt_orphans)
/// and waits for no child any more. Those that `spared` accepts are waited for and not killed.
///
/// A program that forks as fast as it is killed would never be caught one process at a time. All
/// are therefore stopped first, until no new one appears: a stopped process does not fork, and
/// keeps its place within a task limit. Then all are killed. This repeats until there is no child,
/// or until `patience` ends.
pub fn end_descendants(patience: std::time::Duration, spared: impl Fn(i32) -> bool) -> Strays {
    use rustix::process::Signal;
    use std::collections::BTreeSet;
    let until = std::time::Instant::now() + patience;
    let late = || std::time::Instant::now() >= until;
    let (ended, mut some) = reap_ended();
    let mut killed = BTreeSet::new();
    while some && !late() {
        let mut stopped: Vec<Seen> = Vec::new();
        loop {
            let mut found = descendants();
            found.retain(|p| !stopped.iter().any(|s| s.pid == p.pid) && !spared(p.pid));
            found.iter().for_each(|p| signal_seen(*p, Signal::STOP));
            if found.is_empty() || late() {
                break;
            }
            stopped.extend(found);
        }
        for seen in &stopped {
            signal_seen(*seen, Signal::KILL);
            killed.insert(seen.pid);
        }
        await_an_end();
        some = reap_ended().1;
    }
    let left = if some { children().map_or(1, |all| all.len()) } else { 0 };
    Strays { ended, running: killed.len(), left }
}

#[cfg(test)]
mod tests;
