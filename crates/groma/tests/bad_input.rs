//! Invalid input produces one line that names it, and exit code 2. A machine that lacks something
//! produces states with reasons.

use crate::common::{Place, calm, ended, is_executable, metric, was_measured};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Asserts one line on standard error, exit code 2 and nothing on standard output.
fn refuses(args: &[&str], expected: &str) {
    let place = Place::new();
    let ended = place.groma(args);
    assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
    assert_eq!(ended.out, "", "{args:?}");
    let line = ended.err.lines().next().unwrap_or("");
    assert!(line.contains(expected), "{args:?}: expected '{expected}' in '{line}'");
    assert!(place.left_behind().is_empty());
}

#[test]
fn errors_name_the_input_and_what_was_expected() {
    refuses(&["run", "syscall.getpid"], "no benchmark 'syscall.getpid'; did you mean 'syscall.getppid'?");
    refuses(&["run", "mem.latency", "--param", "size=0"], "--param size: '0' is too small: it must be more than 0");
    refuses(&["run", "ipc.pipe_rtt", "--param", "size=1Q"], "--param size: '1Q' is not a size (write 4096, 64K");
    refuses(&["run", "ipc.pipe_rtt", "--param", "sise=1"], "--param sise: no selected benchmark has it (known: size)");
    refuses(&["run", "mem.latency", "--param", "chain=odd"], "--param chain: 'odd' is not one of amortised, included");
    refuses(&["run", "--placement", "near"], "'near' is not a placement");
    refuses(&["run", "--placement", "99999"], "CPU 99999 is not allowed; allowed: ");
    refuses(&["run", "--budget", "soon"], "expected a time such as 30s");
    refuses(&["run", "-P", "0"], "expected workers from 1 to 4096");
    refuses(&["run", "--work-dir", "/nonexistent", "file"], "--work-dir: /nonexistent: not a directory");
    refuses(&["run", "--out", "/nonexistent/x.ndjson", "syscall.getppid"], "--out /nonexistent/x.ndjson: ");
    refuses(&["explain", "pipe_rt"], "did you mean 'ipc.pipe_rtt'?");
    // A family of what runs by name only selects nothing, and is no suggestion.
    refuses(&["run", "selftest"], "no benchmark 'selftest'; did you mean 'selftest.");
    refuses(&["show"], "no store here yet: 'groma run' makes one");
    refuses(&["plot", "mem.latency", "-o", "x.gif"], "x.gif: a plot's file ends in .svg or .png");
    refuses(&["report", "-o", "x.html"], "no store here yet: 'groma run' makes one");
    refuses(&["report", "--format", "odt"], "invalid value 'odt' for '--format <FORMAT>'");
    refuses(&["report", "--format", "pdf"], "name a file for the report: groma report -o report.html");
    refuses(&["report", "-o", "x.docx"], "--output: expected a file that ends in .html, .md or .pdf, or --format");
    refuses(&["trend", "syscall.getppid", "--last", "0"], "0 is not in 1..");
    refuses(&["watch", "--for", "0s"], "expected a time above zero, such as 30s");
    refuses(&["watch", "--record", "/nonexistent/x"], "--record /nonexistent/x: ");
    refuses(&["gate", "--baseline", "main"], "groma: --baseline main: ");
    refuses(&["__worker"], "is for groma's own use");
    let both = "--json and --out - both write to standard output";
    refuses(&["run", "syscall.getppid", "--json", "--out", "-"], both);
    refuses(&["run", "syscall.getppid", "--json", "--out=-", "--dry-run"], both);
    refuses(&["hammer", "16", "10", "--json", "-o", "-"], both);
}

/// Bytes that are not UTF-8, after some that are.
fn bytes(text: &str) -> OsString {
    OsString::from_vec([text.as_bytes(), &[0xff, 0xfe]].concat())
}

#[test]
fn arguments_that_are_not_utf8_are_named_with_their_option() {
    let place = Place::new();
    for (args, expected) in [
        (vec![bytes("a")], "error: unrecognized subcommand"),
        (vec!["run".into(), bytes("syscall.")], "groma: 'syscall.\u{fffd}\u{fffd}' is not UTF-8"),
        (vec!["run".into(), bytes("--budget=1")], "groma: --budget: '1\u{fffd}\u{fffd}' is not UTF-8"),
        (vec!["run".into(), "--seed".into(), bytes("")], "groma: --seed: '\u{fffd}\u{fffd}' is not UTF-8"),
        (vec!["run".into(), "-o".into(), bytes("x"), "--param".into(), bytes("size=")], "groma: --param: 'size="),
        (vec!["run".into(), "--budget".into(), "soon".into(), "-o".into(), bytes("x")], "error: invalid value 'soon'"),
        (vec!["show".into(), bytes("2026")], "groma: '2026\u{fffd}\u{fffd}' is not UTF-8"),
        (vec!["dd".into(), bytes("bs=")], "groma: bs: '\u{fffd}\u{fffd}' is not a size"),
        (vec!["dd".into(), "count=1".into(), bytes("if=none")], "groma: if=none\u{fffd}\u{fffd}: No such file"),
    ] {
        let ended = ended(place.command(&[]).args(&args).output().expect("starts"));
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        assert!(ended.err.starts_with(expected), "{args:?}: {ended:?}");
    }
}

#[test]
fn paths_may_be_any_bytes() {
    let place = Place::new();
    let at = |name: &str| place.path("").join(bytes(name)).into_os_string();
    let (work_dir, store, out, svg) = (at("work"), at("store"), at("out"), at("p"));
    let svg = OsString::from_vec([svg.into_vec(), b".svg".to_vec()].concat());
    std::fs::create_dir(&work_dir).expect("a directory");
    let run = |more: &[&OsStr]| {
        let mut command = place.command(&["run", "file.link", "proc.shell", "--param", "command=target"]);
        command.args(["--profile", "quick", "--rounds", "2", "--json"]);
        ended(command.args(more).output().expect("starts"))
    };
    let [work, kept, written] = ["--work-dir", "--store", "-o"].map(OsStr::new);
    let ended_run = run(&[work, &work_dir, kept, &store, written, &out]);
    assert_eq!(ended_run.code, Some(0), "{ended_run:?}");
    let json: serde_json::Value = serde_json::from_str(&ended_run.out).expect("JSON");
    for id in ["file.link", "proc.shell"] {
        assert!(was_measured(metric(&json, id)), "{}", metric(&json, id));
    }
    let typed = json["run"]["args"].as_array().expect("args");
    assert!(typed.iter().any(|arg| arg.as_str().is_some_and(|a| a.ends_with("out\u{fffd}\u{fffd}"))), "{typed:?}");
    assert_eq!(std::fs::read_dir(&work_dir).expect("the directory").count(), 0, "something was left");
    assert!(std::fs::read_to_string(&out).expect("the stream").lines().count() > 3);
    calm(store.as_ref());

    for args in
        [vec!["show".into()], vec!["plot".into(), "file.link".into(), "--histogram".into(), "-o".into(), svg.clone()]]
    {
        let mut command = place.command(&[]);
        let shown = ended(command.args::<_, OsString>(args).arg("--store").arg(&store).output().expect("starts"));
        assert_eq!(shown.code, Some(0), "{shown:?}");
    }
    assert!(std::fs::metadata(&svg).is_ok_and(|m| m.len() > 0));

    let (input, output) = (OsString::from_vec([b"if=", out.as_bytes()].concat()), at("copy"));
    let to = OsString::from_vec([b"of=", output.as_bytes()].concat());
    let copied = ended(place.command(&["dd"]).args([input, to]).output().expect("starts"));
    assert_eq!(copied.code, Some(0), "{copied:?}");
    assert_eq!(std::fs::read(&out).expect("a file"), std::fs::read(&output).expect("its copy"));
}

#[test]
fn an_unusable_store_is_named() {
    refuses(&["run", "syscall.getppid", "--store", "/proc/groma.db"], "/proc/groma.db: ");
    let place = Place::new();
    let file = place.path("not-a-store");
    std::fs::write(&file, "just text, and long enough to look like something").expect("a file");
    let path = file.display().to_string();
    let ended = place.groma(&["run", "syscall.getppid", "--store", &path]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("not a groma store"), "{ended:?}");
    let kept = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(kept, "just text, and long enough to look like something", "a foreign file was changed");
}

#[test]
fn a_run_without_a_usable_default_store_still_measures() {
    let place = Place::new();
    let mut command = place.command(&["run", "syscall.getppid", "--profile", "quick", "--json"]);
    let ended = ended(command.env_remove("GROMA_STORE").env("HOME", "/proc/nowhere").output().expect("starts"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.starts_with("groma: results are shown, not kept: "), "{ended:?}");
    assert!(ended.out.contains("syscall.getppid"));
}

#[test]
fn with_one_allowed_cpu_only_its_placements_are_measured() {
    if !is_executable("taskset") {
        eprintln!("skipped: no taskset");
        return;
    }
    let place = Place::new();
    let allowed = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let list = allowed.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).expect("a list").trim().to_owned();
    let first = list.split([',', '-']).next().expect("a CPU").to_owned();
    let args = ["run", "ipc.pipe_rtt", "--profile", "quick", "--json"];
    let ended = ended(place.wrapped(&["taskset", "-c", &first], &args).output().expect("taskset"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    for m in run["metrics"].as_array().expect("metrics") {
        let (placement, state, reason) = (&m["placement"], m["state"].as_str(), m["reason"].as_str());
        match placement.as_str() {
            Some("same-cpu" | "free") => assert!(m["value"].is_number(), "{m}"),
            _ => assert_eq!((state, reason), (Some("unsupported"), Some("one CPU allowed")), "{m}"),
        }
    }
}

#[test]
fn limits_become_states_with_reasons() {
    let place = Place::new();
    // Few open files: the program and its workers need about a dozen.
    let args = ["run", "syscall.getppid", "--profile", "quick", "--json"];
    let few_files = ended(place.wrapped(&["sh", "-c", "ulimit -n 20; exec \"$@\"", "sh"], &args).output().expect("sh"));
    assert_eq!(few_files.code, Some(0), "{few_files:?}");
    // So few that nothing can work: one error line, after that of the store. What this test's
    // parent left open would take the one descriptor by which the loader opens libraries.
    let close = "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n 4; exec \"$@\"";
    let none = ended(place.wrapped(&["sh", "-c", close, "sh"], &args).output().expect("sh"));
    assert_eq!(none.code, Some(2), "{none:?}");
    let lines: Vec<&str> = none.err.lines().filter(|line| !line.contains("results are shown, not kept")).collect();
    assert!(lines.len() == 1 && none.err.lines().count() <= 2, "{none:?}");
}

#[test]
fn another_directory_takes_the_place_of_a_missing_one() {
    let place = Place::new();
    let mut command = place.command(&["run", "file.create_delete", "--profile", "quick", "--json"]);
    let ended = ended(command.env("TMPDIR", "/nonexistent").output().expect("starts"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    let m = metric(&run, "file.create_delete");
    assert_ne!(m["state"], "unsupported", "{m}");
    let facts = run["run"]["environment"].to_string();
    assert!(facts.contains("work_dir.choice") && facts.contains("TMPDIR: No such file"), "{facts}");
}
