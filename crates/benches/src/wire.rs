//! The parsers of network input, exported for the fuzz targets in `fuzz/`; nothing else uses this
//! module.

use crate::http::message;
use crate::http::server::{self, Named, parse_name};
use crate::rpc::{exchange, onc};
use std::io;

/// The most bytes in the head of an HTTP message.
pub const MAX_HEAD: usize = message::MAX_HEAD;
/// The most bytes in an HTTP body.
pub const MAX_BODY: u64 = server::MAX_BODY;
/// Bytes in the server's buffer for calls, and in the one for answers.
pub const ROOM: usize = exchange::ROOM;
/// Bytes of a call.
pub const CALL_BYTES: usize = onc::CALL_BYTES;
/// Bytes of the answer to a call that succeeded.
pub const REPLY_BYTES: usize = onc::REPLY_BYTES;

/// A request for `path`.
pub fn http_request(path: &str, close: bool) -> Vec<u8> {
    message::request(path, close)
}

/// The head of a response.
pub fn http_response(status: &str, length: u64, close: bool) -> String {
    let mut head = String::new();
    message::response(status, length, close, &mut head);
    head
}

/// The length of the head, once it is complete.
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

/// The length of the body that the server returns for a path.
pub fn http_body_bytes(path: &str) -> Option<usize> {
    match parse_name(path) {
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

/// Writes the server's answer to a call and returns its length.
pub fn rpc_answer(call: &[u8], to: &mut [u8]) -> Option<usize> {
    onc::answer(call, to)
}

/// The transaction number of a successful answer.
///
/// # Errors
/// When it is not an answer, or the answer to a call that failed.
pub fn rpc_succeeded(reply: &[u8]) -> io::Result<u32> {
    onc::successful_transaction(reply)
}

/// The server of calls over TCP: returns the bytes consumed by a call and the bytes of its answer.
///
/// # Errors
/// When what was read is not a call.
pub fn rpc_respond(read: &[u8], to: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
    exchange::respond_rpc(read, to)
}

/// The same for the bare exchange that is the control.
///
/// # Errors
/// None so far.
pub fn bare_respond(read: &[u8], to: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
    exchange::respond_bare(read, to)
}
