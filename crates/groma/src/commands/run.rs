//! `groma run`: plan, preflight, rounds, records, table.

use super::{print, store_path, style};
use crate::context;
use crate::discreet::Discreet;
use crate::flags::RunArgs;
use crate::plan::{Planned, left_out, plan};
use crate::progress::Progress;
use crate::select::select;
use crate::supervise::{Ended, HANGUP, Supervisor};
use crate::survey::{Effort, RunOutcome, Survey};
use crate::workdir::{self, WorkDir};
use anyhow::{Context, Result, anyhow, bail};
use groma_harness::model::{
    End, Fact, Families, Host, Job, NoiseVerdict, Params, Placement, Point, Profile, Record, Remark, Remote, Round,
    RunHeader, SCHEMA, State, StateCounts, WorkerKind, plain,
};
use groma_harness::preflight as host_preflight;
use groma_harness::remote::Control;
use groma_harness::sys::topology::Topology;
use groma_harness::sys::{facts, io as sysio};
use groma_report::{self as report, Format};
use groma_store::{Ndjson, RunStatus, Sink, Store, StoreError};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The machine is noisier than `--require` allows.
const REFUSED: u8 = 3;
/// Some metric failed, timed out or was denied, or a result could not be kept.
const SOME_FAILED: u8 = 4;
/// The longest that one round may take unless somebody says otherwise.
const DEADLINE: Duration = Duration::from_secs(10);
/// What the preflight may take beyond the time it is given.
const PREFLIGHT_DEADLINE: Duration = Duration::from_secs(20);

/// Measures.
pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let started = Instant::now();
    let benches = select(&groma_benches::all(), &args.select, args.tier())?;
    let topology = Topology::read();
    let plan = plan(&benches, args, &topology)?;
    if args.dry_run {
        return dry_run(&plan);
    }
    if let Some(choice) = left_out(&plan, &topology) {
        eprintln!("groma: {choice}");
    }
    carry_out(args, &plan, started, |head, records, end, _| {
        report::page_and_table(Families(&groma_benches::families()), head, records, Some(end), &style(args.all))
    })
}

/// Works a plan off, keeps what comes, and prints what `show` makes of it unless something else than text was asked for.
pub(crate) fn carry_out(
    args: &RunArgs,
    plan: &[Planned],
    started: Instant,
    show: impl FnOnce(&RunHeader, &[Record], &End, &[Vec<Round>]) -> String,
) -> Result<u8> {
    let profile: Profile = args.profile.into();
    let mut effort = Effort::of(profile);
    if let Some(rounds) = args.rounds {
        (effort.rounds, effort.most_rounds) = (rounds, rounds);
    }
    let budget = args.budget.unwrap_or(effort.budget);
    effort.preflight = effort.preflight.min(budget / 10);
    let seed = args.seed.unwrap_or_else(context::random_seed);

    // Whatever can be refused is refused before anything is measured. And whatever may block (a
    // FIFO that nobody reads, another machine, a file system whose server is gone) comes before
    // signals are held: it can be interrupted as usual.
    let out = open_out(args)?;
    let mut store = open_store(args)?;
    let remote = args.host.map(|address| Remote { address, token: args.token.clone() });
    let of_remote = match &remote {
        Some(remote) => {
            Control::open(remote).and_then(|mut control| control.facts()).map_err(|e| anyhow!("--host {e}"))?
        }
        None => Vec::new(),
    };
    let parent = args.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    if args.work_dir.is_some() && !parent.is_dir() {
        bail!("--work-dir: {}: cannot be written: it is no directory", parent.display());
    }
    report_killed_runs(store.as_mut());
    workdir::sweep(&parent);
    let supervisor = Supervisor::new().context("the supervisor cannot start")?;
    // What is not made cannot be left.
    let needed = plan.iter().any(|planned| planned.work_dir && planned.unsupported.is_none());
    let work_dir = if needed { open_work_dir(&parent, seed) } else { None };

    let mut progress = Progress::new(budget);
    progress.show("gauging the machine");
    let (host, lost, remarks) = match preflight(&supervisor, effort.preflight, seed) {
        Ok(found) => found,
        Err(Refusal::Signal(signal)) => return Ok(signal_code(signal)),
        Err(Refusal::Failed(why)) => bail!("this machine cannot be measured: {why}"),
    };
    let noise = lost.map(NoiseVerdict::of_lost);
    if let Some(limit) = args.require.map(NoiseVerdict::from)
        && noise.is_none_or(|seen| seen > limit)
    {
        progress.finish();
        let seen = noise.map_or("unknown", NoiseVerdict::word);
        let share = lost.map_or(String::new(), |l| format!(": {:.1} % of the time went to others", l * 100.0));
        eprintln!("groma: the machine is {seen}{share}; --require {} refuses to measure", limit.word());
        return Ok(REFUSED);
    }

    let mut head = header(profile, budget, seed, host, noise, lost, work_dir.as_ref());
    head.remarks = remarks;
    head.environment.facts.extend(of_remote);
    // What is kept and shown is discreet; what the workers are told is what was typed.
    let discreet = Discreet::of_this_user();
    head.args = discreet.args(std::env::args_os().skip(1));
    discreet.header(&mut head);
    let all = groma_benches::all();
    let params = |id: &str| all.iter().find(|b| b.info.id == id).map_or(&[][..], |b| b.info.params);
    let points: Vec<Point> = plan.iter().map(|p| discreet.point(&p.point, params(&p.point.bench))).collect();
    let out = out.map(|(file, name)| Ndjson::new(Interruptible { out: file, signals: supervisor.signals() }, name));
    let mut sinks = Sinks::new(store.as_ref(), out)?;
    sinks.begin(&head, &points)?;

    let mut survey = Survey {
        supervisor: &supervisor,
        effort,
        host,
        seed,
        started,
        budget,
        deadline: args.deadline.unwrap_or(DEADLINE),
        work_dir,
        remote,
    };
    let worked = survey.work(plan, &mut progress, |point, round| {
        discreet.round(round);
        sinks.round(point, round);
        Ok(())
    })?;
    progress.finish();
    drop(survey);

    let records = records(&points, &worked, &host, args.samples, sinks.wants_records() || args.json);
    let end =
        End { states: count(&records), wall_s: started.elapsed().as_secs_f64(), interrupted: worked.signal.is_some() };
    for record in &records {
        sinks.record(record);
    }
    sinks.end(&end);
    let complaint = sinks.complaint.take();
    drop(sinks);
    // Nothing is left that a signal could leave behind, and who is to read what comes now may be in no hurry.
    drop(supervisor);
    let out_is_stdout = args.out.as_deref() == Some(Path::new("-"));
    if args.json {
        let families = groma_benches::families();
        let families = Families(&families);
        print(&report::render(families, &head, &records, Some(&end), Format::Json, &style(args.all)))?;
    } else if !out_is_stdout {
        print(&show(&head, &records, &end, &worked.rounds))?;
    }
    for cost in &worked.costs {
        eprintln!("groma: the budget of {:.0} s: {cost}", budget.as_secs_f64());
    }
    if let Some(complaint) = &complaint {
        eprintln!("groma: {complaint}; the results of this run are shown, not all of them are kept");
    }
    Ok(match worked.signal {
        Some(signal) => signal_code(signal),
        None if complaint.is_some() || records.iter().any(|r| r.state.fails_run()) => SOME_FAILED,
        None => 0,
    })
}

/// 128 and the signal, as shells have it.
pub(crate) fn signal_code(signal: i32) -> u8 {
    128 + u8::try_from(signal).unwrap_or(HANGUP as u8)
}

fn dry_run(plan: &[Planned]) -> Result<u8> {
    let mut text = String::new();
    for planned in plan {
        let metrics: Vec<&str> = planned.point.metrics.iter().map(|m| m.id.as_str()).collect();
        text.push_str(&planned.point.name());
        if metrics.len() > 1 {
            text.push_str(&format!("  ({})", metrics.join(", ")));
        }
        if let Some(why) = &planned.unsupported {
            text.push_str(&format!("  unsupported: {why}"));
        }
        text.push('\n');
    }
    text.push_str(&format!("{} points\n", plan.len()));
    print(&text)?;
    Ok(0)
}

/// Why there is no preflight.
#[derive(Debug)]
pub(crate) enum Refusal {
    Signal(i32),
    Failed(String),
}

/// Finds out about clock, scheduler and noise in a worker; the share of time lost, where it could be gauged, and remarks.
pub(crate) fn preflight(
    supervisor: &Supervisor,
    time: Duration,
    seed: u64,
) -> Result<(Host, Option<f64>, Vec<Remark>), Refusal> {
    let job = Job {
        id: host_preflight::ID.to_owned(),
        params: Params::default(),
        placement: Placement::Free,
        cpus: Vec::new(),
        workers: 1,
        worker_kind: WorkerKind::Processes,
        round: 0,
        seed,
        intervals: 0,
        time_limit_ns: time.as_nanos() as u64,
        warm_ns: 0,
        frozen: Vec::new(),
        work_dir: None,
        remote: None,
        host: Host::UNKNOWN,
    };
    match supervisor.run(&job, 0, PREFLIGHT_DEADLINE + time, None) {
        Ended::Signal(signal) => Err(Refusal::Signal(signal)),
        Ended::OutOfBudget => Err(Refusal::Failed("the preflight did not end".to_owned())),
        Ended::Result(result) if result.state != State::Ok => Err(Refusal::Failed(result.reason)),
        Ended::Result(result) => {
            let found = result.output.preflight;
            let found = found.ok_or_else(|| Refusal::Failed("the preflight did not say what it found".to_owned()))?;
            Ok((found.host, found.noise.map(|noise| noise.lost), result.output.remarks))
        }
    }
}

/// Where the stream goes, and what it is called.
fn open_out(args: &RunArgs) -> Result<Option<(File, String)>> {
    let Some(path) = &args.out else { return Ok(None) };
    if path.as_os_str() == "-" {
        let out = sysio::duplicate(1).context("--out -")?;
        return Ok(Some((File::from(out), "standard output".to_owned())));
    }
    let file = File::create(path).with_context(|| format!("--out {}", path.display()))?;
    Ok(Some((file, path.display().to_string())))
}

/// An output that gives up when a signal comes while nobody reads: a pipe that is full would block for ever.
struct Interruptible<'s> {
    out: File,
    /// Readable when a signal has come. It is left there, for the run to see.
    signals: BorrowedFd<'s>,
}

impl Write for Interruptible<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        /// A pipe that takes anything takes a page.
        const PAGE: usize = 4096;
        if !sysio::writable(self.out.as_fd(), &[self.signals]) {
            return Err(std::io::Error::other("a signal came, and nobody reads it"));
        }
        self.out.write(&bytes[..bytes.len().min(PAGE)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The store, or nothing where results are not to be kept. A store that was named must work; the default one may be out of
/// reach (a read-only home), which is said and no reason not to measure.
fn open_store(args: &RunArgs) -> Result<Option<Store>> {
    if args.no_store {
        return Ok(None);
    }
    let named = args.store.store.is_some();
    let opened = store_path(&args.store).and_then(|path| {
        let store = Store::open(&path)?;
        if store.is_newer() {
            bail!("{}: written by a newer groma: it can be read, not written", path.display());
        }
        Ok(store)
    });
    match opened {
        Ok(store) => Ok(Some(store)),
        Err(e) if named => Err(e),
        Err(e) => {
            eprintln!("groma: results are shown, not kept: {e:#}");
            Ok(None)
        }
    }
}

/// The run's directory for files. A place that cannot be written is no reason not to measure the
/// rest: the benchmarks that need one come back `unsupported`, and it is said at once.
fn open_work_dir(parent: &Path, seed: u64) -> Option<WorkDir> {
    let made = WorkDir::new(parent, seed);
    if let Err(e) = &made {
        eprintln!("groma: benchmarks that need files are unsupported in this run: {e:#}");
    }
    made.ok()
}

/// Says which runs were killed since the last start, and marks them.
fn report_killed_runs(store: Option<&mut Store>) {
    let Some(store) = store else { return };
    let Ok(runs) = store.runs() else { return };
    for row in runs.iter().filter(|r| r.status == RunStatus::Running && !context::is_alive(&r.owner)) {
        if store.mark_killed(&row.run).is_ok() {
            eprintln!("groma: run {} was killed; its {} finished rounds are kept", plain(&row.run), row.rounds);
        }
    }
}

fn header(
    profile: Profile,
    budget: Duration,
    seed: u64,
    host: Host,
    noise: Option<NoiseVerdict>,
    noise_lost: Option<f64>,
    work_dir: Option<&WorkDir>,
) -> RunHeader {
    let now = jiff::Timestamp::now();
    let mut environment = context::machine();
    if let Some(dir) = work_dir {
        environment.facts.extend(facts::work_dir_facts(dir.path()).into_iter().map(|(k, v)| Fact::new(k, v)));
    }
    RunHeader {
        schema: SCHEMA,
        run: context::run_id(now, context::random_seed()),
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        groma: env!("CARGO_PKG_VERSION").to_owned(),
        build: context::build(),
        args: Vec::new(),
        seed,
        profile,
        budget_s: budget.as_secs_f64(),
        environment,
        host,
        noise,
        noise_lost,
        remarks: Vec::new(),
    }
}

fn records(points: &[Point], worked: &RunOutcome, host: &Host, samples: bool, for_machines: bool) -> Vec<Record> {
    let mut records = Vec::new();
    for (point, rounds) in points.iter().zip(&worked.rounds) {
        for mut record in groma_analysis::summarise(point, rounds, host) {
            if samples && for_machines {
                record.round_samples = Some(rounds.clone());
            }
            records.push(record);
        }
    }
    records
}

fn count(records: &[Record]) -> StateCounts {
    let counts = State::ALL.into_iter().map(|s| (s, records.iter().filter(|r| r.state == s).count() as u64));
    StateCounts(counts.filter(|(_, n)| *n > 0).collect())
}

/// Where the run goes as it is measured. A sink that fails is given up with one complaint: the others, and the screen, go
/// on.
struct Sinks<'s> {
    open: Vec<Box<dyn Sink + 's>>,
    records: bool,
    complaint: Option<String>,
}

impl<'s> Sinks<'s> {
    fn new(store: Option<&'s Store>, out: Option<Ndjson<Interruptible<'s>>>) -> Result<Sinks<'s>> {
        let mut open: Vec<Box<dyn Sink + 's>> = Vec::new();
        let records = out.is_some();
        if let Some(store) = store {
            open.push(Box::new(store.writer(&context::owner())?));
        }
        if let Some(out) = out {
            open.push(Box::new(out));
        }
        Ok(Sinks { open, records, complaint: None })
    }

    fn wants_records(&self) -> bool {
        self.records
    }

    /// The head must be taken: a run that cannot even begin is refused.
    fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<()> {
        for sink in &mut self.open {
            sink.begin(head, points)?;
        }
        Ok(())
    }

    fn each(&mut self, mut give: impl FnMut(&mut dyn Sink) -> Result<(), StoreError>) {
        let complaint = &mut self.complaint;
        self.open.retain_mut(|sink| match give(sink.as_mut()) {
            Ok(()) => true,
            Err(e) => {
                complaint.get_or_insert_with(|| e.to_string());
                false
            }
        });
    }

    fn round(&mut self, point: usize, round: &Round) {
        self.each(|sink| sink.round(point, round));
    }

    fn record(&mut self, record: &Record) {
        self.each(|sink| sink.record(record));
    }

    fn end(&mut self, end: &End) {
        self.each(|sink| sink.end(end));
    }
}
