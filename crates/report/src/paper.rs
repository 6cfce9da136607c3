//! The published tables, with other machines' values put among them.
//!
//! Which value belongs in which column, and in which unit, is decided by whoever asks; here rows
//! are put in their places and written down.

mod files;
mod html;
mod laid;
mod lines;

#[cfg(test)]
mod tests;

use groma_published::{DOCUMENTS, Document, Shape, Table};

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

/// Tables in a format. Only text heeds the style.
pub fn papers(all: &[Paper<'_>], format: PaperFormat, style: &Style) -> String {
    match format {
        PaperFormat::Table => all.iter().map(|paper| lines::text(paper, style)).collect::<Vec<_>>().join("\n"),
        PaperFormat::Markdown => all.iter().map(files::markdown).collect::<Vec<_>>().join("\n"),
        PaperFormat::Html => html::page(all),
        PaperFormat::Csv => match all {
            [one] if one.table.shape == Shape::Raw => files::raw_csv(one.table),
            several => files::csv(several),
        },
    }
}

/// The documents and their tables, a line each.
pub fn paper_list(style: &Style) -> String {
    lines::list(&DOCUMENTS, style)
}
