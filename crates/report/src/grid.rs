//! Aligned columns for a terminal or a pipe. Knows text and colours, not records.
//!
//! The first column names the row and is never cut: a longer name gets its own line. Numbers are
//! never cut either. The last column takes the remaining width and breaks between words.

use crate::style::{Ink, Style, columns, wrap};

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text with its colour, and the exact value behind it.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    text: String,
    ink: Ink,
    exact: Option<(f64, &'static str)>,
    is_code: bool,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        Cell::ink(text, Ink::Plain)
    }

    pub(crate) fn ink(text: impl Into<String>, ink: Ink) -> Cell {
        Cell { text: text.into(), ink, exact: None, is_code: false }
    }

    /// The cell with its value in this SI unit, which may be empty. Files for programs have it
    /// instead of the rounded text.
    pub(crate) fn exactly(self, value: impl Into<Option<f64>>, unit: &'static str) -> Cell {
        Cell { exact: value.into().map(|value| (value, unit)), ..self }
    }

    /// An id or a command.
    pub(crate) fn code(text: impl Into<String>) -> Cell {
        Cell { is_code: true, ..Cell::new(text) }
    }

    /// A count.
    pub(crate) fn count(count: impl Into<u64>) -> Cell {
        let count = count.into();
        Cell::new(count.to_string()).exactly(count as f64, "")
    }

    pub(crate) const fn is_code(&self) -> bool {
        self.is_code
    }

    /// Whether it stands out: a total, or a row of this machine among others.
    pub(crate) const fn is_emphasised(&self) -> bool {
        matches!(self.ink, Ink::Strong | Ink::First)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) const fn exact(&self) -> Option<(f64, &'static str)> {
        self.exact
    }
}

enum Row {
    /// One cell per column; missing ones are empty.
    Cells(Vec<Cell>),
    /// Cells, then a text up to the end of the line, cut to fit.
    Spanned(Vec<Cell>, Cell),
    /// A text over the whole width, unchanged.
    Line(Cell),
}

/// Rows of aligned cells.
pub(crate) struct Grid {
    align: Vec<Align>,
    rows: Vec<Row>,
    style: Style,
}

const GAP: usize = 2;

impl Grid {
    pub(crate) fn new(align: &[Align], style: &Style) -> Grid {
        Grid { align: align.to_vec(), rows: Vec::new(), style: *style }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        let cells = self.clean(cells);
        self.rows.push(Row::Cells(cells));
    }

    pub(crate) fn spanned(&mut self, cells: Vec<Cell>, rest: Cell) {
        let cells = self.clean(cells);
        let rest = Cell { text: self.style.text(&rest.text), ..rest };
        self.rows.push(Row::Spanned(cells, rest));
    }

    pub(crate) fn line(&mut self, cell: Cell) {
        let cell = Cell { text: self.style.text(&cell.text), ..cell };
        self.rows.push(Row::Line(cell));
    }

    fn clean(&self, cells: Vec<Cell>) -> Vec<Cell> {
        cells.into_iter().map(|c| Cell { text: self.style.text(&c.text), ..c }).collect()
    }

    /// The lines, each ending in a newline, without trailing spaces.
    pub(crate) fn render(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for row in &self.rows {
            match row {
                Row::Line(cell) => self.push_line(&mut out, self.style.paint(cell.ink, &cell.text)),
                Row::Cells(cells) => self.push_cells(&mut out, cells, None, &widths),
                Row::Spanned(cells, rest) => self.push_cells(&mut out, cells, Some(rest), &widths),
            }
        }
        out
    }

    /// Whether all names stay on the line of their numbers: shrinking the last column was enough.
    pub(crate) fn fits(&self) -> bool {
        let (widths, _) = self.last_given_way();
        self.excess(&widths) == 0
    }

    /// By how many columns these widths exceed the available width.
    fn excess(&self, widths: &[usize]) -> usize {
        (widths.iter().sum::<usize>() + GAP * self.align.len().saturating_sub(1)).saturating_sub(self.style.width)
    }

    /// Natural widths; then the last column shrinks down to a dozen columns or its longest word,
    /// then the first one shrinks.
    fn widths(&self) -> Vec<usize> {
        let (mut widths, last) = self.last_given_way();
        if last > 0 {
            widths[0] = widths[0].saturating_sub(self.excess(&widths)).max(widths[0].min(MIN_FIRST_WIDTH));
        }
        widths
    }

    /// Natural widths with the last column shrunk, and its index.
    fn last_given_way(&self) -> (Vec<usize>, usize) {
        let last = self.align.len().saturating_sub(1);
        let mut widths = vec![0; self.align.len()];
        let mut least = 0;
        for row in &self.rows {
            let cells = match row {
                Row::Cells(cells) | Row::Spanned(cells, _) => cells,
                Row::Line(_) => continue,
            };
            for (i, cell) in cells.iter().enumerate().take(widths.len()) {
                widths[i] = widths[i].max(columns(&cell.text));
                if i == last {
                    least = cell.text.split_whitespace().map(columns).max().unwrap_or(0).max(least);
                }
            }
        }
        if last > 0 {
            let needed = least.max(MIN_LAST_WIDTH).min(widths[last]);
            widths[last] = widths[last].saturating_sub(self.excess(&widths)).max(needed);
        }
        (widths, last)
    }

    fn push_cells(&self, out: &mut String, cells: &[Cell], rest: Option<&Cell>, widths: &[usize]) {
        let last = widths.len().saturating_sub(1);
        let empty = Cell::default();
        let first = cells.first().unwrap_or(&empty);
        let too_long = last > 0 && columns(&first.text) > widths[0];
        if too_long {
            self.push_line(out, self.style.paint(first.ink, &first.text));
        }
        let upto = if rest.is_some() { cells.len() } else { last };
        let mut line = String::new();
        let mut at = 0;
        for (i, (&width, &align)) in widths.iter().zip(&self.align).enumerate().take(upto) {
            let cell = if i == 0 && too_long { &empty } else { cells.get(i).unwrap_or(&empty) };
            let pad = " ".repeat(width.saturating_sub(columns(&cell.text)));
            let painted = self.style.paint(cell.ink, &cell.text);
            match align {
                Align::Left => line.extend([painted.as_str(), &pad]),
                Align::Right => line.extend([pad.as_str(), &painted]),
            }
            line.push_str(&" ".repeat(GAP));
            at += width.max(columns(&cell.text)) + GAP;
        }
        if let Some(rest) = rest {
            let room = self.style.width.saturating_sub(at).max(MIN_FIRST_WIDTH);
            line.push_str(&self.style.paint(rest.ink, &self.style.cut(&rest.text, room)));
            return self.push_line(out, line);
        }
        let cell = cells.get(last).unwrap_or(&empty);
        if self.align.get(last) == Some(&Align::Right) {
            line.push_str(&" ".repeat(widths[last].saturating_sub(columns(&cell.text))));
            line.push_str(&self.style.paint(cell.ink, &cell.text));
            return self.push_line(out, line);
        }
        let mut parts = wrap(&cell.text, widths.get(last).copied().unwrap_or(0)).into_iter();
        line.push_str(&self.style.paint(cell.ink, &parts.next().unwrap_or_default()));
        self.push_line(out, line);
        for part in parts {
            self.push_line(out, " ".repeat(at) + &self.style.paint(cell.ink, &part));
        }
    }

    fn push_line(&self, out: &mut String, mut line: String) {
        line.truncate(line.trim_end().len());
        out.push_str(&line);
        out.push('\n');
    }
}

/// The least width of the first column and of a spanned text.
const MIN_FIRST_WIDTH: usize = 16;

/// The least width of the last column if it needs it: a state and a flag.
const MIN_LAST_WIDTH: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(width: usize) -> Grid {
        let mut grid = Grid::new(&[Align::Left, Align::Right, Align::Left], &Style::plain(width));
        grid.row(vec![Cell::new("a"), Cell::new("1.00 ns"), Cell::new("ok")]);
        grid.row(vec![Cell::new("a long name of a metric"), Cell::new("12 ns"), Cell::new("noisy, few rounds")]);
        grid.spanned(vec![Cell::new("b")], Cell::new("unsupported: there is only one CPU here and no more"));
        grid
    }

    #[test]
    fn columns_are_aligned_when_there_is_room() {
        insta::assert_snapshot!(grid(80).render(), @r"
        a                        1.00 ns  ok
        a long name of a metric    12 ns  noisy, few rounds
        b                        unsupported: there is only one CPU here and no more
        ");
    }

    #[test]
    fn without_room_only_text_is_wrapped() {
        insta::assert_snapshot!(grid(36).render(), @r"
        a                 1.00 ns  ok
        a long name of a metric
                            12 ns  noisy, few
                                   rounds
        b                 unsupported: ther…
        ");
    }
}
