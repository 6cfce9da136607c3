//! The safe interface to the loops of one arithmetic instruction, with their expected results
//! ([`crate::arch::operation`]).
//!
//! [`Operation::new`] returns an operation that this CPU has, or says why not. Its two loops start
//! from the same state at every call and keep the state they end with.
//!
//! # Safety
//!
//! An `Operation` exists only for a kernel whose instructions the CPU has. State and operands are
//! its own, made by the reference of that operation, whose divisors never become 0 (tested).
#![expect(unsafe_code, reason = "calls the kernels")]

use crate::arch::operation::{OPERATION_KERNELS, Operands, OperationKernel, OperationLoop, State, operation_isa_here};
use crate::arch::portable::operation::Reference;
use std::num::FpCategory;

/// An operation that this CPU has.
#[derive(Debug)]
pub struct Operation {
    kernel: &'static OperationKernel,
    /// Each step waits for the one before.
    pub chain: Loop,
    /// As many independent chains as there are registers for.
    pub parallel: Loop,
}

/// One of its two loops.
#[derive(Debug)]
pub struct Loop {
    kernel: &'static OperationLoop,
    reference: &'static Reference,
    operands: Operands,
    start: State,
    state: State,
}

impl Operation {
    /// The operation of that name (`i64.add`, `f64x4.fma`).
    ///
    /// # Errors
    ///
    /// Says why this CPU does not do it.
    pub fn new(name: &str) -> Result<Operation, String> {
        let arch = std::env::consts::ARCH;
        let Some(reference) = Reference::find(name) else { return Err(format!("{name} has no reference")) };
        let Some(kernel) = OPERATION_KERNELS.iter().find(|kernel| kernel.name == reference.kernel()) else {
            return Err(format!("no single instruction for {name} is implemented for {arch}"));
        };
        if !operation_isa_here(kernel.isa) {
            return Err(format!("{name} needs {}, which this CPU or system does not have", kernel.isa));
        }
        let new = |of: &'static OperationLoop| Loop {
            kernel: of,
            reference,
            operands: reference.operand_registers(),
            start: reference.start(),
            state: reference.start(),
        };
        Ok(Operation { kernel, chain: new(&kernel.chain), parallel: new(&kernel.parallel) })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static OperationKernel {
        self.kernel
    }
}

impl Loop {
    /// Operations in one turn, all chains together.
    pub fn ops(&self) -> u64 {
        self.kernel.ops()
    }

    /// The number of chains.
    pub fn chains(&self) -> usize {
        self.kernel.chains
    }

    /// Runs `turns` turns from the start, and returns the number of operations in them.
    #[inline]
    pub fn run(&mut self, turns: u64) -> u64 {
        self.state.clone_from(&self.start);
        if turns > 0 {
            // SAFETY: the CPU has the instructions (`Operation::new`); both pointers are to values
            // of our own.
            unsafe { (self.kernel.run)(&raw mut self.state, &raw const self.operands, turns) };
        }
        turns * self.ops()
    }

    /// Runs `turns` turns, and returns the number of chains that differ from the reference
    /// afterwards.
    pub fn wrong_after(&mut self, turns: u64) -> usize {
        self.run(turns);
        let expected = self.reference.after(self.kernel, turns);
        self.state.0.iter().zip(expected.0.iter()).filter(|(one, other)| one != other).count()
    }

    /// What its floating-point values are to be: normal or subnormal.
    pub fn class(&self) -> FpCategory {
        self.reference.class()
    }

    /// The number of floating-point values left by the last run that are of another class, with
    /// which instructions may take another time.
    pub fn of_another_class(&self) -> usize {
        self.reference.of_another_class(&self.state, self.kernel.chains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::operation::{MAX_CHAINS, Register};

    #[test]
    fn one_loop_is_a_single_chain_and_the_other_has_several() {
        let here: Vec<Operation> = OPERATION_KERNELS.iter().filter_map(|k| Operation::new(k.name).ok()).collect();
        assert!(!here.is_empty() || OPERATION_KERNELS.is_empty());
        for mut operation in here {
            let name = operation.kernel().name;
            assert_eq!(operation.chain.chains(), 1, "{name}");
            assert!(operation.parallel.chains() > 1, "{name}");
            let expected = [3 * operation.kernel().chain.ops(), 3 * operation.kernel().parallel.ops()];
            assert_eq!([operation.chain.run(3), operation.parallel.run(3)], expected, "{name}");
        }
    }

    /// Any byte of any register, regardless of the width of the operation: the loop corrupts the
    /// byte that its operands name.
    #[test]
    fn one_wrong_byte_of_any_chain_is_seen() {
        unsafe fn corrupts(state: *mut State, operands: *const Operands, _turns: u64) {
            // SAFETY: the caller of a kernel passes its own state and operands.
            unsafe {
                let [chain, byte] = [(*operands).0[0][0], (*operands).0[0][1]].map(usize::from);
                (&mut (*state).0)[chain][byte] ^= 0x10;
            }
        }
        unsafe fn nothing(_state: *mut State, _operands: *const Operands, _turns: u64) {}
        // No step: the reference leaves the state as it was.
        static CORRUPTS: OperationLoop = OperationLoop { chains: MAX_CHAINS, steps: 0, run: corrupts };
        static NOTHING: OperationLoop = OperationLoop { chains: MAX_CHAINS, steps: 0, run: nothing };
        for name in ["i32.add", "i64.add", "f64x2.add", "f64x8.fma", "i32x16.mul"] {
            let reference = Reference::find(name).expect("is in the table");
            let new = |kernel: &'static OperationLoop| Loop {
                kernel,
                reference,
                operands: reference.operand_registers(),
                start: reference.start(),
                state: reference.start(),
            };
            assert_eq!(new(&NOTHING).wrong_after(1), 0, "{name}");
            let mut corrupt = new(&CORRUPTS);
            for chain in 0..MAX_CHAINS {
                for byte in 0..size_of::<Register>() {
                    corrupt.operands.0[0][..2].copy_from_slice(&[chain as u8, byte as u8]);
                    assert_eq!(corrupt.wrong_after(1), 1, "{name}: byte {byte} of chain {chain}");
                }
            }
        }
    }

    /// A run that continued from the last state would have another result.
    #[test]
    fn every_run_starts_from_the_same_state() {
        for kernel in OPERATION_KERNELS {
            let Ok(mut operation) = Operation::new(kernel.name) else { continue };
            for of in [&mut operation.chain, &mut operation.parallel] {
                of.run(3);
                let first = of.state.clone();
                of.run(5);
                of.run(3);
                assert!(of.state == first, "{}", kernel.name);
            }
        }
    }
}
