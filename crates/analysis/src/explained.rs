//! How much of the spread between rounds the label `N` explains: rounds differ less over the
//! samples beside an idle sibling thread than over all of them, if the label is right and nothing
//! else slows the run (docs/methods/neighbour.md#what-the-label-explains).

use groma_model::{Label, Metric, Point, Round, State};
use groma_stats::median;

use crate::point::family;
use crate::round_value::round_value;
use crate::samples::ROUNDS_FOR_INTERVAL;
use crate::samples::{Which, suffices};

/// Rounds that differ by less leave nothing to explain.
const MIN_SPREAD: f64 = 0.01;

/// The spreads of the rounds of a metric, or the medians of those of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The mean distance of the rounds from their median, as a fraction, over samples with and
    /// without `N`.
    pub all: f64,
    /// The same over the samples without `N`; `None` where fewer than six rounds have three.
    pub own: Option<f64>,
    /// The part of `all` that goes away without these samples, 0 to 1; `None` without `own`, and
    /// where rounds agree.
    pub share: Option<f64>,
}

impl Explained {
    fn of(all: f64, own: Option<f64>) -> Explained {
        let share = own.filter(|_| all >= MIN_SPREAD).map(|own| (1.0 - own / all).max(0.0));
        Explained { all, own, share }
    }
}

/// What `N` explains of the rounds of a metric; `None` where fewer than six have a value, and where
/// `N` drops no sample.
pub fn explained(point: &Point, metric: &Metric, rounds: &[Round]) -> Option<Explained> {
    if !point.drops.has(Label::Shared) {
        return None;
    }
    // Samples that bear other labels count on neither side.
    let any = Point { drops: point.drops.without(Label::Shared), ..point.clone() };
    let spread_of = |point: &Point| {
        let good = rounds.iter().filter(|round| round.result.state == State::Ok);
        let good = good.filter(|round| suffices(Which::Clean, point, metric, round));
        spread(&good.filter_map(|round| round_value(point, metric, &round.result, Which::Clean)).collect::<Vec<_>>())
    };
    Some(Explained::of(spread_of(&any)?, spread_of(point)))
}

/// What `N` explains of a run: medians over its CPU-bound metrics, and the number of these.
///
/// CPU-bound is what a preemption disturbs, without memory: its rounds differ by their pages and by
/// neighbours in the caches, whoever is on the core.
pub fn of_run(points: &[(Point, Vec<Round>)]) -> Option<(Explained, usize)> {
    let is_bound = |point: &Point| point.drops.has(Label::Preempted) && family(&point.bench) != "mem";
    let of_point = |(point, rounds): &(Point, Vec<Round>)| -> Vec<Explained> {
        let asked = point.metrics.iter().filter(|metric| !metric.detail && !metric.derivation.takes_all_rounds());
        asked.filter_map(|metric| explained(point, metric, rounds)).collect()
    };
    let found: Vec<Explained> = points.iter().filter(|(point, _)| is_bound(point)).flat_map(of_point).collect();
    let middle = |of: &dyn Fn(&Explained) -> Option<f64>| median(&found.iter().filter_map(of).collect::<Vec<_>>());
    let run =
        Explained { all: middle(&|one| Some(one.all))?, own: middle(&|one| one.own), share: middle(&|one| one.share) };
    Some((run, found.len()))
}

/// The mean distance of the logarithms from their median. `None` of fewer than six values, and of
/// such without one.
fn spread(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).filter(|log| log.is_finite()).collect();
    let middle = median(&logs).filter(|_| logs.len() >= ROUNDS_FOR_INTERVAL)?;
    Some(logs.iter().map(|log| (log - middle).abs()).sum::<f64>() / logs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::point;
    use groma_model::{Derivation, Interference, Labels, Quantity, RoundOutput, RoundResult, Sample, Series};
    use groma_stats::Rng;

    /// What a simulated run is like.
    #[derive(Clone, Copy)]
    struct Simulated {
        /// The share of the rounds in a spell of a busy sibling; half of the samples of the others
        /// meet one, too.
        spells: f64,
        /// Whether the label is that of the samples, or drawn at random as often.
        right: bool,
        /// How much slower whole rounds are for another reason, at most.
        other: f64,
    }

    fn bound() -> Point {
        let metric = Metric {
            id: "syscall.a".to_owned(),
            summary: String::new(),
            quantity: Quantity::Latency,
            better: Quantity::Latency.better(),
            derivation: Derivation::Series("").owned(),
            detail: false,
        };
        let mut drops = Interference::Cpu.drops();
        drops.add(Label::Shared);
        Point { bench: "syscall.a".to_owned(), drops, ..point(vec![metric]) }
    }

    /// 24 rounds of 30 samples of 100 ns; beside a busy sibling, whose pace is another one in each
    /// round, they take up to twice as long.
    fn rounds(of: Simulated, seed: u64) -> Vec<Round> {
        let mut rng = Rng::new(seed);
        let mut round = |round: u32| {
            let in_spell = rng.unit() < of.spells;
            let (slower, pace) = (1.0 + of.other * rng.unit(), 1.05 + 0.95 * rng.unit());
            let mut sample = |_| {
                let busy = if in_spell { rng.unit() < 0.97 } else { of.spells > 0.0 && rng.unit() < 0.5 };
                let stretch = if busy { pace } else { 1.0 };
                let labelled = if of.right { busy } else { of.spells > 0.0 && rng.unit() < 0.6 };
                Sample {
                    iters: 1000,
                    elapsed_ns: (100_000.0 * slower * stretch * (1.0 + 0.004 * rng.unit())) as u64,
                    labels: if labelled { Labels::of(&[Label::Shared]) } else { Labels::NONE },
                    ..Sample::default()
                }
            };
            let samples = (0..30).map(&mut sample).collect();
            let series = Series { iters: 1000, per_iter: 1.0, samples, ..Series::default() };
            Round { round, result: RoundResult::ok(RoundOutput { series: vec![series], ..RoundOutput::default() }) }
        };
        (0..24).map(&mut round).collect()
    }

    fn of(simulated: Simulated, seed: u64) -> Explained {
        let point = bound();
        explained(&point, &point.metrics[0], &rounds(simulated, seed)).expect("enough rounds")
    }

    const SPELLS: Simulated = Simulated { spells: 0.4, right: true, other: 0.0 };

    #[test]
    fn a_right_label_explains_the_spread() {
        for seed in 0..20 {
            let found = of(SPELLS, seed);
            assert!(found.all > 0.05 && found.own.is_some_and(|own| own < 0.01), "{seed}: {found:?}");
            assert!(found.share.is_some_and(|share| share > 0.9), "{seed}: {found:?}");
        }
    }

    #[test]
    fn a_random_label_explains_nothing() {
        for seed in 0..20 {
            let found = of(Simulated { right: false, ..SPELLS }, seed);
            assert!(found.share.is_some_and(|share| share < 0.3), "{seed}: {found:?}");
            assert!(found.own.is_some_and(|own| own > 0.05), "{seed}: {found:?}");
        }
    }

    #[test]
    fn without_a_neighbour_there_is_nothing_to_explain_or_something_else() {
        let none = Simulated { spells: 0.0, ..SPELLS };
        assert_eq!(of(none, 1).share, None, "{:?}", of(none, 1));
        // Rounds that differ by half, and no sample bears the label.
        let other = of(Simulated { other: 0.5, ..none }, 1);
        assert!(other.all > 0.08 && other.own == Some(other.all) && other.share == Some(0.0), "{other:?}");
        // Both: what is left is told.
        let both = of(Simulated { other: 0.5, ..SPELLS }, 1);
        assert!(both.own.is_some_and(|own| own > 0.08), "{both:?}");
    }

    #[test]
    fn a_core_that_was_never_alone_tells_nothing() {
        let never = of(Simulated { spells: 1.0, ..SPELLS }, 1);
        assert_eq!((never.own, never.share), (None, None), "{never:?}");
    }

    #[test]
    fn a_run_has_the_medians_of_what_computes() {
        let with = |point: Point, simulated, seed| (point, rounds(simulated, seed));
        let random = Simulated { right: false, ..SPELLS };
        let of_memory = Point { bench: "mem.a".to_owned(), ..bound() };
        let blocking = Point { drops: Interference::Blocking.drops(), ..bound() };
        let group = Point { drops: Interference::Cpu.drops(), ..bound() };
        let others = [of_memory, blocking, group].map(|point| with(point, random, 1));
        let two = [with(bound(), SPELLS, 1), with(bound(), SPELLS, 2), with(bound(), random, 3)];
        let (run, metrics) = of_run(&[&two[..], &others].concat()).expect("three metrics");
        assert_eq!(metrics, 3);
        let mut shares: Vec<f64> =
            two.iter().filter_map(|(point, rounds)| explained(point, &point.metrics[0], rounds)?.share).collect();
        shares.sort_by(f64::total_cmp);
        assert_eq!(run.share, Some(shares[1]));
        assert_eq!(of_run(&others), None);
    }
}
