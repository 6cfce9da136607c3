//! One run, from checking its request to its last round.

use crate::chooser::Chooser;
use crate::conditions::{Condition, Conditions, NotEntered};
use crate::effort::Effort;
use crate::identity;
use crate::launcher::Launcher;
use crate::limits::Limits;
use crate::places::Cpus;
use crate::plan::Planned;
use crate::preflight::{NotMeasured, preflight};
use crate::request::RunRequest;
use crate::supervise::Supervisor;
use crate::survey::present::Present;
use crate::survey::{Neighbours, Observer, RunOutcome, Survey, fill_time};
use crate::workdir::{Places, WorkDir};

use anyhow::{Context, Result, anyhow, bail};
use groma_harness::model::{
    CoreProbe, CoreRates, CpuLimit, Fact, Host, Machine, NoiseVerdict, Placement, Round, RunHeader, SCHEMA, size_text,
};
use groma_harness::remote::Control;
use groma_harness::sys::facts;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The longest that one round may take unless the request says otherwise.
const DEADLINE: Duration = Duration::from_secs(10);
/// The memory that has to be left for a run and one of its workers, in bytes: at the end of a quick
/// survey the supervisor alone has touched 16 MB. With less, the kernel kills the supervisor and
/// not a worker.
const MIN_MEMORY: u64 = 20 << 20;
/// Length of the preflight that tries out a launcher.
const TRIAL: Duration = Duration::from_millis(20);
/// The deadline of a longer round grows by this many times its length: disturbed rounds sample four
/// times as long.
const DISTURBED: u32 = 5;

/// A validated request. No signal is blocked yet, so whatever may block is done before
/// [`Prepared::start`].
#[derive(Debug)]
pub struct Prepared<'r> {
    request: &'r RunRequest,
    /// The facts of the other machine.
    remote_facts: Vec<Fact>,
    /// The states of the sides; none is set yet.
    conditions: Option<Conditions>,
}

/// Checks what a request names: the other machine answers, the parent of the work directory exists,
/// the files that sides set can be written.
///
/// # Errors
/// Names the option and what is wrong with it.
pub fn prepare(request: &RunRequest) -> Result<Prepared<'_>> {
    let remote_facts = match &request.remote {
        Some(remote) => {
            Control::open(remote).and_then(|mut control| control.facts()).map_err(|e| anyhow!("--host {e}"))?
        }
        None => Vec::new(),
    };
    if let Some(room) = facts::memory_headroom().filter(|room| room.bytes < MIN_MEMORY) {
        let (left, least) = (size_text(room.bytes), size_text(MIN_MEMORY));
        bail!("{} leaves {left} of memory, and a run needs {least}: raise that limit", room.limit);
    }
    if let Some(parent) = request.work_dir.as_deref().filter(|parent| !parent.is_dir()) {
        bail!("--work-dir: {}: not a directory", parent.display());
    }
    let conditions = request.conditions.as_ref().map(|sides| open_conditions(sides, request)).transpose()?;
    Ok(Prepared { request, remote_facts, conditions })
}

impl Prepared<'_> {
    /// Removes what killed runs left behind, blocks the signals that end a run, and runs the
    /// preflight. `started` is when the budget began.
    ///
    /// # Errors
    /// A [`NotMeasured`] if the preflight fails, a signal arrives, or the machine is too noisy; any
    /// other error if workers cannot be started at all.
    pub fn start(self, plan: &[Planned], started: Instant, observer: &mut dyn Observer) -> Result<Run> {
        let request = self.request;
        let limits = Limits::now();
        let budget = request.total_budget();
        let (effort, deadline) = effort_of(request, plan.len());
        let seed = request.seed.unwrap_or_else(identity::random_seed);

        let for_files = Places::of(request.work_dir.as_deref());
        for_files.sweep();
        let supervisor = Supervisor::new().context("the supervisor cannot start")?;
        // Without need there is no directory, so that none can be left behind.
        let wanted = |of: fn(&Planned) -> bool| plan.iter().any(|planned| planned.unsupported.is_none() && of(planned));
        let work_dir =
            if wanted(|planned| planned.work_dir) { open_work_dir(&for_files, seed, observer) } else { None };

        observer.next("gauging the machine");
        let places = places(plan);
        let measuring = measuring(&places);
        let launchers = if request.sides.is_empty() { vec![Launcher::default()] } else { request.sides.clone() };
        try_out(&supervisor, &launchers, seed)?;
        // Declared after the supervisor, so that it is dropped before signals are unblocked.
        let mut conditions = self.conditions;
        let of_second = conditions.as_mut().map(|all| try_conditions(all, &supervisor)).transpose()?;
        let end_of_caches = wanted(|planned| planned.end_of_caches);
        let begun = Instant::now();
        let (found, remarks, of_process) =
            preflight(&supervisor, &gauger(&launchers), effort.preflight, seed, &measuring, end_of_caches)?;
        let deadline = request.deadline.unwrap_or_else(|| deadline.max(slow_deadline(begun.elapsed())));
        let (host, noise_lost) = (found.host, found.noise.map(|noise| noise.lost));
        let own = found.cpu_limit;
        if let Some(limit) = request.require
            && is_too_noisy(noise_lost, own, limit)
        {
            return Err(NotMeasured::TooNoisy { lost: noise_lost, own, limit }.into());
        }
        let mut header = header(request, seed, host, (noise_lost, own), work_dir.as_ref());
        header.environment.facts.extend(of_process);
        header.environment.facts.extend(self.remote_facts);
        header.environment.facts.extend(request.facts.iter().cloned());
        // The CPUs of a placement are facts, not a part of a metric's identity.
        let fact = |(placement, cpus): (&Placement, &Cpus)| Fact::new(format!("placement.{placement}"), cpus);
        header.environment.facts.extend(places.into_iter().map(fact));
        header.remarks = remarks;
        Ok(Run {
            header,
            of_second,
            limits,
            survey: Survey {
                supervisor,
                launchers,
                effort,
                host,
                core: CoreRates::default(),
                neighbours: Neighbours::new(
                    budget,
                    plan.iter().filter(|planned| planned.unsupported.is_none()).count(),
                ),
                seed,
                chooser: Chooser::new(&found.lost),
                present: Present::default(),
                started,
                budget,
                deadline,
                fill: fill_time(budget, deadline),
                work_dir,
                conditions,
                remote: request.remote.clone(),
            },
        })
    }
}

/// A run whose rounds can be measured. While it lives, the signals that end a run are blocked and
/// delivered to it.
#[derive(Debug)]
pub struct Run {
    header: RunHeader,
    /// The machine's facts in the state of the second side.
    of_second: Option<Machine>,
    /// The accounts of what limits take, at its start.
    limits: Limits,
    survey: Survey,
}

impl Run {
    /// The head of the run as known before its first round, without arguments.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// The machine's facts in the state of a side, and the files that are set for it.
    pub fn side(&self, side: usize) -> (Machine, Vec<Fact>) {
        let mut machine = self.header.environment.clone();
        if let Some(second) = self.of_second.as_ref().filter(|_| side == 1) {
            for fact in &mut machine.facts {
                second.get(&fact.key).into_iter().for_each(|value| value.clone_into(&mut fact.value));
            }
        }
        (machine, self.survey.conditions.as_ref().map_or_else(Vec::new, |all| all.facts(side)))
    }

    /// Readable when a signal that ends the run is pending.
    pub fn signals(&self) -> BorrowedFd<'_> {
        self.survey.supervisor.signals()
    }

    /// Adopts the core probes of earlier runs on this processor. The header keeps what this run
    /// measured, so that values are not handed on from run to run.
    pub fn recall(&mut self, earlier: &[CoreProbe]) {
        if let Some(core) = &mut self.survey.host.core {
            core.recall(earlier);
        }
    }

    /// Measures the plan within the budget. `keep` is called with each round as it ends and the
    /// index of its point, and may change the round, in the outcome as well. At the end the work
    /// directory is removed and the machine's state restored.
    ///
    /// # Errors
    /// Those of `keep`.
    pub fn work(
        &mut self,
        plan: &[Planned],
        observer: &mut dyn Observer,
        keep: impl FnMut(usize, &mut Round) -> Result<()>,
    ) -> Result<RunOutcome> {
        let outcome = self.survey.work(plan, observer, keep);
        self.survey.work_dir = None;
        let restored = self.survey.conditions.take().map_or(Ok(()), |mut all| all.restore());
        outcome.map(|outcome| RunOutcome {
            unrestored: restored.err().map(|e| format!("{e:#}")),
            cpu_limit: self.limits.cpu_limit(),
            fewer_cpus: self.limits.fewer_cpus(),
            ..outcome
        })
    }
}

/// The effort for a plan of N points, and the deadline of a round: those of the profile unless the
/// request overrides them.
fn effort_of(request: &RunRequest, points: usize) -> (Effort, Duration) {
    let of = if request.survey { Effort::of_survey } else { Effort::of };
    let mut effort = of(request.profile);
    if let Some(rounds) = request.rounds {
        (effort.rounds, effort.most_rounds) = (rounds, rounds);
    }
    let mut deadline = DEADLINE;
    if let Some(length) = request.round_length {
        effort = effort.of_length(length);
        deadline += length * DISTURBED;
    }
    if let Some(warm_up) = request.warm_up {
        effort.warm_up = effort.warm_up.max(warm_up);
        deadline += warm_up;
    }
    // With `--require` the preflight keeps its full length.
    if request.require.is_none() {
        effort = effort.of_points(points);
    }
    effort.preflight = effort.preflight.min(request.total_budget() / 10);
    (effort, request.deadline.unwrap_or(deadline))
}

/// The deadline of a round on a machine whose preflight took this long: 1 to 3 s on processors of
/// today, 20 s and more on an emulated one, where a round of a buffer beyond the caches took 7 s
/// and more.
fn slow_deadline(preflight: Duration) -> Duration {
    /// A minute: a benchmark that hangs shall not hold up a run for longer.
    const MOST: Duration = Duration::from_secs(60);
    (preflight * 3).min(MOST)
}

/// Starts a worker behind each command, so that a command that does not start it, or swallows its
/// output, is reported before anything is measured.
fn try_out(supervisor: &Supervisor, launchers: &[Launcher], seed: u64) -> Result<()> {
    let is_foreign = |launcher: &&Launcher| **launcher != Launcher::default() && launcher.forked.is_none();
    for launcher in launchers.iter().filter(is_foreign) {
        match preflight(supervisor, launcher, TRIAL, seed, &[], false) {
            Err(NotMeasured::Failed(why)) => bail!("-- {launcher}: no worker can be measured behind it: {why}"),
            other => drop(other?),
        }
    }
    Ok(())
}

/// Opens the conditions of the sides; changes nothing.
fn open_conditions(sides: &[Condition; 2], request: &RunRequest) -> Result<Conditions> {
    let state = request.state_dir.as_deref().context("there is no directory for the journal of what is changed")?;
    Conditions::new(sides, state, request.deadline.unwrap_or(DEADLINE))
}

/// What starts the preflight's worker: nothing stands before it, but it is forked where all workers
/// are, since the program's own `main` knows nothing of workers.
fn gauger(launchers: &[Launcher]) -> Launcher {
    Launcher { forked: launchers.first().and_then(|first| first.forked), ..Launcher::default() }
}

/// Enters both states, so that one that cannot be entered is reported before anything is measured.
/// The first state is entered last, because the preflight runs in it. Returns the machine's facts
/// in the second.
fn try_conditions(conditions: &mut Conditions, supervisor: &Supervisor) -> Result<Machine> {
    let by_command = conditions.is_undone_by_a_command();
    let mut enter = |side| match conditions.enter(side, supervisor.watch()) {
        Ok(()) => Ok(()),
        Err(NotEntered::Signal(signal)) => Err(NotMeasured::Signal(signal).into()),
        Err(NotEntered::Failed(why)) => Err(why),
    };
    // The command of the first side undoes that of the second, so it must work before the second
    // changes anything.
    if by_command {
        enter(0)?;
    }
    enter(1)?;
    let machine = identity::machine();
    enter(0)?;
    Ok(machine)
}

/// The placements of single tasks and pairs with their CPUs, each once. Not lists, which name their
/// CPUs themselves, and not worker groups, whose CPUs depend on their size.
fn places(plan: &[Planned]) -> Vec<(&Placement, &Cpus)> {
    let mut all = Vec::new();
    for planned in plan.iter().filter(|planned| planned.unsupported.is_none() && !planned.group) {
        let place = (&planned.point.placement, &planned.cpus);
        let is_chosen = !matches!(place, (Placement::List(_), _) | (_, Cpus::Any));
        if is_chosen && !all.contains(&place) {
            all.push(place);
        }
    }
    all
}

/// The CPUs of the first single task; the preflight measures the clock on one of them.
fn measuring(places: &[(&Placement, &Cpus)]) -> Vec<u32> {
    let of_single = |(_, cpus): &(&Placement, &Cpus)| match cpus {
        Cpus::OneOf(site) => Some(site.cpus.clone()),
        Cpus::Any | Cpus::Each(_) => None,
    };
    places.iter().find_map(of_single).unwrap_or_default()
}

/// The work directory. If it cannot be made, a warning says so, and benchmarks that need it are
/// `unsupported`.
fn open_work_dir(for_files: &Places, seed: u64, observer: &mut dyn Observer) -> Option<WorkDir> {
    let made = for_files.make(seed);
    if let Err(e) = &made {
        observer.warn(&format!("benchmarks that need files are unsupported in this run: {e:#}"));
    }
    made.ok()
}

fn header(
    request: &RunRequest,
    seed: u64,
    host: Host,
    (noise_lost, cpu_limit): (Option<f64>, Option<CpuLimit>),
    work_dir: Option<&WorkDir>,
) -> RunHeader {
    let now = identity::now();
    let mut environment = identity::machine();
    if let Some(dir) = work_dir {
        environment.facts.extend(facts::work_dir_facts(dir.path()).into_iter().map(|(k, v)| Fact::new(k, v)));
        if let Some((place, why)) = dir.choice() {
            environment.facts.extend([Fact::new("work_dir.place", place), Fact::new("work_dir.choice", why)]);
        }
    }
    RunHeader {
        schema: SCHEMA,
        run: identity::run_id(now, identity::random_seed()),
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        groma: env!("CARGO_PKG_VERSION").to_owned(),
        build: identity::build(),
        args: Vec::new(),
        tags: request.tags.clone(),
        in_turns: None,
        seed,
        profile: request.profile,
        budget_s: request.total_budget().as_secs_f64(),
        environment,
        host,
        noise: noise_lost.map(NoiseVerdict::of_lost),
        noise_lost,
        cpu_limit,
        remarks: Vec::new(),
    }
}

/// Whether others and the run's own CPU quota together take more than `--require` allows; unknown
/// noise counts as too noisy.
fn is_too_noisy(lost: Option<f64>, own: Option<CpuLimit>, limit: NoiseVerdict) -> bool {
    let held_back = own.map_or(0.0, |own| own.held_back);
    lost.is_none_or(|lost| NoiseVerdict::of_lost(lost + held_back) > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_overrides_the_effort_of_its_profile() {
        use groma_harness::model::Profile;
        type Change = fn(&mut RunRequest);
        let of = |profile, points, change: Change| {
            let mut request = RunRequest::new(profile);
            change(&mut request);
            let (effort, deadline) = effort_of(&request, points);
            let ms = [effort.sampling, effort.preflight, deadline].map(|time| time.as_millis());
            (effort.rounds, effort.most_rounds, ms)
        };
        let most = Effort::of(Profile::Standard).most_rounds;
        assert_eq!(of(Profile::Standard, 100, |_| {}), (9, most, [40, 1500, 10_000]));
        // A survey has the short rounds of a quick run, and many of them.
        assert_eq!(of(Profile::Standard, 100, |r| r.survey = true), (25, most, [4, 1500, 10_000]));
        // A number of rounds is exact.
        assert_eq!(of(Profile::Standard, 100, |r| r.rounds = Some(12)), (12, 12, [40, 1500, 10_000]));
        // The deadline grows with the length of a round, unless it is set as well.
        let long: Change = |r| r.round_length = Some(Duration::from_secs(3));
        assert_eq!(of(Profile::Standard, 100, long), (9, most, [3000, 1500, 25_000]));
        let named: Change = |r| {
            (r.round_length, r.deadline) = (Some(Duration::from_secs(3)), Some(Duration::from_secs(4)));
        };
        assert_eq!(of(Profile::Standard, 100, named), (9, most, [3000, 1500, 4000]));
        // The preflight shrinks with the number of rounds and the budget; with `--require` only
        // with the budget.
        assert_eq!(of(Profile::Standard, 4, |r| r.rounds = Some(1)), (1, 1, [40, 168, 10_000]));
        let required: Change = |r| (r.rounds, r.require) = (Some(1), Some(NoiseVerdict::Fine));
        assert_eq!(of(Profile::Standard, 4, required), (1, 1, [40, 1500, 10_000]));
        let short: Change = |r| r.budget = Some(Duration::from_secs(5));
        assert_eq!(of(Profile::Standard, 100, short), (9, most, [40, 500, 10_000]));
    }

    /// Without worker groups, `free`, and placements that this machine does not have.
    #[test]
    fn each_placement_of_single_tasks_and_pairs_is_listed_once() {
        use groma_harness::model::{Info, Param, Profile, Tier};
        use groma_harness::sys::topology::Topology;
        static SIDES: groma_harness::Benchmark = groma_harness::Benchmark {
            info: Info { placements: &Placement::TWO_SIDED, ..Info::new("test.sides") },
            run: groma_harness::Run::NotHere("a test"),
        };
        static TASK: groma_harness::Benchmark = groma_harness::Benchmark {
            info: Info {
                params: &[Param::count("n", "").quick(&["1", "2"])],
                group_tier: |_| Tier::Standard,
                ..Info::new("test.task")
            },
            run: groma_harness::Run::NotHere("a test"),
        };
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("sys/devices/system/cpu")).expect("a directory");
        std::fs::write(root.path().join("sys/devices/system/cpu/online"), "0-1").expect("a file");
        let topology = Topology::from_tree(root.path(), &[0, 1]);
        let request = RunRequest::new(Profile::Standard);
        let plan = crate::plan::plan(&[&SIDES, &TASK], &request, &topology).expect("a plan");
        let (pair, one) = (Cpus::Each(vec![0, 0]), Cpus::OneOf(topology.site(None, None).expect("a CPU")));
        let places = places(&plan);
        assert_eq!(places, [(&Placement::SameCpu, &pair), (&Placement::Pinned, &one)]);
        assert_eq!((measuring(&places), measuring(&places[..1])), (vec![0, 1], Vec::new()));
    }

    #[test]
    fn unknown_noise_is_too_noisy() {
        use NoiseVerdict::{Fine, Hostile, Noisy, Quiet};
        assert!([0.001, 0.02].iter().all(|lost| !is_too_noisy(Some(*lost), None, Fine)));
        assert!([None, Some(0.1), Some(0.5)].iter().all(|lost| is_too_noisy(*lost, None, Fine)));
        assert!(is_too_noisy(None, None, Hostile));
        // What the run's own quota takes is missed as much.
        let own = |held_back| Some(CpuLimit { cpus: Some(0.1), held_back });
        assert!(is_too_noisy(Some(0.0), own(0.9), Noisy) && is_too_noisy(Some(0.02), own(0.02), Fine));
        assert!(!is_too_noisy(Some(0.0), own(0.02), Fine) && !is_too_noisy(Some(0.0), own(0.0), Quiet));
    }

    #[test]
    fn the_header_holds_the_request_and_the_preflight() {
        use groma_harness::model::Profile;
        let mut request = RunRequest::new(Profile::Quick);
        request.budget = Some(Duration::from_secs(77));
        let noise = NoiseVerdict::of_lost(0.5);
        let own = Some(CpuLimit { cpus: Some(2.0), held_back: 0.25 });
        let head = header(&request, 42, Host { timeslice_ns: 7.0, ..Host::UNKNOWN }, (Some(0.5), own), None);
        assert_eq!((head.seed, head.profile, head.budget_s, head.schema), (42, Profile::Quick, 77.0, SCHEMA));
        assert_eq!((head.noise, head.noise_lost, head.host.timeslice_ns), (Some(noise), Some(0.5), 7.0));
        assert_eq!(head.cpu_limit, own);
        // The id begins with the digits of the start.
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        assert_eq!(digits(&head.run[..16]), digits(&head.started));
        let fact = |head: &RunHeader, key: &str| head.environment.get(key).map(str::to_owned);
        assert!(fact(&head, "kernel.release").is_some() && fact(&head, "work_dir.fs").is_none());
        let place = tempfile::tempdir().expect("a directory");
        let work_dir = Places::of(Some(place.path())).make(1).expect("a work directory");
        let head = header(&request, 42, Host::UNKNOWN, (None, None), Some(&work_dir));
        assert!(fact(&head, "work_dir.block").is_some() && head.noise.is_none());
        assert_eq!(fact(&head, "work_dir.place").as_deref(), Some("--work-dir"));
    }
}
