//! The two pages of each run: the costs of the system, and the hardware.

use groma_analysis::claims::{Claim, Verdict};
use groma_model::Record;
use groma_model::page::{Block, Line};

use super::sheet::{Sheet, state_and_reason};
use super::{Report, ReportRun, letter};
use crate::hardware::{self, Found, Level, OPS, amount, gigabytes};
use crate::layout::{BlockCell, Mark, rows, title};
use crate::machine::host;
use crate::markup::Markup;
use crate::page::system;
use crate::point::name;
use crate::units;

/// The pages of all runs that have any.
pub(super) fn pages(report: &Report<'_>, sheet: &Sheet<'_>) -> Option<Markup> {
    let mut out = Markup::default();
    let mut any = false;
    for (i, run) in report.runs.iter().enumerate() {
        let Some(page) = of_run(report, run, sheet) else { continue };
        any = true;
        if report.runs.len() == 1 {
            out.add(page);
            continue;
        }
        // The first one is open; `details` works without a script.
        out.own(if i == 0 { "<details class=\"page\" open>" } else { "<details class=\"page\">" });
        let what = format!("{}: run {}, {}", letter(report, i), run.head.run, host(&run.head.environment));
        out.say("summary", &what);
        out.add(page);
        out.own("</details>");
    }
    any.then_some(out)
}

fn of_run(report: &Report<'_>, run: &ReportRun<'_>, sheet: &Sheet<'_>) -> Option<Markup> {
    let mut out = Markup::default();
    let (pages, records) = (report.families.pages, run.records);
    let system = system(pages, records);
    let found = hardware::found(report.families, run.head, records);
    if system.is_none() && found.is_none() {
        return None;
    }
    if let Some(blocks) = system {
        out.say("h3", "System");
        out.with("div", &[("class", "blocks")], |div| blocks.iter().for_each(|b| block(b, records, sheet, div)));
    }
    if let Some(found) = found {
        out.say("h3", "Hardware: declared beside measured");
        levels(&found, sheet, &mut out);
        notes(&found.of_levels, &mut out);
        structure(&found.claims, &mut out);
        notes(&found.of_claims, &mut out);
        out.with("div", &[("class", "blocks")], |div| {
            pages.hardware.iter().for_each(|b| block(b, records, sheet, div))
        });
    }
    Some(out)
}

/// A block as a table: a row per line, a column per value.
fn block(block: &Block, records: &[Record], sheet: &Sheet<'_>, out: &mut Markup) {
    let rows = rows(block, records);
    if rows.is_empty() {
        return;
    }
    out.with("table", &[("class", "block")], |table| {
        table.say("caption", &title(block));
        if !block.heads.is_empty() {
            table.tag("thead", |head| {
                head.tag("tr", |tr| {
                    tr.own("<td></td>");
                    block.heads.iter().for_each(|text| tr.with("th", &[("scope", "col")], |th| th.text(text)));
                });
            });
        }
        table.tag("tbody", |body| {
            for row in &rows {
                body.tag("tr", |tr| {
                    tr.with("th", &[("scope", "row")], |th| link(th, &explained(row.line, sheet), row.line.name));
                    row.cells.iter().for_each(|cell| value(cell.as_ref(), sheet, tr));
                });
            }
        });
    });
    out.newline();
}

/// The link to the explanation of the first metric of a line.
fn explained(line: &Line, sheet: &Sheet<'_>) -> String {
    line.values.iter().flatten().next().map_or(String::new(), |shown| sheet.explanation(shown.metric))
}

/// A text, as a link if there is a target.
pub(super) fn link(out: &mut Markup, href: &str, text: &str) {
    if href.is_empty() {
        out.text(text);
    } else {
        out.with("a", &[("href", href)], |a| a.text(text));
    }
}

/// The class of a sign.
pub(super) fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::None => "",
        Mark::Imprecise | Mark::Unresolved => "warn",
        Mark::NotHere => "faint",
        Mark::Failed => "bad",
    }
}

fn value(cell: Option<&BlockCell<'_>>, sheet: &Sheet<'_>, out: &mut Markup) {
    let Some(cell) = cell else {
        out.own("<td></td>");
        return;
    };
    out.with("td", &[("class", class(cell.mark)), ("title", &about(cell.record))], |td| {
        link(td, &sheet.link(cell.record), &cell.text);
    });
}

/// The tooltip of a value: `syscall.read: 82.1 ns ± 0.4 %, 11 rounds; ok`.
pub(super) fn about(record: &Record) -> String {
    let value = units::headline(record).map(|value| {
        let half = units::interval(record).map(|half| format!(" ± {half}")).unwrap_or_default();
        format!("{value}{half}, {} rounds; ", record.rounds)
    });
    let flags: String = record.flags.iter().map(|flag| format!("; {flag}")).collect();
    format!("{}: {}{}{flags}", name(record), value.unwrap_or_default(), state_and_reason(record))
}

/// The table of caches and memory.
fn levels(found: &Found<'_>, sheet: &Sheet<'_>, out: &mut Markup) {
    if found.levels.is_empty() {
        return;
    }
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data")], |table| {
            table.say("caption", "Caches and memory");
            table.tag("thead", |head| {
                head.tag("tr", |tr| {
                    tr.own("<td></td>");
                    let heads = ["declared", "measured", "latency", "cycles"].map(str::to_owned);
                    for text in heads.into_iter().chain(OPS.map(|op| format!("{op}, GB/s"))) {
                        tr.with("th", &[("scope", "col"), ("class", "n")], |th| th.text(&text));
                    }
                });
            });
            table.tag("tbody", |body| found.levels.iter().for_each(|l| body.tag("tr", |tr| level(l, sheet, tr))));
        });
    });
}

fn level(level: &Level<'_>, sheet: &Sheet<'_>, out: &mut Markup) {
    out.with("th", &[("scope", "row")], |th| th.text(level.name));
    let differs = if level.differs { "n warn" } else { "n" };
    for (class, text) in
        [("n", &level.declared), (differs, &level.measured), ("n", &level.latency), ("n", &level.cycles)]
    {
        out.say_of("td", class, text);
    }
    for record in level.speeds {
        let Some(record) = record else {
            out.own("<td></td>");
            continue;
        };
        let class = format!("n {}", class(Mark::of(record)));
        out.with("td", &[("class", &class), ("title", &about(record))], |td| {
            link(td, &sheet.link(record), &gigabytes(record));
        });
    }
}

/// The table of the other claims.
fn structure(claims: &[Claim], out: &mut Markup) {
    if claims.is_empty() {
        return;
    }
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "data")], |table| {
            table.say("caption", "Structure");
            table.own(
                "<thead><tr><td></td><th scope=\"col\" class=\"n\">declared</th><th scope=\"col\" class=\"n\">measured</th>\
                 <th scope=\"col\" class=\"n\">costs</th><th scope=\"col\">they agree</th></tr></thead>",
            );
            table.tag("tbody", |body| claims.iter().for_each(|claim| body.tag("tr", |tr| self::claim(claim, tr))));
        });
    });
}

fn claim(claim: &Claim, out: &mut Markup) {
    out.with("th", &[("scope", "row")], |th| th.text(hardware::name(claim.subject)));
    out.say_of("td", "n", &amount(&claim.declared));
    out.say_of("td", "n", &amount(&claim.measured));
    out.say_of("td", "n", &claim.seconds.map(units::time).unwrap_or_default());
    let (class, text) = match claim.verdict {
        Some(Verdict::Agree) => ("", "yes"),
        Some(Verdict::Disagree) => ("warn", "≠ no"),
        Some(Verdict::NotDeterminable) => ("warn", "? inconclusive"),
        None => ("", ""),
    };
    out.say_of("td", class, text);
}

fn notes(notes: &[(String, String)], out: &mut Markup) {
    if notes.is_empty() {
        return;
    }
    out.with("ul", &[("class", "note")], |ul| notes.iter().for_each(|note| ul.say("li", &hardware::note_text(note))));
}
