//! A report: runs in one self-contained HTML file.
//!
//! It works without scripts: all text is in the document, curves are SVG, matrices are tables. The
//! script (`html/script.js`) sorts, filters, hides lines, zooms, and draws a metric's rounds and
//! samples, from one block of JSON. The content comes from the same model as terminal text
//! (`layout`, `hardware`, `compare`); only the elements are made here, through `markup`, which
//! escapes.

mod beside;
pub(crate) mod charts;
mod explanations;
mod head;
mod pages;
mod sheet;
mod values;

use groma_analysis::compare::environment::Difference;
use groma_model::{End, Families, Info, Point, Record, Round, RunHeader};

use crate::compare::{Compared, Side};
use crate::markup::Markup;
use crate::paper::Papers;
use crate::plot::colours;
pub(crate) use explanations::explanation;
use sheet::Sheet;

pub(crate) const SCRIPT: &str = include_str!("html/script.js");

/// The style sheet that reports and pages of papers share.
pub(crate) const STYLE: &str = include_str!("html/style.css");

/// What the document may do: run the script with this SHA-256, and use its own styles. Nothing is
/// loaded, and nothing is sent.
const POLICY: &str = concat!(
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
    include_str!("html/script.sha256"),
    "'"
);

/// A page without a script, which loads nothing: its title, style beyond a report's, and body.
pub(crate) fn plain_page(title: &str, style: &'static str, body: impl FnOnce(&mut Markup)) -> String {
    let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'";
    let mut out = Markup::default();
    out.own("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", policy)]);
    out.own("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.own("<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.say("title", title);
    out.newline();
    out.tag("style", |out| {
        out.own(STYLE);
        out.own(style);
        out.colours(&colours());
    });
    out.own("\n</head>\n<body>\n");
    body(&mut out);
    out.own("\n</body>\n</html>\n");
    out.into_string()
}

/// One run of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportRun<'r> {
    /// The header.
    pub head: &'r RunHeader,
    /// The measured points; records are in this order.
    pub points: &'r [Point],
    /// The rounds of each point.
    pub rounds: &'r [Vec<Round>],
    /// The records.
    pub records: &'r [Record],
    /// The end; `None` while the run goes on, or after it was killed.
    pub end: Option<&'r End>,
}

/// The content of a report.
#[derive(Debug)]
pub struct Report<'r> {
    /// The families that provide pages and rows.
    pub families: Families<'r>,
    /// The benchmarks to explain.
    pub catalogue: &'r [&'r Info],
    /// The meaning of states, flags and labels, by word.
    pub words: &'r [(String, String)],
    /// The runs; the others are compared with the first.
    pub runs: &'r [ReportRun<'r>],
    /// The first run as a side of the comparison, and the others; `None` for a single run.
    pub compared: Option<(Side<'r>, &'r [Compared<'r>])>,
    /// Published tables with these runs among their rows; empty unless requested.
    pub papers: Papers<'r>,
    /// The name of the program, for suggested commands.
    pub program: &'static str,
}

/// The report as an HTML document.
pub fn html(report: &Report<'_>) -> String {
    let sheet = Sheet::new(report);
    let title = head::title(report);
    let mut out = Markup::default();
    out.own("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    out.own("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.own("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    out.say("title", &title);
    out.newline();
    out.tag("style", |style| {
        style.own(STYLE);
        style.colours(&colours());
    });
    out.own("\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the values</a>\n");
    let sections = sections(report, &sheet);
    out.tag("header", |header| head::header(report, &title, header));
    out.newline();
    out.with("nav", &[("aria-label", "Sections")], |nav| {
        for (id, name, _) in &sections {
            nav.with("a", &[("href", &format!("#{id}"))], |a| a.text(name));
            nav.own(" ");
        }
    });
    out.newline();
    out.with("main", &[("id", "main")], |main| {
        for (id, name, body) in sections {
            main.with("section", &[("id", id), ("aria-labelledby", &format!("h-{id}"))], |section| {
                section.with("h2", &[("id", &format!("h-{id}"))], |h| h.text(name));
                section.add(body);
            });
            main.newline();
        }
    });
    out.newline();
    out.data("data", &sheet.data());
    out.own("<script>");
    out.own(SCRIPT);
    out.own("</script>\n</body>\n</html>\n");
    out.into_string()
}

/// The non-empty sections: ids, names and bodies.
fn sections(report: &Report<'_>, sheet: &Sheet<'_>) -> Vec<(&'static str, &'static str, Markup)> {
    let all = [
        ("comparison", "Comparison", beside::comparison(report, sheet)),
        ("pages", "The machine at a glance", pages::pages(report, sheet)),
        ("curves", "Curves and matrices", charts::charts(report)),
        ("values", "All values", values::values(report, sheet)),
        ("papers", "Beside the papers", papers(report)),
        ("machine", "What the machine declares", head::facts(report)),
        ("explanations", "What is measured", explanations::benchmarks(sheet)),
        ("words", "Signs and words", explanations::words(report)),
    ];
    all.into_iter().filter_map(|(id, name, body)| Some((id, name, body?))).collect()
}

/// The published tables; `None` unless requested.
fn papers(report: &Report<'_>) -> Option<Markup> {
    if report.papers.tables.is_empty() {
        return None;
    }
    let mut out = Markup::default();
    let text = "Published cells are as printed. Marked rows are of this report's runs: the same operation with the same \
                parameters; what differs stands below each table.";
    out.say_of("p", "note", text);
    crate::paper::html::documents(&report.papers, &mut out);
    Some(out)
}

/// The letter of a run in the report: A, B, and so on; empty for a single run.
fn letter(report: &Report<'_>, run: usize) -> String {
    if report.runs.len() > 1 { crate::compare::letter(run).to_string() } else { String::new() }
}

/// What differs between the first run and any other.
fn differences<'r>(report: &Report<'r>) -> impl Iterator<Item = &'r Difference> {
    let others = report.compared.map(|(_, others)| others).unwrap_or_default();
    others.iter().flat_map(|other| &other.differences)
}

/// The pages of a run and its curves, for a page that is not a report: without the links of one.
pub(crate) fn run_body(report: &Report<'_>) -> Markup {
    let sheet = Sheet::new(report);
    let mut out = Markup::default();
    let parts = [(pages::pages(report, &sheet), "Pages"), (charts::charts(report), "Curves and matrices")];
    for (part, heading) in parts.into_iter().filter_map(|(part, heading)| Some((part?, heading))) {
        out.say("h2", heading);
        out.add(part);
    }
    out
}

#[cfg(test)]
mod tests;
