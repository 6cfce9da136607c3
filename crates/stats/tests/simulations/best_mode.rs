//! Whether a core was shared, from the rates of a probe: cores that are shared for a while and then
//! not, with spreads as seen on guests (docs/methods/neighbour.md#boundary).

use groma_stats::best_mode::{BestMode, best_mode, log_bin};
use groma_stats::rng::Rng;

/// A core that is probed every so often.
struct Core {
    /// The part of the time in which it is shared, from 0 to 1.
    shared: f64,
    /// How long it stays shared, on average, in milliseconds.
    dwell_ms: f64,
    /// The rate when shared, as a part of the best: from, to.
    rate: (f64, f64),
    /// The spread of the rate when it is not, as a fraction.
    spread: f64,
}

/// Milliseconds from one probe to the next.
const EVERY_MS: f64 = 0.2;
/// How far the best rate wanders to either side, as a fraction, and in how many milliseconds it
/// comes back: the chain and the block of a probe are not timed at the same moment, so a clock that
/// is raised meanwhile moves the rate.
const DRIFT: f64 = 0.01;
const DRIFT_MS: f64 = 7_000.0;

/// Probes of the core: whether it was shared, and the rate.
fn probes(core: &Core, n: usize, rng: &mut Rng) -> Vec<(bool, f64)> {
    let mut shared = rng.unit() < core.shared;
    // What the sibling runs differs from visit to visit.
    let visit = |rng: &mut Rng| core.rate.0 + (core.rate.1 - core.rate.0) * rng.unit();
    let mut rate = visit(rng);
    let mut seen = Vec::with_capacity(n);
    for i in 0..n {
        let dwell = if shared { core.dwell_ms } else { core.dwell_ms * (1.0 - core.shared) / core.shared.max(1e-9) };
        if rng.unit() < EVERY_MS / dwell {
            shared = !shared && core.shared > 0.0;
            rate = visit(rng);
        }
        // Interrupts only ever add time.
        let late = if rng.unit() < 0.002 { 0.4 } else { 1.0 };
        let own = 1.0 - core.spread * rng.normal().abs();
        let drift = 1.0 + DRIFT * (i as f64 * EVERY_MS / DRIFT_MS * std::f64::consts::TAU).sin();
        seen.push((shared, 3.8 * drift * late * if shared { rate * own } else { own }));
    }
    seen
}

fn found(probes: &[(bool, f64)]) -> Option<BestMode> {
    let mut bins: Vec<i16> = probes.iter().filter_map(|(_, rate)| log_bin(*rate)).collect();
    bins.sort_unstable();
    let counts: Vec<(i16, u32)> = bins.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
    best_mode(&counts)
}

#[test]
fn shared_cores_are_recognised_at_every_dwell_time() {
    for shared in [0.02, 0.1, 0.5, 0.9] {
        for dwell_ms in [1.0, 10.0, 100.0, 1_000.0, 10_000.0] {
            for rate in [(0.5, 0.75), (0.55, 0.85), (0.78, 0.79)] {
                let core = Core { shared, dwell_ms, rate, spread: 0.01 };
                let (mut missed, mut of_shared, mut wrong, mut of_own) = (0, 0, 0, 0);
                // Two seconds, or a minute where the core is shared for seconds on end.
                let (n, seeds) = if dwell_ms > 1_000.0 { (300_000, 2) } else { (10_000, 8) };
                for seed in 0..seeds {
                    let seen = probes(&core, n, &mut Rng::new(seed));
                    let is_shared = seen.iter().filter(|(shared, _)| *shared).count();
                    // A core in one state only has nothing to separate.
                    if !(n / 50..=n / 20 * 19).contains(&is_shared) {
                        continue;
                    }
                    let end = found(&seen).and_then(|best| best.ends_at);
                    let slow = |rate: f64| end.is_some_and(|end| rate < end);
                    of_shared += is_shared;
                    of_own += seen.len() - is_shared;
                    missed += seen.iter().filter(|(shared, rate)| *shared && !slow(*rate)).count();
                    wrong += seen.iter().filter(|(shared, rate)| !*shared && slow(*rate)).count();
                }
                let (missed, wrong) = (missed as f64 / of_shared.max(1) as f64, wrong as f64 / of_own.max(1) as f64);
                println!("shared {shared}, {dwell_ms} ms, {rate:?}: missed {missed:.4}, wrong {wrong:.4}");
                assert!(missed <= 0.01, "shared {shared}, {dwell_ms} ms, {rate:?}: {missed} missed");
                assert!(wrong <= 0.01, "shared {shared}, {dwell_ms} ms, {rate:?}: {wrong} wrong");
            }
        }
    }
}

#[test]
fn a_core_that_is_never_shared_has_no_boundary() {
    for spread in [0.002, 0.01, 0.03] {
        for n in [100, 1_000, 10_000] {
            let core = Core { shared: 0.0, dwell_ms: 1.0, rate: (1.0, 1.0), spread };
            let ends = (0..200).filter(|seed| {
                found(&probes(&core, n, &mut Rng::new(*seed))).is_some_and(|best| best.ends_at.is_some())
            });
            assert_eq!(ends.count(), 0, "spread {spread}, {n} probes");
        }
    }
}
