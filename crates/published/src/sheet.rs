//! A table's values put into rows and columns. Nothing is rounded, converted or left out.

use crate::{Quantity, Shape, Table, Take, files};

/// Names and their values.
pub type Pairs = Vec<(String, String)>;

/// A value as printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The document of the file.
    pub source: String,
    /// The table of the document, as the file calls it.
    pub table: String,
    /// The system that it was measured on.
    pub system: String,
    /// Its operating system.
    pub os: String,
    /// Its hardware.
    pub hardware: String,
    /// What was measured.
    pub metric: String,
    /// The parameters of the measurement.
    pub params: Pairs,
    /// The number, with the digits of the document.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Whether more is better: `higher` or `lower`.
    pub better: String,
    /// A remark of the transcription.
    pub note: String,
}

/// A column of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub head: String,
    /// The unit of its values, unless a cell names another; empty where units differ by row.
    pub unit: String,
}

/// A row: one system, or one quantity.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its values of the keys of the sheet.
    pub keys: Vec<String>,
    /// Index of its quantity in the table, for a row of a quantity that the table lists.
    pub quantity: Option<usize>,
    /// The cells of each column; two are the ends of a range.
    pub cells: Vec<Vec<Cell>>,
}

/// A table in rows and columns.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// What the rows are: `system`, `quantity`.
    pub rows_are: &'static str,
    /// The parameters in which rows of one name differ: `fs`, `access`.
    pub keys: Vec<String>,
    /// The parameters that all rows share.
    pub common: Pairs,
    /// Its columns of values.
    pub columns: Vec<Column>,
    /// Its rows, in the order of the document.
    pub rows: Vec<Row>,
}

/// A table of texts.
#[derive(Clone, Debug)]
pub struct Raw {
    /// The headings of the columns that are not empty.
    pub head: Vec<String>,
    /// Its lines.
    pub rows: Vec<Vec<String>>,
}

impl Cell {
    /// Whether the copy that it was taken from leaves it uncertain.
    pub fn is_doubtful(&self) -> bool {
        self.note.contains("DOUBT")
    }

    /// The value as a number.
    pub fn number(&self) -> f64 {
        self.value.parse().unwrap_or(f64::NAN)
    }

    /// The value of a parameter.
    pub fn param(&self, key: &str) -> Option<&str> {
        self.params.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn of(fields: Vec<String>) -> Option<Cell> {
        let [source, table, system, os, hardware, metric, params, value, unit, better, note] =
            <[String; 11]>::try_from(fields).ok()?;
        let pair = |word: &str| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        let params = params.split(' ').filter_map(pair).collect();
        Some(Cell { source, table, system, os, hardware, metric, params, value, unit, better, note })
    }

    /// Its parameters except those that its quantity fixes.
    fn beyond(&self, quantity: Option<&Quantity>) -> Pairs {
        let fixed = |key: &str| quantity.is_some_and(|q| q.fixed_params().any(|(name, _)| name == key));
        self.params.iter().filter(|(key, _)| !fixed(key)).cloned().collect()
    }
}

/// Of several values of one quantity, the measured one if there is one (rather than predicted or
/// from a data sheet), else the first.
pub fn prefer_measured<'c>(mut all: impl Iterator<Item = &'c Cell> + Clone) -> Option<&'c Cell> {
    all.clone().find(|cell| cell.param("kind") == Some("measured")).or_else(|| all.next())
}

impl Quantity {
    /// The parameters that it fixes: names and values.
    pub fn fixed_params(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.params.split(' ').filter_map(|word| word.split_once('='))
    }

    /// Whether a value is of this quantity.
    pub fn is_of(&self, cell: &Cell) -> bool {
        self.metric == cell.metric && self.fixed_params().all(|(key, value)| cell.param(key) == Some(value))
    }

    /// Whether a command measures it.
    pub fn is_repeated(&self) -> bool {
        !matches!(self.take, Take::Nothing(_))
    }
}

impl Row {
    /// The unit of a row of one quantity: that of its measured value, else of its first.
    pub fn unit(&self) -> &str {
        prefer_measured(self.cells.iter().flatten()).map_or("", |cell| &cell.unit)
    }
}

impl Table {
    /// Its values, in the order of its file; none for [`Shape::Raw`].
    pub fn cells(&self) -> Vec<Cell> {
        if self.shape == Shape::Raw {
            Vec::new()
        } else {
            files::lines(self.file).skip(1).filter_map(Cell::of).collect()
        }
    }

    /// Its texts, for [`Shape::Raw`]; without source, table and note.
    pub fn raw(&self) -> Raw {
        let mut lines = files::lines(self.file);
        let head = lines.next().unwrap_or_default();
        let rows: Vec<Vec<String>> = lines.collect();
        let is_text = |i: &usize| !["source", "table", "note"].contains(&head[*i].as_str());
        let shown: Vec<usize> = (0..head.len())
            .filter(is_text)
            .filter(|i| rows.iter().any(|row| row.get(*i).is_some_and(|text| !text.is_empty())))
            .collect();
        let pick = |row: &Vec<String>| shown.iter().map(|i| row.get(*i).cloned().unwrap_or_default()).collect();
        Raw { head: pick(&head), rows: rows.iter().map(pick).collect() }
    }

    /// Its values in rows and columns; `None` for [`Shape::Raw`].
    pub fn sheet(&self) -> Option<Sheet> {
        match self.shape {
            Shape::Systems(_) | Shape::Figure(_) => Some(self.by_system()),
            Shape::Quantities => Some(self.by_quantity()),
            Shape::Raw => None,
        }
    }

    /// The names that a table of names lists; empty of others.
    pub fn names(&self) -> Vec<String> {
        if self.shape != Shape::Raw {
            return Vec::new();
        }
        let raw = self.raw();
        let at = raw.head.iter().position(|head| head == "name");
        at.map_or_else(Vec::new, |at| raw.rows.into_iter().map(|mut row| row.swap_remove(at)).collect())
    }

    /// The first of its quantities that a value is of.
    pub(crate) fn quantity_of(&self, cell: &Cell) -> Option<usize> {
        self.quantities.iter().position(|quantity| quantity.is_of(cell))
    }

    fn by_system(&self) -> Sheet {
        let cells = self.cells();
        let unit = |i: usize| cells.iter().find(|cell| self.quantity_of(cell) == Some(i)).map(|cell| cell.unit.clone());
        let column = |(i, q): (usize, &Quantity)| Column { head: q.head.to_owned(), unit: unit(i).unwrap_or_default() };
        let columns: Vec<Column> = self.quantities.iter().enumerate().map(column).collect();
        let (mut rows, mut of_rows): (Vec<Row>, Vec<Pairs>) = (Vec::new(), Vec::new());
        for cell in &cells {
            let Some(at) = self.quantity_of(cell) else { continue };
            let key = cell.beyond(Some(&self.quantities[at]));
            let same = |i: &usize| rows[*i].name == cell.system && of_rows[*i] == key;
            let found = (0..rows.len()).find(same).unwrap_or_else(|| {
                let empty = vec![Vec::new(); columns.len()];
                rows.push(Row { name: cell.system.clone(), keys: Vec::new(), quantity: None, cells: empty });
                of_rows.push(key);
                rows.len() - 1
            });
            rows[found].cells[at].push(cell.clone());
        }
        let (keys, common) = keys_of(&of_rows);
        for (row, key) in rows.iter_mut().zip(&of_rows) {
            row.keys = keys.iter().map(|name| value_of(key, name)).collect();
        }
        Sheet { rows_are: "system", keys, common, columns, rows }
    }

    fn by_quantity(&self) -> Sheet {
        const OF_COLUMN: [&str; 2] = ["kind", "bound"];
        let cells = self.cells();
        let mut kinds = distinct(cells.iter().map(|cell| cell.param("kind").unwrap_or("value").to_owned()));
        kinds.sort_by_key(|kind| ["predicted", "measured"].iter().position(|known| known == kind).unwrap_or(2));
        let several = distinct(cells.iter().map(|cell| cell.system.clone())).len() > 1;
        let mut rows: Vec<Row> = Vec::new();
        for cell in &cells {
            let at = self.quantity_of(cell);
            let quantity = at.map(|i| &self.quantities[i]);
            let rest = cell.beyond(quantity).into_iter().filter(|(key, _)| !OF_COLUMN.contains(&key.as_str()));
            let rest: Vec<String> = rest.map(|(key, value)| format!("{key}={value}")).collect();
            let head = quantity.map_or(cell.metric.as_str(), |quantity| quantity.head);
            let name = [&[head.to_owned()], &rest[..]].concat().join(" ");
            let keys = if several { vec![cell.system.clone()] } else { Vec::new() };
            let kind = cell.param("kind").unwrap_or("value");
            let of_kind = kinds.iter().position(|known| known == kind).unwrap_or(0);
            match rows.iter_mut().find(|row| row.name == name && row.keys == keys) {
                Some(row) => row.cells[of_kind].push(cell.clone()),
                None => {
                    let mut own = vec![Vec::new(); kinds.len()];
                    own[of_kind].push(cell.clone());
                    rows.push(Row { name, keys, quantity: at, cells: own });
                }
            }
        }
        let columns = kinds.into_iter().map(|head| Column { head, unit: String::new() }).collect();
        let keys = if several { vec!["system".to_owned()] } else { Vec::new() };
        Sheet { rows_are: "quantity", keys, common: Vec::new(), columns, rows }
    }
}

fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for one in all {
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

fn value_of(pairs: &Pairs, key: &str) -> String {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone()).unwrap_or_default()
}

/// The keys in which rows differ, and the pairs that all rows share.
fn keys_of(rows: &[Pairs]) -> (Vec<String>, Pairs) {
    let names = distinct(rows.iter().flatten().map(|(key, _)| key.clone()));
    let values = |key: &str| distinct(rows.iter().map(|row| value_of(row, key)));
    let (common, keys): (Vec<String>, Vec<String>) = names.into_iter().partition(|key| values(key).len() == 1);
    let common = common.into_iter().map(|key| (key.clone(), values(&key).swap_remove(0))).collect();
    (keys, common)
}
