//! System calls on names and files, one call each: without what `std` adds (conversion of paths,
//! retries, buffers).
//!
//! The calls are rustix's, which enters the kernel directly on the systems that it knows.

use rustix::fs::{AtFlags, FallocateFlags, IFlags, Mode, OFlags, RawDir, XattrFlags, ioctl_getflags, ioctl_setflags};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Renames; replaces what had the new name.
///
/// # Errors
/// Those of `renameat`.
#[inline]
pub fn rename(from: BorrowedFd<'_>, old: &CStr, to: BorrowedFd<'_>, new: &CStr) -> io::Result<()> {
    Ok(rustix::fs::renameat(from, old, to, new)?)
}

/// Makes a directory.
///
/// # Errors
/// Those of `mkdirat`.
#[inline]
pub fn make_dir(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(dir, name, Mode::RWXU)?)
}

/// Removes an empty directory.
///
/// # Errors
/// Those of `unlinkat`.
#[inline]
pub fn remove_dir(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
}

/// Creates a second name for a file in the same directory.
///
/// # Errors
/// Those of `linkat`: `EMLINK` when it has too many names, `EPERM` where the file system has no
/// links.
#[inline]
pub fn link(dir: BorrowedFd<'_>, old: &CStr, new: &CStr) -> io::Result<()> {
    Ok(rustix::fs::linkat(dir, old, dir, new, AtFlags::empty())?)
}

/// Makes a symbolic link.
///
/// # Errors
/// Those of `symlinkat`.
#[inline]
pub fn symlink(dir: BorrowedFd<'_>, target: &CStr, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::symlinkat(target, dir, name)?)
}

/// The extended attribute that is measured.
const ATTRIBUTE: &CStr = c"user.groma";

/// Sets an extended attribute, which may exist.
///
/// # Errors
/// Those of `fsetxattr`: `EOPNOTSUPP` where the file system has none.
#[inline]
pub fn set_attribute(file: &File, value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(file, ATTRIBUTE, value, XattrFlags::empty())?)
}

/// Reads the extended attribute; returns its length.
///
/// # Errors
/// Those of `fgetxattr`: `ERANGE` where it is longer than the room.
#[inline]
pub fn attribute(file: &File, room: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::fs::fgetxattr(file, ATTRIBUTE, room)?)
}

/// Makes a file without a name in a directory, writes it, gives it its name, and closes it.
///
/// # Errors
/// Those of `open`: `EOPNOTSUPP`, or `EISDIR` on old kernels, where there are no such files; those
/// of `write` and `linkat`.
#[inline]
pub fn publish(dir: BorrowedFd<'_>, name: &CStr, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, c".", flags, Mode::RUSR | Mode::WUSR)?;
    if rustix::io::write(&file, content)? != content.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    // By the descriptor alone it takes a privilege before Linux 6.10.
    let path = descriptor_path(file.as_raw_fd());
    let path = CStr::from_bytes_until_nul(&path).map_err(io::Error::other)?;
    Ok(rustix::fs::linkat(rustix::fs::CWD, path, dir, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// `/proc/self/fd/` and a number, without allocating.
#[inline]
fn descriptor_path(number: i32) -> [u8; 32] {
    use std::io::Write;
    let mut path = [0; 32];
    // It is never full: a number has ten digits at most.
    let _ = write!(&mut path[..], "/proc/self/fd/{number}");
    path
}

/// Opens a file for writing that exists.
///
/// # Errors
/// Those of `openat`.
#[inline]
pub fn open_to_write(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    Ok(rustix::fs::openat(dir, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// How many more files the file system takes.
///
/// # Errors
/// Those of `fstatfs`.
pub fn free_inodes(on: &File) -> io::Result<u64> {
    Ok(rustix::fs::fstatfs(on)?.f_ffree as u64)
}

/// Opens a file for reading.
///
/// # Errors
/// Those of `openat`.
#[inline]
pub fn open(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    Ok(rustix::fs::openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// Creates a new file for writing, which must not exist.
///
/// # Errors
/// Those of `openat`.
#[inline]
pub fn create(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Changes the length of a file.
///
/// # Errors
/// Those of `ftruncate`.
#[inline]
pub fn set_len(file: &File, len: u64) -> io::Result<()> {
    Ok(rustix::fs::ftruncate(file, len)?)
}

/// Allocates the first `len` bytes of a file, which becomes that long.
///
/// # Errors
/// Those of `fallocate`: `EOPNOTSUPP` where the file system does not support it.
#[inline]
pub fn allocate(file: &File, len: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), 0, len)?)
}

/// Bytes allocated to a file.
///
/// # Errors
/// Those of `fstat`.
pub fn allocated(file: &File) -> io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::blocks(&file.metadata()?) * 512)
}

/// Tells the file system that the directories below this one are unrelated (`chattr +T`): ext4 then
/// places each in another part of the disk, chosen by its name. Other file systems ignore or refuse
/// it.
///
/// # Errors
/// Those of `ioctl`: `ENOTTY` and `EOPNOTSUPP` where there is no such flag.
pub fn scatter_below(dir: &File) -> io::Result<()> {
    let flags = ioctl_getflags(dir)?;
    Ok(ioctl_setflags(dir, flags | IFlags::TOPDIR)?)
}

/// Reads once at an offset of a file.
///
/// # Errors
/// Those of `pread`.
#[inline]
pub fn read_at(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    Ok(rustix::io::pread(file, buf, at)?)
}

/// Writes once at an offset of a file.
///
/// # Errors
/// Those of `pwrite`.
#[inline]
pub fn write_at(file: &File, buf: &[u8], at: u64) -> io::Result<usize> {
    Ok(rustix::io::pwrite(file, buf, at)?)
}

/// Copies within the kernel between the same offsets of two files, by `copy_file_range`.
///
/// # Errors
/// Those of `copy_file_range`.
#[inline]
pub fn copy_range(from: &File, to: &File, at: u64, len: usize) -> io::Result<usize> {
    Ok(rustix::fs::copy_file_range(from, Some(&mut { at }), to, Some(&mut { at }), len)?)
}

/// Copies within the kernel from an offset of a file to the current position of the other, by
/// `sendfile`.
///
/// # Errors
/// Those of `sendfile`.
#[inline]
pub fn send(from: &File, to: &File, at: u64, len: usize) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(to, from, Some(&mut { at }), len)?)
}

/// Makes the second file share the blocks of the first, where the file system supports it.
///
/// # Errors
/// Those of `ioctl`.
pub fn share_blocks(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// Buffer size of one `getdents64`, as C libraries choose it.
#[derive(Debug)]
pub struct DirRoom(Box<[MaybeUninit<u8>]>);

impl DirRoom {
    /// 32 KiB.
    pub fn new() -> DirRoom {
        DirRoom(Box::new_uninit_slice(32 << 10))
    }
}

impl Default for DirRoom {
    fn default() -> DirRoom {
        DirRoom::new()
    }
}

/// Reads a directory from its first entry to its last and calls `each` with every name, including
/// `.` and `..`.
///
/// # Errors
/// Those of `lseek` and `getdents64`.
#[inline]
pub fn read_dir(dir: BorrowedFd<'_>, room: &mut DirRoom, mut each: impl FnMut(&CStr)) -> io::Result<()> {
    rustix::fs::seek(dir, rustix::fs::SeekFrom::Start(0))?;
    let mut entries = RawDir::new(dir, &mut room.0);
    while let Some(entry) = entries.next() {
        each(entry?.file_name());
    }
    Ok(())
}

/// Requests to the block device below a file since boot, by everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceWrites {
    /// Bytes written.
    pub bytes: u64,
    /// Flushes of its cache; `None` where the kernel does not count them (before 5.5).
    pub flushes: Option<u64>,
}

/// The counters of the device; `None` where the file is on none (tmpfs, overlay, a network), `/sys`
/// is missing, or counting is disabled (`queue/iostats`).
pub fn device_writes(file: &File) -> Option<DeviceWrites> {
    let device = rustix::fs::fstat(file).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let about = |file: &str| std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{file}")).ok();
    // A partition uses the queue of its disk.
    if about("queue/iostats").or_else(|| about("../queue/iostats")).is_some_and(|counts| counts.trim() == "0") {
        return None;
    }
    device_writes_in(&about("stat")?)
}

/// Fields 7 and 16 of the kernel's `Documentation/block/stat.rst`; a sector is 512 bytes there,
/// whatever the device's.
fn device_writes_in(stat: &str) -> Option<DeviceWrites> {
    let field = |n: usize| stat.split_ascii_whitespace().nth(n - 1)?.parse::<u64>().ok();
    Some(DeviceWrites { bytes: field(7)? * 512, flushes: field(16) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::os::fd::AsFd;

    #[test]
    fn names_come_and_go() {
        let scratch = Scratch::new("files");
        let handle = scratch.open();
        let dir = handle.as_fd();
        let file = create(dir, c"a").expect("a file");
        assert_eq!(write_at(&file, b"xyz", 2).expect("written"), 3);
        assert!(create(dir, c"a").is_err());
        link(dir, c"a", c"b").expect("a link");
        symlink(dir, c"a", c"s").expect("a link");
        rename(dir, c"b", dir, c"c").expect("renamed");
        make_dir(dir, c"d").expect("a directory");
        let mut names = Vec::new();
        read_dir(dir, &mut DirRoom::new(), |name| names.push(name.to_owned())).expect("read");
        names.sort();
        assert_eq!(names, [c".", c"..", c"a", c"c", c"d", c"s"].map(CStr::to_owned));
        remove_dir(dir, c"d").expect("removed");
        // A link to the symbolic link, not to its target.
        link(dir, c"s", c"t").expect("a link");
        assert!(std::fs::symlink_metadata(scratch.0.join("t")).expect("lstat").is_symlink());
        let mut bytes = [9; 8];
        assert_eq!(read_at(&open(dir, c"c").expect("the file"), &mut bytes, 0).expect("read"), 5);
        assert_eq!(bytes, *b"\0\0xyz\x09\x09\x09");
        set_len(&file, 0).expect("cut");
        assert_eq!((file.metadata().expect("fstat").len(), allocated(&file).expect("fstat")), (0, 0));
    }

    #[test]
    fn the_scatter_flag_is_set_or_refused() {
        let scratch = Scratch::new("files-scattered");
        let dir = scratch.open();
        if scatter_below(&dir).is_ok() {
            assert!(ioctl_getflags(&dir).is_ok_and(|flags| flags.contains(IFlags::TOPDIR)));
        }
    }

    /// Where a file system cannot do it, there is nothing to test.
    #[test]
    fn ranges_are_copied_to_the_same_offset_or_the_current_position() {
        use std::io::{Seek, SeekFrom};
        let scratch = Scratch::new("files-copied");
        let new = |name: &str| {
            let file =
                File::options().read(true).write(true).create_new(true).open(scratch.0.join(name)).expect("a file");
            std::fs::remove_file(scratch.0.join(name)).expect("its name goes");
            file
        };
        let (from, ranged, mut sent, room) = (new("from"), new("ranged"), new("sent"), new("room"));
        std::fs::remove_dir(&scratch.0).expect("nothing left");
        write_at(&from, b"0123456789", 0).expect("written");
        let content = |file: &File| {
            let mut bytes = [b'.'; 16];
            let len = read_at(file, &mut bytes, 0).expect("read");
            bytes[..len].to_vec()
        };
        if let Ok(copied) = copy_range(&from, &ranged, 6, 3) {
            assert_eq!((copied, content(&ranged).as_slice()), (3, &b"\0\0\0\0\0\x00678"[..]));
        }
        sent.seek(SeekFrom::Start(1)).expect("seek");
        for at in [4, 7] {
            assert_eq!(send(&from, &sent, at, 2).expect("sendfile"), 2);
        }
        assert_eq!(content(&sent), b"\x004578");
        if allocate(&room, 100_000).is_ok() {
            assert_eq!(room.metadata().expect("fstat").len(), 100_000);
            assert!(allocated(&room).expect("fstat") >= 100_000);
        }
    }

    #[test]
    fn counters_of_a_device() {
        let stat = "  4446 1200 211336 1526 1045616 1 250014 4 0 1 2 3 4 5 6 77 8";
        assert_eq!(device_writes_in(stat), Some(DeviceWrites { bytes: 250_014 * 512, flushes: Some(77) }));
        let old = "4446 1200 211336 1526 1045616 1 250014 4 0 1 2";
        assert_eq!(device_writes_in(old), Some(DeviceWrites { bytes: 250_014 * 512, flushes: None }));
        assert_eq!(device_writes_in(""), None);
    }

    /// Every read begins at the first entry.
    #[test]
    fn a_directory_can_be_read_repeatedly() {
        let scratch = Scratch::new("files-read");
        let handle = scratch.open();
        // More than one call's worth of names.
        for n in 0..1500 {
            let name = std::ffi::CString::new(format!("a-long-name-of-a-file-{n:05}")).expect("no NUL");
            drop(create(handle.as_fd(), &name).expect("a file"));
        }
        let mut room = DirRoom::new();
        let counts = [(); 2].map(|()| {
            let mut names = std::collections::BTreeSet::new();
            let mut all = 0;
            read_dir(handle.as_fd(), &mut room, |name| {
                all += 1;
                names.insert(name.to_owned());
            })
            .expect("read");
            (names.len(), all)
        });
        assert_eq!(counts, [(1502, 1502); 2]);
    }

    /// Also checks that a file is open in one direction only.
    #[test]
    fn new_files_are_private_and_have_their_length() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("files-made");
        let handle = scratch.open();
        let dir = handle.as_fd();
        let file = create(dir, c"a").expect("a file");
        make_dir(dir, c"d").expect("a directory");
        let mode = |name: &str| scratch.0.join(name).metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!((mode("a"), mode("d")), (0o600, 0o700));
        let read = open(dir, c"a").expect("the file");
        let can = |file: &File| rustix::fs::fcntl_getfl(file).expect("F_GETFL") & OFlags::RWMODE;
        assert_eq!((can(&file), can(&read)), (OFlags::WRONLY, OFlags::RDONLY));
        assert!(remove_dir(dir, c"a").is_err() && open(dir, c"none").is_err());
        // Longer than what is there: the rest has no blocks.
        set_len(&file, 1 << 20).expect("ftruncate");
        assert_eq!(file.metadata().expect("fstat").len(), 1 << 20);
        let allocated_by_stat = || {
            let said =
                std::process::Command::new("stat").args(["-c", "%b %B"]).arg(scratch.0.join("a")).output().ok()?;
            let text = String::from_utf8(said.stdout).ok()?;
            let (blocks, unit) = text.trim().split_once(' ')?;
            Some(blocks.parse::<u64>().ok()? * unit.parse::<u64>().ok()?)
        };
        assert_eq!(write_at(&file, &[1; 8192], 0).expect("written"), 8192);
        file.sync_all().expect("fsync");
        let listed = allocated_by_stat();
        let seen = allocated(&read).expect("fstat");
        assert!(listed.is_none_or(|listed| listed == seen) && seen < 1 << 20, "{seen} and {listed:?}");
    }

    /// A rename replaces what had the new name; a link names the same file.
    #[test]
    fn renames_replace_and_links_share() {
        let scratch = Scratch::new("files-names");
        for dir in ["from", "to"] {
            std::fs::create_dir(scratch.0.join(dir)).expect("a directory");
        }
        let [from, to] = ["from", "to"].map(|name| File::open(scratch.0.join(name)).expect("the directory"));
        std::fs::write(scratch.0.join("from/a"), "new").expect("a file");
        std::fs::write(scratch.0.join("to/b"), "old").expect("a file");
        rename(from.as_fd(), c"a", to.as_fd(), c"b").expect("renamed");
        assert_eq!(std::fs::read(scratch.0.join("to/b")).expect("it is there"), b"new");
        assert!(!scratch.0.join("from/a").exists());
        link(to.as_fd(), c"b", c"c").expect("a link");
        let number = |name: &str| std::os::unix::fs::MetadataExt::ino(&scratch.0.join(name).metadata().expect("there"));
        assert_eq!(number("to/b"), number("to/c"));
        assert!(link(to.as_fd(), c"b", c"c").is_err());
        symlink(to.as_fd(), c"../from", c"s").expect("a link");
        assert_eq!(std::fs::read_link(scratch.0.join("to/s")).expect("a link"), std::path::Path::new("../from"));
    }
}
