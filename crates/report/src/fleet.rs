//! A judgement of many hosts as text: which are slow, in what, and what to do.
//!
//! The sentences are made in `says.rs` and are the same in every format. A file for each format.

mod drain;
mod gauges;
mod html;
mod json;
mod markdown;
mod page;
mod says;
#[cfg(test)]
mod tests;

use groma_analysis::fleet::signatures::Signatures;
use groma_analysis::fleet::{Fleet, Judgement, Verdict};

use crate::Style;
use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};

/// What a view of a judgement shows.
#[derive(Clone, Copy, Debug)]
pub struct FleetReport<'r> {
    /// The hosts.
    pub fleet: &'r Fleet,
    /// The judgement.
    pub judgement: &'r Judgement,
    /// The signatures that it used.
    pub signatures: &'r Signatures,
    /// The smallest slow-down that mattered, as a fraction.
    pub at_least: f64,
    /// Whether it was compared with an earlier one.
    pub has_past: bool,
    /// What was left out or is odd, a line each.
    pub notes: &'r [String],
    /// The version of this program.
    pub groma: &'r str,
}

/// A judgement of many hosts.
pub fn fleet<'a>(report: &'a FleetReport<'a>, style: &Style) -> Document<'a> {
    Document::page("fleet", page::page(report, &style.of_page()))
        .written(Format::Drain, move || drain::drain(report))
        .written(Format::Json, move || json::json(report))
        .written(Format::Csv, move || hosts(report).render(Format::Csv, &Style::plain(usize::MAX)))
        .written(Format::Markdown, move || markdown::markdown(report))
        .written(Format::Html, move || html::html(report))
        .written(Format::Openmetrics, move || gauges::gauges(report))
}

/// A row for each host.
fn hosts<'a>(report: &FleetReport<'_>) -> Document<'a> {
    let names = says::Names::of(&report.fleet.metrics);
    let columns = ["host", "run", "started", "verdict", "signature", "sentence"].map(|head| (head, Align::Left));
    let mut table = Table::new(&columns, None);
    for judged in &report.judgement.hosts {
        let host = &report.fleet.hosts[judged.host];
        let is_suspect = judged.verdict == Verdict::Suspect;
        let sentence = if is_suspect { says::sentence(report, &names, judged) } else { String::new() };
        let signature = judged.fit.as_ref().map_or("", |fit| fit.name.as_str());
        let cells =
            [host.name.as_str(), &host.run, &host.started, judged.verdict.word(), signature, &sentence].map(Cell::new);
        table.row(cells.into());
    }
    let mut out = Document::new("fleet");
    out.table(table);
    out
}
