//! The data of streams: every word of a transfer holds the number of that transfer.
//!
//! So both sides touch all of it, and no byte can be lost, duplicated, or credited without being
//! moved. With `touch=no` neither side touches it, which is what most other programs measure.

use groma_harness::model::Param;

/// Whether the two sides of a stream touch what they pass on.
pub(crate) const TOUCH: Param =
    Param::word("touch", "the sender fills every word and the reader compares it, or neither does", &["yes", "no"])
        .quick(&["yes"]);

/// Puts the number into every word, little-endian on every machine.
pub(crate) fn fill(buffer: &mut [u8], number: u64) {
    let (words, rest) = buffer.as_chunks_mut::<8>();
    words.fill(number.to_le_bytes());
    rest.copy_from_slice(&number.to_le_bytes()[..rest.len()]);
}

/// Whether every word holds the number. Looks at all words, even after a mismatch.
pub(crate) fn holds(buffer: &[u8], number: u64) -> bool {
    let (words, rest) = buffer.as_chunks::<8>();
    let differing = words.iter().fold(0, |bits, word| bits | (u64::from_le_bytes(*word) ^ number));
    differing == 0 && *rest == number.to_le_bytes()[..rest.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_byte_anywhere_is_seen() {
        for len in [8, 13, 4096, 1001] {
            let mut buffer = vec![0; len];
            fill(&mut buffer, 0x0102_0304_0506_0708);
            assert!(holds(&buffer, 0x0102_0304_0506_0708));
            for i in [0, len / 2, len - 1] {
                buffer[i] ^= 1;
                assert!(!holds(&buffer, 0x0102_0304_0506_0708), "{len} {i}");
                buffer[i] ^= 1;
            }
        }
    }
}
