//! Runs that are named, found, joined and removed, as a user does it.

use crate::common::{Ended, Place};
use groma_model::{Fact, Point, RunHeader};
use groma_store::{Sink, Store, StoredRun};
use serde_json::Value;

/// One measured run, stored as a stream and as several runs of two hosts: 1 and 3 of `a`, 2 of `b`.
/// Returns the stream.
fn history(place: &Place) -> String {
    let stream = place.path("run.ndjson").display().to_string();
    let args = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "1", "--out", &stream, "--samples"];
    let ended = place.groma(&[&args[..], &["--tag", "measured,first", "--no-store"]].concat());
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let model = groma_store::ndjson::read(stream.as_ref()).expect("a run");
    let store = Store::open(&place.store()).expect("a store");
    for (number, host) in [(1, "a"), (2, "b"), (3, "a")] {
        let mut header = RunHeader {
            run: format!("2020010{number}T000000Z-0000"),
            started: format!("2020-01-0{number}T00:00:00Z"),
            ..model.header.clone()
        };
        let facts = &mut header.environment.facts;
        facts.retain(|fact| !["host.name", "kernel.release"].contains(&fact.key.as_str()));
        facts.extend([Fact::new("host.name", host), Fact::new("kernel.release", format!("6.{number}.0"))]);
        store.merge(&StoredRun { header, ..model.clone() }).expect("a merge");
    }
    stream
}

#[track_caller]
fn prints(ended: Ended) -> String {
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    ended.out
}

#[track_caller]
fn refuses(ended: Ended, expected: &str) {
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.lines().next().is_some_and(|line| line.contains(expected)), "'{expected}' in {}", ended.err);
    assert!(!ended.err.starts_with("groma: ") || ended.err.lines().count() == 1, "{}", ended.err);
}

/// The day of the run that a view shows.
fn shown(place: &Place, args: &[&str]) -> String {
    let json: Value = serde_json::from_str(&prints(place.groma(args))).expect("JSON");
    json["run"]["run"].as_str().expect("an id")[6..8].to_owned()
}

#[test]
fn a_run_is_found_by_its_tags_its_host_and_its_place() {
    let place = Place::new();
    let stream = history(&place);
    let show = |run: &str| shown(&place, &["show", run, "--format", "json"]);
    assert_eq!(
        prints(place.groma(&["tag", "20200102", "before"])),
        "run 20200102T000000Z-0000, tags: before, first, measured\n"
    );
    assert_eq!(
        ["before", "first", "first~1", "latest~2", "host:b", "20200101"].map(show),
        ["02", "03", "02", "01", "02", "01"]
    );
    let left = place.groma(&["tag", "--delete", "latest", "first", "measured"]);
    assert_eq!(prints(left), "run 20200103T000000Z-0000, tags: none\n");
    assert_eq!(show("first"), "02");
    // The run line has what the option said.
    let line = std::fs::read_to_string(&stream).expect("the stream");
    let head: Value = serde_json::from_str(line.lines().next().expect("a line")).expect("JSON");
    assert_eq!(head["tags"], serde_json::json!(["first", "measured"]));
    for args in [&["show", "before", "--times"][..], &["show", &stream, "--all"]] {
        prints(place.groma(args));
    }

    refuses(place.groma(&["tag", "first", "2nd"]), "'2nd' is not a tag: expected a letter");
    refuses(place.groma(&["tag", "first", "latest"]), "'latest' is the newest run and cannot be a tag");
    refuses(place.groma(&["run", "syscall.getppid", "--label", "host:a"]), "'host:a' is the newest run of a machine");
    refuses(place.groma(&["tag", "-d", "latest", "first"]), "has no tag 'first'; its tags: none");
    refuses(place.groma(&["show", "befor"]), "no run 'befor'; the latest: 20200103T000000Z-0000, 2020");
    refuses(place.groma(&["plot", "syscall.getppid", "--run", "befor"]), "no run 'befor'; the latest: 2020");
    refuses(place.groma(&["show", "host:c"]), "no run of host 'c'; hosts: a, b");
    refuses(
        place.groma(&["show", "before~1"]),
        "'before~1' goes back too far; there are only 1: 20200102T000000Z-0000",
    );
    refuses(place.groma(&["show", "nowhere.ndjson"]), "nowhere.ndjson: cannot be read: No such file");
    let store = place.store().display().to_string();
    refuses(place.groma(&["show", &store]), "a store; name a run of it with --store FILE");
}

#[test]
fn the_list_of_runs_is_narrowed() {
    let place = Place::new();
    history(&place);
    let days = |args: &[&str]| {
        let text = prints(place.groma(&[&["runs", "--json"], args].concat()));
        let runs: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        runs.iter().map(|run| run["run"].as_str().expect("an id")[6..8].to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(days(&[]), "03 02 01");
    assert_eq!(days(&["--host", "a"]), "03 01");
    assert_eq!(days(&["--kernel", "6.2"]), "02");
    assert_eq!(days(&["--since", "2020-01-02"]), "03 02");
    assert_eq!(days(&["--until", "2020-01-02"]), "02 01");
    assert_eq!(days(&["--until", "2020-01-02", "--since", "2020-01-01T00:00:01", "--tag", "first"]), "02");
    assert_eq!(days(&["--bench", "syscall"]), "03 02 01");
    assert_eq!(days(&["--bench", "ipc.pipe_rtt"]), "");
    assert_eq!(days(&["--since", "1d"]), "");
    let run: Value = serde_json::from_str(&prints(place.groma(&["runs", "--json", "--host", "b"]))).expect("JSON");
    assert_eq!((&run[0]["kernel"], &run[0]["tags"]), (&"6.2.0".into(), &serde_json::json!(["first", "measured"])));
    assert_eq!((&run[0]["points"], &run[0]["rounds"], &run[0]["status"]), (&1.into(), &1.into(), &"complete".into()));
    assert_eq!(run[0]["asked"], "syscall.getppid --profile quick --rounds 1");

    let table = prints(place.groma(&["runs", "--host", "b"]));
    let row = table.lines().nth(1).expect("a row");
    assert!(
        row.starts_with("20200102T000000Z-0000  b     6.2.0   complete       1       1  [first, measured]"),
        "{table}"
    );
    assert_eq!(prints(place.groma(&["runs", "--host", "c"])), "no such runs: --host c: there are runs of a, b\n");
    refuses(place.groma(&["runs", "--since", "yesterday"]), "expected a date such as 2026-11-22");
    refuses(place.groma(&["runs", "--bench", "ipc.pipe_rt"]), "did you mean 'ipc.pipe_rtt'?");
}

#[test]
fn nothing_is_forgotten_without_yes() {
    let place = Place::new();
    history(&place);
    let count = || prints(place.groma(&["runs"])).lines().count() - 1;
    let only_told = prints(place.groma(&["forget", "host:a"]));
    assert!(only_told.contains("20200103T000000Z-0000") && !only_told.contains("20200101"), "{only_told}");
    assert!(
        only_told.contains("\n1 run, 1 rounds, ") && only_told.ends_with("add --yes to remove them\n"),
        "{only_told}"
    );
    assert_eq!(count(), 3);
    let removed = prints(place.groma(&["forget", "host:a", "--yes"]));
    assert!(removed.contains("removed; the file is "), "{removed}");
    assert_eq!(count(), 2);
    refuses(place.groma(&["show", "20200103"]), "no run '20200103'");
    refuses(place.groma(&["forget", "20200101", "nothing", "--yes"]), "no run 'nothing'");
    refuses(place.groma(&["forget", "--yes"]), "which runs? Expected ids or tags, or --host, --tag or --until");
    refuses(place.groma(&["forget", "latest", "--tag", "first", "--yes"]), "cannot be used with");
    assert_eq!(prints(place.groma(&["forget", "--tag", "absent", "--yes"])), "no such runs\n");
    prints(place.groma(&["forget", "--tag", "first", "--until", "2020-01-01", "--yes"]));
    assert_eq!(count(), 1);
}

/// The test itself is the process that writes.
#[test]
fn a_run_that_is_being_written_is_not_forgotten() {
    let place = Place::new();
    history(&place);
    let store = Store::open(&place.store()).expect("a store");
    let model = store.load(&store.find("latest").expect("a run")).expect("it reads");
    let mut writer = store.writer(&groma_runner::identity::owner()).expect("a writer");
    let points: Vec<Point> = model.points.iter().map(|(point, _)| point.clone()).collect();
    let head = RunHeader { run: "20210101T000000Z-0000".to_owned(), started: "2021".to_owned(), ..model.header };
    writer.begin(&head, &points).expect("a head");
    refuses(place.groma(&["forget", "latest", "--yes"]), "run 20210101T000000Z-0000 is still being written");
    let others = place.groma(&["forget", "--tag", "first", "--yes"]);
    assert_eq!(others.err, "groma: run 20210101T000000Z-0000 is still being written and stays\n");
    assert!(others.out.ends_with("new runs use the space\n"), "{others:?}");
    let left: Vec<String> = store.runs().expect("runs").into_iter().map(|row| row.run).collect();
    assert_eq!(left, ["20210101T000000Z-0000"]);
    writer.round(0, &model.points[0].1[0]).expect("a round");
}

#[test]
fn stores_and_streams_are_merged() {
    let place = Place::new();
    let stream = history(&place);
    let other = place.path("other.db").display().to_string();
    let own = place.store().display().to_string();
    let merge = |files: &[&str]| place.groma(&[&["merge", "--store", &other], files].concat());
    let (first, second) = (format!("{own}: 3 runs added\n"), format!("{stream}: 1 run added\n"));
    assert_eq!(prints(merge(&[&own, &stream])), first + &second);
    assert_eq!(prints(merge(&[&stream])), format!("{stream}: 0 runs added, 1 known already\n"));
    let runs = prints(place.groma(&["runs", "--store", &other]));
    assert_eq!(runs.lines().count(), 5);
    assert_eq!(shown(&place, &["show", "host:b", "--format", "json", "--store", &other]), "02");

    // What is cut off is named with what was kept.
    let text = std::fs::read_to_string(&stream).expect("the stream");
    let again = text.replace("\"run\":\"20", "\"run\":\"19");
    let cut = place.path("cut.ndjson").display().to_string();
    std::fs::write(&cut, again.clone() + &again[..again.len() - 3]).expect("a file");
    let lines = 2 * text.lines().count();
    refuses(merge(&[&cut]), &format!("{cut}: line {lines}: it is cut off; of this file 1 run added"));
    let records = place.path("records.ndjson").display().to_string();
    let few: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("\"kind\":\"round\"") && !line.contains("\"kind\":\"point\""))
        .collect();
    std::fs::write(&records, few.join("\n")).expect("a file");
    refuses(
        merge(&[&records]),
        "and not its rounds ('run --out FILE --samples' keeps them); of this file 0 runs added",
    );
    let letter = place.path("letter").display().to_string();
    std::fs::write(&letter, "Dear friend,").expect("a file");
    refuses(merge(&[&letter]), "letter: neither a groma store nor a stream of a run");
    refuses(merge(&["/nonexistent"]), "/nonexistent: cannot be read: No such file");
    let newer = place.path("newer.ndjson").display().to_string();
    std::fs::write(&newer, text.replace("\"schema\":1", "\"schema\":9")).expect("a file");
    refuses(merge(&[&newer]), "(schema 9, this one knows 1)");
}
