//! lat_http and lmhttp: files over HTTP/1.0, one connection each.
//!
//! The client makes one pass over the names on its standard input, as there, so this is no
//! benchmark with rounds: `http.get` is that. The server is for this client. It serves regular
//! files below its directory only, to the loopback unless `--bind` says otherwise.

use super::super::call::{Call, Outcome, Program, Stop};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_http",
        usage: "[-d] [-e] [-S] server [port] < names",
        letters: "deS",
        prints: "Avg xfer: 20.5KB, 40.9KB in 0.8290 millisecs, 49.35 MB/sec",
        differs: "one pass without repetitions, as there; a status other than 200 and a short body \
                  are failures, which there count; the mean is over all files, with --strict over \
                  one less, as there",
        native: "groma run http.get --param connection=close --param from=file: rounds, and a \
                 server of its own",
        run: lat_http,
    },
    Program {
        name: "lmhttp",
        usage: "[-D] [-d] [-f#] [-l] [-n] [-z] [port]",
        letters: "Ddf:lnz",
        prints: "nothing: it serves the files below DOCROOT, or the current directory, until a \
                 client says EXIT",
        differs: "on the loopback unless --bind names an address; files below the directory only; \
                  threads instead of -f processes; -D, -l and -z are refused; -n sends what -n of \
                  lmhttp sends, bytes without reading the file",
        native: "groma run http.get has a server of its own",
        run: lmhttp,
    },
];

const PORT: u16 = 80;
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of one read, and of an answer at most.
const PIECE: usize = 64 << 10;
const MAX_ANSWER: u64 = 1 << 30;
/// What ends a server instead of a request.
const EXIT: &str = "EXIT";

fn port(call: &Call<'_>, n: usize) -> Result<u16, Stop> {
    let Some(text) = call.operand(n) else { return Ok(PORT) };
    Ok(call.number(&format!("'{text}'"), text, [1, 65535])? as u16)
}

fn lat_http(call: &mut Call<'_>) -> Outcome {
    let host = call.needed(0, "the server")?;
    call.at_most(2)?;
    let server = SocketAddr::new(super::super::servers::address(host)?, port(call, 1)?);
    let connect = || TcpStream::connect_timeout(&server, PATIENCE);
    let no_server = |e: io::Error| Stop::Missing(format!("{server}: no server there: {e} (lmhttp PORT is one)"));
    if call.has('S') {
        let mut end = connect().map_err(no_server)?;
        return end.write_all(format!("{EXIT}\r\n\r\n").as_bytes()).map_err(no_server);
    }
    drop(connect().map_err(no_server)?);
    let (mut files, mut bytes, mut time) = (0u64, 0u64, Duration::ZERO);
    let mut body = Vec::new();
    for name in io::stdin().lock().lines() {
        let name = name.map_err(|e| Stop::Missing(format!("standard input: {e}")))?;
        let name = name.trim();
        if name.is_empty() {
            continue;
        }
        let began = Instant::now();
        let got = get(connect, name, &mut body);
        let took = began.elapsed();
        match got {
            Ok(got) => (files, bytes, time) = (files + 1, bytes + got, time + took),
            Err(why) => call.absent(&format!("{name}: {why}")),
        }
        if call.has('d') {
            call.tell(&format!("{name}: {:.4} ms", took.as_secs_f64() * 1e3));
        }
        if call.has('e') {
            io::stdout().lock().write_all(&body).map_err(|e| Stop::Missing(format!("standard output: {e}")))?;
        }
    }
    if files == 0 {
        return Err(Stop::Unmeasured("no file came".to_owned()));
    }
    call.line(Some(transferred(files, bytes, time, call.strict())));
    Ok(())
}

/// Fetches a file over a connection of its own; returns the bytes of its body.
fn get(connect: impl Fn() -> io::Result<TcpStream>, name: &str, body: &mut Vec<u8>) -> Result<u64, String> {
    body.clear();
    let answer = || -> io::Result<Vec<u8>> {
        let mut connection = connect()?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.write_all(format!("GET /{} HTTP/1.0\r\n\r\n", name.trim_start_matches('/')).as_bytes())?;
        let mut answer = Vec::with_capacity(PIECE);
        (&connection).take(MAX_ANSWER).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = answer().map_err(|e| e.to_string())?;
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no header came")?;
    let head = String::from_utf8_lossy(&answer[..at]).into_owned();
    let status = head.split_ascii_whitespace().nth(1).unwrap_or("no status");
    if status != "200" {
        return Err(format!("status {status} instead of 200"));
    }
    body.extend_from_slice(&answer[at + 4..]);
    let said = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    match said {
        Some(said) if said != body.len() => Err(format!("{} bytes came of {said}", body.len())),
        _ => Ok(body.len() as u64),
    }
}

/// The line: the mean size, then all bytes in the time of all.
fn transferred(files: u64, bytes: u64, time: Duration, strict: bool) -> String {
    let mean = bytes as f64 / (files as f64 - if strict { 1.0 } else { 0.0 });
    let mean = if mean <= 1000.0 { format!("Avg xfer {mean:.0}") } else { format!("Avg xfer: {:.1}KB", mean / 1e3) };
    let ms = time.as_secs_f64() * 1e3;
    let digits = if ms > 100.0 { 0 } else { 4 };
    let rate = bytes as f64 / time.as_secs_f64().max(1e-9);
    let rate = if rate > 1e6 { format!("{:.2} MB/sec", rate / 1e6) } else { format!("{:.2} KB/sec", rate / 1e3) };
    format!("{mean}, {:.1}KB in {ms:.digits$} millisecs, {rate}", bytes as f64 / 1e3)
}

fn lmhttp(call: &mut Call<'_>) -> Outcome {
    /// Threads that answer at once.
    const MAX_THREADS: u64 = 64;
    /// The pause where a connection cannot be accepted.
    const PAUSE: Duration = Duration::from_millis(10);
    for refused in ['D', 'l', 'z'] {
        if call.has(refused) {
            return Err(Stop::Usage(format!("-{refused}: is not done here")));
        }
    }
    let threads = call.number_of('f', 1, [1, MAX_THREADS])?;
    call.at_most(1)?;
    let ip: IpAddr = match &call.words.bind {
        Some(text) => text.parse().map_err(|_| Stop::Usage(format!("--bind: '{text}' is not an address")))?,
        None => Ipv4Addr::LOCALHOST.into(),
    };
    let at = SocketAddr::new(ip, port(call, 0)?);
    let root = std::env::var_os("DOCROOT").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let root = root.canonicalize().map_err(|e| Stop::Missing(format!("DOCROOT: {}: {e}", root.display())))?;
    let failed = |e: io::Error| Stop::Missing(format!("{at}: {e}"));
    let listener = TcpListener::bind(at).map_err(failed)?;
    let (is_debug, is_empty) = (call.has('d'), call.has('n'));
    let name = call.program.name;
    let work = || loop {
        let Ok((connection, from)) = listener.accept() else {
            // As a rule there are no descriptors left, until other connections end.
            std::thread::sleep(PAUSE);
            continue;
        };
        match answer(connection, &root, is_empty) {
            // Only who could end it by a signal as well.
            Ok(request) if request == EXIT && from.ip().is_loopback() => std::process::exit(0),
            Ok(request) if is_debug => eprintln!("{name}: {from}: {request}"),
            Err(e) if is_debug => eprintln!("{name}: {from}: {e}"),
            _ => {}
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    Ok(())
}

/// Answers one request; returns what was asked for.
fn answer(connection: TcpStream, root: &Path, is_empty: bool) -> io::Result<String> {
    /// The longest line of a request.
    const LONGEST_LINE: u64 = 8192;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut out = &connection;
    let mut line = String::new();
    let mut input = BufReader::new((&connection).take(LONGEST_LINE));
    input.read_line(&mut line)?;
    if line.starts_with(EXIT) {
        return Ok(EXIT.to_owned());
    }
    let asked = line.strip_prefix("GET ").and_then(|rest| rest.split_ascii_whitespace().next()).unwrap_or_default();
    let asked = asked.to_owned();
    // The rest of the header, so that closing the connection does not reset it.
    loop {
        let mut more = String::new();
        if input.read_line(&mut more)? == 0 || more.trim_end().is_empty() {
            break;
        }
    }
    let Some((mut file, len)) = below(root, &asked) else {
        out.write_all(b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(asked);
    };
    let kind = match Path::new(&asked).extension().and_then(|suffix| suffix.to_str()) {
        Some("gif") => "image/gif",
        Some("jpeg" | "jpg") => "image/jpeg",
        Some("html" | "htm") => "text/html",
        _ => "text/plain",
    };
    out.write_all(
        format!("HTTP/1.0 200 OK\r\nServer: groma\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\r\n").as_bytes(),
    )?;
    if is_empty {
        io::copy(&mut io::repeat(0).take(len), &mut out)?;
    } else {
        io::copy(&mut Read::by_ref(&mut file).take(len), &mut out)?;
    }
    Ok(asked)
}

/// A regular file below a directory, and its length; links that lead out of it are not followed.
fn below(root: &Path, asked: &str) -> Option<(File, u64)> {
    let relative = Path::new(asked.trim_start_matches('/'));
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let path = root.join(relative).canonicalize().ok().filter(|path| path.starts_with(root))?;
    let is = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    Some((File::open(path).ok()?, is.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_pass_is_that_of_lat_http() {
        let us = Duration::from_micros;
        assert_eq!(
            transferred(2, 40_900, us(829), false),
            "Avg xfer: 20.4KB, 40.9KB in 0.8290 millisecs, 49.34 MB/sec"
        );
        assert_eq!(transferred(2, 40_900, us(829), true), "Avg xfer: 40.9KB, 40.9KB in 0.8290 millisecs, 49.34 MB/sec");
        assert_eq!(transferred(1, 500, us(200_000), false), "Avg xfer 500, 0.5KB in 200 millisecs, 2.50 KB/sec");
    }

    #[test]
    fn only_files_below_the_directory_are_served() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("it is there");
        std::fs::write(root.join("a.html"), "text").expect("a file");
        std::os::unix::fs::symlink("/etc/hostname", root.join("out")).expect("a link");
        let len = |asked: &str| below(&root, asked).map(|(_, len)| len);
        assert_eq!([len("/a.html"), len("a.html"), len("//a.html")], [Some(4); 3]);
        for asked in ["/../etc/hostname", "/out", "/", "/b.html", "/./../a.html", ""] {
            assert_eq!(len(asked), None, "{asked}");
        }
    }
}
