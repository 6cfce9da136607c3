//! The tables of the summary: as text in lmbench's layout, and as a document for files.

use groma_model::State;

use super::summary::Cell;
use crate::csv;
use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{self, Align, Grid};
use crate::style::Style;
use crate::units::significant;

/// A table with its cells.
pub(super) struct Laid {
    pub(super) title: &'static str,
    pub(super) heads: Vec<[&'static str; 2]>,
    /// Host and system of each row.
    pub(super) names: Vec<[String; 2]>,
    pub(super) cells: Vec<Vec<Cell>>,
    /// The last column of some tables, a text.
    pub(super) guesses: Option<Vec<String>>,
}

/// The title of all tables.
const TITLE: &str = "Runs in the layout of lmbench's summary";

/// The mark of a state, and what it means.
const fn mark(state: State) -> Option<(char, &'static str)> {
    match state {
        State::Ok => None,
        State::Noisy => Some(('~', "noisy")),
        State::Unresolved => Some(('?', "no value could be told")),
        State::Unsupported => Some(('-', "not here")),
        State::Denied => Some(('x', "denied")),
        State::Timeout | State::Failed => Some(('!', "failed")),
    }
}

impl Laid {
    /// Headings and rows as texts. The first two columns are names.
    fn texts(&self) -> (Vec<[&str; 2]>, Vec<Vec<String>>) {
        let mut heads: Vec<[&str; 2]> =
            [["Host", ""], ["OS", ""]].into_iter().chain(self.heads.iter().copied()).collect();
        heads.extend(self.guesses.as_ref().map(|_| ["Guesses", ""]));
        let row = |(i, names): (usize, &[String; 2])| {
            let cells = self.cells[i].iter().map(text);
            let guess = self.guesses.iter().map(|guesses| guesses[i].clone());
            names.iter().cloned().chain(cells).chain(guess).collect()
        };
        (heads, self.names.iter().enumerate().map(row).collect())
    }
}

/// Three digits and the mark of the state; a count has no decimal point.
fn text(cell: &Cell) -> String {
    let mark = cell.state.and_then(mark).map(|(mark, _)| mark.to_string()).unwrap_or_default();
    match cell.value {
        Some(value) if value.fract() == 0.0 => format!("{value}{mark}"),
        Some(value) => significant(value, 3) + &mark,
        None => mark,
    }
}

/// What the marks in these tables mean; empty without any.
fn legend(tables: &[Laid]) -> String {
    let all = tables.iter().flat_map(|table| table.cells.iter().flatten()).filter_map(|cell| cell.state);
    let mut seen: Vec<(char, &str)> = Vec::new();
    for one in all.filter_map(mark) {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen.sort_unstable();
    seen.iter().map(|(mark, meaning)| format!("{mark} {meaning}")).collect::<Vec<_>>().join("; ")
}

/// The tables: in lmbench's layout on a terminal.
pub(super) fn document<'a>(tables: Vec<Laid>, style: &Style) -> Document<'a> {
    let mut out = Document::new(TITLE);
    if !style.is_of_file() {
        out.lines(plain(&tables));
        return out;
    }
    for table in &tables {
        out.heading(table.title);
        out.table(of_file(table));
    }
    let legend = legend(&tables);
    if !legend.is_empty() {
        out.say(legend);
    }
    out.written(Format::Csv, move || values(&tables))
}

fn of_file(table: &Laid) -> Table {
    let (heads, rows) = table.texts();
    let heads: Vec<String> = heads.iter().map(|head| one_line(*head)).collect();
    let is_number = |at: usize| at >= 2 && at < 2 + table.heads.len();
    let columns: Vec<(&str, Align)> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| (head.as_str(), if is_number(at) { Align::Right } else { Align::Left }))
        .collect();
    let mut out = Table::new(&columns, None);
    for (row, cells) in rows.iter().zip(&table.cells) {
        let exact = |at: usize| if is_number(at) { cells[at - 2].value } else { None };
        out.row(row.iter().enumerate().map(|(at, text)| grid::Cell::new(text).exactly(exact(at), "")).collect());
    }
    out
}

fn plain(tables: &[Laid]) -> String {
    // Lines are never broken: they are read by column.
    let style = Style::plain(usize::MAX);
    let mut out = format!("{TITLE}\n");
    for table in tables {
        out.push_str(&format!("\n{}\n", table.title));
        let (heads, rows) = table.texts();
        let mut align = vec![Align::Left; 2];
        align.resize(2 + table.heads.len(), Align::Right);
        align.resize(heads.len(), Align::Left);
        let mut grid = Grid::new(&align, &style);
        for line in (0..2).filter(|line| heads.iter().any(|head| !head[*line].is_empty())) {
            grid.row(heads.iter().map(|head| grid::Cell::new(head[line])).collect());
        }
        let width = |at: usize| {
            let of_rows = rows.iter().map(|row| row[at].chars().count());
            of_rows.chain(heads[at].map(|head| head.chars().count())).max().unwrap_or_default()
        };
        grid.row((0..heads.len()).map(|at| grid::Cell::new("-".repeat(width(at)))).collect());
        for row in &rows {
            grid.row(row.iter().map(grid::Cell::new).collect());
        }
        out.push_str(&grid.render());
    }
    let legend = legend(tables);
    if legend.is_empty() { out } else { format!("{out}\n{legend}\n") }
}

/// The two lines of a heading in one.
fn one_line(head: [&str; 2]) -> String {
    head.join(" ").trim().to_owned()
}

fn values(tables: &[Laid]) -> String {
    let mut out = String::new();
    csv::line(&mut out, &["table", "host", "os", "column", "value", "state"].map(str::to_owned));
    for table in tables {
        for (names, cells) in table.names.iter().zip(&table.cells) {
            for (head, cell) in
                table.heads.iter().zip(cells).filter(|(_, cell)| cell.value.is_some() || cell.state.is_some())
            {
                let state = cell.state.map(State::word).unwrap_or_default();
                let [host, os] = names;
                let texts = [table.title, host, os, &one_line(*head)].map(csv::text);
                csv::line(&mut out, &[&texts[..], &[csv::number(cell.value), state.to_owned()]].concat());
            }
        }
    }
    out
}
