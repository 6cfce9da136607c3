//! A run as Markdown tables: the columns of the wide table, one table per family.

use groma_model::{End, Families, Record, RunHeader, plain};

use crate::Style;
use crate::hardware;
use crate::machine::host;
use crate::rows::{Body, HEADS, groups};
use crate::summary::summary;

/// The style of pages in a code block: forums show 100 columns without a scroll bar.
pub(crate) const fn in_a_block(style: &Style) -> Style {
    Style { all: style.all, program: style.program, ..Style::plain(100) }
}

/// A page of text, unchanged, in a code block.
pub(crate) fn block(page: &str) -> String {
    // The fence is longer than any in the page, which so cannot close it.
    let longest = page.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}text\n{page}{fence}\n")
}

/// A text with a longer one folded below it, for a comment to be read at a glance.
pub(crate) fn folded(first: &str, title: &str, below: &str) -> String {
    format!("{}\n<details><summary>{title}</summary>\n\n{}\n</details>\n", block(first), block(below))
}

pub(crate) fn markdown(
    families: Families<'_>,
    run: &RunHeader,
    records: &[Record],
    end: Option<&End>,
    style: &Style,
) -> String {
    let plain = Style { colour: false, width: usize::MAX, unicode: true, ..*style };
    let mut out =
        format!("## {}\n\n", escape(&format!("run {}, {}, groma {}", run.run, run.profile.word(), run.groma)));
    let here = host(&run.environment);
    if !here.is_empty() {
        out += &format!("{}\n\n", escape(&here));
    }
    if let Some(page) = hardware_markdown(families, run, records, style) {
        out += &format!("{page}\n");
    }
    for group in groups(families, records, &plain) {
        out += &format!("### {}\n\n{}.\n\n", escape(group.family), escape(&group.sentence));
        line(&mut out, ["metric", "point"].into_iter().chain(HEADS).chain(["state"]));
        line(&mut out, ["---", "---", "--:", "--:", "--:", "--:", "--:", "---"]);
        let mut above = "";
        for row in &group.rows {
            let id = if row.id == above { "" } else { row.id };
            above = row.id;
            let (numbers, state) = match &row.body {
                Body::Values { numbers, ended } => (
                    numbers.clone(),
                    ended.as_ref().map(|(state, flags)| {
                        [state.word()]
                            .into_iter()
                            .chain(flags.iter().map(String::as_str))
                            .collect::<Vec<_>>()
                            .join(", ")
                    }),
                ),
                Body::Reason(state, reason) => (Default::default(), Some(format!("{}: {reason}", state.word()))),
                Body::Curve { line, text } => (Default::default(), Some(format!("{line} {text}"))),
            };
            let id = if id.is_empty() { String::new() } else { code(id) };
            let point_on = [row.point.clone()].into_iter().chain(numbers).chain([state.unwrap_or_default()]);
            line(&mut out, [id].into_iter().chain(point_on.map(|cell| escape(&cell))));
        }
        out.push('\n');
    }
    for text in summary(run, records, end, &plain).lines() {
        out += &format!("- {}\n", escape(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    out
}

/// The hardware page in Markdown; `None` where the run has too little of it.
pub(crate) fn hardware_markdown(
    families: Families<'_>,
    run: &RunHeader,
    records: &[Record],
    style: &Style,
) -> Option<String> {
    hardware::page(families, run, records, &in_a_block(style)).map(|page| block(&page))
}

/// A table row; its cells are Markdown already.
pub(crate) fn line(out: &mut String, cells: impl IntoIterator<Item = impl AsRef<str>>) {
    out.push('|');
    for cell in cells {
        out.push_str(&format!(" {} |", cell.as_ref()));
    }
    out.push('\n');
}

/// Ids or a command as code. One with unexpected characters is escaped as text, since it could end
/// the code.
pub(crate) fn code(id: &str) -> String {
    let is_id = |c: char| c.is_ascii_alphanumeric() || "._- =:,/*+".contains(c);
    if !id.is_empty() && id.chars().all(is_id) { format!("`{id}`") } else { escape(id) }
}

/// Escapes text from outside so that Markdown shows it verbatim: it cannot end a cell, become
/// markup or HTML, or start a heading, a list or a quotation.
pub(crate) fn escape(text: &str) -> String {
    let text = plain(text);
    let mut out = String::with_capacity(text.len() + 8);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = digits > 0 && text[digits..].starts_with(['.', ')']) && text[digits + 1..].starts_with(' ');
    for (at, c) in text.char_indices() {
        let markup = matches!(c, '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '<' | '&' | '~');
        // A minus sign is harmless before a digit.
        let begins =
            at == 0 && matches!(c, '#' | '>' | '=' | '+' | '-') && !text[1..].starts_with(|c: char| c.is_ascii_digit());
        if markup || begins || (numbered && at == digits) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_run() {
        let records = fixtures::records();
        insta::assert_snapshot!(markdown(
            fixtures::families(),
            &fixtures::header(),
            &records,
            Some(&fixtures::end(&records)),
            &Style::plain(80)
        ));
    }

    #[test]
    fn hardware_on_a_page() {
        let (run, records) = fixtures::guest();
        insta::assert_snapshot!(
            hardware_markdown(fixtures::families(), &run, &records, &Style::plain(80)).expect("it holds a survey")
        );
    }

    #[test]
    fn text_from_outside_is_no_markup() {
        assert_eq!(escape("a|b\nc <script>"), "a\\|b c \\<script>");
        assert_eq!(escape("\\| `x` &lt; \x1b[2J"), "\\\\\\| \\`x\\` \\&lt; \\\\u{1b}\\[2J");
        assert_eq!(escape("# a"), "\\# a");
        assert_eq!(escape("- a"), "\\- a");
        assert_eq!(escape("12. a"), "12\\. a");
        for same in ["-0.5 ns", "1.5 ns", "4.49 µs ± 0.8 %", "12.", "size=64 KiB"] {
            assert_eq!(escape(same), same);
        }
        assert_eq!(code("ipc.pipe_rtt"), "`ipc.pipe_rtt`");
        assert_eq!(code("x` <b>|"), "x\\` \\<b>\\|");
    }

    /// Number of cells as GitHub parses a row: an unescaped bar ends a cell.
    fn cells(line: &str) -> usize {
        let mut escaped = false;
        let ends = line.chars().filter(|c| {
            let ends = *c == '|' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        ends.count() - 1
    }

    #[test]
    fn every_row_keeps_its_cells() {
        let mut records = fixtures::records();
        for (i, record) in records.iter_mut().enumerate() {
            let hostile = ["\\|", "a|b\n| c | d |", "`|`", "<td>|</td>", "\u{202e}|", "\\"][i % 6];
            record.reason = hostile.to_owned();
            record.flags.push(hostile.to_owned());
            record.id += hostile;
            record.params_text += hostile;
        }
        let text = markdown(fixtures::families(), &fixtures::header(), &records, None, &Style::plain(80));
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
        assert!(rows.len() > 20, "{text}");
        assert!(rows.iter().all(|row| cells(row) == 8), "{text}");
        assert_eq!(text.matches("<td").count(), text.matches("\\<td").count(), "{text}");
    }
}
