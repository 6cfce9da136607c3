//! What a person sees of a run: which metrics stand on its pages, and what they are called there.
//!
//! A page is data, written down beside the benchmarks (`groma-benches`), so that every id in it can
//! be compared with the catalogue. It also says what a survey measures: what stands on a page, and
//! the parts that explain it. How a number becomes text is decided by the views.

use crate::{Metric, Params, Placement, Record};

/// The pages of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages<'a> {
    /// The blocks of the system page, in the order in which they are read.
    pub system: &'a [Block],
    /// The blocks of the hardware page.
    pub hardware: &'a [Block],
    /// What the rest of the hardware page is made from: its rows are those of the families.
    pub rows: &'a [Shown],
    /// What a survey measures besides, on no page: what composed costs on the pages consist of.
    pub parts: &'a [Shown],
}

/// Lines on one subject.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The subject.
    pub title: &'static str,
    /// The families of its metrics, as they are called on the command line: what stands behind the
    /// title, as far as there is room.
    pub families: &'static [&'static str],
    /// The heads of its columns; none where each line has one value. With heads a line has a value
    /// for each, or an empty place.
    pub heads: &'static [&'static str],
    /// How its values are written.
    pub values: Values,
    /// Its lines.
    pub lines: &'static [Line],
}

/// How the values of a block are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Each with its unit.
    WithUnits,
    /// In GB/s, which the title says.
    Gigabytes,
    /// As numbers; the title says of what.
    Bare,
}

/// The values that a line has at most.
pub const COLUMNS: usize = 3;

/// A line of a page.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// What people call it.
    pub name: &'static str,
    /// Its values, one for each column of the block; `None` leaves the place empty.
    pub values: [Option<Shown>; COLUMNS],
}

impl Block {
    /// How many columns of values it has.
    pub const fn columns(&self) -> usize {
        if self.heads.is_empty() { 1 } else { self.heads.len() }
    }
}

/// A metric at one point.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Its id.
    pub metric: &'static str,
    /// The parameters that tell the point from others, with their values as they are typed.
    pub params: &'static [(&'static str, &'static str)],
    /// Where it is measured.
    pub on: On,
    /// Whether a quick survey measures it.
    pub quick: bool,
    /// Whether its cycles are shown instead of its time.
    pub in_cycles: bool,
}

/// Where a value of a page is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// On one CPU, both sides where there are two.
    One,
    /// Between two CPUs: of those that this machine has, the nearest that share a cache and not a
    /// core.
    Two,
    /// Wherever the scheduler puts it.
    Any,
    /// On as many CPUs as there are.
    All,
    /// In every place where the plan has it.
    Each,
}

impl Shown {
    /// A metric of one CPU.
    pub const fn of(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Shown {
        Shown { metric, params, on: On::One, quick: false, in_cycles: false }
    }

    /// The same somewhere else.
    pub const fn on(self, on: On) -> Shown {
        Shown { on, ..self }
    }

    /// The same, which a quick survey measures as well.
    pub const fn quick(self) -> Shown {
        Shown { quick: true, ..self }
    }

    /// The same in cycles of the core.
    pub const fn in_cycles(self) -> Shown {
        Shown { in_cycles: true, ..self }
    }

    /// How well a place fits, the best first; `None` where the value is not measured there.
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
            _ => None,
        }
    }

    /// Whether a point has the parameters that are asked for.
    pub fn has(&self, params: &Params) -> bool {
        self.params.iter().all(|(name, text)| params.get(name).is_some_and(|value| value.is_typed(text)))
    }

    /// Whether one of these metrics is meant.
    pub fn is_of(&self, metrics: &[Metric]) -> bool {
        metrics.iter().any(|metric| metric.id == self.metric)
    }

    /// The record that is shown: the first that was measured, in the place that fits best, else the
    /// first that was tried there.
    pub fn find<'r>(&self, records: &'r [Record]) -> Option<&'r Record> {
        let fits = |record: &&Record| record.id == self.metric && self.has(&record.params);
        let ranked = records.iter().filter(fits).filter_map(|r| Some((self.rank(&r.placement, r.workers)?, r)));
        ranked.min_by_key(|(rank, record)| (record.value.is_none(), *rank)).map(|(_, record)| record)
    }
}

impl Pages<'_> {
    /// All metrics of all pages.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        of_blocks(self.system).chain(self.of_hardware())
    }

    /// All that a survey measures: what is on the pages, and the parts of that.
    pub fn measured(&self) -> impl Iterator<Item = &Shown> {
        self.shown().chain(self.parts)
    }

    /// Those of the hardware page.
    pub fn of_hardware(&self) -> impl Iterator<Item = &Shown> {
        of_blocks(self.hardware).chain(self.rows)
    }
}

/// The metrics of these blocks.
fn of_blocks(blocks: &[Block]) -> impl Iterator<Item = &Shown> {
    blocks.iter().flat_map(|block| block.lines).flat_map(|line| line.values.iter().flatten())
}
