//! `groma show`: the results of a run, from the store or from the file of a stream.

use crate::args::{StoreArgs, WhichPoints, selects};
use crate::earlier::Earlier;
use crate::print::name;
use crate::program::Program;
use crate::store::{Shown, existing_store, is_stream, load, stored};
use crate::view::{View, ViewArgs};
use anyhow::{Result, bail};
use clap::Args;
use groma_harness::Benchmark;
use groma_harness::model::{Record, Tier, is_metric_of, plain};
use groma_report::{self as report, Exported, Format, Style, Table};
use groma_runner::UnknownBenchmark;
use groma_runner::select::names_metric;

const HELP: &str = "Examples:
  groma show
      the latest run: its two pages, or a table if it holds less
  groma show --format markdown       the same, to be pasted into a forum
  groma show --all                   every value with its interval
  groma show --states                which values are not good, and why
  groma show --hardware              the hardware page alone
  groma show ipc.pipe_rtt
      one metric: interval, rounds, samples, proofs, earlier runs
  groma show ipc.pipe_rtt latest~1   the same metric in that run
  groma show --select mem --all      every point of the benchmarks of memory
  groma show before
      the newest run with this tag; before~1 is the one before
  groma show host:db1                the newest run of a machine
  groma show run.ndjson
      a file that groma run --out run.ndjson --samples wrote";

/// Show the results of a run
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ShowArgs {
    /// A run: its id or the beginning of it, one of its tags, latest, latest~1 (the one before),
    /// host:NAME, or the file of a stream (run.ndjson); or the id of a metric, which is shown on a
    /// card
    #[arg(default_value = "latest", value_name = "RUN|METRIC")]
    run: String,
    /// The run, where a metric is named first [default: the latest that holds it]
    #[arg(value_name = "RUN")]
    of: Option<String>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    select: Vec<String>,
    #[command(flatten)]
    view: ViewArgs,
    /// Only the hardware on one page: declared beside measured, bandwidths, latencies
    #[arg(long, conflicts_with = "samples")]
    hardware: bool,
    /// Only which values are not good, grouped by the reason
    #[arg(long, conflicts_with_all = ["samples", "hardware", "all", "times"])]
    states: bool,
    /// Only where the time went: what the rounds of each benchmark took, and what busy sibling
    /// threads explain of their differences
    #[arg(long, conflicts_with_all = ["samples", "hardware", "all"])]
    times: bool,
    /// With the raw samples (json and csv)
    #[arg(long)]
    samples: bool,
    /// Every value with its interval, instead of the pages; every point of a curve
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    points: WhichPoints,
    #[command(flatten)]
    store: StoreArgs,
}

/// Shows a run.
pub(super) fn run(program: &Program, args: &ShowArgs) -> Result<u8> {
    let metric = named(program, args)?;
    if let (None, Some(extra)) = (&metric, &args.of) {
        bail!("'{extra}' is one run too many: only a card takes a second argument ({} show METRIC RUN)", name());
    }
    if let Some(metric) = &metric {
        return show_metric(program, args, metric);
    }
    if let Some(option) = args.points.words().first() {
        bail!("{option}: choose the points of one metric: {} show METRIC {option}", name());
    }
    if args.times {
        return show_times(args);
    }
    let view = args.view.open(args.all)?;
    let families = program.known_families();
    let selected = |id: &str| selects(&args.select, id);
    // If the latest run is of something else, the hardware page is that of the latest survey.
    let page: Vec<&str> = families.pages.of_hardware().map(|shown| shown.metric).collect();
    let of_page = |id: &str| !args.hardware || page.contains(&id);
    let what = if args.hardware { "hardware".to_owned() } else { args.select.join(", ") };
    let names = |id: &str| selected(id) && of_page(id);
    let wanted = |r: &Record| names(&r.id) && (!args.hardware || r.value.is_some());
    let mut shown = load(program, &args.store, &args.run, args.samples, &what, names, wanted)?;
    shown.keep_points(selected);
    shown.flag_contradictions(&args.store, &args.run)?;
    if !args.select.is_empty() {
        shown.records.retain(|r| selected(&r.id));
        if shown.records.is_empty() {
            bail!("run {} holds no metric that {} names", shown.head.run, args.select.join(", "));
        }
    }
    if args.states {
        return states(&shown, view);
    }
    if args.hardware {
        let page = report::hardware(families, &shown.head, &shown.records, &view.style);
        let Some(page) = page else {
            bail!("run {} holds too little of a hardware survey for a page ({} run cpu mem)", shown.head.run, name())
        };
        view.show(&page)?;
        return Ok(0);
    }
    if args.samples && view.format == Format::Csv {
        let Shown { head, points, rounds, records, .. } = &shown;
        view.show_text(&report::csv_text(Table::Samples, &Exported { head, points, rounds, records }))?;
        return Ok(0);
    }
    let document = report::run(families, &shown.head, &shown.records, shown.end.as_ref(), &view.style);
    view.show(&document)?;
    Ok(0)
}

/// Shows which values are not good.
fn states(shown: &Shown, view: View) -> Result<u8> {
    let document = report::states(&shown.head, &shown.records, shown.end.as_ref(), &view.style);
    view.show(&document)?;
    Ok(0)
}

/// The meaning of the first argument if it is not a run.
enum Named<'p> {
    /// A metric.
    Metric(&'p str),
    /// Benchmarks: of each the metric with its id, or all its metrics if there is none.
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

    /// The value of `--select` that selects the same.
    fn selection(&self) -> String {
        match self {
            Named::Metric(metric) => (*metric).to_owned(),
            Named::Benches(benches) => benches.iter().map(|bench| bench.info.id).collect::<Vec<_>>().join(","),
        }
    }
}

/// The metric or benchmarks that the first argument names: by the id of a metric, which no run has,
/// or, if it names no run, as for `groma run` (`lat_pipe`, `pipe`).
fn named<'p>(program: &Program, args: &'p ShowArgs) -> Result<Option<Named<'p>>> {
    let text = &args.run;
    if args.times || is_stream(text) {
        return Ok(None);
    }
    if program.all().iter().any(|bench| is_metric_of(text, bench.info.id)) {
        return Ok(Some(Named::Metric(text)));
    }
    // `latest`, ids of runs and most tags are not like any benchmark: do not look them up twice.
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

/// The maximum number of points shown on cards; more are shown as a table.
const MAX_CARDS: usize = 4;

/// Shows points of a metric, on cards or as a table, of the named run or of the latest that holds
/// it.
fn show_metric(program: &Program, args: &ShowArgs, named: &Named<'_>) -> Result<u8> {
    let text = &args.run;
    let view = args.view.open(args.all)?;
    if !args.select.is_empty() || args.hardware || args.states {
        bail!("{text}: a card stands alone; for another view: {} show --select {}", name(), named.selection());
    }
    let is_it = |id: &str| named.takes(id);
    let run = args.of.as_deref().unwrap_or("latest");
    let wanted = |r: &Record| is_it(&r.id) && args.points.take(r);
    let mut shown = load(program, &args.store, run, false, text, is_it, wanted)?;
    shown.keep_points(is_it);
    if !shown.records.iter().any(wanted) {
        let such = args.points.words().iter().map(|option| format!(" {option}")).collect::<String>();
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
    let points: Vec<&Record> = shown.records.iter().filter(|record| wanted(record)).collect();
    if points.len() > MAX_CARDS {
        let records: Vec<Record> = points.iter().map(|record| (*record).clone()).collect();
        let style = Style { all: true, ..view.style };
        let mut table = report::run(program.known_families(), &shown.head, &records, shown.end.as_ref(), &style);
        let one = points[0];
        let one = format!("{}{}{}", one.id, report::typed_params(one), report::typed_place(one));
        table.note(format!("One of them on a card: {} show {}", name(), plain(&one)));
        view.show(&table)?;
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
    let of_metric: Vec<(&Record, report::Beside)> = shown
        .records
        .iter()
        .zip(histories)
        .filter(|(record, _)| wanted(record))
        .map(|(record, earlier)| (record, beside(record, earlier)))
        .collect();
    let document = report::cards(&shown.head, &of_metric, &view.style);
    view.show(&document)?;
    Ok(0)
}

/// Shows how long the rounds of each benchmark took, and how they differ.
fn show_times(args: &ShowArgs) -> Result<u8> {
    let mut run = stored(&args.store, &args.run)?;
    if !args.select.is_empty() {
        run.points.retain(|(point, _)| args.select.iter().any(|s| names_metric(s, &point.bench)));
    }
    let times = report::Times::of(&run.points);
    let document = report::times(&times);
    args.view.open(false)?.show(&document)?;
    Ok(0)
}
