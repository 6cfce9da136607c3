//! Records against earlier runs of the same machine in the store.

use groma_analysis::compare::environment::differences;
use groma_analysis::earlier::{contradiction, is_beyond, values};
use groma_harness::model::{CoreProbe, Point, Record, Round, RunHeader};
use groma_store::Store;

/// The tag of a run of a gate that failed.
pub(super) const GATE_FAILED: &str = "gate-failed";

/// Earlier runs that are looked at.
const RUNS: usize = 12;

/// Heads of runs that are read to find some in the same state: of 10,000 runs all would take 2 s.
const HEADS: usize = 200;

/// The runs of this machine before a run, the latest first. What cannot be read was not there.
pub(crate) struct Earlier<'s> {
    store: &'s Store,
    runs: Vec<RunHeader>,
}

impl<'s> Earlier<'s> {
    /// Those before the run with this head.
    pub(crate) fn before(head: &RunHeader, store: &'s Store) -> Earlier<'s> {
        Earlier { store, runs: store.earlier_runs(head, RUNS).unwrap_or_default() }
    }

    /// Those of the same machine in the same state, whenever they were, but for these and for those
    /// of which a gate has said that something changed.
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

    /// What they knew of the probe of the core.
    pub(crate) fn core_probes(&self) -> Vec<CoreProbe> {
        self.runs.iter().filter_map(|run| run.host.core).collect()
    }

    /// Flags the records that contradict what they found. `points` are those of the records, in the
    /// same order.
    ///
    /// Of each point no more runs are read than it takes to find one that none of its records
    /// contradicts: a survey would spend seconds on twelve runs of 150 points.
    pub(crate) fn flag_contradictions(&self, points: &[Point], records: &mut [Record]) {
        let mut rest = records;
        for point in points {
            let (own, others) = rest.split_at_mut(point.metrics.len().min(rest.len()));
            rest = others;
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

    /// What each record was, the latest first; `points` as above.
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

    /// The rounds of a point, of the runs that have it.
    fn rounds_of(&self, point: &Point) -> impl Iterator<Item = Vec<Round>> {
        // Of a command only its name is kept: what looks like it may be another.
        let is_known = point.params.word("command").is_none();
        let runs = self.runs.iter().filter(move |_| is_known);
        runs.filter_map(|run| self.store.rounds_of(&run.run, point).ok()).filter(|rounds| !rounds.is_empty())
    }
}
