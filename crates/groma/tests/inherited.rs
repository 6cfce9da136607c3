//! What a program gets from the process that starts it, and the network that it finds: signals that
//! are ignored or blocked, a mask of rights, a loopback interface that is down, few ports. The run
//! does its work, and what cannot be measured says why and what helps.

use crate::common::{Ended, Place, ended, is_executable};
use groma_harness::sys::process::is_root;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// One round of each, as JSON.
const ONCE: [&str; 7] = ["--profile", "quick", "--rounds", "1", "--deadline", "2m", "--json"];

/// Runs behind a wrapper; `None`, with the reason printed, where the wrapper does not work here.
fn behind(place: &Place, wrapper: &[&str], args: &[&str]) -> Option<Ended> {
    let tried = Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        println!("skipped: '{}' does not work here", wrapper.join(" "));
        return None;
    }
    Some(ended(place.wrapped(wrapper, &[args, &ONCE].concat()).output().expect("it starts")))
}

/// The ids, states and reasons of all metrics.
fn states(run: &Ended) -> Vec<[String; 3]> {
    let json: Value = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {run:?}"));
    let metrics = json["metrics"].as_array().expect("metrics").iter();
    metrics.map(|m| ["id", "state", "reason"].map(|key| m[key].as_str().expect("a text").to_owned())).collect()
}

/// Asserts that each metric has a value, or none for a reason of the loops.
fn measured(run: &Ended) {
    let states = states(run);
    let bad: Vec<_> =
        states.iter().filter(|[_, state, _]| !["ok", "noisy", "unresolved"].contains(&&**state)).collect();
    assert!(!states.is_empty() && bad.is_empty(), "{bad:#?}");
}

/// Each of these needs a signal (its own, that of a timer, the end of a child) or waits for
/// children; the preflight and `predict` wait for children of the supervisor.
#[test]
fn signals_that_are_ignored_or_blocked_do_not_reach_the_workers() {
    let place = Place::new();
    let ids = ["signal.catch", "signal.write_barrier", "signal.fault", "ipc.mq_rtt", "proc.exec"];
    let args = [&["run"][..], &ids, &["--param", "proc.exec:target=bare"]].concat();
    for wrapper in [["env", "--ignore-signal"], ["env", "--block-signal"]] {
        let Some(run) = behind(&place, &wrapper, &args) else { return };
        measured(&run);
    }
    let predicted = place.wrapped(&["env", "--ignore-signal"], &["predict", "--format", "json", "--", "true"]).output();
    let predicted = ended(predicted.expect("it starts"));
    let counts: Value = serde_json::from_str(&predicted.out).unwrap_or_else(|e| panic!("{e}: {predicted:?}"));
    assert_eq!(counts["counts"]["execve"], 1.0, "{counts}");
}

/// Also where the rights of the owner matter: not to root.
#[test]
fn a_mask_without_rights_for_the_owner_leaves_files_that_can_be_used() {
    let place = Place::new();
    let (mut wrapper, mut script) = (Vec::new(), "umask 777; exec \"$@\"");
    if is_root() && is_executable("setpriv") {
        for dir in [place.path("."), place.tmp()] {
            std::fs::set_permissions(dir, Permissions::from_mode(0o777)).expect("permissions");
        }
        // By a process of its own: a fork of another test would hold a file that this one writes,
        // which cannot be executed meanwhile.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_groma")).arg(place.path("groma")).status();
        assert!(copied.is_ok_and(|copied| copied.success()), "a copy that this user can run");
        script = "umask 777; shift; exec \"$HOME/groma\" \"$@\"";
        wrapper.extend(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    }
    wrapper.extend(["sh", "-c", script, "sh"]);
    let run = |args: &[&str]| ended(place.wrapped(&wrapper, args).output().expect("it starts"));
    measured(&run(
        &[&["run", "proc.exec", "file.create_delete", "--param", "proc.exec:target=bare"], &ONCE[..]].concat()
    ));
    // The next run can write the store, and the work directory is gone.
    let runs = run(&["runs", "--json"]);
    let listed: Value = serde_json::from_str(&runs.out).unwrap_or_else(|e| panic!("{e}: {runs:?}"));
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{runs:?}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

/// In a network namespace of its own, after a script.
fn in_own_network(place: &Place, script: &str, args: &[&str]) -> Option<Ended> {
    let mut wrapper = vec!["unshare", "--net"];
    if !is_root() {
        wrapper.extend(["--user", "--map-root-user"]);
    }
    let script = format!("{script}; exec \"$@\"");
    wrapper.extend(["sh", "-c", &script, "sh"]);
    behind(place, &wrapper, args)
}

const NETWORK: [&str; 9] = [
    "run",
    "net.tcp_rtt",
    "net.udp_rtt",
    "net.tcp_accept",
    "rpc.null",
    "http.get",
    "ready.epoll",
    "--param",
    "ready.epoll:kind=tcp",
];

/// Asserts that all metrics are unsupported for a reason with one of these ends.
fn unsupported(run: &Ended, ends: &[&str]) {
    let states = states(run);
    let is_told =
        |[_, state, reason]: &&[String; 3]| state == "unsupported" && ends.iter().any(|end| reason.ends_with(end));
    let bad: Vec<_> = states.iter().filter(|one| !is_told(one)).collect();
    assert!(states.len() > 6 && bad.is_empty(), "{bad:#?}");
    // They were named by their ids.
    assert_eq!(run.code, Some(4), "{}", run.err);
}

#[test]
fn without_a_loopback_network_that_is_the_reason() {
    let place = Place::new();
    let families = ["--param", "net:family=v4,v6"];
    let args = [&NETWORK[..], &families].concat();
    let Some(run) = in_own_network(&place, ":", &args) else { return };
    unsupported(&run, &["the loopback interface is down: ip link set lo up"]);
}

#[test]
fn with_too_few_ports_that_is_the_reason() {
    const ONE: &str = "ip link set lo up && echo 40000 40000 > /proc/sys/net/ipv4/ip_local_port_range";
    let place = Place::new();
    let Some(run) = in_own_network(&place, ONE, &NETWORK) else { return };
    unsupported(&run, &["sysctl -w net.ipv4.ip_local_port_range='32768 60999' gives more"]);
}
