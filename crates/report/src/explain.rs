//! `groma explain`: a benchmark's module comment, rewrapped, and the data of its descriptor.

use groma_model::{Info, plain};

use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::list::{facts, list_json};
use crate::style::{Ink, Style};

/// Words of results with their meanings, then benchmarks.
pub fn explanations<'a>(meanings: &[String], infos: &'a [&'a Info], style: &Style) -> Document<'a> {
    let title = infos.first().map_or("words", |info| info.id);
    let mut out = Document::new(title);
    meanings.iter().for_each(|meaning| out.say(meaning.as_str()));
    for (i, info) in infos.iter().enumerate() {
        if i > 0 || !meanings.is_empty() {
            out.gap();
        }
        explain(info, style, &mut out);
    }
    if meanings.is_empty() { out.written(Format::Json, move || list_json(infos)) } else { out }
}

/// What a benchmark measures, how, its pitfalls and its sources: the whole module comment.
fn explain(info: &Info, style: &Style, out: &mut Document<'_>) {
    out.parts("", vec![(info.id.to_owned(), Ink::Strong), (format!(", version {}", info.version), Ink::Plain)]);
    let letters =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    // A module comment usually starts with the summary; do not repeat it.
    if letters(info.about.text.lines().next().unwrap_or_default()) != letters(info.summary) {
        out.say(info.summary);
    }
    if !info.about.text.trim().is_empty() {
        out.gap();
        reflow(info.about.text, style, out);
    }
    out.gap();
    let mut facts = facts(info);
    facts.push(("disturbance", info.interference.meaning().to_owned()));
    if style.is_of_file() {
        let mut table = Table::new(&[("fact", Align::Left), ("value", Align::Left)], None);
        for (head, text) in facts {
            table.row(vec![Cell::new(head), Cell::new(text)]);
        }
        out.table(table);
        return;
    }
    let mut above = "";
    for (head, text) in facts {
        let shown = if head == above { "" } else { head };
        out.labelled(format!("{shown:<12}"), text);
        above = head;
    }
}

/// The first paragraph of a benchmark's module comment that says what it measures; empty where none
/// does.
pub fn measures(info: &Info) -> String {
    const LABEL: &str = "**Measures:**";
    let paragraph = info.about.text.split("\n\n").find_map(|text| text.trim_start().strip_prefix(LABEL));
    let lines = paragraph.unwrap_or_default().lines().map(str::trim);
    // A list after it, and the sentence that announces one, are for `explain` only.
    let text: Vec<&str> = lines.take_while(|line| marker(line).is_none()).filter(|line| !line.is_empty()).collect();
    let text = text.join(" ");
    if text.ends_with(':') { text.rfind(". ").map_or_else(String::new, |end| text[..=end].to_owned()) } else { text }
}

/// A part of the text of a module comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A heading on a line by itself.
    Heading(String),
    /// Flowing text, after the indented marker of a list item or after nothing.
    Paragraph { marker: String, text: String },
    /// Lines kept as they are: indented by four spaces, fenced, or table rows.
    Verbatim(Vec<String>),
    /// An empty line between two paragraphs.
    Blank,
}

/// The module comment of a benchmark.
pub(crate) fn about(info: &Info) -> Vec<Part> {
    parts(info.about.text)
}

/// The parts of a module comment, in order.
fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut fenced = false;
    for line in text.trim_end().lines() {
        let line = plain(line);
        let line = line.trim_end();
        let bare = line.trim_start();
        let flows = matches!(parts.last(), Some(Part::Paragraph { .. }));
        let fence = bare.starts_with("```");
        if fenced || fence || line.starts_with("    ") && !flows || bare.starts_with('|') {
            match parts.last_mut() {
                Some(Part::Verbatim(lines)) => lines.push(line.to_owned()),
                _ => parts.push(Part::Verbatim(vec![line.to_owned()])),
            }
            fenced ^= fence;
        } else if bare.is_empty() {
            parts.push(Part::Blank);
        } else if let Some(heading) = bare.strip_prefix('#') {
            parts.push(Part::Heading(heading.trim_start_matches('#').trim_start().to_owned()));
        } else if let Some(marker) = marker(bare) {
            let indent = line.len() - bare.len();
            let marked = " ".repeat(indent) + &bare[..marker];
            parts.push(Part::Paragraph { marker: marked, text: bare[marker..].to_owned() });
        } else if let Some(Part::Paragraph { text, .. }) = parts.last_mut() {
            text.extend([" ", bare]);
        } else {
            parts.push(Part::Paragraph { marker: String::new(), text: bare.to_owned() });
        }
    }
    parts
}

/// Rewraps a module comment. A label (`**Measures:**`) that opens a paragraph loses its asterisks
/// and is emphasised.
fn reflow(text: &str, style: &Style, out: &mut Document<'_>) {
    for part in parts(text) {
        match part {
            Part::Heading(text) => out.heading(text),
            Part::Verbatim(lines) => out.lines(lines.iter().map(|line| style.text(line) + "\n").collect::<String>()),
            Part::Blank => out.gap(),
            Part::Paragraph { marker, text } => match label(&text) {
                Some((label, rest)) => {
                    out.parts(marker, vec![(label.to_owned(), Ink::Strong), (rest.to_owned(), Ink::Plain)]);
                }
                None => out.labelled(marker, text),
            },
        }
    }
}

/// The label that opens a paragraph, without its `**`, and the rest of the paragraph.
pub(crate) fn label(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("**")?.split_once("**")
}

/// The length of the marker that begins a list item: `- `, `* `, `12. `.
fn marker(line: &str) -> Option<usize> {
    if line.starts_with("- ") || line.starts_with("* ") {
        return Some(2);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    ((1..=2).contains(&digits) && line[digits..].starts_with(". ")).then_some(digits + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_benchmark_measures_is_a_sentence() {
        let families = crate::fixtures::families();
        assert!(!families.all.is_empty());
        let all = groma_benches::all();
        assert!(all.len() > 100);
        for info in all.iter().map(|bench| &bench.info) {
            let text = measures(info);
            assert!(text.is_empty() || text.ends_with('.'), "{}: {text}", info.id);
            assert!(!text.contains("**") && !text.contains('\n'), "{}: {text}", info.id);
        }
        let described = all.iter().filter(|bench| !measures(&bench.info).is_empty()).count();
        assert!(described > 90, "{described} of {}", all.len());
    }
    use crate::list::tests::{FREQUENCY, PIPE};

    #[test]
    fn at_80_and_120_columns() {
        insta::assert_snapshot!(explanations(&[], &[&PIPE], &Style::plain(80)).text(&Style::plain(80)));
        insta::assert_snapshot!(explanations(&[], &[&PIPE], &Style::plain(120)).text(&Style::plain(120)));
    }

    #[test]
    fn without_a_text() {
        insta::assert_snapshot!(explanations(&[], &[&FREQUENCY], &Style::plain(80)).text(&Style::plain(80)));
    }

    #[test]
    fn a_label_is_emphasised_and_loses_its_asterisks() {
        let text = "**Pitfalls:** Pitfalls: an\nodd ** pair.\n- **item** of a list\n\n**not closed\n";
        let shown = |style: &Style| {
            let mut out = Document::new("");
            reflow(text, style, &mut out);
            out.text(style)
        };
        assert_eq!(shown(&Style::plain(80)), "Pitfalls: Pitfalls: an odd ** pair.\n- item of a list\n\n**not closed\n");
        let coloured = shown(&Style { colour: true, ..Style::plain(80) });
        assert!(coloured.starts_with("\x1b[1mPitfalls:\x1b[0m Pitfalls: an"), "{coloured:?}");
    }

    #[test]
    fn explain_omits_nothing() {
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        for width in [40, 80, 200] {
            let shown = letters(&explanations(&[], &[&PIPE], &Style::plain(width)).text(&Style::plain(width)));
            assert!(shown.contains(&letters(PIPE.about.text)), "{shown}");
        }
    }
}
