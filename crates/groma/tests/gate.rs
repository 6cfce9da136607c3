//! Gates and baselines: what fails is slower, what cannot be compared is said, and the file of a
//! baseline reads back as it was.

use crate::common::{Ended, Place, eight_at_a_time, ended, write_program};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A baseline of one system call, as a file.
fn baseline(place: &Place) -> String {
    let ran = place.groma(&["run", "syscall.getppid", "--profile", "quick", "--tag", "main"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    place.calm();
    let file = place.path("base.ndjson").to_str().expect("a path").to_owned();
    let set = place.groma(&["baseline", "set", &file, "main"]);
    assert!(set.code == Some(0) && set.out.contains("1 metric of 1 run"), "{set:?}");
    file
}

/// The same with the values of its metrics changed.
fn changed(file: &str, change: impl Fn(&mut Value)) {
    let text = std::fs::read_to_string(file).expect("a baseline");
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if line["kind"] == "metric" {
            change(&mut line);
        }
        format!("{line}\n")
    });
    std::fs::write(file, lines.collect::<String>()).expect("a file");
}

fn times(line: &mut Value, factor: f64) {
    let scaled = |value: &Value| Value::from(value.as_f64().expect("a number") * factor);
    // What it is beside a busy sibling is compared where both sides have that.
    for field in ["/value", "/ci", "/round_values", "/shared/value", "/shared/round_values"] {
        let Some(value) = line.pointer_mut(field).filter(|value| !value.is_null()) else { continue };
        *value = match &*value {
            Value::Array(all) => all.iter().map(scaled).collect(),
            one => scaled(one),
        };
    }
}

fn gate(place: &Place, args: &[&str]) -> Ended {
    gate_within("4s", place, args)
}

fn gate_within(budget: &str, place: &Place, args: &[&str]) -> Ended {
    place.groma(&[&["gate", "--budget", budget], args].concat())
}

/// What a busy machine may be unable to do within the first of these budgets.
fn in_time<T>(what: &str, mut within: impl FnMut(&str) -> Option<T>) -> T {
    let budgets = ["4s", "8s", "16s", "32s", "64s"];
    budgets.into_iter().find_map(&mut within).unwrap_or_else(|| panic!("not within 64 s: {what}"))
}

fn tags(place: &Place) -> String {
    place.groma(&["baseline", "list"]).out
}

#[test]
fn what_takes_twice_as_long_as_the_baseline_fails() {
    // Nothing is told where the sibling thread was busy on one side alone, or the rounds were too
    // few.
    let (place, file, junit) = in_time("two sides that had their core to themselves, or not", |budget| {
        let place = Place::new();
        let file = baseline(&place);
        changed(&file, |line| times(line, 0.4));
        let junit = gate_within(budget, &place, &["--baseline", &file, "--format", "junit"]);
        (junit.code != Some(3)).then_some((place, file, junit))
    });
    assert!(junit.code == Some(1) && junit.err.contains("FAILED  1 of 1 metrics"), "{junit:?}");
    assert!(junit.out.contains("failures=\"1\"") && junit.out.contains("</testsuites>"), "{junit:?}");
    assert!(tags(&place).contains("gate-failed     2"), "the screening and the confirming run: {}", tags(&place));
    // Three times as fast as it is by now, so it passes, or the machine is too noisy to say.
    changed(&file, |line| times(line, 10.0));
    let passed = gate(&place, &["syscall", "--baseline", &file]);
    assert!(matches!(passed.code, Some(0 | 3)), "{passed:?}");
    assert!(passed.out.starts_with("PASSED  ") || passed.out.starts_with("CANNOT TELL  "), "{passed:?}");
    // The runs that the tag names serve as well.
    let stored = gate(&place, &["--baseline", "main", "--tolerance", "900"]);
    assert!(matches!(stored.code, Some(0 | 3)), "{stored:?}");
}

#[test]
fn two_sides_in_turns_need_no_baseline() {
    let place = Place::new();
    let same = gate(&place, &["syscall.getppid", "--tolerance", "900", "--same", "--", "--"]);
    assert!(matches!(same.code, Some(0 | 3)), "{same:?}");
    let verdict = if same.code == Some(0) { "gate-passed" } else { "gate-unclear" };
    assert!(tags(&place).contains(&format!("{verdict}     2")), "one run of each side: {}", tags(&place));
}

#[test]
fn a_baseline_reads_back_and_shows_from_which_change_on_it_tells() {
    let place = Place::new();
    let file = baseline(&place);
    let shown = place.groma(&["baseline", "show", &file]).out;
    assert!(shown.contains("takes two of them") && shown.contains("null call (getppid)"), "{shown}");
    // Another comparison of the file with the run that it was made of: nothing differs but digits.
    let json = place.json(&["compare", &file, "main", "--format", "json"]);
    let metric = &json["others"][0]["metrics"][0];
    assert!((metric["ratio"].as_f64().expect("a ratio") - 1.0).abs() < 1e-5, "{json}");
    let before = std::fs::read_to_string(&file).expect("a baseline");
    assert_eq!(place.groma(&["baseline", "set", &file, "main"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&file).expect("a baseline"), before, "the same runs make the same file");
}

#[test]
fn what_cannot_be_held_against_each_other_is_named() {
    let place = Place::new();
    let file = baseline(&place);
    let refused = |args: &[&str], expected: &str| {
        let ended = gate(&place, args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(expected), "{args:?}: {ended:?}");
    };
    refused(&[], "expected --baseline RUN, or two sides");
    refused(&["--baseline", "nothing"], "no run 'nothing'");
    refused(&["mem", "--baseline", &file], "it holds none of the selected metrics");
    refused(&["--baseline", &file, "--tolerance", "much"], "expected percent, such as 5");
    refused(&["--baseline", &file, "--tolerance", "-5"], "expected percent, such as 5");
    refused(&["--baseline", &file, "--", "--"], "cannot be used with");
    changed(&file, |line| line["version"] = Value::from(99));
    refused(&["--baseline", &file], "is defined anew since; make the baseline again");
    changed(&file, |line| line["id"] = Value::from("no.such"));
    refused(&["--baseline", &file], "nothing that it holds can be measured here");
    let text = std::fs::read_to_string(&file).expect("a baseline");
    std::fs::write(&file, &text[..text.len() - 9]).expect("a file");
    let lines = text.lines().count();
    refused(&["--baseline", &file], &format!("line {lines}: it is cut off"));
    std::fs::write(&file, text.replacen("\"schema\":1", "\"schema\":9", 1)).expect("a file");
    refused(&["--baseline", &file], "line 1: written by groma");
}

/// What would be said after minutes is said before anything is measured.
#[test]
fn a_file_that_cannot_be_written_is_refused_first() {
    let place = Place::new();
    let nowhere = "/nonexistent/file.svg";
    let refused = |args: &[&str], named: &str| {
        let ended = place.groma(args);
        let expected = format!("{named} {nowhere}: No such file or directory");
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        assert!(ended.err.contains(&expected), "{args:?}: {ended:?}");
    };
    refused(&["gate", "syscall.getppid", "--same", "--junit", nowhere, "--", "--"], "--junit");
    refused(&["paper", "lmbench1996", "--measure", "-o", nowhere], "-o");
    refused(&["machine", "--record", nowhere], "--record");
    assert!(place.groma(&["runs"]).err.contains("no store here yet"), "nothing was measured");
    assert_eq!(place.groma(&["run", "syscall.getppid", "--profile", "quick", "--rounds", "1"]).code, Some(0));
    refused(&["run", "syscall.getppid", "--out", nowhere], "--out");
    refused(&["baseline", "set", nowhere, "latest"], "baseline set");
    refused(&["report", "-o", nowhere, "--format", "html"], "-o");
    refused(&["trend", "syscall.getppid", "-o", nowhere], "-o");
    refused(&["plot", "syscall.getppid", "-o", nowhere], "-o");
    refused(&["export", "latest", "-o", nowhere, "--format", "csv"], "-o");
    assert_eq!(place.groma(&["runs", "--json"]).out.matches("\"status\"").count(), 1, "and nothing later");
}

#[test]
fn a_verdict_outlives_the_file_that_it_cannot_be_written_to() {
    // Writes to this device fail, opening it does not.
    let place = Place::new();
    let args = ["syscall.getppid", "--same", "--tolerance", "900", "--junit", "/dev/full", "--", "--"];
    let ended = gate(&place, &args);
    assert!(matches!(ended.code, Some(3 | 4)) && ended.err.contains("--junit /dev/full: No space left"), "{ended:?}");
    assert!(ended.out.starts_with("PASSED  ") || ended.out.starts_with("CANNOT TELL  "), "{ended:?}");
    assert!(tags(&place).contains("gate-"), "{}", tags(&place));
}

/// A side whose workers die is no usage error: something failed to be measured.
#[test]
fn a_side_that_dies_is_what_failed() {
    let place = Place::new();
    let starts = place.path("starts");
    let script = format!("echo x >> {0}; test $(wc -l < {0}) -gt 1 && exit 7; exec \"$@\"", starts.display());
    write_program(&place.path("dies"), &format!("#!/bin/sh\n{script}\n"));
    let dies = place.path("dies").to_str().expect("a path").to_owned();
    for verb in ["gate", "ab"] {
        let ended = in_time("a round of the side that dies", |budget| {
            let _ = std::fs::remove_file(&starts);
            let args = [verb, "syscall.getppid", "--budget", budget, "--rounds", "6", "--", "--", &dies];
            Some(place.groma(&args)).filter(|ended| ended.code != Some(3))
        });
        assert_eq!(ended.code, Some(4), "{verb}: {ended:?}");
        assert!(ended.err.contains("no metric has a value on both sides: syscall.getppid: "), "{verb}: {ended:?}");
        assert!(ended.err.contains("exited with code 7"), "{verb}: {ended:?}");
    }
}

#[test]
fn calibrating_makes_runs_of_the_same() {
    // A run on a busy machine may be without a value.
    let place = in_time("two runs with a value", |budget| {
        let place = Place::new();
        let ran = place.groma(&["calibrate", "syscall.getppid", "--runs", "2", "--budget", budget]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out.contains("1 metric of 2 runs: a change of").then_some(place)
    });
    assert!(tags(&place).contains("calibration     2"), "{}", tags(&place));
}

/// The jobs of docs/ci, in a shell: the command works, and leaves what the job keeps.
#[test]
fn the_jobs_for_continuous_integration_work() {
    eight_at_a_time(vec![("github.yml", "summary"), ("gitlab.yml", "groma.md")], |(job, kept)| {
        let place = Place::new();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci").join(job);
        let text = std::fs::read_to_string(file).expect("a job");
        let lines = text.lines().map(|line| line.trim().trim_start_matches("- ")).filter(|l| l.starts_with("groma "));
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), 1, "{job}: {lines:?}");
        for line in lines {
            let script = format!("groma() {{ {} \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_groma"));
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).current_dir(place.path("")).env("TMPDIR", place.tmp());
            // What the job itself says, with a sandbox that confines nothing.
            let sandbox = text.lines().find_map(|line| line.trim().strip_prefix("SANDBOX: ")).expect("a sandbox");
            write_program(&place.path("sandbox"), "#!/bin/sh\nshift\nexec \"$@\"\n");
            shell.env("SANDBOX", sandbox).env("BUDGET", "6s").env("GITHUB_STEP_SUMMARY", "summary");
            let ended = ended(shell.output().expect("a shell"));
            // The same on both sides: nothing is slower, but few rounds may tell nothing.
            assert!(matches!(ended.code, Some(0 | 3)), "{line}: {ended:?}");
        }
        let read = |name: &str| std::fs::read_to_string(place.path(name)).expect("it is kept");
        let (page, cases) = (read(kept), read("groma.xml"));
        assert!(cases.contains("</testsuites>") && page.contains("behind ./sandbox --"), "{job}: {page}");
        // Markdown that a page can draw: the verdict, and below it a block of its own.
        assert!(page.starts_with("**") && page.lines().any(|line| line == "```text"), "{job}: {page}");
    });
}

#[test]
fn the_command_that_a_new_baseline_names_takes_it() {
    let place = Place::new();
    baseline(&place);
    let dir = place.path("");
    for file in ["base.json", "base.ndjson", "base", "./base.txt"] {
        let here = |args: &[&str]| ended(place.command(args).current_dir(&dir).output().expect("groma starts"));
        let set = here(&["baseline", "set", file, "main"]);
        let words = set.out.split_once("(groma ").and_then(|(_, rest)| rest.split_once(" holds")).expect("a command").0;
        let [verb, option, named] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
        assert_eq!([verb, option], ["gate", "--baseline"]);
        // Nothing of it is selected, so that nothing is measured.
        let gate = here(&["gate", "--baseline", named, "vdso.getcpu", "--budget", "4s"]);
        assert!(gate.code == Some(2) && !gate.err.contains("no run"), "{file}: {gate:?}");
        assert_eq!(here(&["baseline", "show", named]).code, Some(0), "{file}");
    }
}
