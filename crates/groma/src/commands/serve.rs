//! `groma serve`: the other side of network benchmarks, for machines that run them with `--host`.
//!
//! One `poll` over the listening socket and the signals. Each client has a process of its own, which is this program started
//! again (`harness/session.rs`): whatever it says or does not say, nobody else waits for it. Nothing is listened on but the
//! address that was named; beyond the loopback a token is wanted.

use super::print;
use crate::context;
use crate::flags::ServeArgs;
use crate::supervise::{HANGUP, INTERRUPT, TERMINATE};
use anyhow::{Context, Result};
use groma_harness::session;
use groma_harness::sys::signals::Watch;
use groma_harness::sys::{io as sysio, process, socket};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Clients at once; more are turned away without a word. A crew has a session for each member.
const MOST_SESSIONS: usize = 64;
/// How often to look which sessions have ended, while there are any.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until a signal comes.
pub(crate) fn serve(args: &ServeArgs) -> Result<u8> {
    let listener =
        socket::listen_again(args.bind, 128).with_context(|| format!("--bind {}: listening there", args.bind))?;
    let address = listener.local_addr()?;
    let token = match &args.token {
        Some(token) => token.clone(),
        None if address.ip().is_loopback() => String::new(),
        None => format!("{:016x}{:016x}", context::random_seed(), context::random_seed()),
    };
    if token.is_empty() && !address.ip().is_loopback() {
        anyhow::bail!("--token: an empty token is for the loopback only");
    }
    let signals = Watch::new(&[HANGUP, INTERRUPT, TERMINATE])?;
    let program = process::program()?;
    let shown = match &args.token {
        None if !token.is_empty() => format!(" --token {token}"),
        _ => String::new(),
    };
    print(&format!("groma serve: on the other machine: groma run net --host {address}{shown}\n"))?;

    let mut sessions = Sessions(Vec::new());
    loop {
        let wait = if sessions.0.is_empty() { Duration::from_secs(3600) } else { LOOK };
        let ready = sysio::readable(&[signals.as_fd(), listener.as_fd()], wait);
        sessions.reap();
        if let Some(signal) = signals.next() {
            return Ok(super::run::signal_code(signal));
        }
        if !ready.contains(&1) {
            continue;
        }
        // A client may be gone before it is accepted, and descriptors may run out: the next one may have more luck.
        let Ok((connection, from)) = listener.accept() else {
            std::thread::sleep(LOOK);
            continue;
        };
        if sessions.0.len() >= MOST_SESSIONS {
            eprintln!("groma: {from} turned away: {MOST_SESSIONS} sessions are open");
            continue;
        }
        match start(&program, connection, &token) {
            Ok(child) => sessions.0.push(child),
            Err(e) => eprintln!("groma: a session for {from} cannot be started: {e}"),
        }
    }
}

/// Starts a session, in a process group of its own.
fn start(program: &Path, connection: TcpStream, token: &str) -> std::io::Result<Child> {
    Command::new(program)
        .arg0("groma")
        .arg(session::ARGUMENT)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        // Not an argument, which everybody on this machine could read.
        .env(session::TOKEN, token)
        .env(session::PARENT, process::id().to_string())
        .stdin(Stdio::from(OwnedFd::from(connection)))
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
}

/// The sessions that are open; dropped, they are ended with all that they have started.
struct Sessions(Vec<Child>);

impl Sessions {
    fn reap(&mut self) {
        self.0.retain_mut(|child| {
            let open = matches!(child.try_wait(), Ok(None));
            if !open {
                process::kill_group(child.id() as i32);
            }
            open
        });
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for child in &mut self.0 {
            process::kill_group(child.id() as i32);
            let _ = child.wait();
        }
    }
}
