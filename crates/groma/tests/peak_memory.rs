//! What takes no memory: sizes that no machine has, which each worker refuses in one line, and
//! transfers of `groma dd`, however many there are.
//!
//! Whether every size of the catalogue is checked is tested in groma-benches (`tests/sizes.rs`).
//! This is a program of its own because the kernel counts the memory of the program that starts a
//! child as the child's, and that of all children of other tests with those of this one.

mod common;
use common::Place;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::process;
use std::process::Stdio;

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

#[test]
fn memory_does_not_grow_with_transfers_or_offsets() {
    let place = Place::new();
    // The peak resident memory, in KiB, of a run with this number of transfers.
    let most = |count: &str, more: &[&str]| {
        let mut command = place.command(&[&["dd", "of=/dev/null", "bs=8", count, "json=1"], more].concat());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let pid = child.expect("the program starts").id() as i32;
        let exit = process::wait(pid).expect("it is ours");
        assert!(exit.success(), "{exit}");
        exit.usage.max_resident >> 10
    };
    let (few, many) = (most("count=1000", &[]), most("count=2000000", &[]));
    // How much of the program's own file is resident differs by 7 MiB from run to run; eight bytes
    // per transfer would be 15 MiB.
    const SPREAD: u64 = 10 * 1024;
    assert!(many < few + SPREAD, "{few} KiB for a thousand transfers, {many} KiB for two million");
    let anywhere = most("count=1000", &["rand=1T", "norepeat=1"]);
    assert!(anywhere < few + SPREAD, "{few} KiB in turn, {anywhere} KiB at random places of a tebibyte");
}
