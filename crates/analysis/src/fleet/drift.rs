//! What changed on a whole group since it was last judged: a new kernel or firmware makes all of
//! its hosts slower at once, and none of them an outlier.
//!
//! The earlier judgement also serves as the equals of hosts that have too few today.

use std::collections::{BTreeSet, HashMap, HashSet};

use groma_stats::holm;

use super::finding::Subject;
use super::groups::{Settings, differing};
use super::outliers::{GroupUsual, LEVEL, Usual};
use super::signatures::{Area, Signatures};
use super::{Fleet, Metric};

/// A group in an earlier judgement, which was judged by its own hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The facts of its kind, as in [`super::Grouping::families`].
    pub kind: Vec<String>,
    /// The names of its hosts.
    pub hosts: HashSet<String>,
    /// How many runs it holds, of which one host may have several.
    pub runs: usize,
    /// How its hosts are set.
    pub settings: Settings,
    /// Its metrics, by [`Metric::key`].
    pub metrics: HashMap<String, Usual>,
    /// The areas, by name.
    pub areas: HashMap<String, Usual>,
}

impl Past {
    /// What was usual in it.
    pub fn usual(&self, metrics: &[Metric], signatures: &Signatures, areas: &[Vec<u32>]) -> GroupUsual {
        let judged: BTreeSet<u32> = areas.iter().flatten().copied().collect();
        let metric = |index: &u32| Some((Subject::Metric(*index), self.metrics.get(&metrics[*index as usize].key)?));
        let area = |(index, area): (usize, &Area)| Some((Subject::Area(index), self.areas.get(&area.name)?));
        let all = judged.iter().filter_map(metric).chain(signatures.areas.iter().enumerate().filter_map(area));
        GroupUsual { subjects: all.map(|(subject, usual)| (subject, usual.clone())).collect() }
    }
}

/// A metric of a group that changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The index of the metric.
    pub metric: u32,
    /// How many times as slow it is now; below 1 if it is faster.
    pub times: f64,
    /// The probability by chance, adjusted after Holm for the metrics of the group.
    pub p: f64,
}

/// The earlier group that this one was: of the same kind, with the most hosts in common.
pub fn past_of<'p>(past: &'p [Past], kind: &[String], fleet: &Fleet, hosts: &[usize]) -> Option<&'p Past> {
    let common = |past: &&Past| hosts.iter().filter(|host| past.hosts.contains(&fleet.hosts[**host].name)).count();
    past.iter().filter(|past| past.kind == kind).max_by_key(common).filter(|past| common(past) > 0)
}

/// The earlier group that hosts without equals are judged by: of the same kind, with the most hosts
/// in common, then with the fewest settings that differ, then the largest.
pub fn equals_of<'p>(
    past: &'p [Past],
    kind: &[String],
    settings: &Settings,
    fleet: &Fleet,
    hosts: &[usize],
) -> Option<&'p Past> {
    past.iter().filter(|past| past.kind == kind).max_by_key(|past| {
        let common = hosts.iter().filter(|host| past.hosts.contains(&fleet.hosts[**host].name)).count();
        (common, std::cmp::Reverse(differing(settings, &past.settings).len()), past.runs)
    })
}

/// What changed, the largest change first. `least` is the logarithm of the smallest ratio that
/// matters.
pub fn drift(usual: &GroupUsual, metrics: &[Metric], past: &Past, least: f64) -> Vec<Drift> {
    let both = usual.subjects.iter().filter_map(|(subject, usual)| {
        let Subject::Metric(metric) = subject else { return None };
        let key = &metrics[*metric as usize].key;
        let then = past.metrics.get(key)?;
        let change = usual.crowd.center - then.crowd.center;
        Some((Drift { metric: *metric, times: change.exp(), p: 1.0 }, usual.crowd.p_shifted(&then.crowd), change))
    });
    let all: Vec<(Drift, f64, f64)> = both.collect();
    let p = holm(&all.iter().map(|(_, p, _)| *p).collect::<Vec<_>>());
    let mut found: Vec<Drift> = all
        .into_iter()
        .zip(p)
        .filter(|((_, _, change), p)| *p <= LEVEL && change.abs() >= least)
        .map(|((drift, _, _), p)| Drift { p, ..drift })
        .collect();
    found.sort_by(|a, b| b.times.ln().abs().total_cmp(&a.times.ln().abs()));
    found
}
