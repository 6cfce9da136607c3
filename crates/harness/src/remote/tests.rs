//! A server in a thread of its own, and what a client makes of its answers.

use super::*;
use crate::handshake::{Server, Step};
use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};

/// A server that calls `serve` for one client, and its address.
fn server<T: Send + 'static>(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> (Remote, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let address = listener.local_addr().expect("bound");
    let serving = thread::spawn(move || serve(listener.accept().expect("a client").0));
    (Remote { address, token: "right".to_owned() }, serving)
}

/// The server's side of a handshake including its welcome, and the request for facts.
fn welcome(mut connection: &TcpStream) {
    let mut server = Server::new().expect("a nonce");
    let mut bytes = [0; 256];
    loop {
        let n = connection.read(&mut bytes).expect("a client");
        match server.take(&bytes[..n], "right") {
            Step::Wait => {}
            Step::Say(line) => connection.write_all(line.as_bytes()).expect("a client"),
            Step::Welcome(line) => break connection.write_all(line.as_bytes()).expect("a client"),
            Step::Close(_) => panic!("the client has no proof"),
        }
    }
    let asked = connection.read(&mut bytes).expect("a client");
    assert_eq!(&bytes[..asked], b"facts\n");
}

/// What a client makes of a server that answers the request for facts like this, until the
/// client hangs up.
fn facts_of(serve: impl FnOnce(&TcpStream) + Send + 'static, time: Duration) -> Result<Vec<Fact>, String> {
    let (remote, serving) = server(move |connection| {
        welcome(&connection);
        serve(&connection);
    });
    let mut control = Control::open_within(&remote, LONG).expect("it has the token");
    control.set_deadline((Instant::now() + time).min(control.until));
    let until = control.until;
    let facts = control.facts();
    assert_eq!(control.until, until, "facts have no time of their own");
    drop(control);
    serving.join().expect("no panic");
    facts.map_err(|why| why.replace(&remote.address.to_string(), "THERE"))
}

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

/// Sends `text` repeatedly, with pauses, until the client has hung up.
fn drip(mut connection: &TcpStream, text: &[u8]) {
    while connection.write_all(text).is_ok() {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn facts_are_known_come_once_and_are_printable() {
    let say = |text: String| move |mut to: &TcpStream| to.write_all(text.as_bytes()).expect("a client");
    let value = format!("a\u{1b}]0;title\u{7}\u{202e}é{}", "x".repeat(300));
    let facts = facts_of(say(format!("fact\thost.name\t{value}\nfact\tcpu.model\tC\tPU\nend\n")), LONG);
    let facts = facts.expect("two facts");
    let keys: Vec<&str> = facts.iter().map(|f| f.key.as_str()).collect();
    assert_eq!(keys, ["remote.host.name", "remote.cpu.model", "remote.path_mtu"]);
    let start = "a\\u{1b}]0;title\\u{7}\\u{202e}é";
    assert_eq!(facts[0].value, format!("{start}{}", "x".repeat(LONGEST_TEXT - start.chars().count())));
    assert_eq!(facts[1].value, "C PU");

    for (said, why) in [
        ("fact\tno.such\t1\n".to_owned(), "'no.such' is none of its facts"),
        ("fact\tcpu.model\t1\nfact\tcpu.model\t1\n".to_owned(), "it says remote.cpu.model twice"),
        ("\u{1b}[2J\n".to_owned(), "unexpected fact '\\u{1b}[2J'"),
        ("x".repeat(2 * LONGEST_LINE), "a line does not end"),
        ("fact\tcpu.model\t1".to_owned(), "it has hung up"),
    ] {
        assert_eq!(facts_of(say(said), LONG), Err(format!("THERE: {why}")));
    }
}

#[test]
fn a_slow_server_is_not_waited_for() {
    // The deadline holds whether bytes keep coming or none ever comes.
    let late = || Err("THERE: it did not answer in time".to_owned());
    assert_eq!(facts_of(|to| drip(to, b"x"), SHORT), late());
    assert_eq!(facts_of(|mut to| drop(to.read(&mut [0])), SHORT), late());
    let (remote, serving) = server(|connection| drip(&connection, b"n"));
    let why = Control::open_within(&remote, SHORT).map(|_| ()).expect_err("no server");
    assert!(why.ends_with("what listens there is not a groma serve, or it does not work"), "{why}");
    serving.join().expect("no panic");
}

#[test]
fn a_connection_closed_before_the_proof_is_retried() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let remote = Remote { address: listener.local_addr().expect("bound"), token: "right".to_owned() };
    let serving = thread::spawn(move || {
        for _ in AGAIN_AFTER {
            drop(listener.accept());
        }
        let (mut connection, _) = listener.accept().expect("the last try");
        welcome(&connection);
        connection.write_all(b"end\n").expect("a client");
    });
    Control::open_within(&remote, LONG).and_then(|mut control| control.facts()).expect("the last try");
    serving.join().expect("no panic");

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let remote = Remote { address: listener.local_addr().expect("bound"), token: "right".to_owned() };
    let hanging_up = thread::spawn(move || (0..=AGAIN_AFTER.len()).for_each(|_| drop(listener.accept())));
    let why = Control::open_within(&remote, LONG).map(|_| ()).expect_err("nobody");
    assert!(why.ends_with("hangs up: it is not a groma serve, or too busy"), "{why}");
    hanging_up.join().expect("no panic");
}

/// What a client makes of the server's answer to a request, and the request.
fn asked<T: std::fmt::Debug + Send>(
    answer: &'static str,
    ask: impl FnOnce(Control) -> Result<T, String>,
) -> (Result<T, String>, String) {
    let (remote, serving) = server(move |mut connection| {
        welcome(&connection);
        let mut line = [0; 256];
        connection.write_all(b"end\n").expect("a client");
        let length = connection.read(&mut line).expect("a request");
        connection.write_all(answer.as_bytes()).expect("a client");
        String::from_utf8_lossy(&line[..length]).into_owned()
    });
    let mut control = Control::open_within(&remote, LONG).expect("it has the token");
    control.facts().expect("none");
    let made = ask(control);
    (made, serving.join().expect("no panic"))
}

#[test]
fn a_service_is_asked_for_by_name_and_limits_and_has_the_port_of_the_answer() {
    let start = |answer| asked(answer, |mut control| control.start("echo", Limits { size: 8, count: 9 }));
    let (address, request) = start("port\t7\n");
    assert_eq!(address, Ok((Ipv4Addr::LOCALHOST, 7).into()));
    assert_eq!(request, "service\techo\t8\t9\n");
    assert_eq!(start("refused\tthere is no room\n").0, Err("there is no room".to_owned()));
    assert_eq!(start("port\tmany\n").0, Err("unexpected port 'many'".to_owned()));
    assert_eq!(start("no\n").0, Err("unexpected answer 'no'".to_owned()));
}

#[test]
fn a_service_ends_well_or_reports_how() {
    let end = |answer| asked(answer, Control::end);
    assert_eq!(end("ended\twell\n"), (Ok(()), "end\n".to_owned()));
    assert_eq!(end("ended\twas killed\n").0, Err("the peer was killed".to_owned()));
    assert_eq!(end("well\n").0, Err("unexpected answer 'well'".to_owned()));
}

#[test]
fn there_is_no_retry_beyond_the_deadline() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let remote = Remote { address: listener.local_addr().expect("bound"), token: "right".to_owned() };
    let clients = thread::spawn(move || {
        let hung_up = listener.incoming().take_while(|client| {
            let mut word = [0; 4];
            !client.as_ref().is_ok_and(|mut client| client.read(&mut word).is_ok() && word == *b"over")
        });
        hung_up.count()
    });
    let before_the_first_pause = AGAIN_AFTER[0] / 2;
    let why = Control::open_within(&remote, before_the_first_pause).map(|_| ()).expect_err("nobody");
    TcpStream::connect(remote.address).and_then(|mut last| last.write_all(b"over")).expect("loopback");
    assert!(clients.join().expect("no panic") <= 1, "{why}");
}

#[test]
fn a_short_token_does_not_leave_the_machine() {
    // TEST-NET-1: nothing answers there, and no packet is sent.
    let remote = Remote { address: "192.0.2.1:1".parse().expect("an address"), token: "x".repeat(15) };
    let why = Control::open_within(&remote, SHORT).map(|_| ()).expect_err("too short");
    assert_eq!(why, "192.0.2.1:1: beyond the loopback a token of 16 or more characters is needed (--token)");
}

/// The kernel drops the request for a connection while the queue of the listener is full.
#[cfg(target_os = "linux")]
#[test]
fn no_answer_differs_from_a_refusal() {
    let listener = socket::listen((Ipv4Addr::LOCALHOST, 0).into(), 0).expect("loopback");
    let full = listener.local_addr().expect("bound");
    let _filling = TcpStream::connect(full).expect("room for one");
    // Not the port of a closed listener: a child that another test forked may hold it open.
    let nobody = (Ipv4Addr::LOCALHOST, 1).into();
    for (address, why) in
        [(full, "no answer: is the address right, and the port open?"), (nobody, "no groma serve listens there")]
    {
        let remote = Remote { address, token: "right".to_owned() };
        let told = Control::open_within(&remote, SHORT).map(|_| ()).expect_err("nobody accepts");
        assert_eq!(told, format!("{address}: {why}"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_does_not_end_the_wait_for_a_line() {
    use crate::sys::signals;
    signals::count_arrivals(signals::USER_1).expect("a legal signal");
    let (tell, told) = std::sync::mpsc::channel();
    let (remote, reading) = server(move |connection| {
        let mut control = Control::over(connection, Instant::now() + LONG).expect("a socket");
        let itself = std::fs::read_link("/proc/thread-self").expect("procfs");
        tell.send((signals::Target::own(), itself)).expect("the test waits");
        control.read_line().map_err(|e| e.kind())
    });
    let mut client = TcpStream::connect(remote.address).expect("loopback");
    let (reader, path) = told.recv().expect("it starts");
    let stat = std::path::Path::new("/proc").join(path).join("stat");
    let sleeps = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" S"))
    };
    for _ in 0..3 {
        while !sleeps() {
            thread::yield_now();
        }
        let caught = signals::caught();
        reader.send(signals::USER_1);
        while signals::caught() == caught && !reading.is_finished() {
            thread::yield_now();
        }
    }
    // If the reader has hung up, its result says why.
    let _ = client.write_all(b"a line\n");
    assert_eq!(reading.join().expect("no panic"), Ok("a line".to_owned()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_takes_datagrams_of_its_client_only() {
    let (hold, _held) = crate::sys::io::pipe().expect("a pipe");
    let socket = socket::udp((Ipv4Addr::LOCALHOST, 0).into()).expect("loopback");
    let to = socket.local_addr().expect("bound");
    let client = Some(Ipv4Addr::LOCALHOST.into());
    let session = Session { socket: Socket::Udp(socket), hold, client, limits: Limits::default() };
    for (last, said) in [(2, "a stranger"), (1, "the client")] {
        let from = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, last), 0)).expect("loopback");
        from.send_to(said.as_bytes(), to).expect("loopback");
    }
    let mut buffer = [0; 16];
    let (length, _) = session.receive(&mut buffer).expect("a datagram").expect("it goes on");
    assert_eq!(String::from_utf8_lossy(&buffer[..length]), "the client");
}
