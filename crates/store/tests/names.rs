//! Runs are found by references, tags and filters.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use groma_model::{Fact, RunHeader, Tag};
use groma_store::{Filter, RunStatus, Sink, Store};
use rusqlite::Connection;
use tempfile::TempDir;

fn temp_path() -> (TempDir, PathBuf) {
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
fn tags_are_added_and_removed() {
    let (_dir, path) = temp_path();
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
    // An invalid tag in the file is named in the error.
    Connection::open(&path).expect("open").execute_batch("INSERT INTO tags VALUES ('no tag', '40')").expect("sql");
    let error = store.load("40").expect_err("a bad tag").to_string();
    assert!(error.contains("run 40, tag is malformed: 'no tag' is not a tag"), "{error}");
}

#[test]
fn references_resolve_to_runs() {
    let (_dir, path) = temp_path();
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
fn an_id_precedes_a_tag_and_a_tag_a_prefix() {
    let (_dir, path) = temp_path();
    let store = Store::open(&path).expect("open");
    for (run, tags) in [("a", ""), ("ab1", "a ab"), ("ab2", "")] {
        begin(&store, run, "h", "k", tags);
    }
    assert_eq!(store.find("a").expect("id"), "a");
    assert_eq!(store.find("ab").expect("tag"), "ab1");
    assert_eq!(store.find("ab2").expect("id"), "ab2");
}

#[test]
fn filters_select_runs() {
    let (_dir, path) = temp_path();
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
    // A benchmark that was planned but not measured does not match.
    let benches = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect());
    assert_eq!(found(Filter { benches: benches(&["ipc.pipe_rtt", "x"]), ..none() }), "55");
    assert_eq!(found(Filter { benches: benches(&["ctx.switch"]), ..none() }), "");
    assert_eq!(found(Filter { host: text("a"), kernel: text("6.1."), ..none() }), "50 10");
    assert_eq!(store.benches().expect("benches"), ["clock.step", "ctx.switch", "ipc.pipe_rtt"]);
}

#[test]
fn opening_a_missing_store_to_read_creates_nothing() {
    let (dir, path) = temp_path();
    let error = Store::open_to_read(&path).expect_err("no file").to_string();
    assert_eq!(error, format!("{}: cannot be read: there is no such file", path.display()));
    assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 0);
}
