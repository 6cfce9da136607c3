//! A document as data: an array of its blocks. A cell with an exact value is an object of its text,
//! value and unit; any other is a text.

use super::{Block, Document, Table};
use crate::grid::Cell;
use crate::json::pretty;
use serde_json::{Map, Value as Json, json};

pub(super) fn json(document: &Document<'_>) -> String {
    pretty(&document.blocks.iter().filter_map(of_block).collect::<Vec<Json>>())
}

fn of_block(block: &Block) -> Option<Json> {
    Some(match block {
        Block::Heading(text) => json!({ "heading": text }),
        Block::Text { label, parts, .. } => {
            let text: String = parts.iter().map(|(text, _)| text.as_str()).collect();
            match label.trim() {
                "" => json!({ "text": text }),
                label => json!({ "label": label, "text": text }),
            }
        }
        Block::Page(lines) => json!({ "lines": lines.lines().collect::<Vec<_>>() }),
        Block::Table(table) => json!({ "table": rows(table) }),
        Block::Chart(chart, _) => json!({ "chart": chart.caption()[0] }),
        Block::Gap => return None,
    })
}

/// The rows as objects by heading; a row of a section names it.
pub(super) fn rows(table: &Table) -> Vec<Json> {
    let has_sections = table.has_sections();
    let row = |(section, cells): (&str, Vec<Cell>)| {
        let mut row = Map::new();
        if has_sections {
            row.insert("section".to_owned(), json!(section));
        }
        for (head, cell) in table.heads.iter().zip(&cells) {
            row.insert(head.clone(), of_cell(cell));
        }
        Json::Object(row)
    };
    table.flat().into_iter().map(row).collect()
}

fn of_cell(cell: &Cell) -> Json {
    let text = cell.text().trim();
    match cell.exact() {
        Some((value, "")) => json!({ "text": text, "value": value }),
        Some((value, unit)) => json!({ "text": text, "value": value, "unit": unit }),
        None => json!(text),
    }
}
