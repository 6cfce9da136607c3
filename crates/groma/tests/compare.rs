//! Runs beside each other: what changed is found, what did not is left alone, and what cannot be
//! compared is refused with a reason.

use crate::common::{Ended, Place};
use serde_json::Value;

const SELECTED: [&str; 5] = ["run", "syscall.getppid", "vm.protect", "--param", "size=4K"];
/// A busy machine needs longer for the rounds than a quick run has.
const EFFORT: [&str; 7] = ["--profile", "quick", "--rounds", "12", "--budget", "60s", "--json"];

/// A run of two metrics; its id.
fn run(place: &Place) -> String {
    let run = place.json(&[&SELECTED[..], &EFFORT].concat())["run"]["run"].as_str().expect("an id").to_owned();
    place.calm();
    run
}

/// A place with two runs of two metrics, of which the second is the first once more; their ids.
fn two_equal_runs() -> (Place, [String; 2]) {
    let place = Place::new();
    let ids = [(); 2].map(|()| run(&place));
    // On a busy machine the first may have fewer rounds.
    let store = rusqlite::Connection::open(place.store()).expect("a store");
    let alone = "DELETE FROM rounds WHERE run = ?2 AND NOT EXISTS (SELECT 1 FROM rounds r WHERE r.run = ?1
                 AND r.point = rounds.point AND r.round = rounds.round)";
    store.execute(alone, (&ids[0], &ids[1])).expect("a statement");
    sql(
        &place,
        "UPDATE rounds SET result = (SELECT r.result FROM rounds r WHERE r.run = ?1 AND r.point = rounds.point
                                     AND r.round = rounds.round) WHERE run = ?2",
        &ids,
    );
    (place, ids)
}

fn sql(place: &Place, text: &str, params: &[String; 2]) {
    let store = rusqlite::Connection::open(place.store()).expect("a store");
    let changed = store.execute(text, (&params[0], &params[1])).expect("a statement");
    assert!(changed > 0, "{text}");
}

fn verdicts(place: &Place, args: &[&str]) -> Vec<(String, String)> {
    let json = place.json(&[&["compare"], args, &["--format", "json"]].concat());
    let metrics = json["others"][0]["metrics"].as_array().expect("metrics").clone();
    let text = |metric: &Value, key: &str| metric[key].as_str().expect("a text").to_owned();
    metrics.iter().map(|metric| (text(metric, "id"), text(metric, "verdict"))).collect()
}

#[test]
fn what_became_ten_times_as_fast_is_found_and_nothing_else() {
    let (place, [a, b]) = two_equal_runs();
    for (id, verdict) in verdicts(&place, &[&a, &b]) {
        assert!(["same", "cannot tell"].contains(&verdict.as_str()), "{id}: {verdict}");
    }
    // As if an iteration had been ten operations.
    let tenfold = "UPDATE rounds SET result = json_set(result, '$.series[0].per_iter',
                          10 * (result ->> '$.series[0].per_iter'))
                   WHERE run = ?1 AND point = (SELECT point FROM points WHERE run = ?1 AND bench = ?2)";
    sql(&place, tenfold, &[b.clone(), "syscall.getppid".to_owned()]);
    let found = verdicts(&place, &[&a, &b]);
    assert!(found.contains(&("syscall.getppid".to_owned(), "faster".to_owned())), "{found:?}");
    assert!(found.iter().all(|(id, verdict)| id == "syscall.getppid" || verdict != "faster"), "{found:?}");
    // The other way round it is slower; the summary says by how much, and how sure that is.
    let Ended { code, out, .. } = place.groma(&["compare", &b, &a]);
    assert_eq!(code, Some(0));
    assert!(out.contains("1 slower") && out.contains("Slower: "), "{out}");
    // A neighbour may have been on the core of one of them: a factor of 1.2.
    let times = out.split_once(" times (").and_then(|(before, _)| before.rsplit(' ').next()?.parse::<f64>().ok());
    assert!(times.is_some_and(|times| (6.0..16.0).contains(&times)), "{out}");
    // Only what is asked for.
    let selected = verdicts(&place, &[&a, &b, "--select", "vm"]);
    assert!(!selected.is_empty() && selected.iter().all(|(id, _)| id.starts_with("vm.")), "{selected:?}");
}

#[test]
fn every_format_holds_the_metrics() {
    let (place, [a, b]) = two_equal_runs();
    let out = |args: &[&str]| {
        let ended = place.groma(&[&["compare", a.as_str(), b.as_str()], args].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out
    };
    let metrics = verdicts(&place, &[&a, &b]).len();
    assert_eq!(out(&["--format", "csv"]).lines().count(), metrics + 1);
    assert_eq!(out(&["--format", "junit"]).matches("<testcase").count(), metrics);
    assert!(out(&["--format", "markdown"]).contains("<details>"));
    assert!(out(&["--all"]).contains("B/A") && !out(&[]).contains("B/A"));
    let relative = out(&["--relative", "syscall.getppid"]);
    assert!(relative.contains("multiples of syscall.getppid (") && !relative.contains("null call"), "{relative}");
    assert!(out(&["--relative", "cycles"]).contains("in cycles"));
    // Several runs a side: its rounds are those of all of them.
    let c = run(&place);
    let sides = place.json(&["compare", "--a", &format!("{a},{b}"), "--b", &c, "--format", "json"]);
    assert_eq!((&sides["a"]["runs"], &sides["others"][0]["b"]["runs"]), (&Value::from(2), &Value::from(1)));
    let rounds = |json: &Value| json["others"][0]["metrics"][0]["rounds"][0].as_u64();
    let alone = |run: &str| rounds(&place.json(&["compare", run, &c, "--format", "json"]));
    assert_eq!(rounds(&sides), alone(&a).zip(alone(&b)).map(|(a, b)| a + b), "{sides}");
}

/// Values are multiples of one point, whichever side has which first, and a metric with several is
/// refused with what can be typed.
#[test]
fn a_base_is_one_point_on_both_sides() {
    let place = Place::new();
    let run = |sizes: &str| {
        let json = place.json(&[&["run", "vm.protect", "syscall.getppid", "--param", sizes][..], &EFFORT].concat());
        json["run"]["run"].as_str().expect("an id").to_owned()
    };
    let (a, b) = (run("vm.protect:size=4K,64K"), run("vm.protect:size=64K,4K"));
    // A point without a value is none that can be meant.
    place.calm();
    let compare = |base: &str| place.groma(&["compare", &a, &b, "--format", "json", "--relative", base]);
    let refused = compare("vm.protect");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--relative vm.protect: 2 points are meant"), "{refused:?}");
    let typed = refused.err.split(": ").last().expect("choices").trim();
    let choices: Vec<&str> = typed.split(", ").collect();
    assert_eq!(choices, ["vm.protect:size=4KiB", "vm.protect:size=64KiB"]);
    for base in choices {
        let ended = compare(base);
        assert_eq!(ended.code, Some(0), "{base}: {ended:?}");
        let json: Value = serde_json::from_str(&ended.out).expect("JSON");
        let ids: Vec<&str> =
            json["others"][0]["metrics"].as_array().expect("metrics").iter().filter_map(|m| m["id"].as_str()).collect();
        // The base itself would be 1 on both sides; the other size is still there.
        assert_eq!(ids.iter().filter(|id| **id == "vm.protect").count(), 1, "{ids:?}");
        assert!(ids.contains(&"syscall.getppid"), "{ids:?}");
    }
    let unknown = compare("vm.protect:nowhere");
    assert!(unknown.code == Some(2) && unknown.err.contains("--relative vm.protect:nowhere: "), "{unknown:?}");
}

#[test]
fn a_gate_says_why_it_ends_as_it_does() {
    let (place, [a, b]) = two_equal_runs();
    // As if an iteration of the first side had been ten operations: the second is ten times slower.
    let tenfold = "UPDATE rounds SET result = json_set(result, '$.series[0].per_iter',
                          10 * (result ->> '$.series[0].per_iter'))
                   WHERE run = ?1 AND point = (SELECT point FROM points WHERE run = ?1 AND bench = ?2)";
    sql(&place, tenfold, &[a.clone(), "syscall.getppid".to_owned()]);
    let gate = |args: &[&str]| place.groma(&[&["compare", &a, &b], args].concat());
    let failed = gate(&["--gate=5", "--format", "csv"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.err.contains("became slower in run ") && failed.err.contains("by more than 5 % (exit code 1)"));
    assert_eq!(failed.err.lines().count(), 1, "{failed:?}");
    let passed = gate(&["--gate=99999", "--select", "syscall.getppid"]);
    assert!(passed.code == Some(0) && passed.err.is_empty(), "{passed:?}");
    // Two rounds a side tell nothing.
    sql(&place, "DELETE FROM rounds WHERE run IN (?1, ?2) AND round > 1", &[a.clone(), b.clone()]);
    let unclear = gate(&["--gate=5"]);
    assert_eq!(unclear.code, Some(3), "{unclear:?}");
    assert!(unclear.err.contains("it cannot be told (exit code 3)"), "{unclear:?}");
}

#[test]
fn a_run_among_the_reference_machines() {
    let (place, [a, _]) = two_equal_runs();
    let json = place.json(&["compare", &a, "--with", "reference", "--format", "json"]);
    let machines = json["machines"].as_array().expect("machines").len();
    assert!(machines >= 2, "{json}");
    let lines = json["lines"].as_array().expect("lines");
    let getppid = lines.iter().find(|line| line["id"] == "syscall.getppid").expect("its line");
    assert_eq!(getppid["machines"].as_u64(), Some(machines as u64), "{getppid}");
    let text = place.groma(&["compare", "--with", "reference"]).out;
    assert!(text.contains(&format!("value of {machines} machines")) && text.contains("typical"), "{text}");
    // A reference machine is none of those that it lies among.
    let json = place.json(&["compare", "reference", "--with", "reference", "--format", "json"]);
    assert_eq!(json["machines"].as_array().map(Vec::len), Some(machines - 1));
    let two = place.groma(&["compare", &a, "latest", "--with", "reference"]);
    assert!(two.code == Some(2) && two.err.contains("takes one run"), "{two:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_a_line() {
    let (place, [a, b]) = two_equal_runs();
    let c = place.json(&["run", "cpu.branch", "--profile", "quick", "--rounds", "1", "--json"])["run"]["run"]
        .as_str()
        .expect("id")
        .to_owned();
    for (args, expected) in [
        (vec!["compare", &a, "19990101"], "19990101"),
        (vec!["compare", &a, &c], "have no metric with a value in common"),
        (vec!["compare", &a, &b, "--relative", "ipc.pipe_rtt"], "--relative ipc.pipe_rtt: run "),
        (vec!["compare", &a, &b, "--format", "xml"], "expected one of table, markdown, html, json, csv, junit"),
        (vec!["compare", "--a", &a], "--b"),
        // What clap requires of --b it waives where that conflicts with a run.
        (vec!["compare", &a, "--b", &b], "--a <RUN>"),
        (vec!["compare", &a, "--a", &a, "--b", &b], "is a third side"),
        (vec!["compare", &c], "is named twice"),
        (vec!["compare", &a, &b, &a], "is named twice"),
        (vec!["compare", "--a", &a, "--b", &format!("{b},{a}")], "is named twice"),
        (
            vec!["compare", &a, &b, "--select", "nonesuch"],
            "--select nonesuch: no side holds such a metric; the sides hold",
        ),
        (vec!["compare", &place.store().display().to_string(), &a], "a store; name a run of it with --store FILE"),
    ] {
        let ended = place.groma(&args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(expected) && ended.out.is_empty(), "{args:?}: {ended:?}");
    }
    // Of another definition nothing is compared, and it is counted.
    sql(
        &place,
        "UPDATE points SET definition = json_set(definition, '$.version', 99) WHERE run = ?1 AND bench = ?2",
        &[b.clone(), "vm.protect".to_owned()],
    );
    let out = place.groma(&["compare", &a, &b]).out;
    assert!(out.contains("Not compared: 1 defined anew"), "{out}");
    let all = place.groma(&["compare", &a, &b, "--select", "vm.protect"]);
    assert_eq!(all.code, Some(2), "{all:?}");
    assert!(all.err.contains("(1 metric) is defined anew in between; measure again"), "{all:?}");
}
