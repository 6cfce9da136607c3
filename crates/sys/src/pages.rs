//! Memory mappings with one page policy, and how the kernel backed them.
//!
//! # Safety
//! A [`Map`] owns its mapping exclusively: `mmap` made it with the length it holds, it is unmapped
//! once, and its slices are bounded by its own borrow. File mappings are private or over files that
//! the caller owns.
#![expect(unsafe_code, reason = "mmap, madvise, munmap, mincore")]

use crate::arch::syscall3;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::sync::Arc;

mod folios;

/// The size of a base page, in bytes.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The size of a transparent huge page, in bytes; `None` where there are none.
pub fn huge_page_size() -> Option<usize> {
    std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").ok()?.trim().parse().ok()
}

/// The pages that back a mapping: exactly one policy (`docs/methods/memory.md#page-policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Base pages; `MADV_NOHUGEPAGE` refuses huge ones.
    Base,
    /// Transparent huge pages, requested by `MADV_HUGEPAGE` in an aligned range.
    Transparent,
    /// Reserved huge pages of the default size (`MAP_HUGETLB`).
    Reserved,
}

/// `madvise` that makes pages present and writable (Linux 5.14). The number is that of the kernel's
/// `asm-generic/mman-common.h`, because libc does not define it for every target.
pub const MADV_POPULATE_WRITE: i32 = 23;

pub use libc::{MADV_COLD, MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_PAGEOUT, MADV_RANDOM};
/// Not in every libc (Linux 6.1).
pub const MADV_COLLAPSE: i32 = 25;

/// An owned memory mapping.
#[derive(Debug)]
pub struct Map {
    /// The start of the mapping itself.
    base: *mut libc::c_void,
    /// Its whole length.
    mapped: usize,
    /// Where the aligned part begins.
    offset: usize,
    /// The requested length.
    len: usize,
}

// SAFETY: a Map owns its memory like a Box<[u8]> and is not bound to a thread.
unsafe impl Send for Map {}
// SAFETY: shared access only gives `&[u8]`.
unsafe impl Sync for Map {}

impl Map {
    fn raw(len: usize, offset: usize, protection: i32, flags: i32, fd: i32, file_at: i64) -> io::Result<Map> {
        // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, file_at) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map { base, mapped: len, offset, len: len - offset })
    }

    /// New private memory, not yet touched: `len` bytes, whatever the size of a page; of huge
    /// pages, `len` rounded up to whole ones.
    ///
    /// # Errors
    /// Those of `mmap`; `ENOMEM` for `Reserved` when too few huge pages are reserved.
    pub fn anonymous(len: usize, policy: Policy) -> io::Result<Map> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let huge = huge_page_size().unwrap_or(page_size());
        let mut map = match policy {
            Policy::Base => Map::raw(len, 0, writable, flags, -1, 0)?,
            Policy::Reserved => Map::raw(round_up(len, huge), 0, writable, flags | libc::MAP_HUGETLB, -1, 0)?,
            Policy::Transparent => {
                // One huge page more than requested, so that an aligned range of the full length is
                // inside.
                let want = round_up(len, huge);
                let mut map = Map::raw(want + huge, 0, writable, flags, -1, 0)?;
                map.offset = round_up(map.base as usize, huge) - map.base as usize;
                map.len = want;
                map
            }
        };
        match policy {
            // A kernel without transparent huge pages returns EINVAL, and has base pages anyway.
            Policy::Base => drop(map.advise(libc::MADV_NOHUGEPAGE)),
            Policy::Transparent => map.advise(libc::MADV_HUGEPAGE)?,
            Policy::Reserved => {}
        }
        Ok(map)
    }

    /// New private memory of `len` bytes, in reserved huge pages of `size`, a power of two.
    ///
    /// # Errors
    /// `ENOMEM` when too few are reserved, `EINVAL` for a size that the kernel does not have.
    pub fn reserved(len: usize, size: usize) -> io::Result<Map> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
        let of_size = (size.trailing_zeros() as i32) << libc::MAP_HUGE_SHIFT;
        Map::raw(len, 0, libc::PROT_READ | libc::PROT_WRITE, flags | of_size, -1, 0)
    }

    /// New private memory of base pages between two inaccessible pages: a mapping that the kernel
    /// never merges with a neighbour.
    ///
    /// # Errors
    /// Those of `mmap` and `mprotect`.
    pub fn guarded(len: usize) -> io::Result<Map> {
        let len = round_up(len, page_size());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let mut map = Map::raw(len + 2 * page_size(), page_size(), libc::PROT_NONE, flags, -1, 0)?;
        map.len = len;
        map.protect(true)?;
        drop(map.advise(libc::MADV_NOHUGEPAGE));
        Ok(map)
    }

    /// Splits the memory into `parts` of equal numbers of whole pages, each for one owner: one
    /// mapping, several users.
    pub fn split(self, parts: usize) -> Vec<Part> {
        let len = self.len / page_size() / parts.max(1) * page_size();
        let whole = Arc::new(self);
        (0..parts).map(|i| Part { from: i * len, len, whole: Arc::clone(&whole) }).collect()
    }

    /// Memory shared with children forked later, zeroed and present.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn shared(len: usize) -> io::Result<Map> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Map::raw(round_up(len, page_size()), 0, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// Memory shared with children forked later, not yet touched: each page is allocated on the
    /// NUMA node of the CPU that first writes to it.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn shared_untouched(len: usize) -> io::Result<Map> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        Map::raw(round_up(len, page_size()), 0, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// `len` bytes of a file from its start: private (writes are copied) or shared, readable and
    /// writable.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn file(file: &File, len: usize, shared: bool) -> io::Result<Map> {
        let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        Map::raw(len, 0, writable, kind, file.as_raw_fd(), 0)
    }

    /// `len` bytes of a file from its start, read-only, from the page cache; with `populate` all
    /// pages are mapped at once.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn file_read(file: &File, len: usize, populate: bool) -> io::Result<Map> {
        let kind = libc::MAP_SHARED | if populate { libc::MAP_POPULATE } else { 0 };
        Map::raw(len, 0, libc::PROT_READ, kind, file.as_raw_fd(), 0)
    }

    /// Advice about the aligned part.
    ///
    /// # Errors
    /// Those of `madvise`.
    pub fn advise(&mut self, advice: i32) -> io::Result<()> {
        // SAFETY: the range belongs to this mapping. Advice that drops contents (MADV_DONTNEED)
        // leaves zeroes, which are valid bytes, and `&mut self` excludes other references.
        unsafe { madvise(self.base as usize + self.offset, self.len, advice) }
    }

    /// Makes every page present and writable from this CPU, so that no fault falls into the timed
    /// region. See [`populate`].
    pub fn populate(&mut self) {
        populate(self);
    }

    /// Returns the pages of the aligned part to the kernel, so that the next access to each faults;
    /// the mapping stays. Anonymous memory then reads as zeroes, private file memory as the file.
    ///
    /// # Errors
    /// Those of `madvise`.
    pub fn drop_pages(&mut self) -> io::Result<()> {
        self.advise(libc::MADV_DONTNEED)
    }

    /// Which base pages of the mapping are resident, from `mincore`.
    ///
    /// # Errors
    /// Those of `mincore`.
    pub fn residency(&self) -> io::Result<Vec<bool>> {
        residency(self)
    }

    /// The number of resident base pages of the mapping, from `mincore`.
    ///
    /// # Errors
    /// Those of `mincore`.
    pub fn resident_pages(&self) -> io::Result<usize> {
        Ok(self.residency()?.into_iter().filter(|there| *there).count())
    }

    /// Bytes of the mapping that transparent huge pages back, from `/proc/self/smaps`; `None`
    /// without it.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.smaps_bytes("AnonHugePages")
    }

    /// Bytes of the mapping under this name in `/proc/self/smaps` (`Referenced`, `LazyFree`);
    /// `None` without it.
    pub fn smaps_bytes(&self, name: &str) -> Option<u64> {
        smaps_bytes(self.base as usize + self.offset, self.len, name)
    }

    /// Makes the aligned part read-only, or writable again.
    ///
    /// # Errors
    /// Those of `mprotect`.
    pub fn protect(&mut self, writable: bool) -> io::Result<()> {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the range belongs to this mapping. Writing through the slice while it is
        // read-only raises SIGSEGV, which callers want, and does not violate memory safety.
        checked(unsafe {
            syscall3(libc::SYS_mprotect as usize, self.base as usize + self.offset, self.len, protection as usize)
        })
    }

    /// Makes the aligned part executable, and no longer writable.
    ///
    /// # Errors
    /// Those of `mprotect`: `EACCES` where a security module forbids it.
    pub fn make_executable(&mut self) -> io::Result<()> {
        let protection = (libc::PROT_READ | libc::PROT_EXEC) as usize;
        // SAFETY: as for `protect`.
        checked(unsafe {
            syscall3(libc::SYS_mprotect as usize, self.base as usize + self.offset, self.len, protection)
        })
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the aligned part is readable memory of that length, initialised by the kernel,
        // and borrowed from self.
        unsafe { std::slice::from_raw_parts(self.base.byte_add(self.offset).cast(), self.len) }
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.byte_add(self.offset).cast(), self.len) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this base and length and is unmapped once, here.
        unsafe { libc::munmap(self.base, self.mapped) };
    }
}

/// What `/proc/self/smaps` has under this name for each mapping that holds some of these bytes;
/// `None` without it.
fn smaps(start: usize, len: usize, name: &str) -> Option<Vec<String>> {
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let mut inside = false;
    let mut found = Vec::new();
    for line in smaps.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        if let Some((from, to)) = range.and_then(|(from, to)| Some((number(from)?, number(to)?))) {
            inside = from < start + len && start < to;
        } else if inside && let Some(value) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
            found.push(value.trim().to_owned());
        }
    }
    Some(found)
}

/// As [`Map::smaps_bytes`], for any memory of this process: `len` bytes from the address `start`.
pub fn smaps_bytes(start: usize, len: usize, name: &str) -> Option<u64> {
    let bytes = |kib: &String| Some(kib.trim_end_matches(" kB").parse::<u64>().ok()? * 1024);
    let total: u64 = smaps(start, len, name)?.iter().map(bytes).sum::<Option<u64>>()?;
    Some(total.min(len as u64))
}

/// A part of a shared mapping, with an owner of its own.
#[derive(Debug)]
pub struct Part {
    whole: Arc<Map>,
    from: usize,
    len: usize,
}

impl Part {
    /// As [`Map::smaps_bytes`], for all parts together.
    pub fn smaps_bytes(&self, name: &str) -> Option<u64> {
        self.whole.smaps_bytes(name)
    }

    fn at(&self) -> usize {
        self.whole.base as usize + self.whole.offset + self.from
    }

    /// Returns its pages to the kernel, as [`Map::drop_pages`].
    ///
    /// # Errors
    /// Those of `madvise`.
    pub fn drop_pages(&mut self) -> io::Result<()> {
        // SAFETY: the part is within the mapping, which `whole` keeps, and `&mut self` excludes
        // other references.
        unsafe { madvise(self.at(), self.len, libc::MADV_DONTNEED) }
    }
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: within the mapping, which `whole` keeps; no other part covers these bytes.
        unsafe { std::slice::from_raw_parts(self.whole.base.byte_add(self.whole.offset + self.from).cast(), self.len) }
    }
}

impl DerefMut for Part {
    fn deref_mut(&mut self) -> &mut [u8] {
        let base = self.whole.base;
        // SAFETY: as for `deref`; `whole` owns the mapping and returns no slices while it is split.
        unsafe { std::slice::from_raw_parts_mut(base.byte_add(self.whole.offset + self.from).cast(), self.len) }
    }
}

/// `madvise` by number.
///
/// # Safety
/// The range belongs to the caller, who accepts what the advice does to its contents.
unsafe fn madvise(at: usize, len: usize, advice: i32) -> io::Result<()> {
    // SAFETY: as promised.
    checked(unsafe { syscall3(libc::SYS_madvise as usize, at, len, advice as usize) })
}

/// Makes every page of this memory present and writable.
///
/// `MADV_POPULATE_WRITE` where the kernel has it (5.14), otherwise a write to each page, which
/// keeps its contents.
pub fn populate(memory: &mut [u8]) {
    let page = page_size();
    let before = memory.as_ptr() as usize % page;
    let (at, len) = (memory.as_ptr() as usize - before, memory.len() + before);
    // SAFETY: this advice changes no contents, of the page around the start neither.
    if memory.is_empty() || unsafe { madvise(at, len, MADV_POPULATE_WRITE) }.is_ok() {
        return;
    }
    let mut touch = |byte: &mut u8| {
        let value = *byte;
        // SAFETY: a valid, exclusive reference; volatile so that writing its own value is not
        // elided.
        unsafe { std::ptr::write_volatile(byte, value) };
    };
    memory.iter_mut().step_by(page).for_each(&mut touch);
    // The memory need not begin at a page.
    memory.last_mut().into_iter().for_each(&mut touch);
}

/// How much memory [`populate_by_piece`] makes present at a time: less than any second-level cache
/// of the last ten years.
const PIECE: usize = 128 << 10;

/// Makes memory present piece by piece, and hands each piece over while the zeroes that the kernel
/// has just written are in a cache: to fill an array of 256 MiB afterwards takes half as long again
/// as making it present. Pieces are 128 KiB; the last may be shorter.
pub fn populate_by_piece(memory: &mut [u8], mut fill: impl FnMut(&mut [u8])) {
    for piece in memory.chunks_mut(PIECE) {
        populate(piece);
        fill(piece);
    }
}

/// Which pages of mapped memory are resident, from `mincore`.
pub(crate) fn residency(memory: &[u8]) -> io::Result<Vec<bool>> {
    let mut pages = vec![0u8; memory.len().div_ceil(page_size())];
    let (at, into) = (memory.as_ptr() as usize, pages.as_mut_ptr() as usize);
    // SAFETY: `mincore` reads no memory, and the vector has one byte a page.
    checked(unsafe { syscall3(libc::SYS_mincore as usize, at, memory.len(), into) })?;
    Ok(pages.into_iter().map(|page| page & 1 == 1).collect())
}

/// The result of a system call by number, where only failure matters.
#[inline]
pub(crate) fn checked(returned: isize) -> io::Result<()> {
    if returned < 0 { Err(io::Error::from_raw_os_error(-returned as i32)) } else { Ok(()) }
}

/// The smallest multiple of `unit` that is at least `n`.
pub fn round_up(n: usize, unit: usize) -> usize {
    n.div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_pages_are_present_after_populate() {
        let mut map = Map::anonymous(100_000, Policy::Base).expect("memory");
        assert_eq!(map.len(), 100_000);
        assert_eq!(map.resident_pages().expect("mincore"), 0);
        map.populate();
        assert_eq!(map.resident_pages().expect("mincore"), map.len().div_ceil(page_size()));
        assert_eq!(map.huge_bytes(), Some(0));
        map[0] = 1;
        map.drop_pages().expect("madvise");
        assert_eq!(map.resident_pages().expect("mincore"), 0);
        assert_eq!(map[0], 0);
    }

    #[test]
    fn a_guarded_map_stands_alone_and_parts_share_it() {
        let page = page_size();
        let map = Map::guarded(4 * page).expect("memory");
        let at = map.as_ptr() as usize;
        assert_eq!(crate::mapping::permissions(&map).as_deref(), Some("rw-p"));
        let mut parts = map.split(2);
        assert_eq!(parts.iter().map(|p| p.as_ptr() as usize - at).collect::<Vec<_>>(), [0, 2 * page]);
        parts[0][0] = 1;
        parts[1][2 * page - 1] = 2;
        let last = parts.pop().expect("two");
        parts[0].drop_pages().expect("madvise");
        let present = |part: &Part| residency(part).expect("mincore");
        assert_eq!((present(&parts[0]), present(&last)), (vec![false, false], vec![false, true]));
        drop(parts);
        assert_eq!((last.len(), last[2 * page - 1]), (2 * page, 2));
    }

    /// The kernel's flags of the mapping that holds this memory; `None` where it does not say.
    fn flags(memory: &[u8]) -> Option<Vec<String>> {
        let flags = smaps(memory.as_ptr() as usize, 1, "VmFlags")?.into_iter().next()?;
        Some(flags.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// The memory is too small for a huge page, so only the kernel's flags show the policy.
    #[test]
    fn policies_set_the_flags_of_the_mapping() {
        use crate::mapping::{Grower, Mover};
        let (Some(huge), len) = (huge_page_size(), 8 * page_size()) else { return };
        let base = Map::anonymous(len, Policy::Base).expect("memory");
        let guarded = Map::guarded(len).expect("memory");
        let (mover, grower) = (Mover::new(len).expect("memory"), Grower::new(len, len).expect("memory"));
        let has = |memory: &[u8], flag: &str| flags(memory).is_none_or(|flags| flags.iter().any(|f| f == flag));
        let all = [("base", &base[..]), ("guarded", &guarded[..]), ("mover", &mover[..]), ("grower", &grower[..])];
        for (name, memory) in all {
            assert!(has(memory, "nh"), "{name}: {:?}", flags(memory));
        }
        match Map::anonymous(huge, Policy::Transparent) {
            Ok(map) => assert!(has(&map, "hg"), "{:?}", flags(&map)),
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::EINVAL)),
        }
    }

    #[test]
    fn shared_and_populated_file_memory_is_present_at_once() {
        use std::io::Write;
        let len = 8 * page_size();
        let (now, later) = (Map::shared(len).expect("memory"), Map::shared_untouched(len).expect("memory"));
        assert_eq!((now.resident_pages().expect("mincore"), later.resident_pages().expect("mincore")), (8, 0));
        let mut file = crate::mapping::memory_file(0).expect("a file in memory");
        file.write_all(&vec![7; len]).expect("written");
        // For a file `mincore` reports the page cache, mapped or not.
        let mapped = |populate| Map::file_read(&file, len, populate).expect("a mapping").smaps_bytes("Rss");
        if let (Some(without), Some(with)) = (mapped(false), mapped(true)) {
            assert_eq!((without, with), (0, len as u64));
        }
    }

    #[test]
    fn transparent_pages_are_aligned() {
        let Some(huge) = huge_page_size() else { return };
        let mut map = match Map::anonymous(huge, Policy::Transparent) {
            Ok(map) => map,
            // A kernel with THP compiled out or disabled returns EINVAL; then there is nothing to
            // check.
            Err(e) => return assert_eq!(e.raw_os_error(), Some(libc::EINVAL)),
        };
        map.populate();
        assert_eq!(map.as_ptr() as usize % huge, 0);
        assert_eq!(map.len(), huge);
    }

    /// Writes to a shared mapping appear in the file, writes to a private one do not.
    #[test]
    fn mappings_of_a_file_are_shared_private_or_read_only() {
        let file = crate::mapping::memory_file(4 * page_size() as u64).expect("a file in memory");
        let len = 4 * page_size();
        let [mut shared, mut own] = [true, false].map(|shared| Map::file(&file, len, shared).expect("a mapping"));
        let read = Map::file_read(&file, len, false).expect("a mapping");
        shared[0] = 1;
        own[1] = 2;
        assert_eq!((&read[..2], &own[..2], &shared[..2]), (&[1, 0][..], &[1, 2][..], &[1, 0][..]));
        assert_eq!([&shared, &own, &read].map(|map| map.len()), [len; 3]);
        // Neighbours of one kind are one mapping.
        for (map, expected) in [(&shared, "rw-s"), (&own, "rw-p"), (&read, "r--s")] {
            assert!(crate::mapping::permissions(map).is_none_or(|permissions| permissions == expected), "{expected}");
        }
    }

    #[test]
    fn shared_memory_is_shared_with_children() {
        for make in [Map::shared, Map::shared_untouched] {
            let mut map = make(100).expect("memory");
            assert_eq!(map.len(), page_size());
            let child = crate::fork::fork(|| {
                map[99] = 7;
                0
            });
            assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
            assert_eq!(map[99], 7);
        }
    }

    /// A page that was only read is the kernel's page of zeroes; a populated one is anonymous. Not
    /// `Private_Dirty`: a child that another test forks shares the pages for a moment.
    #[test]
    fn populated_pages_are_anonymous() {
        let len = 64 * page_size();
        let own = |map: &Map| map.smaps_bytes("Anonymous");
        // Guarded: a neighbour that another test maps could be merged with it.
        let mut map = Map::guarded(len).expect("memory");
        assert!(map.iter().all(|byte| *byte == 0));
        let Some(read) = own(&map) else { return println!("skipped: no smaps") };
        map.populate();
        assert_eq!((read, own(&map)), (0, Some(len as u64)));
        // As on a kernel that does not know the advice.
        let exit = crate::testing::in_child(|| {
            let Ok(mut map) = Map::anonymous(len, Policy::Base) else { return 255 };
            if crate::filter::deny(&[libc::SYS_madvise], libc::EINVAL).is_err() {
                return 255;
            }
            map.populate();
            let there = map.residency().is_ok_and(|pages| pages.len() == 64 && pages.iter().all(|there| *there));
            crate::testing::first_wrong(&[there, map.drop_pages().is_err()])
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
    }

    #[test]
    fn a_guarded_map_lies_between_closed_pages_and_can_be_protected() {
        let page = page_size();
        let mut map = Map::guarded(3 * page - 5).expect("memory");
        assert_eq!(map.len(), 3 * page);
        let from = map.as_ptr() as usize;
        let permissions = |at: usize| {
            let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            maps.lines().find_map(|line| {
                let (range, rest) = line.split_once(' ')?;
                let (from, to) = range.split_once('-')?;
                (number(from)? <= at && at < number(to)?).then(|| rest.split(' ').next().map(str::to_owned))?
            })
        };
        let all = || [from - page, from, from + 2 * page, from + 3 * page].map(permissions);
        if permissions(from).is_none() {
            return println!("skipped: no /proc");
        }
        let is = |rights: &str| ["---p", rights, rights, "---p"].map(|rights| Some(rights.to_owned()));
        assert_eq!(all(), is("rw-p"));
        map.protect(false).expect("mprotect");
        assert_eq!(all(), is("r--p"));
        map.protect(true).expect("mprotect");
        assert_eq!(all(), is("rw-p"));
        map[3 * page - 1] = 1;
    }

    #[test]
    fn a_size_is_rounded_up_to_whole_units() {
        assert_eq!([0, 1, 4095, 4096, 4097].map(|n| round_up(n, 4096)), [0, 4096, 4096, 4096, 8192]);
        let known = std::process::Command::new("getconf").arg("PAGESIZE").output();
        let known = known.ok().and_then(|known| String::from_utf8(known.stdout).ok()?.trim().parse().ok());
        assert_eq!(page_size(), known.unwrap_or(page_size()));
    }
}
