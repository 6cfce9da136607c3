//! What supervisor and worker say to each other: lines of tab-separated text, readable in a terminal.
//!
//! A job goes in on standard input, a result comes out on a duplicate of standard output, after the last sample. The last
//! line is `end`, and it ends the round: not the end of the file, because a forked helper may still hold the pipe open. No
//! serialisation library, so that a worker stays small and the parser can be read at a glance.

use crate::model::{
    Fact, Host, Job, Labels, Params, Proof, Remote, RoundResult, Sample, Series, State, Value, WorkerKind,
};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// A path, whose bytes need not be text: as [`escape`], what is no UTF-8 byte by byte.
fn escape_path(path: &Path) -> String {
    let mut out = String::new();
    for part in path.as_os_str().as_bytes().utf8_chunks() {
        out += &escape(part.valid());
        for byte in part.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn unescape_path(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escaped = &rest[at..];
        let byte = escaped.strip_prefix("\\x").and_then(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok());
        // Every other escape is a backslash and a character.
        let length = if byte.is_some() { 4 } else { 1 + escaped[1..].chars().next().map_or(0, char::len_utf8) };
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(unescape(&escaped[..length]).as_bytes()),
        }
        rest = &escaped[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}

macro_rules! line {
    ($out:expr, $word:literal $(, $field:expr)*) => {{
        $out.push_str($word);
        $(
            // Writing to a String cannot fail.
            let _ = write!($out, "\t{}", $field);
        )*
        $out.push('\n');
    }};
}

/// A worker's order: the process that gives it, and the job.
pub fn write_job(parent: i32, job: &Job) -> String {
    let mut out = String::new();
    line!(out, "parent", parent);
    line!(out, "id", escape(&job.id));
    for (name, value) in &job.params.0 {
        match value {
            Value::Int(n) => line!(out, "int", escape(name), n),
            Value::Word(w) => line!(out, "word", escape(name), escape(w)),
        }
    }
    line!(out, "placement", job.placement);
    for cpu in &job.cpus {
        line!(out, "cpu", cpu);
    }
    let worker_kind = match job.worker_kind {
        WorkerKind::Processes => "processes",
        WorkerKind::Threads => "threads",
    };
    line!(out, "workers", job.workers, worker_kind);
    line!(out, "round", job.round, job.seed, job.intervals, job.time_limit_ns, job.warm_ns);
    for (name, n) in &job.frozen {
        line!(out, "frozen", escape(name), n);
    }
    if let Some(dir) = &job.work_dir {
        line!(out, "dir", escape_path(dir));
    }
    if let Some(remote) = &job.remote {
        line!(out, "remote", remote.address, escape(&remote.token));
    }
    let h = &job.host;
    let optional = |v: Option<f64>| v.map_or("-".to_owned(), |v| v.to_string());
    line!(
        out,
        "host",
        h.clock_step_ns,
        h.clock_cost_ns,
        h.timeslice_ns,
        u8::from(h.timeslice_assumed),
        h.interval_ns,
        optional(h.proportionality),
        optional(h.counter_hz)
    );
    line!(out, "go");
    out
}

/// Fields of a line, taken one after the other.
struct Fields<'t> {
    line: &'t str,
    rest: std::str::Split<'t, char>,
}

impl<'t> Fields<'t> {
    fn text(&mut self) -> Result<&'t str, String> {
        self.rest.next().ok_or_else(|| format!("a field is missing in '{}'", self.line))
    }

    fn string(&mut self) -> Result<String, String> {
        self.text().map(unescape)
    }

    fn parse<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let text = self.text()?;
        text.parse().map_err(|_| format!("'{text}' cannot be read in '{}'", self.line))
    }

    fn optional<T: std::str::FromStr>(&mut self) -> Result<Option<T>, String> {
        let text = self.text()?;
        if text == "-" {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| format!("'{text}' cannot be read in '{}'", self.line))
    }
}

impl Fields<'_> {
    /// A line with more fields than its word has is two lines whose end was lost, or none of ours.
    fn end(mut self) -> Result<(), String> {
        match self.rest.next() {
            None => Ok(()),
            Some(_) => Err(format!("there is a field too many in '{}'", self.line)),
        }
    }
}

fn split(line: &str) -> (&str, Fields<'_>) {
    let mut rest = line.split('\t');
    (rest.next().unwrap_or(""), Fields { line, rest })
}

/// Reads what [`write_job`] wrote.
///
/// # Errors
/// The line that cannot be read, or what is missing.
pub fn read_job(text: &str) -> Result<(i32, Job), String> {
    let mut parent = None;
    let mut host = None;
    let mut complete = false;
    let mut job = Job {
        id: String::new(),
        params: Params::default(),
        placement: crate::model::Placement::Free,
        cpus: Vec::new(),
        workers: 1,
        worker_kind: WorkerKind::Processes,
        round: 0,
        seed: 0,
        intervals: 0,
        time_limit_ns: 0,
        warm_ns: 0,
        frozen: Vec::new(),
        work_dir: None,
        remote: None,
        host: Host::UNKNOWN,
    };
    for line in text.lines() {
        if complete {
            return Err(format!("the job goes on after its end with '{line}'"));
        }
        let (word, mut f) = split(line);
        match word {
            "parent" => parent = Some(f.parse()?),
            "id" => job.id = f.string()?,
            "int" => job.params.0.push((f.string()?, Value::Int(f.parse()?))),
            "word" => job.params.0.push((f.string()?, Value::Word(f.string()?))),
            "placement" => job.placement = f.parse()?,
            "cpu" => job.cpus.push(f.parse()?),
            "workers" => {
                job.workers = f.parse()?;
                job.worker_kind = match f.text()? {
                    "processes" => WorkerKind::Processes,
                    "threads" => WorkerKind::Threads,
                    other => return Err(format!("'{other}' is not a kind of worker (processes or threads)")),
                };
            }
            "round" => {
                job.round = f.parse()?;
                job.seed = f.parse()?;
                job.intervals = f.parse()?;
                job.time_limit_ns = f.parse()?;
                job.warm_ns = f.parse()?;
            }
            "frozen" => job.frozen.push((f.string()?, f.parse()?)),
            "dir" => job.work_dir = Some(unescape_path(f.text()?)),
            "remote" => job.remote = Some(Remote { address: f.parse()?, token: f.string()? }),
            "host" => {
                host = Some(Host {
                    clock_step_ns: f.parse()?,
                    clock_cost_ns: f.parse()?,
                    timeslice_ns: f.parse()?,
                    timeslice_assumed: f.text()? == "1",
                    interval_ns: f.parse()?,
                    proportionality: f.optional()?,
                    counter_hz: f.optional()?,
                });
            }
            "go" => complete = true,
            other => return Err(format!("'{other}' is no word of a job")),
        }
        f.end()?;
    }
    if !complete {
        return Err("the job breaks off".to_owned());
    }
    job.host = host.ok_or("the job names no host")?;
    Ok((parent.ok_or("the job names no parent")?, job))
}

/// What a worker says of its round.
pub fn write_result(result: &RoundResult) -> String {
    let mut out = String::new();
    line!(out, "pid", result.pid);
    if let Some(hz) = result.output.core_hz {
        line!(out, "hz", hz);
    }
    for fact in &result.output.facts {
        line!(out, "fact", escape(&fact.key), escape(&fact.value));
    }
    for remark in &result.output.remarks {
        line!(out, "note", escape(&remark.to_string()));
    }
    for proof in &result.output.proofs {
        line!(out, "proof", u8::from(proof.holds), proof.seen, escape(&proof.expected), escape(&proof.name));
    }
    for series in &result.output.series {
        line!(out, "series", escape(&series.name), series.iters, series.per_iter);
        for value in &series.values {
            line!(out, "value", value);
        }
        for s in &series.samples {
            let margin = s.margin_ns.map_or("-".to_owned(), |m| m.to_string());
            line!(out, "sample", s.worker, s.cpu, s.t0_ns, s.elapsed_ns, s.iters, s.cpu_ns, s.labels.0, margin);
        }
    }
    line!(out, "end", result.state.word(), escape(&result.reason));
    out
}

/// Whether what has come so far is a complete result: it ends with a whole `end` line. Looks at the last line only, so that
/// a long result is not scanned at every piece.
pub fn is_complete(bytes: &[u8]) -> bool {
    let Some((b'\n', lines)) = bytes.split_last() else { return false };
    let start = lines.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    lines[start..].starts_with(b"end\t")
}

/// Reads what [`write_result`] wrote.
///
/// # Errors
/// The line that cannot be read, or that the result breaks off.
pub fn read_result(text: &str) -> Result<RoundResult, String> {
    let mut result = RoundResult::ended(State::Failed, "");
    let mut complete = false;
    let no_series = || "a sample without a series".to_owned();
    for line in text.lines() {
        if complete {
            return Err(format!("the result goes on after its end with '{line}'"));
        }
        let (word, mut f) = split(line);
        match word {
            "pid" => result.pid = f.parse()?,
            "hz" => result.output.core_hz = Some(f.parse()?),
            "fact" => result.output.facts.push(Fact { key: f.string()?, value: f.string()? }),
            "note" => result.output.remarks.push(f.string()?.into()),
            "proof" => result.output.proofs.push(Proof {
                holds: f.text()? == "1",
                seen: f.parse()?,
                expected: f.string()?,
                name: f.string()?,
            }),
            "series" => result.output.series.push(Series {
                name: f.string()?,
                iters: f.parse()?,
                per_iter: f.parse()?,
                samples: Vec::new(),
                values: Vec::new(),
            }),
            "value" => {
                let value = f.parse()?;
                result.output.series.last_mut().ok_or_else(no_series)?.values.push(value);
            }
            "sample" => {
                let sample = Sample {
                    worker: f.parse()?,
                    cpu: f.parse()?,
                    t0_ns: f.parse()?,
                    elapsed_ns: f.parse()?,
                    iters: f.parse()?,
                    cpu_ns: f.parse()?,
                    labels: Labels(f.parse()?),
                    margin_ns: f.optional()?,
                };
                result.output.series.last_mut().ok_or_else(no_series)?.samples.push(sample);
            }
            "end" => {
                let word = f.text()?;
                result.state = State::from_word(word).ok_or_else(|| format!("'{word}' is no state"))?;
                result.reason = f.string()?;
                complete = true;
            }
            other => return Err(format!("'{other}' is no word of a result")),
        }
        f.end()?;
    }
    if complete { Ok(result) } else { Err("the result breaks off".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Label, Placement, RoundOutput};
    use groma_stats::rng::Rng;

    fn job() -> Job {
        Job {
            id: "ipc.pipe_rtt".into(),
            params: Params(vec![("size".into(), Value::Int(64)), ("kind".into(), Value::Word("odd\tword\\n".into()))]),
            placement: Placement::List(vec![1, 0]),
            cpus: vec![1, 0],
            workers: 2,
            worker_kind: WorkerKind::Threads,
            round: 3,
            seed: u64::MAX,
            intervals: 25,
            time_limit_ns: 40_000_000,
            warm_ns: 10_000_000,
            frozen: vec![(String::new(), 1234), ("control".into(), 99)],
            work_dir: Some(OsString::from_vec(b"/tmp/a dir\nwith a \\x41 line\xff \\".to_vec()).into()),
            remote: Some(Remote { address: "[::1]:47".parse().expect("an address"), token: "a\tb".into() }),
            host: Host {
                clock_step_ns: 10.5,
                clock_cost_ns: 20.25,
                timeslice_ns: 4e6,
                timeslice_assumed: false,
                interval_ns: 2e5,
                proportionality: None,
                counter_hz: Some(2.3e9),
            },
        }
    }

    fn result() -> RoundResult {
        RoundResult {
            state: State::Ok,
            reason: String::new(),
            pid: 77,
            wall_ns: 0,
            output: RoundOutput {
                series: vec![
                    Series {
                        name: "ring".into(),
                        iters: 100,
                        per_iter: 0.1,
                        samples: vec![
                            Sample {
                                worker: 1,
                                cpu: 3,
                                t0_ns: 1 << 60,
                                elapsed_ns: 5,
                                iters: 100,
                                cpu_ns: 4,
                                labels: Labels::of(&[Label::Migrated]),
                                margin_ns: Some(-3),
                            },
                            Sample::default(),
                        ],
                        values: vec![],
                    },
                    Series {
                        name: String::new(),
                        iters: 1,
                        per_iter: 1.0,
                        samples: vec![],
                        values: vec![1e-9, 0.1 + 0.2],
                    },
                ],
                proofs: vec![Proof { name: "a\tb".into(), expected: "1..2".into(), seen: 1.5, holds: true }],
                facts: vec![Fact::new("k", "v\nw")],
                remarks: vec!["unsteady".into()],
                core_hz: Some(3.7e9),
            },
        }
    }

    #[test]
    fn a_job_comes_back_as_it_was() {
        assert_eq!(read_job(&write_job(42, &job())), Ok((42, job())));
    }

    #[test]
    fn a_result_comes_back_as_it_was() {
        assert_eq!(read_result(&write_result(&result())), Ok(result()));
    }

    #[test]
    fn complete_means_a_whole_end_line() {
        let text = write_result(&result());
        assert!(is_complete(text.as_bytes()));
        for cut in 1..text.len() {
            if text.is_char_boundary(cut) {
                assert!(!is_complete(&text.as_bytes()[..cut]), "cut at {cut}");
                assert!(read_result(&text[..cut]).is_err() || text[..cut].lines().last() == text.lines().last());
            }
        }
    }

    #[test]
    fn only_a_whole_last_line_ends_a_result() {
        assert!(is_complete(b"pid\t1\nend\tok\t\n"));
        assert!(is_complete(b"end\tok\t\n"));
        for text in ["", "\n", "end\tok", "pid\t1\n", "end\tok\t\nsample\t1\n", "spend\tok\t\n"] {
            assert!(!is_complete(text.as_bytes()), "{text:?}");
        }
    }

    /// A lost end of a line makes two lines one, and a second writer adds lines after the last.
    #[test]
    fn nothing_more_than_was_written_is_accepted() {
        let (job, result) = (write_job(42, &job()), write_result(&result()));
        for at in 0..job.lines().count() {
            let longer: Vec<String> =
                job.lines().enumerate().map(|(i, l)| if i == at { format!("{l}\tx") } else { l.to_owned() }).collect();
            assert!(read_job(&longer.join("\n")).is_err(), "line {at} of the job");
        }
        for at in 0..result.lines().count() {
            let longer: Vec<String> = result
                .lines()
                .enumerate()
                .map(|(i, l)| if i == at { format!("{l}\tx") } else { l.to_owned() })
                .collect();
            assert!(read_result(&longer.join("\n")).is_err(), "line {at} of the result");
        }
        for more in ["cpu\t1\n", "go\n", "\n"] {
            assert!(read_job(&format!("{job}{more}")).is_err(), "{more:?}");
        }
        for more in ["note\tlate\n", "end\tok\t\n", "\n"] {
            assert!(read_result(&format!("{result}{more}")).is_err(), "{more:?}");
        }
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic() {
        let mut rng = Rng::new(7);
        let (good_job, good_result) = (write_job(1, &job()), write_result(&result()));
        for round in 0..20_000 {
            let good = if round % 2 == 0 { &good_job } else { &good_result };
            let mut bytes = good.clone().into_bytes();
            for _ in 0..=rng.below(4) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(3) {
                    0 => bytes[at] = rng.below(256) as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"\t\n\\0-e"[rng.below(6) as usize]),
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            // Whatever comes back must be writable again.
            if let Ok((parent, job)) = read_job(&text) {
                let _ = write_job(parent, &job);
            }
            if let Ok(result) = read_result(&text) {
                let _ = write_result(&result);
            }
        }
    }
}
