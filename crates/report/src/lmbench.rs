//! Runs as lmbench would have them: its result file, and its summary.
//!
//! Both follow [`KINDS`], so the summary of a run is what lmbench's scripts print of its file. A
//! value comes from the metric with the definition of the line, from an imported value, or from a
//! metric of nearly the same operation, in this order.

mod file;
mod layout;
mod summary;
mod tables;

use groma_analysis::point::{measured_value, of_first_class};
use groma_model::{Placement, Record, RunHeader};
use groma_published::results::{Form, KINDS, Kind, Ours, PERCENT, Tasks, Unit};

pub use file::{Written, lmbench_file};
pub use summary::{SummaryRun, Wanted, blank_cells, lmbench_summary, wanted, wanted_of_summary};

/// The key of a fact of the run: the copies of each program that ran at once.
pub const LMBENCH_COPIES: &str = "lmbench.SYNC_MAX";
/// The key of a fact of an imported run: what measured it.
pub const LMBENCH_IMPORTED: &str = "imported.from";
/// The key of a fact of a round: the peer, file or device of the line.
pub const LMBENCH_NAME: &str = "lmbench.name";
/// The stride of a chain in random order, which lmbench's driver chooses.
const RANDOM_STRIDE: u64 = 16;

/// A value of a line.
#[derive(Clone, Debug)]
pub(crate) struct Reading<'r> {
    pub(crate) kind: &'static Kind,
    /// The values of its keys.
    pub(crate) keys: Vec<u64>,
    /// The peer, file or device, if the run knows it.
    pub(crate) name: Option<&'r str>,
    /// Whether the peer is another machine.
    pub(crate) remote: bool,
    pub(crate) record: &'r Record,
    /// The metric that it comes from; `None` for an imported value without one.
    from: Option<&'static Ours>,
    /// What was subtracted from the value of the record.
    less: f64,
    /// lmbench's value in SI units.
    pub(crate) si: Option<f64>,
}

impl Reading<'_> {
    /// The value of the record that lmbench's value stands for, both in SI units.
    fn value_of(&self, si: f64) -> f64 {
        self.from.map_or(si, |ours| ours.value(si + self.less))
    }
}

/// How many copies of each program measured at once.
fn copies(head: &RunHeader) -> u32 {
    head.environment.get(LMBENCH_COPIES).and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The values of all lines, in their order; those of one line by name and keys.
pub(crate) fn readings<'r>(head: &RunHeader, records: &'r [Record]) -> Vec<Reading<'r>> {
    let copies = copies(head);
    let records: Vec<&Record> = of_first_class(records.iter()).collect();
    let is_imported = head.environment.get(LMBENCH_IMPORTED).is_some();
    KINDS.iter().flat_map(|kind| of_kind(kind, copies, is_imported, &records)).collect()
}

/// The values of one kind of line: those with its definition, measured or imported, else those of
/// the first metric of nearly the same operation that has any. An imported run has all its lines by
/// definition: nothing of it stands for another line.
fn of_kind<'r>(kind: &'static Kind, copies: u32, is_imported: bool, records: &[&'r Record]) -> Vec<Reading<'r>> {
    // Of several other machines, the first has the metric of groma, the others that of lmbench.
    let same: Vec<Option<&'static Ours>> = kind.ours.iter().map(Some).chain([None]).collect();
    let near = kind.near.iter().filter(|_| !is_imported).map(|near| vec![Some(near)]);
    let mut without = Vec::new();
    for alternatives in [same].into_iter().chain(near) {
        let found = best(kind, &alternatives, copies, records);
        if found.iter().any(|reading| reading.si.is_some()) {
            return found;
        }
        if without.is_empty() {
            without = found;
        }
    }
    without
}

/// The values that these metrics give, one for each name and keys: with a number rather than
/// without, and as pinned as lmbench's line is read.
fn best<'r>(
    kind: &'static Kind,
    alternatives: &[Option<&'static Ours>],
    copies: u32,
    records: &[&'r Record],
) -> Vec<Reading<'r>> {
    let mut found: Vec<(usize, Reading<'r>)> = Vec::new();
    let all = alternatives.iter().flat_map(|from| records.iter().map(move |record| (*from, *record)));
    for (rank, reading) in all.filter_map(|(from, record)| reading(kind, from, copies, record, records)) {
        let is_it = |(_, other): &&mut (usize, Reading<'_>)| {
            (&other.keys, other.remote, other.name) == (&reading.keys, reading.remote, reading.name)
        };
        match found.iter_mut().find(is_it) {
            None => found.push((rank, reading)),
            Some(known) if (reading.si.is_none(), rank) < (known.1.si.is_none(), known.0) => {
                *known = (rank, reading);
            }
            Some(_) => {}
        }
    }
    let mut found: Vec<Reading<'r>> = found.into_iter().map(|(_, reading)| reading).collect();
    found.sort_by(|a, b| (a.remote, a.name, &a.keys).cmp(&(b.remote, b.name, &b.keys)));
    found
}

/// A record as a value of this kind, with the rank of its placement.
fn reading<'r>(
    kind: &'static Kind,
    from: Option<&'static Ours>,
    copies: u32,
    record: &'r Record,
    records: &[&'r Record],
) -> Option<(usize, Reading<'r>)> {
    let keys = match from {
        Some(ours) => keys_of(ours, record)?,
        None if record.id.strip_prefix("lmbench.") == Some(kind.name) => {
            kind.keys.iter().map(|key| record.params.int(key)).collect::<Option<_>>()?
        }
        None => return None,
    };
    if record.workers != if kind.takes_copies { copies } else { 1 } {
        return None;
    }
    // The rate of all copies together is not the time of one.
    if copies > 1 && kind.unit == Unit::Nanoseconds && from.is_some_and(|ours| ours.inverse) {
        return None;
    }
    let rank = match record.placement {
        Placement::Pinned | Placement::On(_) | Placement::SameCpu => 0,
        Placement::Free | Placement::Remote => 1,
        Placement::Compact if copies > 1 => 2,
        _ => return None,
    };
    let si = measured_value(record).map(|value| from.map_or(value, |ours| ours.of_value(value)));
    // Without the other metric there is no value.
    let less = from.and_then(|ours| ours.less).map_or(Some(0.0), |(metric, params)| {
        let is_it = |other: &&&Record| other.id == metric && has_all(params, other) && other.workers == record.workers;
        records.iter().find(is_it).and_then(|other| measured_value(other))
    });
    let si = si.zip(less).map(|(si, less)| if less == 0.0 { si } else { (si - less).max(0.0) });
    // 0 of a record of groma is below its resolution, and has no inverse.
    let si = si.filter(|si| si.is_finite());
    let remote = record.placement == Placement::Remote;
    // A file that lmbench read is no part of what distinguishes two values.
    let is_peer = !matches!(kind.form, Form::Named(_)) || kind.tasks == Tasks::Several;
    let device = || record.params.word("on").filter(|_| kind.tasks == Tasks::One);
    let name = record.fact(LMBENCH_NAME).or_else(device).filter(|_| is_peer);
    Some((rank, Reading { kind, keys, name, remote, record, from, less: less.unwrap_or(0.0), si }))
}

/// Whether a record has these parameters.
fn has_all(params: &[(&str, &str)], record: &Record) -> bool {
    params.iter().all(|(name, text)| record.params.get(name).is_some_and(|value| value.is_typed(text)))
}

/// The keys of a record of a metric; `None` if it is another metric or point.
fn keys_of(ours: &Ours, record: &Record) -> Option<Vec<u64>> {
    if record.id != ours.metric || !has_all(ours.params, record) {
        return None;
    }
    let key = |(name, times): &(&str, u64)| match (*name, *times) {
        ("", _) => Some(RANDOM_STRIDE),
        (name, PERCENT) => {
            let size = record.fact("disk.size")?.parse::<u64>().ok()?;
            Some((size as f64 * record.number(name)? as f64 / 100.0) as u64)
        }
        (name, times) => record.number(name).filter(|number| number.is_multiple_of(times)).map(|number| number / times),
    };
    ours.keys.iter().map(key).collect()
}
