//! Pointer chains: a buffer whose nodes point to one another in one closed cycle, so that each can
//! be found only by loading the one before (`docs/methods/memory.md#chain-construction`).
//!
//! Two of them answer different questions. Their difference is the cost of address translation;
//! report both:
//!
//! - [`Chain::translation_amortised`] stays within a group of pages that the first-level TLB holds
//!   before it moves to the next: the latency of a cache level or of memory.
//! - [`Chain::translation_included`] goes anywhere at every step: the latency that a program with
//!   random accesses sees.
//!
//! [`Chain::strided`] goes from the start to the end by a fixed stride, which prefetchers follow.
//! [`Chain::through`] visits the nodes that its caller lists, in that order: lines that map to one
//! set of a cache, one line of every page, pairs of words at a distance.
//!
//! *Size means the span of the buffer.* With nodes further apart than a line the chain touches
//! fewer lines than the span has, but at the same distance everywhere, so the sets of a cache fill
//! evenly and the edges of the curve do not move. (A random line in each slot would not work: a "2
//! MiB" chain of 256-byte slots would be 512 KiB of lines anywhere, and fit in caches that the
//! buffer does not fit in.) [`Chain::nodes`] is the number of lines.
//!
//! The caller must know or measure which node spacing and group size defeat the prefetchers.
//!
//! # Safety
//!
//! A `Chain` borrows its buffer exclusively. The constructors write to every node a pointer to
//! another node of the same buffer, so that one cycle goes through all of them; nothing can change
//! them while the chain lives. A chase from any node therefore never leaves the buffer. The only
//! outside input is a source of random numbers, and no write depends on it: it chooses indices that
//! are checked.
#![expect(unsafe_code, reason = "writes and follows the pointers")]

use crate::arch::{chase, chase_loads};
use crate::flush::Flush;
use core::marker::PhantomData;

/// A node is a pointer.
const NODE: usize = size_of::<*const u8>();

/// A closed cycle of pointers through a buffer.
#[derive(Debug)]
pub struct Chain<'a> {
    start: *const u8,
    here: *const u8,
    marked: *const u8,
    nodes: usize,
    span: usize,
    /// Some of the nodes: their places in the chain, ascending from 0, and their addresses. A proof
    /// need not follow what lies between them.
    landmarks: Vec<(usize, *const u8)>,
    buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: the pointers lead into a buffer that is borrowed exclusively, like a `&mut [u8]`, which
// is `Send`.
unsafe impl Send for Chain<'_> {}

impl<'a> Chain<'a> {
    /// A chain through nodes `spacing` bytes apart. Pages are shuffled and taken in groups of about
    /// `group_pages`; all nodes of a group are visited in random order before those of the next.
    ///
    /// `spacing` is the line size for buffers up to the last private cache, and 256 bytes beyond:
    /// neighbouring lines are fetched in pairs, and prefetchers learn pages a few at a time. A
    /// group must be smaller than the reach of the first-level TLB and larger than what a region
    /// prefetcher follows: 32 pages of 4 KiB where nothing else is known
    /// (`docs/methods/memory.md#page-groups`). Pages are divided evenly, so a group may be smaller
    /// than requested, but never by more than half when there are enough pages.
    ///
    /// `below(n)` returns a random number below `n`.
    ///
    /// # Errors
    ///
    /// Says which argument is impossible.
    ///
    /// # Panics
    ///
    /// If `below` returns a number that is not below.
    pub fn translation_amortised(
        buffer: &'a mut [u8],
        spacing: usize,
        group_pages: usize,
        page: usize,
        mut below: impl FnMut(u64) -> u64,
    ) -> Result<Self, String> {
        check(buffer, spacing)?;
        if group_pages == 0 || page == 0 || !page.is_multiple_of(spacing) {
            return Err(format!("cannot group {group_pages} pages of {page} bytes with nodes {spacing} bytes apart"));
        }
        if !buffer.as_ptr().addr().is_multiple_of(page) {
            return Err(format!("the buffer does not begin at a page of {page} bytes"));
        }
        let span = buffer.len();
        let mut pages: Vec<usize> = (0..span.div_ceil(page)).map(|i| i * page).collect();
        shuffle(&mut pages, &mut below);

        let start = buffer.as_mut_ptr();
        let mut nodes = 0;
        let mut entry: *const u8 = start;
        // Receives the pointer to the next node: first `entry`, then each node in turn.
        let mut open = &raw mut entry;
        // The nodes of one group: few enough to stay in a cache, however large the buffer.
        let mut group = Vec::with_capacity(group_pages.saturating_mul(page / spacing).min(span / spacing + 1));
        let groups = pages.len().div_ceil(group_pages);
        let mut landmarks = Vec::with_capacity(groups);
        for i in 0..groups {
            group.clear();
            for &page_start in &pages[i * pages.len() / groups..(i + 1) * pages.len() / groups] {
                // The last page may be incomplete.
                let room = (page_start + page).min(span - NODE + 1);
                group.extend((page_start..room).step_by(spacing));
            }
            shuffle(&mut group, &mut below);
            landmarks.extend(group.first().map(|node| (nodes, start.cast_const().wrapping_add(*node))));
            nodes += group.len();
            for &node in &group {
                // SAFETY: `node` is a multiple of the spacing (`check`: of a pointer's size) and
                // ends inside the buffer, which is borrowed for writing; `open` is `entry` or such
                // a node.
                unsafe {
                    let node = start.add(node);
                    open.write(node);
                    open = node.cast();
                }
            }
        }
        // SAFETY: as above. This closes the cycle; `entry` was written through `open` and is read
        // the same way.
        unsafe { open.write((&raw const entry).read()) };
        Ok(Self { start, here: entry, marked: entry, nodes, span, landmarks, buffer: PhantomData })
    }

    /// A chain through nodes `spacing` bytes apart in random order.
    ///
    /// `spacing` is the line size; or a page and a line, for one line of every page at addresses
    /// that do not collide. `below(n)` returns a random number below `n`.
    ///
    /// # Errors
    ///
    /// Says which argument is impossible.
    ///
    /// # Panics
    ///
    /// If `below` returns a number that is not below.
    pub fn translation_included(
        buffer: &'a mut [u8],
        spacing: usize,
        mut below: impl FnMut(u64) -> u64,
    ) -> Result<Self, String> {
        check(buffer, spacing)?;
        let span = buffer.len();
        let nodes = (span - NODE) / spacing + 1;
        let start = buffer.as_mut_ptr();
        let node = |i: usize| {
            assert!(i < nodes, "a random number was not below its limit");
            // SAFETY: node `i` is below `nodes`, so it ends inside the buffer; `check` verified the
            // alignment.
            unsafe { start.add(i * spacing) }.cast::<*const u8>()
        };
        // Sattolo's shuffle on the nodes themselves: every node starts as a cycle of its own, and
        // each exchange of the targets of two nodes of different cycles joins the two. This needs
        // no list half as large as the buffer, and the exchanges do not wait for one another's
        // misses.
        for i in 0..nodes {
            // SAFETY: `node` returns places inside the buffer, which is borrowed for writing.
            unsafe { node(i).write(node(i).cast()) };
        }
        for i in (1..nodes).rev() {
            let j = below(i as u64) as usize;
            assert!(j < i, "a random number was not below its limit");
            // SAFETY: as above, and both have been written.
            unsafe { core::ptr::swap(node(i), node(j)) };
        }
        Ok(Self { start, here: start, marked: start, nodes, span, landmarks: Vec::new(), buffer: PhantomData })
    }

    /// A chain from the start of the buffer to its end by a fixed `stride`, and back to the start:
    /// an order that prefetchers follow.
    ///
    /// # Errors
    ///
    /// Says which argument is impossible.
    pub fn strided(buffer: &'a mut [u8], stride: usize) -> Result<Self, String> {
        check(buffer, stride)?;
        let span = buffer.len();
        let nodes = (span - NODE) / stride + 1;
        let start = buffer.as_mut_ptr();
        // SAFETY: for i below `nodes` the node ends inside the buffer; `check` verified the
        // alignment.
        let node = |i: usize| unsafe { start.add(i * stride) }.cast::<*const u8>();
        for i in 0..nodes {
            // SAFETY: both are nodes, in a buffer that is borrowed for writing.
            unsafe { node(i).write(node((i + 1) % nodes).cast()) };
        }
        Ok(Self { start, here: start, marked: start, nodes, span, landmarks: Vec::new(), buffer: PhantomData })
    }

    /// A chain through the nodes at these offsets from the start of the buffer, in this order, and
    /// from the last back to the first.
    ///
    /// A prefetcher can follow an order that it can predict.
    ///
    /// # Errors
    ///
    /// Says which offset is impossible: the list is empty, or an offset is not a multiple of a
    /// pointer's size, is not inside the buffer, or occurs twice (the cycle would be shorter than
    /// it claims).
    pub fn through(buffer: &'a mut [u8], offsets: &[usize]) -> Result<Self, String> {
        check(buffer, NODE)?;
        let span = buffer.len();
        let Some(&first) = offsets.first() else { return Err("a chain needs a node".to_owned()) };
        if let Some(bad) = offsets.iter().find(|at| !at.is_multiple_of(NODE) || **at > span - NODE) {
            return Err(format!("no node can be at {bad}: not a multiple of {NODE} below {span}"));
        }
        let start = buffer.as_mut_ptr();
        // SAFETY: every offset was checked to end inside the buffer and to be aligned.
        let node = |at: usize| unsafe { start.add(at) }.cast::<*const u8>();
        for &at in offsets {
            // SAFETY: `node` returns places inside the buffer, which is borrowed for writing.
            unsafe { node(at).write(core::ptr::null()) };
        }
        // A node that is no longer null was visited before. Nodes up to here then have pointers,
        // but there is no chain.
        for (i, &at) in offsets.iter().enumerate() {
            let next = offsets.get(i + 1).copied().unwrap_or(first);
            // SAFETY: as above, and every node has been written.
            if unsafe { !node(at).read().is_null() } {
                return Err(format!("the node at {at} is there twice"));
            }
            // SAFETY: as above.
            unsafe { node(at).write(node(next).cast()) };
        }
        let first = node(first).cast_const().cast();
        let (nodes, landmarks) = (offsets.len(), Vec::new());
        Ok(Self { start, here: first, marked: first, nodes, span, landmarks, buffer: PhantomData })
    }

    /// Follows the chain from where the last walk stopped, and returns the number of loads: `loads`
    /// rounded up to a multiple of [`crate::arch::CHASE_UNROLL`].
    #[inline]
    pub fn walk(&mut self, loads: u64) -> u64 {
        let loads = chase_loads(loads);
        // SAFETY: `here` is a node of a closed cycle of nodes that nothing else can write to.
        self.here = unsafe { chase(self.here, loads) };
        loads
    }

    /// Evicts the nodes, `spacing` bytes apart, from all caches, so that the next lap finds them
    /// only in memory; `false` where programs have no instruction for it.
    pub fn flush(&mut self, spacing: usize) -> bool {
        let Some(evict) = Flush::evict() else { return false };
        let spacing = spacing.max(NODE);
        let lines = lines_of(self.span, spacing);
        // SAFETY: the lines are inside the buffer, which is borrowed for writing.
        unsafe { evict.run(self.start, spacing, lines, lines) };
        true
    }

    /// The number of nodes, and of loads in a lap. Each is in a line of its own unless they are
    /// closer.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Bytes of the buffer: the "size" in a result.
    pub fn span(&self) -> usize {
        self.span
    }

    /// The position of the walk: the offset of its node from the start of the buffer.
    pub fn position(&self) -> usize {
        self.here.addr() - self.start.addr()
    }

    /// Remembers the position, for [`Chain::leads_here`].
    pub fn mark(&mut self) {
        self.marked = self.here;
    }

    /// Whether `loads` loads lead from the mark (the first node, if none was set) to the current
    /// position: evidence of the loads made in between, up to whole laps. Follows the chain itself,
    /// from the mark to the next landmark and from the last one before the end: to follow all of it
    /// took as long as the walk. Without landmarks, at most one lap.
    pub fn leads_here(&self, loads: u64) -> bool {
        let mut by_address: Vec<(*const u8, usize)> = self.landmarks.iter().map(|&(place, at)| (at, place)).collect();
        by_address.sort_unstable();
        let (mut at, mut left) = (self.marked, (loads % self.nodes as u64) as usize);
        while left > 0 {
            if let Ok(found) = by_address.binary_search_by_key(&at, |&(at, _)| at) {
                let end = (by_address[found].1 + left) % self.nodes;
                let last = self.landmarks.partition_point(|&(place, _)| place <= end) - 1;
                let (place, landmark) = self.landmarks[last];
                return self.after(landmark, end - place) == self.here;
            }
            (at, left) = (self.after(at, 1), left - 1);
        }
        at == self.here
    }

    /// The node so many steps after this one.
    fn after(&self, mut at: *const u8, steps: usize) -> *const u8 {
        for _ in 0..steps {
            // SAFETY: a node of a closed cycle of nodes that nothing else can write to; only nodes
            // come here.
            at = unsafe { at.cast::<*const u8>().read() };
        }
        at
    }
}

/// The number of nodes, `spacing` bytes apart, that begin within a buffer of `span` bytes.
fn lines_of(span: usize, spacing: usize) -> usize {
    span.div_ceil(spacing)
}

/// Says what makes a chain impossible.
fn check(buffer: &[u8], spacing: usize) -> Result<(), String> {
    if spacing == 0 || !spacing.is_multiple_of(NODE) {
        return Err(format!("nodes cannot be {spacing} bytes apart: not a multiple of {NODE}"));
    }
    if buffer.len() < NODE || !buffer.as_ptr().addr().is_multiple_of(NODE) {
        return Err(format!("a chain needs {NODE} bytes and an address that is a multiple of it"));
    }
    Ok(())
}

/// Fisher and Yates.
fn shuffle(items: &mut [usize], below: &mut impl FnMut(u64) -> u64) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_chain_goes_by_its_stride_from_end_to_end() {
        let mut bytes = crate::pages::Map::anonymous(64 << 10, crate::pages::Policy::Base).expect("memory");
        for (span, stride, nodes) in [(64 << 10, 64, 1024), (64 << 10, 4096, 16), (4096 + 8, 4096, 2), (4095, 8, 511)] {
            let mut chain = Chain::strided(&mut bytes[..span], stride).expect("nodes");
            assert_eq!(chain.nodes(), nodes);
            for lap in 1..4 {
                let loads = chain.walk(64);
                assert_eq!(chain.position(), (lap * loads as usize) % nodes * stride);
            }
        }
        assert!(Chain::strided(&mut bytes, 0).is_err() && Chain::strided(&mut bytes, 12).is_err());
    }

    /// A node that is left out only makes the walk faster; no count shows it.
    #[test]
    fn every_node_of_a_buffer_is_flushed() {
        let mut bytes = crate::pages::Map::anonymous(64 << 10, crate::pages::Policy::Base).expect("memory");
        for (span, spacing) in [(8, 64), (4096, 64), (4104, 64), (4160, 64), (64 << 10, 256), (60_000, 4160)] {
            let nodes = Chain::strided(&mut bytes[..span], spacing).expect("nodes").nodes();
            assert_eq!(lines_of(span, spacing), nodes, "{span} bytes, {spacing} apart");
        }
    }

    /// The landmarks of a chain are places of its own, and what lies between them is not skipped: a
    /// proof with them says what one without them says, wherever it begins and ends.
    #[test]
    fn landmarks_shorten_a_proof_and_change_no_answer() {
        let mut bytes = crate::pages::Map::anonymous(64 << 12, crate::pages::Policy::Base).expect("memory");
        let mut n = 0u64;
        let below = |limit: u64| {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (n >> 33) % limit
        };
        let mut chain = Chain::translation_amortised(&mut bytes, 256, 8, 4096, below).expect("nodes");
        assert_eq!((chain.nodes(), chain.landmarks.len()), (1024, 8));
        for (place, landmark) in chain.landmarks.clone() {
            assert_eq!(chain.after(chain.marked, place), landmark);
        }
        for walked in [0, 64, 128, 192, 512, 960, 1024, 1088, 5056] {
            for marked in [0, 64, 448] {
                chain.walk(marked);
                chain.mark();
                let loads = chain.walk(walked);
                let seen = [0, 1, 2, 127, 128, 1023, 1024].map(|more| chain.leads_here(loads + more));
                assert_eq!(seen, [true, false, false, false, false, false, true], "{walked} after {marked}");
            }
        }
    }

    #[test]
    fn positions_and_sums_show_how_many_steps_were_made() {
        let mut bytes = crate::pages::Map::anonymous(64 << 10, crate::pages::Policy::Base).expect("memory");
        let mut n = 0u64;
        let below = |limit: u64| {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (n >> 33) % limit
        };
        let mut chain = Chain::translation_included(&mut bytes[..1001 * 8], 8, below).expect("whole nodes");
        chain.walk(640);
        chain.mark();
        let loads = chain.walk(192);
        assert!(chain.leads_here(loads) && chain.leads_here(loads + 1001));
        assert!(![0, loads / 2, loads - 1, loads + 1, 2 * loads].iter().any(|other| chain.leads_here(*other)));
        for ops in [0, 64, 128, 6400] {
            assert_eq!(crate::arch::chain_added(crate::arch::add_chain(ops)), ops);
        }
    }
}
