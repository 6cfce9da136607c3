//! The safe interface to atomic operations, fences, hints and counters on a line of their own
//! ([`crate::arch::atomic`]).
//!
//! # Safety
//!
//! An [`Atomic`] exists only for a kernel whose instructions the CPU has. The word is its own, and
//! exclusively borrowed while the loop runs.
#![expect(unsafe_code, reason = "calls the kernels")]

use crate::arch::atomic::{ATOMIC_KERNELS, AtomicKernel, atomic_isa_here};
use crate::arch::portable::atomic::atomic_answer;

/// A line that shares nothing with others: twice the usual size, because neighbours are fetched in
/// pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(u64);

/// An instruction that this CPU has, and its line.
#[derive(Debug)]
pub struct Atomic {
    kernel: &'static AtomicKernel,
    line: Box<Line>,
}

impl Atomic {
    /// The instruction of this name.
    ///
    /// # Errors
    ///
    /// Says why this CPU has none.
    pub fn new(name: &str) -> Result<Atomic, String> {
        let mut kernels = ATOMIC_KERNELS.iter().filter(|kernel| kernel.name == name).peekable();
        if kernels.peek().is_none() {
            return Err(format!("{} has no instruction for {name}", std::env::consts::ARCH));
        }
        let kernel = kernels.find(|kernel| atomic_isa_here(kernel.isa));
        let kernel = kernel.ok_or_else(|| format!("this CPU or system does not have the instruction for {name}"))?;
        Ok(Atomic { kernel, line: Box::default() })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static AtomicKernel {
        self.kernel
    }

    /// Runs `turns` turns from a word of 0, and returns the number of operations in them; `None`
    /// when word and register are not as expected afterwards.
    #[inline]
    pub fn run(&mut self, turns: u64) -> Option<u64> {
        self.line.0 = 0;
        if turns == 0 {
            return Some(0);
        }
        // SAFETY: the CPU has the instructions (`Atomic::new`); the word is ours alone.
        let register = unsafe { (self.kernel.run)(&raw mut self.line.0, turns) };
        let ops = turns * self.kernel.ops;
        let (word, expected) = atomic_answer(self.kernel.name, ops);
        (self.line.0 == word && expected.is_none_or(|expected| expected == register)).then_some(ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::portable;

    #[test]
    fn every_instruction_is_executed_the_requested_number_of_times() {
        let all = ATOMIC_KERNELS.iter().chain(portable::atomic::ATOMIC_KERNELS);
        for kernel in all.filter(|kernel| kernel.isa == "portable" || atomic_isa_here(kernel.isa)) {
            let mut atomic = Atomic { kernel, line: Box::default() };
            for turns in [0, 1, 2, 3, 10] {
                assert!(
                    atomic.run(turns) == Some(turns * kernel.ops),
                    "{} ({}), {turns} turns: {}",
                    kernel.name,
                    kernel.isa,
                    atomic.line.0
                );
            }
        }
        assert!(Atomic::new("nothing").is_err_and(|why| why.contains("nothing")));
    }

    /// `run` checks word and register: half of the operations, or a wrong register, gives no count.
    #[test]
    fn missing_operations_are_not_counted() {
        fn half(word: *mut u64, turns: u64) -> u64 {
            // SAFETY: the word is that of the `Atomic` below.
            unsafe { *word = turns * 32 / 2 };
            1
        }
        fn nothing(_word: *mut u64, _turns: u64) -> u64 {
            7
        }
        fn fence(_word: *mut u64, turns: u64) -> u64 {
            turns * 32 + 1
        }
        fn without_a_result(word: *mut u64, turns: u64) -> u64 {
            // SAFETY: as above.
            unsafe { *word = turns * 32 };
            7
        }
        let run = |name, run: fn(*mut u64, u64) -> u64| {
            let kernel = AtomicKernel { name, isa: "base", instruction: "", ops: 32, run };
            Atomic { kernel: Box::leak(Box::new(kernel)), line: Box::default() }.run(4)
        };
        assert_eq!((run("add", half), run("add", without_a_result)), (None, Some(128)), "an addition leaves the word");
        assert_eq!((run("fence", nothing), run("fence", fence)), (None, Some(128)), "a fence counts in its register");
    }
}
