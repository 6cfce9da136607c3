//! Compares what a machine declares about itself with what was measured.
//!
//! A claim is a row of the hardware page without its text. The rules for agreement are in
//! docs/methods/memory.md#declared-and-measured.

use std::collections::BTreeSet;

use groma_model::family::Row;
use groma_model::{Machine, Record, State};

use crate::curve::Rank;
use crate::matrix::Matrix;
use crate::point::{is_of_shared_core, measured_value, of_first_class};
use caches::{caches, memory, snaps};

mod caches;

pub use caches::{Hierarchy, declared_caches, hierarchies, reaches_memory};

/// The records of a run, looked up by id.
pub struct Seen<'a>(pub &'a [Record]);

impl<'a> Seen<'a> {
    /// The records of a metric that one worker measured, on the first class of core.
    pub fn all(&self, id: &str) -> impl Iterator<Item = &'a Record> + use<'a> {
        let id = id.to_owned();
        of_first_class(self.0.iter()).filter(move |r| r.id == id && r.workers == 1)
    }

    /// The records of a metric that the largest worker group measured; empty where one worker
    /// measured all of them.
    pub fn of_largest_group(&self, id: &str) -> Vec<&'a Record> {
        let groups = || self.0.iter().filter(|r| r.id == id && r.workers > 1);
        let most = groups().map(|r| r.workers).max();
        groups().filter(|r| Some(r.workers) == most).collect()
    }

    /// The first record of a metric that passes; a record with a value comes before one without.
    pub fn first(&self, id: &str, keep: impl Fn(&Record) -> bool) -> Option<&'a Record> {
        let of_it = || self.all(id).filter(|r| keep(r));
        of_it().find(|r| measured_value(r).is_some()).or_else(|| of_it().next())
    }

    /// The value of a metric that has one point.
    pub fn value(&self, id: &str) -> Option<f64> {
        self.first(id, |_| true).and_then(measured_value)
    }
}

/// Whether the declared value is the measured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They match.
    Agree,
    /// They differ.
    Disagree,
    /// It was measured, but the result is inconclusive.
    NotDeterminable,
}

impl Verdict {
    fn of(agree: bool) -> Verdict {
        if agree { Verdict::Agree } else { Verdict::Disagree }
    }
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The clock of the core.
    CoreClock,
    /// The frequency of the CPU's time counter.
    CounterRate,
    /// A cache: 0 is L1d, 1 L2, 2 L3.
    Cache(usize),
    /// The amount of memory.
    Memory,
    /// The size of a cache line.
    CacheLine,
    /// The ways of a cache: 0 is L1d, 1 L2.
    Ways(usize),
    /// The entries of the first-level data TLB.
    FirstTlb,
    /// The entries of the second-level TLB.
    SecondTlb,
    /// The cost of a page walk.
    PageWalk,
    /// The size of a huge page as the TLB sees it.
    HugePage,
    /// The CPUs that share the last-level cache.
    SharedCache,
    /// The NUMA nodes.
    Nodes,
}

/// A declared or a measured amount.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Amount {
    /// Nothing to show.
    #[default]
    Nothing,
    /// Measured, but not found.
    NotFound,
    /// The state of a record without a value.
    Ended(State),
    /// Hertz.
    Frequency(f64),
    /// Hertz, to every known digit.
    ExactFrequency(f64),
    /// Bytes.
    Size(f64),
    /// A range of sizes in bytes.
    Sizes(f64, f64),
    /// A plain count.
    Count(f64),
    /// A count, and the size of each in bytes.
    CountOf(f64, f64),
    /// A range of times in seconds.
    Times(f64, f64),
    /// Huge pages of undeclared size.
    HugePages,
    /// In the machine's own words.
    Declared(String),
    /// Groups of CPUs.
    Groups(Vec<BTreeSet<u32>>),
    /// NUMA nodes.
    Nodes(usize),
    /// The latency of near and of far memory, in seconds.
    NearAndFar(f64, f64),
}

/// A remark on a claim, besides its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Note {
    /// Nothing.
    #[default]
    Nothing,
    /// The record's reason.
    Reason(String),
    /// The CPUs' clocks differ: the lowest and the highest, in hertz.
    CpusDiffer(f64, f64),
    /// The rate is off by this fraction.
    Off(f64),
    /// The latency curve has no level that ends at the declared size.
    NoLevel {
        /// The largest size measured, where it does not exceed the declared one.
        largest: Option<f64>,
        /// The level before memory, and the size at which the curve is half-way from it to memory.
        half_way: Option<(Rank, f64)>,
    },
    /// Less of a shared cache was available than is declared.
    SharedAway {
        /// The declared size, in bytes.
        declared: f64,
        /// The measured one, in bytes.
        measured: f64,
        /// Whether this machine is a guest, so that others may use the cache.
        guest: bool,
    },
    /// Laps through a chain of this many bytes, less than the declared cache, did not agree.
    Unsettled(f64),
    /// The sibling thread of the core was busy, so that this is the share that it left.
    Beside,
    /// Base pages fill a physically indexed cache unevenly; the metric may be measured on huge
    /// pages.
    BasePages(String),
    /// The hypervisor may report the cache of another CPU.
    Hypervisor,
    /// The curve leaves this level at another size than declared.
    Elsewhere,
    /// The rest of the memory is in use, or beyond a limit.
    RestInUse,
    /// Lines come in pairs of this many bytes.
    LinePairs(f64),
    /// Several rounds agreed on a value other than the declared one.
    Rounds {
        /// The declared value.
        declared: Amount,
        /// Rounds that measured this value.
        same: usize,
        /// Rounds in total.
        of: usize,
        /// The measured value.
        measured: Amount,
    },
    /// The host backs huge pages with pages of this size in bytes, where known.
    Fractured(Option<f64>),
    /// The reach of the TLB is ambiguous.
    ReachUnclear,
    /// There are only two CPUs, so there is one latency and nothing to compare it with.
    TwoCpus,
    /// Not every pair of CPUs was measured.
    PairsMissing,
    /// Transfers between all pairs of CPUs take about as long.
    AllAlike,
    /// The groups found by transfers differ from the declared ones.
    OtherGroups,
    /// The nodes are declared apart, but far memory costs only this many times as much as near
    /// memory.
    MayBeOneNode(f64),
    /// The nodes are not declared apart, but far memory costs this many times as much as near
    /// memory.
    NodesApart(f64),
}

/// A declared and a measured value.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The subject.
    pub subject: Subject,
    /// The declared value.
    pub declared: Amount,
    /// The measured value.
    pub measured: Amount,
    /// The cost in cycles of the core's clock.
    pub cycles: Option<f64>,
    /// The cost in seconds.
    pub seconds: Option<f64>,
    /// `None` where nothing is declared.
    pub verdict: Option<Verdict>,
    /// A further remark.
    pub note: Note,
}

impl Claim {
    fn new(subject: Subject) -> Claim {
        let (declared, measured) = (Amount::Nothing, Amount::Nothing);
        Claim { subject, declared, measured, cycles: None, seconds: None, verdict: None, note: Note::Nothing }
    }

    /// A claim whose record has no value.
    fn claim_without_value(subject: Subject, declared: Option<Amount>, record: &Record) -> Claim {
        Claim {
            declared: declared.unwrap_or_default(),
            measured: Amount::Ended(state_without_value(record)),
            verdict: Some(Verdict::NotDeterminable),
            note: reason(record),
            ..Claim::new(subject)
        }
    }

    fn costing(self, seconds: Option<f64>, cycles: Option<f64>) -> Claim {
        Claim { seconds, cycles, ..self }
    }

    /// Whether anything was measured.
    pub fn is_measured(&self) -> bool {
        let found = self.verdict != Some(Verdict::NotDeterminable) && self.measured != Amount::Nothing;
        found || self.seconds.is_some()
    }
}

/// The state of a record without a value.
pub fn state_without_value(record: &Record) -> State {
    if record.state == State::Ok { State::Unresolved } else { record.state }
}

fn reason(record: &Record) -> Note {
    if record.reason.is_empty() { Note::Nothing } else { Note::Reason(record.reason.clone()) }
}

/// A declared rate may be off by this fraction.
const RATE_ERROR: f64 = 100e-6;

/// The clocks of the CPUs differ when the highest is more than this many times the lowest.
const CLOCKS_DIFFER: f64 = 1.005;

/// All claims that have something to show, in the order of the rows.
pub fn claims(rows: &[&Row], machine: &Machine, seen: &Seen<'_>, hierarchies: &[Hierarchy<'_>]) -> Vec<Claim> {
    let mut all = Vec::new();
    for row in rows {
        match **row {
            Row::CoreClock { rate, lowest, highest } => all.extend(core_clock(rate, [lowest, highest], seen)),
            Row::CounterRate(id) => all.extend(counter_rate(id, seen)),
            Row::Caches(_) => all.extend(caches(machine, hierarchies)),
            Row::Memory(id) => {
                let slowest = hierarchies.iter().find_map(|h| h.levels.last().filter(|l| l.rank == Rank::Memory));
                all.extend(memory(id, machine, seen, slowest));
            }
            Row::CacheLine { line, pair } => all.extend(cache_line(line, pair, machine, seen)),
            Row::Ways { ways, way_size } => all.extend(cache_ways(ways, way_size, machine, seen)),
            Row::Tlb { first, second, second_hit, walks: walk_ids, page } => {
                all.extend(translations(first, [second, second_hit], seen));
                all.extend(walks(walk_ids, seen));
                all.extend(huge_pages(page, seen));
            }
            Row::SharedCache(id) => all.extend(sharing(id, machine, seen)),
            Row::Nodes(id) => all.extend(nodes(id, machine, seen)),
            _ => {}
        }
    }
    all
}

/// The clock of the core.
fn core_clock(rate: &str, ends: [&str; 2], seen: &Seen<'_>) -> Option<Claim> {
    let record = seen.first(rate, |_| true)?;
    let mut claim = match measured_value(record) {
        Some(value) => Claim { measured: Amount::Frequency(value), ..Claim::new(Subject::CoreClock) },
        None => Claim::claim_without_value(Subject::CoreClock, None, record),
    };
    if let [Some(low), Some(high)] = ends.map(|id| seen.value(id))
        && high > low * CLOCKS_DIFFER
    {
        claim.note = Note::CpusDiffer(low, high);
    }
    Some(claim)
}

/// The rate of the CPU's counter.
fn counter_rate(id: &str, seen: &Seen<'_>) -> Option<Claim> {
    let record = seen.first(id, |_| true)?;
    let declared = number(record, "declared").filter(|d| *d > 0.0);
    let amount = declared.map(Amount::ExactFrequency);
    let Some(value) = measured_value(record) else {
        return Some(Claim::claim_without_value(Subject::CounterRate, amount, record));
    };
    let off = declared.map(|d| value / d - 1.0);
    Some(Claim {
        declared: amount.unwrap_or_default(),
        measured: Amount::ExactFrequency(value),
        verdict: off.map(|off| Verdict::of(off.abs() <= RATE_ERROR)),
        note: off.filter(|off| off.abs() > RATE_ERROR).map(Note::Off).unwrap_or_default(),
        ..Claim::new(Subject::CounterRate)
    })
}

/// A number from a record's facts.
fn number(record: &Record, key: &str) -> Option<f64> {
    record.fact(key)?.parse().ok().filter(|v: &f64| v.is_finite())
}

/// A size from the text of a fact: `48 KiB`, `24684084 KiB`, `65536`.
fn bytes(text: &str) -> Option<f64> {
    groma_model::parse_size(&text.replace(' ', "")).ok().filter(|bytes| *bytes > 0).map(|bytes| bytes as f64)
}

/// Whether a count equals the declared one.
fn exact(value: f64, declared: f64) -> bool {
    value == declared
}

/// The claim about the cache line.
fn cache_line(id: &str, pair: &str, machine: &Machine, seen: &Seen<'_>) -> Option<Claim> {
    let record = seen.first(id, |_| true)?;
    let declared = number(record, "declared").or_else(|| machine.get("cache.l1d.line").and_then(bytes));
    let mut claim = one(Subject::CacheLine, record, declared, Amount::Size, exact);
    if let (Some(pair), Some(line)) = (seen.value(pair), measured_value(record))
        && pair > line
    {
        claim.note = Note::LinePairs(pair);
    }
    Some(claim)
}

/// The ways of the first two caches.
fn cache_ways(id: &str, way_size: &str, machine: &Machine, seen: &Seen<'_>) -> Vec<Claim> {
    let level = |(i, (level, key)): (usize, (&str, &str))| {
        let record = seen.first(id, |r| r.params.word("level") == Some(level))?;
        let declared = number(record, "declared").or_else(|| machine.get(key)?.parse().ok());
        let mut claim = one(Subject::Ways(i), record, declared, Amount::Count, exact);
        let way = seen.first(way_size, |r| r.params == record.params).and_then(measured_value);
        if let (Some(way), Some(ways)) = (way, measured_value(record)) {
            claim.measured = Amount::CountOf(ways, way);
        }
        Some(claim)
    };
    [("l1", "cache.l1d.ways"), ("l2", "cache.l2.ways")].into_iter().enumerate().filter_map(level).collect()
}

fn on_base_pages(record: &Record) -> bool {
    record.params.word("pages").unwrap_or("base") == "base"
}

/// The entries of the two levels of the TLB for base pages.
fn translations(first: &str, [second, second_hit]: [&str; 2], seen: &Seen<'_>) -> Vec<Claim> {
    let mut all = Vec::new();
    if let Some(record) = seen.first(first, on_base_pages) {
        all.push(one(Subject::FirstTlb, record, number(record, "declared"), Amount::Count, snaps));
    }
    if let Some(record) = seen.first(second, on_base_pages) {
        let hit = seen.first(second_hit, on_base_pages).and_then(|r| Some((measured_value(r)?, r.cycles)));
        let claim = one(Subject::SecondTlb, record, number(record, "declared.l2"), Amount::Count, snaps);
        all.push(claim.costing(hit.map(|h| h.0), hit.and_then(|h| h.1)));
    }
    all
}

/// What page walks add to a load, from twice to eight times the reach of the second-level TLB.
fn walks(ids: [&str; 3], seen: &Seen<'_>) -> Option<Claim> {
    let walks = ids.map(|id| seen.first(id, on_base_pages));
    let known: Vec<(f64, &Record)> =
        walks.into_iter().flatten().filter_map(|r| Some((measured_value(r)?, r))).collect();
    match known.as_slice() {
        [] => None,
        [(value, record)] => Some(Claim::new(Subject::PageWalk).costing(Some(*value), record.cycles)),
        [(first, _), .., (last, _)] => {
            Some(Claim { measured: Amount::Times(*first, *last), ..Claim::new(Subject::PageWalk) })
        }
    }
}

/// A claim about a single number.
fn one(
    subject: Subject,
    record: &Record,
    declared: Option<f64>,
    amount: fn(f64) -> Amount,
    agree: fn(f64, f64) -> bool,
) -> Claim {
    let Some(value) = measured_value(record) else {
        return Claim::claim_without_value(subject, declared.map(amount), record);
    };
    let agrees = declared.map(|d| agree(value, d));
    let declared = declared.map(amount).unwrap_or_default();
    let of = record.round_values.len();
    let same = record.round_values.iter().filter(|v| **v == value).count();
    // A value that most rounds did not find contradicts nothing.
    let (verdict, note) = match agrees {
        Some(false) if is_of_shared_core(record) => (Some(Verdict::NotDeterminable), Note::Beside),
        Some(false) if of > 1 => {
            let verdict = if 2 * same > of { Verdict::Disagree } else { Verdict::NotDeterminable };
            (Some(verdict), Note::Rounds { declared: declared.clone(), same, of, measured: amount(value) })
        }
        _ => (agrees.map(Verdict::of), Note::Nothing),
    };
    Claim { declared, measured: amount(value), verdict, note, ..Claim::new(subject) }
}

/// The size of a huge page as the TLB sees it.
fn huge_pages(id: &str, seen: &Seen<'_>) -> Option<Claim> {
    let huge = |r: &Record| r.params.word("pages").is_some_and(|p| p != "base");
    let record = seen.first(id, huge)?;
    let declared = number(record, "declared.page").map_or(Amount::HugePages, Amount::Size);
    let value = measured_value(record);
    let mut claim = match value {
        Some(value) => Claim { declared, measured: Amount::Size(value), ..Claim::new(Subject::HugePage) },
        None => Claim::claim_without_value(Subject::HugePage, Some(declared), record),
    };
    let (verdict, note) = match record.fact("verdict") {
        Some("effective") => (Verdict::Agree, Note::Nothing),
        Some("fractured") => (Verdict::Disagree, Note::Fractured(value)),
        _ if claim.note == Note::Nothing => (Verdict::NotDeterminable, Note::ReachUnclear),
        _ => (Verdict::NotDeterminable, claim.note.clone()),
    };
    (claim.verdict, claim.note) = (Some(verdict), note);
    Some(claim)
}

/// Threads per core at most.
const THREADS: usize = 2;

/// The CPUs that share the last-level cache: declared, and as transfers between them show.
fn sharing(id: &str, machine: &Machine, seen: &Seen<'_>) -> Option<Claim> {
    let matrix = Matrix::of_cores(&seen.all(id).collect::<Vec<_>>(), None)?;
    let shared = machine.get("cache.l3.shared");
    let declared_text = shared.map(|text| Amount::Declared(text.to_owned())).unwrap_or_default();
    let mut claim = Claim { declared: declared_text, ..Claim::new(Subject::SharedCache) };
    let unknown = if matrix.names.len() < 3 {
        Some(Note::TwoCpus)
    } else {
        (!matrix.is_complete()).then_some(Note::PairsMissing)
    };
    if let Some(note) = unknown {
        let verdict = Some(Verdict::NotDeterminable);
        return Some(Claim { measured: Amount::NotFound, verdict, note, ..claim });
    }
    let ids = |group: &[usize]| group.iter().filter_map(|i| matrix.names[*i].parse().ok()).collect::<BTreeSet<u32>>();
    let levels: Vec<Vec<BTreeSet<u32>>> =
        matrix.clusters().iter().map(|level| level.iter().map(|g| ids(g)).collect()).collect();
    let everyone = ids(&(0..matrix.names.len()).collect::<Vec<_>>());
    let whole = vec![everyone.clone()];
    let Some(declared) = shared.and_then(cpus) else {
        claim.measured = Amount::Groups(levels.last().unwrap_or(&whole).clone());
        return Some(claim);
    };
    let declared: BTreeSet<u32> = declared.intersection(&everyone).copied().collect();
    // A cache declared as shared by all CPUs is not, if transfers fall into groups larger than the
    // threads of a core or the cores of an L2.
    let inner = machine.get("cache.l2.shared").and_then(cpus).map_or(0, |c| c.len()).max(THREADS);
    let whole_counts = levels.iter().flatten().all(|g| g.len() <= inner);
    let agreeing = levels.iter().chain(whole_counts.then_some(&whole)).find(|level| level.contains(&declared));
    claim.measured = Amount::Groups(agreeing.or(levels.last()).unwrap_or(&whole).clone());
    claim.verdict = Some(Verdict::of(agreeing.is_some()));
    if agreeing.is_none() {
        claim.note = if levels.is_empty() { Note::AllAlike } else { Note::OtherGroups };
    }
    Some(claim)
}

/// Parses `0-3,8` into a set.
fn cpus(list: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        all.extend((first..=last).take(1 << 16));
    }
    Some(all)
}

/// Far memory must cost this many times as much as near memory to count as farther away.
const FARTHER: f64 = 1.1;

/// NUMA: declared distances, measured latencies.
fn nodes(id: &str, machine: &Machine, seen: &Seen<'_>) -> Option<Claim> {
    let matrix = Matrix::of_nodes(&seen.all(id).collect::<Vec<_>>())?;
    if matrix.names.len() < 2 {
        return None;
    }
    let near = groma_stats::median(&matrix.diagonal())?;
    let far = groma_stats::median(&matrix.off_diagonal())?;
    let declared = machine.get("numa.distances").unwrap_or_default();
    let distances: Vec<f64> = declared.split_whitespace().filter_map(|d| d.parse().ok()).collect();
    let farther = distances.iter().any(|d| *d > 10.0);
    let ratio = far / near;
    let verdict = (!distances.is_empty()).then(|| Verdict::of(farther == (ratio > FARTHER)));
    let note = match verdict {
        Some(Verdict::Disagree) if farther => Note::MayBeOneNode(ratio),
        Some(Verdict::Disagree) => Note::NodesApart(ratio),
        _ => Note::Nothing,
    };
    Some(Claim {
        declared: Amount::Nodes(matrix.names.len()),
        measured: Amount::NearAndFar(near, far),
        verdict,
        note,
        ..Claim::new(Subject::Nodes)
    })
}

#[cfg(test)]
mod tests;
