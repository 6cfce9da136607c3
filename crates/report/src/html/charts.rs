//! The curves and matrices of all runs.

use groma_analysis::curve::widest;
use groma_model::Record;

use super::{Report, letter};
use crate::markup::Markup;
use crate::plot::{Chart, Source, plot, takes};

/// A curve needs this many points; with fewer the table is enough.
const MIN_CURVE_POINTS: usize = 4;

/// Charts of published figures are numbered from here.
pub(crate) const FIGURE: usize = 1000;

/// A figure for each metric that has a curve or a matrix.
pub(super) fn charts(report: &Report<'_>) -> Option<Markup> {
    let mut out = Markup::default();
    let charts = all(report);
    if charts.is_empty() {
        return None;
    }
    out.say_of(
        "p",
        "note js",
        "Point at a curve to read a value, or go along it with the arrow keys; drag to look closer, Escape or a double \
         click to go back.",
    );
    for (number, (id, note, chart)) in charts.iter().enumerate() {
        figure(number, id, note, chart, &mut out);
        out.newline();
    }
    Some(out)
}

/// The charts: the metric, a note (the run, if only one can be shown), and the picture.
fn all(report: &Report<'_>) -> Vec<(String, String, Chart)> {
    let mut ids: Vec<&str> = Vec::new();
    for record in report.runs.iter().flat_map(|run| run.records).filter(|record| !record.detail) {
        if !ids.contains(&record.id.as_str()) {
            ids.push(&record.id);
        }
    }
    // Latency under load is drawn over the bandwidth measured with it, which needs no chart of its
    // own.
    let is_part = |id: &str| ids.iter().any(|other| *other != id && takes(report.families, other, id));
    let ids: Vec<&str> = ids.iter().copied().filter(|id| !is_part(id)).collect();
    let letters: Vec<String> = (0..report.runs.len()).map(|run| letter(report, run)).collect();
    let mut charts = Vec::new();
    for id in ids {
        let source =
            |run: usize| Source { run: report.runs[run].head, called: &letters[run], records: taken(report, run, id) };
        let sources: Vec<Source<'_>> =
            (0..report.runs.len()).map(source).filter(|source| !source.records.is_empty()).collect();
        match plot(report.families, &sources, None, &[]) {
            Ok(chart) if is_worth(&chart, &sources, id) => charts.push((id.to_owned(), String::new(), chart)),
            Ok(_) => {}
            // A matrix shows one run.
            Err(_) if sources.len() > 1 => {
                for (run, letter) in letters.iter().enumerate() {
                    if let Ok(chart) = plot(report.families, &[source(run)], None, &[])
                        && chart.is_matrix()
                    {
                        charts.push((id.to_owned(), format!("run {letter}"), chart));
                    }
                }
            }
            Err(_) => {}
        }
    }
    charts
}

/// A run's records that the plot of a metric uses.
fn taken<'r>(report: &Report<'r>, run: usize, id: &str) -> Vec<&'r Record> {
    report.runs[run].records.iter().filter(|record| takes(report.families, id, &record.id)).collect()
}

/// Whether it shows more than a few values: a matrix, or a curve with enough points.
fn is_worth(chart: &Chart, sources: &[Source<'_>], id: &str) -> bool {
    let of_it: Vec<&Record> =
        sources.iter().flat_map(|source| &source.records).copied().filter(|record| record.id == id).collect();
    chart.is_matrix() || widest(&of_it).is_some_and(|(_, values)| values >= MIN_CURVE_POINTS)
}

/// A chart with its caption, and checkboxes that hide its lines.
pub(crate) fn figure(number: usize, id: &str, note: &str, chart: &Chart, out: &mut Markup) {
    let [title, about] = chart.caption();
    out.with("figure", &[("id", &format!("chart{number}"))], |figure| {
        figure.tag("figcaption", |caption| {
            caption.say("strong", title);
            caption.own(" ");
            let note = if note.is_empty() { about.to_owned() } else { format!("{note}; {about}") };
            caption.with("span", &[("class", "note"), ("data-id", id)], |span| span.text(&note));
        });
        let series = chart.series();
        if series.len() > 1 {
            figure.own("<fieldset class=\"series js\"><legend class=\"sr\">Lines</legend>");
            for (i, name) in series.iter().enumerate() {
                figure.tag("label", |label| {
                    label.open("input", &[("type", "checkbox"), ("checked", "checked"), ("data-line", &i.to_string())]);
                    label.with("span", &[("class", &format!("key l{}", i % 9))], |_| {});
                    label.text(name);
                });
            }
            figure.own("</fieldset>");
        }
        figure.with("div", &[("class", "wide")], |div| chart.element(number, div));
    });
}
