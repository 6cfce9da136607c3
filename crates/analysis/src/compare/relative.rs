//! Expresses records in another unit: in cycles of the core's clock, or as multiples of one metric
//! at one point.
//!
//! The point must exist on all sides. Taking each side's first record of the metric was rejected:
//! sides order their points differently, so each would be divided by another point.

use std::collections::HashSet;
use std::fmt;

use groma_model::{Placement, Record, SharedCore, Unit, Value, parse_nanoseconds, parse_size};

use super::{differs, identity};
use crate::point::{measured_value, text_of};

/// The metric to divide by, as it is typed: `syscall.getppid`, `mem.latency:size=16K`,
/// `ipc.pipe_rtt:same-cpu`, `ipc.pipe_rtt:P=2:same-cpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    id: String,
    params: Vec<(String, String)>,
    workers: u32,
    placement: Option<Placement>,
}

impl std::str::FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Base, String> {
        let mut parts = text.split(':');
        let id = parts.next().unwrap_or_default().to_owned();
        let mut base = Base { id, params: Vec::new(), workers: 1, placement: None };
        for part in parts {
            match part.split_once('=') {
                Some(("P", workers)) => {
                    base.workers = workers.parse().map_err(|_| format!("P={workers}: no number"))?
                }
                Some((name, value)) => base.params.push((name.to_owned(), value.to_owned())),
                None => base.placement = Some(part.parse()?),
            }
        }
        Ok(base)
    }
}

impl Base {
    /// The id of the metric.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether a record is a time that matches this base.
    fn is(&self, record: &Record) -> bool {
        let has = |(name, text): &(String, String)| record.params.get(name).is_some_and(|value| value.is_typed(text));
        record.id == self.id
            && record.unit == Unit::Seconds
            && record.workers == self.workers
            && self.placement.as_ref().is_none_or(|placement| *placement == record.placement)
            && self.params.iter().all(has)
            && measured_value(record).is_some_and(|value| value > 0.0)
    }

    /// The identity of the one matching point that all sides have.
    ///
    /// # Errors
    /// When no point matches, or several do.
    pub fn find(&self, sides: &[&[Record]]) -> Result<String, NoBase> {
        let meant: Vec<Vec<&Record>> =
            sides.iter().map(|records| records.iter().filter(|record| self.is(record)).collect()).collect();
        if let Some(side) = meant.iter().position(Vec::is_empty) {
            return Err(NoBase::Nowhere(side));
        }
        let Some((first, rest)) = meant.split_first() else { return Err(NoBase::NotShared) };
        let is_there = |record: &Record, side: &Vec<&Record>| {
            side.iter().any(|other| identity(other) == identity(record) && differs(record, other).is_none())
        };
        let mut shared: Vec<&Record> = first.clone();
        shared.retain(|record| rest.iter().all(|side| is_there(record, side)));
        match &shared[..] {
            [] => Err(NoBase::NotShared),
            [one] => Ok(identity(one)),
            _ => Err(NoBase::Several(choices(shared))),
        }
    }
}

/// Why there is no base to divide by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoBase {
    /// This side has no matching time.
    Nowhere(usize),
    /// Each side has a matching point, but no point is on all sides.
    NotShared,
    /// Several points match; each as it is typed.
    Several(Vec<String>),
}

impl fmt::Display for NoBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Choices that are listed: enough to show the syntax.
        const NAMED: usize = 6;
        match self {
            NoBase::Nowhere(_) => write!(f, "a side has no time of it"),
            NoBase::NotShared => write!(f, "the sides hold no point of it in common"),
            NoBase::Several(all) => {
                let more = all.len().saturating_sub(NAMED);
                write!(f, "{} points are meant; name one: {}", all.len(), all[..all.len() - more].join(", "))?;
                if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
        }
    }
}

/// Several records of a metric as they are typed, each with what distinguishes it, ordered by their
/// numbers.
fn choices(mut records: Vec<&Record>) -> Vec<String> {
    let order = |record: &Record| {
        let number = |(_, value): &(String, Value)| match value {
            Value::Int(n) => (*n, String::new()),
            Value::Word(word) => (0, word.clone()),
        };
        record.params.0.iter().map(number).collect::<Vec<_>>()
    };
    records.sort_by_key(|record| order(record));
    let Some(first) = records.first().copied() else { return Vec::new() };
    let varies = |name: &str| records.iter().any(|other| other.params.get(name) != first.params.get(name));
    let in_places = records.iter().any(|other| other.placement != first.placement);
    let group = if first.workers == 1 { String::new() } else { format!(":P={}", first.workers) };
    let typed = |record: &&Record| {
        let named = record.params.0.iter().filter(|(name, _)| varies(name));
        let params: String =
            named.map(|(name, value)| format!(":{name}={}", format_value(record, name, value))).collect();
        let place = if in_places { format!(":{}", record.placement) } else { String::new() };
        format!("{}{params}{group}{place}", record.id)
    };
    records.iter().map(typed).collect()
}

/// A parameter's value as it is typed: `16KiB`, or bytes where the text is rounded.
fn format_value(record: &Record, name: &str, value: &Value) -> String {
    let shown = text_of(&record.params, &record.params_text, name).replace(' ', "");
    match value {
        Value::Word(word) => word.clone(),
        Value::Int(n) if parse_size(&shown).or_else(|_| parse_nanoseconds(&shown)) == Ok(*n) => shown,
        Value::Int(n) => n.to_string(),
    }
}

/// Records with times in cycles of the core's clock; drops those without cycles.
pub fn in_cycles(records: &[Record]) -> Vec<Record> {
    records
        .iter()
        .filter(|record| record.unit == Unit::Seconds)
        .filter_map(|record| Some(scaled(record, record.cycles? / record.value?)))
        .collect()
}

/// Records as multiples of the time of the record with this identity: times divided by it, rates
/// multiplied. Drops everything else, and the base itself, which would be 1 everywhere. `None`
/// where that record is missing or no time.
pub fn relative_to(records: &[Record], base: &str) -> Option<Vec<Record>> {
    let of = records.iter().find(|record| identity(record) == base)?;
    let time = measured_value(of)?;
    let scale = |record: &Record| match record.unit {
        Unit::Seconds => Some(scaled(record, 1.0 / time)),
        Unit::BytesPerSecond | Unit::PerSecond => Some(scaled(record, time)),
        _ => None,
    };
    Some(records.iter().filter(|record| !std::ptr::eq(*record, of)).filter_map(scale).collect())
}

/// Number of metrics with a value on both sides that scaling dropped on one of them. `before` and
/// `after` are the records of both sides.
pub fn left_out(before: [&[Record]; 2], after: [&[Record]; 2]) -> usize {
    let keys = |records: &[Record]| -> HashSet<String> {
        records.iter().filter(|record| measured_value(record).is_some()).map(identity).collect()
    };
    let ([a, b], now) = (before.map(keys), after.map(keys));
    let is_lost = |key: &&String| b.contains(*key) && !now.iter().all(|side| side.contains(*key));
    a.iter().filter(is_lost).count()
}

fn scaled(record: &Record, factor: f64) -> Record {
    let scale = |values: &[f64]| values.iter().map(|value| value * factor).collect();
    let both = |ends: Option<[f64; 2]>| ends.map(|ends| ends.map(|end| end * factor));
    Record {
        unit: Unit::One,
        value: record.value.map(|value| value * factor),
        ci: both(record.ci),
        ci_display: both(record.ci_display),
        round_values: scale(&record.round_values),
        shared: record.shared.as_ref().map(|shared| SharedCore {
            value: shared.value.map(|value| value * factor),
            share: shared.share,
            round_values: scale(&shared.round_values),
        }),
        ..record.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::latency;
    use groma_model::Params;
    use groma_stats::Rng;

    /// A latency at a size and a placement.
    fn at(size: u64, text: &str, placement: Placement, value: f64) -> Record {
        let params = Params(vec![("size".to_owned(), Value::Int(size))]);
        Record { params, params_text: format!("size={text}"), placement, ..latency(value, &mut Rng::new(size)) }
    }

    /// One side starts with the largest size, the other with the smallest.
    fn two_orders() -> [Vec<Record>; 2] {
        let small = at(16 << 10, "16 KiB", Placement::Pinned, 1e-9);
        let large = at(96 << 20, "96 MiB", Placement::Pinned, 1e-7);
        [vec![large.clone(), small.clone()], vec![small, large]]
    }

    fn find(text: &str, sides: &[Vec<Record>; 2]) -> Result<String, NoBase> {
        let base: Base = text.parse().expect("it is well-formed");
        base.find(&[&sides[0], &sides[1]])
    }

    #[test]
    fn both_sides_are_divided_by_one_point() {
        let sides = two_orders();
        let base = find("a.latency:size=16K", &sides).expect("one point");
        for side in &sides {
            let relative = relative_to(side, &base).expect("its time is known");
            // The base itself would be 1 on both sides, so it is left out.
            assert_eq!(relative.len(), 1);
            let ratio = relative[0].value.expect("a value");
            assert!((90.0..110.0).contains(&ratio), "{ratio}");
        }
        assert_eq!(left_out([&sides[0], &sides[1]], [&sides[0][..1], &sides[1]]), 1);
        assert_eq!(left_out([&sides[0], &sides[1]], [&sides[0], &sides[1]]), 0);
    }

    #[test]
    fn an_ambiguous_base_is_refused_with_the_choices() {
        let sides = two_orders();
        let Err(NoBase::Several(typed)) = find("a.latency", &sides) else { panic!("two points were taken for one") };
        assert_eq!(typed, ["a.latency:size=16KiB", "a.latency:size=96MiB"]);
        for text in &typed {
            assert!(find(text, &sides).is_ok(), "{text}");
        }
        let places = [Placement::SameCpu, Placement::SameLlc].map(|place| at(1, "1 B", place, 1e-6));
        let sides = [places.to_vec(), places.to_vec()];
        let Err(NoBase::Several(typed)) = find("a.latency", &sides) else { panic!("two places were taken for one") };
        assert_eq!(typed, ["a.latency:same-cpu", "a.latency:same-llc"]);
        assert!(find("a.latency:same-llc", &sides).is_ok());
        assert_eq!(find("a.latency:P=2", &sides), Err(NoBase::Nowhere(0)));
        let apart = [places[..1].to_vec(), places[1..].to_vec()];
        assert_eq!(find("a.latency", &apart), Err(NoBase::NotShared));
        let [a, _] = places;
        let defined_anew = Record { version: 2, ..a.clone() };
        assert_eq!(find("a.latency", &[vec![a], vec![defined_anew]]), Err(NoBase::NotShared));
        assert!("a.latency:nowhere".parse::<Base>().is_err() && "a.latency:P=x".parse::<Base>().is_err());
    }
}
