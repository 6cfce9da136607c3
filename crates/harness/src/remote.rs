//! The other side of network benchmarks: what it is, and how a client asks a `groma serve` on another machine for it.
//!
//! One control connection a service: lines of tab-separated text. The client greets with program, protocol, version and token, and is
//! welcomed or refused with a reason; asks for `facts`, or for one `service`, and is told its port. The service lives until the
//! client says `end`, or the connection ends, whatever ended it. What is measured goes over connections of its own. Times are
//! never said: the clocks of two machines are not compared. The server's side is [`crate::session`].

use crate::model::{Fact, Remote};
use crate::sys::{net, socket};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// The other side of a benchmark, found by name on this and on other machines.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Its name: the id of the benchmark that it is the other side of.
    pub name: &'static str,
    /// What it is reached by.
    pub transport: Transport,
    /// Serves until the client or what holds it is gone.
    pub serve: fn(Session) -> io::Result<()>,
}

/// What a service is reached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// What a service is given.
#[derive(Debug)]
pub struct Session {
    /// Bound; nothing is accepted yet.
    pub socket: Socket,
    /// Readable, because it has ended, when the client is gone.
    pub hold: OwnedFd,
    /// The only address that is talked to; anybody's when `None`.
    pub client: Option<IpAddr>,
}

/// A socket that is bound to an address of its own.
#[derive(Debug)]
pub enum Socket {
    /// It listens.
    Listener(TcpListener),
    /// It receives.
    Udp(UdpSocket),
}

/// More than is ever needed: clients do not outrun a service, they wait for it (lmbench-inventory.md N5).
pub const BACKLOG: u16 = 4096;
/// How long either side waits for the next line.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Grows with every change of the lines.
pub(crate) const PROTOCOL: u32 = 1;
/// Both sides have to be of one version: they are two halves of one benchmark.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// No line is longer.
const LONGEST_LINE: usize = 4096;

impl Socket {
    /// A socket of this transport, bound to a port of the kernel's choice where `at` names none.
    ///
    /// # Errors
    /// Those of `socket`, `bind` and `listen`.
    pub fn bind(transport: Transport, at: SocketAddr) -> io::Result<Socket> {
        Ok(match transport {
            Transport::Tcp => Socket::Listener(socket::listen(at, BACKLOG)?),
            Transport::Udp => Socket::Udp(socket::udp(at)?),
        })
    }

    /// Where it is.
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
    /// The next connection of the client; `None` when the client is gone instead.
    ///
    /// # Errors
    /// Those of `accept`; `InvalidInput` when it is reached by datagrams.
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

    /// The next datagram of the client: its length, and where from; `None` when the client is gone instead.
    ///
    /// # Errors
    /// Those of `recvfrom`; `InvalidInput` when it is reached by connections.
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

    /// The socket of a service that is reached by datagrams.
    ///
    /// # Errors
    /// `InvalidInput` when it is reached by connections.
    pub fn udp(&self) -> io::Result<&UdpSocket> {
        match &self.socket {
            Socket::Udp(socket) => Ok(socket),
            Socket::Listener(_) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Whether that address is the client's.
    pub fn is_client(&self, address: IpAddr) -> bool {
        self.client.is_none_or(|client| client == address)
    }

    /// Whether the client is gone.
    pub fn is_over(&self) -> bool {
        socket::is_ready(&self.hold)
    }
}

/// A greeted server, which does what is asked of it over one connection.
#[derive(Debug)]
pub struct Control {
    connection: TcpStream,
}

impl Control {
    /// Connects and greets.
    ///
    /// # Errors
    /// In one line: nobody is there, it is no groma, not this one, or it wants another token.
    pub fn open(remote: &Remote) -> Result<Control, String> {
        let told = |e: io::Error| match e.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof => {
                format!("{}: what listens there is no groma serve, or it is not well", remote.address)
            }
            io::ErrorKind::ConnectionRefused => format!("{}: no groma serve listens there", remote.address),
            _ => format!("{}: {e}", remote.address),
        };
        let connection = TcpStream::connect_timeout(&remote.address, PATIENCE).map_err(told)?;
        let mut control = Control { connection };
        control.prepare().map_err(told)?;
        let hello = format!("groma\t{PROTOCOL}\t{VERSION}\t{}\n", remote.token);
        control.say(&hello).map_err(told)?;
        match control.hear().map_err(told)?.split_once('\t') {
            Some(("refused", why)) => Err(format!("{}: {why}", remote.address)),
            Some(("welcome", _)) => Ok(control),
            _ => Err(format!("{}: what listens there is no groma serve", remote.address)),
        }
    }

    /// The two ends of a control connection are alike.
    pub(crate) fn accepted(connection: TcpStream) -> io::Result<Control> {
        let control = Control { connection };
        control.prepare()?;
        Ok(control)
    }

    fn prepare(&self) -> io::Result<()> {
        self.connection.set_nodelay(true)?;
        self.connection.set_read_timeout(Some(PATIENCE))?;
        self.connection.set_write_timeout(Some(PATIENCE))?;
        socket::notice_silence(&self.connection)
    }

    /// The server's side of it.
    pub(crate) fn connection(&self) -> &TcpStream {
        &self.connection
    }

    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        self.connection.write_all(line.as_bytes())
    }

    /// The next line, without its end. Byte by byte: what follows may be for somebody else. Whoever says a byte now and then does not
    /// hold us longer than who says nothing.
    pub(crate) fn hear(&mut self) -> io::Result<String> {
        let until = Instant::now() + self.connection.read_timeout()?.unwrap_or(PATIENCE);
        let mut line = Vec::new();
        let mut byte = [0];
        while line.len() < LONGEST_LINE {
            self.connection.read_exact(&mut byte)?;
            if byte[0] == b'\n' {
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if Instant::now() > until {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            line.push(byte[0]);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a line does not end"))
    }

    /// What the other machine says of itself, and the longest packet on the way there.
    ///
    /// # Errors
    /// In one line, what went wrong.
    pub fn facts(&mut self) -> Result<Vec<Fact>, String> {
        let mut facts = Vec::new();
        self.say("facts\n").map_err(|e| e.to_string())?;
        loop {
            let line = self.hear().map_err(|e| e.to_string())?;
            let mut parts = line.splitn(3, '\t');
            match (parts.next(), parts.next(), parts.next()) {
                (Some("fact"), Some(key), Some(value)) => facts.push(Fact::new(format!("remote.{key}"), value)),
                _ => break,
            }
        }
        if let Some(mtu) = socket::path_mtu(&self.connection) {
            facts.push(Fact::new("remote.path_mtu", mtu));
        }
        Ok(facts)
    }

    /// Starts a service; where it is reached.
    ///
    /// # Errors
    /// In one line, what went wrong.
    pub fn start(&mut self, service: &str) -> Result<SocketAddr, String> {
        self.say(&format!("service\t{service}\n")).map_err(|e| e.to_string())?;
        let answer = self.hear().map_err(|e| e.to_string())?;
        match answer.split_once('\t') {
            Some(("port", port)) => {
                let mut address = self.connection.peer_addr().map_err(|e| e.to_string())?;
                address.set_port(port.parse().map_err(|_| format!("'{port}' is no port"))?);
                Ok(address)
            }
            Some(("refused", why)) => Err(why.to_owned()),
            _ => Err(format!("'{answer}' is no answer")),
        }
    }

    /// Ends the service and waits until it has ended.
    ///
    /// # Errors
    /// In one line, how it ended if not well.
    pub fn end(mut self) -> Result<(), String> {
        self.say("end\n").map_err(|e| e.to_string())?;
        let answer = self.hear().map_err(|e| e.to_string())?;
        // Nothing waits in TIME_WAIT for a connection that nobody misses.
        net::reset_on_close(self.connection.as_fd()).map_err(|e| e.to_string())?;
        match answer.split_once('\t') {
            Some(("ended", "well")) => Ok(()),
            Some(("ended", how)) => Err(format!("the other side {how}")),
            _ => Err(format!("'{answer}' is no answer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn who_dawdles_within_a_line_is_not_waited_for() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        let mut slow = TcpStream::connect(listener.local_addr().expect("bound")).expect("connect");
        let (connection, _) = listener.accept().expect("accept");
        let mut control = Control::accepted(connection).expect("options");
        control.connection.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
        let dawdling = std::thread::spawn(move || {
            // Never so slow that a single read is too long, until nobody listens any more.
            while slow.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        assert_eq!(control.hear().map_err(|e| e.kind()), Err(io::ErrorKind::WouldBlock));
        drop(control);
        dawdling.join().expect("no panic");
    }
}
