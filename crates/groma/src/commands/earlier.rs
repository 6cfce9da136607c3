//! Records against earlier runs of the same machine in the store.

use groma_analysis::earlier::{contradiction, is_beyond, values};
use groma_harness::model::{CoreProbe, Point, Record, Round, RunHeader};
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
///
/// Of each point no more runs are read than it takes to find one that a record does not contradict:
/// a minute's survey would spend seconds on twelve runs of 150 points.
pub(crate) fn flag_contradictions(store: &Store, head: &RunHeader, points: &[Point], records: &mut [Record]) {
    let runs = store.earlier_runs(head, RUNS).unwrap_or_default();
    for (point, own) in with_records(points, records) {
        let mut earlier = Vec::new();
        for run in &runs {
            earlier.extend(rounds_of(store, run, point));
            let of_metrics = own.iter().zip(&point.metrics);
            if !earlier.is_empty()
                && !of_metrics.into_iter().any(|(record, metric)| is_beyond(point, metric, record, &earlier))
            {
                break;
            }
        }
        for (record, metric) in own.iter_mut().zip(&point.metrics) {
            let flag = contradiction(point, metric, record, &earlier);
            record.flags.extend(flag.map(|flag| flag.to_string()));
        }
    }
}

/// What each record was in earlier runs, the latest first.
pub(crate) fn histories(store: &Store, head: &RunHeader, points: &[Point], records: &mut [Record]) -> Vec<Vec<f64>> {
    let runs = store.earlier_runs(head, RUNS).unwrap_or_default();
    let mut all = Vec::new();
    for (point, own) in with_records(points, records) {
        let earlier: Vec<_> = runs.iter().filter_map(|run| rounds_of(store, run, point)).collect();
        all.extend(own.iter().zip(&point.metrics).map(|(record, metric)| values(point, metric, record, &earlier)));
    }
    all
}

/// The points, each with its records.
fn with_records<'r>(
    points: &'r [Point],
    records: &'r mut [Record],
) -> impl Iterator<Item = (&'r Point, &'r mut [Record])> {
    let mut rest = records;
    points.iter().map(move |point| {
        let (own, others) = std::mem::take(&mut rest).split_at_mut_checked(point.metrics.len()).unwrap_or_default();
        rest = others;
        (point, own)
    })
}

/// The rounds of a point in an earlier run, where it has any.
fn rounds_of(store: &Store, run: &RunHeader, point: &Point) -> Option<Vec<Round>> {
    // Of a command only its name is kept: what looks like it may be another.
    let is_known = point.params.word("command").is_none();
    store.rounds_of(&run.run, point).ok().filter(|rounds| is_known && !rounds.is_empty())
}
