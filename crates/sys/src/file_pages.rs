//! Pages of a file, each in a mapping of its own, so that every page faults alone.
//!
//! A read of a mapped file maps up to 16 cached pages around the one that faults, and a large folio
//! as a whole, so an ordinary mapping has far fewer faults than accesses. A mapping of one page
//! prevents that. The kernel merges neighbours that are consecutive in the file, so neighbours here
//! come from distant places of it (`docs/methods/operating-system.md#page-faults`).
//!
//! # Safety
//! The range is reserved first and then covered page by page with mappings of our own; it is
//! unmapped once, as a whole. The file is at least as long as the last page mapped, and the caller,
//! who owns it, does not truncate it.
#![expect(unsafe_code, reason = "mmap, madvise, munmap")]

use crate::io::checked;
use crate::pages::page_size;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;

/// How mapped pages of a file may be accessed, and who sees writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read-only, private; a write raises SIGSEGV.
    Read,
    /// Writes go to private copies.
    Private,
    /// Writes go to the file.
    Shared,
}

/// Consecutive pages of memory, each a mapping of its own.
#[derive(Debug)]
pub struct FilePages {
    base: *mut libc::c_void,
    len: usize,
}

impl FilePages {
    /// Maps these pages of the file, by number, one after the other.
    ///
    /// # Errors
    /// Those of `mmap` (`ENOMEM` at the limit of mappings); `UnexpectedEof` when the file is
    /// shorter.
    pub fn map(file: &File, pages: &[u64], access: Access) -> io::Result<FilePages> {
        let page = page_size();
        let last = pages.iter().max().copied().unwrap_or(0);
        if file.metadata()?.len() < (last + 1) * page as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let len = pages.len() * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new range at an address that the kernel chooses affects nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // From here on dropped, and so unmapped, on failure.
        let area = FilePages { base, len };
        for (i, number) in pages.iter().enumerate() {
            let (kind, protection) = match access {
                Access::Read => (libc::MAP_PRIVATE, libc::PROT_READ),
                Access::Private => (libc::MAP_PRIVATE, libc::PROT_READ | libc::PROT_WRITE),
                Access::Shared => (libc::MAP_SHARED, libc::PROT_READ | libc::PROT_WRITE),
            };
            let offset = (number * page as u64) as libc::off_t;
            // SAFETY: replaces one page of the range reserved above.
            let got = unsafe {
                libc::mmap(base.byte_add(i * page), page, protection, kind | libc::MAP_FIXED, file.as_raw_fd(), offset)
            };
            if got == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(area)
    }

    /// Drops the pages from the mappings, so that the next access to each faults. They stay in the
    /// page cache; private copies are lost.
    ///
    /// # Errors
    /// Those of `madvise`.
    pub fn drop_pages(&mut self) -> io::Result<()> {
        // SAFETY: the range is ours, and the bytes of the file are as valid as those written to
        // private copies.
        checked(unsafe { libc::madvise(self.base, self.len, libc::MADV_DONTNEED) })
    }
}

impl Deref for FilePages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: every page of the range is a readable mapping within the file, borrowed from
        // self.
        unsafe { std::slice::from_raw_parts(self.base.cast(), self.len) }
    }
}

impl DerefMut for FilePages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes the access exclusive; a write to read-only
        // pages raises SIGSEGV, which does not violate memory safety.
        unsafe { std::slice::from_raw_parts_mut(self.base.cast(), self.len) }
    }
}

impl Drop for FilePages {
    fn drop(&mut self) {
        // SAFETY: the range was reserved with this base and length and is unmapped once, here.
        unsafe { libc::munmap(self.base, self.len) };
    }
}

/// Asks for no pages beyond those that are read.
///
/// # Errors
/// Those of `posix_fadvise`.
pub fn no_readahead(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random)?)
}

/// Asks the kernel to drop the cached pages of a file; it keeps those that are dirty, mapped, or
/// have no other copy.
///
/// # Errors
/// Those of `posix_fadvise`.
pub fn forget_cached(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pages_have_the_requested_order_and_can_be_read_again() {
        let path = std::env::temp_dir().join(format!("groma-file-pages-{}", crate::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("its name gone");
        let page = page_size();
        for n in 0..4u8 {
            file.write_all(&vec![n + 1; page]).expect("a page");
        }
        let mut area = FilePages::map(&file, &[3, 0, 2], Access::Read).expect("three mappings");
        assert_eq!([area[0], area[page], area[3 * page - 1]], [4, 1, 3]);
        area.drop_pages().expect("madvise");
        assert_eq!([area[0], area[page], area[3 * page - 1]], [4, 1, 3]);
        for (access, kept) in [(Access::Private, 4), (Access::Shared, 9)] {
            let mut area = FilePages::map(&file, &[3], access).expect("a mapping");
            area[0] = 9;
            area.drop_pages().expect("madvise");
            assert_eq!(area[0], kept, "{access:?}");
        }
        let short = FilePages::map(&file, &[4], Access::Read).map(|_| ()).map_err(|e| e.kind());
        assert_eq!(short, Err(io::ErrorKind::UnexpectedEof));
    }

    /// Needs a file system with a page cache and a copy on disk.
    #[test]
    fn forgotten_pages_leave_the_cache() {
        use crate::mapping::{Backing, Mapping};
        use std::os::fd::AsFd;
        let path = std::env::temp_dir().join(format!("groma-forgotten-{}", crate::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        let in_memory = !crate::disk::has_disk(&path).expect("statfs");
        std::fs::remove_file(&path).expect("its name gone");
        if in_memory {
            return println!("skipped: temporary files have no other copy");
        }
        const PAGES: usize = 64;
        file.write_all(&vec![7; PAGES * page_size()]).expect("written");
        let cached = || {
            let map = Mapping::new(PAGES * page_size(), Backing::File(file.as_fd()), false).expect("a mapping");
            map.resident_pages().expect("mincore")
        };
        if cached() < PAGES {
            return println!("skipped: this file system has no page cache");
        }
        // A CPU may still hold pages that it has just written.
        let forgotten = (0..100).any(|_| {
            file.sync_all().expect("fsync");
            forget_cached(&file).expect("posix_fadvise");
            cached() < PAGES / 2
        });
        assert!(forgotten, "{} of {PAGES} pages are cached", cached());
    }
}
