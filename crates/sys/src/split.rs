//! The safe interface to loads and stores at any four addresses of a buffer
//! ([`crate::arch::split`]).
//!
//! # Safety
//!
//! A [`Split`] borrows its buffer exclusively. It exists only where everything that it accesses is
//! inside the buffer and the CPU allows the alignment.
#![expect(unsafe_code, reason = "runs the kernels over a checked buffer")]

pub use crate::arch::split::{SPLITS, unaligned_usable};
use crate::arch::split::{split_loads, split_stores};

/// Bytes of a load or a store.
pub const SPLIT_BYTES: usize = 8;

/// Four places in a buffer.
#[derive(Debug)]
pub struct Split<'a> {
    buffer: &'a mut [u8],
    at: [usize; 4],
}

impl<'a> Split<'a> {
    /// Four places, in bytes from the start of the buffer.
    ///
    /// # Errors
    ///
    /// Says which is outside, or that this CPU cannot load there.
    pub fn new(buffer: &'a mut [u8], at: [usize; 4]) -> Result<Self, String> {
        let inside = |at: &usize| at.checked_add(SPLIT_BYTES).is_some_and(|end| end <= buffer.len());
        if let Some(outside) = at.iter().find(|at| !inside(at)) {
            return Err(format!("{SPLIT_BYTES} bytes at {outside} are not within {} bytes", buffer.len()));
        }
        let address = buffer.as_ptr().addr();
        if !at.iter().all(|at| (address + at).is_multiple_of(SPLIT_BYTES)) {
            unaligned_usable()?;
        }
        Ok(Self { buffer, at })
    }

    /// Loads from each in turn, `turns` times [`SPLITS`] loads in total; returns the sum.
    #[inline]
    pub fn load(&self, turns: u64) -> u64 {
        let start = self.buffer.as_ptr();
        // SAFETY: `new` checked the places; the buffer is borrowed.
        unsafe { split_loads(self.at.map(|at| start.add(at)), turns) }
    }

    /// Stores `value` to each in turn, `turns` times [`SPLITS`] stores in total; returns that
    /// number.
    #[inline]
    pub fn store(&mut self, turns: u64, value: u64) -> u64 {
        let start = self.buffer.as_mut_ptr();
        // SAFETY: as above, and for writing.
        unsafe { split_stores(self.at.map(|at| start.add(at)), turns, value) };
        turns * SPLITS
    }

    /// The words at the four places.
    pub fn words(&self) -> [u64; 4] {
        self.at.map(|at| {
            let bytes = self.buffer[at..at + SPLIT_BYTES].try_into();
            u64::from_ne_bytes(bytes.unwrap_or_default())
        })
    }
}
