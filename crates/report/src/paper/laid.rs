//! Rows in the order in which they are shown, and cells as texts.

use groma_published::{Cell, Quantity, Row, Shape, Sheet, Take};

use super::{Paper, PaperMachine, PaperRow};
use crate::units::{NONE, significant};

/// What stands before the name of a machine that is not of the document.
pub(super) const OURS: &str = "→ ";
/// Behind a value that the document's text does not settle.
pub(super) const DOUBT: &str = "?";

/// A row as it is shown.
pub(super) enum Entry<'a> {
    /// A row of the document.
    Published(&'a Row),
    /// A row of a machine beside it.
    Ours(&'a PaperMachine, &'a PaperRow),
}

/// A table as texts.
pub(super) struct Laid {
    /// What stands above the columns.
    pub(super) heads: Vec<String>,
    /// The units of the columns, below their heads; empty where one line says them.
    pub(super) units: Vec<String>,
    /// The rows: whether it is of a machine beside the document, and its cells.
    pub(super) rows: Vec<(bool, Vec<Place>)>,
    /// How many of the columns are texts.
    pub(super) texts: usize,
}

/// A cell as a text, and the number that it is sorted by.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) text: String,
    pub(super) number: Option<f64>,
}

impl Place {
    fn text(text: impl Into<String>) -> Place {
        Place { text: text.into(), number: None }
    }
}

impl Paper<'_> {
    /// Title and unit.
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

    /// The table as texts.
    pub(super) fn laid(&self) -> Laid {
        let mut laid = match self.table.sheet() {
            None => self.laid_raw(),
            Some(sheet) if self.table.shape == Shape::Quantities => self.laid_by_quantity(&sheet),
            Some(sheet) => self.laid_by_system(&sheet),
        };
        // A table of constants names no system.
        if laid.rows.iter().all(|(_, cells)| cells[0].text.is_empty()) {
            laid.heads.remove(0);
            laid.rows.iter_mut().for_each(|(_, cells)| drop(cells.remove(0)));
            laid.units.drain(..1.min(laid.units.len()));
            laid.texts -= 1;
        }
        laid
    }

    fn laid_raw(&self) -> Laid {
        let raw = self.table.raw();
        let further = |i: usize| self.beside.iter().map(move |(_, cells)| cells.get(i).cloned().unwrap_or_default());
        let row =
            |(i, row): (usize, Vec<String>)| (false, row.into_iter().chain(further(i)).map(Place::text).collect());
        let heads: Vec<String> = raw.head.into_iter().chain(self.beside.iter().map(|(head, _)| head.clone())).collect();
        let rows = raw.rows.into_iter().enumerate().map(row).collect();
        Laid { texts: heads.len(), heads, units: Vec::new(), rows }
    }

    fn laid_by_system(&self, sheet: &Sheet) -> Laid {
        let names = [&[sheet.rows_are.to_owned()], &sheet.keys[..]].concat();
        let units: Vec<String> = sheet.columns.iter().map(|column| column.unit.clone()).collect();
        let same = units.iter().all(|unit| *unit == units[0]);
        let cells = |entry: &Entry<'_>| match entry {
            Entry::Published(row) => {
                let values = row.cells.iter().zip(&sheet.columns).map(|(cells, column)| published(cells, &column.unit));
                let texts = [row.name.clone()].into_iter().chain(row.keys.clone());
                (false, texts.map(Place::text).chain(values).collect())
            }
            Entry::Ours(machine, row) => {
                let of = |key: &String| row.keys.iter().find(|(name, _)| name == key).map(|(_, text)| text.clone());
                let keys = sheet.keys.iter().map(|key| of(key).unwrap_or_default());
                let values =
                    row.values.iter().zip(self.table.quantities).map(|(value, quantity)| own(*value, quantity));
                let texts = [format!("{OURS}{}", machine.name)].into_iter().chain(keys);
                (true, texts.map(Place::text).chain(values).collect())
            }
        };
        Laid {
            texts: names.len(),
            units: if same { Vec::new() } else { [vec![String::new(); names.len()], units].concat() },
            heads: names.into_iter().chain(sheet.columns.iter().map(|column| column.head.clone())).collect(),
            rows: self.entries(sheet).iter().map(cells).collect(),
        }
    }

    fn laid_by_quantity(&self, sheet: &Sheet) -> Laid {
        let names = [&[sheet.rows_are.to_owned()], &sheet.keys[..], &["unit".to_owned()]].concat();
        let row = |row: &Row| {
            let keys = row.keys.iter().map(String::as_str);
            let texts = [row.name.as_str()].into_iter().chain(keys).chain([row.unit()]).map(Place::text);
            let values = row.cells.iter().map(|cells| published(cells, row.unit()));
            let ours = self.of_quantity(row).into_iter().map(|(value, quantity)| match quantity {
                Some(quantity) => own(value, quantity),
                None => Place::text(NONE),
            });
            (false, texts.chain(values).chain(ours).collect())
        };
        let ours = self.machines.iter().map(|machine| format!("{OURS}{}", machine.name));
        Laid {
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

    /// The rows, those of machines where the table's sorting puts them; without it, or without a
    /// value to sort by, behind the others.
    pub(super) fn entries<'p>(&'p self, sheet: &'p Sheet) -> Vec<Entry<'p>> {
        let mut all: Vec<Entry<'p>> = sheet.rows.iter().map(Entry::Published).collect();
        for (machine, row) in
            self.machines.iter().flat_map(|machine| machine.rows.iter().map(move |row| (machine, row)))
        {
            let place = || {
                let by = self.sorted_by()?;
                let value = row.values.get(by).copied().flatten()?;
                let is_worse = |entry: &Entry<'_>| match entry {
                    Entry::Published(row) => row.cells[by].first().is_some_and(|cell| quotient(value, cell) > 1.0),
                    Entry::Ours(..) => false,
                };
                all.iter().position(is_worse)
            };
            all.insert(place().unwrap_or(all.len()), Entry::Ours(machine, row));
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

/// Whether values of a quantity are upper bounds, because the MIPS that they are relative to are a
/// lower one.
pub(super) fn is_bound(quantity: &Quantity) -> bool {
    matches!(quantity.take, Take::Relative | Take::PerMips)
}

/// A machine's value: three digits.
fn own(value: Option<f64>, quantity: &Quantity) -> Place {
    let text = match value {
        None => NONE.to_owned(),
        Some(value) if matches!(quantity.take, Take::Capacity(_)) && value.fract() == 0.0 => value.to_string(),
        Some(value) if is_bound(quantity) => format!("≤ {}", significant(value, 3)),
        Some(value) => significant(value, 3),
    };
    Place { text, number: value }
}

/// A published value, or the two ends of a range, with a unit where it is not that of its column.
fn published(cells: &[Cell], unit: &str) -> Place {
    let Some(first) = cells.first() else { return Place::text(NONE) };
    let texts: Vec<String> =
        cells.iter().map(|cell| cell.value.clone() + if cell.is_doubtful() { DOUBT } else { "" }).collect();
    let other = if first.unit == unit { String::new() } else { format!(" {}", first.unit) };
    // Sizes are the only values whose unit may be another one than that of the column.
    let scale = if (first.unit.as_str(), unit) == ("MiB", "KiB") { 1024.0 } else { 1.0 };
    Place { text: texts.join("–") + &other, number: Some(first.number() * scale) }
}
