//! A document as aligned text.

use super::{Block, Document, Row, Table, Titled};
use crate::grid::{Cell, Grid};
use crate::style::{Ink, Style, wrap_behind};

pub(super) fn terminal(document: &Document<'_>, style: &Style) -> String {
    document.blocks.iter().map(|block| of_block(block, style)).collect()
}

fn of_block(block: &Block, style: &Style) -> String {
    match block {
        Block::Heading(text) => wrap_behind("", &style.paint(Ink::Strong, &style.text(text)), style.width),
        Block::Text { label, ink, parts } => {
            let painted: String = parts.iter().map(|(text, ink)| style.paint(*ink, &style.text(text))).collect();
            let label = style.paint(*ink, &style.text(label));
            let text = wrap_behind(&label, &painted, style.width);
            // A label without a text stands alone.
            if text.is_empty() { format!("{}\n", label.trim_end()) } else { text }
        }
        Block::Page(lines) => lines.clone(),
        Block::Table(table) => of_table(table, style),
        Block::Chart(chart, Titled::Yes) => chart.terminal(style),
        Block::Chart(chart, Titled::No) => chart.terminal_alone(style),
        Block::Gap => "\n".to_owned(),
    }
}

impl Table {
    /// Whether all names stay on the line of their numbers.
    pub(crate) fn fits(&self, style: &Style) -> bool {
        grid(self, style).fits()
    }
}

fn of_table(table: &Table, style: &Style) -> String {
    grid(table, style).render()
}

fn grid(table: &Table, style: &Style) -> Grid {
    let mut grid = Grid::new(&table.align, style);
    if let Some(ink) = table.head {
        grid.row(table.heads.iter().map(|head| Cell::ink(head.as_str(), ink)).collect());
    }
    for row in &table.rows {
        match row {
            Row::Cells(cells) => grid.row(cells.clone()),
            Row::Spanned(cells, rest) => grid.spanned(cells.clone(), rest.clone()),
            Row::Section(cell) => grid.line(cell.clone()),
        }
    }
    grid
}
