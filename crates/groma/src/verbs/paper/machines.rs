//! The machines whose rows are added: their stored records of the points that tables want.

use crate::args::StoreArgs;
use crate::sides::baseline;
use crate::store::{Shown, existing_store, read, records, store_path};
use crate::verbs::import::IMPORTED;
use anyhow::Result;
use groma_analysis::point::measured_value;
use groma_harness::model::{Placement, Point, Record, RunHeader};
use groma_runner::{Planned, identity};
use groma_store::{Baseline, Filter, HOST_NAME};

/// At most this many runs are searched for wanted points, newest first.
const RUNS: usize = 300;

/// A machine, and its newest records of the wanted points.
pub(super) struct Machine {
    pub(super) name: String,
    /// The header of its newest run.
    pub(super) head: RunHeader,
    pub(super) records: Vec<Record>,
    /// The runs that the records come from, in order, each with its number of records.
    runs: Vec<(String, usize)>,
}

impl Machine {
    /// Whether it has a value of a wanted point.
    pub(super) fn has_values(&self) -> bool {
        self.records.iter().any(|record| measured_value(record).is_some())
    }

    /// The runs that the values of these points come from.
    pub(super) fn runs_of<'p>(&self, points: impl Iterator<Item = &'p Planned>) -> Vec<String> {
        let of_value = |planned: &Planned| {
            self.records.iter().position(|record| measured_value(record).is_some() && is_of(record, &planned.point))
        };
        let used: Vec<usize> = points.filter_map(of_value).collect();
        let mut from = 0;
        let mut out = Vec::new();
        for (run, records) in &self.runs {
            let own = from..from + records;
            from = own.end;
            if used.iter().any(|at| own.contains(at)) {
                out.push(run.clone());
            }
        }
        out
    }
}

/// This machine; `None` if the store holds no wanted point of it.
pub(super) fn here(args: &StoreArgs, wanted: &[&Planned]) -> Result<Option<Machine>> {
    // Without a store, or a home directory for one, tables are shown as printed.
    if wanted.is_empty() || !store_path(args).is_ok_and(|path| path.exists()) {
        return Ok(None);
    }
    let store = existing_store(args)?;
    let mut benches: Vec<String> = wanted.iter().map(|planned| planned.point.bench.clone()).collect();
    benches.sort_unstable();
    benches.dedup();
    let host = identity::machine().get(HOST_NAME).map(str::to_owned);
    let ids = store.ids_that(&Filter { host, benches: Some(benches.clone()), ..Filter::default() }, RUNS)?;
    let mut left: Vec<&Planned> = wanted.to_vec();
    let mut machine: Option<Machine> = None;
    for id in ids {
        // Runs that only a newer groma can read are skipped.
        let is_left = |point: &_| left.iter().any(|planned| is_same(&planned.point, point));
        let Ok(run) = store.load_part(&id, Some(&benches), is_left) else { continue };
        // What lmbench measured here is not a value of this program.
        if run.header.environment.get(IMPORTED).is_some() {
            continue;
        }
        let found = records(run, false);
        let has_value = |planned: &Planned| {
            found.records.iter().any(|record| measured_value(record).is_some() && is_of(record, &planned.point))
        };
        left.retain(|planned| !has_value(planned));
        let machine = machine.get_or_insert_with(|| Machine {
            name: name(&found.head),
            head: found.head.clone(),
            records: Vec::new(),
            runs: Vec::new(),
        });
        machine.runs.push((id, found.records.len()));
        machine.records.extend(found.records);
        if left.is_empty() {
            break;
        }
    }
    Ok(machine)
}

/// The machine of a run or a baseline, with its records of the wanted points.
pub(super) fn of_run(args: &StoreArgs, run: &str, wanted: &[&Planned]) -> Result<Machine> {
    if let Some(Baseline { head, metrics, .. }) = baseline(run)? {
        let records: Vec<Record> = metrics.into_iter().map(|metric| metric.record).collect();
        return Ok(of_records(&head, &records, wanted));
    }
    let Shown { head, records, .. } = read(args, run)?;
    Ok(of_records(&head, &records, wanted))
}

/// The machine of these records, with those of the wanted points.
pub(super) fn of_records(head: &RunHeader, records: &[Record], wanted: &[&Planned]) -> Machine {
    let is_imported = head.environment.get(IMPORTED).is_some();
    let of_point = |record: &Record| {
        let placed = |planned: &&Planned| {
            let point = &planned.point;
            // lmbench pinned nothing, neither for its papers nor in an imported file.
            let free = is_imported && record.placement == Placement::Free && point.placement != Placement::Remote;
            let placement = if free { point.placement.clone() } else { record.placement.clone() };
            Some(Record { placement, ..record.clone() }).filter(|record| is_of(record, point))
        };
        wanted.iter().find_map(placed)
    };
    let records: Vec<Record> = records.iter().filter_map(of_point).collect();
    Machine { name: name(head), runs: vec![(head.run.clone(), records.len())], records, head: head.clone() }
}

/// Appends the run to names that several machines have.
pub(super) fn tell_apart(all: &mut [Machine]) {
    let names: Vec<String> = all.iter().map(|machine| machine.name.clone()).collect();
    for machine in all {
        if names.iter().filter(|name| **name == machine.name).count() > 1 {
            machine.name = format!("{} ({})", machine.name, machine.head.run);
        }
    }
}

/// Host and processor, without trademark signs, and what measured if it was not groma.
fn name(head: &RunHeader) -> String {
    let cpu = head.environment.get("cpu.model").unwrap_or_default().replace("(R)", "").replace("(TM)", "");
    let cpu = cpu.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = [HOST_NAME, IMPORTED].map(|key| head.environment.get(key).unwrap_or_default());
    let parts = [parts[0], &cpu, parts[1]];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Whether two points are the same, apart from the class of core and the node.
fn is_same(a: &Point, b: &Point) -> bool {
    let same = a.bench == b.bench && a.version == b.version && a.params == b.params && a.workers == b.workers;
    same && is_like(&a.placement, &b.placement)
}

/// Whether a record is of a point, apart from the class of core and the node.
pub(super) fn is_of(record: &Record, point: &Point) -> bool {
    let of_it = point.metrics.iter().any(|metric| metric.id == record.id);
    let same = record.version == point.version && record.params == point.params && record.workers == point.workers;
    of_it && same && is_like(&record.placement, &point.placement)
}

fn is_like(a: &Placement, b: &Placement) -> bool {
    let single = |placement: &Placement| matches!(placement, Placement::Pinned | Placement::On(_));
    a == b || single(a) && single(b)
}
