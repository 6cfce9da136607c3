//! The values that documents printed, as those of machines: in SI units, each with the point that
//! repeats it here. The way back of `values.rs`.

use super::quantities::{of_point, scale};
use super::repeats::Repeats;
use crate::program::Program;
use groma_analysis::summarise;
use groma_harness::model::{Host, Record, State};
use groma_harness::sys::topology::Topology;
use groma_published::{Cell, DOCUMENTS, Document, Quantity, Shape, Table, Take};
use groma_report::{Printed, PrintedOf, PrintedSystem};

/// All systems of all documents with a value that a command repeats.
pub(in crate::verbs) fn printed(program: &Program) -> Vec<PrintedSystem> {
    let is_of_systems = |table: &Table| matches!(table.shape, Shape::Systems(_) | Shape::Quantities);
    let of = |document: &'static Document| document.tables.iter().map(move |table| (document, table));
    let tables: Vec<_> = DOCUMENTS.iter().flat_map(of).filter(|(_, table)| is_of_systems(table)).collect();
    let repeats = Repeats::of(program, &Topology::for_plan(), &tables);
    let mut all: Vec<PrintedSystem> = Vec::new();
    for (document, table) in tables {
        let cells = table.cells();
        for quantity in table.quantities.iter().filter(|quantity| quantity.is_repeated()) {
            let Some(planning) = repeats.of_quantity(document, table, quantity) else { continue };
            let Some(of) = what(quantity, || of_point(planning, quantity)) else { continue };
            let same = matches!(quantity.take, Take::Half | Take::Period);
            for cell in cells.iter().filter(|cell| quantity.is_of(cell) && is_plain(cell)) {
                let at = all.iter().position(|known| known.key == [document.name, &cell.system] && known.os == cell.os);
                let at = at.unwrap_or_else(|| {
                    all.push(system(document, cell));
                    all.len() - 1
                });
                let Some(value) = in_si(quantity, cell, all[at].hz) else { continue };
                all[at].values.push(Printed {
                    of: of.clone(),
                    value,
                    source: format!("{} {}", document.name, table.name),
                    differs: if same { String::new() } else { planning.repeat.differs.to_owned() },
                });
            }
        }
    }
    all.retain(|system| !system.values.is_empty());
    all
}

/// Whether a cell is a value that was measured on the machine itself.
fn is_plain(cell: &Cell) -> bool {
    let is_local = matches!(cell.param("access"), None | Some("local"));
    let is_alone = ["procs", "proc", "threads", "thread"].iter().all(|key| matches!(cell.param(key), None | Some("1")));
    is_local && is_alone && !cell.is_doubtful() && cell.param("kind") != Some("predicted")
}

/// What repeats a quantity.
fn what(quantity: &Quantity, point: impl FnOnce() -> Option<groma_harness::model::Point>) -> Option<PrintedOf> {
    match quantity.take {
        Take::Latency(level) => Some(PrintedOf::Latency(level)),
        Take::Headline | Take::Half | Take::Period => {
            let point = point()?;
            let records = summarise(&point, &[], &Host::UNKNOWN);
            let record = records.into_iter().find(|record| record.id == point.bench)?;
            Some(PrintedOf::Metric(Box::new(Record { state: State::Ok, value: Some(1.0), ..record })))
        }
        _ => None,
    }
}

/// A printed value in the SI unit of what repeats it.
fn in_si(quantity: &Quantity, cell: &Cell, hz: Option<f64>) -> Option<f64> {
    let printed = cell.number();
    let value = match cell.unit.as_str() {
        "cycles" => printed / hz?,
        unit => printed / scale(unit).ok()?,
    };
    let value = match quantity.take {
        Take::Half => value * 2.0,
        Take::Period => 1.0 / value,
        _ => value,
    };
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

/// A system of a document, without values.
fn system(document: &'static Document, cell: &Cell) -> PrintedSystem {
    let raw = document.table("systems").map(Table::raw);
    let column = |name: &str| raw.as_ref()?.head.iter().position(|head| head == name);
    // Ousterhout's systems are a machine with a word for its operating system.
    let is_it = |known: &str| known == cell.system || cell.system.split(' ').next() == Some(known);
    let row = column("system").and_then(|at| raw.as_ref()?.rows.iter().find(|row| is_it(&row[at])));
    let of = |name: &str| row.and_then(|row| row.get(column(name)?).cloned()).unwrap_or_default();
    let year = [of("year"), document.year.to_owned()].iter().find_map(|year| year.parse().ok());
    PrintedSystem {
        key: [document.name.to_owned(), cell.system.clone()],
        os: cell.os.clone(),
        year: year.unwrap_or(0),
        hz: of("mhz").parse().ok().map(|mhz: f64| mhz * 1e6),
        title: document.title.to_owned(),
        values: Vec::new(),
    }
}
