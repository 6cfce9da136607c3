//! Rate of the CPU's time counter.
//!
//! **Measures:** Ticks of the counter (`tsc`, `cntvct_el0`, `time`) per second of the harness's
//! clock (CLOCK_MONOTONIC_RAW where it is cheap): the factor that turns ticks into time. `error`
//! bounds the error that arises because counter and clock are never read at the same moment.
//! `spread`, a detail, is the spread of the rates of single intervals.
//!
//! **Does not measure:** The core clock, or an absolute frequency. Where the kernel keeps time by
//! this counter (the fact `clock.source` says so), the result is the kernel's own calibration, from
//! which its clocks are made.
//!
//! **Method:** Twenty intervals of 2 ms. At each end the counter is read several times between two
//! readings of the clock, and the narrowest such bracket is kept. The rate is that between the
//! narrowest of the first three brackets and the narrowest of the last three; their widths bound
//! its error. Rates declared by CPUID, the hypervisor, the generic timer or the device tree are
//! facts. A difference of more than 100 ppm between a declared and the measured rate is a finding:
//! it is reported as a note, and is no failure.
//!
//! **Pitfalls:**
//! - Counters that change their rate are refused (CPUID must promise an invariant one).
//! - An interruption between two readings widens a bracket; it does not falsify the rate.
//! - A migrated virtual machine may have another rate than the one declared when it booted.
//!
//! **Sources:** docs/methods/processor.md#counter-rate.

use groma_harness::prelude::*;
use groma_harness::stats::order;
use groma_harness::sys::arch::{COUNTER_NAME, counter_start, counter_usable};
use groma_harness::sys::rates;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Rate of the CPU's time counter against the system's clock",
        about: about!("rate.rs"),
        quantity: Quantity::Rate,
        better: Some(Better::Neither),
        iteration: "20 intervals of 2 ms",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named(
                "error",
                "how far it can be off, as a fraction: half the widths of the readings over the time between",
            )
            .quantity(Quantity::Ratio),
            Output::named("spread", "half the distance of the quartiles of single intervals, as a fraction")
                .quantity(Quantity::Ratio)
                .detail(),
        ],
        scaling: Scaling::alone("there is one rate, and it states a value instead of taking samples"),
        tier: Tier::Standard,
        ..Info::new("clock.rate")
    },
    run: Run::Here(run),
};

/// Number of intervals, and the length of one in nanoseconds.
const INTERVALS: usize = 20;
const INTERVAL_NS: u64 = 2_000_000;
/// Brackets at each end, of which the narrowest is kept.
const TRIES: usize = 8;
/// The number of ends at the beginning, and at the end, of which the narrowest is used.
const ENDS: usize = 3;
/// A larger difference between a declared rate and the measured one is a finding: crystals are
/// accurate to 50 ppm or better.
const FINDING: f64 = 100e-6;
/// The largest acceptable error. With a larger one, findings would mean nothing: the round has no
/// value (431 ppm seen at load 12).
const ERROR: f64 = 50e-6;

/// A reading of the counter between two readings of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bracket {
    before: u64,
    ticks: u64,
    after: u64,
}

impl Bracket {
    fn width(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    fn middle(&self) -> f64 {
        self.before as f64 + self.width() as f64 / 2.0
    }
}

/// The rate between two brackets in hertz, and the bound of its error as a fraction.
fn rate(from: &Bracket, to: &Bracket) -> (f64, f64) {
    let ns = to.middle() - from.middle();
    let rate = to.ticks.wrapping_sub(from.ticks) as f64 / ns * 1e9;
    (rate, (from.width() + to.width()) as f64 / 2.0 / ns)
}

/// The narrowest of some brackets.
fn narrowest(brackets: impl Iterator<Item = Bracket>) -> Option<Bracket> {
    brackets.min_by_key(Bracket::width)
}

/// The rate from the first to the last of the brackets, the bound of its error, and the spread of
/// the rates in between.
fn rates_of(brackets: &[Bracket]) -> Option<(f64, f64, f64)> {
    if brackets.len() < 2 * ENDS {
        return None;
    }
    let (first, last) = (&brackets[..ENDS], &brackets[brackets.len() - ENDS..]);
    let (from, to) = (narrowest(first.iter().copied())?, narrowest(last.iter().copied())?);
    let (hz, error) = rate(&from, &to);
    let single: Vec<f64> = brackets.windows(2).map(|pair| rate(&pair[0], &pair[1]).0).collect();
    let between_quartiles = order::quantile(&single, 0.75)? - order::quantile(&single, 0.25)?;
    Some((hz, error, between_quartiles / 2.0 / hz))
}

/// What the rate, its error and the spread are stated as.
fn outputs((hz, error, spread): (f64, f64, f64)) -> [(&'static str, f64); 3] {
    [("", hz), ("error", error), ("spread", spread)]
}

/// The note about a declared rate; none within [`FINDING`].
fn finding(name: &str, declared: f64, measured: f64) -> Option<String> {
    let off = measured / declared - 1.0;
    let finding = off.abs() > FINDING;
    finding.then(|| format!("finding: the counter runs {:+.0} ppm off what {name} declares", off * 1e6))
}

/// The narrowest of several brackets.
fn bracket(ctx: &Ctx) -> Bracket {
    let once = || Bracket { before: ctx.now_ns(), ticks: counter_start(), after: ctx.now_ns() };
    narrowest((0..TRIES).map(|_| once())).unwrap_or_else(once)
}

fn run(ctx: &mut Ctx) -> Outcome {
    counter_usable().map_err(BenchError::Unsupported)?;
    let mut brackets = vec![bracket(ctx)];
    let start = brackets[0].after;
    for i in 1..=INTERVALS as u64 {
        // Spin: a CPU that slept may wake at another clock frequency, and reads more slowly at
        // first.
        while ctx.now_ns().saturating_sub(start) < i * INTERVAL_NS {
            std::hint::spin_loop();
        }
        brackets.push(bracket(ctx));
    }
    ctx.sampled_since(start);
    let backwards = brackets.windows(2).filter(|pair| pair[1].ticks <= pair[0].ticks).count();
    super::prove_forwards(ctx, backwards as u64);
    let Some((hz, error, spread)) = rates_of(&brackets) else {
        return Err(BenchError::Failed("too few readings".to_owned()));
    };
    // No fault of the counter: somebody else had the CPU during all readings of an end.
    if error > ERROR {
        ctx.unresolved("", &format!("the CPU was taken away during the readings: {:.0} ppm", error * 1e6));
        return Ok(());
    }
    for (name, value) in outputs((hz, error, spread)) {
        ctx.state_as(name, value);
    }
    ctx.fact("counter", COUNTER_NAME);
    if let Some(source) = rates::clock_source() {
        ctx.fact("clock.source", source);
    }
    let declared = rates::declared_counter();
    if let Some((_, hz)) = declared.first() {
        ctx.fact("declared", hz);
    }
    for (name, declared) in declared {
        ctx.fact(&format!("counter.{}", name.replace(' ', "_")), declared);
        if let Some(finding) = finding(name, declared, hz) {
            ctx.note(finding);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    /// Readings every 2 ms of a counter of 2.5 GHz, each `width` wide and read at `place` of it.
    fn brackets(width: impl Fn(u64) -> u64, place: impl Fn(u64) -> f64) -> Vec<Bracket> {
        (0..=INTERVALS as u64)
            .map(|i| {
                let before = 1_000_000 + i * INTERVAL_NS;
                let at = before as f64 + width(i) as f64 * place(i);
                Bracket { before, ticks: (at * 2.5).round() as u64, after: before + width(i) }
            })
            .collect()
    }

    #[test]
    fn a_rate_is_within_its_error_wherever_the_readings_were() {
        for place in [0.0, 0.5, 1.0] {
            let readings = brackets(|_| 50, |i| if i < 10 { place } else { 1.0 - place });
            let (hz, error, _) = rates_of(&readings).expect("enough");
            // 50 ns in 40 ms (or 36, by which ends are chosen): 1.25 ppm.
            assert!((1.2e-6..1.4e-6).contains(&error), "{error}");
            // The edge itself is reached, give or take a rounding.
            assert!((hz / 2.5e9 - 1.0).abs() <= error * 1.001, "{place}: {hz}");
        }
    }

    #[test]
    fn wide_readings_are_not_chosen() {
        // An interruption of 1 ms in the first reading and in one of the middle.
        let readings = brackets(|i| if i == 0 || i == 9 { 1_000_000 } else { 50 }, |_| 1.0);
        let (hz, error, spread) = rates_of(&readings).expect("enough");
        assert!((hz / 2.5e9 - 1.0).abs() <= error && error < 2e-6, "{hz} {error}");
        assert!(spread < 1e-6, "{spread}");
        assert_eq!(rates_of(&readings[..5]), None);
    }

    /// Error and spread are of the same size in most rounds.
    #[test]
    fn error_and_spread_are_told_by_their_names() {
        // Read at the beginning and at the end of a microsecond in turn.
        let readings = brackets(|_| 1000, |i| (i % 2) as f64);
        let [(main, hz), (second, error), (third, spread)] = outputs(rates_of(&readings).expect("enough"));
        assert_eq!((main, second, third), ("", "error", "spread"));
        assert!((hz / 2.5e9 - 1.0).abs() < 1e-9, "{hz}");
        // A microsecond of the 36 ms between the ends, and of the 2 ms of an interval, up or down.
        assert!((error * 36e-3 / 1e-6 - 1.0).abs() < 1e-6, "{error}");
        assert!((spread * 2e-3 / 1e-6 - 1.0).abs() < 1e-6, "{spread}");
    }

    #[test]
    fn a_disagreement_is_a_finding() {
        assert_eq!(finding("it", 2.5e9, 2.5e9 * (1.0 + 90e-6)), None);
        let told = finding("cpuid 15H", 2.5e9, 2.5e9 * (1.0 - 150e-6));
        assert_eq!(told.as_deref(), Some("finding: the counter runs -150 ppm off what cpuid 15H declares"));
    }

    #[test]
    fn states_a_rate_that_the_preflight_knows() {
        let tried = match try_out(&BENCH, &[], None) {
            Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
            tried => tried.expect("a counter"),
        };
        assert_eq!(tried.proven("reads that ran backwards"), 0.0);
        let Some(hz) = tried.stated("") else {
            // On a busy machine.
            let why = tried.unresolved("").expect("a rate, or why there is none");
            return assert!(why.contains("the CPU was taken away"), "{why}");
        };
        assert!((1e5..1e11).contains(&hz), "{hz}");
    }
}
