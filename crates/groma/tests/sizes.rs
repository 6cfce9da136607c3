//! Sizes that no machine has: each worker refuses them in one line, before it takes any memory.
//!
//! Whether every size of the catalogue is checked is tested in groma-benches (`tests/sizes.rs`).
//! This test is a program of its own because the peak memory of its children would otherwise
//! include that of other tests.

mod common;
use common::Place;
use groma_harness::sys::counters::Usage;

/// One benchmark for each way of using a size.
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
fn workers_refuse_impossible_sizes_without_allocating() {
    let place = Place::new();
    // The search for the end of the caches may take as much, before any benchmark.
    let mut searched = 0;
    // With four members as well: their sizes are added up before any of them exists.
    for (size, workers) in [("1T", "1"), ("16777215T", "4")] {
        let param = format!("size={size}");
        let how =
            ["--param", &param, "-P", workers, "--placement", "free", "--profile", "quick", "--rounds", "1", "--json"];
        let run = place.json(&[&["run"], &SIZED[..], &how].concat());
        searched = searched.max(run["run"]["host"]["beyond_caches"].as_u64().unwrap_or(0));
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
    assert!(most < searched + (200 << 20), "{most} B were resident in one process");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}
