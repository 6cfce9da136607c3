//! `groma plot`: a curve or a distribution, in the terminal or as a file.

use super::{history, print, style};
use crate::flags::PlotArgs;
use crate::message::name;
use crate::program::Program;
use anyhow::{Context, Result, bail};
use groma_harness::model::Record;
use groma_report as report;
use groma_runner::select::names_metric;

/// Plots a metric of a run.
pub(crate) fn plot(program: &Program, args: &PlotArgs) -> Result<u8> {
    let kind = match &args.output {
        None => None,
        Some(path) => match path.extension().and_then(|e| e.to_str()) {
            Some("svg") => Some("svg"),
            Some("png") => Some("png"),
            _ => bail!("{}: a plot's file ends in .svg or .png", path.display()),
        },
    };
    let families = program.known_families();
    let names = |id: &str| report::takes(families, &args.metric, id) || names_metric(&args.metric, id);
    let chosen = |r: &Record| {
        let has = |(name, values): &(String, Vec<String>)| {
            r.params.get(name).is_some_and(|value| values.iter().any(|text| value.is_typed(text)))
        };
        args.params.iter().all(has)
    };
    let wanted = |r: &Record| names(&r.id) && r.value.is_some() && chosen(r);
    let shown = history::load(program, &args.store, &args.run, args.histogram, &args.metric, names, wanted)?;
    let exact: Vec<&Record> = shown.records.iter().filter(|r| report::takes(families, &args.metric, &r.id)).collect();
    let mut chosen = if exact.is_empty() {
        shown.records.iter().filter(|r| names_metric(&args.metric, &r.id)).collect()
    } else {
        exact
    };
    for (name, values) in &args.params {
        if !chosen.is_empty() && !chosen.iter().any(|r| r.params.get(name).is_some()) {
            bail!("{} has no parameter '{name}'", args.metric);
        }
        chosen.retain(|r| r.params.get(name).is_some_and(|value| values.iter().any(|text| value.is_typed(text))));
        if chosen.is_empty() {
            bail!("run {} holds no {} with {name}={}", shown.head.run, args.metric, values.join(","));
        }
    }
    if chosen.is_empty() {
        bail!("run {} holds no metric '{}' ({} show lists them)", shown.head.run, args.metric, name());
    }
    let chart = if args.histogram {
        match chosen.as_slice() {
            [one] => report::histogram(one),
            many => {
                let commands: Vec<String> = many.iter().map(|record| command(record)).collect();
                let (metric, n) = (&args.metric, many.len());
                bail!("'{metric}' names {n} metrics, and a distribution is of one:\n{}", commands.join("\n"));
            }
        }
    } else {
        report::plot(families, &chosen, args.over.as_deref())
    };
    let chart = chart.map_err(anyhow::Error::msg)?.of_run(&shown.head);
    match (&args.output, kind) {
        (Some(path), Some("png")) => {
            let bytes = chart.png(2.0).map_err(anyhow::Error::msg)?;
            std::fs::write(path, bytes).with_context(|| path.display().to_string())?;
        }
        (Some(path), _) => std::fs::write(path, chart.svg()).with_context(|| path.display().to_string())?,
        (None, _) => print(&chart.terminal(&style(false)))?,
    }
    Ok(0)
}

/// The command that plots the distribution of one metric.
fn command(record: &Record) -> String {
    format!("  {} plot {}{} --histogram", name(), record.id, report::typed_params(record))
}
