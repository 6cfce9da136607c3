//! A metric over the runs of a machine: its values in time order, where the level changed, and what
//! else changed then. Not here: which runs, and text.

use std::collections::HashMap;

use groma_model::{Record, RunHeader};
use groma_stats::{change_points, median};

use crate::compare::environment::{Difference, differences};
use crate::compare::identity;
use crate::point::{measured_value, same_point};

/// A smaller change of level is not reported: for a metric that repeats within a tenth of a
/// percent, runs differ by as much through code placement.
const MIN_STEP: f64 = 1.01;

/// One metric over runs.
#[derive(Debug)]
pub struct Series<'r> {
    /// Each run and its record, in time order.
    pub runs: Vec<(&'r RunHeader, &'r Record)>,
    /// Where the level changed, in order.
    pub changes: Vec<Change>,
}

/// A change of level.
#[derive(Clone, Debug)]
pub struct Change {
    /// Index of the first run of the new level.
    pub at: usize,
    /// The medians of the old and the new level.
    pub levels: [f64; 2],
    /// The fraction of random orders of the runs with a step this clear.
    pub p: f64,
    /// Environment differences between the last run before the change and the first after it.
    pub environment: Vec<Difference>,
}

impl Change {
    /// The new level divided by the old one.
    pub fn ratio(&self) -> f64 {
        self.levels[1] / self.levels[0]
    }
}

/// The series of all metrics that these runs measured, in the newest run's order. `runs` are in
/// time order. If the definition, unit or storage of a metric changed, its series only has the runs
/// that match the newest.
pub fn series(runs: &[(RunHeader, Vec<Record>)]) -> Vec<Series<'_>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Vec<(&RunHeader, &Record)>> = Vec::new();
    for (head, records) in runs.iter().rev() {
        for record in records.iter().filter(|record| measured_value(record).is_some()) {
            let place = *places.entry(identity(record)).or_insert_with(|| {
                all.push(Vec::new());
                all.len() - 1
            });
            let is_like = |newest: &Record| {
                newest.version == record.version && newest.unit == record.unit && same_point(newest, record)
            };
            if all[place].first().is_none_or(|(_, newest)| is_like(newest)) {
                all[place].push((head, record));
            }
        }
    }
    let in_time = |mut runs: Vec<(_, _)>| {
        runs.reverse();
        Series { changes: changes(&runs), runs }
    };
    all.into_iter().map(in_time).collect()
}

fn changes(runs: &[(&RunHeader, &Record)]) -> Vec<Change> {
    let values: Vec<f64> = runs.iter().filter_map(|(_, record)| record.value).collect();
    let steps = change_points(&values, MIN_STEP).unwrap_or_default();
    let ends: Vec<usize> = steps.iter().skip(1).map(|step| step.index).chain([values.len()]).collect();
    let mut from = 0;
    let mut found = Vec::new();
    for (step, end) in steps.iter().zip(ends) {
        let level = |range: std::ops::Range<usize>| median(&values[range]).unwrap_or(f64::NAN);
        found.push(Change {
            at: step.index,
            levels: [level(from..step.index), level(step.index..end)],
            p: step.p,
            environment: differences(runs[step.index - 1].0, runs[step.index].0),
        });
        from = step.index;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::latency;
    use crate::fixtures::header;
    use groma_model::Fact;
    use groma_stats::Rng;

    /// Runs of one metric with these levels, each for this many runs, with noise of 1 %; the kernel
    /// changes with the second level.
    fn runs(levels: &[(f64, usize)]) -> Vec<(RunHeader, Vec<Record>)> {
        let rng = &mut Rng::new(11);
        let mut all = Vec::new();
        for (i, (level, n)) in levels.iter().enumerate() {
            for _ in 0..*n {
                let mut head = header();
                head.run = format!("{:04}", all.len());
                let kernel = if i == 0 { "6.17" } else { "6.18" };
                head.environment.facts = vec![Fact::new("kernel.release", kernel), Fact::new("load.1", all.len())];
                all.push((head, vec![latency(level * 1e-6, rng)]));
            }
        }
        all
    }

    #[test]
    fn steps_are_located_with_their_environment_changes() {
        // Each level differs from the one before it, and the first has more runs than the second.
        let runs = runs(&[(1.0, 90), (1.1, 50), (0.95, 60)]);
        let found = series(&runs);
        assert_eq!((found.len(), found[0].runs.len()), (1, 200));
        let changes = &found[0].changes;
        let places: Vec<usize> = changes.iter().map(|change| change.at).collect();
        assert!(places.len() == 2 && places[0].abs_diff(90) <= 2 && places[1].abs_diff(140) <= 2, "{places:?}");
        assert!((changes[0].ratio() - 1.1).abs() < 0.02 && (changes[1].ratio() - 0.95 / 1.1).abs() < 0.02);
        let keys = |change: &Change| change.environment.iter().map(|d| d.key.clone()).collect::<Vec<_>>();
        if places[0] == 90 {
            assert_eq!(keys(&changes[0]), ["kernel.release"]);
        }
        assert!(keys(&changes[1]).is_empty());
        assert!(series(&self::runs(&[(1.0, 200)]))[0].changes.is_empty());
    }

    #[test]
    fn a_new_definition_starts_a_new_series() {
        let mut runs = runs(&[(1.0, 20)]);
        for (_, records) in &mut runs[..8] {
            records[0].version = 0;
        }
        let found = series(&runs);
        assert_eq!(found[0].runs.len(), 12);
        assert_eq!(found[0].runs[0].0.run, "0008", "in the order of time");
        // A record without a value is not part of it.
        runs[19].1[0].value = None;
        assert_eq!(series(&runs)[0].runs.len(), 11);
    }
}
