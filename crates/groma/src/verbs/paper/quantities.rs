//! The value of a document's quantity in a machine's records, and units.

use super::machines::{Machine, is_of};
use super::repeats::Planning;
use groma_analysis::curve::{Level, Rank, curves, for_levels, levels};
use groma_analysis::point::measured_value;
use groma_harness::model::{Point, Record, State, Unit};
use groma_published::Quantity;
use groma_runner::Planned;

/// Why a value is missing.
pub(super) type Why = String;

/// The beginning of a reason where measuring would help.
pub(super) const NOT_YET: &str = "not measured yet";

/// The beginning of a reason where two machines are needed.
pub(super) const ELSEWHERE: &str = "needs another machine";

/// The point of a command that has the parameters of a quantity.
fn point<'p>(planning: &'p Planning, quantity: &Quantity) -> Option<&'p Planned> {
    let has = |planned: &Planned, (key, value): (&str, &str)| {
        planned.point.params.get(key).is_none_or(|own| own.is_typed(value))
    };
    match &planning.points[..] {
        [only] => Some(only),
        several => several.iter().find(|planned| quantity.fixed_params().all(|param| has(planned, param))),
    }
}

/// The point of a command that has the parameters of a quantity, as it is planned here.
pub(super) fn of_point(planning: &Planning, quantity: &Quantity) -> Option<Point> {
    point(planning, quantity).map(|planned| planned.point.clone())
}

/// The value of a quantity, or of another output of its benchmark, and its record.
pub(super) fn found<'m>(
    planning: &Planning,
    quantity: &Quantity,
    machine: &'m Machine,
    output: Option<&str>,
) -> Result<(f64, &'m Record), Why> {
    let planned = point(planning, quantity).ok_or_else(|| missing(planning))?;
    let id = match output {
        None => planned.point.bench.clone(),
        Some(output) => format!("{}.{output}", planned.point.bench),
    };
    let mut all = machine.records.iter().filter(|record| record.id == id && is_of(record, &planned.point));
    let newest = all.clone().next();
    let known = all.find_map(|record| Some((measured_value(record)?, record)));
    known.ok_or_else(|| match newest {
        Some(record) if record.state != State::Ok => format!("{}: {}", record.state.word(), record.reason),
        _ => missing(planning),
    })
}

/// Why no record of a command has a value.
pub(super) fn missing(planning: &Planning) -> Why {
    let unsupported = planning.points.first().and_then(|planned| planned.unsupported.clone());
    let command = planning.repeat.command;
    match unsupported {
        Some(why) => format!("not possible here: {why}"),
        None if command.contains("ADDRESS") => format!("{ELSEWHERE}: {command}"),
        None => format!("{NOT_YET}: {command}"),
    }
}

/// A level of the memory hierarchy in the curve that a command measures; 0 is memory.
pub(super) fn of_level(planning: &Planning, machine: &Machine, level: usize) -> Result<Level, Why> {
    let wanted = |record: &&Record| {
        planning.points.iter().any(|planned| planned.point.bench == record.id && is_of(record, &planned.point))
    };
    let mut records: Vec<&Record> = Vec::new();
    // The newest record of each size.
    for record in machine.records.iter().filter(wanted).filter(|record| measured_value(record).is_some()) {
        if !records.iter().any(|known| known.params == record.params) {
            records.push(record);
        }
    }
    if records.len() < planning.points.len() {
        return Err(missing(planning));
    }
    let curves = curves(&records, "size");
    let found = for_levels(&curves).map(levels).unwrap_or_default();
    if found.is_empty() {
        return Err("the curve over these few sizes shows no levels".to_owned());
    }
    let rank = if level == 0 { Rank::Memory } else { Rank::Cache(level) };
    let none = || match level {
        0 => "the paper's largest buffer does not leave the caches of this machine".to_owned(),
        _ => "no such level is seen in the paper's sizes".to_owned(),
    };
    found.into_iter().find(|found| found.rank == rank).ok_or_else(none)
}

pub(super) fn no_cycles() -> Why {
    "the clock of the core was not seen".to_owned()
}

/// A value of a record in a unit of a document. Cycles are those counted with the record, or else
/// the time at `hz`.
pub(super) fn in_unit(value: f64, record: &Record, unit: &str, hz: &dyn Fn() -> Result<f64, Why>) -> Result<f64, Why> {
    match (unit, record.unit) {
        ("cycles", Unit::Seconds) => record.cycles.map_or_else(|| Ok(value * hz()?), Ok),
        _ => Ok(value * scale(unit)?),
    }
}

/// The factor from an SI unit to a document's unit.
pub(super) fn scale(unit: &str) -> Result<f64, Why> {
    Ok(match unit {
        "s" => 1.0,
        "ms" => 1e3,
        "us" => 1e6,
        "ns" => 1e9,
        "MB/s" => 1e-6,
        // Only in CSE 221, which divides by 2^30.
        "GB/s" => 1.0 / f64::from(1 << 30),
        "KiB" => 1.0 / f64::from(1 << 10),
        "MiB" => 1.0 / f64::from(1 << 20),
        other => return Err(format!("nothing is measured in {other}")),
    })
}
