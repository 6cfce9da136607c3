//! What is stored: the JSON, the SQLite file, and the views of it.

use super::scratch::Scratch;
use groma_model::{
    End, Host, LabelCounts, Labels, Machine, Params, Point, Record, Round, RoundResult, RunHeader, Series, StateCounts,
};
use groma_store::ndjson::Runs;
use groma_store::{Baseline, Ndjson, Sink, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::OnceLock;

#[path = "../../crates/store/tests/common/mod.rs"]
mod sample_run;

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
        9 | 10 => same_again::<RoundResult>(json),
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

/// A stream with rounds, `store/ndjson/read.rs`.
pub fn stream(data: &[u8]) {
    let path = Path::new("memory");
    for run in Runs::new(data, path).map_while(Result::ok) {
        let mut out = Ndjson::new(Vec::new(), "memory").with_rounds();
        let points: Vec<Point> = run.points.iter().map(|(point, _)| point.clone()).collect();
        out.begin(&run.header, &points).expect("memory takes all");
        for (number, (_, rounds)) in run.points.iter().enumerate() {
            rounds.iter().for_each(|round| out.round(number, round).expect("memory takes all"));
        }
        run.end.iter().for_each(|end| out.end(end).expect("memory takes all"));
        let written = out.into_inner();
        let again = Runs::new(&*written, path).next().expect("a run").expect("what was written can be read");
        assert_eq!(format!("{again:?}"), format!("{run:?}"));
    }
}

/// A baseline, `store/baseline.rs`.
pub fn baseline(data: &[u8]) {
    let path = Path::new("memory");
    let Ok(first) = Baseline::of_lines(data, path) else { return };
    let written = |baseline: &Baseline| {
        let mut out = Vec::new();
        baseline.write(&mut out, "memory").expect("memory takes all");
        out
    };
    // Digits are dropped and metrics sorted once, and then nothing changes any more.
    let once = written(&first);
    let again = Baseline::of_lines(&*once, path).expect("what was written can be read");
    assert_eq!(again.metrics.len(), first.metrics.len());
    assert_eq!(String::from_utf8_lossy(&written(&again)), String::from_utf8_lossy(&once));
}

/// A result file of lmbench, `published/results/read.rs`. Its runs are small however long the file
/// is, and the text of a run reads as the same run.
pub fn lmbench(data: &[u8]) {
    let file = groma_published::results::read(data);
    let lines = data.split(|byte| *byte == b'\n').count();
    for run in &file.runs {
        for value in &run.values {
            assert!(value.line >= run.line && value.line <= lines && value.keys.len() == value.kind.keys.len());
            assert!(value.number.is_err() || value.number.is_ok_and(|number| number.is_finite() && number > 0.0));
        }
        // A row has two values at most, and a line is kept once.
        assert!(run.values.len() <= 2 * lines && run.unread.len() <= run.unread_lines.min(8));
        let again = groma_published::results::read(run.text.as_bytes());
        assert_eq!(again.runs.len(), 1, "{:?}", run.text);
        // The last line of a file may be cut off, and that of a run of it ends.
        if data.last() == Some(&b'\n') {
            let numbers = |run: &groma_published::results::Run| {
                run.values.iter().map(|v| (v.kind.name, v.keys.clone(), v.number)).collect::<Vec<_>>()
            };
            assert_eq!(numbers(&again.runs[0]), numbers(run));
            assert_eq!((&again.runs[0].head, &again.runs[0].dates), (&run.head, &run.dates));
        }
    }
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
    let path = scratch.dir.join("s.db");
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
        if written.is_ok()
            && let Ok(run) = store.load("59")
        {
            // Tags are rows of their own, and SQLite does not notice every altered page: one may be
            // lost. The header is a single value.
            let tags = run.header.tags.clone();
            assert_eq!(run.header, RunHeader { tags, ..sample_run::header("59") });
        }
    }
}

/// A small intact store: two runs, one of them without an end.
fn sound_store() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let scratch = Scratch::new();
        let path = scratch.dir.join("s.db");
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

/// From a stored run to records, `analysis/summarise.rs`, and every view of them. The input is
/// JSON: points with their rounds, and the host.
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
    let families = groma_model::Families { all: &families, pages: groma_benches::pages() };
    for all in [false, true] {
        let style = groma_report::Style { all, ..groma_report::Style::plain(100) };
        for format in groma_report::Format::COMMON {
            let style = style.of(format);
            let document = groma_report::run(families, &head, &records, Some(&end), &style);
            bounded(format.word(), &document.render(format, &style));
        }
        if let Some(page) = groma_report::hardware(families, &head, &records, &style) {
            bounded("page", &page.render(groma_report::Format::Table, &style));
        }
        bounded("summary", &groma_report::summary(&head, &records, Some(&end), &style));
        let same: Vec<&Record> = records.iter().filter(|r| r.id == records[0].id).collect();
        let source = groma_report::Source { run: &head, called: "", records: same };
        let charts = [
            groma_report::plot(families, std::slice::from_ref(&source), None, &[]).ok(),
            groma_report::plot(families, &[source.clone(), source], None, &[]).ok(),
            records.first().and_then(|r| groma_report::histogram(&head, r, Labels::NONE).ok()),
        ];
        for chart in charts.into_iter().flatten() {
            bounded("terminal plot", &chart.terminal(&style));
            bounded("SVG", &chart.svg());
        }
    }
}
