//! The safe interface to cache-line management ([`crate::arch::flush`]).
//!
//! # Safety
//!
//! A [`Flush`] exists only for a kernel from the list of what the CPU can run. Managing a line does
//! not change its contents; the line only has to be mapped.
#![expect(unsafe_code, reason = "calls the kernels")]

pub use crate::arch::flush::Effect;
use crate::arch::flush::{FlushKernel, flush_kernels, flush_missing};

/// An instruction that manages a cache line, and that this CPU has.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    kernel: &'static FlushKernel,
}

impl Flush {
    /// The instruction of this name.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn named(name: &str) -> Result<Self, String> {
        let kernel = flush_kernels().into_iter().find(|kernel| kernel.name == name);
        kernel.map(|kernel| Self { kernel }).ok_or_else(|| flush_missing(name))
    }

    /// The best instruction with this effect.
    ///
    /// # Errors
    ///
    /// Says that there is none.
    pub fn with(effect: Effect) -> Result<Self, String> {
        let kernel = flush_kernels().into_iter().find(|kernel| kernel.effect == effect);
        kernel.map(|kernel| Self { kernel }).ok_or_else(|| {
            let what = match effect {
                Effect::Evict => "cache-line flush",
                Effect::Clean => "cache-line write-back",
                Effect::Demote => "cache-line demotion",
            };
            format!("this CPU has no unprivileged {what} instruction")
        })
    }

    /// The best instruction that drops lines.
    pub fn evict() -> Option<Self> {
        Self::with(Effect::Evict).ok()
    }

    /// The name of the instruction.
    pub fn name(&self) -> &'static str {
        self.kernel.name
    }

    /// Manages `lines` lines, `stride` bytes apart.
    ///
    /// # Panics
    ///
    /// If `lines` is not a whole number of batches.
    ///
    /// # Safety
    ///
    /// All lines are in memory that is mapped and writable.
    pub(crate) unsafe fn run(self, start: *const u8, stride: usize, lines: usize, batch: usize) {
        assert!(batch > 0 && lines.is_multiple_of(batch), "{lines} lines in batches of {batch}");
        // SAFETY: as promised; the CPU has the instruction.
        unsafe { (self.kernel.run)(start, stride, batch as u64, (lines / batch) as u64) };
    }

    /// Loads from two places of a buffer and evicts both lines, repeatedly.
    ///
    /// # Panics
    ///
    /// If a place and its 8 bytes are not within the buffer.
    #[inline]
    pub fn pair(self, buffer: &mut [u8], a: usize, b: usize, rounds: u64) {
        let at = |place: usize| buffer[place..place + 8].as_ptr();
        let (a, b) = (at(a), at(b));
        // SAFETY: both are within the buffer; the CPU has the instruction.
        unsafe { (self.kernel.pair)(a, b, rounds) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_has_the_requested_effect() {
        for effect in [Effect::Evict, Effect::Clean, Effect::Demote] {
            match Flush::with(effect) {
                Ok(flush) => assert_eq!(flush.kernel.effect, effect, "{}", flush.name()),
                Err(why) => eprintln!("not here: {why}"),
            }
        }
    }

    /// An instruction that manages a line maps its page, so the resident pages show which lines
    /// they were.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn exactly_the_requested_lines_are_managed() {
        use crate::pages::{Map, Policy, page_size};
        for kernel in flush_kernels().into_iter().filter(|kernel| kernel.effect != Effect::Demote) {
            for (lines, batch) in [(1, 1), (7, 1), (12, 4), (12, 12)] {
                let mut map = Map::anonymous(20 * page_size(), Policy::Base).expect("memory");
                let from = map[3 * page_size()..].as_mut_ptr();
                // SAFETY: 12 pages behind the third are within the mapping, which is writable.
                unsafe { Flush { kernel }.run(from, page_size(), lines, batch) };
                let expected: Vec<bool> = (0..20).map(|page| (3..3 + lines).contains(&page)).collect();
                let name = kernel.name;
                assert_eq!(map.residency().expect("mincore"), expected, "{name}: {lines} lines by {batch}");
            }
        }
    }
}
