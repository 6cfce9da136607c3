//! `groma run`: arguments become a request and a plan, rounds go to the store, records to the
//! views.

use super::earlier::Earlier;
use super::{print, store_path, style};
use crate::flags::{RunArgs, StoreArgs};
use crate::program::Program;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use groma_harness::model::{End, Host, Point, Profile, Record, Remote, Round, RunHeader, State, StateCounts, plain};
use groma_harness::sys::io as sysio;
use groma_harness::sys::recording::Recording;
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, Format};
use groma_runner::plan::left_out;
use groma_runner::redact::Redactor;
use groma_runner::{
    NotMeasured, Planned, Run, RunOutcome, RunRequest, complete_budget, identity, of_pages, plan, signals,
};
use groma_store::{Filter, Ndjson, RunStatus, Sink, Store, StoreError};
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Instant;

/// The machine is noisier than `--require` allows.
const REFUSED: u8 = 3;
/// Some metric failed, timed out or was denied, or a result could not be kept.
pub(super) const SOME_FAILED: u8 = 4;

/// What becomes of the rounds and records of a run.
pub(crate) struct Outputs<'a> {
    pub(crate) json: bool,
    pub(crate) out: Option<&'a Path>,
    pub(crate) samples: bool,
    pub(crate) all: bool,
    pub(crate) no_store: bool,
    pub(crate) store: &'a StoreArgs,
}

impl Outputs<'_> {
    /// Refuses to mix the object of `--json` and the lines of `--out -` on one stream.
    pub(crate) fn check(&self) -> Result<()> {
        if self.json && self.out_is_stdout() {
            bail!("--json and --out - both write to standard output: use one of them, or name a file with --out");
        }
        Ok(())
    }

    fn out_is_stdout(&self) -> bool {
        self.out == Some(Path::new("-"))
    }
}

/// Measures.
pub(crate) fn run(program: &Program, args: &RunArgs) -> Result<u8> {
    let started = Instant::now();
    let outputs = Outputs {
        json: args.json,
        out: args.out.as_deref(),
        samples: args.samples,
        all: args.all,
        no_store: args.no_store,
        store: &args.store,
    };
    outputs.check()?;
    let mut request = request(args);
    // A quick survey measures less of the pages, and not another part of each benchmark.
    let profile = if request.survey { Profile::Standard } else { request.profile };
    let wanted = RunRequest { profile, ..request.clone() };
    let benches = program.select(&args.select, wanted.tier())?;
    let topology = match &args.machine {
        None => Topology::for_plan(),
        Some(file) if args.dry_run => Topology::recorded(&recording(file)?),
        Some(file) => {
            bail!("--machine {}: another machine can be planned for, not measured: add --dry-run", file.display())
        }
    };
    let mut plan = plan(&benches, &wanted, &topology)?;
    if request.survey {
        plan = of_pages(plan, program.known_families().pages, request.profile == Profile::Quick);
    }
    if request.profile == Profile::Complete && request.budget.is_none() {
        let measured = plan.iter().filter(|planned| planned.unsupported.is_none()).count();
        let budget = complete_budget(measured);
        if !args.dry_run {
            warn!("measuring {measured} points in about {}", report::units::wall(budget.as_secs_f64()));
        }
        request.budget = Some(budget);
    }
    if args.dry_run {
        return dry_run(&plan);
    }
    if let Some(choice) = left_out(&plan, &topology) {
        warn!("{choice}");
    }
    carry_out(program, &request, &outputs, &plan, started, |head, records, end, _| {
        report::render(program.known_families(), head, records, Some(end), Format::Table, &style(args.all))
    })
}

/// Whether nothing is asked for but a survey: what stands on the pages.
fn is_survey(args: &RunArgs) -> bool {
    let profile = Profile::from(args.profile);
    let plain = args.select.is_empty() && args.params.is_empty() && args.parallel.is_empty() && !args.threads;
    let here = args.placement.is_none() && args.host.is_none();
    plain && here && !args.all && !args.full && matches!(profile, Profile::Quick | Profile::Standard)
}

pub(super) fn request(args: &RunArgs) -> RunRequest {
    let everything = args.select.is_empty() && args.all && Profile::from(args.profile) == Profile::Standard;
    RunRequest {
        profile: if everything { Profile::Complete } else { args.profile.into() },
        survey: is_survey(args),
        sides: Vec::new(),
        full: args.full,
        params: args.params.clone(),
        placement: args.placement.clone(),
        parallel: args.parallel.clone(),
        threads: args.threads,
        remote: args.host.map(|address| Remote { address, token: args.token.clone() }),
        budget: args.budget,
        rounds: args.rounds,
        round_length: args.round_length,
        deadline: args.deadline,
        seed: args.seed,
        require: args.require.map(Into::into),
        work_dir: args.work_dir.clone(),
        tags: args.tags.tags.iter().cloned().collect(),
    }
}

/// Measures a plan, keeps its rounds, and prints what `show` makes of it unless something else than
/// text was asked for.
pub(crate) fn carry_out(
    program: &Program,
    request: &RunRequest,
    outputs: &Outputs<'_>,
    plan: &[Planned],
    started: Instant,
    show: impl FnOnce(&RunHeader, &[Record], &End, &[Vec<Round>]) -> String,
) -> Result<u8> {
    // Whatever can be refused is refused before anything is measured. And whatever may block (a
    // FIFO that nobody reads, another machine, a file system whose server is gone) comes before
    // signals are held: it can be interrupted as usual.
    let out = open_out(outputs.out)?;
    let mut store = open_store(outputs.no_store, outputs.store)?;
    let (mut run, mut progress) = match begin(request, plan, started, store.as_mut())? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(code) => return Ok(code),
    };

    // What is kept and shown is redacted; the workers are given what was typed.
    let redactor = Redactor::of_this_user();
    let mut head = run.header().clone();
    head.args = redactor.args(std::env::args_os().skip(1));
    redactor.header(&mut head);
    let earlier = store.as_ref().map(|store| Earlier::before(&head, store));
    if let Some(earlier) = &earlier {
        run.recall(&earlier.core_probes());
    }
    let params = |id: &str| program.all().iter().find(|b| b.info.id == id).map_or(&[][..], |b| b.info.params);
    let points: Vec<Point> = plan.iter().map(|p| redactor.point(&p.point, params(&p.point.bench))).collect();
    // The run holds the signals, of which the stream watches a duplicate.
    let signals = run.signals().try_clone_to_owned().context("watching for signals")?;
    let out = out.map(|(file, name)| Ndjson::new(Interruptible { out: file, signals: signals.as_fd() }, name));
    let out = out.map(|out| if outputs.samples { out.with_rounds() } else { out });
    let mut sinks = Sinks::new(store.as_ref(), out)?;
    sinks.begin(&head, &points)?;

    let outcome = run.work(plan, &mut progress, |point, round| {
        redactor.round(round);
        sinks.round(point, round);
        Ok(())
    })?;
    drop(progress);

    let mut records = records(&points, &outcome.rounds, &head.host);
    if let Some(earlier) = earlier.filter(|_| outcome.signal.is_none()) {
        earlier.flag_contradictions(&points, &mut records);
    }
    let end =
        End { states: count(&records), wall_s: started.elapsed().as_secs_f64(), interrupted: outcome.signal.is_some() };
    for record in &records {
        sinks.record(record);
    }
    sinks.end(&end);
    let complaint = sinks.complaint.take();
    drop(sinks);
    // Nothing is left that a signal could leave behind, and who is to read what comes now may be in
    // no hurry.
    drop(run);
    if outputs.json {
        if outputs.samples {
            keep_samples(&points, &outcome, &mut records);
        }
        print(&report::render(
            program.known_families(),
            &head,
            &records,
            Some(&end),
            Format::Json,
            &style(outputs.all),
        ))?;
    } else if !outputs.out_is_stdout() {
        print(&show(&head, &records, &end, &outcome.rounds))?;
    }
    // The pages show what the budget cost by a sign at each value.
    for cost in outcome.costs.iter().filter(|_| !request.survey) {
        warn!("the budget of {:.0} s: {cost}", head.budget_s);
    }
    if let Some(complaint) = &complaint {
        warn!("{complaint}; the results of this run are shown, not all of them are kept");
    }
    Ok(match outcome.signal {
        Some(signal) => signals::exit_code(signal),
        None if complaint.is_some() || records.iter().any(|r| r.state.fails_run()) => SOME_FAILED,
        None => 0,
    })
}

/// Prepares a run, says which were killed before it, and starts it; the exit code where it does not
/// begin.
pub(super) fn begin(
    request: &RunRequest,
    plan: &[Planned],
    started: Instant,
    store: Option<&mut Store>,
) -> Result<ControlFlow<u8, (Run, Progress)>> {
    let prepared = groma_runner::prepare(request)?;
    report_killed_runs(store);
    let mut progress = Progress::new(request.total_budget());
    match prepared.start(plan, started, &mut progress) {
        Ok(run) => Ok(ControlFlow::Continue((run, progress))),
        Err(error) => {
            drop(progress);
            not_measured(error).map(ControlFlow::Break)
        }
    }
}

/// The exit code of a run that does not begin, or the error that it ends with.
fn not_measured(error: anyhow::Error) -> Result<u8> {
    match error.downcast_ref() {
        Some(NotMeasured::Signal(signal)) => Ok(signals::exit_code(*signal)),
        Some(noisy @ NotMeasured::TooNoisy { limit, .. }) => {
            warn!("{noisy}; --require {} refuses to measure", limit.word());
            Ok(REFUSED)
        }
        _ => Err(error),
    }
}

/// A machine that `groma machine --record` has recorded.
fn recording(file: &Path) -> Result<Recording> {
    let of_file = || format!("--machine {}", file.display());
    let text = std::fs::read_to_string(file).with_context(of_file)?;
    text.parse().map_err(anyhow::Error::msg).with_context(of_file)
}

fn dry_run(plan: &[Planned]) -> Result<u8> {
    let mut text = String::new();
    for planned in plan {
        let metrics: Vec<&str> = planned.point.metrics.iter().map(|m| m.id.as_str()).collect();
        text.push_str(&planned.point.name());
        if metrics.len() > 1 {
            text.push_str(&format!("  ({})", metrics.join(", ")));
        }
        match &planned.unsupported {
            Some(why) => text.push_str(&format!("  unsupported: {why}")),
            None => text.push_str(&format!("  on {}", planned.cpus)),
        }
        text.push('\n');
    }
    text.push_str(&format!("{} points\n", plan.len()));
    print(&text)?;
    Ok(0)
}

/// The file of the stream, and its name for messages.
fn open_out(path: Option<&Path>) -> Result<Option<(File, String)>> {
    let Some(path) = path else { return Ok(None) };
    if path.as_os_str() == "-" {
        let out = sysio::duplicate(1).context("--out -")?;
        return Ok(Some((File::from(out), "standard output".to_owned())));
    }
    let file = File::create(path).with_context(|| format!("--out {}", path.display()))?;
    Ok(Some((file, path.display().to_string())))
}

/// An output whose writes fail when a signal comes while nobody reads: a full pipe would block for
/// ever.
pub(super) struct Interruptible<'s> {
    out: File,
    /// Readable when a signal has come. The signal is left for the run.
    signals: BorrowedFd<'s>,
}

impl Write for Interruptible<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        /// A pipe that is writable takes at least a page.
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

/// The store, or nothing where results are not kept. A store that was named must work; where the
/// default one does not (a read-only home), a warning is enough.
pub(super) fn open_store(none: bool, args: &StoreArgs) -> Result<Option<Store>> {
    if none {
        return Ok(None);
    }
    let named = args.store.is_some();
    let opened = store_path(args).and_then(|path| {
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
            warn!("results are shown, not kept: {e:#}");
            Ok(None)
        }
    }
}

/// Reports the runs that were killed since the last start, and marks them.
fn report_killed_runs(store: Option<&mut Store>) {
    let Some(store) = store else { return };
    let unended = Filter { status: Some(RunStatus::Running), ..Filter::default() };
    let Ok(runs) = store.runs_that(&unended) else { return };
    for row in runs.iter().filter(|row| !identity::is_alive(&row.owner)) {
        if store.mark_killed(&row.run).is_ok() {
            warn!("run {} was killed; its {} finished rounds are kept", plain(&row.run), row.rounds);
        }
    }
}

pub(super) fn records(points: &[Point], rounds: &[Vec<Round>], host: &Host) -> Vec<Record> {
    let rounds = points.iter().zip(rounds);
    rounds.flat_map(|(point, rounds)| groma_analysis::summarise(point, rounds, host)).collect()
}

/// Gives each record the rounds of its point.
fn keep_samples(points: &[Point], outcome: &RunOutcome, records: &mut [Record]) {
    let rounds =
        points.iter().zip(&outcome.rounds).flat_map(|(point, rounds)| point.metrics.iter().map(move |_| rounds));
    records.iter_mut().zip(rounds).for_each(|(record, rounds)| record.round_samples = Some(rounds.clone()));
}

pub(super) fn count(records: &[Record]) -> StateCounts {
    let counts = State::ALL.into_iter().map(|s| (s, records.iter().filter(|r| r.state == s).count() as u64));
    StateCounts(counts.filter(|(_, n)| *n > 0).collect())
}

/// Where the rounds of a run go. A sink that fails is dropped with one complaint; the others, and
/// the screen, go on.
pub(super) struct Sinks<'s> {
    open: Vec<Box<dyn Sink + 's>>,
    pub(super) complaint: Option<String>,
}

impl<'s> Sinks<'s> {
    pub(super) fn new(store: Option<&'s Store>, out: Option<Ndjson<Interruptible<'s>>>) -> Result<Sinks<'s>> {
        let mut open: Vec<Box<dyn Sink + 's>> = Vec::new();
        if let Some(store) = store {
            open.push(Box::new(store.writer(&identity::owner())?));
        }
        if let Some(out) = out {
            open.push(Box::new(out));
        }
        Ok(Sinks { open, complaint: None })
    }

    /// Every sink must take the header, or the run is refused.
    pub(super) fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<()> {
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

    pub(super) fn round(&mut self, point: usize, round: &Round) {
        self.each(|sink| sink.round(point, round));
    }

    fn record(&mut self, record: &Record) {
        self.each(|sink| sink.record(record));
    }

    pub(super) fn end(&mut self, end: &End) {
        self.each(|sink| sink.end(end));
    }
}
