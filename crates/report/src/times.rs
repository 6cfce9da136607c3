//! Where a run's time went: the time of each benchmark's rounds, including worker processes; and
//! what of the spread between rounds busy sibling threads explain. It uses rounds, not results.

use std::collections::BTreeMap;

use groma_analysis::explained::{Explained, explained, of_run};
use groma_model::{Metric, Phase, Phases, Point, ROUND_WALL, Round};
use serde::{Serialize, Serializer};

use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::json::pretty;
use crate::layout::PRECISE;
use crate::style::Ink;
use crate::units::{self, percent};

/// Rounds that differ by more without a busy sibling thread were slowed by something else: the
/// limit of an imprecise value.
const MUCH: f64 = PRECISE;

/// Where the time of a run went, and what made its rounds differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// The times of its benchmarks, the longest first.
    pub benchmarks: Vec<BenchTime>,
    /// How its rounds differ; `None` if no metric has rounds enough.
    pub label_n: Option<LabelN>,
}

/// How the rounds of a run differ with and without the samples that bear `N`
/// (docs/methods/neighbour.md#what-the-label-explains).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelN {
    /// Number of CPU-bound metrics behind the medians.
    pub metrics: usize,
    /// The medians.
    #[serde(flatten)]
    pub spread: Spread,
    /// The spread of each metric of which `N` drops samples, CPU-bound or not.
    pub by_metric: Vec<MetricSpread>,
}

/// The spread of rounds, as fractions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Over samples with and without `N`.
    pub spread: f64,
    /// Over those without.
    pub spread_without: Option<f64>,
    /// The part of the spread that `N` explains.
    pub explained: Option<f64>,
}

/// The spread of the rounds of one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricSpread {
    /// The metric's id.
    pub metric: String,
    /// Its parameters for people.
    pub params: String,
    /// Its placement.
    pub placement: String,
    /// The spread.
    #[serde(flatten)]
    pub spread: Spread,
}

impl From<Explained> for Spread {
    fn from(of: Explained) -> Spread {
        Spread { spread: of.all, spread_without: of.own, explained: of.share }
    }
}

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

impl Times {
    /// The times of a run by its rounds.
    pub fn of(points: &[(Point, Vec<Round>)]) -> Times {
        Times { benchmarks: bench_times(points), label_n: label_n(points) }
    }
}

fn label_n(points: &[(Point, Vec<Round>)]) -> Option<LabelN> {
    let (run, metrics) = of_run(points)?;
    let of_point = |(point, rounds): &(Point, Vec<Round>)| -> Vec<MetricSpread> {
        let of_metric = |metric: &Metric| {
            Some(MetricSpread {
                metric: metric.id.clone(),
                params: point.params_text.clone(),
                placement: point.placement.to_string(),
                spread: explained(point, metric, rounds)?.into(),
            })
        };
        point.metrics.iter().filter_map(of_metric).collect()
    };
    Some(LabelN { metrics, spread: run.into(), by_metric: points.iter().flat_map(of_point).collect() })
}

/// The times of a run's benchmarks, the longest first. Points that never ran (`unsupported` in the
/// plan) took none.
fn bench_times(points: &[(Point, Vec<Round>)]) -> Vec<BenchTime> {
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

/// The times, one line each, their sum, what it was spent on, and what made rounds differ.
pub fn times(times: &Times) -> Document<'_> {
    use Align::{Left, Right};
    let heads = ["benchmark", "points", "rounds", "a round", "in all", "sampled"];
    let mut table =
        Table::new(&heads.map(|head| (head, if head == "benchmark" { Left } else { Right })), Some(Ink::Strong));
    let row = |name: &str, time: &BenchTime| {
        let each = time.wall_s / time.rounds.max(1) as f64;
        vec![
            Cell::new(name),
            Cell::count(time.points as u64),
            Cell::count(time.rounds as u64),
            Cell::new(units::time(each)).exactly(each, "s"),
            Cell::new(units::wall(time.wall_s)).exactly(time.wall_s, "s"),
            Cell::new(share(time.phases.of(Phase::Sampling), time.phases.total())),
        ]
    };
    let mut sum = BenchTime::default();
    for time in &times.benchmarks {
        table.row(row(&time.benchmark, time));
        sum.points += time.points;
        sum.rounds += time.rounds;
        sum.wall_s += time.wall_s;
        sum.phases.append(&time.phases);
    }
    table.row(row("together", &sum));
    let mut out = Document::new("where the time went").written(Format::Json, move || pretty(times));
    out.table(table);
    out.lines(spent(&sum.phases));
    out.say(times.label_n.as_ref().map(differ).unwrap_or_default());
    out
}

/// How rounds differ, and whether the label `N` says why.
fn differ(of: &LabelN) -> String {
    let Spread { spread, spread_without, explained } = &of.spread;
    let metrics = units::counted(of.metrics, "CPU-bound metric");
    let mut text = format!("Rounds of {metrics} differ by {}", percent(*spread));
    match (spread_without, explained) {
        (None, _) => text += "; too few have samples beside an idle sibling thread to tell whether label N says why.",
        (Some(_), None) => text += ": nothing that label N would have to explain.",
        (Some(without), Some(share)) => {
            let without = percent(*without);
            text +=
                &format!(", without the samples with N by {without}: the label explains {} of it.", percent(*share));
        }
    }
    if spread_without.is_some_and(|without| without > MUCH) {
        text += " Something that no label shows slows this run.";
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::fixtures;
    use groma_model::{Fact, Label, RoundResult, State};

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
        let times_of = Times::of(&points);
        let all = &times_of.benchmarks;
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].benchmark.as_str(), all[0].points, all[0].rounds), ("b.long", 1, 3));
        assert_eq!((all[1].benchmark.as_str(), all[1].points, all[1].rounds), ("a.short", 2, 3));
        assert!((all[1].wall_s - 0.030).abs() < 1e-12);
        insta::assert_snapshot!(times(&times_of).text(&Style::plain(80)));
        assert_eq!(times_of.label_n, None);
    }

    #[test]
    fn a_label_that_explains_nothing_is_told() {
        let text = |spread, spread_without, explained| {
            let spread = Spread { spread, spread_without, explained };
            differ(&LabelN { metrics: 41, spread, by_metric: Vec::new() })
        };
        let differ = "Rounds of 41 CPU-bound metrics differ by";
        let without = |text: &str| format!("{differ} 21 %, without the samples with N by {text} of it.");
        assert_eq!(text(0.21, Some(0.02), Some(0.9)), without("2.0 %: the label explains 90 %"));
        let other = without("20 %: the label explains 5.0 %") + " Something that no label shows slows this run.";
        assert_eq!(text(0.21, Some(0.2), Some(0.05)), other);
        assert_eq!(
            text(0.003, Some(0.003), None),
            format!("{differ} 0.3 %: nothing that label N would have to explain.")
        );
        assert!(text(0.4, None, None).ends_with(
            " differ by 40 %; too few have samples beside an idle sibling thread to tell whether label N says why."
        ));
    }

    #[test]
    fn each_metric_of_which_the_label_drops_samples_is_in_the_json() {
        let (mut point, rounds) = fixtures::sampled_point();
        assert_eq!(
            Times::of(&[(point.clone(), [&rounds[..], &rounds].concat())]).label_n,
            None,
            "N drops none of its samples"
        );
        point.drops.add(Label::Shared);
        // Six rounds have a spread; three do not.
        assert_eq!(Times::of(&[(point.clone(), rounds.clone())]).label_n, None);
        let all = Times::of(&[(point, [&rounds[..], &rounds].concat())]);
        let json: serde_json::Value =
            serde_json::from_str(&times(&all).render(Format::Json, &Style::plain(80))).expect("JSON");
        let (run, one) = (&json["label_n"], &json["label_n"]["by_metric"][0]);
        assert_eq!(run["metrics"], 1);
        assert_eq!(one["metric"], fixtures::sampled().id);
        for key in ["spread", "spread_without", "explained"] {
            assert!(run[key] == one[key] && (key == "explained" || run[key].as_f64().is_some()), "{key}: {json}");
        }
    }
}
