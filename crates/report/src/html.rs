//! A report: runs as one file for a browser, which needs nothing else.
//!
//! Static first: all that is said stands in the document, curves are SVG, matrices are tables. The
//! script (`html/script.js`) sorts, filters, hides lines, zooms, and draws rounds and samples of a
//! metric; its data are in one block of JSON. What pages say comes from the same model as the text
//! of a terminal (`layout`, `hardware`, `compare`); only the elements are made here, through
//! `markup`, which escapes.

mod beside;
pub(crate) mod charts;
mod explanations;
mod head;
mod pages;
mod sheet;
pub(crate) mod style;
mod values;

use groma_analysis::compare::environment::Difference;
use groma_model::{End, Families, Info, Point, Record, Round, RunHeader};

use crate::compare::{Compared, Side};
use crate::markup::Markup;
use crate::paper::Papers;
use crate::plot::colours;
use sheet::Sheet;
use style::STYLE;

const SCRIPT: &str = include_str!("html/script.js");

/// What the document may do: run the script whose SHA-256 this is, and use its own styles. Nothing
/// is loaded, and nothing is sent.
const POLICY: &str = concat!(
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
    include_str!("html/script.sha256"),
    "'"
);

/// A run of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportRun<'r> {
    /// Its head.
    pub head: &'r RunHeader,
    /// What was measured; the records follow in this order.
    pub points: &'r [Point],
    /// The rounds of each of them.
    pub rounds: &'r [Vec<Round>],
    /// The records.
    pub records: &'r [Record],
    /// Its end; `None` while it goes on, or when it was killed.
    pub end: Option<&'r End>,
}

/// What a report is made of.
#[derive(Debug)]
pub struct Report<'r> {
    /// The families whose pages and rows are shown.
    pub families: Families<'r>,
    /// The benchmarks that can be explained.
    pub catalogue: &'r [&'r Info],
    /// What states, flags and labels mean, each with its word.
    pub words: &'r [(String, String)],
    /// The runs, the one that others are compared with first.
    pub runs: &'r [ReportRun<'r>],
    /// The first run as a side of the comparison, and the others beside it; none of one run.
    pub compared: Option<(Side<'r>, &'r [Compared<'r>])>,
    /// Published tables with these runs among their rows; none unless they are asked for.
    pub papers: Papers<'r>,
    /// What the program is called, for commands that the report suggests.
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

/// The sections that have something to show: their ids, names and bodies.
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

/// The published tables; `None` where none were asked for.
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

/// What a run is called in the report: A, B, and so on; nothing where it is the only one.
fn letter(report: &Report<'_>, run: usize) -> String {
    if report.runs.len() > 1 { crate::compare::letter(run).to_string() } else { String::new() }
}

/// What differs between the first run and any other.
fn differences<'r>(report: &Report<'r>) -> impl Iterator<Item = &'r Difference> {
    let others = report.compared.map(|(_, others)| others).unwrap_or_default();
    others.iter().flat_map(|other| &other.differences)
}

#[cfg(test)]
mod tests;
