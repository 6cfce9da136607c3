//! Stores under stress: several writers at once, SIGKILL at any moment, a full disk, a read-only
//! file system.
//!
//! The tests start this test program again with one test selected and an environment variable that
//! gives the child its task.
#![cfg(unix)]

mod common;

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use groma_store::{RunStatus, Sink, Store, StoreError};
use rusqlite::Connection;

const PART: &str = "GROMA_STORE_TEST_PART";

/// The task of this process, if a test started it.
fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// This test program, to run one test in another process.
fn this_program(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args(["--exact", test, "--nocapture", "--include-ignored"]).env(PART, part);
    command
}

fn random(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}

/// Rounds of different lengths; their contents follow from the number.
fn round_of_number(number: u32) -> groma_model::Round {
    common::round(number, if number.is_multiple_of(3) { 500 } else { 25 })
}

/// Asserts that the run holds its first n rounds, alternating between points 0 and 1, each as it
/// was written. Returns n.
fn intact_rounds(store: &Store, run: &str) -> u32 {
    let stored = store.load(run).expect("load");
    let [even, odd] = [0, 1].map(|point| &stored.points[point].1);
    assert!(even.len() == odd.len() || even.len() == odd.len() + 1, "run {run}: not a consistent snapshot");
    for rounds in [even, odd] {
        rounds.iter().enumerate().for_each(|(i, round)| assert_eq!(*round, round_of_number(i as u32), "run {run}"));
    }
    (even.len() + odd.len()) as u32
}

/// Writes round `number`, counted over both points.
fn write_next(writer: &mut impl Sink, number: u32) -> Result<(), StoreError> {
    writer.round(number as usize % 2, &round_of_number(number / 2))
}

fn assert_sound(path: &Path) {
    let db = Connection::open(path).expect("open");
    let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("check");
    assert_eq!(verdict, "ok");
}

/// The task `STORE RUN ROUNDS`: writes a run and prints each acknowledged round to standard error.
#[test]
#[ignore = "started by other tests"]
fn writer() {
    let Some(part) = part() else { return };
    let words: Vec<&str> = part.split('\t').collect();
    let [path, run, rounds] = words[..] else { panic!("part: {part}") };
    let store = Store::open(path.as_ref()).expect("open");
    let mut writer = store.writer(&std::process::id().to_string()).expect("writer");
    writer.begin(&common::header(run), &common::points()).expect("begin");
    eprintln!("begun");
    for number in 0..rounds.parse().expect("a number") {
        write_next(&mut writer, number).expect("round");
        eprintln!("{number}");
    }
    writer.end(&common::end(false)).expect("end");
}

fn start_writer(path: &Path, run: &str, rounds: u32) -> Child {
    this_program("writer", &format!("{}\t{run}\t{rounds}", path.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start")
}

#[test]
fn four_writers_lose_nothing() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("new/groma.db");
    let runs = ["11", "12", "13", "14"];
    // They also race to create the store.
    let mut writers: Vec<Child> = runs.iter().map(|run| start_writer(&path, run, 200)).collect();
    // A reader loads snapshots meanwhile.
    let mut loads = 0;
    let reader = Store::open(&path).expect("a reader");
    while writers.iter_mut().any(|w| w.try_wait().expect("wait").is_none()) {
        for row in reader.runs().expect("runs") {
            intact_rounds(&reader, &row.run);
        }
        loads += 1;
        // Drain the pipes, so that no writer blocks on them.
        if loads == 1 {
            writers.iter_mut().for_each(|w| {
                let pipe = w.stderr.take().expect("pipe");
                std::thread::spawn(|| BufReader::new(pipe).lines().for_each(drop));
            });
        }
    }
    for (writer, run) in writers.iter_mut().zip(runs) {
        assert!(writer.wait().expect("wait").success(), "writer {run}");
        assert_eq!(intact_rounds(&reader, run), 200);
        assert_eq!(reader.load(run).expect("load").status, RunStatus::Complete);
    }
    assert_sound(&path);
}

#[test]
fn acknowledged_rounds_survive_a_kill() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("groma.db");
    for kill in 10..30 {
        let run = kill.to_string();
        let mut writer = start_writer(&path, &run, u32::MAX);
        let mut lines = BufReader::new(writer.stderr.take().expect("pipe")).lines().map(|l| l.expect("line"));
        let at = random(60);
        let mut acknowledged = 0;
        for line in lines.by_ref() {
            acknowledged = line.parse::<u32>().map_or(acknowledged, |number| number + 1);
            if u64::from(acknowledged) >= at {
                break;
            }
        }
        let moment = Instant::now() + Duration::from_nanos(random(1_000_000));
        while Instant::now() < moment {}
        writer.kill().expect("kill");
        // Rounds that it acknowledged before it died count.
        lines.for_each(|line| acknowledged = line.parse::<u32>().map_or(acknowledged, |number| number + 1));
        assert!(!writer.wait().expect("wait").success());

        let store = Store::open(&path).expect("open after a kill");
        assert!(u64::from(acknowledged) >= at, "run {run} ended by itself");
        let kept = intact_rounds(&store, &run);
        assert!(kept >= acknowledged, "run {run}: {acknowledged} acknowledged, {kept} kept (killed at {at})");
        assert!(kept <= acknowledged + 1, "run {run}: {acknowledged} acknowledged, {kept} kept");
        assert_eq!(store.load(&run).expect("load").status, RunStatus::Running);
        assert!(store.mark_killed(&run).expect("mark"));
    }
    assert_sound(&path);
}

#[test]
fn a_kill_while_the_store_is_created_does_no_harm() {
    let dir = tempfile::tempdir().expect("tempdir");
    for attempt in 0..20 {
        let path = dir.path().join(format!("{attempt}.db"));
        let mut writer = start_writer(&path, "10", 1);
        // From before the file exists until after it is complete.
        let deadline = Instant::now() + Duration::from_secs(10);
        while attempt % 2 == 0 && !path.exists() && Instant::now() < deadline {}
        std::thread::sleep(Duration::from_micros(random(8000)));
        writer.kill().expect("kill");
        writer.wait().expect("wait");
        let store = Store::open(&path).unwrap_or_else(|e| panic!("attempt {attempt}: {e}"));
        common::write(&store, "11");
        assert_eq!(store.load("11").expect("load").points[0].1.len(), 3);
        assert_sound(&path);
    }
}

/// A tmpfs that only this process sees. `None` in the process that runs the test: it has then run
/// the test in a child.
fn private_tmpfs(test: &str, size: &str) -> Option<PathBuf> {
    if let Some(dir) = part() {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", size, "none", &dir]).status().expect("mount");
        assert!(mount.success());
        return Some(dir.into());
    }
    let namespaces: &[&[&str]] = &[&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let works = |flags: &&&[&str]| {
        Command::new("unshare").args(**flags).arg("true").stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    let Some(flags) = namespaces.iter().find(works) else {
        eprintln!("{test}: skipped: no mount namespace available");
        return None;
    };
    let dir = tempfile::tempdir().expect("tempdir");
    let inner = this_program(test, &dir.path().display().to_string());
    let mut outer = Command::new("unshare");
    outer.args(*flags).arg(inner.get_program()).args(inner.get_args());
    let said = outer.env(PART, dir.path()).output().expect("unshare");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(String::from_utf8_lossy(&said.stdout).contains("1 passed"), "{test} did not run");
    None
}

#[test]
fn a_full_disk_keeps_acknowledged_rounds_and_resumes_with_space() {
    let Some(dir) = private_tmpfs("a_full_disk_keeps_acknowledged_rounds_and_resumes_with_space", "size=600k") else {
        return;
    };
    fs::write(dir.join("ballast"), vec![0; 200 << 10]).expect("ballast");
    let path = dir.join("groma.db");
    let store = Store::open(&path).expect("open");
    let mut writer = store.writer("").expect("writer");
    writer.begin(&common::header("10"), &common::points()).expect("begin");
    let mut kept = 0;
    let error = loop {
        match write_next(&mut writer, kept) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("{}: no space left", path.display()));
    assert!(kept > 3, "only {kept} rounds");
    assert_eq!(intact_rounds(&store, "10"), kept);

    fs::remove_file(dir.join("ballast")).expect("remove");
    write_next(&mut writer, kept).expect("a round with space again");
    writer.end(&common::end(false)).expect("end");
    drop(store);
    assert_sound(&path);

    // No space at all, not even for an empty store.
    fs::write(dir.join("ballast"), vec![0; 600 << 10]).expect_err("a full disk");
    let other = dir.join("other.db");
    let error = Store::open(&other).expect_err("a store on a full disk");
    assert!(matches!(&error, StoreError::Full { path } if *path == other), "{error:?}");
}

#[test]
fn a_read_only_file_system_can_be_read() {
    let Some(dir) = private_tmpfs("a_read_only_file_system_can_be_read", "size=10m") else { return };
    let remount = |how: &str| {
        let mount = Command::new("mount").arg("-o").arg(format!("remount,{how}")).arg(&dir).status();
        assert!(mount.expect("mount").success());
    };
    let path = dir.join("a b#?%.db");
    common::write(&Store::open(&path).expect("open"), "10");
    common::write(&Store::open(&dir.join("killed.db")).expect("open"), "09");
    let mut killed = start_writer(&dir.join("killed.db"), "10", u32::MAX);
    let mut lines = BufReader::new(killed.stderr.take().expect("pipe")).lines();
    lines.by_ref().find(|line| line.as_ref().is_ok_and(|l| l == "5")).expect("5 rounds").expect("line");
    killed.kill().expect("kill");
    killed.wait().expect("wait");
    // A log without its index, which cannot be rebuilt on a read-only file system.
    for (from, to) in [("killed.db", "lost.db"), ("killed.db-wal", "lost.db-wal")] {
        fs::copy(dir.join(from), dir.join(to)).expect(from);
    }
    remount("ro");

    let store = Store::open(&path).expect("open");
    assert_eq!(store.load("10").expect("load").header, common::header("10"));
    let expected = format!("{}: cannot be written: it is read-only", path.display());
    assert_eq!(store.writer("").expect_err("a writer").to_string(), expected);
    assert_eq!(store.mark_killed("10").expect_err("a mark").to_string(), expected);

    let other = dir.join("other.db");
    let expected = format!("{}: cannot be written: Read-only file system (os error 30)", other.display());
    assert_eq!(Store::open(&other).expect_err("a new store").to_string(), expected);
    let below = dir.join("x/other.db");
    let error = Store::open(&below).expect_err("a new directory").to_string();
    assert!(error.contains("cannot make the directory") && error.contains("Read-only file system"), "{error}");

    // Rounds that are only in the log are found, or opening fails; they are never missing silently.
    let left = Store::open(&dir.join("killed.db")).expect("a log with its index");
    assert!(intact_rounds(&left, "10") >= 6);
    let error = Store::open(&dir.join("lost.db")).expect_err("a log without its index");
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
}
