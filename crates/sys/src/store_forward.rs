//! The safe interface to the store-forwarding chains ([`crate::arch::store_forward`]).
//!
//! # Safety
//!
//! A [`Forwarding`] borrows its buffer exclusively. It exists only where the bytes that the chain
//! stores and loads are inside the buffer and, if they are misaligned, the CPU has misaligned
//! accesses.
#![expect(unsafe_code, reason = "runs the chains over a checked buffer")]

use crate::arch::split::unaligned_usable;
use crate::arch::store_forward::{Chain, forward};
pub use crate::arch::store_forward::{FORWARDS, Forward};
use crate::arch::{CHAIN_OPERAND, portable};

/// Bytes of the widest store or load.
const WORD: usize = 8;

/// A chain of stores and loads over a buffer.
#[derive(Debug)]
pub struct Forwarding<'a> {
    buffer: &'a mut [u8],
    chain: Chain,
    kind: Forward,
    store: usize,
    load: usize,
    x: u64,
}

impl<'a> Forwarding<'a> {
    /// The chain of this kind that stores at offset `store` of the buffer and, for
    /// [`Forward::Other`], loads at offset `load`. For the other kinds `store` determines the load.
    ///
    /// # Errors
    ///
    /// Says what is outside the buffer, or that this CPU cannot do it.
    pub fn new(kind: Forward, buffer: &'a mut [u8], store: usize, load: usize) -> Result<Self, String> {
        Self::over(forward(kind), kind, buffer, store, load)
    }

    /// [`Forwarding::new`] with the portable reference.
    ///
    /// # Errors
    ///
    /// As [`Forwarding::new`].
    pub fn portable(kind: Forward, buffer: &'a mut [u8], store: usize, load: usize) -> Result<Self, String> {
        Self::over(portable::store_forward::forward(kind), kind, buffer, store, load)
    }

    fn over(chain: Chain, kind: Forward, buffer: &'a mut [u8], store: usize, load: usize) -> Result<Self, String> {
        let load = if kind == Forward::Other { load } else { store };
        let inside = |at: usize| at.checked_add(WORD).is_some_and(|end| end <= buffer.len());
        if !inside(store) || !inside(load) {
            return Err(format!("{WORD} bytes at {store} and at {load} are not within {} bytes", buffer.len()));
        }
        if kind == Forward::Other && store.abs_diff(load) < WORD {
            return Err("the load has to be of other bytes than the store".to_owned());
        }
        let address = buffer.as_ptr().addr();
        if ![store, load].iter().all(|at| (address + at).is_multiple_of(WORD)) {
            unaligned_usable()?;
        }
        let forwarding = Self { buffer, chain, kind, store, load, x: CHAIN_OPERAND };
        if kind == Forward::Other {
            // The next value is the loaded value plus the operand. With 0 there, it is the operand
            // in every step.
            forwarding.buffer[load..load + WORD].fill(0);
        }
        Ok(forwarding)
    }

    /// Runs another `turns` times [`FORWARDS`] steps; returns the value of the chain.
    #[inline]
    pub fn run(&mut self, turns: u64) -> u64 {
        let start = self.buffer.as_mut_ptr();
        let load = start.wrapping_add(self.load);
        // For `Other` the running value is the operand, now and after each step, because 0 is
        // loaded.
        let load = if self.kind == Forward::Other { load.wrapping_sub(self.x as usize) } else { load };
        // SAFETY: `over` checked both places and the alignment; the buffer is borrowed exclusively.
        // For `Other` the chain adds the operand to `load`, which gives the place that `over`
        // cleared; no store goes there.
        self.x = unsafe { (self.chain)(start.wrapping_add(self.store), load, turns, self.x) };
        self.x
    }

    /// The value of the chain.
    pub fn value(&self) -> u64 {
        self.x
    }

    /// The buffer as it is now.
    pub fn memory(&self) -> &[u8] {
        self.buffer
    }
}
