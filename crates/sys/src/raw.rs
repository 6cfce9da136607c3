//! System calls by number, each a safe interface to the architecture's instruction, for benchmarks
//! whose subject is the call itself.
//!
//! They return the kernel's result: a negative error number on failure, which the benchmark checks
//! once outside its loop or sums up inside it. Calls through libc, as programs make them, are in
//! [`crate::io`] (`docs/methods/operating-system.md#calls-by-number`).
//!
//! # Safety
//! Every pointer passed comes from a reference that outlives the call, with its true length.
#![expect(unsafe_code, reason = "raw system calls")]

use crate::arch::{syscall0, syscall1, syscall2, syscall3, syscall4, syscall5};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `getppid`: the id of the parent.
#[inline(always)]
pub fn getppid() -> isize {
    // SAFETY: no arguments.
    unsafe { syscall0(libc::SYS_getppid as usize) }
}

/// `getpgid` of this process or thread id: for filters, since nothing else in this project calls
/// it.
#[inline(always)]
pub fn getpgid(of: usize) -> isize {
    // SAFETY: an integer by value.
    unsafe { syscall1(libc::SYS_getpgid as usize, of) }
}

/// `timerfd_settime` to so many nanoseconds from now, and then to none. Returns what was left when
/// it was stopped, in nanoseconds: 0 if it had ended; or a negative error number.
#[inline(always)]
pub fn arm_and_disarm(timer: BorrowedFd<'_>, ns: u64) -> isize {
    const SECOND: u64 = 1_000_000_000;
    let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let end = libc::timespec { tv_sec: (ns / SECOND) as _, tv_nsec: (ns % SECOND) as _ };
    let start = libc::itimerspec { it_interval: zero, it_value: end };
    let stop = libc::itimerspec { it_interval: zero, it_value: zero };
    let mut left = stop;
    let (fd, number) = (timer.as_raw_fd() as usize, libc::SYS_timerfd_settime as usize);
    // SAFETY: each pointer is that of a structure of the kernel's that lives across the call.
    let (armed, disarmed) = unsafe {
        (
            syscall4(number, fd, 0, &raw const start as usize, 0),
            syscall4(number, fd, 0, &raw const stop as usize, &raw mut left as usize),
        )
    };
    match armed.min(disarmed) {
        error @ ..0 => error,
        _ => left.it_value.tv_sec as isize * SECOND as isize + left.it_value.tv_nsec as isize,
    }
}

/// A call with a number that no kernel uses: `-ENOSYS`, unless a filter responds before the kernel.
///
/// Far above the numbers in use (below 500 in 2026), and without the bit that x86 uses for its x32
/// programs.
#[inline(always)]
pub fn no_such_call() -> isize {
    // SAFETY: no arguments; a number without a call does nothing.
    unsafe { syscall0(0xffff) }
}

/// `fcntl(F_GETFL)`: the access mode of an open file, without its other flags.
#[inline(always)]
pub fn access_mode(fd: BorrowedFd<'_>) -> isize {
    // SAFETY: integers by value.
    let flags = unsafe { syscall2(libc::SYS_fcntl as usize, fd.as_raw_fd() as usize, libc::F_GETFL as usize) };
    if flags < 0 { flags } else { flags & libc::O_ACCMODE as isize }
}

/// `lseek` to an offset from the start.
#[inline(always)]
pub fn seek_to(fd: BorrowedFd<'_>, offset: usize) -> isize {
    // SAFETY: integers by value.
    unsafe { syscall3(libc::SYS_lseek as usize, fd.as_raw_fd() as usize, offset, libc::SEEK_SET as usize) }
}

/// `dup`, then `close` of the result; the new number, or the error of either.
#[inline(always)]
pub fn dup_close(fd: BorrowedFd<'_>) -> isize {
    // SAFETY: an integer by value; closes the descriptor that was created here.
    unsafe {
        let copy = syscall1(libc::SYS_dup as usize, fd.as_raw_fd() as usize);
        if copy < 0 {
            return copy;
        }
        match syscall1(libc::SYS_close as usize, copy as usize) {
            0 => copy,
            error => error,
        }
    }
}

/// `read`.
#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, buf: &mut [u8]) -> isize {
    // SAFETY: the buffer is exclusively borrowed and as long as it says.
    unsafe { syscall3(libc::SYS_read as usize, fd.as_raw_fd() as usize, buf.as_mut_ptr() as usize, buf.len()) }
}

/// `pread` from the start of the file.
#[inline(always)]
pub fn pread(fd: BorrowedFd<'_>, buf: &mut [u8]) -> isize {
    let (fd, at) = (fd.as_raw_fd() as usize, buf.as_mut_ptr() as usize);
    // SAFETY: the buffer is exclusively borrowed and as long as it says.
    unsafe { syscall4(libc::SYS_pread64 as usize, fd, at, buf.len(), 0) }
}

/// `write`.
#[inline(always)]
pub fn write(fd: BorrowedFd<'_>, buf: &[u8]) -> isize {
    // SAFETY: the buffer is as long as it says.
    unsafe { syscall3(libc::SYS_write as usize, fd.as_raw_fd() as usize, buf.as_ptr() as usize, buf.len()) }
}

/// `pwrite` at the start of the file.
#[inline(always)]
pub fn pwrite(fd: BorrowedFd<'_>, buf: &[u8]) -> isize {
    let (fd, at) = (fd.as_raw_fd() as usize, buf.as_ptr() as usize);
    // SAFETY: the buffer is as long as it says.
    unsafe { syscall4(libc::SYS_pwrite64 as usize, fd, at, buf.len(), 0) }
}

/// A buffer for the kernel's `struct stat`, whatever its layout: none exceeds 256 bytes.
#[derive(Debug)]
#[repr(align(16))]
pub struct StatRoom([u8; 256]);

impl StatRoom {
    /// An empty buffer.
    pub const fn new() -> StatRoom {
        StatRoom([0; 256])
    }

    /// Whether the kernel has written something here.
    pub fn filled(&self) -> bool {
        self.0.iter().any(|b| *b != 0)
    }
}

impl Default for StatRoom {
    fn default() -> Self {
        StatRoom::new()
    }
}

/// `fstat` itself, not libc's `newfstatat` with an empty path (half as expensive again).
#[inline(always)]
pub fn fstat(fd: BorrowedFd<'_>, room: &mut StatRoom) -> isize {
    // SAFETY: the buffer is larger than any struct stat.
    unsafe { syscall2(libc::SYS_fstat as usize, fd.as_raw_fd() as usize, room.0.as_mut_ptr() as usize) }
}

/// `newfstatat` of a name below an open directory.
#[inline(always)]
pub fn stat_at(dir: BorrowedFd<'_>, name: &CStr, room: &mut StatRoom) -> isize {
    let (dir, room) = (dir.as_raw_fd() as usize, room.0.as_mut_ptr() as usize);
    // SAFETY: the name is NUL-terminated; the buffer is larger than any struct stat.
    unsafe { syscall4(libc::SYS_newfstatat as usize, dir, name.as_ptr() as usize, room, 0) }
}

/// `statx` of a name below an open directory, for all that `stat` tells (Linux 4.11).
#[inline(always)]
pub fn statx_at(dir: BorrowedFd<'_>, name: &CStr, room: &mut StatRoom) -> isize {
    let (dir, room) = (dir.as_raw_fd() as usize, room.0.as_mut_ptr() as usize);
    let mask = libc::STATX_BASIC_STATS as usize;
    // SAFETY: the name is NUL-terminated; the buffer has the 256 bytes of a struct statx.
    unsafe { syscall5(libc::SYS_statx as usize, dir, name.as_ptr() as usize, 0, mask, room) }
}

/// `readlink` of a name below an open directory; how many bytes of the target were copied.
#[inline(always)]
pub fn readlink_at(dir: BorrowedFd<'_>, name: &CStr, target: &mut [u8]) -> isize {
    let (dir, name, at) = (dir.as_raw_fd() as usize, name.as_ptr() as usize, target.as_mut_ptr() as usize);
    // SAFETY: the name is NUL-terminated; the buffer is exclusively borrowed and has that length.
    unsafe { syscall4(libc::SYS_readlinkat as usize, dir, name, at, target.len()) }
}

/// `openat` read-only of a name below an open directory, then `close` of the result; 0 when both
/// succeed.
#[inline(always)]
pub fn open_close_at(dir: BorrowedFd<'_>, name: &CStr) -> isize {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the name is NUL-terminated; the descriptor that is closed was opened here.
    unsafe {
        let fd = syscall4(libc::SYS_openat as usize, dir.as_raw_fd() as usize, name.as_ptr() as usize, flags, 0);
        if fd < 0 { fd } else { syscall1(libc::SYS_close as usize, fd as usize) }
    }
}

/// `openat` of a name that must not exist yet, `write` of the content unless it is empty, `close`;
/// 0 when all succeed, `-ENOSPC` when only a part was written.
#[inline(always)]
pub fn create_at(dir: BorrowedFd<'_>, name: &CStr, content: &[u8]) -> isize {
    let flags = (libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the name is NUL-terminated, the content as long as it says; the descriptor was opened
    // here.
    unsafe {
        let fd = syscall4(libc::SYS_openat as usize, dir.as_raw_fd() as usize, name.as_ptr() as usize, flags, 0o666);
        if fd < 0 {
            return fd;
        }
        let mut written = 0;
        if !content.is_empty() {
            let nr = libc::SYS_write as usize;
            written = syscall3(nr, fd as usize, content.as_ptr() as usize, content.len());
        }
        let closed = syscall1(libc::SYS_close as usize, fd as usize);
        match written {
            e if e < 0 => e,
            n if n as usize != content.len() => -(libc::ENOSPC as isize),
            _ => closed,
        }
    }
}

/// `unlinkat` of a file below an open directory.
#[inline(always)]
pub fn unlink_at(dir: BorrowedFd<'_>, name: &CStr) -> isize {
    // SAFETY: the name is NUL-terminated.
    unsafe { syscall3(libc::SYS_unlinkat as usize, dir.as_raw_fd() as usize, name.as_ptr() as usize, 0) }
}

/// `kill` with signal 0 to a process: permission checks without a signal.
#[inline(always)]
pub fn kill_nothing(pid: i32) -> isize {
    // SAFETY: integers by value; signal 0 sends nothing.
    unsafe { syscall2(libc::SYS_kill as usize, pid as usize, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::os::fd::AsFd;

    #[test]
    fn the_calls_have_the_right_numbers() {
        assert_eq!(getppid(), std::os::unix::process::parent_id() as isize);
        let zero = std::fs::File::open("/dev/zero").expect("/dev/zero");
        let mut byte = [7u8];
        assert_eq!(read(zero.as_fd(), &mut byte), 1);
        assert_eq!(byte, [0]);
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("/dev/null");
        assert_eq!(write(null.as_fd(), &[1, 2, 3]), 3);
        let mut room = StatRoom::new();
        assert_eq!(fstat(null.as_fd(), &mut room), 0);
        assert!(room.filled());
        assert_eq!(kill_nothing(crate::process::id()), 0);
        assert_eq!(no_such_call(), -libc::ENOSYS as isize);
        assert_eq!(seek_to(zero.as_fd(), 0), 0);
        let next = dup_close(null.as_fd());
        assert!(next > 2, "{next}");
    }

    #[test]
    fn files_are_made_and_removed_below_a_directory() {
        let scratch = Scratch::new("raw");
        let dir = scratch.open();
        assert_eq!(create_at(dir.as_fd(), c"a", b"xyz"), 0);
        assert_eq!(std::fs::read(scratch.0.join("a")).expect("the file"), b"xyz");
        assert_eq!(create_at(dir.as_fd(), c"a", b""), -libc::EEXIST as isize);
        let mut room = StatRoom::new();
        assert_eq!(stat_at(dir.as_fd(), c"a", &mut room), 0);
        assert!(room.filled());
        let mut room = StatRoom::new();
        assert_eq!(statx_at(dir.as_fd(), c"a", &mut room), 0);
        assert!(room.filled());
        assert_eq!(open_close_at(dir.as_fd(), c"a"), 0);
        let mut target = [b'.'; 4];
        assert_eq!(readlink_at(dir.as_fd(), c"a", &mut target), -libc::EINVAL as isize, "no link");
        std::os::unix::fs::symlink("xyz", scratch.0.join("l")).expect("a link");
        assert_eq!((readlink_at(dir.as_fd(), c"l", &mut target), &target), (3, b"xyz."));
        assert_eq!(readlink_at(dir.as_fd(), c"l", &mut target[..2]), 2);
        assert_eq!(unlink_at(dir.as_fd(), c"l"), 0);
        assert_eq!(unlink_at(dir.as_fd(), c"a"), 0);
        assert_eq!(unlink_at(dir.as_fd(), c"a"), -libc::ENOENT as isize);
        assert_eq!(stat_at(dir.as_fd(), c"a", &mut room), -libc::ENOENT as isize);
        assert_eq!(statx_at(dir.as_fd(), c"a", &mut room), -libc::ENOENT as isize);
        assert_eq!(open_close_at(dir.as_fd(), c"a"), -libc::ENOENT as isize);
        std::fs::remove_dir(&scratch.0).expect("nothing left");
    }

    #[test]
    fn offsets_are_the_requested_ones() {
        use std::io::Seek;
        let path = std::env::temp_dir().join(format!("groma-raw-place-{}", crate::process::id()));
        std::fs::write(&path, "0123456789").expect("a file");
        let mut file = std::fs::File::open(&path).expect("the file");
        std::fs::remove_file(&path).expect("its name goes");
        assert_eq!((seek_to(file.as_fd(), 7), file.stream_position().expect("lseek")), (7, 7));
        assert_eq!(seek_to(file.as_fd(), 3), 3, "from the start, not from there");
        let mut bytes = [b'.'; 4];
        // From the start, regardless of the file position, which stays.
        assert_eq!((pread(file.as_fd(), &mut bytes), &bytes), (4, b"0123"));
        assert_eq!((read(file.as_fd(), &mut bytes), &bytes), (4, b"3456"));
        assert_eq!((pread(file.as_fd(), &mut [0; 20]), read(file.as_fd(), &mut [0; 20])), (10, 3));
    }

    /// In a child, where no other thread opens files.
    #[test]
    fn opened_files_are_closed_again() {
        let scratch = Scratch::new("raw-closed");
        let dir = scratch.open();
        let exit = crate::testing::in_child(|| {
            let before = crate::testing::descriptors();
            let copies = [(); 3].map(|()| dup_close(dir.as_fd()));
            let made = create_at(dir.as_fd(), c"a", b"x") == 0 && create_at(dir.as_fd(), c"b", b"") == 0;
            let opened = open_close_at(dir.as_fd(), c"a") == 0;
            let refused = create_at(dir.as_fd(), c"a", b"x") < 0 && open_close_at(dir.as_fd(), c"c") < 0;
            let gone = unlink_at(dir.as_fd(), c"a") == 0 && unlink_at(dir.as_fd(), c"b") == 0;
            crate::testing::first_wrong(&[
                copies[0] > 2 && copies.iter().all(|copy| *copy == copies[0]),
                made && opened && refused && gone,
                crate::testing::descriptors() == before,
            ])
        });
        std::fs::remove_dir(&scratch.0).expect("nothing left");
        assert_eq!(exit, Some(0));
    }

    /// Errors are the kernel's, and a partial write is an error.
    #[test]
    fn a_file_that_does_not_fit_is_an_error() {
        let Ok(root) = crate::tmpfs::Tmpfs::new(64 << 10).and_then(|tmpfs| tmpfs.root()) else {
            return println!("skipped: no file system of its own");
        };
        assert_eq!(create_at(root.as_fd(), c"a", &[1; 4096]), 0);
        assert_eq!(create_at(root.as_fd(), c"b", &[1; 1 << 20]), -libc::ENOSPC as isize, "a part of it");
        assert_eq!(create_at(root.as_fd(), c"c", &[1; 4096]), -libc::ENOSPC as isize, "nothing of it");
        assert_eq!(read(root.as_fd(), &mut [0]), -libc::EISDIR as isize);
        assert_eq!(kill_nothing(i32::MAX), -libc::ESRCH as isize);
    }
}
