//! The handshake: client and `groma serve` prove that they have the same token, without sending it.
//!
//! ```text
//! client: groma <protocol> <client's nonce>
//! server: nonce <server's nonce>
//! client: proof <HMAC of the token over "client", protocol and both nonces>
//! server: welcome <HMAC of the token over "server", protocol and both nonces> <protocol> <version>
//!         or: refused, with a reason only where the proof is right
//! ```
//!
//! The lines are text with tab-separated words; nonces and proofs are hexadecimal. The client
//! proves itself first, so an unauthenticated client gets nothing but a random number: no version,
//! and no proof for guessing tokens offline. Fresh nonces on both sides prevent replay; the role in
//! the proof prevents reflection. The proof also covers the protocol number, which is compared only
//! after both sides have proven themselves.
//!
//! This is not encryption. An attacker who can modify packets can take over the connection after
//! the handshake. An attacker who poses as the server gets a proof for guessing tokens offline. A
//! password-authenticated key exchange would prevent the latter; [`SHORTEST_TOKEN`] makes it
//! impractical with a single rule.
//!
//! This module does no I/O, so both sides can be tested without a network.

use crate::sys::random;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::io;

/// The protocol number, which grows with every change of the protocol here, in
/// [`crate::remote`], or between a service and its client.
pub const PROTOCOL: u32 = 3;
/// The version of groma. Both sides must have the same: they are two halves of one benchmark.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The minimum length, in characters, of a token for other addresses than the loopback's. Sixteen
/// random hexadecimal digits are 64 bits: at 10^10 guesses per second, about the rate of one
/// graphics card for HMAC-SHA-256 with short keys, trying half of them takes 29 years.
pub const SHORTEST_TOKEN: usize = 16;
/// No line of a handshake is longer: the greeting, the longest that a server reads, has at most 81
/// bytes.
const LONGEST_LINE: usize = 128;

/// A random number that is used only once.
type Nonce = [u8; 32];

/// Whether a token is long enough for other addresses than the loopback's.
pub fn is_long_enough(token: &str) -> bool {
    token.chars().count() >= SHORTEST_TOKEN
}

/// The values that both proofs cover.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    protocol: u32,
    client: Nonce,
    server: Nonce,
}

impl Exchange {
    /// Every part but the token has a fixed length: no two exchanges, and no two roles, have the
    /// same bytes.
    fn mac(&self, role: &[u8; 6], token: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).expect("HMAC takes keys of any length");
        for part in [&b"groma serve handshake\0"[..], role, &self.protocol.to_be_bytes(), &self.client, &self.server] {
            mac.update(part);
        }
        mac
    }

    fn of_client(&self, token: &str) -> Hmac<Sha256> {
        self.mac(b"client", token)
    }

    fn of_server(&self, token: &str) -> Hmac<Sha256> {
        self.mac(b"server", token)
    }
}

fn proof(mac: Hmac<Sha256>) -> String {
    hexadecimal(&mac.finalize().into_bytes())
}

/// Whether the digits are this proof, compared in constant time.
fn is_proof(mac: Hmac<Sha256>, digits: &str) -> bool {
    nonce(digits).is_some_and(|bytes| mac.verify_slice(&bytes).is_ok())
}

/// Bytes as lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the 32 bytes of a nonce or a proof.
fn nonce(digits: &str) -> Option<Nonce> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != size_of::<Nonce>() {
        return None;
    }
    let mut bytes = Nonce::default();
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        *byte = (value(pair[0])? << 4 | value(pair[1])?) as u8;
    }
    Some(bytes)
}

/// Why the handshake failed on the client's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The line is not part of a handshake.
    NoServer,
    /// The server refused the greeting, as servers of protocol 1 do.
    OldServer,
    /// The server did not accept the client's proof.
    WrongToken,
    /// The server accepted the proof but refused the client, for this reason in its own words.
    TurnedAway(String),
    /// The server accepted the proof but sent no valid proof of its own.
    NoProof,
    /// The server has another version, whose name is untrusted text.
    OtherVersion(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoServer => f.write_str("what listens there is not a groma serve"),
            Failure::OldServer => f.write_str("an older groma serve listens there: use one version on both machines"),
            Failure::WrongToken => f.write_str("the token is wrong (--token)"),
            Failure::TurnedAway(why) => write!(f, "the groma serve there turns this client away: {why}"),
            Failure::NoProof => f.write_str("what listens there cannot prove that it has the token (--token)"),
            Failure::OtherVersion(name) => {
                write!(f, "it is {name}, this is groma {VERSION} with protocol {PROTOCOL}: use one version")
            }
        }
    }
}

/// The client's side, before the first answer.
#[derive(Debug)]
pub struct Client {
    nonce: Nonce,
}

impl Client {
    /// A client with a fresh nonce.
    ///
    /// # Errors
    /// If the kernel provides no random numbers.
    pub fn new() -> io::Result<Client> {
        Ok(Client { nonce: random::bytes()? })
    }

    /// The first line to send.
    pub fn greeting(&self) -> String {
        format!("groma\t{PROTOCOL}\t{}\n", hexadecimal(&self.nonce))
    }

    /// The answer to the server's first line.
    ///
    /// # Errors
    /// If that line is not from a server with this handshake.
    pub fn prove(self, line: &str, token: &str) -> Result<(String, ProvenClient), Failure> {
        let server = match line.split_once('\t') {
            Some(("nonce", digits)) => nonce(digits).ok_or(Failure::NoServer)?,
            Some(("refused", _)) => return Err(Failure::OldServer),
            _ => return Err(Failure::NoServer),
        };
        let exchange = Exchange { protocol: PROTOCOL, client: self.nonce, server };
        let said = format!("proof\t{}\n", proof(exchange.of_client(token)));
        Ok((said, ProvenClient { expected: exchange.of_server(token) }))
    }
}

/// The client's side, after it has sent its proof.
pub struct ProvenClient {
    expected: Hmac<Sha256>,
}

impl fmt::Debug for ProvenClient {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProvenClient")
    }
}

impl ProvenClient {
    /// Looks at the server's second line: whether it takes us, and whether it is what it claims to
    /// be.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(self, line: &str) -> Result<(), Failure> {
        let words: Vec<&str> = line.splitn(4, '\t').collect();
        match words[..] {
            ["refused"] => Err(Failure::WrongToken),
            ["refused", why] => Err(Failure::TurnedAway(why.to_owned())),
            ["welcome", digits, protocol, version] => {
                if !is_proof(self.expected, digits) {
                    return Err(Failure::NoProof);
                }
                if (protocol, version) != (PROTOCOL.to_string().as_str(), VERSION) {
                    return Err(Failure::OtherVersion(format!("groma {version} with protocol {protocol}")));
                }
                Ok(())
            }
            _ => Err(Failure::NoServer),
        }
    }
}

/// The server's side. It accepts input in pieces of any size and holds one line at most.
#[derive(Debug)]
pub struct Server {
    line: Vec<u8>,
    nonce: Nonce,
    /// What the client has to prove, once it has sent its greeting.
    exchange: Option<Exchange>,
}

/// The next action of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Wait for the rest of a line.
    Wait,
    /// Send this line and wait.
    Say(String),
    /// Send this line; the client has proven that it has the token.
    Welcome(String),
    /// Send this, if it is not empty, and close the connection.
    Close(&'static str),
}

impl Server {
    /// A server with a fresh nonce.
    ///
    /// # Errors
    /// If the kernel provides no random numbers.
    pub fn new() -> io::Result<Server> {
        Ok(Server { line: Vec::new(), nonce: random::bytes()?, exchange: None })
    }

    /// Processes input from the client.
    pub fn take(&mut self, bytes: &[u8], token: &str) -> Step {
        self.line.extend_from_slice(&bytes[..bytes.len().min(LONGEST_LINE + 1 - self.line.len())]);
        match self.line.iter().position(|byte| *byte == b'\n') {
            None if self.line.len() <= LONGEST_LINE => Step::Wait,
            // A client waits for the answer to each line; more input at once is not from a client.
            Some(end) if end + 1 == self.line.len() => {
                let line = std::mem::take(&mut self.line);
                self.answer_to(&line[..end], token)
            }
            _ => Step::Close(""),
        }
    }

    fn answer_to(&mut self, line: &[u8], token: &str) -> Step {
        // Other protocols get no answer, not even that this is groma.
        let Ok(line) = std::str::from_utf8(line) else { return Step::Close("") };
        let words: Vec<&str> = line.split('\t').collect();
        match (&self.exchange, &words[..]) {
            (None, ["groma", protocol, digits]) => {
                let (Ok(protocol), Some(client)) = (protocol.parse(), nonce(digits)) else { return Step::Close("") };
                self.exchange = Some(Exchange { protocol, client, server: self.nonce });
                Step::Say(format!("nonce\t{}\n", hexadecimal(&self.nonce)))
            }
            (Some(exchange), ["proof", digits]) => {
                if !is_proof(exchange.of_client(token), digits) {
                    return Step::Close("refused\n");
                }
                let own = proof(exchange.of_server(token));
                Step::Welcome(format!("welcome\t{own}\t{PROTOCOL}\t{VERSION}\n"))
            }
            _ => Step::Close(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    /// A line without its line break, as the peer reads it.
    fn line_of(line: &str) -> &str {
        line.strip_suffix('\n').expect("a whole line")
    }

    fn answer_of(step: Step) -> String {
        match step {
            Step::Say(line) | Step::Welcome(line) => line,
            other => panic!("{other:?}"),
        }
    }

    /// The parts of one handshake: greeting, nonce, proof, and the server's next step.
    fn shaken(client: &str, server: &str) -> (String, String, String, Step, ProvenClient) {
        let (one, mut other) = (Client::new().expect("a nonce"), Server::new().expect("a nonce"));
        let greeting = one.greeting();
        let nonce = answer_of(other.take(greeting.as_bytes(), server));
        let (proof, one) = one.prove(line_of(&nonce), client).expect("a nonce");
        let step = other.take(proof.as_bytes(), server);
        (greeting, nonce, proof, step, one)
    }

    #[test]
    fn the_same_token_opens_and_every_other_is_refused() {
        for token in [TOKEN, ""] {
            let (.., step, one) = shaken(token, token);
            assert_eq!(one.check(line_of(&answer_of(step))), Ok(()));
        }
        // HMAC pads short keys with zeros and hashes long ones; neither makes two of these equal.
        let long = "x".repeat(65);
        for (client, server) in [("", TOKEN), (TOKEN, ""), ("0123456789abcdeF", TOKEN), (&long, &long[1..])] {
            let (.., step, one) = shaken(client, server);
            assert_eq!(step, Step::Close("refused\n"));
            assert_eq!(one.check("refused"), Err(Failure::WrongToken));
        }
        let (.., one) = shaken(TOKEN, TOKEN);
        assert_eq!(one.check("refused\ttoo many sessions"), Err(Failure::TurnedAway("too many sessions".to_owned())));
    }

    /// Expected values from Python's `hmac` and `hashlib`, because both sides here could share an
    /// error.
    #[test]
    fn proofs_are_those_of_hmac_sha_256() {
        let exchange = Exchange { protocol: 2, client: [1; 32], server: [2; 32] };
        assert_eq!(
            proof(exchange.of_client(TOKEN)),
            "be05da545e7422606c9838e139aa7a9b9c984c6ddc9e829b81cefd9f7998b3f9"
        );
        assert_eq!(
            proof(exchange.of_server(TOKEN)),
            "2164071ee53ede29281969ec4fc128bba5e1c5dd3e72c44016fcdcfd8d23cf8a"
        );
    }

    #[test]
    fn a_recorded_proof_is_refused() {
        let (greeting, _, proof, step, _) = shaken(TOKEN, TOKEN);
        assert!(matches!(step, Step::Welcome(_)));
        let mut again = Server::new().expect("a nonce");
        assert!(matches!(again.take(greeting.as_bytes(), TOKEN), Step::Say(_)));
        assert_eq!(again.take(proof.as_bytes(), TOKEN), Step::Close("refused\n"));
    }

    #[test]
    fn a_server_that_reflects_or_replays_has_no_proof() {
        let (.., recorded, _) = shaken(TOKEN, TOKEN);
        let one = Client::new().expect("a nonce");
        // The server returns to the client the client's own nonce and proof.
        let nonce = one.greeting().replace(&format!("groma\t{PROTOCOL}\t"), "nonce\t");
        let (proof, one) = one.prove(line_of(&nonce), TOKEN).expect("a nonce");
        let reflected = line_of(&proof).replace("proof", "welcome");
        assert_eq!(one.check(&format!("{reflected}\t{PROTOCOL}\t{VERSION}")), Err(Failure::NoProof));

        let one = Client::new().expect("a nonce");
        let (_, one) = one.prove(line_of(&nonce), TOKEN).expect("a nonce");
        assert_eq!(one.check(line_of(&answer_of(recorded))), Err(Failure::NoProof));
    }

    #[test]
    fn a_protocol_mismatch_is_revealed_only_after_the_token() {
        let mut server = Server::new().expect("a nonce");
        let client = [7; 32];
        let nonce = answer_of(server.take(format!("groma\t99\t{}\n", hexadecimal(&client)).as_bytes(), TOKEN));
        assert!(!nonce.contains(VERSION));
        let exchange = Exchange { protocol: 99, client, server: server.nonce };
        // A proof for one protocol number is not valid for another.
        let other = Exchange { protocol: 98, ..exchange };
        assert_ne!(proof(exchange.of_client(TOKEN)), proof(other.of_client(TOKEN)));
        let welcome =
            answer_of(server.take(format!("proof\t{}\n", proof(exchange.of_client(TOKEN))).as_bytes(), TOKEN));
        let told = format!("\t{PROTOCOL}\t{VERSION}\n");
        assert!(welcome.ends_with(&told), "{welcome}");

        let (.., step, one) = shaken(TOKEN, TOKEN);
        let newer = answer_of(step).replace(&told, "\t99\t9.9");
        let failure = one.check(&newer).expect_err("another version");
        assert!(failure.to_string().starts_with("it is groma 9.9 with protocol 99, this is groma"), "{failure}");
    }

    #[test]
    fn split_lines_are_joined_and_anything_else_gets_no_answer() {
        let mut server = Server::new().expect("a nonce");
        let greeting = Client::new().expect("a nonce").greeting();
        let (last, pieces) = greeting.as_bytes().split_last().expect("bytes");
        assert!(pieces.iter().all(|byte| server.take(&[*byte], TOKEN) == Step::Wait));
        assert!(matches!(server.take(&[*last], TOKEN), Step::Say(_)));

        let digits = "00".repeat(32);
        let proof = format!("proof\t{digits}\n");
        for text in [
            "GET / HTTP/1.1\r\n\r\n",
            "groma\t1\t0.1.0\ttoken\n",
            &format!("groma\t2\t{}\n", &digits[1..]),
            &format!("groma\t2\t{digits}\tmore\n"),
            &format!("groma\t-2\t{digits}\n"),
            &format!("groma\t2\t{}é\n", &digits[2..]),
            &format!("{greeting}{proof}"),
            &proof,
            &"x".repeat(LONGEST_LINE + 1),
            "\n",
        ] {
            assert_eq!(Server::new().expect("a nonce").take(text.as_bytes(), TOKEN), Step::Close(""), "{text:?}");
        }
        assert_eq!(Server::new().expect("a nonce").take(b"\xff\n", TOKEN), Step::Close(""));
        // However much input comes without a line break, no more than one line is held.
        let mut server = Server::new().expect("a nonce");
        for _ in 0..3 {
            server.take(&[b'x'; 4096], TOKEN);
        }
        assert_eq!(server.line.len(), LONGEST_LINE + 1);
        let refusal = Client::new().expect("a nonce").prove("refused\tit is groma 0.1.0 with protocol 1", TOKEN);
        assert_eq!(refusal.map(|_| ()), Err(Failure::OldServer));
    }

    #[test]
    fn nonces_are_fresh_and_nothing_shows_the_token() {
        let (first, second) = (shaken(TOKEN, TOKEN), shaken(TOKEN, TOKEN));
        for (a, b) in [(&first.0, &second.0), (&first.1, &second.1), (&first.2, &second.2)] {
            assert_ne!(a, b);
            assert!(!a.contains(TOKEN) && !a.contains(&hexadecimal(TOKEN.as_bytes())));
        }
        assert!(!format!("{:?}", first.4).contains(TOKEN));
        assert!(is_long_enough(TOKEN) && !is_long_enough(&TOKEN[1..]));
    }
}
