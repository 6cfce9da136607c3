//! The smallest detectable change of each metric, from runs of a host in the same state.

use groma_model::Record;
use groma_stats::RunNoise;
use groma_stats::comparison::SUITE_LEVEL;

use crate::point::measured_value;

/// The smallest detectable change of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Number of runs that it rests on.
    pub runs: usize,
    /// The ratio, above 1, that two unchanged runs exceed in about 5 % of all cases
    /// (docs/methods/statistics.md#noise-floor); `None` with fewer than two runs.
    pub between_runs: Option<f64>,
    /// The ratio, above 1, that a comparison of the whole suite with another run detects in four
    /// cases of five; `None` with fewer than two runs.
    pub detectable: Option<f64>,
}

/// The floor of each record that has a value, with the record. `runs` returns its headlines in all
/// runs, including this one.
pub fn floors(records: &[Record], runs: impl Fn(&Record) -> Vec<f64>) -> Vec<(&Record, Floor)> {
    let known: Vec<(&Record, Vec<f64>)> =
        records.iter().filter(|record| measured_value(record).is_some()).map(|record| (record, runs(record))).collect();
    let level = SUITE_LEVEL / known.len().max(1) as f64;
    let floor = |runs: &[f64]| {
        let noise = RunNoise::of(runs);
        let between_runs = noise.as_ref().map(RunNoise::floor);
        Floor { runs: runs.len(), between_runs, detectable: noise.map(|noise| noise.detectable(level)) }
    };
    known.into_iter().map(|(record, runs)| (record, floor(&runs))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::record;
    use groma_model::Quantity;

    #[test]
    fn more_metrics_at_once_need_a_larger_change_of_each() {
        let floor = |metrics: usize| {
            let records: Vec<Record> =
                (0..metrics).map(|i| record(&format!("a.{i}"), Quantity::Latency, 1e-6)).collect();
            floors(&records, |_| [0.999, 1.001, 1.0, 1.002, 0.998, 1.0].map(|x| 1e-6 * x).to_vec())[0].1
        };
        let (one, many) = (floor(1), floor(100));
        assert_eq!((one.runs, one.between_runs), (many.runs, many.between_runs));
        assert!(many.detectable > one.detectable, "{one:?} {many:?}");
    }
}
