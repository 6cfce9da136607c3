//! The part of HTTP/1.1 (RFC 9112) that a `GET` needs: requests and response heads.
//!
//! Input is bounded: a head has at most [`MAX_HEAD`] bytes, and a body is as long as
//! Content-Length says.

use std::fmt::Write;

/// The most bytes in a head.
pub(crate) const MAX_HEAD: usize = 1 << 10;

/// A request for `path`; `close` announces that no other will follow on this connection.
pub(crate) fn request(path: &str, close: bool) -> Vec<u8> {
    let connection = if close { "Connection: close\r\n" } else { "" };
    format!("GET {path} HTTP/1.1\r\nHost: groma\r\n{connection}\r\n").into_bytes()
}

/// Writes the head of a response.
pub(crate) fn response(status: &str, length: u64, close: bool, to: &mut String) {
    to.clear();
    let connection = if close { "Connection: close\r\n" } else { "" };
    // Writing to a string does not fail.
    let _ = write!(
        to,
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {length}\r\n{connection}\r\n"
    );
}

/// The length of the head, including its empty line; `None` while it is incomplete.
pub(crate) fn head_bytes(read: &[u8]) -> Option<usize> {
    read.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The parts of a request that the server needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    pub path: &'a str,
    pub close: bool,
}

/// Parses the head of a request; `None` unless it is an HTTP/1.1 `GET`.
pub(crate) fn read_request(head: &[u8]) -> Option<Asked<'_>> {
    let (line, fields) = lines(head)?;
    let mut words = line.split(' ');
    let (Some("GET"), Some(path), Some("HTTP/1.1"), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return None;
    };
    // An empty path, or one with control characters, is not a request target (RFC 9112, 3.2).
    if path.is_empty() || !path.bytes().all(|b| b.is_ascii_graphic()) {
        return None;
    }
    Some(Asked { path, close: values(fields, "connection").any(|v| v.eq_ignore_ascii_case("close")) })
}

/// Parses the head of a response: its status and the length of its body.
pub(crate) fn read_response(head: &[u8]) -> Option<(u16, u64)> {
    let (line, fields) = lines(head)?;
    let status = line.strip_prefix("HTTP/1.1 ")?.split(' ').next()?;
    if status.len() != 3 || status.starts_with('0') {
        return None;
    }
    // With two different lengths, two readers would see different bodies (RFC 9112, 6.3).
    let mut lengths = values(fields, "content-length");
    let length = lengths.next()?;
    lengths.all(|other| other == length).then_some((number(status)? as u16, number(length)?))
}

/// A number in HTTP: digits only, where Rust would also accept a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Splits a head into its first line and the fields below it.
fn lines(head: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(head).ok()?.split_once("\r\n")
}

/// The values of all fields named `name`.
fn values<'a>(fields: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let all = fields.split("\r\n").filter_map(|line| line.split_once(':'));
    all.filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_matches([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for close in [true, false] {
            let bytes = request("/memory/1024", close);
            assert_eq!(head_bytes(&bytes), Some(bytes.len()));
            assert_eq!(read_request(&bytes), Some(Asked { path: "/memory/1024", close }));
            assert_eq!(head_bytes(&bytes[..bytes.len() - 1]), None, "not complete");
        }
    }

    #[test]
    fn a_response_is_read_as_it_was_written() {
        let mut head = String::new();
        response("200 OK", 1 << 20, false, &mut head);
        assert_eq!(read_response(head.as_bytes()), Some((200, 1 << 20)));
        response("404 Not Found", 0, true, &mut head);
        assert_eq!(read_response(head.as_bytes()), Some((404, 0)));
    }

    #[test]
    fn what_is_no_http_is_refused() {
        for request in [
            "POST / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "",
            "GET  HTTP/1.1\r\n\r\n",
            "GET /\x1b HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(read_request(request.as_bytes()), None, "{request:?}");
        }
        for response in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 +20 OK\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 000 OK\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "200 OK\r\nContent-Length: 1\r\n\r\n",
        ] {
            assert_eq!(read_response(response.as_bytes()), None, "{response:?}");
        }
        assert_eq!(read_request(&[b'G', 0xff, b'\r', b'\n']), None);
    }
}
