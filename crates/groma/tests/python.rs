//! The module for Python starts the program that cargo has built: its own tests, and the session of
//! docs/python.md from top to bottom.

use crate::common::{Place, root};
use std::path::Path;
use std::process::Command;

/// Python with the module, in a directory and with stores of its own; `None` where there is none.
fn python(place: &Place) -> Option<Command> {
    let known = Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).output();
    if !known.is_ok_and(|ended| ended.status.success()) {
        eprintln!("skipped: no Python 3.9");
        return None;
    }
    let mut python = Command::new("python3");
    python
        .current_dir(place.tmp())
        .env("PYTHONPATH", root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GROMA_PROGRAM", Path::new(env!("CARGO_BIN_EXE_groma")))
        .env("HOME", place.tmp())
        .env_remove("GROMA_STORE");
    Some(python)
}

fn succeeds(mut python: Command) -> String {
    let ended = python.output().expect("it was there before");
    let [out, err] = [&ended.stdout, &ended.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(ended.status.success(), "{out}{err}");
    out + &err
}

#[test]
fn the_module_measures_and_reads_every_kind_of_file() {
    let place = Place::new();
    let Some(mut python) = python(&place) else { return };
    python.args(["-m", "unittest", "discover", "-s"]).arg(root().join("python/tests"));
    let told = succeeds(python);
    assert!(told.contains("Ran 3 tests"), "{told}");
}

#[test]
fn the_session_of_the_page_runs() {
    let page = std::fs::read_to_string(root().join("docs/python.md")).expect("the page");
    let blocks: Vec<&str> =
        page.split("```python\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(code, _)| code).collect();
    assert!(blocks.len() > 4, "{} blocks: this test looks in the wrong place", blocks.len());
    let place = Place::new();
    let Some(mut python) = python(&place) else { return };
    python.args(["-c", &blocks.concat()]);
    let told = succeeds(python);
    assert!(told.contains("no benchmark 'syscall.nothing'"), "{told}");
}
