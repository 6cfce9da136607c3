//! `groma explain --run` and `groma predict`: a value taken apart, an application's counts priced.

use crate::common::{self, Place, unique_sleep};

/// A place with a run of one metric that is composed and of some of its parts.
fn with_a_run() -> Place {
    let place = Place::new();
    let run = ["run", "signal.catch", "syscall.getppid", "syscall.read", "--profile", "quick", "--rounds", "3"];
    assert_eq!(place.groma(&run).code, Some(0));
    place.calm();
    place
}

#[test]
fn a_value_is_taken_apart_and_what_is_missing_is_named() {
    let place = with_a_run();
    let shown = place.groma(&["explain", "signal.catch", "--run", "latest"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    // The rest is the operation's own only where all parts are there.
    assert!(shown.out.starts_with("signal.catch: ") && !shown.out.contains("unexplained rest"), "{}", shown.out);
    let rows = ["signal.catch.check", "syscall.getppid", "not explained", "of which the parts not measured: "];
    // Lines are wrapped where the values end.
    let unwrapped = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rows.iter().all(|row| unwrapped.contains(row)), "{}", shown.out);
    assert!(shown.out.contains("not measured"), "{}", shown.out);
    assert!(shown.out.ends_with("To measure what is missing: groma run mem.bandwidth\n"), "{}", shown.out);
    let all = place.groma(&["explain", "--run", "latest"]).out;
    assert!(all.starts_with("composed cost") && all.contains("\nsignal.catch "), "{all}");

    for (args, error) in [
        (&["explain", "syscall.read", "--run", "latest"][..], "syscall.read: not composed of other costs"),
        (&["explain", "nonsense", "--run", "latest"], "no benchmark 'nonsense'"),
        (&["explain", "ipc.pipe_rtt", "--run", "latest"], "holds no value of ipc.pipe_rtt (groma run ipc.pipe_rtt)"),
        (&["explain", "ipc.pipe_rtt", "--run", "zzz"], "zzz"),
    ] {
        let refused = place.groma(args);
        assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{args:?}: {refused:?}");
        assert!(refused.err.contains(error), "{args:?}: {}", refused.err);
    }
}

#[test]
fn counts_in_a_file_are_priced_and_names_without_a_price_are_listed() {
    let place = with_a_run();
    let file = place.path("counts.json");
    let path = file.to_str().expect("UTF-8");
    let write = |text: &str| std::fs::write(&file, text).expect("a file");
    write(r#"{"counts": {"read": 10, "getpid": 30, "frob": 60, "fsync": 1}, "system_s": 0.5}"#);
    let shown = place.groma(&["predict", "--counts", path]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for part in ["of its system time", "short calls", "without price 59 % of the counts: 60 frob", "not measured"] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert!(shown.out.ends_with("To measure what is missing: groma run file.durable\n"), "{}", shown.out);
    let two = place.groma(&["predict", "--counts", path, "--run", "latest", "--run", "latest"]);
    let heads = two.out.lines().find(|line| line.contains("counted as")).unwrap_or_default();
    assert!(heads.split_whitespace().take(3).eq(["A", "B", "share"]), "{heads}");

    for (text, error) in [
        ("hello", "counts.json: expected what strace -c"),
        (r#"{"counts": {"read": "many"}}"#, "counts.json: count of read: expected a number"),
        (r#"{"counts": {"fork": 3}}"#, "holds none of the costs that are needed: groma run proc.fork_exit"),
        (r#"{"counts": {"fork": 3, "reed": 2}}"#, "; without price: 'reed'"),
        (r#"{"counts": {"reed": 3, "frobnicate": 4}}"#, "nothing in it has a price: 'frobnicate', 'reed'"),
    ] {
        write(text);
        let refused = place.groma(&["predict", "--counts", path]);
        assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{text}: {refused:?}");
        assert!(refused.err.contains(error), "{text}: {}", refused.err);
    }
    for args in [&["predict"][..], &["predict", "--counts", path, "--", "true"], &["predict", "--counts", "/none"]] {
        assert_eq!(place.groma(args).code, Some(2), "{args:?}");
    }
    let bare = place.groma(&["predict"]).err;
    assert!(bare.contains("name a command") && bare.contains("--counts"), "{bare}");
}

#[test]
fn a_command_is_run_and_counted_with_its_children() {
    let place = Place::new();
    let counted =
        place.groma(&["predict", "--format", "json", "--", "sh", "-c", "cat /dev/null; cat /dev/null; exit 4"]);
    if counted.err.contains("tracing sh") {
        eprintln!("not tried: {}", counted.err);
        return;
    }
    assert_eq!(counted.code, Some(0), "{counted:?}");
    assert!(counted.err.contains("sh: exited with code 4"), "{}", counted.err);
    let counts: serde_json::Value = serde_json::from_str(&counted.out).expect("JSON");
    let of = |name: &str| counts["counts"][name].as_f64().unwrap_or(0.0);
    assert_eq!(of("execve"), 3.0, "{counts}");
    // Two cats, and the shell itself.
    assert_eq!(of("fork") + of("vfork"), 3.0, "{counts}");
    // A command maps memory, whose addresses are no bytes; what it reads has bytes.
    assert!(of("mmap") > 0.0 && counts["counts"]["read"]["bytes"].is_number(), "{counts}");
    assert!(of("minor-faults") > 0.0 && counts["wall_s"].as_f64().is_some_and(|wall| wall > 0.0), "{counts}");

    // It has nothing to read, whatever groma was started with.
    let sh = ["predict", "--format", "json", "--", "sh", "-c", "[ /proc/self/fd/0 -ef /dev/null ]"];
    let with_input = place.command(&sh).stdin(std::process::Stdio::piped()).output().expect("groma runs");
    let said = String::from_utf8_lossy(&with_input.stderr);
    assert!(with_input.status.success() && !said.contains("exited with code"), "{said}");

    let refused = place.groma(&["predict", "--", "/no/such/program"]);
    assert_eq!((refused.code, refused.err.contains("/no/such/program: No such file")), (Some(2), true), "{refused:?}");
}

#[test]
fn what_a_command_leaves_is_ended_at_the_deadline_and_by_a_signal() {
    let place = Place::new();
    let none_left = |argument: &str| common::with_arguments(&["sleep", argument]).is_empty();
    let (hidden, plain) = (unique_sleep(), unique_sleep());
    let command = format!("setsid sleep {hidden} & sleep {plain}");
    let late = place.groma(&["predict", "--deadline", "300ms", "--", "sh", "-c", &command]);
    assert_eq!((late.code, late.err.contains("(--deadline)")), (Some(2), true), "{late:?}");
    assert!(none_left(&hidden) && none_left(&plain));
    let running = place.start(&["predict", "--", "sleep", &plain]);
    common::wait_for("the command", || (!none_left(&plain)).then_some(()));
    running.signal(15);
    assert_eq!(running.wait().code, Some(143));
    assert!(none_left(&plain));
    // Nobody is left to end it, so it ends with its parent.
    let running = place.start(&["predict", "--", "sleep", &hidden]);
    common::wait_for("the command", || (!none_left(&hidden)).then_some(()));
    running.signal(9);
    running.wait();
    common::wait_for("the command's end", || none_left(&hidden).then_some(()));
}
