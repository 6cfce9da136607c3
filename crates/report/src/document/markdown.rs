//! A document as Markdown, for GitHub and its like.

use super::{Block, Document, Row, Table};
use crate::grid::{Align, Cell};
use crate::markdown::{block, code, escape, line};
use crate::style::Style;

pub(super) fn markdown(document: &Document<'_>) -> String {
    let parts = document.blocks.iter().map(of_block).filter(|text| !text.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

fn of_block(of: &Block) -> String {
    match of {
        Block::Heading(text) => format!("### {}\n", escape(text)),
        Block::Text { label, parts, .. } => {
            let text: String = parts.iter().map(|(text, _)| text.as_str()).collect();
            match label.trim() {
                "" => format!("{}\n", escape(&text)),
                label => format!("**{}** {}\n", escape(label), escape(&text)),
            }
        }
        Block::Page(lines) => block(lines),
        Block::Table(table) => of_table(table),
        Block::Chart(chart, _) => block(&chart.terminal(&Style::plain(100))),
        Block::Gap => String::new(),
    }
}

fn of_table(table: &Table) -> String {
    let mut out = String::new();
    line(&mut out, table.heads.iter().map(|head| escape(head)));
    line(&mut out, table.align.iter().map(|align| if *align == Align::Left { "---" } else { "--:" }));
    let text = |cell: &Cell| match escape(cell.text().trim()) {
        _ if cell.is_code() => code(cell.text().trim()),
        text if cell.is_emphasised() && !text.is_empty() => format!("**{text}**"),
        text => text,
    };
    let cells = |cells: &[Cell]| -> Vec<String> { cells.iter().map(text).collect() };
    for row in &table.rows {
        match row {
            Row::Cells(row) => line(&mut out, cells(&table.filled(row, None))),
            Row::Spanned(row, rest) => line(&mut out, cells(&table.filled(row, Some(rest)))),
            Row::Section(cell) => {
                let text = escape(cell.text().trim());
                if !text.is_empty() {
                    let mut row = vec![String::new(); table.heads.len()];
                    row[0] = format!("**{text}**");
                    line(&mut out, row);
                }
            }
        }
    }
    out
}
