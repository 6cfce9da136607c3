//! The hardware on one page: what the machine declares beside what was measured, and how fast it
//! is.
//!
//! A view over the records of the hardware survey and the facts of the machine. A row whose records
//! are missing is left out; what was tried and could not be told says so, and why stands below.
//! What is declared is never taken for what is measured: where both are there, a rule of
//! `groma_analysis::claims` says whether they agree.

mod claims;
mod speeds;

use groma_analysis::claims::{Claim, Seen, Verdict, claims, hierarchies};
use groma_model::{Families, Record, RunHeader};

use crate::grid::{Align, Cell, Grid};
use crate::machine::host;
use crate::style::{Ink, Style, wrap_behind};

/// Fewer rows than this are no page of their own: the tables say the same.
const FEWEST: usize = 3;

/// The page, before anybody aligns it.
pub(crate) struct Page {
    /// What it is a page of, in a line.
    machine: String,
    claims: Vec<Claim>,
    bandwidth: Option<Table>,
    lines: Vec<Line>,
}

/// Numbers under heads; the first column names the row.
struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    /// What to beware of when reading it.
    caution: Option<String>,
}

/// Some numbers that belong together.
struct Line {
    label: &'static str,
    text: String,
    is_measured: bool,
}

/// The page of a run; `None` where the run holds too little of the hardware survey for one.
pub(crate) fn page(families: Families<'_>, run: &RunHeader, records: &[Record]) -> Option<Page> {
    let (seen, rows) = (Seen(records), families.rows());
    let hierarchies = hierarchies(&rows, &seen);
    let claims = claims(&rows, &run.environment, &seen, &hierarchies);
    let bandwidth = rows.iter().find_map(|row| speeds::bandwidth(row, &seen, &hierarchies));
    let lines: Vec<Line> = rows.iter().filter_map(|row| speeds::line(row, &seen)).collect();
    let told = claims.iter().filter(|c| c.is_measured()).count();
    let measured_lines = lines.iter().filter(|l| l.is_measured).count();
    let rows = told + bandwidth.as_ref().map_or(0, |t| t.rows.len()) + measured_lines;
    (rows >= FEWEST).then(|| Page { machine: host(&run.environment), claims, bandwidth, lines })
}

/// The hardware of a run on one page for a terminal or a pipe: declared beside measured, bandwidth,
/// latencies. `None` where the run holds too little of it.
pub fn hardware(families: Families<'_>, run: &RunHeader, records: &[Record], style: &Style) -> Option<String> {
    let page = page(families, run, records)?;
    let mut out = style.paint(Ink::Strong, "hardware") + "\n";
    if !page.machine.is_empty() {
        out += &wrap_behind("", &style.text(&page.machine), style.width);
    }
    out.push('\n');
    if !page.claims.is_empty() {
        out += &claim_table(&page.claims, style);
        for (what, why) in notes(&page.claims) {
            out += &wrap_behind("  ", &style.text(&format!("{what}: {why}")), style.width);
        }
        out.push('\n');
    }
    if let Some(table) = &page.bandwidth {
        let mut aligns = vec![Align::Left];
        aligns.extend(table.heads.iter().skip(1).map(|_| Align::Right));
        let mut grid = Grid::new(&aligns, style);
        let head = |(i, h): (usize, &String)| Cell::ink(h, if i == 0 { Ink::Strong } else { Ink::Faint });
        grid.row(table.heads.iter().enumerate().map(head).collect());
        for row in &table.rows {
            grid.row(row.iter().map(Cell::new).collect());
        }
        out += &grid.render();
        if let Some(caution) = &table.caution {
            out += &wrap_behind("  ", &style.text(caution), style.width);
        }
        out.push('\n');
    }
    let longest = page.lines.iter().map(|l| l.label.len()).max().unwrap_or(0);
    for line in &page.lines {
        let first = format!("{:<longest$}  ", line.label);
        let text = wrap_behind(&first, &style.text(&line.text), style.width);
        out += &text.replacen(line.label, &style.paint(Ink::Strong, line.label), 1);
    }
    Some(out)
}

/// The heads of the table of claims.
const HEADS: [&str; 6] = ["", "declared", "measured", "cycles", "time", ""];

fn claim_table(claims: &[Claim], style: &Style) -> String {
    let mut grid =
        Grid::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left], style);
    grid.row(HEADS.iter().map(|h| Cell::ink(*h, Ink::Faint)).collect());
    for claim in claims {
        let ink = match claim.verdict {
            Some(Verdict::Disagree) => Ink::Warning,
            _ => Ink::Faint,
        };
        let mut cells: Vec<Cell> = claims::cells(claim).map(Cell::new).into();
        cells.push(Cell::ink(claims::verdict(claim), ink));
        grid.row(cells);
    }
    grid.render()
}

/// Why, for each claim that has a reason; those with the same reason together.
fn notes(claims: &[Claim]) -> Vec<(String, String)> {
    let mut notes: Vec<(String, String)> = Vec::new();
    for claim in claims {
        let (name, note) = (claims::name(claim.subject), claims::note(claim));
        match notes.iter_mut().find(|(_, same)| *same == note) {
            _ if note.is_empty() => {}
            Some((what, _)) => *what += &format!(", {name}"),
            None => notes.push((name.to_owned(), note)),
        }
    }
    notes
}

/// The page as Markdown: the rows of its tables as cells, the rest as a list.
pub(crate) fn markdown(page: &Page) -> Vec<Part> {
    let mut parts = Vec::new();
    if !page.claims.is_empty() {
        let rows = page.claims.iter().map(|claim| {
            let mut cells: Vec<String> = claims::cells(claim).into();
            cells.push(claims::verdict(claim).to_owned());
            cells
        });
        parts.push(Part::Table(HEADS.map(str::to_owned).into(), rows.collect()));
        parts.push(Part::List(notes(&page.claims).into_iter().map(|(what, why)| format!("{what}: {why}")).collect()));
    }
    if let Some(table) = &page.bandwidth {
        parts.push(Part::Table(table.heads.clone(), table.rows.clone()));
        parts.push(Part::List(table.caution.iter().cloned().collect()));
    }
    parts.push(Part::List(page.lines.iter().map(|line| format!("{}: {}", line.label, line.text)).collect()));
    parts
}

/// A part of a page in Markdown.
pub(crate) enum Part {
    /// Heads and rows; the first column names the row.
    Table(Vec<String>, Vec<Vec<String>>),
    /// Lines of a list.
    List(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::claims::cells;
    use super::*;
    use crate::fixtures;
    use crate::style::columns;
    use groma_model::family::Row;
    use groma_model::{Fact, Machine, State};

    fn shown(machine: (RunHeader, Vec<Record>), style: &Style) -> String {
        hardware(fixtures::families(), &machine.0, &machine.1, style).expect("it holds a survey")
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

    #[test]
    fn many_sizes_of_bandwidth_fit_80_columns() {
        let (run, mut records) = fixtures::guest();
        for i in 0..20 {
            let params = format!("op=read size={} kernel=best", groma_model::size_text(4096 << i));
            records.push(fixtures::record("mem.bandwidth", &params, groma_model::Quantity::Bandwidth, 1e11));
        }
        let text = shown((run, records), &Style::plain(80));
        let head = text.lines().find(|l| l.starts_with("GB/s")).expect("the table's head");
        assert!(head.contains("  4 KiB") && head.ends_with("2 GiB"), "{head}");
        assert!(text.lines().all(|l| columns(l) <= 80), "{text}");
    }

    #[test]
    fn what_may_be_in_the_last_cache_is_not_called_memory() {
        let caution = "is not memory alone here";
        let (run, records) = fixtures::guest();
        assert!(!shown((run.clone(), records.clone()), &Style::plain(80)).contains(caution));
        // As on a machine whose last cache holds all sizes that were asked for.
        let still_rising = |r: &Record| r.id != "mem.latency" || r.params.int("size").is_some_and(|s| s <= 16 << 20);
        let cached: Vec<Record> = records.into_iter().filter(still_rising).collect();
        assert!(shown((run, cached), &Style::plain(80)).contains(caution));
    }

    #[test]
    fn a_short_cache_is_blamed_on_others_only_if_laps_agreed() {
        let (run, records) = fixtures::guest();
        let shown = |change: &dyn Fn(Record) -> Record| {
            shown((run.clone(), records.iter().cloned().map(change).collect()), &Style::plain(120))
        };
        let (shared, unsettled) = ("a share of a cache that other machines use", "were not seen to agree");
        let at = |r: &Record, size: u64| r.id == "mem.latency" && r.params.int("size") == Some(size);
        // No two laps agree just beyond the level, or far beyond, where memory has begun.
        for (size, blamed) in [(32 << 20, false), (192 << 20, true)] {
            let text = shown(&|r| if at(&r, size) { fixtures::without(r, State::Unresolved, "laps") } else { r });
            assert_eq!((text.contains(shared), text.contains(unsettled)), (blamed, !blamed), "{text}");
        }
        // As in runs from before laps were compared.
        let text = shown(&|r| Record { facts: if r.id == "mem.latency" { Vec::new() } else { r.facts }, ..r });
        assert!(!text.contains(shared) && text.contains(unsettled), "{text}");
    }

    #[test]
    fn a_run_without_a_survey_has_no_page() {
        let records = [fixtures::record("syscall.getppid", "", groma_model::Quantity::Latency, 1e-7)];
        assert!(hardware(fixtures::families(), &fixtures::header(), &records, &Style::plain(80)).is_none());
        assert!(hardware(fixtures::families(), &fixtures::header(), &[], &Style::plain(80)).is_none());
    }

    #[test]
    fn any_part_of_a_survey_may_be_missing_or_have_ended_badly() {
        let (run, records) = fixtures::guest();
        let ids: std::collections::BTreeSet<String> = records.iter().map(|r| r.id.clone()).collect();
        for id in &ids {
            let without: Vec<Record> = records.iter().filter(|r| r.id != *id).cloned().collect();
            hardware(fixtures::families(), &run, &without, &Style::plain(80));
            let alone: Vec<Record> = records.iter().filter(|r| r.id == *id).cloned().collect();
            hardware(fixtures::families(), &run, &alone, &Style::plain(80));
        }
        let failed: Vec<Record> =
            records.into_iter().map(|r| fixtures::without(r, State::Unsupported, "there is none here")).collect();
        assert!(hardware(fixtures::families(), &run, &failed, &Style::plain(80)).is_none());
    }

    fn shared(declared: &str, records: &[Record]) -> Claim {
        let machine = Machine { facts: vec![Fact::new("cache.l3.shared", declared)] };
        let rows = [&Row::SharedCache("cpu.core_to_core")];
        claims(&rows, &machine, &Seen(records), &[]).pop().expect("there are pairs")
    }

    #[test]
    fn who_shares_a_cache_is_told_by_transfers() {
        let halves = fixtures::pairs(8, "cas1", |a, b| if a / 4 == b / 4 { 25.0 } else { 100.0 });
        let claim = shared("0-3", &halves);
        assert_eq!((claim.verdict, cells(&claim)[2].as_str()), (Some(Verdict::Agree), "0-3 | 4-7"));
        // A hypervisor that calls two caches one.
        let claim = shared("0-7", &halves);
        assert_eq!((claim.verdict, cells(&claim)[2].as_str()), (Some(Verdict::Disagree), "0-3 | 4-7"));
        let threads = fixtures::pairs(8, "cas1", |a, b| if a / 2 == b / 2 { 9.0 } else { 30.0 });
        assert_eq!(shared("0-7", &threads).verdict, Some(Verdict::Agree));
        let claim = shared("0-1", &halves);
        assert_eq!((claim.verdict, cells(&claim)[2].as_str()), (Some(Verdict::Disagree), "0-3 | 4-7"));
        let even = fixtures::pairs(4, "cas1", |_, _| 60.0);
        assert_eq!(shared("0-3", &even).verdict, Some(Verdict::Agree));
        assert_eq!(shared("0", &even).verdict, Some(Verdict::Disagree));
        // A missing pair is no group.
        assert_eq!(shared("0-3", &halves[1..]).verdict, Some(Verdict::NotDeterminable));
        assert_eq!(shared("0-1", &even[..1]).verdict, Some(Verdict::NotDeterminable));
    }
}
