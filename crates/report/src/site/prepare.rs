//! One run, reduced to what a site keeps of it.

use std::collections::HashMap;
use std::sync::Mutex;

use groma_analysis::claims::{Seen, Subject, claims, hierarchies};
use groma_analysis::compare::identity;
use groma_analysis::curve::{curves, widest};
use groma_model::page::Values;
use groma_model::{Better, End, Fact, Families, Record, RunHeader};

use super::{Line, SiteOptions, Value};
use crate::html::{Report, ReportRun, run_body};
use crate::layout::Mark;
use crate::lmbench::LMBENCH_IMPORTED;
use crate::machine::{BRIEF, cpus, kernel, memory, processor, value};
use crate::markup::Markup;
use crate::page::{identity as said_identity, shown, trust};
use crate::paper::Papers;
use crate::point::point;
use crate::units::Scale;

/// Lines that are on no page come after those that are.
pub(super) const NOT_ON_PAGES: usize = 10_000;
/// Latencies of levels stand before all others of the hardware.
const OF_LEVELS: usize = 5_000;
/// A curve needs this many points.
const MIN_CURVE: usize = 5;

/// Where a machine comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteKind {
    /// A run of groma's.
    Measured,
    /// A reference machine, or a baseline.
    Reference,
    /// A result file of lmbench's.
    Imported,
    /// A system of a document.
    Printed,
}

impl SiteKind {
    pub(super) const fn word(self) -> &'static str {
        match self {
            SiteKind::Measured => "measured",
            SiteKind::Reference => "reference",
            SiteKind::Imported => "lmbench",
            SiteKind::Printed => "printed",
        }
    }
}

/// A run for a site.
#[derive(Clone, Copy, Debug)]
pub struct SiteRun<'r> {
    /// The header.
    pub head: &'r RunHeader,
    /// The records.
    pub records: &'r [Record],
    /// The end; `None` if it has none.
    pub end: Option<&'r End>,
    /// Whether it is one of the reference machines or a baseline.
    pub is_reference: bool,
}

/// A curve: values over sizes.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) id: String,
    pub(super) over: String,
    /// When its run began.
    pub(super) started: String,
    pub(super) points: Vec<[f64; 2]>,
}

/// A run, reduced to what a site keeps.
#[derive(Debug)]
pub struct Prepared {
    pub(super) id: String,
    pub(super) started: String,
    /// What makes two runs those of one machine.
    pub(super) group: String,
    pub(super) key: String,
    pub(super) name: String,
    pub(super) kind: SiteKind,
    pub(super) processor: String,
    pub(super) kernel: String,
    pub(super) hypervisor: String,
    pub(super) memory: String,
    /// Whether a program pretends to be this processor.
    pub(super) is_emulated: bool,
    pub(super) year: u16,
    pub(super) values: Vec<(String, Line, Value)>,
    pub(super) curves: Vec<Curve>,
    /// The part of the machine's page that is made from this run; none where a newer one was there.
    pub(super) body: Option<Markup>,
}

/// What reduces runs, on any thread.
#[derive(Debug)]
pub struct Preparation<'a> {
    families: Families<'a>,
    host_names: bool,
    /// When the newest run that was seen of each machine began. Of older ones no page is made:
    /// two of three where each machine has three runs and the newest is read first.
    newest: Mutex<HashMap<String, String>>,
}

impl<'a> Preparation<'a> {
    /// For a site with these options.
    pub fn new(options: &SiteOptions<'a>) -> Preparation<'a> {
        Preparation { families: options.families, host_names: options.host_names, newest: Mutex::default() }
    }

    /// Whether no newer run of this machine was seen.
    fn is_newest(&self, group: &str, started: &str) -> bool {
        let mut newest = self.newest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = newest.entry(group.to_owned()).or_insert_with(|| started.to_owned());
        if known.as_str() < started {
            started.clone_into(known);
        }
        known == started
    }

    /// Reduces a run.
    pub fn prepare(&self, run: &SiteRun<'_>) -> Prepared {
        let (families, host_names) = (self.families, self.host_names);
        let machine = &run.head.environment;
        let fact = |key: &str| machine.get(key).unwrap_or_default();
        let kind = match (run.is_reference, machine.get(LMBENCH_IMPORTED)) {
            (true, _) => SiteKind::Reference,
            (_, Some(_)) => SiteKind::Imported,
            _ => SiteKind::Measured,
        };
        let group = ["host.name", "cpu.model", "cpu.count", "cpu.microarchitecture"].map(fact).join("\0") + kind.word();
        let processor = processor(machine).unwrap_or_default();
        let is_named = host_names || kind == SiteKind::Reference;
        let own = match (machine.get("host.name").filter(|_| is_named), processor.as_str()) {
            (Some(host), _) if !host.is_empty() => host.to_owned(),
            (_, "") => format!("{} machine", machine.get("kernel.name").unwrap_or("unnamed")),
            (_, processor) => {
                [Some(processor.to_owned()), cpus(machine)].into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
        };
        let of_value = |record: &Record| Value {
            value: record
                .value
                .filter(|value| value.is_finite() && matches!(Mark::of(record), Mark::None | Mark::Imprecise)),
            interval: record.ci_display.or(record.ci),
            cycles: record.cycles,
            mark: Mark::of(record),
            state: record.state.word(),
            version: record.version,
            source: String::new(),
            differs: String::new(),
        };
        let mut values: Vec<(String, Line, Value)> = Vec::new();
        let mut taken: Vec<&Record> = Vec::new();
        for (order, name, shown) in page_lines(families) {
            let Some(record) = shown.find(run.records) else { continue };
            taken.push(record);
            let line = Line { name, point: String::new(), order, ..line(record) };
            values.push((format!("P{order}"), line, of_value(record)));
        }
        for (level, seconds, cycles) in latencies(families, run) {
            let (key, line) = latency_line(level);
            let value = Value {
                value: Some(seconds),
                interval: None,
                cycles,
                mark: Mark::None,
                state: "ok",
                version: line.version,
                source: String::new(),
                differs: String::new(),
            };
            values.push((key, line, value));
        }
        let rest =
            run.records.iter().filter(|record| !record.detail && !taken.iter().any(|one| std::ptr::eq(*one, *record)));
        values.extend(rest.map(|record| (identity(record), line(record), of_value(record))));
        Prepared {
            id: run.head.run.clone(),
            started: run.head.started.clone(),
            key: format!("{}-{}", slug(&own), short(&group)),
            name: own,
            kind,
            processor,
            kernel: kernel(machine),
            hypervisor: fact("virt.hypervisor").to_owned(),
            memory: memory(machine).unwrap_or_default(),
            is_emulated: fact("virt.hypervisor").contains("emulated") || fact("cpu.model").contains("TCG"),
            year: run.head.started.get(..4).and_then(|year| year.parse().ok()).filter(|year| *year > 1970).unwrap_or(0),
            curves: of_curves(run),
            body: self.is_newest(&group, &run.head.started).then(|| body(families, host_names, run)),
            group,
            values,
        }
    }
}

/// The lines of the pages: their places, their names, and what they show. Cycles have no line of
/// their own.
pub(super) fn page_lines(families: Families<'_>) -> impl Iterator<Item = (usize, String, groma_model::page::Shown)> {
    let blocks = families.pages.system.iter().chain(families.pages.hardware);
    let lines = blocks.flat_map(|block| {
        block.lines.iter().flat_map(move |line| {
            line.values.iter().enumerate().filter_map(move |(column, shown)| {
                let shown = shown.filter(|shown| !shown.in_cycles)?;
                let head = block
                    .heads
                    .get(column)
                    .filter(|head| **head != "time")
                    .map(|head| format!(", {head}"))
                    .unwrap_or_default();
                let what = if block.values == Values::Gigabytes { ": bandwidth" } else { "" };
                Some((format!("{}{what}{head}", line.name), shown))
            })
        })
    });
    lines.enumerate().map(|(order, (name, shown))| (order, name, shown))
}

/// The line of a record that is on no page.
fn line(record: &Record) -> Line {
    Line {
        id: record.id.clone(),
        name: record.summary.clone(),
        point: point(record),
        scale: Scale::of(record),
        unit: record.unit.symbol(),
        better: record.better,
        order: NOT_ON_PAGES,
        version: record.version,
    }
}

/// The line on which a record stands: that of the pages, or one of its own.
pub(super) fn line_of(families: Families<'_>, record: &Record) -> (String, Line) {
    let own = std::slice::from_ref(record);
    let found = page_lines(families).find(|(_, _, shown)| shown.find(own).is_some());
    match found {
        Some((order, name, _)) => (format!("P{order}"), Line { name, point: String::new(), order, ..line(record) }),
        None => (identity(record), line(record)),
    }
}

/// The line of the latency of a level of the memory hierarchy; 0 is memory.
pub(super) fn latency_line(level: usize) -> (String, Line) {
    let what = match level {
        0 => "memory latency".to_owned(),
        n => format!("L{n} cache latency"),
    };
    let line = Line {
        id: "mem.latency".to_owned(),
        name: what,
        point: String::new(),
        scale: Scale::Time,
        unit: "s",
        better: Better::Lower,
        order: OF_LEVELS + if level == 0 { 9 } else { level },
        version: 1,
    };
    (format!("L{level}"), line)
}

/// The latencies of the levels that a run found: level, seconds, cycles.
fn latencies(families: Families<'_>, run: &SiteRun<'_>) -> Vec<(usize, f64, Option<f64>)> {
    let (seen, rows) = (Seen(run.records), families.rows());
    let hierarchies = hierarchies(&rows, &seen);
    let all = claims(&rows, &run.head.environment, &seen, &hierarchies);
    let of = |claim: &groma_analysis::claims::Claim| {
        let level = match claim.subject {
            Subject::Cache(n) => n + 1,
            Subject::Memory => 0,
            _ => return None,
        };
        Some((level, claim.seconds?, claim.cycles))
    };
    all.iter().filter_map(of).collect()
}

/// The curves of a run.
fn of_curves(run: &SiteRun<'_>) -> Vec<Curve> {
    let SiteRun { head, records, .. } = run;
    let mut out: Vec<Curve> = Vec::new();
    let mut ids: Vec<&str> = records.iter().filter(|r| !r.detail && r.value.is_some()).map(|r| r.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let of_it: Vec<&Record> = records.iter().filter(|record| record.id == id && record.value.is_some()).collect();
        let Some((over, _)) = widest(&of_it).filter(|(_, values)| *values >= MIN_CURVE) else { continue };
        let all = curves(&of_it, &over);
        let Some(longest) = all.iter().max_by_key(|curve| curve.measured_points().len()) else { continue };
        let points: Vec<[f64; 2]> = longest.measured_points().iter().map(|(x, y)| [*x, *y]).collect();
        if points.len() >= MIN_CURVE {
            out.push(Curve { id: id.to_owned(), over, started: head.started.clone(), points });
        }
    }
    out
}

/// The part of a machine's page that is made from one run: how far to trust it, the two pages,
/// curves and matrices, and what the machine declares.
fn body(families: Families<'_>, host_names: bool, run: &SiteRun<'_>) -> Markup {
    let mut out = Markup::default();
    let of_pages = shown(families.pages, run.records);
    out.say_of("p", "id", &said_identity(run.head, run.end, ""));
    // A baseline has no end, which is no reason for a sentence.
    let trust = trust(run.head, run.records, &of_pages, run.end).join(" ");
    if !trust.is_empty() && !run.is_reference {
        out.say_of("p", "trust", &trust);
    }
    let report = Report {
        families,
        catalogue: &[],
        words: &[],
        runs: &[ReportRun { head: run.head, points: &[], rounds: &[], records: run.records, end: run.end }],
        compared: None,
        papers: Papers::default(),
        program: "groma",
    };
    out.add(run_body(&report));
    let is_brief = |key: &str| BRIEF.iter().any(|one| *one == key || (one.ends_with('.') && key.starts_with(one)));
    let is_open = |fact: &&Fact| is_brief(&fact.key) && (host_names || fact.key != "kernel.cmdline");
    out.say("h2", "Declared");
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data")], |table| {
            table.tag("tbody", |body| {
                for fact in run.head.environment.facts.iter().filter(is_open) {
                    body.tag("tr", |tr| {
                        tr.with("th", &[("scope", "row")], |th| th.text(&fact.key));
                        tr.say("td", &value(fact));
                    });
                }
            });
        })
    });
    out
}

/// Lower-case letters, digits and single hyphens.
pub(super) fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut out = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    out.truncate(32);
    if out.is_empty() { "machine".to_owned() } else { out }
}

/// Six letters that tell machines of one name apart, and say nothing else: FNV-1a.
pub(super) fn short(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{:06x}", (hash ^ (hash >> 32)) & 0xff_ffff)
}
