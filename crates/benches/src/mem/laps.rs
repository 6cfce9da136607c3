//! Going over a buffer piece by piece, cyclically, so that intervals stay short for large buffers.

use std::ops::Range;

/// The position in a buffer that is gone over piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Laps {
    /// Bytes, or whatever the buffer is counted in.
    len: usize,
    piece: usize,
    at: usize,
    done: u64,
}

impl Laps {
    /// `piece` divides `len`.
    pub(super) fn new(len: usize, piece: usize) -> Laps {
        Laps { len, piece, at: 0, done: 0 }
    }

    fn in_all(&self) -> u64 {
        (self.len / self.piece) as u64
    }

    /// Passes the next `pieces` pieces, from where the last call ended, to `body` in as few calls
    /// as possible. `body` gets a range and the number of times to go over it.
    pub(super) fn pieces<E>(
        &mut self,
        mut pieces: u64,
        mut body: impl FnMut(Range<usize>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        while pieces > 0 {
            // Whole laps at once; otherwise up to the end of the buffer.
            let (stretch, laps) = if self.at == 0 && pieces >= self.in_all() {
                (self.in_all(), pieces / self.in_all())
            } else {
                (pieces.min(((self.len - self.at) / self.piece) as u64), 1)
            };
            let range = self.at..self.at + stretch as usize * self.piece;
            self.at = range.end % self.len;
            self.done += stretch * laps;
            body(range, laps)?;
            pieces -= stretch * laps;
        }
        Ok(())
    }

    /// Pieces gone over up to now, repetitions included.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// How often the byte at `at` has been gone over.
    pub(super) fn times(&self, at: usize) -> u64 {
        self.done / self.in_all() + u64::from(((at / self.piece) as u64) < self.done % self.in_all())
    }

    /// How much of the buffer, from its start, has been gone over at least once.
    pub(super) fn reached(&self) -> usize {
        if self.done >= self.in_all() { self.len } else { self.at }
    }
}

/// The largest piece of a buffer, up to `most`, of which there is a whole number, each a multiple
/// of `step`.
pub(super) fn piece(len: usize, step: usize, most: usize) -> usize {
    let mut piece = len;
    while piece > most && piece.is_multiple_of(2 * step) {
        piece /= 2;
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_its_turn_and_is_counted() {
        for calls in [&[3][..], &[3, 1], &[3, 2], &[2, 4], &[12], &[0], &[7, 9, 5, 1]] {
            let mut seen = [0_u64; 5];
            let mut laps = Laps::new(50, 10);
            for n in calls {
                let outcome: Result<(), ()> = laps.pieces(*n, |range, times| {
                    (range.start / 10..range.end / 10).for_each(|i| seen[i] += times);
                    Ok(())
                });
                outcome.expect("never fails");
            }
            let all: u64 = calls.iter().sum();
            assert_eq!((all, all), (laps.done(), seen.iter().sum()), "{calls:?}");
            assert!((0..50).all(|at| laps.times(at) == seen[at / 10]), "{calls:?} {seen:?}");
            assert_eq!(laps.reached(), 10 * seen.iter().filter(|n| **n > 0).count(), "{calls:?}");
        }
    }

    #[test]
    fn pieces_add_up_to_the_buffer() {
        for (len, expected) in [(16 << 10, 16 << 10), (64 << 10, 64 << 10), (96 << 10, 48 << 10), (3 << 20, 48 << 10)] {
            let piece = piece(len, 1024, 64 << 10);
            assert_eq!((piece, len % piece, piece % 1024), (expected, 0, 0));
        }
    }
}
