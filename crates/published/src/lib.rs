//! The measurement tables of five documents, from 1990 to 2014, as they were printed, and which
//! command of groma repeats them.
//!
//! A [`Document`] has [`Table`]s. A table is a file of `data/` with its layout: which values form
//! its columns, and which command measures each column. [`Table::sheet`] puts the values into rows
//! and columns; [`check()`] recomputes what the documents derived from their own numbers. A
//! [`Picture`] is a figure without printed numbers. [`REPEATS`] has the commands, those for tests
//! of other tools included. `data/README.md` says where the numbers come from, and which are
//! doubtful. [`results`] reads the result files of lmbench.
//!
//! Not here: values of this machine, and text for people.
#![forbid(unsafe_code)]

/// The tables of a document whose files are in a folder of `data/`: name, title, file, shape and
/// quantities of each, and after `as` the row of its repeats if that has another name.
macro_rules! tables {
    ($folder:literal; $(
        $name:literal $(as $row:literal)?: $title:literal, $file:literal, $shape:expr, $quantities:expr;
    )*) => {
        &[$($crate::Table {
            name: $name,
            row: tables!(@row $name $($row)?),
            title: $title,
            file: concat!($folder, "/", $file),
            shape: $shape,
            quantities: $quantities,
        }),*]
    };
    (@row $name:literal) => { $name };
    (@row $name:literal $row:literal) => { $row };
}

mod check;
mod cse221;
mod files;
mod lmbench1996;
mod lmbench3;
mod ousterhout1990;
mod repeats;
pub mod results;
mod sheet;
mod slb;

pub use check::{Checked, check, mips, relative};
pub use repeats::{REPEATS, Repeat, TOOLS, Values, repeating, sources};
pub use sheet::{Cell, Column, Pairs, Raw, Row, Sheet, prefer_measured};

/// A document.
#[derive(Debug)]
pub struct Document {
    /// Its name before the colon of a [`Repeat`]'s source: `lmbench1996`.
    pub name: &'static str,
    /// Authors, title, place.
    pub title: &'static str,
    /// The year of publication; empty where it is unknown.
    pub year: &'static str,
    /// The systems whose values stand for it beside a repeat: in each table the first of these that
    /// it has, else the first of the table.
    pub known_by: &'static [&'static str],
    /// Its programs that no table lists.
    pub programs: &'static [&'static str],
    /// Its tables, in the order of the document.
    pub tables: &'static [Table],
    /// Its figures without printed numbers.
    pub pictures: &'static [Picture],
}

/// A table of a document.
#[derive(Debug)]
pub struct Table {
    /// `table7`, `figure1`.
    pub name: &'static str,
    /// The row of the repeats that measure it; nearly always the name of the table.
    pub row: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Its file below `data/`, without the ending.
    file: &'static str,
    /// Its layout.
    pub shape: Shape,
    /// Its columns, or for [`Shape::Quantities`] its rows. A value of no quantity is shown under
    /// its name in the file.
    pub quantities: &'static [Quantity],
}

/// A figure without printed numbers.
#[derive(Debug)]
pub struct Picture {
    /// `figure7`.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it shows, in a sentence.
    pub shows: &'static str,
    /// How groma draws a corresponding figure.
    pub drawn: Drawn,
}

/// How groma draws what corresponds to a picture.
#[derive(Clone, Copy, Debug)]
pub enum Drawn {
    /// By these commands, for this machine alone.
    By(&'static [&'static str]),
    /// From the columns of the document's tables that are relative to MIPS: a line for each, over
    /// the machines in the order of their ratings.
    FromRelative,
}

/// The layout of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A row for each system, in the order of the document. With an index: the column by which the
    /// document sorts them, best first.
    Systems(Option<usize>),
    /// The points of a figure: a row for each x value, a column for each line.
    Figure(Axes),
    /// A row for each quantity of one system, with columns such as predicted and measured.
    Quantities,
    /// The columns of the file as they are, all texts.
    Raw,
}

/// How the axes of a figure map to the parameters of the benchmark that repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The parameter in the file for the x axis: `procs`, `log2_bytes`.
    pub x: &'static str,
    /// The parameter of the benchmark for the x axis.
    pub over: &'static str,
    /// The parameter of the benchmark that differs from line to line. Its values are the headings.
    pub line: &'static str,
}

/// A quantity that a table has values of: one of its columns, or rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its heading.
    pub head: &'static str,
    /// Its metric in the file.
    pub metric: &'static str,
    /// The parameters that its values have, as `key=value` separated by blanks.
    pub params: &'static str,
    /// The column of the [`Repeat`] that measures it.
    pub repeat: &'static str,
    /// How its value follows from the result of that command.
    pub take: Take,
}

/// How a value of a document follows from the result of the command that repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The main value, in the unit of the document.
    Headline,
    /// Half the main value: groma counts a copied byte twice, as read and as written.
    Half,
    /// The inverse of the main value: a period instead of a rate.
    Period,
    /// The sum of these other outputs of the benchmark.
    Outputs(&'static [&'static str]),
    /// The latency of this level of the memory hierarchy; 1 is closest to the core, 0 is memory.
    Latency(usize),
    /// The size of this level.
    Capacity(usize),
    /// The value of another column, relative to the MIPS of the machine and to the reference
    /// machine of the document; see [`relative`].
    Relative,
    /// A bandwidth divided by the MIPS of the machine.
    PerMips,
    /// The value of one quantity of the table over that of another, both named by heading.
    Ratio(&'static str, &'static str),
    /// No command measures it; says why.
    Nothing(&'static str),
}

/// A quantity that is the main value of the command for a column.
const fn of(head: &'static str, metric: &'static str, params: &'static str, repeat: &'static str) -> Quantity {
    Quantity { head, metric, params, repeat, take: Take::Headline }
}

/// A quantity that follows from the result in another way.
const fn take(
    head: &'static str,
    metric: &'static str,
    params: &'static str,
    repeat: &'static str,
    take: Take,
) -> Quantity {
    Quantity { head, metric, params, repeat, take }
}

/// A quantity that no command measures.
const fn without(head: &'static str, metric: &'static str, params: &'static str, why: &'static str) -> Quantity {
    Quantity { head, metric, params, repeat: "", take: Take::Nothing(why) }
}

/// A row for each system, sorted by this column: the bold one, or that which the order follows.
const fn by(column: usize) -> Shape {
    Shape::Systems(Some(column))
}

/// A row for each system, not sorted by value.
const SYSTEMS: Shape = Shape::Systems(None);

/// The documents, in the order of [`REPEATS`].
pub static DOCUMENTS: [Document; 5] =
    [lmbench1996::DOCUMENT, lmbench3::DOCUMENT, ousterhout1990::DOCUMENT, cse221::DOCUMENT, slb::DOCUMENT];

impl Document {
    /// The rows that must have a repeat: the tables that a command measures, the programs that a
    /// table of names lists, and the other programs.
    pub fn rows(&self) -> Vec<String> {
        let is_measured = |table: &&Table| table.quantities.iter().any(Quantity::is_repeated);
        let tables = self.tables.iter().filter(is_measured).map(|table| table.row.to_owned());
        let listed = self.tables.iter().flat_map(Table::names);
        tables.chain(listed).chain(self.programs.iter().map(|name| (*name).to_owned())).collect()
    }

    /// The table with this name.
    pub fn table(&self, name: &str) -> Option<&'static Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The picture with this name.
    pub fn picture(&self, name: &str) -> Option<&'static Picture> {
        self.pictures.iter().find(|picture| picture.name == name)
    }
}

impl Table {
    /// The lines of its file, the header included.
    pub fn lines(&self) -> Vec<Vec<String>> {
        files::lines(self.file).collect()
    }
}
