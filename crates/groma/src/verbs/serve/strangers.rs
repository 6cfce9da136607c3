//! Connections to `groma serve` that have not proven yet that they know the token.
//!
//! Each costs a descriptor and some bytes of memory, never a process. Their number is bounded, and
//! each is kept for at most two seconds. At the bound, the oldest connection of the address with
//! the most connections is closed, so a client that answers at once is served however many others
//! are idle.

use groma_harness::handshake::{Server, Step};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The maximum number of connections.
pub(super) const MAX_CONNECTIONS: usize = 128;
/// The maximum number of connections from one address, so that none can take them all. The members
/// of a worker group connect at the same moment, up to [`MAX_SESSIONS`](super::MAX_SESSIONS) of
/// them.
const MAX_PER_ADDRESS: usize = 64;
/// A connection that has not proven the token after this time is closed. A client needs two round
/// trips: hundreds of milliseconds around the world.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connections, oldest first.
#[derive(Default)]
pub(super) struct Strangers(Vec<Stranger>);

struct Stranger {
    connection: TcpStream,
    from: SocketAddr,
    until: Instant,
    server: Server,
}

/// The state of a stranger after it has been answered.
enum Became {
    Waiting,
    Gone,
    /// It knows the token; holds the reply for it.
    Client(String),
}

/// A connection that has proven that it knows the token.
pub(super) struct Client {
    pub(super) connection: TcpStream,
    pub(super) from: SocketAddr,
    /// The reply for it.
    pub(super) welcome: String,
}

impl Strangers {
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|stranger| stranger.connection.as_fd())
    }

    /// When the oldest connection is closed.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.first().map(|stranger| stranger.until)
    }

    /// Adds a connection; at a bound, closes another first.
    ///
    /// # Errors
    /// When the kernel gives no random numbers, or cannot make the connection non-blocking.
    pub(super) fn admit(&mut self, connection: TcpStream, from: SocketAddr) -> std::io::Result<()> {
        connection.set_nonblocking(true)?;
        connection.set_nodelay(true)?;
        let server = Server::new()?;
        let own = origin(from.ip());
        if self.0.iter().filter(|s| origin(s.from.ip()) == own).count() >= MAX_PER_ADDRESS {
            self.dismiss_oldest_of(own);
        } else if self.0.len() >= MAX_CONNECTIONS {
            self.make_room();
        }
        self.0.push(Stranger { connection, from, until: Instant::now() + PATIENCE, server });
        Ok(())
    }

    /// Closes the oldest connection of the address that has the most; returns whether there was
    /// one.
    pub(super) fn make_room(&mut self) -> bool {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in &self.0 {
            *counts.entry(origin(stranger.from.ip())).or_default() += 1;
        }
        let most = counts.values().max().copied().unwrap_or(0);
        // Ties go to the address whose oldest connection is the oldest.
        let oldest = self.0.iter().position(|stranger| counts.get(&origin(stranger.from.ip())) == Some(&most));
        oldest.map(|oldest| self.0.remove(oldest)).is_some()
    }

    fn dismiss_oldest_of(&mut self, own: IpAddr) {
        if let Some(oldest) = self.0.iter().position(|stranger| origin(stranger.from.ip()) == own) {
            self.0.remove(oldest);
        }
    }

    /// Closes connections that are overdue.
    pub(super) fn dismiss_overdue(&mut self, now: Instant) {
        self.0.retain(|stranger| now < stranger.until);
    }

    /// Reads from the connections with these indices and answers. Removes and returns those that
    /// have proven that they know the token.
    pub(super) fn answer(&mut self, ready: &[usize], token: &str) -> Vec<Client> {
        let mut clients = Vec::new();
        // From the back, so that the indices before it stay valid.
        for &i in ready.iter().rev() {
            match self.0[i].answer(token) {
                Became::Waiting => {}
                Became::Gone => drop(self.0.remove(i)),
                Became::Client(welcome) => {
                    let Stranger { connection, from, .. } = self.0.remove(i);
                    clients.push(Client { connection, from, welcome });
                }
            }
        }
        clients
    }
}

impl Stranger {
    fn answer(&mut self, token: &str) -> Became {
        let mut bytes = [0; 256];
        let n = match self.connection.read(&mut bytes) {
            Ok(0) => return Became::Gone,
            Ok(n) => n,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Became::Waiting,
            Err(_) => return Became::Gone,
        };
        match self.server.take(&bytes[..n], token) {
            Step::Wait => Became::Waiting,
            Step::Say(line) if self.send(&line) => Became::Waiting,
            Step::Say(_) => Became::Gone,
            Step::Welcome(line) => Became::Client(line),
            Step::Close(line) => {
                self.send(line);
                Became::Gone
            }
        }
    }

    /// Sends a line; returns whether all of it was sent. A new connection has room for these lines,
    /// so a partial write means a hostile client.
    fn send(&mut self, line: &str) -> bool {
        self.connection.write(line.as_bytes()).is_ok_and(|n| n == line.len())
    }
}

/// The owner of an address: for IPv6 its first 64 bits, since a host gets a whole /64.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    /// Both ends of a connection: the server's and the client's.
    fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let here = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
        (listener.accept().expect("a connection").0, here)
    }

    fn listener() -> TcpListener {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback")
    }

    /// How many connections from an address are open.
    fn waiting(strangers: &Strangers, from: &str) -> usize {
        let from: IpAddr = from.parse().expect("an address");
        strangers.0.iter().filter(|s| s.from.ip() == from).count()
    }

    fn admit(strangers: &mut Strangers, listener: &TcpListener, from: &str) -> TcpStream {
        let (there, here) = connection(listener);
        strangers.admit(there, SocketAddr::new(from.parse().expect("an address"), 7)).expect("it is admitted");
        here
    }

    #[test]
    fn the_address_with_the_most_connections_makes_room() {
        let (listener, mut strangers) = (listener(), Strangers::default());
        let mut far = Vec::new();
        // One address has the oldest connection; two others try to take all.
        far.push(admit(&mut strangers, &listener, "10.0.0.1"));
        for from in ["10.0.0.2", "10.0.0.3"] {
            far.extend((0..MAX_CONNECTIONS).map(|_| admit(&mut strangers, &listener, from)));
        }
        assert_eq!(strangers.0.len(), MAX_CONNECTIONS);
        assert_eq!(
            [1, 2, 3].map(|n| waiting(&strangers, &format!("10.0.0.{n}"))),
            [1, MAX_PER_ADDRESS - 1, MAX_PER_ADDRESS]
        );
        let oldest = strangers.0.iter().position(|s| s.from.ip().to_string() == "10.0.0.3").expect("one");
        let address = strangers.0[oldest].connection.peer_addr().expect("connected");
        far.push(admit(&mut strangers, &listener, "10.0.0.4"));
        assert_eq!([1, 3, 4].map(|n| waiting(&strangers, &format!("10.0.0.{n}"))), [1, MAX_PER_ADDRESS - 1, 1]);
        assert!(strangers.0.iter().all(|s| s.connection.peer_addr().ok() != Some(address)), "it was not the oldest");
    }

    #[test]
    fn addresses_of_one_network_share_a_bound() {
        let (listener, mut strangers) = (listener(), Strangers::default());
        let far: Vec<_> = (0..2 * MAX_PER_ADDRESS)
            .map(|n| admit(&mut strangers, &listener, &format!("2001:db8::{:x}:{n:x}", n % 7)))
            .collect();
        assert_eq!((far.len(), strangers.0.len()), (2 * MAX_PER_ADDRESS, MAX_PER_ADDRESS));
        // IPv4-mapped addresses all have the same first 64 bits, but are different owners.
        let of = |text: &str| origin(text.parse().expect("an address"));
        assert_ne!(of("::ffff:10.0.0.1"), of("::ffff:10.0.0.2"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }

    #[test]
    fn an_idle_connection_is_closed_after_its_time() {
        let (listener, mut strangers) = (listener(), Strangers::default());
        assert_eq!(strangers.next_deadline(), None);
        let before = Instant::now();
        let mut here = admit(&mut strangers, &listener, "10.0.0.1");
        let until = strangers.next_deadline().expect("one waits");
        assert!(until >= before + PATIENCE && until <= Instant::now() + PATIENCE);
        strangers.dismiss_overdue(until - Duration::from_nanos(1));
        assert_eq!(strangers.0.len(), 1);
        strangers.dismiss_overdue(until);
        assert_eq!(strangers.0.len(), 0);
        assert_eq!(here.read(&mut [0]).expect("a proper end"), 0);
    }
}
