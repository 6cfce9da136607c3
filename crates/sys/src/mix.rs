//! The safe interface to the kernels that read one stream and write another
//! ([`crate::arch::MixKernel`]).
//!
//! # Safety
//!
//! As in [`crate::stream`]: the CPU can run the kernel, and both buffers are slices whose lengths
//! were checked.
#![expect(unsafe_code, reason = "calls the kernels")]

pub use crate::arch::{MIX_GROUPS, MIX_LINE, MIXES, MixKernel};
use crate::arch::{STREAM_ALIGN, mix_kernels};

/// A kernel that this CPU can run.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    kernel: &'static MixKernel,
}

impl Mix {
    /// The kernel for `reads` lines read and `writes` lines written in turn, with the instructions
    /// `isa` or the widest available.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn new(reads: usize, writes: usize, nt: bool, isa: Option<&str>) -> Result<Self, String> {
        let fits = |kernel: &&MixKernel| (kernel.reads, kernel.writes, kernel.nt) == (reads, writes, nt);
        let found = mix_kernels().into_iter().filter(fits).find(|kernel| isa.is_none_or(|isa| isa == kernel.isa));
        found.map(|kernel| Self { kernel }).ok_or_else(|| {
            if nt && writes == 0 {
                "reads alone store nothing".to_owned()
            } else {
                let stores = if nt { " with stores that bypass the caches" } else { "" };
                format!("no kernel for {reads}:{writes}{stores} for {} on this CPU", isa.unwrap_or("it"))
            }
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static MixKernel {
        self.kernel
    }

    /// Bytes that one turn reads from the source, and writes to the destination.
    pub fn turn(&self) -> (usize, usize) {
        let group = MIX_GROUPS * MIX_LINE;
        (group * self.kernel.reads, group * self.kernel.writes)
    }

    /// Passes `passes` times over both buffers, which hold the same number of whole turns.
    ///
    /// # Errors
    ///
    /// Says what is wrong with address or length.
    #[inline]
    pub fn run(&self, dst: &mut [u8], src: &[u8], passes: u64) -> Result<(), String> {
        let (read, written) = self.turn();
        let turns = src.len().checked_div(read).unwrap_or_else(|| dst.len() / written);
        if src.len() != turns * read || dst.len() != turns * written {
            return Err(format!(
                "{} B to read and {} B to write are not the same number of turns",
                src.len(),
                dst.len()
            ));
        }
        let aligned = |at: *const u8, used: usize| used == 0 || at.addr().is_multiple_of(STREAM_ALIGN);
        if !aligned(src.as_ptr(), read) || !aligned(dst.as_ptr(), written) {
            return Err(format!("both streams must begin at a multiple of {STREAM_ALIGN} bytes"));
        }
        // SAFETY: both buffers hold `turns` turns, checked above, and are aligned where they are
        // used.
        unsafe { (self.kernel.run)(dst.as_mut_ptr(), src.as_ptr(), turns, passes) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Map, Policy};

    #[test]
    fn a_mix_is_the_requested_one_and_reads_its_source() {
        for (reads, writes) in MIXES {
            for nt in [false, true] {
                let Ok(mix) = Mix::new(reads, writes, nt, None) else { continue };
                assert_eq!((mix.kernel().reads, mix.kernel().writes, mix.kernel().nt), (reads, writes, nt));
                let (read, written) = mix.turn();
                assert_eq!((read, written), (256 * reads, 256 * writes));
                let mut target = Map::anonymous(5 * 512, Policy::Base).expect("memory");
                let source = Map::anonymous(5 * 768, Policy::Base).expect("memory");
                mix.run(&mut target[..5 * written], &source[..5 * read], 1).expect("five turns of both");
                let stored = target.iter().filter(|byte| **byte != 0).count();
                assert_eq!(stored, 5 * written, "{reads} to {writes}, non-temporal: {nt}");
                // Four turns of one and five of the other.
                if reads > 0 && writes > 0 {
                    assert!(mix.run(&mut target[..5 * written], &source[..4 * read], 1).is_err());
                }
            }
        }
    }
}
