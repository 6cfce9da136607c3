//! How two hosts agree on whose turn it is: one connection for each pair of a round.
//!
//! The host of the lower index connects; the other accepts when it has come to that round. Then the
//! first measures, says so, and the second measures. A host that runs ahead waits in the other's
//! queue, so none has two peers at once, and a dead one costs its peers a time-out each.

use super::meet::Plan;
use anyhow::{Context, Result, bail};
use groma_harness::sys::io::readable;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The time for a connection, and for the line that opens it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest line, in bytes.
const LONGEST_LINE: usize = 512;

/// What one side says to the other.
const GO: &str = "go";
const DONE: &str = "done";

/// Connections that were made for later rounds.
#[derive(Default)]
pub(super) struct Early(Vec<(String, TcpStream)>);

/// A connection with the peer of a round.
#[derive(Debug)]
pub(super) struct Agreed(TcpStream);

/// The line with which a host opens a round.
fn opening(plan: &Plan, round: usize, from: usize) -> String {
    format!("groma pairs {} {round} {from}", plan.id)
}

/// Meets the peer of this round, and waits until both have come to it.
///
/// # Errors
/// When it does not come in time.
pub(super) fn meet(
    plan: &Plan,
    listener: &TcpListener,
    early: &mut Early,
    (round, peer): (usize, usize),
    patience: Duration,
) -> Result<Agreed> {
    let until = Instant::now() + patience;
    if plan.own < peer {
        let host = &plan.hosts[peer];
        let mut connection =
            TcpStream::connect_timeout(&host.gate, PATIENCE).with_context(|| format!("connecting to {}", host.gate))?;
        connection.set_nodelay(true)?;
        say(&mut connection, &opening(plan, round, plan.own))?;
        let agreed = Agreed(connection);
        agreed.hear(GO, until)?;
        return Ok(agreed);
    }
    let wanted = opening(plan, round, peer);
    loop {
        if let Some(at) = early.0.iter().position(|(line, _)| *line == wanted) {
            let mut connection = early.0.swap_remove(at).1;
            say(&mut connection, GO)?;
            return Ok(Agreed(connection));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!("it did not come to this round within {} s", patience.as_secs());
        }
        if readable(&[listener.as_fd()], left).is_empty() {
            continue;
        }
        let (mut connection, _) = listener.accept().context("accepting a peer")?;
        connection.set_nodelay(true)?;
        // A stranger, or one that says nothing, is let go.
        let line = hear(&mut connection, Instant::now() + PATIENCE);
        early.0.extend(
            line.ok()
                .filter(|line| line.starts_with(&format!("groma pairs {} ", plan.id)))
                .map(|line| (line, connection)),
        );
    }
}

impl Agreed {
    /// Tells the peer that this side has measured.
    pub(super) fn done(&mut self) -> Result<()> {
        say(&mut self.0, DONE)
    }

    /// Waits until the peer has measured.
    pub(super) fn wait(&self, patience: Duration) -> Result<()> {
        self.hear(DONE, Instant::now() + patience)
    }

    fn hear(&self, wanted: &str, until: Instant) -> Result<()> {
        let mut connection = &self.0;
        let line = hear(&mut connection, until)?;
        if line != wanted {
            bail!("it said '{}' and not '{wanted}'", groma_harness::model::plain(&line));
        }
        Ok(())
    }
}

fn say(connection: &mut TcpStream, line: &str) -> Result<()> {
    connection.set_write_timeout(Some(PATIENCE))?;
    connection.write_all(format!("{line}\n").as_bytes()).context("telling the peer")
}

/// A line, without its end.
fn hear(connection: &mut (impl Read + AsFd), until: Instant) -> Result<String> {
    let mut line = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!("it said nothing in time");
        }
        if readable(&[connection.as_fd()], left).is_empty() {
            continue;
        }
        let mut byte = [0];
        if connection.read(&mut byte).context("hearing the peer")? == 0 {
            bail!("it has hung up");
        }
        match byte[0] {
            b'\n' => return String::from_utf8(line).context("hearing the peer"),
            _ if line.len() == LONGEST_LINE => bail!("it says more than {LONGEST_LINE} bytes"),
            byte => line.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::meet::Member;
    use super::*;

    /// Three hosts: the last is asked by both others at once, and by a stranger.
    #[test]
    fn a_host_takes_its_peers_in_the_order_of_the_rounds() {
        let listeners = [0, 1, 2].map(|_| TcpListener::bind("127.0.0.1:0").expect("loopback"));
        let hosts: Vec<Member> = listeners
            .iter()
            .map(|listener| {
                let gate = listener.local_addr().expect("bound");
                Member { name: "x".to_owned(), gate, serve: gate }
            })
            .collect();
        let plan = |own| Plan { id: "secret".to_owned(), hosts: hosts.clone(), rounds: vec![0, 1], own };
        let patience = Duration::from_secs(30);
        let order = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (own, round) in [(0, 1), (1, 0)] {
                let (plan, listener, order) = (plan(own), &listeners[own], &order);
                scope.spawn(move || {
                    let mut agreed =
                        meet(&plan, listener, &mut Early::default(), (round, 2), patience).expect("it comes");
                    order.lock().expect("no panic").push(round);
                    agreed.done().expect("it listens");
                    agreed.wait(patience).expect("it measures");
                });
            }
            let mut stranger = TcpStream::connect(hosts[2].gate).expect("it listens");
            stranger.write_all(b"groma pairs guess 0 1\n").expect("it reads");
            let (plan, mut early) = (plan(2), Early::default());
            for (round, peer) in [(0, 1), (1, 0)] {
                let mut agreed = meet(&plan, &listeners[2], &mut early, (round, peer), patience).expect("it comes");
                agreed.wait(patience).expect("it measures");
                agreed.done().expect("it listens");
            }
        });
        assert_eq!(*order.lock().expect("no panic"), [0, 1]);
    }

    #[test]
    fn a_peer_that_does_not_come_costs_a_time_out() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let gate = listener.local_addr().expect("bound");
        let host = Member { name: "x".to_owned(), gate, serve: gate };
        let plan = Plan { id: "x".to_owned(), hosts: vec![host.clone(), host], rounds: vec![0], own: 1 };
        let missed = meet(&plan, &listener, &mut Early::default(), (0, 0), Duration::from_millis(50));
        assert!(missed.expect_err("nobody comes").to_string().contains("did not come"));
    }
}
