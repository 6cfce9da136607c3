//! The page of a metric: all machines as points with their intervals, sorted, and over years.

use std::collections::{BTreeSet, HashMap};

use groma_model::Better;

use super::dots::{Dot, Logarithmic, files, mark, scatter, sorted};
use super::frame::{Page, heads, link, number, page};
use super::front::cell;
use super::prepare::SiteKind;
use super::{Line, Machine, Value, Whole, digits};
use crate::csv;
use crate::html::explanation;
use crate::markup::Markup;
use crate::units::{self, counted};

/// At most this many tables of one metric: the lines of the pages, then those of most machines.
const SECTIONS: usize = 8;
/// Of more machines, only the lines of the pages have tables: a site of a thousand machines with
/// all others would be three times as large.
const MANY: usize = 200;
/// Over fewer years there is no plot.
const MIN_YEARS: usize = 2;

/// The lines of each metric's page, in the order of the pages.
pub(super) fn sections(lines: &[Line], machines: &[Machine]) -> Vec<(String, Vec<usize>)> {
    let mut counts = vec![0_usize; lines.len()];
    for machine in machines {
        for line in machine.lines() {
            let is_current = |value: &Value| value.value.is_some() && value.version == lines[line].version;
            counts[line] += usize::from(machine.newest(line).is_some_and(is_current));
        }
    }
    let mut of_id: HashMap<&str, Vec<usize>> = HashMap::new();
    let on_pages = |line: &Line| line.order < super::prepare::NOT_ON_PAGES;
    let is_shown = |(at, line): &(usize, &Line)| counts[*at] > 0 && (machines.len() <= MANY || on_pages(line));
    for (at, line) in lines.iter().enumerate().filter(is_shown) {
        of_id.entry(&line.id).or_default().push(at);
    }
    let mut all: Vec<(String, Vec<usize>)> = Vec::new();
    for (id, mut of_it) in of_id {
        of_it.sort_by_key(|at| (lines[*at].order, usize::MAX - counts[*at], lines[*at].point.clone()));
        of_it.truncate(SECTIONS);
        all.push((id.to_owned(), of_it));
    }
    all.sort_by_key(|(id, of_it)| (lines[of_it[0]].order, id.clone()));
    all
}

/// The list of all metrics.
pub(super) fn index(all: &Whole<'_>) -> String {
    page(&Page { title: "Metrics", path: "metrics.html", scripts: &[] }, |out| {
        let what = if all.machines.len() > MANY {
            format!("those of the pages of a run; of more than {MANY} machines others are left out")
        } else {
            "those of the pages of a run first".to_owned()
        };
        out.say_of("p", "lead", &format!("{}, {what}.", counted(all.sections.len(), "metric")));
        out.with("div", &[("class", "wide")], |div| {
            div.with("table", &[("class", "data sortable filterable"), ("data-of", "metrics")], |table| {
                heads(
                    table,
                    [
                        ("metric", false),
                        ("what", false),
                        ("machines", true),
                        ("best", true),
                        ("median", true),
                        ("worst", true),
                    ],
                );
                table.tag("tbody", |body| {
                    for (id, lines) in all.sections {
                        let line = &all.site.lines[lines[0]];
                        let found = sorted(all, lines[0]);
                        body.tag("tr", |tr| {
                            tr.with("th", &[("scope", "row")], |th| link(th, &format!("metrics/{id}.html"), id));
                            let more = if lines.len() > 1 {
                                format!(" (and {} more points)", lines.len() - 1)
                            } else {
                                String::new()
                            };
                            tr.say("td", &format!("{}{more}", line.said()));
                            tr.say_of("td", "n", &found.len().to_string());
                            let at = [0, found.len() / 2, found.len() - 1];
                            for value in at.map(|at| found[at].1) {
                                number(tr, value, &units::value(value, line.scale, None));
                            }
                        });
                        body.newline();
                    }
                });
            });
        });
    })
}

/// The page of a metric.
pub(super) fn metric(all: &Whole<'_>, id: &str, lines: &[usize]) -> String {
    let info = all.site.options.catalogue.iter().filter(|info| groma_model::is_metric_of(id, info.id));
    let info = info.max_by_key(|info| info.id.len());
    let path = format!("metrics/{id}.html");
    page(&Page { title: id, path: &path, scripts: &[] }, |out| {
        if let Some(info) = info {
            out.say_of("p", "lead", info.summary);
        }
        for (i, line) in lines.iter().enumerate() {
            section(all, id, i + 1, *line, out);
        }
        if let Some(info) = info {
            out.say("h2", "What it measures");
            out.with("div", &[("class", "about")], |div| explanation(info, div));
        }
    })
}

fn section(all: &Whole<'_>, id: &str, number: usize, line: usize, out: &mut Markup) {
    let about = &all.site.lines[line];
    let found = sorted(all, line);
    out.with("h2", &[("id", &format!("s{number}"))], |h| h.text(&about.said()));
    let Some(axis) = Logarithmic::over(found.iter().map(|(_, value)| *value)) else { return };
    let better = match about.better {
        Better::Lower => ", lower is better",
        Better::Higher => ", higher is better",
        Better::Neither => "",
    };
    let without = all.machines.iter().filter(|m| m.newest(line).is_some_and(|value| value.value.is_none())).count();
    let none = if without > 0 { format!("; {without} more have a state instead of a value") } else { String::new() };
    out.tag("p", |p| {
        p.text(&format!(
            "{}{better}{none}. Logarithmic; the bar is the 95 % interval over rounds. ",
            counted(found.len(), "machine")
        ));
        link(p, &format!("../beside.html#x={line}"), "Beside another metric");
        p.text(".");
    });
    let picture = if found.len() > 1 { format!("{id}-{number}.svg") } else { String::new() };
    files(out, &picture, &format!("{id}.csv"));
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data sortable filterable points"), ("data-of", "machines")], |table| {
            heads(
                table,
                [
                    ("machine", false),
                    ("kernel", false),
                    ("year", false),
                    ("value", true),
                    ("", false),
                    ("state", false),
                ],
            );
            table.tag("tbody", |body| {
                let older = all.machines.iter().filter(|machine| all.current(machine, line).is_none());
                for machine in found.iter().map(|(machine, _)| *machine).chain(older) {
                    let Some((value, number)) = machine.newest(line).and_then(|value| Some((value, value.value?)))
                    else {
                        continue;
                    };
                    body.tag("tr", |tr| {
                        tr.with("th", &[("scope", "row")], |th| {
                            link(th, &format!("../{}", machine.href()), &machine.name)
                        });
                        tr.say("td", machine.kernel.trim_start_matches("Linux "));
                        tr.say("td", &if machine.year == 0 { String::new() } else { machine.year.to_string() });
                        cell(all, line, Some(value), tr);
                        mark(axis, number, value.interval, machine.kind, tr);
                        let older = if value.version < about.version { "older definition" } else { value.state };
                        let differs = if value.differs.is_empty() { "" } else { " ≠" };
                        tr.with("td", &[("title", &value.note())], |td| td.text(&format!("{older}{differs}")));
                    });
                    body.newline();
                }
            });
        });
    });
    groups(all, line, &found, out);
    if let Some(dots) = over_years(all, line, "../") {
        out.say("h3", "Over the years");
        scatter(&dots, about.scale, &|x| format!("{x:.0}"), out);
    }
}

/// The medians of processors and of kernels, where there are several machines of each.
fn groups(all: &Whole<'_>, line: usize, found: &[(&Machine, f64)], out: &mut Markup) {
    let scale = all.site.lines[line].scale;
    for (what, of) in
        [("processor", (|m| m.processor.as_str()) as fn(&Machine) -> &str), ("kernel", |m| m.kernel.as_str())]
    {
        let mut groups: Vec<(&str, Vec<f64>)> = Vec::new();
        for (machine, value) in found.iter().filter(|(m, _)| m.kind != SiteKind::Printed && !of(m).is_empty()) {
            match groups.iter_mut().find(|(name, _)| *name == of(machine)) {
                Some((_, values)) => values.push(*value),
                None => groups.push((of(machine), vec![*value])),
            }
        }
        if groups.len() < 2 || groups.iter().all(|(_, values)| values.len() < 2) {
            continue;
        }
        out.tag("details", |details| {
            details.say("summary", &format!("By {what}: {}", counted(groups.len(), "group")));
            details.with("table", &[("class", "data sortable")], |table| {
                heads(table, [(what, false), ("machines", true), ("best", true), ("median", true), ("worst", true)]);
                table.tag("tbody", |body| {
                    for (name, values) in &groups {
                        body.tag("tr", |tr| {
                            tr.with("th", &[("scope", "row")], |th| th.text(name));
                            tr.say_of("td", "n", &values.len().to_string());
                            // They are sorted, the best first.
                            for value in [values[0], values[values.len() / 2], values[values.len() - 1]] {
                                number(tr, value, &units::value(value, scale, None));
                            }
                        });
                    }
                });
            });
        });
    }
}

/// The values of a line over years; `None` where there are too few years. What was measured
/// differently has a colour of its own; an older definition is left out.
pub(super) fn over_years(all: &Whole<'_>, line: usize, root: &str) -> Option<Vec<Dot>> {
    let about = &all.site.lines[line];
    let dot = |(machine, value): (&Machine, f64)| {
        let found = machine.newest(line).filter(|_| machine.year > 0 && value > 0.0)?;
        let differs = Some(found.note()).filter(|note| !note.is_empty());
        let differs = differs.map(|note| format!(" ({note})")).unwrap_or_default();
        let class = match machine.kind {
            SiteKind::Printed => "l1",
            SiteKind::Imported => "l3",
            SiteKind::Measured | SiteKind::Reference => "l0",
        };
        Some(Dot {
            x: f64::from(machine.year),
            y: value,
            interval: found.interval,
            class,
            says: format!("{} {}: {}{differs}", machine.year, machine.name, super::said(about, found)),
            href: format!("{root}{}", machine.href()),
        })
    };
    let dots: Vec<Dot> = sorted(all, line).into_iter().filter_map(dot).collect();
    let years: BTreeSet<u64> = dots.iter().map(|dot| dot.x as u64).collect();
    (years.len() >= MIN_YEARS).then_some(dots)
}

/// The tables of a metric as one file.
pub(super) fn csv(all: &Whole<'_>, lines: &[usize]) -> String {
    let mut out = "line,machine,page,unit,value,low,high,state,version,note\n".to_owned();
    for line in lines {
        let about = &all.site.lines[*line];
        for machine in all.machines {
            let Some(value) = machine.newest(*line) else { continue };
            csv::line(
                &mut out,
                &[
                    csv::text(&about.said()),
                    csv::text(&machine.name),
                    csv::text(&machine.key),
                    csv::text(about.unit),
                    csv::text(&value.value.map(digits).unwrap_or_default()),
                    csv::text(&value.interval.map(|ends| digits(ends[0])).unwrap_or_default()),
                    csv::text(&value.interval.map(|ends| digits(ends[1])).unwrap_or_default()),
                    value.state.to_owned(),
                    value.version.to_string(),
                    csv::text(&value.note()),
                ],
            );
        }
    }
    out
}
