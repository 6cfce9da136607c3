//! Two sides of a comparison: records matched by what they are, and of each pair the ratio, its
//! interval and a verdict.
//!
//! Rounds of runs that were made at different times are not paired, and runs differ by more than
//! their rounds show: a metric is called slower only where ranks over rounds say so for the whole
//! suite (Holm), and by more than runs of this host differ when nothing has changed
//! (docs/methods/statistics.md#comparing-two-runs). Not here: which runs those are, and text.

pub mod environment;
pub mod relative;

use std::collections::HashMap;

use groma_model::{Better, Params, Placement, Point, Record, Round, State, WorkerKind};
use groma_stats::comparison::SUITE_LEVEL;
use groma_stats::{Measured, detectable_pair_ratio, headline, holm_known, mann_whitney, pair_ratios, signed_rank};

use crate::own_core::counted;
use crate::point::{is_of_shared_core, measured, same_point};
use crate::round_value::round_value;
use crate::samples::Which;

/// What differs by no more than this, with its whole interval, is called the same. Half-widths up
/// to it are called precise on the pages, too.
const SAME: f64 = 0.05;

/// By what ratio runs are taken to differ where no other runs of the host tell.
pub const ASSUMED_NOISE: f64 = 1.25;

/// What two sides have in common, and what they have not.
#[derive(Debug, Default)]
pub struct Comparison<'r> {
    /// The metrics with a value on both sides, in the order of the first.
    pub pairs: Vec<Pair<'r>>,
    /// What both were to measure and one has no value of.
    pub without_value: Vec<[&'r Record; 2]>,
    /// What has one name on both sides and is not one thing.
    pub unlike: Vec<(Unlike, [&'r Record; 2])>,
    /// What only one side has.
    pub alone: [Vec<&'r Record>; 2],
    /// How many metrics with a value on both sides are no multiples of what values are compared in
    /// ([`relative::left_out`]).
    pub unscaled: usize,
}

/// Why two records of one name are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unlike {
    /// The benchmark was defined anew in between.
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
    /// The values that are compared: the headlines, or on a shared core those of its samples.
    pub values: [f64; 2],
    /// Whether both are of a shared core: one side has no other.
    pub shared_core: bool,
    /// The second value over the first.
    pub ratio: f64,
    /// The 95 % interval of the ratio; `None` where the rounds are too few for one.
    pub interval: Option<[f64; 2]>,
    /// The chance of such a difference if there is none, adjusted for all metrics compared.
    pub p: Option<f64>,
    /// The ratio, greater than one, that this comparison would find in four cases of five.
    pub detectable: Option<f64>,
    /// What it says.
    pub verdict: Verdict,
}

/// What a comparison says of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The second side is better, beyond what chance and this host explain.
    Faster,
    /// The second side is worse.
    Slower,
    /// They differ, and neither direction is better: the size of a cache.
    Changed,
    /// The whole interval is within so large a part of the first side's value.
    Same {
        /// As a fraction of the value.
        within: f64,
    },
    /// Inconclusive.
    Unclear(Why),
}

/// Why a comparison cannot tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The intervals are too wide.
    Imprecise,
    /// The rounds are too few for an interval.
    FewRounds,
    /// Runs of this host differ by as much when nothing has changed; by this ratio, greater than 1.
    RunNoise(f64),
    /// One side's value is that of a shared core, of which the other side saw too little.
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

    /// Where one side has only the value of a shared core, that of the other side is compared with
    /// it; without one it is inconclusive.
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

    /// The ratio or its inverse, whichever is greater than 1.
    pub fn size(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// Whether the rounds of a side were too few, or those of the two sides not of like cores: more
    /// of them may tell.
    pub fn is_undecided(&self) -> bool {
        matches!(self.verdict, Verdict::Unclear(Why::FewRounds | Why::SharedCore))
    }

    /// By what ratio the second side is worse; below 1 where it is better.
    pub fn cost(&self) -> f64 {
        match self.sides[0].better {
            Better::Lower | Better::Neither => self.ratio,
            Better::Higher => 1.0 / self.ratio,
        }
    }
}

/// What a comparison says as a whole, for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing became slower.
    Passes,
    /// Something did.
    Fails,
    /// No regression was found, and more than half of the metrics, or all, are inconclusive.
    Unclear,
}

impl Comparison<'_> {
    /// Whether something became slower by more than `tolerance`, a fraction.
    pub fn gate(&self, tolerance: f64) -> Gate {
        let is_slower = |pair: &&Pair<'_>| pair.verdict == Verdict::Slower && pair.cost() > 1.0 + tolerance;
        if self.pairs.iter().any(|pair| is_slower(&pair)) {
            return Gate::Fails;
        }
        let [unclear, all] = self.untold();
        if self.pairs.is_empty() || 2 * unclear > all { Gate::Unclear } else { Gate::Passes }
    }

    /// How many metrics are inconclusive, of how many: a gate must not
    /// pass because most of what it watches had no value this time.
    pub fn untold(&self) -> [usize; 2] {
        let unclear = self.pairs.iter().filter(|pair| matches!(pair.verdict, Verdict::Unclear(_))).count();
        let is_lost = |sides: &&[&Record; 2]| {
            sides.iter().any(|record| record.state == State::Unresolved)
                && sides.iter().any(|record| measured(record).is_some())
        };
        let lost = self.without_value.iter().filter(is_lost).count();
        [unclear + lost, self.pairs.len() + lost]
    }

    /// Whether some metric had no value here only because it could not be told.
    pub fn is_unresolved(&self) -> bool {
        self.without_value.iter().flatten().any(|record| record.state == State::Unresolved)
    }
}

/// Compares two sides. `earlier` tells what a metric was in other runs of what the first side
/// measured, on the same host: how runs differ when nothing has changed.
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
        // The ratio is that of the values that people see; it stays within its interval.
        pair.interval = found.interval.map(|i| [i.low.min(pair.ratio), i.high.max(pair.ratio)]);
        pair.p = found.p.or(by_ranks);
        pair.detectable = found.detectable;
        if pair.verdict != Verdict::Unclear(Why::SharedCore) {
            pair.verdict = verdict(pair, found.floor.unwrap_or(ASSUMED_NOISE));
        }
    }
    comparison
}

/// A bound of what is called the same where rounds were made in pairs: no change is called that may
/// be smaller (docs/methods/statistics.md#ratio-of-pairs).
const NOTHING: f64 = 1.01;

/// Compares two sides whose rounds were made in turns, of which [`paired_rounds`] are these. What a
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

/// The chance of ratios that lie so far to one side of nothing.
fn two_sided(ratios: &[f64]) -> Option<f64> {
    let inverse: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
    let least = signed_rank(ratios, NOTHING)?.min(signed_rank(&inverse, NOTHING)?);
    Some((2.0 * least).min(1.0))
}

/// The values of the rounds that both sides have, by [`identity`].
pub type PairedRounds = HashMap<String, [Vec<f64>; 2]>;

/// The values of the rounds that both sides have: `rounds` of each side for each of these points.
/// Metrics whose value is that of all rounds together are left out.
pub fn paired_rounds(points: &[Point], rounds: [&[Vec<Round>]; 2]) -> PairedRounds {
    let mut all = HashMap::new();
    for (point, (a, b)) in points.iter().zip(rounds[0].iter().zip(rounds[1])) {
        for metric in point.metrics.iter().filter(|metric| !metric.derivation.takes_all_rounds()) {
            // Where one side met too few cores of its own, both count all samples.
            let [of_a, of_b] = [a, b].map(|rounds| counted(point, metric, rounds));
            let counts = if of_a.drops == point.drops { of_b } else { of_a };
            let value = |round: &Round| round_value(&counts, metric, &round.result, Which::Clean);
            let other = |round: &Round| b.iter().find(|other| other.round == round.round).and_then(value);
            let pairs = a.iter().filter_map(|round| Some((value(round)?, other(round)?)));
            all.insert(identity_at(&metric.id, point), pairs.unzip::<f64, f64, Vec<f64>, Vec<f64>>().into());
        }
    }
    all
}

/// The chance of the differences of metrics without other runs, from the ranks of their rounds,
/// adjusted for all of them.
fn by_ranks_alone(pairs: &[Pair<'_>], others: &[Vec<f64>]) -> Vec<Option<f64>> {
    let p = |(pair, others): (&Pair<'_>, &Vec<f64>)| {
        let [a, b] = pair.rounds();
        if others.is_empty() { mann_whitney(a, b) } else { None }
    };
    holm_known(&pairs.iter().zip(others).map(p).collect::<Vec<_>>())
}

/// The records of several runs as if they were of one: the rounds of all, and the headline of
/// these.
pub fn pooled(runs: Vec<Vec<Record>>) -> Vec<Record> {
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

/// What makes a record the same metric in another run, as a text that no other metric has.
pub fn identity(record: &Record) -> String {
    identity_of(&record.id, &record.params, &record.placement, (record.workers, record.worker_kind))
}

/// The same of the metrics that a point reports.
pub fn identities(point: &Point) -> impl Iterator<Item = String> {
    point.metrics.iter().map(|metric| identity_at(&metric.id, point))
}

fn identity_at(metric: &str, point: &Point) -> String {
    identity_of(metric, &point.params, &point.placement, (point.workers, point.worker_kind))
}

fn identity_of(id: &str, params: &Params, placement: &Placement, (workers, kind): (u32, WorkerKind)) -> String {
    format!("{id}\0{params}\0{placement}\0{workers}\0{}", kind.word())
}

/// Why two records of one identity are not the same metric.
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
        match (differs(first, second), measured(first), measured(second)) {
            (Some(unlike), ..) => found.unlike.push((unlike, sides)),
            (None, Some(of_a), Some(of_b)) if of_a != 0.0 => found.pairs.push(pair(sides, [of_a, of_b])),
            _ => found.without_value.push(sides),
        }
    }
    found.alone[1] = b.iter().filter(|record| there.contains_key(&identity(record))).collect();
    found
}

/// A pair of which nothing but the values is known.
fn pair<'r>(sides: [&'r Record; 2], values: [f64; 2]) -> Pair<'r> {
    let [a, b] = values;
    let verdict = Verdict::Unclear(Why::FewRounds);
    Pair { sides, values, shared_core: false, ratio: b / a, interval: None, p: None, detectable: None, verdict }
}

/// What the numbers of a pair say, on a host whose runs differ by the ratio `floor`.
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
