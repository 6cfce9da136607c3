//! The server's side of one control connection: a process of its own, started by `groma serve` as a worker is by `groma run`.
//!
//! It greets, and forks the service that is asked for. The parent watches the control connection: when that ends, whatever
//! ended it, the service is told and a moment later ended, and its port is gone with it. It dies with `groma serve`, and at
//! its deadline; the service dies with it.

use crate::remote::{Control, PROTOCOL, Service, Session, Socket, VERSION};
use crate::sys::process::{self, Exit};
use crate::sys::{facts, fork, io as sysio, signals};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// The argument with which `groma serve` starts itself for a session; its standard input is the control connection.
pub const ARGUMENT: &str = "__session";
/// The variables of its environment: the token that is wanted, and the process that asks.
pub const TOKEN: &str = "GROMA_SESSION_TOKEN";
/// As above.
pub const PARENT: &str = "GROMA_SESSION_PARENT";

/// The longest that one session may take.
const DEADLINE: Duration = Duration::from_secs(900);
/// A service that is told to end has this long to do so.
const GRACE: Duration = Duration::from_secs(2);
/// What a client is told of this machine.
const FACTS: [&str; 5] = ["host.name", "kernel.release", "cpu.model", "cpus.allowed", "virtualization.kind"];

/// Serves the client at the other end of standard input and exits.
pub fn main(services: &[&Service]) -> ! {
    fork::enforce_one_thread();
    signals::keep_children();
    let code = match session(services) {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("groma: a session ended: {e}");
            1
        }
    };
    fork::exit_now(code)
}

fn session(services: &[&Service]) -> io::Result<()> {
    let variable =
        |name| std::env::var(name).map_err(|_| io::Error::other(format!("{ARGUMENT} is for groma's own use")));
    let parent = variable(PARENT)?.parse().map_err(io::Error::other)?;
    process::die_with_parent(parent)?;
    let token = variable(TOKEN)?;
    let mut control = Control::accepted(TcpStream::from(sysio::duplicate(0)?))?;
    // Descriptor 0 names the same connection, which would then not end with `control`.
    sysio::redirect(std::fs::File::open("/dev/null")?.as_fd(), 0)?;
    if let Err(why) = greeting(&control.hear()?, &token) {
        return control.say(&format!("refused\t{why}\n"));
    }
    control.say(&format!("welcome\t{VERSION}\n"))?;
    loop {
        let line = match control.hear() {
            // Whoever only looks whether somebody is there goes without a word.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            line => line?,
        };
        match line.split_once('\t') {
            None if line == "facts" => {
                for (key, value) in facts::facts().iter().filter(|(key, _)| FACTS.contains(&key.as_str())) {
                    control.say(&format!("fact\t{key}\t{value}\n"))?;
                }
                control.say("end\n")?;
            }
            Some(("service", name)) => match services.iter().find(|s| s.name == name) {
                Some(service) => return serve(service, control),
                None => control.say(&format!("refused\tthere is no service '{name}'\n"))?,
            },
            _ => return control.say("refused\tthat is no word of a session\n"),
        }
    }
}

/// Why a client is not welcome.
fn greeting(line: &str, token: &str) -> Result<(), String> {
    let mut parts = line.splitn(4, '\t');
    let (program, protocol, version) = (parts.next(), parts.next(), parts.next());
    if program != Some("groma") {
        return Err("this is groma serve, and that was no greeting".to_owned());
    }
    if (protocol, version) != (Some(PROTOCOL.to_string().as_str()), Some(VERSION)) {
        let (protocol, version) = (protocol.unwrap_or("?"), version.unwrap_or("?"));
        return Err(format!(
            "it is groma {VERSION} with protocol {PROTOCOL}, you are groma {version} with protocol {protocol}: use one version"
        ));
    }
    if !same(parts.next().unwrap_or("").as_bytes(), token.as_bytes()) {
        return Err("the token is wrong (--token)".to_owned());
    }
    Ok(())
}

/// Whether two secrets are equal, in a time that tells nothing of where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let bytes = (0..a.len().max(b.len())).map(|i| (a.get(i).copied().unwrap_or(0), b.get(i).copied().unwrap_or(0)));
    let differing = bytes.fold(0, |bits, (a, b)| bits | std::hint::black_box(a ^ b));
    differing == 0 && a.len() == b.len()
}

/// Binds, forks the service, and watches over it until client, service or deadline ends.
fn serve(service: &Service, mut control: Control) -> io::Result<()> {
    let mut at = control.connection().local_addr()?;
    at.set_port(0);
    let client = control.connection().peer_addr()?.ip();
    let socket = Socket::bind(service.transport, at)?;
    let port = socket.address()?.port();
    // The service sees the end of one pipe when its client is gone; we see the end of the other when it has ended.
    let (hold, held) = sysio::pipe()?;
    let (alive, living) = sysio::pipe()?;
    let serve = service.serve;
    let child = fork::fork(|| {
        fork::close_copies(&[held.as_fd(), alive.as_fd(), control.connection().as_fd()]);
        match serve(Session { socket, hold, client: Some(client) }) {
            Ok(()) => 0,
            Err(e) => {
                eprintln!("groma: the service {} ended: {e}", service.name);
                1
            }
        }
    })?;
    drop(living);
    control.say(&format!("port\t{port}\n"))?;
    control.connection().set_read_timeout(Some(DEADLINE))?;

    let until = Instant::now() + DEADLINE;
    let mut asked = false;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its time is over"));
        }
        let ready = sysio::readable(&[control.connection().as_fd(), alive.as_fd()], left);
        if ready.contains(&0) {
            asked = control.hear().is_ok_and(|line| line == "end");
            break;
        }
        if !ready.is_empty() {
            break;
        }
    }
    let exit = end(child, held, &alive)?;
    if !asked {
        // The client may ask later how it was; it may also be gone, which a read tells.
        asked = control.hear().is_ok_and(|line| line == "end");
    }
    if asked {
        let how = if exit.success() { "well".to_owned() } else { exit.to_string() };
        control.say(&format!("ended\t{how}\n"))?;
        // The client closes first, by a reset, so that no port waits; it may take a moment.
        let _ = sysio::readable(&[control.connection().as_fd()], GRACE);
    }
    Ok(())
}

/// Tells the service, gives it a moment, and ends it.
fn end(child: fork::Child, held: OwnedFd, alive: &OwnedFd) -> io::Result<Exit> {
    drop(held);
    if sysio::readable(&[alive.as_fd()], GRACE).is_empty() { child.stop() } else { child.wait() }
}
