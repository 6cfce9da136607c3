//! Pairs of connected Unix sockets of each kind, created as a pair or by address.
//!
//! Addresses are abstract: not files, and gone with their sockets.

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with, socketpair,
};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a socket carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A stream of bytes.
    Stream,
    /// Messages without a connection.
    Dgram,
    /// Messages over a connection.
    SeqPacket,
}

impl Kind {
    fn raw(self) -> SocketType {
        match self {
            Kind::Stream => SocketType::STREAM,
            Kind::Dgram => SocketType::DGRAM,
            Kind::SeqPacket => SocketType::SEQPACKET,
        }
    }
}

/// Two sockets connected with each other, made at once.
///
/// # Errors
/// Those of `socketpair`.
pub fn pair(kind: Kind) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind.raw(), SocketFlags::CLOEXEC, None)?)
}

/// Two sockets connected through addresses, like those of two unrelated programs.
///
/// # Errors
/// Those of `socket`, `bind`, `listen`, `connect`, `accept`.
pub fn connected(kind: Kind) -> io::Result<(OwnedFd, OwnedFd)> {
    let (server, address) = bind_socket(kind)?;
    if kind == Kind::Dgram {
        let (client, back) = bind_socket(kind)?;
        connect(&client, &address)?;
        connect(&server, &back)?;
        return Ok((client, server));
    }
    listen(&server, 1)?;
    let client = socket_with(AddressFamily::UNIX, kind.raw(), SocketFlags::CLOEXEC, None)?;
    connect(&client, &address)?;
    Ok((client, accept_with(&server, SocketFlags::CLOEXEC)?))
}

fn bind_socket(kind: Kind) -> io::Result<(OwnedFd, SocketAddrUnix)> {
    static BOUND: AtomicU32 = AtomicU32::new(0);
    let name = format!("groma-{}-{}", crate::process::id(), BOUND.fetch_add(1, Relaxed));
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    let socket = socket_with(AddressFamily::UNIX, kind.raw(), SocketFlags::CLOEXEC, None)?;
    bind(&socket, &address)?;
    Ok((socket, address))
}

/// The longest message that a message socket accepts.
///
/// # Errors
/// Those of `getsockopt`.
pub fn longest_message(socket: BorrowedFd<'_>) -> io::Result<usize> {
    /// The kernel's own overhead in the buffer.
    const KEPT: usize = 32;
    Ok(rustix::net::sockopt::socket_send_buffer_size(socket)?.saturating_sub(KEPT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{read, write};
    use std::os::fd::AsFd;

    #[test]
    fn what_goes_in_on_one_side_comes_out_on_the_other() {
        for kind in [Kind::Stream, Kind::Dgram, Kind::SeqPacket] {
            for make in [pair, connected] {
                let (a, b) = make(kind).expect("Unix sockets");
                for (from, to) in [(&a, &b), (&b, &a)] {
                    assert_eq!(write(from.as_fd(), b"one").expect("write"), 3);
                    assert_eq!(write(from.as_fd(), b"two").expect("write"), 3);
                    let mut room = [0; 8];
                    // Only a stream does not preserve message boundaries.
                    let expected = if kind == Kind::Stream { 6 } else { 3 };
                    assert_eq!(read(to.as_fd(), &mut room).expect("read"), expected);
                    if kind != Kind::Stream {
                        assert_eq!(read(to.as_fd(), &mut room).expect("read"), 3);
                    }
                }
            }
        }
    }

    #[test]
    fn the_longest_message_is_accepted_and_no_longer_one() {
        for kind in [Kind::Dgram, Kind::SeqPacket] {
            let (a, _b) = pair(kind).expect("Unix sockets");
            let longest = longest_message(a.as_fd()).expect("getsockopt");
            let too_long = write(a.as_fd(), &vec![0; longest + 1]).map_err(|e| e.raw_os_error());
            assert_eq!(too_long, Err(Some(rustix::io::Errno::MSGSIZE.raw_os_error())));
            assert_eq!(write(a.as_fd(), &vec![0; longest]).expect("write"), longest);
        }
    }
}
