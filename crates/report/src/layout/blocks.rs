//! A block of a page: a subject, and a line for each thing that people call by a name.

use groma_model::page::{Block, Line, Shown};
use groma_model::{Record, State};

use super::strip::Strip;
use crate::style::{Ink, Style, columns};
use crate::units::{self, Scale, significant};

/// A value whose half-width is a larger part of it is marked as imprecise.
const PRECISE: f64 = 0.05;

/// A block of so many columns has two between its values.
const ROOMY: usize = 44;

/// What stands before a value, or instead of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Nothing: it is as good as it looks.
    None,
    /// Repeats differ by more than [`PRECISE`], or are too few for an interval.
    Imprecise,
    /// It could not be told.
    Unresolved,
    /// This machine does not have it, or denies it.
    NotHere,
    /// It went wrong.
    Failed,
}

impl Mark {
    /// Those that a legend explains, with their words.
    pub(crate) const LEGEND: [(Mark, &'static str); 4] = [
        (Mark::Imprecise, "imprecise (± over 5 %)"),
        (Mark::Unresolved, "could not be told"),
        (Mark::NotHere, "not here"),
        (Mark::Failed, "failed"),
    ];

    /// That of a record.
    pub(crate) fn of(record: &Record) -> Mark {
        match record.state {
            State::Ok | State::Noisy if record.value.is_none() => Mark::Unresolved,
            State::Ok | State::Noisy => {
                let half = units::half_width(record).zip(record.value).map(|(half, value)| half / value.abs());
                let is_precise = record.state == State::Ok && half.is_some_and(|half| half <= PRECISE);
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

    const fn ink(self) -> Ink {
        match self {
            Mark::None => Ink::Plain,
            Mark::Imprecise | Mark::Unresolved => Ink::Warning,
            Mark::NotHere => Ink::Faint,
            Mark::Failed => Ink::Bad,
        }
    }

    /// Whether the value stands behind the sign.
    pub(crate) const fn has_value(self) -> bool {
        matches!(self, Mark::None | Mark::Imprecise)
    }
}

/// The lines of a block, within so many columns; none where none of its metrics was to be measured.
pub(crate) fn lines(block: &Block, records: &[Record], width: usize, style: &Style) -> Vec<Strip> {
    let rows: Vec<(&Line, Vec<Strip>)> = block
        .lines
        .iter()
        .filter(|line| line.values.iter().flatten().any(|shown| shown.find(records).is_some()))
        .map(|line| (line, line.values.iter().map(|shown| value(shown.as_ref(), block.unit, records, style)).collect()))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    // Each column as wide as what it holds; the last one ends where the block ends.
    let widest = |i: usize| {
        let values = rows.iter().filter_map(|(_, values)| values.get(i)).map(Strip::width);
        values.chain(block.heads.get(i).map(|head| columns(head))).max().unwrap_or(0)
    };
    let of_values = rows.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let mut ends = vec![width; of_values];
    for i in (1..of_values).rev() {
        ends[i - 1] = ends[i].saturating_sub(widest(i) + if width < ROOMY { 1 } else { 2 });
    }
    let mut out = vec![title(block, &ends, style)];
    for (line, values) in rows {
        let mut strip = Strip::plain(style, &format!("  {}", line.name));
        for (value, end) in values.into_iter().zip(&ends) {
            if value.width() > 0 {
                strip = strip.ending_at(value, *end);
            }
        }
        out.push(strip);
    }
    out
}

/// The first line: the subject, and the heads of the columns or what more of it is called.
fn title(block: &Block, ends: &[usize], style: &Style) -> Strip {
    let unit = if block.unit == "GB/s" { ", GB/s" } else { "" };
    let subject = Strip::new(style, Ink::Strong, &format!("{}{unit}", block.title));
    let faint = |text: &str| Strip::new(style, Ink::Faint, text);
    if block.heads.is_empty() {
        return subject.ending_at(faint(block.more), ends.last().copied().unwrap_or(0));
    }
    block.heads.iter().zip(ends).fold(subject, |strip, (head, end)| strip.ending_at(faint(head), *end))
}

/// A value as the page shows it: its sign and three digits; empty where it was not to be measured.
fn value(shown: Option<&Shown>, unit: &str, records: &[Record], style: &Style) -> Strip {
    let Some((shown, record)) = shown.and_then(|shown| Some((shown, shown.find(records)?))) else {
        return Strip::default();
    };
    let mark = Mark::of(record);
    let number = match (shown.in_cycles, record.value.filter(|_| mark.has_value())) {
        (_, None) => Some(String::new()),
        (true, Some(_)) => record.cycles.map(units::bare_cycles),
        (false, Some(value)) => Some(match unit {
            "GB/s" => significant(value / 1e9, 3),
            "cycles" => significant(value, 3),
            _ => units::value(value, Scale::of(record), None),
        }),
    };
    // Cycles that were not measured leave their place empty.
    number.map_or_else(Strip::default, |number| Strip::new(style, mark.ink(), &format!("{}{number}", mark.sign())))
}
