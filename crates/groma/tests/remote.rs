//! `groma serve` and `--host`: what is measured, who is refused, and that nothing is left when
//! either side ends.

use crate::common::serve::{Serve, descriptors};
use crate::common::{self, Place, Running, children, exists, is_executable, metric, wait_for, was_measured};
use std::process::Command;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

/// Two rounds.
const BRIEF: [&str; 8] = ["run", "--profile", "quick", "--rounds", "2", "--budget", "60s", "--json"];
/// Longer than any test waits.
const LONG: [&str; 6] = ["run", "--profile", "quick", "--rounds", "500", "--json"];

/// One benchmark of each kind of service.
const REMOTE: [&str; 7] = [
    "net.tcp_rtt",
    "net.udp_rtt",
    "net.tcp_connect",
    "net.tcp_crr",
    "net.tcp_serve",
    "net.tcp_bandwidth",
    "net.udp_bandwidth",
];

fn all_are_measured(place: &Place, run: &[&str]) {
    let run = place.json(run);
    for id in REMOTE {
        let record = metric(&run, id);
        assert!(was_measured(record), "{record:#}");
        assert_eq!(record["placement"], "remote");
    }
    let unsupported = metric(&run, "syscall.getppid");
    assert_eq!(unsupported["state"], "unsupported");
    let facts = run["run"]["environment"].to_string();
    assert!(facts.contains("remote.kernel.release") && facts.contains("remote.path_mtu"), "{facts}");
}

#[test]
fn remote_benchmarks_measure_against_another_machine() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    let open = descriptors(serve.pid());
    all_are_measured(&place, &[&BRIEF[..], &["--host", &serve.address, "syscall.getppid"], &REMOTE].concat());
    serve.idle();
    assert_eq!(descriptors(serve.pid()), open, "it keeps a descriptor of a session");
    // Without --host no server is contacted, and nothing is remote.
    let plan = place.groma(&["run", "net", "--dry-run"]);
    assert!(!plan.out.contains("remote"), "{plan:?}");
}

#[test]
fn another_machine_is_reached_by_the_family_of_its_address() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    for (family, state) in [("v4", "ok"), ("v6", "unsupported")] {
        let family = format!("family={family}");
        let args = ["net.tcp_rtt", "--param", &family, "--host", &serve.address];
        let run = place.json(&[&BRIEF[..], &args].concat());
        let record = metric(&run, "net.tcp_rtt");
        assert!(if state == "ok" { was_measured(record) } else { record["state"] == state }, "{record:#}");
        assert!(state == "ok" || record["reason"] == "--host names an IPv4 address", "{record:#}");
    }
}

#[test]
fn a_client_that_is_killed_leaves_no_session() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    for id in ["net.tcp_rtt", "net.udp_rtt", "net.tcp_connect"] {
        let args = [id, "--param", "family=v4", "--host", &serve.address];
        let running: Running = place.start(&[&LONG[..], &args].concat());
        // A service is the child of its session.
        let service = wait_for("a service", || serve.sessions().iter().find_map(|s| children(*s).first().copied()));
        running.signal(SIGKILL);
        running.wait();
        serve.idle();
        wait_for("the end of the service", || (!exists(service)).then_some(()));
    }
}

/// Nobody is left who could end its sessions; a connected client and its service would go on.
#[test]
fn a_server_that_is_killed_leaves_no_session() {
    let place = Place::new();
    let mut serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    let (wire, service) = serve.service("net.tcp_rtt");
    let sessions = serve.sessions();
    assert!(!sessions.is_empty());
    common::send(serve.pid(), SIGKILL);
    serve.child.wait().expect("it ends");
    for process in sessions.into_iter().chain([service]) {
        wait_for("the end of a session", || (!exists(process)).then_some(()));
    }
    drop(wire);
}

#[test]
fn a_server_that_ends_is_reported() {
    let place = Place::new();
    let mut serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    let running = place.start(&[&LONG[..], &["net.tcp_rtt", "--host", &serve.address]].concat());
    let service = wait_for("a service", || serve.sessions().iter().find_map(|s| children(*s).first().copied()));
    common::send(serve.pid(), SIGINT);
    assert_eq!(serve.child.wait().expect("it ends").code(), Some(130));
    // It was killed with its session and may take a moment to disappear.
    wait_for("the end of the service", || (!exists(service)).then_some(()));
    let ended = running.wait();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let run = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(metric(&run, "net.tcp_rtt")["state"], "failed");
}

#[test]
fn refused_clients_get_one_line_with_the_reason() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0", "--token", "right"]);
    assert!(!serve.printed.contains("right"), "a chosen token is not printed");
    for token in ["", "wrong", "righ", "rightt"] {
        let mut args = vec!["run", "net.tcp_rtt", "--no-store", "--host", &serve.address];
        if !token.is_empty() {
            args.extend(["--token", token]);
        }
        let ended = place.groma(&args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.err, format!("groma: --host {}: the token is wrong (--token)\n", serve.address));
    }
    let mut wire = serve.proven("right");
    wire.send("service\tno.such\t0\t0\nfacts of life\n");
    let answer = wire.rest();
    assert!(
        answer.contains("there is no service 'no.such'") && answer.ends_with("refused\tunknown request\n"),
        "{answer:?}"
    );
    serve.idle();
    drop(serve);

    let nobody = place.groma(&["run", "net.tcp_rtt", "--no-store", "--host", "127.0.0.1:1"]);
    assert_eq!(nobody.code, Some(2));
    assert_eq!(nobody.err, "groma: --host 127.0.0.1:1: no groma serve listens there\n");
    for args in [&["run", "net", "--host", "localhost"][..], &["run", "net", "--placement", "remote"]] {
        assert_eq!(place.groma(args).code, Some(2));
    }
}

#[test]
fn beyond_the_loopback_a_long_token_is_required() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "0.0.0.0:0"]);
    let token = serve.printed.split("--token ").nth(1).map(str::trim).expect("it made one");
    assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{token}");
    let other = Serve::start(&place, &[], &["--bind", "0.0.0.0:0"]);
    assert_ne!(Some(token), other.printed.split("--token ").nth(1).map(str::trim));
    for short in ["", "short", "fifteen-letters"] {
        let refused = place.groma(&["serve", "--bind", "0.0.0.0:0", "--token", short]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let why = "groma: --token: expected 16 or more characters, since 0.0.0.0:0 is not the loopback\n";
        assert_eq!(refused.err, why);
    }
    Serve::start(&place, &[], &["--bind", "0.0.0.0:0", "--token", "sixteen-letters."]);
    // The client does not even try: a proof made with a short token would reveal it to whoever
    // listens.
    let tried = place.groma(&["run", "net.tcp_rtt", "--no-store", "--host", "192.0.2.1:1", "--token", "short"]);
    assert_eq!(tried.code, Some(2), "{tried:?}");
    let why = "192.0.2.1:1: beyond the loopback a token of 16 or more characters is needed (--token)";
    assert_eq!(tried.err, format!("groma: --host {why}\n"));
}

/// Two network namespaces joined by a veth pair; removed when dropped.
struct TwoMachines {
    names: [String; 2],
}

impl TwoMachines {
    fn new() -> Result<TwoMachines, String> {
        if !is_executable("ip") {
            return Err("there is no ip".to_owned());
        }
        let pid = std::process::id();
        let two = TwoMachines { names: ["a", "b"].map(|side| format!("groma-{pid}-{side}")) };
        let [a, b] = &two.names;
        let (inside_a, inside_b) = (format!("gr{pid}a"), format!("gr{pid}b"));
        let mut steps: Vec<Vec<&str>> = vec![
            vec!["netns", "add", a],
            vec!["netns", "add", b],
            vec!["link", "add", &inside_a, "netns", a, "type", "veth", "peer", "name", &inside_b, "netns", b],
        ];
        for (name, interface, address) in [(a, &inside_a, "10.213.7.1/24"), (b, &inside_b, "10.213.7.2/24")] {
            steps.push(vec!["-n", name, "addr", "add", address, "dev", interface]);
            steps.push(vec!["-n", name, "link", "set", interface, "up"]);
            steps.push(vec!["-n", name, "link", "set", "lo", "up"]);
        }
        for step in steps {
            let done = Command::new("ip").args(&step).output().map_err(|e| e.to_string())?;
            if !done.status.success() {
                return Err(format!("ip {}: {}", step.join(" "), String::from_utf8_lossy(&done.stderr).trim()));
            }
        }
        Ok(two)
    }
}

impl Drop for TwoMachines {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

#[test]
fn two_network_namespaces_are_two_machines() {
    let two = match TwoMachines::new() {
        Ok(two) => two,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let place = Place::new();
    let [here, there] = &two.names;
    let serve = Serve::start(&place, &["ip", "netns", "exec", there], &["--bind", "10.213.7.2"]);
    let token = serve.printed.split("--token ").nth(1).map(str::trim).expect("a token").to_owned();
    let args = ["--host", &serve.address, "--token", &token, "syscall.getppid"];
    let run = place.wrapped(&["ip", "netns", "exec", here], &[&BRIEF[..], &args, &REMOTE].concat());
    let ended = common::ended({ run }.output().expect("the program starts"));
    let parsed: serde_json::Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    assert!(!ended.out.contains(&token), "the record contains the token");
    for id in REMOTE {
        let record = metric(&parsed, id);
        assert!(was_measured(record), "{record:#}");
        println!("{id}: {}", record["value"]);
    }
    serve.idle();
    // Unreachable from outside: neither namespace is this one.
    let outside = place.groma(&["run", "net.tcp_rtt", "--host", "10.213.7.2", "--no-store", "--deadline", "2s"]);
    assert_eq!(outside.code, Some(2), "{outside:?}");
}
