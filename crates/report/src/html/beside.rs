//! The comparison: differences between the machines, what became slower or faster, and the lines of
//! the pages with the values of all runs.

use groma_analysis::compare::Pair;

use super::pages::{about, class, link};
use super::sheet::Sheet;
use super::values::changed;
use super::{Report, letter};
use crate::compare::{Line, Relative, Stack, sentences, stacks};
use crate::layout::Mark;
use crate::markup::Markup;
use crate::style::Style;
use crate::units::{self, Scale, significant};

/// The comparison; `None` for a single run.
pub(super) fn comparison(report: &Report<'_>, sheet: &Sheet<'_>) -> Option<Markup> {
    let (first, others) = report.compared?;
    let mut out = Markup::default();
    let sentences = sentences(
        report.families,
        first,
        others,
        Relative::Absolute,
        &Style { program: report.program, ..Style::plain(80) },
    );
    for (i, beside) in sentences.of_others.iter().enumerate() {
        out.say("h3", &format!("{} beside A", letter(report, i + 1)));
        out.with("ul", &[], |ul| {
            beside.sentences.iter().for_each(|sentence| ul.say("li", sentence));
            beside.by_family.iter().for_each(|(family, text)| ul.say("li", &format!("{family}: {text}")));
            beside.not_compared.iter().for_each(|text| ul.say("li", text));
        });
    }
    sentences.of_all.iter().for_each(|text| out.say_of("p", "note", text));
    // Wide enough for the names, the values and the changes.
    let width = format!("columns: {}rem", 15 + 11 * others.len());
    out.with("div", &[("class", "blocks wide"), ("style", &width)], |div| {
        stacks(report.families, others, Relative::Absolute).iter().for_each(|stack| block(report, sheet, stack, div));
    });
    Some(out)
}

/// Lines under one heading as a table, with a column per run.
fn block(report: &Report<'_>, sheet: &Sheet<'_>, stack: &Stack<'_>, out: &mut Markup) {
    out.with("table", &[("class", "block")], |table| {
        table.say("caption", &stack.title);
        table.tag("thead", |head| {
            head.tag("tr", |tr| {
                tr.own("<td></td><th scope=\"col\">A</th>");
                for run in 1..report.runs.len() {
                    tr.with("th", &[("scope", "col")], |th| th.text(&letter(report, run)));
                    tr.own("<th scope=\"col\">change</th>");
                }
            });
        });
        table.tag("tbody", |body| {
            for line in &stack.lines {
                body.tag("tr", |tr| self::line(sheet, stack, line, tr));
            }
        });
    });
    out.newline();
}

fn line(sheet: &Sheet<'_>, stack: &Stack<'_>, line: &Line<'_>, out: &mut Markup) {
    let first = line.pairs.iter().flatten().next();
    out.with("th", &[("scope", "row")], |th| {
        link(th, &first.map(|pair| sheet.explanation(&pair.sides[0].id)).unwrap_or_default(), &line.name);
    });
    let Some(first) = first else { return };
    value(sheet, stack, first, 0, out);
    for pair in &line.pairs {
        match pair {
            Some(pair) => value(sheet, stack, pair, 1, out),
            None => out.own("<td></td>"),
        }
        changed(*pair, out);
    }
}

/// The value of one side of a pair.
fn value(sheet: &Sheet<'_>, stack: &Stack<'_>, pair: &Pair<'_>, side: usize, out: &mut Markup) {
    let record = pair.sides[side];
    let mark = Mark::of(record);
    let text = match stack.in_gigabytes {
        true => significant(pair.values[side] / 1e9, 3),
        false => units::value(pair.values[side], Scale::of(record), None),
    };
    out.with("td", &[("class", class(mark)), ("title", &about(record))], |td| {
        link(td, &sheet.link(record), &format!("{}{text}", mark.sign()));
    });
}
