//! The cost of a round, in time and in bytes:
//! `cargo test --release -p groma-store --test cost -- --ignored --nocapture`

mod common;

use std::fs;
use std::time::Instant;

use groma_store::{Sink, Store};

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
