//! A session: the server's end of one control connection, in a process of its own.
//!
//! It forks the service that is asked for. The parent watches the control connection: when that
//! ends for any reason, the service is asked to end, and is killed a moment later; its port closes
//! with it. It dies with `groma serve`, and at its deadline, which counts from its start; the
//! service dies with it.

use crate::remote::{Control, FACTS, Limits, PATIENCE, Service, Session, Socket, printable};
use crate::sys::process::{self, Exit};
use crate::sys::{facts, fork, io as sysio};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// The argument with which `groma serve` starts itself for a session; its standard input is the
/// control connection.
pub const ARGUMENT: &str = "__session";
/// The environment variable with the id of the parent process.
pub const PARENT: &str = "GROMA_SESSION_PARENT";
/// The environment variable with the maximum duration of the session, in milliseconds.
pub const DEADLINE: &str = "GROMA_SESSION_DEADLINE_MS";

/// How long a service may take to end after it was asked to.
pub const GRACE: Duration = Duration::from_secs(2);
/// The most requests in one session. A client needs two: facts or a service, and its end.
/// Collecting the facts takes milliseconds of CPU time.
const MAX_REQUESTS: usize = 8;

/// Serves the client at the other end of standard input and exits.
pub fn main(services: &[&Service]) -> ! {
    fork::enforce_one_thread();
    crate::worker::take_defaults();
    let code = match session(services) {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("groma: a session ended: {}", printable(&e.to_string()));
            1
        }
    };
    fork::exit_now(code)
}

/// Reads a number from an environment variable.
fn number<T: std::str::FromStr>(name: &str) -> io::Result<T> {
    let value = std::env::var(name).ok().and_then(|value| value.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("{ARGUMENT} is for groma's own use")))
}

fn session(services: &[&Service]) -> io::Result<()> {
    let start = Instant::now();
    process::die_with_parent(number(PARENT)?)?;
    let until = start + Duration::from_millis(number(DEADLINE)?);
    let mut control = Control::over(TcpStream::from(sysio::duplicate(0)?), until)?;
    // Descriptor 0 is the same connection, and would keep it open after `control` is dropped.
    sysio::redirect(std::fs::File::open("/dev/null")?.as_fd(), 0)?;
    let mut facts_asked = false;
    for _ in 0..MAX_REQUESTS {
        control.set_deadline(until.min(Instant::now() + PATIENCE));
        let line = match control.read_line() {
            // A client that only checks for a server disconnects without a request.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            line => line?,
        };
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["facts"] if !facts_asked => {
                facts_asked = true;
                for (key, value) in facts::facts().iter().filter(|(key, _)| FACTS.contains(&key.as_str())) {
                    control.send_line(&format!("fact\t{key}\t{}\n", printable(value)))?;
                }
                control.send_line("end\n")?;
            }
            ["service", name, size, count] => {
                let (Ok(size), Ok(count)) = (size.parse(), count.parse()) else {
                    return control.send_line("refused\tthe limits of a service are two numbers\n");
                };
                match services.iter().find(|s| s.name == name) {
                    Some(service) => return serve(service, Limits { size, count }, control, until),
                    None => control.send_line(&format!("refused\tthere is no service '{}'\n", printable(name)))?,
                }
            }
            _ => return control.send_line("refused\tunknown request\n"),
        }
    }
    control.send_line("refused\ttoo many requests\n")
}

/// Binds the socket, forks the service, and watches it until the client or the service ends or the
/// deadline passes.
fn serve(service: &Service, limits: Limits, mut control: Control, until: Instant) -> io::Result<()> {
    let mut at = control.connection().local_addr()?;
    at.set_port(0);
    let client = control.connection().peer_addr()?.ip();
    let socket = Socket::bind(service.transport, at)?;
    let port = socket.address()?.port();
    // The service sees the end of one pipe when its client is gone; we see the end of the other
    // when it has ended.
    let (hold, held) = sysio::pipe()?;
    let (alive, living) = sysio::pipe()?;
    let serve = service.serve;
    let child = fork::fork(|| {
        fork::close_copies(&[held.as_fd(), alive.as_fd(), control.connection().as_fd()]);
        match serve(Session { socket, hold, client: Some(client), limits }) {
            Ok(()) => 0,
            Err(e) => {
                eprintln!("groma: the service {} ended: {}", service.name, printable(&e.to_string()));
                1
            }
        }
    })?;
    drop(living);
    control.send_line(&format!("port\t{port}\n"))?;

    // The last line of the client, once it has been read.
    let mut last = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its time is over"));
        }
        let ready = sysio::readable(&[control.connection().as_fd(), alive.as_fd()], left);
        if ready.contains(&0) {
            control.set_deadline(until.min(Instant::now() + PATIENCE));
            last = Some(control.read_line());
            break;
        }
        if !ready.is_empty() {
            break;
        }
    }
    let exit = end(child, held, &alive)?;
    // The service may have ended first: the client may ask later how it was; it may also be gone,
    // which a read tells.
    control.set_deadline(until);
    let asked = last.unwrap_or_else(|| control.read_line()).is_ok_and(|line| line == "end");
    if asked {
        let how = if exit.success() { "well".to_owned() } else { exit.to_string() };
        control.send_line(&format!("ended\t{how}\n"))?;
        // Wait for the client to close first, by a reset, so that no port stays in TIME_WAIT.
        let _ = sysio::readable(&[control.connection().as_fd()], GRACE);
    }
    Ok(())
}

/// Tells the service to end, and kills it if it has not ended within [`GRACE`].
fn end(child: fork::Child, held: OwnedFd, alive: &OwnedFd) -> io::Result<Exit> {
    drop(held);
    if sysio::readable(&[alive.as_fd()], GRACE).is_empty() { child.stop() } else { child.wait() }
}
