//! The progress of a run: what is known of each point, the points of each round and their order,
//! and the allocation of the remaining budget. Measures nothing.

use super::{RunOutcome, Survey};
use crate::effort::Effort;
use crate::places::Cpus;
use crate::plan::Planned;
use crate::shares::{self, Share};
use anyhow::Result;
use groma_analysis::{half_width, is_precise, rounds_of_own};
use groma_harness::Rng;
use groma_harness::model::{Phase, Point, Round, RoundResult, State, Timing};
use groma_stats::need;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The progress of one point.
pub(super) struct PointProgress {
    pub(super) rounds: Vec<Round>,
    /// Those of them that only had samples beside a busy sibling.
    pub(super) beside: u32,
    /// Iterations per interval by series, from the first good round.
    pub(super) frozen: Vec<(String, u64)>,
    /// The wall time of its last round.
    pub(super) cost: Duration,
    /// Wall time spent on it.
    pub(super) spent: Duration,
    /// The rounds that its share of the budget allows.
    pub(super) affordable: u32,
    /// Its rounds at most: the last allocation that used new knowledge of all points.
    pub(super) most: u32,
    /// The number of rounds that it needs, relative to others; see [`need`].
    pub(super) need: f64,
    /// The rounds that are allocated to it.
    pub(super) target: u32,
    /// Whether it is done: no more rounds.
    pub(super) settled: bool,
}

/// A round with a costly set-up samples for at most so many times as long as another.
const MAX_SET_UP_FACTOR: f64 = 10.0;

/// Where the sibling is busy all the time, a point has this many rounds for each that is allocated.
const MAX_ROUNDS_PER_COUNTED: u32 = 3;
/// Only cheap rounds are made up for: longer ones took a tenth of a minute for three values.
const CHEAP: Duration = Duration::from_millis(50);

/// The longest that one point may take in all rounds together (docs/methods/timing.md#budget).
const POINT_CAP: Duration = Duration::from_secs(20);

impl PointProgress {
    /// Learns from a round for the next ones: their cost, their iterations, and whether more are
    /// useful.
    pub(super) fn learn(&mut self, result: &RoundResult, took: Duration) {
        self.cost = took;
        self.spent += took;
        if self.frozen.is_empty() && result.state == State::Ok {
            self.frozen = result.output.series.iter().map(|s| (s.name.clone(), s.iters)).collect();
        }
        // One bad round decides the state of the metric; more would repeat it.
        self.settled = result.state != State::Ok;
    }

    /// Adds a round.
    pub(super) fn add(&mut self, point: &Point, round: Round) {
        self.beside += 1 - rounds_of_own(point, std::slice::from_ref(&round)) as u32;
        self.rounds.push(round);
    }

    /// The rounds that count: those beside a busy sibling are made up for, as far as that goes.
    fn done(&self) -> u32 {
        let all = self.rounds.len() as u32;
        if self.cost > CHEAP {
            return all;
        }
        (all - self.beside).max(all.div_ceil(MAX_ROUNDS_PER_COUNTED))
    }

    /// The wall time for a round that counts.
    fn cost_of_counted(&self) -> Duration {
        self.cost.mul_f64(self.rounds.len() as f64 / f64::from(self.done().max(1)))
    }

    /// The wall time of its last round without sampling and warm-up.
    fn set_up(&self) -> Duration {
        let phases = self.rounds.last().map(|round| round.result.output.phases).unwrap_or_default();
        self.cost.saturating_sub(Duration::from_nanos(phases.of(Phase::Sampling) + phases.of(Phase::WarmUp)))
    }

    /// How long the last round of a stated value probed the core; 0 for others.
    fn search_time(&self, planned: &Planned) -> Duration {
        let Some(round) = self.rounds.last().filter(|_| planned.point.timing == Timing::Stated) else {
            return Duration::ZERO;
        };
        let output = &round.result.output;
        Duration::from_nanos(output.phases.of(Phase::Sampling).saturating_sub(output.core.waited_ns))
    }

    /// Ends the point with a round that holds the reason and no measurement.
    pub(super) fn close(
        &mut self,
        point: usize,
        round: u32,
        state: State,
        why: String,
        keep: &mut impl FnMut(usize, &mut Round) -> Result<()>,
    ) -> Result<()> {
        let mut round = Round { round, result: RoundResult::ended(state, why) };
        keep(point, &mut round)?;
        self.rounds.push(round);
        self.settled = true;
        Ok(())
    }
}

/// The progress of a run.
pub(super) struct Progress<'p> {
    pub(super) plan: &'p [Planned],
    /// The number of sides; with two, the points `2k` and `2k + 1` are a pair.
    pub(super) sides: usize,
    pub(super) points: Vec<PointProgress>,
    /// The effort of the current round.
    pub(super) effort: Effort,
    pub(super) round: u32,
    /// The warm-up of a round whose sides wake each other on CPUs that were not just doing that.
    pub(super) settling: Duration,
    /// The CPUs on which the sides of the last round woke each other, if they did.
    pub(super) adapted: Option<Cpus>,
    /// When the budget ends.
    pub(super) until: Instant,
    /// The smallest share of the full sampling time in any round.
    pub(super) least_sampling: f64,
    /// Points that did not get the rounds allocated to them.
    pub(super) short: BTreeSet<usize>,
    pub(super) outcome: RunOutcome,
}

/// The shortest warm-up of a round whose sides wake each other on different CPUs: idle governors,
/// halt polling and the scheduler adapt over tenths of a second (docs/methods/timing.md#warm-up).
/// It is shorter if these warm-ups would exceed their part of the budget. What adapts is the
/// machine, not the process: with one side, rounds on the same CPUs follow each other, and only the
/// first of them warms up for so long.
fn settling(survey: &Survey, plan: &[Planned]) -> Duration {
    const FULL: Duration = Duration::from_millis(200);
    const PART_OF_BUDGET: f64 = 0.05;
    let waking: Vec<&Planned> = plan.iter().filter(|planned| planned.wakes && planned.unsupported.is_none()).collect();
    let blocks = if survey.launchers.len() > 1 {
        waking.len()
    } else {
        waking.iter().enumerate().filter(|(i, p)| !waking[..*i].iter().any(|other| other.cpus == p.cpus)).count()
    };
    let blocks = survey.effort.rounds.max(1) as usize * blocks.max(1);
    FULL.min(survey.budget.mul_f64(PART_OF_BUDGET / blocks as f64))
}

/// The warm-up of a round whose sides wake each other where those of the round before did: for the
/// 5 to 10 ms between the two, nothing woke anything (docs/methods/timing.md#warm-up).
const READAPT: Duration = Duration::from_millis(5);

impl<'p> Progress<'p> {
    pub(super) fn new(survey: &Survey, plan: &'p [Planned]) -> Progress<'p> {
        let fresh = |_| PointProgress {
            rounds: Vec::new(),
            beside: 0,
            frozen: Vec::new(),
            cost: Duration::ZERO,
            spent: Duration::ZERO,
            affordable: survey.effort.rounds,
            most: survey.effort.rounds,
            need: 1.0,
            target: survey.effort.rounds,
            settled: false,
        };
        Progress {
            plan,
            sides: survey.launchers.len(),
            points: plan.iter().map(fresh).collect(),
            effort: survey.effort,
            round: 0,
            settling: settling(survey, plan),
            adapted: None,
            until: survey.started + survey.budget.saturating_sub(shares::closing(plan.len()).min(survey.budget / 10)),
            least_sampling: 1.0,
            short: BTreeSet::new(),
            outcome: RunOutcome::default(),
        }
    }

    /// The effort for a round of this point now: one whose sides wake each other warms up longer.
    pub(super) fn effort_with_warm_up(&self, i: usize) -> Effort {
        let planned = &self.plan[i];
        // With two sides, both warm up alike.
        let adapted = self.sides == 1 && self.adapted.as_ref() == Some(&planned.cpus);
        let settling = match planned.wakes {
            true if adapted => READAPT.min(self.settling),
            true => self.settling,
            false => Duration::ZERO,
        };
        let effort = self.effort.of_length(self.length(i));
        Effort { warm_up: effort.warm_up.max(settling), ..effort }
    }

    /// How long a round of this point samples: longer where its set-up takes long. By the rule of
    /// two-stage sampling (Cochran, "Sampling Techniques", 1977, 10.6), with rounds that differ as
    /// much as the parts of one do: by the root of the ratio of the two costs. A round that fills a
    /// gigabyte for 0.5 s and samples for 4 ms would be a waste
    /// (docs/methods/timing.md#effort).
    fn length(&self, i: usize) -> Duration {
        let sampling = self.effort.sampling;
        let longer = (self.set_up(i).as_secs_f64() / sampling.as_secs_f64()).sqrt().clamp(1.0, MAX_SET_UP_FACTOR);
        sampling.mul_f64(longer)
    }

    /// How long the last round of this point was set up, of a pair that of the longer side.
    pub(super) fn set_up(&self, i: usize) -> Duration {
        let other = self.other_side(i).map_or(Duration::ZERO, |other| self.points[other].set_up());
        other.max(self.points[i].set_up())
    }

    /// What the last round of this point spent on its set-up and its search; the next may wait for
    /// a part of that (docs/methods/neighbour.md#what-is-stated).
    pub(super) fn worth_waiting(&self, i: usize) -> Duration {
        self.set_up(i) + self.points[i].search_time(&self.plan[i])
    }

    /// Notes what a round of this point did to its CPUs. Returns how much longer it warmed up than
    /// one that follows it.
    pub(super) fn adapt(&mut self, i: usize) -> Duration {
        let planned = &self.plan[i];
        let warmed = self.effort_with_warm_up(i).warm_up;
        self.adapted = planned.wakes.then(|| planned.cpus.clone());
        warmed.saturating_sub(self.effort_with_warm_up(i).warm_up)
    }

    /// The other side of a point, if there are two.
    pub(super) fn other_side(&self, i: usize) -> Option<usize> {
        (self.sides == 2).then_some(i ^ 1)
    }

    /// The points in random order. Pairs stay together, their sides in random order. So do the
    /// points whose sides wake each other on the same CPUs, as one block.
    pub(super) fn in_random_order(&self, points: &[usize], rng: &mut Rng) -> Vec<usize> {
        let mut pairs: Vec<Vec<usize>> =
            points.chunk_by(|a, b| a / self.sides == b / self.sides).map(<[usize]>::to_vec).collect();
        rng.shuffle(&mut pairs);
        pairs.iter_mut().for_each(|pair| rng.shuffle(pair));
        let mut blocks: Vec<(Option<&Cpus>, Vec<usize>)> = Vec::new();
        for pair in pairs {
            let planned = &self.plan[pair[0]];
            let cpus = Some(&planned.cpus).filter(|_| planned.wakes);
            match blocks.iter_mut().find(|(of, _)| cpus.is_some() && *of == cpus) {
                Some((_, block)) => block.extend(pair),
                None => blocks.push((cpus, pair)),
            }
        }
        // Else the block would begin where the first of its points was drawn, which is early.
        rng.shuffle(&mut blocks);
        blocks.into_iter().flat_map(|(_, block)| block).collect()
    }

    /// The points that may still be measured.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> {
        self.points.iter().enumerate().filter(|(_, point)| !point.settled).map(|(i, _)| i)
    }

    /// The rounds of a point so far that count, of a pair those of the side with more: time may
    /// have run out between the two.
    fn done(&self, i: usize) -> u32 {
        let of = |i: usize| self.points[i].done();
        self.other_side(i).map_or(of(i), |other| of(i).max(of(other)))
    }

    /// Allocates no more rounds to a point, because its next round does not fit.
    pub(super) fn no_longer_fits(&mut self, i: usize) {
        let done = self.done(i);
        let point = &mut self.points[i];
        for rounds in [&mut point.affordable, &mut point.most, &mut point.target] {
            *rounds = done.min(*rounds);
        }
    }

    /// The points of the next round, and whether it is an allocated one.
    pub(super) fn next_points(&self, full: &Effort) -> (Vec<usize>, bool) {
        let allocated: Vec<usize> = self.open().filter(|&i| self.done(i) < self.points[i].target).collect();
        if !allocated.is_empty() {
            return (allocated, true);
        }
        // All points have had their rounds; continue with those that are not precise enough.
        let imprecise = self.open().filter(|&i| {
            let point = &self.points[i];
            point.rounds.len() < full.most_rounds as usize
                && point.spent < POINT_CAP
                && !(self.is_precise(i) && self.other_side(i).is_none_or(|other| self.is_precise(other)))
        });
        (imprecise.collect(), false)
    }

    pub(super) fn is_precise(&self, i: usize) -> bool {
        is_precise(&self.plan[i].point, &self.points[i].rounds)
    }

    /// The iterations of a point, fixed by its first good round or by that of its other side.
    pub(super) fn frozen(&self, i: usize) -> &[(String, u64)] {
        let own = &self.points[i].frozen;
        match self.other_side(i) {
            Some(other) if own.is_empty() => &self.points[other].frozen,
            _ => own,
        }
    }

    /// Allocates the rest of the budget. Called after each round, because the load of the machine
    /// can change what rounds cost. A point can gain rounds only twice: when its cost is known, and
    /// when the width of its interval is. Spare time goes to imprecise points.
    pub(super) fn allocate(&mut self, full: &Effort) {
        let left = self.until.saturating_duration_since(Instant::now());
        let open: Vec<usize> = self.open().collect();
        let (costs_known, widths_known) = (self.round == 1, self.round == shares::WITH_INTERVAL);
        if costs_known {
            let spent: Vec<Duration> = open.iter().map(|&i| self.points[i].cost).collect();
            for (&i, most) in open.iter().zip(shares::most_rounds(full, &self.effort, &spent, left)) {
                self.points[i].affordable = most;
            }
        }
        if widths_known {
            self.learn_needs();
        }
        if costs_known || widths_known {
            self.points.iter_mut().for_each(|point| point.most = point.affordable);
        }
        let share = |&i: &usize| {
            let PointProgress { most, need, .. } = self.points[i];
            let cost = self.points[i].cost_of_counted();
            Share { cost, done: self.done(i), most, need }
        };
        let known: Vec<Share> = open.iter().map(share).collect();
        for (&i, rounds) in open.iter().zip(shares::allocate_rounds(full, &self.effort, &known, left)) {
            self.points[i].target = rounds;
        }
        // A round of one side is useless without that of the other.
        for pair in self.points.chunks_mut(self.sides) {
            let least = pair.iter().map(|point| point.target).min().unwrap_or(0);
            pair.iter_mut().for_each(|point| point.target = least);
        }
        if costs_known || widths_known {
            self.points.iter_mut().for_each(|point| point.most = point.target);
        }
        let owed: Vec<(Duration, u32)> = open
            .iter()
            .map(|&i| (self.points[i].cost_of_counted(), self.points[i].target.saturating_sub(self.done(i))))
            .collect();
        // Rounds beyond the allocated ones sample as long as the last of these: their cost is
        // known.
        if owed.iter().any(|(_, rounds)| *rounds > 0) {
            let sampling = shares::sampling(full, &self.effort, &owed, left);
            self.effort = full.thinned(sampling);
            self.least_sampling = self.least_sampling.min(sampling);
        }
    }

    /// Computes how many rounds each point needs from the width of its interval; a pair needs those
    /// of its less precise side.
    fn learn_needs(&mut self) {
        let of = |(planned, point): (&Planned, &PointProgress)| half_width(&planned.point, &point.rounds).map(need);
        let needs: Vec<Option<f64>> = self.plan.iter().zip(&self.points).map(of).collect();
        for (pair, needs) in self.points.chunks_mut(self.sides).zip(needs.chunks(self.sides)) {
            let most = needs.iter().flatten().copied().reduce(f64::max).unwrap_or(1.0);
            pair.iter_mut().for_each(|point| point.need = most);
        }
    }

    pub(super) fn end(mut self, full: &Effort) -> RunOutcome {
        // A run that ended in its first round has no allocation.
        if self.round > 0 {
            let open: Vec<usize> = self.open().collect();
            let rounds: Vec<(u32, Duration)> =
                open.iter().map(|&i| (self.points[i].target, self.points[i].cost)).collect();
            let name = |at: usize| self.plan[open[at]].point.name();
            self.outcome.costs = shares::costs(&rounds, full.rounds, name);
        }
        let mut outcome = self.outcome;
        if self.least_sampling < 1.0 {
            outcome.costs.insert(0, format!("sampling cut to {:.0} % to fit", self.least_sampling * 100.0));
        }
        if !self.short.is_empty() {
            let points = self.plan.len();
            outcome.costs.push(format!("{} of {points} points not reached in their last rounds", self.short.len()));
        }
        outcome.rounds = self.points.into_iter().map(|point| point.rounds).collect();
        outcome
    }
}
