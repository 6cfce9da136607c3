//! The table of the memory hierarchy: a row for each cache and for memory, with the declared and
//! the measured size, latency and bandwidth.

use groma_analysis::claims::{Amount, Claim, Seen, Subject, Verdict};
use groma_model::Record;
use groma_model::family::Row;

use super::bandwidth;
use super::claims::{amount, level};
use crate::layout::{Mark, Strip};
use crate::style::{Ink, Style};
use crate::units::{self, significant};

/// The operations with a column, and with a line in a plot.
pub(crate) const OPS: [&str; 3] = ["read", "write", "copy"];
/// Where columns end: name, declared, measured, latency, cycles, and one per operation.
const ENDS: [usize; 8] = [11, 20, 36, 45, 53, 63, 70, 77];

/// Whether a claim has a row in this table.
pub(super) const fn is_level(subject: Subject) -> bool {
    matches!(subject, Subject::Cache(_) | Subject::Memory)
}

/// A row of the table.
pub(crate) struct Level<'r> {
    pub(crate) name: &'static str,
    pub(crate) declared: String,
    pub(crate) measured: String,
    /// Whether the measured size differs from the declared one.
    pub(crate) differs: bool,
    pub(crate) latency: String,
    pub(crate) cycles: String,
    /// The bandwidth of each of [`OPS`].
    pub(crate) speeds: [Option<&'r Record>; 3],
}

/// The rows of the table.
pub(super) fn levels<'r>(claims: &[Claim], rows: &[&Row], seen: &Seen<'r>) -> Vec<Level<'r>> {
    let speeds = bandwidths(claims, rows, seen);
    let level = |(claim, speeds): (&Claim, [Option<&'r Record>; 3])| {
        let differs = claim.verdict == Some(Verdict::Disagree);
        Level {
            name: level(claim.subject),
            declared: amount(&claim.declared),
            measured: format!("{}{}", if differs { "≠ " } else { "" }, amount(&claim.measured)),
            differs,
            latency: claim.seconds.map(units::time).unwrap_or_default(),
            cycles: claim.cycles.map(units::bare_cycles).unwrap_or_default(),
            speeds,
        }
    };
    claims.iter().zip(speeds).map(level).collect()
}

/// The table; empty without rows.
pub(super) fn table(levels: &[Level<'_>], style: &Style) -> Vec<Strip> {
    if levels.is_empty() {
        return Vec::new();
    }
    let has_bandwidth = levels.iter().flat_map(|level| &level.speeds).any(Option::is_some);
    let heads = ["", "declared", "measured", "latency", "cycles", "GB/s: read", "write", "copy"];
    let shown = if has_bandwidth { heads.len() } else { heads.len() - OPS.len() };
    let faint = |text: &str| Strip::new(style, Ink::Faint, text);
    let head = heads[..shown]
        .iter()
        .zip(ENDS)
        .fold(Strip::default(), |row, (head, end)| if head.is_empty() { row } else { row.ending_at(faint(head), end) });
    let mut table = vec![head];
    for level in levels {
        let ink = if level.differs { Ink::Warning } else { Ink::Plain };
        let texts = [&level.declared, &level.measured, &level.latency, &level.cycles].map(String::clone);
        let inks = [Ink::Plain, ink, Ink::Plain, Ink::Plain];
        let speeds = level
            .speeds
            .map(|record| record.map_or((Ink::Plain, String::new()), |r| (Mark::of(r).ink(), gigabytes(r))));
        let cells = inks.into_iter().zip(texts).chain(speeds).zip(&ENDS[1..]);
        let name = Strip::plain(style, &format!("  {}", level.name));
        table.push(cells.fold(name, |row, ((ink, text), end)| {
            if text.is_empty() { row } else { row.ending_at(Strip::new(style, ink, &text), *end) }
        }));
    }
    table
}

/// A bandwidth with the sign of its record.
pub(crate) fn gigabytes(record: &Record) -> String {
    Mark::of(record).shown(record, |value| significant(value / 1e9, 3))
}

/// The bandwidths of each level by operation: for memory that of the largest size, for a cache that
/// of the largest other size that fits into it but not into the one before.
fn bandwidths<'a>(claims: &[Claim], rows: &[&Row], seen: &Seen<'a>) -> Vec<[Option<&'a Record>; 3]> {
    let records: Vec<&Record> = bandwidth(rows).map(|id| seen.all(id).collect()).unwrap_or_default();
    let largest = records.iter().filter_map(|r| r.number("size")).max();
    let capacity = |claim: &Claim| match (&claim.declared, &claim.measured) {
        (Amount::Size(bytes), _) | (_, Amount::Size(bytes) | Amount::Sizes(bytes, _)) => *bytes,
        _ => 0.0,
    };
    let mut before = 0.0;
    let of_level = |claim: &Claim| {
        let most = capacity(claim);
        let fits = |size: u64| match claim.subject {
            Subject::Memory => Some(size) == largest,
            _ => Some(size) != largest && before < size as f64 && size as f64 <= most,
        };
        let of_op = |op: &str| {
            let all = records.iter().filter(|r| r.params.word("op") == Some(op));
            all.filter_map(|r| Some((r.number("size").filter(|size| fits(*size))?, *r)))
                .max_by_key(|(size, r)| (*size, r.value.is_some()))
                .map(|(_, record)| record)
        };
        let found = OPS.map(of_op);
        before = most.max(before);
        found
    };
    claims.iter().map(of_level).collect()
}
