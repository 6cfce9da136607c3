//! Curves: records of one metric that differ in a single number, and the levels of a memory
//! hierarchy on them.

use std::collections::BTreeSet;

use groma_model::{Quantity, Record, Unit, Value};
use groma_stats::{CostGrowth, cost_growth};

use crate::point::{Numbers, WORKERS, differ_only_in, measured_value};

/// Records that differ in a single number, the smallest first.
pub struct Curve<'a> {
    /// The number: a parameter's name, or [`WORKERS`].
    pub over: String,
    /// The kind of number.
    pub numbers: Numbers,
    /// The numbers and their records.
    pub points: Vec<(u64, &'a Record)>,
}

impl Curve<'_> {
    /// The measured points, their numbers in bytes, seconds or counts.
    pub fn measured_points(&self) -> Vec<(f64, f64)> {
        self.points
            .iter()
            .filter_map(|(x, record)| Some((self.numbers.in_units(*x), measured_value(record)?)))
            .collect()
    }
}

impl Curve<'_> {
    /// How the time that an operation takes grows with the number, of a latency, a bandwidth over
    /// sizes, or a rate; `None` for other quantities, over times and workers, and where nothing
    /// fits.
    pub fn cost_growth(&self) -> Option<CostGrowth> {
        let quantity = self.points.first()?.1.quantity;
        if self.numbers == Numbers::Times || self.over == WORKERS {
            return None;
        }
        let cost = |(n, value): &(f64, f64)| match quantity {
            Quantity::Latency => Some((*n, *value)),
            Quantity::Bandwidth if self.numbers == Numbers::Sizes => Some((*n, n / value)),
            Quantity::Rate => Some((*n, 1.0 / value)),
            _ => None,
        };
        cost_growth(&self.measured_points().iter().map(cost).collect::<Option<Vec<_>>>()?)
    }
}

/// The value of `over` in a record: a parameter, or the size of its group.
fn number(record: &Record, over: &str) -> Option<u64> {
    if over == WORKERS { Some(u64::from(record.workers)) } else { record.number(over) }
}

/// The numbers in these records of one metric that can be a curve's x axis: parameters, then
/// workers.
pub fn numbers<'a>(records: &[&'a Record]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for record in records {
        for (name, value) in &record.params.0 {
            if matches!(value, Value::Int(_)) && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names.push(WORKERS);
    names
}

/// The number with the most values in these records of one metric, and how many; parameters come
/// before workers.
pub fn widest(records: &[&Record]) -> Option<(String, usize)> {
    let names = numbers(records);
    let spread = |name: &str| records.iter().filter_map(|r| number(r, name)).collect::<BTreeSet<_>>().len();
    // max_by_key returns the last maximum: iterate from the back, so that the first declared wins.
    names.iter().rev().map(|name| ((*name).to_owned(), spread(name))).max_by_key(|(_, values)| *values)
}

/// The records of one metric as curves over a number, ordered by the first record of each.
pub fn curves<'a>(records: &[&'a Record], over: &str) -> Vec<Curve<'a>> {
    let mut all: Vec<Curve<'a>> = Vec::new();
    for record in records {
        let Some(x) = number(record, over) else { continue };
        match all.iter_mut().find(|c| differ_only_in(c.points[0].1, record, &[over])) {
            Some(curve) => curve.points.push((x, record)),
            None => {
                all.push(Curve { over: over.to_owned(), numbers: Numbers::of(record, over), points: vec![(x, record)] })
            }
        }
    }
    for curve in &mut all {
        curve.points.sort_by_key(|(x, _)| *x);
    }
    all
}

/// A level's place in the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// A cache: 1 is the closest to the core.
    Cache(usize),
    /// The last level, open-ended, as slow as memory.
    Memory,
    /// The last level, open-ended, faster than memory.
    Beyond,
}

/// One level of a memory hierarchy, as measured.
pub struct Level {
    /// Its rank.
    pub rank: Rank,
    /// The smallest and the largest size on it, in bytes.
    pub span: [f64; 2],
    /// Its capacity in bytes: the last size before the curve leaves it; `None` where the curve ends
    /// on it.
    pub capacity: Option<f64>,
    /// The size at which the curve is half-way to the next level on a logarithmic scale, if well
    /// beyond the capacity: caches that are shared or physically indexed fill unevenly.
    pub soft: Option<f64>,
    /// As `soft`, but always set.
    pub half_way: Option<f64>,
    /// Its latency in seconds.
    pub latency: f64,
    /// Its latency in cycles.
    pub cycles: Option<f64>,
}

/// No known cache is as slow, and no known memory as fast; in seconds.
const MEMORY_LATENCY: f64 = 50e-9;

/// An edge is soft when its half-way point is at least this many times its start.
const SOFT: f64 = 1.4;

/// What precedes the first level found is a level itself if it is this many times as fast: on all
/// known machines the first two caches are further apart.
const BELOW: f64 = 1.5;

/// The levels on a curve of latency over size; empty for any other curve.
pub fn levels(curve: &Curve<'_>) -> Vec<Level> {
    let latency = |r: &Record| r.quantity == Quantity::Latency && r.unit == Unit::Seconds;
    if curve.numbers != Numbers::Sizes || !curve.points.iter().all(|(_, r)| latency(r)) {
        return Vec::new();
    }
    let found = groma_stats::find_levels(&curve.measured_points());
    if found.len() < 2 {
        return Vec::new();
    }
    // If the curve starts well below the first level found, that level is the second: the first was
    // too short or too disturbed to be detected.
    let before = curve.measured_points().into_iter().filter(|(size, _)| *size < found[0].from);
    let hidden = usize::from(before.into_iter().any(|(_, latency)| latency * BELOW < found[0].latency));
    found
        .iter()
        .enumerate()
        .map(|(i, level)| {
            let rank = match level.capacity_hard {
                Some(_) => Rank::Cache(i + 1 + hidden),
                None if level.latency >= MEMORY_LATENCY => Rank::Memory,
                None => Rank::Beyond,
            };
            let on_it = curve.points.iter().filter(|(x, _)| (level.from..=level.to).contains(&(*x as f64)));
            let rates: Vec<f64> = on_it.filter_map(|(_, r)| Some(r.cycles? / measured_value(r)?)).collect();
            Level {
                rank,
                span: [level.from, level.to],
                capacity: level.capacity_hard,
                half_way: level.capacity_soft,
                soft: level.capacity_soft.filter(|s| level.capacity_hard.is_some_and(|h| *s > SOFT * h)),
                latency: level.latency,
                cycles: groma_stats::median(&rates).map(|hz| hz * level.latency),
            }
        })
        .collect()
}

/// The curve that shows the levels of the caches: the lowest at its far end. Chains that pay for
/// address translation lie above it and have edges of their own.
pub fn for_levels<'c, 'a>(curves: &'c [Curve<'a>]) -> Option<&'c Curve<'a>> {
    let last = |c: &Curve<'_>| c.measured_points().last().map(|p| p.1);
    curves
        .iter()
        .filter(|c| !levels(c).is_empty())
        .min_by(|a, b| last(a).unwrap_or(f64::MAX).total_cmp(&last(b).unwrap_or(f64::MAX)))
}
