//! The one place with instructions in it: counters, raw system calls and the inner loops that are the subject of a
//! measurement, with one identical face on every CPU.
//!
//! Each native file and [`portable`] define the same names; this file picks one and writes down, once for all of them,
//! what the names mean. A kernel is a whole loop with a fixed instruction count, so that nothing a compiler does can
//! change what is measured; `tests/kernels.rs` holds every one of them against [`portable`] and `tests/disassembly.rs`
//! looks for the instruction it claims. Nothing here reads a clock, chooses a size or knows a benchmark.
//!
//! A new CPU works before it has a file (all of it is then [`portable`]); its file costs one `mod` line and one name
//! in the `not(any(..))` below.

pub mod access;
pub mod atomic;
pub mod branch;
pub mod parallel_chase;
mod doubles;
pub mod flush;
pub mod store_forward;
pub mod hammer;
mod mix;
pub mod operation;
pub mod portable;
pub mod rates;
pub mod split;
mod stream;
pub mod wide;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
mod native;
#[cfg(target_arch = "riscv64")]
#[path = "riscv64/mod.rs"]
mod native;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
mod native;
#[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")))]
use portable as native;

pub use doubles::*;
pub use mix::*;
pub use native::{
    ADD_TAKES_ONE_CYCLE, COUNTER_NAME, add_chain, calls, chase, counter_start, counter_stop, counter_usable, mul_chain,
    rotate_chain,
};
pub use stream::*;
// System call numbers and the way errors come back belong to the system as much as to the CPU.
#[cfg(target_os = "linux")]
pub use native::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};
#[cfg(not(target_os = "linux"))]
pub use portable::{clone3_call, syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};

/// Operations in one turn of an arithmetic chain's loop. The counter and the branch run beside the chain: they cost
/// nothing as long as the chain is slower than they are, which 64 dependent operations always are.
pub const CHAIN_UNROLL: u64 = 64;

/// Where an arithmetic chain starts (odd, so that multiplying never loses a bit).
pub const CHAIN_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The second operand of the add and multiply chains: in a register, never an immediate (Golden Cove executes
/// additions of small immediates when it renames registers, and such a chain reads up to five times the clock), odd,
/// and neither 0 nor 1.
pub const CHAIN_OPERAND: u64 = 0x0000_0001_0000_01b3;

/// How far one step of the rotate chain rotates, to the right. Not 1: x86 has an older encoding for that one.
pub const CHAIN_ROTATE: u32 = 7;

/// The operations that a chain of `n` really does: `n` rounded up to a multiple of [`CHAIN_UNROLL`].
pub const fn chain_ops(n: u64) -> u64 {
    n.next_multiple_of(CHAIN_UNROLL)
}

/// How many additions [`add_chain`] has done, told by the value that it came to: each adds
/// [`CHAIN_OPERAND`], which is odd, so that no two numbers of them come to the same.
pub const fn chain_added(value: u64) -> u64 {
    // Newton's iteration doubles the bits of the inverse that are right, from the 3 of an odd number itself.
    let mut inverse = CHAIN_OPERAND;
    let mut bits = 3;
    while bits < u64::BITS {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(CHAIN_OPERAND.wrapping_mul(inverse)));
        bits *= 2;
    }
    value.wrapping_sub(CHAIN_SEED).wrapping_mul(inverse)
}

/// Loads in one turn of the chase's loop.
pub const CHASE_UNROLL: u64 = 64;

/// The loads that a chase of `n` really does: `n` rounded up to a multiple of [`CHASE_UNROLL`].
pub const fn chase_loads(n: u64) -> u64 {
    n.next_multiple_of(CHASE_UNROLL)
}

/// Calls in one turn of a long call loop.
pub const CALLS_LONG: u64 = 64;

/// Calls in one turn of a short call loop. The price of one call is the time of a long turn less that of a short one,
/// divided by `CALLS_LONG - CALLS_SHORT`: the loop itself falls out.
pub const CALLS_SHORT: u64 = 16;

/// The most arguments that [`calls`] passes (CSE 221's "procedure call with 0 to 7 arguments").
pub const CALLS_MAX_ARGS: usize = 7;
