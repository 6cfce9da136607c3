//! For tests that need a process of their own: one with a single thread, with limits, or without
//! the superuser's rights.

use crate::fork;

/// The exit code of a child that runs this.
pub(crate) fn code(body: impl FnOnce() -> i32) -> Option<i32> {
    fork::fork(body).expect("fork").wait().expect("wait").code()
}

/// 0 where all of these hold, otherwise the place of the first that does not, from 1 on: the exit
/// code of a child, whose messages nobody sees.
pub(crate) fn first_wrong(checks: &[bool]) -> i32 {
    checks.iter().position(|holds| !holds).map_or(0, |place| place as i32 + 1)
}

/// Gives up the superuser's rights, where this process has them. Only in a child.
pub(crate) fn be_nobody() -> bool {
    let nobody = rustix::process::Uid::from_raw(65_534);
    !crate::process::is_root() || rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_ok()
}

/// The pages of all mappings of this process, from `/proc/self/statm`; `None` without it.
pub(crate) fn mapped_pages() -> Option<u64> {
    std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').next()?.parse().ok()
}

/// How many descriptors this process has open, that of the listing included; 0 without `/proc`.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
