//! What a machine's records are in the columns of a published table: the document's quantity in the
//! document's unit, or the reason why there is none.

use groma_analysis::curve::{Level, Rank, curves, for_levels, levels};
use groma_harness::model::{Record, State, Unit};
use groma_published::{Axes, Cell, Checked, Document, Quantity, Shape, Table, Take, check, relative};
use groma_report::units::significant;
use groma_report::{Paper, PaperMachine, PaperRow};

use super::machines::{Machine, is_of};
use super::repeats::{Planning, Repeats, SPEED};

/// What stands in the text columns of a machine's row: its values are of a local file system, and of
/// one process.
const KEYS: [(&str, &str); 6] =
    [("access", "local"), ("procs", "1"), ("proc", "1"), ("threads", "1"), ("thread", "1"), ("placement", "none")];

/// A table with machines beside it.
pub(super) fn paper<'a>(
    document: &'a Document,
    table: &'a Table,
    repeats: &Repeats,
    machines: &[Machine],
) -> Paper<'a> {
    let joined = Joined { document, table, repeats, cells: document.tables.iter().flat_map(|t| t.cells()).collect() };
    let mut notes = joined.differences();
    notes.extend(joined.rating(machines));
    notes.extend(joined.errors());
    let mut shown = Vec::new();
    for machine in machines {
        let (rows, without) = joined.rows(machine);
        let empty = rows.iter().all(|row| row.values.iter().all(Option::is_none));
        let whose = if machines.len() > 1 { format!("{}: ", machine.name) } else { String::new() };
        notes.extend(grouped(without).into_iter().map(|(heads, why)| (heads, format!("– {whose}{why}"))));
        if !empty {
            let os = ["kernel.name", "kernel.release"].into_iter().filter_map(|key| machine.head.environment.get(key));
            let os = os.collect::<Vec<_>>().join(" ");
            shown.push(PaperMachine { name: machine.name.clone(), os, runs: joined.runs(machine), rows });
        }
    }
    if machines.is_empty() {
        notes.extend(grouped(joined.unmeasured()));
    }
    Paper { document, table, machines: shown, notes }
}

/// Why a value is not there.
type Why = String;

/// A table and what repeats it.
struct Joined<'a> {
    document: &'a Document,
    table: &'a Table,
    repeats: &'a Repeats,
    /// All values of the document.
    cells: Vec<Cell>,
}

impl Joined<'_> {
    /// The rows of a machine, and why values of columns are missing.
    fn rows(&self, machine: &Machine) -> (Vec<PaperRow>, Vec<(&'static str, Why)>) {
        if let Shape::Figure(axes) = self.table.shape {
            return self.rows_of_figure(machine, axes);
        }
        let keys = KEYS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (mut values, mut without) = (Vec::new(), Vec::new());
        for quantity in self.table.quantities {
            let value = self.value(self.table, quantity, machine);
            values.push(value.as_ref().ok().copied());
            without.extend(value.err().map(|why| (quantity.head, why)));
        }
        (vec![PaperRow { keys, values }], without)
    }

    /// A row for each place on the x axis that was measured.
    fn rows_of_figure(&self, machine: &Machine, axes: Axes) -> (Vec<PaperRow>, Vec<(&'static str, Why)>) {
        let mut without: Vec<(&'static str, Why)> = Vec::new();
        let mut all: Vec<(u64, Vec<Option<f64>>)> = Vec::new();
        let quantities = self.table.quantities;
        for (i, quantity) in quantities.iter().enumerate() {
            if let Take::Nothing(why) = quantity.take {
                without.push((quantity.head, why.to_owned()));
                continue;
            }
            let Some(planning) = self.planning(self.table, quantity) else { continue };
            let mut seen = false;
            for planned in &planning.points {
                let of_line = planned.point.params.get(axes.line).is_some_and(|value| value.is_typed(quantity.head));
                let (Some(x), true) = (planned.point.params.int(axes.over), of_line) else { continue };
                let one = Planning { repeat: planning.repeat, points: vec![planned.clone()] };
                let Ok(value) = self.taken(quantity, &one, machine) else { continue };
                seen = true;
                let at = all.iter().position(|(known, _)| *known == x).unwrap_or_else(|| {
                    all.push((x, vec![None; quantities.len()]));
                    all.len() - 1
                });
                all[at].1[i] = Some(value);
            }
            if !seen {
                without.push((quantity.head, missing(planning)));
            }
        }
        all.sort_by_key(|(x, _)| *x);
        let place = |x: u64| if axes.x.starts_with("log2") { (x as f64).log2().to_string() } else { x.to_string() };
        let row = |(x, values): (u64, Vec<Option<f64>>)| PaperRow { keys: vec![(axes.x.to_owned(), place(x))], values };
        (all.into_iter().map(row).collect(), without)
    }

    fn planning(&self, table: &Table, quantity: &Quantity) -> Option<&Planning> {
        self.repeats.of_quantity(self.document, table, quantity)
    }

    /// The value of a quantity.
    fn value(&self, table: &Table, quantity: &Quantity, machine: &Machine) -> Result<f64, Why> {
        if let Take::Nothing(why) = quantity.take {
            return Err(why.to_owned());
        }
        let planning = self.planning(table, quantity).ok_or("no command repeats it")?;
        match quantity.take {
            Take::Relative | Take::PerMips => self.relative(quantity, planning, machine),
            _ => self.taken(quantity, planning, machine),
        }
    }

    /// What is relative to MIPS: from the quantity that it is derived from, and the machine's speed.
    fn relative(&self, quantity: &Quantity, planning: &Planning, machine: &Machine) -> Result<f64, Why> {
        let (metric, _) = quantity.metric.rsplit_once('.').ok_or("it is derived from nothing")?;
        let all = self.document.tables.iter().flat_map(|table| table.quantities);
        let base = all.into_iter().find(|base| base.metric == metric && base.params == quantity.params);
        let base = base.ok_or("it is derived from nothing")?;
        let value = self.taken(base, planning, machine)?;
        let mips = self.mips(machine)?;
        if quantity.take == Take::PerMips {
            return Ok(value / mips);
        }
        let local = |cell: &&Cell| base.is_of(cell) && matches!(cell.param("access"), None | Some("local"));
        let like = self.cells.iter().find(local).ok_or("the document has no such number")?;
        relative(value, mips, like).ok_or_else(|| "the document has no such number of its reference machine".to_owned())
    }

    /// Millions of dependent integer additions a second.
    fn mips(&self, machine: &Machine) -> Result<f64, Why> {
        let planning = self.repeats.find(SPEED.0, SPEED.1).ok_or("no command measures the speed of the processor")?;
        Ok(found(planning, machine, None)?.0 / 1e6)
    }

    /// What a quantity takes of the records of a command, in its unit.
    fn taken(&self, quantity: &Quantity, planning: &Planning, machine: &Machine) -> Result<f64, Why> {
        let unit = self.unit(quantity);
        let scaled = |(value, record): (f64, &Record)| in_unit(value, record, &unit);
        match quantity.take {
            Take::Half => scaled(found(planning, machine, None)?).map(|value| value / 2.0),
            Take::Period => Ok(scale(&unit)? / found(planning, machine, None)?.0),
            Take::Outputs(outputs) => {
                outputs.iter().map(|output| scaled(found(planning, machine, Some(output))?)).sum::<Result<f64, Why>>()
            }
            Take::Latency(level) => {
                let level = of_level(planning, machine, level)?;
                if unit == "cycles" { level.cycles.ok_or_else(no_cycles) } else { Ok(level.latency * scale(&unit)?) }
            }
            Take::Capacity(level) => {
                let size = of_level(planning, machine, level)?.capacity;
                Ok(size.ok_or("its end was not seen")? * scale(&unit)?)
            }
            _ => scaled(found(planning, machine, None)?),
        }
    }

    /// The unit in which the table has a quantity: that of what was measured, where there are several.
    fn unit(&self, quantity: &Quantity) -> String {
        let mut all = self.cells.iter().filter(|cell| quantity.is_of(cell));
        let measured = all.clone().find(|cell| cell.param("kind") == Some("measured"));
        measured.or_else(|| all.next()).map(|cell| cell.unit.clone()).unwrap_or_default()
    }

    /// The runs of a machine that hold something of this table.
    fn runs(&self, machine: &Machine) -> Vec<String> {
        machine.runs.clone()
    }

    /// What the commands do differently, by columns; and the command, where there is one for all.
    fn differences(&self) -> Vec<(String, String)> {
        let of = |quantity: &Quantity| {
            let differs = self.planning(self.table, quantity).filter(|_| quantity.is_repeated())?.repeat.differs;
            (!differs.is_empty()).then(|| (quantity.head, differs.to_owned()))
        };
        // A unit that the table's own is converted to, and a copy that counts once, are no differences
        // any more.
        let resolved =
            |quantity: &&Quantity| !matches!(quantity.take, Take::Half | Take::Period | Take::Outputs(["net"]));
        grouped(self.table.quantities.iter().filter(resolved).filter_map(of).collect())
    }

    /// What MIPS are taken for.
    fn rating(&self, machines: &[Machine]) -> Vec<(String, String)> {
        let is_bound = |quantity: &&Quantity| matches!(quantity.take, Take::Relative | Take::PerMips);
        let Some(quantity) = self.table.quantities.iter().find(is_bound) else { return Vec::new() };
        let rated = machines.iter().filter_map(|machine| Some((machine, self.mips(machine).ok()?)));
        let rated: Vec<String> =
            rated.map(|(machine, mips)| format!("{} MIPS of {}", significant(mips, 3), machine.name)).collect();
        if rated.is_empty() {
            return Vec::new();
        }
        let text = format!(
            "an upper bound, marked ≤. The paper rates processors by integer programs, a VAX-11/780 being 1 MIPS; here \
             the rate of integer additions that wait for each other stands for it ({}), of which programs do more",
            rated.join(", ")
        );
        vec![(quantity.head.to_owned(), text)]
    }

    /// The paper's own errors in this table.
    fn errors(&self) -> Vec<(String, String)> {
        let derived = |cell: &Cell| self.table.quantities.iter().any(|quantity| quantity.is_of(cell));
        let off = check(self.document).into_iter().filter(|one| one.table == self.table.name && !one.fits);
        off.filter(|one| derived(&one.printed)).map(|one| ("in the paper".to_owned(), said(&one))).collect()
    }

    /// What each column lacks where there is no machine.
    fn unmeasured(&self) -> Vec<(&'static str, Why)> {
        let why = |quantity: &'static Quantity| match (quantity.take, self.planning(self.table, quantity)) {
            (Take::Nothing(why), _) => (quantity.head, why.to_owned()),
            (_, Some(planning)) => (quantity.head, missing(planning)),
            (_, None) => (quantity.head, "no command repeats it".to_owned()),
        };
        self.table.quantities.iter().map(why).collect()
    }
}

/// A derived number that is not what the others give.
pub(super) fn said(one: &Checked) -> String {
    let cell = &one.printed;
    let access = cell.param("access").map(|access| format!(" ({access})")).unwrap_or_default();
    let [low, high] = one.computed.map(|bound| significant(bound, 3));
    let computed = if low == high { low } else { format!("{low} to {high}") };
    let what = cell.metric.rsplit('.').next().unwrap_or_default().replace('_', "-");
    format!("{}{access}, {what}: printed {}, its own numbers give {computed}", cell.system, cell.value)
}

/// The value of a command's one point, or of an output beside it, with its record.
fn found<'m>(planning: &Planning, machine: &'m Machine, output: Option<&str>) -> Result<(f64, &'m Record), Why> {
    let planned = planning.points.first().ok_or_else(|| missing(planning))?;
    let id = match output {
        None => planned.point.bench.clone(),
        Some(output) => format!("{}.{output}", planned.point.bench),
    };
    let mut all = machine.records.iter().filter(|record| record.id == id && is_of(record, &planned.point));
    let newest = all.clone().next();
    let measured = all.find_map(|record| Some((record.value?, record)));
    measured.ok_or_else(|| match newest {
        Some(record) if record.state != State::Ok => format!("{}: {}", record.state.word(), record.reason),
        _ => missing(planning),
    })
}

/// Why a command has no value.
fn missing(planning: &Planning) -> Why {
    let unsupported = planning.points.first().and_then(|planned| planned.unsupported.clone());
    let command = planning.repeat.command;
    match unsupported {
        Some(why) => format!("not possible here: {why}"),
        None if command.contains("ADDRESS") => format!("needs another machine: {command}"),
        None => format!("not measured yet: {command} (or --measure)"),
    }
}

/// A level of the memory hierarchy, of the curve that a command measures; 0 is memory.
fn of_level(planning: &Planning, machine: &Machine, level: usize) -> Result<Level, Why> {
    let wanted = |record: &&Record| {
        planning.points.iter().any(|planned| planned.point.bench == record.id && is_of(record, &planned.point))
    };
    let mut records: Vec<&Record> = Vec::new();
    // The newest of each size.
    for record in machine.records.iter().filter(wanted).filter(|record| record.value.is_some()) {
        if !records.iter().any(|known| known.params == record.params) {
            records.push(record);
        }
    }
    if records.len() < planning.points.len() {
        return Err(missing(planning));
    }
    let curves = curves(&records, "size");
    let found = for_levels(&curves).map(levels).unwrap_or_default();
    let largest = || format!("the largest buffer of the paper does not leave the caches of this machine");
    let rank = if level == 0 { Rank::Memory } else { Rank::Cache(level) };
    let none = || if level == 0 { largest() } else { "no such level is seen in the paper's sizes".to_owned() };
    found.into_iter().find(|found| found.rank == rank).ok_or_else(none)
}

fn no_cycles() -> Why {
    "the clock of the core was not seen".to_owned()
}

/// A value of a record in a unit of a document.
fn in_unit(value: f64, record: &Record, unit: &str) -> Result<f64, Why> {
    match (unit, record.unit) {
        ("cycles", Unit::Seconds) => record.cycles.ok_or_else(no_cycles),
        _ => Ok(value * scale(unit)?),
    }
}

/// How many of a document's unit an SI unit is.
fn scale(unit: &str) -> Result<f64, Why> {
    Ok(match unit {
        "s" => 1.0,
        "ms" => 1e3,
        "us" => 1e6,
        "ns" => 1e9,
        "MB/s" => 1e-6,
        // Of CSE 221 alone, which divides by 2^30.
        "GB/s" => 1.0 / f64::from(1 << 30),
        "KiB" => 1.0 / f64::from(1 << 10),
        "MiB" => 1.0 / f64::from(1 << 20),
        other => return Err(format!("nothing is measured in {other}")),
    })
}

/// Columns of which the same is to be said, in one line.
fn grouped(all: Vec<(&'static str, Why)>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for (head, text) in all {
        match out.iter_mut().find(|(_, known)| *known == text) {
            Some((heads, _)) => *heads += &format!("; {head}"),
            None => out.push((head.to_owned(), text)),
        }
    }
    out
}
