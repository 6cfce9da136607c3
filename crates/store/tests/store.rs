//! A run reads back as it was written, and a file that is not a groma store is refused and left
//! unchanged.

mod common;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use groma_model::{RunHeader, Sample};
use groma_store::{Filter, RunStatus, Sink, Store, StoreError};
use rusqlite::Connection;
use tempfile::TempDir;

fn temp_path() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("groma.db");
    (dir, path)
}

fn sql(path: &PathBuf, sql: &str) {
    Connection::open(path).expect("open").execute_batch(sql).expect(sql);
}

#[test]
fn a_run_comes_back_bit_for_bit() {
    let (_dir, path) = temp_path();
    common::write(&Store::open(&path).expect("open"), "10");

    let stored = Store::open(&path).expect("open again").load("10").expect("load");
    assert_eq!(stored.header, common::header("10"));
    assert_eq!(stored.end, Some(common::end(false)));
    assert_eq!(stored.status, RunStatus::Complete);
    let points: Vec<_> = stored.points.iter().map(|(point, _)| point.clone()).collect();
    assert_eq!(points, common::points());
    for (number, (_, rounds)) in stored.points.iter().enumerate() {
        let written: Vec<_> =
            common::rounds().into_iter().filter(|(point, _)| *point == number).map(|(_, round)| round).collect();
        assert_eq!(*rounds, written, "point {number}");
    }
    let values = &stored.points[1].1[0].result.output.series[1].values;
    assert!(values[1].is_sign_negative(), "-0.0 came back as {}", values[1]);
}

#[test]
fn every_kind_of_float_comes_back() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let mut writer = store.writer("").expect("writer");
    writer.begin(&common::header("10"), &common::points()).expect("begin");
    // Samples of the bit patterns of all finite floats.
    let floats: Vec<f64> =
        (1..4000u64).map(|i| f64::from_bits(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).filter(|f| f.is_finite()).collect();
    let mut round = common::round_of_two(0);
    round.result.output.series[1].values = floats.clone();
    writer.round(1, &round).expect("round");
    let back = &store.load("10").expect("load").points[1].1[0].result.output.series[1].values.clone();
    let bits = |list: &[f64]| list.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(back), bits(&floats));
}

#[test]
fn numbers_that_are_not_finite_come_back_as_nan() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let mut writer = store.writer("").expect("writer");
    writer.begin(&common::header("10"), &common::points()).expect("begin");
    let mut round = common::round_of_two(0);
    round.result.output.series[0].per_iter = f64::NEG_INFINITY;
    round.result.output.series[1].values = vec![1.5, f64::NAN, f64::INFINITY];
    round.result.output.proofs[0].seen = f64::INFINITY;
    round.result.output.core_hz = Some(f64::NAN);
    writer.round(1, &round).expect("round");

    let back = store.load("10").expect("load").points[1].1[0].result.clone();
    assert!(back.output.series[0].per_iter.is_nan() && back.output.proofs[0].seen.is_nan());
    let values = &back.output.series[1].values;
    assert!(values[0] == 1.5 && values[1].is_nan() && values[2].is_nan(), "{values:?}");
    assert_eq!(back.output.core_hz, None);
    assert_eq!(back.output.series[0].samples, round.result.output.series[0].samples);

    let mut head = common::header("11");
    head.budget_s = f64::INFINITY;
    let error = store.writer("").expect("writer").begin(&head, &[]).expect_err("a head that cannot be read back");
    assert!(matches!(error, StoreError::Malformed { .. }), "{error}");
    let mut points = common::points();
    points[1].target_half_width = f64::NAN;
    let error = store.writer("").expect("writer").begin(&common::header("12"), &points).expect_err("such a point");
    assert!(error.to_string().contains("run 12, point 1, definition is malformed"), "{error}");
    assert_eq!(store.runs().expect("runs").len(), 1, "half a run was kept");
}

#[test]
fn a_run_without_an_end_is_running_until_marked_killed() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write_unended(&store, "10");
    common::write(&store, "11");

    let reader = Store::open(&path).expect("a second one");
    let stored = reader.load("10").expect("load");
    assert_eq!((stored.status, stored.end), (RunStatus::Running, None));
    assert_eq!(stored.points[0].1.len(), 3);

    assert!(store.mark_killed("10").expect("mark"));
    assert!(!store.mark_killed("10").expect("mark again"), "marked twice");
    assert!(!store.mark_killed("11").expect("mark"), "a complete run was marked");
    assert_eq!(reader.load("10").expect("load").status, RunStatus::Killed);
    assert_eq!(reader.load("11").expect("load").status, RunStatus::Complete);
}

#[test]
fn the_history_is_newest_first() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    assert_eq!(store.runs().expect("runs"), []);
    common::write(&store, "20");
    common::write_unended(&store, "30");
    let mut writer = store.writer("me").expect("writer");
    writer.begin(&common::header("10"), &[]).expect("begin");
    writer.end(&common::end(true)).expect("end");

    let runs = store.runs().expect("runs");
    assert_eq!(runs.iter().map(|r| r.run.as_str()).collect::<Vec<_>>(), ["10", "30", "20"]);
    assert_eq!(store.ids_that(&Filter::default(), 2).expect("ids"), ["10", "30"]);
    let [interrupted, running, complete] = &runs[..] else { panic!("three runs") };
    assert_eq!(complete.started, "2026-01-02T03:04:20Z");
    assert_eq!((complete.profile.as_str(), complete.groma.as_str()), ("standard", "0.1.0"));
    assert_eq!(complete.args, common::header("20").args);
    assert_eq!(complete.host.as_deref(), Some("bench-1"));
    assert_eq!(complete.owner, "4711 123456 boot-id");
    assert_eq!((complete.points, complete.rounds), (3, 5));
    assert_eq!((complete.status, &complete.end), (RunStatus::Complete, &Some(common::end(false))));
    assert_eq!((running.status, &running.end, running.rounds), (RunStatus::Running, &None, 5));
    assert_eq!((interrupted.status, interrupted.points, interrupted.owner.as_str()), (RunStatus::Interrupted, 0, "me"));
}

/// A board before it has asked for the time, a dead battery. Ids are the seconds of the clock.
#[test]
fn runs_made_here_are_ordered_by_writing_and_others_by_their_clock() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let ids = || store.ids_that(&Filter::default(), 9).expect("ids");
    common::write(&store, "20");
    common::write(&store, "25");
    assert_eq!(store.clock_contradiction("25").expect("clocks"), None);
    // Behind, ahead, and right again.
    for run in ["01", "59", "30", "31"] {
        common::write(&store, run);
        assert_eq!(store.find("latest").expect("latest"), run);
    }
    assert_eq!(ids(), ["31", "30", "59", "01", "25", "20"]);
    assert_eq!(store.find("latest~2").expect("a run"), "59");
    assert_eq!(store.runs().expect("runs").iter().map(|run| run.run.clone()).collect::<Vec<_>>(), ids());
    let ahead = Some(("59".to_owned(), "2026-01-02T03:04:59Z".to_owned()));
    assert_eq!(store.clock_contradiction("30").expect("clocks"), ahead);
    assert_eq!(store.clock_contradiction("31").expect("clocks"), None, "it is told once");
    assert_eq!(store.clock_contradiction("01").expect("clocks").map(|(run, _)| run).as_deref(), Some("25"));
    // A run from elsewhere is taken in later, and is as old as it says.
    let (_other, elsewhere) = temp_path();
    let other = Store::open(&elsewhere).expect("open");
    common::write(&other, "22");
    store.merge(&other.load("22").expect("a run")).expect("merged");
    assert_eq!(ids(), ["31", "30", "59", "01", "25", "22", "20"]);
    assert_eq!(store.clock_contradiction("22").expect("clocks"), None);
}

/// Ids end in random digits, so they do not order runs of the same second.
#[test]
fn runs_of_the_same_second_are_ordered_by_insertion() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    for run in ["10-ffff", "10-0000", "10-8888"] {
        let head = RunHeader { run: run.to_owned(), ..common::header("10") };
        store.writer("").expect("writer").begin(&head, &[]).expect("begin");
    }
    assert_eq!(store.find("latest").expect("latest"), "10-8888");
    assert_eq!(store.find_all("latest").expect("one"), ["10-8888"]);
    assert_eq!(store.ids_that(&Filter::default(), 9).expect("ids"), ["10-8888", "10-0000", "10-ffff"]);
    let runs = store.runs().expect("runs");
    assert_eq!(runs.iter().map(|r| r.run.as_str()).collect::<Vec<_>>(), ["10-8888", "10-0000", "10-ffff"]);
}

#[test]
fn find_takes_a_unique_prefix() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let text = |error: StoreError| error.to_string().replace(&path.display().to_string(), "PATH");
    assert_eq!(text(store.find("latest").expect_err("empty")), "PATH: holds no runs yet");
    for run in ["12", "123", "20", "9%", "31"] {
        store.writer("").expect("writer").begin(&common::header(run), &[]).expect("begin");
    }
    assert_eq!(store.find("12").expect("an id that begins another"), "12");
    assert_eq!(text(store.find("1").expect_err("two")), "PATH: '1' matches 2 runs: 12, 123");
    assert_eq!(
        text(store.find("%").expect_err("no pattern")),
        "PATH: no run '%'; the latest: 9%, 31, 20, 12, 123; tags: before"
    );
    assert_eq!(text(store.find("").expect_err("all")), "PATH: '' matches 5 runs: 9%, 31, 20, 12, 123");
    assert_eq!(
        text(store.load("7").expect_err("none")),
        "PATH: no run '7'; the latest: 9%, 31, 20, 12, 123; tags: before"
    );
    store.writer("").expect("writer").begin(&common::header("32"), &[]).expect("begin");
    assert_eq!(text(store.find("").expect_err("six")), "PATH: '' matches 6 runs: 9%, 32, 31, 20, 12 and 1 more");
}

#[test]
fn a_writer_requires_a_new_id_and_a_head_before_its_rounds() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let mut writer = store.writer("").expect("writer");
    assert!(matches!(writer.round(0, &common::round(0, 1)), Err(StoreError::NotBegun { .. })));
    assert!(matches!(writer.end(&common::end(false)), Err(StoreError::NotBegun { .. })));
    common::write(&store, "10");
    assert!(matches!(writer.begin(&common::header("10"), &[]), Err(StoreError::Taken { run, .. }) if run == "10"));
    writer.begin(&common::header("11"), &common::points()).expect("begin");
    writer.round(3, &common::round(0, 1)).expect_err("a point that was not planned");
    writer.round(0, &common::round(0, 1)).expect("round");
    writer.round(0, &common::round(0, 1)).expect_err("a round that was taken");
    assert_eq!(store.load("11").expect("load").points[0].1.len(), 1);
}

#[test]
fn a_new_file_has_an_application_id_a_version_and_a_log() {
    let (dir, _) = temp_path();
    let path = dir.path().join("a/b/groma.db");
    let store = Store::open(&path).expect("open");
    assert_eq!(store.path(), path);
    let db = Connection::open(&path).expect("open");
    let pragma = |name: &str| db.pragma_query_value(None, name, |r| r.get::<_, i64>(0)).expect(name);
    assert_eq!(pragma("application_id"), 0x6772_6f6d);
    assert_eq!(pragma("user_version"), 1);
    let journal: String = db.pragma_query_value(None, "journal_mode", |r| r.get(0)).expect("journal");
    assert_eq!(journal, "wal");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |p: PathBuf| fs::metadata(p).expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode(dir.path().join("a")), 0o700);
        assert_eq!(mode(dir.path().join("a/b")), 0o700);
        assert_eq!(mode(path) & !0o644, 0);
    }
}

#[test]
fn special_names_of_sqlite_are_plain_files() {
    let (dir, _) = temp_path();
    for name in [":memory:", "file:x?mode=memory", "a b#%c.db"] {
        let path = dir.path().join(name);
        common::write(&Store::open(&path).expect(name), "10");
        assert!(path.is_file(), "{name}");
        assert_eq!(Store::open(&path).expect(name).find("latest").expect(name), "10");
    }
    let error = Store::open("".as_ref()).expect_err("no name");
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
}

/// Their versions 1 to 3 had other tables than the versions of releases.
#[test]
fn a_file_of_a_development_version_is_refused_and_left_alone() {
    let (_dir, path) = temp_path();
    common::write(&Store::open(&path).expect("open"), "10");
    sql(&path, "PRAGMA application_id = 0x67726d61; PRAGMA user_version = 3");
    let before = fs::read(&path).expect("read");
    let expected = format!(
        "{}: written by a development version of groma (store version 3): 'export' its runs with that version",
        path.display()
    );
    for refused in [Store::open(&path), Store::open_to_read(&path)] {
        assert_eq!(refused.expect_err("a development version").to_string(), expected);
    }
    assert_eq!(fs::read(&path).expect("read"), before, "the file was changed");
}

#[test]
fn a_run_of_a_newer_schema_is_listed_but_not_loaded() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    sql(&path, "UPDATE runs SET schema = 2, groma = '7.0'");
    assert_eq!(store.runs().expect("runs").len(), 1);
    let expected = format!("{}: run 10 was written by groma 7.0 (schema 2, this one knows 1)", path.display());
    assert_eq!(store.load("10").expect_err("load").to_string(), expected);
}

#[test]
fn unknown_fields_are_ignored() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    sql(
        &path,
        "UPDATE runs SET header = json_set(header, '$.mood', 'good');
         UPDATE points SET definition = json_set(definition, '$.mood', 'good');
         UPDATE rounds SET result = json_set(result, '$.mood', 'good')",
    );
    assert_eq!(store.load("10").expect("load").points[0].0, common::points()[0]);
}

#[test]
fn errors_name_the_damaged_part() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    sql(&path, "UPDATE rounds SET result = '{' WHERE point = 0 AND round = 2");
    let error = store.load("10").expect_err("load").to_string();
    assert!(error.contains("run 10, point 0, round 2 is malformed"), "{error}");
    assert!(!error.contains('\n'));
}

/// A damaged index may lead to the row of another run.
#[test]
fn a_header_of_another_run_is_an_error() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    common::write(&store, "20");
    sql(&path, "UPDATE runs SET header = (SELECT header FROM runs WHERE run = '10') WHERE run = '20'");
    assert_eq!(store.load("10").expect("it is sound").header.run, "10");
    let errors = [
        store.load("20").expect_err("the head of run 10"),
        store.earlier_runs(&common::header("30"), 9).expect_err("one of them is no head"),
    ];
    for error in errors {
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.ends_with("the database is damaged: the head of run 20 is that of another run"), "{text}");
    }
}

#[test]
fn a_file_that_is_not_a_store_is_refused_and_left_alone() {
    let (dir, path) = temp_path();
    let refused = |path: &PathBuf, what: &str| {
        let before = fs::read(path).ok();
        let error = Store::open(path).expect_err(what);
        assert_eq!(error.to_string(), format!("{}: not a groma store: {what}", path.display()));
        assert_eq!(fs::read(path).ok(), before, "{what}: it was changed");
    };
    refused(&dir.path().to_owned(), "a directory");
    fs::write(&path, "some other text file").expect("write");
    refused(&path, "not an SQLite database");
    fs::write(&path, "a").expect("write");
    refused(&path, "not an SQLite database");
    fs::write(&path, "SQLite format 3\0 and no database").expect("write");
    refused(&path, "not an SQLite database");
    fs::remove_file(&path).expect("remove");
    sql(&path, "CREATE TABLE theirs (x)");
    refused(&path, "the database of another program (application id 0x0)");
    sql(&path, "PRAGMA application_id = 7");
    refused(&path, "the database of another program (application id 0x7)");
    #[cfg(unix)]
    refused(&PathBuf::from("/dev/null"), "not a regular file");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let (_dir, path) = temp_path();
    fs::write(&path, "").expect("write");
    common::write(&Store::open(&path).expect("open"), "10");
}

#[test]
fn an_impossible_path_is_named_in_the_error() {
    let (dir, _) = temp_path();
    fs::write(dir.path().join("file"), "").expect("write");
    let path = dir.path().join("file/groma.db");
    let error = Store::open(&path).expect_err("below a file");
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
}

#[test]
fn a_writer_waits_for_a_lock() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let mut writer = store.writer("").expect("writer");
    writer.begin(&common::header("10"), &common::points()).expect("begin");
    // A second connection holds the write lock: the writer must wait for it and not fail.
    let other = Connection::open(&path).expect("open");
    other.execute_batch("BEGIN IMMEDIATE").expect("lock");
    let unlock = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("ROLLBACK").expect("unlock");
    });
    writer.round(0, &common::round(0, 25)).expect("a round that waited");
    unlock.join().expect("thread");
    assert_eq!(store.load("10").expect("load").points[0].1.len(), 1);
}

#[test]
fn the_log_is_checkpointed_at_the_end_of_a_run() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    let mut writer = store.writer("").expect("writer");
    writer.begin(&common::header("10"), &common::points()).expect("begin");
    (0..300).for_each(|n| writer.round(0, &common::round(n, 500)).expect("round"));
    let size = || fs::metadata(&path).expect("metadata").len();
    assert!(size() < 1 << 20, "{} bytes were checkpointed during the run", size());
    writer.end(&common::end(false)).expect("end");
    assert!(size() > 5 << 20, "only {} bytes were checkpointed", size());
}

#[test]
fn opening_a_store_waits_for_a_reader_to_restore_the_log() {
    let (_dir, path) = temp_path();
    common::write(&Store::open(&path).expect("open"), "10");
    sql(&path, "PRAGMA journal_mode = DELETE");
    let reader = Connection::open(&path).expect("open");
    reader.execute_batch("BEGIN; SELECT count(*) FROM runs").expect("a look");
    let slow = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        reader.execute_batch("ROLLBACK").expect("end of the look");
    });
    let store = Store::open(&path).expect("open");
    slow.join().expect("thread");
    let db = Connection::open(store.path()).expect("open");
    let journal: String = db.pragma_query_value(None, "journal_mode", |r| r.get(0)).expect("journal");
    assert_eq!(journal, "wal");
}

#[test]
fn views_agree_with_the_rounds() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    let db = Connection::open(&path).expect("open");

    let written = common::round(1, 25).result.output.series[0].samples.clone();
    let mut query = db
        .prepare(
            "SELECT worker, cpu, t0_ns, elapsed_ns, iters, cpu_ns, labels, margin_ns FROM samples
             WHERE run = '10' AND bench = 'ipc.pipe_rtt' AND version = 2 AND params ->> 'size' = 65536
               AND placement = 'same-cpu' AND workers = 1 AND round = 1 AND state = 'ok' AND per_iter = 1.0
             ORDER BY sample",
        )
        .expect("samples");
    let viewed: Vec<Sample> = query
        .query_map([], |r| {
            Ok(Sample {
                worker: r.get(0)?,
                cpu: r.get(1)?,
                t0_ns: r.get::<_, i64>(2)? as u64,
                elapsed_ns: r.get::<_, i64>(3)? as u64,
                iters: r.get::<_, i64>(4)? as u64,
                cpu_ns: r.get::<_, i64>(5)? as u64,
                labels: groma_model::Labels(r.get(6)?),
                margin_ns: r.get(7)?,
            })
        })
        .expect("query")
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(viewed, written);

    let line = |sql: &str| db.query_row(sql, [], |r| r.get::<_, String>(0)).expect(sql);
    let group = |sql: &str| line(&format!("SELECT group_concat(x, '; ') FROM ({sql})"));
    let metrics = group("SELECT metric || ' ' || bench || ' ' || quantity AS x FROM metrics ORDER BY x");
    assert_eq!(
        metrics,
        "ctx.switch ctx.switch latency; ctx.switch.net ctx.switch latency; ctx.switch.scaled ctx.switch latency; \
         ipc.pipe_rtt clock.step latency; ipc.pipe_rtt ipc.pipe_rtt latency"
    );
    let series = group(
        "SELECT series || ' ' || iters || ' ' || per_iter || ' ' || samples AS x FROM series
                        WHERE bench = 'ctx.switch' ORDER BY x",
    );
    assert_eq!(series, "control 1 0.1 0; raw 1000 1.0 3");
    let stated =
        group("SELECT series || ' ' || sample || ' ' || (value = 1.0 / 3.0) AS x FROM stated WHERE sample > 2");
    assert_eq!(stated, "control 3 0; control 4 1");
    let proofs = group(
        "SELECT round || ' ' || name || ' ' || expected || ' ' || seen || ' ' || holds AS x FROM proofs
                        WHERE point = 0 AND round = 0",
    );
    assert_eq!(proofs, "0 switches per round trip 1.9..2.1 2.0 1");
    assert_eq!(group("SELECT key || '=' || value AS x FROM facts"), "host.name=bench-1; kernel.release=6.18.5");
    assert_eq!(
        group("SELECT state || ' ' || reason AS x FROM rounds WHERE state <> 'ok'"),
        "timeout the worker did not answer in 2 s"
    );
    assert_eq!(group("SELECT crew || ' ' || placement AS x FROM points WHERE workers = 4"), "threads cpus:0,3");
    assert_eq!(group("SELECT host || ' ' || noise || ' ' || profile AS x FROM runs"), "bench-1 fine standard");

    let mut query = db.prepare("SELECT bit, letter, meaning FROM labels").expect("labels");
    let labels: Vec<(u16, String, String)> =
        query.query_map([], |r| r.try_into()).expect("query").collect::<Result<_, _>>().expect("rows");
    let known: Vec<_> = groma_model::Label::ALL
        .into_iter()
        .map(|l| (l as u16, l.letter().to_string(), l.meaning().to_owned()))
        .collect();
    assert_eq!(labels, known);

    sql(&path, "PRAGMA foreign_keys = 1; DELETE FROM runs WHERE run = '10'");
    let left: u32 = db
        .query_row("SELECT (SELECT count(*) FROM points) + (SELECT count(*) FROM rounds)", [], |r| r.get(0))
        .expect("count");
    assert_eq!(left, 0, "a deleted run left rows behind");
}

#[test]
fn earlier_runs_are_complete_runs_of_the_same_machine() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    for run in ["10", "12", "14", "16"] {
        common::write(&store, run);
    }
    sql(&path, "UPDATE runs SET host = 'another' WHERE run = '12'");
    sql(&path, "UPDATE runs SET status = 'interrupted' WHERE run = '14'");
    let model = |run: &str| {
        sql(
            &path,
            &format!(
                "UPDATE runs SET header = replace(header, '6.18.5\"', '6.18.5\"}},{{\"key\":\"cpu.model\",\"value\":\"{run}\"') WHERE run = '{run}'"
            ),
        );
    };
    let found = |run: &str, most| {
        let heads = store.earlier_runs(&common::header(run), most).expect("read");
        heads.into_iter().map(|head| head.run).collect::<Vec<_>>()
    };
    assert_eq!(found("18", 12), ["16", "10"]);
    assert_eq!(found("18", 1), ["16"]);
    assert_eq!(found("16", 12), ["10"]);
    assert_eq!(found("10", 12), [""; 0]);
    model("10");
    assert_eq!(found("18", 12), ["16"], "another processor");
}

#[test]
fn the_rounds_of_a_point_are_found_in_another_run() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    common::write(&store, "10");
    let stored = store.load("10").expect("load");
    for (point, rounds) in &stored.points {
        assert_eq!(store.rounds_of("10", point).expect("read"), *rounds);
        assert_eq!(store.rounds_of("11", point).expect("read"), []);
        let other = |change: &dyn Fn(&mut groma_model::Point)| {
            let mut other = point.clone();
            change(&mut other);
            store.rounds_of("10", &other).expect("read")
        };
        assert_eq!(other(&|p| p.version += 1), []);
        assert_eq!(other(&|p| p.workers += 1), []);
        assert_eq!(other(&|p| p.params.0.clear()), []);
        assert_eq!(other(&|p| p.placement = groma_model::Placement::Remote), []);
    }
}
