//! Published tables as aligned text.

use groma_published::{Document, Drawn, Shape};

use super::layout::{DOUBT, OURS};
use super::wrapped::wrapped;
use super::{Paper, PaperPicture};
use crate::document::{Document as View, Table};
use crate::grid::{Align, Cell, Grid};
use crate::plot::Chart;
use crate::style::{Ink, Style, wrap_behind};

/// A table with its sentences, rows and notes.
pub(super) fn text(paper: &Paper<'_>, style: &Style) -> String {
    let chart = Chart::published(paper);
    // A chart has its own title.
    let mut out = match &chart {
        Some(_) => String::new(),
        None => style.paint(Ink::Strong, &style.text(&paper.title())) + "\n",
    };
    for line in paper.sentences() {
        out += &wrap_behind("", &style.text(&line), style.width);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out += &chart.map_or_else(|| table(paper, style), |chart| chart.terminal(style));
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

/// The rows in columns; cells are wrapped if they do not fit.
fn table(paper: &Paper<'_>, style: &Style) -> String {
    let layout = paper.layout();
    let columns = layout.heads.len();
    let align = |i: usize| if i < layout.texts { Align::Left } else { Align::Right };
    let mut grid = Grid::new(&(0..columns).map(align).collect::<Vec<_>>(), style);
    let mut rows = vec![(Ink::Strong, layout.heads.clone())];
    if !layout.units.is_empty() {
        rows.push((Ink::Faint, layout.units.clone()));
    }
    for (ours, cells) in &layout.rows {
        let ink = if *ours { Ink::First } else { Ink::Plain };
        rows.push((ink, cells.iter().map(|cell| cell.text.clone()).collect()));
    }
    if layout.texts == columns {
        return wrapped(&rows, layout.texts, style);
    }
    for (ink, cells) in &rows {
        grid.row(cells.iter().map(|cell| Cell::ink(cell.as_str(), *ink)).collect());
    }
    if grid.fits() { grid.render() } else { wrapped(&rows, layout.texts, style) }
}

/// The rows for a file: units stand behind their headings.
pub(super) fn of_file(paper: &Paper<'_>) -> Table {
    let layout = paper.layout();
    let heads = layout.heads.iter().enumerate().map(|(i, head)| match layout.units.get(i).map(String::as_str) {
        None | Some("") => head.clone(),
        Some(unit) => format!("{head}, {unit}"),
    });
    let heads: Vec<String> = heads.collect();
    let side = |i: usize| if i < layout.texts { Align::Left } else { Align::Right };
    let columns: Vec<(&str, Align)> = heads.iter().enumerate().map(|(i, head)| (head.as_str(), side(i))).collect();
    let mut table = Table::new(&columns, None);
    for (ours, cells) in &layout.rows {
        let ink = if *ours { Ink::First } else { Ink::Plain };
        table.row(cells.iter().map(|cell| Cell::ink(cell.text.as_str(), ink).exactly(cell.number, "")).collect());
    }
    table
}

/// What a figure shows, the chart drawn instead, and the commands for it.
pub(super) fn picture(picture: &PaperPicture<'_>, style: &Style) -> String {
    let mut out = style.paint(Ink::Strong, &style.text(&picture.title())) + "\n";
    out += &wrap_behind("", &style.text(picture.picture.shows), style.width);
    if let Some(chart) = &picture.chart {
        out += "\n";
        out += &chart.terminal(style);
    }
    if !picture.commands.is_empty() {
        out += "\nThe same picture of this machine:\n";
    }
    // A command has a line of its own, unbroken, to be copied.
    for command in &picture.commands {
        out += &format!("  {}\n", style.text(command));
    }
    if !picture.notes.is_empty() {
        out.push('\n');
    }
    for note in &picture.notes {
        out += &wrap_behind("", &style.text(note), style.width);
    }
    out
}

impl Paper<'_> {
    /// The footnotes: machine and date of the marked rows, what all rows share, notes on columns,
    /// and the meaning of the mark of doubt.
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

/// Documents and their tables, one line each.
pub(super) fn list<'a>(documents: &[Document]) -> View<'a> {
    let columns = [("table", Align::Left), ("size", Align::Right), ("title", Align::Left)];
    let mut list = Table::new(&columns, None);
    for (i, document) in documents.iter().enumerate() {
        if i > 0 {
            list.section(Cell::default());
        }
        list.section(Cell::ink(format!("{}: {}", document.name, document.title), Ink::Strong));
        for table in document.tables {
            let rows = match table.shape {
                Shape::Raw => table.raw().rows.len(),
                _ => table.sheet().map_or(0, |sheet| sheet.rows.len()),
            };
            list.row(vec![
                Cell::new(format!("  {}", table.name)),
                Cell::ink(format!("{rows} rows"), Ink::Faint),
                Cell::new(table.title),
            ]);
        }
        for picture in document.pictures {
            let what = match picture.drawn {
                Drawn::By(_) => "no numbers",
                Drawn::FromRelative => "drawn",
            };
            list.row(vec![
                Cell::new(format!("  {}", picture.name)),
                Cell::ink(what, Ink::Faint),
                Cell::new(picture.title),
            ]);
        }
    }
    let mut out = View::new("Published tables");
    out.table(list);
    out
}
