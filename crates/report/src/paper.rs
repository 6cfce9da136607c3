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

use crate::document::Document as View;
use crate::format::Format;
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

/// Tables and pictures. CSV has the tables alone.
pub fn papers<'a>(all: &'a Papers<'a>, style: &Style) -> View<'a> {
    let mut out = View::new("Published measurements, and this machine");
    if style.is_of_file() {
        for paper in &all.tables {
            out.heading(paper.title());
            paper.sentences().into_iter().for_each(|line| out.say(line));
            out.table(lines::of_file(paper));
            paper.footnotes().into_iter().for_each(|(head, note)| out.labelled(head, note));
        }
        for picture in &all.pictures {
            out.heading(picture.title());
            out.say(picture.picture.shows);
            picture.commands.iter().for_each(|command| out.lines(format!("{command}\n")));
            picture.notes.iter().for_each(|note| out.say(note.as_str()));
        }
    } else {
        let tables = all.tables.iter().map(|paper| lines::text(paper, style));
        let pictures = all.pictures.iter().map(|picture| lines::picture(picture, style));
        out.lines(tables.chain(pictures).collect::<Vec<_>>().join("\n"));
    }
    out.written(Format::Html, move || html::page(all)).written(Format::Csv, move || match &all.tables[..] {
        [one] if one.table.shape == Shape::Raw => files::raw_csv(one.table),
        several => files::csv(several),
    })
}

impl PaperPicture<'_> {
    /// Document, figure and title.
    fn title(&self) -> String {
        format!("{} {}: {}", self.document.name, self.picture.name, self.picture.title)
    }
}

/// The documents and their tables, one line each.
pub fn paper_list<'a>() -> View<'a> {
    lines::list(&DOCUMENTS)
}
