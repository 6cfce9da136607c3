//! The lines of a stream, byte for byte, and its errors.

mod common;

use std::io::{self, Write};

use groma_model::{Record, RunHeader};
use groma_store::{Ndjson, Sink, StoreError};

fn lines() -> Vec<String> {
    let mut out = Ndjson::new(Vec::new(), "out.ndjson");
    out.begin(&common::header("10"), &common::points()).expect("begin");
    for (point, round) in common::rounds() {
        out.round(point, &round).expect("round");
    }
    out.record(&common::record()).expect("record");
    out.record(&Record { round_samples: Some(vec![common::round(4, 2)]), ..common::record() }).expect("record");
    out.end(&common::end(false)).expect("end");
    let text = String::from_utf8(out.into_inner()).expect("UTF-8");
    assert!(text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn lines_are_byte_for_byte_as_documented() {
    let lines = lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[0],
        concat!(
            r#"{"kind":"run","schema":1,"run":"10","started":"2026-01-02T03:04:10Z","groma":"0.1.0","#,
            r#""build":"x86_64-unknown-linux-gnu release rustc 1.95.0 dynamic","#,
            r#""args":["run","ipc.*","--param=name=\"a b\"\n📏"],"tags":["before"],"seed":"18446744073709551615","profile":"standard","#,
            r#""budget_s":60.0,"environment":[{"key":"host.name","value":"bench-1"},"#,
            r#"{"key":"kernel.release","value":"6.18.5"}],"host":{"clock_step_ns":0.3333333333333333,"#,
            r#""clock_cost_ns":23.7,"quantum_ns":4000000.0,"quantum_assumed":true,"interval_ns":100000.0,"#,
            r#""proportionality":0.30000000000000004,"counter_hz":null,"beyond_caches":134217728},"#,
            r#""noise":"fine","noise_lost":5e-324,"cpu_limit":{"cpus":1.5,"held_back":0.1},"notes":["cycle counter not used: it stops"]}"#,
        )
    );
    assert_eq!(
        lines[1],
        concat!(
            r#"{"kind":"metric","id":"ipc.pipe_rtt","version":2,"#,
            r#""summary":"Round trip between two processes over pipes","params":{"size":65536,"kind":"read"},"#,
            r#""params_text":"size=64 KiB kind=read","placement":"same-cpu","workers":1,"crew":"processes","#,
            r#""state":"noisy","reason":"9 of 20 samples clean","quantity":"latency","unit":"s","better":"lower","#,
            r#""timing":"each","detail":false,"value":4.1e-6,"ci":[4e-6,0.30000000000000004],"ci_display":[4.05e-6,4.2e-6],"#,
            r#""p10":4e-6,"p50":4.1e-6,"p90":5.5e-6,"p99":null,"max":null,"interference":1.07,"cycles":12300.0,"#,
            r#""rounds":7,"samples":20,"clean":9,"labels":{"P":3,"M":8},"#,
            r#""proofs":[{"name":"switches per round trip","expected":"1.9..2.1","seen":null,"holds":false}],"#,
            r#""round_values":[4.1e-6,4e-6],"flags":["few rounds"],"facts":[{"key":"fork.rss","value":"1306624"}]}"#,
        )
    );
    let samples = concat!(
        r#","round_samples":[{"round":4,"result":{"state":"ok","reason":"","pid":4711,"series":[{"name":"","#,
        r#""iters":1000,"per_iter":1.0,"t0":[32676095028,32676199757],"dt":[100702,100739],"n":[1000,1000],"#,
        r#""worker":[0,1],"cpu":[0,1],"cpu_ns":[99769,99810],"margin":[-5,null]}],"#,
        r#""proofs":[{"name":"switches per round trip","expected":"1.9..2.1","seen":3.333333333333333,"holds":true}],"#,
        r#""facts":[{"key":"fork.rss","value":"1306624"}],"notes":["retry"],"core_hz":2999999999.7,"phases":[0,0,0,0,0,4000000,0,0],"#,
        r#""wall_ns":12345678}}]}"#,
    );
    assert_eq!(lines[2], lines[1][..lines[1].len() - 1].to_owned() + samples);
    assert_eq!(
        lines[3],
        r#"{"kind":"end","states":{"ok":120,"noisy":2,"failed":1},"wall_s":58.9123456789,"interrupted":false,"cpu_limit":{"cpus":null,"held_back":0.25},"fewer_cpus":[4,2]}"#
    );
}

/// Counts writes and flushes, and fails after `room` writes.
#[derive(Default)]
struct Narrow {
    room: usize,
    error: Option<io::ErrorKind>,
    writes: Vec<Vec<u8>>,
    flushed: usize,
}

impl Write for &mut Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.writes.len() >= self.room {
            return Err(self.error.unwrap_or(io::ErrorKind::Other).into());
        }
        self.writes.push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed = self.writes.len();
        Ok(())
    }
}

#[test]
fn each_line_is_one_write_and_flushed() {
    let mut pipe = Narrow { room: 9, ..Narrow::default() };
    let mut out = Ndjson::new(&mut pipe, "standard output");
    out.begin(&common::header("10"), &[]).expect("begin");
    out.record(&common::record()).expect("record");
    assert_eq!((pipe.writes.len(), pipe.flushed), (2, 2));
    assert!(pipe.writes.iter().all(|line| line.ends_with(b"\n")));
}

#[test]
fn write_errors_name_the_stream() {
    let error_of = |error| {
        let mut pipe = Narrow { room: 1, error: Some(error), ..Narrow::default() };
        let mut out = Ndjson::new(&mut pipe, "out.ndjson");
        out.begin(&common::header("10"), &[]).expect("begin");
        out.record(&common::record()).expect_err("no room")
    };
    let error = error_of(io::ErrorKind::BrokenPipe);
    assert!(matches!(error, StoreError::BrokenPipe { .. }), "{error}");
    assert_eq!(error.to_string(), "out.ndjson: the reader has closed the stream");
    let error = error_of(io::ErrorKind::StorageFull);
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(error.to_string(), "out.ndjson: no space left");
    let error = error_of(io::ErrorKind::PermissionDenied);
    assert_eq!(error.to_string(), "out.ndjson: cannot be written: permission denied");
}

#[test]
fn terminal_control_characters_are_escaped() {
    let odd = "\x1b]0;t\x07\u{9b}2J\u{7f}\u{202e}\u{200b}\u{2028}\u{e0041}\r\n\"\\";
    let mut head = common::header("11");
    head.args = vec![odd.to_owned()];
    let mut out = Ndjson::new(Vec::new(), "out.ndjson");
    out.begin(&head, &[]).expect("begin");
    let text = String::from_utf8(out.into_inner()).expect("UTF-8");
    let line = text.strip_suffix('\n').expect("a line");
    assert!(line.chars().all(groma_model::is_plain), "{line:?}");
    assert!(
        line.contains(r#""args":["\u001b]0;t\u0007\u009b2J\u007f\u202e\u200b\u2028\udb40\udc41\r\n\"\\"]"#),
        "{line}"
    );
    let read: RunHeader = serde_json::from_str(line).expect("JSON");
    assert_eq!(read.args, head.args);
}
