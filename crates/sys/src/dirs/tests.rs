//! Directories as others leave them: replaced, renamed, mounted over, or full.

use super::*;
use crate::testing::Scratch;
use crate::{filter, fork, testing};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

impl Scratch {
    fn dir(&self) -> Dir {
        Dir::open(&self.0).expect("it is there")
    }

    fn exists(&self, path: &str) -> bool {
        self.0.join(path).symlink_metadata().is_ok()
    }
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

/// The error number, or 0.
fn errno<T>(done: io::Result<T>) -> i32 {
    done.map_or_else(|e| e.raw_os_error().unwrap_or(-1), |_| 0)
}

/// Runs a check as it is, and in a child without `openat2` and `renameat2`, both missing and
/// denied.
fn with_and_without_openat2(check: impl Fn() + Copy) {
    check();
    for error in [libc::ENOSYS, libc::EPERM] {
        let calls = [libc::SYS_openat2, libc::SYS_renameat2];
        let child = fork::fork(|| match filter::deny(&calls, error) {
            Err(_) => 2,
            Ok(()) => {
                let denied = rustix::fs::openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::empty());
                assert_eq!(denied.map(|_| ()).map_err(|e| e.raw_os_error()), Err(error));
                check();
                0
            }
        });
        let exit = child.expect("fork").wait().expect("wait");
        // 2: a kernel without filters.
        assert!(matches!(exit.code(), Some(0 | 2)), "without openat2: {exit}");
    }
}

#[test]
fn remove_deletes_the_tree_and_nothing_outside_it() {
    let scratch = Scratch::new("dirs-removed");
    with_and_without_openat2(|| {
        for path in ["gone/a", "gone/b/c/d", "gone/b/e", "stays/f", "stays/g/h"] {
            scratch.write(path, "x");
        }
        symlink(scratch.0.join("stays"), scratch.0.join("gone/link")).expect("a link to a directory");
        symlink(scratch.0.join("stays/f"), scratch.0.join("gone/b/link")).expect("a link to a file");
        scratch.dir().remove(name("gone")).expect("it is ours");
        assert!(!scratch.exists("gone") && scratch.exists("stays/f") && scratch.exists("stays/g/h"));
    });
}

#[test]
fn clear_keeps_only_the_named_entry() {
    let scratch = Scratch::new("dirs-kept");
    for i in 0..2 * BATCH {
        scratch.write(&format!("d/{i}"), "x");
    }
    scratch.write("d/keep", "x");
    scratch.write("d/sub/keep", "x");
    scratch.dir().directory(name("d")).expect("there").clear(Some(name("keep"))).expect("it can be cleared");
    let left = scratch.dir().directory(name("d")).expect("there").names(|_| true).expect("readable");
    assert_eq!(left, ["keep"]);
    assert_eq!(scratch.dir().names(|n| n == "d").expect("readable"), ["d"]);
    assert_eq!(errno(scratch.dir().directory(name("d")).expect("there").remove(name("keep"))), libc::ENOTDIR);
}

#[test]
fn links_fifos_and_invalid_names_are_not_opened_as_directories() {
    let scratch = Scratch::new("dirs-opened");
    scratch.write("target/file", "x");
    symlink(scratch.0.join("target"), scratch.0.join("link")).expect("a link");
    rustix::fs::mknodat(CWD, scratch.0.join("fifo"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("a FIFO");
    with_and_without_openat2(|| {
        assert!([libc::ELOOP, libc::ENOTDIR].contains(&errno(scratch.dir().directory(name("link")))));
        assert!([libc::ELOOP, libc::ENOTDIR].contains(&errno(scratch.dir().remove(name("link")))));
        assert_eq!(errno(scratch.dir().directory(name("fifo"))), libc::ENOTDIR);
        assert_eq!(scratch.dir().read_own(name("fifo"), 10).map_err(|e| e.kind()), Err(io::ErrorKind::InvalidData));
        for bad in ["", ".", "..", "target/file", "/etc"] {
            assert_eq!(errno(scratch.dir().directory(name(bad))), libc::EINVAL, "{bad:?}");
            assert_eq!(errno(scratch.dir().remove(name(bad))), libc::EINVAL, "{bad:?}");
            assert_eq!(errno(scratch.dir().unlink(name(bad))), libc::EINVAL, "{bad:?}");
        }
        assert!(scratch.exists("target/file"));
    });
}

#[test]
fn a_replaced_directory_is_not_removed() {
    let scratch = Scratch::new("dirs-replaced");
    scratch.write("first/file", "x");
    let held = scratch.dir().directory(name("first")).expect("there");
    fs::rename(scratch.0.join("first"), scratch.0.join("second")).expect("renamed");
    fs::create_dir(scratch.0.join("first")).expect("another one");
    assert_eq!(errno(scratch.dir().remove_empty(name("first"), &held)), libc::ESTALE);
    assert!(!scratch.dir().leads_to(name("first"), &held).expect("fstatat"));
    assert!(scratch.dir().leads_to(name("second"), &held).expect("fstatat"));
    assert!(scratch.exists("first") && scratch.exists("second/file"));
}

#[test]
fn rename_does_not_replace_an_entry() {
    let scratch = Scratch::new("dirs-renamed");
    with_and_without_openat2(|| {
        fs::create_dir_all(scratch.0.join("from")).expect("a directory");
        fs::create_dir_all(scratch.0.join("taken")).expect("a directory");
        assert_eq!(errno(scratch.dir().rename(name("from"), name("taken"))), libc::EEXIST);
        scratch.dir().rename(name("from"), name("free")).expect("the name is free");
        assert!(scratch.exists("free") && !scratch.exists("from"));
        scratch.dir().remove(name("free")).expect("it is empty");
    });
}

#[test]
fn a_tree_deeper_than_there_are_descriptors_is_removed() {
    let scratch = Scratch::new("dirs-deep");
    let child = fork::fork(|| {
        let mut at = scratch.dir().make(name("top")).expect("a directory");
        for _ in 0..400 {
            at.write_new(name("file"), b"x").expect("a file");
            at = at.make(name("d")).expect("a directory");
        }
        // Other tests of this process hold descriptors too. Each level of the tree would need
        // at least one.
        let most = Some(at.0.as_raw_fd() as u64 + 4 * u64::from(MAX_OPEN_DEPTH));
        let limit = rustix::process::Rlimit { current: most, maximum: most };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("fewer is allowed");
        scratch.dir().remove(name("top")).expect("it is ours");
        0
    });
    assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    assert!(!scratch.exists("top"));
}

#[test]
fn mount_points_are_not_crossed() {
    let scratch = Scratch::new("dirs-mounts");
    scratch.write("source/file", "x");
    scratch.write("top/inside", "x");
    fs::create_dir(scratch.0.join("top/mounted")).expect("a directory");
    // A bind mount has the device of its source; only the mount itself differs.
    let child = fork::fork(|| {
        let flags = rustix::thread::UnshareFlags::NEWNS;
        // SAFETY: a freshly forked child with one thread; mount namespaces hold no descriptors.
        let apart = unsafe { rustix::thread::unshare_unsafe(flags) };
        let private = rustix::mount::MountPropagationFlags::REC | rustix::mount::MountPropagationFlags::PRIVATE;
        if apart.is_err() || rustix::mount::mount_change("/", private).is_err() {
            return 2;
        }
        rustix::mount::mount_bind(scratch.0.join("source"), scratch.0.join("top/mounted")).expect("a bind mount");
        let check = || {
            let removed = scratch.dir().remove(name("top"));
            assert_eq!(errno(removed), libc::EXDEV);
            assert!(
                scratch.exists("source/file") && scratch.exists("top/mounted/file") && !scratch.exists("top/inside")
            );
        };
        check();
        scratch.write("top/inside", "x");
        if filter::deny(&[libc::SYS_openat2], libc::ENOSYS).is_ok() {
            check();
        }
        0
    });
    match child.expect("fork").wait().expect("wait").code() {
        Some(2) => println!("skipped: no mount namespace available"),
        code => assert_eq!(code, Some(0)),
    }
    assert!(scratch.exists("source/file"));
}

#[test]
fn a_directory_is_locked_by_one_at_a_time() {
    let scratch = Scratch::new("dirs-locked");
    let made = scratch.dir().make(name("d")).expect("a directory");
    assert!(made.is_ours().expect("fstat"));
    made.try_lock().expect("no one holds it");
    let again = scratch.dir().directory(name("d")).expect("there");
    assert_eq!(errno(again.try_lock()), libc::EWOULDBLOCK);
    drop(made);
    // A process that another test has just forked may have a copy of the descriptor, until it
    // ends: milliseconds.
    let mut tries = 0..2_000;
    while again.try_lock().is_err() {
        assert!(tries.next().is_some(), "it is still held");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn only_a_directory_is_opened_and_links_to_one_are_followed() {
    let scratch = Scratch::new("dirs-open");
    scratch.write("sub/file", "x");
    symlink(scratch.0.join("sub"), scratch.0.join("link")).expect("a link");
    assert_eq!(errno(Dir::open(&scratch.0.join("sub/file"))), libc::ENOTDIR);
    assert_eq!(errno(Dir::open(&scratch.0.join("missing"))), libc::ENOENT);
    let linked = Dir::open(&scratch.0.join("link")).expect("a directory that the user named");
    assert_eq!(linked.names(|_| true).expect("readable"), ["file"]);
    assert_eq!(linked.names(|n| n != "file").expect("readable"), Vec::<OsString>::new());
}

/// Also in a set-group-id directory, and regardless of the umask.
#[test]
fn new_directories_and_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("dirs-private");
    let mode = |path: &str| scratch.0.join(path).metadata().expect("there").permissions().mode() & 0o7777;
    let set = |path: &str, mode: u32| {
        fs::set_permissions(scratch.0.join(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    // A parent whose group the directories in it would inherit.
    set("", 0o2777);
    let made = scratch.dir().make(name("d")).expect("a directory");
    made.write_new(name("file"), b"abc").expect("a file");
    assert_eq!((mode("d"), mode("d/file")), (0o700, 0o600));
    assert_eq!(errno(scratch.dir().make(name("d"))), libc::EEXIST);
    assert!(made.is_private().expect("fstat") && made.is_ours().expect("fstat"));
    for open in [0o710, 0o701, 0o740, 0o704, 0o720, 0o702] {
        set("d", open);
        assert!(!made.is_private().expect("fstat"), "{open:o}");
    }
    // Only the superuser can make another user the owner.
    set("d", 0o700);
    let other = rustix::process::geteuid().as_raw() ^ 1;
    if std::os::unix::fs::chown(scratch.0.join("d"), Some(other), None).is_ok() {
        assert!(!made.is_private().expect("fstat") && !made.is_ours().expect("fstat"));
    } else {
        println!("skipped: only the superuser gives directories away");
    }
}

#[test]
fn a_file_is_new_and_holds_what_was_written() {
    let scratch = Scratch::new("dirs-written");
    let dir = scratch.dir().make(name("d")).expect("a directory");
    for write in [Dir::write_new, Dir::write_durably] {
        write(&dir, name("file"), b"first").expect("a file");
        assert_eq!(errno(write(&dir, name("file"), b"second")), libc::EEXIST);
        symlink("elsewhere", scratch.0.join("d/link")).expect("a link");
        assert_eq!(errno(write(&dir, name("link"), b"second")), libc::EEXIST);
        let read = |most| dir.read_own(name("file"), most).expect("it is ours");
        assert_eq!((read(100), read(5), read(3)), (b"first".to_vec(), b"first".to_vec(), b"fir".to_vec()));
        dir.unlink(name("file")).expect("it is there");
        dir.unlink(name("link")).expect("it is there");
        assert!(!scratch.exists("d/elsewhere") && dir.names(|_| true).expect("readable").is_empty());
    }
    assert_eq!(errno(dir.read_own(name("file"), 3)), libc::ENOENT);
}

#[test]
fn unlink_removes_a_link_and_not_its_target() {
    let scratch = Scratch::new("dirs-unlinked");
    scratch.write("target", "x");
    symlink("target", scratch.0.join("link")).expect("a link");
    scratch.dir().unlink(name("link")).expect("it is there");
    assert!(scratch.exists("target") && !scratch.exists("link"));
    fs::create_dir(scratch.0.join("d")).expect("a directory");
    assert!(scratch.dir().unlink(name("d")).is_err() && scratch.exists("d"));
    // A link to a directory is not that directory.
    let held = scratch.dir().directory(name("d")).expect("there");
    symlink("d", scratch.0.join("to_d")).expect("a link");
    assert!(scratch.dir().leads_to(name("d"), &held).expect("fstatat"));
    assert!(!scratch.dir().leads_to(name("to_d"), &held).expect("fstatat"));
}

#[test]
fn a_nameless_file_is_empty_and_can_be_read_and_written() {
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new("dirs-nameless");
    let mut files = [(); 2].map(|()| scratch.dir().nameless().expect("a file"));
    assert!(scratch.dir().names(|_| true).expect("readable").is_empty());
    for (file, text) in files.iter_mut().zip(["one", "two"]) {
        let stat = file.metadata().expect("fstat");
        assert_eq!((stat.nlink(), stat.len(), stat.mode() & 0o777), (0, 0, 0o600));
        file.write_all(text.as_bytes()).expect("written");
    }
    for (file, text) in files.iter_mut().zip(["one", "two"]) {
        let mut read = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut read)).expect("read");
        assert_eq!(read, text);
    }
}

/// Changes of mode and reads do not count, only changes of entries.
#[test]
fn a_directory_is_unchanged_since_its_entries_were_changed() {
    let scratch = Scratch::new("dirs-unchanged");
    let set = |time: SystemTime| {
        let times = fs::FileTimes::new().set_modified(time).set_accessed(SystemTime::now());
        fs::File::open(&scratch.0).and_then(|dir| dir.set_times(times)).expect("it is ours");
        scratch.dir().unchanged_for().expect("fstat")
    };
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    assert!((hour..2 * hour).contains(&set(now - hour)), "{:?}", set(now - hour));
    assert!(set(now - 50 * hour) >= 50 * hour);
    assert_eq!(set(now + hour), Duration::ZERO, "the clock was set back");
}

/// Even the owner cannot remove entries of a directory without write permission.
#[test]
fn clear_removes_the_rest_and_reports_what_it_cannot_remove() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("dirs-stuck");
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(scratch.0.join(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    for path in ["d/a", "d/stuck/file", "d/z", "d/sub/b"] {
        scratch.write(path, "x");
    }
    ["", "d", "d/sub"].iter().for_each(|path| mode(path, 0o777));
    mode("d/stuck", 0o555);
    let cleared = testing::in_child(|| {
        // Only root may be able to reach the directory for temporary files.
        let dir = testing::drop_root().then(|| Dir::open(&scratch.0).and_then(|dir| dir.directory(name("d"))));
        dir.and_then(Result::ok).map_or(255, |dir| errno(dir.clear(None)))
    });
    mode("d/stuck", 0o755);
    if cleared == Some(255) {
        return println!("skipped: other users cannot reach {}", scratch.0.display());
    }
    assert_eq!(cleared, Some(libc::EACCES));
    assert!(
        scratch.exists("d/stuck/file") && !scratch.exists("d/a") && !scratch.exists("d/z") && !scratch.exists("d/sub")
    );
}
