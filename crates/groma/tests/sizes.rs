//! Sizes that no machine holds, asked of real workers: each says so in a line, and none has begun to take the memory.
//!
//! Whether every size of the catalogue is checked is a test of groma-benches (`tests/sizes.rs`).
//! This one is a program of its own, because what its children used at most would otherwise be that
//! of other tests.

mod common;
use common::Place;
use groma_harness::sys::counters::Usage;

/// Of each way in which a size is used, one.
const SIZED: [&str; 8] = [
    "ipc.pipe_bandwidth",
    "net.tcp_rtt",
    "vm.protect",
    "vm.advise",
    "vm.brk",
    "vm.remap",
    "mem.bandwidth",
    "file.truncate",
];

#[test]
fn workers_refuse_what_no_machine_holds_without_taking_it() {
    let place = Place::new();
    // Four members as well: what each takes adds up before any of them exists.
    for (size, workers) in [("1T", "1"), ("16777215T", "4")] {
        let param = format!("size={size}");
        let how =
            ["--param", &param, "-P", workers, "--placement", "free", "--profile", "quick", "--rounds", "1", "--json"];
        let run = place.json(&[&["run"], &SIZED[..], &how].concat());
        let metrics = run["metrics"].as_array().expect("metrics");
        for id in SIZED {
            let mut of_it = metrics.iter().filter(|m| m["id"].as_str().is_some_and(|i| i.starts_with(id))).peekable();
            assert!(of_it.peek().is_some(), "{id} did not come back");
            for m in of_it {
                assert_eq!(m["state"], "unsupported", "{m}");
                let reason = m["reason"].as_str().expect("a reason");
                let members = if workers == "1" { "1 worker)".to_owned() } else { format!("{workers} workers)") };
                let whole = reason.starts_with("needs ") && reason.contains("(size=") && reason.contains(&members);
                assert!(whole && reason.ends_with(" leaves") && !reason.contains('\n'), "{m}");
            }
        }
    }
    let most = Usage::children().max_resident;
    assert!(most < 200 << 20, "{most} B were resident in one process");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}
