//! The head of a report: which runs of which machines, and how far to trust them. And its end: the
//! facts of the machines.

use std::collections::BTreeMap;

use groma_model::Fact;

use super::{Report, ReportRun, differences, letter};
use crate::machine::{host, value};
use crate::markup::Markup;
use crate::page::{causes, identity, legend, shown, trust};

/// The title: the machines, each once.
pub(super) fn title(report: &Report<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for run in report.runs {
        let name = run.head.environment.get("host.name").unwrap_or("a machine");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let runs = report.runs.len();
    let what = if runs == 1 { "groma report".to_owned() } else { format!("groma report of {runs} runs") };
    format!("{what}: {}", names.join(", "))
}

/// The headers of the runs.
pub(super) fn header(report: &Report<'_>, title: &str, out: &mut Markup) {
    out.say("h1", title);
    for (i, run) in report.runs.iter().enumerate() {
        out.with("div", &[("class", "run")], |div| of_run(report, i, run, div));
    }
}

fn of_run(report: &Report<'_>, i: usize, run: &ReportRun<'_>, out: &mut Markup) {
    let shown = shown(report.families.pages, run.records);
    out.with("p", &[("class", "host")], |p| {
        let letter = letter(report, i);
        if !letter.is_empty() {
            p.say_of("b", "letter", &letter);
            p.own(" ");
        }
        p.text(&host(&run.head.environment));
    });
    out.say_of("p", "id", &identity(run.head, run.end, ""));
    let tags: Vec<String> = run.head.tags.iter().map(ToString::to_string).collect();
    if !tags.is_empty() {
        out.say_of("p", "id", &format!("tags: {}", tags.join(", ")));
    }
    let trust = trust(run.head, run.records, &shown, run.end).join(" ");
    if !trust.is_empty() {
        out.say_of("p", "trust", &trust);
    }
    if !shown.is_empty() {
        for text in [Some(legend(&shown)), causes(&shown)].into_iter().flatten() {
            out.say_of("p", "trust", &text);
        }
    }
}

/// The facts of all machines, with differences marked.
pub(super) fn facts(report: &Report<'_>) -> Option<Markup> {
    let mut keys: Vec<&str> = Vec::new();
    let of_runs: Vec<BTreeMap<&str, &Fact>> = report
        .runs
        .iter()
        .map(|run| run.head.environment.facts.iter().map(|fact| (fact.key.as_str(), fact)).collect())
        .collect();
    for fact in report.runs.iter().flat_map(|run| &run.head.environment.facts) {
        if !keys.contains(&fact.key.as_str()) {
            keys.push(&fact.key);
        }
    }
    let mut out = Markup::default();
    let differing: Vec<&str> = differences(report).map(|difference| difference.key.as_str()).collect();
    if report.runs.len() > 1 {
        let text = "Marked rows differ between runs, but for facts that change by themselves (load, uptime).";
        out.say_of("p", "note", text);
    }
    out.with("div", &[("class", "wide")], |div| table(report, &keys, &of_runs, &differing, div));
    Some(out)
}

fn table(report: &Report<'_>, keys: &[&str], of_runs: &[BTreeMap<&str, &Fact>], differing: &[&str], out: &mut Markup) {
    out.with("table", &[("class", "data sortable filterable"), ("data-of", "facts")], |table| {
        table.say_of("caption", "sr", "Facts by key");
        table.tag("thead", |head| {
            head.tag("tr", |tr| {
                tr.own("<th scope=\"col\">fact</th>");
                for i in 0..report.runs.len() {
                    tr.with("th", &[("scope", "col")], |th| th.text(&format!("value {}", letter(report, i))));
                }
            });
        });
        table.tag("tbody", |body| {
            for key in keys {
                let class = if differing.contains(key) { "differs" } else { "" };
                body.with("tr", &[("class", class)], |tr| {
                    tr.with("th", &[("scope", "row")], |th| th.text(key));
                    for facts in of_runs {
                        tr.say("td", &facts.get(*key).map(|fact| value(fact)).unwrap_or_default());
                    }
                });
                body.newline();
            }
        });
    });
}
