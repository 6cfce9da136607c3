//! Measures a plan for a verb: its rounds go to the store and to the stream of `--out`. The verb
//! chooses what is measured and how it is shown.

use crate::args::StoreArgs;
use crate::command_line;
use crate::earlier::Earlier;
use crate::exit;
use crate::print::{print_measured, style};
use crate::program::Program;
use crate::progress::Progress;
use crate::store::{add_worker_facts, is_mistake, open_store, state_dir};
use crate::wanted::{Missing, Wanted, hints, nothing_measured};
use anyhow::{Context, Result, bail};
use groma_harness::model::{End, Host, Point, Record, Round, RunHeader, State, StateCounts, plain};
use groma_harness::sys::io as sysio;
use groma_harness::sys::signals::is_pending;
use groma_report::{self as report, Format};
use groma_runner::redact::Redactor;
use groma_runner::{NotMeasured, Planned, Run, RunOutcome, RunRequest, identity, signals};
use groma_store::{Filter, Ndjson, RunStatus, Sink, Store, StoreError};
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where the rounds and records of a run go.
pub(crate) struct Outputs<'a> {
    pub(crate) json: bool,
    pub(crate) out: Option<&'a Path>,
    /// Whether a file that is there already is kept, and the next number is added to the name.
    pub(crate) numbered: bool,
    pub(crate) samples: bool,
    pub(crate) all: bool,
    pub(crate) no_store: bool,
    pub(crate) store: &'a StoreArgs,
    /// Whether no progress is shown.
    pub(crate) silent: bool,
    /// What the user named, which has to be measured.
    pub(crate) wanted: Wanted,
}

impl<'a> Outputs<'a> {
    /// To this store if it was named, and nothing to the terminal: for programs that print what
    /// they found in a form of their own.
    pub(crate) fn silent(store: &'a StoreArgs) -> Outputs<'a> {
        Outputs { no_store: store.store.is_none(), silent: true, ..Outputs::to_store(store) }
    }

    /// To this store, and to standard output as text.
    pub(crate) fn to_store(store: &'a StoreArgs) -> Outputs<'a> {
        Outputs {
            json: false,
            out: None,
            numbered: false,
            samples: false,
            all: false,
            no_store: false,
            store,
            silent: false,
            wanted: Wanted::default(),
        }
    }
}

impl Outputs<'_> {
    /// Refuses `--json` with `--out -`, which would mix an object and lines on standard output.
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

/// A finished run.
pub(crate) struct Measured {
    pub(crate) head: RunHeader,
    pub(crate) points: Vec<Point>,
    pub(crate) records: Vec<Record>,
    end: End,
    outcome: RunOutcome,
    missing: Missing,
    /// That nothing was measured, and why.
    nothing: Option<String>,
    /// Why outputs do not hold the whole run.
    complaints: Vec<String>,
    /// Whether an output that was named could not be opened, which was told before the run.
    lost: bool,
}

impl Measured {
    /// Warns of what the budget cost and of results that are not kept; returns the exit code.
    pub(crate) fn report_end(&self, survey: bool) -> u8 {
        // The pages of a survey mark each value that the budget made less precise.
        for cost in self.outcome.costs.iter().filter(|_| !survey) {
            warn!("the budget of {:.0} s: {cost}", self.head.budget_s);
        }
        let code = end_code(self.outcome.signal, &self.complaints, &self.missing, self.records.iter());
        if code == 0 && self.lost { exit::FAILED } else { code }
    }

    /// The signal that ended the run, if one did.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.outcome.signal
    }

    /// How the run ended.
    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    /// The page of the run.
    pub(crate) fn page(&self, program: &Program, all: bool) -> String {
        let (head, records, end) = (&self.head, &self.records, Some(&self.end));
        let style = style(all);
        report::run(program.known_families(), head, records, end, &style).render(Format::Table, &style)
    }

    /// Whether some output does not hold the whole run.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.lost || !self.complaints.is_empty()
    }
}

/// Warns of results that are not kept and of what is missing; returns the exit code of the run.
pub(crate) fn end_code<'r>(
    signal: Option<i32>,
    complaints: &[String],
    missing: &Missing,
    mut records: impl Iterator<Item = &'r Record>,
) -> u8 {
    for complaint in complaints {
        warn!("{complaint}; the results of this run are shown, not all of them are kept");
    }
    if let Some(signal) = signal {
        return signals::exit_code(signal);
    }
    for text in missing.failure.iter().chain(&missing.excused) {
        warn!("{}", plain(text));
    }
    let failed = |record: &Record| matches!(record.state, State::Failed | State::Timeout);
    let fails = !complaints.is_empty() || missing.failure.is_some() || records.any(failed);
    if fails { exit::FAILED } else { 0 }
}

/// The points of a plan, redacted, as they are kept and shown. Workers get what was typed.
pub(crate) fn redacted<'p>(
    program: &Program,
    redactor: &Redactor,
    plan: impl Iterator<Item = &'p Planned>,
) -> Vec<Point> {
    let params = |id: &str| program.all().iter().find(|b| b.info.id == id).map_or(&[][..], |b| b.info.params);
    plan.map(|p| redactor.point(&p.point, params(&p.point.bench))).collect()
}

/// Measures a plan, keeps its rounds, and prints JSON, nothing (for `--out -`) or the text that
/// `show` returns. Returns the exit code.
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
    // First of all, so that a page without values is not all that is seen.
    if let Some(nothing) = &measured.nothing {
        warn!("{}", plain(nothing));
        // Said once; nothing is excused then.
        measured.missing = Missing::default();
    }
    let printed = if outputs.json {
        let Measured { head, points, records, end, outcome, .. } = &mut measured;
        if outputs.samples {
            keep_samples(points, outcome, records);
        }
        let families = program.known_families();
        let style = style(outputs.all).of(Format::Json);
        print_measured(&report::run(families, head, records, Some(end), &style).render(Format::Json, &style))
    } else if outputs.out_is_stdout() {
        true
    } else {
        print_measured(&show(&measured.head, &measured.records, &measured.end, &measured.outcome.rounds))
    };
    let code = measured.report_end(request.survey);
    Ok(if code == 0 && (!printed || measured.nothing.is_some()) { exit::FAILED } else { code })
}

/// Measures a plan and keeps its rounds. Breaks with the exit code if the run does not begin.
pub(crate) fn measure(
    program: &Program,
    request: &RunRequest,
    outputs: &Outputs<'_>,
    plan: &[Planned],
    started: Instant,
) -> Result<ControlFlow<u8, Measured>> {
    // Errors come before anything is measured. What may block (a FIFO without a reader, another
    // machine, a file system whose server is gone) comes before signals are held, so that it can be
    // interrupted as usual.
    let mut lost = false;
    let opening = Instant::now();
    let out = open_out(outputs.out, outputs.numbered, &mut lost)?;
    let mut store = open_store(outputs.no_store, outputs.store, &mut lost)?;
    // Waiting for another process, or for another machine, is no time of the budget.
    let started = started + opening.elapsed();
    let (mut run, mut progress) = match begin(request, plan, started, store.as_mut(), outputs.silent)? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(code) => return Ok(ControlFlow::Break(code)),
    };

    // What is kept and shown is redacted; workers get what was typed.
    let redactor = Redactor::of_this_user();
    let mut head = run.header().clone();
    head.args = redactor.args(command_line::arguments());
    redactor.header(&mut head);
    let earlier = store.as_ref().map(|store| Earlier::before(&head, store));
    if let Some(earlier) = &earlier {
        run.recall(&earlier.core_probes());
    }
    let points = redacted(program, &redactor, plan.iter());
    // The run reads the signals; the stream only polls a duplicate of their descriptor.
    let signals = run.signals().try_clone_to_owned().context("watching for signals")?;
    let out = out.map(|(file, name)| Ndjson::new(Interruptible { out: file, signals: signals.as_fd() }, name));
    let out = out.map(|out| if outputs.samples { out.with_rounds() } else { out });
    let mut sinks = Sinks::new(store.as_ref(), out);
    sinks.begin(&head, &points);

    let outcome = run.work(plan, &mut progress, |point, round| {
        redactor.round(round);
        sinks.round(point, round);
        Ok(())
    })?;
    drop(progress);

    add_worker_facts(&mut head, outcome.rounds.iter().map(Vec::as_slice));
    let mut records = records(&points, &outcome.rounds, &head.host);
    if let Some(earlier) = earlier.filter(|_| outcome.signal.is_none()) {
        earlier.flag_contradictions(&points, &mut records);
    }
    let end = End {
        states: count(&records),
        wall_s: started.elapsed().as_secs_f64(),
        interrupted: outcome.signal.is_some(),
        cpu_limit: outcome.cpu_limit,
        fewer_cpus: outcome.fewer_cpus,
    };
    for record in &records {
        sinks.record(record);
    }
    sinks.end(&end);
    let complaints = std::mem::take(&mut sinks.complaints);
    drop(sinks);
    // From here on a signal leaves nothing behind, and printing may block: stop holding signals.
    drop(run);
    let missing = outputs.wanted.missing(request, &points, &records);
    for hint in hints(&points, &records) {
        warn!("{hint}");
    }
    // What a signal left unmeasured is no failure of the machine.
    let nothing = match outcome.signal {
        Some(_) => None,
        None => nothing_measured(request, &head, end.cpu_limit, &records),
    };
    Ok(ControlFlow::Continue(Measured { head, points, records, end, outcome, missing, nothing, complaints, lost }))
}

/// Prepares a run, reports runs that were killed before it, and starts it. Breaks with the exit
/// code if it does not begin.
pub(crate) fn begin(
    request: &RunRequest,
    plan: &[Planned],
    started: Instant,
    store: Option<&mut Store>,
    silent: bool,
) -> Result<ControlFlow<u8, (Run, Progress)>> {
    restore_killed();
    let prepared = groma_runner::prepare(request)?;
    report_killed_runs(store);
    let mut progress = Progress::new(request.total_budget(), silent);
    match prepared.start(plan, started, &mut progress) {
        Ok(run) => Ok(ControlFlow::Continue((run, progress))),
        Err(error) => {
            drop(progress);
            not_measured(error).map(ControlFlow::Break)
        }
    }
}

/// The exit code of a run that does not begin.
///
/// # Errors
/// Errors for which there is no exit code.
fn not_measured(error: anyhow::Error) -> Result<u8> {
    match error.downcast_ref() {
        Some(NotMeasured::Signal(signal)) => Ok(signals::exit_code(*signal)),
        Some(noisy @ NotMeasured::TooNoisy { limit, .. }) => {
            warn!("{noisy}; --require {} refuses to measure", limit.word());
            Ok(exit::TOO_NOISY)
        }
        _ => Err(error),
    }
}

/// Opens the file of the stream; returns it with its name for messages. `None` also where the place
/// takes no file now, which is told and makes `lost` true.
fn open_out(path: Option<&Path>, numbered: bool, lost: &mut bool) -> Result<Option<(File, String)>> {
    let Some(path) = path else { return Ok(None) };
    if path.as_os_str() == "-" {
        let out = sysio::duplicate(1).context("--out -")?;
        return Ok(Some((File::from(out), "standard output".to_owned())));
    }
    let file = if numbered { create_next(path) } else { File::create(path).map(|file| (file, path.to_owned())) };
    let file = file.with_context(|| format!("--out {}", path.display()));
    let Some((file, path)) = opened_or_told(file, lost)? else { return Ok(None) };
    Ok(Some((file, path.display().to_string())))
}

/// Makes a file of this name, or of the next that nothing has: `node-2.ndjson`. Two machines may
/// have one name and be alike, and neither loses its run to the other.
fn create_next(path: &Path) -> std::io::Result<(File, PathBuf)> {
    let create = |path: &Path| File::options().write(true).create_new(true).open(path);
    let name = |number: u32| match number {
        1 => path.to_owned(),
        _ => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            path.with_file_name(format!("{stem}-{number}.{ending}"))
        }
    };
    let mut number = 1;
    loop {
        let path = name(number);
        match create(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && number < u32::MAX => number += 1,
            Ok(file) => {
                if number > 1 {
                    warn!(
                        "{} is there: an earlier run of this host, or another machine of its name; this one goes to {}",
                        name(number - 1).display(),
                        path.display()
                    );
                }
                return Ok((file, path));
            }
            Err(e) => return Err(e),
        }
    }
}

/// An output of a measurement that was opened. One whose place takes nothing now is told, makes
/// `lost` true, and the measurement goes on without it.
///
/// # Errors
/// When its name is wrong.
pub(crate) fn opened_or_told<T>(opened: Result<T>, lost: &mut bool) -> Result<Option<T>> {
    match opened {
        Ok(out) => Ok(Some(out)),
        Err(e) if is_mistake(&e) => Err(e),
        Err(e) => {
            warn!("{}; the results of this run are shown, not kept there", plain(&format!("{e:#}")));
            *lost = true;
            Ok(None)
        }
    }
}

/// An output whose writes fail when a signal arrives: a write to a full pipe without a reader would
/// block forever.
pub(crate) struct Interruptible<'s> {
    out: File,
    /// Readable once a signal has arrived. It is not read here: the run does that. Once it has, the
    /// rest is written, unless the signal is meant again.
    signals: BorrowedFd<'s>,
}

impl Write for Interruptible<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        /// A writable pipe takes at least a page without blocking.
        const PAGE: usize = 4096;
        while !sysio::writable(self.out.as_fd(), &[self.signals]) {
            if is_pending(self.signals) {
                return Err(std::io::Error::other("interrupted by a signal"));
            }
        }
        self.out.write(&bytes[..bytes.len().min(PAGE)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()?;
        // Writing to a file without a name succeeds.
        match self.out.metadata() {
            Ok(file) if file.is_file() && file.nlink() == 0 => {
                Err(std::io::Error::other("it was removed during the run"))
            }
            _ => Ok(()),
        }
    }
}

/// Restores the settings of the machine that a killed run left changed, and reports it. Failure is
/// only a warning: the run measures the machine as it is.
fn restore_killed() {
    match state_dir().map(|dir| groma_runner::recover(&dir)) {
        Some(Ok(Some(restored))) => warn!("{}", plain(&restored)),
        Some(Err(e)) => warn!("{}", plain(&format!("{e:#}"))),
        _ => {}
    }
}

/// Marks the runs that were killed since the last start, and reports them.
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

pub(crate) fn records(points: &[Point], rounds: &[Vec<Round>], host: &Host) -> Vec<Record> {
    let rounds = points.iter().zip(rounds);
    rounds.flat_map(|(point, rounds)| groma_analysis::summarise(point, rounds, host)).collect()
}

/// Attaches the rounds of its point to each record.
fn keep_samples(points: &[Point], outcome: &RunOutcome, records: &mut [Record]) {
    let rounds =
        points.iter().zip(&outcome.rounds).flat_map(|(point, rounds)| point.metrics.iter().map(move |_| rounds));
    records.iter_mut().zip(rounds).for_each(|(record, rounds)| record.round_samples = Some(rounds.clone()));
}

pub(crate) fn count(records: &[Record]) -> StateCounts {
    let counts = State::ALL.into_iter().map(|s| (s, records.iter().filter(|r| r.state == s).count() as u64));
    StateCounts(counts.filter(|(_, n)| *n > 0).collect())
}

/// The outputs of a run while it measures. A sink that fails is closed and its error kept; the
/// others go on.
pub(crate) struct Sinks<'s> {
    open: Vec<Box<dyn Sink + 's>>,
    pub(crate) complaints: Vec<String>,
}

impl<'s> Sinks<'s> {
    pub(crate) fn new(store: Option<&'s Store>, out: Option<Ndjson<Interruptible<'s>>>) -> Sinks<'s> {
        let mut open: Vec<Box<dyn Sink + 's>> = Vec::new();
        let mut complaints = Vec::new();
        match store.map(|store| store.writer(&identity::owner())) {
            Some(Ok(writer)) => open.push(Box::new(writer)),
            Some(Err(e)) => complaints.push(e.to_string()),
            None => {}
        }
        if let Some(out) = out {
            open.push(Box::new(out));
        }
        Sinks { open, complaints }
    }

    /// Writes the header to every sink.
    pub(crate) fn begin(&mut self, head: &RunHeader, points: &[Point]) {
        self.each(|sink| sink.begin(head, points));
    }

    fn each(&mut self, mut give: impl FnMut(&mut dyn Sink) -> Result<(), StoreError>) {
        let complaints = &mut self.complaints;
        self.open.retain_mut(|sink| match give(sink.as_mut()) {
            Ok(()) => true,
            Err(e) => {
                complaints.push(e.to_string());
                false
            }
        });
    }

    pub(crate) fn round(&mut self, point: usize, round: &Round) {
        self.each(|sink| sink.round(point, round));
    }

    fn record(&mut self, record: &Record) {
        self.each(|sink| sink.record(record));
    }

    pub(crate) fn end(&mut self, end: &End) {
        self.each(|sink| sink.end(end));
    }
}
