//! Sockets of any address family, with the options that a server and its client need and `std::net`
//! lacks.

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A TCP socket for addresses like this one, unconnected, closed on exec.
///
/// # Errors
/// Those of `socket`: `EAFNOSUPPORT` on a machine without IPv6.
pub fn tcp(like: SocketAddr) -> io::Result<OwnedFd> {
    let family = if like.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// `connect` and nothing else.
///
/// # Errors
/// Those of `connect`.
#[inline]
pub fn connect(socket: BorrowedFd<'_>, to: &SocketAddr) -> io::Result<()> {
    Ok(rustix::net::connect(socket, to)?)
}

/// A connection from a given local address; the kernel chooses the port where it is 0.
///
/// # Errors
/// Those of `socket`, `bind` and `connect`.
pub fn connect_from(from: SocketAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = tcp(to)?;
    rustix::net::bind(&socket, &from)?;
    rustix::net::connect(&socket, &to)?;
    Ok(socket.into())
}

/// Chooses the local address of a TCP socket, and leaves the port to `connect`, which knows the
/// peer and so can use a port that is in use towards another.
///
/// # Errors
/// Those of `setsockopt` and `bind`.
pub fn bind_address(socket: BorrowedFd<'_>, from: IpAddr) -> io::Result<()> {
    crate::net::bind_without_port(socket)?;
    Ok(rustix::net::bind(socket, &SocketAddr::new(from, 0))?)
}

/// A listening socket at this address, with this backlog, which the kernel limits to
/// [`crate::net::longest_backlog`].
///
/// # Errors
/// Those of `socket`, `bind` and `listen`.
pub fn listen(at: SocketAddr, backlog: u16) -> io::Result<TcpListener> {
    let socket = tcp(at)?;
    rustix::net::bind(&socket, &at)?;
    rustix::net::listen(&socket, i32::from(backlog))?;
    Ok(socket.into())
}

/// As [`listen`], although connections of an earlier server at this port may still be in TIME_WAIT.
///
/// # Errors
/// As [`listen`].
pub fn listen_again(at: SocketAddr, backlog: u16) -> io::Result<TcpListener> {
    let socket = tcp(at)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &at)?;
    rustix::net::listen(&socket, i32::from(backlog))?;
    Ok(socket.into())
}

/// As [`listen`], one of several at a port, among which the kernel distributes the connections
/// (`SO_REUSEPORT`).
///
/// # Errors
/// As [`listen`].
pub fn listen_beside(at: SocketAddr, backlog: u16) -> io::Result<TcpListener> {
    let socket = tcp(at)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &at)?;
    rustix::net::listen(&socket, i32::from(backlog))?;
    Ok(socket.into())
}

/// Ends a listener in all processes that have it: those that wait are woken, and `accept` fails
/// with `EINVAL`.
///
/// # Errors
/// Those of `shutdown`.
pub fn stop_listening(listener: &TcpListener) -> io::Result<()> {
    Ok(rustix::net::shutdown(listener, rustix::net::Shutdown::Both)?)
}

/// A UDP socket bound to this address.
///
/// # Errors
/// Those of `socket` and `bind`.
pub fn udp(at: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(at)
}

/// Makes the kernel detect within half a minute that the machine at the other end has vanished.
///
/// # Errors
/// Those of `setsockopt`.
pub fn notice_silence(connection: &TcpStream) -> io::Result<()> {
    sockopt::set_tcp_keepidle(connection, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(connection, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(connection, 4)?;
    Ok(sockopt::set_socket_keepalive(connection, true)?)
}

/// The longest packet on the path of this connection, in bytes; `None` where the kernel does not
/// say.
pub fn path_mtu(connection: &TcpStream) -> Option<u32> {
    let v4 = connection.local_addr().ok()?.is_ipv4();
    let mtu = if v4 { sockopt::ip_mtu(connection) } else { sockopt::ipv6_mtu(connection) };
    mtu.ok()
}

/// Whether this is readable, or at end-of-file, now.
pub fn is_ready(fd: impl AsFd) -> bool {
    !crate::io::readable(&[fd.as_fd()], Duration::ZERO).is_empty()
}

/// Requests buffer sizes, and returns what the kernel grants for sending and for receiving (it
/// counts its own overhead, and has limits). Call before connecting: the window scale is negotiated
/// then.
///
/// # Errors
/// Those of `setsockopt` and `getsockopt`.
pub fn set_buffers(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<(usize, usize)> {
    sockopt::set_socket_send_buffer_size(socket, bytes)?;
    sockopt::set_socket_recv_buffer_size(socket, bytes)?;
    Ok((sockopt::socket_send_buffer_size(socket)?, sockopt::socket_recv_buffer_size(socket)?))
}

/// Requests a buffer for this many bytes sent and not yet read; the kernel grants up to its limit.
///
/// # Errors
/// Those of `setsockopt`.
pub fn set_send_buffer(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_send_buffer_size(socket, bytes)?)
}

/// The size of that buffer, including the kernel's own overhead.
///
/// # Errors
/// Those of `getsockopt`.
pub fn send_buffer(socket: BorrowedFd<'_>) -> io::Result<usize> {
    Ok(sockopt::socket_send_buffer_size(socket)?)
}

/// Sends a part and announces more: TCP then waits before it sends a segment that is not full.
///
/// # Errors
/// Those of `send`.
pub fn send_more(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::MORE)?)
}

/// Ends the sending half of a connection.
///
/// # Errors
/// Those of `shutdown`.
#[inline]
pub fn shutdown(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket, rustix::net::Shutdown::Write)?)
}

/// Whether a send failed because the queue of the interface is full.
pub fn is_queue_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

/// A Unix socket's name.
#[derive(Clone, Debug)]
pub struct UnixName(rustix::net::SocketAddrUnix);

impl UnixName {
    /// An abstract name, which disappears with the socket.
    ///
    /// # Errors
    /// `ENAMETOOLONG` beyond 107 bytes.
    pub fn nowhere(name: &str) -> io::Result<UnixName> {
        Ok(UnixName(rustix::net::SocketAddrUnix::new_abstract_name(name.as_bytes())?))
    }

    /// A file that `bind` creates and that is not removed.
    ///
    /// # Errors
    /// As above.
    pub fn at(path: &std::path::Path) -> io::Result<UnixName> {
        Ok(UnixName(rustix::net::SocketAddrUnix::new(path)?))
    }

    /// A stream socket, unconnected, closed on exec.
    ///
    /// # Errors
    /// Those of `socket`.
    pub fn socket() -> io::Result<OwnedFd> {
        Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
    }

    /// A socket that listens under this name.
    ///
    /// # Errors
    /// Those of `socket`, `bind` and `listen`.
    pub fn listen(&self, backlog: u16) -> io::Result<OwnedFd> {
        let socket = UnixName::socket()?;
        rustix::net::bind(&socket, &self.0)?;
        rustix::net::listen(&socket, i32::from(backlog))?;
        Ok(socket)
    }

    /// `connect` and nothing else.
    ///
    /// # Errors
    /// Those of `connect`.
    #[inline]
    pub fn connect(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::net::connect(socket, &self.0)?)
    }
}

/// `accept` and nothing else.
///
/// # Errors
/// Those of `accept4`.
#[inline]
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::net::accept_with(listener, SocketFlags::CLOEXEC)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{read, write, write_full};
    use std::net::{Ipv4Addr, Ipv6Addr};

    const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn each_function_sets_its_own_options() {
        let reused = |listener: &TcpListener| sockopt::socket_reuseaddr(listener).expect("getsockopt");
        let (once, again) = (listen(HERE, 1).expect("loopback"), listen_again(HERE, 1).expect("loopback"));
        assert_eq!((reused(&once), reused(&again)), (false, true));
        let to = once.local_addr().expect("bound");
        let connection = connect_from(HERE, to).expect("loopback");
        assert!(!sockopt::socket_keepalive(&connection).expect("getsockopt"));
        notice_silence(&connection).expect("setsockopt");
        assert!(sockopt::socket_keepalive(&connection).expect("getsockopt"));
        let idle = sockopt::tcp_keepidle(&connection).expect("getsockopt");
        let between = sockopt::tcp_keepintvl(&connection).expect("getsockopt");
        let tries = sockopt::tcp_keepcnt(&connection).expect("getsockopt");
        assert_eq!(idle + between * tries, Duration::from_secs(30), "{idle:?} and {tries} times {between:?}");
        assert_eq!(sockopt::socket_linger(&connection).expect("getsockopt"), None);
        crate::net::reset_on_close(connection.as_fd()).expect("setsockopt");
        assert_eq!(sockopt::socket_linger(&connection).expect("getsockopt"), Some(Duration::ZERO));
        // Either the send buffer alone or both; the sizes returned are those that the kernel
        // reports.
        let socket = tcp(HERE).expect("a socket");
        let sizes = || {
            let send = sockopt::socket_send_buffer_size(&socket).expect("getsockopt");
            (send, sockopt::socket_recv_buffer_size(&socket).expect("getsockopt"))
        };
        let (_, receive) = sizes();
        set_send_buffer(socket.as_fd(), 20_000).expect("setsockopt");
        assert_eq!((send_buffer(socket.as_fd()).expect("getsockopt"), receive), sizes());
        assert!(sizes().0 >= 20_000);
        assert_eq!(set_buffers(socket.as_fd(), 50_000).expect("setsockopt"), sizes());
        assert!(sizes().0 >= 50_000 && sizes().1 >= 50_000, "{:?}", sizes());
    }

    #[test]
    fn a_socket_has_the_requested_family_and_address() {
        let address = |socket: &OwnedFd| SocketAddr::try_from(rustix::net::getsockname(socket).expect("a name"));
        let own = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
        let socket = tcp(HERE).expect("a socket");
        bind_address(socket.as_fd(), own).expect("bind");
        assert_eq!(address(&socket).expect("IPv4"), SocketAddr::new(own, 0), "the port is left to connect");
        let listener = listen(HERE, 1).expect("loopback");
        connect(socket.as_fd(), &listener.local_addr().expect("bound")).expect("connect");
        assert_eq!(listener.accept().expect("a connection").1.ip(), own);
        match tcp(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0)) {
            Ok(socket) => assert!(address(&socket).expect("IPv6").is_ipv6()),
            Err(e) => eprintln!("no IPv6 here: {e}"),
        }
    }

    #[test]
    fn only_the_sending_half_is_ended() {
        let listener = listen(HERE, 1).expect("loopback");
        let here = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
        let (there, _) = listener.accept().expect("a connection");
        assert!(!is_ready(&there));
        shutdown(here.as_fd()).expect("shutdown");
        assert_eq!(read(there.as_fd(), &mut [0]).expect("its end"), 0);
        assert!(is_ready(&there) && !is_ready(&here));
        write_full(there.as_fd(), b"x").expect("the other half is open");
        assert_eq!(read(here.as_fd(), &mut [0]).expect("read"), 1);
        // EPIPE: the runtime ignores the signal.
        assert!(write(here.as_fd(), b"x").is_err());
    }

    #[test]
    fn a_connection_comes_from_the_requested_address() {
        let own = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
        let listener = listen(HERE, 1).expect("loopback");
        let to = listener.local_addr().expect("bound");
        let here = connect_from(SocketAddr::new(own, 0), to).expect("loopback");
        let (there, from) = listener.accept().expect("a connection");
        assert_eq!((from.ip(), from), (own, here.local_addr().expect("bound")));
        // On this machine the path has the MTU of the interface.
        let taken = std::fs::read_to_string("/sys/class/net/lo/mtu").ok();
        let taken = taken.and_then(|text| text.trim().parse().ok()).map(|mtu: u32| mtu.min(u16::MAX.into()));
        if taken.is_some() {
            assert_eq!([path_mtu(&here), path_mtu(&there)], [taken; 2]);
        }
    }

    /// A datagram is sent with its last part, however late that comes.
    #[test]
    fn parts_that_announce_more_are_sent_together() {
        let [here, there] = [udp(HERE), udp(HERE)].map(|socket| socket.expect("loopback"));
        here.connect(there.local_addr().expect("bound")).expect("connect");
        assert_eq!(send_more(here.as_fd(), b"ab").expect("send"), 2);
        assert!(!is_ready(&there), "it went by itself");
        assert_eq!(write(here.as_fd(), b"cde").expect("send"), 3);
        let mut seen = [0; 8];
        assert_eq!(read(there.as_fd(), &mut seen).expect("read"), 5);
        assert_eq!(&seen[..5], b"abcde");
    }
}
