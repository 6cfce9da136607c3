//! Published tables as files: Markdown, and CSV in the long form of their source files.

use groma_published::{Cell, Table, prefer_measured};

use super::layout::Entry;
use super::{Paper, PaperMachine, PaperRow};
use crate::csv;

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
