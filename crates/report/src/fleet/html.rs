//! A judgement for a browser: the answer, the suspects, and a heat map of hosts and metrics.
//!
//! The map is a table without a script. Of thousands of hosts, the suspect, the noisy and the next
//! slowest have a row each; all others are in bands of equal numbers, in which each cell shows the
//! slowest host, so that nothing is hidden by a mean.

use groma_analysis::fleet::finding::Subject;
use groma_analysis::fleet::{Judged, Verdict};

use super::FleetReport;
use super::says::{Names, answer, confirmed, how, judged_by, name, sentence, split, times, values};
use crate::html::STYLE;
use crate::markup::Markup;
use crate::units::counted;

/// What the document may do: use its own styles. It has no script.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'";

/// Hosts that have rows of their own beside the suspects.
const ROWS: usize = 150;
/// The bands that hold all others.
const BANDS: usize = 20;

/// From these ratios on a cell has the next colour.
const STEPS: [f64; 6] = [1.05, 1.1, 1.2, 1.5, 2.0, 4.0];

/// The colours of the cells, light and dark; numbers of the ratio are in the titles of the cells.
const MAP: &str = "
.map { border-collapse: separate; border-spacing: 1px; font-size: 0.8rem; }
.map th { font-weight: 400; padding: 0 0.4rem; white-space: nowrap; }
.map thead th { height: 11rem; vertical-align: bottom; padding: 0; }
.map thead span { writing-mode: sideways-lr; writing-mode: vertical-rl; transform: rotate(180deg); }
.map td { min-width: 1.1rem; height: 1.1rem; background: var(--card); }
.map tbody th { text-align: left; position: sticky; left: 0; background: var(--ground); }
.map .f { background: #9fd4c3; } .map .none { background: transparent; }
.s1 { background: #fde3b0 !important; } .s2 { background: #fbc46d !important; } .s3 { background: #f59a4a !important; }
.s4 { background: #e36a3a !important; } .s5 { background: #bd3030 !important; } .s6 { background: #7c1030 !important; }
.shades span { display: inline-block; width: 1.1rem; height: 1.1rem; vertical-align: text-bottom; margin: 0 0.2rem 0 0.8rem; }
.shades .f { background: #9fd4c3; }
";

pub(super) fn html(report: &FleetReport<'_>) -> String {
    let names = Names::of(&report.fleet.metrics);
    let title = answer(report);
    let mut out = Markup::default();
    out.own("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    out.own("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.own("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    out.say("title", "groma: a fleet judged");
    out.own("\n<style>");
    out.own(STYLE);
    out.own(MAP);
    out.own("</style>\n</head>\n<body>\n<header>");
    out.say("h1", &title);
    out.say_of("p", "note", &how(report));
    out.own("</header>\n<main>\n");
    splits(report, &mut out);
    suspects(report, &names, &mut out);
    map(report, &names, &mut out);
    if !report.notes.is_empty() {
        out.say("h2", "Input");
        out.tag("ul", |ul| report.notes.iter().for_each(|note| ul.say("li", note)));
    }
    out.own("</main>\n</body>\n</html>\n");
    out.into_string()
}

fn splits(report: &FleetReport<'_>, out: &mut Markup) {
    let splits = &report.judgement.grouping.splits;
    if !splits.is_empty() {
        out.say("h2", "What splits the hosts");
        out.tag("ul", |ul| splits.iter().for_each(|one| ul.say("li", &split(report, one))));
        out.newline();
    }
}

fn suspects(report: &FleetReport<'_>, names: &Names, out: &mut Markup) {
    let suspects: Vec<&Judged> =
        report.judgement.hosts.iter().filter(|judged| judged.verdict == Verdict::Suspect).collect();
    if suspects.is_empty() {
        return;
    }
    out.say("h2", "Suspects");
    for judged in suspects {
        out.say("h3", &format!("{}: {}", name(report, judged), sentence(report, names, judged)));
        out.tag("ul", |ul| {
            for found in &judged.findings {
                let values = values(report, judged, found).map(|values| format!(": {values}")).unwrap_or_default();
                ul.say("li", &format!("{} {}{values}", names.subject(report, found.subject), times(found)));
            }
        });
        let lines = [judged_by(report, judged), confirmed(judged)];
        lines.into_iter().flatten().for_each(|text| out.say_of("p", "note", &text));
        if let Some(fit) = &judged.fit {
            out.say_of("p", "note", &format!("Confirm there: {}", fit.confirm));
            out.say_of("p", "note", &format!("Next: {}", fit.next));
        }
        out.newline();
    }
}

/// A row of the map: a host, or several.
struct Row {
    name: String,
    class: &'static str,
    /// The greatest excess of each metric, as a logarithm.
    cells: Vec<Option<f64>>,
}

fn map(report: &FleetReport<'_>, names: &Names, out: &mut Markup) {
    let (judged, rest): (Vec<&Judged>, Vec<&Judged>) = {
        let mut own = report.judgement.count(Verdict::Suspect) + ROWS;
        report.judgement.hosts.iter().filter(|judged| !judged.excesses.is_empty()).partition(|_| {
            own = own.saturating_sub(1);
            own > 0
        })
    };
    let count = report.fleet.metrics.len();
    let mut rows: Vec<Row> = judged
        .into_iter()
        .map(|judged| Row {
            name: name(report, judged).to_owned(),
            class: class(judged),
            cells: cells(count, &[judged]),
        })
        .collect();
    for band in rest.chunks(rest.len().div_ceil(BANDS).max(1)) {
        let name = format!("{} that are {}", counted(band.len(), "host"), band[0].verdict.word());
        rows.push(Row { name, class: "faint", cells: cells(count, band) });
    }
    if rows.is_empty() {
        return;
    }
    // Metrics without any cell have no column; the others are in the order of the run.
    let shown: Vec<usize> = (0..count).filter(|metric| rows.iter().any(|row| row.cells[*metric].is_some())).collect();
    out.say("h2", "Hosts and metrics");
    out.with("p", &[("class", "note shades")], |p| {
        p.text("Times as slow as the median of the group, at least:");
        for (step, class) in STEPS.iter().zip(["s1", "s2", "s3", "s4", "s5", "s6"]) {
            p.with("span", &[("class", class)], |_| {});
            // Unbroken, so that a colour and its number stay on one line.
            p.text(&format!("\u{a0}{step}"));
        }
        p.text(";");
        p.with("span", &[("class", "f")], |_| {});
        p.text("faster by 5 % and more. Slowest hosts first; a row of several hosts shows the slowest of them in each cell.");
    });
    out.with("div", &[("class", "wide")], |div| {
        div.with("table", &[("class", "map")], |table| {
            table.say_of("caption", "sr", "Hosts and metrics, times as slow as the median of the group");
            table.tag("thead", |head| {
                head.tag("tr", |tr| {
                    tr.own("<th scope=\"col\">host</th>");
                    for &metric in &shown {
                        tr.with("th", &[("scope", "col")], |th| th.say("span", names.metric(metric as u32)));
                    }
                });
            });
            table.tag("tbody", |body| rows.iter().for_each(|row| of_row(row, &shown, names, body)));
        });
    });
}

fn of_row(row: &Row, shown: &[usize], names: &Names, body: &mut Markup) {
    body.tag("tr", |tr| {
        tr.with("th", &[("scope", "row"), ("class", row.class)], |th| th.text(&row.name));
        for &metric in shown {
            let Some(excess) = row.cells[metric] else {
                tr.own("<td class=\"none\"></td>");
                continue;
            };
            let times = excess.exp();
            let step = STEPS.iter().rposition(|step| times >= *step);
            match step {
                // Most cells: without a title, which would make the file three times as long.
                None if times > 1.0 / STEPS[0] => tr.own("<td></td>"),
                step => {
                    let class = step.map_or("f", |step| ["s1", "s2", "s3", "s4", "s5", "s6"][step]);
                    let title = format!("{}: {times:.2}", names.metric(metric as u32));
                    tr.with("td", &[("class", class), ("title", &title)], |_| {});
                }
            }
        }
    });
    body.newline();
}

fn class(judged: &Judged) -> &'static str {
    match judged.verdict {
        Verdict::Suspect => "bad",
        Verdict::Noisy => "warn",
        Verdict::Unjudged | Verdict::Well => "",
    }
}

/// The greatest excess of each metric over these hosts.
fn cells(count: usize, hosts: &[&Judged]) -> Vec<Option<f64>> {
    let mut cells: Vec<Option<f64>> = vec![None; count];
    for (subject, excess) in hosts.iter().flat_map(|judged| &judged.excesses) {
        if let Subject::Metric(metric) = subject {
            let cell = &mut cells[*metric as usize];
            *cell = Some(cell.map_or(*excess, |known| known.max(*excess)));
        }
    }
    cells
}
