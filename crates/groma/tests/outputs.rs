//! Places that take nothing, or no more: full, read-only, limited, removed. A run goes on without
//! them, says so, and ends with the page of what it measured. What benchmarks write leaves half of
//! a small file system free.

use crate::common::{Ended, Place, ended, is_executable, wait_for};
use groma_benches::all;
use groma_harness::course::Course;
use groma_harness::model::Tier;
use groma_harness::sys::facts::free_space;
use groma_harness::sys::process::is_root;
use groma_harness::sys::tmpfs::Tmpfs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

const FAILED: Option<i32> = Some(4);
/// Two rounds of one metric.
const SHORT: [&str; 6] = ["run", "syscall.getppid", "--profile", "quick", "--rounds", "2"];

fn run_with(place: &Place, args: &[&str]) -> Ended {
    place.groma(&[&SHORT[..], args].concat())
}

/// Behind a shell that does something first; the program's arguments are `$@`.
fn behind(place: &Place, script: &str, args: &[&str]) -> Ended {
    ended(place.wrapped(&["sh", "-c", script, "sh"], args).output().expect("sh"))
}

/// Asserts that the run was measured and printed, and that one line names what does not hold it.
fn assert_told(ended: &Ended, code: Option<i32>, what: &str) {
    let lines: Vec<&str> = ended.err.lines().filter(|line| line.contains(what)).collect();
    assert!(ended.code == code && lines.len() == 1, "{what}: {ended:?}");
    assert!(ended.out.contains("syscall.getppid"), "{what}: the page is missing: {ended:?}");
}

#[test]
fn a_limit_on_the_length_of_files_ends_no_run() {
    let place = Place::new();
    let (store, out) = (place.path("s.db"), place.path("o.ndjson"));
    let (store, out) = (store.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let limited = |args: &[&str]| behind(&place, "ulimit -f 1; exec \"$@\"", &[&SHORT[..], args].concat());
    assert_told(&limited(&["--store", store]), FAILED, "s.db: ");
    assert_told(
        &limited(&["--no-store", "--samples", "--out", out]),
        FAILED,
        "o.ndjson: cannot be written: File too large",
    );
    // Without a page of its own, standard error has it.
    let args = [&SHORT[..], &["--no-store", "--json"]].concat();
    let to_file = behind(&place, "ulimit -f 1; exec \"$@\" > \"$HOME/page\"", &args);
    assert!(to_file.code == FAILED && to_file.err.contains("standard output: File too large"), "{to_file:?}");
    assert!(to_file.err.contains("\"syscall.getppid\""), "{to_file:?}");
}

/// A benchmark that writes beyond a limit ends as any program would.
#[test]
fn the_limit_on_files_has_its_usual_action_in_workers() {
    /// SIGXFSZ in the masks of `/proc/PID/status`.
    const XFSZ: u64 = 1 << 24;
    let place = Place::new();
    let running = place.start(&["run", "selftest.hang", "--deadline", "1m", "--budget", "1m", "--no-store"]);
    let masks = |pid: i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = |key: &str| {
            let text = status.lines().find_map(|line| line.strip_prefix(key))?;
            u64::from_str_radix(text.trim(), 16).ok()
        };
        Some([mask("SigIgn:")? & XFSZ, mask("SigCgt:")? & XFSZ])
    };
    assert_eq!(masks(running.worker()), Some([0, 0]), "in a worker");
    assert_eq!(masks(running.pid()), Some([0, XFSZ]), "in the supervisor");
    running.signal(15);
    running.wait();
}

#[test]
fn a_full_output_ends_no_run() {
    let place = Place::new();
    assert_told(
        &run_with(&place, &["--no-store", "--out", "/dev/full"]),
        FAILED,
        "/dev/full: no space left; the results",
    );
    let run = behind(&place, "exec \"$@\" > /dev/full", &[&SHORT[..], &["--no-store"]].concat());
    assert!(run.code == FAILED && run.err.contains("standard output: No space left"), "{run:?}");
    assert!(run.err.contains("syscall.getppid"), "the page is on standard error: {run:?}");
    // What measures nothing has nothing to lose.
    let list = behind(&place, "exec \"$@\" > /dev/full", &["list"]);
    assert!(list.code == Some(2) && list.err.lines().count() == 1, "{list:?}");
    let watch = place.groma(&["watch", "--for", "1s", "--out", "/dev/full"]);
    if !watch.err.contains("cannot be watched") {
        assert!(watch.code == FAILED && watch.err.contains("--out: No space left"), "{watch:?}");
        assert!(!watch.out.is_empty(), "{watch:?}");
    }
}

#[test]
fn a_recorded_course_can_be_read() {
    let place = Place::new();
    let file = place.path("host.course");
    let watch = place.groma(&["watch", "--for", "1s", "--record", file.to_str().expect("UTF-8")]);
    if watch.code == Some(0) {
        let course = Course::read(&std::fs::read(file).expect("it was written")).expect("a course");
        assert!(course.rates(0).flatten().next().is_some(), "{:?}", course.head);
    } else {
        assert!(watch.err.contains("cannot be watched"), "{watch:?}");
    }
}

#[test]
fn a_reader_that_goes_ends_no_run() {
    if !is_executable("mkfifo") {
        return println!("skipped: no mkfifo");
    }
    let place = Place::new();
    let script = "mkfifo \"$HOME/fifo\"; head -c 1 \"$HOME/fifo\" > /dev/null & exec \"$@\" --out \"$HOME/fifo\"";
    let args = [&SHORT[..], &["--no-store", "--samples"]].concat();
    assert_told(&behind(&place, script, &args), FAILED, "fifo: the reader has closed the stream");
}

/// A name that leads nowhere is found out before anything is measured; another one helps.
#[test]
fn a_wrong_name_is_refused_before_the_run() {
    let place = Place::new();
    let wrong = place.path("none/o.ndjson");
    let run = run_with(&place, &["--no-store", "--out", wrong.to_str().expect("UTF-8")]);
    assert!(run.code == Some(2) && run.err.contains("--out") && run.out.is_empty(), "{run:?}");
    let run = run_with(&place, &["--store", place.tmp().to_str().expect("UTF-8")]);
    assert!(run.code == Some(2) && run.err.contains("a directory") && run.out.is_empty(), "{run:?}");
}

#[test]
fn a_read_only_file_system_ends_no_run() {
    let place = Place::new();
    if !is_root() || !is_executable("unshare") {
        return println!("skipped: mounts need root");
    }
    let script = "d=$HOME/d; mkdir -p $d; mount -t tmpfs none $d; \"$1\" run syscall.getppid --profile quick --rounds 1 \
                  --store $d/old.db > /dev/null; mount -o remount,ro $d; program=$1; shift; exec \"$program\" \"$@\"";
    let run = |args: &[&str]| {
        let wrapper = ["unshare", "--mount", "sh", "-c", script, "sh"];
        ended(place.wrapped(&wrapper, &[&SHORT[..], args].concat()).output().expect("unshare"))
    };
    let at = |name: &str| place.path("d").join(name).display().to_string();
    let tried = run(&["--no-store"]);
    if tried.code != Some(0) {
        return println!("skipped: no mounts here: {}", tried.err);
    }
    assert_told(&run(&["--store", &at("old.db")]), FAILED, "old.db: cannot be written: it is read-only");
    assert_told(&run(&["--store", &at("new.db")]), FAILED, "new.db: cannot be written: Read-only file system");
    assert_told(&run(&["--no-store", "--out", &at("o")]), FAILED, "/o: Read-only file system");
}

/// Writing to a file without a name succeeds, so nobody would notice.
#[test]
fn outputs_that_are_removed_during_the_run_are_told() {
    let place = Place::new();
    let dir = place.path("d");
    std::fs::create_dir(&dir).expect("a directory");
    let (store, out) = (dir.join("s.db"), dir.join("o.ndjson"));
    let named = ["--store", store.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8"), "--samples"];
    let long = ["run", "syscall.getppid", "selftest.spin", "--profile", "quick", "--rounds", "1000", "--budget", "1m"];
    let running = place.start(&[&long[..], &named[..]].concat());
    // The heads of both are written.
    wait_for("a round in the stream", || {
        std::fs::read_to_string(&out).ok().filter(|text| text.contains("\"kind\":\"round\""))
    });
    std::fs::remove_dir_all(&dir).expect("removed");
    running.signal(2);
    let ended = running.wait();
    assert_told(&ended, Some(130), "o.ndjson: cannot be written: it was removed during the run");
    assert_told(&ended, Some(130), "s.db: was removed during the run");
}

/// The benchmarks that may write files, and the words that make them write more than by default.
fn writers() -> Vec<String> {
    let all = all().into_iter().map(|bench| &bench.info);
    let of = all.filter(|info| {
        let points = info.points(Tier::Standard);
        info.family() != "selftest"
            && points.iter().any(|params| info.needs.iter().any(|need| need.is_work_dir(params)))
    });
    let mut args: Vec<String> = of.map(|info| info.id.to_owned()).collect();
    assert!(args.len() > 30, "{args:?}");
    let more = [
        "file.create_delete:order=turns,batch",
        "file.create_delete:size=0,4K",
        "vm.fault:kind=file_minor,file_shared",
        "vm.map:backing=file",
        "vm.map:touch=none,all",
    ];
    for more in more {
        args.extend(["--param".to_owned(), more.to_owned()]);
    }
    args
}

/// Never more than half of what is free, in total, at any moment.
#[test]
fn benchmarks_leave_half_of_a_small_file_system_free() {
    const MIB: u64 = 1 << 20;
    let writers = writers();
    for (size, least) in [(1, 10), (4, 15), (16, 20)] {
        let root = match Tmpfs::new(size * MIB).and_then(|tmpfs| tmpfs.root()) {
            Ok(root) => root,
            Err(e) => return println!("skipped: no file system of its own: {e}"),
        };
        let dir = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), root.as_raw_fd()));
        let free = || free_space(&dir).expect("it counts space").bytes;
        let place = Place::new();
        let mut command: Command = place.command(&["run"]);
        command
            .args(&writers)
            .args("--profile quick --rounds 1 --budget 10m --deadline 2m --no-store --json".split(' '));
        command.arg("--work-dir").arg(&dir);
        let (before, over) = (free(), AtomicBool::new(false));
        // What is there for shorter than a look takes is not seen; files are there for a round.
        let (ended, lowest) = std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut lowest = before;
                while !over.load(SeqCst) {
                    lowest = lowest.min(free());
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                lowest
            });
            let ended = ended(command.output().expect("the program starts"));
            over.store(true, SeqCst);
            (ended, watching.join().expect("it looks"))
        });
        let run: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for metric in run["metrics"].as_array().expect("metrics") {
            let (state, why) = (metric["state"].as_str().expect("a state"), metric["reason"].as_str().unwrap_or(""));
            *states.entry(state).or_default() += 1;
            assert!(!why.contains("No space left"), "{size} MiB: {} {}: {why}", metric["id"], metric["params_text"]);
        }
        let used = before - lowest;
        assert!(used > 0 && used <= before / 2, "{size} MiB: {used} B of {before} B were used: {states:?}");
        let measured: usize = ["ok", "noisy", "unresolved"].iter().filter_map(|state| states.get(state)).sum();
        assert!(measured >= least, "{size} MiB: {states:?}");
        let left = std::fs::read_dir(&dir).expect("a directory").count();
        assert_eq!(left, 0, "{size} MiB: something is left");
        // The kernel may close what a process had open, such as a ring's files, after its end.
        wait_for("the space of what was removed", || (free() == before).then_some(()));
    }
}
