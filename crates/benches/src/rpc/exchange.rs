//! Both sides of a call and its answer, over either transport.
//!
//! RPC and the bare exchange that is its control make the same system calls; they differ only in
//! how they fill and check the bytes.

use super::onc::{self, CALL_BYTES, MARK_BYTES, REPLY_BYTES};
use crate::peer::{Service, Session, Transport};
use groma_harness::sys::io::{read, read_full, write_full};
use groma_harness::sys::net;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

pub(super) static RPC_TCP: Service = Service { name: "rpc.null.tcp", transport: Transport::Tcp, serve: rpc_tcp };
pub(super) static RPC_UDP: Service = Service { name: "rpc.null.udp", transport: Transport::Udp, serve: rpc_udp };
pub(super) static BARE_TCP: Service = Service { name: "rpc.null.bare_tcp", transport: Transport::Tcp, serve: bare_tcp };
pub(super) static BARE_UDP: Service = Service { name: "rpc.null.bare_udp", transport: Transport::Udp, serve: bare_udp };

/// How long an answer may take before the datagram counts as lost: far longer than delays on a busy
/// machine.
const LOST: Duration = Duration::from_secs(1);
/// Attempts at a call before the server counts as gone.
const TRIES: u32 = 5;
/// How often a UDP server checks whether its client has gone without ending the exchange.
const LOOK: Duration = Duration::from_millis(200);

/// Bytes of an answer on this transport.
pub(super) fn answer_bytes(transport: Transport) -> usize {
    match transport {
        Transport::Tcp => MARK_BYTES + REPLY_BYTES,
        Transport::Udp => REPLY_BYTES,
    }
}

/// Writes a message of the bare exchange: its number, and no other content.
pub(super) fn number(number: u32, to: &mut [u8]) {
    to[..4].copy_from_slice(&number.to_be_bytes());
}

/// The number that a bare answer belongs to.
///
/// # Errors
/// `InvalidData` if the answer is too short for a number, which no complete answer is.
pub(super) fn answer_number(answer: &[u8]) -> io::Result<u32> {
    answer.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses what has been read and writes an answer. Returns the bytes consumed by the call and the
/// bytes of the answer; `None` while the call is incomplete.
type Respond = fn(&[u8], &mut [u8]) -> io::Result<Option<(usize, usize)>>;

fn rpc_tcp(session: Session) -> io::Result<()> {
    serve_tcp(&session, respond_rpc)
}

pub(crate) fn respond_rpc(read: &[u8], to: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(mark) = read.first_chunk::<MARK_BYTES>() else { return Ok(None) };
    if *mark != onc::mark(CALL_BYTES) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not a call without arguments"));
    }
    let Some(call) = read.get(MARK_BYTES..MARK_BYTES + CALL_BYTES) else { return Ok(None) };
    let len = onc::answer(call, &mut to[MARK_BYTES..]).ok_or(io::ErrorKind::InvalidData)?;
    to[..MARK_BYTES].copy_from_slice(&onc::mark(len));
    Ok(Some((MARK_BYTES + CALL_BYTES, MARK_BYTES + len)))
}

fn bare_tcp(session: Session) -> io::Result<()> {
    serve_tcp(&session, respond_bare)
}

pub(crate) fn respond_bare(read: &[u8], to: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(call) = read.get(..MARK_BYTES + CALL_BYTES) else { return Ok(None) };
    let answer = &mut to[..MARK_BYTES + REPLY_BYTES];
    answer.copy_from_slice(&call[..answer.len()]);
    answer[..MARK_BYTES].copy_from_slice(&onc::mark(REPLY_BYTES));
    Ok(Some((call.len(), answer.len())))
}

fn rpc_udp(session: Session) -> io::Result<()> {
    serve_udp(&session, |read, to| Ok(onc::answer(read, to).map(|len| (read.len(), len))))
}

fn bare_udp(session: Session) -> io::Result<()> {
    serve_udp(&session, |read, to| {
        let Some(answer) = read.get(..REPLY_BYTES) else { return Ok(None) };
        to[..REPLY_BYTES].copy_from_slice(answer);
        Ok(Some((read.len(), REPLY_BYTES)))
    })
}

/// Bytes of a buffer: enough for several calls, or for one answer.
pub(crate) const ROOM: usize = 1 << 10;

/// Serves one connection after the other, each until its client resets it.
fn serve_tcp(session: &Session, respond: Respond) -> io::Result<()> {
    while let Some(connection) = session.accept()? {
        connection.set_nodelay(true)?;
        let (mut input, mut output) = ([0; ROOM], [0; ROOM]);
        let mut have = 0;
        loop {
            match read(connection.as_fd(), &mut input[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => break,
                Err(e) => return Err(e),
            }
            // A call is far shorter than the buffer, so there is always space left.
            let mut done = 0;
            while let Some((used, answer)) = respond(&input[done..have], &mut output)? {
                write_full(connection.as_fd(), &output[..answer])?;
                done += used;
            }
            input.copy_within(done..have, 0);
            have -= done;
        }
    }
    Ok(())
}

/// Serves one datagram after the other, until the client sends an empty one or is gone.
fn serve_udp(session: &Session, respond: Respond) -> io::Result<()> {
    let socket = session.udp()?;
    socket.set_read_timeout(Some(LOOK))?;
    let (mut input, mut output) = ([0; ROOM], [0; ROOM]);
    let mut client = None;
    loop {
        let (n, from) = match socket.recv_from(&mut input) {
            Ok(received) => received,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && session.is_over() => return Ok(()),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => continue,
            Err(e) => return Err(e),
        };
        if !session.is_client(from.ip()) || client.is_some_and(|known| known != from) {
            continue;
        }
        if n == 0 && client.is_some() {
            return Ok(());
        }
        if let Some((_, answer)) = respond(&input[..n], &mut output)? {
            client = Some(from);
            socket.send_to(&output[..answer], from)?;
        }
    }
}

/// The client: makes calls, numbered from 1.
pub(super) struct Calls {
    socket: Connected,
    last: u32,
    again: u64,
}

enum Connected {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// The counts of a client that has ended.
pub(super) struct End {
    /// Calls whose answer was checked.
    pub answered: u64,
    /// Datagrams or TCP segments that were sent again.
    pub again: u64,
    /// Bytes received, as counted by TCP; `None` where it does not count them, or for datagrams.
    pub received: Option<u64>,
}

impl Calls {
    pub(super) fn connect(transport: Transport, to: SocketAddr) -> io::Result<Calls> {
        let socket = match transport {
            Transport::Tcp => {
                let stream = TcpStream::connect(to)?;
                stream.set_nodelay(true)?;
                net::reset_on_close(stream.as_fd())?;
                Connected::Tcp(stream)
            }
            Transport::Udp => {
                let any: SocketAddr =
                    if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
                let socket = UdpSocket::bind(any)?;
                socket.connect(to)?;
                socket.set_read_timeout(Some(LOST))?;
                Connected::Udp(socket)
            }
        };
        Ok(Calls { socket, last: 0, again: 0 })
    }

    /// Makes the next call: `fill` writes it, `number` parses the number of its answer.
    #[inline]
    pub(super) fn call(&mut self, fill: fn(u32, &mut [u8]), number: fn(&[u8]) -> io::Result<u32>) -> io::Result<()> {
        let expected = self.last.wrapping_add(1);
        let (mut call, mut answer) = ([0; MARK_BYTES + CALL_BYTES], [0; MARK_BYTES + REPLY_BYTES]);
        let got = match &self.socket {
            Connected::Tcp(stream) => {
                call[..MARK_BYTES].copy_from_slice(&onc::mark(CALL_BYTES));
                fill(expected, &mut call[MARK_BYTES..]);
                write_full(stream.as_fd(), &call)?;
                read_full(stream.as_fd(), &mut answer)?;
                if answer[..MARK_BYTES] != onc::mark(REPLY_BYTES) {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer has another length"));
                }
                number(&answer[MARK_BYTES..])?
            }
            Connected::Udp(socket) => {
                fill(expected, &mut call[..CALL_BYTES]);
                ask(socket, &call[..CALL_BYTES], &mut answer[..REPLY_BYTES], expected, number, &mut self.again)?
            }
        };
        if got != expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer does not match the last call"));
        }
        self.last = expected;
        Ok(())
    }

    pub(super) fn end(self) -> io::Result<End> {
        let mut end = End { answered: u64::from(self.last), again: self.again, received: None };
        match &self.socket {
            Connected::Tcp(stream) => {
                let tcp = net::connection(stream.as_fd())?;
                (end.again, end.received) = (tcp.retransmits, tcp.received);
            }
            Connected::Udp(socket) => drop(socket.send(&[])?),
        }
        Ok(end)
    }
}

/// Sends the datagram until it is answered; answers to earlier ones are skipped.
fn ask(
    socket: &UdpSocket,
    call: &[u8],
    answer: &mut [u8],
    expected: u32,
    number: fn(&[u8]) -> io::Result<u32>,
    again: &mut u64,
) -> io::Result<u32> {
    for attempt in 0..TRIES {
        *again += u64::from(attempt > 0);
        socket.send(call)?;
        loop {
            match socket.recv(answer) {
                Ok(n) if n != answer.len() => return Err(io::ErrorKind::InvalidData.into()),
                Ok(_) => {
                    let got = number(answer)?;
                    if got == expected {
                        return Ok(got);
                    }
                    // The server also answers repetitions. Without any, a different number is an
                    // error.
                    if *again == 0 {
                        return Ok(got);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // A socket with a timeout is not resumed after a signal, not even by SA_RESTART.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer to {TRIES} tries")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Limits, Socket};
    use groma_harness::sys::io::pipe;

    /// Runs the server in a thread; its default stack would be larger than needed.
    fn beside<T: Send + 'static>(side: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
        groma_harness::sys::thread::spawn(256 << 10, side).expect("a thread")
    }

    fn local(transport: Transport) -> Socket {
        Socket::bind(transport, (Ipv4Addr::LOCALHOST, 0).into()).expect("loopback")
    }

    #[test]
    fn a_call_that_comes_in_pieces_or_with_others_is_answered() {
        let socket = local(Transport::Tcp);
        let to = socket.address().expect("bound");
        let (hold, held) = pipe().expect("pipe");
        let server = beside(|| rpc_tcp(Session { socket, hold, client: None, limits: Limits::default() }));
        let stream = TcpStream::connect(to).expect("connect");
        let mut calls = Vec::new();
        for xid in [5, 6] {
            calls.extend(onc::mark(CALL_BYTES));
            calls.extend([0; CALL_BYTES]);
            let at = calls.len() - CALL_BYTES;
            onc::call(xid, &mut calls[at..]);
        }
        for piece in [&calls[..2], &calls[2..30], &calls[30..]] {
            write_full(stream.as_fd(), piece).expect("write");
            std::thread::sleep(Duration::from_millis(5));
        }
        for xid in [5, 6] {
            let mut answer = [0; MARK_BYTES + REPLY_BYTES];
            read_full(stream.as_fd(), &mut answer).expect("read");
            assert_eq!(answer[..MARK_BYTES], onc::mark(REPLY_BYTES));
            assert_eq!(onc::successful_transaction(&answer[MARK_BYTES..]).expect("success"), xid);
        }
        drop((stream, held));
        server.join().expect("no panic").expect("it ended well");
    }

    #[test]
    fn an_answer_of_another_length_is_an_error() {
        let server = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        let mut calls = Calls::connect(Transport::Tcp, server.local_addr().expect("bound")).expect("connect");
        let answering = beside(move || {
            let (stream, _) = server.accept().expect("the client");
            let (mut call, mut answer) = ([0; MARK_BYTES + CALL_BYTES], [0; MARK_BYTES + REPLY_BYTES]);
            for claimed in [REPLY_BYTES, REPLY_BYTES + 4] {
                read_full(stream.as_fd(), &mut call).expect("a call");
                onc::answer(&call[MARK_BYTES..], &mut answer[MARK_BYTES..]).expect("it is one");
                answer[..MARK_BYTES].copy_from_slice(&onc::mark(claimed));
                write_full(stream.as_fd(), &answer).expect("write");
            }
        });
        calls.call(onc::call, onc::successful_transaction).expect("the length is right");
        let wrong = calls.call(onc::call, onc::successful_transaction).expect_err("the length is wrong");
        assert_eq!(wrong.kind(), io::ErrorKind::InvalidData);
        answering.join().expect("no panic");
    }

    #[test]
    fn a_lost_datagram_is_sent_again_and_counted() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let mut calls = Calls::connect(Transport::Udp, server.local_addr().expect("bound")).expect("connect");
        let answering = beside(move || {
            let (mut input, mut output) = ([0; ROOM], [0; ROOM]);
            // The first is lost, the second is answered twice, and the next one once.
            server.recv_from(&mut input).expect("the first");
            for times in [2, 1] {
                let (n, from) = server.recv_from(&mut input).expect("another");
                let len = onc::answer(&input[..n], &mut output).expect("a call");
                for _ in 0..times {
                    server.send_to(&output[..len], from).expect("send");
                }
            }
        });
        for _ in 0..2 {
            calls.call(onc::call, onc::successful_transaction).expect("answered in the end");
        }
        let end = calls.end().expect("the end");
        assert_eq!((end.answered, end.again), (2, 1));
        answering.join().expect("no panic");
    }

    #[test]
    fn an_answer_to_another_call_is_a_failure() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let mut calls = Calls::connect(Transport::Udp, server.local_addr().expect("bound")).expect("connect");
        let answering = beside(move || {
            let mut input = [0; ROOM];
            let (_, from) = server.recv_from(&mut input).expect("the call");
            input[3] ^= 2;
            server.send_to(&input[..REPLY_BYTES], from).expect("send");
        });
        let seen = calls.call(number, answer_number).map_err(|e| e.kind());
        assert_eq!(seen, Err(io::ErrorKind::InvalidData));
        answering.join().expect("no panic");
    }

    #[test]
    fn a_server_whose_client_is_gone_ends() {
        for serve in [rpc_udp, bare_udp] {
            let socket = local(Transport::Udp);
            let (hold, held) = pipe().expect("pipe");
            let server = beside(move || serve(Session { socket, hold, client: None, limits: Limits::default() }));
            drop(held);
            server.join().expect("no panic").expect("it ended well");
        }
    }
}
