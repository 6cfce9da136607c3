//! Replays the fuzzer's corpus. `fuzz/` runs the same functions on new inputs.
//!
//! Each file of `fuzz/corpus` and `fuzz/regressions` is replayed; a panic names the file.

#[expect(unreachable_pub, reason = "public for the fuzz crate")]
#[path = "../../../fuzz/targets/mod.rs"]
mod targets;

use groma_harness::protocol::{read_job, read_result, write_job, write_result};
use groma_model::{Host, Point, Round};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use targets::Target;

/// The time limit for one input: thousands of times what the slowest takes, so load does not
/// matter, but a loop that grows with a number in the input is noticed.
const LIMIT: Duration = Duration::from_secs(60);

fn directory(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind)
}

fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory(kind).join(target)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Replays the inputs of one kind and returns the names of those that break a property. Stops at
/// the first that takes too long.
fn replay(inputs: Vec<(PathBuf, Target)>) -> Vec<String> {
    let (tell, told) = mpsc::channel();
    let all = inputs.clone();
    // Not joined: it may never end.
    std::thread::spawn(move || {
        for (input, target) in all {
            let data = std::fs::read(&input).expect("an input");
            let holds = std::panic::catch_unwind(|| target(&data)).is_ok();
            if tell.send(holds).is_err() {
                break;
            }
        }
    });
    let mut broken = Vec::new();
    for (input, _) in inputs {
        match told.recv_timeout(LIMIT) {
            Ok(true) => {}
            Ok(false) => broken.push(input.display().to_string()),
            Err(_) => {
                broken.push(format!("{}: no end", input.display()));
                break;
            }
        }
    }
    broken
}

fn all(kind: &str) -> Vec<(PathBuf, Target)> {
    let of = |(name, target)| files(kind, name).into_iter().map(move |file| (file, target));
    targets::ALL.into_iter().flat_map(of).collect()
}

#[test]
fn fixed_findings_stay_fixed() {
    let inputs = all("regressions");
    assert!(!inputs.is_empty());
    assert_eq!(replay(inputs), [""; 0]);
}

#[test]
fn every_input_of_the_corpus_keeps_the_properties() {
    for (name, _) in targets::ALL {
        assert!(files("corpus", name).len() >= 5, "{name} has no corpus");
    }
    assert_eq!(replay(all("corpus")), [""; 0]);
}

/// A corpus directory without a target would never be replayed.
#[test]
fn every_corpus_has_its_target() {
    for kind in ["corpus", "regressions"] {
        let entries = std::fs::read_dir(directory(kind)).expect("the directory").flatten();
        for entry in entries.filter(|e| e.path().is_dir()) {
            let name = entry.file_name();
            assert!(targets::ALL.iter().any(|(target, _)| name == *target), "{name:?} in {kind} is no target");
        }
    }
}

/// A regression without a row is an input whose error nobody knows, a row without one guards
/// nothing.
#[test]
fn every_regression_has_its_row() {
    let table = std::fs::read_to_string(directory("regressions").join("README.md")).expect("the table");
    let first_cells = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let rows: BTreeSet<String> = first_cells.flat_map(|cell| cell.split(['`', ',', ' '])).map(str::to_owned).collect();
    let name = |file: PathBuf| file.file_name().expect("a name").to_string_lossy().into_owned();
    let inputs = targets::ALL.into_iter().flat_map(|(target, _)| {
        files("regressions", target).into_iter().map(move |file| format!("{target}/{}", name(file)))
    });
    assert_eq!(inputs.collect::<BTreeSet<_>>(), rows.into_iter().filter(|cell| !cell.is_empty()).collect());
}

/// Mutations reach what is behind a parser from inputs that it accepts: when a field is added, all
/// inputs without it are refused at once. Those named `whole` are exactly what would be written.
#[test]
fn valid_inputs_are_still_accepted() {
    let read = |file: &Path| std::fs::read_to_string(file).expect("an input");
    let whole = |target: &str| read(&directory("regressions").join(target).join("whole"));
    let job = whole("worker_job");
    let (parent, same) = read_job(&job).expect("a job");
    assert_eq!(write_job(parent, &same), job);
    let result = whole("worker_result");
    assert_eq!(write_result(&read_result(&result).expect("a result")), result);
    let stream = groma_store::ndjson::read(&directory("corpus").join("stream").join("whole")).expect("a run");
    assert_eq!(stream.points.iter().map(|(_, rounds)| rounds.len()).collect::<Vec<_>>(), [3, 2, 0]);
    for run in files("corpus", "views") {
        type Stored = (Vec<(Point, Vec<Round>)>, Host);
        serde_json::from_str::<Stored>(&read(&run)).unwrap_or_else(|e| panic!("{}: {e}", run.display()));
    }
}
