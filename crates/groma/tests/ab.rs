//! Two conditions in turns: rounds come in pairs, a real cost is found, and a command that starts
//! no worker is named before anything is measured.

use crate::common::{Place, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rounds of a run that ended well.
fn rounds(place: &Place, run: &str) -> Vec<u32> {
    let store = rusqlite::Connection::open(place.store()).expect("a store");
    let sql = "SELECT round FROM rounds WHERE run = ?1 AND state = 'ok' ORDER BY round";
    let mut rounds = store.prepare(sql).expect("a statement");
    rounds.query_map([run], |row| row.get(0)).expect("rounds").map(|round| round.expect("a round")).collect()
}

fn find<'j>(json: &'j Value, id: &str) -> Option<&'j Value> {
    json["others"][0]["metrics"].as_array().expect("metrics").iter().find(|metric| metric["id"] == id)
}

fn metric<'j>(json: &'j Value, id: &str) -> &'j Value {
    find(json, id).unwrap_or_else(|| panic!("{id}: {json}"))
}

#[test]
fn both_sides_are_runs_whose_rounds_are_pairs() {
    let place = Place::new();
    let args = ["ab", "syscall.getppid", "--rounds", "9", "--budget", "10s", "--format", "json", "--", "--", "env"];
    let said = place.groma(&args);
    let [a, b] = &place.runs()[..] else { panic!("{said:?}") };
    let compare = || place.json(&["compare", a, b, "--format", "json"]);
    // Beside busy tasks a side may have no value; then nothing is said on standard output.
    if !said.out.is_empty() {
        let live: Value = serde_json::from_str(&said.out).expect("JSON");
        assert_eq!(metric(&compare(), "syscall.getppid"), metric(&live, "syscall.getppid"), "what is stored is shown");
    }
    place.calm();
    let json = compare();
    let runs = [&json["a"]["run"], &json["others"][0]["b"]["run"]];
    let ids = runs.map(|run| run["run"].as_str().expect("an id").to_owned());
    assert_eq!(runs.map(|run| run["in_turns"]["with"].as_str().expect("an id")), [ids[1].as_str(), ids[0].as_str()]);
    assert_eq!(runs.map(|run| run["in_turns"]["command"].as_str().expect("a command")), ["", "env"]);
    let both = ids.each_ref().map(|id| rounds(&place, id));
    assert_eq!(both[0], both[1], "a round of one side has one of the other");
    assert!(both[0].len() >= 6, "{both:?}");
    let text = place.groma(&["compare", &ids[0], &ids[1]]).out;
    assert!(text.contains("Rounds were made in turns") && text.contains("behind env"), "{text}");
}

/// The program of `filter.c`, compiled.
fn filter(place: &Place) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ab/filter.c");
    let program = place.path("filter");
    let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    let built = cc.arg("-O2").arg("-o").arg(&program).arg(source).output().expect("a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

#[test]
fn a_filter_of_4000_rules_is_slower_and_computing_is_not() {
    let place = Place::new();
    let filter = filter(&place);
    let filter = filter.to_str().expect("a path");
    let select = ["ab", "syscall.getppid", "cpu.call", "--rounds", "14", "--budget", "20s", "--format", "json"];
    let behind = ["--", filter, "0", "--", filter, "4000"];
    // Beside busy tasks nothing may be told of few rounds.
    let json = wait_for("a verdict", || {
        place.groma(&[&select[..], &behind[..]].concat());
        place.calm();
        let [.., a, b] = &place.runs()[..] else { return None };
        let json = place.json(&["compare", a, b, "--format", "json"]);
        let told = find(&json, "syscall.getppid").is_some_and(|metric| metric["verdict"] != "cannot tell");
        (told && find(&json, "cpu.call").is_some()).then_some(json)
    });
    let call = metric(&json, "syscall.getppid");
    assert_eq!(call["verdict"], "slower", "{call}");
    // A thousand rules made the call 1.5 times as slow on a Zen 5, and this is four times as many.
    assert!(call["ratio"].as_f64().expect("a ratio") > 1.5, "{call}");
    // A gate turns that into an exit code.
    let stored =
        [&json["a"]["run"]["run"], &json["others"][0]["b"]["run"]["run"]].map(|id| id.as_str().expect("an id"));
    for (order, gate, code) in [([0, 1], "--gate", 1), ([0, 1], "--gate=100000", 0), ([1, 0], "--gate", 0)] {
        let ended = place.groma(&["compare", stored[order[0]], stored[order[1]], "--select", "syscall.getppid", gate]);
        assert_eq!(ended.code, Some(code), "{order:?} {gate}: {ended:?}");
    }
    let computing = metric(&json, "cpu.call");
    assert_ne!(computing["verdict"], "slower", "{computing}");
}

#[test]
fn a_command_that_starts_no_worker_is_named_first() {
    let place = Place::new();
    let refused = |args: &[&str], expected: &str| {
        let ended = place.groma(&[&["ab", "syscall.getppid"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(expected) && ended.out.is_empty(), "{args:?}: {ended:?}");
    };
    refused(&["--", "--", "/nonexistent/box"], "-- /nonexistent/box: no worker can be measured behind it");
    refused(&["--", "--", "true"], "-- true: no worker can be measured behind it: the worker exited with code 0");
    let swallows = "exec \"$0\" \"$@\" >/dev/null";
    refused(&["--", "--", "sh", "-c", swallows], "the command before it must pass its standard output on");
    let noisy = "echo xyz; exec \"$0\" \"$@\"";
    refused(&["--", "--", "sh", "-c", noisy], "wrote 'xyz' to standard output before the worker's result");
    refused(&["--", "--", "sh", "-c", "echo no room >&2; exit 7"], "exited with code 7 and no result: no room");
    refused(&["--", "taskset"], "expected two commands, each after its own --");
    refused(&["--", "--"], "both sides are the same");
    refused(&["--program-b", "/nonexistent/groma", "--", "--"], "--program-a, --program-b: /nonexistent/groma");
    assert!(!place.store().exists() || place.groma(&["runs"]).out.contains("no runs yet"));
    assert!(place.left_behind().is_empty());
}

/// Which addresses collide in a cache depends on where the stack begins, and that on the length of
/// the environment.
#[test]
fn the_environment_of_each_round_has_another_length() {
    let place = Place::new();
    let log = place.path("lengths");
    let script = format!("echo ${{#GROMA_PADDING}} >> {}; exec \"$@\"", log.display());
    let args = ["ab", "syscall.getppid", "--rounds", "6", "--budget", "10s", "--", "--", "sh", "-c", &script, "sh"];
    let run = place.groma(&args);
    let log = std::fs::read_to_string(&log).unwrap_or_else(|why| panic!("{why}: {run:?}"));
    let lengths: Vec<usize> = log.lines().map(|line| line.parse().expect("a number")).collect();
    let different: BTreeSet<usize> = lengths.iter().copied().filter(|length| *length > 0).collect();
    assert!(different.len() >= 2, "{lengths:?}");
}
