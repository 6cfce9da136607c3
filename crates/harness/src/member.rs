//! One member of a worker group: when it works, and how it takes its samples.

use crate::board::{Board, MemberSample, PARKED, SLOT_SAMPLES, STOP, WARM};
use crate::core_watch::CoreWatch;
use crate::error::BenchError;
use crate::instruments::Instruments;
use crate::iterations::{batch, time_once};
use crate::labels::{Rules, label};
use crate::model::{Label, Sample, Series, Timing};
use crate::sampler::{GROUP, Shape, group, preallocate, stretched};
use crate::variant::Variant;
use groma_stats::rng::Rng;
use std::sync::atomic::Ordering::SeqCst;

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
    /// There are more members than CPUs.
    pub crowded: bool,
}

/// The longest batch where single samples are kept: its two readings of the counters take 4 us.
const LONGEST_BATCH_NS: f64 = 200_000.0;
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
        Timetable { interval_ns, intervals, warm_ns, short: interval_ns < want, crowded: members > cpus }
    }
}

/// One member's side of a worker group.
pub(crate) struct Member<'b> {
    pub(crate) board: &'b Board,
    pub(crate) index: u32,
    pub(crate) timetable: Timetable,
    pub(crate) measured: bool,
}

/// The loops of a member, with what each batch of them does.
struct Loops<'v, 'b, 'i, I> {
    ins: &'i I,
    variants: &'v mut [Variant<'b>],
    batches: Vec<u64>,
    /// Iterations so far.
    total: u64,
}

impl<I: Instruments> Loops<'_, '_, '_, I> {
    /// One batch of a loop: its timed part, and its iterations.
    fn batch(&mut self, variant: usize) -> Result<(u64, u64), BenchError> {
        let iters = self.batches[variant];
        let (_, elapsed) = time_once(self.ins, &mut self.variants[variant], iters, &mut self.total)?;
        Ok((elapsed, iters))
    }
}

/// The single samples of one loop that a member has room for: all, or a uniform random sample of
/// them (Vitter, "Random sampling with a reservoir", ACM TOMS 1985).
struct Reservoir {
    kept: Vec<MemberSample>,
    room: usize,
    seen: u64,
}

impl Reservoir {
    fn new(room: usize) -> Reservoir {
        Reservoir { kept: preallocate(MemberSample { variant: 1, ..MemberSample::default() }, room), room, seen: 0 }
    }

    fn offer(&mut self, sample: MemberSample, rng: &mut Rng) {
        self.seen += 1;
        if self.kept.len() < self.room {
            self.kept.push(sample);
        } else if let Some(place) = self.kept.get_mut(rng.below(self.seen) as usize) {
            *place = sample;
        }
    }
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
        rng: &mut Rng,
    ) -> Result<(Vec<Series>, u64), BenchError> {
        if self.measured {
            return Err(BenchError::Failed("a member of a worker group measures once a round".to_owned()));
        }
        self.measured = true;
        let (board, slot) = (self.board, &self.board.slots[self.index as usize]);
        let head = board.head();
        let single = !self.timetable.crowded && !rules.rate;
        let mut loops = self.loops(ins, rules, variants)?;
        let room = Board::samples_per_member(board.slots.len() as u32) / loops.variants.len().max(1);
        let mut kept: Vec<Reservoir> = loops.variants.iter().map(|_| Reservoir::new(room)).collect();

        head.ready.count();
        head.phase.wait_while(PARKED);
        loops.batch(0)?;
        slot.first.store(ins.now_ns(), SeqCst);
        head.started.count();
        while board.phase() == WARM {
            loops.batch(0)?;
        }

        // Every variant has an interval, even where the time limit allows only one.
        let intervals = (self.timetable.intervals as usize).max(loops.variants.len()).min(SLOT_SAMPLES);
        for k in 0..intervals {
            let variant = k % loops.variants.len();
            let reservoir = single.then_some((&mut kept[variant], &mut *rng));
            slot.samples[k].write(&self.interval(&mut loops, variant, rules, reservoir)?);
            slot.count.store(k as u32 + 1, SeqCst);
        }
        head.done.count();
        while board.phase() < STOP {
            loops.batch(0)?;
        }
        // One more complete batch after STOP was seen: leaving it out broke the proof for 19 of
        // 2048 samples (docs/methods/timing.md#overlap-proof).
        loops.batch(0)?;
        slot.last.store(ins.now_ns(), SeqCst);
        slot.iterations.store(loops.total, SeqCst);
        let all = kept.iter().flat_map(|r| &r.kept);
        for (place, sample) in board.samples_of(self.index).iter().zip(all.clone()) {
            place.write(sample);
        }
        slot.kept.store(all.count() as u64, SeqCst);

        let iters = |batch: u64| if single && rules.timing == Timing::Each { 1 } else { batch };
        let series = loops.variants.iter().zip(&loops.batches);
        let series = series.map(|(variant, &batch)| variant.series(iters(batch), rules.clock_cost_ns));
        Ok((series.collect(), loops.total))
    }

    /// One interval of a loop, as a whole. With a reservoir its single samples are taken as those
    /// of a worker that runs alone, and offered to it.
    fn interval<I: Instruments>(
        &self,
        loops: &mut Loops<'_, '_, '_, I>,
        variant: usize,
        rules: &Rules,
        mut reservoir: Option<(&mut Reservoir, &mut Rng)>,
    ) -> Result<MemberSample, BenchError> {
        let ins = loops.ins;
        let mut singles = preallocate(Sample { iters: 1, ..Sample::default() }, 2 * GROUP as usize);
        let mut watch = CoreWatch::new(ins, rules.core, 0);
        let before = ins.reading();
        let was_idle = watch.look();
        let t0 = ins.now_ns();
        let (mut elapsed, mut iters) = (0, 0);
        let mut t1 = t0;
        while t1.saturating_sub(t0) < self.timetable.interval_ns && self.board.phase() < STOP {
            if let Some((reservoir, rng)) = &mut reservoir {
                let (loop_, total) = (&mut loops.variants[variant], &mut loops.total);
                // The last one is the estimate of how long an operation takes.
                singles.drain(..singles.len().saturating_sub(1));
                let (old, last_ns) = (singles.len(), singles.last().map_or(0, |single| single.elapsed_ns));
                let (each, batch) = (rules.timing == Timing::Each, loops.batches[variant]);
                // Of a batch each sample has labels of its own: in a group that shares CPUs, what
                // happens to one says nothing of the next.
                let shape = if each { Shape::single(Some(last_ns)) } else { Shape::batched(u64::MAX) };
                let count = |loop_: &Variant<'_>| if each { 1 } else { stretched(batch, loop_, rng) };
                t1 = group((ins, rules, &mut watch), loop_, shape, count, total, &mut singles)?;
                for single in &singles[old..] {
                    elapsed += single.elapsed_ns;
                    iters += single.iters;
                    // Up to the reading after it: what a body does besides its timed part is work
                    // of the group as well.
                    reservoir.offer(MemberSample { variant, t1_ns: t1, sample: *single }, rng);
                }
            } else {
                let (e, n) = loops.batch(variant)?;
                elapsed += e;
                iters += n;
                t1 = ins.now_ns();
            }
        }
        let after = ins.reading();
        let mut labels = label(&before, &after, rules);
        if !(watch.look() && was_idle) {
            labels.add(Label::Shared);
        }
        let sample = Sample {
            worker: self.index,
            cpu: after.cpu,
            t0_ns: t0,
            elapsed_ns: elapsed,
            iters,
            cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
            labels,
            margin_ns: None,
        };
        Ok(MemberSample { variant, t1_ns: t1, sample })
    }

    /// The loops with the iterations of a batch of each. A batch is at most a hundredth of the
    /// interval, so that the phase is polled often enough (docs/methods/timing.md#worker-groups),
    /// and no longer than [`LONGEST_BATCH_NS`].
    fn loops<'v, 'b, 'i, I: Instruments>(
        &self,
        ins: &'i I,
        rules: &Rules,
        variants: &'v mut [Variant<'b>],
    ) -> Result<Loops<'v, 'b, 'i, I>, BenchError> {
        let batch_ns = (self.timetable.interval_ns as f64 / 100.0).clamp(20_000.0, 500_000.0);
        let batch_ns = if rules.rate { batch_ns } else { batch_ns.min(rules.interval_ns.max(LONGEST_BATCH_NS)) };
        let mut total = 0;
        let batches: Result<_, _> = variants.iter_mut().map(|v| batch(ins, v, batch_ns, &mut total)).collect();
        Ok(Loops { ins, batches: batches?, variants, total })
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
            Timetable { interval_ns: 20_000_000, intervals: 8, warm_ns: 10_000_000, short: false, crowded: false }
        );
        // Where the scheduler places them, it has time to spread them.
        assert_eq!(
            Timetable::new(2, 2, false, 4e6, second),
            Timetable { interval_ns: 100_000_000, intervals: 8, warm_ns: 250_000_000, short: false, crowded: false }
        );
        // More members than CPUs: ten turns of the scheduler, a second at least, 30 s at most, and
        // never beyond the time limit.
        assert_eq!(Timetable::new(4, 2, false, 4e6, 5 * second).interval_ns, second);
        assert_eq!(Timetable::new(64, 2, false, 4e6, 5 * second).interval_ns, 1_280_000_000);
        assert_eq!(Timetable::new(4096, 1, false, 4e6, 100 * second).interval_ns, LONGEST_NS);
        let cut = Timetable::new(64, 2, false, 4e6, second / 10);
        assert_eq!((cut.interval_ns, cut.intervals, cut.short), (100_000_000, 1, true));
        assert_eq!(Timetable::new(64, 2, false, 4e6, 0).interval_ns, 20_000_000);
    }

    #[test]
    fn samples_are_kept_from_the_whole_duration() {
        let (mut reservoir, mut rng) = (Reservoir::new(64), Rng::new(1));
        for t0_ns in 0..6400 {
            let sample = Sample { t0_ns, ..Sample::default() };
            reservoir.offer(MemberSample { sample, ..MemberSample::default() }, &mut rng);
        }
        let early = reservoir.kept.iter().filter(|kept| kept.sample.t0_ns < 3200).count();
        assert_eq!(reservoir.kept.len(), 64);
        assert!((16..=48).contains(&early), "{early} of 64 are of the first half");
    }
}
