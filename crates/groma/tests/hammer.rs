//! `groma hammer` end to end: output in the format of SLB, a run in the store, and rejected
//! arguments.

use crate::common::{Place, metric, wait_for};
use serde_json::Value;

#[test]
fn single_and_parallel_runs_are_stored() {
    let place = Place::new();
    let ended = place.groma(&["hammer", "64", "50"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let cpus = groma_harness::sys::affinity::allowed().expect("a mask").len();
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), if cpus > 1 { cpus + 2 } else { 1 }, "{ended:?}");
    assert!(lines[0].contains(": total ops 3200  avg nsec/op ") && lines[0].ends_with("  alone"), "{ended:?}");
    if cpus > 1 {
        assert!(lines[1].contains("  slow-down "), "{ended:?}");
        let all = format!("together: total ops {}  avg nsec/op ", 3200 * cpus);
        assert!(lines[cpus + 1].starts_with(&all), "{ended:?}");
    }
    let shown = place.json(&["show", "--format", "json"]);
    let m = metric(&shown, "mem.hammer_run");
    assert!(m["value"].as_f64().is_some_and(|v| v > 0.0) && m["params"]["pages"] == 64, "{m}");
    assert!(m["proofs"].as_array().expect("proofs").iter().all(|p| p["holds"] == true), "{m}");
    assert!(place.left_behind().is_empty());
}

#[test]
fn json_has_the_form_of_a_run() {
    let place = Place::new();
    let first = groma_harness::sys::affinity::allowed().expect("a mask")[0].to_string();
    let run = place.json(&["hammer", "16", "3", "--cpus", &first, "--variant", "own", "--json", "--no-store"]);
    let m = metric(&run, "mem.hammer_run");
    assert!(m["params"]["variant"] == "own" && m["params"]["writers"] == 1 && m["rounds"] == 3, "{m}");
    assert!(!place.store().exists());
}

#[test]
fn impossible_arguments_are_refused_in_one_line() {
    let place = Place::new();
    let first = groma_harness::sys::affinity::allowed().expect("a mask")[0].to_string();
    let twice = format!("{first},{first}");
    for (args, why) in [
        (&["0", "1"][..], "invalid value '0' for '<PAGES>'"),
        (&["1", "0"], "invalid value '0' for '<LOOPS>'"),
        (&["67108864", "1"], "PAGES: needs "),
        (&["1", "1", "--cpus", "x"], "--cpus x: "),
        (&["1", "1", "--cpus", "9999"], "--cpus: CPU 9999 is not allowed"),
        (&["1", "1", "--cpus", &twice], " is named twice"),
        (&["1", "1", "--mem-nodes", "x"], "--mem-nodes x: "),
        (&["1", "1", "--variant", "x"], "invalid value 'x' for '--variant"),
    ] {
        let ended = place.groma(&[&["hammer"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(why), "{args:?}: {ended:?}");
    }
}

#[test]
fn completed_parts_survive_a_signal() {
    let place = Place::new();
    let first = groma_harness::sys::affinity::allowed().expect("a mask")[0].to_string();
    // Nine parts of a few tenths of a second each.
    let running = place.start(&["hammer", "16384", "27000", "--cpus", &first]);
    wait_for("a part that is kept", || {
        let shown = place.groma(&["show", "--format", "json"]);
        let run: Value = serde_json::from_str(&shown.out).ok()?;
        (metric(&run, "mem.hammer_run")["rounds"].as_u64()? > 0).then_some(())
    });
    running.signal(2);
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.out.contains(" of 9 parts were done)"), "{ended:?}");
    assert!(place.left_behind().is_empty());
}
