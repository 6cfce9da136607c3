//! The pages of a run: the metrics that they show, and their names there.
//!
//! A page is data in `groma-benches`, so that a test can compare every id with the catalogue. It
//! also decides what a survey measures: the metrics on the pages, and the parts that explain them.
//! Views format the numbers.

use crate::{Metric, Params, Placement, Record};

/// The pages of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages<'a> {
    /// The blocks of the system page, in order.
    pub system: &'a [Block],
    /// The blocks of the hardware page.
    pub hardware: &'a [Block],
    /// The metrics of the rest of the hardware page, whose rows are those of the families.
    pub rows: &'a [Shown],
    /// Further metrics of a survey that no page shows: the parts of composed costs on the pages.
    pub parts: &'a [Shown],
    /// What a run with the profile `fleet` measures.
    pub fleet: &'a [Shown],
}

/// Lines on one subject.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The subject.
    pub title: &'static str,
    /// The families of its metrics, shown after the title if there is room.
    pub families: &'static [&'static str],
    /// The heads of its columns; empty if each line has one value. With heads, a line has a value
    /// or an empty cell for each.
    pub heads: &'static [&'static str],
    /// The format of its values.
    pub values: Values,
    /// Its lines.
    pub lines: &'static [Line],
}

/// The format of the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Each with its unit.
    WithUnits,
    /// In GB/s, as the title says.
    Gigabytes,
    /// Numbers; the title names the unit.
    Bare,
}

/// The most values of a line.
pub const COLUMNS: usize = 3;

/// A line of a page.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its name for people.
    pub name: &'static str,
    /// Its values, one for each column of the block; `None` for an empty cell.
    pub values: [Option<Shown>; COLUMNS],
}

impl Block {
    /// The number of columns of values.
    pub const fn columns(&self) -> usize {
        if self.heads.is_empty() { 1 } else { self.heads.len() }
    }
}

/// A metric at one point.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Its id.
    pub metric: &'static str,
    /// The parameters that select the point, with their values as typed.
    pub params: &'static [(&'static str, &'static str)],
    /// Its placement.
    pub on: On,
    /// Whether a quick survey measures it.
    pub quick: bool,
    /// Whether to show its cycles instead of its time.
    pub in_cycles: bool,
}

/// The placement of a value on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// On one CPU; if there are two sides, both on it.
    One,
    /// Between two CPUs: two cores that share a cache or, if the machine has none, the next best
    /// pair ([`Shown::rank`]).
    Two,
    /// Not pinned.
    Any,
    /// A worker group on all CPUs.
    All,
    /// A worker group on the CPUs of each NUMA node, if there are several nodes.
    Nodes,
    /// Every placement of the plan.
    Each,
}

impl Shown {
    /// A metric of one CPU.
    pub const fn of(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Shown {
        Shown { metric, params, on: On::One, quick: false, in_cycles: false }
    }

    /// With another placement.
    pub const fn on(self, on: On) -> Shown {
        Shown { on, ..self }
    }

    /// Measured by a quick survey as well.
    pub const fn quick(self) -> Shown {
        Shown { quick: true, ..self }
    }

    /// Shown in core clock cycles.
    pub const fn in_cycles(self) -> Shown {
        Shown { in_cycles: true, ..self }
    }

    /// The rank of a placement, 0 for the best; `None` if it does not match.
    pub fn rank(&self, placement: &Placement, workers: u32) -> Option<usize> {
        let one = workers == 1;
        match (self.on, placement) {
            (On::Each, _) => Some(0),
            (On::One, Placement::Pinned | Placement::On(_) | Placement::SameCpu) if one => Some(0),
            (On::Two, Placement::SameLlc) => Some(0),
            (On::Two, Placement::CrossLlc) => Some(1),
            (On::Two, Placement::CrossNode) => Some(2),
            (On::Two, Placement::List(cpus)) if cpus.len() == 2 => Some(3),
            (On::Two, Placement::Smt) => Some(4),
            (On::Any, Placement::Free) => Some(0),
            (On::All, Placement::Compact) if !one => Some(0),
            (On::Nodes, Placement::On(_)) if !one => Some(0),
            _ => None,
        }
    }

    /// Whether a point has the selected parameters.
    pub fn has(&self, params: &Params) -> bool {
        self.params.iter().all(|(name, text)| params.get(name).is_some_and(|value| value.is_typed(text)))
    }

    /// Whether a placement stands for the wanted one where the machine refuses to tie a task to a
    /// CPU, so that there is no better one.
    pub fn is_last_resort(&self, placement: &Placement, workers: u32) -> bool {
        let of_size = (workers == 1 && self.on == On::One) || (workers > 1 && self.on == On::All);
        of_size && *placement == Placement::Free
    }

    /// Whether it is one of these metrics.
    pub fn is_of(&self, metrics: &[Metric]) -> bool {
        metrics.iter().any(|metric| metric.id == self.metric)
    }

    /// The record to show: the best-ranked one with a value, else the best-ranked one; the first of
    /// several.
    pub fn find<'r>(&self, records: &'r [Record]) -> Option<&'r Record> {
        let fits = |record: &&Record| record.id == self.metric && self.has(&record.params);
        let ranked = records.iter().filter(fits).filter_map(|r| Some((self.rank(&r.placement, r.workers)?, r)));
        let best = ranked.min_by_key(|(rank, record)| (record.value.is_none(), *rank)).map(|(_, record)| record);
        best.or_else(|| records.iter().filter(fits).find(|r| self.is_last_resort(&r.placement, r.workers)))
    }
}

impl Pages<'_> {
    /// All metrics of all pages.
    pub fn shown_metrics(&self) -> impl Iterator<Item = &Shown> {
        of_blocks(self.system).chain(self.of_hardware())
    }

    /// All metrics that a survey measures: those on the pages, and their parts.
    pub fn measured_metrics(&self) -> impl Iterator<Item = &Shown> {
        self.shown_metrics().chain(self.parts)
    }

    /// The metrics of the hardware page.
    pub fn of_hardware(&self) -> impl Iterator<Item = &Shown> {
        of_blocks(self.hardware).chain(self.rows)
    }
}

/// The metrics of these blocks.
fn of_blocks(blocks: &[Block]) -> impl Iterator<Item = &Shown> {
    blocks.iter().flat_map(|block| block.lines).flat_map(|line| line.values.iter().flatten())
}
