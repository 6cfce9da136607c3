//! Creating, moving and removing mappings as the subject of a measurement: each call by number, and
//! nothing around it.
//!
//! [`crate::pages`] provides memory to work in; here the calls themselves are the subject.
//!
//! # Safety
//! Every range that is changed was created here and is owned by one value, which unmaps it once;
//! slices are bounded by its borrow. No call takes an address that it does not own: the kernel
//! chooses that of a new mapping, a move goes between two owned ranges, and growth into another
//! mapping fails. The break is moved in a process with one thread, which reads it before each
//! series of calls and restores it before anything else can allocate.
#![expect(unsafe_code, reason = "mmap, munmap, mremap, brk by number")]

use crate::arch::{syscall1, syscall2, syscall4, syscall5, syscall6};
use crate::pages::{self, checked, page_size};
use crate::thread;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, BorrowedFd};

const WRITABLE: usize = (libc::PROT_READ | libc::PROT_WRITE) as usize;

/// What backs a mapping.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'f> {
    /// Private zeroes.
    Anonymous,
    /// Private reserved huge pages of the default size.
    Reserved,
    /// A file, whose bytes it shares.
    File(BorrowedFd<'f>),
}

/// A readable and writable mapping at an address that the kernel chooses; dropping it unmaps it.
#[derive(Debug)]
pub struct Mapping<'f> {
    at: usize,
    len: usize,
    file: PhantomData<BorrowedFd<'f>>,
}

impl<'f> Mapping<'f> {
    /// One `mmap`; with `populate` the kernel makes all pages present before it returns.
    ///
    /// # Errors
    /// Those of `mmap`.
    #[inline]
    pub fn new(len: usize, backing: Backing<'f>, populate: bool) -> io::Result<Mapping<'f>> {
        let (kind, fd) = match backing {
            Backing::Anonymous => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
            Backing::Reserved => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB, -1),
            Backing::File(fd) => (libc::MAP_SHARED, fd.as_raw_fd()),
        };
        let flags = if populate { kind | libc::MAP_POPULATE } else { kind };
        // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
        let at =
            unsafe { syscall6(libc::SYS_mmap as usize, 0, len, WRITABLE, flags as usize, fd as isize as usize, 0) };
        // Addresses in the upper half are negative too; errors are the last 4095 of them.
        if (-4095..0).contains(&at) {
            return Err(io::Error::from_raw_os_error(-at as i32));
        }
        Ok(Mapping { at: at as usize, len, file: PhantomData })
    }

    /// One `munmap`, and its result.
    ///
    /// # Errors
    /// Those of `munmap`.
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        let (at, len) = (self.at, self.len);
        std::mem::forget(self);
        // SAFETY: the range was mapped with this length and is not used after this.
        checked(unsafe { syscall2(libc::SYS_munmap as usize, at, len) })
    }

    /// Makes it inaccessible: it stays where it is, and the kernel merges no other mapping with it.
    ///
    /// # Errors
    /// Those of `mprotect`.
    pub fn into_fence(self) -> io::Result<Fence<'f>> {
        // SAFETY: the range is ours, and its bytes cannot be reached through a `Fence`.
        let done = unsafe { libc::mprotect(self.at as *mut libc::c_void, self.len, libc::PROT_NONE) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(Fence(self)) }
    }

    /// The number of its resident base pages, from `mincore`.
    ///
    /// # Errors
    /// Those of `mincore`.
    pub fn resident_pages(&self) -> io::Result<usize> {
        Ok(pages::residency(self)?.into_iter().filter(|there| *there).count())
    }
}

impl Deref for Mapping<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: readable memory of that length, initialised by the kernel, and borrowed from
        // self.
        unsafe { std::slice::from_raw_parts(self.at as *const u8, self.len) }
    }
}

impl DerefMut for Mapping<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at as *mut u8, self.len) }
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // SAFETY: the range was mapped with this length and is unmapped once, here.
        unsafe { syscall2(libc::SYS_munmap as usize, self.at, self.len) };
    }
}

/// A mapping that only occupies addresses.
#[derive(Debug)]
pub struct Fence<'f>(#[expect(dead_code, reason = "held to be unmapped")] Mapping<'f>);

/// The permissions, such as `rw-p`, of the kernel's mapping that is exactly this memory; `None`
/// when there is none, because it was merged with a neighbour or is gone, or without `/proc`.
pub fn permissions(memory: &[u8]) -> Option<String> {
    let from = memory.as_ptr() as usize;
    let range = format!("{from:08x}-{:08x}", from + memory.len());
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let rest = maps.lines().find_map(|line| line.strip_prefix(&range))?;
    Some(rest.split_ascii_whitespace().next()?.to_owned())
}

/// A file of `len` zeroes that exists only in memory and has no name (tmpfs, independent of
/// mounts).
///
/// # Errors
/// Those of `memfd_create` and `ftruncate`.
pub fn memory_file(len: u64) -> io::Result<File> {
    let fd = rustix::fs::memfd_create(c"groma", rustix::fs::MemfdFlags::CLOEXEC)?;
    let file = File::from(fd);
    file.set_len(len)?;
    Ok(file)
}

/// Memory that moves between two address ranges; both remain its own.
#[derive(Debug)]
pub struct Mover {
    base: usize,
    len: usize,
    there: bool,
}

impl Mover {
    /// `len` bytes of base pages, a free range of the same size elsewhere, and inaccessible pages
    /// around both.
    ///
    /// # Errors
    /// Those of `mmap` and `mprotect`.
    pub fn new(len: usize) -> io::Result<Mover> {
        let base = reserve(2 * len + 3 * page_size())?;
        let mover = Mover { base, len, there: false };
        make_writable(mover.at(), len)?;
        Ok(mover)
    }

    fn whole(&self) -> usize {
        2 * self.len + 3 * page_size()
    }

    fn at(&self) -> usize {
        self.base + page_size() + if self.there { self.len + page_size() } else { 0 }
    }

    /// One `mremap`: all pages move to the other range, and an empty mapping stays behind
    /// (`MREMAP_DONTUNMAP`, Linux 5.7).
    ///
    /// # Errors
    /// Those of `mremap`.
    #[inline]
    pub fn go(&mut self) -> io::Result<()> {
        let from = self.at();
        self.there = !self.there;
        let to = self.at();
        let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP) as usize;
        // SAFETY: both ranges are ours, and `&mut self` excludes other references.
        let got = unsafe { syscall5(libc::SYS_mremap as usize, from, self.len, self.len, flags, to) };
        if got == to as isize {
            return Ok(());
        }
        self.there = !self.there;
        Err(moved_elsewhere(got))
    }
}

impl Deref for Mover {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range that the pages are in is readable and borrowed from self.
        unsafe { std::slice::from_raw_parts(self.at() as *const u8, self.len) }
    }
}

impl DerefMut for Mover {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at() as *mut u8, self.len) }
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        // SAFETY: the whole reservation is ours, with what has been mapped over it.
        unsafe { syscall2(libc::SYS_munmap as usize, self.base, self.whole()) };
    }
}

/// Memory with free addresses after it to grow into.
#[derive(Debug)]
pub struct Grower {
    base: usize,
    len: usize,
    room: usize,
}

impl Grower {
    /// `len` bytes of base pages, `room` bytes of unmapped addresses after them, and inaccessible
    /// pages around both.
    ///
    /// # Errors
    /// Those of `mmap`, `mprotect` and `munmap`.
    pub fn new(len: usize, room: usize) -> io::Result<Grower> {
        let base = reserve(len + room + 2 * page_size())?;
        let grower = Grower { base, len, room };
        make_writable(grower.at(), len)?;
        // SAFETY: the room is part of our reservation and is free from here on.
        checked(unsafe { syscall2(libc::SYS_munmap as usize, grower.at() + len, room) })?;
        Ok(grower)
    }

    fn at(&self) -> usize {
        self.base + page_size()
    }

    /// Two `mremap`: the memory grows into its room, and shrinks again.
    ///
    /// # Errors
    /// Those of `mremap`: `ENOMEM` when something else is mapped in the room.
    #[inline]
    pub fn grow_and_shrink(&mut self) -> io::Result<()> {
        let (at, long) = (self.at(), self.len + self.room);
        // SAFETY: without MREMAP_MAYMOVE the kernel takes only free addresses, which are released
        // at once.
        let grown = unsafe { syscall4(libc::SYS_mremap as usize, at, self.len, long, 0) };
        if grown != at as isize {
            return Err(moved_elsewhere(grown));
        }
        // SAFETY: unmaps what has just been added.
        let shrunk = unsafe { syscall4(libc::SYS_mremap as usize, at, long, self.len, 0) };
        if shrunk == at as isize { Ok(()) } else { Err(moved_elsewhere(shrunk)) }
    }
}

impl Deref for Grower {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: readable memory of that length, borrowed from self.
        unsafe { std::slice::from_raw_parts(self.at() as *const u8, self.len) }
    }
}

impl DerefMut for Grower {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at() as *mut u8, self.len) }
    }
}

impl Drop for Grower {
    fn drop(&mut self) {
        let behind = self.at() + self.len + self.room;
        // SAFETY: the memory with the page before it, and the page after the room; the room itself
        // may belong to another mapping.
        unsafe {
            syscall2(libc::SYS_munmap as usize, self.base, page_size() + self.len);
            syscall2(libc::SYS_munmap as usize, behind, page_size());
        }
    }
}

/// Reserves inaccessible addresses.
fn reserve(len: usize) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base as usize) }
}

/// Backs reserved addresses of the caller with base pages.
fn make_writable(at: usize, len: usize) -> io::Result<()> {
    let at = at as *mut libc::c_void;
    // SAFETY: the caller has reserved the range.
    unsafe {
        if libc::mprotect(at, len, WRITABLE as i32) < 0 {
            return Err(io::Error::last_os_error());
        }
        // A kernel without transparent huge pages returns EINVAL, and has base pages anyway.
        libc::madvise(at, len, libc::MADV_NOHUGEPAGE);
    }
    Ok(())
}

/// Why `mremap` returned another address.
fn moved_elsewhere(returned: isize) -> io::Error {
    match checked(returned) {
        Err(e) => e,
        Ok(()) => io::Error::other(format!("the kernel moved it to {returned:#x}")),
    }
}

/// The end of the process's heap.
#[derive(Debug)]
pub struct Break(());

impl Break {
    /// For a process that may move it.
    ///
    /// # Errors
    /// `Other` when the process has several threads, any of which may move the break.
    pub fn alone() -> io::Result<Break> {
        match thread::count() {
            1 => Ok(Break(())),
            n => Err(io::Error::other(format!("the heap's end is shared by {n} threads"))),
        }
    }

    /// Two `brk`, `times` times: the heap grows by `len` bytes, one byte in each page is written if
    /// `touch`, and it shrinks again. One call before them reads the break: allocators move it, and
    /// growing from an old value would take away what they have allocated since.
    ///
    /// # Errors
    /// `OutOfMemory` when the kernel does not move the break (a limit, or a mapping in the way);
    /// `Other` when it does not move it back.
    #[inline]
    pub fn up_and_down(&mut self, len: usize, touch: bool, times: u64) -> io::Result<u64> {
        let start = brk(0);
        (0..times).try_fold(0, |done, _| Break::once(start, len, touch).map(|()| done + 1))
    }

    #[inline]
    fn once(start: usize, len: usize, touch: bool) -> io::Result<()> {
        let end = start + len;
        if brk(end) != end {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        if touch {
            for at in (start..end).step_by(page_size()) {
                // SAFETY: the kernel has just added these bytes.
                unsafe { (at as *mut u8).write_volatile(1) };
            }
        }
        if brk(start) == start { Ok(()) } else { Err(io::Error::other("the break did not go back")) }
    }
}

/// The break after it was asked to be there.
#[inline]
fn brk(at: usize) -> usize {
    // SAFETY: callers only read the break, raise it, or undo a raise.
    unsafe { syscall1(libc::SYS_brk as usize, at) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork;
    use std::os::fd::AsFd;

    #[test]
    fn a_mapping_is_there_until_it_is_unmapped() {
        let len = 8 * page_size();
        let fence = Mapping::new(len, Backing::Anonymous, false).expect("mmap").into_fence().expect("mprotect");
        let mut map = Mapping::new(len, Backing::Anonymous, true).expect("mmap");
        assert_eq!(map.resident_pages().expect("mincore"), 8);
        map[len - 1] = 7;
        map.unmap().expect("munmap");
        drop(fence);
        let file = memory_file(len as u64).expect("a file in memory");
        let mut one = Mapping::new(len, Backing::File(file.as_fd()), false).expect("mmap");
        assert_eq!(one.resident_pages().expect("mincore"), 0);
        one[3] = 5;
        assert_eq!(Mapping::new(len, Backing::File(file.as_fd()), false).expect("mmap")[3], 5);
        assert_eq!(permissions(&one).as_deref(), Some("rw-s"));
        assert!(Mapping::new(0, Backing::Anonymous, false).is_err());
    }

    #[test]
    fn memory_moves_there_and_back() {
        let mut memory = Mover::new(2 * page_size()).expect("memory");
        memory[page_size()] = 9;
        let at = memory.as_ptr();
        memory.go().expect("mremap");
        assert_ne!(memory.as_ptr(), at);
        assert_eq!(memory[page_size()], 9);
        memory.go().expect("mremap");
        assert_eq!((memory.as_ptr(), memory[page_size()]), (at, 9));
    }

    #[test]
    fn memory_grows_and_keeps_what_it_holds() {
        let mut memory = Grower::new(page_size(), page_size()).expect("memory");
        memory[1] = 3;
        // Other tests map memory at the same time, and may have taken the room.
        drop(memory.grow_and_shrink());
        assert_eq!((memory[1], memory.len()), (3, page_size()));
    }

    #[test]
    fn the_break_goes_up_and_down() {
        // In a process with one thread, so that nothing else moves it.
        let child = fork::fork(|| {
            let Ok(mut heap) = Break::alone() else { return 1 };
            let before = brk(0);
            let first = heap.up_and_down(3 * page_size(), true, 2);
            // An allocator takes two pages: their contents must survive the following calls of one
            // page.
            let taken = brk(before + 2 * page_size());
            let byte = (taken - 1) as *mut u8;
            // SAFETY: within what was added, and this process has one thread.
            unsafe { byte.write_volatile(7) };
            let second = heap.up_and_down(page_size(), true, 2);
            // SAFETY: as above; not read when it is gone.
            let kept = brk(0) == taken && unsafe { byte.read_volatile() } == 7;
            i32::from(first.is_err() || second.is_err() || !kept)
        });
        assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    }

    /// In a child, where no other thread maps memory. Sizes are large, so that the allocator's own
    /// pages cannot hide a leak.
    #[test]
    fn dropped_values_unmap_all_their_pages() {
        use crate::file_pages::{Access, FilePages};
        use crate::pages::{Map, Policy};
        use crate::shared::Shared;
        use std::sync::atomic::AtomicU32;
        const PAGES: usize = 512;
        let len = PAGES * page_size();
        let file = memory_file(len as u64).expect("a file in memory");
        let numbers: Vec<u64> = (0..PAGES as u64).step_by(2).collect();
        type Owner<'o> = Box<dyn Fn() -> io::Result<()> + 'o>;
        let owners: Vec<Owner<'_>> = vec![
            Box::new(|| Mapping::new(len, Backing::Anonymous, true).map(drop)),
            Box::new(|| Mapping::new(len, Backing::File(file.as_fd()), false)?.unmap()),
            Box::new(|| Mapping::new(len, Backing::Anonymous, false)?.into_fence().map(drop)),
            Box::new(|| Mover::new(len).and_then(|mut mover| mover.go())),
            Box::new(|| Mover::new(len).map(drop)),
            Box::new(|| Grower::new(len, 2 * len).map(drop)),
            Box::new(|| Grower::new(len, len).and_then(|mut grower| grower.grow_and_shrink())),
            Box::new(|| Map::anonymous(len, Policy::Base).map(drop)),
            Box::new(|| Map::guarded(len).map(drop)),
            Box::new(|| Map::guarded(len).map(|map| drop(map.split(3)))),
            Box::new(|| Map::shared(len).map(drop)),
            Box::new(|| Map::file(&file, len, false).map(drop)),
            Box::new(|| Map::file_read(&file, len, true).map(drop)),
            Box::new(|| Shared::<AtomicU32>::untouched(len).map(drop)),
            Box::new(|| FilePages::map(&file, &numbers, Access::Read).map(drop)),
            Box::new(|| crate::spawn::Stack::new().map(drop)),
        ];
        let exit = fork::fork(|| {
            let Some(_) = crate::testing::mapped_pages() else { return 255 };
            for (place, owner) in (1..).zip(&owners) {
                let before = crate::testing::mapped_pages();
                if owner().is_err() {
                    return 100 + place;
                }
                if crate::testing::mapped_pages() != before {
                    return place;
                }
            }
            0
        });
        match exit.expect("fork").wait().expect("wait").code() {
            Some(255) => println!("skipped: no /proc"),
            code => assert_eq!(code, Some(0), "which one it was, above 100 that it could not be made"),
        }
    }

    /// In a child, where no other thread takes the free addresses.
    #[test]
    fn memory_grows_in_its_place_and_only_there() {
        let len = 16 * page_size();
        let exit = crate::testing::in_child(|| {
            let Ok(mut memory) = Grower::new(len, len) else { return 255 };
            memory.fill(3);
            let grown = memory.grow_and_shrink().is_ok() && memory.grow_and_shrink().is_ok();
            let kept = memory.iter().all(|byte| *byte == 3) && memory.len() == len;
            let alone = permissions(&memory).is_none_or(|permissions| permissions == "rw-p");
            // SAFETY: the kernel chooses another address where this one is taken.
            let taken = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                libc::mmap((memory.at() + len) as *mut libc::c_void, page_size(), libc::PROT_NONE, flags, -1, 0)
            };
            let taken = taken as usize == memory.at() + len;
            let refused = memory.grow_and_shrink().map_err(|e| e.raw_os_error()) == Err(Some(libc::ENOMEM));
            crate::testing::first_wrong(&[grown, kept, alone, taken, refused])
        });
        assert_eq!(exit, Some(0));
    }
}
