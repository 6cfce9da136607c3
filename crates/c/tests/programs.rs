//! Programs in C and C++ that are compiled against the header and linked with the library that
//! cargo has just built: what becomes of faults, of bad descriptors, and of a program with a `main`
//! of its own. What a round measures is the harness's, and tested there.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

#[path = "programs/abi.rs"]
mod abi;
#[path = "programs/layer.rs"]
mod layer;

/// The directory that holds the shared library of this build.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("it is running");
    let deps = test.parent().expect("it is in a directory");
    [deps, deps.parent().expect("so is that one")]
        .into_iter()
        .find(|dir| dir.join("libgroma_c.so").exists())
        .unwrap_or_else(|| panic!("no libgroma_c.so in {}", deps.display()))
        .to_owned()
}

/// Where programs are built and may write.
fn place() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles a program of `tests/c` or `examples`; returns its path.
fn compile(compiler: &str, standard: &str, source: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = source.rsplit('/').next().unwrap_or(source).replace('.', "_");
    // In a directory of its own: another test may run the same program.
    static DIRECTORIES: AtomicU32 = AtomicU32::new(0);
    let own = place().join(DIRECTORIES.fetch_add(1, SeqCst).to_string());
    std::fs::create_dir_all(&own).expect("cargo has made the place");
    let (program, libraries) = (own.join(format!("{name}_{standard}")), libraries());
    let out = Command::new(compiler)
        .args([&format!("-std={standard}"), "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .args([here.join("include"), here.join(source)])
        .arg("-o")
        .arg(&program)
        .arg(libraries.join("libgroma_c.so"))
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .output()
        .expect("SQLite has been compiled, so there is a compiler");
    assert!(out.status.success(), "{source}: {}", text(&out.stderr));
    // The library is loaded by the name that it has when it is installed.
    let soname = libraries.join("libgroma.so.1");
    if !soname.exists() {
        let _ = std::os::unix::fs::symlink("libgroma_c.so", &soname);
    }
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(program: &Path, words: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(program);
    command.args(words).env_remove("GROMA_STORE").env("NO_COLOR", "1").envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().expect("it was compiled");
    (status.code().unwrap_or(-1), text(&stdout), text(&stderr))
}

/// The lines of `run --out -`, which are JSON, that hold this.
fn records<'o>(out: &'o str, id: &str) -> Vec<&'o str> {
    let id = format!("\"id\":\"{id}\"");
    out.lines().filter(|line| line.contains("\"kind\":\"metric\"") && line.contains(&id)).collect()
}

/// Whether a record has a value, which a machine at work may make noisy or unresolved.
fn was_measured(record: &str) -> bool {
    let states = ["ok", "noisy", "unresolved"].map(|state| format!("\"state\":\"{state}\""));
    states.iter().any(|state| record.contains(state)) && !record.contains("\"value\":null,\"ci\"")
}

#[test]
fn whatever_c_code_does_ends_its_own_rounds_and_no_others() {
    let program = compile("cc", "gnu11", "tests/c/faults.c");
    let (code, out, err) = run(&program, &["run", "--rounds", "2", "--no-store", "--out", "-"], &[]);
    assert_eq!(code, 4, "{err}");
    let expected = [
        ("c.well", "ok", ""),
        ("c.two", "ok", ""),
        ("c.thread", "ok", ""),
        ("c.fork", "ok", ""),
        ("c.crashes", "failed", "was ended by signal 11 (SIGSEGV)"),
        ("c.aborts", "failed", "was ended by signal 6 (SIGABRT)"),
        ("c.exits", "failed", "exited with code 3 and no result"),
        ("c.jumps", "failed", "exited with code 5 and no result"),
        ("c.refused", "denied", "run: Operation not permitted"),
        ("c.unknown", "unsupported", "run: Function not implemented"),
        ("c.minus", "failed", "run returned -7"),
        ("c.says_why", "failed", "3 of four"),
        ("c.not_here", "unsupported", "no such device"),
        ("c.asks", "failed", "no size, integer or time 'length' is declared"),
        ("c.proves", "failed", "groma_prove was called while a loop runs"),
        ("c.broken", "failed", "proof broken: iterations is "),
        ("c.peer", "failed", "the peer exited with code 9"),
        ("c.null", "failed", "groma_int: the groma_ctx is a null pointer"),
        ("c.nan", "failed", "proof broken: values stated as '' that are no number"),
        ("c.series.nowhere", "failed", "nothing was measured or stated as 'elsewhere', only as ''"),
        ("c.faulting", "unresolved", "samples were undisturbed: unexpected page faults in "),
        ("c.registered", "ok", ""),
    ];
    for (id, state, why) in expected {
        let records = records(&out, id);
        let is_it = |record: &&str| record.contains(&format!("\"state\":\"{state}\"")) && record.contains(why);
        let well = |record: &&str| state == "ok" && was_measured(record);
        assert!(records.iter().any(|record| is_it(record) || well(record)), "{id}: not {state} {why}: {records:?}");
    }
    assert!(err.contains("c.faulting: page faults in most samples") && err.contains("GROMA_FAULTS"), "{err}");
    let (code, _, err) = run(&program, &["run", "c.faulting", "--strict", "--rounds", "2", "--no-store"], &[]);
    assert!(code == 4 && err.contains("c.faulting: unresolved: only "), "{code}: {err}");
    assert!(records(&out, "c.two.net").len() == 1 && records(&out, "c.two.ratio").len() == 1, "{out}");
}

/// The header alone, by the strictest readings of both languages.
#[test]
fn the_header_is_clean_in_c_and_in_cpp() {
    for (compiler, language, standard) in [("cc", "c", "c11"), ("c++", "c++", "c++11"), ("c++", "c++", "c++20")] {
        let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/groma.h");
        let out = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", &format!("-std={standard}")])
            .args(["-x", language])
            .arg(header)
            .output()
            .expect("there is a compiler");
        assert!(out.status.success(), "{standard}: {}", text(&out.stderr));
    }
}

/// What no handler of ours can catch ends the worker, and says its type.
#[test]
fn a_cpp_exception_is_a_failure_with_its_name() {
    let program = compile("c++", "gnu++17", "tests/c/throws.cpp");
    let (code, out, err) = run(&program, &["run", "--rounds", "2", "--no-store", "--out", "-"], &[]);
    assert_eq!(code, 4, "{err}");
    for id in ["c.run", "c.setup", "c.measure"] {
        let named = |record: &&str| record.contains("SIGABRT") && record.contains("it was thrown");
        assert!(records(&out, id).iter().any(named), "{id}: {:?}", records(&out, id));
    }
}

#[test]
fn a_bad_descriptor_is_one_line_that_names_its_field() {
    let program = compile("cc", "gnu11", "tests/c/descriptors.c");
    let expected = [
        "benches[1]: name is missing",
        "benches[1]: name is c.one, as that of benches[0]",
        "benches[0] (no_family): name is 'no_family', not 'family.name'",
        "benches[0] (c.one): run is missing",
        "more than one of run, run_staged and measure is set",
        "timing is GROMA_STATED, which needs measure",
        "quantity is 99, which is none of the header's constants",
        "needs is 0x100000",
        "params[0]: size has no value: set quick or standard",
        "params[0]: '12Q' is not a size",
        "params[1]: name is size, as that of another",
        "params[1]: words is missing",
        "params[1]: size is 0, not that of a groma_param: set .size = sizeof (groma_param)",
        "outputs[1]: to is missing",
        "outputs[1]: name is 'Net value'",
        "benches[0]: size is 0, not that of a groma_bench",
        "benches[0]: size is 4, not that of a groma_bench",
        "summary is not UTF-8",
        "groma_main was given no benchmark",
        "the groma_bench is a null pointer",
    ];
    for (i, why) in (1..).zip(expected) {
        let (code, out, err) = run(&program, &["list"], &[("WRONG", &i.to_string())]);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{why}: {err}");
        assert!(err.starts_with("descriptors_c_gnu11: ") && err.contains(why), "not '{why}': {err}");
    }
    // As they are, and in the longer structures of a later header.
    for well in ["0", "21"] {
        let (code, out, err) = run(&program, &["list"], &[("WRONG", well)]);
        assert!(code == 0 && out.contains("c.one") && out.contains("c.two"), "{out}{err}");
    }
    let (code, _, err) = run(&program, &["list"], &[("WRONG", "22")]);
    assert!(code == 2 && err.contains("benches[1]: it uses a field that this libgroma"), "{err}");
    let (code, _, err) = run(&program, &["list"], &[("WRONG", "23")]);
    assert!(code == 2 && err.contains("benches[1]: name points nowhere"), "{err}");
}

/// The numbers behind these words in what `here.c` prints.
fn count(out: &str, word: &str) -> f64 {
    let mut words = out.split_whitespace().skip_while(|found| *found != word).skip(1);
    words.next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {word}: {out}"))
}

#[test]
fn a_program_with_a_main_of_its_own_is_measured_in_its_forks() {
    let program = compile("cc", "gnu11", "tests/c/here.c");
    let store = place().join("here.db");
    let _ = std::fs::remove_file(&store);
    let (code, out, err) = run(&program, &["calls"], &[("GROMA_STORE", store.to_str().expect("a path"))]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    // More rounds make up for those beside a busy sibling thread.
    assert!((7.0..=21.0).contains(&count(&out, "rounds")) && count(&out, "ns") > 1.0, "{out}");
    // Each round begins and ends once, and so does the trial before them.
    let begun = count(&out, "begun");
    assert!(begun == count(&out, "ended") && begun > count(&out, "rounds"), "{out}");
    // A child of the program that has nothing to do with it outlives the measurement.
    assert_eq!(count(&out, "other"), 7.0, "{out}");
    let shown = compile("cc", "gnu11", "tests/c/faults.c");
    let (code, page, err) = run(&shown, &["show", "--store", store.to_str().expect("a path")], &[]);
    assert!(code == 0 && page.contains("c.here"), "{page}{err}");

    let (code, out, _) = run(&program, &["forks", "2"], &[]);
    assert!(code == 0 && count(&out, "rounds") >= 1.0, "{out}");
    let (code, out, _) = run(&program, &["crashes"], &[]);
    assert!(code != 0 && out.contains("was ended by signal 11 (SIGSEGV)"), "{out}");
    assert_eq!(count(&out, "other"), 7.0, "{out}");
}

/// Whenever it comes: while the machine is gauged, or in a round.
#[test]
fn a_signal_ends_a_program_that_measures() {
    let program = compile("cc", "gnu11", "tests/c/here.c");
    for ms in [100, 1500] {
        let mut child = Command::new(&program).args(["calls", "1", "63"]).spawn().expect("it was compiled");
        std::thread::sleep(Duration::from_millis(ms));
        let sent = Command::new("kill").arg(child.id().to_string()).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "it measures for six seconds");
        let ended = child.wait().expect("it is a child");
        assert_eq!(ended.signal(), Some(15), "after {ms} ms: {ended}");
    }
}

/// The C library beside ours has tests in C: what needs no engine, and what it measures with ours.
#[test]
fn the_library_of_programs_in_the_style_of_lmbench_passes_its_own_tests() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("lmbench/tests/run.sh");
    let libraries = libraries();
    let library = libraries.join("libgroma_c.so");
    // The loader asks for the name that it has when it is installed.
    compile("cc", "gnu11", "tests/c/here.c");
    let linked = format!("{} -Wl,-rpath,{}", library.display(), libraries.display());
    let out = Command::new("sh").arg(script).env("GROMA_LIBS", linked).output().expect("a shell");
    let (told, errors) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success() && told.contains("ok      measure"), "{told}{errors}");
}

#[test]
fn the_shared_library_exports_the_header_and_nothing_else() {
    let out = Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("libgroma_c.so")).output();
    let symbols = text(&out.expect("binutils come with the compiler").stdout);
    let symbols: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let header = include_str!("../include/groma.h");
    let declared = |symbol: &&&str| header.contains(&format!("{symbol}("));
    let unknown: Vec<_> = symbols.iter().filter(|symbol| !declared(symbol)).collect();
    assert!(unknown.is_empty() && symbols.len() > 20, "{unknown:?} of {}", symbols.len());
}
