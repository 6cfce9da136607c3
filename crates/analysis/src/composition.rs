//! Breaks composed costs down into measured primitives: predicted, measured, and the rest. The
//! models are elsewhere, next to their benchmarks (`groma_model::Composition`).
//!
//! The interval of a sum runs from the sum of the lower ends to the sum of the upper ends, after a
//! cost that is both added and subtracted has cancelled. It covers the true sum whenever each
//! interval covers its cost, so it is wider than necessary.

use std::collections::BTreeMap;

use groma_model::page::Shown;
use groma_model::{Composition, Part, Record, Times, Unit};

use crate::point::measured_value;

/// A value and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// In seconds; a difference may be negative.
    pub value: f64,
    /// Its interval; `None` where one of its costs has none.
    pub interval: Option<[f64; 2]>,
}

impl Amount {
    /// The amount multiplied by `count`.
    fn times(self, count: f64) -> Amount {
        let ends = self.interval.map(|[low, high]| [low * count, high * count]);
        Amount { value: self.value * count, interval: ends.map(|[a, b]| [a.min(b), a.max(b)]) }
    }

    pub(crate) fn plus(self, other: Amount) -> Amount {
        let ends = self.interval.zip(other.interval).map(|([a, b], [c, d])| [a + c, b + d]);
        Amount { value: self.value + other.value, interval: ends }
    }

    pub(crate) const NOTHING: Amount = Amount { value: 0.0, interval: Some([0.0; 2]) };
}

/// A record, and the run it comes from if that is another one.
#[derive(Clone, Copy, Debug)]
pub struct Source<'r> {
    /// The record.
    pub record: &'r Record,
    /// The id of the other run.
    pub run: Option<&'r str>,
}

/// The records to look up primitives in.
#[derive(Clone, Copy, Debug)]
pub struct Known<'r> {
    /// Those of the run itself.
    pub own: &'r [Record],
    /// Those of other runs of the machine in the same state, the best first.
    pub others: &'r [(String, Vec<Record>)],
}

impl<'r> Known<'r> {
    /// The measured record of a metric; the run's own comes before those of others.
    pub fn find(&self, shown: &Shown) -> Option<Source<'r>> {
        let own = shown.find(self.own).filter(|record| measured_value(record).is_some());
        let of_other = |(run, records): &'r (String, Vec<Record>)| {
            let record = shown.find(records).filter(|record| measured_value(record).is_some())?;
            Some(Source { record, run: Some(run) })
        };
        own.map(|record| Source { record, run: None }).or_else(|| self.others.iter().find_map(of_other))
    }
}

/// A part of a composed cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost<'r> {
    /// The part.
    pub part: &'static Part,
    /// How often it occurs; `None` where unknown.
    pub count: Option<f64>,
    /// Where its cost comes from; `None` where it was not measured.
    pub source: Option<Source<'r>>,
    /// Where the subtracted cost comes from.
    pub less: Option<Source<'r>>,
    /// The total of all occurrences, in seconds; `None` where any of it is unknown.
    pub total: Option<Amount>,
}

/// A composed cost, broken down.
#[derive(Clone, Debug)]
pub struct Explained<'r> {
    /// The measured record.
    pub record: &'r Record,
    /// Its value and interval.
    pub measured: Amount,
    /// The model that explains it.
    pub model: &'static Composition,
    /// The cost of the hardware alone.
    pub hardware: Vec<Cost<'r>>,
    /// The sum of the hardware costs; `None` without an estimate, or where no part of it is known.
    pub estimate: Option<Amount>,
    /// The parts.
    pub parts: Vec<Cost<'r>>,
    /// The sum of the known parts; `None` where none is known.
    pub predicted: Option<Amount>,
    /// Measured minus predicted.
    pub rest: Option<Amount>,
}

impl Explained<'_> {
    /// The rest as a fraction of the measured value.
    pub fn rest_share(&self) -> Option<f64> {
        self.rest.map(|rest| rest.value / self.measured.value).filter(|share| share.is_finite())
    }

    /// Whether every part is known.
    pub fn is_whole(&self) -> bool {
        self.parts.iter().all(|cost| cost.total.is_some())
    }

    /// The metrics that were not found.
    pub fn missing<'s>(&self, known: &'s Known<'_>) -> impl Iterator<Item = &'static Shown> + use<'s> {
        let all: Vec<&'static Shown> = self.model.shown().collect();
        all.into_iter().filter(|shown| known.find(shown).is_none())
    }
}

/// Explains the composed costs among the run's own records.
pub fn explain<'r>(models: &[&'static Composition], known: &Known<'r>) -> Vec<Explained<'r>> {
    let mut all = Vec::new();
    for record in known.own {
        let fits = |model: &&&'static Composition| {
            let of = &model.of;
            of.metric == record.id && of.has(&record.params) && of.rank(&record.placement, record.workers).is_some()
        };
        let explained = models.iter().find(fits).and_then(|model| explain_one(model, record, known));
        all.extend(explained);
    }
    all
}

fn explain_one<'r>(model: &'static Composition, record: &'r Record, known: &Known<'r>) -> Option<Explained<'r>> {
    let measured = Amount { value: measured_value(record)?, interval: record.ci };
    let costs = |parts: &'static [Part]| parts.iter().map(|part| cost(part, record, known)).collect::<Vec<_>>();
    let (hardware, parts) = (costs(model.hardware), costs(model.parts));
    let (estimate, predicted) = (sum(&hardware), sum(&parts));
    let rest = predicted.map(|predicted| measured.plus(predicted.times(-1.0)));
    Some(Explained { record, measured, model, hardware, estimate, parts, predicted, rest })
}

/// The cost of a part of this record.
fn cost<'r>(part: &'static Part, record: &Record, known: &Known<'r>) -> Cost<'r> {
    let count = count(part.times, record);
    let (source, less) = (known.find(&part.cost), part.less.as_ref().and_then(|less| known.find(less)));
    let mut cost = Cost { part, count, source, less, total: None };
    cost.total = sum(&[cost]);
    cost
}

/// How often a part occurs in this record.
fn count(times: Times, record: &Record) -> Option<f64> {
    let counted = |name: &str| record.proofs.iter().find(|proof| proof.name == name).map(|proof| proof.seen);
    match times {
        Times::Fixed(count) => Some(count),
        Times::Param(each, name) => record.number(name).map(|number| each * number as f64),
        Times::Fact(each, key) => record.fact(key)?.parse::<f64>().ok().map(|number| each * number),
        Times::Counted(name, more) => counted(name).map(|seen| (seen + more).max(0.0)),
    }
    .filter(|count| count.is_finite())
}

/// The cost of one unit: a byte of a bandwidth, an event of a rate, one operation of a latency.
fn each(record: &Record) -> Option<Amount> {
    let value = measured_value(record)?;
    match record.unit {
        Unit::Seconds => Some(Amount { value, interval: record.ci }),
        Unit::BytesPerSecond | Unit::PerSecond if value > 0.0 => {
            let interval = record.ci.filter(|[low, _]| *low > 0.0).map(|[low, high]| [1.0 / high, 1.0 / low]);
            Some(Amount { value: 1.0 / value, interval })
        }
        _ => None,
    }
}

/// The sum of the known costs.
fn sum(costs: &[Cost<'_>]) -> Option<Amount> {
    let known = costs.iter().filter_map(|cost| terms(cost.part, cost.count?, cost.source, cost.less));
    let known: Vec<(f64, &Record)> = known.flatten().collect();
    if known.is_empty() { None } else { weighted_sum(&known) }
}

/// A part as records with counts; a subtracted record has a negative count. `None` where a record
/// is missing.
pub(crate) fn terms<'r>(
    part: &Part,
    count: f64,
    source: Option<Source<'r>>,
    less: Option<Source<'r>>,
) -> Option<Vec<(f64, &'r Record)>> {
    let mut terms = vec![(count, source?.record)];
    if part.less.is_some() {
        terms.push((-count, less?.record));
    }
    Some(terms)
}

/// The weighted sum of records. Counts of one record are added up first, so that its interval
/// cancels.
pub(crate) fn weighted_sum(terms: &[(f64, &Record)]) -> Option<Amount> {
    let mut counts: BTreeMap<*const Record, (f64, &Record)> = BTreeMap::new();
    for (count, record) in terms {
        counts.entry(std::ptr::from_ref(*record)).or_insert((0.0, record)).0 += count;
    }
    let mut counts = counts.into_values().filter(|(count, _)| *count != 0.0);
    counts.try_fold(Amount::NOTHING, |sum, (count, record)| Some(sum.plus(each(record)?.times(count))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::record;
    use groma_model::{Proof, Quantity, State, Value};

    const A: Shown = Shown::of("a.a", &[]);
    const B: Shown = Shown::of("a.b", &[]);
    const RATE: Shown = Shown::of("a.rate", &[]);

    static PARTS: Composition = Composition {
        of: Shown::of("a.whole", &[]),
        hardware: &[Part::of(0.0, "bytes", RATE).times(Times::Param(2.0, "size"))],
        parts: &[
            Part::of(2.0, "the first", A),
            Part::difference(2.0, "the second beyond the first", B, A),
            Part::of(1.0, "counted", A).times(Times::Counted("faults", -1.0)),
        ],
        rest: "what is left",
    };

    fn latency(id: &str, value: f64) -> Record {
        Record { ci: Some([value * 0.9, value * 1.2]), ..record(id, Quantity::Latency, value) }
    }

    fn whole() -> Record {
        let mut whole = latency("a.whole", 100.0);
        whole.params.0.push(("size".to_owned(), Value::Int(64)));
        whole.proofs = vec![Proof { name: "faults".into(), expected: "some".into(), seen: 4.0, holds: true }];
        whole
    }

    fn rate(value: f64) -> Record {
        Record { ci: Some([value / 2.0, value * 2.0]), ..record("a.rate", Quantity::Bandwidth, value) }
    }

    fn of(own: &[Record], others: &[(String, Vec<Record>)], check: impl Fn(&Explained<'_>)) {
        let all = explain(&[&PARTS], &Known { own, others });
        assert_eq!(all.len(), 1);
        check(&all[0]);
    }

    #[test]
    fn parts_and_rest_add_up_to_the_measurement() {
        let own = [whole(), latency("a.a", 10.0), latency("a.b", 25.0), rate(4.0)];
        of(&own, &[], |one| {
            let totals: Vec<f64> = one.parts.iter().flat_map(|cost| cost.total).map(|total| total.value).collect();
            assert_eq!(totals, [20.0, 30.0, 30.0]);
            let (predicted, rest) = (one.predicted.expect("all are known"), one.rest.expect("all are known"));
            assert_eq!((predicted.value, rest.value, one.rest_share()), (80.0, 20.0, Some(0.2)));
            assert!(one.is_whole());
            // 2 x 64 bytes at 4 bytes per second; the fastest rate gives the shortest time.
            let estimate = one.estimate.expect("the rate is known");
            assert_eq!((estimate.value, estimate.interval), (32.0, Some([16.0, 64.0])));
        });
    }

    #[test]
    fn intervals_add_up_and_cancelled_costs_add_nothing() {
        let own = [whole(), latency("a.a", 10.0), latency("a.b", 25.0)];
        of(&own, &[], |one| {
            // 2 a + 2 (b - a) + 3 a = 2 b + 3 a.
            let [low, high] = one.predicted.expect("all are known").interval.expect("all have one");
            assert!((low - 72.0).abs() < 1e-9 && (high - 96.0).abs() < 1e-9, "{low} {high}");
            let [low, high] = one.rest.expect("all are known").interval.expect("all have one");
            assert!((low - (90.0 - 96.0)).abs() < 1e-9 && (high - (120.0 - 72.0)).abs() < 1e-9, "{low} {high}");
        });
        let mut few = own.to_vec();
        few[1].ci = None;
        of(&few, &[], |one| assert!(one.predicted.is_some_and(|sum| sum.interval.is_none())));
    }

    #[test]
    fn a_rest_below_zero_stays_below_zero() {
        let own = [whole(), latency("a.a", 100.0), latency("a.b", 25.0)];
        of(&own, &[], |one| assert!(one.rest_share().is_some_and(|share| share < -2.0)));
    }

    #[test]
    fn missing_costs_come_from_another_run_or_are_listed() {
        let mut failed = latency("a.b", 25.0);
        failed.state = State::Failed;
        let own = [whole(), latency("a.a", 10.0), failed];
        let alone = Known { own: &own, others: &[] };
        of(&own, &[], |one| {
            assert_eq!(one.predicted.map(|sum| sum.value), Some(50.0), "of what is known");
            assert!(!one.is_whole() && one.parts[1].total.is_none());
            let missing: Vec<&str> = one.missing(&alone).map(|shown| shown.metric).collect();
            assert_eq!(missing, ["a.rate", "a.b"]);
        });
        let others = [("other".to_owned(), vec![latency("a.a", 99.0), latency("a.b", 25.0)])];
        of(&own, &others, |one| {
            assert_eq!(one.predicted.map(|sum| sum.value), Some(80.0), "its own first");
            assert_eq!(one.parts[1].source.and_then(|source| source.run), Some("other"));
            assert_eq!(one.parts[0].source.and_then(|source| source.run), None);
        });
    }
}
