//! Works a plan off within its budget: rounds of all points in fresh random order, each round a fresh worker.
//!
//! The budget is a contract: the run ends within it. The first round is cheap and tells what each point costs; the rest of
//! the budget is then shared out (`shares.rs`): rounds once, sampling time again after each round. When all points have had
//! their rounds, what is left goes to those whose interval is still too wide, at the checkpoints of the stopping rule. Each
//! round is handed to the sink as it ends, so that a crash loses at most the one in flight.

use crate::plan::Planned;
use crate::progress::Progress;
use crate::shares;
use crate::supervise::{Ended, Supervisor};
use crate::workdir::WorkDir;
use anyhow::Result;
use groma_analysis::is_precise;
use groma_harness::Rng;
use groma_harness::model::{Fact, Host, Job, Profile, Remote, Round, RoundResult, State};
use groma_report::ROUND_WALL;
use groma_stats::rounds::checkpoints;
use std::time::{Duration, Instant};

/// How much is done in a round, and how many rounds there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds for every point, where the budget has room.
    pub(crate) rounds: u32,
    /// Rounds at most, for points that are not precise enough.
    pub(crate) most_rounds: u32,
    /// Intervals in a round.
    intervals: u32,
    /// The longest sampling in a round.
    sampling: Duration,
    /// The shortest warm-up.
    warm_up: Duration,
    /// The preflight's time.
    pub(crate) preflight: Duration,
    /// The default budget.
    pub(crate) budget: Duration,
}

impl Effort {
    /// The profile's effort (harness-methods.md 3.6: quick R = 6, n = 11; standard R = 9, n = 25). A quick run of everything
    /// has 10 s for six rounds of some 150 points: 11 ms each, worker and all.
    pub(crate) fn of(profile: Profile) -> Effort {
        let ms = Duration::from_millis;
        let most_rounds = checkpoints()[checkpoints().len() - 1] as u32;
        match profile {
            Profile::Quick => Effort {
                rounds: 6,
                most_rounds: 6,
                intervals: 11,
                sampling: ms(4),
                warm_up: ms(1),
                preflight: ms(400),
                budget: ms(10_000),
            },
            Profile::Standard => Effort {
                rounds: 9,
                most_rounds,
                intervals: 25,
                sampling: ms(40),
                warm_up: ms(10),
                preflight: ms(1500),
                budget: ms(60_000),
            },
            Profile::Rigorous => Effort {
                rounds: 17,
                most_rounds,
                intervals: 25,
                sampling: ms(60),
                warm_up: ms(10),
                preflight: ms(2000),
                budget: ms(600_000),
            },
        }
    }

    /// The effort with `share` of the sampling time, not below that of a quick run.
    pub(crate) fn thinned(self, share: f64) -> Effort {
        let floor = Effort::of(Profile::Quick);
        let thin = |time: Duration, floor: Duration| time.mul_f64(share).clamp(floor.min(time), time);
        Effort {
            intervals: ((f64::from(self.intervals) * share) as u32).clamp(floor.intervals, self.intervals),
            sampling: thin(self.sampling, floor.sampling),
            warm_up: thin(self.warm_up, floor.warm_up),
            ..self
        }
    }

    /// The time that a round spends on warming up and sampling, at most.
    pub(crate) fn length(&self) -> Duration {
        self.sampling + self.warm_up
    }
}

/// What the run is given.
pub(crate) struct Survey<'r> {
    pub(crate) supervisor: &'r Supervisor,
    pub(crate) effort: Effort,
    pub(crate) host: Host,
    pub(crate) seed: u64,
    pub(crate) started: Instant,
    pub(crate) budget: Duration,
    /// The longest that one round may take.
    pub(crate) deadline: Duration,
    pub(crate) work_dir: Option<WorkDir>,
    /// The other side of network benchmarks, when that is another machine.
    pub(crate) remote: Option<Remote>,
}

/// How the rounds ended.
#[derive(Debug, Default)]
pub(crate) struct RunOutcome {
    /// The rounds of each point.
    pub(crate) rounds: Vec<Vec<Round>>,
    /// The signal that ended the run, if one did.
    pub(crate) signal: Option<i32>,
    /// What the budget cost in precision, in words; empty when nothing.
    pub(crate) costs: Vec<String>,
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
    /// Nothing more to be had from it.
    settled: bool,
}

/// The longest that one point may take in all (harness-methods.md 3.6).
const POINT_CAP: Duration = Duration::from_secs(20);
/// Kept back from the budget for statistics and output.
const CLOSING: Duration = Duration::from_millis(500);

impl PointProgress {
    /// What a round has told about those to come: what they cost, what they repeat, and whether
    /// there is any use in them.
    fn learn(&mut self, result: &RoundResult, took: Duration) {
        self.cost = took;
        self.spent += took;
        if self.frozen.is_empty() && result.state == State::Ok {
            self.frozen = result.output.series.iter().map(|s| (s.name.clone(), s.iters)).collect();
        }
        // One bad end decides the metric; more rounds would only repeat it.
        self.settled = result.state != State::Ok;
    }
}

impl Survey<'_> {
    /// Works the plan off; `keep` is called with each round as it ends, and what it makes of it is kept here as well.
    ///
    /// # Errors
    /// Those of `keep`.
    pub(crate) fn work(
        &mut self,
        plan: &[Planned],
        progress: &mut Progress,
        mut keep: impl FnMut(usize, &mut Round) -> Result<()>,
    ) -> Result<RunOutcome> {
        let mut rng = Rng::new(self.seed);
        let mut courses: Vec<PointProgress> = plan
            .iter()
            .map(|_| PointProgress {
                rounds: Vec::new(),
                frozen: Vec::new(),
                cost: Duration::ZERO,
                spent: Duration::ZERO,
                target: self.effort.rounds,
                settled: false,
            })
            .collect();
        let mut worked = RunOutcome::default();
        // What cannot be measured here needs no worker, but a round: that is where its reason is kept.
        for (i, planned) in plan.iter().enumerate() {
            if let Some(why) = &planned.unsupported {
                let mut round = Round { round: 0, result: RoundResult::ended(State::Unsupported, why.clone()) };
                keep(i, &mut round)?;
                courses[i].rounds.push(round);
                courses[i].settled = true;
            }
        }
        let end = self.started + self.budget.saturating_sub(CLOSING.min(self.budget / 10));
        let mut effort = shares::first(self.effort, courses.iter().filter(|c| !c.settled).count(), self.budget);
        let mut round = 0u32;
        let mut least_sampling = 1.0f64;
        // Points that did not have the rounds of their share.
        let mut short = 0u32;
        'rounds: loop {
            let open = || (0..plan.len()).filter(|&i| !courses[i].settled);
            let mut order: Vec<usize> = open().filter(|&i| round < courses[i].target).collect();
            let shared_out = !order.is_empty();
            if !shared_out {
                // Everybody has had a share; go on with those that are not precise enough.
                order.extend(open().filter(|&i| {
                    let course = &courses[i];
                    course.rounds.len() < self.effort.most_rounds as usize
                        && course.spent < POINT_CAP
                        && !is_precise(&plan[i].point, &course.rounds)
                }));
            }
            if order.is_empty() {
                break;
            }
            rng.shuffle(&mut order);
            let mut left_out = 0;
            for &i in &order {
                let now = Instant::now();
                // A round that would be cut by the end of the budget is not begun, unless it is the point's first.
                let too_late = now + courses[i].cost >= end;
                if now >= end || (too_late && !courses[i].rounds.is_empty()) {
                    left_out += 1;
                    // What no longer fits is done; what is cheaper goes on.
                    if shared_out {
                        short += 1;
                        courses[i].target = courses[i].target.min(round);
                    }
                    continue;
                }
                let of = courses[i].target.max(round + 1);
                progress.show(&format!("round {}/{of}  {}", round + 1, plan[i].point.name()));
                let job = self.job(&plan[i], &courses[i], round, (&effort, plan.len()), &mut rng);
                let job = match job {
                    Ok(job) => job,
                    Err(e) => {
                        let result = RoundResult::ended(State::Failed, format!("{e:#}"));
                        let mut round = Round { round, result };
                        keep(i, &mut round)?;
                        courses[i].rounds.push(round);
                        courses[i].settled = true;
                        continue;
                    }
                };
                let padding = rng.below(4096) as usize;
                let deadline = self.deadline_of(&plan[i]);
                let ended = self.supervisor.run(&job, padding, deadline, Some(end));
                if job.work_dir.is_some()
                    && let Some(dir) = &self.work_dir
                {
                    // Whatever the benchmark left there is gone with its round.
                    dir.end_round();
                }
                let took = now.elapsed();
                match ended {
                    Ended::Signal(signal) => {
                        worked.signal = Some(signal);
                        break 'rounds;
                    }
                    Ended::OutOfBudget => {
                        left_out += 1;
                        short += u32::from(shared_out);
                    }
                    Ended::Result(mut result) => {
                        // The answer to where a budget went.
                        result.output.facts.push(Fact::new(ROUND_WALL, format!("{:.1}", took.as_secs_f64() * 1e3)));
                        let course = &mut courses[i];
                        course.learn(&result, took);
                        let mut round = Round { round, result };
                        keep(i, &mut round)?;
                        course.rounds.push(round);
                    }
                }
                // A signal that came between two rounds ends the run as well.
                if let Some(signal) = self.supervisor.signal() {
                    worked.signal = Some(signal);
                    break 'rounds;
                }
            }
            round += 1;
            if left_out == order.len() {
                break;
            }
            if !shared_out {
                continue;
            }
            let left = end.saturating_duration_since(Instant::now());
            if round == 1 {
                let open: Vec<usize> = (0..plan.len()).filter(|&i| !courses[i].settled).collect();
                let spent: Vec<Duration> = open.iter().map(|&i| courses[i].cost).collect();
                let more_rounds = shares::allocate_rounds(&self.effort, &effort, &spent, left);
                for (&i, more) in open.iter().zip(&more_rounds) {
                    courses[i].target = 1 + more;
                }
                let name = |at: usize| plan[open[at]].point.name();
                worked.costs.extend(shares::costs(&more_rounds, self.effort.rounds, &spent, name));
            }
            let owed: Vec<(Duration, u32)> =
                courses.iter().filter(|c| !c.settled).map(|c| (c.cost, c.target.saturating_sub(round))).collect();
            // Rounds beyond the shares are as long as the last of these: their costs are known.
            if owed.iter().any(|(_, rounds)| *rounds > 0) {
                let sampling = shares::sampling(&self.effort, &effort, &owed, left);
                effort = self.effort.thinned(sampling);
                least_sampling = least_sampling.min(sampling);
            }
        }
        if least_sampling < 1.0 {
            worked.costs.insert(0, format!("sampling cut to {:.0} % to fit", least_sampling * 100.0));
        }
        if short > 0 {
            worked.costs.push(format!("{short} of {} points not reached in their last rounds", plan.len()));
        }
        worked.rounds = courses.into_iter().map(|c| c.rounds).collect();
        Ok(worked)
    }

    fn deadline_of(&self, planned: &Planned) -> Duration {
        /// A crowded crew needs a turn of the scheduler for each phase of each member (14 s at 1024 on two CPUs).
        const CROWD: Duration = Duration::from_millis(60);
        if planned.point.workers > 1 { self.deadline + CROWD * planned.point.workers } else { self.deadline }
    }

    fn job(
        &mut self,
        planned: &Planned,
        course: &PointProgress,
        round: u32,
        (effort, points): (&Effort, usize),
        rng: &mut Rng,
    ) -> Result<Job> {
        let point = &planned.point;
        let work_dir = match &mut self.work_dir {
            Some(dir) if planned.work_dir => Some(dir.round()?),
            _ => None,
        };
        let sampling = if point.workers > 1 { self.group_sampling(effort, points) } else { effort.sampling };
        Ok(Job {
            id: point.bench.clone(),
            params: point.params.clone(),
            placement: point.placement.clone(),
            cpus: planned.cpus.clone(),
            workers: point.workers,
            worker_kind: point.worker_kind,
            round,
            seed: rng.next_u64(),
            intervals: effort.intervals,
            time_limit_ns: sampling.as_nanos() as u64,
            warm_ns: effort.warm_up.as_nanos() as u64,
            frozen: course.frozen.clone(),
            work_dir,
            remote: self.remote.clone(),
            host: self.host,
        })
    }

    /// Crews take intervals of 20 ms to 30 s (harness-methods.md 3.4): their box is the interval that the rule wants, as far as
    /// the point's part of the budget holds nine of them.
    fn group_sampling(&self, effort: &Effort, points: usize) -> Duration {
        effort.sampling.max(self.budget / 12 / points.max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{Labels, Params, Placement, Point, RoundOutput, Series, Timing, WorkerKind};
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
            cpus: vec![3, 3],
            unsupported: None,
            work_dir: false,
        }
    }

    fn course(frozen: Vec<(String, u64)>) -> PointProgress {
        PointProgress {
            rounds: Vec::new(),
            frozen,
            cost: Duration::ZERO,
            spent: Duration::ZERO,
            target: 9,
            settled: false,
        }
    }

    /// The jobs of so many rounds of three points, of a run with this seed.
    fn jobs(seed: u64, rounds: u32) -> Vec<Job> {
        let supervisor = Supervisor::new().expect("a supervisor");
        let effort = Effort::of(Profile::Standard);
        let mut survey = Survey {
            supervisor: &supervisor,
            effort,
            host: Host { timeslice_ns: 7.0, ..Host::UNKNOWN },
            seed,
            started: Instant::now(),
            budget: Duration::from_secs(60),
            deadline: Duration::from_secs(10),
            work_dir: None,
            remote: None,
        };
        let course = course(vec![("a".to_owned(), 12)]);
        let points = [planned("a.one", 1), planned("a.two", 1), planned("a.two", 4)];
        let mut rng = Rng::new(survey.seed);
        (0..rounds)
            .flat_map(|round| points.iter().map(move |point| (round, point)))
            .map(|(round, point)| survey.job(point, &course, round, (&effort, 3), &mut rng).expect("a job"))
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

    fn with_iterations(iters: u64) -> RoundResult {
        let series = Series { name: "a".to_owned(), iters, per_iter: 1.0, samples: Vec::new(), values: Vec::new() };
        RoundResult::ok(RoundOutput { series: vec![series], ..RoundOutput::default() })
    }

    #[test]
    fn the_iterations_of_the_first_good_round_stay() {
        let mut course = course(Vec::new());
        for (iters, ms) in [(12, 5), (13, 7), (14, 9)] {
            course.learn(&with_iterations(iters), Duration::from_millis(ms));
            assert_eq!(course.frozen, [("a".to_owned(), 12)]);
            assert_eq!(course.cost, Duration::from_millis(ms));
        }
        assert_eq!((course.spent, course.settled), (Duration::from_millis(21), false));
    }

    #[test]
    fn only_what_went_well_is_measured_again() {
        for state in [State::Unsupported, State::Denied, State::Failed, State::Timeout] {
            let mut course = course(Vec::new());
            course.learn(&RoundResult::ended(state, "a reason"), Duration::ZERO);
            assert!(course.settled && course.frozen.is_empty(), "{state:?}");
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
            // A worker group has the interval that its rule wants, as far as the budget has room: 60 s over 12 over 3 points.
            assert_eq!(job.time_limit_ns, if job.workers == 1 { 40_000_000 } else { 1_666_666_666 });
        }
    }
}
