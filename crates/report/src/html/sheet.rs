//! The list of all metrics of all runs, each once: the rows of the table of all values, the targets
//! of links from pages, and the data of the script.

use std::collections::HashMap;

use groma_analysis::compare::identity;
use groma_analysis::drops;
use groma_model::{Derivation, Info, Labels, Metric, Point, Record, Round, Series, is_metric_of};
use serde::Serialize;

use super::{Report, ReportRun};
use crate::plot::distribution;
use crate::point::{typed_params, typed_place};
use crate::units::{Scale, value};

/// A record with its rounds and point.
pub(super) struct Entry<'r> {
    pub(super) record: &'r Record,
    point: &'r Point,
    metric: &'r Metric,
    rounds: &'r [Round],
}

/// A metric, with its entry in each run.
pub(super) struct Row<'r> {
    pub(super) of_runs: Vec<Option<Entry<'r>>>,
}

impl<'r> Row<'r> {
    /// The record of the first run that has one.
    pub(super) fn first(&self) -> &'r Record {
        // A row is made from an entry, so there is one.
        let mut entries = self.of_runs.iter().flatten();
        entries.next().map(|entry| entry.record).expect("a row has an entry")
    }
}

/// The metrics of all runs.
pub(super) struct Sheet<'r> {
    pub(super) rows: Vec<Row<'r>>,
    indexes: HashMap<*const Record, usize>,
    /// The benchmarks with points in some run.
    pub(super) explained: Vec<&'r Info>,
    program: &'static str,
}

impl<'r> Sheet<'r> {
    pub(super) fn new(report: &Report<'r>) -> Sheet<'r> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        let (mut known, mut indexes) = (HashMap::new(), HashMap::new());
        for (i, run) in report.runs.iter().enumerate() {
            for entry in entries(run) {
                let index = *known.entry(identity(entry.record)).or_insert(rows.len());
                if index == rows.len() {
                    rows.push(Row { of_runs: report.runs.iter().map(|_| None).collect() });
                }
                indexes.insert(std::ptr::from_ref(entry.record), index);
                rows[index].of_runs[i] = Some(entry);
            }
        }
        let points = || report.runs.iter().flat_map(|run| run.points);
        let is_here = |info: &&Info| points().any(|point| point.bench == info.id);
        let explained = report.catalogue.iter().copied().filter(is_here).collect();
        Sheet { rows, indexes, explained, program: report.program }
    }

    /// The link to a record's row.
    pub(super) fn link(&self, record: &Record) -> String {
        self.indexes.get(&std::ptr::from_ref(record)).map_or(String::new(), |index| format!("#m{index}"))
    }

    /// The link to a metric's explanation; empty where there is none.
    pub(super) fn explanation(&self, id: &str) -> String {
        let info = self.explained.iter().filter(|info| is_metric_of(id, info.id)).max_by_key(|info| info.id.len());
        info.map_or(String::new(), |info| format!("#about-{}", info.id))
    }

    /// The script's data about the metrics, in the order of the rows.
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
    /// The units of each scale, the largest first.
    units: Vec<Vec<(f64, &'static str)>>,
    rows: Vec<DataRow>,
    /// Texts that many metrics share, each once.
    texts: Vec<String>,
}

/// Interned texts.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    indexes: HashMap<String, usize>,
}

impl Texts {
    fn index(&mut self, text: String) -> usize {
        *self.indexes.entry(text).or_insert_with_key(|text| {
            self.all.push(text.clone());
            self.all.len() - 1
        })
    }
}

#[derive(Serialize)]
struct DataRow {
    /// Index into the units.
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
    /// Texts to show next to the pictures, by their indexes: label and text.
    #[serde(rename = "t")]
    texts: Vec<[usize; 2]>,
    #[serde(rename = "h", skip_serializing_if = "Option::is_none")]
    samples: Option<Samples>,
}

/// The two ends, undisturbed and disturbed samples per bar, and the number of samples below and
/// above.
#[derive(Serialize)]
struct Samples([f64; 2], Vec<usize>, Vec<usize>, usize, usize);

fn of_run(entry: &Entry<'_>, known: &mut Texts) -> DataOfRun {
    let record = entry.record;
    DataOfRun {
        value: record.value.filter(|v| v.is_finite()).map(five_digits),
        interval: record.ci_display.map(|ends| ends.map(five_digits)),
        rounds: record.round_values.iter().copied().map(five_digits).collect(),
        texts: texts(record).into_iter().map(|pair| pair.map(|text| known.index(text))).collect(),
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

/// The state of a record, and its reason.
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
    Some(Samples(
        found.ends.map(five_digits),
        counts(|bar| bar.clean),
        counts(|bar| bar.labelled),
        found.below,
        found.beyond,
    ))
}

/// The command that measures a point again.
fn again(record: &Record, program: &str) -> String {
    format!("{program} run {}{}{}", record.id, typed_params(record), typed_place(record))
}

/// Five digits are more than a picture shows.
fn five_digits(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
