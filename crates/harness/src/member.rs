//! One member of a worker group: when it works, and how it takes its samples.

use crate::board::{Board, PARKED, SLOT_SAMPLES, STOP, WARM};
use crate::error::BenchError;
use crate::instruments::Instruments;
use crate::iterations::batch;
use crate::labels::{Rules, label};
use crate::model::Series;
use crate::stopwatch::Stopwatch;
use crate::sys::shared;
use crate::variant::Variant;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

/// How a worker group of this size is timed (docs/methods/timing.md#intervals-of-a-worker-group).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timetable {
    /// The length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// Intervals of each member.
    pub intervals: u32,
    /// The warm-up after everybody has started, in nanoseconds.
    pub warm_ns: u64,
    /// The interval is shorter than the rule wants.
    pub short: bool,
}

/// The longest interval (docs/methods/timing.md#intervals-of-a-worker-group).
const LONGEST_NS: u64 = 30_000_000_000;

impl Timetable {
    /// The timetable for `members` on `cpus` CPUs with at most `time_limit_ns` for all intervals.
    pub fn new(members: u32, cpus: u32, pinned: bool, timeslice_ns: f64, time_limit_ns: u64) -> Timetable {
        let turns = u64::from(members.div_ceil(cpus.max(1)));
        let (want, warm_ns) = if members > cpus {
            ((10 * turns * timeslice_ns as u64).max(1_000_000_000), 0)
        } else if pinned {
            (20_000_000, 10_000_000)
        } else {
            (100_000_000, 250_000_000)
        };
        let want = want.min(LONGEST_NS);
        // One interval at least, and never shorter than 20 ms, whatever the time limit says.
        let interval_ns = want.min(time_limit_ns.max(20_000_000));
        let intervals = (time_limit_ns / interval_ns).clamp(1, SLOT_SAMPLES as u64) as u32;
        Timetable { interval_ns, intervals, warm_ns, short: interval_ns < want }
    }
}

/// One member's side of a worker group.
pub(crate) struct Member<'b> {
    pub(crate) board: &'b Board,
    pub(crate) index: u32,
    pub(crate) timetable: Timetable,
    pub(crate) measured: bool,
}

impl Member<'_> {
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Works through the phases and puts the samples on the board.
    pub(crate) fn measure(
        &mut self,
        ins: &impl Instruments,
        rules: &Rules,
        variants: &mut [Variant<'_>],
    ) -> Result<(Vec<Series>, u64), BenchError> {
        if self.measured {
            return Err(BenchError::Failed("a member of a worker group measures once a round".to_owned()));
        }
        self.measured = true;
        let slot = &self.board.slots[self.index as usize];
        let head = self.board.head();
        let mut total = 0;

        let batches = self.batches(ins, variants, &mut total)?;

        head.ready.0.fetch_add(1, SeqCst);
        shared::wake(&head.ready.0);
        while self.board.phase() == PARKED {
            shared::wait(&head.phase.0, PARKED, None);
        }

        let mut turn = 0;
        let mut run_batch = |variants: &mut [Variant<'_>], variant: usize| -> Result<(u64, u64), BenchError> {
            let mut watch = Stopwatch::new(ins);
            (variants[variant].body)(batches[variant], &mut watch)?;
            variants[variant].done += batches[variant];
            total += batches[variant];
            Ok((watch.elapsed, batches[variant]))
        };
        run_batch(variants, 0)?;
        slot.first.store(ins.now_ns(), SeqCst);
        head.started.0.fetch_add(1, SeqCst);
        shared::wake(&head.started.0);
        while self.board.phase() == WARM {
            run_batch(variants, 0)?;
        }

        // Every variant has an interval, even where the time limit allows only one.
        let intervals = (self.timetable.intervals as usize).max(variants.len()).min(SLOT_SAMPLES);
        for k in 0..intervals {
            let variant = turn % variants.len();
            turn += 1;
            let before = ins.reading();
            let t0 = ins.now_ns();
            let (mut elapsed, mut iters) = (0, 0);
            let mut t1 = t0;
            while t1.saturating_sub(t0) < self.timetable.interval_ns && self.board.phase() < STOP {
                let (e, n) = run_batch(variants, variant)?;
                elapsed += e;
                iters += n;
                t1 = ins.now_ns();
            }
            let after = ins.reading();
            let labels = label(&before, &after, rules);
            let place = &slot.samples[k];
            place.t0.store(t0, Relaxed);
            place.t1.store(t1, Relaxed);
            place.elapsed.store(elapsed, Relaxed);
            place.iters.store(iters, Relaxed);
            place.cpu_ns.store(after.cpu_ns.saturating_sub(before.cpu_ns), Relaxed);
            place.tags.store(u64::from(after.cpu) << 32 | u64::from(labels.0) << 16 | variant as u64, Relaxed);
            slot.count.store(k as u32 + 1, SeqCst);
        }
        head.done.0.fetch_add(1, SeqCst);
        shared::wake(&head.done.0);
        while self.board.phase() < STOP {
            run_batch(variants, 0)?;
        }
        // One more complete batch after STOP was seen: leaving it out broke the proof for 19 of
        // 2048 samples (docs/methods/timing.md#overlap-proof).
        run_batch(variants, 0)?;
        slot.last.store(ins.now_ns(), SeqCst);
        slot.iterations.store(total, SeqCst);

        let series = variants.iter().zip(&batches).map(|(variant, &iters)| Series {
            name: variant.name.to_owned(),
            iters,
            per_iter: variant.per_iter,
            ..Series::default()
        });
        Ok((series.collect(), total))
    }

    /// The iterations of a batch of each variant. A batch is at most a hundredth of the interval, so
    /// that the phase is polled often enough (docs/methods/timing.md#worker-groups).
    fn batches(
        &self,
        ins: &impl Instruments,
        variants: &mut [Variant<'_>],
        total: &mut u64,
    ) -> Result<Vec<u64>, BenchError> {
        let batch_ns = (self.timetable.interval_ns as f64 / 100.0).clamp(20_000.0, 500_000.0);
        variants.iter_mut().map(|variant| batch(ins, variant, batch_ns, total)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_the_rule_of_the_worker_group() {
        let second = 1_000_000_000;
        // As many CPUs as members: pinned ones need less.
        assert_eq!(
            Timetable::new(2, 2, true, 4e6, second),
            Timetable { interval_ns: 20_000_000, intervals: 8, warm_ns: 10_000_000, short: false }
        );
        assert_eq!(Timetable::new(2, 2, false, 4e6, second).interval_ns, 100_000_000);
        // More members than CPUs: ten turns of the scheduler, a second at least, 30 s at most, and
        // never beyond the time limit.
        assert_eq!(Timetable::new(4, 2, false, 4e6, 5 * second).interval_ns, second);
        assert_eq!(Timetable::new(64, 2, false, 4e6, 5 * second).interval_ns, 1_280_000_000);
        assert_eq!(Timetable::new(4096, 1, false, 4e6, 100 * second).interval_ns, LONGEST_NS);
        let cut = Timetable::new(64, 2, false, 4e6, second / 10);
        assert_eq!((cut.interval_ns, cut.intervals, cut.short), (100_000_000, 1, true));
        assert_eq!(Timetable::new(64, 2, false, 4e6, 0).interval_ns, 20_000_000);
    }
}
