//! Memory between closed pages, so that an access outside it faults.

/// What a test finds in memory before the kernel runs.
pub(crate) const UNTOUCHED: u8 = 0xa5;

/// Memory of whole pages between two pages that fault on every access.
pub(crate) struct Fenced {
    /// The first closed page.
    pub(crate) map: *mut u8,
    /// Bytes between the closed pages.
    pub(crate) bytes: usize,
    /// Bytes of a page.
    pub(crate) page: usize,
}

impl Fenced {
    pub(crate) fn new(bytes: usize) -> Self {
        // SAFETY: a new anonymous mapping, whose middle is then opened.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let bytes = bytes.next_multiple_of(page);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), bytes + 2 * page, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let map = map.cast::<u8>();
            assert_eq!(0, libc::mprotect(map.add(page).cast(), bytes, libc::PROT_READ | libc::PROT_WRITE));
            Self { map, bytes, page }
        }
    }

    /// The open part.
    pub(crate) fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the open part of the mapping, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.map.add(self.page), self.bytes) }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, of which no slice is left.
        unsafe { libc::munmap(self.map.cast(), self.bytes + 2 * self.page) };
    }
}
