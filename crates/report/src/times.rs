//! Where a run's time went: the time of each benchmark's rounds, including worker processes. It
//! uses rounds, not results.

use std::collections::BTreeMap;

use groma_model::{Phase, Phases, Point, ROUND_WALL, Round};
use serde::{Serialize, Serializer};

use crate::grid::{Align, Cell, Grid};
use crate::json::pretty;
use crate::style::{Ink, Style};
use crate::units;

/// The time of a benchmark in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchTime {
    /// The benchmark's id.
    pub benchmark: String,
    /// Number of its points.
    pub points: usize,
    /// Number of its rounds.
    pub rounds: usize,
    /// Wall time of all rounds, in seconds.
    pub wall_s: f64,
    /// What they were spent on.
    #[serde(serialize_with = "by_phase", rename = "phases_s")]
    pub phases: Phases,
}

/// Phases as an object of seconds.
fn by_phase<S: Serializer>(phases: &Phases, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Phase::ALL.map(|phase| (phase.word(), phases.of(phase) as f64 * 1e-9)))
}

/// The times of a run's benchmarks, the longest first. Points that never ran (`unsupported` in the
/// plan) took none.
pub fn bench_times(points: &[(Point, Vec<Round>)]) -> Vec<BenchTime> {
    let mut all: BTreeMap<&str, BenchTime> = BTreeMap::new();
    for (point, rounds) in points {
        let walls = rounds.iter().filter_map(|r| r.result.fact(ROUND_WALL)?.parse::<f64>().ok());
        let walls: Vec<f64> = walls.collect();
        if walls.is_empty() {
            continue;
        }
        let time = all.entry(&point.bench).or_default();
        time.points += 1;
        time.rounds += walls.len();
        time.wall_s += walls.iter().sum::<f64>() * 1e-3;
        rounds.iter().for_each(|round| time.phases.append(&round.result.output.phases));
    }
    let mut all: Vec<BenchTime> =
        all.into_iter().map(|(id, time)| BenchTime { benchmark: id.to_owned(), ..time }).collect();
    all.sort_by(|a, b| b.wall_s.total_cmp(&a.wall_s));
    all
}

/// The times, one line each, their sum, and what it was spent on.
pub fn times(times: &[BenchTime], style: &Style) -> String {
    use Align::{Left, Right};
    let mut grid = Grid::new(&[Left, Right, Right, Right, Right, Right], style);
    grid.row(
        ["benchmark", "points", "rounds", "a round", "in all", "sampled"].map(|h| Cell::ink(h, Ink::Strong)).into(),
    );
    let row = |name: &str, time: &BenchTime| {
        let each = time.wall_s / time.rounds.max(1) as f64;
        vec![
            Cell::new(name),
            Cell::new(time.points.to_string()),
            Cell::new(time.rounds.to_string()),
            Cell::new(units::time(each)),
            Cell::new(units::wall(time.wall_s)),
            Cell::new(share(time.phases.of(Phase::Sampling), time.phases.total())),
        ]
    };
    let mut sum = BenchTime::default();
    for time in times {
        grid.row(row(&time.benchmark, time));
        sum.points += time.points;
        sum.rounds += time.rounds;
        sum.wall_s += time.wall_s;
        sum.phases.append(&time.phases);
    }
    grid.row(row("together", &sum));
    grid.render() + &spent(&sum.phases)
}

/// Part of a whole in percent; nothing where the whole is unknown.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{:.0} %", part as f64 / whole as f64 * 100.0) }
}

/// What rounds were spent on; nothing for a run that did not record it.
fn spent(phases: &Phases) -> String {
    let total = phases.total();
    if total == 0 {
        return String::new();
    }
    let one = |phase: &Phase| {
        let ns = phases.of(*phase);
        format!("{} {} ({})", phase.word(), units::time(ns as f64 * 1e-9), share(ns, total))
    };
    let known: Vec<String> = Phase::ALL.iter().filter(|phase| phases.of(**phase) > 0).map(one).collect();
    let sampled = share(phases.of(Phase::Sampling), total);
    format!("\n{sampled} of the time of rounds was sampled:\n  {}\n", known.join("\n  "))
}

/// The times as a JSON array.
pub fn times_json(times: &[BenchTime]) -> String {
    pretty(&times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use groma_model::{Fact, RoundResult, State};

    fn rounds(walls: &[f64]) -> Vec<Round> {
        let round = |(i, ms): (usize, &f64)| {
            let mut result = RoundResult::ended(State::Ok, "");
            result.output.facts.push(Fact::new(ROUND_WALL, ms));
            result.output.phases.add(Phase::Sampling, (ms * 0.25e6) as u64);
            result.output.phases.add(Phase::WarmUp, (ms * 0.75e6) as u64);
            Round { round: i as u32, result }
        };
        walls.iter().enumerate().map(round).collect()
    }

    #[test]
    fn the_longest_first_and_all_points_of_a_benchmark_together() {
        let points = [
            (fixtures::point("a.short"), rounds(&[10.0, 12.0])),
            (fixtures::point("b.long"), rounds(&[200.0, 220.0, 210.0])),
            (fixtures::point("a.short"), rounds(&[8.0])),
            (fixtures::point("c.never"), Vec::new()),
        ];
        let all = bench_times(&points);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].benchmark.as_str(), all[0].points, all[0].rounds), ("b.long", 1, 3));
        assert_eq!((all[1].benchmark.as_str(), all[1].points, all[1].rounds), ("a.short", 2, 3));
        assert!((all[1].wall_s - 0.030).abs() < 1e-12);
        insta::assert_snapshot!(times(&all, &Style::plain(80)));
    }
}
