//! A small HTTP/1.1 server, the peer of this family's benchmark.
//!
//! It is a separate process that serves one client at a time. It answers three kinds of paths and
//! looks up nothing in a file system:
//! - `/memory/BYTES` is a body from a buffer.
//! - `/file/BYTES` is the same body by `sendfile` from a file in memory.
//! - `/usage` is 16 bytes: the server's CPU time in nanoseconds, and the number of bodies that it
//!   has sent.
//!
//! Any other path gets a 404. A request that is not an HTTP/1.1 `GET` gets a 400 and ends the
//! connection.

use super::message::{self, Asked, MAX_HEAD, read_request};
use crate::peer::{Service, Session, Transport};
use groma_harness::sys::counters::thread_cpu_ns;
use groma_harness::sys::io::{read, write_full};
use groma_harness::sys::socket::send_more;
use groma_harness::sys::splice::{memory_file, sendfile_full};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

pub(super) static SERVICE: Service = Service { name: "http.get", transport: Transport::Tcp, serve };

/// Bytes of the longest body.
pub(crate) const MAX_BODY: u64 = 64 << 20;

/// The byte at this offset of every body. Neighbours differ, and so do blocks whose size is a power
/// of two.
pub(super) fn byte_at(place: u64) -> u8 {
    (place % 251) as u8
}

/// The data of bodies, as long as the longest requested so far.
#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    file: Option<(File, usize)>,
    /// Bodies sent in full.
    sent: u64,
}

impl Content {
    fn bytes(&mut self, length: usize) -> &[u8] {
        let have = self.bytes.len();
        self.bytes.extend((have..length).map(|place| byte_at(place as u64)));
        &self.bytes[..length]
    }

    fn file(&mut self, length: usize) -> io::Result<&File> {
        if self.file.as_ref().is_none_or(|(_, holds)| *holds < length) {
            let file = memory_file()?;
            file.write_all_at(self.bytes(length), 0)?;
            self.file = Some((file, length));
        }
        self.file.as_ref().map(|(file, _)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The resource that a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Memory(usize),
    File(usize),
    Usage,
    Nothing,
}

pub(crate) fn parse_name(path: &str) -> Named {
    let length = |digits: &str| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|n| plain && *n <= MAX_BODY).map(|n| n as usize)
    };
    if path == "/usage" {
        return Named::Usage;
    }
    let memory = path.strip_prefix("/memory/").and_then(length).map(Named::Memory);
    memory.or_else(|| path.strip_prefix("/file/").and_then(length).map(Named::File)).unwrap_or(Named::Nothing)
}

fn serve(session: Session) -> io::Result<()> {
    let mut content = Content::default();
    while let Some(connection) = session.accept()? {
        match talk(&connection, &mut content) {
            Ok(()) => {}
            // Clients close by a reset, to leave no port in TIME_WAIT.
            Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Answers one request after the other until the client closes, or asks to close.
fn talk(connection: &TcpStream, content: &mut Content) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut input = [0; MAX_HEAD];
    let mut have = 0;
    let mut head = String::new();
    loop {
        let end = loop {
            if let Some(end) = message::head_bytes(&input[..have]) {
                break end;
            }
            match read(connection.as_fd(), &mut input[have..])? {
                // The client has closed, or its head exceeds the buffer.
                0 => return Ok(()),
                n => have += n,
            }
        };
        let Some(Asked { path, close }) = read_request(&input[..end]) else {
            message::response("400 Bad Request", 0, true, &mut head);
            return write_full(connection.as_fd(), head.as_bytes());
        };
        match parse_name(path) {
            Named::Memory(length) => {
                message::response("200 OK", length as u64, close, &mut head);
                write_both(connection, head.as_bytes(), content.bytes(length))?;
                content.sent += 1;
            }
            Named::File(length) => {
                message::response("200 OK", length as u64, close, &mut head);
                let file = content.file(length)?;
                if length == 0 {
                    write_full(connection.as_fd(), head.as_bytes())?;
                } else {
                    let sent = send_more(connection.as_fd(), head.as_bytes())?;
                    write_full(connection.as_fd(), &head.as_bytes()[sent..])?;
                    sendfile_full(connection.as_fd(), file.as_fd(), 0, length)?;
                }
                content.sent += 1;
            }
            Named::Usage => {
                let usage = [thread_cpu_ns(), content.sent].map(u64::to_be_bytes);
                let usage = usage.as_flattened();
                message::response("200 OK", usage.len() as u64, close, &mut head);
                write_both(connection, head.as_bytes(), usage)?;
            }
            Named::Nothing => {
                message::response("404 Not Found", 0, close, &mut head);
                write_full(connection.as_fd(), head.as_bytes())?;
            }
        }
        if close {
            return Ok(());
        }
        input.copy_within(end..have, 0);
        have -= end;
    }
}

/// Writes head and body by one call, and more only where the socket takes less.
fn write_both(mut connection: &TcpStream, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut parts = [IoSlice::new(head), IoSlice::new(body)];
    let mut left = &mut parts[..];
    while !left.is_empty() {
        match connection.write_vectored(left)? {
            0 if left.iter().any(|part| !part.is_empty()) => return Err(io::ErrorKind::WriteZero.into()),
            n => IoSlice::advance_slices(&mut left, n),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_path_is_a_number_or_nothing() {
        assert_eq!(parse_name("/memory/0"), Named::Memory(0));
        assert_eq!(parse_name("/file/1048576"), Named::File(1 << 20));
        assert_eq!(parse_name("/usage"), Named::Usage);
        for path in [
            "",
            "/",
            "/memory/",
            "/memory/-1",
            "/memory/+1",
            "/memory/1/",
            "/file/../../etc/passwd",
            "/file/67108865",
            "/file/99999999999999999999",
            "/usage/",
            "usage",
        ] {
            assert_eq!(parse_name(path), Named::Nothing, "{path:?}");
        }
    }

    #[test]
    fn content_grows_and_stays_the_same() {
        let mut content = Content::default();
        for length in [10, 1000, 5] {
            let bytes = content.bytes(length).to_vec();
            assert_eq!(bytes.len(), length);
            assert!((0..).zip(&bytes).all(|(place, byte)| *byte == byte_at(place)));
            let mut read = vec![0; length];
            content.file(length).expect("a file").read_exact_at(&mut read, 0).expect("as long as that");
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn a_file_is_written_once_for_all_requests_that_it_is_long_enough_for() {
        let mut content = Content::default();
        let mut inode = |length| {
            let file = content.file(length).expect("a file in memory");
            file.metadata().expect("fstat").ino()
        };
        let written = inode(1000);
        assert_eq!([inode(1000), inode(10), inode(1000)], [written; 3]);
        assert_ne!(inode(1001), written);
    }
}
