//! Records against earlier runs of the same machine in the store.

use groma_analysis::earlier::{contradiction, values};
use groma_harness::model::{CoreProbe, Metric, Point, Record, Round, RunHeader};
use groma_store::Store;

/// Earlier runs that are looked at.
const RUNS: usize = 12;

/// What earlier runs knew of the probe of the core. What cannot be read is not known.
pub(crate) fn core_probes(store: &Store, head: &RunHeader) -> Vec<CoreProbe> {
    let runs = store.earlier_runs(head, RUNS).unwrap_or_default();
    runs.iter().filter_map(|earlier| earlier.host.core).collect()
}

/// Flags the records that contradict what earlier runs found. `points` are those of the records, in
/// the same order. What cannot be read contradicts nothing.
pub(crate) fn flag_contradictions(store: &Store, head: &RunHeader, points: &[Point], records: &mut [Record]) {
    each(store, head, points, records, |point, metric, record, earlier| {
        let flag = contradiction(point, metric, record, earlier);
        record.flags.extend(flag.map(|flag| flag.to_string()));
    });
}

/// What each record was in earlier runs, the latest first.
pub(crate) fn histories(store: &Store, head: &RunHeader, points: &[Point], records: &mut [Record]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    each(store, head, points, records, |point, metric, record, earlier| {
        all.push(values(point, metric, record, earlier));
    });
    all
}

/// Calls with each record, and the rounds of its point in earlier runs.
fn each(
    store: &Store,
    head: &RunHeader,
    points: &[Point],
    records: &mut [Record],
    mut call: impl FnMut(&Point, &Metric, &mut Record, &[Vec<Round>]),
) {
    let runs = store.earlier_runs(head, RUNS).unwrap_or_default();
    let mut rest = records;
    for point in points {
        let (own, others) = rest.split_at_mut(point.metrics.len().min(rest.len()));
        rest = others;
        // Of a command only its name is kept: what looks like it may be another.
        let is_known = point.params.word("command").is_none();
        let of_run = |run: &RunHeader| store.rounds_of(&run.run, point).ok();
        let earlier: Vec<_> = runs.iter().filter(|_| is_known).filter_map(of_run).collect();
        for (record, metric) in own.iter_mut().zip(&point.metrics) {
            call(point, metric, record, &earlier);
        }
    }
}
