//! Signals, kills, crashes and hangs, each in the middle of a run: what is left, what is kept, what is said.

mod common;
use common::{Place, children, exists, metric, send, until};
use serde_json::Value;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGSTOP: i32 = 19;

/// A run that would take long, to be disturbed in the middle.
const LONG: [&str; 6] = ["run", "selftest.spin", "syscall.getppid", "--rounds", "500", "--json"];

/// Waits until some rounds are in the store.
fn some_rounds(place: &Place) {
    until("rounds in the store", || {
        let runs = place.groma(&["runs", "--json"]);
        let runs: Value = serde_json::from_str(&runs.out).ok()?;
        runs.get(0)?;
        let shown = place.groma(&["show", "--format", "json"]);
        let shown: Value = serde_json::from_str(&shown.out).ok()?;
        let rounds: u64 = shown["metrics"].as_array()?.iter().filter_map(|m| m["rounds"].as_u64()).sum();
        (rounds >= 4).then_some(())
    });
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
        let place = Place::new();
        let running = place.start(&LONG);
        some_rounds(&place);
        let worker = running.worker();
        running.signal(signal);
        let ended = running.wait();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let run: Value = serde_json::from_str(&ended.out).expect("what was measured, as JSON");
        assert_eq!(run["end"]["interrupted"], true);
        let rounds: u64 = run["metrics"].as_array().into_iter().flatten().filter_map(|m| m["rounds"].as_u64()).sum();
        assert!(rounds >= 4, "{rounds}");
        assert!(!exists(worker), "a worker outlived its run");
        assert!(place.left_behind().is_empty());
        assert!(place.groma(&["runs"]).out.contains("interrupted"));
    }
}

#[test]
fn a_killed_run_leaves_no_process_and_loses_only_the_round_in_flight() {
    let place = Place::new();
    let running = place.start(&LONG);
    some_rounds(&place);
    let worker = running.worker();
    running.signal(SIGKILL);
    running.wait();
    until("the worker's end", || (!exists(worker)).then_some(()));
    let shown = place.json(&["show", "--format", "json"]);
    let rounds: u64 = shown["metrics"].as_array().into_iter().flatten().filter_map(|m| m["rounds"].as_u64()).sum();
    assert!(rounds >= 4, "{rounds}");
    assert!(shown["end"].is_null());
    assert!(place.groma(&["runs"]).out.contains("killed"));
    // The next start says so, once, and cleans up.
    let next = place.groma(&["run", "syscall.getppid", "--profile", "quick"]);
    assert!(next.err.contains(" was killed; its "), "{next:?}");
    let after = place.groma(&["run", "syscall.getppid", "--profile", "quick"]);
    assert!(!after.err.contains("was killed"), "{after:?}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

/// The worker that hangs: it is still there after longer than the preflight or any short round takes.
fn hanging(running: &common::Running) -> i32 {
    until("the worker that hangs", || {
        let first = children(running.pid()).first().copied()?;
        let long = std::time::Instant::now() + std::time::Duration::from_secs(4);
        while std::time::Instant::now() < long {
            if !children(running.pid()).contains(&first) {
                return None;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(first)
    })
}

#[test]
fn a_killed_worker_fails_its_metric_and_nothing_else() {
    let place = Place::new();
    let args = [
        "run",
        "selftest.hang",
        "syscall.getppid",
        "--profile",
        "quick",
        "--deadline",
        "30s",
        "--budget",
        "60s",
        "--json",
    ];
    let running = place.start(&args);
    let victim = hanging(&running);
    send(victim, SIGKILL);
    let ended = running.wait();
    let run: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(ended.code, Some(4));
    let hang = metric(&run, "selftest.hang");
    assert_eq!(hang["state"], "failed");
    assert_eq!(hang["reason"], "the worker was ended by signal 9 (SIGKILL)");
    assert!(metric(&run, "syscall.getppid")["value"].is_number());
}

#[test]
fn a_stopped_worker_meets_its_deadline() {
    let place = Place::new();
    let args = ["run", "selftest.hang", "--profile", "quick", "--deadline", "9s", "--budget", "60s", "--json"];
    let running = place.start(&args);
    let victim = hanging(&running);
    send(victim, SIGSTOP);
    let ended = running.wait();
    let run: Value = serde_json::from_str(&ended.out).expect("JSON");
    let hang = metric(&run, "selftest.hang");
    assert_eq!(
        (hang["state"].as_str(), hang["reason"].as_str()),
        (Some("timeout"), Some("did not end within 9.0 s (--deadline)"))
    );
    assert!(!exists(victim));
}

#[test]
fn every_way_to_go_wrong_is_told_apart() {
    let place = Place::new();
    let cases = [
        ("selftest.panic", "failed", "panicked: "),
        ("selftest.crash", "failed", "the worker was ended by signal 11 (SIGSEGV)"),
        ("selftest.hang", "timeout", "did not end within 2.0 s (--deadline)"),
        ("selftest.fork_after_thread", "failed", "refused to fork a process with 2 threads"),
        ("selftest.no_samples", "failed", "took no samples"),
        ("selftest.broken_proof", "failed", "proof broken: "),
        ("selftest.missing_exec", "failed", ""),
    ];
    for (id, state, reason) in cases {
        let run = place.json(&["run", id, "--rounds", "2", "--deadline", "2s", "--budget", "30s", "--json"]);
        let m = metric(&run, id);
        assert_eq!(m["state"], state, "{m}");
        assert!(m["reason"].as_str().is_some_and(|r| r.contains(reason)), "{id}: {}", m["reason"]);
        assert!(m["value"].is_null(), "{id} must not look like a number");
    }
    // What is printed cannot corrupt a result.
    let run = place.json(&["run", "selftest.print", "--rounds", "2", "--json"]);
    assert!(metric(&run, "selftest.print")["value"].is_number());
    // What is left running is ended, what is left lying is removed.
    let run = place.json(&["run", "selftest.orphan", "--rounds", "2", "--json"]);
    assert!(metric(&run, "selftest.orphan")["value"].is_number(), "{run}");
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_dead_member_fails_the_crew_and_is_named() {
    let place = Place::new();
    let run = place.json(&["run", "selftest.dead_member", "-P", "3", "--rounds", "1", "--budget", "30s", "--json"]);
    let m = metric(&run, "selftest.dead_member");
    assert_eq!(m["state"], "failed");
    assert!(m["reason"].as_str().is_some_and(|r| r.contains("member 1 of the crew")), "{}", m["reason"]);
}

#[test]
fn concurrent_runs_keep_everything() {
    let place = Place::new();
    let running: Vec<_> =
        (0..3).map(|_| place.start(&["run", "syscall.getppid", "--profile", "quick", "--json"])).collect();
    for run in running {
        assert_eq!(run.wait().code, Some(0));
    }
    let runs: Value = place.json(&["runs", "--json"]);
    assert_eq!(runs.as_array().map(Vec::len), Some(3));
    for run in runs.as_array().into_iter().flatten() {
        assert_eq!(run["status"], "complete");
    }
}
