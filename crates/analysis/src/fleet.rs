//! Many hosts: which of them are slower than those that should be equal.
//!
//! [`Fleet`] collects the runs of all hosts in a compact form. [`groups`] finds the hosts that
//! should be equal and what sets the others apart, [`outliers`] the values of a host that lie
//! beyond its group, [`signatures`] what such values mean together. [`judge`] does all three. How,
//! and with which error: docs/methods/statistics.md#outliers-of-a-fleet.
//!
//! Not here: reading files, and text for people.

pub mod drift;
pub mod finding;
pub mod groups;
pub mod outliers;
pub mod references;
pub mod signatures;
#[cfg(test)]
mod simulation;
mod verdict;

pub use groups::{Grouping, file_stem, fingerprint, host_name, is_plain_name};
pub use verdict::{Confirmed, Judged, Judgement, Options, Verdict, is_confirmed, judge};

use std::collections::{BTreeMap, HashMap};

use groma_model::{Better, Fact, NoiseVerdict, Params, Placement, Quantity, Record, RunHeader, State, Unit};

use crate::compare::identity;
use crate::point::{STORAGE, measured_value};

/// The most metrics of a host. A fleet run has about 60, a complete one under 2,000.
pub const MAX_METRICS: usize = 4096;
/// The most rounds of a metric whose values are looked at.
const MAX_ROUNDS: usize = 4096;
/// Half of a 95 % interval is this many standard deviations of a normal distribution.
const HALF_INTERVAL: f64 = 1.96;

/// A metric at one point, as all hosts have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The metric's id.
    pub id: String,
    /// What it measures, in one line.
    pub summary: String,
    /// Its parameters.
    pub params: Params,
    /// Its parameters for people.
    pub params_text: String,
    /// Where it ran.
    pub placement: Placement,
    /// Members of the worker group.
    pub workers: u32,
    /// Its quantity.
    pub quantity: Quantity,
    /// The unit of its values.
    pub unit: Unit,
    /// Which direction is an improvement.
    pub better: Better,
    /// Its identity, its version and its storage: equal for what may be compared.
    pub key: String,
}

/// A value of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The index of its metric in [`Fleet::metrics`].
    pub metric: u32,
    /// The headline.
    pub value: f64,
    /// The logarithm of what it costs: greater is slower, whichever direction is better.
    pub cost: f64,
    /// The standard deviation of the cost, from the interval of the record.
    pub error: f64,
}

/// A run of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The id of the run.
    pub run: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// The facts that decide what it should be equal to, and those of its health.
    pub facts: BTreeMap<String, String>,
    /// Its values, by metric.
    pub values: Vec<Value>,
    /// How many metrics were measured and have no value.
    pub without_value: usize,
    /// The metrics that failed, as `id: reason`.
    pub failed: Vec<String>,
    /// The CPUs that are slower than the median one of this host: number, and times as slow.
    pub slow_cpus: Vec<(u32, f64)>,
}

impl Host {
    /// Its value of a metric.
    pub fn value(&self, metric: u32) -> Option<&Value> {
        self.values.binary_search_by_key(&metric, |value| value.metric).ok().map(|at| &self.values[at])
    }
}

/// The runs of all hosts, one each.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The metrics of all hosts.
    pub metrics: Vec<Metric>,
    /// The hosts, in the order in which they were added.
    pub hosts: Vec<Host>,
    known: HashMap<String, u32>,
}

/// The metrics of a run that are in its head (see `Fleet::lost`).
const QUOTA: &str = "run.quota";
const OTHERS: &str = "run.others";

/// A CPU is named as slow if the clock of the median CPU of its host is this many times its own:
/// the practical size of a judgement that is not told another.
const SLOW_CPU: f64 = 1.05;

impl Fleet {
    /// Adds the run of a host.
    ///
    /// # Errors
    /// Why it cannot be judged, in half a line.
    pub fn add(&mut self, head: &RunHeader, records: &[Record]) -> Result<(), String> {
        let host = self.host(head, records)?;
        self.hosts.push(host);
        Ok(())
    }

    /// The run of a host in the compact form, without adding it. Its metrics become known.
    ///
    /// # Errors
    /// As [`add`](Fleet::add).
    pub fn host(&mut self, head: &RunHeader, records: &[Record]) -> Result<Host, String> {
        let name = host_name(&head.environment).ok_or("it does not name its host")?;
        if records.len() > MAX_METRICS {
            return Err(format!("{} metrics, and a host has at most {MAX_METRICS}", records.len()));
        }
        let own = records.iter().filter(|record| !record.detail);
        let mut values: Vec<Value> = own.clone().filter_map(|record| self.value(record)).collect();
        let measured = own.clone().any(|record| measured_value(record).is_some());
        // Of a run that was held back so far that it has no other value, this one is left.
        if !values.is_empty() || (measured && head.cpu_limit.is_some_and(|limit| limit.is_felt())) {
            values.extend(self.lost(head));
        }
        values.sort_by_key(|value| value.metric);
        // The first of a metric that is there twice.
        values.dedup_by_key(|value| value.metric);
        if values.is_empty() {
            return Err(if measured {
                "each of its values is of a single round, which says nothing of its error: measure for longer"
                    .to_owned()
            } else {
                "it holds no value".to_owned()
            });
        }
        let is_lost = |record: &&Record| matches!(record.state, State::Unresolved | State::Timeout | State::Failed);
        Ok(Host {
            name: name.to_owned(),
            run: head.run.clone(),
            started: head.started.clone(),
            facts: groups::facts_to_keep(head),
            values,
            without_value: own.clone().filter(is_lost).count(),
            failed: own.filter(|record| record.state == State::Failed).map(failure).collect(),
            slow_cpus: slow_cpus(records),
        })
    }

    fn value(&mut self, record: &Record) -> Option<Value> {
        let value = measured_value(record)?;
        let cost = cost(value, record.quantity, record.better)?;
        let error = error(record, cost)?;
        let metric = self.index_of(Metric {
            id: record.id.clone(),
            summary: record.summary.clone(),
            params: record.params.clone(),
            params_text: record.params_text.clone(),
            placement: record.placement.clone(),
            workers: record.workers,
            quantity: record.quantity,
            unit: record.unit,
            better: record.better,
            key: key(record),
        });
        Some(Value { metric, value, cost, error })
    }

    /// The shares of the time that the run's own CPU quota took, and others. No record has them:
    /// samples that are interrupted are measured again, so that the values of a host with half a
    /// CPU are those of a whole one. Of others only what makes a host hostile counts: less comes
    /// and goes on any guest.
    fn lost(&mut self, head: &RunHeader) -> Vec<Value> {
        let others = head.noise_lost.filter(|lost| NoiseVerdict::of_lost(*lost) == NoiseVerdict::Hostile);
        let shares = [
            (QUOTA, "Share of the time that the run's own CPU quota took", head.cpu_limit.map(|limit| limit.held_back)),
            (OTHERS, "Share of the time that others took, where it is a fifth and more", others),
        ];
        let mut values = Vec::new();
        for (id, summary, share) in shares {
            let value = share.unwrap_or(0.0);
            let Some(cost) = cost(value, Quantity::Ratio, Better::Lower) else { continue };
            let metric = self.index_of(Metric {
                id: id.to_owned(),
                summary: summary.to_owned(),
                params: Params::default(),
                params_text: String::new(),
                placement: Placement::Pinned,
                workers: 1,
                quantity: Quantity::Ratio,
                unit: Unit::One,
                better: Better::Lower,
                key: id.to_owned(),
            });
            values.push(Value { metric, value, cost, error: 0.0 });
        }
        values
    }

    /// The index of a metric, which is added if it is new.
    fn index_of(&mut self, metric: Metric) -> u32 {
        let next = self.metrics.len() as u32;
        let index = *self.known.entry(metric.key.clone()).or_insert(next);
        if index == next {
            self.metrics.push(metric);
        }
        index
    }
}

/// `mem.stream: a proof does not hold`, cut where a reason is longer than any of groma's.
fn failure(record: &Record) -> String {
    const LONGEST_REASON: usize = 200;
    format!("{}: {}", record.id, record.reason).chars().take(LONGEST_REASON).collect()
}

/// The identity, the version and the storage of a record.
fn key(record: &Record) -> String {
    let mut key = format!("{}|{}|{:?}", identity(record).replace('\0', "|"), record.version, record.unit);
    for fact in STORAGE {
        key.push('|');
        // A bar within it would be taken for the end of the field.
        key.push_str(&record.fact(fact).unwrap_or_default().replace('|', "/"));
    }
    key
}

/// The value of a metric with this cost: the inverse of `cost`.
pub fn value_of(metric: &Metric, cost: f64) -> f64 {
    match (metric.quantity, metric.better) {
        (Quantity::Ratio, _) => -(-cost).exp_m1(),
        (_, Better::Higher) => (-cost).exp(),
        _ => cost.exp(),
    }
}

/// The logarithm of what a value costs. A share of lost time costs what it makes everything else
/// longer. `None` where neither direction is better, and for values that no metric has.
fn cost(value: f64, quantity: Quantity, better: Better) -> Option<f64> {
    let cost = match (quantity, better) {
        (Quantity::Ratio, Better::Lower) if (0.0..1.0).contains(&value) => -(-value).ln_1p(),
        (Quantity::Ratio, Better::Lower) => return None,
        (_, Better::Lower) => value.ln(),
        (_, Better::Higher) => -value.ln(),
        (_, Better::Neither) => return None,
    };
    cost.is_finite().then_some(cost)
}

/// The standard deviation of a record's cost: from its interval, or with few rounds from their
/// range. `None` with a single round, which says nothing about it.
fn error(record: &Record, of_value: f64) -> Option<f64> {
    let of = |value: f64| cost(value, record.quantity, record.better);
    let rounds = &record.round_values[..record.round_values.len().min(MAX_ROUNDS)];
    match record.ci {
        // A side beyond what has a cost is as far as the other one.
        Some([low, high]) => {
            let far = [low, high].into_iter().filter_map(of).map(|end| (end - of_value).abs());
            far.fold(None, |far: Option<f64>, end| Some(far.map_or(end, |far| far.max(end))))
                .map(|far| far / HALF_INTERVAL)
        }
        // A value of all rounds together, or a share of which some rounds have none: no interval.
        None if record.rounds as usize > MAX_ROUNDS_WITHOUT_INTERVAL => Some(0.0),
        None => {
            let costs: Vec<f64> = rounds.iter().filter_map(|value| of(*value)).collect();
            let range = costs.iter().fold(f64::MIN, |a, b| a.max(*b)) - costs.iter().fold(f64::MAX, |a, b| a.min(*b));
            // The range of n values is more than one standard deviation for n of 2 and more, so
            // this is on the safe side.
            (costs.len() > 1).then_some(range)
        }
    }
}

/// Up to this many rounds there is no 95 % interval.
const MAX_ROUNDS_WITHOUT_INTERVAL: usize = 5;

/// The CPUs whose clock is below that of the median CPU, slowest first, from the facts of
/// `cpu.frequencies`: `cpu7` and its clock in Hz.
fn slow_cpus(records: &[Record]) -> Vec<(u32, f64)> {
    let Some(record) = records.iter().find(|record| record.id == "cpu.frequencies") else { return Vec::new() };
    let clock = |fact: &Fact| {
        let cpu: u32 = fact.key.strip_prefix("cpu")?.parse().ok()?;
        let hz: f64 = fact.value.parse().ok()?;
        (hz.is_finite() && hz > 0.0).then_some((cpu, hz))
    };
    let clocks: Vec<(u32, f64)> = record.facts.iter().filter_map(clock).collect();
    let Some(middle) = groma_stats::median(&clocks.iter().map(|(_, hz)| *hz).collect::<Vec<_>>()) else {
        return Vec::new();
    };
    let mut slow: Vec<(u32, f64)> =
        clocks.iter().map(|(cpu, hz)| (*cpu, middle / hz)).filter(|(_, times)| *times >= SLOW_CPU).collect();
    slow.sort_by(|a, b| b.1.total_cmp(&a.1));
    slow
}
