//! What comes from another process or another machine: workers, `groma serve` and its clients, the
//! peers of network benchmarks.

use groma_benches::wire;
use groma_harness::handshake::{Client, Server, Step};
use groma_harness::protocol::{is_complete, read_job, read_result, write_job, write_result};
use groma_model::Job;

/// A worker's job, `harness/protocol.rs`.
pub fn worker_job(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok((parent, job)) = read_job(text) else { return };
    let written = write_job(parent, &job);
    let (again, same) = read_job(&written).expect("what was written can be read");
    assert_eq!(again, parent);
    // Compared as text because NaN is not equal to itself; the token is not in the debug text.
    assert_eq!(debug_of_job(&same), debug_of_job(&job));
    assert_eq!(write_job(again, &same), written, "writing is a fixed point");
    // A job without its end, or with extra text, is not accepted as complete.
    for more in ["x", "0", "{}"] {
        assert!(read_job(&format!("{text}{more}")).is_err(), "{more} after the end was accepted");
    }
    assert!(read_job(&written[..written.len() - 2]).is_err(), "a job without its end");
}

fn debug_of_job(job: &Job) -> String {
    format!("{job:?} {:?}", job.remote.as_ref().map(|r| &r.token))
}

/// A worker's result, `harness/protocol.rs`.
pub fn worker_result(data: &[u8]) {
    assert_eq!(is_complete(data), data.ends_with(b"\n"));

    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(result) = read_result(text) else { return };
    let written = write_result(&result);
    assert!(is_complete(written.as_bytes()) && written.matches('\n').count() == 1);
    // As text, since NaN is not equal to itself.
    let same = read_result(&written).expect("what was written can be read");
    assert_eq!(format!("{same:?}"), format!("{result:?}"));
    assert_eq!(write_result(&same), written, "writing is a fixed point");
    for more in ["x", "0", "{}"] {
        assert!(read_result(&format!("{text}{more}")).is_err(), "{more} after the end was accepted");
    }
    assert!(read_result(&written[..written.len() - 2]).is_err(), "a result without its end");
}

/// The handshake of `groma serve` and its clients, `harness/handshake.rs`. Without the token,
/// neither side accepts any text as a proof, however it is split; with it, honest sides always
/// agree.
pub fn handshake(data: &[u8]) {
    const SECRET: &str = "a token that nobody said";
    let Some((&cut, said)) = data.split_first() else { return };
    // A stranger to the server: nonces are fresh, so nothing in the input can be a proof.
    let mut server = Server::new().expect("a nonce");
    for piece in said.chunks(usize::from(cut).max(1)) {
        match server.take(piece, SECRET) {
            Step::Wait => {}
            Step::Say(line) => {
                assert!(line.starts_with("nonce\t") && line.ends_with('\n') && line.len() == 71, "{line:?}");
            }
            Step::Welcome(line) => panic!("a stranger is welcome: {line}"),
            Step::Close(told) => {
                assert!(["", "refused\n"].contains(&told), "{told:?}");
                break;
            }
        }
    }
    // A stranger to the client: the input is the server's first and second line.
    let Ok(text) = std::str::from_utf8(said) else { return };
    let (first, second) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok((proof, proven)) = Client::new().expect("a nonce").prove(first, SECRET) {
        assert!(proof.starts_with("proof\t") && proof.ends_with('\n') && proof.len() == 71, "{proof:?}");
        assert!(proven.check(second).is_err(), "a stranger is taken for a server");
    }
    // Two honest sides: the input is the server's token; the client has the same one or another.
    // HMAC keys are padded with zeros to a block of the hash, so tokens that differ only in
    // trailing zeros are equal; no argument can contain a zero. Longer ones are hashed instead.
    let key = |token: &str| match token.len() {
        ..=64 => token.trim_end_matches('\0').to_owned(),
        _ => token.to_owned(),
    };
    for own in [text, second] {
        let client = Client::new().expect("a nonce");
        let mut server = Server::new().expect("a nonce");
        let Step::Say(nonce) = server.take(client.greeting().as_bytes(), text) else {
            panic!("a greeting is not answered");
        };
        let (proof, proven) = client.prove(nonce.trim_end(), own).expect("a server's line");
        match server.take(proof.as_bytes(), text) {
            Step::Welcome(line) => {
                assert_eq!(key(own), key(text), "another token is welcome");
                proven.check(line.trim_end()).expect("an honest server");
            }
            step => {
                assert_eq!(step, Step::Close("refused\n"));
                assert_ne!(key(own), key(text), "the right token is refused");
            }
        }
    }
}

/// Remote procedure calls, `benches/rpc`: as a datagram, as a reply, and as a stream in pieces.
pub fn rpc(data: &[u8]) {
    let mut reply = [0xa5; wire::ROOM];
    if let Some(bytes) = wire::rpc_answer(data, &mut reply) {
        assert!(bytes == 24 || bytes == 32, "{bytes}");
        assert_eq!(reply[..4], data[..4], "the answer names its call");
        assert!(reply[bytes..].iter().all(|b| *b == 0xa5), "more was written than said");
        // Succeeds exactly when it is the call of procedure NULL, whatever the credentials.
        let mut plain = <[u8; wire::CALL_BYTES]>::try_from(data).expect("a call has one length");
        plain[24..28].fill(0);
        plain[32..36].fill(0);
        let xid = u32::from_be_bytes(plain[..4].try_into().expect("four bytes"));
        let is_null = plain == wire::rpc_call(xid);
        assert_eq!(wire::rpc_succeeded(&reply[..bytes]).ok(), is_null.then_some(xid));
    }
    if let Ok(xid) = wire::rpc_succeeded(data) {
        let mut expected = [0; 64];
        let bytes = wire::rpc_answer(&wire::rpc_call(xid), &mut expected).expect("a call gets an answer");
        assert_eq!(data, &expected[..bytes], "one text for one success");
    }
    let Some((&cut, stream)) = data.split_first() else { return };
    for respond in [wire::rpc_respond, wire::bare_respond] {
        let whole = served(respond, [stream].into_iter());
        let cut = usize::from(cut) % (stream.len() + 1);
        let pieces = served(respond, [&stream[..cut], &stream[cut..]].into_iter());
        assert_eq!(whole, pieces, "how a stream is cut does not matter");
    }
}

type Respond = fn(&[u8], &mut [u8]) -> std::io::Result<Option<(usize, usize)>>;

/// All replies to a stream, and whether it ended in an error.
fn served<'a>(respond: Respond, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let (mut have, mut answers, mut to) = (Vec::new(), Vec::new(), [0; wire::ROOM]);
    for piece in pieces {
        have.extend_from_slice(piece);
        loop {
            match respond(&have, &mut to) {
                Ok(Some((used, bytes))) => {
                    assert!(used > 0 && used <= have.len() && bytes <= to.len(), "{used} of {}, {bytes}", have.len());
                    answers.extend_from_slice(&to[..bytes]);
                    have.drain(..used);
                }
                Ok(None) => break,
                Err(_) => return (answers, true),
            }
        }
    }
    // Incomplete data is shorter than a call, so the server's buffer always has space.
    assert!(have.len() < wire::ROOM / 2, "{} bytes wait", have.len());
    (answers, false)
}

/// HTTP heads, `benches/http/message.rs`, and what a path asks of the server.
pub fn http(data: &[u8]) {
    let naive = (0..data.len()).find(|&at| data[at..].starts_with(b"\r\n\r\n")).map(|at| at + 4);
    let found = wire::http_head_bytes(data);
    assert_eq!(found, naive);
    let head = found.map_or(data, |end| &data[..end]);

    if let Some((path, close)) = wire::http_read_request(head) {
        assert!(!path.is_empty() && path.bytes().all(|b| b.is_ascii_graphic()), "{path:?} is not a path");
        let again = wire::http_request(path, close);
        assert_eq!(wire::http_head_bytes(&again), Some(again.len()));
        assert_eq!(wire::http_read_request(&again), Some((path, close)));
        if let Some(bytes) = wire::http_body_bytes(path) {
            assert!(bytes as u64 <= wire::MAX_BODY);
            assert!(path.ends_with(|c: char| c.is_ascii_digit()), "{path:?}");
        }
    }
    if let Some((status, length)) = wire::http_read_response(head) {
        assert!((100..=999).contains(&status), "{status}");
        // A head that leaves the length of its body in doubt is rejected: RFC 9112, 6.3.
        let text = std::str::from_utf8(head).expect("what is accepted is text");
        let fields = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        for (_, told) in fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            let told = told.trim_matches([' ', '\t']);
            assert!(told.bytes().all(|b| b.is_ascii_digit()), "{told:?} is not a length");
            assert_eq!(told.parse(), Ok(length), "two lengths");
        }
        let again = wire::http_response(&status.to_string(), length, false);
        assert_eq!(wire::http_read_response(again.as_bytes()), Some((status, length)));
    }
}
