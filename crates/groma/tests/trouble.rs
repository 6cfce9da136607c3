//! Signals, kills, crashes and hangs in the middle of a run: what is left behind, what is kept and
//! what is reported.

use crate::common::{self, Place, children, exists, metric, send, unique_sleep, wait_for, with_arguments, worker_of};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::Stdio;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGSTOP: i32 = 19;

/// A long run, to be disturbed in the middle.
const LONG: [&str; 8] = ["run", "selftest.spin", "syscall.getppid", "--profile", "quick", "--rounds", "500", "--json"];

/// Waits until some rounds are in the store.
fn some_rounds(place: &Place) {
    wait_for("rounds in the store", || {
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
fn an_interrupted_run_keeps_its_rounds() {
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

/// `timeout` sends its signal to the program, and at once again to its group.
#[test]
fn a_signal_that_comes_again_at_once_does_not_take_the_output() {
    let place = Place::new();
    let running = place.start(&LONG);
    some_rounds(&place);
    let pid = running.pid().to_string();
    let many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -15 $0 || :; done 2> /dev/null";
    std::process::Command::new("sh").args(["-c", many, &pid]).status().expect("sh");
    let ended = running.wait();
    assert_eq!(ended.code, Some(143), "{ended:?}");
    let run: Value = serde_json::from_str(&ended.out).expect("what was measured, as JSON");
    assert_eq!(run["end"]["interrupted"], true);
}

#[test]
fn an_interrupted_preflight_ends_at_once_and_clears_its_progress_line() {
    if !common::is_executable("script") {
        println!("skipped: no script (util-linux), which makes a terminal");
        return;
    }
    let place = Place::new();
    let mut command = std::process::Command::new("script");
    let program = env!("CARGO_BIN_EXE_groma");
    command.args(["-qefc", &format!("exec {program} run syscall.getppid --budget 10m --no-store"), "/dev/null"]);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("TERM", "xterm").env("SHELL", "/bin/sh");
    command.env("TMPDIR", place.tmp()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = command.spawn().expect("script starts");
    let mut keyboard = terminal.stdin.take().expect("a pipe");
    let mut screen = terminal.stdout.take().expect("a pipe");
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("gauging the machine") {
        let mut block = [0; 4096];
        let n = screen.read(&mut block).expect("a screen");
        assert!(n > 0, "it ended: {}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&block[..n]);
    }
    let groma = wait_for("the program", || children(terminal.id() as i32).first().copied());
    let worker = wait_for("the preflight", || worker_of(groma));
    // Stopped, it does not end by itself before its deadline of more than 20 s: whatever ends it is
    // the signal.
    send(worker, SIGSTOP);
    keyboard.write_all(b"\x03").expect("Ctrl-C is typed");
    screen.read_to_end(&mut shown).expect("a screen");
    let shown = String::from_utf8_lossy(&shown);
    assert_eq!(terminal.wait().expect("it ends").code(), Some(130), "{shown:?}");
    assert!(!exists(worker), "the preflight outlived its run");
    let after = shown.rsplit("gauging the machine").next().expect("the rest");
    assert!(after.trim_end().ends_with("\r\x1b[2K"), "the line is still there: {after:?}");
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_killed_run_leaves_no_process_and_loses_only_the_round_in_flight() {
    let place = Place::new();
    let running = place.start(&LONG);
    some_rounds(&place);
    let worker = running.worker();
    running.signal(SIGKILL);
    running.wait();
    wait_for("the worker's end", || (!exists(worker)).then_some(()));
    let shown = place.json(&["show", "--format", "json"]);
    let rounds: u64 = shown["metrics"].as_array().into_iter().flatten().filter_map(|m| m["rounds"].as_u64()).sum();
    assert!(rounds >= 4, "{rounds}");
    assert!(shown["end"].is_null());
    assert!(place.groma(&["runs"]).out.contains("killed"));
    // The next start reports it once and cleans up.
    let next = place.groma(&["run", "syscall.getppid", "--profile", "quick"]);
    assert!(next.err.contains(" was killed; its "), "{next:?}");
    let after = place.groma(&["run", "syscall.getppid", "--profile", "quick"]);
    assert!(!after.err.contains("was killed"), "{after:?}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

/// The hanging worker: it sleeps for a second. No other does: the preflight spins, and short rounds
/// end sooner.
fn hanging(running: &common::Running) -> i32 {
    let sleeps = |pid: i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains("\nState:\tS") && status.contains("\nThreads:\t1\n")
    };
    wait_for("the worker that hangs", || {
        let first = children(running.pid()).first().copied()?;
        let long = std::time::Instant::now() + std::time::Duration::from_secs(1);
        while std::time::Instant::now() < long {
            if !sleeps(first) {
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
    let args = ["run", "selftest.hang", "--profile", "quick", "--deadline", "3s", "--budget", "60s", "--json"];
    let running = place.start(&args);
    let victim = hanging(&running);
    send(victim, SIGSTOP);
    let ended = running.wait();
    let run: Value = serde_json::from_str(&ended.out).expect("JSON");
    let hang = metric(&run, "selftest.hang");
    assert_eq!(
        (hang["state"].as_str(), hang["reason"].as_str()),
        (Some("timeout"), Some("did not end within 3.0 s (--deadline)"))
    );
    assert!(!exists(victim));
}

#[test]
fn each_kind_of_failure_has_its_state() {
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
        let run = place.json(&["run", id, "--profile", "quick", "--rounds", "2", "--deadline", "2s", "--json"]);
        let m = metric(&run, id);
        assert_eq!(m["state"], state, "{m}");
        assert!(m["reason"].as_str().is_some_and(|r| r.contains(reason)), "{id}: {}", m["reason"]);
        assert!(m["value"].is_null(), "{id} must not look like a number");
    }
    // Printed text cannot corrupt a result.
    let run = place.json(&["run", "selftest.print", "--profile", "quick", "--rounds", "2", "--json"]);
    assert!(metric(&run, "selftest.print")["value"].is_number());
    // Remaining processes are ended, remaining files are removed.
    let run = place.json(&["run", "selftest.orphan", "--profile", "quick", "--rounds", "2", "--json"]);
    assert!(metric(&run, "selftest.orphan")["value"].is_number(), "{run}");
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_dead_member_fails_the_worker_group_and_is_named() {
    let place = Place::new();
    let run = place.json(&["run", "selftest.dead_member", "-P", "3", "--profile", "quick", "--rounds", "1", "--json"]);
    let m = metric(&run, "selftest.dead_member");
    assert_eq!(m["state"], "failed");
    assert!(m["reason"].as_str().is_some_and(|r| r.contains("member 1 of the worker group")), "{}", m["reason"]);
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

/// A command whose two processes have left their process group and session twice by the time that
/// the file `started` exists.
fn daemonise(seconds: &str, started: &std::path::Path) -> String {
    let started = started.display();
    format!(
        "setsid sh -c \"setsid sh -c 'sleep {seconds} & echo > {started}; wait' & exit 0\"; \
         until [ -e {started} ]; do sleep 0.01; done"
    )
}

const COMMAND: [&str; 8] = ["run", "mix.command", "--profile", "quick", "--rounds", "1", "--budget", "60s"];

fn command_args<'a>(param: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&COMMAND[..], &["--json", "--param", param], more].concat()
}

#[test]
fn a_daemonised_command_is_ended_with_its_round() {
    if !common::is_executable("setsid") {
        println!("skipped: no setsid");
        return;
    }
    let place = Place::new();
    let seconds = unique_sleep();
    let param = format!("command={}", daemonise(&seconds, &place.path("started")));
    let run = place.json(&command_args(&param, &[]));
    let m = metric(&run, "mix.command");
    assert!(!["failed", "timeout"].contains(&m["state"].as_str().expect("a state")), "{m}");
    assert!(place.path("started").exists(), "it was there: {m}");
    assert_eq!(with_arguments(&["sleep", &seconds]), [0; 0]);
}

#[test]
fn a_daemonised_command_is_ended_at_the_deadline_and_at_a_signal() {
    if !common::is_executable("setsid") {
        println!("skipped: no setsid");
        return;
    }
    for signal in [None, Some(SIGINT), Some(SIGTERM)] {
        let place = Place::new();
        let (hidden, plain) = (unique_sleep(), unique_sleep());
        let param = format!("command={}; sleep {plain}", daemonise(&hidden, &place.path("started")));
        let deadline = if signal.is_some() { "50s" } else { "3s" };
        let running = place.start(&command_args(&param, &["--deadline", deadline]));
        wait_for("the command", || place.path("started").exists().then_some(()));
        if let Some(signal) = signal {
            running.signal(signal);
        }
        let ended = running.wait();
        assert_eq!(ended.code, Some(signal.map_or(4, |signal| 128 + signal)), "{ended:?}");
        for seconds in [&hidden, &plain] {
            assert_eq!(with_arguments(&["sleep", seconds]), [0; 0], "{signal:?}");
        }
        assert!(place.left_behind().is_empty());
    }
}

#[test]
fn a_command_that_keeps_restarting_itself_is_caught() {
    if !common::is_executable("setsid") {
        println!("skipped: no setsid");
        return;
    }
    let place = Place::new();
    let script = place.path("again");
    // Each starts the next in a session of its own and exits, so no process keeps the same id or
    // parent for long. Stops by itself if nothing catches it.
    let next = "#!/bin/sh\n[ $1 -gt 3000 ] && exit\nsetsid sh $0 $(($1 + 1)) &\n";
    std::fs::write(&script, next).expect("a script");
    let param = format!("command=sh {} 0; sleep 0.05", script.display());
    let run = place.json(&command_args(&param, &[]));
    let m = metric(&run, "mix.command");
    // The chain can outrun the worker until the deadline, which then ends both.
    assert_ne!(m["state"], "failed", "{m}");
    let script = script.display().to_string();
    let still = || {
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let lines = processes.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok());
        lines.filter(|line| line.split(|b| *b == 0).any(|arg| arg == script.as_bytes())).count()
    };
    assert_eq!((0..20).map(|_| still()).max(), Some(0));
}

#[test]
fn a_command_ends_with_a_killed_run() {
    let place = Place::new();
    let seconds = unique_sleep();
    let param = format!("command=sleep {seconds}");
    let running = place.start(&command_args(&param, &["--deadline", "50s"]));
    let sleeping = ["sleep", &seconds];
    wait_for("the command", || with_arguments(&sleeping).first().copied());
    running.signal(SIGKILL);
    running.wait();
    wait_for("the command's end", || with_arguments(&sleeping).is_empty().then_some(()));
}

#[test]
fn a_run_does_not_end_children_that_it_did_not_start() {
    let place = Place::new();
    let seconds = unique_sleep();
    // The shell becomes the program, which thus has a child from the start.
    let script = format!("sleep {seconds} >/dev/null 2>&1 & exec \"$@\"");
    let run = place
        .wrapped(
            &["sh", "-c", &script, "sh"],
            &["run", "selftest.orphan", "--profile", "quick", "--rounds", "1", "--json"],
        )
        .output();
    assert_eq!(run.expect("it starts").status.code(), Some(0));
    let still = with_arguments(&["sleep", &seconds]);
    assert_eq!(still.len(), 1);
    still.iter().for_each(|pid| send(*pid, SIGKILL));
}

#[test]
fn a_guardian_cleans_up_when_its_worker_is_killed() {
    /// In an IPC namespace of its own, where nobody else creates anything. Exits with 99 if nothing
    /// was ever created.
    const SCRIPT: &str = r#"
objects() { cat /proc/sysvipc/msg /proc/sysvipc/sem /proc/sysvipc/shm | grep -vc key; }
"$@" & run=$!
looks=0
until [ "$(objects)" -gt 0 ]; do looks=$((looks + 1)); [ $looks -gt 2000 ] && exit 99; sleep 0.02; done
kill -TERM $run; wait $run; code=$?
echo "objects left: $(objects)" >&2
exit $code"#;
    if !groma_harness::sys::process::is_root() || !common::is_executable("unshare") {
        println!("skipped: an IPC namespace needs root and unshare");
        return;
    }
    let place = Place::new();
    let args = ["run", "lock.sysv_sem", "--profile", "quick", "--rounds", "500", "--budget", "60s", "--no-store"];
    let run = place.wrapped(&["unshare", "--ipc", "sh", "-c", SCRIPT, "sh"], &args).output().expect("it starts");
    let run = common::ended(run);
    assert_eq!(run.code, Some(143), "{run:?}");
    assert!(run.err.contains("objects left: 0"), "{run:?}");
}
