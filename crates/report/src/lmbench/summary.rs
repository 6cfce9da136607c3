//! lmbench's summary: a row for each run, with the states of groma as marks.

use groma_model::{Record, RunHeader, State};
use groma_published::results::{PERCENT, Unit, kind};
use groma_published::{DOCUMENTS, Document, prefer_measured};

use super::layout::Laid;
use super::tables::{Column, TABLES, Table, Taken};
use super::{Reading, readings};
use crate::{Style, document};

/// A row of the summary.
#[derive(Clone, Copy, Debug)]
pub enum SummaryRun<'a> {
    /// A run, or a reference machine.
    Run(&'a RunHeader, &'a [Record]),
    /// A machine of the paper of 1996, by its name there.
    Published(&'a str),
}

/// The document of published machines.
const DOCUMENT: &str = "lmbench1996";

/// A cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// Its value in the unit of the table.
    pub(super) value: Option<f64>,
    /// The state of its record; `None` if there is none.
    pub(super) state: Option<State>,
}

/// A row before it is laid out.
pub(super) struct Row<'a> {
    host: String,
    os: String,
    of: SummaryRun<'a>,
    readings: Vec<Reading<'a>>,
}

impl<'a> Row<'a> {
    fn of(run: SummaryRun<'a>) -> Row<'a> {
        match run {
            SummaryRun::Run(head, records) => {
                let fact = |key| head.environment.get(key).unwrap_or_default();
                // What follows the release only says whose build it is.
                let release = fact("kernel.release").split('-').next().unwrap_or_default();
                let os = format!("{} {release}", fact("kernel.name")).trim().to_owned();
                Row { host: fact("host.name").to_owned(), os, of: run, readings: readings(head, records) }
            }
            SummaryRun::Published(name) => {
                let cells = || document().into_iter().flat_map(|document| document.tables).flat_map(|t| t.cells());
                let os = cells().find(|cell| cell.system == name).map(|cell| cell.os).unwrap_or_default();
                Row { host: name.to_owned(), os, of: run, readings: Vec::new() }
            }
        }
    }

    /// The id of the run; empty for a published machine.
    fn run(&self) -> &'a str {
        match self.of {
            SummaryRun::Run(head, _) => &head.run,
            SummaryRun::Published(_) => "",
        }
    }

    fn cell(&self, table: &Table, column: &Column) -> Cell {
        let factor = column.factor.unwrap_or(table.factor);
        let si = match self.of {
            SummaryRun::Published(name) => Cell { value: published(name, column), state: None },
            SummaryRun::Run(head, records) => {
                let mut cells = column.of.iter().map(|from| self.from(from, head, records));
                let first = cells.next().unwrap_or_default();
                let with_value = Some(first).into_iter().chain(cells).find(|cell| cell.value.is_some());
                with_value.unwrap_or(first)
            }
        };
        Cell { value: si.value.map(|value| value * factor), ..si }
    }

    /// A value in SI units.
    fn from(&self, from: &Taken, head: &RunHeader, records: &[Record]) -> Cell {
        match from {
            Taken::Of(name, keys) => cell(self.at(name, keys, false)),
            Taken::Remote(name) => cell(self.at(name, &[], true)),
            Taken::Inverse(name, keys) => {
                let rate = cell(self.at(name, keys, false));
                Cell { value: rate.value.map(f64::recip).filter(|value| value.is_finite()), ..rate }
            }
            Taken::Mean(a, b) => {
                let [a, b] = [a, b].map(|name| cell(self.at(name, &[], false)));
                let value = a.value.zip(b.value).map(|(a, b)| f64::midpoint(a, b));
                Cell { value, state: a.state.max(b.state) }
            }
            Taken::Last(name, keys) => {
                let before = &keys[..keys.len() - 1];
                let of_kind = self.readings.iter().filter(|one| one.kind.name == *name && !one.remote);
                let rows = of_kind.filter(|one| one.si.is_some() && one.keys.starts_with(before));
                cell(rows.max_by_key(|one| one.keys.last()))
            }
            Taken::Metric(shown) => {
                let record = shown.find(records);
                let value = record.and_then(groma_analysis::point::measured_value);
                Cell { value, state: record.map(|record| record.state) }
            }
            Taken::Copies => Cell { value: Some(f64::from(super::copies(head))), state: Some(State::Ok) },
        }
    }

    fn at(&self, name: &str, keys: &[u64], remote: bool) -> Option<&Reading<'a>> {
        self.readings.iter().find(|one| one.kind.name == name && one.remote == remote && one.keys == keys)
    }
}

/// A reading as a cell.
fn cell(reading: Option<&Reading<'_>>) -> Cell {
    let Some(reading) = reading else { return Cell::default() };
    Cell { value: reading.si, state: Some(reading.record.state) }
}

fn document() -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == DOCUMENT)
}

/// A value of the paper in SI units.
fn published(system: &str, column: &Column) -> Option<f64> {
    let [table, head] = column.published;
    let table = document()?.table(table)?;
    let quantity = table.quantities.iter().find(|quantity| quantity.head == head)?;
    let cells: Vec<_> =
        table.cells().into_iter().filter(|cell| cell.system == system && quantity.is_of(cell)).collect();
    let cell = prefer_measured(cells.iter())?;
    let number = cell.number();
    let si = match cell.unit.as_str() {
        "ms" => Unit::Milliseconds.to_si(number),
        "us" => Unit::Microseconds.to_si(number),
        "ns" => Unit::Nanoseconds.to_si(number),
        "MB/s" => Unit::Megabytes.to_si(number),
        _ => return None,
    };
    // The paper prints the period of the clock.
    Some(if head == "clock" { 1.0 / si } else { si })
}

impl SummaryRun<'_> {
    /// The published machine of this name: `lmbench1996:Linux/i686`; `None` for other texts.
    ///
    /// # Errors
    /// When the paper has no such machine; lists those that it has.
    pub fn published(text: &str) -> Option<Result<SummaryRun<'_>, String>> {
        let name = text.strip_prefix(DOCUMENT)?.strip_prefix(':')?;
        let mut known: Vec<String> = Vec::new();
        for cell in document()?.tables.iter().flat_map(|table| table.cells()) {
            if !cell.system.is_empty() && !known.contains(&cell.system) {
                known.push(cell.system);
            }
        }
        Some(match known.iter().any(|system| system == name) {
            true => Ok(SummaryRun::Published(name)),
            false => Err(format!("{text}: {DOCUMENT} has no machine '{name}' (known: {})", known.join(", "))),
        })
    }
}

/// The summary of runs. A table is left out where no run has any of its values.
pub fn lmbench_summary<'a>(runs: &[SummaryRun<'_>], style: &Style) -> document::Document<'a> {
    let mut rows: Vec<Row<'_>> = runs.iter().map(|run| Row::of(*run)).collect();
    tell_apart(&mut rows);
    let laid: Vec<Laid> = TABLES.iter().filter_map(|table| laid(table, &rows)).collect();
    super::layout::document(laid, style)
}

/// Of hosts with several runs, the name gets the run: `db1 20261129-1000`, as much of its id as
/// tells it from the others.
fn tell_apart(rows: &mut [Row<'_>]) {
    let runs: Vec<(String, &str)> = rows.iter().map(|row| (row.host.clone(), row.run())).collect();
    for (at, row) in rows.iter_mut().enumerate() {
        let (host, run) = &runs[at];
        let others = runs.iter().enumerate().filter(|(other, (name, _))| *other != at && name == host);
        let common = |other: &str| run.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let Some(most) = others.map(|(_, (_, other))| common(other)).max() else { continue };
        let enough = most.saturating_add(1).max(MINUTE);
        row.host = format!("{host} {}", run.chars().take(enough).collect::<String>()).trim_end().to_owned();
    }
}

/// The characters of an id that tell the minute of its run.
const MINUTE: usize = "20261129T1000".len();

fn laid(table: &'static Table, rows: &[Row<'_>]) -> Option<Laid> {
    let columns = || table.columns.iter();
    let cells: Vec<Vec<Cell>> =
        rows.iter().map(|row| columns().map(|column| row.cell(table, column)).collect()).collect();
    // The clock stands in several tables, and the number of copies is always known.
    let is_own = |column: &Column| {
        column.heads[0] != "Mhz" && !matches!(column.of, [Taken::Copies]) || table.title.starts_with("Basic system")
    };
    let has_any = cells.iter().any(|row| {
        row.iter().zip(columns()).any(|(cell, column)| is_own(column) && (cell.value.is_some() || cell.state.is_some()))
    });
    let guesses = |row: &[Cell]| match row {
        [_, one, two, main, ..] => guess([one.value, two.value, main.value]),
        _ => "",
    };
    has_any.then(|| Laid {
        title: table.title,
        heads: columns().map(|column| column.heads).collect(),
        names: rows.iter().map(|row| [row.host.clone(), row.os.clone()]).collect(),
        guesses: table.guesses.then(|| cells.iter().map(|row| guesses(row).to_owned()).collect()),
        cells,
    })
}

/// Levels of the memory that differ by less than this are taken for one.
const ALIKE: f64 = 0.2;

/// What lmbench guesses where neighbouring levels are alike.
fn guess([one, two, main]: [Option<f64>; 3]) -> &'static str {
    let alike = |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| (b - a).abs() < ALIKE * a.min(b));
    if alike(one, two) {
        "No L1 cache?"
    } else if alike(two, main) {
        "No L2 cache?"
    } else {
        ""
    }
}

/// How many cells of these runs are blank although a run can fill them, and how many there are.
pub fn blank_cells(runs: &[(&RunHeader, &[Record])]) -> [usize; 2] {
    let rows: Vec<Row<'_>> = runs.iter().map(|(head, records)| Row::of(SummaryRun::Run(head, records))).collect();
    let of_table = |table: &'static Table| table.columns.iter().map(move |column| (table, column));
    let columns: Vec<_> = TABLES.iter().flat_map(of_table).filter(|(_, column)| !metrics(column).is_empty()).collect();
    let blank =
        |row: &Row<'_>| columns.iter().filter(|(table, column)| row.cell(table, column).value.is_none()).count();
    [rows.iter().map(blank).sum(), columns.len() * rows.len()]
}

/// A metric with the parameters that select its point, as typed.
pub type Wanted = (&'static str, Vec<(&'static str, String)>);

/// The metrics that fill all cells which a run on this machine can fill.
pub fn wanted_of_summary() -> Vec<Wanted> {
    TABLES.iter().flat_map(|table| table.columns).flat_map(metrics).collect()
}

/// What measures a line on this machine: of this kind, with these keys; `None` if nothing does.
pub fn wanted(name: &str, keys: &[u64]) -> Option<Wanted> {
    let kind = kind(name)?;
    let ours = kind.ours.as_ref().or(kind.near.first())?;
    let fixed = ours.params.iter().map(|(name, text)| (*name, (*text).to_owned()));
    let keyed = ours.keys.iter().zip(keys).filter(|((name, _), _)| !name.is_empty());
    let text = |name: &str, number: u64| {
        // Counts have no suffix.
        if ["size", "working_set", "buffer"].contains(&name) { format_number(number) } else { number.to_string() }
    };
    let keyed =
        keyed.map(|((name, times), key)| (*name, text(name, if *times == PERCENT { *key } else { key * times })));
    Some((ours.metric, fixed.chain(keyed).collect()))
}

fn metrics(column: &Column) -> Vec<Wanted> {
    let found = match column.of.first() {
        Some(Taken::Of(name, keys) | Taken::Inverse(name, keys) | Taken::Last(name, keys)) => vec![wanted(name, keys)],
        Some(Taken::Mean(a, b)) => vec![wanted(a, &[]), wanted(b, &[])],
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

/// A number with a binary suffix where it has one.
fn format_number(number: u64) -> String {
    match number {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{}M", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column names kinds that exist, with as many keys as they have, and cells of the paper that
    /// are printed.
    #[test]
    fn every_column_names_what_there_is() {
        let (mut seen, mut printed) = (0, 0);
        for column in TABLES.iter().flat_map(|table| table.columns) {
            for from in column.of {
                let (name, keys): (&str, Option<usize>) = match from {
                    Taken::Of(name, keys) | Taken::Inverse(name, keys) | Taken::Last(name, keys) => {
                        (name, Some(keys.len()))
                    }
                    Taken::Remote(name) | Taken::Mean(name, _) => (name, Some(0)),
                    Taken::Metric(_) | Taken::Copies => continue,
                };
                let kind = kind(name).unwrap_or_else(|| panic!("{name}"));
                assert_eq!(keys, Some(kind.keys.len()), "{name}");
                let ours = kind.ours.iter().chain(kind.near);
                assert!(ours.clone().all(|ours| ours.keys.len() == kind.keys.len()), "{name}");
                seen += 1;
            }
            if column.published[0].is_empty() {
                continue;
            }
            let values = ["Linux/i686", "Sun Ultra1"].map(|system| published(system, column));
            assert!(values.iter().any(Option::is_some), "{:?} {:?}", column.heads, column.published);
            printed += 1;
        }
        assert!(seen > 50 && printed > 20, "{seen} {printed}");
    }

    #[test]
    fn levels_that_are_alike_are_one() {
        assert_eq!(guess([Some(1.0), Some(1.1), Some(50.0)]), "No L1 cache?");
        assert_eq!(guess([Some(1.0), Some(5.0), Some(5.9)]), "No L2 cache?");
        assert_eq!(guess([Some(1.0), Some(5.0), Some(6.1)]), "");
        assert_eq!(guess([None, Some(5.0), None]), "");
    }
}
