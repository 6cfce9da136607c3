//! The hardware page: what the machine declares, what was measured, and how fast it is.
//!
//! A view of the records of the hardware survey and the facts of the machine. A row without records
//! is left out; an unresolved one is marked, with the reason below. A declared value is never shown
//! as measured: where both are known, the rules of `groma_analysis::claims` decide whether they
//! agree.

mod claims;
mod levels;

pub(crate) use claims::{amount, name};
pub(crate) use levels::{Level, OPS, gigabytes};

use groma_analysis::claims::{
    Claim, Hierarchy, Note, Seen, Verdict, claims, hierarchies, reaches_memory, state_without_value,
};
use groma_analysis::curve::{curves, for_levels};
use groma_analysis::matrix::Matrix;
use groma_analysis::point::measured_value;
use groma_model::family::Row;
use groma_model::{Families, Record, RunHeader};

use crate::document::Document;
use crate::format::Format;
use crate::layout::{Strip, column, in_two_columns, lines, picture, rule, stacked};
use crate::machine::host;
use crate::style::{Ink, Style, wrap_behind};
use crate::units::{self, Scale, size, time};
use crate::{export, json};

/// With fewer values there is no page: the tables show the same.
const MIN_VALUES: usize = 3;

/// The hardware of a run on one page for a terminal or a pipe. `None` where the run has too little
/// of it.
pub(crate) fn page(families: Families<'_>, run: &RunHeader, records: &[Record], style: &Style) -> Option<String> {
    let page = strips(families, run, records, style)?;
    let mut out = wrap_behind("", &style.paint(Ink::Strong, &style.text(&host(&run.environment))), style.width);
    for strip in page {
        out += strip.line();
        out.push('\n');
    }
    Some(out)
}

/// The hardware of a run on one page; `None` where the run has too little of it. As data it is the
/// run's records.
pub fn hardware<'a>(
    families: Families<'_>,
    run: &'a RunHeader,
    records: &'a [Record],
    style: &Style,
) -> Option<Document<'a>> {
    let page = page(families, run, records, &style.of_page())?;
    let document = Document::page(format!("hardware of run {}", run.run), page);
    Some(
        document
            .written(Format::Json, move || json::json(run, records, None))
            .written(Format::Csv, move || export::csv_records(run, records)),
    )
}

/// The content of the page, before layout.
pub(crate) struct Found<'r> {
    /// The caches and the memory.
    pub(crate) levels: Vec<Level<'r>>,
    /// Notes on them, each with the names it refers to, then general sentences.
    pub(crate) of_levels: Vec<(String, String)>,
    /// The other claims.
    pub(crate) claims: Vec<Claim>,
    /// Notes on these, in the same form.
    pub(crate) of_claims: Vec<(String, String)>,
}

/// The content of the page; `None` where the run has too little of it.
pub(crate) fn found<'r>(families: Families<'_>, run: &RunHeader, records: &'r [Record]) -> Option<Found<'r>> {
    let ids: Vec<&str> = families.pages.of_hardware().map(|shown| shown.metric).collect();
    let is_part = |record: &&Record| record.value.is_some() && ids.contains(&record.id.as_str());
    if records.iter().filter(is_part).count() < MIN_VALUES {
        return None;
    }
    let (seen, rows) = (Seen(records), families.rows());
    let hierarchies = hierarchies(&rows, &seen);
    let (of_levels, claims): (Vec<Claim>, Vec<Claim>) = claims(&rows, &run.environment, &seen, &hierarchies)
        .into_iter()
        .filter(|claim| !is_empty(claim))
        .partition(|claim| levels::is_level(claim.subject));
    let alone = |text: String| (String::new(), text);
    let mut found = Found {
        levels: levels::levels(&of_levels, &rows, &seen),
        of_levels: notes(&of_levels),
        of_claims: notes(&claims),
        claims,
    };
    if found.levels.iter().any(|level| level.speeds[2].is_some()) {
        found.of_levels.push(("copy".to_owned(), "a byte counts twice, as it is read and written".to_owned()));
    }
    found.of_levels.extend(caution(&rows, &seen, &hierarchies).map(alone));
    found.of_claims.extend(rows.iter().filter_map(|row| transfers(row, &seen)).map(alone));
    Some(found)
}

/// The lines of the page.
pub(crate) fn strips(families: Families<'_>, run: &RunHeader, records: &[Record], style: &Style) -> Option<Vec<Strip>> {
    let found = found(families, run, records)?;
    let (width, two) = column(style);
    let blocks = families.pages.hardware.iter().map(|block| lines(block, records, width, style));
    let mut page = vec![rule("HARDWARE", style)];
    page.extend(levels::table(&found.levels, style));
    page.extend(found.of_levels.iter().flat_map(|note| wrapped(&note_text(note), style)));
    let curve = latency_curve(&families.rows(), &Seen(records), style);
    if !curve.is_empty() {
        page.push(Strip::default());
        page.extend(curve);
    }
    let mut stacks = vec![declared(&found.claims, width, style)];
    stacks.extend(blocks);
    stacks.retain(|stack| !stack.is_empty());
    if page.len() > 1 {
        page.push(Strip::default());
    }
    page.extend(if two { in_two_columns(stacks, width + 2) } else { stacked(&stacks) });
    page.extend(found.of_claims.iter().flat_map(|note| wrapped(&note_text(note), style)));
    Some(page)
}

/// A warning if the largest size of the bandwidths is not memory alone.
fn caution(rows: &[&Row], seen: &Seen<'_>, hierarchies: &[Hierarchy<'_>]) -> Option<String> {
    let id = bandwidth(rows)?;
    let largest = seen.all(id).filter(|r| measured_value(r).is_some()).filter_map(|r| r.number("size")).max()?;
    (reaches_memory(hierarchies, largest as f64) == Some(false)).then(|| {
        let largest = size(largest as f64);
        format!("{largest} is not memory alone here: its latency still rises there (larger: --param size=1G)")
    })
}

/// A sentence about transfers between CPUs, of which there may be one pair or thousands.
fn transfers(row: &Row, seen: &Seen<'_>) -> Option<String> {
    let Row::Transfers(id) = *row else { return None };
    let records: Vec<&Record> = seen.all(id).collect();
    let Some(matrix) = Matrix::of_cores(&records, None) else {
        let worst = records.iter().max_by_key(|r| r.state)?;
        return Some(format!("A cache line to another core: {}, {}.", state_without_value(worst).word(), worst.reason));
    };
    let all = matrix.off_diagonal();
    let low = all.iter().copied().min_by(f64::total_cmp)?;
    let high = all.iter().copied().max_by(f64::total_cmp)?;
    let (pairs, range) = (all.len() / 2, units::range(low, high, Scale::Time));
    Some(match pairs {
        1 => format!("A cache line reaches the other core in {}.", time(low)),
        _ => format!("A cache line reaches another core in {range} ({pairs} pairs)."),
    })
}

/// Whether a claim has nothing to show but a missing comparison.
fn is_empty(claim: &Claim) -> bool {
    claim.note == Note::TwoCpus
}

/// The lines of a text of the page.
fn wrapped(text: &str, style: &Style) -> Vec<Strip> {
    let lines = wrap_behind("  ", &style.text(text), style.width);
    lines.lines().map(|line| Strip::of_ink(style, Ink::Plain, line)).collect()
}

/// The metric of the bandwidths.
fn bandwidth(rows: &[&Row]) -> Option<&'static str> {
    rows.iter().find_map(|row| if let Row::Bandwidth(id) = row { Some(*id) } else { None })
}

/// The latency curve that shows the levels best.
fn latency_curve(rows: &[&Row], seen: &Seen<'_>, style: &Style) -> Vec<Strip> {
    let caches = rows.iter().find_map(|row| if let Row::Caches(id) = row { Some(*id) } else { None });
    let Some(id) = caches else { return Vec::new() };
    let records: Vec<&Record> = seen.all(id).collect();
    let curves = curves(&records, "size");
    let Some(curve) = for_levels(&curves) else { return Vec::new() };
    let rows = picture(curve, &groma_analysis::curve::levels(curve), style);
    if rows.is_empty() {
        return rows;
    }
    let title = Strip::new(style, Ink::Strong, "Memory latency by working set")
        .ending_at(Strip::new(style, Ink::Faint, id), style.width);
    [title].into_iter().chain(rows).collect()
}

/// The other claims: the measured value, and the declared one if it differs.
fn declared(claims: &[Claim], width: usize, style: &Style) -> Vec<Strip> {
    if claims.is_empty() {
        return Vec::new();
    }
    let line = |claim: &Claim| {
        let ink = if claim.verdict == Some(Verdict::Disagree) { Ink::Warning } else { Ink::Plain };
        let name = Strip::plain(style, &format!("  {}", name(claim.subject)));
        name.ending_at(Strip::new(style, ink, &claims::shown(claim)), width)
    };
    let title = Strip::new(style, Ink::Strong, "Structure");
    [title].into_iter().chain(claims.iter().map(line)).collect()
}

/// The reasons of claims; claims with one reason are grouped.
fn notes(claims: &[Claim]) -> Vec<(String, String)> {
    let mut notes: Vec<(String, String)> = Vec::new();
    for claim in claims {
        let (name, note) = (name(claim.subject), claims::note(claim));
        match notes.iter_mut().find(|(_, same)| *same == note) {
            _ if note.is_empty() => {}
            Some((what, _)) => *what += &format!(", {name}"),
            None => notes.push((name.to_owned(), note)),
        }
    }
    notes
}

/// `L3 cache: 260 MiB declared, 24 MiB available now`, or a general sentence.
pub(crate) fn note_text((what, text): &(String, String)) -> String {
    if what.is_empty() { text.clone() } else { format!("{what}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::style::columns;
    use groma_model::family::Row;
    use groma_model::{Fact, Machine, State};

    fn shown(machine: (RunHeader, Vec<Record>), style: &Style) -> String {
        page(fixtures::families(), &machine.0, &machine.1, style).expect("it holds a survey")
    }

    #[test]
    fn of_two_machines_at_80_and_120_columns() {
        for width in [80, 120] {
            for (name, machine) in [("guest", fixtures::guest()), ("two_caches", fixtures::two_caches())] {
                let text = shown(machine, &Style::plain(width));
                for line in text.lines() {
                    assert!(columns(line) <= width, "{width}: {line}");
                    assert_eq!(line.trim_end(), line);
                }
                assert!(text.lines().count() <= 45, "{} lines:\n{text}", text.lines().count());
                insta::assert_snapshot!(format!("{name}_{width}"), text);
            }
        }
    }

    #[test]
    fn in_ascii() {
        let text = shown(fixtures::guest(), &Style { unicode: false, ..Style::plain(80) });
        assert!(text.is_ascii(), "{text}");
    }

    /// Each level has the bandwidth of the largest size that fits into it but not into the one
    /// before.
    #[test]
    fn bandwidths_stand_at_their_levels() {
        let (run, mut records) = fixtures::guest();
        records.retain(|r| r.id != "mem.bandwidth");
        for (size, gigabytes) in
            [("8 KiB", 300.0), ("16 KiB", 310.0), ("1 MiB", 110.0), ("64 MiB", 55.0), ("1 GiB", 11.0)]
        {
            let params = format!("op=read size={size} kernel=best");
            records.push(fixtures::record("mem.bandwidth", &params, groma_model::Quantity::Bandwidth, gigabytes * 1e9));
        }
        let text = shown((run, records), &Style::plain(80));
        let last = |level: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(level)).expect("a row");
            line.split_whitespace().last().expect("a number").to_owned()
        };
        assert_eq!(["L1", "L2", "L3", "memory"].map(last), ["310", "110", "55.0", "11.0"], "{text}");
    }

    #[test]
    fn a_size_that_may_fit_the_last_cache_is_not_called_memory() {
        let caution = "is not memory alone here";
        let (run, records) = fixtures::guest();
        assert!(!shown((run.clone(), records.clone()), &Style::plain(80)).contains(caution));
        // As on a machine whose last-level cache holds all requested sizes.
        let still_rising = |r: &Record| r.id != "mem.latency" || r.params.int("size").is_some_and(|s| s <= 16 << 20);
        let cached: Vec<Record> = records.into_iter().filter(still_rising).collect();
        assert!(shown((run, cached), &Style::plain(80)).contains(caution));
    }

    #[test]
    fn a_small_cache_is_attributed_to_others_only_if_laps_agree() {
        let (run, records) = fixtures::guest();
        let shown = |change: &dyn Fn(Record) -> Record| {
            shown((run.clone(), records.iter().cloned().map(change).collect()), &Style::plain(120))
        };
        let (shared, unsettled) = ("a share of a cache that other machines use", "never agreed");
        let at = |r: &Record, size: u64| r.id == "mem.latency" && r.params.int("size") == Some(size);
        // Laps do not agree just beyond the level, or far beyond, where memory has begun.
        for (size, blamed) in [(32 << 20, false), (192 << 20, true)] {
            let text = shown(&|r| if at(&r, size) { fixtures::without(r, State::Unresolved, "laps") } else { r });
            assert_eq!((text.contains(shared), text.contains(unsettled)), (blamed, !blamed), "{text}");
        }
        // As in runs from before laps were compared.
        let text = shown(&|r| Record { facts: if r.id == "mem.latency" { Vec::new() } else { r.facts }, ..r });
        assert!(!text.contains(shared) && text.contains(unsettled), "{text}");
    }

    /// What is small beside a busy sibling thread contradicts nothing, and has another reason than
    /// base pages.
    #[test]
    fn a_small_count_or_cache_of_a_shared_core_is_called_its_share() {
        let (mut run, records) = fixtures::guest();
        let l1 = run.environment.facts.iter_mut().find(|fact| fact.key == "cache.l1d.size").expect("a fact");
        l1.value = "128 KiB".to_owned();
        let page = |change: &dyn Fn(Record) -> Record| {
            shown((run.clone(), records.iter().cloned().map(change).collect()), &Style::plain(120))
        };
        let (why, base_pages) = ("shared core: the sibling thread was busy", "base pages fill");
        let text = page(&|r| r);
        assert!(text.contains(base_pages) && !text.contains(why), "{text}");
        for (share, told) in [(0.05, false), (0.5, true)] {
            let shared = groma_model::SharedCore { value: None, share, round_values: Vec::new() };
            let text = page(&|r| if r.id == "mem.latency" { Record { shared: Some(shared.clone()), ..r } } else { r });
            assert_eq!((text.contains(base_pages), text.contains(why)), (!told, told), "{text}");
        }
        let flag = groma_model::Flag::SharedCore { share: 1.0 }.to_string();
        for (flags, told) in [(vec![], false), (vec![flag], true)] {
            let halved = |r: Record| Record { value: Some(6.0), round_values: vec![6.0; 9], flags: flags.clone(), ..r };
            let text = page(&|r| if r.id == "mem.ways" { halved(r) } else { r });
            assert_eq!((text.contains("9 of 9 rounds found 6"), text.contains(why)), (!told, told), "{text}");
        }
    }

    #[test]
    fn a_run_without_a_survey_has_no_page() {
        let records = [fixtures::record("syscall.getppid", "", groma_model::Quantity::Latency, 1e-7)];
        assert!(page(fixtures::families(), &fixtures::header(), &records, &Style::plain(80)).is_none());
        assert!(page(fixtures::families(), &fixtures::header(), &[], &Style::plain(80)).is_none());
    }

    #[test]
    fn any_part_of_a_survey_may_be_missing_or_failed() {
        let (run, records) = fixtures::guest();
        let ids: std::collections::BTreeSet<String> = records.iter().map(|r| r.id.clone()).collect();
        for id in &ids {
            let without: Vec<Record> = records.iter().filter(|r| r.id != *id).cloned().collect();
            page(fixtures::families(), &run, &without, &Style::plain(80));
            let alone: Vec<Record> = records.iter().filter(|r| r.id == *id).cloned().collect();
            page(fixtures::families(), &run, &alone, &Style::plain(80));
        }
        let failed: Vec<Record> =
            records.into_iter().map(|r| fixtures::without(r, State::Unsupported, "there is none here")).collect();
        assert!(page(fixtures::families(), &run, &failed, &Style::plain(80)).is_none());
    }

    fn shared(declared: &str, records: &[Record]) -> Claim {
        let machine = Machine { facts: vec![Fact::new("cache.l3.shared", declared)] };
        let rows = [&Row::SharedCache("cpu.core_to_core")];
        claims(&rows, &machine, &Seen(records), &[]).pop().expect("there are pairs")
    }

    #[test]
    fn transfers_show_who_shares_a_cache() {
        let halves = fixtures::pairs(8, "cas1", |a, b| if a / 4 == b / 4 { 25.0 } else { 100.0 });
        let claim = shared("0-3", &halves);
        assert_eq!((claim.verdict, amount(&claim.measured).as_str()), (Some(Verdict::Agree), "0-3 | 4-7"));
        // A hypervisor declares two caches as one.
        let claim = shared("0-7", &halves);
        assert_eq!((claim.verdict, amount(&claim.measured).as_str()), (Some(Verdict::Disagree), "0-3 | 4-7"));
        let threads = fixtures::pairs(8, "cas1", |a, b| if a / 2 == b / 2 { 9.0 } else { 30.0 });
        assert_eq!(shared("0-7", &threads).verdict, Some(Verdict::Agree));
        let claim = shared("0-1", &halves);
        assert_eq!((claim.verdict, amount(&claim.measured).as_str()), (Some(Verdict::Disagree), "0-3 | 4-7"));
        let even = fixtures::pairs(4, "cas1", |_, _| 60.0);
        assert_eq!(shared("0-3", &even).verdict, Some(Verdict::Agree));
        assert_eq!(shared("0", &even).verdict, Some(Verdict::Disagree));
        // A missing pair makes no group.
        assert_eq!(shared("0-3", &halves[1..]).verdict, Some(Verdict::NotDeterminable));
        assert_eq!(shared("0-1", &even[..1]).verdict, Some(Verdict::NotDeterminable));
    }
}
