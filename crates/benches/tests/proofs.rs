mod common;
use common::{Trial, try_all};
use groma_harness::testing::Mutilation;

fn main() {
    common::serve();
    let only = std::env::args().nth(1).unwrap_or_default();
    let all: Vec<_> = groma_benches::all().into_iter().filter(|b| !b.info.id.starts_with("selftest") && b.info.id.contains(&only)).collect();
    let kinds = [None, Some((Mutilation::Halved, None)), Some((Mutilation::Idle, None)), Some((Mutilation::Doubled, None))];
    let trials: Vec<Trial> = all.iter().flat_map(|b| kinds.iter().map(|m| Trial { mutilation: *m, ..Trial::of(b.info.id) })).collect();
    let seen = try_all(&trials);
    for (trial, seen) in trials.iter().zip(&seen) {
        println!("{:28} {:?} {} it={} {:?} {}", trial.id, trial.mutilation.map(|m| m.0), seen.result.state.word(), seen.iterations, seen.broken(), seen.result.reason);
    }
}
