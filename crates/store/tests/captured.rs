//! Streams and baselines that other programs wrote again, or that were captured from a serial
//! console: read alike by all readers.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use groma_model::Record;
use groma_store::ndjson::{Lost, RecordedRun, RecordedRuns, read_noted, without_others};
use groma_store::{Baseline, BaselineMetric, FileKind, Ndjson, Sink, StoreError, StoredRun};
use tempfile::TempDir;

/// The fixture as lines: run, 3 points, 5 rounds, 2 records, the end.
fn lines() -> Vec<String> {
    let mut out = Ndjson::new(Vec::new(), "out.ndjson").with_rounds();
    out.begin(&common::header("10"), &common::points()).expect("begin");
    for (point, round) in common::rounds() {
        out.round(point, &round).expect("round");
    }
    out.record(&common::record()).expect("record");
    out.record(&Record { value: Some(1.5), ..common::record() }).expect("record");
    out.end(&common::end(false)).expect("end");
    split(out.into_inner())
}

fn baseline() -> Vec<String> {
    let metrics = vec![BaselineMetric { record: common::record(), runs: vec![4.0e-6, 4.2e-6] }];
    let mut text = Vec::new();
    Baseline { head: common::header("10"), runs: vec!["10".to_owned()], metrics }
        .write(&mut text, "b")
        .expect("written");
    split(text)
}

fn split(text: Vec<u8>) -> Vec<String> {
    String::from_utf8(text).expect("UTF-8").lines().map(str::to_owned).collect()
}

fn file(dir: &TempDir, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join("console.log");
    fs::write(&path, text).expect("write");
    path
}

/// Reads a stream with its rounds, and what was lost.
fn rounds_of(text: impl AsRef<[u8]>) -> Result<(StoredRun, Option<String>), String> {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file(&dir, text);
    let said = |error: StoreError| error.to_string().replace(&format!("{}: ", path.display()), "");
    read_noted(&path).map(|(run, lost)| (run, lost.map(|lost| lost.to_string()))).map_err(said)
}

/// Reads its records, and what was lost.
fn records_of(text: impl AsRef<[u8]>) -> Result<(Vec<RecordedRun>, Option<String>), String> {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file(&dir, text);
    let said = |error: StoreError| error.to_string().replace(&format!("{}: ", path.display()), "");
    let mut runs = RecordedRuns::open(&path).map_err(said)?;
    let all = runs.by_ref().collect::<Result<_, _>>().map_err(said)?;
    Ok((all, runs.lost().map(Lost::to_string)))
}

fn baseline_of(text: &str) -> Result<(Baseline, Option<String>), String> {
    Baseline::of_lines_noted(text.as_bytes(), Path::new("b"))
        .map(|(baseline, lost)| (baseline, lost.map(|lost| lost.to_string())))
        .map_err(|error| error.to_string())
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| line.clone() + "\n").collect()
}

/// What another program did to the lines of a stream.
type Change = fn(&[String]) -> String;

/// The line as another program would write it: other blanks, other order of keys.
fn written_again(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
    serde_json::to_string_pretty(&value).expect("JSON").replace('\n', " ")
}

/// As `json.dumps` writes it: the same order, blanks after colons.
fn with_blanks(line: &str) -> String {
    line.replacen("\"kind\":", "\"kind\": ", 1).replacen(",\"", ", \"", 3)
}

#[test]
fn other_line_ends_blanks_and_orders_change_nothing() {
    let run = rounds_of(joined(&lines())).expect("a run").0;
    let records = format!("{:?}", records_of(joined(&lines())).expect("a run").0);
    let base = baseline_of(&joined(&baseline())).expect("a baseline").0;
    let changes: [(&str, Change); 7] = [
        ("CR LF", |lines| joined(lines).replace('\n', "\r\n")),
        ("a byte order mark", |lines| format!("\u{feff}{}", joined(lines))),
        ("blank lines", |lines| format!("\n\r\n  \n{}\n\n", joined(lines).replace('\n', "\n \t\n"))),
        ("blanks around", |lines| joined(lines).replace('\n', " \t\n ")),
        ("another order", |lines| joined(&lines.iter().map(|line| written_again(line)).collect::<Vec<_>>())),
        ("blanks inside", |lines| joined(&lines.iter().map(|line| with_blanks(line)).collect::<Vec<_>>())),
        ("all of it", |lines| {
            let again: Vec<_> = lines.iter().map(|line| written_again(line)).collect();
            format!("\u{feff}\r\n{}", joined(&again).replace('\n', " \r\n\r\n"))
        }),
    ];
    for (what, change) in changes {
        let stream = change(&lines());
        assert_ne!(stream, joined(&lines()), "{what}");
        assert_eq!(rounds_of(&stream), Ok((run.clone(), None)), "{what}");
        let (read, lost) = records_of(&stream).expect(what);
        assert_eq!((format!("{read:?}"), lost), (records.clone(), None), "{what}");
        assert_eq!(baseline_of(&change(&baseline())), Ok((base.clone(), None)), "{what}");
        let dir = tempfile::tempdir().expect("tempdir");
        assert_eq!(FileKind::of(&file(&dir, &stream)).expect(what), FileKind::Stream, "{what}");
        assert_eq!(FileKind::of(&file(&dir, change(&baseline()))).expect(what), FileKind::Baseline, "{what}");
        let (clean, lost) = without_others(stream.into_bytes());
        assert_eq!((clean.split(|b| *b == b'\n').count(), lost), (13, None), "{what}");
    }
}

/// `jq .`, `jq -s .`, and an editor.
#[test]
fn what_a_formatter_has_laid_out_reads_as_the_stream() {
    let run = rounds_of(joined(&lines())).expect("a run").0;
    let value = |line: &String| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    let pretty = |lines: &[String]| -> String { lines.iter().map(|line| format!("{:#}\n", value(line))).collect() };
    let array = |lines: &[String]| format!("{:#}\n", lines.iter().map(value).collect::<serde_json::Value>());
    let dense = |lines: &[String]| lines.iter().map(value).collect::<serde_json::Value>().to_string();
    for (what, change) in
        [("laid out", &pretty as &dyn Fn(&[String]) -> String), ("an array", &array), ("dense", &dense)]
    {
        for stream in [change(&lines()), format!("\u{feff}\r\n{}", change(&lines()).replace('\n', "\r\n"))] {
            assert_eq!(rounds_of(&stream), Ok((run.clone(), None)), "{what}");
            assert_eq!(records_of(&stream).expect(what).0.len(), 1, "{what}");
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let path = file(&dir, change(&baseline()));
        assert_eq!(FileKind::of(&path).expect(what), FileKind::Baseline, "{what}");
        assert_eq!(Baseline::read(&path).expect(what).runs, ["10"], "{what}");
    }
    let cut = pretty(&lines());
    rounds_of(&cut[..cut.len() / 2]).expect_err("it is cut off");
}

const BANNER: &str = "[    0.000000] Linux version 6.18.5\r\n\r\nDebian GNU/Linux 13 h ttyS0\r\n\r\nh login: root\r\n\
                      {not JSON}\r\nroot@h:~# cat run.ndjson\r\n";
const KERNEL: &str = "[   12.345678] usb 1-1: new high-speed USB device\r\n";

/// The lines as a console shows them: a banner before, kernel messages between, a prompt behind,
/// and the first line behind a prompt.
fn console(lines: &[String]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\r\n{KERNEL}")).collect();
    format!("{BANNER}\x1b[?2004lroot@h:~# {text}root@h:~# \u{7}")
}

/// The same with a kernel message in the middle of a line.
fn broken(lines: &[String], line: usize, at: usize) -> String {
    let mut lines = lines.to_vec();
    lines[line].insert_str(at, KERNEL);
    console(&lines)
}

#[test]
fn a_captured_console_reads_as_the_stream() {
    let run = rounds_of(joined(&lines())).expect("a run").0;
    let records = format!("{:?}", records_of(joined(&lines())).expect("a run").0);
    // 5 lines of the banner that are not blank, and 12 messages; the prompt.
    let lost = |of: &str| Some(format!("18 lines are not groma's: all {of} read"));
    assert_eq!(rounds_of(console(&lines())), Ok((run.clone(), lost("5 rounds"))));
    let (read, told) = records_of(console(&lines())).expect("a run");
    assert_eq!((format!("{read:?}"), told), (records, lost("2 metrics")));
    let base = baseline_of(&joined(&baseline())).expect("a baseline").0;
    assert_eq!(
        baseline_of(&console(&baseline())),
        Ok((base, Some("10 lines are not groma's: all 1 metric read".to_owned())))
    );
    // Bytes that are no text are a line of others as well.
    let noise = [&b"\0\xff\xfe\x80\n"[..], joined(&lines()).as_bytes()].concat();
    assert_eq!(rounds_of(noise), Ok((run.clone(), Some("1 line is not groma's: all 5 rounds read".to_owned()))));
    // What stands behind the run counts, also if it is the first that tells of a capture.
    let behind = joined(&lines()) + "root@h:~# \n";
    assert_eq!(rounds_of(&behind).expect("a run").0, run);
    let (clean, told) = without_others(console(&lines()).into_bytes());
    assert_eq!((split(clean), told.map(|lost| lost.to_string())), (lines(), lost("2 metrics")));
}

#[test]
fn cut_lines_of_a_console_are_lost_and_told() {
    let whole = rounds_of(joined(&lines())).expect("a run").0;
    // The second round of the first point: line 7 of the stream.
    let (run, lost) = rounds_of(broken(&lines(), 6, 100)).expect("a run");
    let mut expected = whole.clone();
    assert_eq!(expected.points[0].1.remove(1).round, 1);
    assert_eq!(run, expected);
    assert_eq!(lost.expect("lost"), "19 lines are not groma's, 1 round is cut: 4 of 5 rounds read");
    // The message behind the run is the first that tells.
    let mut cut = lines();
    cut[6].truncate(100);
    assert_eq!(
        rounds_of(joined(&cut) + "root@h:~# \n"),
        Ok((expected.clone(), Some("1 line is not groma's, 1 round is cut: 4 of 5 rounds read".to_owned())))
    );
    assert_eq!(rounds_of(joined(&cut)), Err("line 7: it is cut off".to_owned()), "no capture");
    // A run behind it is none of its text.
    let next = joined(&lines()).replacen("\"run\":\"10\"", "\"run\":\"20\"", 1);
    assert_eq!(rounds_of(joined(&cut) + &next + "root@h:~# \n"), Err("line 7: it is cut off".to_owned()));

    let (records, lost) = records_of(broken(&lines(), 10, 100)).expect("a run");
    assert_eq!((records.len(), records[0].records.len()), (1, 1));
    assert_eq!(lost.expect("lost"), "19 lines are not groma's, 1 metric is cut: 1 of 2 metrics read");
    let (base, lost) = baseline_of(&broken(&baseline(), 3, 100)).expect("a baseline");
    assert_eq!(base.metrics.len(), 0);
    assert_eq!(lost.expect("lost"), "11 lines are not groma's, 1 metric is cut: 0 of 1 metric read");
    let (clean, _) = without_others(broken(&lines(), 10, 100).into_bytes());
    assert_eq!(split(clean), [&lines()[..10], &lines()[11..]].concat());

    // The end: the run has none. The head: nothing can be read.
    let (run, lost) = rounds_of(broken(&lines(), 11, 100)).expect("a run");
    assert_eq!((run.end, run.points.len()), (None, 3));
    assert_eq!(lost.expect("lost"), "19 lines are not groma's, 1 end is cut: all 5 rounds read");
    assert_eq!(rounds_of(broken(&lines(), 0, 100)), Err("line 8: it is cut off".to_owned()));
    assert_eq!(baseline_of(&broken(&baseline(), 0, 100)), Err("b: line 8: it is cut off".to_owned()));
}

/// Points have no number but their order.
#[test]
fn rounds_never_become_those_of_another_point() {
    let whole = rounds_of(joined(&lines())).expect("a run").0;
    // A point that is seen to be cut goes with its rounds, and the others keep theirs.
    let (run, lost) = rounds_of(broken(&lines(), 1, 100)).expect("a run");
    assert_eq!(run.points, whole.points[1..]);
    assert_eq!(
        lost.expect("lost"),
        "19 lines are not groma's, 1 point is cut, 3 rounds have lost the point or run: 2 of 5 rounds read"
    );
    // One whose kind is cut may be anything.
    let error = rounds_of(broken(&lines(), 1, 5)).expect_err("a damaged plan");
    assert!(error.starts_with("line 10: it is damaged, and may be a point"), "{error}");
    // One that left no trace is missed by its record.
    let without = [&lines()[..1], &lines()[2..]].concat();
    let error = rounds_of(console(&without)).expect_err("a damaged plan");
    assert!(error.contains("a record of ipc.pipe_rtt, whose point is lost"), "{error}");
    assert!(rounds_of(joined(&without)).is_ok(), "no capture: as written");
    // A run whose head is cut is not taken for the end of the one before it.
    let unended = &lines()[..11];
    let second: Vec<String> = lines().iter().map(|line| line.replacen("\"run\":\"10\"", "\"run\":\"20\"", 1)).collect();
    let mut both = [unended, &second].concat();
    both[11].insert_str(100, KERNEL);
    let (run, lost) = rounds_of(console(&both)).expect("the first run");
    assert_eq!((run.points, run.end), (whole.points.clone(), None));
    assert_eq!(
        lost.expect("lost"),
        "30 lines are not groma's, 1 run is cut, 5 rounds have lost the point or run: \
         5 of 10 rounds read"
    );
    let (records, _) = records_of(console(&both)).expect("the first run");
    assert_eq!((records.len(), records[0].records.len()), (1, 2));
    // What is left of a run without its head is not of the run behind it.
    let mut both = [&lines()[..], &second].concat();
    [0, 2].into_iter().for_each(|line| both[line].insert_str(100, KERNEL));
    let (run, lost) = rounds_of(console(&both)).expect("the second run");
    assert_eq!((run.header.run.as_str(), run.points), ("20", whole.points.clone()));
    assert_eq!(
        lost.expect("lost"),
        "32 lines are not groma's, 1 run is cut, 1 point is cut, 5 rounds have lost the point or run: 5 of 10 rounds read"
    );
    // Without a trace of the head, its points stand behind rounds.
    let error = rounds_of(console(&[unended, &second[1..]].concat())).expect_err("a lost head");
    assert!(error.contains("a point behind rounds"), "{error}");
}

#[test]
fn what_is_not_gromas_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("tempdir");
    let nothing = "neither a groma store nor a stream of a run";
    let parameter = "s\":1,\"params\":{\"kind\":\"read\"}\n";
    for text in [BANNER, "", "\n\n", "\u{feff}", "[1]\n{\"log\":\"x\"}\n", parameter] {
        assert_eq!(rounds_of(text), Err(nothing.to_owned()), "{text}");
        assert_eq!(records_of(text).map(|_| ()), Err(nothing.to_owned()), "{text}");
    }
    assert_eq!(baseline_of(BANNER), Err(format!("b: {nothing}")));
    // A console of which only the middle of a run is left.
    let middle = format!("{BANNER}{}", joined(&lines()[4..]));
    assert_eq!(rounds_of(&middle), Err("line 8: a 'round' line outside of a run".to_owned()));

    let deep = format!("{}{}", KERNEL.repeat(20_000), console(&lines()));
    for (text, kind) in [
        (deep.as_str(), FileKind::Stream),
        ("SQLite format 3\0...", FileKind::Sqlite),
        ("PAR1\u{15}\0", FileKind::Parquet),
        ("\n[lmbench3.0 results for Linux h 6.18]\n", FileKind::Lmbench),
        (BANNER, FileKind::Other),
        ("time,value\n", FileKind::Other),
        ("", FileKind::Other),
    ] {
        assert_eq!(FileKind::of(&file(&dir, text)).expect("a file"), kind, "{:.40}", text);
    }
    assert_eq!(FileKind::of(Path::new("/dev/zero")).expect("a device"), FileKind::Other);
    assert!(rounds_of(deep).expect("a run").1.expect("lost").starts_with("20018 lines are not groma's: all 5"));
}
