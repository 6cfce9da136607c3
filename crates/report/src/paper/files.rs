//! Published tables as files: Markdown, and CSV in the long form of their source files.

use groma_published::{Cell, Table, prefer_measured};

use super::layout::{Entry, TextCell};
use super::{Paper, PaperMachine, PaperPicture, PaperRow};
use crate::csv;
use crate::markdown::escape;

/// A heading, a sentence, the table, and a list of notes.
pub(super) fn markdown(paper: &Paper<'_>) -> String {
    let layout = paper.layout();
    let mut out = format!("### {}\n\n", escape(&paper.title()));
    for line in paper.sentences() {
        out += &format!("{}\n\n", escape(&line));
    }
    let row = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let heads = layout.heads.iter().enumerate().map(|(i, head)| match layout.units.get(i).map(String::as_str) {
        None | Some("") => escape(head),
        Some(unit) => format!("{}, {}", escape(head), escape(unit)),
    });
    out += &row(&mut heads.into_iter());
    out += &row(&mut (0..layout.heads.len()).map(|i| if i < layout.texts { "---" } else { "---:" }.to_owned()));
    for (ours, cells) in &layout.rows {
        let cell = |cell: &TextCell| match escape(&cell.text) {
            text if *ours && !text.is_empty() => format!("**{text}**"),
            text => text,
        };
        out += &row(&mut cells.iter().map(cell));
    }
    out.push('\n');
    for (head, note) in paper.footnotes() {
        let head = if head.is_empty() { String::new() } else { format!("{}: ", escape(&head)) };
        out += &format!("- {head}{}\n", escape(&note));
    }
    out
}

/// A heading, what a figure shows, and the commands that draw a similar one.
pub(super) fn picture(picture: &PaperPicture<'_>) -> String {
    let mut out = format!("### {}\n\n{}\n\n", escape(&picture.title()), escape(picture.picture.shows));
    if !picture.commands.is_empty() {
        out += &format!("```sh\n{}\n```\n\n", picture.commands.join("\n"));
    }
    for note in &picture.notes {
        out += &format!("- {}\n", escape(note));
    }
    out
}

const HEAD: &str = "source,table,system,os,hardware,metric,params,value,unit,better,note\n";

/// A line per value, with the rows of machines in position. Tables of texts have none.
pub(super) fn csv(all: &[Paper<'_>]) -> String {
    let mut out = HEAD.to_owned();
    for paper in all {
        let Some(sheet) = paper.table.sheet() else { continue };
        for entry in paper.entries(&sheet) {
            match entry {
                Entry::Published(row) => row.cells.iter().flatten().for_each(|cell| published(&mut out, cell)),
                Entry::Ours(machine, row) => ours(&mut out, paper, &sheet.keys, machine, row),
            }
        }
    }
    out
}

fn published(out: &mut String, cell: &Cell) {
    let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let texts = [&cell.source, &cell.table, &cell.system, &cell.os, &cell.hardware, &cell.metric];
    let mut fields: Vec<String> = texts.map(|text| csv::text(text)).into();
    fields.extend([csv::text(&params.join(" ")), cell.value.clone()]);
    fields.extend([&cell.unit, &cell.better, &cell.note].map(|text| csv::text(text)));
    csv::line(out, &fields);
}

fn ours(out: &mut String, paper: &Paper<'_>, keys: &[String], machine: &PaperMachine, row: &PaperRow) {
    let cells = paper.table.cells();
    let values =
        row.values.iter().zip(paper.table.quantities).filter_map(|(value, quantity)| Some(((*value)?, quantity)));
    for (value, quantity) in values {
        // The document's value of the same quantity, for its unit.
        let Some(like) = prefer_measured(cells.iter().filter(|cell| quantity.is_of(cell))) else { continue };
        let keys = row.keys.iter().filter(|(key, _)| keys.contains(key)).map(|(key, text)| format!("{key}={text}"));
        let params = quantity.params.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).chain(keys);
        let params = params.collect::<Vec<_>>().join(" ");
        let note = format!("measured by groma, run {}", machine.runs.join(" "));
        let fields = [
            csv::text(paper.document.name),
            csv::text(&like.table),
            csv::text(&machine.name),
            csv::text(&machine.os),
            String::new(),
            csv::text(quantity.metric),
            csv::text(&params),
            csv::number(Some(value)),
            csv::text(&like.unit),
            csv::text(&like.better),
            csv::text(&note),
        ];
        csv::line(out, &fields);
    }
}

/// A table of texts as in its source file.
pub(super) fn raw_csv(table: &Table) -> String {
    let mut out = String::new();
    for fields in table.lines() {
        csv::line(&mut out, &fields.iter().map(|field| csv::text(field)).collect::<Vec<_>>());
    }
    out
}
