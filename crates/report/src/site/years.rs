//! Thirty years on one page: what documents printed beside what machines of today take, sorted by
//! how many times it became faster.

use groma_model::Better;
use groma_stats::median;

use super::dots::scatter;
use super::frame::{Page, heads, link, page};
use super::metric::over_years;
use super::prepare::SiteKind;
use super::{Machine, Value, Whole, digits};
use crate::markup::Markup;
use crate::units::{self, counted};

/// Machines of documents up to this year stand for the beginning.
const THEN: u16 = 1999;
/// The least factors of the groups, and their headings.
const GROUPS: [(f64, &str); 4] = [
    (300.0, "About a thousand times faster"),
    (30.0, "About a hundred times faster"),
    (3.0, "About ten times faster"),
    (0.0, "Hardly faster, or slower"),
];
/// At most this many are drawn.
const DRAWN: usize = 12;

/// A quantity then and now.
struct Change {
    line: usize,
    then: Side,
    now: Side,
    /// How many times it became faster.
    factor: f64,
    /// How the documents measured differently.
    differs: Vec<String>,
    sources: Vec<String>,
}

/// One end of the years.
struct Side {
    value: f64,
    range: [f64; 2],
    machines: usize,
    cycles: Option<f64>,
    years: [u16; 2],
}

/// The page.
pub(super) fn years(all: &Whole<'_>) -> String {
    let changes = changes(all);
    page(&Page { title: "Thirty years", path: "years.html", scripts: &[] }, |out| {
        if changes.is_empty() {
            out.say(
                "p",
                "Nothing here was measured then and now: groma site --documents adds what five documents printed.",
            );
            return;
        }
        out.say_of("p", "lead", &lead(all, &changes));
        out.say("p", "A factor is the median of then over that of now, or the other way round for a bandwidth. Printed values are \
                      those of the documents, in their rounding; ≠ says that something was measured differently.");
        for (i, (least, heading)) in GROUPS.iter().enumerate() {
            let most = if i == 0 { f64::INFINITY } else { GROUPS[i - 1].0 };
            let of_it: Vec<&Change> = changes.iter().filter(|c| c.factor >= *least && c.factor < most).collect();
            if !of_it.is_empty() {
                out.say("h2", heading);
                table(all, &of_it, out);
            }
        }
        out.say("h2", "Machine by machine");
        out.tag("p", |p| {
            p.with("span", &[("class", "key l1")], |_| {});
            p.text("printed ");
            p.with("span", &[("class", "key l3")], |_| {});
            p.text("a result file of lmbench ");
            p.with("span", &[("class", "key l0")], |_| {});
            p.text("measured by groma. A point leads to its machine.");
        });
        for change in drawn(&changes) {
            let about = &all.site.lines[change.line];
            let Some(dots) = over_years(all, change.line, "") else { continue };
            out.with("h3", &[("id", &format!("l{}", change.line))], |h| {
                h.text(&format!("{}: {}", about.said(), times(change.factor)))
            });
            scatter(&dots, about.scale, &|x| format!("{x:.0}"), out);
        }
        sources(&changes, out);
    })
}

/// Those with most machines then, in the order of their factors.
fn drawn(changes: &[Change]) -> Vec<&Change> {
    let mut all: Vec<&Change> = changes.iter().collect();
    all.sort_by_key(|change| usize::MAX - change.then.machines);
    all.truncate(DRAWN);
    all.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    all
}

fn lead(all: &Whole<'_>, changes: &[Change]) -> String {
    let (first, last) = (&changes[0], &changes[changes.len() - 1]);
    let name = |change: &Change| all.site.lines[change.line].said();
    let [from, to] = [changes.iter().map(|c| c.then.years[0]).min(), changes.iter().map(|c| c.now.years[1]).max()];
    format!(
        "From {} to {}: {} ({}) gained most, {} ({}) least, of {} measured both then and now.",
        from.unwrap_or_default(),
        to.unwrap_or_default(),
        name(first),
        times(first.factor),
        name(last),
        times(last.factor),
        counted(changes.len(), "quantity").replace("quantitys", "quantities"),
    )
}

/// `850 times faster`, `1.3 times slower`.
fn times(factor: f64) -> String {
    let (by, word) = if factor >= 1.0 { (factor, "faster") } else { (1.0 / factor, "slower") };
    format!("{} times {word}", units::significant(by, 2))
}

fn changes(all: &Whole<'_>) -> Vec<Change> {
    let is_then = |machine: &Machine| machine.kind == SiteKind::Printed && machine.year <= THEN;
    let is_now =
        |machine: &Machine| matches!(machine.kind, SiteKind::Measured | SiteKind::Reference) && !machine.is_emulated;
    let mut out = Vec::new();
    for (line, about) in all.site.lines.iter().enumerate().filter(|(_, about)| about.better != Better::Neither) {
        let [printed, today] = [values(all, line, &is_then), values(all, line, &is_now)];
        let (Some(then), Some(now)) = (side(&printed), side(&today)) else { continue };
        let factor = if about.better == Better::Higher { now.value / then.value } else { then.value / now.value };
        let sources = each_once(printed.iter().map(|(_, value, _)| &value.source));
        let differs = each_once(printed.iter().map(|(_, value, _)| &value.differs));
        out.push(Change { line, then, now, factor, differs, sources });
    }
    out.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    out
}

/// The values of a line on these machines, with the years of those.
fn values<'s>(all: &Whole<'s>, line: usize, of: &dyn Fn(&Machine) -> bool) -> Vec<(u16, &'s Value, f64)> {
    let dated = all.machines.iter().filter(|machine| machine.year > 0 && of(machine));
    let value = |machine: &'s Machine| {
        let (value, number) = all.current(machine, line).filter(|(_, number)| *number > 0.0)?;
        Some((machine.year, value, number))
    };
    dated.filter_map(value).collect()
}

/// One end of the years; `None` without a value.
fn side(values: &[(u16, &Value, f64)]) -> Option<Side> {
    let numbers: Vec<f64> = values.iter().map(|(.., number)| *number).collect();
    let cycles: Vec<f64> = values.iter().filter_map(|(_, value, _)| value.cycles).collect();
    let years = values.iter().map(|(year, ..)| *year);
    Some(Side {
        value: median(&numbers)?,
        range: numbers.iter().fold([f64::INFINITY, 0.0], |[low, high], n| [low.min(*n), high.max(*n)]),
        machines: numbers.len(),
        cycles: median(&cycles),
        years: [years.clone().min()?, years.max()?],
    })
}

/// The texts that are not empty, each once, in their order.
fn each_once<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !out.contains(text) {
            out.push(text.clone());
        }
    }
    out
}

fn table(all: &Whole<'_>, changes: &[&Change], out: &mut Markup) {
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data sortable")], |table| {
            let columns = ["then", "machines", "now", "machines", "times faster", "cycles then", "cycles now"];
            heads(
                table,
                [("what", false)].into_iter().chain(columns.map(|head| (head, true))).chain([("sources", false)]),
            );
            table.tag("tbody", |body| {
                for change in changes {
                    let about = &all.site.lines[change.line];
                    body.tag("tr", |tr| {
                        tr.with("th", &[("scope", "row")], |th| match all.href(change.line) {
                            Some(href) => link(th, href, &about.said()),
                            None => th.text(&about.said()),
                        });
                        for side in [&change.then, &change.now] {
                            let [low, high] = side.range.map(|end| units::value(end, about.scale, None));
                            let title = format!("{low} to {high}, {} to {}", side.years[0], side.years[1]);
                            let attributes =
                                [("class", "n"), ("data-v", &digits(side.value) as &str), ("title", &title)];
                            tr.with("td", &attributes, |td| td.text(&units::value(side.value, about.scale, None)));
                            tr.say_of("td", "n", &side.machines.to_string());
                        }
                        tr.with("td", &[("class", "n"), ("data-v", &digits(change.factor))], |td| {
                            td.say("b", &units::significant(change.factor, 2))
                        });
                        for side in [&change.then, &change.now] {
                            let cycles = side.cycles.map(units::bare_cycles).unwrap_or_default();
                            tr.say_of("td", "n", &cycles);
                        }
                        let differs = if change.differs.is_empty() { "" } else { " ≠" };
                        tr.with("td", &[("title", &change.differs.join("; "))], |td| {
                            td.text(&format!("{}{differs}", change.sources.join(", ")))
                        });
                    });
                    body.newline();
                }
            });
        })
    });
}

/// What each document measured differently, and its title.
fn sources(changes: &[Change], out: &mut Markup) {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for change in changes {
        for how in &change.differs {
            for source in &change.sources {
                if !all.contains(&(source, how)) {
                    all.push((source, how));
                }
            }
        }
    }
    if all.is_empty() {
        return;
    }
    out.say("h2", "What was measured differently");
    out.tag("dl", |dl| {
        for (source, how) in all {
            dl.say("dt", source);
            dl.say("dd", how);
        }
    });
}
