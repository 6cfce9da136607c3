//! How a client and a `groma serve` prove to each other that they have the same token, which itself
//! never crosses the network.
//!
//! ```text
//! client: groma <protocol> <client's nonce>
//! server: nonce <server's nonce>
//! client: proof <HMAC of the token over "client", protocol and both nonces>
//! server: welcome <HMAC of the token over "server", protocol and both nonces> <protocol> <version>
//!         or: refused, with a reason only where the proof is right
//! ```
//!
//! Lines of text, their words separated by tabs; nonces and proofs in hexadecimal digits. The
//! client proves itself first, so that a stranger gets nothing but a random number: no proof that
//! it could try tokens on, no version. Both nonces are fresh, so that a recorded proof is of no
//! use; the role is part of what is proven, so that a reflected one is of no use either. The
//! protocol's number is part of it as well, and is compared only once both sides have proven
//! themselves.
//!
//! This is not encryption. Whoever can change packets on their way can take the connection over
//! after the handshake, and who poses as the server gets a proof on which it can try tokens. A
//! password-authenticated key exchange would prevent the latter; [`SHORTEST_TOKEN`] makes it
//! useless for the price of one rule.
//!
//! No input or output happens here, which is why both sides can be tested without a network.

use crate::sys::random;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::io;

/// Grows with every change of the lines between client and server, here or in [`crate::remote`].
pub const PROTOCOL: u32 = 2;
/// Both sides have to be of one version: they are two halves of one benchmark.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Characters of the shortest token that may be used beyond the loopback. Sixteen random
/// hexadecimal digits have 64 bits: at 10^10 tries a second, about what one graphics card computes
/// of HMAC-SHA-256 with short keys, half of them take 29 years.
pub const SHORTEST_TOKEN: usize = 16;
/// No line of a handshake is longer: the greeting, the longest that a server reads, has at most 81
/// bytes.
const LONGEST_LINE: usize = 128;

/// A random number that is used once.
type Nonce = [u8; 32];

/// Whether a token is long enough to be used beyond the loopback.
pub fn is_long_enough(token: &str) -> bool {
    token.chars().count() >= SHORTEST_TOKEN
}

/// What both proofs are about.
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

/// In a time that does not depend on where the two differ.
fn is_proof(mac: Hmac<Sha256>, digits: &str) -> bool {
    nonce(digits).is_some_and(|bytes| mac.verify_slice(&bytes).is_ok())
}

/// Bytes as lower-case digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The 32 bytes of a nonce or a proof.
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

/// Why a client does not talk to a server, or is not talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// What was said is no line of a handshake.
    NoServer,
    /// It refused the greeting, as servers of protocol 1 do.
    OldServer,
    /// It did not take our proof.
    WrongToken,
    /// It took our proof, and turns us away all the same; why, in its own words.
    TurnedAway(String),
    /// It took our proof, and has none.
    NoProof,
    /// It is another version; its name is what it said, unchecked.
    OtherVersion(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoServer => f.write_str("what listens there is no groma serve"),
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

/// The client's side, before it has been answered.
#[derive(Debug)]
pub struct Client {
    nonce: Nonce,
}

impl Client {
    /// With a fresh nonce.
    ///
    /// # Errors
    /// When the kernel has no random numbers.
    pub fn new() -> io::Result<Client> {
        Ok(Client { nonce: random::bytes()? })
    }

    /// What to say first.
    pub fn greeting(&self) -> String {
        format!("groma\t{PROTOCOL}\t{}\n", hexadecimal(&self.nonce))
    }

    /// What to say to the server's first line.
    ///
    /// # Errors
    /// When that is not the line of a server of this protocol.
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

/// The client's side, which has proven that it has the token.
pub struct ProvenClient {
    expected: Hmac<Sha256>,
}

impl fmt::Debug for ProvenClient {
    /// Without its key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProvenClient")
    }
}

impl ProvenClient {
    /// Looks at the server's second line: whether it takes us, and whether it is what it claims to
    /// be.
    ///
    /// # Errors
    /// When it does not, or is not.
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

/// The server's side: fed with whatever comes, in whatever pieces; it holds one line at most.
#[derive(Debug)]
pub struct Server {
    line: Vec<u8>,
    nonce: Nonce,
    /// What has to be proven, once the client has greeted.
    exchange: Option<Exchange>,
}

/// What a server does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Waits for the rest of a line.
    Wait,
    /// Says this and waits.
    Say(String),
    /// Says this; the client has proven that it has the token.
    Welcome(String),
    /// Says this, if anything, and closes the connection.
    Close(&'static str),
}

impl Server {
    /// With a fresh nonce.
    ///
    /// # Errors
    /// When the kernel has no random numbers.
    pub fn new() -> io::Result<Server> {
        Ok(Server { line: Vec::new(), nonce: random::bytes()?, exchange: None })
    }

    /// Takes what has come from the client.
    pub fn take(&mut self, bytes: &[u8], token: &str) -> Step {
        self.line.extend_from_slice(&bytes[..bytes.len().min(LONGEST_LINE + 1 - self.line.len())]);
        match self.line.iter().position(|byte| *byte == b'\n') {
            None if self.line.len() <= LONGEST_LINE => Step::Wait,
            // A client waits for the answer to each of its lines: what says more at once is none.
            Some(end) if end + 1 == self.line.len() => {
                let line = std::mem::take(&mut self.line);
                self.heard(&line[..end], token)
            }
            _ => Step::Close(""),
        }
    }

    fn heard(&mut self, line: &[u8], token: &str) -> Step {
        // Whoever speaks another language is told nothing, not even that this is groma.
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

    /// A line without its end, as it is heard.
    fn heard(line: &str) -> &str {
        line.strip_suffix('\n').expect("a whole line")
    }

    fn said(step: Step) -> String {
        match step {
            Step::Say(line) | Step::Welcome(line) => line,
            other => panic!("{other:?}"),
        }
    }

    /// The lines of one handshake: greeting, nonce, proof, and what the server makes of it.
    fn shaken(client: &str, server: &str) -> (String, String, String, Step, ProvenClient) {
        let (one, mut other) = (Client::new().expect("a nonce"), Server::new().expect("a nonce"));
        let greeting = one.greeting();
        let nonce = said(other.take(greeting.as_bytes(), server));
        let (proof, one) = one.prove(heard(&nonce), client).expect("a nonce");
        let step = other.take(proof.as_bytes(), server);
        (greeting, nonce, proof, step, one)
    }

    #[test]
    fn the_same_token_opens_and_every_other_is_refused() {
        for token in [TOKEN, ""] {
            let (.., step, one) = shaken(token, token);
            assert_eq!(one.check(heard(&said(step))), Ok(()));
        }
        // HMAC pads its keys with zeros and hashes long ones; neither makes two of these alike.
        let long = "x".repeat(65);
        for (client, server) in [("", TOKEN), (TOKEN, ""), ("0123456789abcdeF", TOKEN), (&long, &long[1..])] {
            let (.., step, one) = shaken(client, server);
            assert_eq!(step, Step::Close("refused\n"));
            assert_eq!(one.check("refused"), Err(Failure::WrongToken));
        }
    }

    /// Computed with Python's `hmac` and `hashlib`: both sides could be wrong in the same way.
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
        // Its own nonce, and its own proof, come back to the client.
        let nonce = one.greeting().replace(&format!("groma\t{PROTOCOL}\t"), "nonce\t");
        let (proof, one) = one.prove(heard(&nonce), TOKEN).expect("a nonce");
        let reflected = heard(&proof).replace("proof", "welcome");
        assert_eq!(one.check(&format!("{reflected}\t{PROTOCOL}\t{VERSION}")), Err(Failure::NoProof));

        let one = Client::new().expect("a nonce");
        let (_, one) = one.prove(heard(&nonce), TOKEN).expect("a nonce");
        assert_eq!(one.check(heard(&said(recorded))), Err(Failure::NoProof));
    }

    #[test]
    fn another_protocol_is_told_after_the_token_only() {
        let mut server = Server::new().expect("a nonce");
        let client = [7; 32];
        let nonce = said(server.take(format!("groma\t99\t{}\n", hexadecimal(&client)).as_bytes(), TOKEN));
        assert!(!nonce.contains(VERSION));
        let exchange = Exchange { protocol: 99, client, server: server.nonce };
        // A proof for one protocol is none for another.
        let other = Exchange { protocol: 98, ..exchange };
        assert_ne!(proof(exchange.of_client(TOKEN)), proof(other.of_client(TOKEN)));
        let welcome = said(server.take(format!("proof\t{}\n", proof(exchange.of_client(TOKEN))).as_bytes(), TOKEN));
        let told = format!("\t{PROTOCOL}\t{VERSION}\n");
        assert!(welcome.ends_with(&told), "{welcome}");

        let (.., step, one) = shaken(TOKEN, TOKEN);
        let newer = said(step).replace(&told, "\t99\t9.9");
        let failure = one.check(&newer).expect_err("another version");
        assert!(failure.to_string().starts_with("it is groma 9.9 with protocol 99, this is groma"), "{failure}");
    }

    #[test]
    fn lines_come_in_pieces_and_everything_else_is_told_nothing() {
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
        // However much comes without an end, no more than one line is held.
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
