//! Simulations with a known truth: whether the methods keep their promises. Seeds are fixed, so
//! results never change (docs/methods/validation.md#guards).
//!
//! `cargo test -p groma-stats --test simulations -- --nocapture` prints the tables.

mod idle_rate;
mod change_points;
mod distributions;
mod intervals;
mod modality;
mod shifts;
mod stopping;
mod trends;
mod two_runs;

/// The share of `repetitions` in which `event` is true, in percent.
fn percent(repetitions: usize, mut event: impl FnMut() -> bool) -> f64 {
    let hits = (0..repetitions).filter(|_| event()).count();
    100.0 * hits as f64 / repetitions as f64
}
