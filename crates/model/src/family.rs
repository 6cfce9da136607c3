//! The description of a family of benchmarks: a summary, a sentence about a run, rows of the
//! hardware page.
//!
//! It is data in the family's `mod.rs`, beside the benchmarks, so that a test can compare every id
//! with the catalogue ([`Family::metrics`]). Views format the numbers.

use crate::Pages;

/// A family of benchmarks.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The part of its ids before the first dot.
    pub name: &'static str,
    /// What its benchmarks measure, in one line without a full stop.
    pub summary: &'static str,
    /// The sentence about a run, without a full stop. If it is empty, views count the metrics by
    /// state.
    pub says: Say,
    /// Its rows on the hardware page.
    pub rows: &'static [Row],
}

/// A sentence or a part of one.
#[derive(Clone, Copy, Debug)]
pub enum Say {
    /// Nothing.
    Nothing,
    /// A text with a `{}` for each figure, in order; left out unless all figures are known.
    Text(&'static str, &'static [Figure]),
    /// The first of these that is not left out.
    FirstOf(&'static [Say]),
    /// All of these that are not left out, separated by semicolons.
    Each(&'static [Say]),
    /// The first of these, followed by those of the others that are known; left out without the
    /// first.
    Led(&'static [Say]),
}

/// A figure that fills a `{}` in a sentence.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// A value with its unit: `117 ns`.
    Value(Pick),
    /// A value followed by its cycles if they are known: `1.20 ns (4.20 cy)`.
    WithCycles(Pick),
    /// A fraction in percent: `0.8 %`.
    Percent(Pick),
    /// A ratio in words: `14 times`.
    Times(Pick),
    /// The parameters of the picked record: `size=64 KiB`.
    Params(Pick),
    /// The first value divided by the second, in words: `14 times`.
    Quotient(Pick, Pick),
    /// The value between two CPUs divided by that on one CPU with the same parameters, in words.
    BetweenCpus(&'static str),
    /// The least and the greatest value, each with its parameters: `90 ns (count=1) to 2.10 µs
    /// (count=100)`.
    Range(Select),
    /// The least and the greatest value: `25.0–100 ns`.
    Span(Select),
    /// The levels of the memory hierarchy in a latency by size: `L1 48 KiB at 5.00 cy, memory at
    /// 95.0 ns`.
    Levels(&'static str),
    /// A fact of any metric of a benchmark; known only if its text is `text`.
    FactIs {
        /// The id of the benchmark.
        bench: &'static str,
        /// The key of the fact.
        key: &'static str,
        /// Its text.
        text: &'static str,
    },
}

/// Picks one measured record from a selection.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// Which record.
    pub which: Which,
    /// The selection.
    pub of: Select,
}

/// Which record of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    First,
    /// The one with the least value.
    Least,
    /// The one with the greatest value.
    Greatest,
}

/// Measured records of a family.
#[derive(Clone, Copy, Debug)]
pub enum Select {
    /// Those of a metric.
    Metric(&'static str),
    /// Those of a metric whose parameters have these values, words or whole numbers in the base
    /// unit. A sentence that names what a benchmark does by default asks for it, since others may
    /// have been asked for.
    With(&'static str, &'static [(&'static str, &'static str)]),
    /// Those of a metric with both tasks on one CPU.
    OnOneCpu(&'static str),
    /// All of the family except those of these metrics; of a benchmark, all of its outputs.
    AllBut(&'static [&'static str]),
}

impl Select {
    /// The ids of the metrics that it names.
    pub fn metrics(&self) -> Vec<&'static str> {
        match self {
            Select::Metric(id) | Select::With(id, ..) | Select::OnOneCpu(id) => vec![id],
            Select::AllBut(ids) => ids.to_vec(),
        }
    }
}

/// The first measured record of a metric.
pub const fn first(metric: &'static str) -> Pick {
    Pick { which: Which::First, of: Select::Metric(metric) }
}

/// The first measured record of a metric with these values of its parameters.
pub const fn first_with(metric: &'static str, params: &'static [(&'static str, &'static str)]) -> Pick {
    Pick { which: Which::First, of: Select::With(metric, params) }
}

/// The measured record of a metric with the least value.
pub const fn least(metric: &'static str) -> Pick {
    Pick { which: Which::Least, of: Select::Metric(metric) }
}

/// The measured record of a metric with the greatest value.
pub const fn greatest(metric: &'static str) -> Pick {
    Pick { which: Which::Greatest, of: Select::Metric(metric) }
}

impl Figure {
    /// The selections that it uses.
    pub fn selections(&self) -> Vec<Select> {
        match *self {
            Figure::Value(pick)
            | Figure::WithCycles(pick)
            | Figure::Percent(pick)
            | Figure::Times(pick)
            | Figure::Params(pick) => vec![pick.of],
            Figure::Quotient(a, b) => vec![a.of, b.of],
            Figure::Range(of) | Figure::Span(of) => vec![of],
            Figure::BetweenCpus(id) | Figure::Levels(id) | Figure::FactIs { bench: id, .. } => {
                vec![Select::Metric(id)]
            }
        }
    }
}

impl Say {
    /// Its texts with their figures.
    pub fn texts(&self) -> Vec<(&'static str, &'static [Figure])> {
        match *self {
            Say::Nothing => Vec::new(),
            Say::Text(text, figures) => vec![(text, figures)],
            Say::FirstOf(parts) | Say::Each(parts) | Say::Led(parts) => parts.iter().flat_map(Say::texts).collect(),
        }
    }
}

/// Rows of the hardware page with their metrics. The page shows them in the order of this list,
/// regardless of their family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The core clock, with the lowest and highest among the CPUs.
    CoreClock {
        /// Its rate.
        rate: &'static str,
        /// The lowest rate among the CPUs.
        lowest: &'static str,
        /// The highest rate among the CPUs.
        highest: &'static str,
    },
    /// The rate of the cycle counter.
    CounterRate(&'static str),
    /// The sizes and latencies of the caches, from a latency by size.
    Caches(&'static str),
    /// The amount of memory.
    Memory(&'static str),
    /// The size of a cache line and of a pair of lines.
    CacheLine {
        /// The size of a line.
        line: &'static str,
        /// The size of what is fetched together.
        pair: &'static str,
    },
    /// The number of ways of the caches, and the size of a way.
    Ways {
        /// The number of ways.
        ways: &'static str,
        /// The size of a way.
        way_size: &'static str,
    },
    /// The TLBs, and the cost of missing them.
    Tlb {
        /// Entries of the first level.
        first: &'static str,
        /// Entries of the second level.
        second: &'static str,
        /// The cost of a hit in the second level.
        second_hit: &'static str,
        /// The cost of page walks, from twice to eight times the reach of the second level.
        walks: [&'static str; 3],
        /// The page size that the TLB sees.
        page: &'static str,
    },
    /// The CPUs that share the last-level cache, derived from transfers between them.
    SharedCache(&'static str),
    /// The NUMA nodes, derived from the latencies between them.
    Nodes(&'static str),
    /// Bandwidth by operation and size.
    Bandwidth(&'static str),
    /// Latency under load.
    LoadedLatency {
        /// The median latency.
        median: &'static str,
        /// Its 95th percentile.
        p95: &'static str,
        /// The bandwidth during the same time.
        bandwidth: &'static str,
    },
    /// Transfers of a cache line between two CPUs.
    Transfers(&'static str),
}

impl Row {
    /// The ids of its metrics.
    pub fn metrics(&self) -> Vec<&'static str> {
        match *self {
            Row::CoreClock { rate, lowest, highest } => vec![rate, lowest, highest],
            Row::CacheLine { line: a, pair: b } | Row::Ways { ways: a, way_size: b } => vec![a, b],
            Row::Tlb { first, second, second_hit, walks: [a, b, c], page } => {
                vec![first, second, second_hit, a, b, c, page]
            }
            Row::LoadedLatency { median, p95, bandwidth } => vec![median, p95, bandwidth],
            Row::CounterRate(id)
            | Row::Caches(id)
            | Row::Memory(id)
            | Row::SharedCache(id)
            | Row::Nodes(id)
            | Row::Bandwidth(id)
            | Row::Transfers(id) => vec![id],
        }
    }
}

impl Family {
    /// The ids of all metrics that its sentence and its rows name. A test compares them with the
    /// catalogue.
    pub fn metrics(&self) -> Vec<&'static str> {
        let figures = self.says.texts().into_iter().flat_map(|(_, figures)| figures);
        let said = figures.flat_map(Figure::selections).flat_map(|of| of.metrics());
        said.chain(self.rows.iter().flat_map(Row::metrics)).collect()
    }
}

/// The families that a view knows, and the pages. Records of other families are shown without a
/// sentence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Families<'a> {
    /// The families.
    pub all: &'a [&'a Family],
    /// The pages of a run.
    pub pages: Pages<'a>,
}

impl<'a> Families<'a> {
    /// The family of this name.
    pub fn named(self, name: &str) -> Option<&'a Family> {
        self.all.iter().copied().find(|family| family.name == name)
    }

    /// The rows of the hardware page, in order.
    pub fn rows(self) -> Vec<&'a Row> {
        let mut rows: Vec<&Row> = self.all.iter().flat_map(|family| family.rows).collect();
        rows.sort();
        rows
    }
}
