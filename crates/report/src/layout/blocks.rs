//! A block of a page: a subject, with a line for each thing that has a common name.

use groma_model::page::{Block, Line, Shown, Values};
use groma_model::{Record, State};

use super::strip::Strip;
use crate::style::{Ink, Style};
use crate::units::{self, Scale, significant};

/// A value whose half-width is a larger fraction of it is marked as imprecise.
pub(crate) const PRECISE: f64 = 0.05;

/// A block this wide has two spaces between its values.
const ROOMY: usize = 44;

/// The sign before a value, or in its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// No sign: the value can be trusted.
    None,
    /// The rounds differ by more than [`PRECISE`], or are too few for an interval.
    Imprecise,
    /// The rounds did not determine it.
    Unresolved,
    /// This machine does not have it, or does not permit it.
    NotHere,
    /// It went wrong.
    Failed,
}

impl Mark {
    /// The signs that a legend explains, with their words.
    pub(crate) const LEGEND: [(Mark, &'static str); 4] = [
        (Mark::Imprecise, "imprecise"),
        (Mark::Unresolved, "unresolved"),
        (Mark::NotHere, "not here"),
        (Mark::Failed, "failed"),
    ];

    /// The mark of a record.
    pub(crate) fn of(record: &Record) -> Mark {
        match record.state {
            State::Ok | State::Noisy if record.value.is_none() => Mark::Unresolved,
            State::Ok | State::Noisy => {
                let is_precise = record.state == State::Ok && record.precision().is_some_and(|half| half <= PRECISE);
                if is_precise { Mark::None } else { Mark::Imprecise }
            }
            State::Unresolved => Mark::Unresolved,
            State::Unsupported | State::Denied => Mark::NotHere,
            State::Timeout | State::Failed => Mark::Failed,
        }
    }

    /// Its sign.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Mark::None => "",
            Mark::Imprecise => "~",
            Mark::Unresolved => "?",
            Mark::NotHere => "–",
            Mark::Failed => "!",
        }
    }

    /// The sign, followed by the value of a record if it has one.
    pub(crate) fn shown(self, record: &Record, number: impl Fn(f64) -> String) -> String {
        let value = record.value.filter(|_| matches!(self, Mark::None | Mark::Imprecise));
        format!("{}{}", self.sign(), value.map(number).unwrap_or_default())
    }

    pub(crate) const fn ink(self) -> Ink {
        match self {
            Mark::None => Ink::Plain,
            Mark::Imprecise | Mark::Unresolved => Ink::Warning,
            Mark::NotHere => Ink::Faint,
            Mark::Failed => Ink::Bad,
        }
    }
}

/// A value of a block, as shown.
pub(crate) struct BlockCell<'r> {
    pub(crate) record: &'r Record,
    pub(crate) mark: Mark,
    /// The sign and three digits.
    pub(crate) text: String,
}

/// A line of a block, with the cells of its columns.
pub(crate) struct Row<'r> {
    pub(crate) line: &'static Line,
    pub(crate) cells: Vec<Option<BlockCell<'r>>>,
}

/// The lines of a block; empty if the run was to measure none of its metrics.
pub(crate) fn rows<'r>(block: &Block, records: &'r [Record]) -> Vec<Row<'r>> {
    let cell = |shown: &Option<Shown>| shown.and_then(|shown| cell(&shown, block.values, records));
    let row = |line: &'static Line| Row { line, cells: line.values[..block.columns()].iter().map(cell).collect() };
    let was_tried = |line: &&Line| line.values.iter().flatten().any(|shown| shown.find(records).is_some());
    block.lines.iter().filter(was_tried).map(row).collect()
}

/// The title of a block, with the unit of its values if they share one.
pub(crate) fn title(block: &Block) -> String {
    format!("{}{}", block.title, if block.values == Values::Gigabytes { ", GB/s" } else { "" })
}

/// The lines of a block in `width` columns; empty if the run was to measure none of its metrics.
pub(crate) fn lines(block: &Block, records: &[Record], width: usize, style: &Style) -> Vec<Strip> {
    let columns = block.columns();
    let strip = |cell: BlockCell<'_>| Strip::new(style, cell.mark.ink(), &cell.text);
    let of_row = |row: Row<'_>| (row.line, row.cells.into_iter().map(|cell| cell.map(strip)).collect());
    let rows: Vec<(&Line, Vec<Option<Strip>>)> = rows(block, records).into_iter().map(of_row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let faint = |text: &str| Strip::new(style, Ink::Faint, text);
    let heads: Vec<Strip> = block.heads.iter().map(|head| faint(head)).collect();
    // Each column is as wide as its content; the last one ends where the block ends.
    let widest = |i: usize| {
        let values = rows.iter().filter_map(|(_, values)| values[i].as_ref());
        values.chain(heads.get(i)).map(Strip::width).max().unwrap_or(0)
    };
    let mut ends = vec![width; columns];
    for i in (1..columns).rev() {
        ends[i - 1] = ends[i].saturating_sub(widest(i) + if width < ROOMY { 1 } else { 2 });
    }
    let in_columns = |first: Strip, cells: Vec<Option<Strip>>| {
        let cells = cells.into_iter().zip(&ends);
        cells.fold(first, |row, (cell, end)| match cell {
            Some(cell) => row.ending_at(cell, *end),
            None => row,
        })
    };
    let title = Strip::new(style, Ink::Strong, &title(block));
    // Placed at the end of the line, the families read like the heading of the values.
    let room =
        heads.first().map_or(width, |head| ends[0].saturating_sub(head.width() + 1)).saturating_sub(title.width());
    let of_first = |n: usize| format!(" ({})", block.families[..n].join(", "));
    let title = match (1..=block.families.len()).rev().map(of_first).find(|text| text.len() <= room) {
        Some(families) => title.then(faint(&families)),
        None => title,
    };
    let mut out = vec![in_columns(title, heads.iter().cloned().map(Some).collect())];
    for (line, values) in rows {
        out.push(in_columns(Strip::plain(style, &format!("  {}", line.name)), values));
    }
    out
}

/// A value as the page shows it: its sign and three digits; `None` if the run was not to measure
/// it, or it has no cycles.
fn cell<'r>(shown: &Shown, values: Values, records: &'r [Record]) -> Option<BlockCell<'r>> {
    let record = shown.find(records)?;
    if shown.in_cycles && record.value.is_some() && record.cycles.is_none() {
        return None;
    }
    let number = |value: f64| match (shown.in_cycles, values) {
        (true, _) => record.cycles.map(units::bare_cycles).unwrap_or_default(),
        (false, Values::Gigabytes) => significant(value / 1e9, 3),
        (false, Values::Bare) => significant(value, 3),
        (false, Values::WithUnits) => units::value(value, Scale::of(record), None),
    };
    let mark = Mark::of(record);
    Some(BlockCell { record, mark, text: mark.shown(record, number) })
}
