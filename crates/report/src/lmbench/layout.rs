//! The tables of the summary as text, Markdown, HTML and CSV.

use groma_model::State;

use super::summary::Cell;
use crate::csv;
use crate::grid::{self, Align, Grid};
use crate::html::STYLE;
use crate::markdown::escape;
use crate::markup::Markup;
use crate::style::Style;
use crate::units::significant;

/// A format of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SummaryFormat {
    /// lmbench's layout.
    #[default]
    Table,
    /// Tables for GitHub and its like.
    Markdown,
    /// A page.
    Html,
    /// A line for each value, with every digit.
    Csv,
}

impl SummaryFormat {
    /// All formats.
    pub const ALL: [SummaryFormat; 4] =
        [SummaryFormat::Table, SummaryFormat::Markdown, SummaryFormat::Html, SummaryFormat::Csv];

    /// The word used on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            SummaryFormat::Table => "table",
            SummaryFormat::Markdown => "markdown",
            SummaryFormat::Html => "html",
            SummaryFormat::Csv => "csv",
        }
    }
}

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

pub(super) fn render(tables: &[Laid], format: SummaryFormat) -> String {
    match format {
        SummaryFormat::Table => plain(tables),
        SummaryFormat::Markdown => markdown(tables),
        SummaryFormat::Html => html(tables),
        SummaryFormat::Csv => values(tables),
    }
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

fn markdown(tables: &[Laid]) -> String {
    let mut out = format!("## {TITLE}\n");
    for table in tables {
        let (heads, rows) = table.texts();
        let row = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        out += &format!("\n### {}\n\n", escape(table.title));
        out += &row(&mut heads.iter().map(|head| escape(&one_line(*head))));
        let is_number = |at: usize| at >= 2 && at < 2 + table.heads.len();
        out += &row(&mut (0..heads.len()).map(|at| if is_number(at) { "---:" } else { "---" }.to_owned()));
        for cells in &rows {
            out += &row(&mut cells.iter().map(|cell| escape(cell)));
        }
    }
    let legend = legend(tables);
    if legend.is_empty() { out } else { format!("{out}\n{}\n", escape(&legend)) }
}

fn html(tables: &[Laid]) -> String {
    let mut out = Markup::default();
    out.own("<!DOCTYPE html>\n");
    out.with("html", &[("lang", "en")], |html| {
        html.tag("head", |head| {
            head.own("\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n");
            head.own("<meta name=\"color-scheme\" content=\"light dark\">\n");
            head.say("title", TITLE);
            head.newline();
            head.tag("style", |style| {
                style.own(STYLE);
                style.colours(&crate::plot::colours());
            });
        });
        html.newline();
        html.tag("body", |body| {
            body.say("h1", TITLE);
            for table in tables {
                body.newline();
                body.say("h3", table.title);
                body.tag("table", |html| rows(table, html));
            }
            let legend = legend(tables);
            if !legend.is_empty() {
                body.newline();
                body.say("p", &legend);
            }
        });
    });
    out.newline();
    out.into_string()
}

fn rows(table: &Laid, out: &mut Markup) {
    let (heads, rows) = table.texts();
    out.tag("thead", |head| {
        head.tag("tr", |tr| heads.iter().for_each(|one| tr.say("th", &one_line(*one))));
    });
    out.tag("tbody", |body| {
        for row in &rows {
            body.newline();
            body.tag("tr", |tr| row.iter().for_each(|cell| tr.say("td", cell)));
        }
    });
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
