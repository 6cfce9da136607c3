//! Measuring for a verb: a plan becomes a run whose rounds go to the store and to the stream. What
//! is measured, and how it is shown, is the verb's.

use super::earlier::Earlier;
use super::{print, state_dir, store_path, style};
use crate::flags::StoreArgs;
use crate::program::Program;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use groma_harness::model::{End, Host, Point, Record, Round, RunHeader, State, StateCounts, plain};
use groma_harness::sys::io as sysio;
use groma_report::{self as report, Format};
use groma_runner::redact::Redactor;
use groma_runner::{NotMeasured, Planned, Run, RunOutcome, RunRequest, identity, signals};
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

impl<'a> Outputs<'a> {
    /// Kept in this store, and printed as text.
    pub(crate) fn to_store(store: &'a StoreArgs) -> Outputs<'a> {
        Outputs { json: false, out: None, samples: false, all: false, no_store: false, store }
    }
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

/// What a run has brought.
pub(crate) struct Measured {
    pub(crate) head: RunHeader,
    pub(crate) points: Vec<Point>,
    pub(crate) records: Vec<Record>,
    end: End,
    outcome: RunOutcome,
    /// Why not everything is kept.
    complaint: Option<String>,
}

impl Measured {
    /// Says what the budget cost, and what could not be kept; the exit code of the run.
    pub(crate) fn report_end(&self, survey: bool) -> u8 {
        // The pages show what the budget cost by a sign at each value.
        for cost in self.outcome.costs.iter().filter(|_| !survey) {
            warn!("the budget of {:.0} s: {cost}", self.head.budget_s);
        }
        end_code(self.outcome.signal, self.complaint.as_deref(), self.records.iter())
    }
}

/// Says what could not be kept; the exit code of a run that ended so.
pub(super) fn end_code<'r>(
    signal: Option<i32>,
    complaint: Option<&str>,
    mut records: impl Iterator<Item = &'r Record>,
) -> u8 {
    if let Some(complaint) = complaint {
        warn!("{complaint}; the results of this run are shown, not all of them are kept");
    }
    match signal {
        Some(signal) => signals::exit_code(signal),
        None if complaint.is_some() || records.any(|record| record.state.fails_run()) => SOME_FAILED,
        None => 0,
    }
}

/// The points of a plan as they are kept and shown; the workers are given what was typed.
pub(super) fn redacted<'p>(
    program: &Program,
    redactor: &Redactor,
    plan: impl Iterator<Item = &'p Planned>,
) -> Vec<Point> {
    let params = |id: &str| program.all().iter().find(|b| b.info.id == id).map_or(&[][..], |b| b.info.params);
    plan.map(|p| redactor.point(&p.point, params(&p.point.bench))).collect()
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
    let mut measured = match measure(program, request, outputs, plan, started)? {
        ControlFlow::Continue(measured) => measured,
        ControlFlow::Break(code) => return Ok(code),
    };
    if outputs.json {
        let Measured { head, points, records, end, outcome, .. } = &mut measured;
        if outputs.samples {
            keep_samples(points, outcome, records);
        }
        let families = program.known_families();
        print(&report::render(families, head, records, Some(end), Format::Json, &style(outputs.all)))?;
    } else if !outputs.out_is_stdout() {
        print(&show(&measured.head, &measured.records, &measured.end, &measured.outcome.rounds))?;
    }
    Ok(measured.report_end(request.survey))
}

/// Measures a plan and keeps its rounds; the exit code where the run does not begin.
pub(crate) fn measure(
    program: &Program,
    request: &RunRequest,
    outputs: &Outputs<'_>,
    plan: &[Planned],
    started: Instant,
) -> Result<ControlFlow<u8, Measured>> {
    // Whatever can be refused is refused before anything is measured. And whatever may block (a
    // FIFO that nobody reads, another machine, a file system whose server is gone) comes before
    // signals are held: it can be interrupted as usual.
    let out = open_out(outputs.out)?;
    let mut store = open_store(outputs.no_store, outputs.store)?;
    let (mut run, mut progress) = match begin(request, plan, started, store.as_mut())? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(code) => return Ok(ControlFlow::Break(code)),
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
    let points = redacted(program, &redactor, plan.iter());
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
    Ok(ControlFlow::Continue(Measured { head, points, records, end, outcome, complaint }))
}

/// Prepares a run, says which were killed before it, and starts it; the exit code where it does not
/// begin.
pub(super) fn begin(
    request: &RunRequest,
    plan: &[Planned],
    started: Instant,
    store: Option<&mut Store>,
) -> Result<ControlFlow<u8, (Run, Progress)>> {
    restore_killed();
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
            return Err(std::io::Error::other("interrupted by a signal"));
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
    let opened = store_path(args).and_then(|path| Ok(Store::open(&path)?));
    match opened {
        Ok(store) => Ok(Some(store)),
        Err(e) if named => Err(e),
        Err(e) => {
            warn!("results are shown, not kept: {e:#}");
            Ok(None)
        }
    }
}

/// Restores what a killed run changed of the machine, and says so. Where that fails, this run is
/// told and goes on: it measures what is there.
fn restore_killed() {
    match state_dir().map(|dir| groma_runner::recover(&dir)) {
        Some(Ok(Some(restored))) => warn!("{}", plain(&restored)),
        Some(Err(e)) => warn!("{}", plain(&format!("{e:#}"))),
        _ => {}
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
