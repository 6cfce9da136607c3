//! A document as a page for a browser: one file that loads nothing and runs nothing.

use super::{Block, Document, Row, Table};
use crate::grid::{Align, Cell};
use crate::html::charts::figure;
use crate::html::plain_page;
use crate::markup::Markup;

pub(super) fn html(document: &Document<'_>) -> String {
    plain_page(&document.title, "", |body| {
        body.tag("main", |main| {
            main.say("h1", &document.title);
            main.newline();
            for (i, block) in document.blocks.iter().enumerate() {
                of_block(block, i, main);
                main.newline();
            }
        });
    })
}

fn of_block(block: &Block, number: usize, out: &mut Markup) {
    match block {
        Block::Heading(text) => out.say("h2", text),
        Block::Text { label, parts, .. } => out.tag("p", |p| {
            if !label.trim().is_empty() {
                p.say("b", label.trim());
                p.own(" ");
            }
            parts.iter().for_each(|(text, _)| p.text(text));
        }),
        Block::Page(lines) => out.with("div", &[("class", "wide")], |div| div.say("pre", lines)),
        Block::Table(table) => out.with("div", &[("class", "wide")], |div| of_table(table, div)),
        Block::Chart(chart, _) => figure(number, "", "", chart, out),
        Block::Gap => {}
    }
}

fn of_table(table: &Table, out: &mut Markup) {
    let class = |at: usize| if table.align.get(at) == Some(&Align::Right) { "n" } else { "" };
    out.with("table", &[("class", "data")], |out| {
        out.tag("thead", |head| {
            head.tag("tr", |tr| {
                for (i, text) in table.heads.iter().enumerate() {
                    tr.with("th", &[("scope", "col"), ("class", class(i))], |th| th.text(text));
                }
            });
        });
        out.tag("tbody", |body| {
            for row in &table.rows {
                body.tag("tr", |tr| of_row(table, row, &class, tr));
                body.newline();
            }
        });
    });
}

fn of_row(table: &Table, row: &Row, class: &dyn Fn(usize) -> &'static str, out: &mut Markup) {
    let mut cells = |cells: Vec<Cell>| {
        for (i, cell) in cells.iter().enumerate() {
            out.with("td", &[("class", class(i))], |td| match cell.text().trim() {
                text if cell.is_code() && !text.is_empty() => td.say("code", text),
                text if cell.is_emphasised() => td.say("b", text),
                text => td.text(text),
            });
        }
    };
    match row {
        Row::Cells(row) => cells(table.filled(row, None)),
        Row::Spanned(row, rest) => cells(table.filled(row, Some(rest))),
        Row::Section(cell) => {
            let columns = table.heads.len().to_string();
            out.with("th", &[("scope", "rowgroup"), ("colspan", &columns)], |th| th.text(cell.text().trim()));
        }
    }
}
