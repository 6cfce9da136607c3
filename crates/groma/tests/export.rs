//! Exports read back: Parquet by its own crate, CSV and gauges by small parsers, streams by
//! `merge`; each compared with the store.

use crate::common::{Ended, Place};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;

/// Rows with their values by column, as text; what has no value is not there.
type Rows = Vec<BTreeMap<String, String>>;

/// A store with one run: a metric of one CPU, one with a peer, one of stated values, one of several
/// metrics, and a worker group.
fn measured() -> Place {
    let place = Place::new();
    let args = ["run", "syscall.getppid", "clock.step", "ipc.pipe_rtt", "ctx.switch", "--profile", "quick", "--json"];
    let run = place.json(&[&args[..], &["--rounds", "3", "--tag", "one"]].concat());
    assert!(run["metrics"].as_array().is_some_and(|metrics| metrics.len() > 5), "{run}");
    place
}

fn export(place: &Place, file: &str, more: &[&str]) -> Ended {
    let path = place.path(file).display().to_string();
    let ended = place.groma(&[&["export", "-o", &path], more].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.starts_with(&format!("{path}: 1 run, ")), "{ended:?}");
    ended
}

fn parquet(place: &Place, table: &str) -> Rows {
    let file = format!("{table}.parquet");
    export(place, &file, &["--table", table]);
    let reader = SerializedFileReader::new(File::open(place.path(&file)).expect("the file")).expect("Parquet");
    let text = |field: &Field| match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Long(n) => Some(n.to_string()),
        Field::Double(value) => Some(format!("{value:?}")),
        Field::Bool(flag) => Some(flag.to_string()),
        Field::TimestampMillis(ms) => Some(format!("at {ms}")),
        other => panic!("{other:?} is no type of groma"),
    };
    let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
    rows.map(|row| row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), text(field)?))).collect())
        .collect()
}

/// Reads comma-separated values as RFC 4180 has them.
fn csv(place: &Place, table: &str) -> Rows {
    let file = format!("{table}.csv");
    export(place, &file, &["--table", table]);
    let text = std::fs::read_to_string(place.path(&file)).expect("the file");
    let (mut records, mut fields, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                fields.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut fields));
            }
            c => field.push(c),
        }
    }
    assert!(field.is_empty() && fields.is_empty() && !quoted, "the last line ends");
    let names = records.remove(0);
    let row = |fields: Vec<String>| {
        assert_eq!(fields.len(), names.len(), "{fields:?}");
        names.iter().cloned().zip(fields).filter(|(_, field)| !field.is_empty()).collect()
    };
    records.into_iter().map(row).collect()
}

/// The only number that a query gives.
fn count(place: &Place, sql: &str) -> i64 {
    let store = Connection::open(place.store()).expect("the store");
    store.query_row(sql, [], |row| row.get(0)).expect("a number")
}

fn sum(rows: &Rows, column: &str) -> i64 {
    rows.iter().filter_map(|row| row.get(column)?.parse::<i64>().ok()).sum()
}

fn text<'r>(row: &'r BTreeMap<String, String>, column: &str) -> &'r str {
    row.get(column).map_or("", String::as_str)
}

#[test]
fn tables_hold_what_the_store_holds() {
    let place = measured();
    let shown = place.json(&["show", "--format", "json"]);
    let metrics = shown["metrics"].as_array().expect("metrics");

    let records = parquet(&place, "records");
    assert_eq!(records.len(), metrics.len());
    for (row, metric) in records.iter().zip(metrics) {
        assert_eq!(text(row, "id"), metric["id"]);
        assert_eq!(text(row, "placement"), metric["placement"]);
        let value = row.get("value").map(|value| value.parse::<f64>().expect("a number"));
        assert_eq!(value, metric["value"].as_f64(), "{row:?}");
        assert_eq!(row.get("cycles").map(|v| v.parse::<f64>().expect("a number")), metric["cycles"].as_f64());
        assert_eq!(text(row, "samples"), metric["samples"].to_string());
        assert_eq!(
            text(row, "host"),
            shown["run"]["environment"].as_array().expect("facts")[..]
                .iter()
                .find(|f| f["key"] == "host.name")
                .expect("a name")["value"]
        );
        assert_eq!(text(row, "tags"), "one");
    }

    let rounds = parquet(&place, "rounds");
    let of_metrics = "SELECT count(*) FROM metrics m JOIN rounds r USING (run, point)";
    assert_eq!(rounds.len() as i64, count(&place, of_metrics));
    for (metric, record) in metrics.iter().zip(&records) {
        let is_it = |row: &&BTreeMap<String, String>| {
            ["id", "params", "placement", "workers"].iter().all(|column| row.get(*column) == record.get(*column))
        };
        let values: Vec<f64> = rounds.iter().filter(is_it).filter_map(|row| row.get("value")?.parse().ok()).collect();
        let stored: Vec<f64> =
            metric["round_values"].as_array().expect("values").iter().filter_map(Value::as_f64).collect();
        assert_eq!(values, stored, "{record:?}");
    }

    let samples = parquet(&place, "samples");
    let (timed, stated) = ("SELECT count(*) FROM samples", "SELECT count(*) FROM stated");
    assert_eq!(samples.len() as i64, count(&place, timed) + count(&place, stated));
    assert!(count(&place, timed) > 100 && count(&place, stated) > 0, "the run has both kinds");
    assert_eq!(sum(&samples, "elapsed_ns"), count(&place, "SELECT sum(elapsed_ns) FROM samples"));
    assert_eq!(sum(&samples, "iters"), count(&place, "SELECT sum(iters) FROM samples"));
    for row in &samples {
        let number = |column: &str| text(row, column).parse::<f64>().ok();
        if let (Some(elapsed), Some(iters), Some(per_iter), Some(clock), Some(value)) =
            (number("elapsed_ns"), number("iters"), number("per_iter"), number("clock_ns"), number("value"))
        {
            let seconds = (elapsed / iters - clock) / per_iter * 1e-9;
            assert!((value / seconds - 1.0).abs() < 1e-9, "{row:?}");
        }
    }

    // CSV and Parquet are one model of rows.
    for (table, rows) in [("records", &records), ("rounds", &rounds), ("samples", &samples)] {
        let from_csv = csv(&place, table);
        assert_eq!(from_csv.len(), rows.len(), "{table}");
        for (a, b) in from_csv.iter().zip(rows) {
            for (column, value) in b.iter().filter(|(_, value)| !value.is_empty()) {
                let same = match (text(a, column).parse::<f64>(), value.parse::<f64>()) {
                    (Ok(a), Ok(b)) => a == b,
                    _ if column == "started" => text(a, column) == shown["run"]["started"],
                    _ => text(a, column) == value,
                };
                assert!(same, "{table} {column}: {:?} and {value:?}", a.get(column));
            }
        }
    }
}

#[test]
fn a_run_goes_round() {
    let place = measured();
    let json = |store: &str| place.json(&["show", "--format", "json", "--samples", "--store", store]);
    let stored = json(&place.store().display().to_string());
    export(&place, "run.ndjson", &[]);
    let [stream, other] = ["run.ndjson", "other.db"].map(|name| place.path(name).display().to_string());
    let merged = place.groma(&["merge", &stream, "--store", &other]);
    assert!(merged.code == Some(0) && merged.out.contains("1 run added"), "{merged:?}");
    assert_eq!(json(&other), stored);
    // The same run is known.
    assert!(place.groma(&["merge", &stream]).out.contains("1 known already"));

    // A list of what `show` prints; without samples as with them.
    for (more, shown) in [(&[][..], &[][..]), (&["--table", "samples"], &["--samples"])] {
        export(&place, "run.json", more);
        let text = std::fs::read_to_string(place.path("run.json")).expect("the file");
        let list: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(list, [place.json(&[&["show", "--format", "json"], shown].concat())]);
    }

    // Records alone are no run, and merge says so.
    export(&place, "records.ndjson", &["--table", "records"]);
    let refused = place.groma(&["merge", &place.path("records.ndjson").display().to_string()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// A file for each run, with the bytes that an export of it alone has; written again, the same.
#[test]
fn runs_are_divided_by_date_and_group() {
    let place = Place::new();
    let quick = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "2", "--json"];
    let runs = [0, 1].map(|_| place.json(&quick)["run"]["run"].as_str().expect("an id").to_owned());
    let (dir, alone) = (format!("{}/", place.path("warehouse").display()), place.path("alone.parquet"));
    for _ in 0..2 {
        let ended = place.groma(&["export", &runs[0], &runs[1], "-o", &dir]);
        assert!(ended.code == Some(0) && ended.out.starts_with(&format!("{dir}: 2 runs in ")), "{ended:?}");
    }
    let inside = |dir: &std::path::Path| -> Vec<std::path::PathBuf> {
        let mut all: Vec<_> = std::fs::read_dir(dir).expect("a directory").flatten().map(|one| one.path()).collect();
        all.sort();
        all
    };
    let files: Vec<_> =
        inside(dir.as_ref()).iter().flat_map(|date| inside(date)).flat_map(|group| inside(&group)).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for run in &runs {
        export(&place, "alone.parquet", &[run]);
        let file = files.iter().find(|file| file.ends_with(format!("{run}.parquet"))).expect("its file");
        let path = file.display().to_string();
        assert!(path.contains(&format!("/date={}-{}-{}/group=", &run[..4], &run[4..6], &run[6..8])), "{path}");
        assert!(std::fs::read(file).expect("a file") == std::fs::read(&alone).expect("a file"), "{path}");
    }
    // A stream that holds records alone.
    let stream = place.path("records.ndjson").display().to_string();
    place.json(&[&quick[..], &["--no-store", "--out", &stream]].concat());
    let ended = place.groma(&["export", &stream, "-o", &dir]);
    assert!(ended.code == Some(0) && ended.out.contains("1 run in 1 partition"), "{ended:?}");
    let rounds = place.groma(&["export", &stream, "-o", &dir, "--table", "rounds"]);
    assert!(rounds.code == Some(2) && rounds.err.contains("not its rounds"), "{rounds:?}");
    let refused = place.groma(&["export", "-o", &dir, "--format", "json"]);
    assert!(refused.code == Some(2) && refused.err.contains("parquet or csv"), "{refused:?}");
}

#[test]
fn the_document_names_every_column() {
    let page = include_str!("../../../docs/exports.md");
    let tables = page.split("## Tables").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the section");
    let documented: Vec<&str> = tables.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    for table in groma_report::Table::ALL {
        for (name, _) in table.columns() {
            let has = |line: &&str| line.split('|').next().is_some_and(|cell| cell.split('`').any(|word| word == name));
            assert!(documented.iter().any(has), "docs/exports.md lacks {name} of {}", table.word());
        }
    }
}

#[test]
fn several_runs_and_parts_of_them() {
    let place = measured();
    let quick = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "2", "--json"];
    let second = place.json(&quick)["run"]["run"].as_str().expect("an id").to_owned();
    place.calm();
    let args = ["export", "one", "latest", "--format", "csv", "--select", "syscall"];
    let both = place.groma(&args);
    assert_eq!(both.code, Some(0), "{both:?}");
    let lines: Vec<&str> = both.out.lines().collect();
    assert_eq!(lines.len(), 3, "{both:?}");
    assert!(lines[1..].iter().all(|line| line.contains(",syscall.getppid,")) && lines[2].starts_with(&second));
    let net = place.groma(&["export", "one", "--format", "csv", "--select", "ctx.switch.net"]);
    let ids: Vec<&str> =
        net.out.lines().skip(1).filter_map(|line| line.split(',').find(|f| f.starts_with("ctx"))).collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| *id == "ctx.switch.net"), "{net:?}");

    // A part of a run is a run with this part; its end counts no more than it holds.
    export(&place, "part.ndjson", &["--select", "syscall"]);
    let part = place.path("part.ndjson").display().to_string();
    let part = place.json(&["show", &part, "--format", "json"]);
    let states = part["end"]["states"].as_object().expect("states").values().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!((part["metrics"].as_array().map(Vec::len), states), (Some(1), 1), "{part}");

    // Gauges: one run of a host.
    let gauges = place.groma(&["export", "--format", "openmetrics"]);
    assert!(gauges.out.contains("\ngroma_syscall_getppid_seconds{") && gauges.out.ends_with("\n# EOF\n"), "{gauges:?}");
    let refused = place.groma(&["export", "one", "latest", "--format", "openmetrics"]);
    assert!(refused.code == Some(2) && refused.err.contains("openmetrics holds one run of a host"), "{refused:?}");
    let twice = place.groma(&["export", "latest", &second, "--format", "csv"]);
    assert!(twice.code == Some(2) && twice.err.contains("is named twice"), "{twice:?}");
}

#[test]
fn bad_input_is_named_and_leaves_no_file() {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--json"];
    place.json(&run);
    let kept = place.path("kept.csv");
    std::fs::write(&kept, "as before").expect("a file");
    let kept = kept.display().to_string();
    for (args, expected) in [
        (
            &["-o", "run.xlsx"][..],
            "-o run.xlsx: its ending names no format: use one of .csv .json .ndjson .parquet .prom, or --format",
        ),
        (&["-o", "run.txt"], "-o run.txt: its ending names no format"),
        (&[], "no format: name one with --format csv|json|ndjson|parquet|openmetrics|lmbench, or a file with -o"),
        (&["--format", "arrow"], "expected one of csv, json, ndjson, parquet, openmetrics, lmbench"),
        (&["--table", "all", "--format", "csv"], "expected one of records, rounds, samples"),
        (&["--table", "rounds", "--format", "json"], "--table rounds: json has records and samples only"),
        (&["--table", "samples", "--format", "lmbench"], "--table samples: lmbench has records only"),
        (&["-o", "/nonexistent/run.csv"], "-o /nonexistent/run.csv: No such file or directory"),
        (&["-o", "/usr", "--format", "csv"], "-o /usr: Is a directory"),
        (&["nosuch", "-o", &kept], "nosuch"),
        (&["-o", &kept, "--select", "mem"], "holds no metric that mem names"),
    ] {
        let ended = place.groma(&[&["export"], args].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        assert!(ended.err.lines().next().is_some_and(|line| line.contains(expected)), "{args:?}: {ended:?}");
    }
    assert_eq!(std::fs::read_to_string(&kept).expect("the file"), "as before");
    let names = std::fs::read_dir(place.path("")).expect("the directory").flatten().map(|e| e.file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".part")), "a part was left");
}
