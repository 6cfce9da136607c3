//! Records read back from Parquet: what a table of them has, with the rest empty. Not the table of
//! rounds or samples, whose values are none of a metric.

use std::collections::BTreeMap;
use std::fs::File;

use groma_model::{Fact, Host, Machine, Profile, Record, RunHeader, SCHEMA};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value as Json, json};

/// The runs of a table of records, in the order of their first rows, each with its records.
///
/// # Errors
/// What the file lacks, or what the reader says.
pub fn read_parquet(file: File) -> Result<Vec<(RunHeader, Vec<Record>)>, String> {
    let reader = SerializedFileReader::new(file).map_err(|e| e.to_string())?;
    let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let is_there = |name: &&str| columns.iter().any(|column| column.name() == *name);
    let needed = ["run", "started", "id", "version", "params", "placement", "unit", "better", "value", "state"];
    if let Some(missing) = needed.iter().find(|name| !is_there(name)) {
        return Err(format!("it has no column '{missing}'; expected a table of records (groma export -o run.parquet)"));
    }
    let mut runs: Vec<(RunHeader, Vec<Record>)> = Vec::new();
    for row in reader.get_row_iter(None).map_err(|e| e.to_string())? {
        let row = row.map_err(|e| e.to_string())?;
        let cells = Cells(row.get_column_iter().map(|(name, field)| (name.as_str(), cell(field))).collect());
        let at = runs.iter().position(|(head, _)| head.run == cells.text("run"));
        let at = at.unwrap_or_else(|| {
            runs.push((header(&row, &cells), Vec::new()));
            runs.len() - 1
        });
        let record = record(&cells).map_err(|e| format!("a row of {}: {e}", cells.text("id")))?;
        runs[at].1.push(record);
    }
    Ok(runs)
}

/// The cells of a row by their columns.
struct Cells<'r>(BTreeMap<&'r str, Json>);

impl Cells<'_> {
    fn of(&self, name: &str) -> Json {
        self.0.get(name).cloned().unwrap_or(Json::Null)
    }

    fn or(&self, name: &str, otherwise: Json) -> Json {
        Some(self.of(name)).filter(|value| !value.is_null()).unwrap_or(otherwise)
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Json::as_str).unwrap_or_default()
    }
}

fn cell(field: &Field) -> Json {
    match field {
        Field::Str(text) => json!(text),
        Field::Long(n) | Field::TimestampMillis(n) => json!(n),
        Field::Double(value) => json!(value),
        Field::Bool(flag) => json!(flag),
        _ => Json::Null,
    }
}

fn header(row: &Row, cells: &Cells<'_>) -> RunHeader {
    let text = |name: &str| cells.text(name).to_owned();
    let started = row.get_column_iter().find(|(name, _)| *name == "started").and_then(|(_, field)| match field {
        Field::TimestampMillis(ms) => jiff::Timestamp::from_millisecond(*ms).ok(),
        _ => None,
    });
    let facts = [("host.name", "host"), ("cpu.model", "cpu_model"), ("kernel.release", "kernel")];
    let facts = facts.map(|(key, column)| Fact::new(key, text(column)));
    RunHeader {
        schema: SCHEMA,
        run: text("run"),
        started: started.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        groma: String::new(),
        build: String::new(),
        args: Vec::new(),
        tags: text("tags").split_whitespace().filter_map(|tag| tag.parse().ok()).collect(),
        in_turns: None,
        seed: 0,
        profile: Profile::Standard,
        budget_s: 0.0,
        environment: Machine { facts: facts.into_iter().filter(|fact| !fact.value.is_empty()).collect() },
        host: Host::UNKNOWN,
        noise: None,
        noise_lost: None,
        cpu_limit: None,
        remarks: Vec::new(),
    }
}

/// A record, made as from a line of a stream.
fn record(cells: &Cells<'_>) -> Result<Record, serde_json::Error> {
    let (of, or) = (|name: &str| cells.of(name), |name: &str, otherwise: Json| cells.or(name, otherwise));
    let text = |name: &'static str| cells.text(name);
    let params: serde_json::Map<String, Json> = text("params")
        .split(' ')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.parse::<u64>().map_or(json!(value), |n| json!(n))))
        .collect();
    let ends = match (of("ci_low"), of("ci_high")) {
        (low, high) if low.is_number() && high.is_number() => json!([low, high]),
        _ => Json::Null,
    };
    let flags: Vec<&str> = text("flags").split("; ").filter(|flag| !flag.is_empty()).collect();
    serde_json::from_value(json!({
        "id": of("id"), "version": of("version"), "summary": text("id"), "params": params,
        "params_text": text("params"), "placement": of("placement"), "workers": or("workers", json!(1)),
        "crew": or("crew", json!("processes")), "state": of("state"), "reason": text("reason"),
        "quantity": or("quantity", json!("latency")), "unit": of("unit"), "better": of("better"),
        "timing": "batched", "detail": or("detail", json!(false)), "value": of("value"), "ci": ends,
        "ci_display": ends, "p10": of("p10"), "p50": of("p50"), "p90": of("p90"), "p99": of("p99"),
        "max": of("max"), "interference": of("interference"), "cycles": of("cycles"),
        "rounds": or("rounds", json!(0)), "samples": or("samples", json!(0)), "clean": or("clean", json!(0)),
        "labels": {}, "proofs": [], "round_values": [], "flags": flags, "facts": [],
    }))
}
