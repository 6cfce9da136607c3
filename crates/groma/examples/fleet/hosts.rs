//! Simulated hosts with the noise of real runs.

use crate::AnyError;
use crate::faults::Fault;
use groma_analysis::compare::identity;
use groma_analysis::fleet::Fleet;
use groma_analysis::fleet::Metric;
use groma_analysis::fleet::signatures::Signatures;
use groma_model::{Better, End, Fact, Record, RunHeader, State, StateCounts};
use groma_stats::{Rng, median, median_interval};
use groma_store::Baseline;
use groma_store::ndjson::RecordedRuns;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Rounds of a metric in a fleet run on a calm host.
const ROUNDS: usize = 12;
/// Deviations of a run are blurred by this share of their spread, so that not all hosts have one of
/// the few deviations of the source.
const BLUR: f64 = 0.3;

/// A metric of a source.
pub(crate) struct SourceMetric {
    record: Record,
    /// The logarithms of the runs' headlines over their median.
    between: Vec<f64>,
    /// Those of the rounds over their median.
    within: Vec<f64>,
}

/// A machine with several runs.
pub(crate) struct Source {
    /// Its name.
    pub(crate) name: String,
    head: RunHeader,
    /// What is judged.
    pub(crate) metrics: Vec<SourceMetric>,
    /// The most runs of a metric.
    pub(crate) runs: usize,
}

/// The reference machines.
const NAMES: [&str; 3] = ["emerald-vm-2026", "zen5-vm-2026", "zen4-vm-2026"];

/// The reference machines, and the machine of these streams.
///
/// `noise` multiplies all deviations: how hosts would be that differ less.
pub(crate) fn sources(files: &[PathBuf], noise: f64, signatures: &Signatures) -> Result<Vec<Source>, AnyError> {
    let references = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference");
    let mut all = Vec::new();
    for name in NAMES {
        let baseline = Baseline::read(&references.join(format!("{name}.ndjson")))?;
        let runs = |metric: groma_store::BaselineMetric| {
            let mut runs = metric.runs;
            runs.extend(metric.record.value);
            (metric.record, runs)
        };
        all.push(Source::of(name, baseline.head, baseline.metrics.into_iter().map(runs).collect(), signatures)?);
    }
    let mut runs = Vec::new();
    for file in files {
        let run = RecordedRuns::open(file)?.next().ok_or("an empty stream")??;
        runs.push(run);
    }
    if let Some(first) = runs.first() {
        let of = |record: &Record| {
            let same = runs.iter().flat_map(|run| &run.records).filter(|other| identity(other) == identity(record));
            same.filter(|other| other.rounds > 0).filter_map(|other| other.value).collect()
        };
        let metrics = first.records.iter().map(|record| (record.clone(), of(record))).collect();
        all.push(Source::of("here", first.header.clone(), metrics, signatures)?);
    }
    // A reference of a single run does not show how runs differ.
    all.retain(|source| !source.metrics.is_empty());
    for metric in all.iter_mut().flat_map(|source| &mut source.metrics) {
        metric.between.iter_mut().chain(&mut metric.within).for_each(|deviation| *deviation *= noise);
    }
    Ok(all)
}

fn deviations(values: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    let middle = median(&logs).unwrap_or(0.0);
    logs.iter().map(|log| log - middle).collect()
}

impl Source {
    fn of(
        name: &str,
        head: RunHeader,
        metrics: Vec<(Record, Vec<f64>)>,
        signatures: &Signatures,
    ) -> Result<Source, AnyError> {
        // Those that are judged.
        let mut fleet = Fleet::default();
        let records: Vec<Record> = metrics.iter().map(|(record, _)| record.clone()).collect();
        let mut named = head.clone();
        named.environment.facts.push(Fact::new("host.name", name));
        fleet.add(&named, &records)?;
        let known: &[Metric] = &fleet.metrics;
        let judged: BTreeSet<u32> = signatures.members(known).into_iter().flatten().collect();
        let is_judged = |record: &Record| {
            let same = |metric: &Metric| {
                metric.id == record.id
                    && metric.params == record.params
                    && metric.placement == record.placement
                    && metric.workers == record.workers
            };
            (0..).zip(known).any(|(i, metric)| judged.contains(&i) && same(metric))
        };
        let mut kept: Vec<SourceMetric> = metrics
            .into_iter()
            .filter(|(record, runs)| is_judged(record) && runs.len() > 2)
            .map(|(record, runs)| SourceMetric {
                between: deviations(&runs),
                within: deviations(&record.round_values),
                record: trimmed(record),
            })
            .collect();
        kept.retain(|metric| metric.within.len() > 2);
        let runs = kept.iter().map(|metric| metric.between.len()).max().unwrap_or(0);
        Ok(Source { name: name.to_owned(), head, metrics: kept, runs })
    }

    /// Whether a fault slows anything that was measured.
    pub(crate) fn shows(&self, fault: Fault) -> bool {
        self.metrics.iter().any(|metric| fault.factor(&metric.record) > 1.0)
    }

    /// A run of a host.
    pub(crate) fn host(
        &self,
        host: usize,
        group: usize,
        fault: Option<Fault>,
        rng: &mut Rng,
    ) -> (RunHeader, Vec<Record>) {
        let mut head = self.head.clone();
        head.run = format!("{}-{host}", head.run);
        let own = [("host.name", format!("n{host:05}")), ("cpu.model", format!("model {group}"))];
        head.environment.facts.retain(|fact| own.iter().all(|(key, _)| fact.key != *key));
        head.environment.facts.extend(own.map(|(key, value)| Fact::new(key, value)));
        // The deviations of one run belong together.
        let run = rng.below(self.runs as u64) as usize;
        let records = self.metrics.iter().map(|metric| metric.draw(run, fault, rng)).collect();
        (head, records)
    }
}

impl SourceMetric {
    fn draw(&self, run: usize, fault: Option<Fault>, rng: &mut Rng) -> Record {
        let mut record = self.record.clone();
        let size: Vec<f64> = self.between.iter().map(|deviation| deviation.abs()).collect();
        let between = self.between[run % self.between.len()] + BLUR * median(&size).unwrap_or(0.0) * rng.normal();
        let slower = fault.map_or(0.0, |fault| fault.factor(&record).ln());
        let slower = if record.better == Better::Higher { -slower } else { slower };
        let rounds: Vec<f64> = (0..ROUNDS).map(|_| self.within[rng.below(self.within.len() as u64) as usize]).collect();
        let middle = median(&rounds).unwrap_or(0.0);
        let base = record.value.unwrap_or(1.0).ln() + between + slower;
        record.round_values = rounds.iter().map(|round| (base + round - middle).exp()).collect();
        record.value = median(&record.round_values);
        record.ci = median_interval(&record.round_values, 0.95).map(|interval| [interval.low, interval.high]);
        record.ci_display = record.ci;
        (record.rounds, record.state) = (ROUNDS as u32, State::Ok);
        if record.id == "cpu.frequencies" {
            record.facts = clocks(record.value.unwrap_or(1.0), fault);
        }
        record
    }
}

/// The clock of each CPU, as `cpu.frequencies` states it: one of them has the fault.
fn clocks(hz: f64, fault: Option<Fault>) -> Vec<Fact> {
    const CPUS: usize = 8;
    const FAULTY: usize = 3;
    let slower = fault.map_or(1.0, Fault::factor_of_one_core);
    let clock = |cpu: usize| if cpu == FAULTY { hz / slower } else { hz };
    (0..CPUS).map(|cpu| Fact::new(format!("cpu{cpu}"), clock(cpu))).collect()
}

/// A record without what a judgement does not look at.
fn trimmed(record: Record) -> Record {
    Record { proofs: Vec::new(), flags: Vec::new(), round_samples: None, ..record }
}

/// The end of a run.
pub(crate) fn end() -> End {
    End { states: StateCounts::default(), wall_s: 20.0, interrupted: false, cpu_limit: None, fewer_cpus: None }
}
