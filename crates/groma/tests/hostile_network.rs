//! A hostile network against `groma serve` and `groma run --host`: servers that never stop sending,
//! strangers that only wait, proofs that are recorded, reflected or wrong, and clients that have
//! the token and ask for too much.

use crate::common::serve::{Serve, Wire, descriptors};
use crate::common::{Place, children, exists, has_value, metric, wait_for};
use groma_harness::handshake::{PROTOCOL, Server, Step, VERSION, hexadecimal};
use groma_harness::model::Remote;
use groma_harness::remote::Control;
use groma_harness::sys::socket::connect_from;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const SIGTERM: i32 = 15;
const TOKEN: &str = "Correct-Horse-77";

/// A fake server, for one client.
fn fake<T: Send + 'static>(serve: impl FnOnce(Wire) -> T + Send + 'static) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let address = listener.local_addr().expect("bound").to_string();
    (address, thread::spawn(move || serve(Wire::over(listener.accept().expect("a client").0))))
}

/// The handshake of a server that has the token, up to the client's request for facts.
fn welcome(wire: &mut Wire) {
    let mut server = Server::new().expect("a nonce");
    for _ in 0..2 {
        let line = wire.line() + "\n";
        match server.take(line.as_bytes(), TOKEN) {
            Step::Say(line) | Step::Welcome(line) => wire.send(&line),
            other => panic!("{line:?}: {other:?}"),
        }
    }
    assert_eq!(wire.line(), "facts");
}

/// The error of `groma run --host` about a server: a usage error in one line.
fn complaint(place: &Place, address: &str) -> String {
    let ended = place.groma(&["run", "net.tcp_rtt", "--no-store", "--host", address, "--token", TOKEN]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!ended.err.trim_end().contains(|c: char| c.is_control()) && ended.err.len() < 500, "{:?}", ended.err);
    let why = ended.err.strip_prefix(&format!("groma: --host {address}: ")).unwrap_or_else(|| panic!("{ended:?}"));
    why.trim_end().to_owned()
}

#[test]
fn a_server_that_never_stops_sending_is_dropped_at_once() {
    let place = Place::new();
    let line = "y".repeat(500);
    let endless = [
        (format!("fact\tx\t{line}\n"), "'x' is none of its facts"),
        (format!("fact\tcpu.model\t{line}\n"), "it says remote.cpu.model twice"),
        (format!("fact\tcpu.model\t{line}"), "a line does not end"),
        ("\u{1b}]0;owned\u{7}\u{1b}[2J\n".to_owned(), "unexpected fact '\\u{1b}]0;owned\\u{7}\\u{1b}[2J'"),
    ];
    for (text, why) in endless {
        let (address, serving) = fake(move |mut wire| {
            welcome(&mut wire);
            let mut connection = wire.connection();
            let mut taken = 0u64;
            // A write fails once the client has hung up.
            while let Ok(n) = connection.write(text.as_bytes()) {
                taken += n as u64;
            }
            taken
        });
        assert_eq!(complaint(&place, &address), why);
        // The kernel buffers at most about 10 MB for both ends of a connection.
        let taken = serving.join().expect("no panic");
        assert!(taken < 32 << 20, "{taken} bytes were taken before the client hung up");
    }
    // A server that talks before it is greeted, and one that speaks another protocol.
    for text in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "nonce\tff\n", "\u{1b}[2J\n"] {
        let (address, serving) = fake(move |mut wire| {
            wire.send(text);
            wire.rest();
        });
        assert_eq!(complaint(&place, &address), "what listens there is not a groma serve");
        serving.join().expect("no panic");
    }
    // The server of protocol 1 was sent the token in clear; it must still see only the greeting.
    let (address, serving) = fake(|mut wire| {
        wire.send("refused\tit is groma 0.1.0 with protocol 1, you are groma 0.1.0 with protocol 2: use one version\n");
        wire.rest()
    });
    assert_eq!(complaint(&place, &address), "an older groma serve listens there: use one version on both machines");
    assert!(!serving.join().expect("no panic").contains(TOKEN));
}

/// A server that sends single bytes for ever is dropped at the client's deadline (tested in
/// `remote.rs` of the harness) or when a signal ends the client. SIGINT may be ignored here: see
/// `dd.rs`.
#[test]
fn a_slow_server_can_be_interrupted() {
    let place = Place::new();
    let (greeted, is_greeted) = mpsc::channel();
    let (address, serving) = fake(move |mut wire| {
        welcome(&mut wire);
        greeted.send(()).expect("the test waits");
        while wire.connection().write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let running = place.start(&["run", "net.tcp_rtt", "--no-store", "--host", &address, "--token", TOKEN]);
    is_greeted.recv_timeout(Duration::from_secs(60)).expect("it greets");
    running.signal(SIGTERM);
    let ended = running.wait();
    // Ended by the signal, or with the code a shell reports for it; not by the deadline, which is a
    // usage error.
    assert!([None, Some(143)].contains(&ended.code) && ended.err.is_empty(), "{ended:?}");
    serving.join().expect("no panic");
}

#[test]
fn strangers_do_not_lock_out_a_client() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "0.0.0.0:0", "--token", TOKEN]);
    let to = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), serve.address().port());
    let (stop, full) = (Arc::new(AtomicBool::new(false)), descriptors(serve.pid()) + 128);
    let flood = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            let (mut waiting, mut opened) = (std::collections::VecDeque::new(), 0u64);
            while !stop.load(Ordering::Relaxed) {
                // From three addresses, more than there are places, again and again, since each
                // connection is kept for two seconds only.
                let from = SocketAddr::new(Ipv4Addr::new(127, 0, 0, 2 + (opened % 3) as u8).into(), 0);
                waiting.push_back(connect_from(from, to).expect("it listens"));
                if waiting.len() > 200 {
                    waiting.pop_front();
                }
                opened += 1;
                thread::sleep(Duration::from_millis(1));
            }
            opened
        })
    };
    // Some come from the client's own address and are there before it.
    let _beside: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(to).expect("it listens")).collect();
    wait_for("the last place to be taken", || (descriptors(serve.pid()) >= full).then_some(()));
    let to = to.to_string();
    let args =
        ["run", "net.tcp_rtt", "--param", "family=v4", "--profile", "quick", "--rounds", "1", "--json", "--no-store"];
    let run = place.json(&[&args[..], &["--host", &to, "--token", TOKEN]].concat());
    stop.store(true, Ordering::Relaxed);
    let opened = flood.join().expect("no panic");
    assert!(opened > 128, "{opened}");
    let record = metric(&run, "net.tcp_rtt");
    assert!(has_value(record), "{record:#}");
    assert!(descriptors(serve.pid()) <= full + 4, "more strangers than places");
}

/// Page faults of the children that a process has waited for: not 0 if there ever was one.
fn faults_of_children(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    fields.split(' ').nth(8).and_then(|field| field.parse().ok()).expect("the eleventh field")
}

#[test]
fn a_stranger_gets_a_nonce_two_seconds_and_no_process() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0", "--token", TOKEN]);
    let nonce = "00".repeat(32);
    let greeting = format!("groma\t{PROTOCOL}\t{nonce}\n");

    // A client that sends nothing, and one that never ends a line, get no answer and are closed by
    // the server.
    let mut silent = serve.connect();
    let mut dripping = serve.connect();
    let mut tap = dripping.connection().try_clone().expect("a descriptor");
    let drip = thread::spawn(move || {
        while tap.write_all(b"g").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    // Other text than a handshake of this protocol gets no answer either; a proper greeting gets a
    // nonce.
    for text in ["GET / HTTP/1.1\r\n\r\n", "groma\t1\t0.1.0\tanything\n", "facts\n", &"x".repeat(5000), "\0\n"] {
        let mut wire = serve.connect();
        wire.send(text);
        assert_eq!(wire.rest(), "", "{text:?}");
    }
    let mut nonces = Vec::new();
    for proof in ["proof\t".to_owned() + &nonce, "proof\t".to_owned(), "proof".to_owned()] {
        let mut wire = serve.connect();
        wire.send(&greeting);
        nonces.push(wire.line());
        let digits = nonces.last().and_then(|line| line.strip_prefix("nonce\t")).expect("a nonce");
        assert!(digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{digits}");
        wire.send(&format!("{proof}\n"));
        // Neither its version nor the reason.
        assert!(["refused\n", ""].contains(&wire.rest().as_str()), "{proof}");
    }
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 3, "a nonce came twice");
    assert_eq!((silent.rest().as_str(), dripping.rest().as_str()), ("", ""));
    drip.join().expect("no panic");
    // A hundred at once, of which half have sent a greeting.
    let mut waiting: Vec<Wire> = (0..50).map(|_| serve.connect()).collect();
    for wire in &mut waiting {
        wire.send(&greeting);
        assert!(wire.line().starts_with("nonce\t"));
    }
    let idle: Vec<Wire> = (0..50).map(|_| serve.connect()).collect();
    assert_eq!(children(serve.pid()).len(), 0);

    assert_eq!(faults_of_children(serve.pid()), 0, "a process was started for a stranger");
    drop((waiting, idle));
    // The control: with the token there is a process.
    drop(serve.proven(TOKEN));
    wait_for("the end of a session", || (faults_of_children(serve.pid()) > 0).then_some(()));
}

/// Forwards both directions of one connection and records them.
fn recorder(to: SocketAddr) -> (String, JoinHandle<[String; 2]>) {
    let forward = |mut from: TcpStream, mut to: TcpStream, kept: Arc<Mutex<Vec<u8>>>| {
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n) = from.read(&mut bytes) {
                kept.lock().expect("no panic").extend_from_slice(&bytes[..n]);
                if n == 0 || to.write_all(&bytes[..n]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(std::net::Shutdown::Write);
        })
    };
    fake(move |wire| {
        let client = wire.connection().try_clone().expect("a descriptor");
        let server = TcpStream::connect(to).expect("it listens");
        let kept = [Arc::default(), Arc::default()];
        let ways = [
            forward(
                client.try_clone().expect("a descriptor"),
                server.try_clone().expect("a descriptor"),
                Arc::clone(&kept[0]),
            ),
            forward(server, client, Arc::clone(&kept[1])),
        ];
        for way in ways {
            way.join().expect("no panic");
        }
        kept.map(|kept| String::from_utf8_lossy(&kept.lock().expect("no panic")).into_owned())
    })
}

#[test]
fn a_recorded_handshake_reveals_no_token_and_cannot_be_replayed() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0", "--token", TOKEN]);
    let (address, recording) = recorder(serve.address());
    let remote = Remote { address: address.parse().expect("an address"), token: TOKEN.to_owned() };
    let facts = Control::open(&remote).and_then(|mut control| control.facts()).expect("the right token");
    assert!(facts.iter().any(|fact| fact.key == "remote.kernel.release"));
    let [client, server] = recording.join().expect("no panic");
    assert!(server.contains("fact\tkernel.release\t"), "the handshake failed: {server}");
    for answer in [&client, &server] {
        let answer = answer.to_lowercase();
        assert!(
            !answer.contains(&TOKEN.to_lowercase()) && !answer.contains(&hexadecimal(TOKEN.as_bytes())),
            "{answer}"
        );
    }
    // Before the proof the server sends its nonce and nothing else.
    let (nonce, after) = server.split_once('\n').expect("two lines");
    assert!(nonce.starts_with("nonce\t") && !nonce.contains(VERSION) && after.starts_with("welcome\t"), "{server}");

    let mut lines = client.split_inclusive('\n');
    let mut wire = serve.connect();
    wire.send(lines.next().expect("a greeting"));
    assert_ne!(wire.line(), nonce);
    wire.send(lines.next().expect("a proof"));
    assert_eq!(wire.rest(), "refused\n");
    serve.idle();
}

#[test]
fn a_server_without_the_token_is_rejected() {
    let place = Place::new();
    // It sends back the client's own nonce and proof; the proof of another handshake would be no
    // better.
    let (address, serving) = fake(|mut wire| {
        let nonce = wire.line().rsplit('\t').next().expect("a nonce").to_owned();
        wire.send(&format!("nonce\t{nonce}\n"));
        let proof = wire.line().rsplit('\t').next().expect("a proof").to_owned();
        wire.send(&format!("welcome\t{proof}\t{PROTOCOL}\t{VERSION}\n"));
        wire.rest()
    });
    assert_eq!(complaint(&place, &address), "what listens there cannot prove that it has the token (--token)");
    assert_eq!(serving.join().expect("no panic"), "", "it was sent a request");
}

#[test]
fn the_requests_of_a_session_are_limited() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0"]);
    let mut wire = serve.proven("");
    wire.send(&"facts\n".repeat(1000));
    let answer = wire.rest();
    assert_eq!(answer.lines().filter(|line| line.starts_with("fact\tkernel.release\t")).count(), 1, "{answer}");
    assert!(answer.ends_with("end\nrefused\tunknown request\n"), "{answer}");

    let mut wire = serve.proven("");
    wire.send(&"service\tno.such\t0\t0\n".repeat(1000));
    let answer = wire.rest();
    assert!(answer.lines().count() == 9 && answer.ends_with("refused\ttoo many requests\n"), "{answer}");

    let mut wire = serve.proven("");
    wire.send("service\tnet.udp_rtt\t-1\tmany\n");
    assert_eq!(wire.rest(), "refused\tthe limits of a service are two numbers\n");
    serve.idle();
}

#[test]
fn a_service_accepts_its_client_only() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "0.0.0.0:0", "--token", TOKEN]);
    let mut wire = serve.proven(TOKEN);
    wire.send("service\tnet.tcp_rtt\t0\t0\n");
    let answer = wire.line();
    let port: u16 = answer.strip_prefix("port\t").and_then(|port| port.parse().ok()).expect("a port");
    let from = |last: u8| {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let connection = connect_from(SocketAddr::from(([127, 0, 0, last], 0)), to).expect("loopback");
        connection.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
        connection
    };
    // The kernel accepts any connection; the service hangs up on an address other than its
    // client's.
    let hung_up = |mut connection: TcpStream| match connection.read_exact(&mut [0; 1]) {
        Ok(()) => false,
        // Unlike `read`, it goes on after a signal; nothing at all within the time-out is an error
        // of another kind.
        Err(e) => matches!(e.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset),
    };
    assert!(hung_up(from(2)), "a stranger's connection is still open");
    assert!(!hung_up(from(1)), "the client's connection is not");
    // Whatever address the server listens on, a service does on the one that its client knows.
    let other = TcpStream::connect((Ipv4Addr::new(127, 0, 0, 2), port));
    assert!(other.is_err(), "the service listens on another address");
}

#[test]
fn a_session_ends_at_its_deadline() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0", "--deadline", "1s"]);
    // A client that stays connected and sends nothing: only the deadline ends it, and its service
    // with it.
    let (mut wire, service) = serve.service("net.tcp_rtt");
    assert_eq!(wire.rest(), "");
    serve.idle();
    wait_for("the end of the service", || (!exists(service)).then_some(()));
    for wrong in ["0", "25h", "soon"] {
        let refused = place.groma(&["serve", "--deadline", wrong]);
        assert!(refused.code == Some(2) && refused.err.contains("--deadline"), "{refused:?}");
    }
}

#[test]
fn surplus_sessions_are_refused_with_a_message() {
    let place = Place::new();
    let serve = Serve::start(&place, &[], &["--bind", "127.0.0.1:0", "--token", TOKEN]);
    // Each with a service, since a session without a request ends soon.
    let sessions = (0..64).map(|_| {
        let mut wire = serve.proven(TOKEN);
        wire.send("service\tnet.tcp_rtt\t0\t0\n");
        assert!(wire.line().starts_with("port\t"));
        wire
    });
    let sessions: Vec<Wire> = sessions.collect();
    assert_eq!(
        complaint(&place, &serve.address),
        "the groma serve there turns this client away: all of its sessions are taken"
    );
    drop(sessions);
    serve.idle();
}
