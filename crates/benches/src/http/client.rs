//! The HTTP client: one request, and its response read and checked in full.

use super::message::{self, MAX_HEAD};
use super::server::byte_at;
use groma_harness::sys::io::{read, write_full};
use groma_harness::sys::net;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

/// Bytes read at once, as in lmbench's `lat_http`.
const PIECE: usize = 64 << 10;

/// A client of one server.
pub(super) struct Client {
    to: SocketAddr,
    request: Vec<u8>,
    /// The persistent connection; `None` where each request has its own.
    kept: Option<TcpStream>,
    piece: Vec<u8>,
    /// Segments that TCP sent again on connections closed so far.
    again: u64,
}

fn wrong(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Client {
    pub(super) fn new(to: SocketAddr, path: &str, close: bool) -> io::Result<Client> {
        let kept = if close { None } else { Some(TcpStream::connect(to)?) };
        Ok(Client { to, request: message::request(path, close), kept, piece: vec![0; PIECE], again: 0 })
    }

    /// Makes one request and reads the whole response. Where each request has its own connection,
    /// returns it for [`Client::close`], which the caller calls outside the timed part.
    #[inline]
    pub(super) fn get(&mut self, length: u64) -> io::Result<Option<TcpStream>> {
        let fresh = if self.kept.is_none() { Some(TcpStream::connect(self.to)?) } else { None };
        let Some(connection) = fresh.as_ref().or(self.kept.as_ref()) else { return Err(wrong("no connection")) };
        fetch(connection, &self.request, length, &mut self.piece)?;
        Ok(fresh)
    }

    /// Closes a connection by a reset, so that no port stays in TIME_WAIT.
    pub(super) fn close(&mut self, connection: Option<TcpStream>) -> io::Result<()> {
        if let Some(connection) = connection {
            self.again += net::connection(connection.as_fd())?.retransmits;
            net::reset_on_close(connection.as_fd())?;
        }
        Ok(())
    }

    /// Ends the client; returns the segments that this side's TCP sent again in all.
    pub(super) fn end(mut self) -> io::Result<u64> {
        let kept = self.kept.take();
        self.close(kept)?;
        Ok(self.again)
    }
}

/// Asks the server for its CPU time in nanoseconds and the number of bodies that it has sent.
pub(super) fn server_usage(to: SocketAddr) -> io::Result<[u64; 2]> {
    let connection = TcpStream::connect(to)?;
    net::reset_on_close(connection.as_fd())?;
    let mut piece = [0; MAX_HEAD];
    write_full(connection.as_fd(), &message::request("/usage", true))?;
    let mut have = 0;
    loop {
        match read(connection.as_fd(), &mut piece[have..])? {
            0 => break,
            n => have += n,
        }
    }
    let head = message::head_bytes(&piece[..have]).ok_or_else(|| wrong("no head"))?;
    match (message::read_response(&piece[..head]), piece[head..have].as_chunks::<8>()) {
        (Some((200, 16)), ([cpu_ns, sent], [])) => Ok([cpu_ns, sent].map(|n| u64::from_be_bytes(*n))),
        _ => Err(wrong("no usage")),
    }
}

/// Sends the request, reads the response, and checks the status, the length, and the first and last
/// byte of each piece of the body.
fn fetch(connection: &TcpStream, request: &[u8], length: u64, piece: &mut [u8]) -> io::Result<()> {
    write_full(connection.as_fd(), request)?;
    let mut have = 0;
    let head = loop {
        match read(connection.as_fd(), &mut piece[have..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => have += n,
        }
        match message::head_bytes(&piece[..have.min(MAX_HEAD)]) {
            Some(end) => break end,
            None if have >= MAX_HEAD => return Err(wrong("the head of the response is too long")),
            None => {}
        }
    };
    match message::read_response(&piece[..head]) {
        Some((200, told)) if told == length => {}
        Some((200, _)) => return Err(wrong("the body has another length")),
        Some(_) => return Err(wrong("the status is not 200")),
        None => return Err(wrong("the head of the response is not HTTP/1.1")),
    }
    let mut body = &piece[head..have];
    let (mut at, mut ends) = (0, true);
    loop {
        if let (Some(first), Some(last)) = (body.first(), body.last()) {
            ends &= *first == byte_at(at);
            at += body.len() as u64;
            ends &= *last == byte_at(at - 1);
        }
        if at >= length {
            break;
        }
        let most = ((length - at) as usize).min(piece.len());
        let n = read(connection.as_fd(), &mut piece[..most])?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        body = &piece[..n];
    }
    if at > length || !ends {
        return Err(wrong("the body is not what was asked for"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::server::SERVICE;
    use crate::peer::{Limits, Session, Socket};
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};

    /// Runs the server in a thread; its default stack would be larger than needed.
    fn beside<T: Send + 'static>(side: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
        groma_harness::sys::thread::spawn(256 << 10, side).expect("a thread")
    }

    /// Gets a response from a server that sends exactly these pieces.
    fn fetch_from(pieces: &'static [&'static [u8]], length: u64) -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        let to = listener.local_addr().expect("bound");
        let server = beside(move || {
            let (mut connection, _) = listener.accept().expect("a client");
            connection.set_nodelay(true).expect("nodelay");
            read(connection.as_fd(), &mut [0; 100]).expect("a request");
            for piece in pieces {
                // The client may have closed already.
                let _ = connection.write_all(piece);
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        let connection = TcpStream::connect(to).expect("connect");
        let seen = fetch(&connection, &message::request("/", false), length, &mut [0; PIECE]);
        drop(connection);
        server.join().expect("no panic");
        seen
    }

    /// Both answers are the same, and no proof knows how many connections there were.
    #[test]
    fn a_connection_that_is_kept_serves_all_requests_and_any_other_one() {
        for close in [false, true] {
            let socket = Socket::bind(SERVICE.transport, (Ipv4Addr::LOCALHOST, 0).into()).expect("loopback");
            let to = socket.address().expect("bound");
            let (hold, held) = groma_harness::sys::io::pipe().expect("a pipe");
            let session = Session { socket, hold, client: None, limits: Limits::default() };
            let server = beside(move || (SERVICE.serve)(session));
            let mut client = Client::new(to, "/memory/1001", close).expect("connect");
            for _ in 0..3 {
                let fresh = client.get(1001).expect("a response");
                assert_eq!((fresh.is_some(), client.kept.is_some()), (close, !close));
                client.close(fresh).expect("close");
            }
            client.end().expect("the end");
            drop(held);
            server.join().expect("no panic").expect("it ended well");
        }
    }

    #[test]
    fn a_response_in_pieces_is_read_to_its_end() {
        fetch_from(&[b"HTTP/1.1 20", b"0 OK\r\nContent-Length: 4\r\n", b"\r\n\x00", b"\x01\x02", b"\x03"], 4)
            .expect("all of it");
        fetch_from(&[b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], 0).expect("nothing is also a body");
    }

    #[test]
    fn what_is_not_the_whole_body_is_no_success() {
        for pieces in [
            &[b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n\x00\x01" as &[u8]] as &'static [&'static [u8]],
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\x00\x01", b"\x02"],
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00"],
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00\x02"],
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x01\x01"],
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00\x01\x02"],
            &[b"HTTP/1.1 200 OK\r\n\r\n\x00\x01"],
            &[b"\x00\x01"],
            &[],
        ] {
            assert!(fetch_from(pieces, 2).is_err(), "{pieces:?}");
        }
    }
}
