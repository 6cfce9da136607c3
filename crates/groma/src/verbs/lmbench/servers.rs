//! The servers of the network programs: `-s` starts one in the background, `-S` ends it.
//!
//! A server is a `groma serve` on the port that the program has in lmbench, on the loopback unless
//! `--bind` says otherwise, and it ends by itself after an hour, as there. A client measures
//! against it like any `groma run --host`, whatever machine it names: rejected was a peer of the
//! client's own where the host is this one, which would measure without the server that the user
//! started, and with another peer than for other hosts.
//!
//! `-S` finds the server by its port and its command line in `/proc` and sends SIGTERM, so that
//! only its owner can end it. lmbench's servers are ended by whoever connects.

use super::call::{Call, Outcome, Stop};
use groma_harness::model::Remote;
use groma_harness::remote::Control;
use groma_harness::sys::process;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server lives, as there.
const LIFE: &str = "1h";
/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The address that a client names; `localhost` is the loopback of IPv4. Other names are those of
/// `/etc/hosts`: a static program has no resolver.
pub(super) fn address(host: &str) -> Result<IpAddr, Stop> {
    if let Ok(ip) = host.parse() {
        return Ok(ip);
    }
    if host == "localhost" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let named = |line: &str| {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let ip = words.next()?.parse().ok()?;
        words.any(|name| name == host).then_some(ip)
    };
    hosts.lines().find_map(named).ok_or_else(|| {
        Stop::Missing(format!("{host}: expected an address, or a name in /etc/hosts (no others are looked up)"))
    })
}

fn token() -> String {
    std::env::var("GROMA_TOKEN").unwrap_or_default()
}

/// Makes the call one of a client of this host, where a server has to answer.
pub(super) fn client(call: &mut Call<'_>, host: &str, port: u16) -> Outcome {
    let remote = Remote { address: SocketAddr::new(address(host)?, port), token: token() };
    if let Err(why) = Control::open(&remote) {
        let name = call.program.name;
        return Err(Stop::Missing(format!("no server there: {why} ({name} -s starts one)")));
    }
    call.remote = Some(remote);
    Ok(())
}

/// Starts a server in the background, and returns when it listens.
pub(super) fn start(call: &Call<'_>, port: u16) -> Outcome {
    call.at_most(0)?;
    let ip: IpAddr = match &call.words.bind {
        Some(text) => text.parse().map_err(|_| Stop::Usage(format!("--bind: '{text}' is not an address")))?,
        None => Ipv4Addr::LOCALHOST.into(),
    };
    if !ip.is_loopback() && token().is_empty() {
        return Err(Stop::Usage("--bind: beyond the loopback both sides need a token in GROMA_TOKEN".to_owned()));
    }
    let at = SocketAddr::new(ip, port);
    let name = call.program.name;
    match TcpListener::bind(at) {
        Err(e) if e.kind() == ErrorKind::AddrInUse => {
            return Err(Stop::Missing(format!(
                "{at}: the port is in use ({name} -S localhost ends a server of yours)"
            )));
        }
        Err(e) => return Err(Stop::Missing(format!("{at}: {e}"))),
        Ok(listener) => drop(listener),
    }
    background(&["serve", "--bind", &at.to_string(), "--for", LIFE])
}

/// Starts this program in the background with these words; returns when it has printed a line,
/// which says that it listens.
pub(super) fn background(words: &[&str]) -> Outcome {
    let failed = |e: io::Error| Stop::Unmeasured(format!("starting a server: {e}"));
    let mut server = Command::new(process::program().map_err(failed)?)
        .arg0("groma")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C in the terminal is not meant for it.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    if let Some(out) = server.stdout.take() {
        BufReader::new(out).read_line(&mut line).map_err(failed)?;
    }
    if !line.is_empty() {
        return Ok(());
    }
    let mut why = String::new();
    if let Some(mut err) = server.stderr.take() {
        err.read_to_string(&mut why).map_err(failed)?;
    }
    let _ = server.wait();
    // Its line begins with a name of its own.
    let line = why.lines().next().unwrap_or("the server ended at once");
    Err(Stop::Missing(line.split_once(": ").map_or(line, |(_, why)| why).to_owned()))
}

/// Ends the server of this user on this port; returns when it has ended.
pub(super) fn stop(call: &Call<'_>, host: &str, port: u16) -> Outcome {
    call.at_most(0)?;
    let at = SocketAddr::new(address(host)?, port);
    let name = call.program.name;
    let Some(pid) = server_on(at) else {
        return Err(Stop::Missing(format!(
            "{at}: no server of yours on this machine; elsewhere: {name} -S localhost there"
        )));
    };
    process::terminate(pid).map_err(|e| Stop::Missing(format!("{at}: ending the server: {e}")))?;
    let until = Instant::now() + PATIENCE;
    while server_on(at).is_some() {
        if Instant::now() > until {
            return Err(Stop::Unmeasured(format!("{at}: the server has not ended after {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The process that serves at this address, if it is a server that [`start`] began.
fn server_on(at: SocketAddr) -> Option<i32> {
    let words = format!("groma\0serve\0--bind\0{at}\0");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_server =
        |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(words.as_bytes()));
    pids.find(is_server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_a_known_name() {
        let of = |host: &str| address(host).ok().map(|ip| ip.to_string());
        assert_eq!(of("localhost").as_deref(), Some("127.0.0.1"));
        assert_eq!([of("10.0.0.2").as_deref(), of("::1").as_deref()], [Some("10.0.0.2"), Some("::1")]);
        assert!(
            matches!(address("no-such-host.invalid"), Err(Stop::Missing(why)) if why.contains("expected an address"))
        );
    }
}
