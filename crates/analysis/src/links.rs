//! Which links between hosts are slow, and whether the fault is the link's, the host's or the
//! switch's (docs/methods/statistics.md#links-of-a-fleet).
//!
//! Not `fleet`, which compares hosts by what each measures alone.

use groma_stats::{Crowd, additive, holm, median};
use std::collections::BTreeMap;

/// One host measured another: a metric and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The index of the host that measured.
    pub from: usize,
    /// The index of its peer.
    pub to: usize,
    /// The value, in the unit of its metric.
    pub value: f64,
}

/// All values of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricOfLinks {
    /// Its name: `net.tcp_rtt`, `net.tcp_rtt p99`.
    pub name: String,
    /// Whether a lower value is better: a latency, as opposed to a bandwidth.
    pub lower_is_better: bool,
    /// What was measured.
    pub values: Vec<Measured>,
}

/// What is slow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slow {
    /// All links from some hosts to others: the index of the switch.
    Switch(usize),
    /// All links of a host.
    Host(usize),
    /// The link between two hosts, the smaller index first.
    Link(usize, usize),
}

/// Something slow in a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub slow: Slow,
    /// The index of the metric.
    pub metric: usize,
    /// How many times as slow as the others.
    pub times: f64,
    /// The probability by chance, adjusted after Holm over all hosts, links and metrics.
    pub p: f64,
}

/// The judgement of all links.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What is slow, switches before hosts before links, the slowest first.
    pub findings: Vec<Finding>,
    /// Of each metric the usual value of a link; `None` without values.
    pub usual: Vec<Option<f64>>,
    /// Whether hosts can be told from their links: from four hosts on.
    pub is_judged: bool,
}

/// The fewest hosts: of three, each has two links, and one slow link looks like two slow hosts.
pub const MIN_HOSTS: usize = 4;
/// The probability of any false finding.
const LEVEL: f64 = 0.05;
/// From this many values on, one more or less does not move the median and the spread of the
/// others.
const ONE_CROWD: usize = 20;
/// The least spread that is assumed, as a logarithm: what two runs of one link differ by.
const MIN_SPREAD: f64 = 0.02;

/// Judges the links of so many hosts. `switches` are groups of hosts, each behind one switch;
/// `at_least` is the smallest slow-down that matters, as a fraction.
pub fn judge(hosts: usize, metrics: &[MetricOfLinks], switches: &[Vec<usize>], at_least: f64) -> Judgement {
    let mut found: Vec<Finding> = Vec::new();
    let mut usual = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        let pairs = costs(metric);
        let Some(fit) = additive(hosts, &pairs) else {
            usual.push(None);
            continue;
        };
        let sign = if metric.lower_is_better { 1.0 } else { -1.0 };
        usual.push(Some((sign * fit.base).exp()));
        if hosts < MIN_HOSTS {
            continue;
        }
        let finding = |slow, excess: f64, p| Finding { slow, metric: index, times: excess.exp(), p };
        let mut members = fit.members.clone();
        for (switch, inside) in switches.iter().enumerate() {
            if let Some(excess) = of_switch(inside, &pairs, at_least) {
                // By rule, not by a test: all links that cross it, and none within.
                found.push(finding(Slow::Switch(switch), excess, 0.0));
                inside.iter().for_each(|host| members[*host] = 0.0);
            }
        }
        let of_hosts = members.iter().copied().enumerate().map(|(host, part)| (Slow::Host(host), part));
        found.extend(outliers(of_hosts.collect()).into_iter().map(|(slow, part, p)| finding(slow, part, p)));
        let links = pairs.iter().zip(&fit.residuals).map(|((a, b, _), left)| (Slow::Link(*a, *b), *left));
        found.extend(outliers(links.collect()).into_iter().map(|(slow, left, p)| finding(slow, left, p)));
    }
    let adjusted = holm(&found.iter().map(|finding| finding.p).collect::<Vec<_>>());
    let mut findings: Vec<Finding> = found
        .into_iter()
        .zip(adjusted)
        .map(|(finding, p)| Finding { p, ..finding })
        .filter(|finding| finding.p <= LEVEL && finding.times >= 1.0 + at_least)
        .collect();
    let kind = |slow: &Slow| match slow {
        Slow::Switch(_) => 0,
        Slow::Host(_) => 1,
        Slow::Link(..) => 2,
    };
    findings.sort_by(|a, b| kind(&a.slow).cmp(&kind(&b.slow)).then(b.times.total_cmp(&a.times)));
    Judgement { findings, usual, is_judged: hosts >= MIN_HOSTS }
}

/// The logarithm of the cost of each pair of hosts: the mean of both directions.
fn costs(metric: &MetricOfLinks) -> Vec<(usize, usize, f64)> {
    let sign = if metric.lower_is_better { 1.0 } else { -1.0 };
    let mut by_pair: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for one in metric.values.iter().filter(|one| one.value > 0.0 && one.from != one.to) {
        by_pair.entry((one.from.min(one.to), one.from.max(one.to))).or_default().push(sign * one.value.ln());
    }
    by_pair.into_iter().map(|((a, b), all)| (a, b, all.iter().sum::<f64>() / all.len() as f64)).collect()
}

/// How much slower the links are that leave this group than those between all others, if those
/// within it are not.
fn of_switch(inside: &[usize], pairs: &[(usize, usize, f64)], at_least: f64) -> Option<f64> {
    let ends = |a: &usize, b: &usize| usize::from(inside.contains(a)) + usize::from(inside.contains(b));
    let of = |count: usize| {
        let values: Vec<f64> = pairs.iter().filter(|(a, b, _)| ends(a, b) == count).map(|(_, _, v)| *v).collect();
        median(&values)
    };
    let (others, crossing, within) = (of(0)?, of(1)?, of(2)?);
    let least = at_least.ln_1p();
    (inside.len() >= 2 && crossing - others >= least && within - others < least / 2.0).then_some(crossing - others)
}

/// Each value with its probability by chance, beside all the others.
fn outliers(all: Vec<(Slow, f64)>) -> Vec<(Slow, f64, f64)> {
    let values: Vec<f64> = all.iter().map(|(_, value)| *value).collect();
    if values.len() >= ONE_CROWD {
        let Some(crowd) = Crowd::of(&values, MIN_SPREAD) else { return Vec::new() };
        return all.into_iter().map(|(slow, value)| (slow, value, crowd.p_above(value, 0.0))).collect();
    }
    let of = |value: f64, others: &[f64]| Crowd::of(others, MIN_SPREAD).map_or(1.0, |crowd| crowd.p_above(value, 0.0));
    // Of three hosts beside it no spread is known, and the links' is taken for theirs.
    let few = |value: f64, others: &[f64]| {
        let far = median(others).is_some_and(|middle| value - middle > 10.0 * MIN_SPREAD);
        let apart = others.iter().all(|other| value - other > 3.0 * spread(others));
        if far && apart { LEVEL / 50.0 } else { 1.0 }
    };
    let enough = values.len() > groma_stats::crowd::MIN_VALUES;
    let p = |i: usize, value: f64| {
        let others: Vec<f64> = values.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, value)| *value).collect();
        if enough { of(value, &others) } else { few(value, &others) }
    };
    all.into_iter().enumerate().map(|(i, (slow, value))| (slow, value, p(i, value))).collect()
}

fn spread(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_stats::Rng;

    /// Both directions of all links, as latencies of 50 us times what `of` says, with noise.
    fn metric(hosts: usize, noise: f64, of: impl Fn(usize, usize) -> f64, rng: &mut Rng) -> MetricOfLinks {
        let all = (0..hosts).flat_map(|a| (0..hosts).filter(move |b| *b != a).map(move |b| (a, b)));
        let values = all
            .map(|(from, to)| Measured {
                from,
                to,
                value: 50e-6 * of(from.min(to), from.max(to)) * (noise * rng.normal()).exp(),
            })
            .collect();
        MetricOfLinks { name: "net.tcp_rtt".to_owned(), lower_is_better: true, values }
    }

    fn findings(hosts: usize, of: impl Fn(usize, usize) -> f64, switches: &[Vec<usize>], rng: &mut Rng) -> Vec<Slow> {
        let judged = judge(hosts, &[metric(hosts, 0.03, of, rng)], switches, 0.2);
        judged.findings.into_iter().map(|finding| finding.slow).collect()
    }

    #[test]
    fn hosts_links_and_switches_are_told_apart() {
        let rng = &mut Rng::new(3);
        for hosts in [4, 6, 16, 60] {
            let slow = |is: bool, times: f64| if is { times } else { 1.0 };
            for _ in 0..20 {
                assert_eq!(findings(hosts, |_, _| 1.0, &[], rng), [], "{hosts}");
                assert_eq!(findings(hosts, |a, b| slow(a == 2 || b == 2, 3.0), &[], rng), [Slow::Host(2)], "{hosts}");
                let link = |a, b| slow((a, b) == (1, 3), 3.0);
                assert_eq!(findings(hosts, link, &[], rng), [Slow::Link(1, 3)], "{hosts}");
                let both = |a, b| slow(a == 0, 3.0) * slow((a, b) == (1, 3), 4.0);
                if hosts > 4 {
                    assert_eq!(findings(hosts, both, &[], rng), [Slow::Host(0), Slow::Link(1, 3)], "{hosts}");
                }
            }
        }
        let halves = [(0..8).collect::<Vec<_>>(), (8..24).collect()];
        for _ in 0..20 {
            let crossing = |a: usize, b: usize| if (a < 8) != (b < 8) { 2.0 } else { 1.0 };
            assert_eq!(findings(24, crossing, &halves[..1], rng), [Slow::Switch(0)]);
            assert_eq!(findings(24, |_, _| 1.0, &halves, rng), []);
        }
    }

    #[test]
    fn a_higher_bandwidth_is_no_fault_and_a_lower_one_is() {
        let rng = &mut Rng::new(4);
        for (times, expected) in [(3.0, vec![]), (1.0 / 3.0, vec![Slow::Host(1)])] {
            let mut bandwidth = metric(8, 0.03, |a, b| if a == 1 || b == 1 { times } else { 1.0 }, rng);
            bandwidth.lower_is_better = false;
            let judged = judge(8, &[bandwidth], &[], 0.2);
            assert_eq!(judged.findings.iter().map(|one| one.slow.clone()).collect::<Vec<_>>(), expected);
            let usual = judged.usual[0].expect("values");
            assert!((usual / 50e-6 - 1.0).abs() < 0.1, "{usual}");
        }
    }

    #[test]
    fn three_hosts_are_too_few() {
        let rng = &mut Rng::new(5);
        let judged = judge(3, &[metric(3, 0.03, |a, b| if (a, b) == (0, 1) { 9.0 } else { 1.0 }, rng)], &[], 0.2);
        assert!(!judged.is_judged && judged.findings.is_empty() && judged.usual[0].is_some());
    }
}
