//! Runs side by side: differences between their machines, what became slower or faster, and the
//! lines of the pages with all values.
//!
//! `groma_analysis::compare` decides what a difference is; here is only its wording.

mod differs;
mod files;
mod lines;
mod names;
mod summary;

pub(crate) use names::page_name;

use groma_analysis::compare::environment::Difference;
use groma_analysis::compare::{Comparison, Pair, Verdict, Why};
use groma_model::{Families, Record, RunHeader};

use crate::document::Document;
use crate::format::Format;
use crate::markdown;
use crate::style::Style;
use crate::units;

pub(crate) use lines::{Line, PageLines, Stack, page_lines, stacks};
pub(crate) use summary::{capital, factor, run, sentences};

/// One side of a comparison, with its names.
#[derive(Clone, Copy, Debug)]
pub struct Side<'r> {
    /// The argument that named it: `before`, `latest~1`, a run's id.
    pub name: &'r str,
    /// The header of its run, or of the newest of several.
    pub head: &'r RunHeader,
    /// The number of its runs.
    pub runs: usize,
    /// The number of other runs of its machine in the same state, which show how much runs vary.
    pub like: usize,
}

/// Another side compared with the first one.
#[derive(Debug)]
pub struct Compared<'r> {
    /// The other side.
    pub side: Side<'r>,
    /// What differs between the machines.
    pub differences: Vec<Difference>,
    /// The matched metrics.
    pub comparison: Comparison<'r>,
    /// Whether its rounds were interleaved with those of the first side.
    pub in_turns: bool,
}

/// What values are divided by before a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relative<'r> {
    /// By nothing.
    Absolute,
    /// Times in cycles of the core's clock.
    Cycles,
    /// Times as multiples of a metric at one point, given in words.
    Metric(&'r str),
}

/// A comparison of the first side with each of the others. JSON, CSV and JUnit contain all metrics;
/// the other formats contain the lines of the pages, or every metric with `style.all`.
pub fn compare<'a>(
    families: Families<'a>,
    first: Side<'a>,
    others: &'a [Compared<'a>],
    relative: Relative<'a>,
    style: &Style,
) -> Document<'a> {
    let text = move |style: &Style| {
        let summary = summary::summary(families, first, others, relative, style);
        (summary, lines::lines(families, others, relative, style))
    };
    let of_page = style.of_page();
    let (summary, lines) = text(&of_page);
    let mut out = Document::new(format!("comparison with {}", first.name))
        .written(Format::Json, move || files::json(first, others))
        .written(Format::Csv, move || files::csv(first, others))
        .written(Format::Junit, move || files::junit(first, others))
        .written(Format::Markdown, move || {
            let (summary, lines) = text(&markdown::in_a_block(&of_page));
            markdown::folded(&summary, "All lines", &lines)
        });
    out.lines(format!("{summary}\n{lines}"));
    out
}

/// The letter of a side: A, B, and so on.
pub fn letter(side: usize) -> char {
    char::from(b'A' + u8::try_from(side).unwrap_or(25).min(25))
}

/// `kernel.release 6.17 → 6.18`, each text cut to `columns`.
pub(crate) fn difference(difference: &Difference, columns: usize, style: &Style) -> String {
    let text = |value: &Option<String>| value.as_ref().map_or("nothing".to_owned(), |text| style.cut(text, columns));
    format!("{} {} → {}", difference.key, text(&difference.values[0]), text(&difference.values[1]))
}

/// The change from the first side to the second, in percent with its sign: `+12 %`, `-0.8 %`; from
/// a doubling on as a factor: `2.4x`.
pub(crate) fn change(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        x if !x.is_finite() => units::NONE.to_owned(),
        x if x >= 999.5 => format!("{ratio:.0}x"),
        x if x >= 99.5 => format!("{ratio:.1}x"),
        x if x.abs() < 0.05 => "0 %".to_owned(),
        x if x.abs() < 9.95 => format!("{x:+.1} %"),
        x => format!("{x:+.0} %"),
    }
}

/// The sign of a verdict.
pub(crate) fn sign(verdict: Verdict, style: &Style) -> &'static str {
    match (verdict, style.unicode) {
        (Verdict::Slower, true) => "▼",
        (Verdict::Slower, false) => "!",
        (Verdict::Faster, true) => "▲",
        (Verdict::Faster, false) => "*",
        (Verdict::Changed, true) => "≠",
        (Verdict::Changed, false) => "#",
        (Verdict::Same { .. }, _) => "=",
        (Verdict::Unclear(_), _) => "?",
    }
}

/// Why a comparison is inconclusive, in words.
fn why(why: Why) -> String {
    match why {
        Why::Imprecise => "the intervals are too wide".to_owned(),
        Why::FewRounds => "too few rounds".to_owned(),
        Why::RunNoise(floor) => format!("runs of this host differ by {} as well", units::percent(floor - 1.0)),
        Why::SharedCore => "one side is of a shared core".to_owned(),
    }
}

/// A verdict as one word in a table; the legend explains those that are not self-evident.
fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Unclear(Why::Imprecise) => "wide",
        Verdict::Unclear(Why::FewRounds) => "few",
        Verdict::Unclear(Why::RunNoise(_)) => "runs",
        Verdict::Unclear(Why::SharedCore) => "shared",
        other => other.word(),
    }
}

/// A verdict in words, with its detail.
pub(crate) fn verdict_text(pair: &Pair<'_>) -> String {
    match pair.verdict {
        Verdict::Same { within } => format!("same within {}", units::percent(within)),
        Verdict::Unclear(reason) => format!("cannot tell: {}", why(reason)),
        other => other.word().to_owned(),
    }
}

/// Whether this is the pair of a record of the first side.
fn is_of(pair: &Pair<'_>, record: &Record) -> bool {
    std::ptr::eq(pair.sides[0], record)
}

#[cfg(test)]
mod tests;
