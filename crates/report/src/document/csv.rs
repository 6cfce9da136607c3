//! The tables of a document as comma-separated values: exact values in SI units where cells have
//! them, else their texts. Several tables stand one after another, with an empty line between
//! them. A document without a table is one column of its texts.

use super::{Block, Document, Table};
use crate::csv;

pub(super) fn csv(document: &Document<'_>) -> String {
    let tables = document.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(of_table(table)),
        _ => None,
    });
    let tables: Vec<String> = tables.collect();
    if tables.is_empty() { texts(document) } else { tables.join("\n") }
}

fn of_table(table: &Table) -> String {
    let mut out = String::new();
    let sections = table.has_sections();
    let section = |text: &str| sections.then(|| csv::text(text));
    let heads = table.heads.iter().map(|head| csv::text(head));
    csv::line(&mut out, &section("section").into_iter().chain(heads).collect::<Vec<_>>());
    for (name, cells) in table.flat() {
        let cells = cells.iter().map(|cell| match cell.exact() {
            Some((value, _)) => csv::number(Some(value)),
            None => csv::text(cell.text().trim()),
        });
        csv::line(&mut out, &section(name).into_iter().chain(cells).collect::<Vec<_>>());
    }
    out
}

fn texts(document: &Document<'_>) -> String {
    let mut out = "label,text\n".to_owned();
    for block in &document.blocks {
        let (label, text) = match block {
            Block::Heading(text) => ("", text.clone()),
            Block::Text { label, parts, .. } => (label.trim(), parts.iter().map(|(text, _)| text.as_str()).collect()),
            Block::Page(lines) => ("", lines.clone()),
            Block::Chart(..) | Block::Table(_) | Block::Gap => continue,
        };
        csv::line(&mut out, &[csv::text(label), csv::text(&text)]);
    }
    out
}
