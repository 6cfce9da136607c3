//! The metrics of all runs in one list, each once: what the table of all values has rows for, what
//! pages link to, and the data of the script.

use std::collections::HashMap;

use groma_analysis::compare::identity;
use groma_analysis::drops;
use groma_model::{Derivation, Info, Labels, Metric, Point, Record, Round, Series, is_metric_of};
use serde::Serialize;

use super::{Report, ReportRun};
use crate::plot::distribution;
use crate::point::{typed_params, typed_place};
use crate::units::{Scale, value};

/// A record with what it was made from.
pub(super) struct Entry<'r> {
    pub(super) record: &'r Record,
    point: &'r Point,
    metric: &'r Metric,
    rounds: &'r [Round],
}

/// A metric: what each run has of it.
pub(super) struct Row<'r> {
    pub(super) of_runs: Vec<Option<Entry<'r>>>,
}

impl<'r> Row<'r> {
    /// The record of the first run that has one.
    pub(super) fn first(&self) -> &'r Record {
        // A row is made from an entry.
        let mut entries = self.of_runs.iter().flatten();
        entries.next().map(|entry| entry.record).expect("a row has an entry")
    }
}

/// The metrics of all runs.
pub(super) struct Sheet<'r> {
    pub(super) rows: Vec<Row<'r>>,
    places: HashMap<*const Record, usize>,
    /// The benchmarks that a run has points of.
    pub(super) explained: Vec<&'r Info>,
    program: &'static str,
}

impl<'r> Sheet<'r> {
    pub(super) fn new(report: &Report<'r>) -> Sheet<'r> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        let (mut known, mut places) = (HashMap::new(), HashMap::new());
        for (i, run) in report.runs.iter().enumerate() {
            for entry in entries(run) {
                let place = *known.entry(identity(entry.record)).or_insert(rows.len());
                if place == rows.len() {
                    rows.push(Row { of_runs: report.runs.iter().map(|_| None).collect() });
                }
                places.insert(std::ptr::from_ref(entry.record), place);
                rows[place].of_runs[i] = Some(entry);
            }
        }
        let points = || report.runs.iter().flat_map(|run| run.points);
        let is_here = |info: &&Info| points().any(|point| point.bench == info.id);
        let explained = report.catalogue.iter().copied().filter(is_here).collect();
        Sheet { rows, places, explained, program: report.program }
    }

    /// Where the row of a record is, as a link.
    pub(super) fn link(&self, record: &Record) -> String {
        self.places.get(&std::ptr::from_ref(record)).map_or(String::new(), |place| format!("#m{place}"))
    }

    /// Where a metric is explained, as a link; empty where it cannot be.
    pub(super) fn explanation(&self, id: &str) -> String {
        let info = self.explained.iter().filter(|info| is_metric_of(id, info.id)).max_by_key(|info| info.id.len());
        info.map_or(String::new(), |info| format!("#about-{}", info.id))
    }

    /// What the script knows of the metrics, in the order of the rows.
    pub(super) fn data(&self) -> Data {
        let scales = [
            ("time", Scale::Time),
            ("time/GB", Scale::TimePerGigabyte),
            ("bandwidth", Scale::Bandwidth),
            ("frequency", Scale::Frequency),
            ("events", Scale::Events),
            ("size", Scale::Size),
            ("count", Scale::Count),
            ("ratio", Scale::Ratio),
        ];
        let scale = |record: &Record| scales.iter().position(|(_, scale)| *scale == Scale::of(record)).unwrap_or(0);
        let mut texts = Texts::default();
        let mut row = |row: &Row<'r>| DataRow {
            scale: scale(row.first()),
            again: again(row.first(), self.program),
            runs: row.of_runs.iter().map(|entry| entry.as_ref().map(|entry| of_run(entry, &mut texts))).collect(),
        };
        let rows = self.rows.iter().map(&mut row).collect();
        Data { units: scales.map(|(_, scale)| scale.units().to_vec()).into(), rows, texts: texts.all }
    }
}

fn entries<'r>(run: &ReportRun<'r>) -> impl Iterator<Item = Entry<'r>> + use<'r> {
    let of_point = |(point, rounds): (&'r Point, &'r Vec<Round>)| {
        point.metrics.iter().map(move |metric| (point, metric, rounds.as_slice()))
    };
    let metrics = run.points.iter().zip(run.rounds).flat_map(of_point);
    run.records.iter().zip(metrics).map(|(record, (point, metric, rounds))| Entry { record, point, metric, rounds })
}

#[derive(Serialize)]
pub(super) struct Data {
    /// Of each scale its units, the largest first.
    units: Vec<Vec<(f64, &'static str)>>,
    rows: Vec<DataRow>,
    /// Texts that many metrics share, each once.
    texts: Vec<String>,
}

/// Texts and their places.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Texts {
    fn place(&mut self, text: String) -> usize {
        *self.places.entry(text).or_insert_with_key(|text| {
            self.all.push(text.clone());
            self.all.len() - 1
        })
    }
}

#[derive(Serialize)]
struct DataRow {
    /// Which of the units.
    #[serde(rename = "s")]
    scale: usize,
    /// The command that measures it again.
    #[serde(rename = "c")]
    again: String,
    #[serde(rename = "r")]
    runs: Vec<Option<DataOfRun>>,
}

/// A record and its samples, in SI units, with five digits.
#[derive(Serialize)]
struct DataOfRun {
    #[serde(rename = "v", skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(rename = "i", skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
    /// The value of each round.
    #[serde(rename = "r")]
    rounds: Vec<f64>,
    /// What is to be read beside the pictures, by its place among the texts: what it is of, and
    /// what it says.
    #[serde(rename = "t")]
    texts: Vec<[usize; 2]>,
    #[serde(rename = "h", skip_serializing_if = "Option::is_none")]
    samples: Option<Samples>,
}

/// From where to where, undisturbed and disturbed samples by stretch, and what lies below and
/// beyond.
#[derive(Serialize)]
struct Samples([f64; 2], Vec<usize>, Vec<usize>, usize, usize);

fn of_run(entry: &Entry<'_>, known: &mut Texts) -> DataOfRun {
    let record = entry.record;
    DataOfRun {
        value: record.value.filter(|v| v.is_finite()).map(short),
        interval: record.ci_display.map(|ends| ends.map(short)),
        rounds: record.round_values.iter().copied().map(short).collect(),
        texts: texts(record).into_iter().map(|pair| pair.map(|text| known.place(text))).collect(),
        samples: samples(entry),
    }
}

fn texts(record: &Record) -> Vec<[String; 2]> {
    let number = |v: f64| value(v, Scale::of(record), None);
    let quantiles =
        [("p10", record.p10), ("p50", record.p50), ("p90", record.p90), ("p99", record.p99), ("most", record.max)];
    let quantiles: Vec<String> =
        quantiles.iter().filter_map(|(name, v)| Some(format!("{name} {}", number((*v)?)))).collect();
    let mut texts = vec![["state", &state_and_reason(record)], ["samples", &crate::card::samples(record, &quantiles)]]
        .into_iter()
        .map(|pair| pair.map(str::to_owned))
        .collect::<Vec<_>>();
    texts.extend(record.flags.iter().map(|flag| ["flag".to_owned(), flag.clone()]));
    texts.extend(record.proofs.iter().map(|proof| ["proof".to_owned(), crate::card::proof(proof)]));
    texts.retain(|[_, text]| !text.is_empty());
    texts
}

/// How a record ended, and why.
pub(super) fn state_and_reason(record: &Record) -> String {
    let words = [record.state.word(), &record.reason];
    words.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}

fn samples(entry: &Entry<'_>) -> Option<Samples> {
    let Derivation::Series(name) = &entry.metric.derivation else { return None };
    let series: Vec<&Series> = entry.rounds.iter().filter_map(|round| round.result.series(name)).collect();
    let drops: Labels = drops(entry.point, entry.metric, entry.rounds);
    let found = distribution(&series, entry.record.quantity, drops).ok()?;
    let counts = |of: fn(&crate::plot::Bar) -> usize| found.bars.iter().map(of).collect();
    Some(Samples(found.ends.map(short), counts(|bar| bar.clean), counts(|bar| bar.labelled), found.below, found.beyond))
}

/// The command that measures a point again.
fn again(record: &Record, program: &str) -> String {
    format!("{program} run {}{}{}", record.id, typed_params(record), typed_place(record))
}

/// Five digits are more than a picture shows.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
