//! Loads of data that has just been stored (store-to-load forwarding).
//!
//! One step stores the running value, loads, and adds [`CHAIN_OPERAND`](super::CHAIN_OPERAND) to
//! what was loaded; the result is the next step's value. One turn is [`FORWARDS`] steps
//! (`docs/methods/processor.md#store-forwarding`).

pub use super::native::store_forward::forward;

/// Steps in one turn of a chain.
pub const FORWARDS: u64 = 64;

/// How the load of a step relates to the store before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forward {
    /// Stores eight bytes and loads the same eight through another register, so only the address
    /// shows that they are the same.
    Same,
    /// The same through one register: cores that rename memory match the two before the address is
    /// known.
    Renamed,
    /// Stores eight bytes and loads the last four of them: the address differs.
    Narrower,
    /// Stores four bytes and loads eight from the same address: no single store has all of them.
    Wider,
    /// Two stores of four bytes and a load of all eight.
    TwoStores,
    /// Stores eight bytes and loads eight others, from an address that depends on the value. The
    /// caller arranges that it is the same in every step.
    Other,
}

impl Forward {
    /// All of them.
    pub const ALL: [Forward; 6] =
        [Forward::Same, Forward::Renamed, Forward::Narrower, Forward::Wider, Forward::TwoStores, Forward::Other];
}

/// A chain of `turns` times [`FORWARDS`] steps from the value `x`; returns the last value.
///
/// The arguments are the address of the stores, the address of the loads, `turns` and `x`.
/// [`Forward::Renamed`] loads through the first, and [`Forward::Other`] from the second plus the
/// running value, wrapping.
///
/// # Safety
///
/// Eight bytes at the first address are valid for reads and writes. The second is equal to it,
/// except for [`Forward::Other`], where eight bytes at the second plus the running value are valid
/// for reads at every step. Where the CPU has no misaligned accesses, none is misaligned.
pub type Chain = unsafe fn(*mut u8, *const u8, u64, u64) -> u64;

/// Defines `forward` and its chains: `$turns!(store, load, turns, x, [step])` is the loop of an
/// architecture.
macro_rules! define_store_forwards {
    ($turns:ident; $($name:ident: $($instruction:literal),*;)*) => {
        /// The chain whose loads relate to their stores in this way.
        pub fn forward(kind: Forward) -> Chain {
            match kind {
                Forward::Same => same,
                Forward::Renamed => renamed,
                Forward::Narrower => narrower,
                Forward::Wider => wider,
                Forward::TwoStores => two_stores,
                Forward::Other => other,
            }
        }

        $(
            /// # Safety
            ///
            /// As [`Chain`].
            unsafe fn $name(store: *mut u8, load: *const u8, turns: u64, mut x: u64) -> u64 {
                if turns == 0 {
                    return x;
                }
                // SAFETY: the caller vouches for the addresses; the loop declares its registers.
                unsafe { $turns!(store, load, turns, x, [$($instruction),*]) };
                x
            }
        )*
    };
}
pub(in crate::arch) use define_store_forwards;
