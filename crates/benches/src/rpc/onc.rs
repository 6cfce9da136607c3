//! The part of ONC RPC version 2 (RFC 5531) that a call without arguments needs.
//!
//! That is the call, its answer, and the record mark that precedes both on TCP. All fields are
//! big-endian 32-bit words.

use std::io;

/// The program number: the first of those that RFC 5531 (section 13) leaves to users.
const PROGRAM: u32 = 0x2000_0000;
const PROGRAM_VERSION: u32 = 1;
/// Procedure 0, which by convention does nothing in every program.
const NULL: u32 = 0;

const RPC_VERSION: u32 = 2;
const CALL: u32 = 0;
const REPLY: u32 = 1;
const AUTH_NONE: u32 = 0;
const MSG_ACCEPTED: u32 = 0;
const MSG_DENIED: u32 = 1;
const RPC_MISMATCH: u32 = 0;
const SUCCESS: u32 = 0;
const PROG_UNAVAIL: u32 = 1;
const PROG_MISMATCH: u32 = 2;
const PROC_UNAVAIL: u32 = 3;

/// Bytes of a call without arguments.
pub(crate) const CALL_BYTES: usize = 40;
/// Bytes of the answer to a call that succeeded.
pub(crate) const REPLY_BYTES: usize = 24;
/// Bytes of a record mark.
pub(crate) const MARK_BYTES: usize = 4;
/// The bit of a record mark that announces the last fragment.
const LAST_FRAGMENT: u32 = 1 << 31;

/// The mark of a record that is a single fragment of `bytes` bytes.
pub(crate) fn mark(bytes: usize) -> [u8; MARK_BYTES] {
    (LAST_FRAGMENT | bytes as u32).to_be_bytes()
}

fn put<const WORDS: usize>(words: [u32; WORDS], to: &mut [u8]) {
    for (bytes, word) in to.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
}

fn get<const WORDS: usize>(from: &[u8]) -> Option<[u32; WORDS]> {
    let (words, rest) = from.as_chunks::<4>();
    (words.len() == WORDS && rest.is_empty()).then(|| std::array::from_fn(|i| u32::from_be_bytes(words[i])))
}

/// Writes the call of procedure NULL with this transaction number, without credentials or
/// arguments.
pub(crate) fn call(xid: u32, to: &mut [u8]) {
    put([xid, CALL, RPC_VERSION, PROGRAM, PROGRAM_VERSION, NULL, AUTH_NONE, 0, AUTH_NONE, 0], to);
}

/// The server: parses a call and writes its answer. Returns the length of the answer, or `None` if
/// this is not a call and gets no answer.
pub(crate) fn answer(call: &[u8], to: &mut [u8]) -> Option<usize> {
    let [xid, CALL, rpc, program, version, procedure, _, 0, _, 0] = get(call)? else { return None };
    if rpc != RPC_VERSION {
        put([xid, REPLY, MSG_DENIED, RPC_MISMATCH, RPC_VERSION, RPC_VERSION], to);
        return Some(24);
    }
    let status = match (program, version, procedure) {
        (PROGRAM, PROGRAM_VERSION, NULL) => SUCCESS,
        (PROGRAM, PROGRAM_VERSION, _) => PROC_UNAVAIL,
        (PROGRAM, ..) => {
            put([xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, PROG_MISMATCH, PROGRAM_VERSION, PROGRAM_VERSION], to);
            return Some(32);
        }
        _ => PROG_UNAVAIL,
    };
    put([xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, status], to);
    Some(REPLY_BYTES)
}

/// The transaction number of a successful answer.
///
/// # Errors
/// `InvalidData` if it is not an answer, or answers a call that was denied or failed.
pub(crate) fn successful_transaction(reply: &[u8]) -> io::Result<u32> {
    match get(reply) {
        Some([xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, SUCCESS]) => Ok(xid),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer says that the call did not succeed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_be_bytes(*b)).collect()
    }

    #[test]
    fn a_call_is_as_the_standard_has_it() {
        let mut bytes = [0xff; CALL_BYTES];
        call(0x0102_0304, &mut bytes);
        assert_eq!(words(&bytes), [0x0102_0304, 0, 2, 0x2000_0000, 1, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[..4], [1, 2, 3, 4], "the most significant byte first");
        assert_eq!(mark(40), [0x80, 0, 0, 40]);
    }

    #[test]
    fn an_answer_belongs_to_its_call() {
        let (mut bytes, mut reply) = ([0; CALL_BYTES], [0xff; 64]);
        call(77, &mut bytes);
        assert_eq!(answer(&bytes, &mut reply), Some(REPLY_BYTES));
        assert_eq!(words(&reply[..REPLY_BYTES]), [77, 1, 0, 0, 0, 0]);
        assert_eq!(successful_transaction(&reply[..REPLY_BYTES]).expect("it succeeded"), 77);
    }

    #[test]
    fn every_call_but_the_right_one_is_refused_in_its_own_way() {
        for (word, value, status, bytes) in [
            (2, 3, vec![9, 1, 1, 0, 2, 2], 24),
            (3, 100_003, vec![9, 1, 0, 0, 0, 1], 24),
            (4, 2, vec![9, 1, 0, 0, 0, 2, 1, 1], 32),
            (5, 1, vec![9, 1, 0, 0, 0, 3], 24),
        ] {
            let (mut call_bytes, mut reply) = ([0; CALL_BYTES], [0xff; 64]);
            call(9, &mut call_bytes);
            call_bytes[word * 4..][..4].copy_from_slice(&u32::to_be_bytes(value));
            assert_eq!(answer(&call_bytes, &mut reply), Some(bytes), "word {word}");
            assert_eq!(words(&reply[..bytes]), status);
            assert!(successful_transaction(&reply[..bytes]).is_err());
        }
        let mut reply = [0; 64];
        assert_eq!(answer(b"GET / HTTP/1.1\r\n\r\n", &mut reply), None);
        let mut call_bytes = [0; CALL_BYTES];
        call(9, &mut call_bytes);
        assert_eq!(answer(&call_bytes[..36], &mut reply), None);
        call_bytes[4..8].copy_from_slice(&REPLY.to_be_bytes());
        assert_eq!(answer(&call_bytes, &mut reply), None, "an answer is no call");
    }
}
