//! The distributions that the methods are tried on, with their true medians
//! (docs/methods/statistics.md#rejected-intervals, docs/methods/statistics.md#modes).

use groma_stats::Rng;

/// The property of a distribution that decides what coverage can be promised.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    /// The median lies where values are dense.
    Dense,
    /// Two modes of nearly equal share: the median lies at the edge of one of them.
    Balanced,
    /// Many values are equal, so that closed intervals cover more than their nominal share.
    Tied,
}

/// A distribution and its median.
pub(crate) struct Distribution {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) draw: fn(&mut Rng) -> f64,
    pub(crate) median: f64,
}

impl Distribution {
    pub(crate) fn sample(&self, rng: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| (self.draw)(rng)).collect()
    }
}

/// The independent distributions of docs/methods/statistics.md#rejected-intervals. Medians of
/// mixtures are (normal quantile) x sigma from the center of the mode they fall into; the quantiles
/// are from scipy's `norm.ppf`.
pub(crate) const INDEPENDENT: [Distribution; 8] = [
    Distribution { name: "normal 1 %", shape: Shape::Dense, draw: |rng| 1.0 + 0.01 * rng.normal(), median: 1.0 },
    Distribution { name: "lognormal 5 %", shape: Shape::Dense, draw: |rng| (0.05 * rng.normal()).exp(), median: 1.0 },
    Distribution {
        name: "floor + exponential 2 %",
        shape: Shape::Dense,
        draw: floor_and_exponential,
        // The median of the standard exponential is ln 2.
        median: 1.0 + 0.02 * std::f64::consts::LN_2,
    },
    Distribution {
        name: "core 0.3 % + 10 % Pareto",
        shape: Shape::Dense,
        draw: core_and_pareto,
        // norm.ppf(0.5 / 0.9); the tail starts far above.
        median: 1.0 + 0.003 * 0.139_710_298_881_862_12,
    },
    Distribution {
        name: "bimodal 4/7 650 : 3/7 400",
        shape: Shape::Balanced,
        draw: |rng| two(rng, 4.0 / 7.0, 650.0, 400.0, 0.01),
        // norm.ppf((1/2 - 3/7) / (4/7))
        median: 650.0 * (1.0 - 0.01 * 1.150_349_380_376_008_3),
    },
    Distribution {
        name: "bimodal 52:48",
        shape: Shape::Balanced,
        draw: |rng| two(rng, 0.52, 1.0, 1.2, 0.01),
        // norm.ppf(0.5 / 0.52)
        median: 1.0 + 0.01 * 1.768_825_038_518_705_9,
    },
    Distribution {
        name: "bimodal 80:20",
        shape: Shape::Dense,
        draw: |rng| two(rng, 0.8, 1.0, 1.4, 0.01),
        // norm.ppf(0.5 / 0.8)
        median: 1.0 + 0.01 * 0.318_639_363_964_375_14,
    },
    Distribution {
        name: "quantised to 1 %",
        shape: Shape::Tied,
        draw: |rng| (100.0 * (0.01 * rng.normal()).exp()).round() / 100.0,
        median: 1.0,
    },
];

pub(crate) fn floor_and_exponential(rng: &mut Rng) -> f64 {
    1.0 + 0.02 * exponential(rng)
}

pub(crate) fn core_and_pareto(rng: &mut Rng) -> f64 {
    if rng.unit() < 0.1 { 1.02 * (exponential(rng) / 1.3).exp() } else { 1.0 + 0.003 * rng.normal() }
}

pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// A mixture of two normal modes: the first with chance `share`, both with standard deviation
/// `sigma` as a share of their center.
pub(crate) fn two(rng: &mut Rng, share: f64, first: f64, second: f64, sigma: f64) -> f64 {
    let center = if rng.unit() < share { first } else { second };
    center * (1.0 + sigma * rng.normal())
}

/// Student's t with three degrees of freedom, of variance 1: tails so heavy that its fourth moment
/// is infinite.
pub(crate) fn heavy_tailed(rng: &mut Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
    rng.normal() / squares.sqrt()
}
