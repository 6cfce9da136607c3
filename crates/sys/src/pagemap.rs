//! Which pages of this process are present: three ways of asking the kernel.
//!
//! # Safety
//! Each call passes addresses of memory that is borrowed for the call, with its true length.
#![expect(unsafe_code, reason = "mincore, ioctl")]

use crate::arch::syscall3;
use crate::pages::{checked, page_size};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

/// The way of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// Reading `/proc/self/pagemap`.
    Pagemap,
    /// The ioctl of that file.
    Scan,
    /// `mincore`.
    Mincore,
}

/// `PAGEMAP_SCAN`, `_IOWR('f', 16, struct pm_scan_arg)` (`linux/fs.h`).
const SCAN: usize = 0xc060_6610;
/// `PAGE_IS_PRESENT`.
const IS_PRESENT: u64 = 1 << 3;
/// The bit of a page that is present, in its 8 bytes of `/proc/self/pagemap`.
const PRESENT_BIT: u64 = 1 << 63;

/// `struct page_region`: from one address up to another.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// The file and room for its answers.
#[derive(Debug)]
pub struct PageMap {
    file: File,
    words: Vec<u64>,
    regions: Vec<Region>,
    bytes: Vec<u8>,
    /// Of the last answer: the pages that are present, by their places.
    last: Last,
}

#[derive(Clone, Copy, Debug)]
enum Last {
    Words,
    Bytes,
    /// So many regions, of memory that starts there.
    Regions(usize, u64),
}

impl PageMap {
    /// For stretches of this many pages.
    ///
    /// # Errors
    /// Those of opening `/proc/self/pagemap`.
    pub fn of(pages: usize) -> io::Result<PageMap> {
        let file = File::open("/proc/self/pagemap")?;
        let (words, regions, bytes) = (vec![0; pages], vec![Region::default(); pages], vec![0; pages]);
        Ok(PageMap { file, words, regions, bytes, last: Last::Words })
    }

    /// How many pages of this memory are present, by one call.
    ///
    /// # Errors
    /// Those of the call: `ENOTTY` before Linux 6.7 for [`Present::Scan`].
    ///
    /// # Panics
    /// When the memory has more pages than were announced.
    #[inline]
    pub fn ask(&mut self, by: Present, memory: &[u8]) -> io::Result<usize> {
        let (start, pages) = (memory.as_ptr().addr(), memory.len() / page_size());
        match by {
            Present::Pagemap => {
                self.last = Last::Words;
                let room = bytes_of(&mut self.words[..pages]);
                self.file.read_exact_at(room, (start / page_size() * size_of::<u64>()) as u64)?;
                Ok(self.words[..pages].iter().filter(|word| **word & PRESENT_BIT != 0).count())
            }
            Present::Scan => {
                let regions = &mut self.regions[..pages];
                // size, flags, start, end, walk_end, vec, vec_len, max_pages, and four masks: those
                // to invert, those that all must hold, of which any must, and which are returned.
                let mut asked = [
                    96,
                    0,
                    start as u64,
                    (start + memory.len()) as u64,
                    0,
                    regions.as_mut_ptr() as u64,
                    pages as u64,
                    0,
                    0,
                    IS_PRESENT,
                    0,
                    IS_PRESENT,
                ];
                let fd = self.file.as_fd().as_raw_fd() as usize;
                // SAFETY: the structure has the size that it states, and the regions as many
                // places as it says.
                let found =
                    unsafe { syscall3(libc::SYS_ioctl as usize, fd, SCAN, asked.as_mut_ptr().expose_provenance()) };
                let found = usize::try_from(found).map_err(|_| io::Error::from_raw_os_error(-found as i32))?;
                self.last = Last::Regions(found, start as u64);
                Ok(self.regions[..found].iter().map(|r| (r.end - r.start) as usize / page_size()).sum())
            }
            Present::Mincore => {
                self.last = Last::Bytes;
                let room = self.bytes[..pages].as_mut_ptr().expose_provenance();
                // SAFETY: a byte of room for each page.
                checked(unsafe { syscall3(libc::SYS_mincore as usize, start, memory.len(), room) })?;
                Ok(self.bytes[..pages].iter().filter(|byte| **byte & 1 != 0).count())
            }
        }
    }

    /// Whether the pages of the last answer are the first one and every other one from there.
    pub fn every_other(&self) -> bool {
        let alternates = |present: &mut dyn Iterator<Item = bool>| present.enumerate().all(|(i, p)| p == (i % 2 == 0));
        match self.last {
            Last::Words => alternates(&mut self.words.iter().map(|word| word & PRESENT_BIT != 0)),
            Last::Bytes => alternates(&mut self.bytes.iter().map(|byte| byte & 1 != 0)),
            Last::Regions(found, start) => self.regions[..found].iter().enumerate().all(|(i, region)| {
                let from = start + (2 * i * page_size()) as u64;
                (region.start, region.end) == (from, from + page_size() as u64)
            }),
        }
    }
}

/// The words as the bytes that a read fills.
fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: any bytes are words; the length is that of the words, borrowed as long.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Map;

    #[test]
    fn all_ways_see_the_same_pages() {
        let mut memory = Map::guarded(64 * page_size()).expect("memory");
        let Ok(mut map) = PageMap::of(64) else { return println!("no /proc") };
        for byte in memory.iter_mut().step_by(2 * page_size()) {
            *byte = 1;
        }
        for by in [Present::Pagemap, Present::Scan, Present::Mincore] {
            match map.ask(by, &memory) {
                Ok(present) => assert!(present == 32 && map.every_other(), "{by:?}: {present}"),
                Err(e) => assert!(by == Present::Scan, "{by:?}: {e}"),
            }
        }
        memory[page_size()] = 1;
        for by in [Present::Pagemap, Present::Mincore] {
            assert_eq!(map.ask(by, &memory).expect("asked before"), 33);
            assert!(!map.every_other(), "{by:?}");
        }
        if map.ask(Present::Scan, &memory).is_ok_and(|present| present == 33) {
            assert!(!map.every_other());
        }
    }
}
