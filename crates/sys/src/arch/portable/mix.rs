//! Mixes in plain Rust.
//!
//! # Safety
//!
//! Raw pointers are dereferenced, for which the callers vouch.
#![expect(unsafe_code, reason = "walks raw pointers")]

use crate::arch::{MIX_GROUPS, MIX_LINE, MixKernel, STREAM_PATTERN};
use core::hint::black_box;

/// Every kernel there is.
pub fn mix_kernels() -> Vec<&'static MixKernel> {
    KERNELS.iter().collect()
}

pub(crate) static KERNELS: [MixKernel; 6] =
    [kernel::<1, 0>(), kernel::<3, 1>(), kernel::<2, 1>(), kernel::<1, 1>(), kernel::<1, 2>(), kernel::<0, 1>()];

const fn kernel<const READS: usize, const WRITES: usize>() -> MixKernel {
    MixKernel { reads: READS, writes: WRITES, nt: false, isa: "portable", run: mix::<READS, WRITES> }
}

/// # Safety
///
/// As [`MixKernel::run`].
unsafe fn mix<const READS: usize, const WRITES: usize>(dst: *mut u8, src: *const u8, turns: usize, passes: u64) {
    const WORDS: usize = MIX_LINE / 8;
    let mut all = 0;
    for _ in 0..passes {
        let (to, from) = (black_box(dst).cast::<u64>(), black_box(src).cast::<u64>());
        for group in 0..turns * MIX_GROUPS {
            for i in group * READS * WORDS..(group + 1) * READS * WORDS {
                // SAFETY: the caller vouches for the source.
                all |= unsafe { from.add(i).read() };
            }
            for i in group * WRITES * WORDS..(group + 1) * WRITES * WORDS {
                // SAFETY: the caller vouches for the destination.
                unsafe { to.add(i).write(STREAM_PATTERN) };
            }
        }
    }
    black_box((dst, all));
}
