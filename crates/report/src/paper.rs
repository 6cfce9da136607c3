//! The published tables, with the values of other machines added.
//!
//! The caller decides which value belongs in which column, and in which unit; this module places
//! rows and renders them.

mod files;
pub(crate) mod html;
mod layout;
mod lines;
mod sentences;
mod wrapped;

#[cfg(test)]
pub(crate) mod tests;

use groma_published::{DOCUMENTS, Document, Picture, Shape, Table};

use crate::plot::Chart;
use crate::style::Style;

/// A published table with the machines to show next to it.
#[derive(Clone, Debug)]
pub struct Paper<'a> {
    /// The document.
    pub document: &'a Document,
    /// The table.
    pub table: &'a Table,
    /// The machines.
    pub machines: Vec<PaperMachine>,
    /// Notes on columns: their heads and a text.
    pub notes: Vec<(String, String)>,
    /// Further columns of a table of texts: their heads, and a cell per row.
    pub beside: Vec<(String, Vec<String>)>,
    /// What is timed in each column that a command repeats.
    pub timed: Vec<Timed>,
    /// How to get a value, if no machine has one.
    pub missing: Option<String>,
}

/// What a column times, then and now.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The column's head.
    pub head: String,
    /// The operation, as a noun.
    pub what: String,
    /// What today's command does differently; empty if nothing.
    pub differs: String,
}

/// A figure without numbers of its own, and the chart drawn instead.
#[derive(Clone, Debug)]
pub struct PaperPicture<'a> {
    /// The document.
    pub document: &'a Document,
    /// The figure.
    pub picture: &'a Picture,
    /// The chart.
    pub chart: Option<Chart>,
    /// Notes on it.
    pub notes: Vec<String>,
    /// The commands that draw a similar chart.
    pub commands: Vec<String>,
}

/// Tables and pictures of documents.
#[derive(Clone, Debug, Default)]
pub struct Papers<'a> {
    /// The tables, grouped by document.
    pub tables: Vec<Paper<'a>>,
    /// The pictures.
    pub pictures: Vec<PaperPicture<'a>>,
}

/// A machine to show with the published ones.
#[derive(Clone, Debug)]
pub struct PaperMachine {
    /// Its name and processor.
    pub name: String,
    /// Its kernel.
    pub os: String,
    /// The runs that its values come from.
    pub runs: Vec<String>,
    /// Its rows: one, or in a figure one per position on the x axis.
    pub rows: Vec<PaperRow>,
    /// A lower bound of its speed in MIPS, if requested and measured.
    pub mips: Option<f64>,
}

/// A row of values.
#[derive(Clone, Debug)]
pub struct PaperRow {
    /// The texts after its name, by the table's keys.
    pub keys: Vec<(String, String)>,
    /// The value of each quantity of the table, in the table's unit. Values relative to MIPS are
    /// upper bounds.
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
    /// A separate page.
    Html,
    /// One line per value, as in the tables' source files.
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

/// Renders tables and pictures. Only text uses the style, and CSV has the tables alone.
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

/// The documents and their tables, one line each.
pub fn paper_list(style: &Style) -> String {
    lines::list(&DOCUMENTS, style)
}
