//! Runs every default benchmark briefly wherever groma may have to run: beside a hostile user, as
//! an ordinary user, on one CPU, under a system call filter, with few processes, without a writable
//! directory. Each time every metric has a state, those that could not be measured have a reason,
//! no proof is broken, and nothing is left behind.

use crate::common::control_group::ControlGroup;
use crate::common::{Ended, OTHER, Place, before_and_after, denied, ended, is_executable};
use groma_harness::sys::filter;
use groma_harness::sys::process::is_root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// One round of every benchmark, with enough time. With smaller buffers than usual, in a third of
/// the time: what differs between environments is not the memory.
fn everything() -> Vec<&'static str> {
    let sizes = [
        "mem.bandwidth:size=16K,16M",
        "mem.hammer:size=16M",
        "mem.latency:size=16K,16M",
        "mem.mix:size=16M",
        "mem.random_read:size=16M",
        "mem.stream:size=1M",
        "disk:size=16M",
    ];
    let run = "run * --profile quick --rounds 1 --budget 10m --deadline 2m --json".split(' ');
    run.chain(sizes.into_iter().flat_map(|size| ["--param", size])).collect()
}

/// The ids of the metrics of a plain run, from the catalogue.
fn planned(place: &Place) -> BTreeSet<String> {
    let listed = place.json(&["list", "--json"]);
    let benches = listed.as_array().expect("a list").iter().filter(|b| b["default"] == true);
    benches
        .flat_map(|b| {
            b["outputs"].as_array().expect("outputs").iter().map(|o| o["id"].as_str().expect("an id").to_owned())
        })
        .collect()
}

/// Asserts that the run is complete: every metric has a value, or a state with its reason; none
/// failed or hung; every proof holds, that of the loops among them
/// (docs/methods/timing.md#scaling-proof). Returns the run.
fn complete(place: &Place, ended: &Ended) -> Value {
    let run: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    let metrics = run["metrics"].as_array().expect("metrics");
    let seen: BTreeSet<String> = metrics.iter().map(|m| m["id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(seen, planned(place), "metrics that came back (left) and that are planned (right)");
    let mut bad = Vec::new();
    for m in metrics {
        let (state, reason) = (m["state"].as_str().expect("a state"), m["reason"].as_str().expect("a reason"));
        let fine = match state {
            "ok" => m["value"].is_number(),
            // One round has no interval, and the test machine may be busy.
            "noisy" => m["value"].is_number() && !reason.is_empty(),
            "unresolved" => ["undisturbed", "zero", "cannot tell: "].iter().any(|r| reason.contains(r)),
            "unsupported" | "denied" => !reason.is_empty(),
            _ => false,
        };
        let proven = m["proofs"].as_array().into_iter().flatten().all(|proof| proof["holds"] == true);
        if !fine || !proven {
            bad.push(format!("{} {} {}: {state}: {reason}", m["id"], m["params_text"], m["placement"]));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    run
}

/// The states of the metrics of a family.
fn states<'v>(run: &'v Value, family: &str) -> Vec<(&'v str, &'v str)> {
    let metrics = run["metrics"].as_array().expect("metrics").iter();
    let own = metrics.filter(|m| m["id"].as_str().is_some_and(|id| id.starts_with(family)));
    own.map(|m| (m["state"].as_str().expect("a state"), m["reason"].as_str().expect("a reason"))).collect()
}

/// Runs `before`, the program and `after` in new namespaces, where nobody else creates processes,
/// sockets, IPC objects or mounts. `None`, with the reason printed, if the system does not allow
/// it.
fn in_namespaces(place: &Place, script: &str, args: &[&str]) -> Option<Ended> {
    let mut unshare = vec!["unshare", "--net", "--ipc", "--mount", "--pid", "--fork", "--mount-proc"];
    if !is_root() {
        unshare.extend(["--user", "--map-root-user"]);
    }
    if !is_executable("unshare") || !is_executable("ip") {
        println!("skipped: unshare and ip are needed");
        return None;
    }
    let tried = Command::new("unshare").args(&unshare[1..]).arg("true").output().expect("unshare starts");
    if !tried.status.success() {
        println!("skipped: namespaces are not available: {}", String::from_utf8_lossy(&tried.stderr).trim());
        return None;
    }
    unshare.extend(["sh", "-c", script, "sh"]);
    Some(ended(place.wrapped(&unshare, args).output().expect("it starts")))
}

/// Lists what exists: processes other than this shell and its helpers, sockets, IPC objects,
/// message queues, mounts, files. Those of [`NUISANCE`] are left out by name: find takes a file
/// that vanishes before it asks for the owner for one of another owner.
const SNAPSHOT: &str = r#"
ip link set lo up
mount -t tmpfs none /dev/shm
mkdir /dev/shm/mq && mount -t mqueue none /dev/shm/mq
snapshot() {
    for p in /proc/[0-9]*; do
        case "$(readlink $p/exe)" in */groma) echo "process $(tr '\0' ' ' < $p/cmdline)";; esac
    done
    for s in tcp tcp6 udp udp6 raw packet unix; do echo "$s $(tail -n +2 /proc/net/$s 2>/dev/null | grep -vc '^ *[0-9]*: [0-9A-F:]* [0-9A-F:]* 06 ')"; done
    echo "time-wait $(cat /proc/net/tcp | grep -c '^ *[0-9]*: [0-9A-F:]* [0-9A-F:]* 06 ')"
    for i in shm msg sem; do tail -n +2 /proc/sysvipc/$i 2>/dev/null | sed "s/^/$i /"; done
    cut -d' ' -f5 /proc/self/mountinfo | sort | sed 's/^/mount /'
    find /dev/shm "$TMPDIR" ! -name '*-0123456789abcdef' ! -name '*-00000000deadbeef' 2>/dev/null |
        sort | sed 's/^/file /'
}
"#;

/// While the file exists: creates names that a run could take for its own, and removes them again.
/// It ends with the test, also where that is killed.
const NUISANCE: &str = r#"
test=/proc/$PPID
[ -d $test ] || test=/proc/self # hidden from other users
while [ -e busy ] && [ -d $test ]; do
    for i in 1 2 3; do
        mkfifo groma-work-$i-0123456789abcdef; ln -s /etc groma-work-$i-00000000deadbeef; mkdir groma-unmarked-$i-0123456789abcdef
    done
    rm -rf groma-work-?-0123456789abcdef groma-work-?-00000000deadbeef groma-unmarked-?-0123456789abcdef
done
"#;

/// Starts another user who makes a nuisance of himself where the run has its files, as long as the
/// returned file exists. `None` if the test is not root, who alone can be two users.
fn hostile_user(place: &Place) -> Option<(PathBuf, Child)> {
    if !is_root() {
        println!("no hostile user: only root can be two users");
        return None;
    }
    std::fs::set_permissions(place.path("."), Permissions::from_mode(0o755)).expect("permissions");
    std::fs::set_permissions(place.tmp(), Permissions::from_mode(0o1777)).expect("permissions");
    let busy = place.tmp().join("busy");
    std::fs::write(&busy, "").expect("a file");
    // Its names count here, not its share of the CPUs.
    let mut sh = Command::new("nice");
    sh.args(["-n", "19", "sh", "-c", NUISANCE]).current_dir(place.tmp()).uid(OTHER).gid(OTHER).stderr(Stdio::null());
    Some((busy, sh.spawn().expect("sh")))
}

/// Not even with a hostile user beside.
#[test]
fn nothing_is_left_behind() {
    let place = Place::new();
    let nuisance = hostile_user(&place);
    let ended = in_namespaces(&place, &before_and_after(SNAPSHOT), &everything());
    let (was_in_namespaces, ended) = (ended.is_some(), ended.unwrap_or_else(|| place.groma(&everything())));
    let hostile = nuisance.is_some();
    if let Some((busy, mut sh)) = nuisance {
        std::fs::remove_file(busy).expect("nobody else may remove it");
        assert!(sh.wait().expect("sh").success());
    }
    complete(&place, &ended);
    if was_in_namespaces {
        let read = |name| std::fs::read_to_string(place.path(name)).expect("a snapshot");
        let (before, after) = (read("before"), read("after"));
        for listed in ["tcp 0", "mount /dev/shm", "file /dev/shm"] {
            assert!(before.contains(listed), "{before}");
        }
        assert!(!hostile || before.contains("/busy"), "it was not beside: {before}");
        assert_eq!(before, after, "before (left) and after (right) a run of everything");
    }
}

#[test]
fn as_an_ordinary_user() {
    if !is_root() || !is_executable("setpriv") {
        println!("skipped: already an ordinary user, or no setpriv");
        return;
    }
    let place = Place::new();
    for dir in [place.path("."), place.tmp()] {
        std::fs::set_permissions(&dir, Permissions::from_mode(0o777)).expect("permissions");
    }
    // That user may have no access to the program's directory; a copy in the test's directory can
    // be run.
    let program = place.path("groma");
    std::fs::copy(env!("CARGO_BIN_EXE_groma"), &program).expect("a copy");
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let mut command = place.wrapped(&[&nobody[..], &["sh", "-c", "shift; exec \"$@\"", "sh"]].concat(), &[]);
    let run = ended(command.arg(&program).args(everything()).output().expect("it starts"));
    complete(&place, &run);
}

#[test]
fn on_one_cpu() {
    if !is_executable("taskset") {
        println!("skipped: no taskset");
        return;
    }
    let place = Place::new();
    let allowed = groma_harness::sys::affinity::allowed().expect("a mask")[0].to_string();
    let run = ended(place.wrapped(&["taskset", "-c", &allowed], &everything()).output().expect("it starts"));
    let run = complete(&place, &run);
    let metrics = run["metrics"].as_array().expect("metrics");
    for m in metrics.iter().filter(|m| m["placement"] == "same-llc") {
        assert_eq!(m["state"], "unsupported", "{m}");
    }
    assert!(metrics.iter().any(|m| m["placement"] == "same-cpu" && m["state"] != "unsupported"));
}

#[test]
fn under_a_filter_that_denies_io_uring_and_perf() {
    let place = Place::new();
    let Some(run) = denied(&filter::URING_AND_PERF, place.command(&everything())) else { return };
    let run = complete(&place, &run);
    let uring = states(&run, "uring.");
    assert!(!uring.is_empty());
    for (state, reason) in uring {
        assert!(
            ["denied", "unsupported"].contains(&state) && reason.contains("a filter of system calls"),
            "{state}: {reason}"
        );
    }
}

#[test]
fn among_64_processes() {
    let Some(group) = ControlGroup::of_tasks(64) else { return };
    let place = Place::new();
    complete(&place, &group.run(&place, &everything()));
}

#[test]
fn with_a_work_directory_that_cannot_be_written() {
    let place = Place::new();
    let read_only = "d=$HOME/ro; mkdir $d; mount -t tmpfs -o ro none $d; ip link set lo up; exec \"$@\" --work-dir $d";
    let Some(run) = in_namespaces(&place, read_only, &everything()) else { return };
    assert!(run.err.contains("benchmarks that need files are unsupported in this run: "), "{}", run.err);
    assert!(run.err.contains("Read-only file system"), "{}", run.err);
    let run = complete(&place, &run);
    let no_dir = |(state, reason): &(&str, &str)| *state == "unsupported" && reason.contains("--work-dir");
    assert!(states(&run, "file.").iter().any(no_dir));
}
