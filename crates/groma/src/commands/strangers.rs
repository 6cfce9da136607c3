//! Connections to `groma serve` that have not proven yet that they know the token.
//!
//! Each costs a descriptor and some bytes of memory, never a process. Their number is bounded, and
//! each is kept for two seconds at most. Where the bound is reached, the oldest connection of the
//! address with the most connections is closed: a client that answers at once is served, however
//! many others only wait.

use groma_harness::handshake::{Server, Step};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Places in total.
pub(crate) const PLACES: usize = 128;
/// Places for one address, so that none can fill them all. The members of a worker group connect at
/// the same moment, and there may be as many as sessions ([`super::serve::MOST_SESSIONS`]).
const PLACES_OF_ONE: usize = 64;
/// How long a place is kept. A client needs two round trips: hundreds of milliseconds around the
/// world.
const PATIENCE: Duration = Duration::from_secs(2);

/// All of them, oldest first.
#[derive(Default)]
pub(crate) struct Strangers(Vec<Stranger>);

struct Stranger {
    connection: TcpStream,
    from: SocketAddr,
    until: Instant,
    server: Server,
}

/// What became of a stranger.
enum Became {
    Waiting,
    Gone,
    /// It knows the token; this is the answer to it.
    Client(String),
}

/// A connection that has proven that it knows the token.
pub(crate) struct Client {
    pub(crate) connection: TcpStream,
    pub(crate) from: SocketAddr,
    /// The answer to it.
    pub(crate) welcome: String,
}

impl Strangers {
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|stranger| stranger.connection.as_fd())
    }

    /// When the first of them loses its place.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.0.first().map(|stranger| stranger.until)
    }

    /// Gives a connection a place, that of another one where none is left.
    ///
    /// # Errors
    /// When the kernel has no random numbers, or no non-blocking connections.
    pub(crate) fn admit(&mut self, connection: TcpStream, from: SocketAddr) -> std::io::Result<()> {
        connection.set_nonblocking(true)?;
        connection.set_nodelay(true)?;
        let server = Server::new()?;
        let own = origin(from.ip());
        if self.0.iter().filter(|s| origin(s.from.ip()) == own).count() >= PLACES_OF_ONE {
            self.dismiss_oldest_of(own);
        } else if self.0.len() >= PLACES {
            self.make_room();
        }
        self.0.push(Stranger { connection, from, until: Instant::now() + PATIENCE, server });
        Ok(())
    }

    /// Closes the oldest connection of the address that has the most; whether there was one.
    pub(crate) fn make_room(&mut self) -> bool {
        let mut places: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in &self.0 {
            *places.entry(origin(stranger.from.ip())).or_default() += 1;
        }
        let most = places.values().max().copied().unwrap_or(0);
        // Of several addresses with the most, the one whose oldest connection is the oldest.
        let oldest = self.0.iter().position(|stranger| places.get(&origin(stranger.from.ip())) == Some(&most));
        oldest.map(|oldest| self.0.remove(oldest)).is_some()
    }

    fn dismiss_oldest_of(&mut self, own: IpAddr) {
        if let Some(oldest) = self.0.iter().position(|stranger| origin(stranger.from.ip()) == own) {
            self.0.remove(oldest);
        }
    }

    /// Closes connections whose time is over.
    pub(crate) fn dismiss_overdue(&mut self, now: Instant) {
        self.0.retain(|stranger| now < stranger.until);
    }

    /// Reads from the connections at these places and answers; those that know the token are
    /// returned.
    pub(crate) fn answer(&mut self, ready: &[usize], token: &str) -> Vec<Client> {
        let mut clients = Vec::new();
        // From the back, so that the places in front do not move.
        for &place in ready.iter().rev() {
            match self.0[place].answer(token) {
                Became::Waiting => {}
                Became::Gone => drop(self.0.remove(place)),
                Became::Client(welcome) => {
                    let Stranger { connection, from, .. } = self.0.remove(place);
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

    /// Whether all of it was sent: a connection always has room for its first lines, unless the
    /// client means harm.
    fn send(&mut self, line: &str) -> bool {
        self.connection.write(line.as_bytes()).is_ok_and(|n| n == line.len())
    }
}

/// The owner of an address: of IPv6 the first 64 bits, since one host is given all addresses with
/// the same ones.
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

    /// Somebody from there, and the other end of the connection.
    fn somebody(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let here = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
        (listener.accept().expect("a connection").0, here)
    }

    fn listener() -> TcpListener {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback")
    }

    /// Who waits, by address.
    fn waiting(strangers: &Strangers, from: &str) -> usize {
        let from: IpAddr = from.parse().expect("an address");
        strangers.0.iter().filter(|s| s.from.ip() == from).count()
    }

    fn admit(strangers: &mut Strangers, listener: &TcpListener, from: &str) -> TcpStream {
        let (there, here) = somebody(listener);
        strangers.admit(there, SocketAddr::new(from.parse().expect("an address"), 7)).expect("a place");
        here
    }

    #[test]
    fn the_oldest_of_who_holds_most_makes_room() {
        let (listener, mut strangers) = (listener(), Strangers::default());
        let mut far = Vec::new();
        // One comes first and is the oldest of all; two others want everything.
        far.push(admit(&mut strangers, &listener, "10.0.0.1"));
        for from in ["10.0.0.2", "10.0.0.3"] {
            far.extend((0..PLACES).map(|_| admit(&mut strangers, &listener, from)));
        }
        assert_eq!(strangers.0.len(), PLACES);
        assert_eq!(
            [1, 2, 3].map(|n| waiting(&strangers, &format!("10.0.0.{n}"))),
            [1, PLACES_OF_ONE - 1, PLACES_OF_ONE]
        );
        let oldest = strangers.0.iter().position(|s| s.from.ip().to_string() == "10.0.0.3").expect("one");
        let address = strangers.0[oldest].connection.peer_addr().expect("connected");
        far.push(admit(&mut strangers, &listener, "10.0.0.4"));
        assert_eq!([1, 3, 4].map(|n| waiting(&strangers, &format!("10.0.0.{n}"))), [1, PLACES_OF_ONE - 1, 1]);
        assert!(strangers.0.iter().all(|s| s.connection.peer_addr().ok() != Some(address)), "it was not the oldest");
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let (listener, mut strangers) = (listener(), Strangers::default());
        let far: Vec<_> = (0..2 * PLACES_OF_ONE)
            .map(|n| admit(&mut strangers, &listener, &format!("2001:db8::{:x}:{n:x}", n % 7)))
            .collect();
        assert_eq!((far.len(), strangers.0.len()), (2 * PLACES_OF_ONE, PLACES_OF_ONE));
        // Addresses of IPv4 on a socket of IPv6 all begin with the same 64 bits, and are different
        // all the same.
        let of = |text: &str| origin(text.parse().expect("an address"));
        assert_ne!(of("::ffff:10.0.0.1"), of("::ffff:10.0.0.2"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }

    #[test]
    fn a_place_is_kept_for_its_time() {
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
