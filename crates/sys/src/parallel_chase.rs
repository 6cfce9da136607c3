//! Several closed pointer chains through disjoint nodes of one buffer, walked in parallel.
//!
//! One shuffled order visits all nodes. For `n` chains the nodes are dealt in turn: chain `c` has
//! those at `c`, `c + n`, `c + 2n`, ... of the order. The chains are independent: none can follow
//! another and find what it fetched, as starting points in one cycle do. They are walked in step,
//! so all of them are in the same group of pages at any time, and address translation costs as much
//! as for one chain, whatever their number (`docs/methods/memory.md#chain-construction`).
//!
//! A node can hold the pointers of several such dealings, at different offsets: one [`Link`] each.
//! A search over numbers of chains then writes the buffer once.
//!
//! # Safety
//!
//! `Chains` borrows its buffer exclusively. [`Chains::link`] writes to every node that is walked a
//! pointer to another node, at the same offset within it, so every chain is one closed cycle. The
//! offsets do not overlap, and nothing else writes to them except an atomic addition of 0. A walk
//! therefore never leaves the buffer. The random numbers from the caller only choose indices that
//! are checked.
#![expect(unsafe_code, reason = "writes and follows the pointers")]

use crate::arch::access::{
    ACCESS_AHEAD, ACCESS_ALIGN, ACCESS_COUNT, ACCESS_UNROLL, Access, AccessKernel, access_kernels,
};
use crate::arch::parallel_chase::{
    MAX_PARALLEL_CHASES, PARALLEL_CHASE_UNROLL, ParallelChaseKernel, parallel_chase_kernels,
};
use crate::flush::Flush;
use core::marker::PhantomData;
use permutation::Permutation;

mod permutation;

/// The size of a pointer.
const POINTER: usize = size_of::<*const u8>();

/// The order of the nodes.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// All nodes of a group of shuffled pages, in random order, before those of the next group: see
    /// [`crate::chase::Chain::translation_amortised`].
    Grouped {
        /// Pages in a group.
        pages: usize,
        /// Bytes of a page.
        page: usize,
    },
    /// Any node after any other, so every access needs its own translation.
    Anywhere,
}

/// One dealing of the nodes to chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Offset of the pointer in each node.
    pub offset: usize,
    /// The number of chains.
    pub chains: usize,
    /// How many nodes ahead in its chain a pointer leads. Only links of 1 can be walked.
    pub ahead: usize,
    /// The node of the order where the walk begins, rounded down to one where all chains begin.
    pub start: usize,
}

/// The nodes by their place in the order.
enum Places {
    Listed(Vec<u32>),
    Computed(Permutation),
}

impl Places {
    fn len(&self) -> usize {
        match self {
            Places::Listed(nodes) => nodes.len(),
            Places::Computed(order) => order.len(),
        }
    }

    #[inline]
    fn node(&self, place: usize) -> usize {
        match self {
            Places::Listed(nodes) => nodes[place] as usize,
            Places::Computed(order) => order.at(place),
        }
    }
}

/// A link and the positions of its chains.
struct Linked {
    link: Link,
    kernel: &'static ParallelChaseKernel,
    cursors: Box<[*const u8; MAX_PARALLEL_CHASES]>,
}

/// The kernel that [`Chains::access`] takes its steps with.
#[derive(Clone, Copy, Debug)]
pub struct Accessor {
    kernel: &'static AccessKernel,
}

impl Accessor {
    /// The best kernel of this kind.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn new(kind: Access) -> Result<Self, String> {
        let kernel = access_kernels().into_iter().find(|kernel| kernel.kind == kind);
        let kernel = kernel.ok_or_else(|| format!("this CPU has no instruction for '{}'", kind.word()))?;
        Ok(Self { kernel })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static AccessKernel {
        self.kernel
    }
}

/// Closed chains through the nodes of a buffer.
pub struct Chains<'a> {
    base: *mut u8,
    spacing: usize,
    order: Places,
    links: Vec<Linked>,
    buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: the pointers lead into a buffer that is borrowed exclusively, like a `&mut [u8]`, which
// is `Send`.
unsafe impl Send for Chains<'_> {}

impl<'a> Chains<'a> {
    /// Shuffles the nodes, `spacing` bytes apart. Nothing is written yet.
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
    pub fn new(
        buffer: &'a mut [u8],
        spacing: usize,
        order: Order,
        mut below: impl FnMut(u64) -> u64,
    ) -> Result<Self, String> {
        if spacing < 2 * ACCESS_ALIGN || !spacing.is_multiple_of(ACCESS_ALIGN) {
            return Err(format!("nodes cannot be {spacing} bytes apart: not a multiple of {ACCESS_ALIGN} above it"));
        }
        if !buffer.as_ptr().addr().is_multiple_of(ACCESS_ALIGN) {
            return Err(format!("the buffer does not begin at a multiple of {ACCESS_ALIGN} bytes"));
        }
        // Whole nodes only: all of a node may be written.
        let nodes = buffer.len() / spacing;
        if nodes == 0 || u32::try_from(nodes).is_err() {
            return Err(format!("there are {nodes} nodes of {spacing} bytes: none, or too many to number"));
        }
        let order = match order {
            Order::Anywhere => Places::Computed(Permutation::new(nodes, below)),
            Order::Grouped { pages: 0, .. } => return Err("a group of no pages".to_owned()),
            Order::Grouped { page, .. } if page == 0 || !page.is_multiple_of(spacing) => {
                return Err(format!("pages of {page} bytes do not hold a number of nodes {spacing} bytes apart"));
            }
            Order::Grouped { pages: in_group, page } => {
                let mut shuffle = |items: &mut [u32]| {
                    for i in (1..items.len()).rev() {
                        items.swap(i, below(i as u64 + 1) as usize);
                    }
                };
                let each = (page / spacing) as u32;
                let mut pages: Vec<u32> = (0..nodes.div_ceil(each as usize) as u32).collect();
                shuffle(&mut pages);
                let mut order = Vec::with_capacity(nodes);
                // Divided evenly: no group is smaller than half of what was requested when there
                // are enough pages.
                let groups = pages.len().div_ceil(in_group);
                for i in 0..groups {
                    let begin = order.len();
                    for &page in &pages[i * pages.len() / groups..(i + 1) * pages.len() / groups] {
                        // The last page may be incomplete.
                        order.extend(page * each..(page * each + each).min(nodes as u32));
                    }
                    shuffle(&mut order[begin..]);
                }
                Places::Listed(order)
            }
        };
        Ok(Self { base: buffer.as_mut_ptr(), spacing, order, links: Vec::new(), buffer: PhantomData })
    }

    /// The address of a place in the `i`-th node of the order.
    fn node(&self, i: usize, offset: usize) -> *mut u8 {
        self.place_in(self.order.node(i), offset)
    }

    /// The address of a place in a node.
    fn place_in(&self, node: usize, offset: usize) -> *mut u8 {
        // SAFETY: the order holds numbers of whole nodes of the buffer, and every caller's offset
        // is within a node.
        unsafe { self.base.add(node * self.spacing + offset) }
    }

    /// Writes the pointers of these links in one pass over the buffer, replacing earlier ones.
    ///
    /// # Errors
    ///
    /// Says which link is impossible.
    pub fn link(&mut self, links: &[Link]) -> Result<(), String> {
        self.links.clear();
        let nodes = self.order.len();
        for (i, link) in links.iter().enumerate() {
            let Link { offset, chains, ahead, .. } = *link;
            if !offset.is_multiple_of(POINTER) || offset + POINTER > self.spacing {
                return Err(format!("no pointer fits at {offset} of a node of {} bytes", self.spacing));
            }
            if links[..i].iter().any(|other| other.offset == offset) {
                return Err(format!("two pointers at {offset} of a node"));
            }
            if chains == 0 || ahead == 0 || nodes / chains < ahead {
                return Err(format!("{nodes} nodes cannot be dealt to {chains} chains, {ahead} ahead"));
            }
        }
        let dealings: Vec<(usize, usize, usize)> =
            links.iter().map(|l| (l.offset, l.chains * l.ahead, nodes / l.chains * l.chains)).collect();
        for at in 0..nodes {
            // In address order where that is possible: a tenth of the time.
            let (i, node) = match &self.order {
                Places::Listed(nodes) => (at, nodes[at] as usize),
                Places::Computed(order) => (order.place(at), at),
            };
            for &(offset, step, used) in &dealings {
                if i < used {
                    // Below twice `used`, since no step is larger.
                    let next = if i + step < used { i + step } else { i + step - used };
                    // SAFETY: a place of pointer size within a node, aligned as the buffer, the
                    // spacing and the offset are.
                    unsafe { self.place_in(node, offset).cast::<*const u8>().write(self.node(next, offset)) };
                }
            }
        }
        for link in links {
            let kernel = parallel_chase_kernels().iter().find(|kernel| kernel.chains == link.chains);
            let kernel = kernel.ok_or_else(|| format!("no kernel follows {} chains at once", link.chains))?;
            let first = link.start / link.chains % (nodes / link.chains) * link.chains;
            let mut cursors = Box::new([self.base.cast_const(); MAX_PARALLEL_CHASES]);
            for (c, cursor) in cursors[..link.chains].iter_mut().enumerate() {
                *cursor = self.node(first + c, link.offset);
            }
            self.links.push(Linked { link: *link, kernel, cursors });
        }
        Ok(())
    }

    /// Takes steps on all chains of a link at once, from where its last walk stopped, and returns
    /// the number on each: `steps` rounded up to a multiple of [`PARALLEL_CHASE_UNROLL`].
    ///
    /// # Panics
    ///
    /// If there is no such link, or its pointers skip nodes.
    #[inline]
    pub fn walk(&mut self, link: usize, steps: u64) -> u64 {
        let steps = steps.next_multiple_of(PARALLEL_CHASE_UNROLL);
        let linked = &mut self.links[link];
        assert_eq!(linked.link.ahead, 1, "only links to the next node are walked");
        // SAFETY: the cursors are nodes of closed cycles within the buffer, which nothing else can
        // write to; the cursors themselves are elsewhere.
        unsafe { (linked.kernel.run)(&mut linked.cursors, steps) };
        steps
    }

    /// Takes steps on one chain of the first link, whose pointers are at the start of the nodes, by
    /// this kind of access, from where the last stopped. Returns the number: `steps` rounded up to
    /// a multiple of [`ACCESS_UNROLL`].
    ///
    /// # Panics
    ///
    /// If the first link is not at the start of the nodes and walkable, has no such chain, or
    /// another link has its pointer where the access counts.
    #[inline]
    pub fn access(&mut self, by: Accessor, chain: usize, steps: u64) -> u64 {
        let steps = steps.next_multiple_of(ACCESS_UNROLL);
        assert!(self.links.iter().all(|l| l.link.offset != ACCESS_COUNT), "a pointer where the access counts");
        let Linked { link, cursors, .. } = &mut self.links[0];
        assert!(link.offset == 0 && link.ahead == 1 && chain < link.chains, "no such chain to walk");
        let cursor = &mut cursors[chain];
        // SAFETY: a node of a closed cycle; it is aligned, at least 32 bytes long, and borrowed for
        // writing. The access writes only the counter, where no pointer is (asserted), and the
        // pointer's own value.
        *cursor = unsafe { (by.kernel().run)(cursor.cast_mut(), steps) };
        steps
    }

    /// A link whose pointers lead ahead, at the offset where [`Access::Prefetched`] expects them.
    pub fn link_ahead(chains: usize, ahead: usize) -> Link {
        Link { offset: ACCESS_AHEAD, chains, ahead, start: 0 }
    }

    /// The number of increments by [`Access::Dirty`], over all nodes.
    pub fn counted(&self) -> u64 {
        let count = |i| {
            let word = self.node(i, ACCESS_COUNT).cast::<u64>();
            // SAFETY: within a node, aligned, and initialised memory.
            unsafe { word.read() }
        };
        (0..self.order.len()).map(count).fold(0, u64::wrapping_add)
    }

    /// The number of nodes; each chain of a link of `n` has an `n`-th of them.
    pub fn nodes(&self) -> usize {
        self.order.len()
    }

    /// The kernel that walks a link.
    ///
    /// # Panics
    ///
    /// If there is no such link.
    pub fn kernel(&self, link: usize) -> &'static ParallelChaseKernel {
        self.links[link].kernel
    }

    /// The position of a chain: the offset of its node from the start of the buffer.
    ///
    /// # Panics
    ///
    /// If there is no such link or chain.
    pub fn position(&self, link: usize, chain: usize) -> usize {
        let Linked { link, cursors, .. } = &self.links[link];
        cursors[..link.chains][chain].addr() - link.offset - self.base.addr()
    }

    /// The buffer as bytes, for streaming over it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: all of it is whole nodes of the buffer, and borrowed from `self`, whose other
        // methods write through `&mut`.
        unsafe { core::slice::from_raw_parts(self.base, self.order.len() * self.spacing) }
    }

    /// Manages the lines of `lines` nodes in address order, from node `first`, and waits after
    /// every `batch`. The line is the one at `offset` of the node. Returns the number of lines.
    ///
    /// # Panics
    ///
    /// If the nodes or the offset are outside, or the lines are not a whole number of batches.
    #[inline]
    pub fn manage(&mut self, by: Flush, offset: usize, first: usize, lines: usize, batch: usize) -> u64 {
        assert!(offset < self.spacing && first + lines <= self.order.len(), "nodes outside of the buffer");
        // SAFETY: the nodes lie in the buffer, which is borrowed for writing; their contents stay.
        unsafe { by.run(self.base.add(first * self.spacing + offset), self.spacing, lines, batch) };
        lines as u64
    }

    /// Loads from each of `lines` nodes, in address order. Returns their number.
    ///
    /// # Panics
    ///
    /// If the nodes are outside.
    pub fn load(&mut self, first: usize, lines: usize) -> u64 {
        assert!(first + lines <= self.order.len(), "nodes outside of the buffer");
        for i in first..first + lines {
            // SAFETY: within a node, aligned.
            unsafe { self.base.add(i * self.spacing + ACCESS_COUNT).cast::<u64>().read_volatile() };
        }
        lines as u64
    }

    /// Stores to each of `lines` nodes, in address order, where
    /// [`Access::Dirty`] counts.
    ///
    /// # Panics
    ///
    /// If the nodes are outside, or a pointer is there.
    pub fn modify(&mut self, first: usize, lines: usize) {
        assert!(first + lines <= self.order.len(), "nodes outside of the buffer");
        assert!(self.links.iter().all(|l| l.link.offset != ACCESS_COUNT), "a pointer where the access counts");
        for i in first..first + lines {
            // SAFETY: within a node, aligned, and not a pointer (asserted).
            unsafe {
                let word = self.base.add(i * self.spacing + ACCESS_COUNT).cast::<u64>();
                word.write_volatile(word.read_volatile().wrapping_add(1));
            }
        }
    }

    /// Evicts the lines with pointers from all caches, so that a walk finds nothing there from
    /// writing them. Returns whether this CPU can.
    pub fn evict(&mut self) -> bool {
        let Some(evict) = Flush::evict() else { return false };
        let (nodes, offsets) = (self.order.len(), self.links.iter().map(|linked| linked.link.offset));
        for (line, first, count, batch) in batches(nodes, &lines_of(offsets)) {
            self.manage(evict, line, first, count, batch);
        }
        true
    }
}

/// The starts of the 64-byte blocks of a node that hold these offsets. Where lines are longer, two
/// blocks may be one line, which is then managed twice.
fn lines_of(offsets: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut lines: Vec<usize> = offsets.map(|offset| offset / 64 * 64).collect();
    lines.dedup();
    lines
}

/// Batches that cover each of these lines in all nodes: the line, the first node, the number of
/// nodes, and how many are managed before the next wait.
fn batches(nodes: usize, lines: &[usize]) -> Vec<(usize, usize, usize, usize)> {
    const BATCH: usize = 64;
    let whole = nodes / BATCH * BATCH;
    let of_line = |line: &usize| [(*line, 0, whole, BATCH), (*line, whole, nodes - whole, nodes - whole)];
    lines.iter().flat_map(of_line).filter(|(_, _, count, _)| *count > 0).collect()
}

#[cfg(test)]
mod tests;
