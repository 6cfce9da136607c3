//! `groma show` and `groma runs`: the runs in the store.

use super::{existing_store, print, style};
use crate::flags::{ShowArgs, StoreArgs};
use crate::message::name;
use anyhow::{Result, bail};
use groma_harness::model::{End, Record, RunHeader, StateCounts};
use groma_report::{self as report, Format, RunLine};
use groma_runner::identity;
use groma_runner::select::names_metric;
use groma_store::{RunStatus, StoredRun};

/// A run as the views take it.
pub(crate) struct Shown {
    pub(crate) head: RunHeader,
    pub(crate) records: Vec<Record>,
    pub(crate) end: Option<End>,
}

/// Reads a run from the store and computes its records; `samples` keeps the raw samples in them.
pub(crate) fn load(store: &StoreArgs, run: &str, samples: bool) -> Result<Shown> {
    let store = existing_store(store)?;
    let run = store.find(run)?;
    Ok(records(store.load(&run)?, samples))
}

fn records(run: StoredRun, samples: bool) -> Shown {
    let host = run.header.host;
    let mut records = Vec::new();
    for (point, rounds) in &run.points {
        for mut record in report::summarise(point, rounds, &host) {
            if samples {
                record.round_samples = Some(rounds.clone());
            }
            records.push(record);
        }
    }
    Shown { head: run.header, records, end: run.end }
}

/// Shows a run.
pub(crate) fn show(args: &ShowArgs) -> Result<u8> {
    if args.times {
        return show_times(args);
    }
    let mut shown = load(&args.store, &args.run, args.samples)?;
    if !args.select.is_empty() {
        shown.records.retain(|r| args.select.iter().any(|s| names_metric(s, &r.id)));
        if shown.records.is_empty() {
            bail!("run {} holds no metric that {} names", shown.head.run, args.select.join(", "));
        }
    }
    let style = style(args.all);
    let page = match args.format {
        Format::Table => report::hardware(&shown.head, &shown.records, &style),
        Format::Markdown if args.hardware => report::hardware_markdown(&shown.head, &shown.records),
        _ => None,
    };
    if args.hardware {
        let Some(page) = page else {
            bail!("run {} holds too little of a hardware survey for a page ({} run cpu mem)", shown.head.run, name())
        };
        print(&page)?;
        return Ok(0);
    }
    let text = if args.samples && args.format == Format::Csv {
        report::csv_samples(&shown.head, &shown.records)
    } else {
        report::render(&shown.head, &shown.records, shown.end.as_ref(), args.format, &style)
    };
    print(&page.map_or(text.clone(), |page| format!("{page}\n{text}")))?;
    Ok(0)
}

/// Shows where the time of a run went.
fn show_times(args: &ShowArgs) -> Result<u8> {
    let store = existing_store(&args.store)?;
    let mut run = store.load(&store.find(&args.run)?)?;
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

/// Lists the runs.
pub(crate) fn runs(json: bool, store: &StoreArgs) -> Result<u8> {
    let store = existing_store(store)?;
    let lines: Vec<RunLine> = store
        .runs()?
        .into_iter()
        .map(|row| RunLine {
            run: row.run,
            started: row.started,
            profile: row.profile,
            host: row.host.unwrap_or_default(),
            states: row.end.as_ref().map_or_else(StateCounts::default, |e| e.states.clone()),
            wall_s: row.end.as_ref().map(|e| e.wall_s),
            status: match row.status {
                RunStatus::Complete => report::RunStatus::Complete,
                RunStatus::Interrupted => report::RunStatus::Interrupted,
                RunStatus::Running if identity::is_alive(&row.owner) => report::RunStatus::Running,
                RunStatus::Running | RunStatus::Killed => report::RunStatus::Killed,
            },
        })
        .collect();
    print(&if json { report::runs_json(&lines) } else { report::runs(&lines, &style(false)) })?;
    Ok(0)
}
