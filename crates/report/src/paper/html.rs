//! Published tables as one page of HTML that needs no other file.

use super::Paper;
use crate::markup::Markup;
use crate::plot::Chart;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.25em; margin-top: 2.5em; } h3 { font-size: 1em; margin-top: 2em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15em 0.8em; text-align: left; border-bottom: 1px solid #ccc8; white-space: nowrap; }
.n { text-align: right; }
tr.ours { font-weight: 600; background: #9cf4; }
.wide { overflow-x: auto; }
.unit { font-weight: 400; }
ul { font-size: 0.87em; padding-left: 1.2em; }
nav { columns: 22em; font-size: 0.87em; } nav a { display: block; }
:root { color-scheme: light dark; }
";

/// The tables, with a list of them where there are several.
pub(super) fn page(all: &[Paper<'_>]) -> String {
    let title = match all {
        [one] => one.title(),
        _ => "Published measurements, and this machine".to_owned(),
    };
    let mut out = Markup::default();
    out.own("<!DOCTYPE html>\n");
    out.with("html", &[("lang", "en")], |html| {
        html.own("\n");
        html.tag("head", |head| {
            head.own("\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n");
            head.say("title", &title);
            head.newline();
            head.tag("style", |style| style.own(STYLE));
            head.newline();
        });
        html.newline();
        html.tag("body", |body| contents(body, &title, all));
    });
    out.newline();
    out.into_string()
}

fn contents(body: &mut Markup, title: &str, all: &[Paper<'_>]) {
    body.newline();
    if all.len() > 1 {
        body.say("h1", title);
        body.newline();
        body.tag("nav", |nav| {
            for paper in all {
                nav.newline();
                nav.with("a", &[("href", &format!("#{}", anchor(paper)))], |a| a.text(&paper.title()));
            }
        });
        body.newline();
    }
    let mut document = "";
    for paper in all {
        if paper.document.name != document {
            document = paper.document.name;
            body.say("h2", paper.document.title);
            body.newline();
        }
        section(body, paper);
    }
}

fn anchor(paper: &Paper<'_>) -> String {
    format!("{}-{}", paper.document.name, paper.table.name)
}

fn section(body: &mut Markup, paper: &Paper<'_>) {
    body.with("h3", &[("id", &anchor(paper))], |h3| h3.text(&paper.title()));
    for line in paper.sentences() {
        body.newline();
        body.say("p", &line);
    }
    body.newline();
    body.with("div", &[("class", "wide")], |wide| match Chart::published(paper) {
        Some(chart) => wide.picture(&chart.svg()),
        None => wide.tag("table", |inside| table(inside, paper)),
    });
    body.newline();
    let notes = paper.footnotes();
    if !notes.is_empty() {
        body.tag("ul", |ul| {
            for (head, note) in notes {
                ul.newline();
                ul.tag("li", |li| {
                    if !head.is_empty() {
                        li.say("b", &head);
                        li.own(": ");
                    }
                    li.text(&note);
                });
            }
        });
        body.newline();
    }
}

fn table(out: &mut Markup, paper: &Paper<'_>) {
    let laid = paper.laid();
    let class = |i: usize| if i < laid.texts { "" } else { "n" };
    out.newline();
    out.tag("tr", |row| {
        for (i, head) in laid.heads.iter().enumerate() {
            row.with("th", &[("class", class(i))], |th| {
                th.text(head);
                if let Some(unit) = laid.units.get(i).filter(|unit| !unit.is_empty()) {
                    th.own("<br>");
                    th.say_of("span", "unit", unit);
                }
            });
        }
    });
    for (ours, cells) in &laid.rows {
        out.newline();
        out.with("tr", &[("class", if *ours { "ours" } else { "" })], |row| {
            for (i, cell) in cells.iter().enumerate() {
                row.say_of("td", class(i), cell);
            }
        });
    }
    out.newline();
}
