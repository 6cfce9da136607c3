//! Compares two sides: matches their records, and gives each pair a ratio, its interval and a
//! verdict.
//!
//! Rounds of runs made at different times are not paired, and runs differ by more than their rounds
//! show. So a metric is called slower only where rank tests over rounds say so for the whole suite
//! (Holm), and by more than unchanged runs of this host differ
//! (docs/methods/statistics.md#comparing-two-runs). Not here: the choice of runs, and text.

pub mod environment;
pub mod relative;

use std::collections::HashMap;

use groma_model::{Better, Params, Placement, Point, Record, Round, State, WorkerKind};
use groma_stats::comparison::SUITE_LEVEL;
use groma_stats::{Measured, detectable_pair_ratio, headline, holm_known, mann_whitney, pair_ratios, signed_rank};

use crate::point::{is_of_shared_core, measured_value, same_point};
use crate::round_value::round_value;
use crate::samples::{Which, point_with_labels};

/// A pair whose whole interval is within this fraction of 1 is `Same`. The pages use the same bound
/// on half-widths for "precise".
const SAME: f64 = 0.05;

/// The ratio by which runs are assumed to differ where the host has no other runs.
pub const ASSUMED_NOISE: f64 = 1.25;

/// The matched and the unmatched records of two sides.
#[derive(Debug, Default)]
pub struct Comparison<'r> {
    /// The metrics with a value on both sides, in the first side's order.
    pub pairs: Vec<Pair<'r>>,
    /// Metrics that both sides were to measure and one has no value of.
    pub without_value: Vec<[&'r Record; 2]>,
    /// Records with one name on both sides that are not the same metric.
    pub unlike: Vec<(Unlike, [&'r Record; 2])>,
    /// Metrics that only one side has.
    pub alone: [Vec<&'r Record>; 2],
    /// Number of metrics with a value on both sides that cannot be expressed in the base of the
    /// comparison ([`relative::left_out`]).
    pub unscaled: usize,
}

/// Why two records with one name are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unlike {
    /// The definition of the benchmark changed in between.
    Version,
    /// Their values have different units.
    Unit,
    /// They used different storage.
    Storage,
}

/// A metric on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'r> {
    /// The two records, the first side's first.
    pub sides: [&'r Record; 2],
    /// The compared values: the headlines, or the shared-core values of both.
    pub values: [f64; 2],
    /// Whether both values are of a shared core, because one side has no other.
    pub shared_core: bool,
    /// The second value divided by the first.
    pub ratio: f64,
    /// The 95 % interval of the ratio; `None` with too few rounds.
    pub interval: Option<[f64; 2]>,
    /// The probability of such a difference under no change, adjusted for all compared metrics.
    pub p: Option<f64>,
    /// The ratio, above 1, that this comparison would detect in four cases of five.
    pub detectable: Option<f64>,
    /// The result.
    pub verdict: Verdict,
}

/// The result of comparing one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The second side is better, beyond chance and the noise of this host.
    Faster,
    /// The second side is worse.
    Slower,
    /// They differ, and neither direction is better, as for the size of a cache.
    Changed,
    /// The whole interval is within this distance of no change.
    Same {
        /// As a fraction of the first side's value.
        within: f64,
    },
    /// Inconclusive.
    Unclear(Why),
}

/// Why a comparison is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The intervals are too wide.
    Imprecise,
    /// There are too few rounds for an interval.
    FewRounds,
    /// Unchanged runs of this host differ by as much: by this ratio, above 1.
    RunNoise(f64),
    /// One side's value is of a shared core, and the other side has too few such samples.
    SharedCore,
}

impl Verdict {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Changed => "changed",
            Verdict::Same { .. } => "same",
            Verdict::Unclear(_) => "cannot tell",
        }
    }
}

impl<'r> Pair<'r> {
    /// The values of the rounds that are compared.
    fn rounds(&self) -> [&'r [f64]; 2] {
        self.sides.map(|record| match &record.shared {
            Some(shared) if self.shared_core => shared.round_values.as_slice(),
            _ => record.round_values.as_slice(),
        })
    }

    /// Where one side only has the value of a shared core, compares that of the other side with it;
    /// without one the pair is inconclusive.
    fn of_like_cores(&mut self) {
        let [a, b] = self.sides.map(is_of_shared_core);
        if a == b {
            return;
        }
        match self.sides.map(|record| record.shared.as_ref().and_then(|shared| shared.value)) {
            [Some(a), Some(b)] if a != 0.0 => *self = Pair { shared_core: true, ..pair(self.sides, [a, b]) },
            _ => self.verdict = Verdict::Unclear(Why::SharedCore),
        }
    }

    /// The ratio or its inverse, whichever is above 1.
    pub fn size(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// Whether a side has too few rounds, or the sides have no like cores: more rounds may decide.
    pub fn is_undecided(&self) -> bool {
        matches!(self.verdict, Verdict::Unclear(Why::FewRounds | Why::SharedCore))
    }

    /// The ratio by which the second side is worse; below 1 where it is better.
    pub fn cost(&self) -> f64 {
        match self.sides[0].better {
            Better::Lower | Better::Neither => self.ratio,
            Better::Higher => 1.0 / self.ratio,
        }
    }
}

/// The result of the whole comparison, for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing became slower.
    Passes,
    /// Something did.
    Fails,
    /// No regression was found, and more than half of the metrics, or all, are inconclusive.
    Unclear,
}

/// Some of the metrics of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of metrics that are counted.
    pub count: usize,
    /// Number of all metrics.
    pub total: usize,
}

impl Comparison<'_> {
    /// Whether something became slower by more than `tolerance`, a fraction.
    pub fn gate(&self, tolerance: f64) -> Gate {
        let is_slower = |pair: &&Pair<'_>| pair.verdict == Verdict::Slower && pair.cost() > 1.0 + tolerance;
        if self.pairs.iter().any(|pair| is_slower(&pair)) {
            return Gate::Fails;
        }
        let Share { count, total } = self.inconclusive();
        if self.pairs.is_empty() || 2 * count > total { Gate::Unclear } else { Gate::Passes }
    }

    /// The inconclusive metrics. Those without a value this time are among them: a gate must not
    /// pass because most of what it watches was not measured.
    pub fn inconclusive(&self) -> Share {
        let unclear = self.pairs.iter().filter(|pair| matches!(pair.verdict, Verdict::Unclear(_))).count();
        let is_lost = |sides: &&[&Record; 2]| {
            sides.iter().any(|record| record.state == State::Unresolved)
                && sides.iter().any(|record| measured_value(record).is_some())
        };
        let lost = self.without_value.iter().filter(is_lost).count();
        Share { count: unclear + lost, total: self.pairs.len() + lost }
    }

    /// Whether some metric has no value here only because it was unresolved.
    pub fn is_unresolved(&self) -> bool {
        self.without_value.iter().flatten().any(|record| record.state == State::Unresolved)
    }
}

/// Compares two sides. `earlier` returns a metric's values in other runs on the same host of what
/// the first side measured: how much unchanged runs differ.
pub fn compare<'r>(a: &'r [Record], b: &'r [Record], earlier: &dyn Fn(&Record) -> Vec<f64>) -> Comparison<'r> {
    let mut comparison = match_records(a, b);
    comparison.pairs.iter_mut().for_each(Pair::of_like_cores);
    let others: Vec<Vec<f64>> = comparison.pairs.iter().map(|pair| earlier(pair.sides[0])).collect();
    let measured = comparison.pairs.iter().zip(&others).map(|(pair, earlier)| {
        let [before, after] = pair.rounds();
        Measured { before, after, earlier }
    });
    let found = groma_stats::compare(&measured.collect::<Vec<_>>());
    let unknown = by_ranks_alone(&comparison.pairs, &others);
    for ((pair, found), by_ranks) in comparison.pairs.iter_mut().zip(found).zip(unknown) {
        let Some(found) = found else { continue };
        // The ratio is that of the displayed values; it stays within its interval.
        pair.interval = found.interval.map(|i| [i.low.min(pair.ratio), i.high.max(pair.ratio)]);
        pair.p = found.p.or(by_ranks);
        pair.detectable = found.detectable;
        if pair.verdict != Verdict::Unclear(Why::SharedCore) {
            pair.verdict = verdict(pair, found.floor.unwrap_or(ASSUMED_NOISE));
        }
    }
    comparison
}

/// The bound of `Same` where rounds were paired: a change that may be smaller than this is not
/// reported (docs/methods/statistics.md#ratio-of-pairs).
const NOTHING: f64 = 1.01;

/// Compares two sides whose rounds were interleaved; `paired` comes from [`paired_rounds`]. What a
/// pair has in common cancels, so no other runs are needed.
pub fn compare_pairs<'r>(a: &'r [Record], b: &'r [Record], paired: &PairedRounds) -> Comparison<'r> {
    let mut comparison = match_records(a, b);
    let of = |pair: &Pair<'_>| paired.get(&identity(pair.sides[0])).and_then(|[a, b]| pair_ratios(a, b));
    let all: Vec<Option<Vec<f64>>> = comparison.pairs.iter().map(of).collect();
    let raw: Vec<Option<f64>> = all.iter().map(|ratios| two_sided(ratios.as_ref()?)).collect();
    let level = SUITE_LEVEL / raw.iter().flatten().count() as f64;
    for ((pair, ratios), p) in comparison.pairs.iter_mut().zip(&all).zip(holm_known(&raw)) {
        let Some((ratios, head)) = ratios.as_ref().and_then(|ratios| Some((ratios, headline(ratios)?))) else {
            continue;
        };
        pair.ratio = head.value;
        pair.interval = head.display.or(head.interval).map(|i| [i.low, i.high]);
        pair.p = p;
        pair.detectable = detectable_pair_ratio(ratios, NOTHING, level);
        pair.verdict = verdict(pair, 1.0);
    }
    comparison
}

/// The probability of ratios this far to one side of 1, counted in both directions.
fn two_sided(ratios: &[f64]) -> Option<f64> {
    let inverse: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
    let least = signed_rank(ratios, NOTHING)?.min(signed_rank(&inverse, NOTHING)?);
    Some((2.0 * least).min(1.0))
}

/// The values of the rounds that both sides have, by [`identity`].
pub type PairedRounds = HashMap<String, [Vec<f64>; 2]>;

/// The values of the rounds that both sides have. `rounds` are each side's rounds of each of these
/// points. Leaves out metrics whose value takes all rounds together.
pub fn paired_rounds(points: &[Point], rounds: [&[Vec<Round>]; 2]) -> PairedRounds {
    let mut all = HashMap::new();
    for (point, (a, b)) in points.iter().zip(rounds[0].iter().zip(rounds[1])) {
        for metric in point.metrics.iter().filter(|metric| !metric.derivation.takes_all_rounds()) {
            // Where one side too rarely had the core to itself, both count all samples.
            let [of_a, of_b] = [a, b].map(|rounds| point_with_labels(point, metric, rounds));
            let counts = if of_a.drops == point.drops { of_b } else { of_a };
            let value = |round: &Round| round_value(&counts, metric, &round.result, Which::Clean);
            let other = |round: &Round| b.iter().find(|other| other.round == round.round).and_then(value);
            let pairs = a.iter().filter_map(|round| Some((value(round)?, other(round)?)));
            all.insert(identity_at(&metric.id, point), pairs.unzip::<f64, f64, Vec<f64>, Vec<f64>>().into());
        }
    }
    all
}

/// The probabilities of the differences of metrics without other runs, from the ranks of their
/// rounds, adjusted for all of them.
fn by_ranks_alone(pairs: &[Pair<'_>], others: &[Vec<f64>]) -> Vec<Option<f64>> {
    let p = |(pair, others): (&Pair<'_>, &Vec<f64>)| {
        let [a, b] = pair.rounds();
        if others.is_empty() { mann_whitney(a, b) } else { None }
    };
    holm_known(&pairs.iter().zip(others).map(p).collect::<Vec<_>>())
}

/// Pools the records of several runs into one: all rounds, and a headline from these.
pub fn pool(runs: Vec<Vec<Record>>) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for record in runs.into_iter().flatten() {
        match places.get(&identity(&record)).map(|place| &mut all[*place]) {
            Some(known) if differs(known, &record).is_none() => add_rounds(known, record),
            Some(_) => {}
            None => {
                places.insert(identity(&record), all.len());
                all.push(record);
            }
        }
    }
    all
}

fn add_rounds(known: &mut Record, more: Record) {
    if known.value.is_none() {
        *known = more;
        return;
    }
    known.round_values.extend(more.round_values);
    known.rounds = known.round_values.len() as u32;
    if let Some(head) = headline(&known.round_values) {
        known.value = Some(head.value);
        known.ci = head.interval.map(|i| [i.low, i.high]);
        known.ci_display = head.display.map(|i| [i.low, i.high]);
    }
}

/// A text that identifies a record's metric across runs.
pub fn identity(record: &Record) -> String {
    identity_of(&record.id, &record.params, &record.placement, (record.workers, record.worker_kind))
}

/// The identities of the metrics that a point reports.
pub fn identities(point: &Point) -> impl Iterator<Item = String> {
    point.metrics.iter().map(|metric| identity_at(&metric.id, point))
}

fn identity_at(metric: &str, point: &Point) -> String {
    identity_of(metric, &point.params, &point.placement, (point.workers, point.worker_kind))
}

fn identity_of(id: &str, params: &Params, placement: &Placement, (workers, kind): (u32, WorkerKind)) -> String {
    format!("{id}\0{params}\0{placement}\0{workers}\0{}", kind.word())
}

/// Why two records with one identity are not the same metric.
pub fn differs(a: &Record, b: &Record) -> Option<Unlike> {
    if a.version != b.version {
        Some(Unlike::Version)
    } else if a.unit != b.unit {
        Some(Unlike::Unit)
    } else if !same_point(a, b) {
        Some(Unlike::Storage)
    } else {
        None
    }
}

fn match_records<'r>(a: &'r [Record], b: &'r [Record]) -> Comparison<'r> {
    let mut there: HashMap<String, &Record> = b.iter().map(|record| (identity(record), record)).collect();
    let mut found = Comparison::default();
    for first in a {
        let Some(second) = there.remove(&identity(first)) else {
            found.alone[0].push(first);
            continue;
        };
        let sides = [first, second];
        match (differs(first, second), measured_value(first), measured_value(second)) {
            (Some(unlike), ..) => found.unlike.push((unlike, sides)),
            (None, Some(of_a), Some(of_b)) if of_a != 0.0 => found.pairs.push(pair(sides, [of_a, of_b])),
            _ => found.without_value.push(sides),
        }
    }
    found.alone[1] = b.iter().filter(|record| there.contains_key(&identity(record))).collect();
    found
}

/// A pair with values and no statistics yet.
fn pair<'r>(sides: [&'r Record; 2], values: [f64; 2]) -> Pair<'r> {
    let [a, b] = values;
    let verdict = Verdict::Unclear(Why::FewRounds);
    Pair { sides, values, shared_core: false, ratio: b / a, interval: None, p: None, detectable: None, verdict }
}

/// The verdict on a pair, on a host whose runs differ by the ratio `floor`.
fn verdict(pair: &Pair<'_>, floor: f64) -> Verdict {
    let (Some([low, high]), Some(p)) = (pair.interval, pair.p) else { return Verdict::Unclear(Why::FewRounds) };
    let within = (1.0 - low).max(high - 1.0);
    match pair.sides[0].better {
        better if p < SUITE_LEVEL && pair.size() > floor => match better {
            Better::Neither => Verdict::Changed,
            _ if pair.cost() > 1.0 => Verdict::Slower,
            _ => Verdict::Faster,
        },
        _ if within <= SAME => Verdict::Same { within },
        _ if p < SUITE_LEVEL => Verdict::Unclear(Why::RunNoise(floor)),
        _ => Verdict::Unclear(Why::Imprecise),
    }
}

#[cfg(test)]
pub(crate) mod tests;
