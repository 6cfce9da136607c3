//! The kernel's counters of one TCP connection, of one socket and of a network namespace, and what
//! keeps ports from running out. [`crate::socket`] creates sockets.
//!
//! # Safety
//! `getsockopt` and `setsockopt` get initialised integers and their true size.
#![expect(unsafe_code, reason = "TCP_INFO and SO_MEMINFO, which rustix does not have")]

use crate::io::checked;
use rustix::net::sockopt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Makes the close of this socket send a reset, so that neither side keeps a port in TIME_WAIT.
///
/// # Errors
/// Those of `setsockopt`.
pub fn reset_on_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// Makes `bind` leave the choice of a port to `connect` (IP_BIND_ADDRESS_NO_PORT, also for IPv6).
///
/// # Errors
/// Those of `setsockopt`.
pub(crate) fn bind_without_port(socket: BorrowedFd<'_>) -> io::Result<()> {
    let yes: libc::c_int = 1;
    let len = size_of_val(&yes) as libc::socklen_t;
    let at = std::ptr::from_ref(&yes).cast();
    let (level, option) = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
    // SAFETY: the value is an integer as long as `len` says.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, len) })
}

/// The longest backlog that `listen` grants in this network namespace; `None` without `/proc`.
pub fn longest_backlog() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?.trim().parse().ok()
}

/// What the kernel knows about one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The handshake is complete; the peer may have closed its half since.
    pub established: bool,
    /// Segments retransmitted over its whole life, those of the handshake included.
    pub retransmits: u64,
    /// Bytes received in order; `None` where the kernel does not count them (before 4.1, and some
    /// emulations).
    pub received: Option<u64>,
}

/// The start of the kernel's `struct tcp_info`, as far as it is used here: an interface that only
/// grows at its end.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    state: u8,
    _bytes: [u8; 7],
    _words: [u32; 23],
    total_retransmits: u32,
    _rates: [u64; 2],
    _bytes_acked: u64,
    bytes_received: u64,
}

const _: () = assert!(std::mem::offset_of!(Raw, total_retransmits) == 100);
const _: () = assert!(std::mem::offset_of!(Raw, bytes_received) == 128);

/// The states of the kernel's `tcp_states.h` in which both sides have agreed on a connection.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

/// What the kernel knows about the connection of this socket.
///
/// # Errors
/// Those of `getsockopt`: `EOPNOTSUPP` when it is not a TCP socket; `Unsupported` when the result
/// has no retransmits.
pub fn connection(socket: BorrowedFd<'_>) -> io::Result<Connection> {
    let mut raw = Raw {
        state: 0,
        _bytes: [0; 7],
        _words: [0; 23],
        total_retransmits: 0,
        _rates: [0; 2],
        _bytes_acked: 0,
        bytes_received: 0,
    };
    let mut len = size_of::<Raw>() as libc::socklen_t;
    let at = std::ptr::from_mut(&mut raw).cast();
    // SAFETY: the structure is as long as `len` says and any bytes are valid for its integers.
    checked(unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &mut len) })?;
    if (len as usize) < std::mem::offset_of!(Raw, _rates) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "TCP_INFO has no count of retransmits"));
    }
    Ok(Connection {
        established: matches!(raw.state, ESTABLISHED | CLOSE_WAIT),
        retransmits: u64::from(raw.total_retransmits),
        received: (len as usize >= size_of::<Raw>() && raw.bytes_received > 0).then_some(raw.bytes_received),
    })
}

/// Datagrams that arrived for this socket and were dropped, for lack of buffer space or because
/// they were damaged; modulo 2^32.
///
/// # Errors
/// Those of `getsockopt` (before Linux 4.12 `ENOPROTOOPT`); `Unsupported` when the kernel's answer
/// has no drops.
pub fn dropped(socket: BorrowedFd<'_>) -> io::Result<u32> {
    /// Their place in the answer, SK_MEMINFO_DROPS of linux/sock_diag.h, and its end.
    const DROPS: usize = 8;
    let mut counters = [0u32; DROPS + 1];
    let mut len = size_of_val(&counters) as libc::socklen_t;
    let at = counters.as_mut_ptr().cast();
    // SAFETY: the array is as long as `len` says and any bytes are valid for its integers.
    checked(unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, at, &mut len) })?;
    if (len as usize) < size_of_val(&counters) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "SO_MEMINFO has no count of drops"));
    }
    Ok(counters[DROPS])
}

/// Failures of connections in a network namespace, whoever owns them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Handshakes that found the accept queue full.
    pub overflows: u64,
    /// Handshakes dropped by listening sockets for this or another reason.
    pub drops: u64,
    /// First segments of handshakes retransmitted.
    pub syn_retransmits: u64,
}

impl Dropped {
    /// The counters of `/proc/net/netstat`; `None` where it is missing.
    pub fn read() -> Option<Dropped> {
        Dropped::parse(&std::fs::read_to_string("/proc/net/netstat").ok()?)
    }

    fn parse(text: &str) -> Option<Dropped> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (lines.next()?.split_ascii_whitespace(), lines.next()?.split_ascii_whitespace());
        let mut all = Dropped::default();
        for (name, value) in names.zip(values) {
            let place = match name {
                "ListenOverflows" => &mut all.overflows,
                "ListenDrops" => &mut all.drops,
                "TCPSynRetrans" => &mut all.syn_retransmits,
                _ => continue,
            };
            *place = value.parse().ok()?;
        }
        Some(all)
    }

    /// The increase since `earlier`.
    pub fn since(&self, earlier: &Dropped) -> Dropped {
        Dropped {
            overflows: self.overflows.wrapping_sub(earlier.overflows),
            drops: self.drops.wrapping_sub(earlier.drops),
            syn_retransmits: self.syn_retransmits.wrapping_sub(earlier.syn_retransmits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{read_full, write_full};
    use crate::socket::{connect, listen, tcp};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::os::fd::AsFd;

    fn listening(backlog: u16) -> (TcpListener, SocketAddr) {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), backlog).expect("loopback");
        let address = listener.local_addr().expect("it is bound");
        (listener, address)
    }

    #[test]
    fn the_kernel_counts_what_a_connection_receives() {
        let (listener, address) = listening(4);
        let here = tcp(address).expect("socket");
        assert!(!connection(here.as_fd()).expect("TCP_INFO").established);
        connect(here.as_fd(), &address).expect("connect");
        let (there, _) = listener.accept().expect("accept");
        write_full(there.as_fd(), &[7; 1000]).expect("write");
        read_full(here.as_fd(), &mut [0; 1000]).expect("read");
        let seen = connection(here.as_fd()).expect("TCP_INFO");
        assert_eq!(seen, Connection { established: true, retransmits: 0, received: Some(1000) });
    }

    #[test]
    fn the_kernel_counts_datagrams_that_found_no_room() {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        socket.connect(socket.local_addr().expect("bound")).expect("loopback");
        socket.set_nonblocking(true).expect("an option");
        const SENT: u32 = 10_000;
        for _ in 0..SENT {
            assert_eq!(socket.send(&[0; 1000]).expect("loopback"), 1000);
        }
        let read = std::iter::from_fn(|| socket.recv(&mut [0; 1000]).ok()).count() as u32;
        let dropped = dropped(socket.as_fd()).expect("SO_MEMINFO");
        assert!(read > 0 && dropped > 0, "{read} and {dropped}");
        assert_eq!(read + dropped, SENT);
    }

    #[test]
    fn other_sockets_are_not_connections() {
        let (pipe, _) = crate::io::pipe().expect("pipe");
        assert!(connection(pipe.as_fd()).is_err());
        let (unix, _) = std::os::unix::net::UnixStream::pair().expect("pair");
        assert!(connection(unix.as_fd()).is_err());
    }

    /// The proof of `net.tcp_connect` relies on it: a connection whose first segment was dropped
    /// shows it afterwards.
    #[test]
    fn a_handshake_that_was_repeated_shows() {
        let (listener, to) = listening(0);
        let before = Dropped::read();
        // A backlog of 0 holds one connection; the second is dropped, and repeated a second later.
        let first = tcp(to).expect("socket");
        connect(first.as_fd(), &to).expect("connect");
        let second = tcp(to).expect("socket");
        let taker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            (listener.accept().map(|_| ()), listener.accept().map(|_| ()))
        });
        connect(second.as_fd(), &to).expect("connect");
        let seen = connection(second.as_fd()).expect("TCP_INFO");
        assert!(seen.established);
        assert!(seen.retransmits >= 1, "{seen:?}");
        assert_eq!(connection(first.as_fd()).expect("TCP_INFO").retransmits, 0);
        if let (Some(before), Some(after)) = (before, Dropped::read()) {
            let added = after.since(&before);
            assert!(added.overflows >= 1 && added.drops >= 1 && added.syn_retransmits >= 1, "{added:?}");
        }
        let taken = taker.join().expect("no panic");
        assert!(taken.0.is_ok() && taken.1.is_ok());
    }

    #[test]
    fn counters_are_found_by_name_not_by_position() {
        let text =
            "TcpExt: A TCPSynRetrans ListenDrops B ListenOverflows\nTcpExt: 1 2 3 4 5\nIpExt: ListenDrops\nIpExt: 9\n";
        assert_eq!(Dropped::parse(text), Some(Dropped { overflows: 5, drops: 3, syn_retransmits: 2 }));
        assert_eq!(Dropped::parse("IpExt: A\nIpExt: 1\n"), None);
        let after = Dropped { overflows: 50, drops: 70, syn_retransmits: 90 };
        let added = Dropped { overflows: 45, drops: 67, syn_retransmits: 88 };
        assert_eq!(after.since(&Dropped { overflows: 5, drops: 3, syn_retransmits: 2 }), added);
    }

    /// For a listening socket the kernel reports the granted backlog in a field that counts
    /// segments for others.
    #[test]
    fn a_backlog_is_granted_up_to_the_longest() {
        let granted = |backlog: u16| {
            let (listener, _) = listening(backlog);
            let mut words = [0u32; 8];
            let mut len = size_of_val(&words) as libc::socklen_t;
            let at = words.as_mut_ptr().cast();
            // SAFETY: the array is as long as `len` says and any bytes are valid for its integers.
            let actual =
                unsafe { libc::getsockopt(listener.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &raw mut len) };
            (actual == 0).then_some(u64::from(words[7]))
        };
        let (Some(longest), Some(9)) = (longest_backlog(), granted(9)) else {
            return println!("skipped: the kernel does not report a backlog");
        };
        assert_eq!(granted(u16::MAX), Some(longest.min(u64::from(u16::MAX))));
    }

    /// It stays established when the peer has ended its half.
    #[test]
    fn a_connection_is_established_until_both_sides_have_ended_it() {
        let (listener, to) = listening(1);
        let here = tcp(to).expect("socket");
        connect(here.as_fd(), &to).expect("connect");
        let (there, _) = listener.accept().expect("accept");
        let established = || connection(here.as_fd()).expect("TCP_INFO").established;
        assert!(established());
        drop(there);
        // A read of 0 shows that the end of the peer has arrived.
        assert_eq!(crate::io::read(here.as_fd(), &mut [0]).expect("read"), 0);
        assert!(established(), "half of it");
        crate::socket::shutdown(here.as_fd()).expect("shutdown");
        assert!(!established());
    }
}
