//! Processor and memory benchmarks, briefly, with little memory: under an address space limit and
//! in a control group. Every metric has a state, nothing fails and nothing is killed; what does not
//! fit names the limit.

use crate::common::control_group::ControlGroup;
use crate::common::{Ended, Place, ended};
use serde_json::Value;
use std::collections::BTreeSet;

/// One round of all processor and memory benchmarks, with enough time.
const RUN: [&str; 10] = ["run", "cpu", "mem", "--profile", "quick", "--rounds", "1", "--budget", "300s", "--json"];
const MIB: u64 = 1 << 20;

/// Asserts that all planned metrics are `ok` or have a reason; returns the reasons of the
/// unsupported ones that name `limit`.
fn complete(place: &Place, ended: &Ended, limit: &str) -> Vec<String> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    let listed = place.json(&["list", "cpu", "mem", "--json"]);
    let benches = listed.as_array().expect("a list").iter();
    let planned: BTreeSet<&str> = benches
        .flat_map(|b| b["outputs"].as_array().expect("outputs").iter().map(|o| o["id"].as_str().expect("an id")))
        .collect();
    let metrics = run["metrics"].as_array().expect("metrics");
    let seen: BTreeSet<&str> = metrics.iter().map(|m| m["id"].as_str().expect("an id")).collect();
    assert!(planned.is_superset(&seen) && seen.len() > 5, "planned {planned:#?}, came back {seen:#?}");
    let dry = place.groma(&["run", "cpu", "mem", "--profile", "quick", "--dry-run"]);
    for id in dry.out.lines().filter_map(|line| line.split(' ').next()).filter(|id| id.contains('.')) {
        assert!(seen.iter().any(|s| s.starts_with(id)), "{id} did not come back");
    }
    let mut named = Vec::new();
    for m in metrics {
        let (state, reason) = (m["state"].as_str().expect("a state"), m["reason"].as_str().expect("a reason"));
        let fine = match state {
            "ok" => true,
            // One round has no interval, and the test machine may be busy.
            "noisy" | "unresolved" | "unsupported" | "denied" => !reason.is_empty(),
            _ => false,
        };
        assert!(fine, "{} {}: {state}: {reason}", m["id"], m["params_text"]);
        if state == "unsupported" && reason.contains(limit) {
            named.push(format!("{} {}: {reason}", m["id"], m["params_text"]));
        }
    }
    assert!(!named.is_empty(), "nothing met {limit}");
    assert!(metrics.iter().any(|m| m["id"] == "mem.latency" && m["state"] != "unsupported"), "small sizes fit");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    named
}

#[test]
fn with_little_address_space() {
    let place = Place::new();
    // In KiB, the shell's unit: 1 GiB holds the program and the sizes of a quick run except the
    // largest.
    for (kib, script) in [(1 << 20, "ulimit -v 1048576; exec \"$@\""), (300 << 10, "ulimit -v 307200; exec \"$@\"")] {
        let mut args = RUN.to_vec();
        if kib == 1 << 20 {
            // Half a gigabyte does not fit.
            args.extend(["--param", "size=64K,768M"]);
            args.retain(|a| *a != "cpu");
        }
        let run = ended(place.wrapped(&["sh", "-c", script, "sh"], &args).output().expect("sh"));
        if kib == 1 << 20 {
            let out: Value = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {run:?}"));
            let metrics = out["metrics"].as_array().expect("metrics");
            let failed: Vec<_> = metrics.iter().filter(|m| m["state"] == "failed").collect();
            assert_eq!(run.code, Some(0), "{failed:#?} {}", run.err);
            let large = |m: &&Value| m["params"]["size"].as_u64() == Some(768 * MIB);
            let mut refused = 0;
            for m in metrics.iter().filter(large) {
                assert_eq!(m["state"], "unsupported", "{m}");
                refused += usize::from(m["reason"].as_str().is_some_and(|r| r.contains("RLIMIT_AS of 1 GiB")));
            }
            assert!(refused > 0, "{}", run.out);
            assert!(metrics.iter().any(|m| m["id"] == "mem.latency" && m["params"]["size"] == 64 << 10));
        } else {
            println!("{:#?}", complete(&place, &run, "RLIMIT_AS of 300 MiB"));
        }
    }
}

#[test]
fn in_a_control_group_of_256_mib() {
    let Some(group) = ControlGroup::of_memory(256 * MIB) else { return };
    let place = Place::new();
    let run = group.run(&place, &RUN);
    // Without the part above the group: in a container it holds an identifier, which stored runs
    // leave out.
    let below = group.limit_file.find("groma-test-").map_or("", |at| &group.limit_file[at..]);
    let named = complete(&place, &run, &format!("{below} of 256 MiB"));
    println!("{named:#?}");
    let killed = group.count(&["memory.events", "memory.oom_control"], "oom_kill ");
    assert_eq!(killed, Some(0), "tasks that the kernel killed for memory");
    let most_used = group.count(&["memory.peak", "memory.max_usage_in_bytes"], "");
    assert!(most_used.is_none_or(|most| most < 256 * MIB), "{most_used:?}");
}
