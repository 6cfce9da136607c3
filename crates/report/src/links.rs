//! The links between hosts as text: what is slow, and a matrix of what was measured.

use groma_analysis::links::{Finding, Judgement, MetricOfLinks, Slow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Style;
use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::style::Ink;
use crate::units::{self, Scale, counted};

/// What a view of links is made of.
#[derive(Debug)]
pub struct LinksReport<'a> {
    /// The names of the hosts, in the order of their indices.
    pub hosts: &'a [String],
    /// The names of the switches.
    pub switches: &'a [String],
    /// What was measured.
    pub metrics: &'a [MetricOfLinks],
    /// The judgement.
    pub judgement: &'a Judgement,
    /// The smallest slow-down that matters, as a fraction.
    pub at_least: f64,
    /// Whether no host had two peers at once, by the times of each host; `None` without any times.
    pub alone: Option<bool>,
    /// What was left out or is odd, a line each.
    pub notes: &'a [String],
}

/// The most hosts of a matrix on a terminal: of more, a row would not fit.
const MAX_MATRIX_HOSTS: usize = 12;
/// The most characters of a host's name in the matrix.
const NAME: usize = 10;
/// The most findings of one kind in the answer.
const MAX_NAMED: usize = 3;

/// A judgement of links.
pub fn links<'a>(report: &'a LinksReport<'a>, style: &Style) -> Document<'a> {
    let things = by_slow(report);
    let mut out = Document::new("links")
        .written(Format::Drain, move || drain(report))
        .written(Format::Json, move || json(report));
    let ink = if things.is_empty() { Ink::Strong } else { Ink::Bad };
    out.parts("", vec![(answer(report, &things), ink)]);
    for (slow, findings) in &things {
        let texts: Vec<String> = findings.iter().map(|finding| describe(report, slow, finding)).collect();
        out.labelled("  ", format!("{}: {}", name_slow(report, slow), texts.join("; ")));
    }
    if style.is_of_file() {
        out.table(values(report));
    } else {
        let measured = report.metrics.iter().filter(|metric| !metric.values.is_empty());
        measured.for_each(|metric| out.lines(matrix(report, metric, style)));
    }
    let how = format!(
        "A value is of the host in the row, measured against that in the column. What counts are slow-downs from {} \
         on; the probability of any false name is at most 5 % (Holm). {}",
        units::percent(report.at_least),
        match report.alone {
            Some(true) => "No host had two peers at once.",
            Some(false) => "Some hosts had two peers at once, so their values may be those of two.",
            None => "",
        }
    );
    out.gap();
    out.say(how);
    if !report.notes.is_empty() {
        out.gap();
        out.say("Input");
        report.notes.iter().for_each(|note| out.labelled("  ", note.as_str()));
    }
    out
}

/// A row for each value.
fn values(report: &LinksReport<'_>) -> Table {
    let columns = [("metric", Align::Left), ("from", Align::Left), ("to", Align::Left), ("value", Align::Right)];
    let mut table = Table::new(&columns, None);
    for metric in report.metrics {
        let unit = if metric.lower_is_better { "s" } else { "B/s" };
        for one in &metric.values {
            let names =
                [&metric.name, &report.hosts[one.from], &report.hosts[one.to]].map(|name| Cell::new(name.as_str()));
            let value = Cell::new(units::value(one.value, scale(metric), None)).exactly(one.value, unit);
            table.row(names.into_iter().chain([value]).collect());
        }
    }
    table
}

/// Findings of one thing together: what it is, and its findings, the slowest first.
fn by_slow(report: &LinksReport<'_>) -> Vec<(Slow, Vec<Finding>)> {
    let mut all: Vec<(Slow, Vec<Finding>)> = Vec::new();
    for finding in &report.judgement.findings {
        match all.iter_mut().find(|(slow, _)| *slow == finding.slow) {
            Some((_, findings)) => findings.push(finding.clone()),
            None => all.push((finding.slow.clone(), vec![finding.clone()])),
        }
    }
    all
}

fn name_slow(report: &LinksReport<'_>, slow: &Slow) -> String {
    match slow {
        Slow::Switch(switch) => format!("switch {}", report.switches[*switch]),
        Slow::Host(host) => format!("host {}", report.hosts[*host]),
        Slow::Link(a, b) => format!("link {} to {}", report.hosts[*a], report.hosts[*b]),
    }
}

/// `its links take 40 times as long in net.tcp_rtt`
fn describe(report: &LinksReport<'_>, slow: &Slow, finding: &Finding) -> String {
    let metric = &report.metrics[finding.metric];
    let times = units::significant(finding.times, 3);
    let share = units::significant(100.0 / finding.times, 2);
    let (name, lower) = (&metric.name, metric.lower_is_better);
    match (slow, lower) {
        (Slow::Switch(_), true) => format!("links that cross it take {times} times as long ({name})"),
        (Slow::Switch(_), false) => format!("links that cross it move {share} % of what others do ({name})"),
        (Slow::Host(_), true) => format!("its links take {times} times as long ({name})"),
        (Slow::Host(_), false) => format!("its links move {share} % of what others do ({name})"),
        (Slow::Link(..), true) => format!("it takes {times} times as long as its hosts explain ({name})"),
        (Slow::Link(..), false) => format!("it moves {share} % of what its hosts explain ({name})"),
    }
}

fn answer(report: &LinksReport<'_>, things: &[(Slow, Vec<Finding>)]) -> String {
    let hosts = counted(report.hosts.len(), "host");
    if !report.judgement.is_judged {
        return format!("{hosts}: too few to tell a slow host from a slow link, which takes four.");
    }
    if things.is_empty() {
        let links = counted(pairs(report), "link");
        return format!("All well: {links} of {hosts}, none slower than the others.");
    }
    let named: Vec<String> = things.iter().take(MAX_NAMED).map(|(slow, _)| name_slow(report, slow)).collect();
    let more = things.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let verb = if things.len() == 1 { "is" } else { "are" };
    format!("Slow {verb} {}{more}, of {hosts}.", named.join(", "))
}

/// How many pairs of hosts were measured.
fn pairs(report: &LinksReport<'_>) -> usize {
    let all = report.metrics.iter().flat_map(|metric| &metric.values);
    let of: std::collections::BTreeSet<(usize, usize)> =
        all.map(|one| (one.from.min(one.to), one.from.max(one.to))).collect();
    of.len()
}

fn scale(metric: &MetricOfLinks) -> Scale {
    if metric.lower_is_better { Scale::Time } else { Scale::Bandwidth }
}

/// The values of a metric, a row for each host that measured.
fn matrix(report: &LinksReport<'_>, metric: &MetricOfLinks, style: &Style) -> String {
    let values: BTreeMap<(usize, usize), f64> =
        metric.values.iter().map(|one| ((one.from, one.to), one.value)).collect();
    let all: Vec<f64> = values.values().copied().collect();
    let usual = groma_stats::median(&all).unwrap_or(1.0);
    let (unit, name) = units::unit_of(usual, scale(metric));
    let mut out = format!("\n{} ({})\n", style.paint(Ink::Strong, &metric.name), style.text(name.trim()));
    if report.hosts.len() > MAX_MATRIX_HOSTS {
        let span = [f64::min, f64::max].map(|pick| all.iter().copied().reduce(pick).unwrap_or(usual) / unit);
        let _ = writeln!(
            out,
            "  {} hosts: {} to {}, half of all links within {} of the median, {}",
            report.hosts.len(),
            units::significant(span[0], 3),
            units::significant(span[1], 3),
            units::percent(half_spread(&all, usual)),
            units::significant(usual / unit, 3)
        );
        return out;
    }
    let short = |name: &str| style.cut(name, NAME);
    let width = NAME.max(7) + 1;
    let _ = write!(out, "  {:>NAME$}", "");
    for host in report.hosts {
        let _ = write!(out, "{:>width$}", short(host));
    }
    out.push('\n');
    for (from, host) in report.hosts.iter().enumerate() {
        let _ = write!(out, "  {:>NAME$}", short(host));
        for to in 0..report.hosts.len() {
            let text = match values.get(&(from, to)) {
                Some(value) => units::significant(value / unit, 3),
                None if from == to => String::new(),
                None => "-".to_owned(),
            };
            let _ = write!(out, "{text:>width$}");
        }
        out.push('\n');
    }
    out
}

/// The distance from the median within which half of the values are, as a share of it.
fn half_spread(values: &[f64], usual: f64) -> f64 {
    let deviations: Vec<f64> = values.iter().map(|value| (value / usual - 1.0).abs()).collect();
    groma_stats::median(&deviations).unwrap_or(0.0)
}

fn drain(report: &LinksReport<'_>) -> String {
    let hosts = by_slow(report).into_iter().filter_map(|(slow, findings)| match slow {
        Slow::Host(host) => Some((host, findings)),
        Slow::Switch(_) | Slow::Link(..) => None,
    });
    hosts.fold(String::new(), |mut out, (host, findings)| {
        let _ = writeln!(out, "{} groma: {}", report.hosts[host], describe(report, &Slow::Host(host), &findings[0]));
        out
    })
}

fn json(report: &LinksReport<'_>) -> String {
    let findings: Vec<Value> = report
        .judgement
        .findings
        .iter()
        .map(|finding| {
            let (kind, names) = match &finding.slow {
                Slow::Switch(switch) => ("switch", vec![&report.switches[*switch]]),
                Slow::Host(host) => ("host", vec![&report.hosts[*host]]),
                Slow::Link(a, b) => ("link", vec![&report.hosts[*a], &report.hosts[*b]]),
            };
            let metric = &report.metrics[finding.metric].name;
            json!({"slow": kind, "names": names, "metric": metric, "times": finding.times, "p": finding.p})
        })
        .collect();
    let metrics: Vec<Value> = report
        .metrics
        .iter()
        .zip(&report.judgement.usual)
        .map(|(metric, usual)| {
            let values: Vec<Value> = metric
                .values
                .iter()
                .map(|one| json!([report.hosts[one.from], report.hosts[one.to], one.value]))
                .collect();
            let better = if metric.lower_is_better { "lower" } else { "higher" };
            json!({"name": metric.name, "better": better, "usual": usual, "values": values})
        })
        .collect();
    let whole = json!({
        "kind": "links judgement", "hosts": report.hosts, "judged": report.judgement.is_judged, "alone": report.alone,
        "slow": findings, "metrics": metrics, "notes": report.notes,
    });
    format!("{whole:#}\n")
}
