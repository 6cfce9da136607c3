//! Every system call may be refused: by a container's filter, an old kernel or a security module.
//! A run under a filter that refuses one call ends in time and by itself, measures what does not
//! need the call, and gives what does a state with a reason.
//!
//! With `GROMA_REFUSED=all` in the environment it goes through all calls that have a name in
//! `crates/sys/src/trace/names.rs`, and prints the table: without `mmap` or `execve` no program
//! runs, and a library's debug assertions take some calls for infallible. The suite takes a few
//! that containers and hardened services refuse, and these must leave a run.

use crate::common::{Place, ended};
use groma_harness::sys::{filter, trace};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;

/// How a call is refused.
#[derive(Clone, Copy, Debug)]
enum Way {
    Denied,
    Unknown,
    /// By the signal SIGSYS.
    Trapped,
}

const WAYS: [Way; 3] = [Way::Denied, Way::Unknown, Way::Trapped];

/// Refused to containers (Docker, Kubernetes, systemd, Flatpak) or unknown to the oldest kernels.
const SUBSET: [&str; 7] =
    ["sched_setaffinity", "sched_getaffinity", "prctl", "madvise", "memfd_create", "openat2", "prlimit64"];

/// Where nothing can be done about a SIGSYS: the first two are made before `main`, and the C
/// library makes the third at the end of a thread, with all signals blocked.
const OUT_OF_REACH: [&str; 3] = ["sched_getaffinity", "prlimit64", "madvise"];

fn number(name: &str) -> i64 {
    let found = (0..512).find(|number| trace::call_name(*number) == Some(name));
    found.unwrap_or_else(|| panic!("{name} has no name in names.rs")) as i64
}

fn refuse(command: &mut Command, call: i64, way: Way) {
    let install = move || match way {
        Way::Denied => filter::deny(&[call], 1),
        Way::Unknown => filter::deny(&[call], 38),
        Way::Trapped => filter::trap(&[call]),
    };
    // SAFETY: two `prctl` of memory that the closure allocates; the child has this thread only, and
    // glibc's allocator is usable after a fork.
    #[expect(unsafe_code, reason = "a filter belongs to the process that it is installed in")]
    unsafe {
        command.pre_exec(install)
    };
}

/// What a run made of it: its exit code, the values and the states of its metrics.
fn run(name: &str, way: Way) -> (Option<i32>, usize, Vec<(String, String)>, String) {
    let place = Place::new();
    let mut args = vec!["run", "cpu.call", "syscall.getppid", "signal.catch", "ipc.pipe_rtt", "vm.fault"];
    args.extend(["--profile", "quick", "--rounds", "1", "--budget", "20s", "--json"]);
    let mut limited = place.wrapped(&["timeout", "-s", "KILL", "60"], &args);
    refuse(&mut limited, number(name), way);
    let Ok(output) = limited.output() else {
        return (None, 0, Vec::new(), "no program can be executed".to_owned());
    };
    let run = ended(output);
    let json: Value = serde_json::from_str(&run.out).unwrap_or_default();
    let metrics = json["metrics"].as_array().cloned().unwrap_or_default();
    let text = |m: &Value, key: &str| m[key].as_str().unwrap_or_default().to_owned();
    let values = metrics.iter().filter(|m| m["value"].is_number()).count();
    let without = metrics.iter().filter(|m| !m["value"].is_number());
    (run.code, values, without.map(|m| (text(m, "state"), text(m, "reason"))).collect(), run.err)
}

#[test]
fn a_run_survives_any_call_that_is_refused() {
    let all = std::env::var_os("GROMA_REFUSED").is_some();
    let names: Vec<&str> = match all {
        true => (0..512).filter_map(trace::call_name).collect(),
        false => SUBSET.to_vec(),
    };
    let left: Vec<(&str, Way)> = names.iter().flat_map(|name| WAYS.map(|way| (*name, way))).collect();
    let (left, wrong) = (Mutex::new(left), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, way)) = { left.lock().expect("no panic").pop() } {
            let (code, values, without, err) = run(name, way);
            let first = err.lines().next().unwrap_or_default().to_owned();
            println!("{name:20} {way:?}: exit {code:?}, {values} values, {without:?} {first}");
            let out_of_reach = matches!(way, Way::Trapped) && OUT_OF_REACH.contains(&name);
            let ended = matches!(code, Some(0 | 4)) && values > 0;
            let told = without.iter().all(|(state, reason)| !state.is_empty() && !reason.is_empty());
            if !(all || out_of_reach || ended && told && !err.contains("panicked")) {
                wrong.lock().expect("no panic").push((name, code, values, without, err));
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
