//! Earlier runs of the same machine in the store, which records are compared with.

use groma_analysis::compare::environment::differences;
use groma_analysis::earlier::{contradiction, is_beyond, values};
use groma_harness::model::{CoreProbe, Point, Record, Round, RunHeader};
use groma_store::Store;

/// The tag that a failed gate gives its runs.
pub(crate) const GATE_FAILED: &str = "gate-failed";

/// At most this many earlier runs are used.
const RUNS: usize = 12;

/// At most this many headers are read to find runs in the same state: those of 10,000 runs would
/// take 2 s.
const HEADS: usize = 200;

/// Other runs of the machine of a run, newest first. Runs that cannot be read are left out.
pub(crate) struct Earlier<'s> {
    store: &'s Store,
    runs: Vec<RunHeader>,
}

impl<'s> Earlier<'s> {
    /// The runs before the run with this header.
    pub(crate) fn before(head: &RunHeader, store: &'s Store) -> Earlier<'s> {
        Earlier { store, runs: store.earlier_runs(head, RUNS).unwrap_or_default() }
    }

    /// The runs in the same state of the machine, before or after, without those in `except` and
    /// those in which a gate found a regression.
    pub(crate) fn like(head: &RunHeader, except: &[String], store: &'s Store) -> Earlier<'s> {
        let mut runs = store.runs_of_machine(head, HEADS).unwrap_or_default();
        runs.retain(|run| {
            let failed = run.tags.iter().any(|tag| tag.as_str() == GATE_FAILED);
            !failed && !except.contains(&run.run) && differences(head, run).is_empty()
        });
        runs.truncate(RUNS);
        Earlier { store, runs }
    }

    /// Their ids.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.run.as_str())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.runs.len()
    }

    /// Their results of the core probe.
    pub(crate) fn core_probes(&self) -> Vec<CoreProbe> {
        self.runs.iter().filter_map(|run| run.host.core).collect()
    }

    /// Flags the records that contradict earlier runs. `points` are those of the records, in the
    /// same order.
    ///
    /// For each point, runs are read only until one contradicts none of its records: reading twelve
    /// runs of the 150 points of a survey takes seconds.
    pub(crate) fn flag_contradictions(&self, points: &[Point], records: &mut [Record]) {
        let mut rest = records;
        for point in points {
            let (own, others) = rest.split_at_mut(point.metrics.len().min(rest.len()));
            rest = others;
            // Of thousands of points a short run reaches some.
            if own.iter().all(|record| record.value.is_none()) {
                continue;
            }
            let mut earlier = Vec::new();
            for rounds in self.rounds_of(point) {
                earlier.push(rounds);
                if !own.iter().zip(&point.metrics).any(|(record, metric)| is_beyond(point, metric, record, &earlier)) {
                    break;
                }
            }
            for (record, metric) in own.iter_mut().zip(&point.metrics) {
                let flag = contradiction(point, metric, record, &earlier);
                record.flags.extend(flag.map(|flag| flag.to_string()));
            }
        }
    }

    /// The earlier values of each record, newest first; `points` as in
    /// [`flag_contradictions`](Earlier::flag_contradictions).
    pub(crate) fn histories(&self, points: &[Point], records: &[Record]) -> Vec<Vec<f64>> {
        let mut records = records.iter();
        let mut all = Vec::new();
        for point in points {
            let earlier: Vec<_> = self.rounds_of(point).collect();
            let own = point.metrics.iter().zip(&mut records);
            all.extend(own.map(|(metric, record)| values(point, metric, record, &earlier)));
        }
        all
    }

    /// The rounds of a point in each run that has it.
    fn rounds_of(&self, point: &Point) -> impl Iterator<Item = Vec<Round>> {
        // Of a measured command only the name is stored, so another one may look the same.
        let is_known = point.params.word("command").is_none();
        let runs = self.runs.iter().filter(move |_| is_known);
        runs.filter_map(|run| self.store.rounds_of(&run.run, point).ok()).filter(|rounds| !rounds.is_empty())
    }
}
