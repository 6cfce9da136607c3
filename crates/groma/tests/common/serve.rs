//! A running `groma serve`, and a client that can send it arbitrary text.
#![allow(dead_code, reason = "each test binary uses a part")]

use crate::common::{Place, children, exists, wait_for};
use groma_harness::handshake::Client;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;
use std::time::Duration;

/// A running `groma serve`.
pub(crate) struct Serve {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// The line it printed for the user of the other machine.
    pub(crate) printed: String,
}

impl Serve {
    /// Starts it with these arguments, through `wrapper` if that is not empty.
    pub(crate) fn start(place: &Place, wrapper: &[&str], args: &[&str]) -> Serve {
        let mut child = place.wrapped(wrapper, &[&["serve"], args].concat()).spawn().expect("the program starts");
        let mut printed = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut printed).expect("a line");
        let address = printed.split("--host ").nth(1).and_then(|rest| rest.split_ascii_whitespace().next());
        let address = address.unwrap_or_else(|| panic!("no address in '{printed}'")).to_owned();
        Serve { child, address, printed }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub(crate) fn sessions(&self) -> Vec<i32> {
        children(self.pid()).into_iter().filter(|pid| exists(*pid)).collect()
    }

    /// Waits until it has no sessions, and thus no port but its own.
    pub(crate) fn idle(&self) {
        wait_for("the end of the sessions", || self.sessions().is_empty().then_some(()));
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.parse().expect("an address")
    }

    /// A connection on which nothing has been sent yet.
    pub(crate) fn connect(&self) -> Wire {
        Wire::over(TcpStream::connect(self.address()).expect("it listens"))
    }

    /// A connection that has proven possession of the token.
    pub(crate) fn proven(&self, token: &str) -> Wire {
        let mut wire = self.connect();
        let client = Client::new().expect("a nonce");
        wire.send(&client.greeting());
        let (proof, client) = client.prove(&wire.line(), token).expect("a nonce");
        wire.send(&proof);
        client.check(&wire.line()).expect("it is groma serve");
        wire
    }

    /// The connection of a session that has started this service, and the service's process.
    pub(crate) fn service(&self, name: &str) -> (Wire, i32) {
        let mut wire = self.proven("");
        wire.send(&format!("service\t{name}\t0\t0\n"));
        let port = wire.line();
        assert!(port.starts_with("port\t"), "{port}");
        let service = self.sessions().iter().find_map(|session| children(*session).first().copied());
        (wire, service.expect("a service is the child of its session"))
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The number of descriptors of a process; listening sockets are among them.
pub(crate) fn descriptors(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// One end of a connection. Reads and writes time out after a minute.
pub(crate) struct Wire {
    reader: BufReader<TcpStream>,
}

impl Wire {
    pub(crate) fn over(connection: TcpStream) -> Wire {
        connection.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        connection.set_write_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        Wire { reader: BufReader::new(connection) }
    }

    pub(crate) fn connection(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    pub(crate) fn send(&mut self, text: &str) {
        // An error means that the peer hung up. What it sent before is read later.
        let _ = self.reader.get_mut().write_all(text.as_bytes());
    }

    /// The next line without its end; empty if the peer has hung up instead.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        if let Err(e) = self.reader.read_line(&mut line) {
            assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "no line");
        }
        line.trim_end_matches('\n').to_owned()
    }

    /// Everything until the peer hangs up, by closing or resetting the connection.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        if let Err(e) = self.reader.read_to_end(&mut rest) {
            assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "it does not hang up");
        }
        String::from_utf8_lossy(&rest).into_owned()
    }
}
