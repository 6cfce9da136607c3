//! Published tables as rows in display order, with cells as text.

use groma_published::{Cell, Quantity, Row, Shape, Sheet, Take};

use super::{Paper, PaperMachine, PaperRow};
use crate::units::{NONE, significant};

/// Prefix of the name of a machine that is not in the document.
pub(super) const OURS: &str = "→ ";
/// Suffix of a value that the document's text leaves in doubt.
pub(super) const DOUBT: &str = "?";

/// A displayed row.
pub(super) enum Entry<'a> {
    /// A row of the document.
    Published(&'a Row),
    /// A row of an added machine.
    Ours(&'a PaperMachine, &'a PaperRow),
}

/// A table in display form.
pub(super) struct Layout {
    /// The headings of the columns.
    pub(super) heads: Vec<String>,
    /// The units of the columns, below their headings; empty if all are the same.
    pub(super) units: Vec<String>,
    /// The rows: whether each is of an added machine, and its cells.
    pub(super) rows: Vec<(bool, Vec<TextCell>)>,
    /// The number of text columns.
    pub(super) texts: usize,
}

/// The text of a cell, and the number to sort it by.
#[derive(Clone)]
pub(super) struct TextCell {
    pub(super) text: String,
    pub(super) number: Option<f64>,
}

impl TextCell {
    fn text(text: impl Into<String>) -> TextCell {
        TextCell { text: text.into(), number: None }
    }
}

impl Paper<'_> {
    /// The title and unit.
    pub(super) fn title(&self) -> String {
        let columns = self.table.sheet().map(|sheet| sheet.columns).unwrap_or_default();
        let unit = match &columns[..] {
            [first, ..] if !first.unit.is_empty() && columns.iter().all(|c| c.unit == first.unit) => {
                format!(", in {}", first.unit)
            }
            _ => String::new(),
        };
        format!("{} {}: {}{unit}", self.document.name, self.table.name, self.table.title)
    }

    /// The table in display form.
    pub(super) fn layout(&self) -> Layout {
        let mut layout = match self.table.sheet() {
            None => self.raw_layout(),
            Some(sheet) if self.table.shape == Shape::Quantities => self.layout_by_quantity(&sheet),
            Some(sheet) => self.layout_by_system(&sheet),
        };
        // A table of constants names no system.
        if layout.rows.iter().all(|(_, cells)| cells[0].text.is_empty()) {
            layout.heads.remove(0);
            layout.rows.iter_mut().for_each(|(_, cells)| drop(cells.remove(0)));
            layout.units.drain(..1.min(layout.units.len()));
            layout.texts -= 1;
        }
        layout
    }

    fn raw_layout(&self) -> Layout {
        let raw = self.table.raw();
        let further = |i: usize| self.beside.iter().map(move |(_, cells)| cells.get(i).cloned().unwrap_or_default());
        let row =
            |(i, row): (usize, Vec<String>)| (false, row.into_iter().chain(further(i)).map(TextCell::text).collect());
        let heads: Vec<String> = raw.head.into_iter().chain(self.beside.iter().map(|(head, _)| head.clone())).collect();
        let rows = raw.rows.into_iter().enumerate().map(row).collect();
        Layout { texts: heads.len(), heads, units: Vec::new(), rows }
    }

    fn layout_by_system(&self, sheet: &Sheet) -> Layout {
        let names = [&[sheet.rows_are.to_owned()], &sheet.keys[..]].concat();
        let units: Vec<String> = sheet.columns.iter().map(|column| column.unit.clone()).collect();
        let same = units.iter().all(|unit| *unit == units[0]);
        let cells = |entry: &Entry<'_>| match entry {
            Entry::Published(row) => {
                let values = row.cells.iter().zip(&sheet.columns).map(|(cells, column)| published(cells, &column.unit));
                let texts = [row.name.clone()].into_iter().chain(row.keys.clone());
                (false, texts.map(TextCell::text).chain(values).collect())
            }
            Entry::Ours(machine, row) => {
                let of = |key: &String| row.keys.iter().find(|(name, _)| name == key).map(|(_, text)| text.clone());
                let keys = sheet.keys.iter().map(|key| of(key).unwrap_or_default());
                let values =
                    row.values.iter().zip(self.table.quantities).map(|(value, quantity)| own(*value, quantity));
                let texts = [format!("{OURS}{}", machine.name)].into_iter().chain(keys);
                (true, texts.map(TextCell::text).chain(values).collect())
            }
        };
        Layout {
            texts: names.len(),
            units: if same { Vec::new() } else { [vec![String::new(); names.len()], units].concat() },
            heads: names.into_iter().chain(sheet.columns.iter().map(|column| column.head.clone())).collect(),
            rows: self.entries(sheet).iter().map(cells).collect(),
        }
    }

    fn layout_by_quantity(&self, sheet: &Sheet) -> Layout {
        let names = [&[sheet.rows_are.to_owned()], &sheet.keys[..], &["unit".to_owned()]].concat();
        let row = |row: &Row| {
            let keys = row.keys.iter().map(String::as_str);
            let texts = [row.name.as_str()].into_iter().chain(keys).chain([row.unit()]).map(TextCell::text);
            let values = row.cells.iter().map(|cells| published(cells, row.unit()));
            let ours = self.of_quantity(row).into_iter().map(|(value, quantity)| match quantity {
                Some(quantity) => own(value, quantity),
                None => TextCell::text(NONE),
            });
            (false, texts.chain(values).chain(ours).collect())
        };
        let ours = self.machines.iter().map(|machine| format!("{OURS}{}", machine.name));
        Layout {
            texts: names.len(),
            units: Vec::new(),
            heads: names
                .into_iter()
                .chain(sheet.columns.iter().map(|column| column.head.clone()))
                .chain(ours)
                .collect(),
            rows: sheet.rows.iter().map(row).collect(),
        }
    }

    /// The value of each machine for a row that is a quantity.
    pub(super) fn of_quantity(&self, row: &Row) -> Vec<(Option<f64>, Option<&'static Quantity>)> {
        let of = |machine: &PaperMachine| {
            let at = row.quantity?;
            Some((machine.rows.first()?.values.get(at).copied().flatten(), self.table.quantities.get(at)))
        };
        self.machines.iter().map(|machine| of(machine).unwrap_or((None, None))).collect()
    }

    /// The rows, with those of machines at their sorted positions; at the end if the table is not
    /// sorted, or there is no value to sort by.
    pub(super) fn entries<'p>(&'p self, sheet: &'p Sheet) -> Vec<Entry<'p>> {
        let mut all: Vec<Entry<'p>> = sheet.rows.iter().map(Entry::Published).collect();
        for (machine, row) in
            self.machines.iter().flat_map(|machine| machine.rows.iter().map(move |row| (machine, row)))
        {
            let position = || {
                let by = self.sorted_by()?;
                let value = row.values.get(by).copied().flatten()?;
                let is_worse = |entry: &Entry<'_>| match entry {
                    Entry::Published(row) => row.cells[by].first().is_some_and(|cell| quotient(value, cell) > 1.0),
                    Entry::Ours(..) => false,
                };
                all.iter().position(is_worse)
            };
            all.insert(position().unwrap_or(all.len()), Entry::Ours(machine, row));
        }
        all
    }

    pub(super) fn sorted_by(&self) -> Option<usize> {
        if let Shape::Systems(by) = self.table.shape { by } else { None }
    }
}

/// How many times as good a value is as a published one.
pub(super) fn quotient(value: f64, cell: &Cell) -> f64 {
    if cell.better == "higher" { value / cell.number() } else { cell.number() / value }
}

/// Whether values of a quantity are upper bounds, because the MIPS they are relative to are a lower
/// bound.
pub(super) fn is_bound(quantity: &Quantity) -> bool {
    matches!(quantity.take, Take::Relative | Take::PerMips)
}

/// A machine's value, in three digits.
fn own(value: Option<f64>, quantity: &Quantity) -> TextCell {
    let text = match value {
        None => NONE.to_owned(),
        Some(value) if matches!(quantity.take, Take::Capacity(_)) && value.fract() == 0.0 => value.to_string(),
        Some(value) if is_bound(quantity) => format!("≤ {}", significant(value, 3)),
        Some(value) => significant(value, 3),
    };
    TextCell { text, number: value }
}

/// A published value, or the two ends of a range, with its unit if it differs from the column's.
fn published(cells: &[Cell], unit: &str) -> TextCell {
    let Some(first) = cells.first() else { return TextCell::text(NONE) };
    let texts: Vec<String> =
        cells.iter().map(|cell| cell.value.clone() + if cell.is_doubtful() { DOUBT } else { "" }).collect();
    let other = if first.unit == unit { String::new() } else { format!(" {}", first.unit) };
    // Only sizes may have another unit than their column.
    let scale = if (first.unit.as_str(), unit) == ("MiB", "KiB") { 1024.0 } else { 1.0 };
    TextCell { text: texts.join("–") + &other, number: Some(first.number() * scale) }
}
