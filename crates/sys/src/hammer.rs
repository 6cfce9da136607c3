//! The safe interface to random updates of memory ([`crate::arch::hammer`] has the sequence), and
//! the reference for where they went.
//!
//! # Safety
//!
//! A `Hammer` holds its buffer exclusively. The buffer starts at a multiple of the kernels' page
//! and has as many pages as the kernels are given.
#![expect(unsafe_code, reason = "calls the kernels")]

use crate::arch::hammer::{
    ANY_WORD, FIRST_LINE, HAMMER_PAGE, MAX_PAGES, STEP, hammer_bare, hammer_own, hammer_own_bare, hammer_store,
    own_instruction, place, portable, word,
};
use std::collections::HashMap;

/// The operation at a random place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A store of 8 bytes in the first 64 bytes of a random page, as `memhammer` does it.
    Store,
    /// A store of 8 bytes anywhere in a random page.
    Line,
    /// An atomic addition anywhere in a random page; the next place depends on its result.
    Own,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Store, Kind::Line, Kind::Own];

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Store => "store",
            Kind::Line => "line",
            Kind::Own => "own",
        }
    }

    /// The kind of this name.
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The instruction that does it.
    pub fn instruction(self) -> &'static str {
        match self {
            Kind::Own => own_instruction(),
            _ => "store",
        }
    }

    const fn mask(self) -> u64 {
        match self {
            Kind::Store => FIRST_LINE,
            Kind::Line | Kind::Own => ANY_WORD,
        }
    }
}

/// The state of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The counter.
    pub counter: u64,
    /// The last result; 0 for stores.
    pub answer: u64,
}

/// A buffer being hammered.
#[derive(Debug)]
pub struct Hammer<'m> {
    memory: &'m mut [u8],
    pages: u64,
    kind: Kind,
    standing: Standing,
}

impl<'m> Hammer<'m> {
    /// Over whole pages of 4 KiB, with the sequence that starts at `seed`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the buffer.
    pub fn new(memory: &'m mut [u8], kind: Kind, seed: u64) -> Result<Hammer<'m>, String> {
        let (bytes, pages) = (memory.len(), (memory.len() / HAMMER_PAGE) as u64);
        if pages == 0 || !bytes.is_multiple_of(HAMMER_PAGE) {
            return Err(format!("{bytes} B is not a multiple of the page size, {HAMMER_PAGE} B"));
        }
        if pages > MAX_PAGES {
            return Err(format!("{pages} pages are more than {MAX_PAGES}, among which the kernels choose"));
        }
        if !memory.as_ptr().addr().is_multiple_of(HAMMER_PAGE) {
            return Err("the buffer does not begin at a page".to_owned());
        }
        Ok(Hammer { memory, pages, kind, standing: Standing { counter: seed, answer: 0 } })
    }

    /// Performs `ops` operations, rounded up to even for stores, which come in pairs.
    #[inline]
    pub fn run(&mut self, ops: u64) {
        let (base, at) = (self.memory.as_mut_ptr(), &mut self.standing);
        // SAFETY: `new` saw to the length and the address, and the buffer is borrowed for this
        // alone.
        unsafe {
            match self.kind {
                Kind::Own => {
                    let (counter, answer) = hammer_own(base, self.pages, self.kind.mask(), at.counter, at.answer, ops);
                    self.standing = Standing { counter, answer };
                }
                _ => at.counter = hammer_store(base, self.pages, self.kind.mask(), at.counter, ops.div_ceil(2)),
            }
        }
    }

    /// The current state of the sequence.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// The number of operations since the counter was at `before`. The step is odd, so it is
    /// unambiguous.
    pub fn ops_since(&self, before: Standing) -> u64 {
        ops_between(self.kind, before, self.standing)
    }

    /// The eight bytes at a place.
    pub fn at(&self, place: u64) -> u64 {
        let place = place as usize;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.memory[place..place + 8]);
        u64::from_ne_bytes(bytes)
    }

    /// The number of words that differ from the reference: `ops` operations from `before` on a
    /// buffer of zeros.
    pub fn wrong_words(&self, before: Standing, ops: u64) -> usize {
        let (words, standing) = replay(self.kind, self.pages, before, ops);
        let wrong = words.iter().filter(|(place, value)| self.at(**place) != **value).count();
        wrong + usize::from(standing != self.standing)
    }
}

/// Computes the places of `ops` operations and does nothing there: the cost of an operation without
/// memory.
#[derive(Debug)]
pub struct Bare {
    pages: u64,
    kind: Kind,
    standing: Standing,
}

impl Bare {
    /// The generator of a [`Hammer`] of this many bytes.
    pub fn new(bytes: usize, kind: Kind, seed: u64) -> Bare {
        Bare { pages: (bytes / HAMMER_PAGE) as u64, kind, standing: Standing { counter: seed, answer: 0 } }
    }

    /// Operations since the generator was in that state, from its counter.
    pub fn ops_since(&self, before: Standing) -> u64 {
        ops_between(self.kind, before, self.standing)
    }

    /// The state of the generator.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// As [`Hammer::run`], without the memory.
    #[inline]
    pub fn run(&mut self, ops: u64) {
        let at = self.standing;
        match self.kind {
            Kind::Own => {
                let (counter, answer) = hammer_own_bare(self.pages, self.kind.mask(), at.counter, at.answer, ops);
                self.standing = Standing { counter, answer };
            }
            _ => self.standing.counter = hammer_bare(self.pages, self.kind.mask(), at.counter, ops.div_ceil(2)),
        }
    }
}

/// What `ops` operations leave in a buffer of zeros, by place, and the state of the sequence
/// afterwards.
pub fn replay(kind: Kind, pages: u64, from: Standing, ops: u64) -> (HashMap<u64, u64>, Standing) {
    let mut words = HashMap::new();
    let mut at = from;
    if kind == Kind::Own {
        for _ in 0..ops {
            at.counter = at.counter.wrapping_add(STEP);
            let half = (portable::turned(at.counter, at.answer) >> 32) as u32;
            let cell = words.entry(place(half, pages, kind.mask())).or_insert(0);
            at.answer = *cell;
            *cell += 1;
        }
    } else {
        for _ in 0..ops.div_ceil(2) {
            at.counter = at.counter.wrapping_add(STEP);
            let w = word(at.counter);
            for half in [w as u32, (w >> 32) as u32] {
                words.insert(place(half, pages, kind.mask()), w);
            }
        }
    }
    (words, at)
}

/// The number of operations from one state to the other.
const fn ops_between(kind: Kind, before: Standing, after: Standing) -> u64 {
    let steps = after.counter.wrapping_sub(before.counter).wrapping_mul(inverse(STEP));
    if matches!(kind, Kind::Own) { steps } else { steps * 2 }
}

/// The inverse of an odd number modulo 2^64 by Newton's iteration: the number of correct bits, 3 at
/// first, doubles with each step.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut bits = 3;
    while bits < 64 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        bits *= 2;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Map, Policy};
    use std::collections::BTreeSet;

    #[test]
    fn the_counter_gives_the_number_of_operations() {
        assert_eq!(STEP.wrapping_mul(inverse(STEP)), 1);
        let mut map = Map::anonymous(16 * HAMMER_PAGE, Policy::Base).expect("memory");
        for kind in Kind::ALL {
            let mut hammer = Hammer::new(&mut map, kind, u64::MAX - 5).expect("whole pages");
            let before = hammer.standing();
            hammer.run(10);
            hammer.run(0);
            hammer.run(6);
            assert_eq!(hammer.ops_since(before), 16, "{kind:?}");
        }
    }

    #[test]
    fn a_buffer_that_the_kernels_cannot_take_is_refused() {
        let mut map = Map::anonymous(2 * HAMMER_PAGE, Policy::Base).expect("memory");
        assert!(Hammer::new(&mut map[..0], Kind::Store, 1).is_err());
        assert!(Hammer::new(&mut map[..5000], Kind::Store, 1).is_err());
        assert!(Hammer::new(&mut map[64..64 + HAMMER_PAGE], Kind::Store, 1).is_err());
        assert!(Hammer::new(&mut map[HAMMER_PAGE..], Kind::Store, 1).is_ok());
    }

    /// The reference uses the same mask, so only the places show that the kinds differ.
    #[test]
    fn stores_are_in_the_first_line_of_a_page_and_the_others_anywhere_in_it() {
        for kind in Kind::ALL {
            let mut map = Map::anonymous(16 * HAMMER_PAGE, Policy::Base).expect("memory");
            Hammer::new(&mut map, kind, 7).expect("whole pages").run(2000);
            let written: Vec<usize> = (0..16 * HAMMER_PAGE).filter(|at| map[*at] != 0).collect();
            let behind = written.iter().filter(|at| **at % HAMMER_PAGE >= 64).count();
            assert_eq!(behind > 0, kind != Kind::Store, "{kind:?}: {behind} of {} bytes", written.len());
            assert_eq!(written.iter().map(|at| at / HAMMER_PAGE).collect::<BTreeSet<_>>().len(), 16, "{kind:?}");
        }
    }

    #[test]
    fn one_wrong_word_is_found() {
        let mut map = Map::anonymous(8 * HAMMER_PAGE, Policy::Base).expect("memory");
        let mut hammer = Hammer::new(&mut map, Kind::Line, 3).expect("whole pages");
        let before = hammer.standing();
        hammer.run(100);
        assert_eq!(hammer.wrong_words(before, 100), 0);
        assert!(hammer.wrong_words(before, 98) > 0 && hammer.wrong_words(before, 102) > 0);
        let place = *replay(Kind::Line, 8, before, 100).0.keys().next().expect("a hundred");
        hammer.memory[place as usize] ^= 1;
        assert_eq!(hammer.wrong_words(before, 100), 1);
    }
}
