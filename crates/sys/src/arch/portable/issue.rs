//! Independent operations on eight words. The compiler may do several at once, so only the results
//! are those of the other architectures.

use crate::arch::{ISSUE_UNROLL, ISSUE_VALUE};
use core::hint::black_box;

/// One operation on a word.
type Operation = fn(&mut u64);

fn add(word: &mut u64) {
    *word = word.wrapping_add(1);
}

fn set(word: &mut u64) {
    *word = black_box(ISSUE_VALUE);
}

/// The sum of eight words on which these operations were done, `ISSUE_UNROLL` in each turn.
fn block(turns: u64, operations: [Operation; 8]) -> u64 {
    let mut words = [0_u64; 8];
    for _ in 0..turns * ISSUE_UNROLL / 8 {
        for (word, operation) in words.iter_mut().zip(operations) {
            operation(word);
        }
        words = black_box(words);
    }
    words.into_iter().fold(0, u64::wrapping_add)
}

/// As the native block.
pub fn issue_additions(turns: u64) -> u64 {
    block(turns, [add; 8])
}

/// As the native block.
pub fn issue_moves(turns: u64) -> u64 {
    block(turns, [set; 8])
}

/// As the native block.
pub fn issue_loads(turns: u64) -> u64 {
    block(turns, [set; 8])
}

/// As the native block.
pub fn issue_mixed(turns: u64) -> u64 {
    block(turns, [add, set, add, set, add, set, add, set])
}
