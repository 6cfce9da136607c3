//! Files and devices without the page cache: direct reads and writes, and the size of a device.
//!
//! Buffers, offsets and lengths are multiples of [`ALIGNMENT`], which suits every device; a
//! page-aligned mapping ([`crate::pages::Map`]) is such a buffer.
//!
//! # Safety
//! The one `ioctl` takes no argument.
#![expect(unsafe_code, reason = "an ioctl")]

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Alignment of direct transfers: the largest logical block of common devices.
pub const ALIGNMENT: usize = 4096;

/// Opens an existing file for direct reading only.
///
/// # Errors
/// Those of `open`: `EINVAL` where the file system has no direct I/O, `EACCES` where it is not
/// allowed.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Creates a file for direct reading and writing, which must not exist.
///
/// # Errors
/// Those of `open`.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Opens a file of our own by a descriptor of another process (`/proc/PID/fd/N`), for direct
/// reading and writing.
///
/// # Errors
/// Those of `open`; `InvalidData` for anything but a regular file, which is left as it is.
pub fn open_shared(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Reads once at an offset.
///
/// # Errors
/// Those of `pread`: `EINVAL` when something is not aligned.
#[inline]
pub fn read_at(fd: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pread(fd, buffer, offset)?)
}

/// Writes once at an offset.
///
/// # Errors
/// Those of `pwrite`.
#[inline]
pub fn write_at(fd: BorrowedFd<'_>, buffer: &[u8], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pwrite(fd, buffer, offset)?)
}

/// Waits until what was written is on the device.
///
/// # Errors
/// Those of `fdatasync`.
#[inline]
pub fn sync_data(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(fd)?)
}

/// The size of a file or a device in bytes, by seeking to its end.
///
/// # Errors
/// Those of `lseek`.
pub fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let size = rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0))?;
    rustix::fs::seek(fd, rustix::fs::SeekFrom::Start(0))?;
    Ok(size)
}

/// Writes back what the kernel buffers of a device, and forgets it.
///
/// # Errors
/// Those of `ioctl`: `EACCES` without CAP_SYS_ADMIN, `ENOTTY` where it is no block device.
pub fn flush_buffers(device: BorrowedFd<'_>) -> io::Result<()> {
    /// `BLKFLSBUF` of the kernel's `linux/fs.h`.
    const FLUSH: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 97);
    // SAFETY: the request takes no argument and changes no memory of this process.
    Ok(unsafe { rustix::ioctl::ioctl(device, rustix::ioctl::NoArg::<FLUSH>::new()) }?)
}

/// The size in bytes of the file system of this path.
///
/// # Errors
/// Those of `statvfs`.
pub fn file_system_size(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_blocks * stat.f_frsize)
}

/// Whether a disk backs the files of this path's file system: not for those in memory (tmpfs,
/// ramfs).
///
/// # Errors
/// Those of `statfs`.
pub fn has_disk(path: &Path) -> io::Result<bool> {
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of the kernel's `magic.h`.
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let stat = rustix::fs::statfs(path)?;
    Ok(!IN_MEMORY.contains(&(stat.f_type as u64 & 0xffff_ffff)))
}

/// Whether this process may create files in a directory, as far as its rights and the mount say.
pub fn is_writable(dir: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Whether programs below a directory may be executed, as far as its mount says: not where it is
/// mounted `noexec`.
///
/// # Errors
/// Those of `statvfs`.
pub fn may_execute(dir: &Path) -> io::Result<bool> {
    Ok(!rustix::fs::statvfs(dir)?.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::os::fd::AsFd;

    #[test]
    fn size_does_not_move_the_file_position() {
        let path = std::env::temp_dir().join(format!("groma-sys-disk-{}", std::process::id()));
        std::fs::write(&path, vec![7u8; 12_345]).expect("a file");
        let file = File::open(&path).expect("it is there");
        std::fs::remove_file(&path).expect("its name goes");
        assert_eq!(size(file.as_fd()).expect("seek"), 12_345);
        assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Current(0)).expect("seek"), 0);
        let mut byte = [0];
        assert_eq!(read_at(file.as_fd(), &mut byte, 12_344).expect("pread"), 1);
        assert_eq!((byte, read_at(file.as_fd(), &mut byte, 12_345).expect("pread")), ([7], 0));
    }

    /// All of it, used or free.
    #[test]
    fn the_size_of_a_file_system_agrees_with_another_tool() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let said = std::process::Command::new("stat").args(["-f", "-c", "%b %S"]).arg(here).output();
        let numbers: Option<Vec<u64>> = said.ok().and_then(|said| {
            String::from_utf8(said.stdout).ok()?.split_whitespace().map(|number| number.parse().ok()).collect()
        });
        let Some(&[blocks, block]) = numbers.as_deref() else { return println!("skipped: stat -f says nothing") };
        assert_eq!(file_system_size(here).expect("statvfs"), blocks * block);
    }

    #[test]
    fn memory_is_no_disk() {
        assert!(file_system_size(Path::new("/")).expect("statvfs") > 0);
        if Path::new("/dev/shm").is_dir()
            && std::fs::read_to_string("/proc/self/mountinfo").is_ok_and(|m| m.contains(" /dev/shm "))
        {
            assert!(!has_disk(Path::new("/dev/shm")).expect("statfs"));
        }
    }

    /// Without `O_DIRECT` a transfer would be one of the page cache.
    #[test]
    fn files_are_opened_past_the_page_cache() {
        let path = std::env::temp_dir().join(format!("groma-sys-direct-{}", std::process::id()));
        let made = create(&path).and_then(|made| Ok((made, open_to_read(&path)?, create(&path).map_err(|e| e.kind()))));
        drop(std::fs::remove_file(&path));
        let Ok((made, read, again)) = made else { return println!("skipped: no direct transfers here") };
        let flags = |file: &File| rustix::fs::fcntl_getfl(file).expect("F_GETFL");
        assert!(flags(&made).contains(OFlags::DIRECT) && flags(&read).contains(OFlags::DIRECT));
        let can = |file: &File| flags(file) & OFlags::RWMODE;
        assert_eq!((can(&made), can(&read)), (OFlags::RDWR, OFlags::RDONLY));
        assert_eq!(again.map(|_| ()), Err(io::ErrorKind::AlreadyExists));
    }

    /// Reads of the file that rounds share would otherwise be those of the page cache.
    #[test]
    fn a_shared_file_is_opened_for_direct_transfers() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        match open_shared(&path) {
            Ok(file) => assert!(rustix::fs::fcntl_getfl(&file).expect("F_GETFL").contains(OFlags::DIRECT)),
            Err(e) => println!("skipped: {e}"),
        }
    }

    #[test]
    fn only_a_regular_file_is_shared_between_rounds() {
        let scratch = Scratch::new("disk-shared");
        let fifo = scratch.0.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .expect("FIFO");
        // A FIFO has no direct transfers, and is not a regular file either.
        assert!(open_shared(&fifo).is_err(), "a FIFO");
        assert_eq!(
            open_shared(&scratch.0.join("none")).map(|_| ()).map_err(|e| e.kind()),
            Err(io::ErrorKind::NotFound)
        );
        let file = scratch.0.join("file");
        std::fs::write(&file, [7; ALIGNMENT]).expect("a file");
        let Ok(opened) = open_shared(&file) else { return println!("skipped: no direct transfers here") };
        let flags = rustix::fs::fcntl_getfl(&opened).expect("F_GETFL");
        assert_eq!(flags & (OFlags::RWMODE | OFlags::DIRECT), OFlags::RDWR | OFlags::DIRECT);
        assert_eq!(size(opened.as_fd()).expect("seek"), ALIGNMENT as u64, "it is not cut");
    }

    #[test]
    fn bytes_are_written_at_their_offset() {
        let scratch = Scratch::new("disk-place");
        let path = scratch.0.join("file");
        let file = File::create_new(&path).expect("a file");
        assert_eq!(write_at(file.as_fd(), b"xyz", 5).expect("pwrite"), 3);
        assert_eq!(write_at(file.as_fd(), b"ab", 1).expect("pwrite"), 2);
        sync_data(file.as_fd()).expect("fdatasync");
        assert_eq!(std::fs::read(&path).expect("the file"), b"\0ab\0\0xyz");
    }

    /// Compared with `stat`, which names two kinds of file systems in memory.
    #[test]
    fn has_disk_agrees_with_stat() {
        for place in [env!("CARGO_MANIFEST_DIR"), "/dev/shm", "/proc"].map(Path::new) {
            let said = std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(place).output();
            let kind =
                said.ok().filter(|said| said.status.success()).and_then(|said| String::from_utf8(said.stdout).ok());
            let Some(kind) = kind else {
                println!("skipped: stat -f says nothing of {}", place.display());
                continue;
            };
            let in_memory = ["tmpfs", "ramfs"].contains(&kind.trim());
            assert_eq!(has_disk(place).expect("statfs"), !in_memory, "{}: {kind}", place.display());
        }
    }

    /// Creating a file takes permission to write and to enter. The superuser has both everywhere.
    #[test]
    fn a_directory_is_writable_with_permission_to_write_and_enter() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("disk-rights");
        let set = |mode| std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(mode)).expect("ours");
        let tried = |mode| {
            set(mode);
            crate::testing::in_child(|| match crate::testing::drop_root() {
                true => i32::from(is_writable(&scratch.0)),
                false => 2,
            })
        };
        let seen = [0o333, 0o222, 0o111, 0o555].map(tried);
        set(0o700);
        if seen[0] == Some(1) {
            assert_eq!(seen, [1, 0, 0, 0].map(Some));
        } else {
            println!("skipped: other users cannot reach {}", scratch.0.display());
        }
        assert!(!is_writable(&scratch.0.join("none")));
    }

    /// Compared with the kernel's list of mounts. `/proc` is mounted noexec nearly everywhere.
    #[test]
    fn a_noexec_mount_executes_nothing() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mut seen = [0, 0];
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            // A later mount may cover an earlier one, and some mount points cannot be reached.
            let [_, point, _, options, ..] = fields[..] else { continue };
            let is_covered = mounts.lines().filter(|other| other.split(' ').nth(1) == Some(point)).count() > 1;
            let (false, Ok(may)) = (is_covered || point.contains('\\'), may_execute(Path::new(point))) else {
                continue;
            };
            assert_eq!(may, !options.split(',').any(|option| option == "noexec"), "{line}");
            seen[usize::from(may)] += 1;
        }
        if seen.contains(&0) {
            println!("seen: {seen:?} mounts without and with programs");
        }
    }

    /// Permissions do not matter on a read-only mount.
    #[test]
    fn a_read_only_mount_is_not_writable() {
        use std::os::fd::AsRawFd;
        let roots = [crate::tmpfs::Tmpfs::new(1 << 20), crate::tmpfs::Tmpfs::read_only()];
        let [Ok(free), Ok(fixed)] = roots.map(|tmpfs| tmpfs.and_then(|tmpfs| tmpfs.root())) else {
            return println!("skipped: no file systems of its own");
        };
        let path = |root: &File| std::path::PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd()));
        assert_eq!((is_writable(&path(&free)), is_writable(&path(&fixed))), (true, false));
    }
}
