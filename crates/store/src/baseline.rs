//! A baseline: the results of runs in a form that is small and stable enough for version control.
//! Lines of JSON: one `baseline`, a `fact` for each fact about the machine, a `metric` for each
//! metric, sorted, so that a diff shows what changed. It holds the values of rounds, but no samples
//! and no proofs: runs can be compared with it, and it cannot become a run.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;

use groma_model::{Fact, LabelCounts, Record, RunHeader, SCHEMA, plain_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::ndjson::{Lines, Lost};
use crate::{FileKind, StoreError};

/// The fields of a record that a comparison needs; the file has no others.
const KEPT: [&str; 20] = [
    "id",
    "version",
    "summary",
    "params",
    "params_text",
    "placement",
    "workers",
    "crew",
    "state",
    "reason",
    "quantity",
    "unit",
    "better",
    "timing",
    "detail",
    "value",
    "cycles",
    "ci",
    "shared",
    "round_values",
];

/// The prefixes of the keys of facts that are part of a record's identity.
const IDENTITY: [&str; 2] = ["work_dir.", "auto."];

/// Significant digits of a number: two orders of magnitude finer than the noise of a quiet host.
const DIGITS: usize = 6;

/// Longest line in bytes.
const LONGEST_LINE: u64 = 64 << 20;

/// A metric of a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineMetric {
    /// The values of the rounds of all runs, and their headline. Samples, quantiles, labels and
    /// proofs are empty.
    pub record: Record,
    /// The headlines of other runs of this machine in the same state, which show how runs differ
    /// when nothing has changed.
    pub runs: Vec<f64>,
}

/// The results of one or more runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The head of the newest run.
    pub head: RunHeader,
    /// The ids of the runs whose rounds it holds, the newest last.
    pub runs: Vec<String>,
    /// Their metrics.
    pub metrics: Vec<BaselineMetric>,
}

#[derive(Serialize, Deserialize)]
struct First {
    kind: String,
    runs: Vec<String>,
    #[serde(flatten)]
    head: RunHeader,
}

impl Baseline {
    /// Writes the baseline.
    ///
    /// # Errors
    /// When `out` cannot be written; the error calls it `name`.
    pub fn write(&self, mut out: impl Write, name: &str) -> Result<(), StoreError> {
        let mut head = self.head.clone();
        let facts = std::mem::take(&mut head.environment).facts;
        let first = First { kind: "baseline".to_owned(), runs: self.runs.clone(), head };
        let mut lines = vec![serde_json::to_string(&first)];
        lines.extend(facts.iter().map(|fact| serde_json::to_string(&kinded("fact", fact))));
        let mut metrics: Vec<(String, Map<String, Json>)> = self.metrics.iter().map(line).collect();
        metrics.sort_by(|a, b| a.0.cmp(&b.0));
        lines.extend(metrics.iter().map(|(_, line)| serde_json::to_string(line)));
        for line in lines {
            let line = line.map_err(|e| StoreError::Output { name: name.to_owned(), source: e.into() })?;
            writeln!(out, "{}", plain_json(&line)).map_err(|source| StoreError::output(name, source))?;
        }
        out.flush().map_err(|source| StoreError::output(name, source))
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// When the file cannot be read or is no baseline; names a malformed line.
    pub fn read(path: &Path) -> Result<Baseline, StoreError> {
        Baseline::of_lines(FileKind::open(path)?.1, path)
    }

    /// Reads the lines of a baseline; errors call it `path`.
    ///
    /// # Errors
    /// As [`Baseline::read`].
    pub fn of_lines(lines: impl BufRead, path: &Path) -> Result<Baseline, StoreError> {
        Baseline::of_lines_noted(lines, path).map(|(baseline, _)| baseline)
    }

    /// Reads the lines of a baseline, and returns what of a captured one was skipped.
    ///
    /// # Errors
    /// As [`Baseline::read`].
    pub fn of_lines_noted(lines: impl BufRead, path: &Path) -> Result<(Baseline, Option<Lost>), StoreError> {
        let mut lines = Lines::new(lines, path, (LONGEST_LINE, u64::MAX), "metric");
        let read = Baseline::of(&mut lines);
        let baseline = lines.settle(read)?;
        Ok((baseline, lines.lost().cloned()))
    }

    fn of<R: BufRead>(lines: &mut Lines<R>) -> Result<Baseline, StoreError> {
        let mut found: Option<Baseline> = None;
        while lines.advance()? {
            let Some(kind) = lines.kind() else { continue };
            match (kind.kind.as_deref(), &mut found) {
                (Some("baseline"), None) => {
                    let newer = kind.schema.filter(|schema| *schema > SCHEMA);
                    if let (Some(schema), Some(groma)) = (newer, kind.groma) {
                        let what = format!("written by groma {groma} (schema {schema}, this one knows {SCHEMA})");
                        return Err(lines.error(what));
                    }
                    let first = lines.parse();
                    found = first.map(|First { runs, head, .. }| Baseline { head, runs, metrics: Vec::new() });
                }
                (Some("fact"), Some(found)) => found.head.environment.facts.extend(lines.parse::<Fact>()),
                (Some("metric"), Some(found)) => {
                    let read = lines.peek().and_then(|line| metric(line).map_err(|e| e.to_string()));
                    match read {
                        Ok(metric) => {
                            lines.count(true);
                            found.metrics.push(metric);
                        }
                        Err(what) => lines.damaged(what),
                    }
                }
                (Some(_), Some(_)) => {}
                _ => lines.damaged("a baseline begins with a line of kind 'baseline'".to_owned()),
            }
        }
        found.ok_or_else(|| lines.nothing())
    }
}

fn kinded<T: Serialize>(kind: &str, body: &T) -> Map<String, Json> {
    let mut all = Map::from_iter([("kind".to_owned(), Json::from(kind))]);
    if let Ok(Json::Object(body)) = serde_json::to_value(body) {
        all.extend(body);
    }
    all
}

/// The line of a metric, and its sort key.
fn line(metric: &BaselineMetric) -> (String, Map<String, Json>) {
    let record = &metric.record;
    let mut line = kinded("metric", record);
    line.retain(|key, value| key == "kind" || (KEPT.contains(&key.as_str()) && !value.is_null()));
    let facts = record.facts.iter().filter(|fact| IDENTITY.iter().any(|start| fact.key.starts_with(start)));
    let facts: BTreeMap<&str, &str> = facts.map(|fact| (fact.key.as_str(), fact.value.as_str())).collect();
    // A number that is not finite is null, which no comparison can use.
    if let Some(Json::Array(rounds)) = line.get_mut("round_values") {
        rounds.retain(|value| !value.is_null());
    }
    line.insert("facts".to_owned(), serde_json::json!(facts));
    line.insert("runs".to_owned(), serde_json::json!(metric.runs));
    line.values_mut().for_each(shorten);
    let key = format!("{}\0{}\0{}\0{:06}", record.id, record.params, record.placement, record.workers);
    (key, line)
}

/// Rounds each number that is not an integer to [`DIGITS`] digits.
fn shorten(value: &mut Json) {
    match value {
        Json::Array(all) => all.iter_mut().for_each(shorten),
        Json::Object(all) => all.values_mut().for_each(shorten),
        Json::Number(number) => {
            let short = number.as_f64().filter(|_| number.is_f64()).map(|f| format!("{f:.*e}", DIGITS - 1));
            if let Some(short) = short.and_then(|text| text.parse::<f64>().ok()) {
                *value = Json::from(short);
            }
        }
        _ => {}
    }
}

/// The metric of a line; fields that the file does not have are empty.
fn metric(mut line: Map<String, Json>) -> serde_json::Result<BaselineMetric> {
    let facts: BTreeMap<String, String> =
        line.remove("facts").map(serde_json::from_value).transpose()?.unwrap_or_default();
    let runs: Vec<f64> = line.remove("runs").map(serde_json::from_value).transpose()?.unwrap_or_default();
    let rounds = line.get("round_values").and_then(Json::as_array).map_or(0, Vec::len);
    let facts: Vec<Fact> = facts.into_iter().map(|(key, value)| Fact { key, value }).collect();
    for (key, value) in [
        ("rounds", serde_json::json!(rounds)),
        ("samples", serde_json::json!(0)),
        ("clean", serde_json::json!(0)),
        ("labels", serde_json::to_value(LabelCounts::default())?),
        ("proofs", serde_json::json!([])),
        ("flags", serde_json::json!([])),
        ("facts", serde_json::to_value(facts)?),
    ] {
        line.insert(key.to_owned(), value);
    }
    Ok(BaselineMetric { record: serde_json::from_value(Json::Object(line))?, runs })
}
