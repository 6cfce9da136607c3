//! A store of many runs, to measure how long commands take in it:
//! `STORE=/tmp/many.db cargo test -p groma-store --test many_runs -- --ignored --nocapture`
//!
//! `STORE` holds a few runs; the newest is copied under new ids until there are 10,000.

use groma_model::RunHeader;
use groma_store::{Store, StoredRun};
use std::time::Instant;

const RUNS: usize = 10_000;

#[test]
#[ignore = "makes a large file, asserts nothing"]
fn are_made_of_one() {
    let path = std::env::var_os("STORE").expect("STORE names a store with a run");
    let store = Store::open(path.as_ref()).expect("open");
    let model = store.load(&store.find("latest").expect("a run")).expect("load");
    let before = store.file_size().expect("size");
    let start = Instant::now();
    for number in 0..RUNS {
        // Older ones, one an hour.
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
