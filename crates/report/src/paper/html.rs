//! Published tables as one page of HTML that needs no other file.

use super::Paper;
use crate::markup::escape as markup;
use crate::plot::Chart;
use groma_model::plain;

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
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escape(&title)
    );
    if all.len() > 1 {
        out += &format!("<h1>{}</h1>\n<nav>\n", escape(&title));
        for paper in all {
            out += &format!("<a href=\"#{}\">{}</a>\n", anchor(paper), escape(&paper.title()));
        }
        out += "</nav>\n";
    }
    let mut document = "";
    for paper in all {
        if paper.document.name != document {
            document = paper.document.name;
            out += &format!("<h2>{}</h2>\n", escape(paper.document.title));
        }
        out += &section(paper);
    }
    out + "</body>\n</html>\n"
}

fn anchor(paper: &Paper<'_>) -> String {
    format!("{}-{}", paper.document.name, paper.table.name)
}

fn section(paper: &Paper<'_>) -> String {
    let mut out = format!("<h3 id=\"{}\">{}</h3>\n", anchor(paper), escape(&paper.title()));
    for line in paper.sentences() {
        out += &format!("<p>{}</p>\n", escape(&line));
    }
    match Chart::published(paper) {
        Some(chart) => out += &format!("<div class=\"wide\">{}</div>\n", chart.svg()),
        None => out += &table(paper),
    }
    let notes = paper.footnotes();
    if !notes.is_empty() {
        out += "<ul>\n";
        for (head, note) in notes {
            let head = if head.is_empty() { String::new() } else { format!("<b>{}</b>: ", escape(&head)) };
            out += &format!("<li>{head}{}</li>\n", escape(&note));
        }
        out += "</ul>\n";
    }
    out
}

fn table(paper: &Paper<'_>) -> String {
    let laid = paper.laid();
    let class = |i: usize| if i < laid.texts { "" } else { " class=\"n\"" };
    let mut out = "<div class=\"wide\"><table>\n<tr>".to_owned();
    for (i, head) in laid.heads.iter().enumerate() {
        let unit = laid.units.get(i).filter(|unit| !unit.is_empty());
        let unit = unit.map(|unit| format!("<br><span class=\"unit\">{}</span>", escape(unit))).unwrap_or_default();
        out += &format!("<th{}>{}{unit}</th>", class(i), escape(head));
    }
    out += "</tr>\n";
    for (ours, cells) in &laid.rows {
        out += if *ours { "<tr class=\"ours\">" } else { "<tr>" };
        for (i, cell) in cells.iter().enumerate() {
            out += &format!("<td{}>{}</td>", class(i), escape(cell));
        }
        out += "</tr>\n";
    }
    out + "</table></div>\n"
}

/// A text in plain characters, as text.
fn escape(text: &str) -> String {
    markup(&plain(text))
}
