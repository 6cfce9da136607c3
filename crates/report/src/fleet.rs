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
use groma_analysis::fleet::{Fleet, Judgement};

use crate::Style;

/// A format of a judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FleetFormat {
    /// Text for people; its first line is the answer.
    #[default]
    Table,
    /// A line for each suspect: its name, a space, a reason for draining it.
    Drain,
    /// One JSON object, which a later judgement reads as its baseline.
    Json,
    /// For a ticket or a pull request.
    Markdown,
    /// A page for a browser, with a heat map of hosts and metrics.
    Html,
    /// Gauges for Prometheus.
    Openmetrics,
}

impl FleetFormat {
    /// All formats.
    pub const ALL: [FleetFormat; 6] = [
        FleetFormat::Table,
        FleetFormat::Drain,
        FleetFormat::Json,
        FleetFormat::Markdown,
        FleetFormat::Html,
        FleetFormat::Openmetrics,
    ];

    /// The word used on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            FleetFormat::Table => "table",
            FleetFormat::Drain => "drain",
            FleetFormat::Json => "json",
            FleetFormat::Markdown => "markdown",
            FleetFormat::Html => "html",
            FleetFormat::Openmetrics => "openmetrics",
        }
    }

    /// The format with this name, if any.
    pub fn from_word(word: &str) -> Option<FleetFormat> {
        FleetFormat::ALL.into_iter().find(|format| format.word() == word)
    }
}

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

/// The judgement in a format; `style` is for text for people.
pub fn fleet(report: &FleetReport<'_>, format: FleetFormat, style: &Style) -> String {
    match format {
        FleetFormat::Table => page::page(report, style),
        FleetFormat::Drain => drain::drain(report),
        FleetFormat::Json => json::json(report),
        FleetFormat::Markdown => markdown::markdown(report),
        FleetFormat::Html => html::html(report),
        FleetFormat::Openmetrics => gauges::gauges(report),
    }
}
