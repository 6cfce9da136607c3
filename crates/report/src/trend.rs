//! A metric over the runs of a machine, and where it changed. The selection of runs and the
//! detection of changes are elsewhere.

use groma_analysis::trend::{Change, Series};
use groma_model::{Record, RunHeader};
use serde_json::{Value as Json, json};

use crate::compare::{change, difference};
use crate::csv;
use crate::document::{Document, Table, Titled};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::json::pretty;
use crate::machine::host;
use crate::plot::Chart;
use crate::point::name;
use crate::rows::sparkline;
use crate::style::{Ink, Style};
use crate::units::{self, Scale, counted};

/// Environment differences that are listed with a change.
const CAUSES: usize = 3;
/// The text of a fact is cut to this many columns per side.
const FACT: usize = 30;
/// Columns of the picture of a series.
const PICTURE: usize = 72;

/// Each series with its picture, its latest value and its changes; then the plot of a series.
pub fn trend<'a>(series: &'a [Series<'a>], plotted: Option<Chart>, style: &Style) -> Document<'a> {
    let mut out = whole(series, "trend");
    let mut machine = String::new();
    let mut is_first = true;
    for one in series {
        let (Some((first, _)), Some((last, newest))) = (one.runs.first(), one.runs.last()) else { continue };
        if !is_first {
            out.gap();
        }
        is_first = false;
        let here = host(&last.environment);
        if here != machine {
            out.say(here.clone());
            machine = here;
        }
        let span = if one.runs.len() == 1 { day(last) } else { format!("{} to {}", day(first), day(last)) };
        let runs = counted(one.runs.len(), "run");
        out.parts("", vec![(name(newest), Ink::Strong), (format!(": {runs}, {span}"), Ink::Plain)]);
        let values: Vec<f64> = one.runs.iter().filter_map(|(_, record)| record.value).collect();
        let picture = sparkline(&thinned(&values, PICTURE.min(style.width.saturating_sub(4))), style.unicode);
        out.lines(format!("  {}\n", style.paint(Ink::First, &picture)));
        let value = units::headline(newest).unwrap_or_default();
        let half = units::interval(newest).map(|half| format!(" ± {half}")).unwrap_or_default();
        let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        let range = units::range(least, most, Scale::of(newest));
        out.labelled("  ", format!("now {value}{half}; all runs {range}"));
        if one.changes.is_empty() {
            out.labelled("  ", no_change(values.len()));
        }
        for step in &one.changes {
            let lead = change(step.ratio());
            let ink = ink(one.runs[step.at].1, step);
            out.parts("  ", vec![(lead, ink), (sentence(one, step, style), Ink::Plain)]);
        }
    }
    if let Some(chart) = plotted {
        out.gap();
        out.chart(chart, if series.len() == 1 { Titled::No } else { Titled::Yes });
    }
    out
}

/// A document whose data are whole series.
fn whole<'a>(series: &'a [Series<'a>], title: &str) -> Document<'a> {
    Document::new(title)
        .written(Format::Json, move || trend_json(series))
        .written(Format::Csv, move || trend_csv(series))
}

/// All changes of all series in time order, a row each.
pub fn trend_changes<'a>(series: &'a [Series<'a>], style: &Style) -> Document<'a> {
    let mut out = whole(series, "changes");
    let mut all: Vec<(&Series<'_>, &Change)> =
        series.iter().flat_map(|one| one.changes.iter().map(move |change| (one, change))).collect();
    all.sort_by_key(|(one, change)| one.runs[change.at].0.started.clone());
    let most = series.iter().map(|one| one.runs.len()).max().unwrap_or(0);
    if all.is_empty() {
        let metrics = series.len();
        out.say(format!("{metrics} metrics of up to {most} runs: {}", no_change(most)));
        return out;
    }
    let columns =
        [("metric", Align::Left), ("since", Align::Left), ("change", Align::Right), ("what else changed", Align::Left)];
    let mut table = Table::new(&columns, Some(Ink::Strong));
    for (one, step) in all {
        let Some((_, newest)) = one.runs.last() else { continue };
        table.row(vec![
            Cell::new(name(newest)),
            Cell::new(day(one.runs[step.at].0)),
            Cell::ink(change(step.ratio()), ink(newest, step)),
            Cell::new(causes(step, style)),
        ]);
    }
    out.table(table);
    out
}

/// The series as a JSON array of objects.
fn trend_json(series: &[Series<'_>]) -> String {
    let runs = |one: &Series<'_>| -> Vec<Json> {
        let run = |(head, record): &(&RunHeader, &Record)| {
            json!({ "run": head.run, "started": head.started, "value": record.value, "ci": record.ci,
                    "state": record.state.word() })
        };
        one.runs.iter().map(run).collect()
    };
    let changes = |one: &Series<'_>| -> Vec<Json> {
        let step = |change: &Change| {
            let environment = change.environment.iter();
            let environment = environment.map(|d| json!({ "key": d.key, "before": d.values[0], "after": d.values[1] }));
            json!({ "run": one.runs[change.at].0.run, "before": change.levels[0], "after": change.levels[1],
                    "ratio": change.ratio(), "p": change.p, "environment": environment.collect::<Vec<_>>() })
        };
        one.changes.iter().map(step).collect()
    };
    let all: Vec<Json> = series
        .iter()
        .filter_map(|one| {
            let (_, newest) = one.runs.last()?;
            Some(json!({ "id": newest.id, "params": newest.params, "placement": newest.placement,
                         "workers": newest.workers, "unit": newest.unit, "runs": runs(one), "changes": changes(one) }))
        })
        .collect();
    pretty(&all)
}

/// One line per run and metric; `level` counts the changes before it.
fn trend_csv(series: &[Series<'_>]) -> String {
    let mut out = "run,started,id,params,placement,workers,unit,value,ci_low,ci_high,level\n".to_owned();
    for one in series {
        for (i, (head, record)) in one.runs.iter().enumerate() {
            let level = one.changes.iter().filter(|change| change.at <= i).count();
            let fields = [
                csv::text(&head.run),
                csv::text(&head.started),
                csv::text(&record.id),
                csv::text(&record.params.to_string()),
                csv::text(&record.placement.to_string()),
                record.workers.to_string(),
                csv::text(record.unit.symbol()),
                csv::number(record.value),
                csv::number(record.ci.map(|ci| ci[0])),
                csv::number(record.ci.map(|ci| ci[1])),
                level.to_string(),
            ];
            out += &fields.join(",");
            out.push('\n');
        }
    }
    out
}

/// The sentence about a series without a change.
fn no_change(runs: usize) -> String {
    /// Fewer runs have too few random orders (`groma_stats::change_points`).
    const MIN_RUNS: usize = 12;
    if runs < MIN_RUNS {
        format!("too few runs to see a change: {MIN_RUNS} are needed")
    } else {
        "no change".to_owned()
    }
}

/// ` since 2026-10-12 (run …): 4.12 µs to 4.55 µs; kernel.release 6.17 → 6.18`, behind the change.
fn sentence(series: &Series<'_>, step: &Change, style: &Style) -> String {
    let (head, record) = series.runs[step.at];
    let [before, after] = step.levels.map(|level| units::value(level, Scale::of(record), None));
    let causes = causes(step, style);
    let causes = if causes.is_empty() { "nothing else that groma knows of changed".to_owned() } else { causes };
    format!(" since {} (run {}): {before} to {after}; {causes}", day(head), head.run)
}

/// What else changed between the two runs.
pub(crate) fn causes(step: &Change, style: &Style) -> String {
    let named = step.environment.iter().take(CAUSES);
    let mut parts: Vec<String> = named.map(|d| difference(d, FACT, style)).collect();
    let more = step.environment.len().saturating_sub(CAUSES);
    if more > 0 {
        parts.push(format!("{more} more facts"));
    }
    parts.join("; ")
}

/// The colour of a change: worse, better, or neither.
fn ink(record: &Record, step: &Change) -> Ink {
    use groma_model::Better;
    match (record.better, step.ratio() > 1.0) {
        (Better::Lower, true) | (Better::Higher, false) => Ink::Bad,
        (Better::Lower, false) | (Better::Higher, true) => Ink::Fourth,
        (Better::Neither, _) => Ink::Warning,
    }
}

/// The day a run began.
pub(crate) fn day(head: &RunHeader) -> String {
    head.started.get(..10).unwrap_or(&head.started).to_owned()
}

/// At most `most` values: medians of neighbours.
fn thinned(values: &[f64], most: usize) -> Vec<f64> {
    let n = values.len().min(most.max(1));
    let part = |i: usize| &values[i * values.len() / n..(i + 1) * values.len() / n];
    (0..n).filter_map(|i| groma_stats::median(part(i))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixtures;
    use groma_analysis::trend::series;
    use groma_model::Fact;

    /// Forty runs: from the 15th on, with another kernel, the round trips are slower by 20 %; from
    /// the 29th on they are faster again by a tenth.
    pub(crate) fn runs() -> Vec<(RunHeader, Vec<Record>)> {
        let of = |i: usize| {
            let (mut head, records) = fixtures::survey();
            let kind = |record: &&Record| ["syscall.getppid", "ipc.pipe_rtt"].contains(&record.id.as_str());
            let mut records: Vec<Record> = records.iter().filter(kind).cloned().collect();
            head.run = format!("202611{:02}T070000Z-0000", i / 2 + 1);
            head.started = format!("2026-11-{:02}T07:00:00Z", i / 2 + 1);
            head.environment.facts.retain(|fact| fact.key != "kernel.release");
            head.environment.facts.push(Fact::new("kernel.release", if i < 14 { "6.17" } else { "6.18" }));
            let noise = 1.0 + 0.004 * (i * 7 % 5) as f64;
            for record in &mut records {
                let step = if record.id == "ipc.pipe_rtt" { [1.0, 1.2, 1.08][i / 14] } else { 1.0 };
                record.value = record.value.map(|value| value * noise * step);
                record.ci_display = record.value.map(|value| [value * 0.99, value * 1.01]);
            }
            (head, records)
        };
        (0..40).map(of).collect()
    }

    #[test]
    fn a_change_is_shown_with_environment_changes() {
        let runs = runs();
        let all = series(&runs);
        insta::assert_snapshot!("trend_100", trend(&all, None, &Style::plain(100)).text(&Style::plain(100)));
        insta::assert_snapshot!("trend_changes_100", trend_changes(&all, &Style::plain(100)).text(&Style::plain(100)));
        let few = series(&runs[..5]);
        assert!(trend(&few, None, &Style::plain(80)).text(&Style::plain(80)).contains("too few runs to see a change"));
        assert!(trend_changes(&few, &Style::plain(80)).text(&Style::plain(80)).contains("too few runs"));
    }

    #[test]
    fn files_hold_every_run() {
        let runs = runs();
        let all = series(&runs);
        let points: usize = all.iter().map(|one| one.runs.len()).sum();
        assert_eq!(trend_csv(&all).lines().count(), points + 1);
        let json: Json = serde_json::from_str(&trend_json(&all)).expect("JSON");
        let counted = json.as_array().expect("an array").iter().map(|one| one["runs"].as_array().expect("runs").len());
        assert_eq!(counted.sum::<usize>(), points);
        let changes = json.as_array().expect("an array").iter().flat_map(|one| one["changes"].as_array().cloned());
        assert!(changes.flatten().any(|change| change["environment"][0]["key"] == "kernel.release"));
    }
}
