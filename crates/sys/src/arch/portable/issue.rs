//! Independent operations on eight words. The compiler may do several at once, so only the results
//! are those of the other architectures.

use crate::arch::{ISSUE_UNROLL, ISSUE_VALUE};
use core::hint::black_box;

/// As the native block.
pub fn issue_mixed(turns: u64) -> u64 {
    let mut words = [0_u64; 8];
    for _ in 0..turns * ISSUE_UNROLL / 8 {
        for (i, word) in words.iter_mut().enumerate() {
            *word = if i % 2 == 0 { word.wrapping_add(1) } else { black_box(ISSUE_VALUE) };
        }
        words = black_box(words);
    }
    words.into_iter().fold(0, u64::wrapping_add)
}
