//! The page of a machine: what it costs, what it declares, how it differs from others of its kind,
//! and what changed over its runs.

use groma_model::Better;
use groma_stats::{change_points, median};

use super::dots::{Dot, scatter};
use super::frame::{Page, heads, link, number, page};
use super::front::{cell, good};
use super::prepare::SiteKind;
use super::{Machine, PrintedSystem, Whole};
use crate::markup::Markup;
use crate::units::{self, counted};

/// With fewer others of its kind there is no range to lie outside of.
const MIN_KIN: usize = 2;
/// A value this factor outside of the range of its kin is named.
const APART: f64 = 1.1;
/// At most this many are named.
const NAMED: usize = 12;
/// Fewer runs show no change.
const MIN_RUNS: usize = 3;
/// A smaller step is not a change, as in `groma trend`.
const MIN_STEP: f64 = 1.01;
/// At most this many series are drawn.
const DRAWN: usize = 6;

/// The page of a machine.
pub(super) fn machine(all: &Whole<'_>, machine: &Machine) -> String {
    let path = machine.href();
    page(&Page { title: &machine.name, path: &path, scripts: &[] }, |out| {
        let facts = [&machine.processor, &machine.kernel, &machine.hypervisor, &machine.memory];
        let facts: Vec<&str> = facts.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let runs = match machine.kind {
            SiteKind::Printed => format!("printed, {}", machine.year),
            kind => format!("{}, {}", kind.word(), counted(machine.runs.len(), "run")),
        };
        out.say_of("p", "lead", &format!("{} ({runs})", facts.join(", ")));
        if machine.kind == SiteKind::Printed {
            out.add(machine.body.clone());
            values(all, machine, out);
            return;
        }
        let (good, of) = good(machine);
        out.tag("p", |p| {
            p.text(&format!("{good} of {of} values of the newest run are precise. "));
            link(p, &format!("../beside.html#machines={}", machine.key), "Beside another machine");
            p.text(".");
        });
        kin(all, machine, out);
        over_time(all, machine, out);
        out.add(machine.body.clone());
        values(all, machine, out);
    })
}

/// The page of a system of a document: its values with their sources.
pub(super) fn printed(system: &PrintedSystem) -> Markup {
    let mut out = Markup::default();
    out.say("p", &format!("From {}. Each value links to those of other machines.", system.title));
    out
}

/// What lies outside of the range of other machines with this processor.
fn kin(all: &Whole<'_>, machine: &Machine, out: &mut Markup) {
    let is_kin = |other: &&Machine| {
        other.key != machine.key && !machine.processor.is_empty() && other.processor == machine.processor
    };
    let kin: Vec<&Machine> = all.machines.iter().filter(is_kin).collect();
    if kin.len() < MIN_KIN {
        return;
    }
    let mut apart = Vec::new();
    for line in machine.lines() {
        let Some((_, own)) = all.current(machine, line) else { continue };
        let values: Vec<f64> = kin.iter().filter_map(|other| Some(all.current(other, line)?.1)).collect();
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
        if values.len() < MIN_KIN || own <= 0.0 || low <= 0.0 {
            continue;
        }
        let by = if own > high {
            own / high
        } else if own < low {
            low / own
        } else {
            1.0
        };
        if by > APART
            && let Some(middle) = median(&values)
        {
            apart.push((by, line, own, [low, middle, high]));
        }
    }
    apart.sort_by(|a, b| b.0.total_cmp(&a.0));
    out.say("h2", "Beside machines with this processor");
    let n = counted(kin.len(), "other machine");
    if apart.is_empty() {
        out.say("p", &format!("{n} with this processor: every value lies within their range, or within 10 % of it."));
        return;
    }
    let more = if apart.len() > NAMED { format!(", the {NAMED} that lie farthest outside") } else { String::new() };
    out.say("p", &format!("{n} with this processor. Outside of their range: {}{more}.", counted(apart.len(), "value")));
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data sortable")], |table| {
            heads(
                table,
                [
                    ("metric", false),
                    ("here", true),
                    ("least", true),
                    ("median", true),
                    ("most", true),
                    ("outside by", true),
                ],
            );
            table.tag("tbody", |body| {
                for (by, line, own, range) in apart.into_iter().take(NAMED) {
                    let about = &all.site.lines[line];
                    body.tag("tr", |tr| {
                        tr.with("th", &[("scope", "row")], |th| of_line(all, line, th));
                        for value in [own].into_iter().chain(range) {
                            number(tr, value, &units::value(value, about.scale, None));
                        }
                        number(tr, by, &format!("{by:.2} ×"));
                    });
                }
            });
        })
    });
}

/// The name of a line, as a link to all machines' values of it.
fn of_line(all: &Whole<'_>, line: usize, out: &mut Markup) {
    let name = all.site.lines[line].said();
    match all.href(line) {
        Some(href) => link(out, &format!("../{href}"), &name),
        None => out.text(&name),
    }
}

/// The lines whose level changed over the runs, drawn; the others are counted.
fn over_time(all: &Whole<'_>, machine: &Machine, out: &mut Markup) {
    if machine.runs.len() < MIN_RUNS {
        return;
    }
    out.say("h2", "Over its runs");
    let mut changed = Vec::new();
    let mut steady = 0;
    for line in machine.lines() {
        let newest = all.site.lines[line].version;
        let series: Vec<(usize, f64)> = machine
            .runs
            .iter()
            .enumerate()
            .filter_map(|(at, run)| {
                let value = run.value(line)?;
                Some((at, value.value.filter(|v| value.version == newest && *v > 0.0)?))
            })
            .collect();
        if series.len() < MIN_RUNS {
            continue;
        }
        let values: Vec<f64> = series.iter().map(|(_, value)| *value).collect();
        match change_points(&values, MIN_STEP) {
            Some(steps) if !steps.is_empty() => changed.push((line, series, steps)),
            _ => steady += 1,
        }
    }
    let first = machine.runs.first().map_or("", |run| run.started.get(..10).unwrap_or_default());
    let last = machine.runs.last().map_or("", |run| run.started.get(..10).unwrap_or_default());
    out.say(
        "p",
        &format!(
            "{}, {first} to {last}: {} changed its level, {steady} did not as far as these runs show.",
            counted(machine.runs.len(), "run"),
            counted(changed.len(), "metric")
        ),
    );
    changed.sort_by(|a, b| {
        let size =
            |steps: &[groma_stats::ChangePoint]| steps.iter().map(|step| step.ratio.ln().abs()).fold(0.0, f64::max);
        size(&b.2).total_cmp(&size(&a.2))
    });
    for (line, series, steps) in changed.into_iter().take(DRAWN) {
        let about = &all.site.lines[line];
        out.tag("p", |p| {
            of_line(all, line, p);
            for step in &steps {
                let at = series
                    .get(step.index)
                    .map_or("", |(run, _)| machine.runs[*run].started.get(..10).unwrap_or_default());
                let ratio = step.ratio;
                let worse = (ratio > 1.0) == (about.better == Better::Lower);
                let word = match about.better {
                    Better::Neither => "changed",
                    _ if worse => "worse",
                    _ => "better",
                };
                p.text(&format!("; since {at} {:.1} % {word}", (ratio.max(1.0 / ratio) - 1.0) * 100.0));
            }
        });
        let dots: Vec<Dot> = series
            .iter()
            .map(|(run, value)| Dot {
                x: *run as f64,
                y: *value,
                interval: None,
                class: "l0",
                says: format!("{}: {}", machine.runs[*run].started, units::value(*value, about.scale, None)),
                href: String::new(),
            })
            .collect();
        let name =
            |x: f64| machine.runs.get(x as usize).and_then(|run| run.started.get(..10)).unwrap_or_default().to_owned();
        scatter(&dots, about.scale, &name, out);
    }
}

/// All values.
fn values(all: &Whole<'_>, machine: &Machine, out: &mut Markup) {
    out.say("h2", "All values");
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data sortable filterable"), ("data-of", "values")], |table| {
            heads(table, [("what", false), ("value", true), ("state", false)]);
            table.tag("tbody", |body| {
                for line in machine.lines().into_iter().filter(|line| all.href(*line).is_some()) {
                    let Some(value) = machine.newest(line) else { continue };
                    body.tag("tr", |tr| {
                        tr.with("th", &[("scope", "row")], |th| of_line(all, line, th));
                        cell(all, line, Some(value), tr);
                        let note = Some(value.note()).filter(|note| !note.is_empty());
                        let state = note.as_deref().unwrap_or(value.state);
                        tr.with("td", &[("data-state", value.state)], |td| td.text(state));
                    });
                }
            });
        });
    });
}
