//! Operations: one arithmetic instruction again and again, each waiting for the one before, or in
//! several chains that do not wait for one another.
//!
//! Kernels are data: [`OPERATION_KERNELS`] of the architecture says which instruction does an
//! operation, which extension it needs and where its two loops are. Both start from a [`State`] of
//! a register a chain and leave the last values there, so that one reference
//! ([`portable::operation`](super::portable::operation)) can say for all of them what must come
//! out.
//!
//! What one step does with the value `x` of a chain, operands `y` (two, in turn) and `z`:
//!
//! | operation | step | why so |
//! | --- | --- | --- |
//! | `add`, `xor`, `mul` | `x op y`, operands in registers | additions of immediates are done while registers are renamed on some cores |
//! | `shift`, `rotate` | by 3 and by 7, to the right | every instruction set has these as immediates |
//! | `div` of integers | `y / x`, unsigned | a chain through the dividend ends at 0; this one goes to and fro for ever |
//! | `mod` | `(x + z) mod y`, unsigned | remainders alone only shrink; so one addition belongs to it |
//! | `div` of floats | `x / y` | by 1.5 and by 2/3, so that it stays where it is |
//! | `sqrt` | of a value below 1 | comes to rest at the last number before 1, whose root is not short |
//! | `fma` | `x + y * z` | through the sum, as in a dot product (some cores forward a sum sooner than a factor) |
//! | `popcnt`, `crc32` | `popcnt(x)`, CRC-32C of `y` into `x` | |

/// The most chains of a parallel loop.
pub const MAX_CHAINS: usize = 20;

/// Steps of the one chain in a turn of a chain's loop: twice an odd number, so that operands taken
/// in turn do not cancel out (`xor`).
pub const CHAIN_STEPS: u64 = 130;

/// A vector register's worth of bytes.
pub type Register = [u8; 64];

/// The values of the chains, a register for each: elements from the lowest byte on, the rest
/// unused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct State(pub [Register; MAX_CHAINS]);

/// The two operands that are taken in turn, and the third.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Operands(pub [Register; 3]);

/// A loop of operations.
#[derive(Debug)]
pub struct OperationLoop {
    /// How many chains there are.
    pub chains: usize,
    /// Steps that each chain makes in a turn.
    pub steps: u64,
    /// Makes `turns` turns (at least one) from the state, and leaves the last values there.
    ///
    /// # Safety
    ///
    /// The CPU has what the kernel's `isa` names; the pointers are valid; no divisor of the
    /// operation is or becomes 0.
    pub run: unsafe fn(state: *mut State, operands: *const Operands, turns: u64),
}

impl OperationLoop {
    /// Operations in a turn, all chains together.
    pub const fn ops(&self) -> u64 {
        self.chains as u64 * self.steps
    }
}

/// An operation, and the two loops of it.
#[derive(Debug)]
pub struct OperationKernel {
    /// Type, lanes if more than one, and operation: `i64.add`, `f64x4.fma`.
    pub name: &'static str,
    /// What it needs of the CPU, in the architecture's word (`avx512f`), or `base`.
    pub isa: &'static str,
    /// The instruction that does it, as a disassembler prints it.
    pub instruction: &'static str,
    /// One chain: latency.
    pub chain: OperationLoop,
    /// Several chains: throughput.
    pub parallel: OperationLoop,
}

pub use super::native::operation::{OPERATION_KERNELS, operation_isa_here};
