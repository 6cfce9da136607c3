//! Matrices: records that differ in the pair of CPUs or nodes at which they were taken, and the
//! groups among them.

use groma_model::{Placement, Record};

use crate::point::measured;

/// Values between pairs.
pub struct Matrix {
    /// What is paired, as people name it: `0`, `1`.
    pub names: Vec<String>,
    /// Whether a pair is the same either way.
    pub symmetric: bool,
    values: Vec<Option<f64>>,
}

/// The protocol that is shown when nobody asks for another.
const PROTOCOL: &str = "cas1";

/// The two CPUs of a record.
fn cpus(record: &Record) -> Option<(u32, u32)> {
    match &record.placement {
        Placement::List(cpus) if cpus.len() == 2 => Some((cpus[0], cpus[1])),
        _ => None,
    }
}

/// The two nodes of a record, that of the CPU and that of the memory: `node0-node1`, or a list of
/// two.
fn nodes(record: &Record) -> Option<(u32, u32)> {
    let text = record.placement.to_string();
    match text.strip_prefix("node").and_then(|t| t.split_once("-node")) {
        Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
        None => cpus(record),
    }
}

/// The protocol of which a matrix of `cpu.core_to_core` is: the one that is asked for, else
/// `cas1`, else the first.
pub fn protocol<'a>(records: &[&'a Record], asked: Option<&'a str>) -> Option<&'a str> {
    let of = |r: &&'a Record| r.params.word("protocol");
    asked.or_else(|| records.iter().filter_map(of).find(|p| *p == PROTOCOL)).or_else(|| records.iter().find_map(of))
}

impl Matrix {
    /// The latencies between CPUs by one protocol; `None` without a pair that was measured.
    pub fn of_cores(records: &[&Record], asked: Option<&str>) -> Option<Matrix> {
        let protocol = protocol(records, asked);
        let of_it = |r: &&&Record| r.params.word("protocol") == protocol && cpus(r).is_some();
        let first = records.iter().find(of_it)?;
        let same = records.iter().filter(|r| r.params == first.params);
        Matrix::new(same.filter_map(|r| Some((cpus(r)?, measured(r)?))).collect(), true)
    }

    /// The values between nodes: from the CPU of one to the memory of another.
    pub fn of_nodes(records: &[&Record]) -> Option<Matrix> {
        let first = records.iter().find(|r| nodes(r).is_some())?;
        let same = records.iter().filter(|r| r.params == first.params);
        Matrix::new(same.filter_map(|r| Some((nodes(r)?, measured(r)?))).collect(), false)
    }

    fn new(pairs: Vec<((u32, u32), f64)>, symmetric: bool) -> Option<Matrix> {
        let mut ids: Vec<u32> = pairs.iter().flat_map(|((a, b), _)| [*a, *b]).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return None;
        }
        let n = ids.len();
        let mut matrix =
            Matrix { names: ids.iter().map(u32::to_string).collect(), symmetric, values: vec![None; n * n] };
        let place = |id: u32| ids.binary_search(&id).unwrap_or(0);
        for ((a, b), value) in pairs {
            let (a, b) = (place(a), place(b));
            matrix.values[a * n + b] = Some(value);
            if symmetric && matrix.values[b * n + a].is_none() {
                matrix.values[b * n + a] = Some(value);
            }
        }
        Some(matrix)
    }

    /// The value from one to another.
    pub fn value(&self, from: usize, to: usize) -> Option<f64> {
        self.values.get(from * self.names.len() + to).copied().flatten()
    }

    /// All values that are there.
    pub fn all(&self) -> Vec<f64> {
        self.values.iter().flatten().copied().collect()
    }

    /// The values of each with itself.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.names.len()).filter_map(|i| self.value(i, i)).collect()
    }

    /// The values of each with others.
    pub fn off_diagonal(&self) -> Vec<f64> {
        let n = self.names.len();
        (0..n * n).filter(|i| i / n != i % n).filter_map(|i| self.values[i]).collect()
    }

    /// Whether every pair was measured, one way at least: a group with gaps must not be told.
    pub fn is_complete(&self) -> bool {
        let n = self.names.len();
        (0..n).all(|a| (a + 1..n).all(|b| self.value(a, b).or(self.value(b, a)).is_some()))
    }

    /// The groups that the values fall into, the closest first: single linkage, cut where the next
    /// link costs much more than the one before it. No level where there is no such step, or a pair
    /// is missing.
    pub fn clusters(&self) -> Vec<Vec<Vec<usize>>> {
        if !self.is_complete() {
            return Vec::new();
        }
        clusters(self.names.len(), |a, b| match (self.value(a, b), self.value(b, a)) {
            // Interference only adds.
            (Some(there), Some(back)) => Some(there.min(back)),
            (one, other) => one.or(other),
        })
    }
}

/// A link belongs to the next level when it costs so many times as much as the one before.
const STEP: f64 = 1.4;

/// Groups by single linkage, one set of groups for each step among the links that join them.
fn clusters(n: usize, value: impl Fn(usize, usize) -> Option<f64>) -> Vec<Vec<Vec<usize>>> {
    let mut links: Vec<(f64, usize, usize)> = Vec::new();
    for a in 0..n {
        links.extend((a + 1..n).filter_map(|b| Some((value(a, b).filter(|v| *v > 0.0)?, a, b))));
    }
    links.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut group: Vec<usize> = (0..n).collect();
    let mut levels = Vec::new();
    let mut last: Option<f64> = None;
    for (cost, a, b) in links {
        let (from, to) = (group[b], group[a]);
        if from == to {
            continue;
        }
        if last.is_some_and(|last| cost > STEP * last) {
            levels.push(groups(&group));
        }
        last = Some(cost);
        for g in &mut group {
            if *g == from {
                *g = to;
            }
        }
    }
    levels
}

/// Members that carry the same number, in order of their first.
fn groups(group: &[usize]) -> Vec<Vec<usize>> {
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    for (member, number) in group.iter().enumerate() {
        match all.iter_mut().find(|(g, _)| g == number) {
            Some((_, members)) => members.push(member),
            None => all.push((*number, vec![member])),
        }
    }
    all.into_iter().map(|(_, members)| members).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of a core, cores of a cache, caches: 8 CPUs of which 0 and 4, 1 and 5 ... are
    /// threads of one core.
    fn latency(a: usize, b: usize) -> Option<f64> {
        let noise = 1.0 + 0.01 * ((a * 7 + b * 3) % 10) as f64;
        Some(
            noise
                * if a % 4 == b % 4 {
                    10.0
                } else if a % 2 == b % 2 {
                    25.0
                } else {
                    100.0
                },
        )
    }

    #[test]
    fn groups_within_groups() {
        let levels = clusters(8, latency);
        assert_eq!(levels.len(), 2);
        assert_eq!(levels[0], [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(levels[1], [[0, 2, 4, 6], [1, 3, 5, 7]]);
    }

    #[test]
    fn no_step_is_no_group() {
        assert!(clusters(6, |a, b| Some(50.0 + (a + b) as f64)).is_empty());
        assert!(clusters(2, |_, _| Some(50.0)).is_empty());
        assert!(clusters(4, |_, _| None).is_empty());
        assert!(clusters(0, |_, _| None).is_empty());
    }
}
