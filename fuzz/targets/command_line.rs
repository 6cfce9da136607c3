//! What a user types.

use groma::fuzzing::{self, Job, counts};
use groma_model::{Param, ParamKind, Placement, Tier, Value, parse_size, size_text};
use groma_runner::RunRequest;
use groma_runner::select::names_metric;
use groma_sys::cpu_list::{format_cpus, parse_cpus};
use std::cell::RefCell;
use std::sync::OnceLock;

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

/// A command line, `groma/verbs/mod.rs`: one argument a line.
pub fn arguments(data: &[u8]) {
    thread_local! {
        // Built once, which takes longer than parsing.
        static COMMAND: RefCell<clap::Command> = RefCell::new(fuzzing::command());
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let words = ["groma"].into_iter().chain(text.split('\n')).take(40);
    match COMMAND.with_borrow_mut(|command| fuzzing::parse(command, words)) {
        Ok(request) => request.iter().for_each(check_request),
        Err(error) => {
            let said = error.to_string();
            // Help has a fixed length; an error repeats the input a few times at most.
            let most = if error.use_stderr() { 8192 + 8 * text.len() } else { usize::MAX };
            assert!(!said.is_empty() && said.len() <= most, "{} bytes", said.len());
        }
    }
}

fn check_request(run: &RunRequest) {
    // A zero time would end a run before its first round.
    assert!(run.budget.is_none_or(|time| !time.is_zero()) && run.deadline.is_none_or(|time| !time.is_zero()));
    assert!(run.params.iter().all(|set| !set.name.is_empty() && set.values.iter().all(|v| !v.is_empty())));
    assert!(run.parallel.iter().all(|n| (1..=groma_harness::worker_group::MAX_MEMBERS).contains(n)));
    // The placement is passed to the worker's job as text.
    assert!(run.placement.as_ref().is_none_or(|p| p.to_string().parse().as_ref() == Ok(p)));
}

/// The operands of `groma dd`, `groma/verbs/dd/operands.rs`: one a line.
pub fn dd(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let words: Vec<String> = text.split('\n').take(40).map(str::to_owned).collect();
    match Job::parse(&words) {
        Ok(job) => {
            assert!((1..=1 << 30).contains(&job.bs), "bs={}", job.bs);
            assert!(job.input != "internal" || job.output != "internal");
            assert!(job.time.is_none_or(|time| !time.is_zero()), "a time of zero");
            // Repeating the operands changes nothing.
            let twice = [words.clone(), words].concat();
            let again = Job::parse(&twice).expect("the same operands again");
            assert_eq!((again.bs, again.count, again.total, again.skip), (job.bs, job.count, job.total, job.skip));
            assert_eq!((again.direct_input(), again.direct_output()), (job.direct_input(), job.direct_output()));
        }
        Err(why) => {
            let said = format!("{why:#}");
            assert!(said.contains(':') && said.len() <= 1024 + 4 * text.len(), "{said}");
        }
    }
}

/// Patterns of benchmarks, `runner/select.rs`: one a line.
pub fn select(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    static CATALOGUE: OnceLock<Vec<&'static groma_harness::Benchmark>> = OnceLock::new();
    let all = CATALOGUE.get_or_init(groma_benches::all);
    let texts: Vec<String> = text.split('\n').take(8).map(str::to_owned).collect();
    let tier = [Tier::Quick, Tier::Standard][data.len() % 2];
    match groma_runner::select(all, &texts, tier, groma_published::repeating) {
        Ok(chosen) => {
            let place = |id: &str| all.iter().position(|b| b.info.id == id).expect("of the catalogue");
            assert!(!chosen.is_empty() && chosen.is_sorted_by_key(|b| place(b.info.id)), "in the catalogue's order");
        }
        Err(why) => assert!(texts.iter().any(|t| why.to_string().contains(&format!("'{t}'"))), "{why}"),
    }
    for pattern in texts.iter().filter(|t| t.contains(['*', '?'])) {
        for id in ["mem.latency", "ipc.pipe_rtt", "ctx.switch.net", ""] {
            let prefix = id.strip_prefix(pattern.as_str()).is_some_and(|rest| rest.starts_with('.'));
            assert_eq!(names_metric(pattern, id), matches_pattern(pattern, id) || prefix, "{pattern:?} and {id:?}");
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

/// What other tools counted, `groma/verbs/predict/counts.rs`.
pub fn counts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(first) = counts::read(text) else { return };
    assert!(!first.counted.is_empty());
    for counted in &first.counted {
        let is_amount = |value: f64| value.is_finite() && value >= 0.0;
        assert!(is_amount(counted.count) && counted.bytes.is_none_or(is_amount), "{counted:?}");
    }
    let json = counts::to_json(&first).to_string();
    let again = counts::read(&json).expect("what was written can be read");
    // JSON has the means, and neither of how many runs they are nor what was told of the file.
    let told = first.notes.clone();
    assert_eq!(groma_analysis::predict::Counts { runs: first.runs, notes: told, ..again }, first);
}
