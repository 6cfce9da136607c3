//! What a verb shows, as data: blocks in reading order, without a format.
//!
//! A view is a function from records to a [`Document`]; each format has one renderer below, so
//! every view has every format. A view only decides what to say: `style` tells it how much room
//! there is, since a narrow terminal gets fewer columns, and a file gets them all. What a view lays
//! out itself (the pages of a run, a heat map) is a block as well ([`Block::Page`]). Where a format
//! is an interface that other programs read (the JSON of a run, the rows of an export), the view
//! writes it itself ([`Document::written`]).

mod csv;
mod html;
mod json;
mod markdown;
mod terminal;

use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::plot::Chart;
use crate::style::{Ink, Style};

/// Writes one format of a document.
type Writer<'a> = Box<dyn Fn() -> String + 'a>;

/// What a verb shows.
#[derive(Default)]
pub struct Document<'a> {
    title: String,
    blocks: Vec<Block>,
    written: Vec<(Format, Writer<'a>)>,
}

/// A part of a document.
pub(crate) enum Block {
    /// A heading.
    Heading(String),
    /// Flowing text behind a label, which may be empty.
    Text {
        /// What stands before the text. A terminal prints it with its spaces, and indents the text
        /// by its width.
        label: String,
        /// The colour of the label.
        ink: Ink,
        /// Parts with their colours.
        parts: Vec<(String, Ink)>,
    },
    /// Lines that stay as they are: a page in columns, the picture of a curve, a command to copy.
    Page(String),
    /// Rows of cells.
    Table(Table),
    /// A plot; on a terminal without its title where the text above says it.
    Chart(Box<Chart>, Titled),
    /// An empty line of the terminal; other formats have their own distances.
    Gap,
}

/// Whether the picture of a chart on a terminal has its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Titled {
    Yes,
    No,
}

/// A table. Its cells know their texts, colours and exact values.
pub(crate) struct Table {
    heads: Vec<String>,
    align: Vec<Align>,
    head: Option<Ink>,
    rows: Vec<Row>,
}

/// A row of a table.
pub(crate) enum Row {
    /// A cell for each column; missing ones are empty.
    Cells(Vec<Cell>),
    /// Cells, then a text up to the end of the line.
    Spanned(Vec<Cell>, Cell),
    /// A text across all columns, which heads the rows below it.
    Section(Cell),
}

impl Table {
    /// A table with these columns, whose headings have this colour. Without a colour only files
    /// have the headings.
    pub(crate) fn new(columns: &[(&str, Align)], head: Option<Ink>) -> Table {
        Table {
            heads: columns.iter().map(|(head, _)| (*head).to_owned()).collect(),
            align: columns.iter().map(|(_, align)| *align).collect(),
            head,
            rows: Vec::new(),
        }
    }

    /// Adds a row of cells.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a row that ends in a text of any length.
    pub(crate) fn spanned(&mut self, cells: Vec<Cell>, rest: Cell) {
        self.rows.push(Row::Spanned(cells, rest));
    }

    /// Adds a heading of the rows below it; an empty one is a gap.
    pub(crate) fn section(&mut self, cell: Cell) {
        self.rows.push(Row::Section(cell));
    }

    /// The rows with a cell for each column, each with the section that it stands in. A text that
    /// spans columns is in the last one.
    fn flat(&self) -> Vec<(&str, Vec<Cell>)> {
        let mut out: Vec<(&str, Vec<Cell>)> = Vec::new();
        let mut section = "";
        for row in &self.rows {
            match row {
                Row::Section(cell) => section = cell.text().trim(),
                Row::Cells(cells) => out.push((section, self.filled(cells, None))),
                Row::Spanned(cells, rest) => out.push((section, self.filled(cells, Some(rest)))),
            }
        }
        out
    }

    fn filled(&self, cells: &[Cell], rest: Option<&Cell>) -> Vec<Cell> {
        let mut cells = cells.to_vec();
        cells.resize(self.heads.len(), Cell::default());
        if let (Some(rest), Some(last)) = (rest, cells.last_mut()) {
            *last = rest.clone();
        }
        cells
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether some row stands in a named section.
    fn has_sections(&self) -> bool {
        self.rows.iter().any(|row| matches!(row, Row::Section(cell) if !cell.text().trim().is_empty()))
    }
}

impl<'a> Document<'a> {
    /// An empty document with a title, which only a page in a browser shows.
    pub(crate) fn new(title: impl Into<String>) -> Document<'a> {
        Document { title: title.into(), ..Document::default() }
    }

    /// A document that is one page, laid out by its view.
    pub(crate) fn page(title: impl Into<String>, page: String) -> Document<'a> {
        let mut document = Document::new(title);
        document.blocks.push(Block::Page(page));
        document
    }

    /// Has the view itself write a format.
    #[must_use]
    pub(crate) fn written(mut self, format: Format, write: impl Fn() -> String + 'a) -> Document<'a> {
        self.written.push((format, Box::new(write)));
        self
    }

    /// Adds a heading.
    pub(crate) fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Adds flowing text.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.labelled("", text);
    }

    /// Adds flowing text behind a label.
    pub(crate) fn labelled(&mut self, label: impl Into<String>, text: impl Into<String>) {
        self.parts(label, vec![(text.into(), Ink::Plain)]);
    }

    /// Adds flowing text of several colours.
    pub(crate) fn parts(&mut self, label: impl Into<String>, parts: Vec<(String, Ink)>) {
        if parts.iter().any(|(text, _)| !text.is_empty()) {
            self.blocks.push(Block::Text { label: label.into(), ink: Ink::Plain, parts });
        }
    }

    /// Adds flowing text behind a label of this colour.
    pub(crate) fn headed(&mut self, label: impl Into<String>, ink: Ink, text: impl Into<String>) {
        self.blocks.push(Block::Text { label: label.into(), ink, parts: vec![(text.into(), Ink::Plain)] });
    }

    /// Adds lines that stay as they are.
    pub(crate) fn lines(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Page(text.into()));
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a plot.
    pub(crate) fn chart(&mut self, chart: Chart, titled: Titled) {
        self.blocks.push(Block::Chart(Box::new(chart), titled));
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds all blocks of another document.
    pub(crate) fn append(&mut self, other: Document<'a>) {
        self.blocks.extend(other.blocks);
    }

    /// The text on a terminal.
    #[cfg(test)]
    pub(crate) fn text(&self, style: &Style) -> String {
        self.render(Format::Table, style)
    }

    /// This document, with another below it. A format that the other writes itself is the other's
    /// alone if it is for programs.
    #[must_use]
    pub fn above(mut self, mut below: Document<'a>) -> Document<'a> {
        let written = std::mem::take(&mut below.written);
        let own = self.written.iter().find(|(of, _)| *of == Format::Markdown).map(|(_, write)| write());
        let own = own.unwrap_or_else(|| markdown::markdown(&self));
        self.written.retain(|(of, _)| !written.iter().any(|(other, _)| other == of));
        for (format, write) in written {
            let own = if format == Format::Markdown { own.clone() } else { String::new() };
            self.written.push((format, Box::new(move || own.clone() + &write())));
        }
        self.append(below);
        self
    }

    /// Adds a note of the caller below what the view says: a command to go on with, which stays on
    /// one line to be copied.
    pub fn note(&mut self, text: impl Into<String>) {
        self.gap();
        self.lines(text.into() + "\n");
    }

    /// The document in a format. [`Style::of`] is the style that it is to be made with.
    pub fn render(&self, format: Format, style: &Style) -> String {
        if let Some((_, write)) = self.written.iter().find(|(of, _)| *of == format) {
            return write();
        }
        match format {
            Format::Markdown => markdown::markdown(self),
            Format::Html => html::html(self),
            Format::Json => json::json(self),
            Format::Csv => csv::csv(self),
            // The others are interfaces: a verb offers them where its view writes them.
            Format::Table | Format::Junit | Format::Drain | Format::Openmetrics => terminal::terminal(self, style),
        }
    }
}

impl Style {
    /// The style of a document that is rendered in this format: for a terminal this one, for a file
    /// one without colours and without a limit of columns.
    #[must_use]
    pub const fn of(&self, format: Format) -> Style {
        match format {
            Format::Table => *self,
            _ => Style { colour: false, width: usize::MAX, unicode: true, ..*self },
        }
    }

    /// Whether the text is for a file, which has room for everything.
    pub(crate) const fn is_of_file(&self) -> bool {
        self.width == usize::MAX
    }

    /// The style of a page in columns: in a file it has 100 of them, which sites show without a
    /// scroll bar.
    pub(crate) const fn of_page(&self) -> Style {
        if self.is_of_file() { Style { all: self.all, program: self.program, ..Style::plain(100) } } else { *self }
    }
}

#[cfg(test)]
mod tests;
