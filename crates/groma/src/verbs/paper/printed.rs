//! The values that documents printed, as those of machines: in SI units, each with the point that
//! repeats it here. The way back of `values.rs`.

use super::quantities::{of_point, scale};
use super::repeats::Repeats;
use crate::program::Program;
use groma_analysis::summarise;
use groma_harness::model::{Host, Params, Point, Record, State, Value};
use groma_harness::sys::topology::Topology;
use groma_published::{Cell, DOCUMENTS, Document, Quantity, Shape, Table, Take};
use groma_report::{Printed, PrintedOf, PrintedSystem};

/// What a document measured, and what a survey has instead.
struct Near {
    there: &'static str,
    here: &'static str,
    /// The parameter to change, and its value.
    param: Option<(&'static str, Value)>,
    differs: &'static str,
}

/// Without these a site would have no system call and no round trip of 1996 beside those of its
/// machines, whose surveys lack the repeats.
const NEAR: [Near; 4] = [
    Near {
        there: "syscall.getpid_libc",
        here: "syscall.getppid",
        param: None,
        differs: "getpid through libc; today getppid by number",
    },
    Near {
        there: "syscall.write_libc",
        here: "syscall.write",
        param: None,
        differs: "a word, through libc; today a byte, by number",
    },
    Near {
        there: "ipc.pipe_rtt",
        here: "ipc.pipe_rtt",
        param: Some(("size", Value::Int(1))),
        differs: "a word; today a byte",
    },
    Near {
        there: "ctx.switch.net",
        here: "ctx.switch.net",
        param: None,
        differs: "the data are read; today they are updated",
    },
];

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
            let Some((of, near)) = what(program, quantity, || of_point(planning, quantity)) else { continue };
            let same = matches!(quantity.take, Take::Half | Take::Period);
            for cell in cells.iter().filter(|cell| quantity.is_of(cell) && is_plain(quantity, cell)) {
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
                    differs: [if same { "" } else { planning.repeat.differs }, near]
                        .into_iter()
                        .filter(|text| !text.is_empty())
                        .collect::<Vec<_>>()
                        .join(", "),
                });
            }
        }
    }
    all.retain(|system| !system.values.is_empty());
    all
}

/// Whether a cell is a value that was measured on the machine itself.
fn is_plain(quantity: &Quantity, cell: &Cell) -> bool {
    let is_local = matches!(cell.param("access"), None | Some("local"));
    // What the quantity itself fixes is the operation, not a number of copies.
    let is_fixed = |key: &str| quantity.fixed_params().any(|(fixed, _)| fixed == key);
    let copies = ["procs", "proc", "threads", "thread"].into_iter().filter(|key| !is_fixed(key));
    let is_alone = copies.into_iter().all(|key| matches!(cell.param(key), None | Some("1")));
    is_local && is_alone && !cell.is_doubtful() && cell.param("kind") != Some("predicted")
}

/// What repeats a quantity, or is on the pages in its stead, and then how that differs.
fn what(
    program: &Program,
    quantity: &Quantity,
    point: impl FnOnce() -> Option<Point>,
) -> Option<(PrintedOf, &'static str)> {
    let output = match quantity.take {
        Take::Latency(level) => return Some((PrintedOf::Latency(level), "")),
        Take::Headline | Take::Half | Take::Period => "",
        Take::Outputs([one]) => one,
        _ => return None,
    };
    let point = point()?;
    let id = if output.is_empty() { point.bench.clone() } else { format!("{}.{output}", point.bench) };
    let found = summarise(&point, &[], &Host::UNKNOWN).into_iter().find(|record| record.id == id)?;
    let mut record = Record { state: State::Ok, value: Some(1.0), ..found };
    let near = NEAR.iter().find(|near| near.there == record.id);
    if let Some(near) = near {
        if near.there != near.here {
            let info = program.all().iter().map(|bench| &bench.info).find(|info| info.id == near.here)?;
            (record.version, record.params) = (info.version, Params::default());
            record.id = near.here.to_owned();
        }
        near.param.iter().for_each(|(name, value)| record.params.set(name, value.clone()));
    }
    Some((PrintedOf::Metric(Box::new(record)), near.map_or("", |near| near.differs)))
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
