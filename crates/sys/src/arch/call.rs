//! Calls of an out-of-line function that takes 0 to 7 integers and does nothing with them.
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

/// The function that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// It only returns, as an optimised one does.
    Leaf,
    /// It sets up a stack frame, stores its arguments there, and removes the frame: what compilers
    /// make of an empty function without optimisation.
    Frame,
}

/// Defines [`calls`]: `$turns!(turns, CALLS, set_up, callee)` is the loop of an architecture,
/// `$frame!(body)` defines `frame`, which it calls beside `leaf`, and each line says what sets up
/// the arguments of one call and what `frame` does with them.
macro_rules! define_calls {
    ($turns:ident, $frame:ident; $($name:ident: $set_up:tt $body:tt;)*) => {
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
        pub fn calls(k: usize, callee: $crate::arch::Callee, short: bool) -> fn(u64) {
            use $crate::arch::{CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT, Callee};
            type Loops = [[fn(u64); 2]; CALLS_MAX_ARGS + 1];
            const LEAVES: Loops = [$([$name::of_leaf::<CALLS_LONG>, $name::of_leaf::<CALLS_SHORT>]),*];
            const FRAMES: Loops = [$([$name::of_frame::<CALLS_LONG>, $name::of_frame::<CALLS_SHORT>]),*];
            let loops = match callee {
                Callee::Leaf => &LEAVES,
                Callee::Frame => &FRAMES,
            };
            loops[k][usize::from(short)]
        }

        $(
            mod $name {
                use super::*;

                $frame!($body);

                pub(super) fn of_leaf<const CALLS: u64>(turns: u64) {
                    if turns > 0 {
                        $turns!(turns, CALLS, $set_up, leaf);
                    }
                }

                pub(super) fn of_frame<const CALLS: u64>(turns: u64) {
                    if turns > 0 {
                        $turns!(turns, CALLS, $set_up, frame);
                    }
                }
            }
        )*
    };
}
pub(in crate::arch) use define_calls;
