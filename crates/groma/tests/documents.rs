//! The documents against the program: the list of benchmarks is what `groma list` says, the commands that the README shows
//! are understood, the links lead somewhere.
//!
//! `GROMA_UPDATE=1 cargo test -p groma --test documents` writes docs/benchmarks.md anew.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GROMA: &str = env!("CARGO_BIN_EXE_groma");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|v| v.as_str().expect("a text")).collect()
}

/// docs/benchmarks.md, as the catalogue wants it. Without the benchmarks by which groma tests itself.
fn benchmarks() -> String {
    let said = Command::new(GROMA).args(["list", "--json"]).output().expect("groma can be started");
    let all: Vec<Value> = serde_json::from_slice(&said.stdout).expect("groma lists JSON");
    let all: Vec<&Value> = all.iter().filter(|b| b["family"] != "selftest").collect();
    let mut out = "# What groma measures\n\n<!-- Made from `groma list --json` by crates/groma/tests/documents.rs; not to be edited. -->\n\n\
                   `groma explain ID` says of each how it is measured, what it does not measure, and what can go wrong; \
                   `groma list --long` shows the values of parameters as well. A star marks those that are only measured when \
                   named.\n"
        .to_owned();
    let mut family = "";
    for bench in &all {
        let word = |key: &str| bench[key].as_str().expect("a text");
        if word("family") != family {
            family = word("family");
            let _ = write!(
                out,
                "\n## {family}\n\n| id | what | quantity | parameters | also reports |\n|---|---|---|---|---|\n"
            );
        }
        let star = if bench["default"] == true { "" } else { " *" };
        let names = |key: &str| bench[key].as_array().expect("a list").iter();
        let params: Vec<_> = names("params").map(|p| format!("`{}`", p["name"].as_str().expect("a name"))).collect();
        let outputs = names("outputs").filter(|o| o["id"] != bench["id"]);
        let outputs: Vec<_> = outputs.map(|o| format!("`{}`", o["id"].as_str().expect("an id"))).collect();
        let _ = writeln!(
            out,
            "| `{}`{star} | {} | {} | {} | {} |",
            word("id"),
            word("summary").replace('|', "\\|"),
            word("quantity"),
            params.join(", "),
            outputs.join(", ")
        );
    }
    // The same list seen from where people come from.
    let mut by_source: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for bench in &all {
        for lineage in texts(&bench["lineage"]) {
            let (source, what) = lineage.split_once(':').expect("source:program or source:table");
            let ids = by_source.entry(source).or_default().entry(what).or_default();
            ids.push(bench["id"].as_str().expect("an id"));
        }
    }
    for (source, title, head) in [
        ("lmbench3", "Coming from lmbench 3", "program"),
        ("lmbench1996", "Tables and figures of the lmbench paper, 1996", "table"),
        ("ousterhout1990", "Tables of Ousterhout, 1990", "table"),
        ("cse221", "Sections of the CSE 221 report, 2014", "section"),
    ] {
        let _ =
            write!(out, "\n## {title}\n\nWhat is not here has no counterpart yet.\n\n| {head} | groma |\n|---|---|\n");
        let mut rows: Vec<_> = by_source.remove(source).unwrap_or_default().into_iter().collect();
        // table7 before table12.
        rows.sort_by_key(|(what, _)| (what.trim_end_matches(|c: char| c.is_ascii_digit()), what.len(), *what));
        for (what, ids) in rows {
            let ids: Vec<_> = ids.iter().map(|id| format!("`{id}`")).collect();
            let _ = writeln!(
                out,
                "| `{}` | {} |",
                what.replace('_', if source == "cse221" { " " } else { "_" }),
                ids.join(", ")
            );
        }
    }
    out.push_str("\n## Coming from other tools\n\n| tool | test | groma |\n|---|---|---|\n");
    for (source, title) in [
        ("libmicro", "libMicro"),
        ("wis", "will-it-scale"),
        ("perf_bench", "perf bench"),
        ("rt-tests", "rt-tests"),
        ("schbench", "schbench"),
        ("linux", "Linux tracers"),
        ("netperf", "netperf"),
        ("fio", "fio"),
        ("slb", "Silly Little Benchmark"),
    ] {
        for (what, ids) in by_source.remove(source).unwrap_or_default() {
            let ids: Vec<_> = ids.iter().map(|id| format!("`{id}`")).collect();
            let _ = writeln!(out, "| {title} | `{what}` | {} |", ids.join(", "));
        }
    }
    assert!(by_source.is_empty(), "lineages of unknown sources: {by_source:?}");
    out
}

#[test]
fn the_list_of_benchmarks_is_that_of_the_program() {
    let wanted = benchmarks();
    if std::env::var_os("GROMA_UPDATE").is_some() {
        fs::write(root().join("docs/benchmarks.md"), wanted).expect("the list can be written");
        return;
    }
    let update = "docs/benchmarks.md is stale: GROMA_UPDATE=1 cargo test -p groma --test documents";
    assert!(read("docs/benchmarks.md") == wanted, "{update}");
}

/// The lines of a document's code that begin with `groma `.
fn commands(document: &str) -> Vec<String> {
    let text = read(document);
    let code = text.split("\n```").skip(1).step_by(2);
    let lines = code.flat_map(str::lines).map(str::trim).filter(|line| line.starts_with("groma "));
    // What others make of the output is theirs.
    lines.map(|line| line.split(" | ").next().unwrap_or(line).to_owned()).collect()
}

/// Runs a command line as a reader's shell would; what would measure only plans.
fn shell(line: &str, dir: &Path) -> Output {
    let script = format!("groma() {{ {GROMA} \"$@\" $PLAN; }}\n{line}");
    let plan = if line.starts_with("groma run") && !line.contains("--dry-run") { "--dry-run" } else { "" };
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(dir).env("PLAN", plan).env("XDG_DATA_HOME", dir).env_remove("GROMA_STORE");
    shell.output().expect("a shell")
}

#[test]
fn the_commands_that_documents_show_are_understood() {
    /// What needs a run in the store, a second of gauging, or an address of its own; all else is run.
    const LEFT_OUT: [&str; 5] = ["groma serve", "groma show", "groma runs", "groma plot", "groma machine"];
    let mut run = 0;
    for document in ["README.md", "CONTRIBUTING.md", "docs/writing-benchmarks.md"] {
        for line in commands(document).iter().filter(|line| !LEFT_OUT.iter().any(|verb| line.starts_with(verb))) {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let said = shell(line, dir.path());
            assert!(said.status.success(), "{document}: {line}\n{}", String::from_utf8_lossy(&said.stderr));
            run += 1;
        }
    }
    assert!(run >= 10, "only {run} commands found: this test looks in the wrong place");
}

#[test]
fn links_lead_somewhere() {
    let mut links = 0;
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned);
    let more = fs::read_dir(root().join("docs")).expect("docs").flatten();
    let more = more.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n.ends_with(".md"));
    for document in documents.into_iter().chain(more.map(|name| format!("docs/{name}"))) {
        let text = read(&document);
        let folder = root().join(&document).parent().expect("it is in one").to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let file = target.split('#').next().unwrap_or_default();
            assert!(folder.join(file).exists(), "{document}: {target}");
            links += 1;
        }
    }
    assert!(links > 5, "only {links} links found");
}
