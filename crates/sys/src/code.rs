//! Machine code made at run time, where its length or its place is what is measured: blocks of
//! instructions, chains of jumps, nested calls, and two loads with instructions between them.
//! Everything else is assembly of a fixed length (`arch`).
//!
//! Each code counts its turns down, so that it ends; what it does in a turn is fixed by the bytes
//! that `code/x86_64.rs` and `code/aarch64.rs` write. The space between jumps is filled with an
//! instruction that traps, so one that went elsewhere would end the process.
//!
//! # Safety
//! Code is written into private memory, made read-only and executable, and only then run. It is
//! called with the C calling convention, keeps all registers that the convention preserves, and
//! touches no memory but its stack and the two rings that the caller lends it.
#![expect(unsafe_code, reason = "runs code that was written at run time")]

use crate::pages::{Map, Policy};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

#[cfg(target_arch = "x86_64")]
#[path = "code/x86_64.rs"]
mod native;
#[cfg(target_arch = "aarch64")]
#[path = "code/aarch64.rs"]
mod native;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "code/none.rs"]
mod native;

/// Bytes of one instruction that does nothing, in a block.
pub const NOTHING: usize = 4;

/// What stands between the two loads of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filler {
    /// Instructions that do nothing: each takes a place in the re-order buffer and no more.
    Nothing,
    /// Additions to five registers in turn: each also takes a physical register.
    Additions,
    /// Additions of what the load before them brings: each also waits in the scheduler.
    Waiting,
    /// Loads of one word that is in the first-level cache: each also takes a place among the loads.
    Loads,
    /// Stores to one word: each also takes a place in the store buffer.
    Stores,
}

/// What the loads of a window work on: where each ring stands, and a word for loads and stores.
#[derive(Debug, Default)]
#[repr(C)]
struct Places {
    a: usize,
    b: usize,
    word: usize,
}

/// Code that can be run.
#[derive(Debug)]
pub struct Code {
    text: Map,
}

impl Code {
    /// `count` instructions of [`NOTHING`] bytes that do nothing, and a loop around them.
    ///
    /// # Errors
    /// Those of `mmap` and `mprotect`; `Unsupported` on a CPU for which no code can be written.
    pub fn block(count: usize) -> io::Result<Code> {
        Code::of(&native::block(count).ok_or(io::ErrorKind::Unsupported)?)
    }

    /// `count` jumps, each to the next, which is `spacing` bytes behind, and a loop around them.
    ///
    /// # Errors
    /// As [`Code::block`]; `InvalidInput` where a jump does not fit into its spacing.
    pub fn jumps(count: usize, spacing: usize) -> io::Result<Code> {
        if spacing < native::JUMP || !spacing.is_multiple_of(native::JUMP) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Code::of(&native::jumps(count, spacing).ok_or(io::ErrorKind::Unsupported)?)
    }

    /// Functions of which each counts, calls the next and returns, `depth` of them, and a loop
    /// around the call of the first.
    ///
    /// # Errors
    /// As [`Code::block`].
    pub fn calls(depth: usize) -> io::Result<Code> {
        Code::of(&native::calls(depth).ok_or(io::ErrorKind::Unsupported)?)
    }

    /// A function of one argument, which it returns, in a new file of this path: what probes of
    /// instructions are put into. Its first instruction does nothing, as that of most functions
    /// today.
    ///
    /// # Errors
    /// As [`Code::block`]; those of writing the file, and `EACCES` where files may not be executed.
    pub fn function_in(path: &Path) -> io::Result<Code> {
        let text = native::function().ok_or(io::ErrorKind::Unsupported)?;
        let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
        file.write_all(text)?;
        // Probes are put into private mappings only.
        let mut map = Map::file(&file, text.len(), false)?;
        map.make_executable()?;
        native::see_code(&map);
        Ok(Code { text: map })
    }

    fn of(text: &[u8]) -> io::Result<Code> {
        let mut map = Map::anonymous(text.len(), Policy::Base)?;
        map[..text.len()].copy_from_slice(text);
        map.make_executable()?;
        native::see_code(&map);
        Ok(Code { text: map })
    }

    /// Runs so many turns; returns what the code has counted: the functions called with
    /// [`Code::calls`], else the turns.
    #[inline]
    pub fn run(&self, turns: u64) -> u64 {
        // What is no window uses no places.
        self.call(turns, &mut Places::default())
    }

    #[inline]
    fn call(&self, turns: u64, places: &mut Places) -> u64 {
        if turns == 0 {
            return 0;
        }
        // SAFETY: the text is whole code of this module, readable and executable as long as `self`
        // lives. Only that of a window uses the places, and `Window::run` gives it those of rings.
        let code: extern "C" fn(u64, *mut Places) -> u64 = unsafe { std::mem::transmute(self.text.as_ptr()) };
        code(turns, places)
    }

    /// Bytes of the code.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }
}

/// Two loads that do not wait for each other, with instructions between them.
#[derive(Debug)]
pub struct Window {
    code: Code,
}

impl Window {
    /// A step along one ring, `count` fillers, a step along another ring, as many fillers, and a
    /// loop around them.
    ///
    /// # Errors
    /// As [`Code::block`].
    pub fn new(count: usize, filler: Filler) -> io::Result<Window> {
        Ok(Window { code: Code::of(&native::window(count, filler).ok_or(io::ErrorKind::Unsupported)?)? })
    }

    /// Runs so many turns, from where the rings stand.
    #[inline]
    pub fn run(&self, turns: u64, rings: [&mut Ring; 2]) {
        let [a, b] = rings;
        let mut places = Places { a: a.at, b: b.at, word: 0 };
        self.code.call(turns, &mut places);
        (a.at, b.at) = (places.a, places.b);
    }
}

/// A ring of addresses, each of which is that of the next.
#[derive(Debug)]
pub struct Ring {
    links: Map,
    apart: usize,
    /// The address where it stands.
    at: usize,
}

impl Ring {
    /// Through places `apart` bytes from each other in this order, a permutation of
    /// `0..order.len()`; stands at the first of the order. In huge pages where there are any.
    ///
    /// # Errors
    /// Those of `mmap`.
    ///
    /// # Panics
    /// When the order is empty or holds a number that is too large, or places are less than an
    /// address apart.
    pub fn new(order: &[usize], apart: usize) -> io::Result<Ring> {
        let bytes = order.len() * apart;
        let map = || Map::anonymous(bytes, Policy::Transparent).or_else(|_| Map::anonymous(bytes, Policy::Base));
        let mut links = map()?;
        links.populate();
        let start = links.as_ptr() as usize;
        for (i, from) in order.iter().enumerate() {
            let to = start + order[(i + 1) % order.len()] * apart;
            links[from * apart..][..size_of::<usize>()].copy_from_slice(&to.to_ne_bytes());
        }
        Ok(Ring { at: start + order[0] * apart, links, apart })
    }

    /// The place where it stands.
    pub fn place(&self) -> usize {
        (self.at - self.links.as_ptr() as usize) / self.apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` where there is no code for this CPU.
    fn code<T>(made: io::Result<T>) -> Option<T> {
        match made {
            Ok(code) => Some(code),
            Err(e) if e.kind() == io::ErrorKind::Unsupported => None,
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn every_call_is_counted() {
        for depth in [1, 2, 63] {
            let Some(calls) = code(Code::calls(depth)) else { return };
            assert_eq!(calls.run(5), 5 * depth as u64);
            assert_eq!(calls.run(0), 0);
        }
    }

    /// Each would trap, or never return.
    #[test]
    fn blocks_and_jumps_come_to_their_end() {
        for count in [1, 100, 70_000] {
            let Some(block) = code(Code::block(count)) else { return };
            assert!(block.bytes() >= count * NOTHING);
            assert_eq!(block.run(3), 3);
            for spacing in [16, 32, 256] {
                assert_eq!(code(Code::jumps(count, spacing)).expect("as the block").run(3), 3);
            }
        }
        assert_eq!(Code::jumps(1, 3).expect_err("too close").kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_window_goes_along_both_rings() {
        for filler in [Filler::Nothing, Filler::Additions, Filler::Waiting, Filler::Loads, Filler::Stores] {
            for count in [0, 1, 7, 500] {
                let ring = |order: &[usize], apart| Ring::new(order, apart).expect("memory");
                let (mut a, mut b) = (ring(&[0, 2, 1, 3], 64), ring(&[2, 1, 0], 128));
                let Some(window) = code(Window::new(count, filler)) else { return };
                let mut after = |turns| {
                    window.run(turns, [&mut a, &mut b]);
                    [a.place(), b.place()]
                };
                assert_eq!(
                    [after(0), after(1), after(4), after(2)],
                    [[0, 2], [2, 1], [2, 0], [3, 1]],
                    "{filler:?} {count}"
                );
            }
        }
    }
}
