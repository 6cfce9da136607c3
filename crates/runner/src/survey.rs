//! Measures a plan within its budget: rounds of all points in fresh random order, each in a fresh
//! worker.
//!
//! The budget is a contract: the run ends within it. The first round is cheap and shows what each
//! point costs. The rest of the budget is then allocated (`shares.rs`): rounds once, sampling time
//! again after each round. When all points have had their rounds, what is left goes to those whose
//! interval is still too wide, at the checkpoints of the stopping rule. Each round is handed over
//! as it ends, so that a crash loses at most the one in flight.
//!
//! Sources: docs/methods/timing.md#order-of-rounds, docs/methods/timing.md#budget,
//! docs/methods/statistics.md#stopping.

use crate::chooser::Chooser;
use crate::effort::Effort;
use crate::launcher::Launcher;
use crate::observer::Observer;
use crate::places::Cpus;
use crate::plan::Planned;
use crate::shares;
use crate::supervise::{Ended, Supervisor};
use crate::workdir::WorkDir;
use anyhow::Result;
use groma_analysis::is_precise;
use groma_harness::Rng;
use groma_harness::model::{
    CoreRates, Fact, Host, Job, ROUND_ONCE, ROUND_WALL, Remote, Round, RoundResult, RunFile, State,
};
use groma_harness::stats::best_mode::best_mode;
use groma_harness::sys::load;
use std::time::{Duration, Instant};

/// A run that can begin.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Before the supervisor, because fields are dropped in order: the supervisor lets held signals
    /// through, and one of them could end the process before the directory is removed.
    pub(crate) work_dir: Option<WorkDir>,
    pub(crate) supervisor: Supervisor,
    /// What starts the workers of each side.
    pub(crate) launchers: Vec<Launcher>,
    pub(crate) effort: Effort,
    pub(crate) host: Host,
    /// What all probes of the core saw so far.
    pub(crate) core: CoreRates,
    pub(crate) seed: u64,
    /// Says which CPU a single task gets.
    pub(crate) chooser: Chooser,
    pub(crate) started: Instant,
    pub(crate) budget: Duration,
    /// The longest that one round may take.
    pub(crate) deadline: Duration,
    /// How long workers may still write to fill the file that the rounds share.
    pub(crate) fill: Duration,
    /// The machine of the peers of network benchmarks, when it is another one.
    pub(crate) remote: Option<Remote>,
}

/// How the rounds ended.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// The rounds of each point.
    pub rounds: Vec<Vec<Round>>,
    /// The signal that ended the run, if one did.
    pub signal: Option<i32>,
    /// What the budget cost in precision, one sentence each.
    pub costs: Vec<String>,
}

/// What is kept for a point while the run goes on.
struct PointProgress {
    rounds: Vec<Round>,
    /// Iterations per interval by series, from the first good round.
    frozen: Vec<(String, u64)>,
    /// The wall time of its last round.
    cost: Duration,
    /// Wall time spent on it.
    spent: Duration,
    /// Rounds that its share of the budget allows.
    target: u32,
    /// Not measured again.
    settled: bool,
}

/// The longest that one point may take in all rounds together (docs/methods/timing.md#budget).
const POINT_CAP: Duration = Duration::from_secs(20);
/// Kept back from the budget for statistics and output: of everything, and for each point besides.
const CLOSING: Duration = Duration::from_millis(500);
/// See [`CLOSING`]: a complete run of 376 points took 5 s for its statistics.
const CLOSING_POINT: Duration = Duration::from_millis(10);

/// What the end of a run of so many points takes.
fn closing(points: usize) -> Duration {
    CLOSING + CLOSING_POINT * points as u32
}

/// How long all rounds together may write to fill the file that they share: a share of the budget,
/// and not so long that the round would meet its deadline (docs/methods/operating-system.md#disk).
pub(crate) fn fill_time(budget: Duration, deadline: Duration) -> Duration {
    (budget / 20).min(deadline / 4)
}

/// What a round spent that no later one will.
fn once(result: &RoundResult) -> Duration {
    let ms: f64 = result.output.fact(ROUND_ONCE).and_then(|ms| ms.parse().ok()).unwrap_or(0.0);
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()
}

impl PointProgress {
    /// Learns from a round about those to come: their cost, their iterations, and whether more of
    /// them are useful.
    fn learn(&mut self, result: &RoundResult, took: Duration) {
        self.cost = took;
        self.spent += took;
        if self.frozen.is_empty() && result.state == State::Ok {
            self.frozen = result.output.series.iter().map(|s| (s.name.clone(), s.iters)).collect();
        }
        // One bad round decides the state of the metric; more would only repeat it.
        self.settled = result.state != State::Ok;
    }

    /// Ends the point with a round that was not measured, and the reason.
    fn close(
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

/// What became of a round.
enum Step {
    Measured,
    /// There was no time for it.
    LeftOut,
    /// This signal ended the run.
    Signal(i32),
}

/// How far a run has come.
struct Going<'p> {
    plan: &'p [Planned],
    /// The sides of the plan: with two, the points `2k` and `2k + 1` are a pair.
    sides: usize,
    points: Vec<PointProgress>,
    /// The effort of the current round.
    effort: Effort,
    round: u32,
    /// The warm-up of points whose sides wake each other on different CPUs.
    settling: Duration,
    /// When the budget ends.
    until: Instant,
    /// The smallest share of the full sampling time that a round had.
    least_sampling: f64,
    /// Points that did not get the rounds allocated to them.
    short: u32,
    outcome: RunOutcome,
}

/// The shortest warm-up of points whose sides wake each other on different CPUs: idle governors, halt
/// polling and the scheduler adapt over tenths of a second (docs/methods/timing.md#warm-up). Where
/// there are many such points, what a part of the budget has for each round of each.
fn settling(survey: &Survey, plan: &[Planned]) -> Duration {
    const FULL: Duration = Duration::from_millis(200);
    const PART_OF_BUDGET: f64 = 0.2;
    let points = plan.iter().filter(|planned| planned.wakes && planned.unsupported.is_none()).count();
    let rounds = survey.effort.rounds.max(1) as usize * points.max(1);
    FULL.min(survey.budget.mul_f64(PART_OF_BUDGET / rounds as f64))
}

impl<'p> Going<'p> {
    fn new(survey: &Survey, plan: &'p [Planned]) -> Going<'p> {
        let fresh = |_| PointProgress {
            rounds: Vec::new(),
            frozen: Vec::new(),
            cost: Duration::ZERO,
            spent: Duration::ZERO,
            target: survey.effort.rounds,
            settled: false,
        };
        Going {
            plan,
            sides: survey.launchers.len(),
            points: plan.iter().map(fresh).collect(),
            effort: survey.effort,
            round: 0,
            settling: settling(survey, plan),
            until: survey.started + survey.budget.saturating_sub(closing(plan.len()).min(survey.budget / 10)),
            least_sampling: 1.0,
            short: 0,
            outcome: RunOutcome::default(),
        }
    }

    /// The effort for this point: those that wake other CPUs warm up longer.
    fn warmed(&self, i: usize) -> Effort {
        let settling = if self.plan[i].wakes { self.settling } else { Duration::ZERO };
        Effort { warm_up: self.effort.warm_up.max(settling), ..self.effort }
    }

    /// The other side of a point, where there is one.
    fn other_side(&self, i: usize) -> Option<usize> {
        (self.sides == 2).then_some(i ^ 1)
    }

    /// The points in random order: pairs stay together, and which side is first is random as well.
    fn in_random_order(&self, points: &[usize], rng: &mut Rng) -> Vec<usize> {
        let mut pairs: Vec<Vec<usize>> =
            points.chunk_by(|a, b| a / self.sides == b / self.sides).map(<[usize]>::to_vec).collect();
        rng.shuffle(&mut pairs);
        pairs.iter_mut().for_each(|pair| rng.shuffle(pair));
        pairs.concat()
    }

    /// The points that may still be measured.
    fn open(&self) -> impl Iterator<Item = usize> {
        self.points.iter().enumerate().filter(|(_, point)| !point.settled).map(|(i, _)| i)
    }

    /// The points of the next round, and whether it is one of those that were allocated.
    fn next_points(&self, full: &Effort) -> (Vec<usize>, bool) {
        let allocated: Vec<usize> = self.open().filter(|&i| self.round < self.points[i].target).collect();
        if !allocated.is_empty() {
            return (allocated, true);
        }
        // All points have had their rounds; go on with those that are not precise enough.
        let imprecise = self.open().filter(|&i| {
            let point = &self.points[i];
            point.rounds.len() < full.most_rounds as usize
                && point.spent < POINT_CAP
                && !(self.is_precise(i) && self.other_side(i).is_none_or(|other| self.is_precise(other)))
        });
        (imprecise.collect(), false)
    }

    fn is_precise(&self, i: usize) -> bool {
        is_precise(&self.plan[i].point, &self.points[i].rounds)
    }

    /// The iterations that the rounds of a point have: those of its first good round, or of that of
    /// its other side.
    fn frozen(&self, i: usize) -> &[(String, u64)] {
        let own = &self.points[i].frozen;
        match self.other_side(i) {
            Some(other) if own.is_empty() => &self.points[other].frozen,
            _ => own,
        }
    }

    /// Allocates what is left of the budget: rounds after the first one, sampling time after each.
    fn allocate(&mut self, full: &Effort) {
        let left = self.until.saturating_duration_since(Instant::now());
        if self.round == 1 {
            let open: Vec<usize> = self.open().collect();
            let spent: Vec<Duration> = open.iter().map(|&i| self.points[i].cost).collect();
            let more_rounds = shares::allocate_rounds(full, &self.effort, &spent, left);
            for (&i, more) in open.iter().zip(&more_rounds) {
                self.points[i].target = 1 + more;
            }
            // A round of one side is worth nothing without that of the other.
            for pair in self.points.chunks_mut(self.sides) {
                let least = pair.iter().map(|point| point.target).min().unwrap_or(0);
                pair.iter_mut().for_each(|point| point.target = least);
            }
            let name = |at: usize| self.plan[open[at]].point.name();
            self.outcome.costs.extend(shares::costs(&more_rounds, full.rounds, &spent, name));
        }
        let owed: Vec<(Duration, u32)> =
            self.open().map(|i| (self.points[i].cost, self.points[i].target.saturating_sub(self.round))).collect();
        // Rounds beyond those allocated sample as long as the last of these: their cost is known.
        if owed.iter().any(|(_, rounds)| *rounds > 0) {
            let sampling = shares::sampling(full, &self.effort, &owed, left);
            self.effort = full.thinned(sampling);
            self.least_sampling = self.least_sampling.min(sampling);
        }
    }

    fn end(self) -> RunOutcome {
        let mut outcome = self.outcome;
        if self.least_sampling < 1.0 {
            outcome.costs.insert(0, format!("sampling cut to {:.0} % to fit", self.least_sampling * 100.0));
        }
        if self.short > 0 {
            let points = self.plan.len();
            outcome.costs.push(format!("{} of {points} points not reached in their last rounds", self.short));
        }
        outcome.rounds = self.points.into_iter().map(|point| point.rounds).collect();
        outcome
    }
}

impl Survey {
    /// Measures the plan. `keep` is called with each round as it ends, and may change what is kept
    /// of it.
    ///
    /// # Errors
    /// Those of `keep`.
    pub(crate) fn work(
        &mut self,
        plan: &[Planned],
        observer: &mut dyn Observer,
        mut keep: impl FnMut(usize, &mut Round) -> Result<()>,
    ) -> Result<RunOutcome> {
        let mut rng = Rng::new(self.seed);
        let mut going = Going::new(self, plan);
        // What cannot be measured here needs no worker, but a round, which holds the reason.
        for (i, planned) in plan.iter().enumerate() {
            if let Some(why) = &planned.unsupported {
                going.points[i].close(i, 0, State::Unsupported, why.clone(), &mut keep)?;
            }
        }
        going.effort = shares::first(self.effort, going.open().count(), self.budget);
        'rounds: loop {
            let (order, allocated) = going.next_points(&self.effort);
            if order.is_empty() {
                break;
            }
            let order = going.in_random_order(&order, &mut rng);
            let mut left_out = 0;
            for &i in &order {
                // Both sides of a pair draw the same: the seed of the benchmark, its CPU, its stack.
                let mut of_pair = rng.fork((i / 2) as u64);
                let draws = if going.sides == 2 { &mut of_pair } else { &mut rng };
                match self.round(&mut going, i, allocated, draws, observer, &mut keep)? {
                    Step::Measured => {}
                    Step::LeftOut => left_out += 1,
                    Step::Signal(signal) => {
                        going.outcome.signal = Some(signal);
                        break 'rounds;
                    }
                }
            }
            going.round += 1;
            if left_out == order.len() {
                break;
            }
            if allocated {
                going.allocate(&self.effort);
            }
        }
        Ok(going.end())
    }

    /// Measures one round of a point, where there is time for it.
    fn round(
        &mut self,
        going: &mut Going<'_>,
        i: usize,
        allocated: bool,
        rng: &mut Rng,
        observer: &mut dyn Observer,
        keep: &mut impl FnMut(usize, &mut Round) -> Result<()>,
    ) -> Result<Step> {
        let (now, round, planned) = (Instant::now(), going.round, &going.plan[i]);
        // A round that the end of the budget would cut is not begun, unless it is the point's
        // first.
        let too_late = now + going.points[i].cost >= going.until;
        if now >= going.until || (too_late && !going.points[i].rounds.is_empty()) {
            // This point no longer fits; cheaper ones go on.
            if allocated {
                going.short += 1;
                going.points[i].target = going.points[i].target.min(round);
            }
            return Ok(Step::LeftOut);
        }
        let of = going.points[i].target.max(round + 1);
        observer.next(&format!("round {}/{of}  {}", round + 1, planned.point.name()));
        let job = match self.job(planned, going.frozen(i), round, (&going.warmed(i), going.plan.len()), rng) {
            Ok(job) => job,
            Err(e) => {
                going.points[i].close(i, round, State::Failed, format!("{e:#}"), keep)?;
                return Ok(Step::Measured);
            }
        };
        let padding = rng.below(4096) as usize;
        let launcher = &self.launchers[planned.side];
        let ended = self.supervisor.run((&job, launcher), padding, self.deadline_of(planned), Some(going.until));
        if job.work_dir.is_some()
            && let Some(dir) = &self.work_dir
        {
            // Whatever the benchmark left there is removed with its round.
            dir.end_round();
        }
        let took = now.elapsed();
        let step = match ended {
            Ended::Signal(signal) => return Ok(Step::Signal(signal)),
            Ended::OutOfBudget => {
                going.short += u32::from(allocated);
                Step::LeftOut
            }
            Ended::Result(mut result) => {
                // Shown by `groma show --times`.
                result.output.facts.push(Fact::new(ROUND_WALL, format!("{:.1}", took.as_secs_f64() * 1e3)));
                let once = once(&result);
                self.fill = self.fill.saturating_sub(once);
                self.learn_of_core(&result.output.core);
                going.points[i].learn(&result, took.saturating_sub(once));
                let mut round = Round { round, result };
                keep(i, &mut round)?;
                going.points[i].rounds.push(round);
                observer.measured(&planned.point, &going.points[i].rounds, &self.host);
                Step::Measured
            }
        };
        // A signal that came between two rounds ends the run as well.
        Ok(self.supervisor.signal().map_or(step, Step::Signal))
    }

    /// Takes the boundary between a core of its own and a shared one from all probes so far.
    fn learn_of_core(&mut self, seen: &CoreRates) {
        self.core.add(seen);
        if let (Some(core), Some(found)) = (&mut self.host.core, best_mode(&self.core.rates.0)) {
            core.learn(found.center, found.ends_at);
        }
    }

    fn run_file(&self, wanted: bool) -> Option<RunFile> {
        let path = self.work_dir.as_ref().filter(|_| wanted)?.file()?;
        Some(RunFile { path, fill_ns: self.fill.as_nanos() as u64 })
    }

    fn deadline_of(&self, planned: &Planned) -> Duration {
        /// A crowded worker group needs a time slice for each phase of each member (14 s for 1024
        /// members on two CPUs).
        const CROWD: Duration = Duration::from_millis(60);
        if planned.point.workers > 1 { self.deadline + CROWD * planned.point.workers } else { self.deadline }
    }

    fn job(
        &mut self,
        planned: &Planned,
        frozen: &[(String, u64)],
        round: u32,
        (effort, points): (&Effort, usize),
        rng: &mut Rng,
    ) -> Result<Job> {
        let point = &planned.point;
        let work_dir = match &mut self.work_dir {
            Some(dir) if planned.work_dir => Some(dir.round()?),
            _ => None,
        };
        let (seed, draw) = (rng.next_u64(), rng.next_u64());
        let cpus = match &planned.cpus {
            Cpus::Any => Vec::new(),
            Cpus::Each(cpus) => cpus.clone(),
            Cpus::OneOf(site) => vec![self.chooser.pick(&site.cpus, &load::of_cpus(), draw)],
        };
        self.chooser.runs_on(&cpus);
        let sampling = if planned.group { self.group_sampling(effort, points) } else { effort.sampling };
        Ok(Job {
            id: point.bench.clone(),
            params: point.params.clone(),
            placement: point.placement.clone(),
            cpus,
            workers: point.workers,
            group: planned.group,
            worker_kind: point.worker_kind,
            round,
            seed,
            intervals: effort.intervals,
            time_limit_ns: sampling.as_nanos() as u64,
            warm_ns: effort.warm_up.as_nanos() as u64,
            frozen: frozen.to_vec(),
            run_file: self.run_file(work_dir.is_some()),
            work_dir,
            remote: self.remote.clone(),
            host: self.host,
        })
    }

    /// Worker groups take intervals of 20 ms to 30 s
    /// (docs/methods/timing.md#intervals-of-a-worker-group): their time limit is the interval that
    /// the rule wants, as far as nine of them fit into the point's part of the budget.
    fn group_sampling(&self, effort: &Effort, points: usize) -> Duration {
        effort.sampling.max(self.budget / 12 / points.max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{Labels, Params, Placement, Point, Profile, RoundOutput, Series, Timing, WorkerKind};
    use std::collections::BTreeSet;

    fn planned(bench: &str, workers: u32) -> Planned {
        Planned {
            point: Point {
                bench: bench.to_owned(),
                version: 1,
                params: Params::default(),
                params_text: String::new(),
                placement: Placement::SameCpu,
                workers,
                worker_kind: WorkerKind::Threads,
                timing: Timing::Batched,
                drops: Labels::NONE,
                target_half_width: 0.01,
                metrics: Vec::new(),
            },
            cpus: Cpus::Each(vec![3, 3]),
            group: workers > 1,
            unsupported: None,
            wakes: false,
            work_dir: false,
            side: 0,
        }
    }

    fn progress(frozen: Vec<(String, u64)>) -> PointProgress {
        PointProgress {
            rounds: Vec::new(),
            frozen,
            cost: Duration::ZERO,
            spent: Duration::ZERO,
            target: 9,
            settled: false,
        }
    }

    /// A run of a minute with this seed, before its first round, with so many sides.
    fn survey(seed: u64, sides: usize) -> Survey {
        Survey {
            core: CoreRates::default(),
            launchers: vec![Launcher::default(); sides],
            supervisor: Supervisor::new().expect("a supervisor"),
            effort: Effort::of(Profile::Standard),
            host: Host { timeslice_ns: 7.0, ..Host::UNKNOWN },
            seed,
            chooser: Chooser::new(&[]),
            started: Instant::now(),
            budget: Duration::from_secs(60),
            deadline: Duration::from_secs(10),
            fill: Duration::ZERO,
            work_dir: None,
            remote: None,
        }
    }

    /// The jobs of `rounds` rounds of three points, in a run with this seed.
    fn jobs(seed: u64, rounds: u32) -> Vec<Job> {
        let mut survey = survey(seed, 1);
        let effort = survey.effort;
        let frozen = [("a".to_owned(), 12)];
        let points = [planned("a.one", 1), planned("a.two", 1), planned("a.two", 4)];
        let mut rng = Rng::new(survey.seed);
        (0..rounds)
            .flat_map(|round| points.iter().map(move |point| (round, point)))
            .map(|(round, point)| survey.job(point, &frozen, round, (&effort, 3), &mut rng).expect("a job"))
            .collect()
    }

    #[test]
    fn every_round_of_every_point_has_a_seed_of_its_own_that_comes_from_the_seed_of_the_run() {
        let seeds = |run: u64| -> Vec<u64> { jobs(run, 5).iter().map(|job| job.seed).collect() };
        let (one, again, other) = (seeds(1), seeds(1), seeds(2));
        assert_eq!(one, again);
        let distinct: BTreeSet<u64> = one.iter().chain(&other).copied().collect();
        assert_eq!(distinct.len(), 30, "{one:?} {other:?}");
    }

    #[test]
    fn both_sides_of_a_pair_are_neighbours_in_random_order() {
        let survey = survey(5, 2);
        let plan: Vec<Planned> =
            (0..5).flat_map(|_| [0, 1].map(|side| Planned { side, ..planned("a.one", 1) })).collect();
        let going = Going::new(&survey, &plan);
        let mut rng = Rng::new(survey.seed);
        let mut orders = BTreeSet::new();
        for _ in 0..50 {
            // The last point has one side left.
            let order = going.in_random_order(&[0, 1, 2, 3, 4, 5, 8], &mut rng);
            let mut pairs: Vec<&[usize]> = order.chunk_by(|a, b| a / 2 == b / 2).collect();
            assert_eq!(pairs.len(), 4, "{order:?}");
            pairs.retain(|pair| pair.len() == 2);
            assert_eq!(pairs.len(), 3, "{order:?}");
            orders.insert((order[0], pairs.iter().map(|pair| pair[0] % 2).collect::<Vec<_>>()));
        }
        assert!(orders.len() > 15, "both the pairs and their sides are shuffled: {}", orders.len());
        // Iterations are those of whichever side was measured first.
        let mut going = going;
        going.points[3].frozen = vec![("a".to_owned(), 9)];
        assert_eq!((going.frozen(2), going.frozen(3)), (&[("a".to_owned(), 9)][..], &[("a".to_owned(), 9)][..]));
        assert!(going.frozen(4).is_empty());
    }

    fn with_iterations(iters: u64) -> RoundResult {
        let series = Series { name: "a".to_owned(), iters, per_iter: 1.0, ..Series::default() };
        RoundResult::ok(RoundOutput { series: vec![series], ..RoundOutput::default() })
    }

    #[test]
    fn the_iterations_of_the_first_good_round_stay() {
        let mut progress = progress(Vec::new());
        for (iters, ms) in [(12, 5), (13, 7), (14, 9)] {
            progress.learn(&with_iterations(iters), Duration::from_millis(ms));
            assert_eq!(progress.frozen, [("a".to_owned(), 12)]);
            assert_eq!(progress.cost, Duration::from_millis(ms));
        }
        assert_eq!((progress.spent, progress.settled), (Duration::from_millis(21), false));
    }

    #[test]
    fn only_what_went_well_is_measured_again() {
        for state in [State::Unsupported, State::Denied, State::Failed, State::Timeout] {
            let mut progress = progress(Vec::new());
            progress.learn(&RoundResult::ended(state, "a reason"), Duration::ZERO);
            assert!(progress.settled && progress.frozen.is_empty(), "{state:?}");
        }
    }

    #[test]
    fn a_job_is_what_was_planned() {
        let jobs = jobs(1, 2);
        for (i, job) in jobs.iter().enumerate() {
            assert_eq!((job.round, job.workers), ([0, 1][i / 3], [1, 1, 4][i % 3]));
            assert_eq!((job.id.as_str(), &job.placement), (["a.one", "a.two", "a.two"][i % 3], &Placement::SameCpu));
            assert_eq!((job.cpus.as_slice(), job.frozen.as_slice()), (&[3, 3][..], &[("a".to_owned(), 12)][..]));
            assert_eq!((job.intervals, job.warm_ns, job.worker_kind), (25, 10_000_000, WorkerKind::Threads));
            assert_eq!((job.host.timeslice_ns, job.work_dir.as_ref()), (7.0, None));
            // A worker group has the interval that its rule wants, as far as the budget has room:
            // 60 s over 12 over 3 points.
            assert_eq!(job.time_limit_ns, if job.workers == 1 { 40_000_000 } else { 1_666_666_666 });
        }
    }
}
