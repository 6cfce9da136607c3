//! What a user named to be read or written: identified before it is opened and again afterwards.
//!
//! Opening alone has an effect on some devices (a watchdog starts, a tape rewinds, a terminal waits
//! for a carrier), so a path is checked first. A name may refer to something else in between, so
//! callers compare the two.

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, major, minor, stat};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// The kind of file, as far as it decides what writing to it destroys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A FIFO or an unnamed pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    Block,
    /// `/dev/null` or `/dev/zero`, by number: what is written is dropped.
    Sink,
    /// A terminal.
    Terminal,
    /// Any other character device: memory, flash, tape.
    Character,
}

/// A file, as opposed to its names.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// What it is.
    pub kind: Kind,
    /// The file system and the inode; for a device a number that no file system has, and the
    /// device's own: all its nodes are the same device.
    at: (u64, u64),
}

impl Identity {
    /// The file that a path refers to.
    ///
    /// # Errors
    /// Those of `stat`.
    pub fn of_path(path: &Path) -> io::Result<Identity> {
        Ok(Identity::of_stat(&stat(path)?))
    }

    /// The file that a descriptor is open on.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn of_open(fd: BorrowedFd<'_>) -> io::Result<Identity> {
        let mut identity = Identity::of_stat(&fstat(fd)?);
        if identity.kind == Kind::Character && rustix::termios::isatty(fd) {
            identity.kind = Kind::Terminal;
        }
        Ok(identity)
    }

    #[expect(
        clippy::useless_conversion,
        reason = "the width of these fields differs from one architecture to the next"
    )]
    fn of_stat(stat: &Stat) -> Identity {
        let device: u64 = stat.st_rdev.into();
        let inode = (stat.st_dev.into(), stat.st_ino.into());
        let (kind, at) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => (Kind::Regular, inode),
            FileType::Directory => (Kind::Directory, inode),
            FileType::Fifo => (Kind::Fifo, inode),
            FileType::Socket => (Kind::Socket, inode),
            FileType::BlockDevice => (Kind::Block, (u64::MAX, device)),
            FileType::CharacterDevice => (character(major(device), minor(device)), (u64::MAX - 1, device)),
            // `stat` follows links and knows all kinds of files; unknown kinds are not written to.
            FileType::Symlink | FileType::Unknown => (Kind::Character, inode),
        };
        Identity { kind, at }
    }

    /// Whether the two are one file.
    pub fn is(&self, other: &Identity) -> bool {
        self.at == other.at
    }

    /// Whether reading one returns what was written to the other. Sockets and terminals have two
    /// directions, and devices that drop writes have nothing to read them from.
    pub fn is_read_back_from(&self, other: &Identity) -> bool {
        self.is(other) && !matches!(self.kind, Kind::Socket | Kind::Terminal | Kind::Sink)
    }
}

/// The kind of a character device, by the numbers in `Documentation/admin-guide/devices.txt` of the
/// kernel.
fn character(major: u32, minor: u32) -> Kind {
    const MEMORY: u32 = 1;
    // 4, 5: consoles, serial lines, /dev/tty; 136 to 143: pseudo-terminals. /sys has neither of the
    // last two.
    let listed = matches!(major, 4 | 5 | 136..=143);
    let in_sysfs = || {
        let subsystem = std::fs::read_link(format!("/sys/dev/char/{major}:{minor}/subsystem"));
        subsystem.is_ok_and(|path| path.file_name().is_some_and(|name| name == "tty"))
    };
    match (major, minor) {
        (MEMORY, 3 | 5) => Kind::Sink,
        _ if listed || in_sysfs() => Kind::Terminal,
        _ => Kind::Character,
    }
}

/// How a file is opened for writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writing {
    /// Makes it where it is missing.
    pub create: bool,
    /// Every write appends.
    pub append: bool,
    /// Past the page cache.
    pub direct: bool,
    /// Each write waits until it is on the device.
    pub sync: bool,
    /// For a block device: only if nothing else uses it, such as a mounted file system.
    pub alone: bool,
    /// Waits for the peer of a FIFO.
    pub wait: bool,
}

/// Opens for writing without truncating.
///
/// # Errors
/// Those of `open`: `ENXIO` for a FIFO without a reader unless waiting is allowed, `EBUSY` for a
/// device in use.
pub fn to_write(path: &Path, how: Writing) -> io::Result<File> {
    let flags = [
        (how.create, OFlags::CREATE),
        (how.append, OFlags::APPEND),
        (how.direct, OFlags::DIRECT),
        (how.sync, OFlags::SYNC),
        // Without CREATE it means exclusive use of a block device, see open(2).
        (how.alone, OFlags::EXCL),
        (!how.wait, OFlags::NONBLOCK),
    ];
    let flags = flags.into_iter().filter_map(|(is_wanted, flag)| is_wanted.then_some(flag));
    let flags = flags.fold(OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC, |all, flag| all | flag);
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))?;
    blocking(&file)?;
    Ok(file.into())
}

/// Opens for reading. A FIFO waits for a writer; nothing else waits.
///
/// # Errors
/// Those of `open`.
pub fn to_read(path: &Path, direct: bool) -> io::Result<File> {
    let mut flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    if direct {
        flags |= OFlags::DIRECT;
    }
    if Identity::of_path(path)?.kind != Kind::Fifo {
        flags |= OFlags::NONBLOCK;
    }
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    blocking(&file)?;
    Ok(file.into())
}

/// Opens the file of a descriptor once more, only to hold a block device exclusively.
///
/// # Errors
/// Those of `open`: `EBUSY` for a device in use, `ENOENT` without `/proc`.
pub fn alone(fd: BorrowedFd<'_>) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?
        .into())
}

/// From now on, transfers wait.
fn blocking(file: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    Ok(rustix::fs::fcntl_setfl(&file, flags & !OFlags::NONBLOCK)?)
}

/// Whether `open` failed because a FIFO has no reader.
pub fn nobody_reads(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::io::Write;

    #[test]
    fn devices_are_known_by_their_numbers() {
        for (numbers, kind) in [
            ((1, 3), Kind::Sink),
            ((1, 5), Kind::Sink),
            ((5, 0), Kind::Terminal),
            ((4, 64), Kind::Terminal),
            ((136, 7), Kind::Terminal),
            // /dev/mem, /dev/kmsg, a tape, flash, a watchdog.
            ((1, 1), Kind::Character),
            ((1, 11), Kind::Character),
            ((9, 0), Kind::Character),
            ((90, 0), Kind::Character),
            ((10, 130), Kind::Character),
        ] {
            assert_eq!(character(numbers.0, numbers.1), kind, "{numbers:?}");
        }
        assert_eq!(Identity::of_path(Path::new("/dev/null")).expect("it is there").kind, Kind::Sink);
    }

    #[test]
    fn files_are_opened_with_exactly_the_requested_flags() {
        let path = std::env::temp_dir().join(format!("groma-written-{}", crate::process::id()));
        assert!(to_write(&path, Writing::default()).is_err(), "nothing is created unless requested");
        drop(to_write(&path, Writing { create: true, ..Writing::default() }).expect("it is made"));
        let all = [OFlags::APPEND, OFlags::SYNC, OFlags::DIRECT];
        for (how, expected) in [
            (Writing::default(), [false; 3]),
            (Writing { append: true, ..Writing::default() }, [true, false, false]),
            (Writing { sync: true, ..Writing::default() }, [false, true, false]),
            (Writing { direct: true, ..Writing::default() }, [false, false, true]),
        ] {
            match to_write(&path, how) {
                Ok(file) => {
                    let flags = rustix::fs::fcntl_getfl(&file).expect("flags");
                    assert_eq!(all.map(|flag| flags.contains(flag)), expected, "{how:?}");
                    assert_eq!(flags & OFlags::RWMODE, OFlags::WRONLY);
                }
                // Not every file system has direct transfers.
                Err(e) => assert!(how.direct, "{how:?}: {e}"),
            }
        }
        for direct in [false, true] {
            match to_read(&path, direct) {
                Ok(file) => {
                    let flags = rustix::fs::fcntl_getfl(&file).expect("flags");
                    assert_eq!((flags.contains(OFlags::DIRECT), flags & OFlags::RWMODE), (direct, OFlags::RDONLY));
                }
                Err(e) => assert!(direct, "{e}"),
            }
        }
        std::fs::remove_file(&path).expect("the file");
    }

    #[test]
    fn a_file_is_the_same_by_all_its_names_and_descriptors() {
        let scratch = Scratch::new("opened");
        let dir = &scratch.0;
        let [a, b, other] = ["a", "b", "other"].map(|name| dir.join(name));
        std::fs::write(&a, "kept").expect("a file");
        std::fs::write(&other, "kept").expect("a file");
        std::fs::hard_link(&a, &b).expect("a link");
        let of = |path: &Path| Identity::of_path(path).expect("it is there");
        assert!(of(&a).is_read_back_from(&of(&b)) && !of(&a).is_read_back_from(&of(&other)));
        let mut file = to_write(&b, Writing::default()).expect("it can be opened");
        assert!(Identity::of_open(file.as_fd()).expect("fstat").is(&of(&a)));
        assert_eq!(std::fs::read(&a).expect("a file"), b"kept", "opening does not truncate");
        assert!(!rustix::fs::fcntl_getfl(&file).expect("flags").contains(OFlags::NONBLOCK));
        file.write_all(b"K").expect("it can be written");
        assert_eq!(std::fs::read(&a).expect("a file"), b"Kept");
        let null = of(Path::new("/dev/null"));
        assert!(!null.is_read_back_from(&null));
    }

    #[test]
    fn every_kind_of_file_is_recognised() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let scratch = Scratch::new("opened-kinds");
        let dir = &scratch.0;
        let [file, fifo, socket, link] = ["file", "fifo", "socket", "link"].map(|name| dir.join(name));
        std::fs::write(&file, "x").expect("a file");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        drop(UnixListener::bind(&socket).expect("a socket"));
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let of = |path: &Path| Identity::of_path(path).expect("it is there");
        let kinds = [&file, dir, &fifo, &socket, &link].map(|path| of(path).kind);
        assert_eq!(kinds, [Kind::Regular, Kind::Directory, Kind::Fifo, Kind::Socket, Kind::Regular]);
        assert!(of(&link).is(&of(&file)) && !of(&fifo).is(&of(&file)));
        let (pipe, _into) = crate::io::pipe().expect("pipe");
        let (stream, _peer) = UnixStream::pair().expect("pair");
        let open = [pipe.as_fd(), stream.as_fd()].map(|fd| Identity::of_open(fd).expect("fstat"));
        assert_eq!(open.map(|identity| identity.kind), [Kind::Fifo, Kind::Socket]);
        // What goes into a FIFO comes out of it; a socket has two directions.
        assert!(of(&fifo).is_read_back_from(&of(&fifo)) && !open[1].is_read_back_from(&open[1]));
        // All nodes of a device are that device, and no other kind of device.
        let [one, two, block] = ["one", "two", "block"].map(|name| dir.join(name));
        let number = rustix::fs::makedev(1, 11);
        let make = |path: &Path, kind| rustix::fs::mknodat(rustix::fs::CWD, path, kind, Mode::RUSR, number);
        if make(&one, FileType::CharacterDevice).is_ok() && make(&two, FileType::CharacterDevice).is_ok() {
            make(&block, FileType::BlockDevice).expect("as the others");
            assert!(of(&one).is(&of(&two)) && of(&one).is_read_back_from(&of(&two)) && !of(&one).is(&of(&block)));
            assert_eq!((of(&one).kind, of(&block).kind), (Kind::Character, Kind::Block));
        } else {
            println!("skipped: only the superuser makes devices");
        }
    }

    /// Opening waits only if that was requested; transfers always wait.
    #[test]
    fn a_fifo_without_a_reader_is_refused_and_transfers_wait() {
        let path = std::env::temp_dir().join(format!("groma-fifo-written-{}", crate::process::id()));
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        let refused = to_write(&path, Writing::default()).expect_err("no reader");
        assert!(nobody_reads(&refused), "{refused}");
        assert!(!nobody_reads(&io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error())));
        let reader = std::thread::spawn({
            let path = path.clone();
            move || to_read(&path, false)
        });
        let written = to_write(&path, Writing { wait: true, ..Writing::default() }).expect("the reader came");
        let read = reader.join().expect("no panic").expect("the writer came");
        std::fs::remove_file(&path).expect("the FIFO");
        for file in [&written, &read] {
            let flags = rustix::fs::fcntl_getfl(file).expect("flags");
            assert!(!flags.contains(OFlags::NONBLOCK), "{flags:?}");
            assert!(rustix::io::fcntl_getfd(file).expect("flags").contains(rustix::io::FdFlags::CLOEXEC));
        }
    }

    #[test]
    fn a_descriptor_is_opened_once_more_for_reading() {
        let path = std::env::temp_dir().join(format!("groma-alone-{}", crate::process::id()));
        let made = to_write(&path, Writing { create: true, ..Writing::default() }).expect("a file");
        std::fs::remove_file(&path).expect("its name goes");
        let Ok(held) = alone(made.as_fd()) else { return println!("skipped: no /proc") };
        let of = |file: &File| Identity::of_open(file.as_fd()).expect("fstat");
        assert!(of(&held).is(&of(&made)));
        assert_eq!(rustix::fs::fcntl_getfl(&held).expect("flags") & OFlags::RWMODE, OFlags::RDONLY);
    }
}
