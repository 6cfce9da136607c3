//! Chains of a store and a load of what it stored: the same values. Times mean less: the addition's
//! operand and the pointers are hidden from the compiler, which may still put other instructions in
//! between.
//!
//! # Safety
//!
//! Accesses its caller's addresses.
#![expect(unsafe_code, reason = "stores and loads through raw pointers")]

use crate::arch::CHAIN_OPERAND;
use crate::arch::store_forward::{Chain, FORWARDS, Forward};
use core::hint::black_box;

/// The chain whose loads relate to their stores in this way.
pub fn forward(kind: Forward) -> Chain {
    match kind {
        Forward::Same | Forward::Renamed => same,
        Forward::Narrower => narrower,
        Forward::Wider => wider,
        Forward::TwoStores => two_stores,
        Forward::Other => other,
    }
}

macro_rules! chains {
    ($($name:ident: |$store:ident, $load:ident, $x:ident| $step:expr;)*) => {$(
        /// # Safety
        ///
        /// As [`Chain`].
        unsafe fn $name(store: *mut u8, load: *const u8, turns: u64, x: u64) -> u64 {
            (0..turns * FORWARDS).fold(x, |$x, _| {
                let ($store, $load) = (black_box(store), black_box(load));
                // SAFETY: the caller vouches for the addresses; no alignment is assumed.
                let loaded: u64 = unsafe { $step };
                loaded.wrapping_add(CHAIN_OPERAND)
            })
        }
    )*};
}

chains! {
    same: |store, _load, x| {
        store.cast::<u64>().write_unaligned(x);
        black_box(store).cast::<u64>().read_unaligned()
    };
    narrower: |store, _load, x| {
        store.cast::<u64>().write_unaligned(x);
        u64::from(black_box(store).cast::<u32>().add(1).read_unaligned())
    };
    wider: |store, _load, x| {
        store.cast::<u32>().write_unaligned(x as u32);
        black_box(store).cast::<u64>().read_unaligned()
    };
    two_stores: |store, _load, x| {
        store.cast::<u32>().write_unaligned(x as u32);
        store.cast::<u32>().add(1).write_unaligned(CHAIN_OPERAND as u32);
        black_box(store).cast::<u64>().read_unaligned()
    };
    other: |store, load, x| {
        store.cast::<u64>().write_unaligned(x);
        load.wrapping_add(x as usize).cast::<u64>().read_unaligned()
    };
}
