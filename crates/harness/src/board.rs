//! The shared memory of a worker group: the phases, what each member counts and samples, and why
//! one failed.
//!
//! # Safety
//! `Header` and `Slot` consist of atomics only, so all-zero bytes are valid values of them and
//! shared references may be held by several processes.
#![expect(unsafe_code, reason = "declares that the worker group's shared structures are valid as zeroes")]

use crate::error::BenchError;
use crate::model::{Labels, Sample};
use crate::sys::shared::{Shared, Word, Zeroed};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// The most members of a worker group (docs/methods/timing.md#limits-of-a-worker-group).
pub const MAX_MEMBERS: u32 = 4096;

/// Samples that a slot holds; with its head it fills 512 bytes, the limit of a
/// member (docs/methods/timing.md#limits-of-a-worker-group).
pub(crate) const SLOT_SAMPLES: usize = 8;

/// Single samples that a group keeps in all, unless that leaves a member fewer than
/// [`MIN_SAMPLES_KEPT`]. A worker that runs alone takes this many.
const KEPT: u32 = 512;

/// The fewest samples that a member has room for, and the most.
const MIN_SAMPLES_KEPT: u32 = 8;
/// See [`MIN_SAMPLES_KEPT`].
const MAX_SAMPLES_KEPT: u32 = 256;

/// Words for the report of the first member beside its samples: 1 MiB of address space; only what
/// is written takes memory.
pub(crate) const REPORT_WORDS: usize = 128 << 10;

/// Words for the reason of the first failure.
pub(crate) const REASON_WORDS: usize = 256;

pub(crate) const PARKED: u32 = 0;

pub(crate) const WARM: u32 = 1;

pub(crate) const MEASURE: u32 = 2;

pub(crate) const STOP: u32 = 3;

pub(crate) const FAILED: u32 = 0;

pub(crate) const UNSUPPORTED: u32 = 1;

pub(crate) const DENIED: u32 = 2;

#[repr(C)]
pub(crate) struct Header {
    pub(crate) phase: Word,
    pub(crate) ready: Word,
    pub(crate) started: Word,
    pub(crate) done: Word,
    /// The number of members that have ended, successfully or not.
    pub(crate) ended: Word,
    /// Index of the first member that failed, plus 1; 0 for none. Only that member writes the
    /// reason.
    pub(crate) failure: Word,
    /// The kind of the first failure: [`FAILED`], [`UNSUPPORTED`] or [`DENIED`].
    pub(crate) kind: Word,
    /// Two texts, and not one for both: a member that fails while the first one reports would write
    /// between its lines.
    pub(crate) report: Text<REPORT_WORDS>,
    pub(crate) reason: Text<REASON_WORDS>,
}

// SAFETY: atomics only (`Word` and `Text` add no other field).
unsafe impl Zeroed for Header {}

/// Text that one member writes and the coordinator reads.
#[repr(C)]
pub(crate) struct Text<const N: usize> {
    pub(crate) len: Word,
    pub(crate) words: [AtomicU64; N],
}

impl<const N: usize> Text<N> {
    /// Puts text on the board, cut to what fits.
    pub(crate) fn write(&self, text: &str) {
        let mut end = text.len().min(N * 8);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (word, bytes) in self.words.iter().zip(text.as_bytes()[..end].chunks(8)) {
            let mut raw = [0; 8];
            raw[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(raw), Relaxed);
        }
        self.len.store(end as u32, SeqCst);
    }

    pub(crate) fn read(&self) -> String {
        let len = self.len.load(SeqCst) as usize;
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.load(Relaxed).to_le_bytes()).take(len).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[repr(C)]
pub(crate) struct SlotSample {
    pub(crate) t0: AtomicU64,
    pub(crate) t1: AtomicU64,
    pub(crate) elapsed: AtomicU64,
    pub(crate) iters: AtomicU64,
    pub(crate) cpu_ns: AtomicU64,
    /// CPU in the upper half, then labels, then the variant.
    pub(crate) tags: AtomicU64,
}

// SAFETY: atomics only.
unsafe impl Zeroed for SlotSample {}

impl SlotSample {
    pub(crate) fn write(&self, taken: &MemberSample) {
        let MemberSample { variant, t1_ns, sample } = taken;
        self.t0.store(sample.t0_ns, Relaxed);
        self.t1.store(*t1_ns, Relaxed);
        self.elapsed.store(sample.elapsed_ns, Relaxed);
        self.iters.store(sample.iters, Relaxed);
        self.cpu_ns.store(sample.cpu_ns, Relaxed);
        let tags = u64::from(sample.cpu) << 32 | u64::from(sample.labels.0) << 16 | *variant as u64;
        self.tags.store(tags, Relaxed);
    }

    /// What member `worker` wrote.
    pub(crate) fn read(&self, worker: u32) -> MemberSample {
        let tags = self.tags.load(Relaxed);
        let sample = Sample {
            worker,
            cpu: (tags >> 32) as u32,
            t0_ns: self.t0.load(Relaxed),
            elapsed_ns: self.elapsed.load(Relaxed),
            iters: self.iters.load(Relaxed),
            cpu_ns: self.cpu_ns.load(Relaxed),
            labels: Labels((tags >> 16) as u16),
            margin_ns: None,
        };
        MemberSample { variant: (tags & 0xffff) as usize, t1_ns: self.t1.load(Relaxed), sample }
    }
}

/// What a member has taken of one loop: a whole interval, or a single sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MemberSample {
    pub(crate) variant: usize,
    /// Its end, which is later than its start and its timed part where a body does more than that.
    pub(crate) t1_ns: u64,
    pub(crate) sample: Sample,
}

/// What one member shares: 64 bytes of head and the samples.
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// The end of the first complete batch.
    pub(crate) first: AtomicU64,
    /// The end of one more complete batch after STOP was seen.
    pub(crate) last: AtomicU64,
    pub(crate) count: AtomicU32,
    /// 0 while it runs, 1 when it ended well, 2 when it did not.
    pub(crate) ended: AtomicU32,
    pub(crate) iterations: AtomicU64,
    /// Single samples that it has kept.
    pub(crate) kept: AtomicU64,
    pub(crate) reserved: [AtomicU64; 3],
    pub(crate) samples: [SlotSample; SLOT_SAMPLES],
}

// SAFETY: atomics only.
unsafe impl Zeroed for Slot {}

/// Bytes of shared memory for each member: at most 512
/// (docs/methods/timing.md#limits-of-a-worker-group).
pub const SLOT_BYTES: usize = size_of::<Slot>();

/// The memory of a worker group.
pub(crate) struct Board {
    pub(crate) header: Shared<Header>,
    pub(crate) slots: Shared<Slot>,
    /// Room for the single samples of each member, written after the last one was taken.
    kept: Shared<SlotSample>,
}

impl Board {
    pub(crate) fn new(members: u32) -> std::io::Result<Board> {
        let kept = members as usize * Board::samples_per_member(members);
        Ok(Board { header: Shared::new(1)?, slots: Shared::new(members as usize)?, kept: Shared::untouched(kept)? })
    }

    /// The number of single samples that each member of a group of this size can keep.
    pub(crate) fn samples_per_member(members: u32) -> usize {
        (KEPT / members.max(1)).clamp(MIN_SAMPLES_KEPT, MAX_SAMPLES_KEPT) as usize
    }

    /// The single samples of a member.
    pub(crate) fn samples_of(&self, index: u32) -> &[SlotSample] {
        let each = Board::samples_per_member(self.slots.len() as u32);
        &self.kept[index as usize * each..][..each]
    }

    pub(crate) fn head(&self) -> &Header {
        &self.header[0]
    }

    /// Records why member `index` failed, unless another failed before it.
    pub(crate) fn fail(&self, index: u32, reason: &str) {
        self.stop(index, FAILED, reason);
    }

    /// The same, for whatever kind of end.
    pub(crate) fn stop(&self, index: u32, kind: u32, reason: &str) {
        if self.head().failure.compare_exchange(0, index + 1, SeqCst, SeqCst).is_ok() {
            self.head().kind.store(kind, SeqCst);
            self.head().reason.write(reason);
        }
        self.end(index, 2);
    }

    /// Records that a member has ended: 1 for success, 2 for failure.
    pub(crate) fn end(&self, index: u32, how: u32) {
        self.slots[index as usize].ended.store(how, SeqCst);
        self.head().ended.count();
    }

    /// Why the worker group ended, as the first member to fail reported it.
    pub(crate) fn reason(&self) -> BenchError {
        // A failure is announced before its words are there. The member that announced it can be
        // kept off its CPU for seconds where the host is busy, or be ended before it says why.
        let index = self.head().failure.load(SeqCst).saturating_sub(1) as usize;
        for _ in 0..10_000 {
            if self.slots[index].ended.load(SeqCst) != 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let text = self.head().reason.read();
        match self.head().kind.load(SeqCst) {
            UNSUPPORTED => BenchError::Unsupported(text),
            DENIED => BenchError::Denied(text),
            _ => BenchError::Failed(text),
        }
    }

    pub(crate) fn phase(&self) -> u32 {
        self.head().phase.load(Relaxed)
    }

    pub(crate) fn set_phase(&self, phase: u32) {
        self.head().phase.set(phase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_costs_one_slot_of_512_bytes() {
        const { assert!(SLOT_BYTES <= 512) };
        let (small, large) = (Board::new(2).expect("memory"), Board::new(MAX_MEMBERS).expect("memory"));
        assert!(large.slots.bytes() - small.slots.bytes() <= 512 * MAX_MEMBERS as usize);
        assert_eq!(small.header.bytes(), large.header.bytes());
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let board = Board::new(1).expect("memory");
        let text = &board.head().reason;
        assert_eq!(text.read(), "");
        for said in ["x", "eight888", "nine99999", "zwölf"] {
            text.write(said);
            assert_eq!(text.read(), said);
        }
        let long = "ö".repeat(REASON_WORDS * 4 + 9);
        text.write(&long);
        assert_eq!(text.read(), "ö".repeat(REASON_WORDS * 4));
        text.write(&format!("x{long}"));
        assert_eq!(text.read(), format!("x{}", "ö".repeat(REASON_WORDS * 4 - 1)));
    }

    #[test]
    fn only_the_first_failure_is_reported() {
        let board = Board::new(4).expect("memory");
        board.stop(2, DENIED, "no");
        board.stop(1, UNSUPPORTED, "not here");
        board.fail(3, "it broke");
        assert_eq!(board.reason(), BenchError::Denied("no".to_owned()));
        let ended: Vec<u32> = board.slots.iter().map(|s| s.ended.load(SeqCst)).collect();
        assert_eq!(ended, [0, 2, 2, 2]);
        assert_eq!(board.head().ended.load(SeqCst), 3);
        for (kind, stop) in
            [(UNSUPPORTED, BenchError::Unsupported("x".into())), (FAILED, BenchError::Failed("x".into()))]
        {
            let board = Board::new(1).expect("memory");
            board.stop(0, kind, "x");
            assert_eq!(board.reason(), stop);
        }
    }

    #[test]
    fn the_words_of_a_failure_are_waited_for() {
        let board = Board::new(2).expect("memory");
        // Announced, and not yet said.
        board.head().failure.store(2, SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Time for a reader that does not wait to be wrong; one that waits cannot be.
                std::thread::sleep(Duration::from_millis(30));
                board.head().kind.store(DENIED, SeqCst);
                board.head().reason.write("no");
                board.end(1, 2);
            });
            assert_eq!(board.reason(), BenchError::Denied("no".to_owned()));
        });
        // A recorded failure ends all waiting.
        let began = std::time::Instant::now();
        for _ in 0..20 {
            board.reason();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "it waits each time");
    }

    /// Each field has a value that no other has, and so that each byte of it counts.
    fn different(index: u64) -> MemberSample {
        let field = |n: u64| (index << 56) | (n * 0x0001_0203_0405_0607);
        MemberSample {
            variant: 0xfedc - index as usize,
            t1_ns: field(1),
            sample: Sample {
                worker: index as u32,
                cpu: 0x8123_4567 + index as u32,
                t0_ns: field(2),
                elapsed_ns: field(3),
                iters: field(4),
                cpu_ns: field(5),
                labels: Labels(0x89ab ^ index as u16),
                margin_ns: None,
            },
        }
    }

    #[test]
    fn a_sample_is_read_as_it_was_written_from_the_place_of_its_member() {
        for members in [1, 3, 64] {
            let board = Board::new(members).expect("memory");
            for index in 0..members {
                let kept = board.samples_of(index);
                assert_eq!(kept.len(), Board::samples_per_member(members));
                kept.iter().for_each(|place| place.write(&different(u64::from(index))));
                board.slots[index as usize].samples[SLOT_SAMPLES - 1].write(&different(u64::from(index) + 64));
            }
            for index in 0..members {
                let own = different(u64::from(index));
                assert!(
                    board.samples_of(index).iter().all(|place| place.read(index) == own),
                    "member {index} of {members}"
                );
                let slot = &board.slots[index as usize].samples[SLOT_SAMPLES - 1];
                assert_eq!(slot.read(index + 64), different(u64::from(index) + 64));
            }
        }
    }

    /// A group keeps no more in all than a worker that runs alone, down to the fewest for each.
    #[test]
    fn members_share_the_room_for_single_samples() {
        let of = |members| Board::samples_per_member(members) as u32;
        assert_eq!([1, 2, 4, 64, 65, MAX_MEMBERS].map(of), [256, 256, 128, 8, 8, 8]);
    }
}
