//! `docs/records.md` names every field and column that is written, and its queries work.

mod common;

use groma_store::{Ndjson, Sink, Store};
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;
use std::collections::BTreeSet;

const DOC: &str = include_str!("../../../docs/records.md");

/// The names of all fields, recursively.
fn fields(json: &Value, found: &mut BTreeSet<String>) {
    match json {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            found.insert(name.clone());
            // The names in these objects are data.
            if !["params", "labels", "states"].contains(&name.as_str()) {
                fields(value, found);
            }
        }),
        Value::Array(list) => list.iter().for_each(|value| fields(value, found)),
        _ => {}
    }
}

fn assert_documented(name: &str) {
    assert!(DOC.contains(&format!("`{name}`")) || DOC.contains(&format!("\"{name}\"")), "records.md lacks `{name}`");
}

#[test]
fn every_field_is_documented() {
    let mut out = Ndjson::new(Vec::new(), "").with_rounds();
    out.begin(&common::header("10"), &common::points()).expect("begin");
    for (point, round) in common::rounds() {
        out.round(point, &round).expect("round");
    }
    let mut record = common::record();
    record.round_samples = Some(common::rounds().into_iter().map(|(_, round)| round).collect());
    out.record(&record).expect("record");
    out.end(&common::end(false)).expect("end");
    let mut found = BTreeSet::new();
    for line in String::from_utf8(out.into_inner()).expect("UTF-8").lines() {
        fields(&serde_json::from_str(line).expect("JSON"), &mut found);
    }
    assert!(found.len() > 60, "only {} fields", found.len());
    found.iter().for_each(|name| assert_documented(name));
}

#[test]
fn every_table_view_and_column_is_documented() {
    let dir = tempfile::tempdir().expect("tempdir");
    let store = Store::open(&dir.path().join("groma.db")).expect("open");
    let db = Connection::open(store.path()).expect("open");
    let sql =
        "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view')";
    let mut query = db.prepare(sql).expect("schema");
    let mut rows = query.query([]).expect("query");
    while let Some(row) = rows.next().expect("row") {
        assert_documented(&row.get::<_, String>(0).expect("table"));
        assert_documented(&row.get::<_, String>(1).expect("column"));
    }
}

#[test]
fn the_queries_work() {
    let dir = tempfile::tempdir().expect("tempdir");
    let store = Store::open(&dir.path().join("groma.db")).expect("open");
    common::write(&store, "10");
    common::write_unended(&store, "11");
    let db = Connection::open(store.path()).expect("open");
    let answer = |sql: &str| {
        let mut query = db.prepare(sql).expect(sql);
        let columns = query.column_count();
        let mut rows = query.query([]).expect(sql);
        let mut lines = Vec::new();
        while let Some(row) = rows.next().expect(sql) {
            let cell = |i| match row.get(i).expect("cell") {
                Cell::Null => "null".to_owned(),
                Cell::Integer(n) => n.to_string(),
                Cell::Real(x) => x.to_string(),
                Cell::Text(text) => text,
                Cell::Blob(_) => "blob".to_owned(),
            };
            lines.push((0..columns).map(cell).collect::<Vec<_>>().join(" | "));
        }
        lines
    };
    let queries: Vec<&str> =
        DOC.split("```sql").skip(1).map(|rest| rest.split("```").next().expect("an end")).collect();
    assert_eq!(queries.len(), 2);
    // Two runs of three rounds, each with three samples of 25 labelled P and O.
    assert_eq!(answer(queries[0]), ["P | preempted | 18", "O | worker group not complete for the whole sample | 18"]);
    let fastest = common::rounds()
        .iter()
        .filter(|(point, _)| *point == 0)
        .flat_map(|(_, round)| round.result.output.series[0].samples.clone())
        .filter(|sample| sample.labels.0 == 0)
        .map(|sample| sample.elapsed_ns as f64 / sample.iters as f64)
        .fold(f64::INFINITY, f64::min);
    let expected = format!("2026-01-02T03:04:10Z | bench-1 | size=64 KiB kind=read | same-cpu | {fastest}");
    assert_eq!(answer(queries[1]), [expected]);
}
