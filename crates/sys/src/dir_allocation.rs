//! Where a file system puts things.

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use std::fs::File;
use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_set_or_refused() {
        let path = std::env::temp_dir().join(format!("groma-place-{}", crate::process::id()));
        std::fs::create_dir(&path).expect("a directory");
        let dir = File::open(&path).expect("the directory");
        if scatter_below(&dir).is_ok() {
            assert!(ioctl_getflags(&dir).is_ok_and(|flags| flags.contains(IFlags::TOPDIR)));
        }
        std::fs::remove_dir(&path).expect("nothing left");
    }
}
