//! The traffic of a generator. Not here: when it generates, and at which pace.

use groma_harness::sys::stream::{ADDRESS_OFFSET, Op, Pass, Stream};

/// Bytes after which a generator publishes its count.
pub(super) const PIECE: usize = 4096;

/// Lap after lap over a buffer, a piece at a time.
pub(super) struct Traffic<'a> {
    stream: Stream,
    op: Op,
    source: &'a mut [u8],
    target: &'a mut [u8],
    pieces: usize,
    at: usize,
}

impl<'a> Traffic<'a> {
    pub(super) fn new(stream: Stream, op: Op, buffer: &'a mut [u8]) -> Traffic<'a> {
        let (source, target) = halves(buffer);
        let pieces = pieces(op, source.len(), target.len());
        Traffic { stream, op, source, target, pieces, at: 0 }
    }

    /// The traffic of the next piece, in bytes.
    #[inline]
    pub(super) fn step(&mut self) -> Result<u64, String> {
        let mut pass = pass(self.stream, self.op, self.at, self.source, self.target)?;
        pass.run(1);
        let bytes = pass.program_bytes();
        self.at = (self.at + 1) % self.pieces;
        Ok(bytes)
    }
}

/// Source and target are halves, shifted against each other as in mem.bandwidth.
fn halves(buffer: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    let (source, target) = buffer.split_at_mut(buffer.len() / 2);
    (source, &mut target[ADDRESS_OFFSET..])
}

/// The pieces of a lap: those of one half after the other, except for the copy, which uses both.
fn pieces(op: Op, source: usize, target: usize) -> usize {
    if op == Op::Copy { target / PIECE } else { 2 * source / PIECE }
}

/// The traffic of one piece of a lap.
#[inline]
fn pass<'a>(stream: Stream, op: Op, at: usize, source: &'a mut [u8], target: &'a mut [u8]) -> Result<Pass<'a>, String> {
    let from = at * PIECE;
    let (half, within) = (from / source.len(), from % source.len());
    match (op, half) {
        (Op::Copy, _) => stream.over(&mut target[from..from + PIECE], &source[from..from + PIECE]),
        (Op::Read, 0) => stream.over(&mut [], &source[within..within + PIECE]),
        (Op::Read, _) => stream.over(&mut [], &target[clamp(within, target.len())..][..PIECE]),
        (_, 0) => stream.over(&mut source[within..within + PIECE], &[]),
        (_, _) => {
            let within = clamp(within, target.len());
            stream.over(&mut target[within..within + PIECE], &[])
        }
    }
}

/// The start of a piece in the second half, which is shorter: its last piece begins earlier.
fn clamp(within: usize, len: usize) -> usize {
    within.min(len - PIECE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::{Map, Policy};

    /// A lap writes to all of the buffer, or copies all of one half to the other.
    #[test]
    fn a_lap_of_a_generator_goes_over_all_of_its_buffer() {
        const SIZE: usize = 16 * PIECE;
        for (op, laps, moved, written) in [
            (Op::Write, 16, PIECE, SIZE - ADDRESS_OFFSET),
            (Op::Copy, 7, 2 * PIECE, SIZE / 2 + 7 * PIECE),
            (Op::Read, 16, PIECE, 0),
        ] {
            let mut buffer = Map::anonymous(SIZE, Policy::Base).expect("memory");
            if op == Op::Copy {
                buffer[..SIZE / 2].fill(1);
            }
            let mut traffic = Traffic::new(Stream::new(op, None).expect("everywhere"), op, &mut buffer[..SIZE]);
            assert_eq!((traffic.target.as_ptr().addr() - traffic.source.as_ptr().addr()) % 4096, ADDRESS_OFFSET);
            let steps: Vec<u64> = (0..laps).map(|_| traffic.step().expect("within the buffer")).collect();
            assert_eq!((steps, traffic.at), (vec![moved as u64; laps], 0), "{op:?}");
            assert_eq!(buffer[..SIZE].iter().filter(|byte| **byte != 0).count(), written, "{op:?}");
        }
    }
}
