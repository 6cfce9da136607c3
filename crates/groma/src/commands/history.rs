//! `groma show`: the results of a run again, from the store or from a stream.

use super::earlier::Earlier;
use super::{existing_store, print, style};
use crate::flags::{ShowArgs, StoreArgs};
use crate::message::name;
use crate::program::Program;
use anyhow::{Result, bail};
use groma_harness::Benchmark;
use groma_harness::model::{End, Info, Labels, Metric, Point, Record, Round, RunHeader, Tier, is_metric_of, plain};
use groma_report::{self as report, Exported, Format, Style, Table};
use groma_runner::UnknownBenchmark;
use groma_runner::select::names_metric;
use groma_store::{Filter, Store, StoredRun, ndjson};
use std::path::Path;

/// A run as the views take it.
pub(crate) struct Shown {
    pub(crate) head: RunHeader,
    /// What was measured; the records follow in this order.
    pub(crate) points: Vec<Point>,
    /// The rounds of each of them.
    pub(crate) rounds: Vec<Vec<Round>>,
    pub(crate) records: Vec<Record>,
    pub(crate) end: Option<End>,
}

impl Shown {
    /// The labels that drop a sample of one of these records, which carries its samples.
    pub(crate) fn drops(&self, of: &Record) -> Labels {
        let metrics = self.points.iter().flat_map(|point| point.metrics.iter().map(move |metric| (point, metric)));
        let found = metrics.zip(&self.records).find(|(_, record)| std::ptr::eq(*record, of));
        let drops = |((point, metric), record): ((&Point, &Metric), &Record)| {
            groma_analysis::drops(point, metric, record.round_samples.as_deref().unwrap_or_default())
        };
        found.map_or(Labels::NONE, drops)
    }

    /// Keeps the metrics that are wanted, and the points that report any.
    pub(crate) fn keep_metrics(&mut self, wanted: impl Fn(&str) -> bool) {
        self.keep_points(&wanted);
        self.points.iter_mut().for_each(|point| point.metrics.retain(|metric| wanted(&metric.id)));
        self.records.retain(|record| wanted(&record.id));
    }

    /// Keeps the points that report a metric that is wanted, each with all of its records.
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

/// Whether a reference to a run is a file, of a stream or a baseline; no tag and no id looks like
/// one.
pub(crate) fn is_stream(run: &str) -> bool {
    [".ndjson", ".json"].iter().any(|ending| run.ends_with(ending)) || run.contains('/')
}

/// Reads a run from the store, or from the file of a stream.
fn stored(store: &StoreArgs, run: &str) -> Result<StoredRun> {
    if is_stream(run) {
        return Ok(ndjson::read(Path::new(run))?);
    }
    let store = existing_store(store)?;
    Ok(store.load(&store.find(run)?)?)
}

/// Reads a run and computes its records; `samples` keeps the raw samples in them.
///
/// If `run` is `latest` and that run has no record that is `wanted`, this is the latest run that
/// has one, and standard error names it. `names` tells which metrics can be wanted, so that runs
/// without any are not read. If no run has one, this is the latest run.
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
        // A run that only a newer groma can read is none of ours.
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

/// The benchmarks of a store that can report what is wanted: of thousands of runs only theirs are
/// read. What a benchmark of another program reports is not known.
pub(crate) fn benches_that_report(
    program: &Program,
    store: &Store,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let reports = |info: &Info| info.outputs.iter().any(|output| wanted(&info.metric(output)));
    let info = |id: &String| program.all().iter().map(|bench| &bench.info).find(|info| info.id == id);
    Ok(store.benches()?.into_iter().filter(|id| info(id).is_none_or(reports)).collect())
}

/// Reads one run, from the store or from the file of a stream, and computes its records.
pub(crate) fn read(store: &StoreArgs, run: &str) -> Result<Shown> {
    Ok(records(stored(store, run)?, false))
}

/// Computes the records of a run.
pub(crate) fn records(run: StoredRun, samples: bool) -> Shown {
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

/// Shows a run.
pub(crate) fn show(program: &Program, args: &ShowArgs) -> Result<u8> {
    let metric = named(program, args)?;
    if let (None, Some(extra)) = (&metric, &args.of) {
        bail!("'{extra}' is one run too many: only a card takes a second argument ({} show METRIC RUN)", name());
    }
    if let Some(metric) = &metric {
        return show_metric(program, args, metric);
    }
    if let Some(option) = args.points.typed().first() {
        bail!("{option}: choose the points of one metric: {} show METRIC {option}", name());
    }
    if args.times {
        return show_times(args);
    }
    let families = program.known_families();
    let selected = |id: &str| args.select.is_empty() || args.select.iter().any(|s| names_metric(s, id));
    // After a run of something else the hardware page is that of the latest survey.
    let page: Vec<&str> = families.pages.of_hardware().map(|shown| shown.metric).collect();
    let of_page = |id: &str| !args.hardware || page.contains(&id);
    let what = if args.hardware { "hardware".to_owned() } else { args.select.join(", ") };
    let names = |id: &str| selected(id) && of_page(id);
    let wanted = |r: &Record| names(&r.id) && (!args.hardware || r.value.is_some());
    let mut shown = load(program, &args.store, &args.run, args.samples, &what, names, wanted)?;
    shown.keep_points(selected);
    if !is_stream(&args.run) {
        let store = existing_store(&args.store)?;
        Earlier::before(&shown.head, &store).flag_contradictions(&shown.points, &mut shown.records);
    }
    if !args.select.is_empty() {
        shown.records.retain(|r| selected(&r.id));
        if shown.records.is_empty() {
            bail!("run {} holds no metric that {} names", shown.head.run, args.select.join(", "));
        }
    }
    let style = style(args.all);
    if args.states {
        print(&report::summary(&shown.head, &shown.records, shown.end.as_ref(), &style))?;
        return Ok(0);
    }
    if args.hardware {
        let page = match args.format {
            Format::Table => report::hardware(families, &shown.head, &shown.records, &style),
            Format::Markdown => report::hardware_markdown(families, &shown.head, &shown.records, &style),
            _ => None,
        };
        let Some(page) = page else {
            bail!("run {} holds too little of a hardware survey for a page ({} run cpu mem)", shown.head.run, name())
        };
        print(&page)?;
        return Ok(0);
    }
    let text = if args.samples && args.format == Format::Csv {
        let Shown { head, points, rounds, records, .. } = &shown;
        report::csv_text(Table::Samples, &Exported { head, points, rounds, records })
    } else {
        report::render(families, &shown.head, &shown.records, shown.end.as_ref(), args.format, &style)
    };
    print(&text)?;
    Ok(0)
}

/// What the first argument of `groma show` names where it is not a run.
enum Named<'p> {
    /// This metric.
    Metric(&'p str),
    /// Of each of these benchmarks the metric that has its id, or all if none has.
    Benches(Vec<&'static Benchmark>),
}

impl Named<'_> {
    fn takes(&self, id: &str) -> bool {
        match self {
            Named::Metric(metric) => id == *metric,
            Named::Benches(benches) => benches.iter().any(|bench| {
                let has_main = bench.info.outputs.iter().any(|output| output.suffix.is_empty());
                if has_main { id == bench.info.id } else { is_metric_of(id, bench.info.id) }
            }),
        }
    }

    /// What `--select` takes for the same.
    fn selection(&self) -> String {
        match self {
            Named::Metric(metric) => (*metric).to_owned(),
            Named::Benches(benches) => benches.iter().map(|bench| bench.info.id).collect::<Vec<_>>().join(","),
        }
    }
}

/// The metric or the benchmarks that the first argument names: an id, which no run has, or where
/// no run is called so what `groma run` takes as well (`lat_pipe`, `pipe`).
fn named<'p>(program: &Program, args: &'p ShowArgs) -> Result<Option<Named<'p>>> {
    let text = &args.run;
    if args.times || is_stream(text) {
        return Ok(None);
    }
    if program.all().iter().any(|bench| is_metric_of(text, bench.info.id)) {
        return Ok(Some(Named::Metric(text)));
    }
    // `latest`, ids of runs and most tags name no benchmark: the store is not asked for them twice.
    let selected = program.find(std::slice::from_ref(text), Tier::Full);
    if selected.as_ref().is_err_and(|unknown| unknown.suggestion.is_none()) {
        return Ok(None);
    }
    let Err(no_run) = existing_store(&args.store)?.find(text) else { return Ok(None) };
    match selected {
        Ok(benches) => Ok(Some(Named::Benches(benches))),
        Err(UnknownBenchmark { suggestion: Some(like), .. }) if text.contains(['.', '_']) => {
            bail!("{no_run}; and no metric: did you mean '{like}'?")
        }
        Err(_) => Err(no_run.into()),
    }
}

/// The most points that are shown on a card each; more are the lines of a table.
const MOST_CARDS: usize = 4;

/// Shows points of a metric, each on a card or in a line, of the run that is named or of the latest
/// that holds it.
fn show_metric(program: &Program, args: &ShowArgs, named: &Named<'_>) -> Result<u8> {
    let text = &args.run;
    if !args.select.is_empty() || args.hardware || args.states || args.format != Format::Table {
        bail!("{text}: a card stands alone; for another view: {} show --select {}", name(), named.selection());
    }
    let is_it = |id: &str| named.takes(id);
    let run = args.of.as_deref().unwrap_or("latest");
    let wanted = |r: &Record| is_it(&r.id) && args.points.take(r);
    let mut shown = load(program, &args.store, run, false, text, is_it, wanted)?;
    shown.keep_points(is_it);
    if !shown.records.iter().any(wanted) {
        let such = args.points.typed().iter().map(|option| format!(" {option}")).collect::<String>();
        let holds = shown.records.iter().any(|r| is_it(&r.id));
        match &args.of {
            _ if holds => bail!("run {} holds no {text}{such}", shown.head.run),
            Some(run) => bail!("run {run} does not hold {text} ({} show {run} --all lists what it holds)", name()),
            None => bail!("no run holds {text}{such}: {} run {text}{such}", name()),
        }
    }
    let store = if is_stream(run) { None } else { Some(existing_store(&args.store)?) };
    let earlier = store.as_ref().map(|store| Earlier::before(&shown.head, store));
    if let Some(earlier) = &earlier {
        earlier.flag_contradictions(&shown.points, &mut shown.records);
    }
    let style = style(args.all);
    let points: Vec<&Record> = shown.records.iter().filter(|record| wanted(record)).collect();
    if points.len() > MOST_CARDS {
        let records: Vec<Record> = points.iter().map(|record| (*record).clone()).collect();
        let style = Style { all: true, ..style };
        let table =
            report::render(program.known_families(), &shown.head, &records, shown.end.as_ref(), Format::Table, &style);
        let one = points[0];
        let one = format!("{}{}{}", one.id, report::typed_params(one), report::typed_place(one));
        print(&format!("{table}\nOne of them on a card: {} show {}\n", name(), plain(&one)))?;
        return Ok(0);
    }
    let histories = earlier.map_or_else(
        || vec![Vec::new(); shown.records.len()],
        |earlier| earlier.histories(&shown.points, &shown.records),
    );
    let beside = |record: &Record, earlier| {
        let bench = program.all().iter().find(|bench| bench.info.id == record.id);
        report::Beside { earlier, measures: bench.map(|b| report::measures(&b.info)).unwrap_or_default() }
    };
    let cards: Vec<String> = shown
        .records
        .iter()
        .zip(histories)
        .filter(|(record, _)| wanted(record))
        .map(|(record, earlier)| report::card(&shown.head, record, &beside(record, earlier), &style))
        .collect();
    print(&cards.join("\n"))?;
    Ok(0)
}

/// Shows where the time of a run went.
fn show_times(args: &ShowArgs) -> Result<u8> {
    let mut run = stored(&args.store, &args.run)?;
    if !args.select.is_empty() {
        run.points.retain(|(point, _)| args.select.iter().any(|s| names_metric(s, &point.bench)));
    }
    let times = report::bench_times(&run.points);
    print(&match args.format {
        Format::Table => report::times(&times, &style(false)),
        Format::Json => report::times_json(&times),
        _ => bail!("--times: as a table or --format json"),
    })?;
    Ok(0)
}
