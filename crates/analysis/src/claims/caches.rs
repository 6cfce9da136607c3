//! Caches and memory: the levels of the latency curves compared with what the machine declares.

use groma_model::family::Row;
use groma_model::{Machine, Record};

use super::{Amount, Claim, Note, Seen, Subject, Verdict, bytes, number};
use crate::curve::{Level, Rank, curves, levels};
use crate::point::measured_value;

/// A measured size or count agrees from this fraction of the declared one up to this multiple.
const SNAP: [f64; 2] = [0.90, 1.15];

/// Whether a measured capacity counts as the declared one.
pub(super) fn snaps(measured: f64, declared: f64) -> bool {
    (SNAP[0]..=SNAP[1]).contains(&(measured / declared))
}

/// A curve of latency over size on one kind of page.
pub struct Hierarchy<'a> {
    /// The metric.
    id: &'a str,
    pages: &'a str,
    pub(super) levels: Vec<Level>,
    /// The largest size measured, in bytes.
    largest: f64,
    /// Sizes in bytes at which laps through the chain did not agree.
    unsettled: Vec<f64>,
    /// Sizes in bytes that were measured beside a busy sibling thread.
    beside: Vec<f64>,
}

/// The share of the samples beside a busy sibling from which on a chain may never have filled the
/// cache: the samples that it left alone follow those in which it took lines away
/// (docs/methods/neighbour.md#what-is-stated).
const BUSY: f64 = 0.1;

/// The fact of a chain whose last two laps took about the same time.
const SETTLED: &str = "chain.laps";

/// The hierarchies of the chains without address translation, ordered by how little their pages
/// blur the edges: base pages may lie anywhere in a physically indexed cache.
pub fn hierarchies<'a>(rows: &[&'a Row], seen: &Seen<'a>) -> Vec<Hierarchy<'a>> {
    let caches = |row: &&'a Row| if let Row::Caches(id) = row { Some(*id) } else { None };
    let Some(id) = rows.iter().find_map(caches) else { return Vec::new() };
    let records: Vec<&Record> = seen.all(id).filter(|r| r.params.word("chain") != Some("included")).collect();
    let mut all: Vec<Hierarchy<'_>> = curves(&records, "size")
        .iter()
        .filter_map(|curve| {
            let pages = curve.points.first()?.1.params.word("pages").unwrap_or("base");
            let largest = curve.measured_points().last()?.0;
            let unsettled =
                curve.points.iter().filter(|(_, r)| measured_value(r).is_none() || r.fact(SETTLED).is_none());
            let unsettled = unsettled.map(|(size, _)| *size as f64).collect();
            let busy = |r: &Record| r.shared.as_ref().is_some_and(|shared| shared.share >= BUSY);
            let beside = curve.points.iter().filter(|(_, r)| busy(r)).map(|(size, _)| *size as f64).collect();
            Some(Hierarchy { id, pages, levels: levels(curve), largest, unsettled, beside })
        })
        .collect();
    all.sort_by_key(|h| ["hugetlb", "huge"].iter().position(|p| *p == h.pages).unwrap_or(2));
    all
}

/// Whether a working set of this size reaches memory, judged by where the latency curve levels off.
/// Size alone does not decide: a last-level cache may be larger than what one would call memory.
pub fn reaches_memory(all: &[Hierarchy<'_>], bytes: f64) -> Option<bool> {
    let whole = all.iter().find(|h| h.levels.len() > 1)?;
    Some(whole.levels.iter().any(|l| l.rank == Rank::Memory && l.span[0] <= bytes))
}

/// The names of the caches in the facts of a machine.
const CACHES: [&str; 3] = ["l1d", "l2", "l3"];

/// A level matches a declared private cache if their sizes differ by at most this factor.
const KIN: f64 = 2.5;

/// Assigns the levels of a curve to the three caches: in order where there are as many levels as
/// declared caches; else the private ones by size, and the last level beyond them is the shared
/// one.
pub(super) fn match_levels(declared: [Option<f64>; 3], capacities: &[f64]) -> [Option<usize>; 3] {
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

/// The declared sizes of L1d, L2 and L3, in bytes.
pub fn declared_caches(machine: &Machine) -> [Option<f64>; 3] {
    CACHES.map(|key| machine.get(&format!("cache.{key}.size")).and_then(bytes))
}

/// L1d, L2, L3: size and latency.
pub(super) fn caches(machine: &Machine, all: &[Hierarchy<'_>]) -> Vec<Claim> {
    let declared = declared_caches(machine);
    let placed = all.iter().map(|h| {
        let capped: Vec<(&Level, f64)> = h.levels.iter().filter_map(|l| Some((l, l.capacity?))).collect();
        let capacities: Vec<f64> = capped.iter().map(|(_, capacity)| *capacity).collect();
        (h, match_levels(declared, &capacities).map(|at| capped.get(at?).copied()))
    });
    let placed: Vec<_> = placed.collect();
    let mut claims = Vec::new();
    for (i, declared) in declared.into_iter().enumerate() {
        let level = placed.iter().find_map(|(h, found)| found[i].map(|(level, capacity)| (*h, level, capacity)));
        match (level, declared) {
            (Some((h, level, capacity)), declared) => claims.push(cache(machine, i, declared, h, level, capacity)),
            (None, Some(size)) if all.iter().any(|h| !h.levels.is_empty()) => claims.push(no_level(i, size, all)),
            _ => {}
        }
    }
    claims
}

/// A declared cache that matches no level.
fn no_level(index: usize, declared: f64, all: &[Hierarchy<'_>]) -> Claim {
    let largest = all.iter().map(|h| h.largest).fold(0.0, f64::max);
    // The usable part of a shared cache now ends where memory begins.
    let before = all.iter().find_map(|h| Some((h, h.levels.iter().rfind(|l| l.rank != Rank::Memory)?)));
    let reaches = |h: &Hierarchy<'_>| h.levels.iter().any(|l| l.rank == Rank::Memory);
    let half_way =
        before.filter(|(h, _)| index == 2 && reaches(h)).and_then(|(_, level)| Some((level.rank, level.half_way?)));
    Claim {
        declared: Amount::Size(declared),
        measured: Amount::NotFound,
        verdict: Some(Verdict::NotDeterminable),
        note: Note::NoLevel { largest: (largest <= declared).then_some(largest), half_way },
        ..Claim::new(Subject::Cache(index))
    }
}

fn cache(
    machine: &Machine,
    index: usize,
    declared: Option<f64>,
    hierarchy: &Hierarchy<'_>,
    level: &Level,
    capacity: f64,
) -> Claim {
    let mut claim = Claim { measured: Amount::Size(capacity), ..Claim::new(Subject::Cache(index)) }
        .costing(Some(level.latency), level.cycles);
    let Some(declared) = declared else { return claim };
    claim.declared = Amount::Size(declared);
    claim.verdict = Some(Verdict::of(holds(capacity, level.half_way, declared)));
    if claim.verdict == Some(Verdict::Agree) {
        if let Some(soft) = level.half_way.filter(|_| !snaps(capacity, declared)) {
            // It agrees by the position of its edge, so show that.
            claim.measured = Amount::Sizes(capacity, soft);
        }
        return claim;
    }
    let guest = machine.get("virt.hypervisor").is_some();
    // Up to the start of the next level: laps that agree there are not in this cache.
    let next = hierarchy.levels.iter().map(|l| l.span[0]).find(|from| *from > capacity).unwrap_or(declared);
    let rise = capacity..=next.min(declared);
    let unsettled = hierarchy.unsettled.iter().copied().find(|size| rise.contains(size));
    if let (2, true, Some(size)) = (index, capacity < declared, unsettled) {
        // An apparently smaller cache may be a chain that was not cached yet.
        claim.verdict = Some(Verdict::NotDeterminable);
        claim.note = Note::Unsettled(size);
        return claim;
    }
    if index < 2 && capacity < declared && hierarchy.beside.iter().any(|size| rise.contains(size)) {
        (claim.verdict, claim.note) = (Some(Verdict::NotDeterminable), Note::Beside);
        return claim;
    }
    claim.note = match (index, capacity < declared) {
        (2, true) => Note::SharedAway { declared, measured: capacity, guest },
        (_, true) if hierarchy.pages == "base" => Note::BasePages(hierarchy.id.to_owned()),
        _ if guest => Note::Hypervisor,
        _ => Note::Elsewhere,
    };
    claim
}

/// Whether an edge that starts at `hard` and is half-way up at `half_way` belongs to a cache of the
/// declared size: one of them snaps to it, or the size lies between them. A level that ends below
/// half the declared size does not match, however slowly the curve rises from there.
pub(super) fn holds(hard: f64, half_way: Option<f64>, declared: f64) -> bool {
    let soft = half_way.unwrap_or(hard).max(hard);
    let between = hard <= declared && declared <= soft;
    snaps(hard, declared) || (hard * 2.0 >= declared && (snaps(soft, declared) || between))
}

pub(super) fn memory(id: &str, machine: &Machine, seen: &Seen<'_>, slowest: Option<&Level>) -> Option<Claim> {
    let record = seen.first(id, |_| true);
    if record.is_none() && slowest.is_none() {
        return None;
    }
    let declared = record.and_then(|r| number(r, "declared")).or_else(|| machine.get("memory.total").and_then(bytes));
    let claim = match record.map(|r| (r, measured_value(r))) {
        None => Claim::new(Subject::Memory),
        Some((record, None)) => Claim::claim_without_value(Subject::Memory, declared.map(Amount::Size), record),
        Some((_, Some(value))) => {
            // Memory in use by others contradicts nothing; more memory than declared would.
            let verdict = match declared {
                Some(d) if value > d => Some(Verdict::Disagree),
                Some(d) if snaps(value, d) => Some(Verdict::Agree),
                _ => None,
            };
            Claim {
                declared: declared.map(Amount::Size).unwrap_or_default(),
                measured: Amount::Size(value),
                verdict,
                note: if verdict.is_none() && declared.is_some() { Note::RestInUse } else { Note::Nothing },
                ..Claim::new(Subject::Memory)
            }
        }
    };
    Some(match slowest {
        Some(level) => claim.costing(Some(level.latency), level.cycles),
        None => claim,
    })
}
