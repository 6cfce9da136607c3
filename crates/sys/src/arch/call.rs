//! Calls of an out-of-line function that takes 0 to 7 integers and only returns.
//!
//! The cost of one call is the time of a long turn less that of a short one, divided by
//! `CALLS_LONG - CALLS_SHORT`: the cost of the loop cancels (`docs/methods/processor.md#calls`).

pub use super::native::call::calls;

/// Calls in one turn of a long call loop.
pub const CALLS_LONG: u64 = 64;

/// Calls in one turn of a short call loop.
pub const CALLS_SHORT: u64 = 16;

/// The most arguments that [`calls`] passes (CSE 221's "procedure call with 0 to 7 arguments").
pub const CALLS_MAX_ARGS: usize = 7;

/// Defines [`calls`]: `$turns!(turns, CALLS, set_up)` is the loop of an architecture, and each line
/// says what sets up the arguments of one call.
macro_rules! define_calls {
    ($turns:ident; $($name:ident: $set_up:tt;)*) => {
        /// The loop that calls a function of `k` integer arguments, 0 to 7, [`CALLS_LONG`] or
        /// [`CALLS_SHORT`] times per turn. The arguments are set up as a compiler does it:
        /// constants moved to the argument registers of the ABI, the rest pushed.
        ///
        /// # Panics
        ///
        /// If `k` is above [`CALLS_MAX_ARGS`].
        ///
        /// [`CALLS_LONG`]: crate::arch::CALLS_LONG
        /// [`CALLS_SHORT`]: crate::arch::CALLS_SHORT
        /// [`CALLS_MAX_ARGS`]: crate::arch::CALLS_MAX_ARGS
        pub fn calls(k: usize, short: bool) -> fn(u64) {
            use $crate::arch::{CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT};
            const LOOPS: [[fn(u64); 2]; CALLS_MAX_ARGS + 1] =
                [$([$name::<CALLS_LONG> as fn(u64), $name::<CALLS_SHORT> as fn(u64)]),*];
            LOOPS[k][usize::from(short)]
        }

        $(
            fn $name<const CALLS: u64>(turns: u64) {
                if turns == 0 {
                    return;
                }
                $turns!(turns, CALLS, $set_up);
            }
        )*
    };
}
pub(in crate::arch) use define_calls;
