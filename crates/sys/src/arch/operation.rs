//! Arithmetic operations: one instruction repeated, in one dependent chain or in several
//! independent ones.
//!
//! One chain measures latency (`docs/methods/processor.md#operation-latency`), several measure
//! throughput (`docs/methods/processor.md#operation-throughput`).
//!
//! Kernels are data: [`OPERATION_KERNELS`] of the architecture names the instruction of an
//! operation, the extension it needs, and its two loops. Both start from a [`State`] with one
//! register per chain and leave the last values there, so that one reference
//! ([`portable::operation`](super::portable::operation)) computes the expected result of all of
//! them.
//!
//! What one step does with the value `x` of a chain, operands `y` (two, in turn) and `z`:
//!
//! | operation | step | reason |
//! | --- | --- | --- |
//! | `add`, `xor`, `mul` | `x op y`, in registers | renaming does immediates on some cores |
//! | `shift`, `rotate` | right by 3 and by 7 | immediates in every instruction set |
//! | integer `div` | `y / x`, unsigned | alternates; a chain of dividends ends at 0 |
//! | `mod` | `(x + z) mod y`, unsigned | remainders alone only shrink |
//! | float `div` | `x / y` | by 1.5 and by 2/3, so the value stays |
//! | `sqrt` | of a value below 1 | converges to the last number before 1, not a short one |
//! | `fma` | `x + y * z` | through the sum, which some cores forward earlier than a factor |
//! | `popcnt`, `crc32` | `popcnt(x)`, CRC-32C of `y` into `x` | |

/// The most chains of a parallel loop.
pub const MAX_CHAINS: usize = 20;

/// Steps of the single chain in one turn: twice an odd number, so that operands used in turn do not
/// cancel out (`xor`).
pub const CHAIN_STEPS: u64 = 130;

/// The bytes of a vector register.
pub type Register = [u8; 64];

/// The values of the chains, one register each: elements from the lowest byte up, the rest unused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct State(pub [Register; MAX_CHAINS]);

/// The two operands that steps use in turn, and the third.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Operands(pub [Register; 3]);

/// A loop of operations.
#[derive(Debug)]
pub struct OperationLoop {
    /// Chains in parallel.
    pub chains: usize,
    /// Steps of each chain in one turn.
    pub steps: u64,
    /// Runs `turns` turns (at least one) from the state, and leaves the last values there.
    ///
    /// # Safety
    ///
    /// The CPU has what the kernel's `isa` names; the pointers are valid; no divisor of the
    /// operation is or becomes 0.
    pub run: unsafe fn(state: *mut State, operands: *const Operands, turns: u64),
}

impl OperationLoop {
    /// Operations in one turn, over all chains.
    pub const fn ops(&self) -> u64 {
        self.chains as u64 * self.steps
    }
}

/// An operation and its two loops.
#[derive(Debug)]
pub struct OperationKernel {
    /// Type, lanes if more than one, and operation: `i64.add`, `f64x4.fma`.
    pub name: &'static str,
    /// The extension it needs, as the architecture names it (`avx512f`), or `base`.
    pub isa: &'static str,
    /// The instruction, as a disassembler prints it.
    pub instruction: &'static str,
    /// One chain: latency.
    pub chain: OperationLoop,
    /// Several chains: throughput.
    pub parallel: OperationLoop,
}

pub use super::native::operation::{OPERATION_KERNELS, operation_isa_here};
