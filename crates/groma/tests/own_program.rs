//! A benchmark in a crate of its own, from `cargo new` to `run`, `show` and `plot`, as
//! docs/writing-benchmarks.md tells it: outside the workspace, with groma as a dependency by path.

mod common;
use common::{Place, ended, has_value, metric};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLE: &str = include_str!("../examples/own_benchmark/main.rs");
/// Its line that starts the program, and the same with the benchmarks of groma.
const ALONE: &str = "groma::main(&[&BENCH])";
const BESIDE: &str = "groma::Program::new().with_groma().benchmarks(&[&BENCH]).run()";
/// The profile of the workspace for crates from elsewhere, so that they are not built again. Ours
/// are, since cargo tells the crates of a workspace from the same ones outside it.
const PROFILE: &str = "
[profile.dev.package.'*']
opt-level = 2
debug = 'line-tables-only'
";
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The directory of the programs of this build, `target/debug`.
fn built() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_groma")).parent().expect("a directory")
}

fn cargo(dir: &Path, args: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The variables by which cargo told this test about groma would mean the same to the new crate.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO_TARGET_TMPDIR" {
            command.env_remove(&name);
        }
    }
    command.env("CARGO_TARGET_DIR", built().parent().expect("the target directory"));
    let said = ended(command.args(args).arg("--offline").current_dir(dir).output().expect("cargo can be started"));
    assert_eq!(said.code, Some(0), "cargo {args:?}: {}", said.err);
}

/// Makes the crate and builds its two programs: the example as it is, and one with all benchmarks.
fn build(place: &Place) -> (PathBuf, PathBuf) {
    cargo(&place.path(""), &["new", "--vcs", "none", "groma-outside-example"]);
    let dir = place.path("groma-outside-example");
    cargo(&dir, &["add", "--path", &root().join("crates/groma").display().to_string()]);
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).expect("cargo made it");
    let quick = |name: &str| format!("\n[profile.dev.package.groma-{name}]\nopt-level = 1\ndebug = false\n");
    let ours = fs::read_dir(root().join("crates")).expect("the crates").flatten();
    let ours: String = ours.map(|e| quick(&e.file_name().to_string_lossy())).collect();
    let ours = ours.replace("groma-groma", "groma");
    fs::write(dir.join("Cargo.toml"), manifest + PROFILE + &ours).expect("a file");
    // The same versions as here, which are those that can be had offline.
    fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).expect("the lock file");
    fs::write(dir.join("src/main.rs"), EXAMPLE).expect("a file");
    fs::create_dir(dir.join("src/bin")).expect("a directory");
    assert!(EXAMPLE.contains(ALONE) && EXAMPLE.lines().filter(|line| !line.starts_with("//!")).count() < 60);
    let beside = EXAMPLE.replace(ALONE, BESIDE).replace("about!(\"main.rs\")", "about!(\"../main.rs\")");
    fs::write(dir.join("src/bin/groma-outside-beside.rs"), beside).expect("a file");
    let release = built().ends_with("release");
    cargo(&dir, if release { &["build", "--release"] } else { &["build"] });
    (built().join("groma-outside-example"), built().join("groma-outside-beside"))
}

#[test]
fn a_crate_of_thirty_lines_has_every_verb_for_its_benchmark() {
    let place = Place::new();
    let (own, beside) = build(&place);
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
    let hint = "groma-outside-example: no benchmark 'text.utf8_chek'; did you mean 'text.utf8_check'?";
    assert!(unknown.err.starts_with(hint), "{unknown:?}");
    let help = ask(&own, &["--help"]).out;
    assert!(help.contains("Usage: groma-outside-example <COMMAND>"), "{help}");
    assert!(help.contains("groma-outside-example explain text.utf8_check"), "{help}");
    assert!(help.contains("Exit codes:") && !help.contains("hammer") && !help.contains("mem.latency"), "{help}");

    // It measures, with rounds, a budget and proofs, and keeps the run.
    let run = json(&own, &["run", "--full", "--rounds", "6", "--budget", "20s", "--json"]);
    let metrics = run["metrics"].as_array().expect("metrics");
    assert_eq!(metrics.len(), 5, "one for each size of --full: {metrics:#?}");
    for m in metrics {
        assert!(has_value(m), "{m}");
        assert!(m["value"].as_f64().is_some_and(|v| v > 0.0) && m["rounds"].as_u64() > Some(0), "{m}");
    }
    // And shows it again, as a table and as a curve over the sizes.
    assert_eq!(json(&own, &["show", "--format", "json"])["metrics"], run["metrics"]);
    let table = ask(&own, &["show", "--all"]).out;
    assert!(table.contains("text.utf8_check"), "{table}");
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
        assert!(metric(&run, id)["value"].is_number(), "{run}");
    }
    // What a program has measured, groma shows as well.
    assert_eq!(json(groma, &["show", "--format", "json"])["metrics"], run["metrics"]);
}
