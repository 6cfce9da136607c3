//! A run from its first refusal to its last round.

use crate::chooser::Chooser;
use crate::conditions::{Condition, Conditions, NotEntered};
use crate::effort::Effort;
use crate::identity;
use crate::launcher::Launcher;
use crate::observer::Observer;
use crate::places::Cpus;
use crate::plan::Planned;
use crate::preflight::{NotMeasured, preflight};
use crate::request::RunRequest;
use crate::supervise::Supervisor;
use crate::survey::{RunOutcome, Survey, fill_time};
use crate::workdir::{self, WorkDir};

use anyhow::{Context, Result, anyhow, bail};
use groma_harness::model::{
    CoreProbe, CoreRates, Fact, Host, Machine, NoiseVerdict, Placement, Round, RunHeader, SCHEMA,
};
use groma_harness::remote::Control;
use groma_harness::sys::{disk, facts};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest that one round may take unless the request says otherwise.
const DEADLINE: Duration = Duration::from_secs(10);
/// What a worker measures to show that it can be started.
const TRIAL: Duration = Duration::from_millis(20);
/// How many times its length a round may take beyond that: disturbed ones sample four times as
/// long.
const DISTURBED: u32 = 5;

/// A run that nothing speaks against so far. No signal is held yet, so whatever may block comes
/// before [`Prepared::start`].
#[derive(Debug)]
pub struct Prepared<'r> {
    request: &'r RunRequest,
    /// Where the work directory is made.
    place: PathBuf,
    /// What the other machine says of itself.
    of_remote: Vec<Fact>,
    /// The states of the sides, of which none is made yet.
    conditions: Option<Conditions>,
}

/// Where the work directory is unless a place was named: the temporary directory, or `/var/tmp`
/// where the first is in memory and nobody chose it. Files are measured in memory as well
/// (`where=tmpfs`); what a user asks first is the disk.
fn default_place() -> PathBuf {
    let chosen = std::env::var_os("TMPDIR").is_some();
    let on_disk = |place: &Path| disk::has_disk(place).ok();
    place_of(std::env::temp_dir(), chosen, on_disk, disk::is_writable)
}

/// The same, of a system of which `on_disk` and `is_writable` tell.
fn place_of(
    temporary: PathBuf,
    chosen: bool,
    on_disk: impl Fn(&Path) -> Option<bool>,
    is_writable: impl Fn(&Path) -> bool,
) -> PathBuf {
    let lasting = Path::new("/var/tmp");
    let better = on_disk(&temporary) == Some(false) && on_disk(lasting) == Some(true) && is_writable(lasting);
    if better && !chosen { lasting.to_owned() } else { temporary }
}

/// Checks what a request names: the other machine answers, the work directory's place is there,
/// what sides set can be written.
///
/// # Errors
/// Names the option and what is wrong with it.
pub fn prepare(request: &RunRequest) -> Result<Prepared<'_>> {
    let of_remote = match &request.remote {
        Some(remote) => {
            Control::open(remote).and_then(|mut control| control.facts()).map_err(|e| anyhow!("--host {e}"))?
        }
        None => Vec::new(),
    };
    let place = request.work_dir.clone().unwrap_or_else(default_place);
    if request.work_dir.is_some() && !place.is_dir() {
        bail!("--work-dir: {}: not a directory", place.display());
    }
    let conditions = request.conditions.as_ref().map(|sides| open_conditions(sides, request)).transpose()?;
    Ok(Prepared { request, place, of_remote, conditions })
}

impl Prepared<'_> {
    /// Removes what killed runs left, holds the signals that end a run, and gauges the machine.
    /// `started` is when the budget began.
    ///
    /// # Errors
    /// A [`NotMeasured`] where the preflight fails, a signal comes, or the machine is too noisy;
    /// anything else where workers cannot be started at all.
    pub fn start(self, plan: &[Planned], started: Instant, observer: &mut dyn Observer) -> Result<Run> {
        let request = self.request;
        let budget = request.total_budget();
        let (effort, deadline) = effort_of(request, plan.len());
        let seed = request.seed.unwrap_or_else(identity::random_seed);

        workdir::sweep(&self.place);
        let supervisor = Supervisor::new().context("the supervisor cannot start")?;
        // What is not made cannot be left.
        let wanted = |of: fn(&Planned) -> bool| plan.iter().any(|planned| planned.unsupported.is_none() && of(planned));
        let work_dir =
            if wanted(|planned| planned.work_dir) { open_work_dir(&self.place, seed, observer) } else { None };

        observer.next("gauging the machine");
        let places = places(plan);
        let measuring = measuring(&places);
        let launchers = if request.sides.is_empty() { vec![Launcher::default()] } else { request.sides.clone() };
        try_out(&supervisor, &launchers, seed)?;
        // Here, because what is declared last is dropped first: before signals act as usual again.
        let mut conditions = self.conditions;
        let of_second = conditions.as_mut().map(|all| try_conditions(all, &supervisor)).transpose()?;
        let end_of_caches = wanted(|planned| planned.end_of_caches);
        let (found, remarks) =
            preflight(&supervisor, &Launcher::default(), effort.preflight, seed, &measuring, end_of_caches)?;
        let (host, noise_lost) = (found.host, found.noise.map(|noise| noise.lost));
        let noise = noise_lost.map(NoiseVerdict::of_lost);
        if let Some(limit) = request.require
            && is_too_noisy(noise, limit)
        {
            return Err(NotMeasured::TooNoisy { seen: noise, lost: noise_lost, limit }.into());
        }
        let mut header = header(request, seed, host, noise_lost, work_dir.as_ref());
        header.environment.facts.extend(self.of_remote);
        // Which CPUs a metric comes from is no part of its name.
        let fact = |(placement, cpus): (&Placement, &Cpus)| Fact::new(format!("placement.{placement}"), cpus);
        header.environment.facts.extend(places.into_iter().map(fact));
        header.remarks = remarks;
        Ok(Run {
            header,
            of_second,
            survey: Survey {
                supervisor,
                launchers,
                effort,
                host,
                core: CoreRates::default(),
                seed,
                chooser: Chooser::new(&found.lost),
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

/// A run whose rounds can be measured. While it lives, the signals that end a run are held for it.
#[derive(Debug)]
pub struct Run {
    header: RunHeader,
    /// What the machine says of itself in the state of the second side.
    of_second: Option<Machine>,
    survey: Survey,
}

impl Run {
    /// What is known of the run before its first round. Arguments are left to whoever parsed them.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// The machine in the state of a side, and the files that were set for it.
    pub fn side(&self, side: usize) -> (Machine, Vec<Fact>) {
        let mut machine = self.header.environment.clone();
        if let Some(second) = self.of_second.as_ref().filter(|_| side == 1) {
            for fact in &mut machine.facts {
                second.get(&fact.key).into_iter().for_each(|value| value.clone_into(&mut fact.value));
            }
        }
        (machine, self.survey.conditions.as_ref().map_or_else(Vec::new, |all| all.facts(side)))
    }

    /// Readable when a signal has come that ends the run.
    pub fn signals(&self) -> BorrowedFd<'_> {
        self.survey.supervisor.signals()
    }

    /// Takes what earlier runs on this processor knew of a core to itself. The header keeps what
    /// this run saw, so that no run repeats what another only recalled.
    pub fn recall(&mut self, earlier: &[CoreProbe]) {
        if let Some(core) = &mut self.survey.host.core {
            core.recall(earlier);
        }
    }

    /// Measures the plan within the budget. Each round goes to `keep` as it ends, with the index of
    /// its point, and what `keep` makes of it is in the outcome as well. At the end the work
    /// directory is removed, and the machine is as it was before.
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
        outcome.map(|outcome| RunOutcome { unrestored: restored.err().map(|e| format!("{e:#}")), ..outcome })
    }
}

/// How much is done in a round of a plan of so many points, and the longest that a round may take:
/// the profile's, as far as nothing else was asked for.
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
    // Whoever asks how noisy the machine is gets the longest look.
    if request.require.is_none() {
        effort = effort.of_points(points);
    }
    effort.preflight = effort.preflight.min(request.total_budget() / 10);
    (effort, request.deadline.unwrap_or(deadline))
}

/// Starts a worker behind each command, so that one that does not start it, or keeps its output, is
/// named before anything is measured.
fn try_out(supervisor: &Supervisor, launchers: &[Launcher], seed: u64) -> Result<()> {
    for launcher in launchers.iter().filter(|launcher| **launcher != Launcher::default()) {
        match preflight(supervisor, launcher, TRIAL, seed, &[], false) {
            Err(NotMeasured::Failed(why)) => bail!("-- {launcher}: no worker can be measured behind it: {why}"),
            other => drop(other?),
        }
    }
    Ok(())
}

/// What the sides need of the machine, looked at and not changed.
fn open_conditions(sides: &[Condition; 2], request: &RunRequest) -> Result<Conditions> {
    let state = request.state_dir.as_deref().context("there is no directory for the journal of what is changed")?;
    Conditions::new(sides, state, request.deadline.unwrap_or(DEADLINE))
}

/// Makes both states, so that one that cannot be made is named before anything is measured. The
/// second is first: the machine is gauged in the state of the first. What it says of itself in the
/// second.
fn try_conditions(conditions: &mut Conditions, supervisor: &Supervisor) -> Result<Machine> {
    let by_command = conditions.is_undone_by_a_command();
    let mut enter = |side| match conditions.enter(side, supervisor.watch()) {
        Ok(()) => Ok(()),
        Err(NotEntered::Signal(signal)) => Err(NotMeasured::Signal(signal).into()),
        Err(NotEntered::Failed(why)) => Err(why),
    };
    // The command of the first side is what undoes that of the second, so it has to work before the
    // other has changed anything.
    if by_command {
        enter(0)?;
    }
    enter(1)?;
    let machine = identity::machine();
    enter(0)?;
    Ok(machine)
}

/// Where single tasks and pairs run, each placement once. A list says it itself, and worker groups
/// of each size have CPUs of their own.
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

/// The CPUs of the first single task among these places: on one of them the clock is looked at.
fn measuring(places: &[(&Placement, &Cpus)]) -> Vec<u32> {
    let of_single = |(_, cpus): &(&Placement, &Cpus)| match cpus {
        Cpus::OneOf(site) => Some(site.cpus.clone()),
        Cpus::Any | Cpus::Each(_) => None,
    };
    places.iter().find_map(of_single).unwrap_or_default()
}

/// The run's directory for files. A place that cannot be written is no reason not to measure the
/// rest: the benchmarks that need one come back `unsupported`, and it is said at once.
fn open_work_dir(parent: &Path, seed: u64, observer: &mut dyn Observer) -> Option<WorkDir> {
    let made = WorkDir::new(parent, seed);
    if let Err(e) = &made {
        observer.warn(&format!("benchmarks that need files are unsupported in this run: {e:#}"));
    }
    made.ok()
}

fn header(
    request: &RunRequest,
    seed: u64,
    host: Host,
    noise_lost: Option<f64>,
    work_dir: Option<&WorkDir>,
) -> RunHeader {
    let now = jiff::Timestamp::now();
    let mut environment = identity::machine();
    if let Some(dir) = work_dir {
        environment.facts.extend(facts::work_dir_facts(dir.path()).into_iter().map(|(k, v)| Fact::new(k, v)));
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
        remarks: Vec::new(),
    }
}

/// Whether a machine is noisier than `--require` allows. One that could not be looked at may be.
fn is_too_noisy(seen: Option<NoiseVerdict>, limit: NoiseVerdict) -> bool {
    seen.is_none_or(|seen| seen > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_on_a_disk_where_nobody_chose_memory() {
        let place = |memory: &'static str, chosen, writable| {
            let on_disk = move |path: &Path| Some(!memory.split(' ').any(|m| Path::new(m) == path));
            place_of(PathBuf::from("/tmp"), chosen, on_disk, move |_| writable)
        };
        assert_eq!(place("", false, true), Path::new("/tmp"));
        assert_eq!(place("/tmp", false, true), Path::new("/var/tmp"));
        for (memory, chosen, writable) in [("/tmp /var/tmp", false, true), ("/tmp", true, true), ("/tmp", false, false)]
        {
            assert_eq!(place(memory, chosen, writable), Path::new("/tmp"), "{memory} {chosen} {writable}");
        }
    }

    #[test]
    fn a_run_has_the_effort_that_was_asked_for() {
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
        // Rounds that are named are all there are.
        assert_eq!(of(Profile::Standard, 100, |r| r.rounds = Some(12)), (12, 12, [40, 1500, 10_000]));
        // Longer rounds have longer until they are killed, unless that was named as well.
        let long: Change = |r| r.round_length = Some(Duration::from_secs(3));
        assert_eq!(of(Profile::Standard, 100, long), (9, most, [3000, 1500, 25_000]));
        let named: Change = |r| {
            (r.round_length, r.deadline) = (Some(Duration::from_secs(3)), Some(Duration::from_secs(4)));
        };
        assert_eq!(of(Profile::Standard, 100, named), (9, most, [3000, 1500, 4000]));
        // The preflight goes with the rounds it is for and with the budget; one that decides
        // whether anything is measured does not go with the rounds.
        assert_eq!(of(Profile::Standard, 4, |r| r.rounds = Some(1)), (1, 1, [40, 200, 10_000]));
        let required: Change = |r| (r.rounds, r.require) = (Some(1), Some(NoiseVerdict::Fine));
        assert_eq!(of(Profile::Standard, 4, required), (1, 1, [40, 1500, 10_000]));
        let short: Change = |r| r.budget = Some(Duration::from_secs(5));
        assert_eq!(of(Profile::Standard, 100, short), (9, most, [40, 500, 10_000]));
    }

    /// Not that of a worker group, nor where the scheduler chooses, nor what cannot be measured
    /// here.
    #[test]
    fn each_place_of_single_tasks_and_pairs_is_stated_once() {
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
    fn a_machine_of_unknown_noise_is_not_quiet_enough() {
        use NoiseVerdict::{Fine, Hostile, Noisy, Quiet};
        assert!([Quiet, Fine].map(Some).iter().all(|seen| !is_too_noisy(*seen, Fine)));
        assert!([None, Some(Noisy), Some(Hostile)].iter().all(|seen| is_too_noisy(*seen, Fine)));
        assert!(is_too_noisy(None, Hostile));
    }

    #[test]
    fn the_header_of_a_run_holds_what_was_asked_for_and_found() {
        use groma_harness::model::Profile;
        let mut request = RunRequest::new(Profile::Quick);
        request.budget = Some(Duration::from_secs(77));
        let noise = NoiseVerdict::of_lost(0.5);
        let head = header(&request, 42, Host { timeslice_ns: 7.0, ..Host::UNKNOWN }, Some(0.5), None);
        assert_eq!((head.seed, head.profile, head.budget_s, head.schema), (42, Profile::Quick, 77.0, SCHEMA));
        assert_eq!((head.noise, head.noise_lost, head.host.timeslice_ns), (Some(noise), Some(0.5), 7.0));
        // The id begins with the start, without what separates its parts.
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        assert_eq!(digits(&head.run[..16]), digits(&head.started));
        let fact = |head: &RunHeader, key: &str| head.environment.get(key).map(str::to_owned);
        assert!(fact(&head, "kernel.release").is_some() && fact(&head, "work_dir.fs").is_none());
        let place = tempfile::tempdir().expect("a directory");
        let work_dir = WorkDir::new(place.path(), 1).expect("a work directory");
        let head = header(&request, 42, Host::UNKNOWN, None, Some(&work_dir));
        assert!(fact(&head, "work_dir.block").is_some() && head.noise.is_none());
    }
}
