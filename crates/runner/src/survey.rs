//! Measures a plan within its budget: rounds of all points, in a new random order each time, each
//! in a fresh worker.
//!
//! The run always ends within its budget. The first round is cheap and shows what each point costs.
//! Then the rest of the budget is allocated (`shares.rs`), and again after each round. When all
//! points have had their rounds, the remaining time goes to those whose interval is still too wide,
//! at the checkpoints of the stopping rule. Each round is handed over as it ends, so that a crash
//! loses at most the round in flight.
//!
//! Sources: docs/methods/timing.md#order-of-rounds, docs/methods/timing.md#budget,
//! docs/methods/statistics.md#stopping.

mod neighbours;
pub(crate) mod present;
mod progress;

use crate::chooser::Chooser;
use crate::conditions::{Conditions, NotEntered};
use crate::effort::Effort;
use crate::launcher::Launcher;
use crate::places::Cpus;
use crate::plan::Planned;
use crate::shares;
use crate::supervise::{Ended, Supervisor};
use crate::workdir::WorkDir;
use anyhow::Result;
use groma_harness::Rng;
use groma_harness::core_probe;
use groma_harness::model::{
    CoreRates, CpuLimit, Fact, Host, Job, Point, ROUND_ONCE, ROUND_WALL, Remote, Round, RoundResult, RunFile, State,
};
use groma_harness::sys::affinity;
use groma_harness::sys::load::{self, CpuTime};
pub(crate) use neighbours::Neighbours;
use present::Present;
use progress::Progress;
use std::time::{Duration, Instant};

/// Callbacks that report the progress of a run. Called between rounds, never during one.
pub trait Observer {
    /// What is measured next.
    fn next(&mut self, what: &str);

    /// The rounds of a point so far; the last has just ended.
    fn on_round(&mut self, _point: &Point, _rounds: &[Round], _host: &Host) {}

    /// A warning: the run continues without something.
    fn warn(&mut self, text: &str);
}

/// A run that is ready to begin.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Before the supervisor, because fields are dropped in order: the supervisor unblocks signals,
    /// and one of them could end the process before the directory is removed.
    pub(crate) work_dir: Option<WorkDir>,
    /// Before the supervisor for the same reason.
    pub(crate) conditions: Option<Conditions>,
    pub(crate) supervisor: Supervisor,
    /// The launchers of the sides.
    pub(crate) launchers: Vec<Launcher>,
    pub(crate) effort: Effort,
    pub(crate) host: Host,
    /// The results of all core probes so far.
    pub(crate) core: CoreRates,
    /// What the rounds saw of the neighbours of each CPU lately.
    pub(crate) neighbours: Neighbours,
    pub(crate) seed: u64,
    /// Draws the CPUs of single tasks.
    pub(crate) chooser: Chooser,
    /// Which CPUs there are now.
    pub(crate) present: Present,
    pub(crate) started: Instant,
    pub(crate) budget: Duration,
    /// The longest that one round may take.
    pub(crate) deadline: Duration,
    /// The time that workers may still take to fill the file that the rounds share.
    pub(crate) fill: Duration,
    /// The machine of the peers of network benchmarks, if it is another one.
    pub(crate) remote: Option<Remote>,
}

/// How the rounds ended.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// The rounds of each point.
    pub rounds: Vec<Vec<Round>>,
    /// The signal that ended the run, if one did.
    pub signal: Option<i32>,
    /// What was cut to fit the budget, one sentence each.
    pub costs: Vec<String>,
    /// Why the run ended early: the state of a side could not be entered.
    pub stopped: Option<String>,
    /// What could not be restored of the machine's state.
    pub unrestored: Option<String>,
    /// The CPU quota of the run's own control groups and what it took; `None` without one.
    pub cpu_limit: Option<CpuLimit>,
    /// How many CPUs the run was allowed to use at its start and at its end, if that became fewer.
    pub fewer_cpus: Option<[u32; 2]>,
}

/// The time that all rounds together may take to fill the file that they share: a part of the
/// budget, well below the deadline of a round (docs/methods/operating-system.md#disk).
pub(crate) fn fill_time(budget: Duration, deadline: Duration) -> Duration {
    (budget / 20).min(deadline / 4)
}

/// The times of the CPUs that may be used now: a control group can take some away during a run.
fn usable() -> Vec<CpuTime> {
    let mut times = load::of_cpus();
    if let Ok(allowed) = affinity::allowed() {
        times.retain(|time| allowed.contains(&time.cpu));
    }
    times
}

/// The time that a round spent on work that is done once a run.
fn once(result: &RoundResult) -> Duration {
    let ms: f64 = result.output.fact(ROUND_ONCE).and_then(|ms| ms.parse().ok()).unwrap_or(0.0);
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()
}

/// Handing over a round for longer than this was waiting, which is no time of the budget.
const LONG_WAIT: Duration = Duration::from_millis(500);

/// The outcome of a round.
enum Step {
    Measured,
    /// There was no time left for it.
    LeftOut,
    /// This signal ended the run.
    Signal(i32),
    /// The state of its side could not be entered, for this reason.
    Stopped(String),
}

impl Survey {
    /// Measures the plan. `keep` is called with each round as it ends, and may change it.
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
        let mut progress = Progress::new(self, plan);
        // A point that cannot be measured here gets a round that holds the reason, without a
        // worker.
        for (i, planned) in plan.iter().enumerate() {
            if let Some(why) = &planned.unsupported {
                progress.points[i].close(i, 0, State::Unsupported, why.clone(), &mut keep)?;
            }
        }
        progress.effort = shares::first(self.effort, progress.open().count(), self.budget);
        'rounds: loop {
            let (order, allocated) = progress.next_points(&self.effort);
            if order.is_empty() {
                break;
            }
            let order = progress.in_random_order(&order, &mut rng);
            let mut left_out = 0;
            for &i in &order {
                // Both sides of a pair draw the same numbers: for the seed, the CPU, the stack.
                let mut of_pair = rng.fork((i / 2) as u64);
                let draws = if progress.sides == 2 { &mut of_pair } else { &mut rng };
                match self.round(&mut progress, i, allocated, draws, observer, &mut keep)? {
                    Step::Measured => {}
                    Step::LeftOut => left_out += 1,
                    Step::Signal(signal) => {
                        progress.outcome.signal = Some(signal);
                        break 'rounds;
                    }
                    Step::Stopped(why) => {
                        progress.outcome.stopped = Some(why);
                        break 'rounds;
                    }
                }
            }
            progress.round += 1;
            if left_out == order.len() {
                break;
            }
            if allocated {
                progress.allocate(&self.effort);
            }
        }
        Ok(progress.end(&self.effort))
    }

    /// Measures one round of a point, if there is time.
    fn round(
        &mut self,
        progress: &mut Progress<'_>,
        i: usize,
        allocated: bool,
        rng: &mut Rng,
        observer: &mut dyn Observer,
        keep: &mut impl FnMut(usize, &mut Round) -> Result<()>,
    ) -> Result<Step> {
        let (now, round, planned) = (Instant::now(), progress.round, &progress.plan[i]);
        // A round that the end of the budget would cut off is not begun. The cost of a first round
        // is unknown, so it is begun while there is any time.
        if now + progress.points[i].cost >= progress.until {
            // This point no longer fits; cheaper ones continue.
            if allocated {
                progress.short.insert(i);
                progress.no_longer_fits(i);
            }
            return Ok(Step::LeftOut);
        }
        let cpus = match self.present.cpus(planned) {
            Ok(cpus) => cpus,
            // What was measured before counts.
            Err(_) if !progress.points[i].rounds.is_empty() => {
                progress.points[i].settled = true;
                return Ok(Step::LeftOut);
            }
            Err(why) => {
                progress.points[i].close(i, round, State::Unsupported, why, keep)?;
                return Ok(Step::Measured);
            }
        };
        let entered = self.conditions.as_mut().map_or(Ok(()), |all| all.enter(planned.side, self.supervisor.watch()));
        match entered {
            Ok(()) => {}
            Err(NotEntered::Signal(signal)) => return Ok(Step::Signal(signal)),
            Err(NotEntered::Failed(why)) => return Ok(Step::Stopped(format!("{why:#}"))),
        }
        let of = progress.points[i].target.max(round + 1);
        observer.next(&format!("round {}/{of}  {}", round + 1, planned.point.name()));
        let effort = (&progress.effort_with_warm_up(i), progress.worth_waiting(i), progress.plan.len());
        let job = match self.job((planned, &cpus), progress.frozen(i), round, effort, rng) {
            Ok(job) => job,
            Err(e) => {
                progress.points[i].close(i, round, State::Failed, format!("{e:#}"), keep)?;
                return Ok(Step::Measured);
            }
        };
        let padding = rng.below(4096) as usize;
        let launcher = &self.launchers[planned.side];
        let ended = self.supervisor.run((&job, launcher), padding, self.deadline_of(planned), Some(progress.until));
        if job.work_dir.is_some()
            && let Some(dir) = &self.work_dir
        {
            // Removes everything that the benchmark left there.
            dir.end_round();
        }
        let took = now.elapsed();
        let step = match ended {
            Ended::Signal(signal) => return Ok(Step::Signal(signal)),
            Ended::OutOfBudget => {
                if allocated {
                    progress.short.insert(i);
                }
                Step::LeftOut
            }
            // It failed because a CPU went away under it: the next one is on what is left.
            Ended::Result(result) if result.state == State::Failed && present::has_lost(&job.cpus) => Step::LeftOut,
            Ended::Result(mut result) => {
                // Shown by `groma show --times`.
                result.output.facts.push(Fact::new(ROUND_WALL, format!("{:.1}", took.as_secs_f64() * 1e3)));
                let once = once(&result);
                self.fill = self.fill.saturating_sub(once);
                self.learn_of_core(&job.cpus, &result.output.core);
                let longer = progress.adapt(i);
                progress.points[i].learn(&result, took.saturating_sub(once + longer));
                let mut round = Round { round, result: *result };
                let handing_over = Instant::now();
                keep(i, &mut round)?;
                // Another process may hold the store for seconds.
                if handing_over.elapsed() > LONG_WAIT {
                    progress.until += handing_over.elapsed();
                }
                progress.points[i].add(&planned.point, round);
                observer.on_round(&planned.point, &progress.points[i].rounds, &self.host);
                Step::Measured
            }
        };
        // A signal between two rounds ends the run as well.
        Ok(self.supervisor.signal().map_or(step, Step::Signal))
    }

    /// Learns from a round's probes: the rate of an idle core from those of all rounds, and how
    /// busy the neighbours of its CPU are.
    fn learn_of_core(&mut self, cpus: &[u32], seen: &CoreRates) {
        self.core.add(seen);
        if let Some(core) = &mut self.host.core
            && let Some(found) = core_probe::learn(core, &self.core.rates)
        {
            core.learn(&found);
        }
        // Of a pair the timed side looks, which runs on the first.
        if let Some(cpu) = cpus.first() {
            self.neighbours.saw(*cpu, seen, Instant::now());
        }
    }

    fn run_file(&self, wanted: bool) -> Option<RunFile> {
        let path = self.work_dir.as_ref().filter(|_| wanted)?.file()?;
        Some(RunFile { path, fill_ns: self.fill.as_nanos() as u64 })
    }

    fn deadline_of(&self, planned: &Planned) -> Duration {
        /// Per member: a worker group with more members than CPUs needs a time slice for each phase
        /// of each member (14 s for 1024 members on two CPUs).
        const CROWD: Duration = Duration::from_millis(60);
        if planned.point.workers > 1 { self.deadline + CROWD * planned.point.workers } else { self.deadline }
    }

    fn job(
        &mut self,
        (planned, cpus): (&Planned, &Cpus),
        frozen: &[(String, u64)],
        round: u32,
        (effort, worth, points): (&Effort, Duration, usize),
        rng: &mut Rng,
    ) -> Result<Job> {
        let point = &planned.point;
        let work_dir = match &mut self.work_dir {
            Some(dir) if planned.work_dir => Some(dir.round()?),
            _ => None,
        };
        let (seed, draw) = (rng.next_u64(), rng.next_u64());
        let cpus = match cpus {
            Cpus::Any => Vec::new(),
            Cpus::Each(cpus) => cpus.clone(),
            Cpus::OneOf(site) => {
                let near = self.chooser.least_busy(&site.cpus, &usable());
                vec![self.neighbours.draw(&near, Instant::now(), draw as f64 / u64::MAX as f64)]
            }
        };
        let wait = self.neighbours.wait(&cpus, worth, Instant::now());
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
            // In a worker group neighbours are only counted.
            wait_ns: if planned.group { 0 } else { wait.as_nanos() as u64 },
            warm_ns: effort.warm_up.as_nanos() as u64,
            frozen: frozen.to_vec(),
            run_file: self.run_file(work_dir.is_some()),
            work_dir,
            remote: self.remote.clone(),
            host: self.host,
        })
    }

    /// The sampling time of a worker group, whose intervals take 20 ms to 30 s
    /// (docs/methods/timing.md#intervals-of-a-worker-group): a twelfth of the point's part of the
    /// budget, so that nine rounds fit.
    fn group_sampling(&self, effort: &Effort, points: usize) -> Duration {
        effort.sampling.max(self.budget / 12 / points.max(1) as u32)
    }
}

#[cfg(test)]
mod tests;
