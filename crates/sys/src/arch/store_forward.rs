//! Loads of what has just been stored: what the kernels of this subject do.

pub use super::native::store_forward::forward;

/// Stores with their loads in one turn of a chain.
pub const FORWARDS: u64 = 64;

/// How the load of a step lies to the store before it. A step stores the running value, loads, and adds
/// [`CHAIN_OPERAND`](super::CHAIN_OPERAND) to what was loaded; the next step's value is that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forward {
    /// Eight bytes stored, the same eight loaded, through another register: nothing but the address tells that.
    Same,
    /// The same through one register: cores that rename memory see it before there is an address.
    Renamed,
    /// Eight bytes stored, the last four of them loaded: the address is not the same.
    Narrower,
    /// Four bytes stored, these and the four behind them loaded: no single store has them all.
    Wider,
    /// Two stores of four bytes, the eight of both loaded.
    TwoStores,
    /// Eight bytes stored, eight others loaded, from an address that depends on the value. The caller puts it so that
    /// it is the same in every step.
    Other,
}

impl Forward {
    /// All of them.
    pub const ALL: [Forward; 6] =
        [Forward::Same, Forward::Renamed, Forward::Narrower, Forward::Wider, Forward::TwoStores, Forward::Other];
}

/// A chain of `turns` times [`FORWARDS`] steps from the value `x`; returns the last value. The first pointer is where it
/// stores; the second is where it loads. [`Forward::Renamed`] loads through the first, and [`Forward::Other`] from the
/// second plus the running value, wrapping.
///
/// # Safety
///
/// Eight bytes at the first pointer may be read and written. The second is equal to it, but for [`Forward::Other`], where
/// eight bytes at the second plus the running value may be read at every step. Where the CPU does not load across a boundary, they do not cross one.
pub type Chain = unsafe fn(*mut u8, *const u8, u64, u64) -> u64;
