//! The documents against the program: docs/benchmarks.md matches `groma list`, the commands in the
//! README work, links and citations name files and sections that exist.
//!
//! `.ci/update` rewrites docs/benchmarks.md.

use crate::common::{Place, eight_at_a_time, root, up_to_date};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GROMA: &str = env!("CARGO_BIN_EXE_groma");

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The contents of docs/benchmarks.md: what the program prints.
fn benchmarks() -> String {
    let output = Command::new(GROMA).args(["list", "--format", "markdown"]).output().expect("groma can be started");
    let list = String::from_utf8(output.stdout).expect("it is text");
    format!("# What groma measures\n\n<!-- Printed by `groma list --format markdown`; not to be edited. -->\n\n{list}")
}

#[test]
fn the_list_of_benchmarks_is_up_to_date() {
    up_to_date("docs/benchmarks.md", &benchmarks());
}

/// The lines of a document's code that begin with `groma `.
fn commands(document: &str) -> Vec<String> {
    let text = read(document);
    let code = text.split("\n```").skip(1).step_by(2);
    let lines = code.flat_map(str::lines).map(str::trim).filter(|line| line.starts_with("groma "));
    // What stands behind a pipe is not groma's.
    lines.map(|line| line.split(" | ").next().unwrap_or(line).to_owned()).collect()
}

/// Runs a command line in a shell. Commands that would measure only plan, and none watches for
/// longer than a second.
fn shell(line: &str, dir: &Path) -> Output {
    let script = format!("groma() {{ {GROMA} \"$@\" $PLAN; }}\n{}", line.replace("--for 10s", "--for 1s"));
    let plan = if line.starts_with("groma run") && !line.contains("--dry-run") { "--dry-run" } else { "" };
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(dir).env("PLAN", plan).env("XDG_DATA_HOME", dir).env_remove("GROMA_STORE");
    shell.output().expect("a shell")
}

/// A store with two runs of what the documents show over time, at two points.
fn with_two_runs() -> Place {
    let place = Place::new();
    let run = ["run", "ipc.pipe_rtt", "--param", "size=1,4K", "--placement", "same-cpu", "--rounds", "1"];
    for _ in 0..2 {
        assert_eq!(place.groma(&run).code, Some(0));
    }
    place.calm();
    place
}

#[test]
fn commands_in_documents_work() {
    /// Commands that need a run in the store, a second of gauging, or an address.
    const LEFT_OUT: &[&str] = &[
        "groma ab",
        "groma baseline",
        "groma calibrate",
        "groma gate",
        "groma compare",
        "groma export",
        "groma serve",
        "groma show",
        "groma runs",
        "groma plot",
        "groma paper lmbench1996 table2 --run",
        "groma predict",
        "groma report",
        "groma machine",
        "groma tag",
        "groma forget",
        "groma merge",
        "groma import",
        "groma summary",
    ];
    let mut lines: Vec<(&str, String)> = Vec::new();
    for document in ["README.md", "CONTRIBUTING.md", "docs/writing-benchmarks.md", "docs/tasks.md"] {
        lines.extend(commands(document).into_iter().map(|line| (document, line)));
    }
    lines.retain(|(_, line)| !LEFT_OUT.iter().any(|verb| line.starts_with(verb)) && !line.contains(" --run latest"));
    assert!(lines.len() >= 10, "only {} commands found: this test looks in the wrong place", lines.len());
    let trend = with_two_runs();
    eight_at_a_time(lines, |(document, line)| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        if line.starts_with("groma trend") || line.starts_with("groma site") {
            fs::create_dir(dir.path().join("groma")).expect("a directory");
            fs::copy(trend.store(), dir.path().join("groma/groma.db")).expect("a store");
        }
        let output = shell(&line, dir.path());
        assert!(output.status.success(), "{document}: {line}\n{}", String::from_utf8_lossy(&output.stderr));
    });
}

#[test]
fn links_are_not_broken() {
    let mut links = 0;
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "packages/README.md"];
    let more = fs::read_dir(root().join("docs")).expect("docs").flatten();
    let more = more.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n.ends_with(".md"));
    for document in documents.map(str::to_owned).into_iter().chain(more.map(|name| format!("docs/{name}"))) {
        let text = read(&document);
        let folder = root().join(&document).parent().expect("it is in one").to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            // A lambda of C++ looks like a link, but for its blank.
            if target.contains("://") || target.contains(' ') {
                continue;
            }
            let file = target.split('#').next().unwrap_or_default();
            assert!(folder.join(file).exists(), "{document}: {target}");
            links += 1;
        }
    }
    assert!(links > 5, "only {links} links found");
}

/// Documents name source files that move: each path from the root has to be there.
#[test]
fn source_files_named_in_documents_exist() {
    let (mut named, mut missing) = (0, Vec::new());
    for document in sources().into_iter().filter(|path| path.ends_with(".md")) {
        for rest in read(&document).split("crates/").skip(1) {
            let path: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.')).collect();
            let Some((path, _)) = path.rsplit_once(".rs") else { continue };
            let path = format!("crates/{path}.rs");
            named += 1;
            if !root().join(&path).exists() {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such files: {missing:#?}");
    assert!(named > 50, "only {named} paths found: this test looks in the wrong place");
}

/// Scripts and settings whose comments are prose as well, by their paths from the root.
fn settings() -> Vec<String> {
    let files_of = |dir: &str| {
        let names = fs::read_dir(root().join(dir)).unwrap_or_else(|e| panic!("{dir}: {e}")).flatten();
        names.map(|name| format!("{dir}/{}", name.file_name().to_string_lossy())).collect::<Vec<_>>()
    };
    let more = sources().into_iter().filter(|path| path.ends_with(".toml") || path.ends_with(".sh"));
    let named = [".cargo/config.toml", "fuzz/run", "packages/install", "packages/arch/PKGBUILD"].map(str::to_owned);
    let all = [".ci", "docs/ci"].into_iter().flat_map(files_of).chain(named).chain(more);
    all.collect()
}

/// Every source file, script and document of the repository, by its path from the root.
fn sources() -> Vec<String> {
    fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())).flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Build output, snapshots of output, and inputs of the fuzzer are not text that cites.
            if path.is_dir() && !["target", ".git", "corpus", "regressions", "snapshots"].contains(&&*name) {
                collect(&path, found);
            } else if [".rs", ".md", ".toml", ".c", ".sh", ".sql"].iter().any(|end| name.ends_with(end)) {
                found.push(path);
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    collect(&root, &mut found);
    found.iter().map(|path| path.strip_prefix(&root).expect("below it").to_string_lossy().into_owned()).collect()
}

/// The anchors of a page: its headings as GitHub spells them.
fn anchors(page: &str) -> Vec<String> {
    let mut code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        code ^= line.starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !code) {
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            let text = heading.trim_start_matches('#').trim().to_lowercase();
            found.push(text.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

/// What CONTRIBUTING.md says of prose and comments; tables and code are as wide as they are.
#[test]
fn prose_wraps_at_100_columns() {
    const MAX_COLUMNS: usize = 100;
    let (mut lines, mut wide) = (0, Vec::new());
    for path in sources().into_iter().filter(|path| path.ends_with(".md") || path.ends_with(".rs")) {
        let text = read(&path);
        let is_page = path.ends_with(".md");
        if is_page && text.contains("not to be edited. -->") {
            continue;
        }
        let mut code = false;
        for (line, number) in text.lines().zip(1..) {
            let words = line.trim_start();
            if !is_page && !words.starts_with("//") {
                continue;
            }
            let words = if is_page { words } else { words.trim_start_matches(['/', '!']).trim_start() };
            code ^= words.starts_with("```");
            if code || words.starts_with('|') || (is_page && line.starts_with("    ")) {
                continue;
            }
            lines += 1;
            if line.chars().count() > MAX_COLUMNS {
                wide.push(format!("{path}:{number}"));
            }
        }
    }
    for path in settings() {
        let text = read(&path);
        let comments = text.lines().zip(1..).filter(|(line, _)| line.trim_start().starts_with('#'));
        let too_wide = comments.filter(|(line, _)| line.chars().count() > MAX_COLUMNS);
        wide.extend(too_wide.map(|(_, number)| format!("{path}:{number}")));
    }
    assert!(wide.is_empty(), "wider than {MAX_COLUMNS} columns: {wide:#?}");
    assert!(lines > 10_000, "only {lines} lines found: this test looks in the wrong place");
}

/// A file is read in one go. (Functions: `too_many_lines` in clippy.toml.)
#[test]
fn no_source_file_is_longer_than_600_lines() {
    let code = sources().into_iter().filter(|path| path.ends_with(".rs") || path.ends_with(".c"));
    let lengths: Vec<(String, usize)> = code.map(|path| (path.clone(), read(&path).lines().count())).collect();
    assert!(lengths.len() > 400, "only {} files found: this test looks in the wrong place", lengths.len());
    let long: Vec<&(String, usize)> = lengths.iter().filter(|(_, lines)| *lines > 600).collect();
    assert!(long.is_empty(), "split these: {long:?}");
}

#[test]
fn citations_name_a_section_that_exists() {
    const PAGES: &str = "docs/methods/";
    let mut cited = 0;
    for path in sources() {
        let text = read(&path);
        for rest in text.split(PAGES).skip(1) {
            let word: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '#')).collect();
            let word = word.trim_end_matches('.');
            let (page, anchor) = word.split_once('#').unwrap_or((word, ""));
            if !page.ends_with(".md") || path == file!() || path.ends_with("tests/documents.rs") {
                continue;
            }
            let page = root().join(PAGES).join(page);
            let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{path}: {}: {e}", page.display()));
            assert!(anchor.is_empty() || anchors(&text).iter().any(|a| a == anchor), "{path}: {word}: no such section");
            // A page says where; code must say exactly where.
            assert!(!anchor.is_empty() || !path.ends_with(".rs"), "{path}: {word}: name the section");
            cited += 1;
        }
    }
    assert!(cited > 100, "only {cited} citations found: this test looks in the wrong place");
}

#[test]
fn citations_can_be_opened() {
    /// Pages that were never part of this repository.
    const OUTSIDE: [&str; 7] = [
        "harness-methods",
        "os-methods",
        "memory-methods",
        "lmbench-inventory",
        "dependencies.md",
        "design.md",
        "../shared",
    ];
    let mut bad = Vec::new();
    for path in sources().iter().filter(|path| !path.ends_with("tests/documents.rs")) {
        for (line, number) in read(path).lines().zip(1..) {
            let outside = OUTSIDE.iter().filter(|page| line.contains(**page));
            bad.extend(outside.map(|page| format!("{path}:{number}: {page}")));
        }
    }
    assert!(bad.is_empty(), "readers cannot look these up:\n{}", bad.join("\n"));
}
