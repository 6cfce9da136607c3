//! Runs are found by what users call them; files of older versions have no names and can be read.

mod common;
#[path = "common/old.rs"]
mod old;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use groma_model::{Fact, RunHeader, Tag};
use groma_store::{Filter, RunStatus, Sink, Store, StoreError};
use rusqlite::Connection;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("groma.db");
    (dir, path)
}

fn tag(text: &str) -> Tag {
    text.parse().expect("a tag")
}

/// A run of a host with a kernel; `tags` are separated by spaces.
fn begin(store: &Store, run: &str, host: &str, kernel: &str, tags: &str) {
    let mut head = RunHeader { tags: tags.split_whitespace().map(tag).collect(), ..common::header(run) };
    head.environment.facts = vec![Fact::new(groma_store::HOST_NAME, host), Fact::new("kernel.release", kernel)];
    store.writer("").expect("writer").begin(&head, &common::points()).expect("begin");
}

/// Runs 10 to 50 of two hosts.
fn filled(path: &Path) -> Store {
    let store = Store::open(path).expect("open");
    begin(&store, "10", "a", "6.1.0", "before");
    begin(&store, "20", "b", "6.18.0", "before after");
    begin(&store, "30", "a", "6.18.1", "");
    begin(&store, "40", "b", "5.4.0", "after");
    begin(&store, "50", "a", "6.1.7", "");
    store
}

#[test]
fn tags_come_and_go() {
    let (_dir, path) = place();
    let store = filled(&path);
    let of = |run: &str| store.tags(run).expect("tags").iter().map(Tag::to_string).collect::<Vec<_>>();
    assert_eq!(of("20"), ["after", "before"]);
    assert_eq!(store.load("20").expect("load").header.tags, BTreeSet::from([tag("after"), tag("before")]));
    store.tag("30", &[tag("x"), tag("before")]).expect("tag");
    store.tag("30", &[tag("x")]).expect("a second time");
    assert_eq!(of("30"), ["before", "x"]);
    store.untag("30", &[tag("before"), tag("absent")]).expect("untag");
    assert_eq!(of("30"), ["x"]);
    assert_eq!(store.runs().expect("runs")[2].tags, BTreeSet::from([tag("x")]));
    store.tag("7", &[tag("x")]).expect_err("a tag for no run");
    // A tag that this groma would not have written is named.
    Connection::open(&path).expect("open").execute_batch("INSERT INTO tags VALUES ('no tag', '40')").expect("sql");
    let error = store.load("40").expect_err("a bad tag").to_string();
    assert!(error.contains("run 40, tag is malformed: 'no tag' is not a tag"), "{error}");
}

#[test]
fn references_name_runs() {
    let (_dir, path) = place();
    let store = filled(&path);
    for (text, run) in [
        ("latest", "50"),
        ("latest~0", "50"),
        ("latest~1", "40"),
        ("latest~4", "10"),
        ("host:b", "40"),
        ("host:b~1", "20"),
        ("before", "20"),
        ("before~1", "10"),
        ("after", "40"),
        ("3", "30"),
        ("40", "40"),
    ] {
        assert_eq!(store.find(text).expect(text), run, "{text}");
    }
    let all = |text: &str| store.find_all(text).expect(text).join(" ");
    assert_eq!(
        ["before", "host:a", "latest", "before~1", "2", "50"].map(all),
        ["20 10", "50 30 10", "50", "10", "20", "50"]
    );
    for (text, error) in [
        ("befor", "no run 'befor'; the latest: 50, 40, 30, 20, 10; tags: after, before"),
        ("host:c", "no run of host 'c'; hosts: a, b"),
        ("before~2", "'before~2' goes back too far; there are only 2: 20, 10"),
        ("latest~5", "'latest~5' goes back too far; there are only 5: 50, 40, 30, 20, 10"),
        (
            "latest~99999999999999999999",
            "no run 'latest~99999999999999999999'; the latest: 50, 40, 30, 20, 10; tags: after, before",
        ),
        ("10~1", "'10~1' goes back too far; there are only 1: 10"),
        ("", "'' matches 5 runs: 50, 40, 30, 20, 10"),
    ] {
        for found in [store.find(text).map(|_| ()), store.find_all(text).map(|_| ())] {
            let said = found.expect_err(text).to_string();
            assert_eq!(said, format!("{}: {error}", path.display()));
        }
    }
}

#[test]
fn ids_win_over_tags_and_tags_over_prefixes() {
    let (_dir, path) = place();
    let store = Store::open(&path).expect("open");
    for (run, tags) in [("a", ""), ("ab1", "a ab"), ("ab2", "")] {
        begin(&store, run, "h", "k", tags);
    }
    assert_eq!(store.find("a").expect("id"), "a");
    assert_eq!(store.find("ab").expect("tag"), "ab1");
    assert_eq!(store.find("ab2").expect("id"), "ab2");
}

#[test]
fn the_newest_run_with_a_tag_is_the_last_started_and_not_the_last_stored() {
    let (_dir, path) = place();
    let store = Store::open(&path).expect("open");
    for run in ["30", "10", "20"] {
        begin(&store, run, "h", "k", "x");
    }
    assert_eq!(store.find("x").expect("newest"), "30");
    assert_eq!(store.find_all("host:h").expect("all"), ["30", "20", "10"]);
}

#[test]
fn filters_choose_runs() {
    let (_dir, path) = place();
    let store = filled(&path);
    let mut writer = store.writer("").expect("writer");
    writer.begin(&common::header("55"), &common::points()).expect("begin");
    writer.round(0, &common::round(0, 3)).expect("round");
    writer.end(&common::end(false)).expect("end");
    let found = |filter: Filter| {
        let rows = store.runs_that(&filter).expect("runs");
        let ids: Vec<String> = rows.into_iter().map(|row| row.run).collect();
        assert_eq!(store.ids_that(&filter, 9).expect("ids"), ids);
        ids.join(" ")
    };
    let none = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(none()), "55 50 40 30 20 10");
    assert_eq!(found(Filter { host: text("a"), ..none() }), "50 30 10");
    assert_eq!(found(Filter { tag: Some(tag("before")), ..none() }), "55 20 10");
    assert_eq!(found(Filter { kernel: text("6.1"), ..none() }), "55 50 30 20 10");
    assert_eq!(found(Filter { kernel: text("6.18"), ..none() }), "55 30 20");
    assert_eq!(found(Filter { kernel: text("%"), ..none() }), "");
    assert_eq!(found(Filter { since: text("2026-01-02T03:04:30Z"), ..none() }), "55 50 40 30");
    assert_eq!(found(Filter { before: text("2026-01-02T03:04:30Z"), ..none() }), "20 10");
    assert_eq!(found(Filter { before: text("2026-01-03"), since: text("2026-01-02"), ..none() }), "55 50 40 30 20 10");
    assert_eq!(found(Filter { status: Some(RunStatus::Complete), ..none() }), "55");
    // Planned is not measured.
    let benches = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect());
    assert_eq!(found(Filter { benches: benches(&["ipc.pipe_rtt", "x"]), ..none() }), "55");
    assert_eq!(found(Filter { benches: benches(&["ctx.switch"]), ..none() }), "");
    assert_eq!(found(Filter { host: text("a"), kernel: text("6.1."), ..none() }), "50 10");
    assert_eq!(store.benches().expect("benches"), ["clock.step", "ctx.switch", "ipc.pipe_rtt"]);
}

/// What the file holds, whichever version it has: a run, and the head of one that is damaged.
fn assert_whole(store: &Store) {
    let stored = store.load("10").expect("load");
    assert_eq!(stored.header, RunHeader { tags: BTreeSet::new(), ..common::header("10") });
    assert_eq!(stored.points.iter().map(|(_, rounds)| rounds.len()).sum::<usize>(), common::rounds().len());
    let runs = store.runs().expect("runs");
    assert_eq!(runs.iter().map(|row| row.kernel.as_deref()).collect::<Vec<_>>(), [None, Some("6.18.5")]);
    assert_eq!(store.find("latest~1").expect("find"), "10");
    assert_eq!(store.find("host:bench-1").expect("find"), "20");
    let filter = Filter { kernel: Some("6.18".to_owned()), ..Filter::default() };
    assert_eq!(store.ids_that(&filter, 9).expect("ids"), ["10"]);
    assert_eq!(store.earlier_runs(&common::header("30"), 9).expect("earlier").len(), 1);
    store.load("20").expect_err("a damaged header");
}

#[test]
fn a_file_of_version_1_is_migrated() {
    let (_dir, path) = place();
    old::version_1(&path);
    let store = Store::open(&path).expect("open");
    Connection::open(&path)
        .expect("open")
        .execute_batch("UPDATE runs SET header = '{}' WHERE run = '20'")
        .expect("a damaged header that is JSON");
    assert_whole(&store);
    store.tag("10", &[tag("old")]).expect("tag");
    assert_eq!(Store::open(&path).expect("again").find("old").expect("find"), "10");
    let db = Connection::open(&path).expect("open");
    let facts: u32 = db.query_row("SELECT count(*) FROM facts WHERE run = '10'", [], |row| row.get(0)).expect("facts");
    assert_eq!(facts, 2);
}

#[test]
fn a_file_of_version_1_that_is_only_read_stays_as_it_is() {
    let (_dir, path) = place();
    old::version_1(&path);
    let before = fs::read(&path).expect("read");
    let sql = "UPDATE runs SET header = '{}' WHERE run = '20'";
    let store = Store::open_to_read(&path).expect("open");
    let error = store.load("20").expect_err("a damaged header");
    assert!(matches!(error, StoreError::Malformed { .. }), "{error}");
    assert!(store.tags("10").expect("tags").is_empty());
    let error = store.tag("10", &[tag("x")]).expect_err("read-only");
    assert!(error.to_string().ends_with("cannot be written: it is read-only"), "{error}");
    assert_eq!(fs::read(&path).expect("read"), before);
    drop(store);
    Connection::open(&path).expect("open").execute_batch(sql).expect(sql);
    assert_whole(&Store::open_to_read(&path).expect("open"));
}

#[test]
fn nothing_is_made_where_a_store_is_only_read() {
    let (dir, path) = place();
    let error = Store::open_to_read(&path).expect_err("no file").to_string();
    assert_eq!(error, format!("{}: cannot be read: there is no such file", path.display()));
    assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 0);
}
