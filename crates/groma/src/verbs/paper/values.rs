//! The rows of machines in published tables: the values of their records in the document's units,
//! and notes on what is missing or different.

use super::listed;
use super::machines::Machine;
use super::quantities::{ELSEWHERE, NOT_YET, Why, found, in_unit, missing, no_cycles, of_level, scale};
use super::repeats::{Planning, Repeats, SPEED};
use crate::print::name;
use groma_harness::model::Record;
use groma_published::{
    Axes, Cell, Checked, DOCUMENTS, Document, Quantity, REPEATS, Repeat, Shape, Table, Take, check, prefer_measured,
    relative,
};
use groma_report::units::significant;
use groma_report::{Paper, PaperMachine, PaperRow, Timed};
use groma_runner::Planned;

/// The text columns of a machine's row: its values are of a local file system and one process.
const KEYS: [(&str, &str); 6] =
    [("access", "local"), ("procs", "1"), ("proc", "1"), ("threads", "1"), ("thread", "1"), ("placement", "none")];

/// A table with the rows of machines.
pub(super) fn paper<'a>(
    document: &'a Document,
    table: &'a Table,
    repeats: &Repeats,
    machines: &[Machine],
) -> Paper<'a> {
    let joined = Joined { document, table, repeats, cells: document.tables.iter().flat_map(|t| t.cells()).collect() };
    let mut shown = Vec::new();
    let mut without = Vec::new();
    let mut commands = Vec::new();
    for machine in machines {
        let (rows, missing) = joined.rows(machine);
        let is_empty = rows.iter().all(|row| row.values.iter().all(Option::is_none));
        let whose = if machines.len() > 1 { format!("{}: ", machine.name) } else { String::new() };
        let (command, reasons) = joined.reasons(missing, is_empty);
        commands.extend(command.map(|command| (String::new(), format!("– {whose}{command}"))));
        without.extend(reasons.into_iter().map(|(heads, why)| (heads, format!("– {whose}{why}"))));
        if !is_empty {
            let os = ["kernel.name", "kernel.release"].into_iter().filter_map(|key| machine.head.environment.get(key));
            let os = os.collect::<Vec<_>>().join(" ");
            let (name, runs) = (machine.name.clone(), machine.runs_of(joined.points()));
            shown.push(PaperMachine { name, os, runs, rows, mips: joined.mips(machine).ok() });
        }
    }
    let mut missing = None;
    if shown.is_empty() {
        let (command, reasons) = joined.reasons(joined.unmeasured(), true);
        let elsewhere =
            || reasons.iter().find(|(_, why)| why.starts_with(ELSEWHERE)).map(|(_, why)| format!("It {why}"));
        missing = command.or_else(elsewhere);
        if machines.is_empty() {
            without = reasons;
        }
    } else {
        without.extend(commands);
    }
    let mut notes = Vec::new();
    if !shown.is_empty() {
        notes.extend(joined.differences());
        notes.extend(joined.units());
    }
    notes.extend(joined.rating(machines));
    notes.extend(joined.errors());
    notes.extend(without);
    let beside = listed::beside(document, table, repeats, machines);
    Paper { document, table, machines: shown, notes, beside, timed: joined.timed(), missing }
}

/// A table and the commands that repeat it.
struct Joined<'a> {
    document: &'a Document,
    table: &'a Table,
    repeats: &'a Repeats,
    /// All cells of the document.
    cells: Vec<Cell>,
}

impl Joined<'_> {
    /// The rows of a machine, and why columns have no value.
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

    /// A row for each measured x of a figure.
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

    /// The points of the table's values.
    fn points(&self) -> impl Iterator<Item = &Planned> {
        let quantities = self.table.quantities.iter().filter(|quantity| quantity.is_repeated());
        let own = quantities.filter_map(|quantity| self.planning(self.table, quantity));
        own.flat_map(|planning| &planning.points)
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
            Take::Ratio(a, b) => {
                let of = |head: &str| table.quantities.iter().find(|quantity| quantity.head == head);
                let value = |head: &str| self.value(table, of(head).ok_or("it has no such row")?, machine);
                Ok(value(a)? / value(b)?)
            }
            _ => self.taken(quantity, planning, machine),
        }
    }

    /// A value relative to MIPS, from the quantity that it is derived from and the machine's speed.
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
        let table = DOCUMENTS
            .iter()
            .find_map(|document| document.table("table6").filter(|_| SPEED.0.starts_with(document.name)));
        let quantity = table.and_then(|table| table.quantities.iter().find(|quantity| quantity.repeat == SPEED.1));
        let quantity = quantity.ok_or("no document has the clock of its processors")?;
        Ok(found(planning, quantity, machine, None)?.0 / 1e6)
    }

    /// The value that a quantity takes from the records of a command, in its unit.
    fn taken(&self, quantity: &Quantity, planning: &Planning, machine: &Machine) -> Result<f64, Why> {
        let unit = self.unit(quantity);
        let scaled = |(value, record): (f64, &Record)| in_unit(value, record, &unit, &|| Ok(self.mips(machine)? * 1e6));
        match quantity.take {
            Take::Half => scaled(found(planning, quantity, machine, None)?).map(|value| value / 2.0),
            Take::Period => Ok(scale(&unit)? / found(planning, quantity, machine, None)?.0),
            Take::Outputs(outputs) => outputs
                .iter()
                .map(|output| scaled(found(planning, quantity, machine, Some(output))?))
                .sum::<Result<f64, Why>>(),
            Take::Latency(level) => {
                let level = of_level(planning, machine, level)?;
                if unit == "cycles" { level.cycles.ok_or_else(no_cycles) } else { Ok(level.latency * scale(&unit)?) }
            }
            Take::Capacity(level) => {
                let size = of_level(planning, machine, level)?.capacity;
                Ok(size.ok_or("its end was not seen")? * scale(&unit)?)
            }
            _ => scaled(found(planning, quantity, machine, None)?),
        }
    }

    /// The unit of a quantity in the table. If there are several, that of the measured cells.
    fn unit(&self, quantity: &Quantity) -> String {
        let cell = prefer_measured(self.cells.iter().filter(|cell| quantity.is_of(cell)));
        cell.map(|cell| cell.unit.clone()).unwrap_or_default()
    }

    /// Why values are missing, by columns. If there are none at all (`nothing`) and measuring would
    /// help, the command comes first, and stands for all those reasons.
    fn reasons(&self, mut all: Vec<(&'static str, Why)>, nothing: bool) -> (Option<String>, Vec<(String, String)>) {
        let is_not_yet = |(_, why): &(&'static str, Why)| why.starts_with(NOT_YET);
        let command = (nothing && all.iter().any(is_not_yet)).then(|| {
            all.retain(|one| !is_not_yet(one));
            let command = format!("{} paper {} {} --measure", name(), self.document.name, self.table.name);
            format!("Nothing of it is measured here yet: {command}")
        });
        (command, grouped(all))
    }

    /// The timed operation of each column, and how the command differs from the document's.
    fn timed(&self) -> Vec<Timed> {
        let of = |quantity: &&'static Quantity| {
            let repeat = self.planning(self.table, quantity).filter(|_| quantity.is_repeated())?.repeat;
            // These conversions remove the difference.
            let same = matches!(quantity.take, Take::Half | Take::PerMips | Take::Period);
            let differs = if same { "" } else { repeat.differs };
            Some(Timed { head: quantity.head.to_owned(), what: operation(repeat), differs: differs.to_owned() })
        };
        let quantities: &'static [Quantity] = self.table.quantities;
        quantities.iter().filter_map(|quantity| of(&quantity)).collect()
    }

    /// How the commands differ from the document's, by columns.
    fn differences(&self) -> Vec<(String, String)> {
        let differing = self.timed().into_iter().filter(|timed| !timed.differs.is_empty());
        grouped(differing.map(|timed| (timed.head, timed.differs)).collect())
    }

    /// A note on the bound that stands for MIPS.
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

    /// Notes on units that the document leaves open.
    fn units(&self) -> Vec<(String, String)> {
        let cells = self.table.cells();
        let unsaid = cells.iter().find(|cell| cell.note.contains("not stated")).map(|cell| {
            (
                cell.unit.clone(),
                "10^6 bytes on machines of today; the paper does not say whether 10^6 or 2^20".to_owned(),
            )
        });
        let cycles = cells.iter().find(|cell| cell.unit == "cycles").map(|cell| {
            (
                cell.unit.clone(),
                "those counted beside the time, else the time at the clock of `cpu.frequency`".to_owned(),
            )
        });
        unsaid.into_iter().chain(cycles).collect()
    }

    /// Notes on the document's own errors in this table.
    fn errors(&self) -> Vec<(String, String)> {
        let derived = |cell: &Cell| self.table.quantities.iter().any(|quantity| quantity.is_of(cell));
        let off = check(self.document).into_iter().filter(|one| one.table == self.table.name && !one.fits);
        off.filter(|one| derived(&one.printed)).map(|one| ("in the paper".to_owned(), sentence(&one))).collect()
    }

    /// Why each column has no value if there is no machine.
    fn unmeasured(&self) -> Vec<(&'static str, Why)> {
        let why = |quantity: &'static Quantity| match (quantity.take, self.planning(self.table, quantity)) {
            (Take::Nothing(why), _) => (quantity.head, why.to_owned()),
            (_, Some(planning)) => (quantity.head, missing(planning)),
            (_, None) => (quantity.head, "no command repeats it".to_owned()),
        };
        self.table.quantities.iter().map(why).collect()
    }
}

/// The sentence on a derived number that does not follow from the others.
pub(super) fn sentence(one: &Checked) -> String {
    let cell = &one.printed;
    let access = cell.param("access").map(|access| format!(" ({access})")).unwrap_or_default();
    let [low, high] = one.computed.map(|bound| significant(bound, 3));
    let computed = if low == high { low } else { format!("{low} to {high}") };
    let what = cell.metric.rsplit('.').next().unwrap_or_default().replace('_', "-");
    format!("{}{access}, {what}: printed {}, its own numbers give {computed}", cell.system, cell.value)
}

/// The operation that a command times. "The same ..." is put after the text that it refers to.
fn operation(repeat: &Repeat) -> String {
    let before = REPEATS.iter().take_while(|other| (other.source, other.column) != (repeat.source, repeat.column));
    match before.filter(|other| !other.timed.starts_with("the same")).last() {
        Some(first) if repeat.timed.starts_with("the same") => format!("{}; {}", first.timed, repeat.timed),
        _ => repeat.timed.to_owned(),
    }
}

/// Joins the columns that have the same text.
fn grouped(all: Vec<(impl Into<String> + AsRef<str>, Why)>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for (head, text) in all {
        match out.iter_mut().find(|(_, known)| *known == text) {
            Some((heads, _)) => *heads += &format!("; {}", head.as_ref()),
            None => out.push((head.into(), text)),
        }
    }
    out
}
