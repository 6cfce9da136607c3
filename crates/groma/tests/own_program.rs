//! A program of one's own benchmark, as docs/writing-benchmarks.md builds it, has every verb.
//!
//! The programs are examples of the crate, so they share what the tests have built. That the same
//! file builds outside the workspace, `.ci/package --verify` checks: that takes minutes.

use crate::common::{Place, ended, metric, was_measured};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLE: &str = include_str!("../examples/own_benchmark/main.rs");

/// The two programs: the example as it is, and the one that has groma's benchmarks as well.
/// `cargo test` builds them, unless it was told to build one test program alone.
fn build() -> (PathBuf, PathBuf) {
    let built = Path::new(env!("CARGO_BIN_EXE_groma")).parent().expect("a directory");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The whole workspace with the features that `cargo test` gave it, or all of it is built again:
    // four minutes of a suite.
    command.args(["build", "--workspace", "--examples", "--offline"]);
    if cfg!(feature = "full") {
        command.arg("--all-features");
    }
    if built.ends_with("release") {
        command.arg("--release");
    }
    command.env("CARGO_TARGET_DIR", built.parent().expect("the target directory"));
    // cargo gives tests what build.rs said, to which build.rs itself listens.
    command.env_remove("GROMA_COMMIT");
    let said = ended(command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts"));
    assert_eq!(said.code, Some(0), "the examples do not build: {}", said.err);
    (built.join("examples/own_benchmark"), built.join("examples/own_and_groma"))
}

#[test]
fn a_program_of_thirty_lines_has_every_verb_for_its_benchmark() {
    let place = Place::new();
    let (own, beside) = build();
    assert!(EXAMPLE.lines().filter(|line| !line.starts_with("//!")).count() < 60);
    let ask = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("HOME", place.path("home")).env("GROMA_STORE", place.store());
        ended(command.env("TMPDIR", place.tmp()).env("PATH", "/usr/bin:/bin").output().expect("it starts"))
    };
    let json = |program: &Path, args: &[&str]| -> Value {
        let ended = ask(program, args);
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{args:?}: {e}: {ended:?}"))
    };
    let ids = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list");
        list.iter().map(|b| b["id"].as_str().expect("an id").to_owned()).collect()
    };

    // It knows its benchmark and no other.
    assert_eq!(ids(&json(&own, &["list", "--json"])), ["text.utf8_check"]);
    let explained = ask(&own, &["explain", "text.utf8_check"]).out;
    assert!(explained.contains("multi-byte characters"), "{explained}");
    let unknown = ask(&own, &["run", "text.utf8_chek"]);
    assert_eq!(unknown.code, Some(2));
    let hint = "own_benchmark: no benchmark 'text.utf8_chek'; did you mean 'text.utf8_check'?";
    assert!(unknown.err.starts_with(hint), "{unknown:?}");
    let help = ask(&own, &["--help"]).out;
    assert!(help.contains("Usage: own_benchmark <COMMAND>"), "{help}");
    assert!(help.contains("own_benchmark explain text.utf8_check"), "{help}");
    assert!(help.contains("Exit codes:") && !help.contains("hammer") && !help.contains("mem.latency"), "{help}");

    // It measures, with rounds, a budget and proofs, and keeps the run.
    let run = json(&own, &["run", "--full", "--rounds", "6", "--budget", "20s", "--json"]);
    let metrics = run["metrics"].as_array().expect("metrics");
    assert_eq!(metrics.len(), 5, "one for each size of --full: {metrics:#?}");
    for m in metrics {
        assert!(was_measured(m) && m["rounds"].as_u64() > Some(0), "{m}");
    }
    // And shows it again, as a table and as a curve over the sizes.
    assert_eq!(json(&own, &["show", "--format", "json"])["metrics"], run["metrics"]);
    let table = ask(&own, &["show", "--all"]).out;
    assert!(table.contains("text.utf8_check"), "{table}");
    place.calm();
    let svg = place.path("curve.svg");
    let plotted = ask(&own, &["plot", "text.utf8_check", "-o", &svg.display().to_string()]);
    assert_eq!((plotted.code, plotted.err.as_str()), (Some(0), ""), "{plotted:?}");
    assert!(fs::read_to_string(&svg).expect("a plot").contains("</svg>"));
    assert_eq!(ask(&own, &["plot", "text.utf8_check"]).code, Some(0));
    assert_eq!(json(&own, &["runs", "--json"]).as_array().map(Vec::len), Some(1));
    assert!(place.left_behind().is_empty());

    // Beside ours: one more than groma has, and both can be run.
    let groma = Path::new(env!("CARGO_BIN_EXE_groma"));
    let (mut ours, both) = (ids(&json(groma, &["list", "--json"])), ids(&json(&beside, &["list", "--json"])));
    ours.push("text.utf8_check".to_owned());
    assert_eq!(both, ours);
    let args = ["run", "text.utf8_check", "syscall.getppid", "--rounds", "2", "--profile", "quick", "--json"];
    let run = json(&beside, &args);
    for id in ["text.utf8_check", "syscall.getppid"] {
        assert!(was_measured(metric(&run, id)), "{run}");
    }
    // What a program has measured, groma shows as well.
    assert_eq!(json(groma, &["show", "--format", "json"])["metrics"], run["metrics"]);
}
