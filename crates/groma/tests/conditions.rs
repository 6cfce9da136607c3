//! Two states of the machine in turns: each side sees its own in every round, and whatever way the
//! program ends, the state of before is there again. The state is an ordinary file.

use crate::common::{Ended, Place, Running, wait_for};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// A file that holds `before` unless a side sets it.
fn state(place: &Place) -> PathBuf {
    let file = place.path("setting");
    std::fs::write(&file, "before").expect("a file");
    file
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn set(file: &Path, value: &str) -> String {
    format!("{}={value}", file.display())
}

/// The directory of the journal, and the journal where there is one.
fn journal(place: &Place) -> (PathBuf, Option<PathBuf>) {
    let groma = place.path(".local/state/groma");
    let dir = std::fs::read_dir(&groma).expect("a directory").flatten().next().expect("one for this host").path();
    let file = std::fs::read_dir(&dir).expect("the directory").flatten().next().map(|file| file.path());
    (dir, file)
}

/// When something happens to a long run.
#[derive(Clone, Copy, Debug)]
enum When {
    /// While its states are tried, before the machine is gauged.
    Tried,
    /// Amid its rounds.
    Measured,
}

/// Starts a long run that sets the file to `a` and `b`, and waits until it is so far.
fn started(place: &Place, file: &Path, when: When) -> Running {
    let (a, b) = (set(file, "a"), set(file, "b"));
    let args = ["ab", "syscall.getppid", "--budget", "60s", "--rounds", "1000", "--set-a", &a, "--set-b", &b];
    let running = place.start(&args);
    wait_for("a change", || (read(file) == "b\n").then_some(()));
    if let When::Measured = when {
        let rounds = || -> Option<u32> {
            let store = rusqlite::Connection::open(place.store()).ok()?;
            store.query_row("SELECT count(*) FROM rounds", [], |row| row.get(0)).ok()
        };
        wait_for("some rounds", || rounds().filter(|count| *count >= 4));
    }
    running
}

/// Measures in turns, and compares the two runs as if nothing had disturbed them: a busy machine
/// may leave a side without a value.
fn in_turns(place: &Place, args: &[&str]) -> Value {
    let said = place.groma(&[&["ab"], args].concat());
    assert!(is_well(&said), "{said:?}");
    place.calm();
    let [a, b] = &place.runs()[..] else { panic!("{said:?}") };
    place.json(&["compare", a, b, "--format", "json"])
}

/// Whether both sides were measured, and compared unless that was too noisy.
fn is_well(ended: &Ended) -> bool {
    matches!(ended.code, Some(0 | 3))
}

fn run_briefly(place: &Place, args: &[&str]) -> Ended {
    place.groma(&[&["ab", "syscall.getppid", "--budget", "5s", "--rounds", "6"], args].concat())
}

#[test]
fn each_side_sees_its_own_value_in_every_round_and_both_runs_say_so() {
    let place = Place::new();
    let (file, other, log) = (state(&place), place.path("other"), place.path("log"));
    std::fs::write(&other, "17\n").expect("a file");
    let (a, b, of_b) = (set(&file, "a"), set(&file, "b"), set(&other, "18"));
    // What starts the workers writes the side, what is measured writes what it sees.
    let side = |name: &str| format!("echo {name} >> {}; exec \"$0\" \"$@\"", log.display());
    let [side_a, side_b] = [side("A"), side("B")];
    let command = format!(
        "command=cat {} {} | tr '\\n' ' ' >> {log}; echo >> {log}",
        file.display(),
        other.display(),
        log = log.display()
    );
    let args = ["mix.command", "--param", &command, "--rounds", "6", "--budget", "12s"];
    let sets = ["--set-a", &a, "--set-b", &b, "--set-b", &of_b];
    let behind = ["--", "sh", "-c", &side_a, "--", "sh", "-c", &side_b];
    let json = in_turns(&place, &[&args[..], &sets, &behind].concat());
    let mut rounds: Vec<(String, usize)> = Vec::new();
    for line in read(&log).lines() {
        match (line, rounds.last_mut()) {
            ("A" | "B", _) => rounds.push((line.to_owned(), 0)),
            (seen, Some((side, count))) => {
                *count += 1;
                assert_eq!(seen.trim(), if side == "A" { "a 17" } else { "b 18" });
            }
            (seen, None) => panic!("{seen} without a side"),
        }
    }
    // The first of each are those that were only tried.
    let measured = |name: &str| rounds.iter().filter(|(side, count)| side == name && *count > 0).count();
    // The budget may end between the two sides of a pair.
    assert!(measured("A") >= 3 && measured("A").abs_diff(measured("B")) <= 1, "{rounds:?}");
    assert_eq!((read(&file).as_str(), read(&other).as_str()), ("before", "17\n"));
    assert_eq!(journal(&place).1, None);

    let heads = [&json["a"]["run"]["in_turns"], &json["others"][0]["b"]["run"]["in_turns"]];
    let values = heads.map(|turns| [0, 1].map(|at| turns["set"][at]["value"].as_str().expect("a value").to_owned()));
    assert_eq!(values, [["a", "17"].map(str::to_owned), ["b", "18"].map(str::to_owned)]);
    let differences = json["others"][0]["differences"].to_string();
    assert!(differences.contains("setting") && differences.contains("other"), "{json}");
}

/// A setting of the kernel that nothing here depends on, and the fact that says it.
#[test]
fn each_run_has_the_facts_of_the_machine_in_its_own_state() {
    let setting = Path::new("/proc/sys/fs/aio-max-nr");
    let Ok(before) = std::fs::read_to_string(setting) else { return println!("not here: {}", setting.display()) };
    let before = before.trim().to_owned();
    if std::fs::write(setting, &before).is_err() {
        return println!("skipped: {} can be written by root only", setting.display());
    }
    let other = (before.parse::<u64>().expect("a number") + 1).to_string();
    let place = Place::new();
    let (a, b) = (set(setting, &before), set(setting, &other));
    let args = ["syscall.getppid", "--budget", "5s", "--rounds", "6", "--set-a", &a, "--set-b", &b];
    let json = in_turns(&place, &args);
    let differences = json["others"][0]["differences"].as_array().expect("differences");
    let fact = differences.iter().find(|of| of["key"] == "sys.aio_max_nr");
    let seen = fact.map(|of| [of["a"].clone(), of["b"].clone()]);
    assert_eq!(seen, Some([before.clone(), other].map(serde_json::Value::from)), "{differences:?}");
    assert_eq!(std::fs::read_to_string(setting).expect("it can be read").trim(), before);
}

#[test]
fn a_signal_restores_what_was_there() {
    for (signal, code, when) in
        [(SIGINT, 130, When::Tried), (SIGINT, 130, When::Measured), (SIGTERM, 143, When::Measured)]
    {
        let place = Place::new();
        let file = state(&place);
        let running = started(&place, &file, when);
        running.signal(signal);
        let ended = running.wait();
        assert_eq!((ended.code, read(&file).as_str()), (Some(code), "before"), "{when:?}: {ended:?}");
        assert_eq!(journal(&place).1, None);
    }
}

#[test]
fn the_next_start_restores_what_a_killed_run_changed_and_leaves_alone_what_a_live_one_does() {
    let place = Place::new();
    let file = state(&place);
    let running = started(&place, &file, When::Measured);
    let next = || place.groma(&["run", "syscall.getppid", "--profile", "quick", "--rounds", "1"]);
    // While its owner lives, a journal is its own.
    let beside = next();
    assert!(beside.code == Some(0) && !beside.err.contains("restored"), "{beside:?}");
    let (dir, left) = journal(&place);
    let left = left.expect("a journal");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&left)), (0o700, 0o600));
    // Between two contents it may be empty.
    assert_ne!(read(&file), "before");
    let second = run_briefly(&place, &["--set-b", &set(&file, "c")]);
    assert_eq!(second.code, Some(2));
    assert!(second.err.contains("another groma is changing the state of this machine"), "{second:?}");

    running.signal(SIGKILL);
    running.wait();
    assert!(read(&file) != "before" && left.exists());
    let next = next();
    let says = format!("a killed run had changed {}: restored", file.display());
    assert!(next.code == Some(0) && next.err.contains(&says), "{next:?}");
    assert_eq!((read(&file).as_str(), left.exists()), ("before", false));
}

#[test]
fn a_journal_that_is_not_ours_is_not_followed() {
    let place = Place::new();
    let file = state(&place);
    assert!(is_well(&run_briefly(&place, &["--set-b", &set(&file, "b")])));
    let (dir, _) = journal(&place);
    let (left, elsewhere) = (dir.join("changed"), place.path("elsewhere"));
    let forged = format!("groma changed 1\0boot\0write\0{}\0forged\0end\0", file.display());
    std::fs::write(&elsewhere, &forged).expect("a file");
    let refused = |expected: &str| {
        let run = place.groma(&["run", "syscall.getppid", "--profile", "quick", "--rounds", "1"]);
        assert!(run.code == Some(0) && run.err.contains(expected), "{expected}: {run:?}");
        let ab = run_briefly(&place, &["--set-b", &set(&file, "b")]);
        assert_eq!(ab.code, Some(2), "{ab:?}");
        assert_eq!((read(&file).as_str(), read(&elsewhere).as_str()), ("before", forged.as_str()));
        let _ = std::fs::remove_file(&left);
    };
    symlink(&elsewhere, &left).expect("a link");
    refused("changed: not followed: ");
    std::fs::write(&left, "#!/bin/sh\n").expect("a file");
    refused("changed: not followed: not a groma journal, or from another version");
    if std::fs::metadata(&file).expect("the file").uid() == 0 {
        std::fs::write(&left, &forged).expect("a file");
        std::os::unix::fs::chown(&left, Some(65534), None).expect("root may");
        refused("changed: not followed: not a regular file of this user");
    }
    std::fs::write(&left, &forged).expect("a file");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).expect("ours");
    refused("expected a directory of this user with mode 0700");
}

#[test]
fn what_cannot_be_made_is_said_in_a_line_and_changes_nothing() {
    let place = Place::new();
    let file = state(&place);
    let b = set(&file, "b");
    let refused = |args: &[&str], expected: &str| {
        let ended = run_briefly(&place, args);
        assert_eq!((ended.code, ended.err.trim().lines().count()), (Some(2), 1), "{args:?}: {ended:?}");
        assert!(ended.err.contains(expected) && ended.out.is_empty(), "{args:?}: {ended:?}");
        assert_eq!(read(&file), "before", "{args:?}");
        assert_eq!(journal(&place).1, None);
    };
    refused(&["--set-b", "/nonexistent/file=1"], "--set-b: /nonexistent/file: No such file");
    refused(&["--set-b", "kernel.ostype=Minix"], "/proc/sys/kernel/ostype: Permission denied");
    refused(&["--set-b", &set(&place.tmp(), "1")], "not a regular file");
    refused(&["--set-b", &b, "--set-b", &b], "set twice for one side");
    // The name of a process holds 15 characters: that of groma itself is cut.
    let cut = "it reads 'a-name-that-is-' after 'a-name-that-is-too-long' was written";
    refused(&["--set-a", &b, "--set-b", "/proc/self/comm=a-name-that-is-too-long"], cut);
    let log = place.path("log");
    let before = format!("echo before >> {}", log.display());
    let after = "echo no >&2; echo no room >&2; exit 7";
    refused(
        &["--before", &before, "--after", after, "--set-b", &b],
        &format!("--after '{after}' exited with code 7: no room"),
    );
    assert_eq!(read(&log), "before\nbefore\n", "what it may have done is undone");
    // It never worked, and nothing else was changed: there is nothing that later runs could undo.
    refused(&["--before", "exit 1", "--after", "true"], "--before 'exit 1' exited with code 1");
    refused(
        &["--before", "true", "--after", "sleep 1000", "--deadline", "1s"],
        "did not end within 1.0 s (--deadline)",
    );
    assert!(place.groma(&["runs"]).out.contains("no runs yet"));
}

#[test]
fn commands_make_the_state_and_their_failure_ends_the_run() {
    let place = Place::new();
    let (file, count) = (state(&place), place.path("count"));
    let before = format!("echo before > {}", file.display());
    // The third time fails.
    let after = format!("echo x >> {0}; echo after > {1}; test $(wc -l < {0}) -lt 3", count.display(), file.display());
    let ended = place.groma(&["ab", "syscall.getppid", "--budget", "60s", "--before", &before, "--after", &after]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.contains("exited with code 1; the rounds until then are kept"), "{ended:?}");
    assert_eq!((read(&file).as_str(), read(&count).lines().count()), ("before\n", 3));
    assert_eq!(place.groma(&["runs"]).out.matches("interrupted").count(), 2);
    let one = place.groma(&["ab", "syscall.getppid", "--after", "true"]);
    assert!(one.code == Some(2) && one.err.contains("--before"), "{one:?}");
}

#[test]
fn where_nothing_differs_nothing_is_written() {
    let place = Place::new();
    let file = state(&place);
    let written = || Command::new("stat").args(["-c", "%y %i"]).arg(&file).output().expect("stat").stdout;
    let (at, value) = (written(), set(&file, "before"));
    assert_eq!(run_briefly(&place, &["--set-a", &value, "--set-b", &value]).code, Some(2), "--same is missing");
    let same = run_briefly(&place, &["--same", "--set-a", &value, "--set-b", &value]);
    assert!(is_well(&same), "{}", same.err);
    assert_eq!((written(), journal(&place).1), (at, None));
}
