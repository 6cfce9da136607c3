//! A matrix as colours: the numbers in its cells, their depths, and where groups end.

use crate::point::cpu_list;
use crate::units::{self, Scale};
use groma_analysis::matrix::Matrix;

/// Number of colour depths.
pub(super) const STEPS: usize = 9;

/// From this depth on, text on it is light.
pub(super) const DEEP: usize = 5;

/// Up to this many rows, cells show their numbers.
pub(super) const NUMBERED: usize = 16;

/// The least ratio between the palest and the deepest colour: a matrix of equal values must look
/// uniform.
const MIN_SPAN: f64 = 1.5;

/// A matrix for display, with rows and columns ordered by group.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    /// What rows and columns are: `CPU`, or different names for a matrix that is not symmetric.
    pub(super) axes: [&'static str; 2],
    pub(super) names: Vec<String>,
    /// By row.
    cells: Vec<Vec<Option<f64>>>,
    /// Rows where another group begins.
    pub(super) breaks: Vec<usize>,
    scale: Scale,
    ends: [f64; 2],
    /// The unit of the numbers in cells, and its name.
    unit: (f64, &'static str),
}

impl Heat {
    /// A matrix with the members of a group next to each other; `None` if nothing in it was
    /// measured.
    pub(super) fn new(matrix: &Matrix, scale: Scale, axes: [&'static str; 2]) -> Option<Heat> {
        let values: Vec<f64> = matrix.all().into_iter().filter(|v| v.is_finite() && *v > 0.0).collect();
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        let levels = if matrix.symmetric { matrix.clusters() } else { Vec::new() };
        let order = order(matrix.names.len(), &levels);
        let breaks = levels.last().map(|groups| ends(groups)).unwrap_or_default();
        let cells = order.iter().map(|row| order.iter().map(|column| matrix.value(*row, *column)).collect()).collect();
        Some(Heat {
            axes,
            names: order.iter().map(|i| matrix.names[*i].clone()).collect(),
            cells,
            breaks,
            scale,
            ends: [low, high],
            unit: units::unit_of(high, scale),
        })
    }

    pub(super) fn cell(&self, row: usize, column: usize) -> Option<f64> {
        self.cells.get(row)?.get(column).copied().flatten()
    }

    /// The colour depth of a value, on a logarithmic scale.
    pub(super) fn depth(&self, value: f64) -> usize {
        let [low, high] = self.ends;
        let span = (high / low).max(MIN_SPAN).ln();
        let share = (value / low).ln() / span;
        if share.is_finite() { ((share * STEPS as f64) as usize).min(STEPS - 1) } else { 0 }
    }

    /// The depth of the largest value.
    pub(super) fn deepest(&self) -> usize {
        self.depth(self.ends[1])
    }

    /// The number of a cell, without the shared unit; unless `fine`, without decimals from ten on.
    pub(super) fn number(&self, value: f64, fine: bool) -> String {
        let scaled = value / self.unit.0;
        units::significant(scaled, if !fine || scaled < 9.95 { 2 } else { 3 })
    }

    /// The unit of the numbers.
    pub(super) fn unit(&self) -> &'static str {
        self.unit.1.trim_start()
    }

    /// The smallest and the largest value, with their unit.
    pub(super) fn ends(&self) -> [String; 2] {
        self.ends.map(|v| units::value(v, self.scale, None))
    }

    /// The groups as text: `0-3 | 4-7`.
    pub(super) fn groups(&self) -> Option<String> {
        let mut starts = vec![0];
        starts.extend(&self.breaks);
        let ids = |names: &[String]| names.iter().filter_map(|n| n.parse().ok()).collect();
        let ends = self.breaks.iter().copied().chain([self.names.len()]);
        let groups =
            starts.iter().zip(ends).filter_map(|(from, to)| Some(cpu_list(&ids(self.names.get(*from..to)?))));
        (!self.breaks.is_empty()).then(|| groups.collect::<Vec<_>>().join(" | "))
    }
}

/// Members in the order of their groups, the widest first.
fn order(n: usize, levels: &[Vec<Vec<usize>>]) -> Vec<usize> {
    let group = |level: &Vec<Vec<usize>>, i: usize| level.iter().position(|g| g.contains(&i)).unwrap_or(0);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| (levels.iter().rev().map(|l| group(l, *i)).collect::<Vec<_>>(), *i));
    order
}

/// Where groups end, in display order, except for the last one.
fn ends(groups: &[Vec<usize>]) -> Vec<usize> {
    let mut at = 0;
    let mut ends: Vec<usize> = groups
        .iter()
        .map(|g| {
            at += g.len();
            at
        })
        .collect();
    ends.pop();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_core_and_cores_of_a_cache_stand_together() {
        let levels =
            vec![vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]], vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]]];
        assert_eq!(order(8, &levels), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(ends(&levels[1]), [4]);
        assert_eq!(order(3, &[]), [0, 1, 2]);
    }
}
