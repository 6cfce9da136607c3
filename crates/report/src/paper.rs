//! The published tables, with other machines' values put among them.
//!
//! Which value belongs in which column, and in which unit, is decided by whoever asks; here rows
//! are put in their places and written down.

mod files;
pub(crate) mod html;
mod laid;
mod lines;
mod told;
mod wrapped;

#[cfg(test)]
pub(crate) mod tests;

use groma_published::{DOCUMENTS, Document, Picture, Shape, Table};

use crate::plot::Chart;
use crate::style::Style;

/// A table of a document with the machines that are shown beside it.
#[derive(Clone, Debug)]
pub struct Paper<'a> {
    /// The document.
    pub document: &'a Document,
    /// The table.
    pub table: &'a Table,
    /// The machines.
    pub machines: Vec<PaperMachine>,
    /// What is to be known of columns: their heads, and a text.
    pub notes: Vec<(String, String)>,
    /// Further columns of a table of texts: their heads, and a cell for each row.
    pub beside: Vec<(String, Vec<String>)>,
    /// What is timed under the head of each column that a command repeats.
    pub timed: Vec<Timed>,
    /// Where no machine has a value: how to get one.
    pub missing: Option<String>,
}

/// What is timed in a column, then and now.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The head of the column.
    pub head: String,
    /// The operation, as a noun.
    pub what: String,
    /// What the command of today does differently; empty where it does nothing so.
    pub differs: String,
}

/// A figure without numbers of its own, and what is drawn in its place.
#[derive(Clone, Debug)]
pub struct PaperPicture<'a> {
    /// The document.
    pub document: &'a Document,
    /// The figure.
    pub picture: &'a Picture,
    /// What was drawn.
    pub chart: Option<Chart>,
    /// What is to be known of it.
    pub notes: Vec<String>,
    /// The commands that draw the like of it.
    pub commands: Vec<String>,
}

/// Tables and pictures of documents.
#[derive(Clone, Debug, Default)]
pub struct Papers<'a> {
    /// The tables, those of a document together.
    pub tables: Vec<Paper<'a>>,
    /// The pictures.
    pub pictures: Vec<PaperPicture<'a>>,
}

/// A machine beside the published ones.
#[derive(Clone, Debug)]
pub struct PaperMachine {
    /// Its name and processor.
    pub name: String,
    /// Its kernel.
    pub os: String,
    /// The runs that its values are of.
    pub runs: Vec<String>,
    /// Its rows: one, or in a figure one for each place on the x axis.
    pub rows: Vec<PaperRow>,
    /// A lower bound of its speed in MIPS, where that was wanted and measured.
    pub mips: Option<f64>,
}

/// A row of values.
#[derive(Clone, Debug)]
pub struct PaperRow {
    /// The texts behind its name, by the keys of the table.
    pub keys: Vec<(String, String)>,
    /// The value of each quantity of the table, in the unit of the table. What is relative to MIPS
    /// is an upper bound.
    pub values: Vec<Option<f64>>,
}

/// A format of published tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PaperFormat {
    /// Aligned text.
    #[default]
    Table,
    /// Tables for GitHub and its like.
    Markdown,
    /// A page of its own.
    Html,
    /// One line a value, as in the files that the tables are from.
    Csv,
}

impl PaperFormat {
    /// All formats.
    pub const ALL: [PaperFormat; 4] = [PaperFormat::Table, PaperFormat::Markdown, PaperFormat::Html, PaperFormat::Csv];

    /// The word used on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            PaperFormat::Table => "table",
            PaperFormat::Markdown => "markdown",
            PaperFormat::Html => "html",
            PaperFormat::Csv => "csv",
        }
    }
}

/// Tables and pictures in a format. Only text heeds the style, and CSV has the tables alone.
pub fn papers(all: &Papers<'_>, format: PaperFormat, style: &Style) -> String {
    let joined = |of_table: &dyn Fn(&Paper<'_>) -> String, of_picture: &dyn Fn(&PaperPicture<'_>) -> String| {
        all.tables.iter().map(of_table).chain(all.pictures.iter().map(of_picture)).collect::<Vec<_>>().join("\n")
    };
    match format {
        PaperFormat::Table => joined(&|paper| lines::text(paper, style), &|picture| lines::picture(picture, style)),
        PaperFormat::Markdown => joined(&files::markdown, &files::picture),
        PaperFormat::Html => html::page(all),
        PaperFormat::Csv => match &all.tables[..] {
            [one] if one.table.shape == Shape::Raw => files::raw_csv(one.table),
            several => files::csv(several),
        },
    }
}

impl PaperPicture<'_> {
    /// Document, figure and title.
    fn title(&self) -> String {
        format!("{} {}: {}", self.document.name, self.picture.name, self.picture.title)
    }
}

/// The documents and their tables, a line each.
pub fn paper_list(style: &Style) -> String {
    lines::list(&DOCUMENTS, style)
}
