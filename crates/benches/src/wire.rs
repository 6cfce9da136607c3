//! The parsers of what comes over the network, for the fuzz targets in `fuzz/`; nothing else uses this module.

use crate::http::message;
use crate::http::server::{self, Named, named};
use crate::rpc::{exchange, onc};
use std::io;

/// Bytes of a head of HTTP, at most.
pub const HEAD_MOST: usize = message::HEAD_MOST;
/// Bytes of a body of HTTP, at most.
pub const BODY_MOST: u64 = server::BODY_MOST;
/// The server's buffer for calls, and the one for answers.
pub const ROOM: usize = exchange::ROOM;
/// Bytes of a call.
pub const CALL_BYTES: usize = onc::CALL_BYTES;
/// Bytes of the answer to a call that succeeded.
pub const REPLY_BYTES: usize = onc::REPLY_BYTES;

/// A request for that path.
pub fn http_request(path: &str, close: bool) -> Vec<u8> {
    message::request(path, close)
}

/// The head of a response.
pub fn http_response(status: &str, length: u64, close: bool) -> String {
    let mut head = String::new();
    message::response(status, length, close, &mut head);
    head
}

/// How many bytes a head takes, once it is complete.
pub fn http_head_bytes(read: &[u8]) -> Option<usize> {
    message::head_bytes(read)
}

/// The path of a request, and whether it is the last on its connection.
pub fn http_read_request(head: &[u8]) -> Option<(&str, bool)> {
    message::read_request(head).map(|asked| (asked.path, asked.close))
}

/// The status and the length of a response.
pub fn http_read_response(head: &[u8]) -> Option<(u16, u64)> {
    message::read_response(head)
}

/// How long a body the server makes for a path.
pub fn http_body_bytes(path: &str) -> Option<usize> {
    match named(path) {
        Named::Memory(length) | Named::File(length) => Some(length),
        Named::Usage | Named::Nothing => None,
    }
}

/// A call of procedure NULL.
pub fn rpc_call(xid: u32) -> [u8; CALL_BYTES] {
    let mut call = [0; CALL_BYTES];
    onc::call(xid, &mut call);
    call
}

/// The server's answer to a call: its length.
pub fn rpc_answer(call: &[u8], to: &mut [u8]) -> Option<usize> {
    onc::answer(call, to)
}

/// The transaction that a successful answer belongs to.
///
/// # Errors
/// When it is not an answer, or the answer to a call that failed.
pub fn rpc_succeeded(reply: &[u8]) -> io::Result<u32> {
    onc::succeeded(reply)
}

/// The server of calls over TCP: how many bytes of what was read make a call, and how many the answer has.
///
/// # Errors
/// When what was read is not a call.
pub fn rpc_respond(read: &[u8], to: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
    exchange::respond_rpc(read, to)
}

/// The same for the bare exchange.
///
/// # Errors
/// None so far.
pub fn bare_respond(read: &[u8], to: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
    exchange::respond_bare(read, to)
}
