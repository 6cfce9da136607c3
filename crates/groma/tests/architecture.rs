//! Checks ARCHITECTURE.md against the code: the dependencies between crates, where unsafe code and
//! assembly are, and that the files it names exist. A dependency that the page does not list, on a
//! crate of the workspace or an external one, fails here.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../ARCHITECTURE.md");

/// The crates that may contain unsafe code.
const WITH_UNSAFE: [&str; 3] = ["groma-c", "groma-harness", "groma-sys"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Everything in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What a crate depends on: crates of the workspace, and external crates.
type Uses = (BTreeSet<String>, BTreeSet<String>);

/// The table in ARCHITECTURE.md.
fn allowed() -> BTreeMap<String, Uses> {
    let table = PAGE.split("<!-- arrows -->").nth(1).and_then(|rest| rest.split("<!-- /arrows -->").next());
    let rows = table.expect("the page marks its table").lines().filter(|line| line.starts_with("| `"));
    let set = |cell: &str| quoted(cell).map(str::to_owned).collect::<BTreeSet<_>>();
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 7, "{row}");
        (quoted(cells[1]).next().expect("a name").to_owned(), (set(cells[4]), set(cells[5])))
    })
    .collect()
}

/// The dependencies that `cargo metadata` reports; `of_kind` selects the kinds of dependencies.
fn real(of_kind: impl Fn(&Value) -> bool) -> BTreeMap<String, Uses> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let package = |package: &Value| {
        let mut uses = Uses::default();
        for dependency in
            package["dependencies"].as_array().expect("dependencies").iter().filter(|d| of_kind(&d["kind"]))
        {
            let inside = dependency["path"].is_string();
            let set = if inside { &mut uses.0 } else { &mut uses.1 };
            set.insert(text(&dependency["name"]));
        }
        (text(&package["name"]), uses)
    };
    metadata["packages"].as_array().expect("packages").iter().map(package).collect()
}

#[test]
fn every_dependency_is_in_the_table() {
    let (allowed, real) = (allowed(), real(|kind| kind != "dev"));
    let names = |of: &BTreeMap<String, Uses>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&allowed), names(&real), "the crates of ARCHITECTURE.md (left) and of cargo (right)");
    for (name, uses) in &real {
        assert_eq!(
            allowed[name].0, uses.0,
            "the workspace crates that {name} uses, in ARCHITECTURE.md (left) and in Cargo.toml (right)"
        );
        assert_eq!(
            allowed[name].1, uses.1,
            "the external crates that {name} uses, in ARCHITECTURE.md (left) and in Cargo.toml (right)"
        );
    }
}

#[test]
fn tests_add_no_dependency() {
    let allowed = allowed();
    for (name, uses) in real(|kind| kind == "dev") {
        // The snapshots of the views show what the families of the catalogue say.
        let may = |used: &&String| name == "groma-report" && *used == "groma-benches";
        let added: Vec<_> = uses.0.difference(&allowed[&name].0).filter(|used| !may(used)).collect();
        assert!(added.is_empty(), "the tests of {name} use {added:?}, which {name} may not");
    }
}

#[test]
fn unsafe_code_is_forbidden_where_it_is_not_needed() {
    for name in allowed().keys().filter(|name| !WITH_UNSAFE.contains(&name.as_str())) {
        let src = root().join("crates").join(name.strip_prefix("groma-").unwrap_or(name)).join("src");
        let main = fs::read_to_string(src.join("lib.rs")).or_else(|_| fs::read_to_string(src.join("main.rs")));
        assert!(main.expect("a crate has one").contains("\n#![forbid(unsafe_code)]\n"), "{name}");
    }
}

#[test]
fn assembly_is_in_one_directory() {
    let mut found = 0;
    for krate in fs::read_dir(root().join("crates")).expect("the crates").flatten() {
        for file in sources(&krate.path().join("src")) {
            if fs::read_to_string(&file).expect("a source file").contains("asm!(") {
                found += 1;
                assert!(file.display().to_string().contains("/sys/src/arch/"), "{} holds assembly", file.display());
            }
        }
    }
    assert!(found > 0, "no assembly at all: this test looks in the wrong place");
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn files_named_in_the_page_exist() {
    let mut named = 0;
    for path in quoted(PAGE).filter(|text| text.ends_with(".rs") && text.contains('/')) {
        named += 1;
        // `report/table.rs` is crates/report/src/table.rs.
        let short = path.split_once('/').map(|(name, file)| root().join("crates").join(name).join("src").join(file));
        assert!(root().join(path).exists() || short.is_some_and(|p| p.exists()), "ARCHITECTURE.md names {path}");
    }
    assert!(named > 20, "only {named} files found in ARCHITECTURE.md");
}
