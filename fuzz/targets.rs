//! The fuzz targets: functions that take arbitrary bytes and panic when a property of a parser does
//! not hold.
//!
//! Shared by the fuzz crate, where libFuzzer chooses the bytes, and by
//! `crates/groma/tests/corpus.rs`, which replays the corpus on stable. An including crate must
//! provide the program's modules `dd`, `flags` and `select`, because the program is not a library.
//!
//! Properties, besides "no panic":
//!
//! - Accepted input can be written again and reads back as the same value.
//! - Accepted input is well-formed by a second, independent definition (exact decimals, glob by
//!   dynamic programming, ...).
//! - No allocation and no loop is proportional to a *number* in the input; libFuzzer's limits on a
//!   single allocation, on memory and on time check that (`fuzz/run`).

use groma_benches::wire;
use groma_harness::handshake::{Client, Server, Step};
use groma_harness::protocol::{is_complete, read_job, read_result, write_job, write_result};
use groma_model::{
    End, Host, Job, LabelCounts, Machine, Param, ParamKind, Params, Placement, Point, Record, Round, RoundResult,
    RunHeader, Series, StateCounts, Tier, Value, parse_size, size_text,
};
use groma_store::{Ndjson, Sink, Store};
use groma_sys::facts::{facts_below, readings_below};
use groma_sys::topology::{Relation, Topology, format_cpus, parse_cpus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

#[path = "../crates/store/tests/common/mod.rs"]
mod sample_run;

/// A target: panics when a property does not hold for these bytes.
pub type Target = fn(&[u8]);

/// All targets by name, which is also the name of the binary and the corpus.
pub const ALL: [(&str, Target); 14] = [
    ("worker_job", worker_job),
    ("worker_result", worker_result),
    ("handshake", handshake),
    ("rpc", rpc),
    ("http", http),
    ("numbers", numbers),
    ("arguments", arguments),
    ("dd", dd),
    ("select", select),
    ("records", records),
    ("store", store),
    ("views", views),
    ("facts", facts),
    ("topology", topology),
];

/// A worker's job, `harness/protocol.rs`.
pub fn worker_job(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok((parent, job)) = read_job(text) else { return };
    let written = write_job(parent, &job);
    let (again, same) = read_job(&written).expect("what was written can be read");
    assert_eq!(again, parent);
    // Compared as text because NaN is not equal to itself; the token is not in the debug text.
    assert_eq!(debug_of_job(&same), debug_of_job(&job));
    assert_eq!(write_job(again, &same), written, "writing is a fixed point");
    // A job without its end, or with extra text, is not accepted as complete.
    for more in ["x", "0", "{}"] {
        assert!(read_job(&format!("{text}{more}")).is_err(), "{more} after the end was accepted");
    }
    assert!(read_job(&written[..written.len() - 2]).is_err(), "a job without its end");
}

fn debug_of_job(job: &Job) -> String {
    format!("{job:?} {:?}", job.remote.as_ref().map(|r| &r.token))
}

/// A worker's result, `harness/protocol.rs`, and the same text as the store reads it.
pub fn worker_result(data: &[u8]) {
    assert_eq!(is_complete(data), data.ends_with(b"\n"));

    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(result) = read_result(text) else { return };
    let written = write_result(&result);
    assert!(is_complete(written.as_bytes()) && written.matches('\n').count() == 1);
    // As text, since NaN is not equal to itself.
    let same = read_result(&written).expect("what was written can be read");
    assert_eq!(format!("{same:?}"), format!("{result:?}"));
    assert_eq!(write_result(&same), written, "writing is a fixed point");
    for more in ["x", "0", "{}"] {
        assert!(read_result(&format!("{text}{more}")).is_err(), "{more} after the end was accepted");
    }
    assert!(read_result(&written[..written.len() - 2]).is_err(), "a result without its end");

    // The store holds the same text.
    let stored = groma_store::read_result(&written).expect("the store reads what a worker says");
    assert_eq!(format!("{stored:?}"), format!("{result:?}"));
}

/// The handshake of `groma serve` and its clients, `harness/handshake.rs`. Without the token,
/// neither side accepts any text as a proof, however it is split; with it, honest sides always
/// agree.
pub fn handshake(data: &[u8]) {
    const SECRET: &str = "a token that nobody said";
    let Some((&cut, said)) = data.split_first() else { return };
    // A stranger to the server: nonces are fresh, so nothing in the input can be a proof.
    let mut server = Server::new().expect("a nonce");
    for piece in said.chunks(usize::from(cut).max(1)) {
        match server.take(piece, SECRET) {
            Step::Wait => {}
            Step::Say(line) => {
                assert!(line.starts_with("nonce\t") && line.ends_with('\n') && line.len() == 71, "{line:?}");
            }
            Step::Welcome(line) => panic!("a stranger is welcome: {line}"),
            Step::Close(told) => {
                assert!(["", "refused\n"].contains(&told), "{told:?}");
                break;
            }
        }
    }
    // A stranger to the client: the input is the server's first and second line.
    let Ok(text) = std::str::from_utf8(said) else { return };
    let (first, second) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok((proof, proven)) = Client::new().expect("a nonce").prove(first, SECRET) {
        assert!(proof.starts_with("proof\t") && proof.ends_with('\n') && proof.len() == 71, "{proof:?}");
        assert!(proven.check(second).is_err(), "a stranger is taken for a server");
    }
    // Two honest sides: the input is the server's token; the client has the same one or another.
    // HMAC keys are padded with zeros, so tokens that differ only in trailing zeros are equal; no
    // argument can contain a zero.
    let key = |token: &str| token.trim_end_matches('\0').to_owned();
    for own in [text, second] {
        let client = Client::new().expect("a nonce");
        let mut server = Server::new().expect("a nonce");
        let Step::Say(nonce) = server.take(client.greeting().as_bytes(), text) else {
            panic!("a greeting is not answered");
        };
        let (proof, proven) = client.prove(nonce.trim_end(), own).expect("a server's line");
        match server.take(proof.as_bytes(), text) {
            Step::Welcome(line) => {
                assert_eq!(key(own), key(text), "another token is welcome");
                proven.check(line.trim_end()).expect("an honest server");
            }
            step => {
                assert_eq!(step, Step::Close("refused\n"));
                assert_ne!(key(own), key(text), "the right token is refused");
            }
        }
    }
}

/// Remote procedure calls, `benches/rpc`: as a datagram, as a reply, and as a stream in pieces.
pub fn rpc(data: &[u8]) {
    let mut reply = [0xa5; wire::ROOM];
    if let Some(bytes) = wire::rpc_answer(data, &mut reply) {
        assert!(bytes == 24 || bytes == 32, "{bytes}");
        assert_eq!(reply[..4], data[..4], "the answer names its call");
        assert!(reply[bytes..].iter().all(|b| *b == 0xa5), "more was written than said");
        // Succeeds exactly when it is the call of procedure NULL, whatever the credentials.
        let mut plain = <[u8; wire::CALL_BYTES]>::try_from(data).expect("a call has one length");
        plain[24..28].fill(0);
        plain[32..36].fill(0);
        let xid = u32::from_be_bytes(plain[..4].try_into().expect("four bytes"));
        let is_null = plain == wire::rpc_call(xid);
        assert_eq!(wire::rpc_succeeded(&reply[..bytes]).ok(), is_null.then_some(xid));
    }
    if let Ok(xid) = wire::rpc_succeeded(data) {
        let mut expected = [0; 64];
        let bytes = wire::rpc_answer(&wire::rpc_call(xid), &mut expected).expect("a call gets an answer");
        assert_eq!(data, &expected[..bytes], "one text for one success");
    }
    let Some((&cut, stream)) = data.split_first() else { return };
    for respond in [wire::rpc_respond, wire::bare_respond] {
        let whole = served(respond, [stream].into_iter());
        let cut = usize::from(cut) % (stream.len() + 1);
        let pieces = served(respond, [&stream[..cut], &stream[cut..]].into_iter());
        assert_eq!(whole, pieces, "how a stream is cut does not matter");
    }
}

type Respond = fn(&[u8], &mut [u8]) -> std::io::Result<Option<(usize, usize)>>;

/// All replies to a stream, and whether it ended in an error.
fn served<'a>(respond: Respond, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let (mut have, mut answers, mut to) = (Vec::new(), Vec::new(), [0; wire::ROOM]);
    for piece in pieces {
        have.extend_from_slice(piece);
        loop {
            match respond(&have, &mut to) {
                Ok(Some((used, bytes))) => {
                    assert!(used > 0 && used <= have.len() && bytes <= to.len(), "{used} of {}, {bytes}", have.len());
                    answers.extend_from_slice(&to[..bytes]);
                    have.drain(..used);
                }
                Ok(None) => break,
                Err(_) => return (answers, true),
            }
        }
    }
    // Incomplete data is shorter than a call, so the server's buffer always has space.
    assert!(have.len() < wire::ROOM / 2, "{} bytes wait", have.len());
    (answers, false)
}

/// HTTP heads, `benches/http/message.rs`, and what a path asks of the server.
pub fn http(data: &[u8]) {
    let naive = (0..data.len()).find(|&at| data[at..].starts_with(b"\r\n\r\n")).map(|at| at + 4);
    let found = wire::http_head_bytes(data);
    assert_eq!(found, naive);
    let head = found.map_or(data, |end| &data[..end]);

    if let Some((path, close)) = wire::http_read_request(head) {
        assert!(!path.is_empty() && path.bytes().all(|b| b.is_ascii_graphic()), "{path:?} is not a path");
        let again = wire::http_request(path, close);
        assert_eq!(wire::http_head_bytes(&again), Some(again.len()));
        assert_eq!(wire::http_read_request(&again), Some((path, close)));
        if let Some(bytes) = wire::http_body_bytes(path) {
            assert!(bytes as u64 <= wire::BODY_MOST);
            assert!(path.ends_with(|c: char| c.is_ascii_digit()), "{path:?}");
        }
    }
    if let Some((status, length)) = wire::http_read_response(head) {
        assert!((100..=999).contains(&status), "{status}");
        // A head that leaves the length of its body in doubt is rejected: RFC 9112, 6.3.
        let text = std::str::from_utf8(head).expect("what is accepted is text");
        let fields = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        for (_, told) in fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            let told = told.trim_matches([' ', '\t']);
            assert!(told.bytes().all(|b| b.is_ascii_digit()), "{told:?} is not a length");
            assert_eq!(told.parse(), Ok(length), "two lengths");
        }
        let again = wire::http_response(&status.to_string(), length, false);
        assert_eq!(wire::http_read_response(again.as_bytes()), Some((status, length)));
    }
}

/// Sizes, parameters, placements and CPU lists: `model/param.rs`, `model/placement.rs`,
/// `sys/topology.rs`.
pub fn numbers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(bytes) = parse_size(text) {
        check_size(text, bytes);
    } else if let Some(bytes) = plain_size(text) {
        panic!("{text:?} is {bytes} bytes, and was refused");
    }
    // An arbitrary number, as it is shown to people.
    let mut eight = [0; 8];
    eight.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
    let any = u64::from_le_bytes(eight);
    for bytes in [any, any >> 24, any & !0xf_ffff, any << 10] {
        let shown = size_text(bytes).replace(' ', "");
        match parse_size(&shown) {
            Ok(read) if !shown.contains('.') => assert_eq!(read, bytes, "{shown}"),
            // Shown with two decimals of a unit, so this accurate.
            Ok(read) => assert!(read.abs_diff(bytes) <= (bytes / 100).max(1), "{shown}: {read}, not {bytes}"),
            Err(why) => assert!(shown.contains('.'), "{shown}: {why}"),
        }
    }

    let word = Param::word("name", "", &["read", "write"]);
    for param in [Param::size("name", ""), Param::count("name", ""), word, Param::text("name", "")] {
        if let Ok(value) = param.parse(text) {
            assert_eq!(param.parse(&value.to_string()).as_ref(), Ok(&value));
            assert!(matches!(value, Value::Int(_)) == matches!(param.kind, ParamKind::Size | ParamKind::Count));
            assert!(!param.show(&value).is_empty() || text.is_empty());
        }
    }
    if let Ok(placement) = text.parse::<Placement>() {
        assert_eq!(placement.to_string().parse().as_ref(), Ok(&placement));
        let json = serde_json::to_string(&placement).expect("a placement is JSON");
        assert_eq!(serde_json::from_str::<Placement>(&json).expect("it reads back"), placement);
    }
    if let Ok(cpus) = parse_cpus(text) {
        assert!(cpus.len() <= 2 << 16 && cpus.iter().all(|cpu| *cpu < 1 << 16));
        assert_eq!(parse_cpus(&format_cpus(&cpus)), Ok(cpus));
    }
}

/// The binary suffixes: their names and their powers of two.
const SUFFIXES: [(&str, u32); 5] = [("t", 40), ("g", 30), ("m", 20), ("k", 10), ("", 0)];

fn number_and_shift(text: &str) -> Option<(String, u32)> {
    let lower = text.to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or(lower.strip_suffix('b')).unwrap_or(&lower);
    SUFFIXES.iter().find_map(|(name, shift)| Some((bare.strip_suffix(name)?.to_owned(), *shift)))
}

/// An accepted size, written as an exact decimal of its unit, equals the text without redundant
/// zeros.
fn check_size(text: &str, bytes: u64) {
    let (number, shift) = number_and_shift(text).expect("an accepted size has a known suffix");
    let whole = bytes >> shift;
    let mut rest = bytes & ((1 << shift) - 1);
    let mut exact = whole.to_string();
    if rest > 0 {
        exact.push('.');
    }
    while rest > 0 {
        rest *= 10;
        exact.push(char::from(b'0' + (rest >> shift) as u8));
        rest &= (1 << shift) - 1;
    }
    let number = number.trim_start_matches('0');
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    let number = if number.is_empty() || number.starts_with('.') { format!("0{number}") } else { number.to_owned() };
    assert_eq!(number, exact, "{text:?} was read as {bytes} bytes");
}

/// The bytes of a plain size, which must be accepted: digits, a known suffix, a value that fits.
fn plain_size(text: &str) -> Option<u64> {
    let (number, shift) = number_and_shift(text)?;
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let whole: u128 = if digits { number.parse().ok()? } else { return None };
    u64::try_from(whole.checked_mul(1 << shift)?).ok()
}

/// A command line, `groma/flags.rs`: one argument a line.
pub fn arguments(data: &[u8]) {
    use clap::Parser as _;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let words = ["groma"].into_iter().chain(text.split('\n')).take(40);
    match crate::flags::Cli::try_parse_from(words) {
        Ok(cli) => check_arguments(&cli.command),
        Err(error) => {
            let said = error.to_string();
            // Help has a fixed length; an error repeats the input a few times at most.
            let most = if error.use_stderr() { 8192 + 8 * text.len() } else { usize::MAX };
            assert!(!said.is_empty() && said.len() <= most, "{} bytes", said.len());
        }
    }
}

fn check_arguments(command: &crate::flags::Command) {
    let crate::flags::Command::Run(run) = command else { return };
    // A zero time would end a run before its first round.
    assert!(run.budget.is_none_or(|time| !time.is_zero()) && run.deadline.is_none_or(|time| !time.is_zero()));
    assert!(run.params.iter().all(|set| !set.name.is_empty() && set.values.iter().all(|v| !v.is_empty())));
    assert!(run.parallel.iter().all(|n| (1..=groma_harness::worker_group::MOST_MEMBERS).contains(n)));
    // The placement is passed to the worker's job as text.
    assert!(run.placement.as_ref().is_none_or(|p| p.to_string().parse().as_ref() == Ok(p)));
}

/// The operands of `groma dd`, `groma/dd.rs`: one a line.
pub fn dd(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let words: Vec<String> = text.split('\n').take(40).map(str::to_owned).collect();
    match crate::dd::Job::parse(&words) {
        Ok(job) => {
            assert!((1..=1 << 30).contains(&job.bs), "bs={}", job.bs);
            assert!(job.input != "internal" || job.output != "internal");
            assert!(job.time.is_none_or(|time| !time.is_zero()), "a time of zero");
            // Repeating the operands changes nothing.
            let twice = [words.clone(), words].concat();
            let again = crate::dd::Job::parse(&twice).expect("the same operands again");
            assert_eq!((again.bs, again.count, again.total, again.skip), (job.bs, job.count, job.total, job.skip));
            assert_eq!((again.direct_input(), again.direct_output()), (job.direct_input(), job.direct_output()));
        }
        Err(why) => {
            let said = format!("{why:#}");
            assert!(said.contains(':') && said.len() <= 1024 + 4 * text.len(), "{said}");
        }
    }
}

/// Patterns of benchmarks, `groma/select.rs`: one a line.
pub fn select(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    static CATALOGUE: OnceLock<Vec<&'static groma_harness::Benchmark>> = OnceLock::new();
    let all = CATALOGUE.get_or_init(groma_benches::all);
    let texts: Vec<String> = text.split('\n').take(8).map(str::to_owned).collect();
    match crate::select::select(all, &texts, [Tier::Quick, Tier::Standard][data.len() % 2]) {
        Ok(chosen) => {
            let place = |id: &str| all.iter().position(|b| b.info.id == id).expect("of the catalogue");
            assert!(!chosen.is_empty() && chosen.is_sorted_by_key(|b| place(b.info.id)), "in the catalogue's order");
        }
        Err(why) => assert!(texts.iter().any(|t| why.to_string().contains(&format!("'{t}'"))), "{why}"),
    }
    for pattern in texts.iter().filter(|t| t.contains(['*', '?'])) {
        for id in ["mem.latency", "ipc.pipe_rtt", "ctx.switch.net", ""] {
            let prefix = id.strip_prefix(pattern.as_str()).is_some_and(|rest| rest.starts_with('.'));
            assert_eq!(
                crate::select::names_metric(pattern, id),
                matches_pattern(pattern, id) || prefix,
                "{pattern:?} and {id:?}"
            );
        }
    }
}

/// Whether a pattern matches, by dynamic programming over its positions.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    // The prefixes of the text that the part of the pattern read so far can match.
    let mut taken = vec![false; text.len() + 1];
    taken[0] = true;
    for p in pattern.bytes() {
        if p == b'*' {
            let first = taken.iter().position(|t| *t).unwrap_or(taken.len());
            taken[first..].fill(true);
        } else {
            for at in (0..text.len()).rev() {
                taken[at + 1] = taken[at] && (p == b'?' || p == text.as_bytes()[at]);
            }
            taken[0] = false;
        }
    }
    taken[text.len()]
}

/// The contents of NDJSON and of the store's columns, `model/record.rs`: the first byte selects the
/// type.
pub fn records(data: &[u8]) {
    let Some((&kind, json)) = data.split_first() else { return };
    let Ok(json) = std::str::from_utf8(json) else { return };
    match kind % 12 {
        0 => same_again::<RunHeader>(json),
        1 => same_again::<Point>(json),
        2 => same_again::<Round>(json),
        3 => same_again::<Record>(json),
        4 => same_again::<End>(json),
        5 => same_again::<Machine>(json),
        6 => same_again::<Params>(json),
        7 => same_again::<Series>(json),
        8 => same_again::<(LabelCounts, StateCounts)>(json),
        9 => same_again::<RoundResult>(json),
        10 => stored_result(json),
        _ => one_line(json),
    }
}

fn same_again<T: Serialize + DeserializeOwned + Debug>(json: &str) {
    let Ok(value) = serde_json::from_str::<T>(json) else { return };
    let written = serde_json::to_string(&value).expect("a value is JSON");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    // As text: null is read as NaN where it stands for a number, and NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
    assert_eq!(serde_json::to_string(&again).expect("a value is JSON"), written);
}

/// A round as the store reads it: null is a number that JSON does not have.
fn stored_result(json: &str) {
    let Ok(result) = groma_store::read_result(json) else { return };
    let written = serde_json::to_string(&result).expect("a result is JSON");
    let again = groma_store::read_result(&written).expect("what was written can be read");
    assert_eq!(format!("{again:?}"), format!("{result:?}"));
}

/// A record in the stream is one line that any JSON reader accepts.
fn one_line(json: &str) {
    let Ok(record) = serde_json::from_str::<Record>(json) else { return };
    let mut stream = Ndjson::new(Vec::new(), "memory");
    stream.record(&record).expect("memory takes all");
    let bytes = stream.into_inner();
    let text = std::str::from_utf8(&bytes).expect("JSON is text");
    assert_eq!(text.lines().count(), 1, "{text}");
    let line: serde_json::Value = serde_json::from_str(text).expect("a line of JSON");
    assert_eq!((&line["kind"], &line["id"]), (&"metric".into(), &record.id.as_str().into()));
}

/// A store whose file was altered, `store/store.rs`. The input is a list of alterations (three
/// bytes of offset, one of length, then that many bytes); the first byte says whether the file is
/// also truncated at the last offset.
pub fn store(data: &[u8]) {
    let Some((&cut, mut alterations)) = data.split_first() else { return };
    let mut file = sound_store().to_vec();
    let mut place = 0;
    while let [a, b, c, n, rest @ ..] = alterations {
        place = ((usize::from(*a) << 16) | (usize::from(*b) << 8) | usize::from(*c)) % file.len();
        let n = usize::from(*n).min(rest.len()).min(file.len() - place);
        file[place..place + n].copy_from_slice(&rest[..n]);
        alterations = &rest[n..];
    }
    if cut % 2 == 1 {
        file.truncate(place);
    }
    let scratch = Scratch::new();
    let path = scratch.0.join("s.db");
    std::fs::write(&path, &file).expect("a file");
    let Ok(store) = Store::open(&path) else { return };
    let mut ids: BTreeSet<String> = store.runs().into_iter().flatten().map(|row| row.run).collect();
    for text in ["latest", "2", "07", ""] {
        ids.extend(store.find(text));
    }
    for id in ids.iter().take(8) {
        if let Ok(run) = store.load(id) {
            // A loaded run can be shown as JSON and stored again.
            let _ = serde_json::to_string(&run.header).expect("a header is JSON");
            for (point, rounds) in &run.points {
                let _ = (serde_json::to_string(point), serde_json::to_string(rounds));
            }
        }
        let _ = store.mark_killed(id);
    }
    // A run can still be written, or there is an error; the other runs then stay.
    if let Ok(mut writer) = store.writer("nobody") {
        let points = sample_run::points();
        let written = writer
            .begin(&sample_run::header("59"), &points)
            .and_then(|()| writer.round(0, &sample_run::round(0, 3)))
            .and_then(|()| writer.end(&sample_run::end(false)));
        if written.is_ok() {
            let _ = store.load("59").map(|run| assert_eq!(run.header, sample_run::header("59")));
        }
    }
}

/// A small intact store: two runs, one of them without an end.
fn sound_store() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let scratch = Scratch::new();
        let path = scratch.0.join("s.db");
        let store = Store::open(&path).expect("a store");
        for run in ["07", "08"] {
            let mut writer = store.writer("nobody").expect("it can be written");
            writer.begin(&sample_run::header(run), &sample_run::points()).expect("a run");
            writer.round(0, &sample_run::round(0, 5)).expect("a round");
            writer.round(1, &sample_run::round_of_two(0)).expect("a round");
            writer.round(1, &sample_run::failed_round(1)).expect("a round");
            if run == "07" {
                writer.end(&sample_run::end(false)).expect("an end");
            }
        }
        drop(store);
        let file = std::fs::read(&path).expect("a file");
        assert!(file.len() < 1 << 17, "small enough for three bytes of place: {}", file.len());
        file
    })
}

/// From a stored run to records, `analysis/summarise.rs`, and every view of them. The input is JSON:
/// points with their rounds, and the host.
pub fn views(data: &[u8]) {
    type Stored = (Vec<(Point, Vec<Round>)>, Host);
    let Ok(json) = std::str::from_utf8(data) else { return };
    let Ok((points, host)) = serde_json::from_str::<Stored>(json) else { return };
    let mut records: Vec<Record> = Vec::new();
    for (point, rounds) in &points {
        let made = groma_analysis::summarise(point, rounds, &host);
        assert_eq!(made.len(), point.metrics.len());
        for record in made {
            assert!(record.clean <= record.samples && record.rounds as usize <= rounds.len());
            assert_eq!(record.round_values.len(), record.rounds as usize);
            // A worker group has no more members than took samples, whatever the point claims.
            assert!(record.facts.len() <= data.len());
            records.push(record);
        }
    }
    let (head, end) = (sample_run::header("07"), sample_run::end(false));
    // A plot is as large as the terminal, a list as the records.
    let most = (256 << 10) + 512 * data.len();
    let bounded = |what: &str, text: &str| assert!(text.len() <= most, "{} bytes of {what}", text.len());
    let families = groma_benches::families();
    let families = groma_model::Families(&families);
    for all in [false, true] {
        let style = groma_report::Style { all, ..groma_report::Style::plain(100) };
        for format in groma_report::Format::ALL {
            bounded(format.word(), &groma_report::render(families, &head, &records, Some(&end), format, &style));
        }
        bounded("page", &groma_report::hardware(families, &head, &records, &style).unwrap_or_default());
        bounded("summary", &groma_report::summary(&head, &records, Some(&end), &style));
        let same: Vec<&Record> = records.iter().filter(|r| r.id == records[0].id).collect();
        let charts = [
            groma_report::plot(families, &same, None).ok(),
            records.first().and_then(|r| groma_report::histogram(r).ok()),
        ];
        for chart in charts.into_iter().flatten() {
            bounded("terminal plot", &chart.terminal(&style));
            bounded("SVG", &chart.svg());
        }
    }
}

/// The facts of a machine with arbitrary `/proc` and `/sys`, `sys/facts`: see [`Scratch::plant`].
pub fn facts(data: &[u8]) {
    let tree = Scratch::new();
    tree.plant(data, &FACT_FILES);
    let facts = facts_below(&tree.0, &[0, 1]);
    let (of_dir, counters, _) = readings_below(&tree.0, Path::new("/"));
    let mut keys = BTreeSet::new();
    for (key, value) in facts.iter().chain(&of_dir) {
        assert!(!key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic()), "the key {key:?}");
        assert!(keys.insert(key), "{key} twice");
        assert_eq!(value.split_whitespace().collect::<Vec<_>>().join(" "), *value, "{key}");
        assert!(!value.is_empty(), "{key}");
    }
    // The facts grow with the text in the files, not with the numbers in it.
    let said: usize = facts.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(said <= (64 << 10) + 16 * data.len(), "{said} bytes of facts from {}", data.len());
    assert!(counters.loadavg.is_none_or(|load| load.iter().all(|l| l.is_finite())));
    let _ = counters.since(&counters);
}

/// The files of the target `facts`. Append only: the corpus refers to them by number.
const FACT_FILES: [&str; 64] = [
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/status",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/self/maps",
    "proc/cmdline",
    "proc/uptime",
    "proc/stat",
    "proc/loadavg",
    "proc/vmstat",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/device-tree/model",
    "proc/device-tree/cpus/cpu@0/compatible",
    "proc/device-tree/hypervisor/compatible",
    "proc/self/ns/pid",
    "proc/self/ns/user",
    "proc/self/attr/current",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/net/ipv4/tcp_rmem",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
    "sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpuidle/current_governor_ro",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/disable",
    "sys/module/haltpoll/parameters/guest_halt_poll_ns",
    "sys/module/haltpoll/parameters/guest_halt_poll_guest_halt_poll_ns",
    "sys/devices/system/cpu/vulnerabilities/meltdown",
    "sys/devices/system/cpu/vulnerabilities/two words",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index0/level",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/node/online",
    "sys/devices/system/node/has_memory",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/cpulist",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/kernel/mm/hugepages/hugepages-18446744073709551615kB/nr_hugepages",
    "sys/kernel/sched_ext/state",
    "sys/fs/cgroup/a/cpu.max",
    "sys/fs/cgroup/a/cpu.stat",
    "sys/fs/cgroup/a/memory.max",
    "sys/fs/cgroup/a/memory.current",
    "sys/fs/cgroup/memory.high",
    "sys/class/dmi/id/product_name",
    "sys/dev/block/8:1/queue/scheduler",
    "run/systemd/container",
];

/// The topology of an arbitrary `/sys`, `sys/topology.rs`: see [`Scratch::plant`].
pub fn topology(data: &[u8]) {
    let (allowed, files) = data.split_at(data.len().min(2));
    let bits = allowed.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
    let allowed: Vec<u32> = (0..16).filter(|cpu| bits & (1 << cpu) != 0).collect();
    let tree = Scratch::new();
    tree.plant(files, &TOPOLOGY_FILES);
    let topology = Topology::from_tree(&tree.0, &allowed);

    assert_eq!(topology.cpus().iter().map(|cpu| cpu.id).collect::<Vec<_>>(), allowed);
    for cpu in topology.cpus() {
        assert!(cpu.siblings.contains(&cpu.id) && cpu.siblings.is_sorted() && cpu.core == cpu.siblings[0]);
    }
    for cache in topology.caches() {
        assert!(!cache.shared.is_empty() && cache.shared.is_sorted());
        assert!(cache.size != Some(0) && cache.line != Some(0) && cache.ways != Some(0));
    }
    let usable = topology.usable();
    assert!(usable.is_sorted() && usable.iter().all(|cpu| allowed.contains(cpu)));
    assert_eq!(topology.check(&usable).is_ok(), !usable.is_empty());
    for group in [topology.compact(40), topology.spread(40)] {
        assert_eq!(group.len(), if usable.is_empty() { 0 } else { 40 });
        // Each CPU once before any twice.
        let first: BTreeSet<u32> = group.iter().copied().take(usable.len()).collect();
        assert_eq!(first.into_iter().collect::<Vec<_>>(), usable);
    }
    for relation in Relation::ALL {
        match topology.pair(relation) {
            Ok((a, b)) => {
                assert!(usable.contains(&a) && usable.contains(&b) && (a == b) == (relation == Relation::SameCpu));
                assert!(topology.relation(a, b).is_some());
                assert_eq!(topology.pair(relation), Ok((a, b)), "always the same");
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
}

/// The files of the target `topology`. Append only: the corpus refers to them by number.
const TOPOLOGY_FILES: [&str; 40] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node1/cpulist",
    "sys/devices/system/node/node10/cpulist",
    "sys/devices/system/node/has_memory",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/cpu/cpu2/cpu_capacity",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu2/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu3/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu1/topology/physical_package_id",
    "sys/devices/system/cpu/cpu2/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/die_cpus_list",
    "sys/devices/system/cpu/cpu2/topology/die_cpus_list",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity",
    "sys/devices/system/cpu/cpu0/cache/index1/level",
    "sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index0/level",
    "sys/devices/system/cpu/cpu1/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index0/size",
    "sys/devices/system/cpu/cpu1/cache/index1/level",
    "sys/devices/system/cpu/cpu1/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu2/cache/index0/level",
    "sys/devices/system/cpu/cpu2/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu2/cache/index1/level",
    "sys/devices/system/cpu/cpu2/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu3/cache/index0/level",
    "sys/devices/system/cpu/cpu3/cache/index0/shared_cpu_list",
    "sys/devices/system/node/node4294967296/cpulist",
];

/// A directory that is removed on drop; in memory if possible.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let dir = base.join(format!("groma-fuzz-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).expect("a temporary directory");
        Scratch(dir)
    }

    /// Creates the files that the input describes: pieces that end with 0xff, each the number of a
    /// file and its contents. Numbers from 128 make a directory instead, and from 192 a symbolic
    /// link to the path in its contents.
    fn plant(&self, data: &[u8], files: &[&str]) {
        for piece in data.split(|byte| *byte == 0xff) {
            let Some((&number, text)) = piece.split_first() else { continue };
            let path = self.0.join(files[usize::from(number % 64) % files.len()]);
            let parent = path.parent().expect("a file has a directory");
            // Existing files stay: the second of two pieces for one file is ignored.
            if std::fs::create_dir_all(parent).is_err() {
                continue;
            }
            let _ = match number {
                0..128 if !path.exists() => std::fs::write(&path, text),
                0..128 => Ok(()),
                128..192 => std::fs::create_dir(&path),
                // Never out of the tree, and never to a file whose read can block.
                _ => match std::str::from_utf8(text) {
                    Ok(to) if !to.is_empty() && !to.contains(['/', '\0']) => std::os::unix::fs::symlink(to, &path),
                    _ => Ok(()),
                },
            };
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
