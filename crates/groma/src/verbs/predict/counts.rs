//! Parses counts of what an application did. Counts nothing itself.
//!
//! The formats are recognised by their contents: the tables of `strace -c` and of `perf trace -s`,
//! the report, the CSV and the JSON of `perf stat` (`perf.rs`), the files `/proc/PID/io` and
//! `/proc/PID/status` (either, or both in one text), and JSON, which `groma predict --format json`
//! writes. What other tools count is whole numbers; JSON of ours also holds means.

mod perf;

use groma_analysis::predict::Counts;
use groma_harness::model::plain;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum length of a text, in bytes. A table of all system calls has 20 KB.
pub(super) const LONGEST_TEXT: u64 = 1 << 20;
/// The maximum number of names: more than the calls and events of any system.
const MAX_NAMES: usize = 4096;

/// Parses counts in any of the formats.
///
/// # Errors
/// One line that says what is wrong with the text, without the name of its file.
pub fn read(text: &str) -> Result<Counts, String> {
    let has = |part: &str| text.lines().any(|line| line.trim_start().starts_with(part));
    let counts = match text.trim_start().starts_with('{') {
        _ if text.lines().any(perf::is_json) => perf::json(text)?,
        true => json(text)?,
        false if has("% time") => strace(text)?,
        false if has("Summary of events") => perf_trace(text)?,
        false if has("Performance counter stats") => perf::report(text)?,
        false if has("rchar:") || has("voluntary_ctxt_switches:") => proc_files(text)?,
        false => match perf::csv_separator(text) {
            Some(separator) => perf::csv(text, separator)?,
            None => {
                return Err(
                    "expected what strace -c, perf stat or perf trace -s writes, /proc/PID/io and status, or JSON \
                     with counts"
                        .to_owned(),
                );
            }
        },
    };
    if counts.counted.is_empty() {
        return Err("there are no counts in it".to_owned());
    }
    Ok(counts)
}

/// Counts with at most [`MAX_NAMES`] names.
#[derive(Default)]
struct Bounded(Counts, Vec<(String, String)>);

impl Bounded {
    /// Notes that an event was not counted, and why.
    fn missing(&mut self, event: &str, why: &str) {
        let one = (event.to_owned(), why.to_owned());
        if self.1.len() < MAX_NAMES && !self.1.contains(&one) {
            self.1.push(one);
        }
    }

    fn note(&mut self, note: String) {
        self.0.notes.push(note);
    }

    /// The counts, with a sentence for each reason that something was not counted.
    fn finished(mut self) -> Counts {
        let mut whys: Vec<String> = self.1.iter().map(|(_, why)| why.clone()).collect();
        whys.sort();
        whys.dedup();
        for why in whys {
            let names: Vec<&str> = self.1.iter().filter(|one| one.1 == why).map(|(name, _)| name.as_str()).collect();
            let note = format!("Not counted, and so not in the prediction: {} ({why}).", names.join(", "));
            self.note(plain(&note).into_owned());
        }
        self.0
    }

    fn add(&mut self, name: &str, count: f64, bytes: Option<f64>) -> Result<(), String> {
        self.0.add(name, count, bytes);
        if self.0.counted.len() > MAX_NAMES { Err(format!("more than {MAX_NAMES} names")) } else { Ok(()) }
    }
}

/// The table of `strace -c`, with the columns `% time`, `seconds`, `usecs/call`, `calls`, `errors`
/// and `syscall`, where `errors` may be empty. Its times are ignored: tracing distorts them.
fn strace(text: &str) -> Result<Counts, String> {
    let mut counts = Bounded::default();
    let mut inside = false;
    for line in text.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells[..] {
            ["%", "time", "seconds", "usecs/call", "calls", .., "syscall"] => inside = true,
            ["%", "time", ..] => {
                return Err(format!("{}: expected strace's own columns, without -U", line.trim()));
            }
            [.., "total"] => inside = false,
            [_, _, _, calls, name] | [_, _, _, calls, _, name] if inside && !line.trim_start().starts_with('-') => {
                counts.add(name, whole(calls, line)?, None)?;
            }
            _ => {}
        }
    }
    Ok(counts.0)
}

/// The tables of `perf trace -s`, one for each thread, with the columns `syscall`, `calls`,
/// `errors`, `total` and more, after a line of dashes. Their times are ignored: tracing distorts
/// them.
fn perf_trace(text: &str) -> Result<Counts, String> {
    let mut counts = Bounded::default();
    let mut inside = false;
    for line in text.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells[..] {
            [] => inside = false,
            [first, ..] if first.starts_with("---") => inside = true,
            [name, calls, _, ..] if inside => counts.add(name, whole(calls, line)?, None)?,
            _ => {}
        }
    }
    Ok(counts.0)
}

/// `/proc/PID/io` and `/proc/PID/status`, also those of several processes or threads one after the
/// other: the files of all threads of a process are `/proc/PID/task/*/status`.
fn proc_files(text: &str) -> Result<Counts, String> {
    let mut counts = Bounded::default();
    let lines = || text.lines().filter_map(|line| Some((line.split_once(':')?, line)));
    let mut calls: Option<f64> = None;
    // In `io` the bytes come before the calls.
    let mut bytes: [Option<f64>; 2] = [None; 2];
    // The process of the present file, its threads, and whether its thread was there before.
    let (mut group, mut is_again) = (String::new(), false);
    let mut threads: BTreeMap<String, (u64, BTreeSet<String>)> = BTreeMap::new();
    for ((key, value), line) in lines() {
        let value = value.trim();
        match key.trim() {
            "rchar" => bytes[0] = Some(whole(value, line)?),
            "wchar" => bytes[1] = Some(whole(value, line)?),
            "syscr" => counts.add("read", whole(value, line)?, bytes[0].take())?,
            "syscw" => counts.add("write", whole(value, line)?, bytes[1].take())?,
            "Tgid" => value.clone_into(&mut group),
            "Pid" => is_again = !threads.entry(group.clone()).or_default().1.insert(value.to_owned()),
            "Threads" => threads.entry(group.clone()).or_default().0 = whole(value, line)? as u64,
            name @ ("voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches") if !is_again => {
                let count = whole(value, line)?;
                calls = Some(calls.unwrap_or(0.0) + count);
                counts.add(name, count, None)?;
            }
            _ => {}
        }
    }
    for (group, (all, seen)) in threads.iter().filter(|(_, (all, seen))| *all > seen.len() as u64 && calls.is_some()) {
        counts.note(format!(
            "The switches are those of {} of {all} threads: a status file counts its own thread alone, and \
             /proc/{}/task/*/status has all of them.",
            seen.len(),
            plain(group)
        ));
    }
    Ok(counts.finished())
}

/// `{"counts": {"read": 12, "write": {"count": 3, "bytes": 4096}}, "wall_s": 0.1, "user_s": ...,
/// "system_s": ...}`.
fn json(text: &str) -> Result<Counts, String> {
    let whole: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
    let Value::Object(whole) = whole else { return Err("expected an object".to_owned()) };
    let mut counts = Bounded::default();
    for (key, value) in &whole {
        match (key.as_str(), value) {
            ("wall_s", time) => counts.0.wall_s = Some(amount(time, key)?),
            ("user_s", time) => counts.0.user_s = Some(amount(time, key)?),
            ("system_s", time) => counts.0.system_s = Some(amount(time, key)?),
            ("counts", Value::Object(all)) => {
                for (name, value) in all {
                    let (count, bytes) = match value {
                        Value::Object(of) => {
                            (of.get("count").unwrap_or(&Value::Null), of.get("bytes").filter(|bytes| !bytes.is_null()))
                        }
                        count => (count, None),
                    };
                    let bytes = bytes.map(|bytes| amount(bytes, &format!("bytes of {name}"))).transpose()?;
                    counts.add(name, amount(count, &format!("count of {name}"))?, bytes)?;
                }
            }
            ("counts", _) => return Err("counts: expected an object of names and numbers".to_owned()),
            _ => return Err(format!("'{key}': expected counts, wall_s, user_s or system_s")),
        }
    }
    Ok(counts.0)
}

/// Counts as JSON, which [`read`] accepts.
pub fn to_json(counts: &Counts) -> Value {
    let each = counts.counted.iter().map(|counted| {
        let value = match counted.bytes {
            None => serde_json::json!(counted.count),
            Some(bytes) => serde_json::json!({ "count": counted.count, "bytes": bytes }),
        };
        (counted.name.clone(), value)
    });
    let mut whole = serde_json::Map::from_iter([("counts".to_owned(), Value::Object(each.collect()))]);
    for (key, time) in [("wall_s", counts.wall_s), ("user_s", counts.user_s), ("system_s", counts.system_s)] {
        whole.extend(time.map(|time| (key.to_owned(), serde_json::json!(time))));
    }
    Value::Object(whole)
}

/// A number that is not negative.
fn amount(value: &Value, what: &str) -> Result<f64, String> {
    let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{what}: expected a number that is not below zero"))
}

/// Parses a count: digits only.
fn whole(text: &str, line: &str) -> Result<f64, String> {
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = if is_whole { text.parse().ok() } else { None };
    number.map(|number| number as f64).ok_or_else(|| in_line(text, line, "expected a whole number"))
}

/// An error that names a part of a line.
fn in_line(part: &str, line: &str, why: &str) -> String {
    format!("'{}' in the line '{}': {why}", part.trim(), line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(counts: &Counts, name: &str) -> Option<(f64, Option<f64>)> {
        counts.counted.iter().find(|counted| counted.name == name).map(|counted| (counted.count, counted.bytes))
    }

    #[test]
    fn strace_with_and_without_errors() {
        let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 41.16    0.000354           9        38           write
  5.00    0.000043           0        61        19 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.000860           2       378        27 total
";
        let counts = read(text).expect("a table");
        assert_eq!((count(&counts, "write"), count(&counts, "openat")), (Some((38.0, None)), Some((61.0, None))));
        assert_eq!(counts.counted.len(), 2);
        let error = read(&text.replace("        38", "      many")).expect_err("no number");
        assert!(error.starts_with("'many' in the line"), "{error}");
        for count in ["3.8", "3,8", "1e3", "-3", "99999999999999999999"] {
            let error = read(&text.replace("        38", &format!(" {count}"))).expect_err("no whole number");
            assert!(error.starts_with(&format!("'{count}' in the line")), "{error}");
        }
        assert!(read("% time calls syscall\n").expect_err("other columns").contains("without -U"));
    }

    #[test]
    fn perf_trace_with_two_threads() {
        let text = "
 Summary of events:

 a (1), 58 events, 90.6%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   mmap                   8      0     0.162     0.016     0.020     0.024      5.16%
   read                   1      0     0.015     0.015     0.015     0.015      0.00%

 a (2), 5 events, 9.4%

   --------------- --------  ------ -------- --------- --------- ---------     ------
   read                   4      0     0.015     0.015     0.015     0.015      0.00%
";
        let counts = read(text).expect("tables");
        assert_eq!((count(&counts, "mmap"), count(&counts, "read")), (Some((8.0, None)), Some((5.0, None))));
    }

    #[test]
    fn perf_stat_with_times_and_what_is_not_supported() {
        let text = "
 Performance counter stats for 'tar cf x':

              2.97 msec task-clock                       #    0.686 CPUs utilized
             1,126      page-faults:u                    #   42.448 K/sec
         3,000,000      cycles:u                         #    3 GHz
   <not supported>      branches

       0.004328994 seconds time elapsed

       0.001000000 seconds user
       0.004077000 seconds sys
";
        let counts = read(text).expect("a report");
        assert_eq!(count(&counts, "page-faults"), Some((1126.0, None)));
        assert_eq!(count(&counts, "cycles:u"), Some((3e6, None)));
        assert_eq!((counts.counted.len(), counts.wall_s), (2, Some(0.004328994)));
        assert_eq!((counts.user_s, counts.system_s), (Some(0.001), Some(0.004077)));
    }

    #[test]
    fn files_of_proc() {
        let io = "rchar: 6976\nwchar: 10\nsyscr: 10\nsyscw: 2\nread_bytes: 0\n";
        let status =
            "Name:\tx\nTgid:\t7\nPid:\t7\nThreads:\t1\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t1\n";
        let counts = read(&format!("{io}{status}")).expect("both");
        assert_eq!(count(&counts, "read"), Some((10.0, Some(6976.0))));
        assert_eq!(count(&counts, "write"), Some((2.0, Some(10.0))));
        assert_eq!(count(&counts, "voluntary_ctxt_switches"), Some((3.0, None)));
        assert_eq!(read(status).expect("one").counted.len(), 2);
        assert_eq!(counts.notes, [""; 0]);
        // Of a process with many threads each has a file of its own.
        let one_of =
            |thread: &str| status.replace("Pid:\t7", &format!("Pid:\t{thread}")).replace("Threads:\t1", "Threads:\t3");
        let main = read(&one_of("7")).expect("one of three");
        assert_eq!(count(&main, "voluntary_ctxt_switches"), Some((3.0, None)));
        assert!(
            main.notes[0].contains("1 of 3 threads") && main.notes[0].contains("/proc/7/task/*/status"),
            "{main:?}"
        );
        let three = [one_of("7"), one_of("8"), one_of("9"), one_of("7"), io.to_owned()].concat();
        let all = read(&three).expect("all three, the main one twice");
        assert_eq!((count(&all, "voluntary_ctxt_switches"), all.notes.len()), (Some((9.0, None)), 0));
        assert_eq!(count(&read(&format!("{io}{io}")).expect("two"), "read"), Some((20.0, Some(13952.0))));
    }

    #[test]
    fn json_and_back() {
        let text = r#"{"counts": {"read": 12, "write": {"count": 3, "bytes": 4096}}, "wall_s": 0.5}"#;
        let counts = read(text).expect("JSON");
        assert_eq!(count(&counts, "write"), Some((3.0, Some(4096.0))));
        assert_eq!(read(&to_json(&counts).to_string()), Ok(counts));
        for (text, error) in [
            ("{", "no JSON: "),
            (r#"{"counts": 3}"#, "counts: expected an object"),
            (r#"{"counts": {"read": -1}}"#, "count of read: expected a number"),
            (r#"{"counts": {"read": {"bytes": 1}}}"#, "count of read: expected a number"),
            (r#"{"count": {}}"#, "'count': expected counts,"),
            ("{}", "there are no counts"),
            ("hello", "expected what strace -c"),
            ("", "expected what strace -c"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.starts_with(error), "{text}: {said}");
        }
        let names: String = (0..5000).map(|i| format!("\"n{i}\":1,")).collect();
        let many = format!("{{\"counts\": {{{}}}}}", names.trim_end_matches(','));
        assert_eq!(read(&many), Err("more than 4096 names".to_owned()));
    }
}
