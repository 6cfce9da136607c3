//! Do the methods keep their promises? Simulations with a known truth, seeded, so that they pass or fail for ever.
//!
//! `cargo test -p groma-stats --test simulations -- --nocapture` prints the tables.

mod coverage;
mod dependence;
mod distributions;
mod hierarchy;
mod modality;
mod stopping;
mod trends;

/// How often `event` comes true in `repetitions`, in percent.
fn percent(repetitions: usize, mut event: impl FnMut() -> bool) -> f64 {
    let hits = (0..repetitions).filter(|_| event()).count();
    100.0 * hits as f64 / repetitions as f64
}
