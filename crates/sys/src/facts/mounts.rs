//! Mounts: of the control groups, and of a work directory.

use super::{Book, binary, redact};
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// `major:minor` of the device.
    pub(super) device_number: String,
    /// The directory of the file system that is mounted.
    pub(super) root: String,
    /// Where it is mounted.
    pub(super) point: String,
    /// The options of this mount.
    pub(super) options: String,
    /// The type of the file system.
    pub(super) kind: String,
    /// The device, or what stands for one.
    pub(super) source: String,
    /// The options of the file system.
    pub(super) super_options: String,
}

/// The mounts in `/proc/self/mountinfo`, in order, without lines that do not parse.
pub(super) fn parse(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_line(line: &str) -> Option<Mount> {
    let (here, file_system) = line.split_once(" - ")?;
    let mut here = here.split(' ').skip(2);
    let mut file_system = file_system.split(' ');
    Some(Mount {
        device_number: here.next()?.to_owned(),
        root: unescape(here.next()?),
        point: unescape(here.next()?),
        options: here.next()?.to_owned(),
        kind: file_system.next()?.to_owned(),
        source: unescape(file_system.next()?),
        super_options: file_system.next().unwrap_or_default().to_owned(),
    })
}

/// Undoes the kernel's octal escapes (`\040` is a space).
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        let byte = octal.and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount of a path: the longest mount point above it, and of those the last, which covers the
/// others.
pub(super) fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| Path::new(&mount.point).components().count())
}

pub(super) fn work_dir(book: &mut Book, path: &Path) {
    let Ok(path) = path.canonicalize() else { return };
    let mounts = parse(&book.tree.text("proc/self/mountinfo").unwrap_or_default());
    if let Some(mount) = mount_of(&mounts, &path) {
        say_mount(book, mount);
    }
    if let Ok(room) = rustix::fs::statvfs(&path) {
        book.say("work_dir.free", binary(room.f_bavail.saturating_mul(room.f_frsize)));
        book.say("work_dir.block", binary(room.f_frsize));
    }
}

pub(super) fn say_mount(book: &mut Book, mount: &Mount) {
    book.say("work_dir.fs", &mount.kind);
    let mut options: Vec<&str> = Vec::new();
    for option in mount.options.split(',').chain(mount.super_options.split(',')) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    book.say("work_dir.options", redact::mount_options(&options.join(",")));
    book.say("work_dir.device", redact::name(&mount.source));
    book.say(
        "work_dir.overlay",
        if matches!(mount.kind.as_str(), "overlay" | "aufs" | "fuse.fuse-overlayfs") { "yes" } else { "no" },
    );
    // A partition has no queue of its own.
    let device = PathBuf::from(format!("sys/dev/block/{}", mount.device_number));
    for whole in [device.clone(), device.join("..")] {
        let at = |name: &str| format!("{}/{name}", whole.display());
        let queue = at("queue");
        if !book.tree.exists(&queue) {
            continue;
        }
        // Disks of virtual machines have no model, but a driver.
        let uevent = book.tree.text(&at("device/uevent")).unwrap_or_default();
        let driver = uevent.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned);
        book.say_if("work_dir.model", book.tree.text(&at("device/model")).or(driver));
        book.copy_choice("work_dir.scheduler", &format!("{queue}/scheduler"));
        book.copy("work_dir.rotational", &format!("{queue}/rotational"));
        book.copy("work_dir.write_cache", &format!("{queue}/write_cache"));
        break;
    }
}
