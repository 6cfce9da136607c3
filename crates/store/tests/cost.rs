//! What rounds and runs cost, in time and in bytes. Tools, not tests: they assert nothing.

mod common;

use std::fs;
use std::time::Instant;

use groma_model::RunHeader;
use groma_store::{Sink, Store, StoredRun};

/// `cargo test --release -p groma-store --test cost of_a_round -- --ignored --nocapture`
#[test]
#[ignore = "measures, asserts nothing"]
fn of_a_round() {
    for samples in [25, 500] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("tempdir");
        let path = dir.path().join("groma.db");
        let store = Store::open(&path).expect("open");
        let mut writer = store.writer("").expect("writer");
        writer.begin(&common::header("10"), &common::points()).expect("begin");
        let rounds = 2000;
        let mut times: Vec<f64> = (0..rounds)
            .map(|number| {
                let round = common::round(number, samples);
                let start = Instant::now();
                writer.round(0, &round).expect("round");
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let start = Instant::now();
        writer.end(&common::end(false)).expect("end");
        let end = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        store.load("10").expect("load");
        let load = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let db = rusqlite::Connection::open(&path).expect("open");
        let sql =
            "SELECT count(*), sum(elapsed_ns), sum(iters), sum(labels) FROM samples WHERE run = '10' AND round < 200";
        db.query_row(sql, [], |_| Ok(())).expect("view");
        let view = start.elapsed().as_secs_f64() * 1e3;
        drop((store, db));
        let bytes = fs::metadata(&path).expect("metadata").len() / u64::from(rounds);
        let at = |q: f64| times[(q * f64::from(rounds)) as usize];
        println!(
            "{samples} samples a round: median {:.0} us, p90 {:.0} us, p99 {:.0} us, max {:.0} us; {bytes} bytes; \
             end {end:.1} ms, load {load:.0} ms, 200 rounds through `samples` {view:.0} ms",
            at(0.5),
            at(0.9),
            at(0.99),
            times[times.len() - 1]
        );
    }
}

const RUNS: usize = 10_000;

/// Fills a store, to measure how long commands take in it. `STORE` names a store with a few runs;
/// the newest is copied under new ids until there are [`RUNS`] more:
/// `STORE=/tmp/many.db cargo test -p groma-store --test cost many -- --ignored --nocapture`
#[test]
#[ignore = "makes a large file, asserts nothing"]
fn of_many_runs() {
    let path = std::env::var_os("STORE").expect("STORE names a store with a run");
    let store = Store::open(path.as_ref()).expect("open");
    let model = store.load(&store.find("latest").expect("a run")).expect("load");
    let before = store.file_size().expect("size");
    let start = Instant::now();
    for number in 0..RUNS {
        // One an hour, all older than it.
        let started = format!(
            "20{:02}-{:02}-{:02}T{:02}:00:00Z",
            number / 8064,
            number / 672 % 12 + 1,
            number / 24 % 28 + 1,
            number % 24
        );
        let run = started.replace(['-', ':'], "") + &format!("-{number:04x}");
        let header = RunHeader { run, started, ..model.header.clone() };
        store.merge(&StoredRun { header, ..model.clone() }).expect("merge");
    }
    let each = start.elapsed().as_secs_f64() * 1e3 / RUNS as f64;
    store.compact().expect("compact");
    let bytes = (store.file_size().expect("size") - before) / RUNS as u64;
    let rounds: usize = model.points.iter().map(|(_, rounds)| rounds.len()).sum();
    println!("{} points, {rounds} rounds: {bytes} bytes and {each:.2} ms a run", model.points.len());
}
