//! `groma serve`: the peers of network benchmarks, for machines that run them with `--host`.
//!
//! One `poll` waits for signals, the listening socket and the connections that have not proven yet
//! that they know the token (`strangers.rs`), so no connection blocks another. Each client that has
//! proven it gets a session process, which is this program started again (`harness/session.rs`).
//! Only the named address is listened on; beyond the loopback a token is required.
//!
//! Sessions of one address are not limited: a client that knows the token is trusted with all of
//! them, and a worker group needs one for each member.

mod strangers;

use crate::parse::{parse_address, parse_session_time, parse_token};
use crate::print::print;
use crate::program::Program;
use anyhow::{Context, Result};
use clap::Args;
use groma_harness::handshake::{self, SHORTEST_TOKEN};
use groma_harness::session;
use groma_harness::sys::{io as sysio, process, random, ready, socket};
use groma_runner::signals::{exit_code, watch_signals};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use strangers::{Client, Strangers};

/// Run the peers of network benchmarks, for another machine that names this one with --host
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address and port to listen on; services are at further ports of this address while they
    /// are used
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1", value_parser = parse_address)]
    bind: SocketAddr,
    /// The token that clients must know, of 16 or more characters beyond the loopback [default:
    /// none on the loopback, elsewhere a random one, which is printed]
    #[arg(long, value_name = "TOKEN", env = "GROMA_TOKEN", hide_env_values = true, value_parser = parse_token)]
    token: Option<String>,
    /// The longest that a session may take, which is one round of a client, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_session_time)]
    deadline: Duration,
    /// End after this time, whatever is going on [default: serve until a signal arrives]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_session_time)]
    life: Option<Duration>,
}

/// The maximum number of open sessions; more clients are refused. A worker group has a session for
/// each member.
const MAX_SESSIONS: usize = 64;
/// The interval between checks for ended sessions, and the pause in accepting connections when the
/// kernel has no descriptors left.
const LOOK: Duration = Duration::from_millis(100);
/// The maximum number of connections accepted before the others are served again.
const ACCEPTED_AT_ONCE: usize = 16;
/// The time after its deadline in which a session may end by itself: a service has a grace period.
const OVERTIME: Duration = Duration::from_secs(3).saturating_add(session::GRACE);

/// The file descriptors that are needed: one for each stranger, and some for the rest. Starting a
/// session takes four for a moment.
const DESCRIPTORS: u64 = strangers::MAX_CONNECTIONS as u64 + 64;

/// Serves until a signal arrives, or its time is over.
pub(super) fn run(_: &Program, args: &ServeArgs) -> Result<u8> {
    let is_loopback = args.bind.ip().is_loopback();
    let token = match &args.token {
        Some(token) if !is_loopback && !handshake::is_long_enough(token) => {
            anyhow::bail!(
                "--token: expected {SHORTEST_TOKEN} or more characters, since {} is not the loopback",
                args.bind
            )
        }
        Some(token) => token.clone(),
        None if is_loopback => String::new(),
        None => handshake::hexadecimal(&random::bytes::<16>().context("making a token")?),
    };
    // With a lower limit, strangers could take the descriptors that sessions need.
    if let Err(most) = ready::allow_descriptors(DESCRIPTORS) {
        anyhow::bail!("groma serve needs {DESCRIPTORS} file descriptors, and the limit is {most} (ulimit -n)");
    }
    let listener =
        socket::listen_again(args.bind, 128).with_context(|| format!("--bind {}: listening there", args.bind))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let signals = watch_signals()?;
    let program = process::program()?;
    let shown = match &args.token {
        None if !token.is_empty() => format!(" --token {token}"),
        _ => String::new(),
    };
    print(&format!("groma serve: on the other machine: groma run net --host {address}{shown}\n"))?;

    let end = args.life.map(|life| Instant::now() + life);
    let mut strangers = Strangers::default();
    let mut sessions = Sessions { open: Vec::new(), deadline: args.deadline };
    // When descriptors have run out, the listening socket stays readable, so it is left out of
    // `poll` for a while.
    let mut deaf_until = None;
    loop {
        let now = Instant::now();
        deaf_until = deaf_until.filter(|until| now < *until);
        let mut wait = Duration::from_secs(3600);
        for until in [strangers.next_deadline(), sessions.next_look(now), deaf_until, end].into_iter().flatten() {
            wait = wait.min(until.saturating_duration_since(now));
        }
        let mut fds = vec![signals.as_fd()];
        fds.extend(strangers.fds());
        let called = fds.len();
        if deaf_until.is_none() {
            fds.push(listener.as_fd());
        }
        let ready = sysio::readable(&fds, wait);

        sessions.reap(Instant::now());
        if let Some(signal) = signals.next() {
            return Ok(exit_code(signal));
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(0);
        }
        let speaking: Vec<usize> = ready.iter().filter(|fd| (1..called).contains(*fd)).map(|fd| fd - 1).collect();
        for client in strangers.answer(&speaking, &token) {
            sessions.welcome(&program, client);
        }
        strangers.dismiss_overdue(Instant::now());
        if ready.contains(&called) && !accept(&listener, &mut strangers) {
            deaf_until = Some(Instant::now() + LOOK);
        }
    }
}

/// Accepts some of the waiting connections; returns whether the kernel has descriptors for more.
fn accept(listener: &TcpListener, strangers: &mut Strangers) -> bool {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((connection, from)) => {
                if let Err(e) = strangers.admit(connection, from) {
                    warn!("{from}: cannot accept the connection: {e}");
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return true,
            // Too many descriptors, in this process or in all.
            Err(e) if matches!(e.raw_os_error(), Some(EMFILE | ENFILE)) => return strangers.make_room(),
            // The connection was closed before it was accepted.
            Err(_) => {}
        }
    }
    true
}

const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// The open sessions. They are killed on drop, with all processes that they started.
struct Sessions {
    open: Vec<Session>,
    deadline: Duration,
}

struct Session {
    child: Child,
    /// When it is killed unless it has ended.
    until: Instant,
}

impl Sessions {
    /// Starts a session unless there are too many, and answers the client.
    fn welcome(&mut self, program: &Path, client: Client) {
        let Client { connection, from, welcome } = client;
        let started = if self.open.len() < MAX_SESSIONS {
            // The session uses blocking calls.
            let own = connection.set_nonblocking(false).and_then(|()| connection.try_clone());
            own.and_then(|own| start(program, own.into(), self.deadline)).map_err(|e| {
                warn!("a session for {from} cannot be started: {e}");
                "it cannot start a session"
            })
        } else {
            warn!("{from} turned away: {MAX_SESSIONS} sessions are open");
            Err("all of its sessions are taken")
        };
        let said = match &started {
            Ok(_) => welcome,
            Err(why) => format!("refused\t{why}\n"),
        };
        // If the client has closed the connection, its session notices.
        let _ = (&connection).write_all(said.as_bytes());
        if let Ok(child) = started {
            self.open.push(Session { child, until: Instant::now() + self.deadline + OVERTIME });
        }
    }

    fn next_look(&self, now: Instant) -> Option<Instant> {
        (!self.open.is_empty()).then(|| now + LOOK)
    }

    /// Kills the remaining processes of ended sessions, and sessions that are overdue.
    fn reap(&mut self, now: Instant) {
        self.open.retain_mut(|session| {
            let group = session.child.id() as i32;
            match process::has_ended(group) {
                Ok(false) => {
                    if now >= session.until {
                        process::kill_group(group);
                    }
                    true
                }
                // Not reaped yet, so that no other process group can have its id.
                Ok(true) => {
                    process::kill_group(group);
                    let _ = session.child.wait();
                    false
                }
                // No longer our child: the id may belong to another process.
                Err(_) => false,
            }
        });
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for Session { child, .. } in &mut self.open {
            process::kill_group(child.id() as i32);
            let _ = child.wait();
        }
    }
}

/// Starts the process of a session, as the leader of a process group.
fn start(program: &Path, connection: OwnedFd, deadline: Duration) -> std::io::Result<Child> {
    Command::new(program)
        .arg0("groma")
        .arg(session::ARGUMENT)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env(session::PARENT, process::id().to_string())
        .env(session::DEADLINE, deadline.as_millis().to_string())
        .stdin(Stdio::from(connection))
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
}
