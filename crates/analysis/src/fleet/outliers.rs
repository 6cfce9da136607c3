//! The values of a host that lie beyond its group.
//!
//! Each value is compared with the median and the spread of the group, on the logarithm of what it
//! costs, so that a time that doubles and a rate that halves are the same. The spread holds how
//! hosts of the group differ when none is faulty, and how well one run measures a host. A host
//! whose own interval is wider than that of the others has the difference added, so that noise is
//! not taken for slowness. Only what is slower counts.
//!
//! Subjects are metrics, and areas: the median of the excesses of related metrics. A fault that
//! slows a dozen metrics by 5 % is seen in their median where each alone is too noisy.
//!
//! **Error control.** Of a host with K subjects, the smallest p times K (Bonferroni) is the p of
//! the host. These are corrected for noise with heavier tails than assumed; over hosts, these are
//! adjusted after Benjamini and Hochberg: of the hosts that are named, at most 5 % are named by
//! chance. Rejected: Holm over hosts times metrics, by which no single false alarm is likely in a
//! judgement of 10,000 hosts, and which for that asks a fault to be a quarter larger; a false alarm
//! costs a second run (`--confirm`), a missed host costs every job. Rejected: Benjamini and
//! Hochberg over hosts times metrics, which counts each of the twenty slow metrics of one slow host
//! as a discovery that pays for a false one elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use groma_stats::{Crowd, benjamini_hochberg, median, quantile};

use super::Host;
use super::finding::{Finding, Subject};

/// Of the hosts that are named, at most this share is named by chance.
pub const LEVEL: f64 = 0.05;
/// Spreads below this are that of no real group: two runs of one host differ by as much.
const MIN_SPREAD: f64 = 0.003;
/// The fewest metrics that make an area.
const MIN_METRICS_OF_AREA: usize = 3;
/// In groups of fewer hosts, a host is compared with the others only: it would be a part of its own
/// measure. In larger ones that changes nothing and takes a sort for each host.
const LARGE_GROUP: usize = 20;
/// A host is noisy if its intervals are this many times as wide as those of its group, in median.
const NOISY_RATIO: f64 = 3.0;
/// Half of a 95 % interval in standard deviations.
const HALF_INTERVAL: f64 = 1.96;
/// The variance of a median of n values over that of their mean.
const MEDIAN_VARIANCE_RATIO: f64 = 1.57;

/// How one subject is in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// The costs of the hosts, and which host each is of.
    costs: Vec<(usize, f64)>,
    /// Center and spread of the costs.
    pub crowd: Crowd,
    /// The median of the errors of the hosts.
    pub error: f64,
}

impl Usual {
    /// As an earlier judgement has it, whose hosts are not here.
    pub fn earlier(crowd: Crowd, error: f64) -> Usual {
        Usual { costs: Vec::new(), crowd, error }
    }

    /// `None` with too few hosts.
    fn of(values: &[(usize, f64, f64)], fewest: usize) -> Option<Usual> {
        let costs: Vec<f64> = values.iter().map(|(_, cost, _)| *cost).collect();
        let error = median(&values.iter().map(|(_, _, error)| *error).collect::<Vec<_>>())?;
        let crowd = Crowd::of(&costs, error.max(MIN_SPREAD)).filter(|_| values.len() >= fewest)?;
        Some(Usual { costs: values.iter().map(|(host, cost, _)| (*host, *cost)).collect(), crowd, error })
    }

    /// The crowd that a host is compared with.
    fn without(&self, host: usize) -> Option<Crowd> {
        if self.costs.len() >= LARGE_GROUP || self.costs.iter().all(|(other, _)| *other != host) {
            return Some(self.crowd);
        }
        let others: Vec<f64> = self.costs.iter().filter(|(other, _)| *other != host).map(|(_, cost)| *cost).collect();
        Crowd::of(&others, self.error.max(MIN_SPREAD))
    }
}

/// What is usual in a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupUsual {
    /// Of each subject.
    pub subjects: BTreeMap<Subject, Usual>,
}

impl GroupUsual {
    /// Of the hosts of a group. `areas` holds the metrics of each area; metrics in none of them,
    /// and subjects that fewer than `fewest` hosts have, are left out.
    pub fn of(hosts: &[Host], members: &[usize], areas: &[Vec<u32>], fewest: usize) -> GroupUsual {
        let judged: BTreeSet<u32> = areas.iter().flatten().copied().collect();
        let mut values: BTreeMap<u32, Vec<(usize, f64, f64)>> = BTreeMap::new();
        for &host in members {
            for value in hosts[host].values.iter().filter(|value| judged.contains(&value.metric)) {
                values.entry(value.metric).or_default().push((host, value.cost, value.error));
            }
        }
        let metrics = values.iter().filter_map(|(metric, of)| Some((Subject::Metric(*metric), Usual::of(of, fewest)?)));
        let mut usual = GroupUsual { subjects: metrics.collect() };
        for (i, area) in areas.iter().enumerate() {
            let of_host = |host: &usize| usual.area(area, &hosts[*host]).map(|(cost, error)| (*host, cost, error));
            let values: Vec<(usize, f64, f64)> = members.iter().filter_map(of_host).collect();
            if let Some(found) = Usual::of(&values, fewest) {
                usual.subjects.insert(Subject::Area(i), found);
            }
        }
        usual
    }

    /// The median excess of a host over the metrics of an area, each with a weight of one over its
    /// spread, and its error.
    fn area(&self, area: &[u32], host: &Host) -> Option<(f64, f64)> {
        let excess = |metric: &u32| {
            let (usual, value) = (self.subjects.get(&Subject::Metric(*metric))?, host.value(*metric)?);
            Some((value.cost - usual.crowd.center, 1.0 / usual.crowd.spread, value.error))
        };
        let mut all: Vec<(f64, f64, f64)> = area.iter().filter_map(excess).collect();
        if all.len() < MIN_METRICS_OF_AREA {
            return None;
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let weight: f64 = all.iter().map(|(_, weight, _)| weight).sum();
        let mut below = 0.0;
        let middle = all.iter().find(|(_, weight_of_one, _)| {
            below += weight_of_one;
            2.0 * below >= weight
        })?;
        let variance = all.iter().map(|(_, share, error)| (share / weight * error).powi(2)).sum::<f64>();
        Some((middle.0, (MEDIAN_VARIANCE_RATIO * variance).sqrt()))
    }

    /// The cost of a subject of a host, and its error.
    fn cost(&self, subject: Subject, host: &Host, areas: &[Vec<u32>]) -> Option<(f64, f64)> {
        match subject {
            Subject::Metric(metric) => host.value(metric).map(|value| (value.cost, value.error)),
            Subject::Area(area) => self.area(&areas[area], host),
        }
    }

    /// Compares a host with the group, of which it may be one. `least` is the logarithm of the
    /// smallest ratio that matters.
    pub fn compare(&self, index: usize, host: &Host, areas: &[Vec<u32>], least: f64) -> Compared {
        let mut compared = Compared::default();
        let mut wider = Vec::new();
        for (subject, usual) in &self.subjects {
            let Some((cost, error)) = self.cost(*subject, host, areas) else { continue };
            let Some(crowd) = usual.without(index) else { continue };
            let excess = cost - crowd.center;
            compared.excesses.push((*subject, excess));
            let own = (error * error - usual.error * usual.error).max(0.0).sqrt();
            if usual.error > 0.0 {
                wider.push(error / usual.error);
            }
            let half = HALF_INTERVAL * error;
            // What may be as large as what matters, if the estimate is at least half of it.
            let matters = excess + half >= least && excess >= least / 2.0;
            let [p, p_if_calm] = [own, 0.0].map(|own| crowd.p_above(cost, own));
            compared.of_all = compared.of_all.min(p);
            let [p, p_if_calm] = [p, p_if_calm].map(|p| if matters { p } else { 1.0 });
            let interval = [excess - half, excess + half].map(f64::exp);
            compared.tests.push(Finding { subject: *subject, times: excess.exp(), interval, p });
            compared.if_calm = compared.if_calm.min(p_if_calm);
        }
        let count = compared.tests.len() as f64;
        for test in &mut compared.tests {
            test.p = (test.p * count).min(1.0);
        }
        compared.if_calm = (compared.if_calm * count).min(1.0);
        compared.of_all = (compared.of_all * count).min(1.0);
        compared.is_wide = median(&wider).is_some_and(|wider| wider > NOISY_RATIO);
        compared
    }
}

/// A host beside its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// All subjects, with p adjusted for their number.
    pub tests: Vec<Finding>,
    /// The excess of each subject, as a logarithm.
    pub excesses: Vec<(Subject, f64)>,
    /// The smallest adjusted p, whether it matters or not.
    of_all: f64,
    /// The smallest adjusted p if its intervals were as narrow as those of the others.
    if_calm: f64,
    /// Whether its intervals are much wider than those of the others.
    is_wide: bool,
}

impl Default for Compared {
    fn default() -> Compared {
        Compared { tests: Vec::new(), excesses: Vec::new(), of_all: 1.0, if_calm: 1.0, is_wide: false }
    }
}

impl Compared {
    /// The probability of such a host by chance.
    pub fn p(&self) -> f64 {
        self.tests.iter().map(|test| test.p).fold(1.0, f64::min)
    }

    /// As [`p`](Compared::p), whether the difference matters or not.
    pub fn p_of_all(&self) -> f64 {
        self.of_all
    }

    /// Whether a host that is not named looks slow, and is measured so imprecisely that this
    /// decides: with the intervals of the others it would be ten times less likely.
    pub fn is_noisy(&self) -> bool {
        self.is_wide || (self.if_calm <= LEVEL && self.p() > 10.0 * self.if_calm)
    }

    /// What lies beyond the group, the slowest first; metrics before areas.
    pub fn findings(&self) -> Vec<Finding> {
        let least = self.p();
        let mut found: Vec<Finding> =
            self.tests.iter().filter(|test| test.p < 1.0 && (test.p <= LEVEL || test.p <= least)).copied().collect();
        found.sort_by(|a, b| {
            let is_area = |finding: &Finding| matches!(finding.subject, Subject::Area(_));
            is_area(a).cmp(&is_area(b)).then(b.times.total_cmp(&a.times))
        });
        found
    }
}

/// What is asked about a host: its probability by chance, that without regard to whether it
/// matters, and its group.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// [`Compared::p`].
    pub p: f64,
    /// [`Compared::p_of_all`].
    pub p_of_all: f64,
    /// The index of the group.
    pub group: usize,
}

/// Which hosts to name: of those named, at most [`LEVEL`] by chance.
pub fn hosts_to_name(hosts: &[Asked]) -> Vec<bool> {
    let p: Vec<f64> = calibrate(hosts);
    benjamini_hochberg(&p).into_iter().map(|adjusted| adjusted <= LEVEL).collect()
}

/// Groups from this size on are calibrated by themselves, the smaller ones together.
const CALIBRATED: usize = 50;
/// Fewer hosts do not show a distribution.
const MIN_CALIBRATED_HOSTS: usize = 20;

/// The probabilities of hosts, corrected by how they are distributed over all hosts, nearly all of
/// which are well. If the spreads describe the noise, they are uniform: half of them are below 0.5
/// and a tenth below 0.1, and their negative logarithms are exponential. Where the noise has
/// heavier tails, the logarithms are further apart, and what lies beyond the tenth is extrapolated
/// with that distance. Never more is made of a host than its own probability says.
fn calibrate(hosts: &[Asked]) -> Vec<f64> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    hosts.iter().for_each(|asked| *sizes.entry(asked.group).or_default() += 1);
    let pool = |asked: &Asked| (sizes[&asked.group] >= CALIBRATED).then_some(asked.group);
    let mut pools: BTreeMap<Option<usize>, Vec<f64>> = BTreeMap::new();
    for asked in hosts {
        pools.entry(pool(asked)).or_default().push(-asked.p_of_all.max(f64::MIN_POSITIVE).ln());
    }
    let tails: BTreeMap<Option<usize>, Tail> =
        pools.into_iter().filter_map(|(pool, scores)| Some((pool, Tail::of(&scores)?))).collect();
    let corrected = |asked: &Asked| tails.get(&pool(asked)).map_or(asked.p, |tail| tail.p(asked.p));
    hosts.iter().map(corrected).collect()
}

/// How the negative logarithms of probabilities are distributed.
#[derive(Clone, Copy, Debug)]
struct Tail {
    /// The value that a tenth exceeds.
    tenth: f64,
    /// The scale of the exponential distribution beyond it: 1 if probabilities are uniform.
    scale: f64,
}

impl Tail {
    fn of(scores: &[f64]) -> Option<Tail> {
        let [half, tenth] = [quantile(scores, 0.5)?, quantile(scores, 0.9)?];
        // Half of an exponential distribution lies above ln 2, a tenth above ln 10.
        let scale = (tenth - half) / 5.0_f64.ln();
        (scores.len() >= MIN_CALIBRATED_HOSTS).then_some(Tail { tenth, scale: scale.max(1.0) })
    }

    fn p(self, p: f64) -> f64 {
        // Beyond what its computation can tell from 0.
        if p <= f64::EPSILON {
            return p;
        }
        let beyond = (-p.ln() - self.tenth) / self.scale;
        p.max(if beyond > 0.0 { 0.1 * (-beyond).exp() } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_no_part_of_its_own_measure() {
        let values: Vec<(usize, f64, f64)> =
            [0.0, 0.01, 0.02, 0.03, 1.0].into_iter().enumerate().map(|(host, cost)| (host, cost, 0.001)).collect();
        let usual = Usual::of(&values, 5).expect("enough hosts");
        let center = |host| usual.without(host).expect("enough hosts").center;
        assert_eq!((usual.crowd.center, center(4), center(9)), (0.02, 0.015, 0.02));
    }

    #[test]
    fn probabilities_that_are_uniform_stay_and_heavier_tails_are_extended() {
        let of = |power: i32| {
            let hosts = (1..=100).map(|i| Asked {
                p: (f64::from(i) / 101.0).powi(power),
                p_of_all: (f64::from(i) / 101.0).powi(power),
                group: 0,
            });
            calibrate(&hosts.collect::<Vec<_>>())
        };
        // The smallest of a hundred is 0.01 if they are uniform; p to the power of four says 1e-8.
        assert!((of(1)[0] / 0.0099 - 1.0).abs() < 0.1 && (of(4)[0] / 0.0099 - 1.0).abs() < 0.2, "{}", of(4)[0]);
    }
}
