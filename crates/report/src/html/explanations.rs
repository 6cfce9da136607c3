//! Explanations of benchmarks and words: the text of `groma explain`, once per benchmark.

use groma_model::{Info, Label};

use super::Report;
use super::sheet::Sheet;
use crate::explain::{Part, about, label};
use crate::list::facts;
use crate::markup::Markup;

/// The benchmarks with points in some run of the report.
pub(super) fn benchmarks(sheet: &Sheet<'_>) -> Option<Markup> {
    let mut out = Markup::default();
    for info in &sheet.explained {
        out.with("details", &[("class", "about"), ("id", &format!("about-{}", info.id))], |details| {
            details.tag("summary", |summary| {
                summary.say("code", info.id);
                summary.own(" ");
                summary.text(info.summary);
            });
            explanation(info, details);
        });
        out.newline();
    }
    (!sheet.explained.is_empty()).then_some(out)
}

pub(crate) fn explanation(info: &Info, out: &mut Markup) {
    let letters = |text: &str| text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    // A module comment usually starts with the summary, which is shown above.
    let is_summary =
        |part: &Part| matches!(part, Part::Paragraph { text, .. } if letters(text) == letters(info.summary));
    for part in about(info).into_iter().skip_while(is_summary) {
        match part {
            Part::Heading(text) => out.say("h4", &text),
            Part::Verbatim(lines) => out.say("pre", &lines.join("\n")),
            Part::Paragraph { marker, text } if marker.is_empty() => out.tag("p", |p| paragraph(&text, p)),
            Part::Paragraph { marker, text } => out.with("p", &[("class", "item")], |p| {
                p.text(&marker);
                paragraph(&text, p);
            }),
            Part::Blank => {}
        }
    }
    out.tag("dl", |dl| {
        let more = [("version", info.version.to_string()), ("disturbance", info.interference.meaning().to_owned())];
        for (head, text) in facts(info).into_iter().filter(|(head, _)| *head != "measures").chain(more) {
            dl.say("dt", head);
            dl.tag("dd", |dd| inline(&text, dd));
        }
    });
}

/// A paragraph, its label in bold.
fn paragraph(text: &str, out: &mut Markup) {
    match label(text) {
        Some((label, rest)) => {
            out.say("b", label);
            inline(rest, out);
        }
        None => inline(text, out),
    }
}

/// Text with code spans.
fn inline(text: &str, out: &mut Markup) {
    let parts: Vec<&str> = text.split('`').collect();
    for (i, part) in parts.iter().enumerate() {
        match i % 2 == 1 && i + 1 < parts.len() {
            true => out.say("code", part),
            false => out.text(part),
        }
    }
}

/// The words that occur in these results, with their meaning.
pub(super) fn words(report: &Report<'_>) -> Option<Markup> {
    let records = || report.runs.iter().flat_map(|run| run.records);
    let is_used = |word: &str| {
        let label = Label::ALL.into_iter().find(|label| word == label.letter().to_string());
        let flag = |flag: &String| flag.split(':').next() == Some(word);
        let has = |label| records().any(|r| r.labels.count(label) > 0);
        records().any(|r| r.state.word() == word || r.flags.iter().any(flag)) || label.is_some_and(has)
    };
    let is_sign = |word: &str| !word.chars().any(char::is_alphanumeric);
    let used: Vec<_> = report.words.iter().filter(|(word, _)| is_sign(word) || is_used(word)).collect();
    let mut out = Markup::default();
    out.with("dl", &[("class", "words")], |dl| {
        for (word, meaning) in &used {
            dl.say("dt", word);
            dl.say("dd", meaning);
        }
    });
    (!used.is_empty()).then_some(out)
}
