//! The peer of network benchmarks: what it is, and how a client asks a `groma serve` on
//! another machine for it.
//!
//! Each service has one control connection, with lines of tab-separated text. After
//! [`crate::handshake`] the client asks for `facts`, or for one `service` and states the limits of
//! what it will request; the answer is the port. The service runs until the client sends `end` or
//! the connection ends for any reason. Measurements use connections of their own. Times are never
//! sent, because the clocks of two machines are not compared. The server's end is
//! [`crate::session`]. See docs/methods/operating-system.md#peers.
//!
//! Neither side trusts the other with its time or memory. Lines have a maximum length and one
//! deadline for all their bytes; only known facts are accepted, once each; text that is shown or
//! stored is reduced to printable characters.

use crate::handshake::{self, Failure};
use crate::model::{Fact, Remote, plain};
use crate::sys::{net, socket};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// The peer of a benchmark, which this and other machines find by its name.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Its name: the id of its benchmark.
    pub name: &'static str,
    /// Its transport.
    pub transport: Transport,
    /// Serves until the client is gone or the session ends.
    pub serve: fn(Session) -> io::Result<()>,
}

/// The transport of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP connections.
    Tcp,
    /// UDP datagrams.
    Udp,
}

/// The arguments of a service.
#[derive(Debug)]
pub struct Session {
    /// Its socket, bound; nothing is accepted yet.
    pub socket: Socket,
    /// A pipe that becomes readable, by a byte or by its end, when the session is over.
    pub hold: OwnedFd,
    /// The only address that is served; any address if `None`.
    pub client: Option<IpAddr>,
    /// What the client has said that it will ask for, over the connection that has proven the
    /// token.
    pub limits: Limits,
}

/// The most that a client will request from a service at once. A UDP service never answers a
/// datagram with more than that, so a forged source address cannot make it send more than the
/// client asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes per datagram.
    pub size: u32,
    /// The number of datagrams.
    pub count: u32,
}

/// A bound socket.
#[derive(Debug)]
pub enum Socket {
    /// A listening TCP socket.
    Listener(TcpListener),
    /// A UDP socket.
    Udp(UdpSocket),
}

/// More than is ever needed: clients do not outrun a service, they wait for it.
pub const BACKLOG: u16 = 4096;
/// The time limit for a line, on both sides.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The longest line that is accepted. The longest that is sent is a fact with its value.
const LONGEST_LINE: usize = 1024;
/// The facts about the other machine that a server sends and a client accepts.
pub(crate) const FACTS: [&str; 5] = ["host.name", "kernel.release", "cpu.model", "cpus.allowed", "virtualization.kind"];
/// Characters of a fact's value, or of a reason, that are taken. The longest value is the list of
/// the CPUs of a large machine; Linux has 64 for the name of a host.
const LONGEST_TEXT: usize = 256;
/// Delays before further attempts if a server hung up before it read the proof, which it does if
/// more clients connect at once than it has places for.
const AGAIN_AFTER: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(150), Duration::from_millis(450)];

impl Socket {
    /// A socket of this transport, bound to `at`. If its port is 0, the kernel chooses one.
    ///
    /// # Errors
    /// Those of `socket`, `bind` and `listen`.
    pub fn bind(transport: Transport, at: SocketAddr) -> io::Result<Socket> {
        Ok(match transport {
            Transport::Tcp => Socket::Listener(socket::listen(at, BACKLOG)?),
            Transport::Udp => Socket::Udp(socket::udp(at)?),
        })
    }

    /// Its local address.
    ///
    /// # Errors
    /// Those of `getsockname`.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Socket::Listener(listener) => listener.local_addr(),
            Socket::Udp(socket) => socket.local_addr(),
        }
    }
}

impl Session {
    /// The next connection of the client; `None` if the client is gone.
    ///
    /// # Errors
    /// Those of `accept`; `InvalidInput` if this is a UDP service.
    pub fn accept(&self) -> io::Result<Option<TcpStream>> {
        let Socket::Listener(listener) = &self.socket else { return Err(io::ErrorKind::InvalidInput.into()) };
        loop {
            let ready = crate::sys::io::readable(&[listener.as_fd(), self.hold.as_fd()], Duration::from_secs(3600));
            match ready.first() {
                Some(0) => {}
                Some(_) => return Ok(None),
                None => continue,
            }
            let (connection, from) = listener.accept()?;
            if self.is_client(from.ip()) {
                return Ok(Some(connection));
            }
        }
    }

    /// The next datagram of the client: its length, and where from; `None` when the client is gone
    /// instead.
    ///
    /// # Errors
    /// Those of `recvfrom`; `InvalidInput` if this is a TCP service.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        let socket = self.udp()?;
        loop {
            let ready = crate::sys::io::readable(&[socket.as_fd(), self.hold.as_fd()], Duration::from_secs(3600));
            match ready.first() {
                Some(0) => {}
                Some(_) => return Ok(None),
                None => continue,
            }
            let (len, from) = socket.recv_from(buffer)?;
            if self.is_client(from.ip()) {
                return Ok(Some((len, from)));
            }
        }
    }

    /// The socket of a UDP service.
    ///
    /// # Errors
    /// `InvalidInput` if this is a TCP service.
    pub fn udp(&self) -> io::Result<&UdpSocket> {
        match &self.socket {
            Socket::Udp(socket) => Ok(socket),
            Socket::Listener(_) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Whether to serve this address.
    pub fn is_client(&self, address: IpAddr) -> bool {
        self.client.is_none_or(|client| client == address)
    }

    /// Whether the client is gone.
    pub fn is_over(&self) -> bool {
        socket::is_ready(&self.hold)
    }
}

/// A control connection.
#[derive(Debug)]
pub struct Control {
    connection: TcpStream,
    /// The deadline of the current exchange.
    until: Instant,
}

/// Why there is no control connection.
enum Closed {
    /// The server hung up before it accepted or refused the proof; another attempt may succeed.
    Early,
    /// Any other reason, in words.
    Because(String),
}

impl From<io::Error> for Closed {
    fn from(e: io::Error) -> Closed {
        match e.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Closed::Early,
            io::ErrorKind::ConnectionRefused => Closed::Because("no groma serve listens there".to_owned()),
            _ => Closed::Because(e.to_string()),
        }
    }
}

impl From<Failure> for Closed {
    fn from(failure: Failure) -> Closed {
        Closed::Because(printable(&failure.to_string()))
    }
}

impl Control {
    /// Connects to a server and completes the handshake. This and [`Control::facts`] together take
    /// at most five seconds, whatever the peer does.
    ///
    /// # Errors
    /// One line with the reason: nothing answers, it is not groma, it is another version of groma,
    /// or it has another token.
    pub fn open(remote: &Remote) -> Result<Control, String> {
        Control::open_within(remote, PATIENCE)
    }

    fn open_within(remote: &Remote, time: Duration) -> Result<Control, String> {
        let at = remote.address;
        // A proof made with a short token can be attacked by the listener, which can try tokens on
        // it.
        if !at.ip().is_loopback() && !handshake::is_long_enough(&remote.token) {
            let least = handshake::SHORTEST_TOKEN;
            return Err(format!("{at}: beyond the loopback a token of {least} or more characters is needed (--token)"));
        }
        let until = Instant::now() + time;
        let mut pauses = AGAIN_AFTER.iter();
        loop {
            match (Control::greet(remote, until), pauses.next()) {
                (Ok(control), _) => return Ok(control),
                (Err(Closed::Because(why)), _) => return Err(format!("{at}: {why}")),
                (Err(Closed::Early), Some(pause)) if Instant::now() + *pause < until => std::thread::sleep(*pause),
                (Err(Closed::Early), _) => {
                    return Err(format!("{at}: what listens there hangs up: it is not a groma serve, or too busy"));
                }
            }
        }
    }

    fn greet(remote: &Remote, until: Instant) -> Result<Control, Closed> {
        let left = until.saturating_duration_since(Instant::now());
        let connection = match TcpStream::connect_timeout(&remote.address, left.max(Duration::from_millis(1))) {
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                return Err(Closed::Because("no answer: is the address right, and the port open?".to_owned()));
            }
            connected => connected?,
        };
        let mut control = Control::over(connection, until)?;
        let silent = |e: io::Error| match e.kind() {
            io::ErrorKind::TimedOut => {
                Closed::Because("what listens there is not a groma serve, or it does not work".to_owned())
            }
            io::ErrorKind::InvalidData => Closed::from(Failure::NoServer),
            _ => Closed::from(e),
        };
        let client = handshake::Client::new()?;
        control.send_line(&client.greeting()).map_err(silent)?;
        let (proof, client) = client.prove(&control.read_line().map_err(silent)?, &remote.token)?;
        control.send_line(&proof).map_err(silent)?;
        client.check(&control.read_line().map_err(silent)?)?;
        Ok(control)
    }

    /// Either end of an open connection.
    pub(crate) fn over(connection: TcpStream, until: Instant) -> io::Result<Control> {
        connection.set_nodelay(true)?;
        connection.set_write_timeout(Some(PATIENCE))?;
        socket::notice_silence(&connection)?;
        Ok(Control { connection, until })
    }

    /// The socket, for the server's end.
    pub(crate) fn connection(&self) -> &TcpStream {
        &self.connection
    }

    /// Sets the deadline of the next exchange.
    pub(crate) fn set_deadline(&mut self, until: Instant) {
        self.until = until;
    }

    pub(crate) fn send_line(&mut self, line: &str) -> io::Result<()> {
        self.connection.write_all(line.as_bytes())
    }

    /// The next line, without its end. No byte behind it is taken, so that a `poll` sees whether
    /// there is more.
    pub(crate) fn read_line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut bytes = [0; 256];
        while line.len() < LONGEST_LINE {
            // One deadline for the whole line: a peer that sends a byte now and then cannot delay
            // us longer than one that sends nothing.
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.connection.set_read_timeout(Some(left))?;
            let seen = match self.connection.peek(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(seen) => seen,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let end = bytes[..seen].iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(seen, |end| end + 1);
            self.connection.read_exact(&mut bytes[..taken])?;
            line.extend_from_slice(&bytes[..end.unwrap_or(taken)]);
            if end.is_some() {
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a line does not end"))
    }

    /// The facts about the other machine, and the path MTU. To be called right after
    /// [`Control::open`], whose deadline applies.
    ///
    /// # Errors
    /// One line that says what went wrong.
    pub fn facts(&mut self) -> Result<Vec<Fact>, String> {
        let mut facts = self.read_facts().map_err(|e| self.because(&e))?;
        if let Some(mtu) = socket::path_mtu(&self.connection) {
            facts.push(Fact::new("remote.path_mtu", mtu));
        }
        Ok(facts)
    }

    fn read_facts(&mut self) -> io::Result<Vec<Fact>> {
        let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let mut facts: Vec<Fact> = Vec::new();
        self.send_line("facts\n")?;
        loop {
            let line = self.read_line()?;
            let mut words = line.splitn(3, '\t');
            let (word, key, value) = (words.next(), words.next(), words.next());
            let (Some("fact"), Some(key), Some(value)) = (word, key, value) else {
                return if line == "end" { Ok(facts) } else { wrong(format!("unexpected fact '{line}'")) };
            };
            if !FACTS.contains(&key) {
                return wrong(format!("'{key}' is none of its facts"));
            }
            let key = format!("remote.{key}");
            if facts.iter().any(|fact| fact.key == key) {
                return wrong(format!("it says {key} twice"));
            }
            facts.push(Fact::new(key, printable(value)));
        }
    }

    /// Starts a service and returns its address.
    ///
    /// # Errors
    /// One line that says what went wrong.
    pub fn start(&mut self, service: &str, limits: Limits) -> Result<SocketAddr, String> {
        self.until = Instant::now() + PATIENCE;
        let answer = self.ask(&format!("service\t{service}\t{}\t{}\n", limits.size, limits.count))?;
        match answer.split_once('\t') {
            Some(("port", port)) => {
                let mut address = self.connection.peer_addr().map_err(|e| e.to_string())?;
                address.set_port(port.parse().map_err(|_| printable(&format!("unexpected port '{port}'")))?);
                Ok(address)
            }
            Some(("refused", why)) => Err(printable(why)),
            _ => Err(printable(&format!("unexpected answer '{answer}'"))),
        }
    }

    /// Ends the service and waits for its end.
    ///
    /// # Errors
    /// One line that says how it ended, if it failed.
    pub fn end(mut self) -> Result<(), String> {
        self.until = Instant::now() + PATIENCE;
        let answer = self.ask("end\n")?;
        // Close by a reset, so that the connection does not stay in TIME_WAIT.
        net::reset_on_close(self.connection.as_fd()).map_err(|e| e.to_string())?;
        match answer.split_once('\t') {
            Some(("ended", "well")) => Ok(()),
            Some(("ended", how)) => Err(format!("the peer {}", printable(how))),
            _ => Err(printable(&format!("unexpected answer '{answer}'"))),
        }
    }

    fn ask(&mut self, line: &str) -> Result<String, String> {
        self.send_line(line).and_then(|()| self.read_line()).map_err(|e| self.because(&e))
    }

    /// The error in words, with the address of the machine.
    fn because(&self, e: &io::Error) -> String {
        let at = self.connection.peer_addr().map_or_else(|_| "the peer".to_owned(), |at| at.to_string());
        let why = match e.kind() {
            io::ErrorKind::TimedOut => "it did not answer in time".to_owned(),
            io::ErrorKind::UnexpectedEof => "it has hung up".to_owned(),
            _ => printable(&e.to_string()),
        };
        format!("{at}: {why}")
    }
}

/// What somebody else said, for the user's eyes and for the store: one line of plain characters,
/// and not without end.
pub(crate) fn printable(text: &str) -> String {
    plain(text).chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests;
