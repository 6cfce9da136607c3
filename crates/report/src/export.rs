//! Runs as tables with typed columns: the one row model behind CSV and Parquet. No statistics, and
//! no layout for people.
//!
//! Values are in SI units; a missing value is an empty cell. As in all views, text has plain
//! characters only.

mod cells;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod read;

use std::io;

use groma_model::{Point, Record, Round, RunHeader};

pub(crate) use cells::better;
#[cfg(feature = "parquet")]
pub use read::read_parquet;

use csv::Csv;

/// A run or a part of it: `points` with the rounds of each, and the records of their metrics in the
/// same order.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'a> {
    /// The header.
    pub head: &'a RunHeader,
    /// The measured points.
    pub points: &'a [Point],
    /// The rounds of each point.
    pub rounds: &'a [Vec<Round>],
    /// The records of each metric of each point.
    pub records: &'a [Record],
}

/// A table, by what one row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Table {
    /// A metric at a point, over all rounds.
    #[default]
    Records,
    /// A metric at a point in one round.
    Rounds,
    /// One timed interval, or one value that a benchmark stated.
    Samples,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 3] = [Table::Records, Table::Rounds, Table::Samples];

    /// The word used on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Table::Records => "records",
            Table::Rounds => "rounds",
            Table::Samples => "samples",
        }
    }

    /// Its columns in order, with the kind of each.
    pub fn columns(self) -> Vec<(&'static str, Kind)> {
        [cells::OF_RUN, cells::of(self)].concat()
    }
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A time as RFC 3339 in UTC.
    Time,
    /// An integer.
    Int,
    /// A number.
    Float,
    /// True or false.
    Flag,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Empty.
    Nothing,
    /// A text or a time.
    Text(&'a str),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Flag(bool),
}

/// Receives the rows of one table. The caller that creates it opens its output.
pub trait TableWriter {
    /// Writes a row: one cell per column.
    ///
    /// # Errors
    /// Those of the output.
    fn row(&mut self, row: &[Cell<'_>]) -> io::Result<()>;

    /// Writes the remaining rows. A file is incomplete without it.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A table as comma-separated values, every digit kept.
///
/// # Errors
/// Those of the output.
pub fn csv_table<'w>(table: Table, out: impl io::Write + 'w) -> io::Result<Box<dyn TableWriter + 'w>> {
    Ok(Box::new(Csv::new(table, out)?))
}

/// A table as Parquet, compressed with Snappy.
///
/// # Errors
/// Those of the output.
#[cfg(feature = "parquet")]
pub fn parquet_table<'w>(table: Table, out: impl io::Write + Send + 'w) -> io::Result<Box<dyn TableWriter + 'w>> {
    Ok(Box::new(parquet::Parquet::new(table, out)?))
}

/// Writes the rows of a run.
///
/// # Errors
/// Those of the output.
pub fn write_rows(table: Table, run: &Exported<'_>, out: &mut dyn TableWriter) -> io::Result<()> {
    cells::rows(table, run, out)
}

/// The records of a run as comma-separated values.
pub(crate) fn csv_records(head: &RunHeader, records: &[Record]) -> String {
    let run = Exported { head, points: &[], rounds: &[], records };
    csv_text(Table::Records, &run)
}

/// One table of one run as comma-separated values.
pub fn csv_text(table: Table, run: &Exported<'_>) -> String {
    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let _ = csv_table(table, &mut bytes).and_then(|mut out| {
        write_rows(table, run, out.as_mut())?;
        out.finish()
    });
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Unix time of a run's timestamp, `2026-11-21T07:38:12Z`; `None` for any other text.
pub(crate) fn unix_seconds(moment: &str) -> Option<i64> {
    moment.parse::<jiff::Timestamp>().ok().map(|moment| moment.as_second())
}

#[cfg(test)]
mod tests;
