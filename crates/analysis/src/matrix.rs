//! Matrices: records that differ in their pair of CPUs or nodes, and the groups among these.

use groma_model::{Placement, Record};

use crate::point::measured_value;

/// Values of pairs.
pub struct Matrix {
    /// The names of the paired CPUs or nodes: `0`, `1`.
    pub names: Vec<String>,
    /// Whether both directions of a pair have one value.
    pub symmetric: bool,
    values: Vec<Option<f64>>,
}

/// The default protocol.
const PROTOCOL: &str = "cas1";

/// The two CPUs of a record.
fn cpus(record: &Record) -> Option<(u32, u32)> {
    match &record.placement {
        Placement::List(cpus) if cpus.len() == 2 => Some((cpus[0], cpus[1])),
        _ => None,
    }
}

/// The two nodes of a record, of the CPU and of the memory: `node0-node1`, or a list of two.
fn nodes(record: &Record) -> Option<(u32, u32)> {
    let text = record.placement.to_string();
    match text.strip_prefix("node").and_then(|t| t.split_once("-node")) {
        Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
        None => cpus(record),
    }
}

/// The protocol to show of `cpu.core_to_core`: the requested one, else `cas1`, else the first.
pub fn protocol<'a>(records: &[&'a Record], asked: Option<&'a str>) -> Option<&'a str> {
    let of = |r: &&'a Record| r.params.word("protocol");
    asked.or_else(|| records.iter().filter_map(of).find(|p| *p == PROTOCOL)).or_else(|| records.iter().find_map(of))
}

impl Matrix {
    /// The latencies between CPUs by one protocol; `None` where no pair was measured.
    pub fn of_cores(records: &[&Record], asked: Option<&str>) -> Option<Matrix> {
        let protocol = protocol(records, asked);
        let of_it = |r: &&&Record| r.params.word("protocol") == protocol && cpus(r).is_some();
        let first = records.iter().find(of_it)?;
        let same = records.iter().filter(|r| r.params == first.params);
        Matrix::new(same.filter_map(|r| Some((cpus(r)?, measured_value(r)?))).collect(), true)
    }

    /// The values between nodes: from a CPU of one to the memory of another.
    pub fn of_nodes(records: &[&Record]) -> Option<Matrix> {
        let first = records.iter().find(|r| nodes(r).is_some())?;
        let same = records.iter().filter(|r| r.params == first.params);
        Matrix::new(same.filter_map(|r| Some((nodes(r)?, measured_value(r)?))).collect(), false)
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
        let index = |id: u32| ids.binary_search(&id).unwrap_or(0);
        for ((a, b), value) in pairs {
            let (a, b) = (index(a), index(b));
            matrix.values[a * n + b] = Some(value);
            if symmetric && matrix.values[b * n + a].is_none() {
                matrix.values[b * n + a] = Some(value);
            }
        }
        Some(matrix)
    }

    /// The value from one member to another.
    pub fn value(&self, from: usize, to: usize) -> Option<f64> {
        self.values.get(from * self.names.len() + to).copied().flatten()
    }

    /// All known values.
    pub fn all(&self) -> Vec<f64> {
        self.values.iter().flatten().copied().collect()
    }

    /// The values on the diagonal.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.names.len()).filter_map(|i| self.value(i, i)).collect()
    }

    /// The values off the diagonal.
    pub fn off_diagonal(&self) -> Vec<f64> {
        let n = self.names.len();
        (0..n * n).filter(|i| i / n != i % n).filter_map(|i| self.values[i]).collect()
    }

    /// Whether every pair was measured, at least one way: groups from incomplete data would be
    /// wrong.
    pub fn is_complete(&self) -> bool {
        let n = self.names.len();
        (0..n).all(|a| (a + 1..n).all(|b| self.value(a, b).or(self.value(b, a)).is_some()))
    }

    /// The groups that the values form, the closest first (`groma_stats::clusters`). Empty where
    /// all are equally far apart, or a pair is missing.
    pub fn clusters(&self) -> Vec<Vec<Vec<usize>>> {
        let n = self.names.len();
        let rows: Vec<Vec<_>> = (0..n).map(|a| (0..n).map(|b| self.value(a, b)).collect()).collect();
        groma_stats::clusters(&rows).unwrap_or_default().into_iter().map(|level| level.groups).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_need_every_pair() {
        // Threads of a core, cores of a cache, caches. CPUs 0 and 4, 1 and 5, ... are threads of
        // one core.
        let cost = |a: u32, b: u32| match (a % 4 == b % 4, a % 2 == b % 2) {
            (true, _) => 10.0,
            (_, true) => 25.0,
            _ => 100.0,
        };
        let pairs = |n: u32| (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect::<Vec<_>>();
        let all: Vec<_> = pairs(8).into_iter().map(|(a, b)| ((a, b), cost(a, b))).collect();
        let levels = Matrix::new(all.clone(), true).expect("values").clusters();
        assert_eq!(levels.len(), 2);
        assert_eq!(levels[0], [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(levels[1], [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert!(Matrix::new(all[1..].to_vec(), true).expect("values").clusters().is_empty());
        let flat = pairs(6).into_iter().map(|(a, b)| ((a, b), 50.0 + f64::from(a + b))).collect();
        assert!(Matrix::new(flat, true).expect("values").clusters().is_empty());
    }
}
