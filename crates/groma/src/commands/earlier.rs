//! Records against earlier runs of the same machine in the store.

use groma_analysis::earlier::contradiction;
use groma_harness::model::{CoreProbe, Point, Record, RunHeader};
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
    let runs = store.earlier_runs(head, RUNS).unwrap_or_default();
    let mut rest = records;
    for point in points {
        let (own, others) = rest.split_at_mut(point.metrics.len().min(rest.len()));
        rest = others;
        // Of a command only its name is kept.
        if point.params.word("command").is_some() {
            continue;
        }
        let earlier: Vec<_> = runs.iter().filter_map(|run| store.rounds_of(&run.run, point).ok()).collect();
        for (record, metric) in own.iter_mut().zip(&point.metrics) {
            let flag = contradiction(point, metric, record, &earlier);
            record.flags.extend(flag.map(|flag| flag.to_string()));
        }
    }
}
