//! The measurement tables of five documents, from 1990 to 2014, as they were printed.
//!
//! A [`Document`] has [`Table`]s; a table is a file of `data/` and what is to be known to lay it
//! out: which values are its columns, and which command of groma repeats each of them.
//! [`Table::sheet`] puts the values into rows and columns, [`check()`] computes again what the
//! documents derived from their own numbers. A [`Picture`] is a figure that prints none. Where the
//! numbers come from, and which of them are doubtful, is in `data/README.md`.
//!
//! Not here: this machine's values, and text for people.
#![forbid(unsafe_code)]

/// The tables of a document whose files are in a folder of `data/`: name, title, file, shape and
/// quantities of each, and `as` the row of the lineage where that is called otherwise.
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
mod csv;
mod files;
mod lmbench1996;
mod lmbench3;
mod ousterhout1990;
mod picture;
mod sheet;
mod slb;

pub use check::{Checked, check, mips, relative};
pub use picture::{Drawn, Picture};
pub use sheet::{Cell, Column, Pairs, Raw, Row, Sheet, measured};

/// A document, under the name that a lineage calls it by.
#[derive(Debug)]
pub struct Document {
    /// `lmbench1996`.
    pub name: &'static str,
    /// Authors, title, place.
    pub title: &'static str,
    /// When it was published, for sentences; empty where that is not known.
    pub year: &'static str,
    /// Its tables, in its order.
    pub tables: &'static [Table],
    /// Its figures that print no numbers.
    pub pictures: &'static [Picture],
}

/// A table of a document.
#[derive(Debug)]
pub struct Table {
    /// `table7`, as a lineage calls it; `figure1`.
    pub name: &'static str,
    /// The row of the lineage whose commands repeat it, which is called as the table nearly always.
    pub row: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Its file below `data/`, without the ending.
    file: &'static str,
    /// How it is laid out.
    pub shape: Shape,
    /// Its columns, or of [`Shape::Quantities`] its rows. What none of them takes is laid out under
    /// the names of the file.
    pub quantities: &'static [Quantity],
}

/// How a table is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A row for each system, in the order of the document, which is from best to worst by the
    /// column with this number, where there is one.
    Systems(Option<usize>),
    /// The points of a figure: a row for each place on the x axis, a column for each line.
    Figure(Axes),
    /// A row for each quantity of one system: predicted, measured.
    Quantities,
    /// The columns of the file as they are: names and texts.
    Raw,
}

/// What a figure's points are of the command that repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The file's parameter for the x axis: `procs`; of sizes, `log2_bytes`.
    pub x: &'static str,
    /// The parameter of the benchmark for it.
    pub over: &'static str,
    /// The parameter of the benchmark that the lines differ in. Its values are their heads.
    pub line: &'static str,
}

/// A column, or a row, of a table: what was measured under one name.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// What stands above the column.
    pub head: &'static str,
    /// The metric in the file.
    pub metric: &'static str,
    /// The parameters that a value of it has, `key=value` with blanks between them.
    pub params: &'static str,
    /// The column of the lineage whose command repeats it.
    pub repeat: &'static str,
    /// What of that command's result it is.
    pub take: Take,
}

/// What a value of a document is, of the result of the command that repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The value, in the document's unit.
    Headline,
    /// Half of it: groma counts a copied byte twice, as read and as written.
    Half,
    /// Its inverse: a period instead of a rate.
    Period,
    /// The sum of these further outputs of the benchmark.
    Outputs(&'static [&'static str]),
    /// The latency of this level of the memory hierarchy, 1 being closest to the core; 0 is memory.
    Latency(usize),
    /// The size of this level.
    Capacity(usize),
    /// Computed from the value of another column and the MIPS of the machine, relative to the
    /// reference machine of the document; see [`relative`].
    Relative,
    /// A bandwidth for each MIPS, likewise.
    PerMips,
    /// The value of one quantity of the table over that of another, by their heads.
    Ratio(&'static str, &'static str),
    /// Nothing, and why.
    Nothing(&'static str),
}

/// What takes the headline of the command for a column of the lineage.
const fn of(head: &'static str, metric: &'static str, params: &'static str, repeat: &'static str) -> Quantity {
    Quantity { head, metric, params, repeat, take: Take::Headline }
}

/// What takes something else.
const fn take(
    head: &'static str,
    metric: &'static str,
    params: &'static str,
    repeat: &'static str,
    take: Take,
) -> Quantity {
    Quantity { head, metric, params, repeat, take }
}

/// What nothing repeats.
const fn without(head: &'static str, metric: &'static str, params: &'static str, why: &'static str) -> Quantity {
    Quantity { head, metric, params, repeat: "", take: Take::Nothing(why) }
}

/// A row for each system, sorted by this column, which the document prints bold or its order
/// follows.
const fn by(column: usize) -> Shape {
    Shape::Systems(Some(column))
}

/// A row for each system, in no order of values.
const SYSTEMS: Shape = Shape::Systems(None);

/// The documents, in the order of a lineage.
pub static DOCUMENTS: [Document; 5] =
    [lmbench1996::DOCUMENT, lmbench3::DOCUMENT, ousterhout1990::DOCUMENT, cse221::DOCUMENT, slb::DOCUMENT];

impl Document {
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
    /// The table as its file: the head and the lines.
    pub fn lines(&self) -> Vec<Vec<String>> {
        csv::lines(files::text(self.file)).collect()
    }
}
