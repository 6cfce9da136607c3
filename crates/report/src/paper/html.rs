//! Published tables in HTML: a self-contained page, and a section of a report.

use groma_published::Document;

use super::{Paper, PaperPicture, Papers};
use crate::html::charts::{FIGURE, figure};
use crate::html::plain_page;
use crate::markup::Markup;
use crate::plot::Chart;

/// The page's own style, beyond a report's: links to its tables in columns.
const OWN: &str = "nav { position: static; display: block; columns: 22rem; white-space: normal; overflow: visible; }
nav a { display: block; padding: 0.1rem 0; }
";

/// The tables, with a table of contents if there are several.
pub(super) fn page(all: &Papers<'_>) -> String {
    let title = match (&all.tables[..], &all.pictures[..]) {
        ([one], []) => one.title(),
        ([], [one]) => one.title(),
        _ => "Published measurements, and this machine".to_owned(),
    };
    plain_page(&title, OWN, |body| {
        if all.tables.len() + all.pictures.len() > 1 {
            body.say("h1", &title);
            body.newline();
            body.tag("nav", |nav| contents(all, nav));
            body.newline();
        }
        documents(all, body);
    })
}

/// A link to each table and picture.
fn contents(all: &Papers<'_>, out: &mut Markup) {
    for document in documents_of(all) {
        let tables = all.tables.iter().filter(|one| one.document.name == document.name);
        let pictures = all.pictures.iter().filter(|one| one.document.name == document.name);
        let tables = tables.map(|one| (one.table.name, one.title()));
        for (name, title) in tables.chain(pictures.map(|one| (one.picture.name, one.title()))) {
            out.newline();
            out.with("a", &[("href", &format!("#{}", anchor(document, name)))], |a| a.text(&title));
        }
    }
}

/// The documents with a table or a picture here, in order.
fn documents_of<'a>(all: &Papers<'a>) -> Vec<&'a Document> {
    let of_tables = all.tables.iter().map(|one| one.document);
    let mut out: Vec<&Document> = Vec::new();
    for document in of_tables.chain(all.pictures.iter().map(|one| one.document)) {
        if !out.iter().any(|known| known.name == document.name) {
            out.push(document);
        }
    }
    out
}

/// The tables and pictures, each document under its heading.
pub(crate) fn documents(all: &Papers<'_>, out: &mut Markup) {
    let mut drawn = FIGURE;
    for document in documents_of(all) {
        out.say("h3", document.title);
        out.newline();
        for paper in all.tables.iter().filter(|one| one.document.name == document.name) {
            drawn += 1;
            section(out, paper, drawn);
        }
        for picture in all.pictures.iter().filter(|one| one.document.name == document.name) {
            drawn += 1;
            self::picture(out, picture, drawn);
        }
    }
}

fn anchor(document: &Document, name: &str) -> String {
    format!("{}-{name}", document.name)
}

fn section(out: &mut Markup, paper: &Paper<'_>, number: usize) {
    out.with("h4", &[("id", &anchor(paper.document, paper.table.name))], |h4| h4.text(&paper.title()));
    for line in paper.sentences() {
        out.newline();
        out.say("p", &line);
    }
    out.newline();
    match Chart::published(paper) {
        Some(chart) => figure(number, "", "", &chart, out),
        None => out.with("div", &[("class", "wide")], |wide| table(wide, paper)),
    }
    out.newline();
    let notes = paper.footnotes();
    if !notes.is_empty() {
        out.with("ul", &[("class", "note")], |ul| {
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
        out.newline();
    }
}

/// A figure without numbers: what it shows, and the chart drawn instead or the command for it.
fn picture(out: &mut Markup, picture: &PaperPicture<'_>, number: usize) {
    out.with("h4", &[("id", &anchor(picture.document, picture.picture.name))], |h4| h4.text(&picture.title()));
    out.newline();
    out.say("p", picture.picture.shows);
    if let Some(chart) = &picture.chart {
        figure(number, "", "", chart, out);
    }
    if !picture.commands.is_empty() {
        out.say("p", "The same picture of this machine:");
        out.say("pre", &picture.commands.join("\n"));
    }
    if !picture.notes.is_empty() {
        out.with("ul", &[("class", "note")], |ul| picture.notes.iter().for_each(|note| ul.say("li", note)));
    }
    out.newline();
}

fn table(out: &mut Markup, paper: &Paper<'_>) {
    let layout = paper.layout();
    let class = |i: usize| if i < layout.texts { "" } else { "n" };
    out.with("table", &[("class", "data sortable")], |table| {
        table.say_of("caption", "sr", &paper.title());
        table.tag("thead", |head| {
            head.tag("tr", |tr| {
                for (i, text) in layout.heads.iter().enumerate() {
                    let unit = layout.units.get(i).map_or("", String::as_str);
                    let text = if unit.is_empty() || unit == text { text.clone() } else { format!("{text}, {unit}") };
                    tr.with("th", &[("scope", "col"), ("class", class(i))], |th| th.text(&text));
                }
            });
        });
        table.tag("tbody", |body| {
            for (ours, cells) in &layout.rows {
                body.newline();
                body.with("tr", &[("class", if *ours { "ours" } else { "" })], |tr| {
                    for (i, cell) in cells.iter().enumerate() {
                        if i == 0 {
                            tr.with("th", &[("scope", "row")], |th| th.text(&cell.text));
                            continue;
                        }
                        let number = cell.number.map(|v| format!("{v:.6e}")).unwrap_or_default();
                        tr.with("td", &[("class", class(i)), ("data-v", &number)], |td| td.text(&cell.text));
                    }
                });
            }
        });
    });
}
