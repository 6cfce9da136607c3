//! ARCHITECTURE.md against the code: who may use whom, where unsafe code and assembly are, and that the files it names
//! exist. A new arrow between rooms, or a new crate from outside, fails here until the page says so.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../ARCHITECTURE.md");

/// The rooms that may hold unsafe code.
const WITH_UNSAFE: [&str; 2] = ["groma-harness", "groma-sys"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Everything in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What a room uses: the rooms and the crates from outside.
type Uses = (BTreeSet<String>, BTreeSet<String>);

/// The table of the page.
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

/// What cargo says; `of_kind` chooses among the kinds of dependencies.
fn real(of_kind: impl Fn(&Value) -> bool) -> BTreeMap<String, Uses> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let said = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said: Value = serde_json::from_slice(&said.stdout).expect("cargo writes JSON");
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
    said["packages"].as_array().expect("packages").iter().map(package).collect()
}

#[test]
fn every_arrow_is_in_the_table() {
    let (allowed, real) = (allowed(), real(|kind| kind != "dev"));
    let rooms = |of: &BTreeMap<String, Uses>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(rooms(&allowed), rooms(&real), "the rooms of ARCHITECTURE.md (left) and of cargo (right)");
    for (room, uses) in &real {
        assert_eq!(
            allowed[room].0, uses.0,
            "the rooms that {room} uses, in ARCHITECTURE.md (left) and in Cargo.toml (right)"
        );
        assert_eq!(
            allowed[room].1, uses.1,
            "the crates that {room} uses, in ARCHITECTURE.md (left) and in Cargo.toml (right)"
        );
    }
}

#[test]
fn tests_add_no_arrow() {
    let allowed = allowed();
    for (room, uses) in real(|kind| kind == "dev") {
        // The snapshots of the views show what the families of the catalogue say.
        let may = |used: &&String| room == "groma-report" && *used == "groma-benches";
        let added: Vec<_> = uses.0.difference(&allowed[&room].0).filter(|used| !may(used)).collect();
        assert!(added.is_empty(), "the tests of {room} use {added:?}, which {room} may not");
    }
}

#[test]
fn unsafe_code_is_forbidden_where_it_is_not_needed() {
    for room in allowed().keys().filter(|room| !WITH_UNSAFE.contains(&room.as_str())) {
        let src = root().join("crates").join(room.strip_prefix("groma-").unwrap_or(room)).join("src");
        let main = fs::read_to_string(src.join("lib.rs")).or_else(|_| fs::read_to_string(src.join("main.rs")));
        assert!(main.expect("a crate has one").contains("\n#![forbid(unsafe_code)]\n"), "{room}");
    }
}

#[test]
fn assembly_is_in_one_folder() {
    let mut found = 0;
    for room in fs::read_dir(root().join("crates")).expect("the rooms").flatten() {
        for file in sources(&room.path().join("src")) {
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
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
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
fn the_files_that_the_page_names_exist() {
    let mut named = 0;
    for path in quoted(PAGE).filter(|text| text.ends_with(".rs") && text.contains('/')) {
        named += 1;
        // `report/table.rs` is crates/report/src/table.rs.
        let short = path.split_once('/').map(|(room, file)| root().join("crates").join(room).join("src").join(file));
        assert!(root().join(path).exists() || short.is_some_and(|p| p.exists()), "ARCHITECTURE.md names {path}");
    }
    assert!(named > 20, "only {named} files found in ARCHITECTURE.md");
}
