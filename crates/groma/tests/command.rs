//! `mix.command` end to end: an arbitrary command, alone and in a worker group, and commands that
//! fail.

use crate::common::{Place, metric, was_measured};

#[test]
fn a_command_is_timed_and_must_succeed() {
    let place = Place::new();
    let run = |command: &str, more: &[&str]| {
        let param = format!("command={command}");
        let args = ["run", "mix.command", "--profile", "quick", "--rounds", "2", "--json", "--param", &param];
        place.json(&[&args[..], more].concat())
    };
    let made = place.path("made");
    // With a comma, and with syntax that only a shell understands.
    let shell = run(&format!("echo a,b >> {}", made.display()), &[]);
    let m = metric(&shell, "mix.command");
    assert!(was_measured(m), "{m}");
    let lines = std::fs::read_to_string(&made).expect("the command made it");
    assert!(lines.lines().count() > 2 && lines.lines().all(|l| l == "a,b"), "{lines}");

    let plain = run("true", &["-P", "2"]);
    let m = metric(&plain, "mix.command");
    assert!(was_measured(m) && m["workers"] == 2, "{m}");

    for (command, state, why) in [
        ("false", "failed", "exited with code 1"),
        ("no-such-program", "unsupported", "there is no program"),
        ("kill -9 $$", "failed", "SIGKILL"),
    ] {
        let ended = run(command, &[]);
        let m = metric(&ended, "mix.command");
        assert_eq!(m["state"], state, "{m}");
        assert!(m["reason"].as_str().is_some_and(|r| r.contains(why)), "{m}");
    }
    assert!(place.left_behind().is_empty());
}
