//! Where results are kept, and how verbs read them: from the store or from the file of a stream.

use crate::args::StoreArgs;
use crate::earlier::Earlier;
use crate::print::name;
use crate::program::Program;
use anyhow::{Context, Result, anyhow, bail};
use groma_harness::model::{
    End, Fact, Info, Labels, Metric, OF_PROCESS, OF_WORKER, Point, Record, Round, RunHeader, plain,
};
use groma_harness::sys::facts::user;
use groma_store::ndjson::Lost;
use groma_store::{Filter, Ndjson, Sink, Store, StoreError, StoredRun, names_nothing, ndjson};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The path of the store: the named one or the default.
///
/// # Errors
/// When none is named and there is no home directory.
pub(crate) fn store_path(args: &StoreArgs) -> Result<PathBuf> {
    args.store
        .clone()
        .or_else(default_store)
        .context("there is no home directory to keep results in: name a store with --store FILE")
}

/// Opens a store that must exist.
///
/// # Errors
/// When it does not exist or cannot be read.
pub(crate) fn existing_store(args: &StoreArgs) -> Result<Store> {
    let path = store_path(args)?;
    match path.try_exists() {
        Ok(false) => bail!("{}: no store here yet: '{} run' makes one", path.display(), name()),
        Ok(true) => Store::open(&path).map_err(|e| with_owner(&path, e.into())),
        Err(e) => Err(with_owner(&path, anyhow!("{}: cannot be read: {e}", path.display()))),
    }
}

/// Adds whose directory is in the way, if one of another user is: `sudo` once made it in the home
/// of a user.
fn with_owner(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let is_there = |place: &&Path| place.symlink_metadata().is_ok();
    // What is below cannot be seen, or is the file itself.
    let Some(place) = path.ancestors().find(is_there) else { return error };
    let owner = place.symlink_metadata().map_or(user(), |found| found.uid());
    let is_refused = std::fs::File::open(place).is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied);
    if owner == user() || !is_refused {
        return error;
    }
    let of = if owner == 0 { "the superuser (was it made under sudo?)".to_owned() } else { format!("user {owner}") };
    error.context(format!("{} belongs to {of}, and is closed to user {}", place.display(), user()))
}

/// Opens the store to write to it, or creates it; `None` if results are not to be kept, or cannot
/// be, which is told: a full disk or a read-only file system is no reason not to measure. `lost`
/// becomes true if that is a store that was named.
///
/// # Errors
/// When what was named cannot be a store.
pub(crate) fn open_store(none: bool, args: &StoreArgs, lost: &mut bool) -> Result<Option<Store>> {
    if none {
        return Ok(None);
    }
    let named = args.store.is_some();
    let opened = store_path(args).and_then(|path| {
        let store = Store::open(&path).map_err(|e| with_owner(&path, e.into()))?;
        store.writer("")?;
        Ok(store)
    });
    match opened {
        Ok(store) => Ok(Some(store)),
        Err(e) if named && is_mistake(&e) => Err(e),
        Err(e) => {
            warn!("results are shown, not kept: {e:#}");
            *lost |= named;
            Ok(None)
        }
    }
}

/// Whether an output cannot be opened because of its name, and not because of the state of the
/// place (a full disk, a quota, a read-only or failing file system).
pub(crate) fn is_mistake(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| match (cause.downcast_ref::<StoreError>(), cause.downcast_ref::<io::Error>()) {
        (Some(store), _) => store.is_mistake(),
        (None, Some(system)) => names_nothing(system),
        (None, None) => false,
    })
}

/// The default store; `None` without a home directory.
fn default_store() -> Option<PathBuf> {
    Some(base_dir("XDG_DATA_HOME", ".local/share")?.join("groma").join("groma.db"))
}

/// The XDG state directory, shared by all programs; `None` without a home directory.
pub(crate) fn state_dir() -> Option<PathBuf> {
    base_dir("XDG_STATE_HOME", ".local/state")
}

/// An XDG base directory: the value of its variable, or its default below the home directory.
fn base_dir(variable: &str, default: &str) -> Option<PathBuf> {
    let absolute = |var: &str| std::env::var_os(var).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(default)))
}

/// A run with its records computed, as views take it.
pub(crate) struct Shown {
    pub(crate) head: RunHeader,
    /// The points, in the order of the records.
    pub(crate) points: Vec<Point>,
    /// The rounds of each point.
    pub(crate) rounds: Vec<Vec<Round>>,
    pub(crate) records: Vec<Record>,
    pub(crate) end: Option<End>,
}

impl Shown {
    /// The labels that exclude samples of `of`, which must be one of these records and carry its
    /// samples.
    pub(crate) fn drops(&self, of: &Record) -> Labels {
        let metrics = self.points.iter().flat_map(|point| point.metrics.iter().map(move |metric| (point, metric)));
        let found = metrics.zip(&self.records).find(|(_, record)| std::ptr::eq(*record, of));
        let drops = |((point, metric), record): ((&Point, &Metric), &Record)| {
            groma_analysis::drops(point, metric, record.round_samples.as_deref().unwrap_or_default())
        };
        found.map_or(Labels::NONE, drops)
    }

    /// Writes it as `groma run --out` does.
    pub(crate) fn write<W: Write>(&self, stream: &mut Ndjson<W>) -> Result<()> {
        stream.begin(&self.head, &self.points)?;
        for (point, rounds) in self.rounds.iter().enumerate() {
            rounds.iter().try_for_each(|round| stream.round(point, round))?;
        }
        self.records.iter().try_for_each(|record| stream.record(record))?;
        Ok(self.end.iter().try_for_each(|end| stream.end(end))?)
    }

    /// Flags the records that contradict earlier runs, if the run is in the store.
    pub(crate) fn flag_contradictions(&mut self, store: &StoreArgs, run: &str) -> Result<()> {
        if !is_stream(run) {
            let store = existing_store(store)?;
            Earlier::before(&self.head, &store).flag_contradictions(&self.points, &mut self.records);
        }
        Ok(())
    }

    /// Keeps the wanted metrics, and the points that report any of them.
    pub(crate) fn keep_metrics(&mut self, wanted: impl Fn(&str) -> bool) {
        self.keep_points(&wanted);
        self.points.iter_mut().for_each(|point| point.metrics.retain(|metric| wanted(&metric.id)));
        self.records.retain(|record| wanted(&record.id));
    }

    /// Keeps the points that report a wanted metric, with all their records.
    pub(crate) fn keep_points(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut records = std::mem::take(&mut self.records).into_iter();
        let all = std::mem::take(&mut self.points).into_iter().zip(std::mem::take(&mut self.rounds));
        for (point, rounds) in all {
            let own: Vec<Record> = records.by_ref().take(point.metrics.len()).collect();
            if point.metrics.iter().any(|metric| wanted(&metric.id)) {
                self.records.extend(own);
                self.points.push(point);
                self.rounds.push(rounds);
            }
        }
    }
}

/// Whether a reference to a run is a file (a stream or a baseline). No tag and no id of a run looks
/// like one.
pub(crate) fn is_stream(run: &str) -> bool {
    [".ndjson", ".json"].iter().any(|ending| run.ends_with(ending)) || run.contains('/')
}

/// Tells what of a captured stream or baseline was skipped.
pub(crate) fn tell_lost(file: &str, lost: Option<&Lost>) {
    if let Some(lost) = lost {
        warn!("{file}: {lost}");
    }
}

/// Reads a run with its rounds from the store, or from the file of a stream.
pub(crate) fn stored(store: &StoreArgs, run: &str) -> Result<StoredRun> {
    if is_stream(run) {
        let (stored, lost) = ndjson::read_noted(Path::new(run))?;
        tell_lost(run, lost.as_ref());
        return Ok(stored);
    }
    let store = existing_store(store)?;
    let found = store.find(run)?;
    tell_clock(&store, run, &found)?;
    Ok(store.load(&found)?)
}

/// Tells that the newest run of a reference is not the one whose clock is ahead.
fn tell_clock(store: &Store, reference: &str, found: &str) -> Result<()> {
    // An id means one run whatever the clocks say.
    if found.starts_with(reference) {
        return Ok(());
    }
    if let Some((other, started)) = store.clock_contradiction(found)? {
        warn!(
            "run {} was made after run {}, whose clock said {}: one of the two clocks was wrong, and the order in \
             which they were stored counts",
            plain(found),
            plain(&other),
            plain(&started)
        );
    }
    Ok(())
}

/// Reads the only run of a stream with its records as they stand there, and without rounds.
pub(crate) fn read_recorded(run: &str) -> Result<Shown> {
    let mut stream = ndjson::RecordedRuns::open(Path::new(run))?;
    let runs: Vec<_> = stream.by_ref().collect::<Result<_, _>>()?;
    tell_lost(run, stream.lost());
    let count = runs.len();
    let [one] = <[_; 1]>::try_from(runs).map_err(|_| anyhow!("{run}: {count} runs in one stream"))?;
    Ok(Shown { head: one.header, points: Vec::new(), rounds: Vec::new(), records: one.records, end: one.end })
}

/// Reads a run and computes its records.
pub(crate) fn read(store: &StoreArgs, run: &str) -> Result<Shown> {
    Ok(records(stored(store, run)?, false))
}

/// Reads a run as [`read`] does; `samples` keeps the raw samples in the records.
///
/// If `run` is `latest` and that run has no `wanted` record, this reads the latest run that has
/// one, and names it on standard error. `names` says which metrics can be wanted: runs without any
/// of them are not read. If no run has one, this is the latest run. `what` is the wanted thing in
/// the message.
pub(crate) fn load(
    program: &Program,
    store: &StoreArgs,
    run: &str,
    samples: bool,
    what: &str,
    names: impl Fn(&str) -> bool,
    wanted: impl Fn(&Record) -> bool,
) -> Result<Shown> {
    let shown = records(stored(store, run)?, samples);
    let holds = |shown: &Shown| shown.records.iter().any(&wanted);
    if run != "latest" || holds(&shown) {
        return Ok(shown);
    }
    let store = existing_store(store)?;
    let benches = Some(benches_that_report(program, &store, &names)?);
    let holders = store.ids_that(&Filter { benches, ..Filter::default() }, usize::MAX)?;
    for older in holders.into_iter().filter(|id| *id != shown.head.run) {
        // Runs that only a newer groma can read are skipped.
        let Ok(points) = store.points(&older) else { continue };
        if !points.iter().any(|point| point.metrics.iter().any(|metric| names(&metric.id))) {
            continue;
        }
        let Ok(stored) = store.load(&older) else { continue };
        let found = records(stored, samples);
        if holds(&found) {
            warn!("the latest run that holds {what} is {}", found.head.run);
            return Ok(found);
        }
    }
    Ok(shown)
}

/// The benchmarks in a store that can report a wanted metric, so that of thousands of runs only
/// theirs are read. A benchmark that this program lacks may report anything, so it is included.
pub(crate) fn benches_that_report(
    program: &Program,
    store: &Store,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let reports = |info: &Info| info.outputs.iter().any(|output| wanted(&info.metric(output)));
    let info = |id: &String| program.all().iter().map(|bench| &bench.info).find(|info| info.id == id);
    Ok(store.benches()?.into_iter().filter(|id| info(id).is_none_or(reports)).collect())
}

/// Adds to the facts of a run what only its rounds know: that a tracer was attached after its
/// start, or what the command in front of its workers loads into them. `rounds` are those of each
/// point.
pub(crate) fn add_worker_facts<'r>(head: &mut RunHeader, rounds: impl Iterator<Item = &'r [Round]>) {
    let all: Vec<&Round> = rounds.flatten().collect();
    for key in ["tracer", "preloaded"] {
        let [of_run, of_round] = [OF_PROCESS, OF_WORKER].map(|prefix| format!("{prefix}{key}"));
        let with: Vec<&str> = all.iter().filter_map(|round| round.result.output.fact(&of_round)).collect();
        if let (None, Some(value)) = (head.environment.get(&of_run), with.first()) {
            let part = if with.len() < all.len() {
                format!(", in {} of {} rounds", with.len(), all.len())
            } else {
                String::new()
            };
            head.environment.facts.push(Fact::new(of_run, format!("{value}{part}")));
        }
    }
}

/// Computes the records of a run; `samples` keeps the raw samples in them.
pub(crate) fn records(mut run: StoredRun, samples: bool) -> Shown {
    add_worker_facts(&mut run.header, run.points.iter().map(|(_, rounds)| rounds.as_slice()));
    let host = run.header.host;
    let mut records = Vec::new();
    for (point, rounds) in &run.points {
        for mut record in groma_analysis::summarise(point, rounds, &host) {
            if samples {
                record.round_samples = Some(rounds.clone());
            }
            records.push(record);
        }
    }
    let (points, rounds) = run.points.into_iter().unzip();
    Shown { head: run.header, points, rounds, records, end: run.end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{RoundOutput, RoundResult};

    #[test]
    fn a_tracer_that_came_later_is_a_fact_of_the_run() {
        let round = |tracer: Option<&str>| Round {
            round: 0,
            result: RoundResult {
                output: RoundOutput {
                    facts: tracer.map(|name| Fact::new("worker.tracer", name)).into_iter().collect(),
                    ..RoundOutput::default()
                },
                ..RoundResult::ended(groma_harness::model::State::Ok, String::new())
            },
        };
        let reference = crate::reference::all().next().expect("a machine").baseline().expect("its baseline");
        let seen = |known: Option<&str>, rounds: &[Round]| {
            let mut head = reference.head.clone();
            head.environment.facts.extend(known.map(|name| Fact::new("process.tracer", name)));
            add_worker_facts(&mut head, [rounds].into_iter());
            head.environment.get("process.tracer").map(str::to_owned)
        };
        assert_eq!(seen(None, &[round(None), round(None)]), None);
        let later = seen(None, &[round(None), round(Some("gdb")), round(Some("gdb"))]);
        assert_eq!(later.as_deref(), Some("gdb, in 2 of 3 rounds"));
        assert_eq!(seen(Some("strace"), &[round(Some("strace"))]).as_deref(), Some("strace"));
    }
}
