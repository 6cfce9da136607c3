//! A host without equals beside the reference machines: which of its values are worse than on all
//! of them. That is a hint and no verdict: the machines differ from it.

use std::collections::HashMap;

use groma_model::Record;

use super::{Host, Metric, Value, cost, key};
use crate::point::{STORAGE, measured_value};

/// The greatest cost of each metric among the reference machines, by identity and version.
pub type Known = HashMap<String, f64>;

/// A host beside the references.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BesideReferences {
    /// How many of its values at least two references have too.
    pub compared: usize,
    /// Those that cost more than on each reference: index of the metric, and how many times as much
    /// as on the slowest one. The worst first.
    pub worse: Vec<(u32, f64)>,
}

/// What the records of all reference machines hold together; metrics of a single one are left out.
pub fn known_values(machines: &[Vec<Record>]) -> Known {
    let mut all: HashMap<String, (f64, usize)> = HashMap::new();
    for record in machines.iter().flatten() {
        let of = measured_value(record).and_then(|value| cost(value, record.quantity, record.better));
        let Some(cost) = of else { continue };
        let known = all.entry(unstored(&key(record)).to_owned()).or_insert((cost, 0));
        *known = (known.0.max(cost), known.1 + 1);
    }
    all.into_iter().filter(|(_, (_, machines))| *machines > 1).map(|(key, (worst, _))| (key, worst)).collect()
}

/// A key without the storage, which is its end: references have disks of their own.
fn unstored(key: &str) -> &str {
    key.rmatch_indices('|').nth(STORAGE.len() - 1).map_or(key, |(at, _)| &key[..at])
}

/// Compares a host with the references. `least` is the logarithm of the smallest ratio that
/// matters.
pub fn beside(host: &Host, metrics: &[Metric], known: &Known, least: f64) -> BesideReferences {
    let mut beside = BesideReferences::default();
    for Value { metric, cost, .. } in &host.values {
        let key = unstored(&metrics[*metric as usize].key);
        let Some(worst) = known.get(key) else { continue };
        beside.compared += 1;
        let excess = cost - worst;
        if excess >= least {
            beside.worse.push((*metric, excess.exp()));
        }
    }
    beside.worse.sort_by(|a, b| b.1.total_cmp(&a.1));
    beside
}
