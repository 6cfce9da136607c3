//! Tables that list programs by name only: who repeats those programs, and with which values.

use super::machines::{Machine, is_of};
use super::repeats::{Planning, Repeats, is_of_name};
use groma_harness::model::Record;
use groma_published::{Document, Table};
use groma_report::units::headline;

/// The columns that are added to a table of names: the benchmarks that repeat each program, and the
/// values of each machine where a command measures one point.
pub(super) fn beside(
    document: &Document,
    table: &Table,
    repeats: &Repeats,
    machines: &[Machine],
) -> Vec<(String, Vec<String>)> {
    let names = table.names();
    if names.is_empty() {
        return Vec::new();
    }
    let of = |name: &String| -> Vec<&Planning> {
        repeats.all().iter().filter(|planning| is_of_name(planning.repeat, document, name)).collect()
    };
    let ids = |name: &String| {
        let mut ids: Vec<&str> = of(name).into_iter().flat_map(|planning| planning.repeat.benchmarks()).collect();
        ids.dedup();
        ids.join(", ")
    };
    let mut out = vec![("repeated by".to_owned(), names.iter().map(ids).collect())];
    for machine in machines {
        let values =
            |name: &String| of(name).into_iter().filter_map(|planning| value(planning, machine)).collect::<Vec<_>>();
        out.push((format!("→ {}", machine.name), names.iter().map(|name| values(name).join(", ")).collect()));
    }
    out
}

/// A mode of a program with its value: `catch 1.08 µs`.
fn value(planning: &Planning, machine: &Machine) -> Option<String> {
    let [planned] = &planning.points[..] else { return None };
    let of_it = |record: &&Record| record.id == planned.point.bench && is_of(record, &planned.point);
    let value = machine.records.iter().filter(of_it).find_map(headline)?;
    let mode = planning.repeat.source.split_once(' ').map_or(planning.repeat.column, |(_, mode)| mode);
    Some(format!("{mode} {value}").trim_start().to_owned())
}
