//! What a machine declares about itself beside what was measured, and the rules by which the two agree.

use std::collections::BTreeSet;

use groma_analysis::curve::{Level, Rank, curves, levels};
use groma_analysis::matrix::Matrix;
use groma_analysis::point::measured;
use groma_model::family::Row;
use groma_model::{Machine, Record};

use super::{Seen, ended};
use crate::point::{cpu_list, level_name};
use crate::units::{self, NONE, Scale, size, time};

/// Whether what is declared is what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Agree,
    Disagree,
    /// It was looked for, and could not be told.
    NotDeterminable,
}

impl Verdict {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Verdict::Agree => "agree",
            Verdict::Disagree => "disagree",
            Verdict::NotDeterminable => "not determinable",
        }
    }

    fn of(agree: bool) -> Verdict {
        if agree { Verdict::Agree } else { Verdict::Disagree }
    }
}

/// A row: what it is about, what is declared, what was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    pub(super) what: String,
    pub(super) declared: String,
    pub(super) measured: String,
    pub(super) cycles: String,
    pub(super) time: String,
    /// `None` where nothing is declared to hold it against.
    pub(super) verdict: Option<Verdict>,
    /// Why it is not agreement.
    pub(super) why: String,
}

impl Claim {
    fn new(what: &str) -> Claim {
        Claim { what: what.to_owned(), ..Claim::default() }
    }

    /// A claim that was looked for in vain.
    fn untold(what: &str, declared: Option<String>, record: &Record) -> Claim {
        let (measured, why) = ended(record);
        let verdict = Some(Verdict::NotDeterminable);
        Claim { declared: declared.unwrap_or_default(), measured, verdict, why, ..Claim::new(what) }
    }

    fn costing(mut self, seconds: Option<f64>, cycles: Option<f64>) -> Claim {
        self.time = seconds.map(time).unwrap_or_default();
        self.cycles = cycles.map(units::bare_cycles).unwrap_or_default();
        self
    }

    pub(super) fn is_measured(&self) -> bool {
        let told = self.verdict != Some(Verdict::NotDeterminable) && !self.measured.is_empty();
        told || !self.time.is_empty()
    }

    pub(super) fn cells(&self) -> [String; 5] {
        [&self.what, &self.declared, &self.measured, &self.cycles, &self.time].map(Clone::clone)
    }
}

/// A measured size or count may be so much less than what is declared, and so much more (memory-methods.md M3).
const SNAP: [f64; 2] = [0.90, 1.15];

/// Whether a measured capacity is the declared one by the snap rule.
fn snaps(measured: f64, declared: f64) -> bool {
    (SNAP[0]..=SNAP[1]).contains(&(measured / declared))
}

/// A declared rate may be off by so much (memory-methods.md M14).
const RATE_ERROR: f64 = 100e-6;

/// All claims that there is something to say about, in the order of the rows.
pub(super) fn claims(rows: &[&Row], machine: &Machine, seen: &Seen<'_>, hierarchies: &[Hierarchy<'_>]) -> Vec<Claim> {
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
                let base = |r: &Record| r.params.word("pages").unwrap_or("base") == "base";
                all.extend(translations(first, [second, second_hit], seen, base));
                all.extend(walks(walk_ids, seen, base));
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
    let hertz = |v: f64| units::value(v, Scale::Frequency, None);
    let record = seen.first(rate, |_| true)?;
    let mut claim = match measured(record) {
        Some(value) => Claim { measured: hertz(value), ..Claim::new("core clock") },
        None => Claim::untold("core clock", None, record),
    };
    if let [Some(low), Some(high)] = ends.map(|id| seen.value(id))
        && high > low * 1.005
    {
        claim.why = format!("{} on the CPUs of this machine", units::range(low, high, Scale::Frequency));
    }
    Some(claim)
}

/// The rate of the CPU's counter.
fn counter_rate(id: &str, seen: &Seen<'_>) -> Option<Claim> {
    let record = seen.first(id, |_| true)?;
    let declared = number(record, "declared").filter(|d| *d > 0.0);
    let exact = |v: f64| format!("{:.4} GHz", v / 1e9);
    let exact = |v: f64| if v >= 1e9 { exact(v) } else { units::value(v, Scale::Frequency, Some(0.0)) };
    let Some(value) = measured(record) else {
        return Some(Claim::untold("counter rate", declared.map(exact), record));
    };
    let off = declared.map(|d| value / d - 1.0);
    Some(Claim {
        declared: declared.map(exact).unwrap_or_default(),
        measured: exact(value),
        verdict: off.map(|off| Verdict::of(off.abs() <= RATE_ERROR)),
        why: off
            .filter(|off| off.abs() > RATE_ERROR)
            .map(|off| format!("{:.0} ppm off what is declared", off * 1e6))
            .unwrap_or_default(),
        ..Claim::new("counter rate")
    })
}

/// A number among a record's facts.
fn number(record: &Record, key: &str) -> Option<f64> {
    record.fact(key)?.parse().ok().filter(|v: &f64| v.is_finite())
}

/// A size in the text of a fact: `48 KiB`, `24684084 KiB`, `65536`.
fn bytes(text: &str) -> Option<f64> {
    groma_model::parse_size(&text.replace(' ', "")).ok().filter(|bytes| *bytes > 0).map(|bytes| bytes as f64)
}

/// A curve of latency over size, by the pages that it was taken on.
pub(super) struct Hierarchy<'a> {
    /// The metric.
    id: &'a str,
    pages: &'a str,
    levels: Vec<Level>,
    largest: f64,
}

/// The hierarchies of the chains without translation, those whose pages blur the edges least first: base pages lie anywhere
/// in a cache that is indexed by physical addresses.
pub(super) fn hierarchies<'a>(rows: &[&'a Row], seen: &Seen<'a>) -> Vec<Hierarchy<'a>> {
    let caches = |row: &&'a Row| if let Row::Caches(id) = row { Some(*id) } else { None };
    let Some(id) = rows.iter().find_map(caches) else { return Vec::new() };
    let records: Vec<&Record> = seen.all(id).filter(|r| r.params.word("chain") != Some("included")).collect();
    let mut all: Vec<Hierarchy<'_>> = curves(&records, "size")
        .iter()
        .filter_map(|curve| {
            let pages = curve.points.first()?.1.params.word("pages").unwrap_or("base");
            let largest = curve.measured().last()?.0;
            Some(Hierarchy { id, pages, levels: levels(curve), largest })
        })
        .collect();
    all.sort_by_key(|h| ["hugetlb", "huge"].iter().position(|p| *p == h.pages).unwrap_or(2));
    all
}

/// Whether what goes over so many bytes goes over memory, as far as the latencies tell: where the curve has come to rest. A last
/// cache may be larger than any size that people would call memory.
pub(super) fn reaches_memory(all: &[Hierarchy<'_>], bytes: f64) -> Option<bool> {
    let whole = all.iter().find(|h| h.levels.len() > 1)?;
    Some(whole.levels.iter().any(|l| l.rank == Rank::Memory && l.span[0] <= bytes))
}

/// The names of caches, as facts of the machine know them and as people do.
const CACHES: [(&str, &str); 3] = [("l1d", "L1d"), ("l2", "L2"), ("l3", "L3")];

/// A level is taken for a declared private cache whose size is so many times as large or small, at most.
const KIN: f64 = 2.5;

/// Which level of a curve is which of the three caches. As many as are declared, in order; else the private ones by their
/// size, and the last level beyond them is the shared one.
pub(super) fn matched(declared: [Option<f64>; 3], capacities: &[f64]) -> [Option<usize>; 3] {
    let known = declared.iter().flatten().count();
    let mut found = [None; 3];
    if known == 0 || known == capacities.len() {
        let caches = (0..3).filter(|i| known == 0 || declared[*i].is_some());
        for (level, cache) in caches.enumerate().take(capacities.len()) {
            found[cache] = Some(level);
        }
        return found;
    }
    let mut from = 0;
    for cache in 0..2 {
        let Some(size) = declared[cache] else { continue };
        let far = |level: &usize| (capacities[*level] / size).ln().abs();
        let near = (from..capacities.len()).min_by(|a, b| far(a).total_cmp(&far(b)));
        if let Some(level) = near.filter(|l| far(l) <= KIN.ln()) {
            found[cache] = Some(level);
            from = level + 1;
        }
    }
    let private = declared[1].or(declared[0]).unwrap_or(0.0);
    if declared[2].is_some() {
        found[2] = (from..capacities.len()).rev().find(|l| capacities[*l] > 1.5 * private);
    }
    found
}

/// L1d, L2, L3: size and latency.
fn caches(machine: &Machine, all: &[Hierarchy<'_>]) -> Vec<Claim> {
    let declared = CACHES.map(|(key, _)| machine.get(&format!("cache.{key}.size")).and_then(bytes));
    let placed = all.iter().map(|h| {
        let capped: Vec<(&Level, f64)> = h.levels.iter().filter_map(|l| Some((l, l.capacity?))).collect();
        let capacities: Vec<f64> = capped.iter().map(|(_, capacity)| *capacity).collect();
        (h, matched(declared, &capacities).map(|at| capped.get(at?).copied()))
    });
    let placed: Vec<_> = placed.collect();
    let mut claims = Vec::new();
    for (i, (_, name)) in CACHES.iter().enumerate() {
        let level = placed.iter().find_map(|(h, found)| found[i].map(|(level, capacity)| (*h, level, capacity)));
        match (level, declared[i]) {
            (Some((h, level, capacity)), declared) => claims.push(cache(machine, i, declared, h, level, capacity)),
            (None, Some(size_declared)) if all.iter().any(|h| !h.levels.is_empty()) => {
                let largest = all.iter().map(|h| h.largest).fold(0.0, f64::max);
                let mut why = "the curve has no flat stretch that ends there".to_owned();
                if largest <= size_declared {
                    why += &format!(", and its largest chain, {}, is not larger", size(largest));
                }
                // What is to be had of it now ends where memory begins.
                let before = all.iter().find_map(|h| Some((h, h.levels.iter().rfind(|l| l.rank != Rank::Memory)?)));
                if let Some((_, level)) =
                    before.filter(|(h, _)| i == 2 && h.levels.iter().any(|l| l.rank == Rank::Memory))
                    && let Some(middle) = level.half_way
                {
                    why += &format!(
                        "; from {} the curve is half-way to memory at {}",
                        level_name(level.rank),
                        size(middle)
                    );
                }
                claims.push(Claim {
                    declared: size(size_declared),
                    measured: NONE.to_owned(),
                    verdict: Some(Verdict::NotDeterminable),
                    why,
                    ..Claim::new(name)
                });
            }
            _ => {}
        }
    }
    claims
}

fn cache(
    machine: &Machine,
    index: usize,
    declared: Option<f64>,
    hierarchy: &Hierarchy<'_>,
    level: &Level,
    capacity: f64,
) -> Claim {
    let mut claim =
        Claim { measured: size(capacity), ..Claim::new(CACHES[index].1) }.costing(Some(level.latency), level.cycles);
    let Some(declared) = declared else { return claim };
    claim.declared = size(declared);
    claim.verdict = Some(Verdict::of(holds(capacity, level.half_way, declared)));
    if claim.verdict == Some(Verdict::Agree) {
        if let Some(soft) = level.half_way.filter(|_| !snaps(capacity, declared)) {
            // It agrees by where its edge lies, so that is what is shown.
            claim.measured = units::range(capacity, soft, Scale::Size);
        }
        return claim;
    }
    let less = capacity < declared;
    claim.why = match (index, less, machine.get("virt.hypervisor")) {
        (2, true, Some(_)) => format!(
            "{} declared, {} to be had now: a share of a cache that other machines use",
            size(declared),
            size(capacity)
        ),
        (2, true, None) => format!(
            "{} declared, {} to be had by one CPU now: other tasks use it, or a part of it is kept from this CPU",
            size(declared),
            size(capacity)
        ),
        (_, true, _) if hierarchy.pages == "base" => {
            format!("base pages fill a physically indexed cache unevenly (try {} --param pages=huge)", hierarchy.id)
        }
        (_, _, Some(_)) => "the hypervisor may declare another CPU's cache".to_owned(),
        _ => "the curve leaves its level elsewhere than declared".to_owned(),
    };
    claim
}

/// Whether an edge that begins at `hard` and is half-way up at `half_way` is that of a cache of the declared size: either
/// snaps, or the size lies between them. A level that ends below half the declared size is not it, however slowly the curve
/// rises from there.
pub(super) fn holds(hard: f64, half_way: Option<f64>, declared: f64) -> bool {
    let soft = half_way.unwrap_or(hard).max(hard);
    let between = hard <= declared && declared <= soft;
    snaps(hard, declared) || (hard * 2.0 >= declared && (snaps(soft, declared) || between))
}

fn memory(id: &str, machine: &Machine, seen: &Seen<'_>, slowest: Option<&Level>) -> Option<Claim> {
    let record = seen.first(id, |_| true);
    if record.is_none() && slowest.is_none() {
        return None;
    }
    let declared = record.and_then(|r| number(r, "declared")).or_else(|| machine.get("memory.total").and_then(bytes));
    let mut claim = match record.map(|r| (r, measured(r))) {
        None => Claim::new("memory"),
        Some((record, None)) => Claim::untold("memory", declared.map(size), record),
        Some((_, Some(value))) => {
            // What others use is no contradiction; more than there is would be one.
            let verdict = match declared {
                Some(d) if value > d => Some(Verdict::Disagree),
                Some(d) if snaps(value, d) => Some(Verdict::Agree),
                _ => None,
            };
            let why =
                if verdict.is_none() && declared.is_some() { "the rest is in use, or beyond a limit" } else { "" };
            Claim {
                declared: declared.map(size).unwrap_or_default(),
                measured: size(value),
                verdict,
                why: why.to_owned(),
                ..Claim::new("memory")
            }
        }
    };
    if let Some(level) = slowest {
        claim = claim.costing(Some(level.latency), level.cycles);
    }
    Some(claim)
}

/// Whether a count is the declared one.
fn exact(value: f64, declared: f64) -> bool {
    value == declared
}

/// The size of a cache line.
fn cache_line(id: &str, pair: &str, machine: &Machine, seen: &Seen<'_>) -> Option<Claim> {
    let record = seen.first(id, |_| true)?;
    let declared = number(record, "declared").or_else(|| machine.get("cache.l1d.line").and_then(bytes));
    let mut claim = one("line", record, declared, Scale::Size, exact);
    if let (Some(pair), Some(line)) = (seen.value(pair), measured(record))
        && pair > line
    {
        claim.why = format!("lines come in pairs of {}", size(pair));
    }
    Some(claim)
}

/// The ways of the first two caches.
fn cache_ways(id: &str, way_size: &str, machine: &Machine, seen: &Seen<'_>) -> Vec<Claim> {
    let mut all = Vec::new();
    for record in ["l1", "l2"].iter().filter_map(|l| seen.first(id, |r| r.params.word("level") == Some(l))) {
        let level = record.params.word("level").unwrap_or_default();
        let key = if level == "l1" { "cache.l1d.ways" } else { "cache.l2.ways" };
        let declared = number(record, "declared").or_else(|| machine.get(key)?.parse().ok());
        let name = if level == "l1" { "L1d ways" } else { "L2 ways" };
        let mut claim = one(name, record, declared, Scale::Count, exact);
        let way = seen.first(way_size, |r| r.params == record.params).and_then(measured);
        if let (Some(way), Some(_)) = (way, measured(record)) {
            claim.measured += &format!(" of {}", size(way));
        }
        all.push(claim);
    }
    all
}

/// The entries of the two levels of the TLB for base pages.
fn translations(
    first: &str,
    [second, second_hit]: [&str; 2],
    seen: &Seen<'_>,
    base: impl Fn(&Record) -> bool,
) -> Vec<Claim> {
    let mut all = Vec::new();
    if let Some(record) = seen.first(first, &base) {
        all.push(one("L1 dTLB", record, number(record, "declared"), Scale::Count, snaps));
    }
    if let Some(record) = seen.first(second, &base) {
        let hit = seen.first(second_hit, &base).and_then(|r| Some((measured(r)?, r.cycles)));
        let claim = one("L2 TLB", record, number(record, "declared.l2"), Scale::Count, snaps);
        all.push(claim.costing(hit.map(|h| h.0), hit.and_then(|h| h.1)));
    }
    all
}

/// What walks of the page tables add to a load, from twice the reach of the second TLB to eight times.
fn walks(ids: [&str; 3], seen: &Seen<'_>, base: impl Fn(&Record) -> bool) -> Option<Claim> {
    let walks = ids.map(|id| seen.first(id, &base));
    let told: Vec<(f64, &Record)> = walks.into_iter().flatten().filter_map(|r| Some((measured(r)?, r))).collect();
    Some(match told.as_slice() {
        [] => return None,
        [(value, record)] => Claim::new("page walk").costing(Some(*value), record.cycles),
        [(first, _), .., (last, _)] => {
            Claim { measured: units::range(*first, *last, Scale::Time), ..Claim::new("page walk") }
        }
    })
}

/// A claim about one number.
fn one(what: &str, record: &Record, declared: Option<f64>, scale: Scale, agree: fn(f64, f64) -> bool) -> Claim {
    let text = |v: f64| units::value(v, scale, None);
    let Some(value) = measured(record) else { return Claim::untold(what, declared.map(text), record) };
    let verdict = declared.map(|d| Verdict::of(agree(value, d)));
    let rounds = record.round_values.len();
    let same = record.round_values.iter().filter(|v| **v == value).count();
    let why = match verdict {
        Some(Verdict::Disagree) if rounds > 1 => format!(
            "{} declared, {same} of {rounds} rounds measured {}",
            declared.map(text).unwrap_or_default(),
            text(value)
        ),
        _ => String::new(),
    };
    Claim { declared: declared.map(text).unwrap_or_default(), measured: text(value), verdict, why, ..Claim::new(what) }
}

/// The size of a huge page as the TLB sees it.
fn huge_pages(id: &str, seen: &Seen<'_>) -> Option<Claim> {
    let huge = |r: &Record| r.params.word("pages").is_some_and(|p| p != "base");
    let record = seen.first(id, huge)?;
    let declared = number(record, "declared.page").map_or("huge".to_owned(), size);
    let mut claim = match measured(record) {
        Some(value) => Claim { declared, measured: size(value), ..Claim::new("huge page") },
        None => Claim::untold("huge page", Some(declared), record),
    };
    let (verdict, why) = match record.fact("verdict") {
        Some("effective") => (Verdict::Agree, String::new()),
        Some("fractured") => {
            let what = measured(record).map_or("smaller".to_owned(), size);
            (Verdict::Disagree, format!("huge pages are fractured: the host backs them with {what} pages"))
        }
        _ if claim.why.is_empty() => (Verdict::NotDeterminable, "the reach of the TLB does not tell".to_owned()),
        _ => (Verdict::NotDeterminable, claim.why.clone()),
    };
    (claim.verdict, claim.why) = (Some(verdict), why);
    Some(claim)
}

/// Threads that a core may have.
const THREADS: usize = 2;

/// The CPUs that share the last cache, as declared and as the transfers between them tell.
fn sharing(id: &str, machine: &Machine, seen: &Seen<'_>) -> Option<Claim> {
    let matrix = Matrix::of_cores(&seen.all(id).collect::<Vec<_>>(), None)?;
    let shared = machine.get("cache.l3.shared");
    let mut claim = Claim { declared: shared.unwrap_or_default().to_owned(), ..Claim::new("share the L3") };
    if matrix.names.len() < 3 {
        claim.measured = NONE.to_owned();
        claim.verdict = Some(Verdict::NotDeterminable);
        claim.why = "two CPUs have one latency, and nothing to hold it against".to_owned();
        return Some(claim);
    }
    if !matrix.is_complete() {
        claim.measured = NONE.to_owned();
        claim.verdict = Some(Verdict::NotDeterminable);
        claim.why = "not every pair of CPUs was measured".to_owned();
        return Some(claim);
    }
    let ids = |group: &[usize]| group.iter().filter_map(|i| matrix.names[*i].parse().ok()).collect::<BTreeSet<u32>>();
    let levels: Vec<Vec<BTreeSet<u32>>> =
        matrix.clusters().iter().map(|level| level.iter().map(|g| ids(g)).collect()).collect();
    let everyone = BTreeSet::from_iter(ids(&(0..matrix.names.len()).collect::<Vec<_>>()));
    let show = |groups: &[BTreeSet<u32>]| groups.iter().map(cpu_list).collect::<Vec<_>>().join(" | ");
    let Some(declared) = shared.and_then(cpus) else {
        claim.measured = levels.last().map_or(cpu_list(&everyone), |l| show(l));
        return Some(claim);
    };
    let declared: BTreeSet<u32> = declared.intersection(&everyone).copied().collect();
    let whole = vec![everyone.clone()];
    // A cache that is declared to be everybody's is not, if transfers fall into groups larger than those of the threads of a
    // core or of the cores of an L2.
    let inner = machine.get("cache.l2.shared").and_then(cpus).map_or(0, |c| c.len()).max(THREADS);
    let whole_counts = levels.iter().flatten().all(|g| g.len() <= inner);
    let agreeing = levels.iter().chain(whole_counts.then_some(&whole)).find(|level| level.contains(&declared));
    let shown = agreeing.or(levels.last()).unwrap_or(&whole);
    claim.measured = show(shown);
    claim.verdict = Some(Verdict::of(agreeing.is_some()));
    if agreeing.is_none() {
        claim.why = if levels.is_empty() {
            "transfers between all CPUs take about as long".to_owned()
        } else {
            "the groups by transfers between CPUs are others than the one that is declared".to_owned()
        };
    }
    Some(claim)
}

/// `0-3,8` as a set.
fn cpus(list: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        all.extend((first..=last).take(1 << 16));
    }
    Some(all)
}

/// Farther memory has to cost so many times as much to be told from near.
const FARTHER: f64 = 1.1;

/// NUMA: distances as declared, latencies as measured.
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
    let why = match verdict {
        Some(Verdict::Disagree) if farther => format!(
            "the nodes are declared apart, and the memory of another costs {ratio:.2} times as much: they may be one"
        ),
        Some(Verdict::Disagree) => format!("the memory of another node costs {ratio:.2} times as much"),
        _ => String::new(),
    };
    Some(Claim {
        declared: format!("{} nodes", matrix.names.len()),
        measured: format!("{} near, {} far", time(near), time(far)),
        verdict,
        why,
        ..Claim::new("NUMA")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;

    #[test]
    fn a_size_agrees_by_the_snap_rule() {
        for (hard, soft, declared, agree) in [
            (946.0, None, 1024.0, true),
            (922.0, None, 1024.0, true),
            (921.0, None, 1024.0, false),
            (1177.0, None, 1024.0, true),
            (1178.0, None, 1024.0, false),
            // Half-octave steps: the edge is between the last point on the level and the half-way point.
            (1536.0, Some(2300.0), 2048.0, true),
            (1536.0, Some(1900.0), 2048.0, true),
            (1536.0, Some(1700.0), 2048.0, false),
            // However slowly the curve rises: a twentieth of it is not it.
            (24.0, Some(250.0), 260.0, false),
            (1024.0, Some(2048.0), 2048.0, true),
            (1000.0, Some(2048.0), 2048.0, false),
        ] {
            assert_eq!(holds(hard, soft, declared), agree, "{hard} {soft:?} {declared}");
        }
    }

    #[test]
    fn levels_are_those_caches_that_are_declared() {
        let machine = [Some(48.0 * KIB), Some(2.0 * MIB), Some(260.0 * MIB)];
        let found = |sizes: &[f64]| matched(machine, sizes);
        assert_eq!(found(&[48.0 * KIB, 2.0 * MIB, 24.0 * MIB]), [Some(0), Some(1), Some(2)]);
        // No flat stretch between L2 and memory.
        assert_eq!(found(&[48.0 * KIB, 1.5 * MIB]), [Some(0), Some(1), None]);
        // The second level was not seen: what ends at 24 MiB is the third.
        assert_eq!(found(&[48.0 * KIB, 24.0 * MIB]), [Some(0), None, Some(1)]);
        // A level that is none: that of translation.
        assert_eq!(found(&[48.0 * KIB, 384.0 * KIB, 2.0 * MIB, 24.0 * MIB]), [Some(0), Some(2), Some(3)]);
        assert_eq!(found(&[]), [None; 3]);
        assert_eq!(matched([None; 3], &[32.0 * KIB, MIB]), [Some(0), Some(1), None]);
        assert_eq!(matched([Some(32.0 * KIB), Some(MIB), None], &[32.0 * KIB, MIB]), [Some(0), Some(1), None]);
    }

    fn shared(declared: &str, records: &[Record]) -> Claim {
        let machine = Machine { facts: vec![groma_model::Fact::new("cache.l3.shared", declared)] };
        sharing("cpu.core_to_core", &machine, &Seen(records)).expect("there are pairs")
    }

    #[test]
    fn who_shares_a_cache_is_told_by_transfers() {
        let halves = crate::fixtures::pairs(8, "cas1", |a, b| if a / 4 == b / 4 { 25.0 } else { 100.0 });
        let claim = shared("0-3", &halves);
        assert_eq!((claim.verdict, claim.measured.as_str()), (Some(Verdict::Agree), "0-3 | 4-7"));
        // A hypervisor that calls two caches one.
        let claim = shared("0-7", &halves);
        assert_eq!((claim.verdict, claim.measured.as_str()), (Some(Verdict::Disagree), "0-3 | 4-7"));
        let threads = crate::fixtures::pairs(8, "cas1", |a, b| if a / 2 == b / 2 { 9.0 } else { 30.0 });
        assert_eq!(shared("0-7", &threads).verdict, Some(Verdict::Agree));
        let claim = shared("0-1", &halves);
        assert_eq!((claim.verdict, claim.measured.as_str()), (Some(Verdict::Disagree), "0-3 | 4-7"));
        let even = crate::fixtures::pairs(4, "cas1", |_, _| 60.0);
        assert_eq!(shared("0-3", &even).verdict, Some(Verdict::Agree));
        assert_eq!(shared("0", &even).verdict, Some(Verdict::Disagree));
        // A missing pair is no group.
        assert_eq!(shared("0-3", &halves[1..]).verdict, Some(Verdict::NotDeterminable));
        assert_eq!(shared("0-1", &even[..1]).verdict, Some(Verdict::NotDeterminable));
    }

    #[test]
    fn sizes_and_sets_in_facts() {
        assert_eq!(bytes("48 KiB"), Some(49152.0));
        assert_eq!(bytes("24684084 KiB"), Some(24684084.0 * 1024.0));
        assert_eq!(bytes("1.50 MiB"), Some(1.5 * MIB));
        assert_eq!(bytes("65536"), Some(65536.0));
        assert_eq!(bytes("max"), None);
        assert_eq!(cpus("0-2,8").as_ref().map(cpu_list).as_deref(), Some("0-2,8"));
        assert_eq!(cpus("x"), None);
    }
}
