//! Checks a value against earlier runs of the same machine. It only detects what cannot be the
//! machine as it was; whether two runs differ by more than chance is for `compare`.

use groma_model::{Flag, Metric, Point, Record, Round};

use crate::point::{measured_value, same_storage};
use crate::round_value::{head, round_values};

/// This many runs must agree before a value can contradict them.
const MIN_RUNS: usize = 3;
/// The factor by which a value must lie beyond all of them. Runs of one machine differ by less
/// unless something has changed (docs/methods/statistics.md#earlier-runs).
const BEYOND_FACTOR: f64 = 1.25;

/// The flag of a record whose value lies far beyond those of all earlier runs. `earlier` holds this
/// point's rounds of each run.
pub fn contradiction(point: &Point, metric: &Metric, record: &Record, earlier: &[Vec<Round>]) -> Option<Flag> {
    let (ratio, runs) = beyond(comparable(metric, record)?, record.ci, &values(point, metric, record, earlier))?;
    Some(Flag::Contradicts { ratio, runs })
}

/// A metric's values in earlier runs, given their rounds of its point: only runs on the same
/// storage that have a value.
pub fn values(point: &Point, metric: &Metric, record: &Record, earlier: &[Vec<Round>]) -> Vec<f64> {
    let on_same_storage = |rounds: &&Vec<Round>| {
        same_storage(|key| record.fact(key), |key| rounds.iter().find_map(|round| round.result.fact(key)))
    };
    let value_of = |rounds: &Vec<Round>| Some(head(point, metric, rounds, &round_values(point, metric, rounds))?.value);
    earlier.iter().filter(on_same_storage).filter_map(value_of).collect()
}

/// Whether the record still contradicts all of these earlier runs: if not, no more need to be read.
pub fn is_beyond(point: &Point, metric: &Metric, record: &Record, earlier: &[Vec<Round>]) -> bool {
    let earlier = || values(point, metric, record, earlier);
    comparable(metric, record).is_some_and(|value| is_beyond_all(value, record.ci, &earlier()))
}

/// The value of a record that can be compared across runs. A maximum over all rounds cannot: it
/// grows with the time measured.
fn comparable(metric: &Metric, record: &Record) -> Option<f64> {
    measured_value(record).filter(|_| !metric.derivation.takes_all_rounds())
}

/// The ratio of this value to the median of the earlier ones, and their number, if it and its
/// interval lie beyond all of them.
fn beyond(value: f64, interval: Option<[f64; 2]>, earlier: &[f64]) -> Option<(f64, usize)> {
    let median = groma_stats::median(earlier).filter(|median| *median > 0.0 && earlier.len() >= MIN_RUNS)?;
    is_beyond_all(value, interval, earlier).then_some((value / median, earlier.len()))
}

fn is_beyond_all(value: f64, interval: Option<[f64; 2]>, earlier: &[f64]) -> bool {
    let least = earlier.iter().copied().fold(f64::INFINITY, f64::min);
    let most = earlier.iter().copied().fold(0.0, f64::max);
    let [low, high] = interval.unwrap_or([value; 2]);
    let above = value > most * BEYOND_FACTOR && low > most;
    let below = value < least / BEYOND_FACTOR && high < least;
    above || below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_far_beyond_all_earlier_ones_contradicts_them() {
        let earlier = [11.4, 10.9, 12.0, 11.5];
        // Two modes of a disk, or a virtual CPU that was moved.
        let (ratio, runs) = beyond(28.5, None, &earlier).expect("a contradiction");
        assert!((ratio - 28.5 / 11.45).abs() < 1e-12 && runs == 4);
        assert!(beyond(1.9, Some([1.8, 2.0]), &earlier).is_some_and(|(ratio, _)| ratio < 0.2));
        // Within a quarter, or too uncertain to contradict.
        assert_eq!(beyond(14.9, None, &earlier), None);
        assert_eq!(beyond(28.5, Some([11.0, 46.0]), &earlier), None);
        assert_eq!(beyond(5.0, Some([4.0, 11.0]), &earlier), None);
        assert_eq!(beyond(9.0, None, &earlier), None);
        // Earlier runs that had both values contradict neither.
        assert_eq!(beyond(28.5, None, &[11.4, 11.5, 28.0]), None);
        // Two runs are too few, and a median of nothing is none.
        assert_eq!(beyond(28.5, None, &[11.4, 11.5]), None);
        assert_eq!(beyond(28.5, None, &[0.0, 0.0, 0.0]), None);
    }
}
