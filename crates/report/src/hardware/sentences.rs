//! What the hardware page says in sentences.

use groma_analysis::claims::{Hierarchy, Seen, ended, reaches_memory};
use groma_analysis::matrix::Matrix;
use groma_analysis::point::measured;
use groma_model::Record;
use groma_model::family::Row;

use super::bandwidth;
use crate::units::{self, Scale, size, time};

/// What to beware of where the largest size of the bandwidths is not memory alone.
pub(super) fn caution(rows: &[&Row], seen: &Seen<'_>, hierarchies: &[Hierarchy<'_>]) -> Option<String> {
    let id = bandwidth(rows)?;
    let largest = seen.all(id).filter(|r| measured(r).is_some()).filter_map(|r| r.number("size")).max()?;
    (reaches_memory(hierarchies, largest as f64) == Some(false)).then(|| {
        let largest = size(largest as f64);
        format!("{largest} is not memory alone here: its latency still rises there (larger: --param size=1G)")
    })
}

/// What is said of transfers between CPUs, which may be one pair or thousands.
pub(super) fn transfers(row: &Row, seen: &Seen<'_>) -> Option<String> {
    let Row::Transfers(id) = *row else { return None };
    let records: Vec<&Record> = seen.all(id).collect();
    let Some(matrix) = Matrix::of_cores(&records, None) else {
        let worst = records.iter().max_by_key(|r| r.state)?;
        return Some(format!("A cache line to another core: {}, {}.", ended(worst).word(), worst.reason));
    };
    let all = matrix.off_diagonal();
    let low = all.iter().copied().min_by(f64::total_cmp)?;
    let high = all.iter().copied().max_by(f64::total_cmp)?;
    let (pairs, range) = (all.len() / 2, units::range(low, high, Scale::Time));
    Some(match pairs {
        1 => format!("A cache line reaches the other core in {}.", time(low)),
        _ => format!("A cache line reaches another core in {range} ({pairs} pairs)."),
    })
}
