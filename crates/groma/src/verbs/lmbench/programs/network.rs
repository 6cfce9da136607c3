//! lat_tcp, lat_udp, lat_rpc, lat_connect, bw_tcp, lat_unix_connect: clients and their servers.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::micro;
use super::super::measure::{Want, point, points};
use super::super::servers::{self, background};
use super::ipc::message;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_tcp",
        usage: "-s | [-m bytes] [-P copies] [-W microseconds] [-N repetitions] server | -S server",
        letters: "sS:m:P:W:N:",
        prints: "TCP latency using localhost: 41.2602 microseconds",
        differs: "with Nagle's algorithm, as there; the scheduler places the server, as there; the \
                  server is on the loopback unless --bind says otherwise",
        native: "groma run net.tcp_rtt --param nodelay=off: both sides on one CPU",
        run: lat_tcp,
    },
    Program {
        name: "lat_udp",
        usage: "-s | [-m bytes] [-P copies] [-W microseconds] [-N repetitions] server | -S server",
        letters: "sS:m:P:W:N:",
        prints: "UDP latency using localhost: 27.1136 microseconds",
        differs: "lost datagrams are counted and sent again; the server holds port 34298 of TCP, \
                  and one of UDP for each client",
        native: "groma run net.udp_rtt --param size=4: both sides on one CPU",
        run: lat_udp,
    },
    Program {
        name: "lat_rpc",
        usage: "-s | [-m bytes] [-p tcp|udp] [-P copies] [-W microseconds] [-N repetitions] server | -S server",
        letters: "sS:m:p:P:W:N:",
        prints: "RPC/tcp latency using localhost: 42.2036 microseconds, and RPC/udp",
        differs: "no RPC library and no port mapper: the server is on port 31235; -m has no effect, as there",
        native: "groma run rpc.null --param transport=tcp,udp: both sides on one CPU",
        run: lat_rpc,
    },
    Program {
        name: "lat_connect",
        usage: "-s | [-N repetitions] server | -S server",
        letters: "sS:N:",
        prints: "TCP/IP connection cost to localhost: 30.1053 microseconds",
        differs: "connections are closed by a reset and never wait for a place in the listen \
                  queue; there that queue overflows, and seconds of retransmission are in the \
                  number",
        native: "groma run net.tcp_connect: both sides on one CPU",
        run: lat_connect,
    },
    Program {
        name: "bw_tcp",
        usage: "-s | [-m message] [-M bytes] [-P copies] [-W microseconds] [-N repetitions] server | -S server",
        letters: "sS:m:M:P:W:N:",
        prints: "megabytes of a message, and the rate: 0.065536 2210.00 MB/sec",
        differs: "a running stream, so that -M changes nothing; messages of 1 MiB at most; socket \
                  buffers of 4 MiB are asked for instead of 1; neither side touches the data, as \
                  there; no warm-up of 7.5 s",
        native: "groma run net.tcp_bandwidth --param size=64K --param buffers=4M: both sides touch \
                 every byte, on one CPU",
        run: bw_tcp,
    },
    Program {
        name: "lat_unix_connect",
        usage: "-s | [-P copies] [-W microseconds] [-N repetitions] | -S",
        letters: "sSP:W:N:",
        prints: "UNIX connection cost: 16.2147 microseconds",
        differs: "connections go to a listening socket of the measuring process, with a path of \
                  its own; the server at /tmp/af_unix only has to be there",
        native: "groma run net.unix_connect --param name=path",
        run: lat_unix_connect,
    },
];

/// The ports of lmbench, and its unused one for RPC, which there has a port mapper.
const TCP: u16 = 31234;
const RPC: u16 = 31235;
const DATA: u16 = 31236;
const CONNECT: u16 = 31237;
const UDP: u16 = 34298;

/// Starts or ends the server, or connects to it; returns the host that a client named.
fn host(call: &mut Call<'_>, port: u16) -> Result<Option<String>, Stop> {
    if call.has('s') {
        servers::start(call, port)?;
        return Ok(None);
    }
    if let Some(host) = call.words.value('S') {
        servers::stop(call, host, port)?;
        return Ok(None);
    }
    let host = call.needed(0, "the server")?.to_owned();
    call.at_most(1)?;
    servers::client(call, &host, port)?;
    Ok(Some(host))
}

fn lat_tcp(call: &mut Call<'_>) -> Outcome {
    let bytes = call.number_of('m', 1, [1, 1 << 20])?;
    let Some(host) = host(call, TCP)? else { return Ok(()) };
    let found = point(call, Want::of("net.tcp_rtt").with("size", bytes).with("nodelay", "off"))?;
    call.line(found.value(call, "").and_then(|seconds| micro(&format!("TCP latency using {host}"), seconds)));
    Ok(())
}

fn lat_udp(call: &mut Call<'_>) -> Outcome {
    /// The most that a datagram holds.
    const MAX_DATAGRAM: u64 = 65507;
    // As there, a datagram holds at least its number.
    let bytes = call.number_of('m', 4, [1, MAX_DATAGRAM])?.max(4);
    let Some(host) = host(call, UDP)? else { return Ok(()) };
    let found = point(call, Want::of("net.udp_rtt").with("size", bytes))?;
    call.line(found.value(call, "").and_then(|seconds| micro(&format!("UDP latency using {host}"), seconds)));
    Ok(())
}

fn lat_rpc(call: &mut Call<'_>) -> Outcome {
    let only = call.words.value('p').map(str::to_owned);
    let transports: Vec<&str> = match only.as_deref() {
        None => vec!["tcp", "udp"],
        Some("tcp") => vec!["tcp"],
        Some("udp") => vec!["udp"],
        Some(other) => return Err(Stop::Usage(format!("-p: '{other}': expected tcp or udp"))),
    };
    let Some(host) = host(call, RPC)? else { return Ok(()) };
    let wants: Vec<Want> = transports.iter().map(|by| Want::of("rpc.null").with("transport", by)).collect();
    for (by, found) in transports.iter().zip(points(call, &wants)?.found) {
        if let Some(seconds) = found.value(call, "") {
            call.line(micro(&format!("RPC/{by} latency using {host}"), seconds));
        }
    }
    Ok(())
}

fn lat_connect(call: &mut Call<'_>) -> Outcome {
    let Some(host) = host(call, CONNECT)? else { return Ok(()) };
    let found = point(call, Want::of("net.tcp_connect"))?;
    call.line(found.value(call, "").and_then(|seconds| micro(&format!("TCP/IP connection cost to {host}"), seconds)));
    Ok(())
}

fn bw_tcp(call: &mut Call<'_>) -> Outcome {
    let _ = call.size_of('M', 0)?;
    let asked = call.size_of('m', 64 << 10)?;
    let bytes = message(call)?;
    if host(call, DATA)?.is_none() {
        return Ok(());
    }
    let want = Want::of("net.tcp_bandwidth").with("size", bytes).with("buffers", "4M").with("by", "write");
    let found = point(call, want.with("touch", "no"))?;
    let line = |rate: f64| format!("{:.6} {:.2} MB/sec", asked as f64 / 1e6, rate / 1e6);
    call.line(found.value(call, "").map(line));
    Ok(())
}

/// The name that the server has there.
const PATH: &str = "/tmp/af_unix";
/// The operand with which the server starts itself in the background.
const SERVE: &str = "__serve";
/// How long the server lives, as there.
const LIFE: Duration = Duration::from_secs(3600);
/// The byte that ends it.
const END: u8 = b'0';

fn lat_unix_connect(call: &mut Call<'_>) -> Outcome {
    if call.operand(0) == Some(SERVE) {
        return serve_unix();
    }
    call.at_most(0)?;
    if call.has('s') {
        return background(&["lmbench", call.program.name, SERVE]);
    }
    let no_server =
        |e: std::io::Error| Stop::Missing(format!("{PATH}: no server there: {e} (lat_unix_connect -s starts one)"));
    let mut server = UnixStream::connect(PATH).map_err(no_server)?;
    if call.has('S') {
        server.write_all(&[END]).map_err(no_server)?;
        // It closes the connection once its name is gone.
        server.read_to_end(&mut Vec::new()).map_err(no_server)?;
        return Ok(());
    }
    drop(server);
    let found = point(call, Want::of("net.unix_connect").with("name", "path"))?;
    call.line(found.value(call, "").and_then(|seconds| micro("UNIX connection cost", seconds)));
    Ok(())
}

/// Holds the name until a client says that this is the end, or an hour has passed.
fn serve_unix() -> Outcome {
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::AddrInUse => Stop::Missing(format!("{PATH}: is in use (lat_unix_connect -S ends a server)")),
        _ => Stop::Missing(format!("{PATH}: {e}")),
    };
    let listener = UnixListener::bind(PATH).map_err(failed)?;
    let ended = listen(&listener);
    let _ = fs::remove_file(PATH);
    // Only now is the client that ended it told.
    drop(ended.map_err(failed)?);
    Ok(())
}

/// Accepts connections until one of them says that this is the end, which is returned.
fn listen(listener: &UnixListener) -> std::io::Result<Option<UnixStream>> {
    /// A client that says nothing holds up the others no longer than this.
    const SILENCE: Duration = Duration::from_millis(200);
    let until = Instant::now() + LIFE;
    println!("listening at {PATH}");
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if groma_harness::sys::io::readable(&[listener.as_fd()], left).is_empty() {
            continue;
        }
        let (mut client, _) = listener.accept()?;
        client.set_read_timeout(Some(SILENCE))?;
        let mut byte = [0];
        if matches!(client.read(&mut byte), Ok(1)) && byte[0] == END {
            return Ok(Some(client));
        }
    }
}
