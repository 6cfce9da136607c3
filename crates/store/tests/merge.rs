//! Runs are merged from other stores and from streams, and removed.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use groma_model::{Round, RunHeader};
use groma_store::{Merged, Ndjson, RunStatus, Sink, Source, Store, StoreError, StoredRun, ndjson};
use rusqlite::Connection;
use tempfile::TempDir;

fn temp_path() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("groma.db");
    (dir, path)
}

/// The fixture as a stream, with its rounds.
fn stream(run: &str, ended: bool) -> String {
    let mut out = Ndjson::new(Vec::new(), "out.ndjson").with_rounds();
    out.begin(&common::header(run), &common::points()).expect("begin");
    for (point, round) in common::rounds() {
        out.round(point, &round).expect("round");
    }
    out.record(&common::record()).expect("record");
    if ended {
        out.end(&common::end(false)).expect("end");
    }
    String::from_utf8(out.into_inner()).expect("UTF-8")
}

/// The fixture as loaded from a store.
fn fixture(run: &str) -> StoredRun {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, run);
    store.load(run).expect("load")
}

fn write_stream(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).expect("write");
    path
}

/// Merges a file. Returns what was merged before an error, and the error.
fn merge(store: &Store, path: &Path) -> (Vec<Merged>, Option<StoreError>) {
    let mut merged = Vec::new();
    let done = Source::open(path).and_then(|source| {
        let mut take = |run: &StoredRun| store.merge(run).map(|what| merged.push(what));
        match source {
            Source::Store(source) => source.runs()?.iter().rev().try_for_each(|row| take(&source.load(&row.run)?)),
            Source::Stream(mut runs) => runs.try_for_each(|run| take(&run?)),
        }
    });
    (merged, done.err())
}

#[test]
fn a_stream_with_rounds_reads_back_as_the_run() {
    let (dir, _) = temp_path();
    assert_eq!(ndjson::read(&write_stream(&dir, "a", &stream("10", true))).expect("read"), fixture("10"));
    // The last line need not end with a newline.
    assert_eq!(ndjson::read(&write_stream(&dir, "b", stream("10", true).trim_end())).expect("read"), fixture("10"));
    let killed = ndjson::read(&write_stream(&dir, "c", &stream("10", false))).expect("read");
    assert_eq!(killed, StoredRun { end: None, status: RunStatus::Killed, ..fixture("10") });
    // Unknown kinds and fields are skipped.
    let newer = stream("10", true).replace("{\"kind\":\"end\",", "{\"kind\":\"mood\"}\n{\"kind\":\"end\",\"mood\":1,");
    assert_eq!(ndjson::read(&write_stream(&dir, "d", &newer)).expect("read"), fixture("10"));
}

#[test]
fn errors_of_a_stream_name_the_line() {
    let (dir, _) = temp_path();
    let whole = stream("10", true);
    let lines: Vec<&str> = whole.lines().collect();
    // run, 3 points, 5 rounds, a metric, the end
    assert_eq!(lines.len(), 11);
    let with = |number: usize, line: &str| {
        let mut changed: Vec<&str> = lines.clone();
        changed[number - 1] = line;
        changed.join("\n")
    };
    let said = |text: &str| {
        let path = write_stream(&dir, "x.ndjson", text);
        let error = ndjson::read(&path).expect_err(text).to_string();
        error.strip_prefix(&format!("{}: ", path.display())).expect("the file").to_owned()
    };
    assert_eq!(said(&with(6, &lines[5][..40])), "line 6: it is cut off");
    assert_eq!(said(&whole[..whole.len() - 9]), "line 11: it is cut off");
    assert_eq!(
        said(&with(5, &lines[4].replacen("\"point\":1", "\"point\":3", 1))),
        "line 5: a round of point 3, and there are 3"
    );
    assert_eq!(
        said(&with(5, &lines[4].replacen("\"point\":1", "\"point\":-1", 1))),
        "line 5: invalid value: integer `-1`, expected usize, at column 26"
    );
    assert_eq!(said(&with(8, lines[6])), "line 8: round 1 of point 0 is out of order");
    assert_eq!(said(&with(10, "{\"a\":1}")), "line 10: it has no 'kind'");
    assert_eq!(said(&lines[1..].join("\n")), "line 1: a 'point' line outside of a run");
    assert_eq!(
        said(&with(4, &lines[3].replace("same-cpu", "\u{7}"))),
        "line 4: control character (\\u0000-\\u001F) found while parsing a string, at column 112"
    );
    assert_eq!(said("{\"kind\":\"second\"}\n"), "neither a groma store nor a stream of a run");
    assert_eq!(said("{}\n"), "line 1: it has no 'kind'");
    let baseline = "{\"kind\":\"baseline\",\"schema\":1}\n{\"kind\":\"metric\"}\n";
    assert!(said(baseline).starts_with("a baseline, which has no rounds"), "{}", said(baseline));
    assert_eq!(said("time,value\n1,2\n"), "neither a groma store nor a stream of a run");
    assert_eq!(said(""), "neither a groma store nor a stream of a run");
    assert_eq!(
        said(&with(1, &lines[0].replace("\"schema\":1", "\"schema\":2"))),
        "run 10 was written by groma 0.1.0 (schema 2, this one knows 1)"
    );
    assert_eq!(
        said(&[lines[0], lines[9], lines[10]].join("\n")),
        "holds the records of run 10 and not its rounds ('run --out FILE --samples' keeps them)"
    );
    assert_eq!(
        said(&(whole.clone() + &stream("20", true))),
        "holds several runs ('merge' takes all of them into a store)"
    );
    let deep = format!("{{\"kind\":\"end\",\"x\":{}", "[".repeat(100_000));
    assert!(said(&with(11, &deep)).starts_with("line 11: "), "{}", said(&with(11, &deep)));
    let missing = ndjson::read(Path::new("/nonexistent/x.ndjson")).expect_err("no file").to_string();
    assert_eq!(missing, "/nonexistent/x.ndjson: cannot be read: No such file or directory (os error 2)");
    assert!(ndjson::read(dir.path()).expect_err("a directory").to_string().contains("cannot be read: Is a directory"));
    assert!(matches!(ndjson::read(Path::new("/dev/zero")), Err(StoreError::NotAStream { .. })));
}

#[test]
fn a_run_merged_twice_is_stored_once() {
    let (dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let other = dir.path().join("other.db");
    {
        let other = Store::open(&other).expect("open");
        common::write(&other, "10");
        common::write(&other, "20");
    }
    let before = fs::read(&other).expect("read");
    assert_eq!(merge(&store, &other).0, [Merged::Added, Merged::Added]);
    assert_eq!(store.load("10").expect("load"), fixture("10"));
    store.tag("10", &["mine".parse().expect("a tag")]).expect("tag");
    let stream = write_stream(&dir, "s.ndjson", &(stream("10", true) + &stream("30", true)));
    assert_eq!(merge(&store, &stream).0, [Merged::Known, Merged::Added]);
    assert_eq!(merge(&store, &stream).0, [Merged::Known, Merged::Known]);
    assert_eq!(merge(&store, &other).0, [Merged::Known, Merged::Known]);
    assert_eq!(store.ids_that(&Default::default(), 9).expect("ids"), ["30", "20", "10"]);
    let tags: Vec<String> = store.tags("10").expect("tags").iter().map(|tag| tag.to_string()).collect();
    assert_eq!(tags, ["before", "mine"]);
    assert_eq!(fs::read(&other).expect("read"), before, "the source was changed");
}

#[test]
fn a_run_without_an_end_is_completed_by_the_same_run_with_one() {
    let (dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let begun = write_stream(&dir, "a.ndjson", &stream("10", false));
    let ended = write_stream(&dir, "b.ndjson", &stream("10", true));
    assert_eq!(merge(&store, &begun).0, [Merged::Added]);
    assert_eq!(store.load("10").expect("load").status, RunStatus::Killed);
    store.tag("10", &["mine".parse().expect("a tag")]).expect("tag");
    assert_eq!(merge(&store, &ended).0, [Merged::Completed]);
    assert_eq!(merge(&store, &begun).0, [Merged::Known]);
    let whole = store.load("10").expect("load");
    assert_eq!((whole.status, whole.points), (RunStatus::Complete, fixture("10").points));
    assert_eq!(whole.header.tags.len(), 2);
}

#[test]
fn a_different_run_with_the_same_id_is_refused() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    let mut other = fixture("10");
    other.header.seed = 7;
    let error = store.merge(&other).expect_err("another run").to_string();
    let expected = "run 10 exists already, and is a different one (of bench-1, begun 2026-01-02T03:04:10Z, seed 18446744073709551615)";
    assert_eq!(error, format!("{}: {expected}", path.display()));
    assert_eq!(store.load("10").expect("load"), fixture("10"));
}

#[test]
fn runs_before_an_error_are_kept_and_the_broken_one_is_not() {
    let (dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let text = stream("10", true) + &stream("20", true);
    let cut = write_stream(&dir, "cut.ndjson", &text[..text.len() - 20]);
    let (merged, error) = merge(&store, &cut);
    assert_eq!(merged, [Merged::Added]);
    assert_eq!(error.expect("cut").to_string(), format!("{}: line 22: it is cut off", cut.display()));
    assert_eq!(store.ids_that(&Default::default(), 9).expect("ids"), ["10"]);
    // A run that the store refuses leaves nothing behind either.
    let mut bad = fixture("30");
    bad.points[1].1 = vec![common::round(0, 1), common::round(0, 1)];
    store.merge(&bad).expect_err("a round twice");
    assert_eq!(store.ids_that(&Default::default(), 9).expect("ids"), ["10"]);
    assert_eq!(merge(&store, &write_stream(&dir, "whole.ndjson", &text)).0, [Merged::Known, Merged::Added]);
}

#[test]
fn databases_of_other_programs_are_refused() {
    let (dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let theirs = dir.path().join("theirs.db");
    Connection::open(&theirs).expect("open").execute_batch("CREATE TABLE theirs (x)").expect("sql");
    let (merged, error) = merge(&store, &theirs);
    assert_eq!(merged, []);
    let error = error.expect("another program").to_string();
    assert!(error.ends_with("not a groma store: the database of another program (application id 0x0)"), "{error}");
    let (_, error) = merge(&store, &write_stream(&dir, "x", "SQLite format 3\0 and no database"));
    assert!(matches!(error, Some(StoreError::NotAStore { .. })), "{error:?}");
}

#[test]
fn forgetting_runs_removes_all_their_rows_and_shrinks_the_file() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    let small = {
        store.compact().expect("compact");
        store.file_size().expect("size")
    };
    for run in ["20", "30"] {
        let mut writer = store.writer("").expect("writer");
        writer.begin(&RunHeader { run: run.to_owned(), ..common::header(run) }, &common::points()).expect("begin");
        (0..20).for_each(|n| writer.round(0, &Round { round: n, ..common::round(0, 500) }).expect("round"));
        writer.end(&common::end(false)).expect("end");
    }
    let ids = ["20", "30", "absent"].map(str::to_owned);
    let extent = store.extent(&ids).expect("extent");
    store.compact().expect("all of it in the file");
    let large = store.file_size().expect("size");
    assert_eq!((extent.runs, extent.rounds), (2, 40));
    assert!(extent.bytes > (large - small) / 2 && extent.bytes < large, "{extent:?} of {large}, {small} without");
    store.forget(&ids).expect("forget");
    store.compact().expect("compact");
    assert_eq!(store.file_size().expect("size"), small);
    assert_eq!(store.extent(&ids).expect("extent"), Default::default());
    assert_eq!(store.load("10").expect("load"), fixture("10"));
    let db = Connection::open(&path).expect("open");
    let left = "SELECT (SELECT count(*) FROM runs) || ' ' || (SELECT count(DISTINCT run) FROM points) || ' '
                || (SELECT count(DISTINCT run) FROM rounds) || ' ' || (SELECT count(*) FROM tags)";
    assert_eq!(db.query_row(left, [], |row| row.get::<_, String>(0)).expect(left), "1 1 1 1");
}
