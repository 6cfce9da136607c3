//! Published tables as aligned text.

use groma_published::{Document, Shape};

use super::Paper;
use super::laid::{DOUBT, OURS};
use crate::grid::{Align, Cell, Grid};
use crate::plot::Chart;
use crate::style::{Ink, Style, wrap_behind};

/// A table with its sentence, its rows and its notes.
pub(super) fn text(paper: &Paper<'_>, style: &Style) -> String {
    let mut out = style.paint(Ink::Strong, &style.text(&paper.title())) + "\n";
    for line in paper.sentences() {
        out += &wrap_behind("", &style.text(&line), style.width);
    }
    out.push('\n');
    match Chart::published(paper) {
        Some(chart) => out = chart.terminal(style),
        None => out += &table(paper, style),
    }
    let notes = paper.footnotes();
    if !notes.is_empty() {
        out.push('\n');
    }
    for (head, note) in notes {
        let head = if head.is_empty() { String::new() } else { format!("{head}: ") };
        out += &wrap_behind("", &style.text(&format!("{head}{note}")), style.width);
    }
    out
}

/// The rows in columns.
fn table(paper: &Paper<'_>, style: &Style) -> String {
    let laid = paper.laid();
    let columns = laid.heads.len();
    let align = |i: usize| if i < laid.texts { Align::Left } else { Align::Right };
    let mut grid = Grid::new(&(0..columns).map(align).collect::<Vec<_>>(), style);
    grid.row(laid.heads.iter().map(|head| Cell::ink(head.as_str(), Ink::Strong)).collect());
    if !laid.units.is_empty() {
        grid.row(laid.units.iter().map(|unit| Cell::ink(unit.as_str(), Ink::Faint)).collect());
    }
    for (ours, cells) in &laid.rows {
        let ink = if *ours { Ink::First } else { Ink::Plain };
        grid.row(cells.iter().map(|cell| Cell::ink(cell.as_str(), ink)).collect());
    }
    grid.render()
}

impl Paper<'_> {
    /// What stands below the table: what and when its marked rows are, what all rows have in
    /// common, what is to be known of columns, and what the mark of doubt means.
    pub(super) fn footnotes(&self) -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        for machine in self.machines.iter().filter(|machine| !machine.runs.is_empty()) {
            let runs = if machine.runs.len() == 1 { "run" } else { "runs" };
            out.push((
                format!("{OURS}{}", machine.name),
                format!("{}, {runs} {}", machine.os, machine.runs.join(", ")),
            ));
        }
        let sheet = self.table.sheet();
        let common = sheet.iter().flat_map(|sheet| &sheet.common).filter(|(key, _)| key != "bytes");
        let common: Vec<String> = common.map(|(key, value)| format!("{key}={value}")).collect();
        if !common.is_empty() {
            out.push(("all published rows".to_owned(), common.join(" ")));
        }
        out.extend(self.notes.iter().cloned());
        if self.table.cells().iter().any(groma_published::Cell::is_doubtful) {
            let why = "the copy of the paper that this was read from does not settle the number or its place";
            out.push((DOUBT.to_owned(), why.to_owned()));
        }
        out
    }
}

/// Documents and their tables, a line each.
pub(super) fn list(documents: &[Document], style: &Style) -> String {
    let mut grid = Grid::new(&[Align::Left, Align::Right, Align::Left], style);
    for (i, document) in documents.iter().enumerate() {
        if i > 0 {
            grid.line(Cell::default());
        }
        grid.line(Cell::ink(format!("{}: {}", document.name, document.title), Ink::Strong));
        for table in document.tables {
            let rows = match table.shape {
                Shape::Raw => table.raw().rows.len(),
                _ => table.sheet().map_or(0, |sheet| sheet.rows.len()),
            };
            grid.row(vec![
                Cell::new(format!("  {}", table.name)),
                Cell::ink(format!("{rows} rows"), Ink::Faint),
                Cell::new(table.title),
            ]);
        }
    }
    grid.render()
}
